"""Estimate of how many people the rows with a value belong to, without an identifier of people.

Rows of one person agree on facts about the person, such as age or salary. So rows of a value count once if they agree
on one or two other columns on which two rows of a value hardly ever agree. One more row adds at most one to a count.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._util.checks import Codes

# Columns distinguish people if two rows of a value agree on them no more often than this, in a sample of the rows: then
# ten rows that agree are hardly ten people.
_SELDOM, _SAMPLED = 1 / 400, 20_000
# Number of columns to examine, those with the most values, and their pairs; values with more rows than this are not one
# person's.
_FINEST, _MOST_ROWS = 6, 1000
# Codes per row up to which counting is faster than sorting.
_PLACES = 32


def count_people(codes: Sequence[Codes], counts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Lower estimate of how many people the rows with each value belong to; columns are codes of their values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> street, pay = rng.integers(0, 40, 2000), rng.integers(0, 5000, 2000)
    >>> street[:14], pay[:14] = 40, 5000
    >>> both = [street, pay]
    >>> int(count_people(both, [np.bincount(column) for column in both])[0][-1])
    1
    """
    n = len(codes[0]) if codes else 0
    sample = slice(None, None, max(1, -(-n // _SAMPLED)))
    by_fineness = sorted(range(len(codes)), key=lambda place: float(np.square(counts[place] / max(n, 1)).sum()))
    finest = by_fineness[: _FINEST + 1]  # one more, because the column itself may be among them
    combinations_of = {
        chosen: _combine_codes([codes[index] for index in chosen])
        for chosen in (*combinations(finest, 1), *combinations(finest, 2))
    }
    everywhere = {chosen: _agreement(numbers[sample]) for chosen, numbers in combinations_of.items()}
    result = []
    for place, (column_codes, rows) in enumerate(zip(codes, counts, strict=True)):
        partners = {*[index for index in finest if index != place][:_FINEST]}
        # If most rows have a value of their own, all repeated values may belong to people, and no usual rate shows.
        is_own = rows[rows > 1].sum() < n / 2
        is_rare = rows <= _MOST_ROWS
        least, rare = rows.copy(), np.flatnonzero(is_rare[column_codes])
        for chosen, numbers in combinations_of.items():
            if not {*chosen} <= partners or not len(rare):
                continue
            within = everywhere[chosen] if is_own else _agreement(numbers[sample], column_codes[sample])
            if within <= _SELDOM:
                people = _distinct(column_codes[rare], numbers[rare], len(rows))
                least[is_rare] = np.minimum(least, people)[is_rare]
        result.append(least)
    return result


def _combine_codes(columns: Sequence[Codes]) -> NDArray[np.int64]:
    """Number the combinations of values with small integers."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        numbers = np.unique(numbers * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return numbers


def _agreement(numbers: NDArray[np.int64], column_codes: Codes | None = None) -> float:
    """Chance that two rows (with the same value of a column, if given) agree on a combination of other columns."""

    def pairs(codes: NDArray[Any]) -> float:
        rows = _tally(codes)[1].astype(float)
        return float((rows * (rows - 1)).sum())

    if column_codes is None:
        return pairs(numbers) / max(len(numbers) * (len(numbers) - 1.0), 1.0)
    both = column_codes.astype(np.int64) * (int(numbers.max(initial=0)) + 1) + numbers
    return pairs(both) / max(pairs(column_codes), 1.0)


def _distinct(column_codes: Codes, numbers: NDArray[np.int64], n_values: int) -> NDArray[np.int64]:
    """Number of distinct combinations of other columns' values that occur with each value."""
    n_numbers = int(numbers.max(initial=0)) + 1
    both = _tally(column_codes.astype(np.int64) * n_numbers + numbers)[0]
    return np.bincount(both // n_numbers, minlength=n_values)


def _tally(codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Distinct codes in ascending order, and the count of each code."""
    if int(codes.max(initial=0)) > _PLACES * len(codes):
        return np.unique(codes, return_counts=True)
    rows = np.bincount(codes)
    present = np.flatnonzero(rows)
    return present, rows[present]
