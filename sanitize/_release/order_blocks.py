"""Combinations of some columns by the block of the table that rows stand in: counted once, for all who ask by block."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._release.order_counts import by_block
from sanitize._tables.combined import Combined, combined_of, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn

_MOST_BLOCKS = 64
_BLOCK_ROWS = 500


@dataclass(frozen=True, eq=False)
class CombinedBlocks:
    """Rows of some columns as combinations, and how many rows of each are in each block.

    Attributes
    ----------
    combined : Combined
    present : ndarray of int, shape (n_present,)
        Combinations that occur.
    blocks : range
        Blocks that the rows are in.
    n_blocks : int
        Of the whole table.
    counts : ndarray of int64, shape (len(blocks), n_present)
    """

    combined: Combined
    present: NDArray[np.intp]
    blocks: range
    n_blocks: int
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls, columns: Mapping[str, ArrowColumn], names: Sequence[str], first: int, n_rows: int
    ) -> CombinedBlocks | None:
        """Rows from number ``first`` on of a table of so many; None where some columns make no combinations."""
        combined = combined_of(columns, names) or Combined.of({name: columns[name] for name in names})
        if combined is None:
            return None
        edges = edges_of_blocks(n_rows)
        blocks = range(bisect_right(edges, first) - 1, bisect_left(edges, first + len(combined.numbers)))
        counts = by_block(combined.numbers, combined.n, first, edges[blocks.start : blocks.stop + 1])
        vars(combined).setdefault("counts", counts.sum(axis=0))  # nobody needs to look at the rows for them again
        present = np.flatnonzero(combined.counts)
        return cls(combined, present, blocks, len(edges) - 1, counts[:, present])

    def of_columns(self, names: Sequence[str]) -> tuple[dict[str, pa.DictionaryArray], NDArray[np.intp]]:
        """Different combinations of some of the columns, and which of these each combination that occurs holds."""
        digits = dict(zip(self.combined.values, np.unravel_index(self.present, self.combined.sizes), strict=True))
        sizes = dict(zip(self.combined.values, self.combined.sizes, strict=True))
        numbers = np.ravel_multi_index([digits[name] for name in names], [sizes[name] for name in names])
        _, first, places = np.unique(numbers, return_index=True, return_inverse=True)
        found = {name: self.combined.values[name].take(pa.array(digits[name][first])) for name in names}
        return found, places.reshape(-1)

    def spread(self, answers: NDArray[Any], rows: slice) -> NDArray[Any]:
        """The answer of each of some rows, from those of the combinations that occur."""
        table = np.zeros(self.combined.n, answers.dtype)
        table[self.present] = answers
        return spread(table, self.combined.numbers[rows])

    def summed(self, answers: NDArray[Any], n: int) -> NDArray[np.int64]:
        """Rows by block and answer, one of ``n``; shape (n_blocks, n)."""
        found = np.zeros((self.n_blocks, n), np.int64)
        for block, counts in zip(self.blocks, self.counts, strict=True):
            found[block] = np.bincount(answers, weights=counts, minlength=n)
        return found


def n_blocks(n_rows: int) -> int:
    """Blocks that positions are cut into: up to 64 of at least 500 rows, and at least two."""
    return int(np.clip(n_rows // _BLOCK_ROWS, 2, _MOST_BLOCKS))


def edges_of_blocks(n_rows: int) -> list[int]:
    """First row of each block, and the end of the last, which takes all that is left."""
    n = n_blocks(n_rows)
    return [*(-(-block * n_rows // n) for block in range(n)), sys.maxsize]
