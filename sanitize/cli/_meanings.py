"""Inference of the meaning of columns from names and values: a quantity, a code, a date, an identifier, and so on."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize.core.binning import as_numbers, is_numeric
from sanitize.tables.columns import value_type
from sanitize.tables.files.spelling import plain_signs

# Whole numbers with at least this many digits, all of the same width, are codes and not amounts: ages and percentages
# often have two or three digits throughout.
_CODE_DIGITS = 4
# Codes repeat, so a value has two rows on average, and most numbers of one width are no code, so values take less than
# a tenth of their range. Amounts seldom do both.
_CODE_ROWS, _CODE_SHARE = 2, 0.1
# Names of sampling weights in public surveys, such as fnlwgt, PWGTP and WTFINL. A body weight is no such weight, so
# that the plain names below count only without columns of body measures.
_WEIGHT = re.compile(
    r"(?i)^(.*[_. ])?(fnl|final|samp(le|ling)?|surv(ey)?|pers(on)?|hh|house(hold)?|asec|post|design|stud(ent)?|stat|w)?"
    r"[_. ]?(w(ei)?gh?ts?|wgts?|wts?)(p|[_. ]?\d+)?$|^w$|^pwgtp?\d*$|^wt(finl|supp|s?a)?\d*$"
)
# Columns of body measures, next to which "weight" means body weight.
_BODY = re.compile(r"(?i)height|bmi|waist|body|(^|_)(kg|lbs?|cm)($|_)")
# Names of postal, statistical, medical and occupational codes. Their order means nothing, so bins would be wrong.
_CODE = re.compile(
    r"(?i)(^|[_. ])(zip|zcta|plz|post(al)?|fips|icd\d*|naics|sic|soc|isco|nace|atc|cpt|code|puma|tract)([_. ]|code|$)|"
    r"(zip|post|area|country|region|state)_?code|postleitzahl"
)
# Endings of names of identifiers, also in camel case, as in customerID.
_IDENTIFIER = re.compile(r"(?i)(^|[_. ])(id|uid|uuid|guid|ssn|nhs|mrn|iban|key)$|[a-z]ID$|(^|[_. ])(number|nr|no)$")
# Names that programs write for row numbers, such as the empty name of pandas, "...1" and "X" of R, or "Unnamed: 0".
_ROW = re.compile(
    r"(?i)^(|\.?\.?\d*|unnamed.*|x|index|rownames?|row[_. ]?(id|n(umbe)?r?|no)?|obs|n|nr|no|id|_id|.*[_. ]id)$"
)
# Whole numbers of four digits in this range are years: amounts that order rows, although they have one width, as codes
# do.
_YEARS = (1500, 2200)
# Mean number of letters from which on texts with blanks are sentences; names and addresses have fewer.
_SENTENCE = 25
# Share of numbers or dates from which on the other texts of a column are likely to mean "missing".
_MOST = 0.8
# Numbers with or without signs between thousands. Texts with a leading zero are codes, so they do not match.
_NUMBER = r"^\s*[-+]?([1-9][0-9]*|0|[1-9][0-9]{0,2}([., '][0-9]{3})+)([.,][0-9]+)?\s*$"
# Dates of digits in any order, with or without a time. This only gives a hint, so that a day of 99 does no harm.
_DATE = r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{2}){1,2})(\s.*)?$"


@dataclass
class Traits:
    """Traits of the values of a column, collected batch by batch.

    Attributes
    ----------
    low, high : float
        Smallest and largest number.
    is_sequence, is_whole : bool
        Whether numbers count the rows one by one, and whether all numbers are whole.
    n_letters, n_texts : int
        Total number of letters, and of texts.
    n_numbers, n_dates : int
        Number of rows whose text is a number, or a date.
    has_blanks, has_digits : bool
        Whether any text has a blank, and whether every text has a digit.
    """

    low: float = np.inf
    high: float = -np.inf
    is_sequence: bool = True
    is_whole: bool = True
    n_letters: int = 0
    n_texts: int = 0
    n_numbers: int = 0
    n_dates: int = 0
    has_blanks: bool = False
    has_digits: bool = True
    _last: float | None = None

    def look(self, values: Any, codes: Any) -> None:
        """Add a batch, given its distinct values and its values by row."""
        if not len(values):
            return
        if is_numeric(values.type):
            self._look_at_numbers(as_numbers(values), codes)
        elif pa.types.is_string(values.type):
            lengths = pc.utf8_length(values).to_numpy(zero_copy_only=False)
            present = codes[codes >= 0]
            self.n_letters, self.n_texts = self.n_letters + int(lengths[present].sum()), self.n_texts + len(present)
            texts = plain_signs(values)
            self.n_numbers += _count_matches(texts, present, _NUMBER)
            self.n_dates += _count_matches(texts, present, _DATE)
            self.has_blanks = self.has_blanks or bool(pc.any(pc.match_substring(values, " ")).as_py())
            self.has_digits = self.has_digits and bool(pc.all(pc.match_substring_regex(values, "[0-9]")).as_py())

    def _look_at_numbers(self, numbers: Any, codes: Any) -> None:
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            self.low, self.high = min(self.low, finite.min()), max(self.high, finite.max())
            self.is_whole = self.is_whole and len(finite) == len(numbers) and bool((finite % 1 == 0).all())
        if self.is_sequence:
            rows = numbers[codes]
            before = [] if self._last is None else [self._last]
            with np.errstate(invalid="ignore"):  # numbers may be infinite
                self.is_sequence = bool((codes >= 0).all() and (np.diff([*before, *rows]) == 1).all())
            self._last = float(rows[-1])


def _count_matches(texts: Any, codes: Any, pattern: str) -> int:
    """Count the rows with a text that matches a pattern; ``codes`` has the position of each row's text."""
    return int(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)[codes].sum())


