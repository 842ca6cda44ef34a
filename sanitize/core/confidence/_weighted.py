"""Confidence bounds for the population from weighted rows in independent clusters, by betting on sums of mean 0.

Let cluster c (a row by itself is a cluster) have the weight t_c of rows with s, in units of the largest total that a
cluster of the frame could have, and the share r_c of it with s and x. At P(x|s) = p the sum of Z_c = (r_c - p) t_c has
mean 0, the product of 1 + λ Z_c a mean of at most 1, and p is refused where it reaches 1/α. With λ = min(κ / √(p (1 -
p)), 0.9 / p) every value below a refused p is refused too. The mean v of Σ t_c², which decides the best κ, is bounded
first. Proof 2 in docs/theory/proofs.md states the assumptions about the design and shows why this holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sanitize._util.checks import Codes, Vector, positive
from sanitize._util.limits import BLOCK_CELLS
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Totals of clusters that differ by less than this share count as equal: they are sums of weights in another order.
SAME_TOTAL = 1e-9
# Nodes of the grids for totals and for shares of clusters, used if there are more distinct values. Between nodes, the
# logarithm of a bet is replaced by its chord, which lies below it, so coarser grids only widen the bounds.
_MOST_SIZES, _MOST_SHARES = 64, 16
# Bounds lie between 0 and 1, so this many halvings find them to 1e-12.
_HALVINGS = 40
# Largest share of its stake that a bet can lose on one cluster, so that its logarithm stays finite.
_MOST_LOST = 0.9
# Values of κ for bets, and their shares of the initial stake. If v is unknown, powers of two cover its usual range
# alike.
_WIDE = 2.0 ** np.arange(-1, 9), np.full(10, 0.1)
# The best κ gets most of the stake. One nearly half and one twice as large insure against a wrong bound of v.
_NEAR = 2.0 ** np.array([-1.25, 0, 1.25]), np.array([0.05, 0.9, 0.05])
# Largest number of grid steps of P(A|s) in the bound of the total variation. One step is added to the bound, so a
# thousand cost little.
_STEPS = 1024


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of a sample, as codes of (s, x), weights > 0 and clusters; each row counts ``repeats`` times.

    ``is_largest_unknown`` is True if clusters have unequal totals and the largest possible total was not given.
    """

    s: Codes
    x: Codes
    weights: Vector
    cluster: Codes
    repeats: int = 1
    is_largest_unknown: bool = False

    @classmethod
    def from_weights(
        cls, s: Codes, x: Codes, weights: Vector, clusters: NDArray[np.generic] | None, largest: float | None = None
    ) -> WeightedRows:
        """Build the sample from the rows of positive weight; weights become shares of the largest total of a cluster.

        Raises
        ------
        InvalidParameter
            If a cluster has a larger total than ``largest``.
        """
        has_weight = weights > 0
        parts = s, x, np.arange(len(s)) if clusters is None else clusters
        s, x, cluster = (np.unique(part[has_weight], return_inverse=True)[1] for part in parts)
        totals = np.bincount(cluster, weights[has_weight])
        least, most = float(totals.min()), float(totals.max())
        unknown = largest is None and clusters is not None and most > least * (1 + SAME_TOTAL)
        if largest is not None and most > positive("largest_total", largest) * (1 + SAME_TOTAL):
            raise InvalidParameter(
                f"largest_total must be at least {most:g}, the largest total weight in the sample, got {largest:g}"
            )
        return cls(s, x, weights[has_weight] / max(most, largest or 0.0), cluster, is_largest_unknown=unknown)

    @property
    def counts(self) -> Vector:
        """Sum of the weights of each (s, x), scaled to the number of rows."""
        counts = np.zeros((self.s.max() + 1, self.x.max() + 1))
        np.add.at(counts, (self.s, self.x), self.weights)
        return counts * (self.repeats * len(self.s) / counts.sum())

    def bounds(self, level: float) -> tuple[Vector, Vector, Vector, Vector, Vector]:
        """Bounds of P(x|s), radii of P(.|s) in total variation, and bounds of P(s), each with error ``level``."""
        n = self.repeats * (int(self.cluster.max()) + 1)
        secrets = [
            _Shares.from_rows(self.cluster[rows], self.x[rows], self.weights[rows], self.x.max() + 1, self.repeats)
            for rows in self.s == np.arange(self.s.max() + 1)[:, None]
        ]
        whole = _Shares.from_rows(self.cluster, self.s, self.weights, len(secrets), self.repeats)
        variances = [(shares, shares.variance(level, n)) for shares in secrets]
        lower, upper = np.moveaxis(np.array([shares.ends(level, variance) for shares, variance in variances]), 1, 0)
        distance = np.array([shares.radius(level, variance) for shares, variance in variances])
        return lower, upper, distance, *whole.ends(level, whole.variance(level, n))


