"""Inference of the types of columns of a text file, from all of their texts: numbers, dates, or plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sanitize.tables.files.spelling import (
    DATE_FORMATS,
    ISO,
    Spelling,
    all_match,
    date_type,
    is_mark,
    parse_dates,
    plain_signs,
)

_PLAIN = (".", "")
_SIGNS = (_PLAIN, (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
# A whole number, optionally with a short exponent, because R writes 100000 as 1e+05.
_INTEGRAL = r"(?i)^\s*[-+]?[0-9{}]+(e\+?(0?[0-9]|1[0-4]))?\s*$"
_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+]?[0-9]+)?$"
_PADDED = r"^\s*[-+]?0[0-9]"
# Digits from which on a whole number may not fit 64 bits.
_MOST_DIGITS = 18
_DAY = "%Y%m%d"


@dataclass(frozen=True)
class ColumnReader:
    """Converter from the texts of a column to its values.

    Attributes
    ----------
    dtype : pyarrow.DataType
    spelling : Spelling
    form : str
        Format of dates; empty if the column has no dates.
    is_native : bool
        Whether Arrow itself reads the column from the file.
    """

    dtype: pa.DataType
    spelling: Spelling
    form: str = ""
    is_native: bool = False

    def values(self, texts: pa.Array) -> pa.Array:
        """Convert texts to values, with null for missing values.

        Raises
        ------
        ArrowInvalid
            If a text is not a value of the type.
        """
        if self.form:
            return parse_dates(self.spelling.drop_marks(texts), self.form, self.dtype)
        if pa.types.is_string(self.dtype):
            return self.spelling.drop_marks(texts)
        return self.spelling.numbers(texts, self.dtype)

    def read(self, column: pa.DictionaryArray) -> pa.Array:
        """Convert a column of texts to values."""
        values = self.values(column.dictionary)
        if not pa.types.is_string(self.dtype):
            return values.take(column.indices)
        if not values.null_count:
            return pa.DictionaryArray.from_arrays(column.indices, values)
        return values.take(column.indices).dictionary_encode()


@dataclass
class TextSurvey:
    """Survey of the texts of one column, gathered batch by batch.

    Attributes
    ----------
    listed : tuple of str or None
        Declared marks of missing values; None for the usual marks.
    marks : set of str
        Marks that occur in the column.
    signs : dict
        For each pair of signs under which all other texts are numbers: whether all are whole.
    dates : dict
        For each format in which all other texts are dates: their type.
    """

    listed: tuple[str, ...] | None = None
    marks: set[str] = field(default_factory=set)
    signs: dict[tuple[str, str], bool] = field(default_factory=lambda: dict.fromkeys(_SIGNS, True))
    dates: dict[str, pa.DataType] | None = None
    is_filled: bool = False
    is_padded: bool = False
    is_whole: bool = True
    is_native: bool = True
    n_digits: int = 0

    def add(self, texts: pa.Array) -> None:
        """Add the distinct texts of a batch."""
        texts = texts.drop_null()
        if not len(texts):
            return
        blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
        usual = is_mark(texts) if self.listed is None else pc.is_in(texts, pa.array(self.listed, pa.string()))
        self.marks.update(texts.filter(pc.and_not(usual, blank)).to_pylist())
        values = texts.filter(pc.invert(pc.or_(usual, blank)))
        if self.is_native and (self.marks or len(values) < len(texts)):
            self.is_native = False
        if len(values):
            self.is_filled = True
            self._look_for_dates(values)
            self._look_for_numbers(values)

    def may_be(self, signs: tuple[str, str]) -> bool:
        """Return whether the column may hold quantities: numbers in these signs, without leading zeros of codes."""
        is_long = self.signs.get(signs, False) and self.n_digits > _MOST_DIGITS
        return self.is_filled and signs in self.signs and not self.is_padded and not is_long

    def date_form(self) -> list[str]:
        """Date formats that all texts of the column match."""
        return list(self.dates or ()) if self.is_filled else []

    def as_number(self, signs: tuple[str, str], marks: tuple[str, ...]) -> ColumnReader | None:
        """Converter from the texts to numbers; None if a text is not a number."""
        if signs not in self.signs:
            return None
        whole = self.signs[signs] and self.n_digits <= _MOST_DIGITS
        native = self.is_native and signs[0] == "." and (self.is_whole or not whole)
        dtype = pa.int64() if whole and self.is_filled else pa.float64()
        return ColumnReader(dtype, Spelling(*signs, marks), is_native=native)

    def _look_for_numbers(self, texts: pa.Array) -> None:
        if not self.signs:
            return
        self.n_digits = max(self.n_digits, pc.max(pc.utf8_length(texts)).as_py())
        if self.is_whole and all_match(texts, _WHOLE):
            return
        self.is_whole = False
        self.is_native = self.is_native and all_match(texts, _DECIMAL)
        texts = texts if self.is_native else plain_signs(texts)
        self.is_padded = self.is_padded or bool(pc.any(pc.match_substring_regex(texts, _PADDED)).as_py())
        self.signs = {
            signs: whole and all_match(texts, _INTEGRAL.format(signs[1]))
            for signs, whole in self.signs.items()
            if Spelling(*signs).spells(texts)
        }

    def _look_for_dates(self, texts: pa.Array) -> None:
        forms = (ISO, *DATE_FORMATS) if self.dates is None else tuple(self.dates)
        types, self.dates = self.dates or {}, {}
        for form in forms:
            if date_type(texts[:3], form) is None:
                continue
            dtype = date_type(texts, form, types.get(form))
            if dtype is not None and not (form == _DAY and not _is_of_our_time(texts)):
                self.dates[form] = dtype


def _is_of_our_time(texts: pa.Array) -> bool:
    """Return whether numbers of eight digits are likely to be dates."""
    return all_match(texts, r"^\s*(1[89]|20)[0-9]{6}\s*$")


def survey_columns(
    columns: Iterable[str], batches: Iterable[Mapping[str, pa.Array]], listed: tuple[str, ...] | None
) -> dict[str, TextSurvey]:
    """Survey the texts of each column."""
    surveys = {name: TextSurvey(listed) for name in columns}
    for batch in batches:
        for name, survey in surveys.items():
            survey.add(batch[name].dictionary)
    return surveys


def choose_signs(
    surveys: Iterable[TextSurvey], delimiter: str, decimal: str | None, thousands: str | None
) -> tuple[str, str]:
    """Choose the signs of decimals and thousands under which most columns are numbers; the plainest in a tie."""
    # 1,234 is more than a thousand if the delimiter is a comma, and a little more than one if it is a semicolon.
    order = list(_SIGNS) if delimiter.startswith(",") else [_PLAIN, *_SIGNS[2:4], _SIGNS[1], *_SIGNS[4:]]
    columns = list(surveys)
    allowed = [s for s in order if decimal in (None, s[0]) and thousands in (None, s[1])]
    return max(allowed, key=lambda signs: sum(survey.may_be(signs) for survey in columns))


def date_order(surveys: Iterable[TextSurvey], delimiter: str) -> dict[str, int]:
    """Date formats, sorted by the number of columns that match, which shows the likely order of day and month."""
    column_forms = [survey.date_form() for survey in surveys]
    month_first = delimiter.startswith(",")
    order = sorted((ISO, *DATE_FORMATS), key=lambda form: month_first and form.startswith("%d/%m"))
    return dict(sorted(((f, sum(f in forms for forms in column_forms)) for f in order), key=lambda item: -item[1]))


def as_date(survey: TextSurvey, order: Iterable[str], marks: tuple[str, ...]) -> ColumnReader | None:
    """Converter from texts to dates by the first format that fits; None if no format fits."""
    forms = survey.date_form()
    form = next((form for form in order if form in forms), None)
    return None if form is None else ColumnReader((survey.dates or {})[form], Spelling(missing=marks), form)
