"""Heuristic pricing: vertices v of Π with H(T|v) - μ·v < 0, from linearised programs and walks; H below is H(T|·)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._limits import BLOCK_CELLS
from sanitize.mechanisms._random_response.dual_simplex import LinearBatch, solve_batch
from sanitize.mechanisms._random_response.walk import walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._random_response.loss import Loss
    from sanitize.mechanisms._random_response.polytope import ResponsePolytope
    from sanitize.mechanisms._random_response.pool import ColumnPool

_LINEAR_STEPS = 8
_FLOORS = 3.5, 11.5  # nats below 1, of v where the entropy is linearised
_STALLED = 1e-10
_FIRST_SHARE = 0.3  # of the effort, for the first vertices
# A program from the slack basis takes more pivots where there are more rows: each so many count as one more program.
_ROWS = 12
_BATCH = 256  # programs at a time


@dataclass(eq=False)
class Pricer:
    """Looks for columns of negative reduced cost and puts them into the pool.

    Attributes
    ----------
    polytope : ResponsePolytope
    pool : ColumnPool
    rng : numpy Generator
        Seeded: the same law and budget always give the same channel.
    tolerance : float
        Columns count when H(v) - μ·v is below minus this.
    effort : Effort
        Entries of linear programs solved.
    """

    polytope: ResponsePolytope
    pool: ColumnPool
    rng: np.random.Generator
    tolerance: float
    effort: Effort

    @property
    def loss(self) -> Loss:
        """What columns leave open."""
        return self.pool.loss

    def first_vertices(self) -> NDArray[np.float64]:
        """Add, for each letter, a vertex with as much of it as possible; return H(v)/v(x), a price of letter x."""
        n = self.polytope.n
        price = np.full(n, np.inf)
        batch = self._batch()
        for first in range(0, n, batch):
            if first and self.effort.is_used(_FIRST_SHARE):
                break
            main = np.arange(first, min(first + batch, n))
            cost = self.rng.random((len(main), n)) * 0.1
            cost[np.arange(len(main)), main] = -2.0
            v, basis, at_upper = self._linear(cost, self.polytope.slack_basis(len(main)))
            for k in np.flatnonzero(self.polytope.contains(v)):
                self.pool.add(v[k], (basis[k], at_upper[k]))
            price[main] = self.loss.of(v) / np.maximum(v[np.arange(len(main)), main], 1e-9)
        return np.minimum(price, price[np.isfinite(price)].max())

    def from_pool(self, mu: NDArray[np.float64], columns: NDArray[np.intp], max_steps: int) -> int:
        """Walk from vertices of the pool; number of columns added."""
        kept = [self.pool.vertices[k] for k in columns.tolist() if k in self.pool.vertices]
        if not kept:
            return 0
        basis, at_upper = np.array([b for b, _ in kept]), np.array([u for _, u in kept])
        return self._walk(mu, basis, at_upper, max_steps)

    def from_random(self, mu: NDArray[np.float64], copies: int) -> int:
        """Descend from random prices with each letter as the main one; number of columns added."""
        n = self.polytope.n
        before = len(self.pool)
        mains = np.concatenate([self.rng.permutation(n) for _ in range(copies)])
        batch = self._batch()
        for first in range(0, len(mains), batch):
            if self.effort.is_used():
                break
            main = mains[first : first + batch]
            k = np.arange(len(main))
            cost = self.rng.uniform(2, 6, (len(main), 1)) + 3 * self.rng.random((len(main), n)) - mu
            cost[k, main] = -mu[main] - 0.3 * self.rng.integers(0, 2, len(main))
            v, basis, _ = self._linear(cost, self.polytope.slack_basis(len(main)))
            self.from_points(mu, v, basis)
        return len(self.pool) - before

    def from_points(self, mu: NDArray[np.float64], v: NDArray[np.float64], basis: NDArray[np.intp]) -> int:
        """Linearise H at points of Π, solve, repeat while it helps, then walk; number of columns added.

        H is concave, so the vertex that minimises its tangent is no worse than the point of tangency.
        """
        before = len(self.pool)
        floor = math.exp(-self.rng.uniform(*_FLOORS))
        live, best = np.arange(len(v)), np.full(len(v), np.inf)
        v, basis = v.copy(), basis.copy()
        at_upper = np.zeros((len(v), self.polytope.size), np.bool_)
        for _ in range(_LINEAR_STEPS):
            cost = self.loss.slope(v[live], floor) - mu
            point, found, upper = self._linear(cost, basis[live])
            score = self.loss.of(point) - (point * mu).sum(axis=1)
            better = score < best[live] - _STALLED
            live, point, found, upper = live[better], point[better], found[better], upper[better]
            if not len(live):
                break
            best[live], v[live], basis[live], at_upper[live] = score[better], point, found, upper
        self._walk(mu, basis, at_upper, max_steps=40)
        return len(self.pool) - before

    def _batch(self) -> int:
        """Programs solved at a time, so that they fit in memory."""
        return max(1, min(_BATCH, BLOCK_CELLS // self.polytope.work))

    def _walk(
        self, mu: NDArray[np.float64], basis: NDArray[np.intp], at_upper: NDArray[np.bool_], max_steps: int
    ) -> int:
        before = len(self.pool)

        def visit(here: NDArray[np.intp], upper: NDArray[np.bool_], values: NDArray[np.float64]) -> None:
            self.effort.spend(len(here) * self.polytope.work)
            v = self.polytope.solution(here, values)[:, : self.polytope.n]
            better = np.flatnonzero(self.loss.of(v) - (v * mu).sum(axis=1) < -self.tolerance)
            for k in better[self.polytope.contains(v[better])]:
                self.pool.add(v[k], (here[k], upper[k]))

        walk(self.polytope, mu, basis, at_upper, visit, max_steps)
        return len(self.pool) - before

    def _linear(
        self, cost: NDArray[np.float64], basis: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.bool_]]:
        """Vertices of Π that minimise linear costs (K, n)."""
        k = len(cost)
        self.effort.spend(k * self.polytope.work * max(1, self.polytope.n_rows // _ROWS))
        padded = np.zeros((k, self.polytope.size))
        padded[:, : self.polytope.n] = cost
        bounds = np.tile(self.polytope.lower, (k, 1)), np.tile(self.polytope.upper, (k, 1))
        solved = solve_batch(LinearBatch(self.polytope.matrix, self.polytope.rhs, *bounds, padded), basis)
        return np.maximum(solved.point[:, : self.polytope.n], 0.0), solved.basis, solved.at_upper()