def column_meaning(survey: Any, names: Collection[str]) -> tuple[str, str]:
    """Return the meaning of a column, such as ``date`` or ``code``, and the reason, which names no value.

    Parameters
    ----------
    survey : survey of the column
        Survey with name, type, number of rows and of distinct values, and `Traits`.
    names : collection of str
        Names of all columns.
    """
    traits, dtype = survey.traits, value_type(survey.dtype)
    count_words = f"{survey.count_text} different"
    if survey.dated:
        return "date", f"{count_words} dates{' or times' if pa.types.is_timestamp(dtype) else ''}"
    if is_numeric(dtype):
        return _number_meaning(survey, traits, count_words, names)
    if not (pa.types.is_string(dtype) or pa.types.is_large_string(dtype)):
        return "category", f"{count_words} values"
    way_out = "" if _CODE.search(survey.name) else _reading_of_most(traits)
    if survey.distinct:
        is_long = traits.has_blanks and traits.n_letters > _SENTENCE * traits.n_texts
        return ("free text", "sentences") if is_long else ("identifier", f"a different text in most rows{way_out}")
    if survey.n_values > 2 and traits.n_texts and traits.has_digits and not traits.has_blanks:
        return "code", f"{count_words} texts with digits and without blanks{way_out}"
    return "category", f"{count_words} texts{way_out}"


def _reading_of_most(traits: Traits) -> str:
    """Hint for a text column that is not read as numbers or dates because of a few other texts; empty otherwise."""
    for kind, meaning, count in (("numbers", "quantity", traits.n_numbers), ("dates", "date", traits.n_dates)):
        if _MOST * traits.n_texts <= count < traits.n_texts:
            return f', most of them {kind}: if the others mean "missing", list them there and write "{meaning}"'
    return ""


def _number_meaning(survey: Any, traits: Traits, count_words: str, names: Collection[str]) -> tuple[str, str]:
    name, is_whole = survey.name, traits.is_whole
    if is_whole and traits.is_sequence and survey.n_rows > 2 and (_ROW.match(name) or survey.n_rows >= 50):
        return "row number", "counts the rows one by one"
    if _is_weight(name, names) and traits.low >= 0 and survey.n_values > 2:
        return "weight", "named as weights of rows are"
    n_digits = len(f"{abs(traits.high):.0f}")
    is_even = traits.low > 0 and len(f"{traits.low:.0f}") == n_digits
    is_numbered = _IDENTIFIER.search(name)
    if is_whole and survey.distinct and survey.n_rows >= 50 and (is_numbered or (is_even and n_digits >= 6)):
        return "identifier", "a different whole number in most rows"
    if is_whole and survey.n_values == 2:
        return "category", "two different whole numbers"
    if is_whole and (_CODE.search(name) or (is_numbered and not survey.distinct)):
        return "code", "whole numbers, named as codes are"
    is_year = _YEARS[0] <= traits.low and traits.high <= _YEARS[1]
    has_gaps = survey.n_values < _CODE_SHARE * (traits.high - traits.low)
    is_apart = has_gaps and not is_year and not survey.is_round and survey.n_values * _CODE_ROWS <= survey.n_rows
    if is_whole and is_even and n_digits >= _CODE_DIGITS and is_apart:
        return "code", "whole numbers of one width, which repeat and leave most of their range out"
    return "quantity", f"{count_words} {'whole ' if is_whole else ''}numbers"


def _is_weight(name: str, names: Collection[str]) -> bool:
    """Return whether a column is named like sampling weights; next to heights, "weight" means body weight."""
    if name.lower() in ("weight", "wt", "w"):
        return not any(_BODY.search(column) for column in names)
    return _WEIGHT.search(name) is not None
