"""Rows of small integers as single keys: distinct rows, and positions of keys among sorted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Up to this many cells a lookup table is faster than a binary search, and still small.
_DENSE_CELLS = 1 << 22
# Up to this many cells distinct keys are marked in a table of a byte each; above, they are sorted.
_MARKED_CELLS = 1 << 24


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


def distinct_rows(rows: NDArray[np.int32], sizes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Distinct rows in lexicographic order, and the position of each row among them."""
    prefix = np.zeros(len(rows), np.int64)
    n_prefixes = 1
    for size, code in zip(sizes, rows.T, strict=True):
        wanted = prefix * size + code
        keys = distinct_keys(wanted, n_prefixes * size)
        prefix = position_of(wanted, keys, n_prefixes * size)
        n_prefixes = len(keys)
    first = np.empty(n_prefixes, np.int64)
    first[prefix] = np.arange(len(rows))
    return np.ascontiguousarray(rows[first]), prefix.astype(np.int32)


def distinct_keys(keys: NDArray[np.int64], n_cells: int) -> NDArray[np.int64]:
    """Distinct keys in ascending order, each from 0 to n_cells - 1."""
    if n_cells > _MARKED_CELLS:
        return np.unique(keys)
    seen = np.zeros(n_cells, bool)
    seen[keys] = True
    return np.flatnonzero(seen)
