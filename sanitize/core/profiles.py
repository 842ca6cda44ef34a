"""Counts of column values and of sensitive values in each cell, and strengths of relations between columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sanitize._util.arithmetic import entr, product
from sanitize._util.checks import Codes, Mask, Vector
from sanitize.core.joint import sparse_counts
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy import sparse

# Largest number of groups of values used to count a column's information; with more, groups of few rows add noise.
GROUPS = 16
# Share of the rows that design a channel. The others certify it, and get more rows because intervals narrow with them.
DESIGN_SHARE = 0.2
# Mixtures whose entropies are computed together: enough to outweigh the loop, few enough for the cache.
_MIXTURES = 2048
# Columns are divided by their entropy, in nats. Divided by less than 0.05, a nearly constant column would outweigh all
# others. A share of all cells' counts is added to each cell, so that a cell without rows has a distribution.
_LEAST_ENTROPY, _ADDED = 0.05, 1e-9
# Cramér's V up to which two columns count as unrelated; by convention, weaker relations are negligible.
LEAST_RELATION = 0.1
# One-sided normal quantiles, in standard deviations. To call a relation kept, one error in ten is accepted (10 %); to
# call it lost, or two columns related, one in twenty (5 %).
_MARGIN, _ONE_SIDED = 1.28, 1.64


def group_levels(counts: NDArray[np.integer[Any]], *, is_ordered: bool, most: int = GROUPS) -> Codes:
    """Return the group of each level: consecutive levels of about equal counts, or frequent levels and the rest."""
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
    """Yield each column's name and its row counts per group of values and cell, of shape (n_groups, n_cells)."""
    chosen = slice(None) if rows is None else rows
    for name, column_groups in zip(names, groups, strict=True):
        yield name, sparse_counts(column_groups[chosen], cells[chosen], (int(column_groups.max()) + 1, n_cells))


RelationState = Literal["kept", "changed", "lost"]


@dataclass(frozen=True)
class Relation:
    """Strength of the relation between two columns (Cramér's V) in a table and in rows released from that table.

    Attributes
    ----------
    columns : tuple of str
    raw, released : float
        0 for independent columns, 1 where one of them determines the other.
    state : {"kept", "changed", "lost"}
        ``kept``: in a file as long as the table, V is within 20 % of the table's, allowing for the error that one draw
        in ten exceeds. ``lost``: V may fall below half of the table's in one draw in twenty. ``changed``: neither.
    is_sure : bool
        True if the relation in the table exceeds chance by more than five standard deviations.
    """

    columns: tuple[str, str]
    raw: float
    released: float
    state: RelationState
    is_sure: bool

    @property
    def share(self) -> float:
        """Share of the relation's squared strength V² that is kept; below 1 also if the relation is overstated."""
        ratio = self.released / self.raw
        return (1 / ratio if ratio > 1.2 else min(ratio, 1.0)) ** 2


