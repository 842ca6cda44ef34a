"""Numbering of the combinations of values in rows, for columns of distinct values and for rows of small integers.

Columns with few distinct values have few combinations. So rows are counted, and looked up in an alphabet, by one narrow
number each, and values are examined once per combination instead of once per row.

The module also finds distinct rows of small integers, positions of numbers among sorted keys, and the intervals in
which numbers lie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._util.limits import FEW_ROWS, LOOKUP_ROWS
from sanitize.tables.columns import ArrowColumn, all_below, as_dictionary, ascending, places_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Up to this many cells, a lookup table is faster than a binary search, and still small.
_DENSE_CELLS = 1 << 22
# Up to this many edges, comparing each number with every edge is faster than a search.
_FEW_EDGES = 32


class Positions:
    """Look-up of positions among sorted keys.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        Distinct keys in ascending order, from 0 to n_cells - 1.
    n_cells : int
    """

    def __init__(self, keys: NDArray[np.int64], n_cells: int) -> None:
        self._keys = keys
        self._table: NDArray[np.int64] | None = None
        if n_cells <= _DENSE_CELLS:
            self._table = np.full(n_cells + 1, -1, np.int64)  # the extra cell answers the key -1
            self._table[keys] = np.arange(len(keys))

    def find(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of each wanted key; -1 if it is negative or absent."""
        if self._table is not None:
            return self._table[wanted]
        if not len(self._keys):
            return np.full(len(wanted), -1, np.int64)
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[places] == wanted, places, -1)


