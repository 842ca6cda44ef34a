"""What growing a tree gives: the tree, and what the rows say about its cells and mixtures of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._checks import Codes, Mask, Vector
from sanitize.errors import InvalidParameter
from sanitize.joint import sparse_counts
from sanitize.trees._levels import grouped, steps
from sanitize.trees._tree import group_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize.trees._levels import Levels
    from sanitize.trees._tree import Tree

# Of the rows, on which a tree is grown where the others certify it.
DESIGN_SHARE = 0.2
_MIXTURES = 2048


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


def column_counts(
    names: Sequence[str],
    groups: Sequence[NDArray[np.int64]],
    cells: NDArray[np.integer],
    n_cells: int,
    rows: Mask | None = None,
) -> Iterator[tuple[str, sparse.csr_array]]:
    """Name of each column and rows of (X_j, cell), from the group of X_j in each row, shape (n_groups, n_cells)."""
    chosen = slice(None) if rows is None else rows
    for name, own in zip(names, groups, strict=True):
        yield name, sparse_counts(own[chosen], cells[chosen], (int(own.max()) + 1, n_cells))


def pair_counts(
    names: Sequence[str],
    groups_of: Callable[[int], Sequence[NDArray[np.int64]]],
    cells: NDArray[np.integer],
    n_cells: int,
) -> Iterator[tuple[tuple[str, str], sparse.csr_array]]:
    """The same of the pairs of `chosen_pairs`; of very many rows of every k-th row, in the groups of that step."""
    pairs = chosen_pairs(len(names))
    step = max(1, -(-len(cells) * len(pairs) // 30_000_000))
    cells, groups = cells[::step], groups_of(step)
    for i, j in pairs:
        n_i, n_j = int(groups[i].max()) + 1, int(groups[j].max()) + 1
        counts = sparse_counts(groups[i] * n_j + groups[j], cells, (n_i * n_j, n_cells))
        yield (names[i], names[j]), counts[np.flatnonzero(np.diff(counts.indptr))]


def chosen_pairs(n: int) -> list[tuple[int, int]]:
    """All pairs of n columns; of more than 1,000 pairs so many at random, each as likely as any other.

    Examples
    --------
    >>> chosen_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    >>> len(chosen_pairs(200))
    1000
    """
    most = 1000  # pairs of columns that are worth the time, and rows x pairs
    n_pairs = n * (n - 1) // 2
    if n_pairs <= most:
        return list(combinations(range(n), 2))
    drawn = np.sort(np.random.default_rng(0).choice(n_pairs, most, replace=False))
    up_to = np.cumsum(np.arange(n)[::-1])  # pairs whose first column is this one or an earlier one
    first = np.searchsorted(up_to, drawn, side="right")
    return list(zip(first.tolist(), (n - up_to[first] + drawn).tolist(), strict=True))


def design_rows(n_records: int, share: float = DESIGN_SHARE) -> Mask:
    """Rows that a tree is grown on, when all others certify it: a fixed uniform choice by position.

    Parameters
    ----------
    n_records : int
        Rows of the table.
    share : float
        Of the rows, between 0 and 1.

    Returns
    -------
    ndarray of bool, shape (n_records,)

    Examples
    --------
    >>> design_rows(1000).sum(), bool((design_rows(1000) == design_rows(1000)).all())
    (np.int64(200), True)
    """
    if not 0 < share < 1:
        raise InvalidParameter(f"share must lie between 0 and 1, got {share!r}")
    chosen = np.zeros(n_records, bool)
    # The choice of rows must not depend on what they hold, so the seed is fixed.
    chosen[np.random.default_rng(13).permutation(n_records)[: round(share * n_records)]] = True
    return chosen


def cell_counts(
    cells: NDArray[np.integer], secrets: NDArray[np.integer], n_cells: int, n_secrets: int
) -> NDArray[np.int64]:
    """Rows of each secret in each cell, shape (n_secrets, n_cells).

    Parameters
    ----------
    cells, secrets : ndarray of int, shape (n,)
        Cell and sensitive symbol of each row, numbered from 0.
    n_cells, n_secrets : int

    Returns
    -------
    ndarray of int, shape (n_secrets, n_cells)

    Examples
    --------
    >>> cell_counts(np.array([0, 1, 1]), np.array([0, 0, 1]), 2, 2)
    array([[1, 1],
           [0, 1]])
    """
    keys = secrets.astype(np.int64) * n_cells + cells
    return np.bincount(keys, minlength=n_secrets * n_cells).reshape(n_secrets, n_cells)


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

    counts: Vector
    starts: NDArray[np.int64]
    weights: Vector

    @property
    def rows(self) -> Vector:
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

    def lost(self, mixtures: Any) -> Vector:
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
        for start in range(0, len(lost), _MIXTURES):
            part = mixtures[start : start + _MIXTURES]
            inside, rows = np.asarray(part @ self.counts), np.asarray(part @ self.rows)
            spread = np.add.reduceat(_x_log_x(inside), self.starts, axis=1)
            lost[start : start + _MIXTURES] = (_x_log_x(rows)[:, None] - spread) @ self.weights
        return lost


def _x_log_x(values: NDArray[Any]) -> Vector:
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))
