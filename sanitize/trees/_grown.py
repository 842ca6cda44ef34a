"""What growing a tree gives: the tree, and what the rows say about its cells and mixtures of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._checks import Codes, Vector
from sanitize.classes import Profiles, cell_counts, column_counts, grouped, pair_counts
from sanitize.trees._levels import steps
from sanitize.trees._tree import group_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize.trees._levels import Levels
    from sanitize.trees._tree import Tree


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
    _scale: Vector = field(repr=False)
    _seen: Codes = field(repr=False)

    @cached_property
    def profiles(self) -> Profiles:
        """What each cell holds of each column whose information is to be kept, in the rows that were looked at."""
        cells, parts = self.cells[self._seen], []
        for j in self._measured:
            table = cell_counts(self._levels[j, self._seen], cells, self._columns[j].n_levels, self.tree.n_cells)
            parts.append(table[:, table.any(axis=0)].astype(np.float64))  # without levels that no row has
        starts = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
        return Profiles(np.concatenate(parts, axis=1), starts, self._scale)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """How often each row is there of those that differ by the levels of all columns."""
        return self._alike[1]

    @cached_property
    def _alike(self) -> tuple[Codes, NDArray[np.int64]]:
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

    def distribution(self, name: str) -> Vector:
        """Distribution of (X_j, cell) of a column X_j over all rows, shape (n_levels, n_cells)."""
        j = self.tree.names.index(name)
        counts = cell_counts(self.cells, self._levels[j], self.tree.n_cells, self._columns[j].n_levels)
        return counts[counts.any(axis=1)] / len(self.cells)

    def column_counts(self) -> Iterator[tuple[str, sparse.csr_array]]:
        """Name of each column and rows of (X_j, cell), X_j in at most 16 groups, shape (n_groups, n_cells).

        An ordered column is cut into groups of about equal rows; of any other the most frequent values stand alone.
        """
        return column_counts(self.tree.names, self._groups(1), self.cells, self.tree.n_cells)

    def pair_counts(self) -> Iterator[tuple[tuple[str, str], sparse.csr_array]]:
        """The same of pairs of columns."""
        return pair_counts(self.tree.names, self._groups, self.cells, self.tree.n_cells)

    def shapes(self, printed: Mapping[str, Any], most: int = 8) -> Iterator[tuple[str, list[str], Vector]]:
        """Name of each column, names of at most so many groups of its values, and their shares here and as printed.

        An ordered column is cut in steps of one width, but for a hundredth of the rows at either end.
        """
        for column, levels in zip(self._columns, self._levels, strict=True):
            sides = levels, column.encode(printed[column.name])
            counts = np.stack([np.bincount(side, minlength=column.n_levels) for side in sides])
            groups = grouped(counts[0], is_ordered=False, most=most)
            if column.is_ordered and np.count_nonzero(counts[0]) > most:
                groups = np.append(steps(column, counts[0, :-1], most - 1), most)
            masks = np.array([groups == group for group in np.unique(groups[counts[0] > 0])])
            names = [group_label(column, mask, counts[0]) for mask in masks]
            yield column.name, names, counts @ masks.T / counts.sum(axis=1, keepdims=True)

    def _groups(self, step: int) -> list[NDArray[np.int64]]:
        """Group of every k-th row in each column."""
        return [
            grouped(np.bincount(levels), is_ordered=column.is_ordered)[levels].astype(np.int64)
            for column, levels in zip(self._columns, self._levels[:, ::step], strict=True)
        ]