def pair_relations(
    names: Sequence[str], codes: Sequence[Sequence[Codes]], weights: tuple[Vector, Vector], *, is_drawn: bool
) -> tuple[Relation, ...]:
    """Return the strength of the relations between columns in a table and in other rows, for pairs of `choose_pairs`.

    Cramér's V of the other rows counts only the pattern of the table's relation, so a reversed relation is lost. Both
    values are corrected for the bias of small samples.

    Parameters
    ----------
    names : sequence of str
    codes : sequence of (ndarray of int, ndarray of int)
        Group of each row of the table and of the other rows, in each column.
    weights : pair of ndarray of float
        Weight of each row of the table and of the other rows.
    is_drawn : bool
        True if the other rows were drawn at random, False if they are expected frequencies.

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
        n_free = int(levels[0] * levels[1])
        noise = _square_deviation(0.0, n_free, n, slope=0.0)
        # Columns are related if the relation exceeds chance, and V reaches the least relation within the sampling
        # error.
        if not most or square <= _ONE_SIDED * noise:
            continue
        deviation = partial(_square_deviation, n_free=n_free, n=n, slope=_square_slope(table / n))
        if square + _MARGIN * deviation(square) <= most * LEAST_RELATION**2:
            continue
        # Expected frequencies from the table's own rows contain the same chance part.
        same = max((ours * theirs).sum() - (0.0 if is_drawn else by_chance), 0.0) / np.sqrt(square)
        # A model may also overstate a relation, even with a pattern that the table does not have.
        chance = levels[0] * levels[1] / other.sum() if is_drawn else by_chance
        own_square = max((theirs**2).sum() - chance, 0.0)
        least, half = (same**2 - margin * deviation(same**2) for margin in (_MARGIN, _ONE_SIDED))
        is_kept = least >= 0.8**2 * square and own_square + _MARGIN * deviation(own_square) <= 1.2**2 * square
        state: RelationState = "kept" if is_kept else "lost" if half < 0.5**2 * square else "changed"
        raw, released, own = (min(float(v / np.sqrt(most)), 1.0) for v in (np.sqrt(square), same, np.sqrt(own_square)))
        released = own if own > 1.2 * raw and state == "changed" else released
        relations.append(Relation((names[i], names[j]), raw, released, state, bool(square > 5 * noise)))
    return tuple(relations)


def _square_deviation(square: float, n_free: int, n: float, slope: float) -> float:
    """Standard deviation of χ²/n in tables of n rows, due to chance and to the relation itself."""
    return float(np.sqrt(2 * n_free + n * slope * square) / n)


def _square_slope(p: Vector) -> float:
    """Return n·Var(χ²/n) divided by χ²/n, by the delta method, without the part of the variance due to chance.

    The result is 4 if all cells are about equally frequent, as for noncentral χ², and larger for weak relations on few
    cells.
    """
    by_row, by_column = p.sum(axis=1), p.sum(axis=0)
    ratio = np.divide(p, np.outer(by_row, by_column), out=np.zeros_like(p), where=p > 0)
    in_rows = np.divide((ratio * p).sum(axis=1), by_row, out=np.zeros_like(by_row), where=by_row > 0)
    in_columns = np.divide((ratio * p).sum(axis=0), by_column, out=np.zeros_like(by_column), where=by_column > 0)
    derivative = 2 * ratio - in_rows[:, None] - in_columns
    square, mean = (ratio * p).sum() - 1, (p * derivative).sum()
    return float((p * (derivative - mean) ** 2).sum() / square) if square > 0 else 4.0


def _contingency(table: Vector) -> Vector:
    """Return (p - e)/√e for frequencies p and the frequencies e under independence; the squares sum to χ²/n."""
    p = table / table.sum()
    alone = np.outer(p.sum(axis=1), p.sum(axis=0))
    return np.divide(p - alone, np.sqrt(alone), out=np.zeros_like(p), where=alone > 0)


def choose_pairs(n: int) -> list[tuple[int, int]]:
    """Return all pairs of n columns, or 1,000 pairs chosen at random if there are more.

    Examples
    --------
    >>> choose_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    >>> len(choose_pairs(200))
    1000
    """
    most = 1000  # pairs grow with the square of the columns, and a random thousand shows their average as well
    n_pairs = n * (n - 1) // 2
    if n_pairs <= most:
        return list(combinations(range(n), 2))
    drawn = np.sort(np.random.default_rng(0).choice(n_pairs, most, replace=False))
    up_to = np.cumsum(np.arange(n)[::-1])  # number of pairs whose first column is this or an earlier one
    first = np.searchsorted(up_to, drawn, side="right")
    return list(zip(first.tolist(), (n - up_to[first] + drawn).tolist(), strict=True))


def design_rows(n_records: int, share: float = DESIGN_SHARE) -> Mask:
    """Mask of the rows used to design a channel that all other rows certify: a fixed uniform choice of positions.

    Parameters
    ----------
    n_records : int
        Rows of the table.
    share : float
        Share of the rows, between 0 and 1.

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
    # The choice of rows must not depend on their values, so the seed is fixed.
    chosen[np.random.default_rng(13).permutation(n_records)[: round(share * n_records)]] = True
    return chosen


