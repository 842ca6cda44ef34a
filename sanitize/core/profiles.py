"""Counts of what rows hold in each class, of columns and of secrets, and relations between columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.core.joint import sparse_counts
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy import sparse

# Groups of values in which the information of a column is counted: of more, what few rows say is noise.
GROUPS = 16
# Of the rows, which design a channel where the others certify it.
DESIGN_SHARE = 0.2
_MIXTURES = 2048
# Cramér's V up to which two columns count as unrelated.
LEAST_RELATION = 0.1


def group_levels(counts: NDArray[np.integer[Any]], *, is_ordered: bool, most: int = GROUPS) -> Codes:
    """Group of each level: runs of levels of about equal rows, or the most frequent ones and the rest."""
    if np.count_nonzero(counts) <= most:
        return np.maximum(np.cumsum(counts > 0) - 1, 0)
    if is_ordered:
        middle = np.cumsum(counts) - counts / 2
        return np.unique((middle * most / counts.sum()).astype(np.intp), return_inverse=True)[1]
    place = np.empty(len(counts), np.intp)
    place[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), most - 1)
    return place


def column_counts(
    names: Sequence[str],
    groups: Sequence[NDArray[np.int64]],
    cells: NDArray[np.integer],
    n_cells: int,
    rows: Mask | None = None,
) -> Iterator[tuple[str, sparse.csr_array]]:
    """Name of each column and rows of (X_j, cell), from the group of X_j in each row, shape (n_groups, n_cells)."""
    chosen = slice(None) if rows is None else rows
    for name, column_groups in zip(names, groups, strict=True):
        yield name, sparse_counts(column_groups[chosen], cells[chosen], (int(column_groups.max()) + 1, n_cells))


RelationState = Literal["kept", "weaker", "lost"]


@dataclass(frozen=True)
class Relation:
    """Strength of a relation between two columns, by Cramér's V, in a table and in rows that are released of it.

    Attributes
    ----------
    columns : tuple of str
    raw, released : float
        0 for independent columns, 1 where one of them determines the other.
    state : {"kept", "weaker", "lost"}
        Whether a file of as many rows as the table has it within 20 %, in nine of ten draws; or half of it at most, in
        one of ten.
    is_sure : bool
        Whether the table's is beyond chance by far, and not only by two deviations.
    """

    columns: tuple[str, str]
    raw: float
    released: float
    state: RelationState
    is_sure: bool

    @property
    def share(self) -> float:
        """Share of what the columns say about each other, which grows with the square of V; at most 1."""
        return min(self.released / self.raw, 1.0) ** 2


def pair_relations(
    names: Sequence[str], codes: Sequence[Sequence[Codes]], weights: tuple[Vector, Vector], *, is_drawn: bool
) -> tuple[Relation, ...]:
    """Return how much other rows have of each relation between two columns of a table, of `choose_pairs`.

    Cramér's V of the other rows is taken in the direction of the table's: a relation that is turned around is lost.
    Both are without the bias of few rows.

    Parameters
    ----------
    names : sequence of str
    codes : sequence of (ndarray of int, ndarray of int)
        Group of each row of the table and of the other rows, in each column.
    weights : pair of ndarray of float
        How many rows each of them stands for.
    is_drawn : bool
        Whether the other rows are drawn at random, in place of expected ones.

    Examples
    --------
    >>> one, turned = np.arange(200) % 2, 1 - np.arange(200) % 2
    >>> rows = np.ones(200), np.ones(200)
    >>> for other in (one, turned):
    ...     (relation,) = pair_relations(["a", "b"], [(one, one), (one, other)], rows, is_drawn=True)
    ...     round(relation.raw, 2), round(relation.released, 2), relation.state
    (1.0, 1.0, 'kept')
    (1.0, 0.0, 'lost')
    """
    sizes, relations = [int(max(side.max() for side in column)) + 1 for column in codes], []
    for i, j in choose_pairs(len(names)):
        shape = sizes[i], sizes[j]
        table, other = (
            np.bincount(codes[i][k] * shape[1] + codes[j][k], weights[k], shape[0] * shape[1])
            .reshape(shape)
            .astype(float)
            for k in range(2)
        )
        n, levels = table.sum(), [np.count_nonzero(table.sum(axis=axis)) - 1 for axis in (1, 0)]
        by_chance, ours, theirs = levels[0] * levels[1] / n, _contingency(table), _contingency(other)
        square, most = (ours**2).sum() - by_chance, min(levels)
        deviation = np.sqrt(2 * by_chance / n)
        if most and square > max(most * LEAST_RELATION**2, 2 * deviation):
            # What is expected of the table's own rows has its chance, too.
            same = max((ours * theirs).sum() - (0.0 if is_drawn else by_chance), 0.0)
            raw, released = (min(float(v), 1.0) for v in (np.sqrt(square / most), same / np.sqrt(square * most)))
            least = released - 1.28 / np.sqrt(n * most)  # one draw of a file in ten is below
            is_lost = released < 0.8 * raw and least < 0.5 * raw
            state: RelationState = "kept" if least >= 0.8 * raw else "lost" if is_lost else "weaker"
            relations.append(Relation((names[i], names[j]), raw, released, state, bool(square > 5 * deviation)))
    return tuple(relations)


def _contingency(table: Vector) -> Vector:
    """Difference of each frequency from that of independent columns, over its root; the squares sum to χ²/n."""
    p = table / table.sum()
    alone = np.outer(p.sum(axis=1), p.sum(axis=0))
    return np.divide(p - alone, np.sqrt(alone), out=np.zeros_like(p), where=alone > 0)


def choose_pairs(n: int) -> list[tuple[int, int]]:
    """All pairs of n columns; of more than 1,000 pairs so many at random, each as likely as any other.

    Examples
    --------
    >>> choose_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    >>> len(choose_pairs(200))
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
    """Rows that design a channel where all others certify it: a fixed uniform choice by position.

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
            level_rows = self.counts[:, start:end].sum(axis=0)
            step = ((np.cumsum(level_rows) - level_rows / 2) * most / max(level_rows.sum(), 1.0)).astype(np.int64)
            begins.append(start + np.unique(step, return_index=True)[1])
            starts.append(starts[-1] + len(begins[-1]))
        counts = np.add.reduceat(self.counts, np.concatenate(begins), axis=1)
        return Profiles(counts, np.array(starts[:-1], np.int64), self.weights)

    def information_loss(self, mixtures: Any) -> Vector:
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
