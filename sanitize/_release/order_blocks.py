"""Combinations of some columns by the block of the table that rows stand in: counted once, for all who ask by block."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._release.order_counts import by_block
from sanitize._tables.combined import with_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._tables.combined import Combined

_MOST_BLOCKS = 64
_BLOCK_ROWS = 500
# Cells that are kept while rows are read.
_MOST_CELLS = 1 << 20


@dataclass(eq=False)
class BlockCounts:
    """Rows of some columns by block and combination.

    Attributes
    ----------
    values : dict of str to DictionaryArray
        Distinct values of each column by position, and missing last; those of the last column count fastest.
    blocks : range
        Blocks that the rows are in.
    n_blocks : int
        Of the whole table.
    counts : ndarray of int64, shape (len(blocks), n_combinations)
    """

    values: dict[str, pa.DictionaryArray]
    blocks: range
    n_blocks: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, combined: Combined, first: int, edges: Sequence[int]) -> BlockCounts:
        """Rows from number ``first`` on of a table whose blocks have these edges."""
        blocks = range(bisect_right(edges, first) - 1, bisect_left(edges, first + len(combined.numbers)))
        counts = by_block(combined.numbers, combined.n, first, edges[blocks.start : blocks.stop + 1])
        vars(combined).setdefault("counts", counts.sum(axis=0))  # nobody needs to look at the rows for them again
        return cls(combined.values, blocks, len(edges) - 1, counts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Distinct values of each column, and one more for missing."""
        return tuple(map(len, self.values.values()))

    @property
    def present(self) -> NDArray[np.intp]:
        """Combinations that occur."""
        return np.flatnonzero(self.counts.any(axis=0))

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the combinations that occur, shape (len(blocks), n_present)."""
        return self.counts[:, self.present]

    def of_columns(self, names: Sequence[str]) -> tuple[dict[str, pa.DictionaryArray], NDArray[np.intp]]:
        """Different combinations of some of the columns, and which of these each combination that occurs holds."""
        digits = dict(zip(self.values, np.unravel_index(self.present, self.sizes), strict=True))
        sizes = dict(zip(self.values, self.sizes, strict=True))
        numbers = np.ravel_multi_index([digits[name] for name in names], [sizes[name] for name in names])
        _, first, places = np.unique(numbers, return_index=True, return_inverse=True)
        found = {name: self.values[name].take(pa.array(digits[name][first])) for name in names}
        return found, places.reshape(-1)

    def summed(self, answers: NDArray[Any], n: int) -> NDArray[np.int64]:
        """Rows by block and answer, one of ``n`` for each combination that occurs; shape (n_blocks, n)."""
        found = np.zeros((self.n_blocks, n), np.int64)
        for block, counts in zip(self.blocks, self.rows, strict=True):
            found[block] = np.bincount(answers, weights=counts, minlength=n)
        return found

    def take(self, other: BlockCounts) -> bool:
        """Add rows of the same columns; other ones, and more values than can be kept, are refused."""
        if list(self.values) != list(other.values):
            return False
        values, places = dict(self.values), []
        for name, theirs in other.values.items():
            mine = values[name]
            if mine.dictionary.equals(theirs.dictionary):
                places.append(np.arange(len(theirs)))
                continue
            if mine.type != theirs.type:
                return False
            try:
                found = pc.index_in(theirs.dictionary, value_set=mine.dictionary)
            except pa.ArrowNotImplementedError:
                return False
            fresh = theirs.dictionary.filter(found.is_null())
            values[name] = with_missing(pa.concat_arrays([mine.dictionary, fresh]))
            place = np.append(found.fill_null(-1).to_numpy(), len(values[name]) - 1)
            place[place < 0] = np.arange(len(mine) - 1, len(values[name]) - 1)
            places.append(place)
        sizes = tuple(map(len, values.values()))
        if math.prod(sizes) * self.n_blocks > _MOST_CELLS:
            return False
        self._widen(values, sizes)
        rows = slice(other.blocks.start, other.blocks.stop)
        if all(np.array_equal(place, np.arange(size)) for place, size in zip(places, sizes, strict=True)):
            self.counts[rows] += other.counts
        else:  # a dictionary may hold a value twice
            cells = np.ravel_multi_index(np.ix_(*places), sizes).reshape(-1)
            np.add.at(self.counts[rows].T, cells, other.counts.T)
        return True

    def _widen(self, values: dict[str, pa.DictionaryArray], sizes: tuple[int, ...]) -> None:
        """Make room for all blocks, and for values that were appended."""
        if self.sizes == sizes and len(self.blocks) == self.n_blocks:
            return
        old = np.ix_(*([*range(size - 1), wide - 1] for size, wide in zip(self.sizes, sizes, strict=True)))
        counts = np.zeros((self.n_blocks, math.prod(sizes)), np.int64)
        counts[self.blocks.start : self.blocks.stop, np.ravel_multi_index(old, sizes).reshape(-1)] = self.counts
        self.values, self.blocks, self.counts = values, range(self.n_blocks), counts

    def table(self) -> dict[str, pa.DictionaryArray]:
        """Columns of the combinations that occur."""
        return self.of_columns(list(self.values))[0]


def n_blocks(n_rows: int) -> int:
    """Blocks that positions are cut into: up to 64 of at least 500 rows, and at least two."""
    return int(np.clip(n_rows // _BLOCK_ROWS, 2, _MOST_BLOCKS))


def edges_of_blocks(n_rows: int) -> list[int]:
    """First row of each block, and the end of the last, which takes all that is left."""
    n = n_blocks(n_rows)
    return [*(-(-block * n_rows // n) for block in range(n)), sys.maxsize]
