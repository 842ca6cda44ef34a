"""Heuristic search for vertices v of Π with H(T|v) - μ·v < 0, by linearised programs and walks; H below is H(T|·)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import basis_inverses, entr, product
from sanitize._util.checks import Codes, Mask, Vector

if TYPE_CHECKING:
    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.columns import ColumnPool, Mixture
    from sanitize.mechanisms._response_solver.polytope import Polytope

# Programs from one point, each from the vertex of the one before; points that no longer improve leave earlier.
_LINEAR_STEPS = 8
# Steps of a walk over vertices: a few while prices still change much, and then as many as reach a local optimum.
SHORT_WALK, LONG_WALK = 4, 40
# -log of the least entry of v at which the entropy is linearised, drawn between these ends: a high floor leads to
# spread columns, a low one to columns of few letters, and a mixture needs both.
_FLOORS = 3.5, 11.5
# A fall of the price by less is rounding.
_STALLED = 1e-10
# Share of the effort for the first vertices, of which a large alphabet has too many.
_FIRST_SHARE = 0.3
# Entries of the matrices of one batch of walks, which stay in the cache.
_WALK_CELLS = 1 << 18
# Falls of a price, and changes of a variable, that count as rounding.
_TINY = 1e-11


@dataclass(eq=False)
class Pricer:
    """Search for columns of negative reduced cost H(v) - μ·v, which are added to the pool.

    Attributes
    ----------
    polytope : Polytope
    pool : ColumnPool
        Pool of columns, with the loss H.
    rng : numpy Generator
        Seeded: the same distribution and budget always give the same channel.
    tolerance : float
        Columns are added if H(v) - μ·v is below minus this tolerance.
    effort : Effort
        Account of the entries of linear programs.
    """

    polytope: Polytope
    pool: ColumnPool
    rng: np.random.Generator
    tolerance: float
    effort: Effort

    def first_vertices(self) -> Vector:
        """Add, for each letter x, a vertex v with as much of x as possible; return H(v)/v(x), a price of x."""
        n, batch = self.polytope.n, self.polytope.batch
        price = np.full(n, np.inf)
        for first in range(0, n, batch):
            if first and self.effort.is_used(_FIRST_SHARE):
                break
            main = np.arange(first, min(first + batch, n))
            cost = self.rng.random((len(main), n)) * 0.1
            cost[np.arange(len(main)), main] = -2.0
            v, basis, at_upper = self._linear(cost, self.polytope.slack_basis(len(main)))
            for k in np.flatnonzero(self.polytope.contains(v)):
                self.pool.add(v[k], (basis[k], at_upper[k]))
            price[main] = self.pool.loss.entropies(v) / np.maximum(v[np.arange(len(main)), main], 1e-9)
        return np.minimum(price, price[np.isfinite(price)].max())

    def from_pool(self, mixture: Mixture, max_steps: int) -> int:
        """Walk from the vertices of a mixture; return the number of columns added."""
        starts = [self.pool.vertices[k] for k in mixture.chosen.tolist() if k in self.pool.vertices]
        bases, at_upper = (np.array([start[side] for start in starts]) for side in (0, 1))
        return self._walk(mixture.mu, bases, at_upper, max_steps) if starts else 0

    def from_random(self, mu: Vector, copies: int) -> int:
        """Descend from random points, each near one letter; return the number of columns added."""
        n, batch, before = self.polytope.n, self.polytope.batch, len(self.pool)
        mains = np.concatenate([self.rng.permutation(n) for _ in range(copies)])
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

    def from_points(self, mu: Vector, v: Vector, basis: Codes) -> int:
        """Solve programs with H linearised at points of Π, repeatedly, then walk; return the number of new columns.

        H is concave, so a vertex that minimises the tangent is no worse than the point where the tangent touches.
        """
        loss, floor = self.pool.loss, math.exp(-self.rng.uniform(*_FLOORS))
        live, best = np.arange(len(v)), np.full(len(v), np.inf)
        v, basis = v.copy(), basis.copy()
        at_upper = np.zeros((len(v), self.polytope.size), np.bool_)
        for _ in range(_LINEAR_STEPS):
            if self.effort.is_late():
                return 0
            point, bases, upper = self._linear(loss.slope(v[live], floor) - mu, basis[live])
            score = loss.entropies(point) - (point * mu).sum(axis=1)
            better = score < best[live] - _STALLED
            live = live[better]
            if not len(live):
                break
            best[live], v[live] = score[better], point[better]
            basis[live], at_upper[live] = bases[better], upper[better]
        return self._walk(mu, basis, at_upper, LONG_WALK)

    def _linear(self, cost: Vector, basis: Codes) -> tuple[Vector, Codes, Mask]:
        """Return vertices of Π with least linear costs (K, n), their bases, and a mask of variables at upper bounds."""
        k, n, size = len(cost), self.polytope.n, self.polytope.size
        self.effort.spend(k * self.polytope.first_work)
        solved = self.polytope.minimise(np.concatenate([cost, np.zeros((k, size - n))], axis=1), basis)
        return np.maximum(solved.point[:, :n], 0.0), solved.basis, solved.reduced < 0

    def _walk(self, mu: Vector, basis: Codes, at_upper: Mask, max_steps: int) -> int:
        """Walk over neighbouring vertices by steepest descent; return the number of columns added."""
        before, n, spread = len(self.pool), self.polytope.n, self.polytope.spread
        block = max(1, _WALK_CELLS // (self.polytope.n_rows * self.polytope.size))
        for first in range(0, len(basis), block):
            bases, upper = basis[first : first + block].copy(), at_upper[first : first + block].copy()
            for _ in range(max_steps):
                if self.effort.is_late():
                    break
                inverse, values = _basic_solution(self.polytope, bases, upper)
                u = np.zeros((len(bases), self.polytope.size))
                np.put_along_axis(u, bases, np.maximum(values, 0.0), axis=1)
                price = entr(u[:, spread]).sum(axis=1) - (u[:, :n] * mu).sum(axis=1)
                self.effort.spend(len(u) * self.polytope.work)
                better = np.flatnonzero(price < -self.tolerance)
                for k in better[self.polytope.contains(u[better, :n])]:
                    self.pool.add(u[k, :n], (bases[k], upper[k]))
                score, row = _neighbours(self.polytope, mu, bases, upper, inverse, values)
                best = score.argmin(axis=1)
                falls = np.flatnonzero(score[np.arange(len(bases)), best] < price - _TINY)
                if not len(falls):
                    break
                row, best = row[falls, best[falls]], best[falls]
                bases, upper = _step(self.polytope, bases[falls], upper[falls], inverse[falls], best, row)
        return len(self.pool) - before


def _basic_solution(polytope: Polytope, basis: Codes, at_upper: Mask) -> tuple[Vector, Vector]:
    """Return the inverse basis matrices (K, m, m) and the values of the basic variables (K, m), after a refinement."""
    inverse, is_regular = basis_inverses(polytope.matrix, basis)
    if not is_regular.all():
        raise np.linalg.LinAlgError("a basis is singular")
    fixed = np.where(at_upper, polytope.upper, polytope.lower)
    np.put_along_axis(fixed, basis, 0.0, axis=1)
    target = polytope.rhs - product(fixed, polytope.matrix.T)
    values = np.einsum("kij,kj->ki", inverse, target)
    left = target - np.einsum("ikj,kj->ki", polytope.matrix[:, basis], values)
    return inverse, values + np.einsum("kij,kj->ki", inverse, left)


def _neighbours(
    polytope: Polytope, mu: Vector, basis: Codes, at_upper: Mask, inverse: Vector, values: Vector
) -> tuple[Vector, Codes]:
    """Return H - μ·v at the neighbour along each nonbasic variable, (K, N), and the row that leaves (-1: none)."""
    k, m = basis.shape
    n, spread = polytope.n, polytope.spread
    change = product(inverse.reshape(k * m, m), polytope.matrix).reshape(k, m, polytope.size)
    change = np.where(at_upper[:, None, :], change, -change)
    room_down = (values - polytope.lower[basis])[:, :, None]
    room_up = (polytope.upper[basis] - values)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(change < -_TINY, room_down / -change, np.where(change > _TINY, room_up / change, np.inf))
    np.maximum(steps, 0, out=steps)
    row = steps.argmin(axis=1)
    length = np.take_along_axis(steps, row[:, None, :], 1)[:, 0]
    span = polytope.upper - polytope.lower
    row = np.where(length > span, -1, row)
    length = np.minimum(length, span)
    np.put_along_axis(length, basis, 0.0, axis=1)
    moved = np.maximum(values[:, :, None] + length[:, None, :] * change, 0)
    prices = np.append(mu, 0.0)[np.minimum(basis, n)]
    score = -np.einsum("km,kmj->kj", prices, moved)
    moved[(basis < spread.start) | (basis >= spread.stop)] = 0
    score += entr(moved).sum(axis=1)
    score[:, spread] += entr(length[:, spread])
    score[:, :n] -= mu * length[:, :n]
    np.put_along_axis(score, basis, np.inf, axis=1)
    return score, row


def _step(
    polytope: Polytope, basis: Codes, at_upper: Mask, inverse: Vector, entering: Codes, row: Codes
) -> tuple[Codes, Mask]:
    """Move each walk to the chosen neighbouring vertex."""
    basis, at_upper = basis.copy(), at_upper.copy()
    flips = np.flatnonzero(row < 0)
    at_upper[flips, entering[flips]] ^= True
    k = np.flatnonzero(row >= 0)
    r, j = row[k], entering[k]
    rate = np.einsum("km,mk->k", inverse[k, r], polytope.matrix[:, j])
    leaves_up = np.where(at_upper[k, j], rate, -rate) > 0
    out = basis[k, r]
    basis[k, r] = j
    at_upper[k, j] = False
    at_upper[k, out] = leaves_up
    return basis, at_upper
