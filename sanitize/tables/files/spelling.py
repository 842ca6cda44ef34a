"""Conversion of texts to numbers, dates and missing values.

Arrow casts texts to numbers and dates. Spellings that Arrow does not know are rewritten first, once per distinct text:
signs of decimals and thousands, blanks, and the order of day, month and year.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

# Usual marks of a missing value; the owner of a table may name others. Left in a column, one such text would make it
# text.
_MARK = (
    r"(?i)^\s*(|[-–—.?*/_]{1,4}|<?n\.?/?\s?a\.?>?|nat|nan|-?1\.#(ind|qnan)|#n/a|#(null|value|div/0|num)!|<?null>?|nil|none|"
    r"missing|unknown|not (available|known|applicable)|no (data|answer)|refused|don'?t know|dk|\\n|k\.?\s?a\.?|\.[a-z]|"
    r"0{4}[-/.]00[-/.]00( 00:00(:00)?)?|00[-/.]00[-/.]0{4})\s*$"
)
# Typographic signs in numbers, and the keyboard signs for them: minus, non-breaking blanks, apostrophe.
_TYPESET = {"\u2212": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"}
# Pattern of each part of a date, by its letter in a format. Programs leave out leading zeros of days, months and hours.
_PARTS = {"Y": "[0-9]{4}", "b": "[A-Za-z]{3}", "B": "[A-Za-z]{3,9}"}
_PARTS |= dict.fromkeys("yMS", "[0-9]{2}") | dict.fromkeys("mdH", "[0-9]{1,2}")
# English abbreviations, whatever the language of the computer, so that a file is read alike everywhere.
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Forms of days in use; the day comes before the month where both fit, because most countries write it so.
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d%b%Y", "%d-%b-%Y", "%d %b %Y", "%d. %B %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y", "%d%b%y"),
)
# Name of the form of ISO 8601, which needs no format.
ISO = "date"
# Date formats that are tried; Arrow itself reads dates and times of ISO 8601.
DATE_FORMATS = tuple(day + time for time in ("", " %H:%M", " %H:%M:%S") for day in _DAYS)
# Types of such dates, the narrowest first: a column of dates must not become one of times.
_ISO_TYPES = (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))


def is_mark(texts: pa.Array) -> pa.Array:
    """Return, for each text, whether it is a usual mark of a missing value, such as the empty text."""
    return pc.match_substring_regex(texts, _MARK)


def plain_signs(texts: pa.Array) -> pa.Array:
    """Replace typographic signs in texts by keyboard signs."""
    for sign, plain in _TYPESET.items():
        texts = pc.replace_substring(texts, sign, plain)
    return texts


def is_date_format(text: str) -> bool:
    """Return whether a text is a date format in the letters of strftime, with at least year, month and day."""
    letters = re.findall("%(.)", text)
    has_day = "d" in letters and not {"m", "b", "B"}.isdisjoint(letters) and not {"Y", "y"}.isdisjoint(letters)
    return has_day and set(letters) <= set(_PARTS) and len(set(letters)) == len(letters) and len(text) <= 60


@dataclass(frozen=True)
class Spelling:
    """Spelling of values: signs inside numbers, and texts that stand for a missing value.

    Attributes
    ----------
    decimal : {".", ","}
    thousands : str
        Sign between thousands; empty if there is none.
    missing : tuple of str
    trims : bool
        Whether blanks before a text are ignored.
    """

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()
    trims: bool = False

    def spells(self, texts: pa.Array) -> bool:
        """Return whether all texts, after `plain_signs`, are numbers in this spelling."""
        return all_match(texts, _pattern(self.decimal, self.thousands))

    def drop_marks(self, texts: pa.Array) -> pa.Array:
        """Replace marks of missing values by null."""
        texts = pc.utf8_ltrim_whitespace(texts) if self.trims else texts
        if not self.missing:
            return texts
        marks = pa.array(self.missing, pa.string())
        return pc.if_else(pc.is_in(texts, marks), pa.scalar(None, pa.string()), texts)

    def numbers(self, texts: pa.Array, dtype: pa.DataType) -> pa.Array:
        """Convert texts to numbers; blank texts are missing.

        Raises
        ------
        ArrowInvalid
            If a text is not a number of this type.
        """
        plain = _trim(plain_signs(self.drop_marks(texts)))
        if not self.spells(plain.drop_null()):  # Arrow refuses 1,5 of another spelling, but would accept 0x1F
            raise pa.ArrowInvalid("a text is not a number")
        if self.thousands:
            plain = pc.replace_substring(plain, self.thousands, "")
        if self.decimal != ".":
            plain = pc.replace_substring(plain, self.decimal, ".")
        plain = pc.replace_substring_regex(plain, r"^\+", "")
        if pa.types.is_integer(dtype) and not all_match(plain.drop_null(), r"^-?[0-9]+$"):
            return plain.cast(pa.float64()).cast(dtype)
        return plain.cast(dtype)


def _trim(texts: pa.Array) -> pa.Array:
    """Remove blanks around texts; blank texts become null."""
    plain = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(plain, ""), pa.scalar(None, pa.string()), plain)


def parse_dates(texts: pa.Array, form: str, dtype: pa.DataType) -> pa.Array:
    """Convert texts to dates; blank texts are missing.

    Raises
    ------
    ArrowInvalid
        If a text is not a date in this format.
    """
    plain = _trim(texts)
    if form == ISO:
        if pa.types.is_date(dtype):  # with the time 00:00:00, as some tables of dates have it
            plain = pc.replace_substring_regex(plain, r"[ T]00:00(:00(\.0+)?)?$", "")
        return plain.cast(dtype)
    matches = pc.extract_regex(plain, _date_pattern(form))
    if matches.null_count != plain.null_count:
        raise pa.ArrowInvalid("a text is not a date of this form")
    part = {field.name: pc.struct_field(matches, field.name) for field in matches.type}
    month, day_of_month = (pc.utf8_lpad(digits, 2, "0") for digits in (_month(part), part["d"]))
    day = pc.binary_join_element_wise(_year(part), month, day_of_month, "-")
    if "H" in part:
        # A missing minute or second is 00.
        times = [pc.utf8_lpad(part[name], 2, "0") if name in part else pa.repeat("00", len(day)) for name in "HMS"]
        day = pc.binary_join_element_wise(day, pc.binary_join_element_wise(*times, ":"), " ")
    return day.cast(dtype)


def date_types(form: str) -> tuple[pa.DataType, ...]:
    """Types of dates in a format, the narrowest first."""
    return _ISO_TYPES if form == ISO else (pa.timestamp("us") if "%H" in form else pa.date32(),)


def date_type(texts: pa.Array, form: str, widest: pa.DataType | None = None) -> pa.DataType | None:
    """Narrowest type, not below ``widest``, that fits all texts as dates of a format; None if a text is no date."""
    types = date_types(form)
    for dtype in types[types.index(widest) if widest is not None else 0 :]:
        try:
            parse_dates(texts, form, dtype)
        except pa.ArrowInvalid:
            continue
        return dtype
    return None


def all_match(texts: pa.Array, pattern: str) -> bool:
    """Return whether a pattern matches every text."""
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


@cache
def _pattern(decimal: str, thousands: str) -> str:
    """Regular expression of numbers with given signs, optional exponent, sign and surrounding blanks."""
    point, mark = re.escape(decimal), re.escape(thousands)
    whole = rf"([0-9]+|[0-9]{{1,3}}({mark}[0-9]{{3}})+)" if thousands else "[0-9]+"
    return rf"(?i)^\s*([-+]?({whole}({point}[0-9]*)?|{point}[0-9]+)(e[-+]?[0-9]+)?|[-+]?inf(inity)?|nan)\s*$"


@cache
def _date_pattern(form: str) -> str:
    literal = re.escape(form).replace(r"\%", "%")
    return "^" + re.sub("%([A-Za-z])", lambda m: f"(?P<{m[1]}>{_PARTS[m[1]]})", literal) + "$"


def _year(part: dict[str, pa.Array]) -> pa.Array:
    if "Y" in part:
        return part["Y"]
    # Two digits do not show the century, so this follows POSIX: 69 to 99 are in the last one.
    is_past = pc.greater_equal(part["y"], "69")
    return pc.binary_join_element_wise(pc.if_else(is_past, "19", "20"), part["y"], "")


def _month(part: dict[str, pa.Array]) -> pa.Array:
    if "m" in part:
        return part["m"]
    names = part.get("b", part.get("B"))
    index = pc.index_in(pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3), value_set=pa.array(_MONTHS))
    return pc.add(index.fill_null(98), 1).cast(pa.string())  # no such month: Arrow refuses it