class _Bets(NamedTuple):
    """Terms (r - p) t of the bets, sorted by cell, with their counts, and the p of each cell that makes their sum 0.

    κ has shape (variances, bets): for every variance, the bets together must refuse p.
    """

    cell: Codes
    share: Vector
    size: Vector
    times: Vector
    center: Vector

    def ends(self, level: float, kappa: Vector, start: Vector) -> tuple[Vector, Vector]:
        """Lower and upper bounds of every cell's p, each with half the error level."""
        mirrored = self._replace(share=1 - self.share, center=1 - self.center)
        return self.lower(level / 2, kappa, start), 1 - mirrored.lower(level / 2, kappa, start)

    def lower(self, level: float, kappa: Vector, start: Vector) -> Vector:
        """Lower bounds of every cell's p."""
        first = np.searchsorted(self.cell, np.arange(len(self.center)))
        low, high = np.zeros_like(self.center), self.center
        for _ in range(_HALVINGS):
            p = np.maximum((low + high) / 2, SMALLEST_POSITIVE)
            won = np.log1p(_stakes(p, kappa)[..., self.cell] * ((self.share - p[self.cell]) * self.size))
            logs = np.add.reduceat(self.times * won, first, axis=-1).min(axis=0)
            refused = np.logaddexp.reduce(logs + np.log(start)[:, None], axis=0) >= -np.log(level)
            low, high = np.where(refused, p, low), np.where(refused, high, p)
        return low


