"""Inference of the types of columns of a text file, from all of their texts: numbers, dates, or plain text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sanitize.tables.files.description import TableDescription
from sanitize.tables.files.spelling import (
    DATE_FORMATS,
    ISO,
    Spelling,
    all_match,
    date_type,
    date_types,
    is_mark,
    parse_dates,
    plain_signs,
)

# Signs as computers write them, which need no conversion.
_PLAIN = (".", "")
# Signs of decimals and of thousands; where several fit a column equally well, the first pair is chosen.
_SIGNS = (_PLAIN, (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
# A whole number, optionally with a short exponent, because R writes 100000 as 1e+05.
_INTEGRAL = r"(?i)^\s*[-+]?[0-9{}]+(e\+?(0?[0-9]|1[0-4]))?\s*$"
# Numbers that Arrow reads by itself, without conversion and with the same result.
_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+]?[0-9]+)?$"
# Leading zeros belong to codes such as 01234, which are no quantities.
_PADDED = r"^\s*[-+]?0[0-9]"
# Digits from which on a whole number may not fit 64 bits.
_MOST_DIGITS = 18
# The one date format that is also a number.
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
        For each format in which all other texts are dates: their type; None before the first text.
    """

    listed: tuple[str, ...] | None = None
    marks: set[str] = field(default_factory=set)
    signs: dict[tuple[str, str], bool] = field(default_factory=lambda: dict.fromkeys(_SIGNS, True))
    dates: dict[str, pa.DataType | None] = field(default_factory=lambda: dict.fromkeys((ISO, *DATE_FORMATS)))
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
        self.is_native = self.is_native and not self.marks and len(values) == len(texts)
        if len(values):
            self.is_filled = True
            self._look_for_dates(values)
            self._look_for_numbers(values)

    def may_be(self, signs: tuple[str, str]) -> bool:
        """Return whether the column may contain quantities: numbers with these signs, without leading zeros."""
        is_long = self.signs.get(signs, False) and self.n_digits > _MOST_DIGITS
        return self.is_filled and signs in self.signs and not self.is_padded and not is_long

    @property
    def _missing(self) -> tuple[str, ...]:
        """Marks of missing values, in an order that does not depend on the rows."""
        return tuple(sorted({*self.marks, *(self.listed or ())}))

    def as_date(self, order: Iterable[str], form: str | None = None) -> ColumnReader | None:
        """Converter from the texts to dates in a given format, or in the first that fits; None if no format fits."""
        if form is None and self.is_filled:
            form = next((form for form in order if form in self.dates), None)
        if form not in self.dates:
            return None
        return ColumnReader(self.dates[form] or date_types(form)[0], Spelling(missing=self._missing), form)

    def as_number(self, signs: tuple[str, str]) -> ColumnReader:
        """Converter from the texts to numbers written with these signs, which must be among ``signs``."""
        whole = self.signs[signs] and self.n_digits <= _MOST_DIGITS
        native = self.is_native and signs[0] == "." and (self.is_whole or not whole)
        dtype = pa.int64() if whole and self.is_filled else pa.float64()
        return ColumnReader(dtype, Spelling(*signs, self._missing), is_native=native)

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
        numbers = {signs: whole for signs, whole in self.signs.items() if Spelling(*signs).spells(texts)}
        self.signs = {s: whole and all_match(texts, _INTEGRAL.format(s[1])) for s, whole in numbers.items()}

    def _look_for_dates(self, texts: pa.Array) -> None:
        types, self.dates = self.dates, {}
        for form, widest in types.items():
            # Numbers of eight digits are likely to be dates only if they are of our time.
            if form == _DAY and not all_match(texts, r"^\s*(1[89]|20)[0-9]{6}\s*$"):
                continue
            # A format is tried on three texts first, which excludes most formats without reading the column.
            if date_type(texts[:3], form) and (dtype := date_type(texts, form, widest)):
                self.dates[form] = dtype


def choose_signs(surveys: Collection[TextSurvey], description: TableDescription) -> tuple[str, str]:
    """Choose the signs of decimals and thousands under which most columns are numbers; the plainest in a tie."""
    # 1,234 is more than a thousand if the delimiter is a comma, and a little more than one if it is a semicolon.
    order = _SIGNS if _has_commas(description) else (_PLAIN, *_SIGNS[2:4], _SIGNS[1], *_SIGNS[4:])
    allowed = [s for s in order if description.decimal in (None, s[0]) and description.thousands in (None, s[1])]
    return max(allowed, key=lambda signs: sum(survey.may_be(signs) for survey in surveys))


def date_order(surveys: Collection[TextSurvey], description: TableDescription) -> list[str]:
    """Date formats, sorted by the number of columns that match, which shows the likely order of day and month."""
    month_first = _has_commas(description)
    order = sorted((ISO, *DATE_FORMATS), key=lambda form: month_first and form.startswith("%d/%m"))
    return sorted(order, key=lambda form: -sum(survey.is_filled and form in survey.dates for survey in surveys))


def _has_commas(description: TableDescription) -> bool:
    """Return whether commas separate the fields, as is usual where people write the month of a date first."""
    return (description.delimiter or ",").startswith(",")
