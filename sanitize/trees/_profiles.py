"""What each cell holds of each column: counts by level, and what mixtures of cells keep of the information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sanitize.trees._levels import Levels

_BATCH = 2048


@dataclass(frozen=True, eq=False)
class Profiles:
    """Counts of the levels of some columns in each cell.

    Attributes
    ----------
    counts : ndarray of shape (n_cells, n_levels)
        The levels of all these columns, one column after the other.
    starts : ndarray of int
        Where the levels of each column begin.
    weights : ndarray
        Of each column's information, divided by its entropy.
    """

    counts: NDArray[np.float64]
    starts: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def count(
        cls,
        cells: NDArray[np.int32],
        levels: NDArray[np.uint16],
        columns: list[Levels],
        measured: Iterable[int],
        weights: NDArray[np.float64],
        n_cells: int,
    ) -> Profiles:
        """Counts of rows in these cells, with these levels; levels that no row has are left out."""
        parts = []
        for j in measured:
            size = columns[j].n_levels
            keys = cells.astype(np.int64) * size + levels[j]
            table = np.bincount(keys, minlength=n_cells * size).reshape(n_cells, size)
            parts.append(table[:, table.any(axis=0)].astype(np.float64))
        starts = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
        return cls(np.concatenate(parts, axis=1), starts, weights)

    @property
    def rows(self) -> NDArray[np.float64]:
        """Rows of each cell, shape (n_cells,)."""
        return np.asarray(self.counts[:, : self.starts[1] if len(self.starts) > 1 else None].sum(axis=1))

    def coarser(self, most: int) -> Profiles:
        """Profiles of at most so many steps a column, of neighbouring levels that hold about equally many rows."""
        begins: list[NDArray[np.int64]] = []
        starts = [0]
        for start, end in zip(self.starts, [*self.starts[1:], self.counts.shape[1]], strict=True):
            held = self.counts[:, start:end].sum(axis=0)
            step = ((np.cumsum(held) - held / 2) * most / max(held.sum(), 1.0)).astype(np.int64)
            begins.append(start + np.unique(step, return_index=True)[1])
            starts.append(starts[-1] + len(begins[-1]))
        counts = np.add.reduceat(self.counts, np.concatenate(begins), axis=1)
        return Profiles(counts, np.array(starts[:-1], np.int64), self.weights)

    def lost(self, mixtures: Any) -> NDArray[np.float64]:
        """Σ_j w_j m H(X_j | y) / H(X_j) of released symbols, m their rows, from P(y|cell) times any factor.

        Parameters
        ----------
        mixtures : ndarray or sparse array of shape (k, n_cells)

        Returns
        -------
        ndarray of shape (k,)
            Linear in the factor, so the mixture of released symbols that loses least is a linear program.
        """
        lost = np.empty(mixtures.shape[0])
        for start in range(0, len(lost), _BATCH):
            part = mixtures[start : start + _BATCH]
            inside, rows = np.asarray(part @ self.counts), np.asarray(part @ self.rows)
            spread = np.add.reduceat(_x_log_x(inside), self.starts, axis=1)
            lost[start : start + _BATCH] = (_x_log_x(rows)[:, None] - spread) @ self.weights
        return lost


def _x_log_x(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))
