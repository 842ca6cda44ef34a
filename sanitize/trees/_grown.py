"""What growing a tree gives: the tree, and what the rows say about its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sanitize.trees._counts import cell_counts
from sanitize.trees._profiles import Profiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.trees._levels import Levels
    from sanitize.trees._tree import Tree

# Groups of about equal rows that each column of a pair is looked at in; rows x pairs that are worth the time.
_GROUPS = 16
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
        cells, levels = self.cells[self._seen], self._levels[self._seen]
        return Profiles.count(cells, levels, self._columns, self._measured, self._scale, self.tree.n_cells)

    def law(self, name: str) -> NDArray[np.float64]:
        """Law of (X_j, cell) of a column X_j over all rows, shape (n_levels, n_cells)."""
        j = self.tree.names.index(name)
        counts = cell_counts(self.cells, self._levels[:, j], self.tree.n_cells, self._columns[j].n_levels)
        return counts[counts.any(axis=1)] / len(self.cells)

    def laws(self) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Name and law of each column; all of them at once can take a gigabyte."""
        return ((name, self.law(name)) for name in self.tree.names)

    def pair_laws(self) -> Iterator[tuple[tuple[str, str], NDArray[np.float64]]]:
        """Law of (X_i, X_j, cell) of each pair of columns, each in at most 16 groups, shape (n_groups, n_cells).

        An ordered column is cut into groups of about equal rows; of any other the most frequent values stand alone. Of
        very many rows or pairs every k-th row is looked at.
        """
        n_pairs = len(self._columns) * (len(self._columns) - 1) // 2
        step = max(1, -(-len(self.cells) * n_pairs // _MOST_LOOKS))
        cells, k = self.cells[::step].astype(np.int64), self.tree.n_cells
        groups = [
            _grouped(levels, is_ordered=column.is_ordered).astype(np.int64)
            for column, levels in zip(self._columns, self._levels[::step].T, strict=True)
        ]
        for i, j in combinations(range(len(groups)), 2):
            n_j = int(groups[j].max()) + 1
            keys = (groups[i] * n_j + groups[j]) * k + cells
            law = np.bincount(keys, minlength=(int(groups[i].max()) + 1) * n_j * k).reshape(-1, k) / len(cells)
            yield (self._columns[i].name, self._columns[j].name), law[law.any(axis=1)]


def _grouped(levels: NDArray[np.uint16], *, is_ordered: bool) -> NDArray[np.intp]:
    """Group of each row: runs of levels of about equal rows, or the 15 first levels and the rest."""
    counts = np.bincount(levels)
    if np.count_nonzero(counts) <= _GROUPS:
        group = np.cumsum(counts > 0) - 1
    elif is_ordered:
        middle = np.cumsum(counts) - counts / 2
        _, group = np.unique((middle * _GROUPS / len(levels)).astype(np.intp), return_inverse=True)
    else:
        group = np.minimum(np.arange(len(counts)), _GROUPS - 1)
    return group[levels]