def distinct(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Distinct whole numbers in ascending order, and the position of each number among them."""
    levels, places = ascending(pa.array(numbers), "")
    return levels.to_numpy(), places


def distinct_rows(rows: NDArray[np.int32], sizes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Distinct rows in lexicographic order, and the position of each row among them."""
    places: NDArray[np.int64] = np.zeros(len(rows), np.int64)
    for size, code in zip(sizes, rows.T, strict=True):
        # Combinations of the columns so far are renumbered, so that those with the next column fit an integer.
        places = distinct(places * size + code)[1].astype(np.int64)
    first = np.empty(int(places.max(initial=-1)) + 1, np.int64)
    first[places] = np.arange(len(rows))
    return np.ascontiguousarray(rows[first]), places.astype(np.int32)


def edges_passed(edges: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """Count, for each number, the ascending edges that are at most equal to it; the count for NaN is arbitrary.

    Numbers are compared with few edges one by one, and are searched for among many edges.
    """
    is_few = 0 < len(edges) <= _FEW_EDGES and edges.dtype.kind == numbers.dtype.kind and edges.dtype.kind in "iuf"
    n_passed: Any = np.zeros(len(numbers), np.uint8 if is_few else np.uint16 if len(edges) < 1 << 16 else np.int32)
    for batch in (slice(start, start + LOOKUP_ROWS) for start in range(0, len(numbers), LOOKUP_ROWS)):
        if is_few:
            for edge in edges:
                n_passed[batch] += numbers[batch] >= edge
        else:
            n_passed[batch] = np.searchsorted(edges, numbers[batch], side="right")
    return n_passed


# Combinations are used if each stands for at least this many rows on average; with fewer, numbering them saves nothing.
_ROWS_EACH = 8
# Rows whose intermediate arrays fit the cache; with fewer, threads would mostly wait for the interpreter's lock.
_BLOCK_ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class Combined:
    """For each row, the number of its combination of values in some columns.

    Attributes
    ----------
    numbers : ndarray of unsigned int, shape (n_rows,)
        Combination of each row.
    sizes : tuple of int
        Number of distinct values of each column plus one for missing; the last column varies fastest.
    values : dict of str to DictionaryArray
        Distinct values of each column by position, with missing last.
    """

    numbers: NDArray[Any]
    sizes: tuple[int, ...]
    values: dict[str, pa.DictionaryArray]

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrowColumn]) -> Combined | None:
        """Number the combinations of some columns; None if there are too many, or if columns differ in length."""
        n_rows = len(next(iter(columns.values())))
        if n_rows < FEW_ROWS or any(len(column) != n_rows for column in columns.values()):
            return None
        encoded = {name: as_dictionary(column, name) for name, column in columns.items()}
        sizes = tuple(len(array.dictionary) + 1 for array in encoded.values())
        if math.prod(sizes) > n_rows // _ROWS_EACH:
            return None
        places = [places_in(array, name) for name, array in encoded.items()]
        values = {name: with_missing(array.dictionary) for name, array in encoded.items()}
        return cls(_number_cells(places, sizes), sizes, values)

    @property
    def n(self) -> int:
        """Number of combinations, whether or not they occur."""
        return math.prod(self.sizes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each combination, shape (n_combinations,)."""
        return count(self.numbers, self.n)

    def table(self, numbers: NDArray[np.int64]) -> dict[str, pa.DictionaryArray]:
        """Columns with the values of some combinations, one row per combination."""
        digits = map(pa.array, np.unravel_index(numbers, self.sizes))
        return {name: self.values[name].take(digit) for name, digit in zip(self.values, digits, strict=True)}


def with_missing(values: pa.Array) -> pa.DictionaryArray:
    """Add a missing value at the end of the distinct values."""
    return pa.DictionaryArray.from_arrays(pa.array([*range(len(values)), None], pa.int32()), values)


def count(numbers: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Count how often each of the numbers from 0 to ``n`` - 1 occurs."""
    # Bytes are counted in pairs, as numbers of 16 bits, if there are enough to pay for the larger table: this takes
    # half the time.
    if numbers.dtype.itemsize == 1 and len(numbers) > n * (1 << 9):
        even = len(numbers) // 2 * 2
        pairs = count(np.ascontiguousarray(numbers[:even]).view("<u2"), n << 8).reshape(n, 1 << 8)
        if pairs[:, n:].any():
            raise IndexError(f"numbers must be from 0 to {n - 1}")
        return pairs[:, :n].sum(axis=0) + pairs.sum(axis=1) + count(numbers[even:], n)
    counts = np.zeros(n, np.int64)
    size = max(_BLOCK_ROWS, 4 * n)  # summing counts is faster than counting
    for start in range(0, len(numbers), size):
        counts += np.bincount(numbers[start : start + size], minlength=n)
    return counts


def present_codes(numbers: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Mask of the numbers from 0 to ``n`` - 1 that occur; reading stops when all have occurred."""
    is_present = np.zeros(n, bool)
    for start in range(0, len(numbers), _BLOCK_ROWS):
        if is_present.all():
            break
        is_present |= np.bincount(numbers[start : start + _BLOCK_ROWS], minlength=n) > 0
    return is_present


def take_answers(answers: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the element of ``answers`` at the position of each number; every number must be a position."""
    result = np.empty(len(numbers), answers.dtype)
    if answers.dtype.kind not in "iu":
        return answers.take(numbers, out=result, mode="clip")
    values = pa.array(answers)
    for start in range(0, len(result), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        result[block] = answer_of_each(values, numbers[block]).to_numpy()
    return result


def answer_of_each(values: pa.Array, numbers: NDArray[Any]) -> pa.Array:
    """Return the element of an Arrow array at each position, twice as fast as NumPy: narrow numbers stay narrow."""
    if not all_below(numbers, len(values)):  # much faster than Arrow's own check
        raise IndexError(f"numbers must be from 0 to {len(values) - 1}")
    return pc.take(values, pa.array(numbers), boundscheck=False)


def distinct_table(columns: Mapping[str, ArrowColumn]) -> Mapping[str, ArrowColumn]:
    """Distinct combinations of some columns; the columns themselves if there are too many combinations."""
    combined = Combined.from_columns(columns)
    return columns if combined is None else combined.table(np.flatnonzero(combined.counts))


def _number_cells(places: list[NDArray[Any]], sizes: tuple[int, ...]) -> NDArray[Any]:
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
