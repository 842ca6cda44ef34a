"""The polytope Π of posteriors P(x|y) that meet a budget: bounds on their lifts, and a linear program [ZDS §III-A2]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Codes, Mask, Vector, exp
from sanitize._util.limits import LOOSEST
from sanitize.core.budgets import LDPBudget, LiftBudget, check_kind

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget

# Columns are designed this much inside the budget, so that rounding cannot carry a released symbol out of it.
_MARGIN = 2e-13
_NEAR = 1e-11
_SAME = 1e-11
# A budget below this many nats, on either side, is an equality: no lifts but those of P_X. Its polytope is so thin that
# rounding would decide, and what it may keep more than the null space is of the order of the budget.
EQUALITY = 3e-7
# e to each of some limits.
_times = np.vectorize(exp, otypes=[np.float64])
# Units of effort that any program takes, and the entries of an inverse that count as one.
_OVERHEAD, _INVERSE = 2000, 400


@dataclass(frozen=True, eq=False)
class LiftBounds:
    """Bounds of a budget on the lifts l of a posterior v: low <= l <= high, or max l <= (1 + span) min l.

    Attributes
    ----------
    lifts : ndarray of shape (n_s, n)
        P(s|x) / P(s) of each letter.
    low, high : ndarrays of shape (n_s,)
        Never beyond what the letters reach.
    span : float, optional
        Where it is given, it is what binds.
    sides : ndarray of shape (k, n), optional
        Rows a with a·v >= 0: what is asked for those who know more.
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
        """Bounds a hair inside the budget that the marginal p_x of the letters meets; its own lifts for one near 0."""
        limits, mean_lifts = check_kind(budget), lifts @ p_x
        thin = _least_sides(limits) < EQUALITY
        if np.all(thin):
            return cls(lifts, mean_lifts, mean_lifts)
        if isinstance(limits, LDPBudget):
            if not mean_lifts.all():  # only a budget without an end allows that
                return cls._from_limits(lifts, 0.0, math.inf)
            span = math.expm1(min(limits.eps, LOOSEST))
            return cls._from_limits(
                lifts, 0.0, math.inf, max(span - _MARGIN * (1 + span), mean_lifts.max() / mean_lifts.min() - 1)
            )
        lower = np.where(_is_too_loose(limits, lifts), LOOSEST, limits.lower)
        low, high = _times(-lower) * (1 + _MARGIN), _times(limits.upper) * (1 - _MARGIN)
        low, high = np.minimum(low, mean_lifts), np.maximum(high, mean_lifts)
        return cls._from_limits(lifts, np.where(thin, mean_lifts, low), np.where(thin, mean_lifts, high))

    @classmethod
    def outer(cls, lifts: Vector, budget: Budget, mean_lifts: Vector | float = 1.0) -> LiftBounds:
        """Bounds that every posterior within the budget meets that can be one of a mixture of ``mean_lifts``."""
        limits = check_kind(budget)
        if isinstance(limits, LDPBudget):
            return cls._from_limits(lifts, 0.0, math.inf, math.expm1(limits.eps) if limits.eps <= LOOSEST else None)
        low = np.where(_is_too_loose(limits, lifts), 0.0, _times(np.negative(limits.lower)))
        # A lift that may not rise, or not fall, is the mean one in all of them.
        fixed = _least_sides(limits) == 0
        return cls._from_limits(
            lifts, np.where(fixed, mean_lifts, low), np.where(fixed, mean_lifts, _times(limits.upper))
        )

    def equal(self, bounds: LiftBounds) -> bool:
        """Return whether only the margin of `inner` stands between two bounds."""
        if (self.span is None) != (bounds.span is None):
            return False
        pairs = [(self.low, bounds.low), (self.high, bounds.high), (1 + (self.span or 0), 1 + (bounds.span or 0))]
        if self.sides is not None and bounds.sides is not None:
            if len(self.sides) != len(bounds.sides):
                return False
            pairs.append((1 + np.abs(self.sides), 1 + np.abs(bounds.sides)))
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
        """Which points v, shape (K, n), are within up to 1e-11 of lift; the channel repairs what is left."""
        lifts = v @ self.lifts.T
        outside = np.maximum(self.low - lifts, lifts - self.high).max(axis=1)
        if self.span is not None:
            outside = lifts.max(axis=1) / (1 + self.span) - lifts.min(axis=1)
        if self.sides is not None:
            outside = np.maximum(outside, -(v @ self.sides.T).min(axis=1, initial=0.0))
        return (outside < _NEAR) & (np.abs(v.sum(axis=1) - 1) < _NEAR)

    def rows(self) -> tuple[Vector, Vector, Vector]:
        """Rows that bind, shape (k, n), and what they are at least and at most; with n + 1 columns for a ratio.

        The last variable is then a number t from the largest lift over 1 + span to the least.
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
        """Π; with a target's P(t|x) of shape (n_t, n), P(t|y) are further variables, which nothing binds."""
        rows, low, high = self.rows()
        body = Polytope.simplex(self.lifts.shape[1], rows.shape[1], self).add_rows(rows, low, high)
        if distribution is None:
            return body
        spread = slice(body.size, body.size + len(distribution))
        return replace(
            body.add_rows(distribution, np.full(len(distribution), -1.0), np.full(len(distribution), 2.0)),
            spread=spread,
        )


