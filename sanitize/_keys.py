"""Rows of small integers as single keys: distinct rows, and positions of keys among sorted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from numpy.typing import NDArray

# Up to this many cells a lookup table is faster than a binary search, and still small.
_DENSE_CELLS = 1 << 22


def distinct_rows(rows: NDArray[np.int32], levels: Sequence[Sized]) -> NDArray[np.int32]:
    """Distinct rows of level codes in lexicographic order."""
    prefix = np.zeros(len(rows), np.int64)
    first = np.zeros(min(len(rows), 1), np.int64)
    n_prefixes = 1
    for level, code in zip(levels, rows.T, strict=True):
        wanted = prefix * (len(level) + 1) + code
        n_cells = n_prefixes * (len(level) + 1)
        if n_cells <= _DENSE_CELLS:
            seen = np.full(n_cells, -1, np.int64)
            seen[wanted] = np.arange(len(wanted))
            keys = np.flatnonzero(seen >= 0)
            first, prefix = seen[keys], position_of(wanted, keys, n_cells)
        else:
            _, first, prefix = np.unique(wanted, return_index=True, return_inverse=True)
        n_prefixes = max(len(first), 1)
    return np.ascontiguousarray(rows[first])


class Positions:
    """Positions among sorted keys, to be asked for many times.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        Ascending, distinct, from 0 to n_cells - 1.
    n_cells : int
    """

    def __init__(self, keys: NDArray[np.int64], n_cells: int) -> None:
        self._keys = keys
        self._table: NDArray[np.int64] | None = None
        if n_cells <= _DENSE_CELLS:
            self._table = np.full(n_cells + 1, -1, np.int64)  # the extra cell answers the key -1
            self._table[keys] = np.arange(len(keys))

    def of(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of each wanted key; -1 where it is negative or absent."""
        if self._table is not None:
            return self._table[wanted]
        if not len(self._keys):
            return np.full(len(wanted), -1, np.int64)
        found = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[found] == wanted, found, -1)


def position_of(wanted: NDArray[np.int64], keys: NDArray[np.int64], n_cells: int) -> NDArray[np.int64]:
    """Position of each wanted key among sorted keys; -1 where it is negative or absent."""
    return Positions(keys, n_cells).of(wanted)
