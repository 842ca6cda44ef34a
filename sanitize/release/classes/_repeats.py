"""How many people the rows of a value stand for, where nobody says whose a row is.

Rows of one person agree on what is the person's: an age, a salary. So rows of a value that agree on one or two other
columns, of which two rows of a value hardly ever agree, count once. Another row adds at most one to a count.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._util.checks import Codes

# Two rows of a value agree on columns that tell people apart no more often than this, by a sample of the rows.
_SELDOM, _SAMPLED = 1 / 400, 20_000
# Columns that are looked at, those with the most values; values that more rows have are not one person's.
_FINEST, _MOST_ROWS = 6, 1000


def count_people(codes: Sequence[Codes], counts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Least number of people that each value stands for, of columns as codes of their values.

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
    finest = sorted(range(len(codes)), key=lambda place: float(np.square(counts[place] / max(n, 1)).sum()))
    result = []
    for place, (column_codes, rows) in enumerate(zip(codes, counts, strict=True)):
        partners = [index for index in finest if index != place][:_FINEST]
        # Where most rows have a value of their own, those that repeat may all be people's, and show nothing usual.
        within = column_codes[sample] if rows[rows > 1].sum() >= n / 2 else np.zeros_like(column_codes[sample])
        is_rare = rows <= _MOST_ROWS
        least, rare = rows.copy(), np.flatnonzero(is_rare[column_codes])
        for chosen in (*combinations(partners, 1), *combinations(partners, 2)):
            columns = [codes[index] for index in chosen]
            if len(rare) and _agreement(within, [column[sample] for column in columns]) <= _SELDOM:
                people = _distinct(column_codes[rare], [column[rare] for column in columns], len(rows))
                least[is_rare] = np.minimum(least, people)[is_rare]
        result.append(least)
    return result


def _combine_codes(column_codes: Codes, columns: Sequence[Codes]) -> NDArray[np.int64]:
    """A number for each combination of values."""
    numbers = column_codes.astype(np.int64)
    for column in columns:
        numbers = np.unique(numbers, return_inverse=True)[1] * (int(column.max()) + 1) + column
    return numbers


def _agreement(column_codes: Codes, columns: Sequence[Codes]) -> float:
    """Chance that two rows with one value agree on other columns, too."""

    def pairs(numbers: NDArray[Any]) -> float:
        rows = np.unique(numbers, return_counts=True)[1].astype(float)
        return float((rows * (rows - 1)).sum())

    return pairs(_combine_codes(column_codes, columns)) / max(pairs(column_codes), 1.0)


def _distinct(column_codes: Codes, columns: Sequence[Codes], n_values: int) -> NDArray[np.int64]:
    """Different combinations of values of other columns that go with each value."""
    first = np.unique(_combine_codes(column_codes, columns), return_index=True)[1]
    return np.bincount(column_codes[first], minlength=n_values)
