"""Rows of some columns as single numbers: of combinations of their distinct values, and of rows of small integers.

A column with few distinct values makes few combinations with others, so rows are counted, and found in an alphabet, by
one narrow number each; values are looked at once a combination and not once a row.

Rows of small integers are keys: distinct ones, and positions of keys among sorted ones. Also which of many intervals
each of many more numbers lies in, found faster than by a search for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._limits import FEW_ROWS, LOOKUP_ROWS
from sanitize._tables.columns import ArrowColumn, all_below, as_dictionary, places_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


# Combinations are worth looking at where each stands for so many rows, on average.
_ROWS_EACH = 8
# Rows whose intermediate arrays stay in the cache; of fewer, threads would mostly wait for the interpreter's lock.
_BLOCK_ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class Combined:
    """Rows of some columns as numbers of combinations.

    Attributes
    ----------
    numbers : ndarray of unsigned int, shape (n_rows,)
        Combination of each row.
    sizes : tuple of int
        Distinct values of each column, and one more for missing; the last column's counts fastest.
    values : dict of str to DictionaryArray
        Distinct values of each column by position, and missing last.
    """

    numbers: NDArray[Any]
    sizes: tuple[int, ...]
    values: dict[str, pa.DictionaryArray]

    @classmethod
    def of(cls, columns: Mapping[str, ArrowColumn]) -> Combined | None:
        """Combinations of some columns; None where rows are few beside them, or columns not of one length."""
        n_rows = len(next(iter(columns.values())))
        if n_rows < FEW_ROWS or any(len(column) != n_rows for column in columns.values()):
            return None
        encoded = {name: as_dictionary(column, name) for name, column in columns.items()}
        sizes = tuple(len(array.dictionary) + 1 for array in encoded.values())
        if math.prod(sizes) > n_rows // _ROWS_EACH:
            return None
        places = [places_in(array, name) for name, array in encoded.items()]
        values = {name: with_missing(array.dictionary) for name, array in encoded.items()}
        return cls(_numbered(places, sizes), sizes, values)

    @property
    def n(self) -> int:
        """Number of combinations, whether they occur or not."""
        return math.prod(self.sizes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each combination, shape (n_combinations,)."""
        return count(self.numbers, self.n)

    def table(self, numbers: NDArray[np.int64]) -> dict[str, pa.DictionaryArray]:
        """Columns of some combinations."""
        digits = np.unravel_index(numbers, self.sizes)
        return {
            name: values.take(pa.array(digit))
            for (name, values), digit in zip(self.values.items(), digits, strict=True)
        }


def with_missing(values: pa.Array) -> pa.DictionaryArray:
    """Distinct values by position, and missing last."""
    return pa.DictionaryArray.from_arrays(pa.array([*range(len(values)), None], pa.int32()), values)


def count(numbers: NDArray[Any], n: int) -> NDArray[np.int64]:
    """How often each of ``n`` numbers occurs."""
    # Bytes are counted two by two, as one number, where so many of them make up for a table of 256 cells for each: it
    # takes half the time.
    if numbers.dtype.itemsize == 1 and len(numbers) > n * (1 << 9):
        even = len(numbers) // 2 * 2
        pairs = count(np.ascontiguousarray(numbers[:even]).view("<u2"), n << 8).reshape(n, 1 << 8)
        if pairs[:, n:].any():
            raise IndexError("a number is not counted")
        return pairs[:, :n].sum(axis=0) + pairs.sum(axis=1) + count(numbers[even:], n)
    found = np.zeros(n, np.int64)
    size = max(_BLOCK_ROWS, 4 * n)  # adding up counts takes less than counting
    for start in range(0, len(numbers), size):
        found += np.bincount(numbers[start : start + size], minlength=n)
    return found


def occurring(numbers: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Which of ``n`` numbers occur; rows are looked at until all have."""
    found = np.zeros(n, bool)
    for start in range(0, len(numbers), _BLOCK_ROWS):
        if found.all():
            break
        found |= np.bincount(numbers[start : start + _BLOCK_ROWS], minlength=n) > 0
    return found


def spread(answers: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """The answer of each of some numbers, which all have one."""
    found = np.empty(len(numbers), answers.dtype)
    if answers.dtype.kind not in "iu":
        return answers.take(numbers, out=found, mode="clip")
    values = pa.array(answers)
    for start in range(0, len(found), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        found[block] = answer_of_each(values, numbers[block]).to_numpy()
    return found


def answer_of_each(values: pa.Array, numbers: NDArray[Any]) -> pa.Array:
    """The same as Arrow's array; its look-up takes half the time of NumPy's, since narrow numbers stay narrow."""
    if not all_below(numbers, len(values)):  # in a fraction of the time of Arrow's own check
        raise IndexError("a number has no answer")
    return pc.take(values, pa.array(numbers), boundscheck=False)


def distinct_table(columns: Mapping[str, ArrowColumn]) -> Mapping[str, ArrowColumn]:
    """The combinations that occur, each once; the columns themselves where those are too many."""
    combined = Combined.of(columns)
    return columns if combined is None else combined.table(np.flatnonzero(combined.counts))


def _numbered(places: list[NDArray[Any]], sizes: tuple[int, ...]) -> NDArray[Any]:
    n_cells = math.prod(sizes)
    dtype = np.dtype(np.uint8 if n_cells < 1 << 8 else np.uint16 if n_cells < 1 << 16 else np.int32)
    numbers = np.empty(len(places[0]), dtype)
    for start in range(0, len(numbers), _BLOCK_ROWS):
        block = numbers[start : start + _BLOCK_ROWS]
        np.copyto(block, places[0][start : start + _BLOCK_ROWS], casting="unsafe")
        for place, size in zip(places[1:], sizes[1:], strict=True):
            block *= dtype.type(size)
            np.add(block, place[start : start + _BLOCK_ROWS], out=block, casting="unsafe")
    return numbers
