"""Rows of some columns as numbers of combinations of their distinct values: what is asked of rows is asked of these.

A column with few distinct values makes few combinations with others, so rows are counted, and found in an alphabet, by
one narrow number each; values are looked at once a combination and not once a row.
Counts of combinations add up without a look at their values, batch by batch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize._limits import FEW_ROWS
from sanitize._tables.columns import ArrowColumn, as_dictionary, masked, places_in
from sanitize._tables.keys import all_below

# Combinations are worth looking at where each stands for so many rows, on average.
_ROWS_EACH = 8
# Rows whose intermediate arrays stay in the cache; of fewer, threads would mostly wait for the interpreter's lock.
_BLOCK_ROWS = 1 << 17
# Cells that are kept while rows are read.
_MOST_CELLS = 1 << 20


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

    def spread(self, answers: NDArray[Any]) -> NDArray[Any]:
        """The answer of each row, from those of all combinations."""
        return spread(answers, self.numbers)


def with_missing(values: pa.Array) -> pa.DictionaryArray:
    """Distinct values by position, and missing last."""
    return pa.DictionaryArray.from_arrays(pa.array([*range(len(values)), None], pa.int32()), values)


class Together(Mapping[str, Any]):
    """Columns that may be known as combinations."""

    @property
    @abstractmethod
    def combined(self) -> Combined | None:
        """Combinations of some of the columns, or of all; None where they are not known."""


class CombinedRows(Together):
    """Columns that are kept as combinations; one is made when it is asked for.

    Parameters
    ----------
    combined : Combined
    """

    def __init__(self, combined: Combined) -> None:
        self._combined = combined

    @property
    def combined(self) -> Combined:
        """Combinations of all columns."""
        return self._combined

    def __getitem__(self, name: str) -> pa.DictionaryArray:
        combined = self._combined
        values, place = combined.values[name], list(combined.values).index(name)
        digits = np.unravel_index(np.arange(combined.n), combined.sizes)[place]
        n = combined.sizes[place] - 1
        rows = combined.spread(digits.astype(np.min_scalar_type(n)))
        return pa.DictionaryArray.from_arrays(masked(rows, rows == n), values.dictionary, safe=False)

    def __contains__(self, name: object) -> bool:
        return name in self._combined.values  # a column is not made for it

    def __iter__(self) -> Iterator[str]:
        return iter(self._combined.values)

    def __len__(self) -> int:
        return len(self._combined.values)


def combined_of(table: Mapping[str, Any], names: Sequence[str]) -> Combined | None:
    """Combinations that these columns of a table are among, if they are known already."""
    known = table.combined if isinstance(table, Together) else None
    return None if known is None or any(name not in known.values for name in names) else known


def combinations_of(table: Mapping[str, Any], names: Iterable[str]) -> Combined | None:
    """Combinations of some columns, with others where those are known; None where they are many."""
    wanted = tuple(names)
    return combined_of(table, wanted) or Combined.of({name: table[name] for name in wanted})


def n_rows_of(batch: Mapping[str, Any]) -> int:
    """Number of rows of some columns; those that are kept as combinations are not made for it."""
    return len(batch.combined.numbers if isinstance(batch, CombinedRows) else next(iter(batch.values())))


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


@dataclass(eq=False)
class CombinationCounts:
    """Rows of some columns by combination.

    Attributes
    ----------
    values : dict of str to DictionaryArray
        Distinct values of each column by position, and missing last.
    counts : ndarray of int64, one axis a column
    """

    values: dict[str, pa.DictionaryArray]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, combined: Combined) -> CombinationCounts:
        """Rows of a batch."""
        return cls(combined.values, combined.counts.reshape(combined.sizes))

    def take(self, other: CombinationCounts) -> bool:
        """Add rows of the same columns; other ones, and more values than can be kept, are refused."""
        if list(self.values) != list(other.values):
            return False
        values, kept, places = {}, [], []
        for name, theirs in other.values.items():
            mine = self.values[name]
            if mine.type != theirs.type:
                return False
            if mine.dictionary.equals(theirs.dictionary):
                values[name], place = mine, np.arange(len(theirs))
            else:
                try:
                    found = pc.index_in(theirs.dictionary, value_set=mine.dictionary)
                except pa.ArrowNotImplementedError:
                    return False
                fresh = theirs.dictionary.filter(found.is_null())
                values[name] = with_missing(pa.concat_arrays([mine.dictionary, fresh]))
                place = np.append(found.fill_null(-1).to_numpy(), len(values[name]) - 1)
                place[place < 0] = np.arange(len(mine) - 1, len(values[name]) - 1)
            places.append(place)
            kept.append([*range(len(mine) - 1), len(values[name]) - 1])
        sizes = tuple(map(len, values.values()))
        if math.prod(sizes) > _MOST_CELLS:
            return False
        counts = np.zeros(sizes, np.int64)
        counts[np.ix_(*kept)] = self.counts
        np.add.at(counts, np.ix_(*places), other.counts)  # a dictionary may hold a value twice
        self.values, self.counts = values, counts
        return True

    def table(self) -> tuple[dict[str, pa.DictionaryArray], NDArray[np.int64]]:
        """Columns of the combinations that occur, and how many rows each has."""
        occurring = np.nonzero(self.counts)
        columns = {
            name: column.take(pa.array(place))
            for (name, column), place in zip(self.values.items(), occurring, strict=True)
        }
        return columns, self.counts[occurring]