@dataclass(frozen=True, eq=False)
class _Shares:
    """Numbers of clusters with a sensitive symbol s, for each cluster's total t and each cell's share r of that total.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
    shares : ndarray of shape (n_shares,)
        The first is 0.
    times : ndarray of shape (n_x, n_shares, n_sizes)
        Number of clusters per cell, share and size, split over the grid so that their sums of t and r are kept.
    squares : ndarray of shape (n_sizes,)
        Number of clusters per size, split over the grid so that the sum of t² is kept.
    center : ndarray of shape (n_x,)
    """

    sizes: Vector
    shares: Vector
    times: Vector
    squares: Vector
    center: Vector

    @classmethod
    def from_rows(cls, cluster: Codes, x: Codes, weights: Vector, n_x: int, repeats: int) -> _Shares:
        """Build the numbers of clusters from the rows of one s, or from all rows with s in place of x."""
        cluster = np.unique(cluster, return_inverse=True)[1]
        total = np.asarray(np.bincount(cluster, weights), np.float64)
        pairs, place = np.unique(cluster * n_x + x, return_inverse=True)
        cluster, cell = np.divmod(pairs, n_x)
        share = np.minimum(np.bincount(place, weights) / total[cluster], 1.0)
        shares = np.append(0.0, _nodes(share, _MOST_SHARES))
        sizes = _nodes(total, min(_MOST_SIZES, max(2, BLOCK_CELLS // (4 * n_x * len(shares)))))
        squares = np.sum(
            [np.bincount(at, part, len(sizes)) for at, part in _bracket_values(total**2, sizes**2)], axis=0
        )
        of_size = _bracket_values(total, sizes)
        times = np.zeros((n_x, len(shares), len(sizes)))
        for row, share_part in _bracket_values(share, shares):
            for column, size_part in of_size:
                np.add.at(times, (cell, row, column[cluster]), share_part * size_part[cluster])
        everywhere = np.sum([np.bincount(at, part, len(sizes)) for at, part in of_size], axis=0)
        times[:, 0] = np.maximum(everywhere - times.sum(axis=1), 0.0)
        return cls(sizes, shares, repeats * times, repeats * squares, np.bincount(x, weights, n_x) / weights.sum())

    def variance(self, level: float, n: float) -> Vector:
        """Lower and upper bound of the expected Σ t² over all n clusters, including those without s, shape (2, 1)."""
        kappa, start = _WIDE
        # A size is at most 1, but for rounding, by which a bet could lose more than its stake.
        share = np.minimum(np.append(self.sizes, 0.0), 1.0) ** 2
        times = np.append(self.squares, n - self.squares.sum())
        bets = _Bets(np.zeros(len(share), np.int64), share, np.ones(len(share)), times, share[None] @ times / n)
        ends = bets.ends(level, np.sqrt(2 * np.log(2 * len(start) / level) / n) * kappa[None], start)
        return n * np.maximum(ends, SMALLEST_POSITIVE)

    def ends(self, level: float, variance: Vector) -> tuple[Vector, Vector]:
        """Lower and upper bounds of P(x|s) for one s, or of P(s) if the shares are those of s."""
        cell, row, column = np.nonzero(self.times)
        bets = _Bets(cell, self.shares[row], self.sizes[column], self.times[cell, row, column], self.center)
        return bets.ends(level, _bet_grid(np.log(2 / level), variance), _NEAR[1])

    def radius(self, level: float, variance: Vector) -> float:
        """Radius in total variation from the center, by bets on every set A of cells at once.

        For p = P(A|s), the largest share in the center of a set A whose bets do not refuse p is at most that of a
        fractional knapsack, filled first with the cells that win least for their share. Between two grid values of p,
        the bound for the larger one holds.
        """
        n_x = len(self.center)
        if n_x == 1:
            return 0.0
        needed = n_x * np.log(2) + np.log1p(-(2.0 ** (1 - n_x))) - np.log(level)  # of 2^n_x - 2 sets
        farthest, steps = 0.0, min(_STEPS, max(64, BLOCK_CELLS // n_x))
        for p in np.array_split(np.arange(1, steps + 1) / steps, 1 + 8 * steps * n_x // BLOCK_CELLS):
            stakes = _stakes(p, _bet_grid(needed, variance))[..., None] * self.sizes
            lost = np.log1p(-stakes * p[:, None])
            won = (np.log1p(stakes * (1 - p[:, None])) - lost) @ (self.shares @ self.times).T
            left = (needed - np.log(_NEAR[1]))[:, None] - lost @ self.times[0].sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                order = np.argsort(won / self.center, axis=-1, kind="stable")
                won = np.take_along_axis(won, order, -1)
                filled = np.nan_to_num(np.clip((left[..., None] - won.cumsum(axis=-1)) / won + 1, 0, 1))
            most = (filled * self.center[order]).sum(axis=-1).max(axis=0).min(axis=0)
            farthest = max(farthest, float((most - p).max()) + 1 / steps)
        return min(farthest, 1.0)


def _stakes(p: Vector, kappa: Vector) -> Vector:
    """Return the stake λ of each bet at each p, shape (..., len(p))."""
    with np.errstate(divide="ignore"):
        return np.minimum(kappa[..., None] / np.sqrt(p * (1 - p)), _MOST_LOST / p)


def _bet_grid(needed: float, variance: Vector) -> Vector:
    """Return a grid of κ around the best value, per bound of the variance, for bets that must win ``needed`` nats."""
    return np.sqrt(2 * (needed - np.log(_NEAR[1].max())) / variance) * _NEAR[0]


def _nodes(values: Vector, most: int) -> Vector:
    """Return the distinct values, or if there are more than ``most``, a grid from the smallest to the largest."""
    nodes = np.unique(values)
    if len(nodes) > most:
        nodes = np.r_[nodes[0], np.geomspace(nodes[0], nodes[-1], most)[1:-1], nodes[-1]]
    return nodes


def _bracket_values(values: Vector, nodes: Vector) -> list[tuple[Codes, Vector]]:
    """Return the two nodes around each value, and the weights with which their mean is the value."""
    above = np.searchsorted(nodes, values)
    below = np.maximum(above - 1, 0)
    gap = nodes[above] - nodes[below]
    part = np.where(gap > 0, (values - nodes[below]) / np.where(gap > 0, gap, 1.0), 1.0)
    return [(below, 1 - part), (above, part)]