@dataclass(frozen=True, eq=False)
class Polytope:
    """Points u with ``matrix @ u = rhs, lower <= u <= upper``, whose first n entries v are >= 0 and sum to 1.

    Every entry is bounded, which makes any basis dual feasible. A row beyond the first stands for a slack, the last
    entries of u.

    Attributes
    ----------
    n : int
        Letters.
    matrix, rhs, lower, upper : ndarrays of shape (m, n + k), (m,), (n + k,), (n + k,)
    spread : slice
        Entries whose entropies are what a posterior leaves open: v itself, or P(t|y) of a target.
    bounds : LiftBounds, optional
        What it was made of.
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
        """All v, and other variables between 0 and 1."""
        zeros, ones = np.zeros(n_variables), np.ones(n_variables)
        return cls(
            n, (np.arange(n_variables) < n)[None].astype(np.float64), np.ones(1), zeros, ones, slice(0, n), bounds
        )

    def add_rows(self, rows: Vector, low: Vector, high: Vector) -> Polytope:
        """The points with low <= rows @ u <= high: each row is a new slack, so that bases once it joins stay bases."""
        k, none = len(rows), np.zeros((len(rows), self.size - rows.shape[1]))
        return replace(
            self,
            matrix=np.block([[self.matrix, np.zeros((self.n_rows, k))], [rows, none, -np.eye(k)]]),
            rhs=np.append(self.rhs, np.zeros(k)),
            lower=np.append(self.lower, low),
            upper=np.append(self.upper, high),
        )

    @property
    def n_spread(self) -> int:
        """Entries that are spread."""
        return self.spread.stop - self.spread.start

    @property
    def n_rows(self) -> int:
        """Equations, which is the size of a basis."""
        return len(self.rhs)

    @property
    def size(self) -> int:
        """Variables, slacks included."""
        return len(self.lower)

    @property
    def work(self) -> int:
        """Units of effort that a program takes: its entries, the inverse of its first basis, what every one costs."""
        return self.n_rows * self.size + self.n_rows**3 // _INVERSE + _OVERHEAD

    @property
    def costs(self) -> Vector:
        """Costs of variables beside the prices of letters, shape (size,)."""
        return np.zeros(self.size)

    def point_costs(self, v: Vector) -> Vector:
        """Costs at points v, shape (K,)."""
        return np.zeros(len(v))

    def slack_basis(self, copies: int) -> Codes:
        """Basis of letter 0 and all slacks, repeated, shape (copies, m)."""
        return np.tile(self.pad_basis(np.zeros(1, np.intp)), (copies, 1))

    def pad_basis(self, basis: Codes) -> Codes:
        """A basis of the first rows, with the slacks of later ones."""
        return np.append(basis, np.arange(self.size - self.n_rows + len(basis), self.size))

    def variable_entries(self, v: Vector) -> Vector:
        """Entries that are spread, of one point v."""
        return v if self.spread.start == 0 else self.matrix[-self.n_spread :, : self.n] @ v

    def contains(self, v: Vector) -> Mask:
        """Which points v, shape (K, n), are within the bounds that it was made of."""
        assert self.bounds is not None
        return self.bounds.contains(v)


def basis_inverses(matrix: Vector, basis: Codes) -> tuple[Vector, Mask]:
    """Inverse basis matrices, shape (K, m, m), and which of them are regular; of the others zeros, which bound too.

    Raises
    ------
    LinAlgError
        If the bases are of other equations, as the outer polytope's are where the inner one binds more rows.
    """
    squares = matrix[:, basis].transpose(1, 0, 2)
    inverses, regular = np.zeros(squares.shape), np.ones(len(squares), np.bool_)
    try:
        inverses[:] = np.linalg.inv(squares)
    except np.linalg.LinAlgError:
        regular[:] = np.linalg.slogdet(squares)[0] != 0
        inverses[regular] = np.linalg.inv(squares[regular])
    return inverses, regular


def least_side(budget: LiftBudget | LDPBudget) -> float:
    """Nats that bind whatever the other side allows, since the mean lift is 1; not of secrets of which nothing is told.

    0 where nothing is told of any.
    """
    return float(min(filter(None, np.ravel(_least_sides(budget)).tolist()), default=0.0))


def _least_sides(budget: LiftBudget | LDPBudget) -> Vector:
    """Least sides of each secret, or of all."""
    return np.asarray(budget.eps if isinstance(budget, LDPBudget) else np.minimum(budget.lower, budget.upper))


def _is_too_loose(budget: LiftBudget, lifts: Vector) -> Mask:
    """Mask of least lifts that are as good as 0, and may have to be."""
    lower = np.asarray(budget.lower)
    return (lower > LOOSEST) & (lower < math.inf) & (lifts == 0).any()
