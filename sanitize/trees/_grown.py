"""What growing a tree gives: the tree, and what the rows say about its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sanitize.joint import sparse_counts
from sanitize.trees._counts import cell_counts
from sanitize.trees._levels import grouped
from sanitize.trees._profiles import Profiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize.trees._levels import Levels
    from sanitize.trees._tree import Tree

# Pairs of columns that are worth the time, and rows x pairs.
_MOST_PAIRS = 1000
_MOST_LOOKS = 30_000_000


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree and what the rows it was grown from say about its cells.

    Attributes
    ----------
    tree : Tree
    cells : ndarray of int, shape (n,)
        Cell of each row.
    """

    tree: Tree
    cells: NDArray[np.int32]
    _columns: list[Levels] = field(repr=False)
    _levels: NDArray[np.uint16] = field(repr=False)
    _measured: list[int] = field(repr=False)
    _scale: NDArray[np.float64] = field(repr=False)
    _seen: NDArray[np.intp] = field(repr=False)

    @cached_property
    def profiles(self) -> Profiles:
        """What each cell holds of each column whose information is to be kept, in the rows that were looked at."""
        cells, levels = self.cells[self._seen], self._levels[:, self._seen]
        return Profiles.count(cells, levels, self._columns, self._measured, self._scale, self.tree.n_cells)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """How often each row is there of those that differ by the levels of all columns."""
        return self._alike[1]

    @cached_property
    def _alike(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Number of each row among those that differ, and rows of each number."""
        keys, rng = np.zeros(len(self.cells), np.uint64), np.random.default_rng(0)
        for levels in self._levels:  # sums of 64 random bits: two of 1e6 rows meet with probability 3e-8
            keys += rng.integers(0, 1 << 64, int(levels.max()) + 1, np.uint64)[levels]
        return np.unique(keys, return_inverse=True, return_counts=True)[1:]

    def row_counts(self, secrets: NDArray[np.integer], n_secrets: int) -> NDArray[np.int64]:
        """Rows of each secret of those that differ by the levels of all columns, shape (n_secrets, k).

        Those that are there once tell the same as all others of their secret, and are one with them.
        """
        number, times = self._alike
        place = np.cumsum(times > 1) - 1
        alike = np.where(times[number] > 1, place[number], place[-1] + 1 + secrets)
        counts = cell_counts(alike, secrets, int(alike.max()) + 1, n_secrets)
        return counts[:, counts.any(axis=0)]

    def law(self, name: str) -> NDArray[np.float64]:
        """Law of (X_j, cell) of a column X_j over all rows, shape (n_levels, n_cells)."""
        j = self.tree.names.index(name)
        counts = cell_counts(self.cells, self._levels[j], self.tree.n_cells, self._columns[j].n_levels)
        return counts[counts.any(axis=1)] / len(self.cells)

    def column_counts(self) -> Iterator[tuple[str, sparse.csr_array]]:
        """Name of each column and rows of (X_j, cell), X_j in at most 16 groups, shape (n_groups, n_cells).

        An ordered column is cut into groups of about equal rows; of any other the most frequent values stand alone.
        """
        for name, groups in zip(self.tree.names, self._groups(1), strict=True):
            yield name, sparse_counts(groups, self.cells, (int(groups.max()) + 1, self.tree.n_cells))

    def pair_counts(self) -> Iterator[tuple[tuple[str, str], sparse.csr_array]]:
        """The same of the pairs of `chosen_pairs`; of very many rows of every k-th row."""
        pairs = chosen_pairs(len(self._columns))
        step = max(1, -(-len(self.cells) * len(pairs) // _MOST_LOOKS))
        cells, groups = self.cells[::step], self._groups(step)
        for i, j in pairs:
            n_i, n_j = int(groups[i].max()) + 1, int(groups[j].max()) + 1
            counts = sparse_counts(groups[i] * n_j + groups[j], cells, (n_i * n_j, self.tree.n_cells))
            yield (self._columns[i].name, self._columns[j].name), counts[np.flatnonzero(np.diff(counts.indptr))]

    def _groups(self, step: int) -> list[NDArray[np.int64]]:
        """Group of every k-th row in each column."""
        return [
            grouped(np.bincount(levels), is_ordered=column.is_ordered)[levels].astype(np.int64)
            for column, levels in zip(self._columns, self._levels[:, ::step], strict=True)
        ]


def chosen_pairs(n: int) -> list[tuple[int, int]]:
    """All pairs of n columns; of more than 1,000 pairs so many at random, each as likely as any other.

    Examples
    --------
    >>> chosen_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    >>> len(chosen_pairs(200))
    1000
    """
    n_pairs = n * (n - 1) // 2
    if n_pairs <= _MOST_PAIRS:
        return list(combinations(range(n), 2))
    drawn = np.sort(np.random.default_rng(0).choice(n_pairs, _MOST_PAIRS, replace=False))
    up_to = np.cumsum(np.arange(n)[::-1])  # pairs whose first column is this one or an earlier one
    first = np.searchsorted(up_to, drawn, side="right")
    return list(zip(first.tolist(), (n - up_to[first] + drawn).tolist(), strict=True))
