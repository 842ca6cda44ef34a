"""Rows of small integers as single keys: distinct rows, positions of keys among sorted ones, and what is a key.

Also which of many intervals each of many more numbers lies in, found faster than by a search for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._limits import LOOKUP_ROWS

# Up to this many cells a lookup table is faster than a binary search, and still small.
_DENSE_CELLS = 1 << 22
# Cells that a whole number of 64 bits can tell apart.
_NUMBERED_CELLS = 1 << 62
# A search takes longer than to hold each number against so many edges.
_FEW_EDGES = 32


class Positions:
    """Positions among sorted keys.

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


def distinct_rows(rows: NDArray[np.int32], sizes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Distinct rows in lexicographic order, and the position of each row among them."""
    words, n_cells = [np.zeros(len(rows), np.int64)], 1
    for size, code in zip(sizes, rows.T, strict=True):
        if n_cells * size >= _NUMBERED_CELLS:
            words, n_cells = [*words, np.zeros(len(rows), np.int64)], 1
        words[-1] = words[-1] * size + code
        n_cells *= size
        if len(words) == 1 and n_cells <= _DENSE_CELLS:
            # While combinations fit in a table, those that occur are numbered: few rows differ in few columns.
            keys = distinct_keys(words[0], n_cells)
            words[0], n_cells = Positions(keys, n_cells).of(words[0]), len(keys)
    if len(words) == 1 and n_cells <= _DENSE_CELLS:
        first = np.empty(n_cells, np.int64)
        first[words[0]] = np.arange(len(rows))
        return np.ascontiguousarray(rows[first]), words[0].astype(np.int32)
    order = np.lexsort(words[::-1])
    changes = np.zeros(len(rows), bool)
    changes[:1] = True
    for word in words:
        changes[1:] |= np.diff(word[order]) != 0
    positions = np.empty(len(rows), np.int32)
    positions[order] = np.cumsum(changes) - 1
    return np.ascontiguousarray(rows[order[changes]]), positions


def distinct_keys(keys: NDArray[Any], n_cells: int) -> NDArray[Any]:
    """Distinct keys in ascending order, each from 0 to n_cells - 1."""
    if n_cells > 1 << 24:  # too many to mark in a table of a byte each
        # `np.unique` looks each key up before it sorts, which takes eight times as long.
        keys = np.sort(keys)
        is_new = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
        return keys[is_new]
    seen = np.zeros(n_cells, bool)
    seen[keys] = True
    return np.flatnonzero(seen)


def all_below(numbers: NDArray[np.integer[Any]], n: int) -> bool:
    """Whether all of some numbers are at least 0 and less than ``n``."""
    # As unsigned ones, negative numbers are larger than all others of their type: one extreme tells both.
    least_beyond = min(n, int(np.iinfo(numbers.dtype).max) + 1)
    return not len(numbers) or int(numbers.view(f"u{numbers.dtype.itemsize}").max()) < least_beyond


def edges_passed(edges: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """How many of some ascending edges are at most each number; any of them for NaN.

    Many numbers are held against few edges one by one. With more edges they are looked up in a table of intervals, and
    only those in an interval with an edge inside it are searched for.
    """
    kind = edges.dtype.kind
    passed: Any = partial(np.searchsorted, edges, side="right")
    if len(edges) and len(numbers) >= LOOKUP_ROWS and kind == numbers.dtype.kind:
        if len(edges) <= _FEW_EDGES and kind in "iuf":
            passed = partial(_compared, edges)
        elif kind in "if":
            passed = _table_of(edges)
    found = np.empty(len(numbers), np.uint16 if len(edges) < 1 << 16 else np.int32)
    for batch in (slice(start, start + LOOKUP_ROWS) for start in range(0, len(numbers), LOOKUP_ROWS)):
        found[batch] = passed(numbers[batch])
    return found


def _compared(edges: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.uint8]:
    passed = np.zeros(len(numbers), np.uint8)
    for edge in edges:
        passed += numbers >= edge
    return passed


def _table_of(edges: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A look-up of numbers in a table of intervals."""
    keys = _whole_keys(edges)
    most = int(keys[-1])
    least = max(int(keys[0]) - 1, np.iinfo(np.int64).min)
    # At most 2**14 intervals, so that their table stays in the cache.
    shift = max((most - least).bit_length() - 14, 0)
    begins = np.arange(least >> shift, (most >> shift) + 1) << shift
    number, last = (np.searchsorted(keys, ends, side="right") for ends in (begins, begins + ((1 << shift) - 1)))
    number, is_cut = number.astype(np.min_scalar_type(len(edges))), number != last

    def passed(numbers: NDArray[Any]) -> NDArray[Any]:
        key = np.clip(_whole_keys(numbers), least, most)
        interval = (key >> shift) - (least >> shift)
        found = number.take(interval)
        searched = np.flatnonzero(is_cut.take(interval))
        found[searched] = np.searchsorted(keys, key[searched], side="right")
        return found

    return passed


def _whole_keys(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers in the order of whole or real numbers: of real ones the bits, those of negative ones turned."""
    if numbers.dtype.kind == "i":
        return numbers.astype(np.int64, copy=False)
    bits = (numbers.astype(np.float64, copy=False) + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
    return np.asarray(bits ^ ((bits >> 63) & np.iinfo(np.int64).max))
