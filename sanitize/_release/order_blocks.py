"""Combinations of some columns by the block of the table that rows stand in: counted once, for all who ask by block."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._release.order_counts import by_block
from sanitize._tables.combined import Combined, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    counts : ndarray of int64, shape (n_blocks, n_present)
    """

    combined: Combined
    present: NDArray[np.intp]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Mapping[str, ArrowColumn], first: int, n_rows: int) -> CombinedBlocks | None:
        """Rows from number ``first`` on of a table of so many; None where they make no combinations."""
        combined = Combined.of(columns)
        if combined is None:
            return None
        counts = by_block(combined.numbers, combined.n, first, edges_of_blocks(n_rows))
        present = np.flatnonzero(counts.any(axis=0))
        return cls(combined, present, counts[:, present])

    def spread(self, answers: NDArray[Any], rows: slice) -> NDArray[Any]:
        """The answer of each of some rows, from those of the combinations that occur."""
        table = np.zeros(self.combined.n, answers.dtype)
        table[self.present] = answers
        return spread(table, self.combined.numbers[rows])

    def summed(self, answers: NDArray[Any], n: int) -> NDArray[np.int64]:
        """Rows by block and answer, one of ``n``; shape (n_blocks, n)."""
        found = np.zeros((len(self.counts), n), np.int64)
        for block in np.flatnonzero(self.counts.any(axis=1)):  # the rows of a load are in few of them
            found[block] = np.bincount(answers, weights=self.counts[block], minlength=n)
        return found


def n_blocks(n_rows: int) -> int:
    """Blocks that positions are cut into: up to 64 of at least 500 rows, and at least two."""
    return int(np.clip(n_rows // _BLOCK_ROWS, 2, _MOST_BLOCKS))


def edges_of_blocks(n_rows: int) -> list[int]:
    """First row of each block, and the end of the last, which takes all that is left."""
    n = n_blocks(n_rows)
    return [*(-(-block * n_rows // n) for block in range(n)), sys.maxsize]
