"""Types of the columns of a text file, inferred from all of their texts: numbers, dates, or plain text."""

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
# A whole number, perhaps with an exponent of few digits: as R writes 100000.
_INTEGRAL = r"(?i)^\s*[-+]?[0-9{}]+(e\+?(0?[0-9]|1[0-4]))?\s*$"
_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+]?[0-9]+)?$"
_PADDED = r"^\s*[-+]?0[0-9]"
# More digits than a whole number of 64 bits has for certain.
_MOST_DIGITS = 18
_DAY = "%Y%m%d"


@dataclass(frozen=True)
class ColumnReader:
    """Conversion of a column's texts to its values.

    Attributes
    ----------
    dtype : pyarrow.DataType
    spelling : Spelling
    form : str
        How dates are written; empty where it holds none.
    is_native : bool
        Whether Arrow reads it from the file as it is.
    """

    dtype: pa.DataType
    spelling: Spelling
    form: str = ""
    is_native: bool = False

    def values(self, texts: pa.Array) -> pa.Array:
        """Values of texts, null for missing ones.

        Raises
        ------
        ArrowInvalid
            If one stands for none.
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
        Marks of missing values; None for the usual ones.
    marks : set of str
        Those that it holds.
    signs : dict
        Of each pair of signs in which all other texts are numbers whether all of them are whole.
    dates : dict
        Of each way in which all of them are dates their type.
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
        """Date formats that the column may be in."""
        return list(self.dates or ()) if self.is_filled else []

    def as_number(self, signs: tuple[str, str], marks: tuple[str, ...]) -> ColumnReader | None:
        """Converter of the texts to numbers; None if they are not numbers."""
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
    """Return whether eight digits are likely to be a date."""
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
    """Signs of decimals and thousands under which most columns are numbers; the plainest if several are."""
    # 1,234 is a thousand where a comma also stands between fields, and a little more than one where a semicolon does.
    order = list(_SIGNS) if delimiter.startswith(",") else [_PLAIN, *_SIGNS[2:4], _SIGNS[1], *_SIGNS[4:]]
    columns = list(surveys)
    allowed = [s for s in order if decimal in (None, s[0]) and thousands in (None, s[1])]
    return max(allowed, key=lambda signs: sum(survey.may_be(signs) for survey in columns))


def date_order(surveys: Iterable[TextSurvey], delimiter: str) -> dict[str, int]:
    """Date formats with the number of columns that match each, the likely order of month and day first."""
    column_forms = [survey.date_form() for survey in surveys]
    month_first = delimiter.startswith(",")
    order = sorted((ISO, *DATE_FORMATS), key=lambda form: month_first and form.startswith("%d/%m"))
    return dict(sorted(((f, sum(f in forms for forms in column_forms)) for f in order), key=lambda item: -item[1]))


def as_date(survey: TextSurvey, order: Iterable[str], marks: tuple[str, ...]) -> ColumnReader | None:
    """Converter of texts to dates, by the first of some orders that fits; None if none does."""
    forms = survey.date_form()
    form = next((form for form in order if form in forms), None)
    return None if form is None else ColumnReader((survey.dates or {})[form], Spelling(missing=marks), form)
