"""The polytope Π of posteriors P(x|y) within a budget: bounds on their lifts, and a linear program [ZDS §III-A2]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import exp_each, product
from sanitize._util.checks import Codes, Mask, Vector
from sanitize._util.limits import BLOCK_CELLS, LOOSEST
from sanitize.core.budgets import LDPBudget, LiftBudget, check_kind
from sanitize.mechanisms._response_solver.dual_simplex import LinearBatch, solve_batch

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget
    from sanitize.mechanisms._response_solver.dual_simplex import DualSolution

# Columns are designed this far inside the budget, so that rounding cannot push a released symbol beyond it.
_MARGIN = 2e-13
# Rounding that a vertex may have outside its bounds; and relative rounding of bounds that are computed in two ways.
_NEAR, _SAME = 1e-11, 1e-11
# A budget below this many nats, on either side, is treated as an equality that allows only the lifts of P_X. Its
# polytope is so thin that rounding would decide, and it could keep only little more, of the order of the budget.
EQUALITY = 3e-7
# Units of effort are entries of a program. Each program takes 2,000 in addition, for its calls, and 400 multiplications
# for an inverse take as long as one unit.
_OVERHEAD, _INVERSE = 2000, 400
# From the slack basis, more rows need more pivots, so each _ROWS rows count as one more program. A batch of 256
# programs outweighs the calls.
_ROWS, _BATCH = 12, 256


@dataclass(frozen=True, eq=False)
class LiftBounds:
    """Bounds of a budget on the lifts l of a posterior v: low <= l <= high, or max l <= (1 + span) min l.

    Attributes
    ----------
    lifts : ndarray of shape (n_s, n)
        P(s|x) / P(s) of each letter.
    low, high : ndarrays of shape (n_s,)
        Bounds of the lifts, cut to the range of the letters' lifts.
    span : float, optional
        Bound of the ratio; if given, it replaces ``low`` and ``high``.
    sides : ndarray of shape (k, n), optional
        Further rows a with a·v >= 0, for readers with side knowledge.
    """

    lifts: Vector
    low: Vector
    high: Vector
    span: float | None = None
    sides: Vector | None = None

    @classmethod
    def _from_limits(
        cls, lifts: Vector, low: Vector | float, high: Vector | float, span: float | None = None
    ) -> LiftBounds:
        return cls(lifts, np.maximum(low, lifts.min(axis=1)), np.minimum(high, lifts.max(axis=1)), span)

    @classmethod
    def inner(cls, lifts: Vector, budget: Budget, p_x: Vector) -> LiftBounds:
        """Bounds slightly inside the budget that include p_x; near a budget of 0, they are exactly the lifts of p_x."""
        limits, mean_lifts = check_kind(budget), product(lifts, p_x)
        thin = _least_sides(limits) < EQUALITY
        if np.all(thin):
            return cls(lifts, mean_lifts, mean_lifts)
        if isinstance(limits, LDPBudget):
            if not mean_lifts.all():  # only a budget with infinite ε allows lifts of 0
                return cls._from_limits(lifts, 0.0, math.inf)
            span = math.expm1(min(limits.eps, LOOSEST))
            span = max(span - _MARGIN * (1 + span), mean_lifts.max() / mean_lifts.min() - 1)
            return cls._from_limits(lifts, 0.0, math.inf, span)
        lower = np.where(_is_too_loose(limits, lifts), LOOSEST, limits.lower)
        low, high = exp_each(-lower) * (1 + _MARGIN), exp_each(limits.upper) * (1 - _MARGIN)
        low, high = np.minimum(low, mean_lifts), np.maximum(high, mean_lifts)
        return cls._from_limits(lifts, np.where(thin, mean_lifts, low), np.where(thin, mean_lifts, high))

    @classmethod
    def outer(cls, lifts: Vector, budget: Budget, mean_lifts: Vector | float = 1.0) -> LiftBounds:
        """Bounds on the lifts of any posterior that is within the budget and part of a mixture with ``mean_lifts``."""
        limits = check_kind(budget)
        if isinstance(limits, LDPBudget):
            return cls._from_limits(lifts, 0.0, math.inf, math.expm1(limits.eps) if limits.eps <= LOOSEST else None)
        low = np.where(_is_too_loose(limits, lifts), 0.0, exp_each(np.negative(limits.lower)))
        # A lift that must not rise, or must not fall, equals the mean lift in all posteriors.
        fixed = _least_sides(limits) == 0
        low, high = (np.where(fixed, mean_lifts, side) for side in (low, exp_each(limits.upper)))
        return cls._from_limits(lifts, low, high)

    def equal(self, bounds: LiftBounds) -> bool:
        """Return whether two bounds differ only by the margin of `inner`."""
        none = np.zeros((0, self.lifts.shape[1]))
        sides, their_sides = (none if part.sides is None else part.sides for part in (self, bounds))
        if (self.span is None) != (bounds.span is None) or len(sides) != len(their_sides):
            return False
        pairs = [(self.low, bounds.low), (self.high, bounds.high), (1 + (self.span or 0), 1 + (bounds.span or 0))]
        pairs.append((1 + np.abs(sides), 1 + np.abs(their_sides)))
        return all(bool(np.all(np.abs(a - b) <= _SAME * b)) for a, b in pairs)

    def cuts(self) -> Vector:
        """Rows a with a·v >= 0 for every posterior v within the bounds, shape (k, n)."""
        if self.span is None:
            rows = [self.lifts - self.low[:, None], self.high[:, None] - self.lifts]
        else:
            i, j = np.nonzero(~np.eye(len(self.lifts), dtype=bool))
            rows = [self.span * self.lifts[i] + (self.lifts[i] - self.lifts[j])]
        return np.concatenate(rows if self.sides is None else [*rows, self.sides])

    def contains(self, v: Vector) -> Mask:
        """Mask of points v, shape (K, n), within the bounds up to 1e-11 of lift, which repairs remove later."""
        lifts = product(v, self.lifts.T)
        outside = np.maximum(self.low - lifts, lifts - self.high).max(axis=1)
        if self.span is not None:
            outside = lifts.max(axis=1) / (1 + self.span) - lifts.min(axis=1)
        if self.sides is not None:
            outside = np.maximum(outside, -product(v, self.sides.T).min(axis=1, initial=0.0))
        return (outside < _NEAR) & (np.abs(v.sum(axis=1) - 1) < _NEAR)

    def rows(self) -> tuple[Vector, Vector, Vector]:
        """Constraint rows that can bind, (k, n), with lower and upper bounds; for a ratio, rows have n + 1 columns.

        The additional variable is then a number t between max l / (1 + span) and min l.
        """
        bottom, top = self.lifts.min(axis=1), self.lifts.max(axis=1)
        if self.span is None:
            binding = (bottom < self.low) | (top > self.high)
            rows, low, high = self.lifts[binding], self.low[binding], self.high[binding]
        else:
            ones, scale = np.ones((len(self.lifts), 1)), max(self.span, 1.0)
            rows = np.block([[self.lifts, -ones], [-self.lifts / scale, (1 + self.span) / scale * ones]])
            low, high = np.zeros(len(rows)), np.append(top, (1 + self.span) / scale * ones)
        if self.sides is None:
            return rows, low, high
        sides = np.pad(self.sides, ((0, 0), (0, rows.shape[1] - self.sides.shape[1])))
        highest = np.append(high, np.maximum(sides.max(axis=1), 0.0))
        return np.concatenate([rows, sides]), np.append(low, np.zeros(len(sides))), highest

    def polytope(self, distribution: Vector | None = None) -> Polytope:
        """Return the polytope Π; for a target P(t|x), shape (n_t, n), it has free variables for P(t|y) too."""
        rows, low, high = self.rows()
        body = Polytope.simplex(self.lifts.shape[1], rows.shape[1], self).add_rows(rows, low, high)
        if distribution is None:
            return body
        n_t = len(distribution)
        free = body.add_rows(distribution, np.full(n_t, -1.0), np.full(n_t, 2.0))
        return replace(free, spread=slice(body.size, body.size + n_t))


@dataclass(frozen=True, eq=False)
class Polytope:
    """Polytope of points u with ``matrix @ u = rhs, lower <= u <= upper``, whose first n entries are a distribution v.

    Every entry is bounded, which makes any basis dual feasible. Each row after the first defines a slack variable;
    slacks are the last entries of u.

    Attributes
    ----------
    n : int
        Letters.
    matrix, rhs, lower, upper : ndarrays of shape (m, n + k), (m,), (n + k,), (n + k,)
    spread : slice
        Entries whose entropy is the loss of a posterior: v itself, or P(t|y) of a target.
    bounds : LiftBounds, optional
        Bounds from which the polytope was made.
    """

    n: int
    matrix: Vector
    rhs: Vector
    lower: Vector
    upper: Vector
    spread: slice
    bounds: LiftBounds | None = None

    @classmethod
    def simplex(cls, n: int, n_variables: int, bounds: LiftBounds | None = None) -> Polytope:
        """Return the polytope of all distributions v, with the other variables between 0 and 1."""
        zeros, ones, row = np.zeros(n_variables), np.ones(n_variables), np.arange(n_variables) < n
        return cls(n, row[None].astype(np.float64), np.ones(1), zeros, ones, slice(0, n), bounds)

    def add_rows(self, rows: Vector, low: Vector, high: Vector) -> Polytope:
        """Return the polytope with low <= rows @ u <= high; each row gets a new slack, so that bases stay valid."""
        k, none = len(rows), np.zeros((len(rows), self.size - rows.shape[1]))
        matrix = np.block([[self.matrix, np.zeros((self.n_rows, k))], [rows, none, -np.eye(k)]])
        rhs, lower, upper = np.append(self.rhs, np.zeros(k)), np.append(self.lower, low), np.append(self.upper, high)
        return replace(self, matrix=matrix, rhs=rhs, lower=lower, upper=upper)

    @property
    def n_spread(self) -> int:
        """Number of entries that enter the entropy."""
        return self.spread.stop - self.spread.start

    @property
    def n_rows(self) -> int:
        """Number of equations, which is the size of a basis."""
        return len(self.rhs)

    @property
    def size(self) -> int:
        """Number of variables, slacks included."""
        return len(self.lower)

    @property
    def work(self) -> int:
        """Units of effort per program: for its entries, the inverse of its first basis, and a fixed cost."""
        return self.n_rows * self.size + self.n_rows**3 // _INVERSE + _OVERHEAD

    @property
    def first_work(self) -> int:
        """Units of effort per program from the slack basis, which takes more pivots if there are more rows."""
        return self.work * max(1, self.n_rows // _ROWS)

    @property
    def batch(self) -> int:
        """Number of programs per batch, so that a batch fits in memory."""
        return max(1, min(_BATCH, BLOCK_CELLS // self.work))

    @property
    def costs(self) -> Vector:
        """Costs of variables in addition to the prices of letters, shape (size,)."""
        return np.zeros(self.size)

    def point_costs(self, v: Vector) -> Vector:
        """Costs at points v, shape (K,)."""
        return np.zeros(len(v))

    def minimise(self, costs: Vector, basis: Codes) -> DualSolution:
        """Minimise linear costs of all variables, shape (K, size), from starting bases (K, m)."""
        lower, upper = (np.broadcast_to(side, costs.shape) for side in (self.lower, self.upper))
        return solve_batch(LinearBatch(self.matrix, self.rhs, lower, upper, costs), basis)

    def slack_basis(self, copies: int) -> Codes:
        """Basis of letter 0 and all slacks, repeated, shape (copies, m)."""
        return np.tile(self.pad_basis(np.zeros(1, np.intp)), (copies, 1))

    def pad_basis(self, basis: Codes) -> Codes:
        """Extend a basis of the first rows with the slacks of later ones."""
        return np.append(basis, np.arange(self.size - self.n_rows + len(basis), self.size))

    def variable_entries(self, v: Vector) -> Vector:
        """Entries that enter the entropy, for one point v."""
        return v if self.spread.start == 0 else product(self.matrix[-self.n_spread :, : self.n], v)

    def contains(self, v: Vector) -> Mask:
        """Mask of points v, shape (K, n), within the bounds that the polytope was made from."""
        assert self.bounds is not None
        return self.bounds.contains(v)


def least_side(budget: LiftBudget | LDPBudget) -> float:
    """Tightest side of a budget in nats, which binds since the mean lift is 1; sides of 0 are left out.

    The result is 0 if nothing may be revealed about any sensitive value.
    """
    return float(min(filter(None, np.ravel(_least_sides(budget)).tolist()), default=0.0))


def _least_sides(budget: LiftBudget | LDPBudget) -> Vector:
    """Tighter side of the budget for each sensitive value, or for all values."""
    return np.asarray(budget.eps if isinstance(budget, LDPBudget) else np.minimum(budget.lower, budget.upper))


def _is_too_loose(budget: LiftBudget, lifts: Vector) -> Mask:
    """Mask of sensitive values whose least lift is effectively 0."""
    lower = np.asarray(budget.lower)
    return (lower > LOOSEST) & (lower < math.inf) & (lifts == 0).any()
