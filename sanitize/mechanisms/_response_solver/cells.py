"""Pricing of posteriors if the leakage of a symbol is the largest of several linear functions of its lifts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import entr, log, product
from sanitize._util.checks import Mask, Vector
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.budgets import TotalVariationBudget
from sanitize.mechanisms._response_solver.polytope import Polytope

if TYPE_CHECKING:
    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.faces import Price

# Each tangent of H takes a program and falls less than the one before, so a descent ends after ten. The slope of H is
# infinite at 0, so a tangent touches H at this share at least.
_STEPS, _FLOOR = 10, 1e-5
# A fall of the price by less is rounding, and so is a distance of a posterior's sum from 1.
_STALLED, _NEAR = 1e-11, 1e-11


@dataclass(frozen=True, eq=False, kw_only=True)
class PricedCells(Polytope):
    """Polytope of posteriors v with further variables, which are at least the linear functions in the maxima of g(v).

    H(v) + λ g(v) - μ·v is then H(v) plus a linear function of all variables, so methods that bound H bound it too. For
    every tangent of H, a linear program finds the best vertex of a cell in which g is linear.
    """

    price: Price
    weights: Vector

    @classmethod
    def from_price(cls, price: Price) -> PricedCells:
        """Build the cells for a mean total variation, Σ P(s) max(l - 1, 0), or for a mean max-lift."""
        n_s, n = price.lifts.shape
        if isinstance(price.budget, TotalVariationBudget):
            rows, weights, variable = price.lifts - 1, price.p_s, np.arange(n_s)
        else:
            rows, weights, variable = price.lifts, np.ones(1), np.zeros(n_s, np.intp)
        # Variables of about 1 keep their digits next to posteriors, so each is scaled by its largest possible value.
        most = np.zeros(len(weights))
        np.maximum.at(most, variable, rows.max(axis=1))
        steps = np.zeros((n_s, len(weights)))
        steps[np.arange(n_s), variable] = -most[variable]
        low = rows.min(axis=1) - most[variable]
        cells = Polytope.simplex(n, n + len(weights)).add_rows(np.hstack([rows, steps]), low, np.zeros(n_s))
        return cls(**vars(cells), price=price, weights=weights * most)

    @property
    def costs(self) -> Vector:
        """Cost of each additional variable: λ times its weight in the leakage."""
        costs = np.zeros(self.size)
        costs[self.n : self.n + len(self.weights)] = self.price.rate * self.weights
        return costs

    def point_costs(self, v: Vector) -> Vector:
        """Cost λ g(v) at points v."""
        return self.price.rate * self.price.budget.lift_risk(product(self.price.lifts, v.T), self.price.p_s)

    def contains(self, v: Vector) -> Mask:
        """Mask of points v that are distributions."""
        return np.abs(v.sum(axis=1) - 1) < _NEAR

    def descend(self, v: Vector, effort: Effort) -> Vector:
        """Find vertices of cells with a lower price than points v, shape (K, n), by tangents of H."""
        starts = range(0, len(v), self.batch)
        return np.concatenate([self._descend_block(v[first : first + self.batch], effort) for first in starts])

    def _descend_block(self, v: Vector, effort: Effort) -> Vector:
        v, live, best, basis = v.copy(), np.arange(len(v)), np.full(len(v), np.inf), self.slack_basis(len(v))
        for step in range(_STEPS):
            k = len(live)
            cost = np.tile(self.costs, (k, 1))
            cost[:, : self.n] -= log(np.maximum(v[live], _FLOOR)) + self.price.mu
            solved = self.minimise(cost, basis)
            effort.spend(k * (self.work if step else self.first_work))
            points = np.maximum(solved.point[:, : self.n], 0.0)
            points /= np.maximum(points.sum(axis=1, keepdims=True), SMALLEST_POSITIVE)
            values = entr(points).sum(axis=1) - product(points, self.price.mu) + self.point_costs(points)
            falls = self.contains(points) & (values < best[live] - _STALLED)
            live, points, values, basis = live[falls], points[falls], values[falls], solved.basis[falls]
            if not len(live):
                break
            v[live], best[live] = points, values
        return v
