"""Which columns of a CSV file are numbers, where all that it holds is text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

# As a number is written and nothing else is: 01234 is a code, +1 and 1e3 may be names.
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
# Longer decimals may have more digits than a double.
_LONGEST = 16


@dataclass(frozen=True)
class Numbers:
    """Columns that are numbers.

    Attributes
    ----------
    named : collection of str
        Columns that must be: those with bins, or that were numbers when a tree was grown.
    found : callable, optional
        Of other columns, by name, whether they are to be numbers if every value of them is written as one.
    """

    named: Collection[str] = ()
    found: Callable[[str], bool] | None = None


# Columns are what they are: text in a CSV file.
AS_STORED = Numbers()


def found_numbers(columns: Collection[str], batches: Iterable[Mapping[str, pa.Array]]) -> dict[str, pa.DataType]:
    """Types of the columns of text in which every value that is not missing is written as a number.

    Parameters
    ----------
    columns : collection of str
    batches : iterable of mapping of name to dictionary array of text

    Returns
    -------
    dict of str to DataType
        Whole numbers of up to 18 digits, doubles where some value is a decimal; no column without any value.
    """
    whole, longest = dict.fromkeys(columns, True), dict.fromkeys(columns, 0)
    for batch in batches:
        for name in list(whole):
            values = batch[name].dictionary.drop_null()
            if len(values) == 0:
                continue
            if not _all(pc.match_substring_regex(values, _DECIMAL)):
                del whole[name], longest[name]
                continue
            longest[name] = max(longest[name], pc.max(pc.utf8_length(values)).as_py())
            whole[name] = whole[name] and _all(pc.match_substring_regex(values, _WHOLE))
        if not whole:
            break
    found = {name: pa.int64() for name, is_whole in whole.items() if is_whole and longest[name]}
    return found | {name: pa.float64() for name in whole if not whole[name] and longest[name] <= _LONGEST}


def _all(found: pa.BooleanArray) -> bool:
    return bool(pc.all(found).as_py())
