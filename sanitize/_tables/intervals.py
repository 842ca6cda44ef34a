"""Which of many intervals each of many more numbers lies in: found faster than by a search for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# A search takes longer than to hold each number against so many edges.
_FEW_EDGES = 32
# Intervals of a table that stays in the cache, in bits, and numbers that are looked up together.
_TABLE_BITS = 14
_BATCH = 1 << 14


def edges_passed(edges: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """How many of some ascending edges are at most each number; any of them for NaN.

    Many numbers are held against few edges one by one. With more edges they are looked up in a table of intervals, and
    only those in an interval with an edge inside it are searched for.
    """
    passed = _way(edges, numbers)
    found = np.empty(len(numbers), np.uint16 if len(edges) < 1 << 16 else np.int32)
    for batch in (slice(start, start + _BATCH) for start in range(0, len(numbers), _BATCH)):
        found[batch] = passed(numbers[batch])
    return found


def _way(edges: NDArray[Any], numbers: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The quickest way to find how many edges each number of a batch has passed."""
    kind = edges.dtype.kind
    if len(edges) and len(numbers) >= _BATCH and kind == numbers.dtype.kind:
        if len(edges) <= _FEW_EDGES and kind in "iuf":
            return lambda batch: _compared(edges, batch)
        if kind in "if":
            return _table_of(edges)
    return lambda batch: np.searchsorted(edges, batch, side="right")


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
    shift = max((most - least).bit_length() - _TABLE_BITS, 0)
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
