"""Draws from many small distributions at once, in whole numbers: the same on every machine, whatever the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._files.declared import require
from sanitize._tables.columns import check_type, factorize

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Lanes of the random source above those of channels and of numbers drawn inside bins.
PRINT_LANE = 1 << 21
MOST_ROWS = 1 << 53  # counts are drawn by as doubles
_HALF, _LOW = np.uint64(32), np.uint64((1 << 26) - 1)


def check_starts(starts: NDArray[np.int64], n: int) -> None:
    """Refuse starts of runs, each of which holds some of n places."""
    require(starts.ndim == 1 and len(starts) > 1 and starts[0] == 0 and starts[-1] == n and (np.diff(starts) > 0).all())


def check_values(values: pa.Array, name: str) -> None:
    """Refuse values of a column that are nested, missing or there twice."""
    check_type(values.type, name)
    require(not values.null_count and len(factorize(values, name)[0]) == len(values), "must be distinct", "values")


def below(totals: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row a number from 0 to less than its total, floor(u * total / 2**32), from words u of 32 bits.

    Totals are below 2**52.
    """
    totals = totals.astype(np.uint64)
    high = words * (totals >> np.uint64(26))  # u * total does not fit in 64 bits; this and the rest of it do
    rest = ((high & np.uint64(63)) << np.uint64(26)) + words * (totals & _LOW)
    return ((high >> np.uint64(6)) + (rest >> _HALF)).astype(np.int64)


def draw_each(
    cumulative: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64], words: NDArray[np.uint64]
) -> NDArray[np.intp]:
    """For each row a place from ``first`` to before ``last``, by weights that are given as their running total.

    Parameters
    ----------
    cumulative : ndarray of int, shape (n_places + 1,)
        Weights before each place; all distributions stand one after another.
    first, last : ndarray of int, shape (n,)
        The places of the distribution of each row.
    words : ndarray of uint64, shape (n,)
        Words of 32 bits.
    """
    start = cumulative[first]
    drawn = start + below(cumulative[last] - start, words)
    return np.searchsorted(cumulative, drawn, side="right") - 1


def high_half(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The upper 32 bits of words of 64."""
    return words >> _HALF


def released(values: pa.Array, places: NDArray[np.integer[Any]]) -> pa.DictionaryArray:
    """Column of some values, -1 for missing, whose dictionary names no others: a file would hold them too."""
    seen = np.zeros(len(values) + 1, bool)
    seen[places] = True  # -1 is the last
    place = (np.cumsum(seen) - 1).astype(np.int32).take(places, mode="wrap")
    missing = places < 0 if seen[-1] else None
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), values.filter(pa.array(seen[:-1])))
