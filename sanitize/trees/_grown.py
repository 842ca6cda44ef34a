"""What growing a tree gives: the tree, and what the rows say about its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from sanitize.trees._counts import cell_counts
from sanitize.trees._profiles import Profiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    _scale: NDArray[np.float64] = field(repr=False)
    _seen: NDArray[np.intp] = field(repr=False)

    @cached_property
    def profiles(self) -> Profiles:
        """What each cell holds of each column whose information is to be kept, in the rows that were looked at."""
        cells, levels = self.cells[self._seen], self._levels[self._seen]
        return Profiles.count(cells, levels, self._columns, self._measured, self._scale, self.tree.n_cells)

    @cached_property
    def laws(self) -> dict[str, NDArray[np.float64]]:
        """Law of (X_j, cell) of each column X_j over all rows, shape (n_levels, n_cells)."""
        k, found = self.tree.n_cells, {}
        for column, levels in zip(self._columns, self._levels.T, strict=True):
            counts = cell_counts(self.cells, levels, k, column.n_levels)
            found[column.name] = counts[counts.any(axis=1)] / len(levels)
        return found