def cell_counts(
    cells: NDArray[np.integer], secrets: NDArray[np.integer], n_cells: int, n_secrets: int
) -> NDArray[np.int64]:
    """Count of rows of each sensitive value in each cell, shape (n_secrets, n_cells).

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
        Position of the first level of each column.
    weights : ndarray
        Weight of each column's information, divided by the column's entropy.
    """

    counts: Vector
    starts: NDArray[np.int64]
    weights: Vector

    @property
    def rows(self) -> Vector:
        """Number of rows of each cell, shape (n_cells,)."""
        return np.asarray(self.counts[:, : self.starts[1] if len(self.starts) > 1 else None].sum(axis=1))

    def coarser(self, most: int) -> Profiles:
        """Profiles with fewer levels per column: neighbouring levels are merged into levels of about equal counts."""
        begins: list[NDArray[np.int64]] = []
        starts = [0]
        for start, end in zip(self.starts, [*self.starts[1:], self.counts.shape[1]], strict=True):
            level_rows = self.counts[:, start:end].sum(axis=0)
            step = ((np.cumsum(level_rows) - level_rows / 2) * most / max(level_rows.sum(), 1.0)).astype(np.int64)
            begins.append(start + np.unique(step, return_index=True)[1])
            starts.append(starts[-1] + len(begins[-1]))
        counts = np.add.reduceat(self.counts, np.concatenate(begins), axis=1)
        return Profiles(counts, np.array(starts[:-1], np.int64), self.weights)

    def column_values(self, most: int) -> Vector:
        """Return P(t|cell) of the level t of one column drawn at random, shape (n_levels, n_cells).

        The chance of a column is proportional to 1 / H(X_j), so that I(T;Y) is proportional to the sum over columns of
        I(X_j;Y) / H(X_j). There are about ``most`` levels: of very many columns, those about which the cells have the
        most information are drawn, each with two levels.
        """
        profiles = self.coarser(max(2, most // len(self.starts)))
        column = np.repeat(np.arange(len(self.starts)), np.diff([*profiles.starts, profiles.counts.shape[1]]))
        weights = np.minimum(profiles.weights, 1 / _LEAST_ENTROPY)
        within = profiles._uncertainty(profiles.counts, profiles.rows).sum(axis=0)
        (in_total,) = profiles._uncertainty(profiles.counts.sum(axis=0)[None], profiles.rows.sum()[None])
        best = np.argsort(weights * (within - in_total), kind="stable")[: max(1, most // 2)]
        chances = weights[column] * (profiles.counts + _ADDED * profiles.counts.sum(axis=0))
        chances = chances[:, np.isin(column, best)]
        return np.asarray((chances / chances.sum(axis=1, keepdims=True)).T)

    def information_loss(self, mixtures: Any) -> Vector:
        """Information lost by each released symbol y with m rows, Σ_j w_j m H(X_j | y) / H(X_j), from scaled P(y|cell).

        Parameters
        ----------
        mixtures : ndarray or sparse array of shape (k, n_cells)

        Returns
        -------
        ndarray of shape (k,)
            The loss is linear in the scale of a symbol, so a linear program finds the mixture of symbols that loses
            least.
        """
        lost = np.empty(mixtures.shape[0])
        for start in range(0, len(lost), _MIXTURES):
            part = mixtures[start : start + _MIXTURES]
            inside, rows = np.asarray(part @ self.counts), np.asarray(part @ self.rows)
            lost[start : start + _MIXTURES] = product(self._uncertainty(inside, rows), self.weights)
        return lost

    def _uncertainty(self, counts: Vector, rows: Vector) -> Vector:
        """Number of rows times the entropy H(X_j) of each column in them, shape (k, n_columns), for k sets of rows."""
        return np.asarray(np.add.reduceat(entr(counts), self.starts, axis=1) - entr(rows)[:, None])
