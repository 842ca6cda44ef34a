"""The polytope Π of posteriors P(x|y) that meet a budget, as a linear program in standard form [ZDS §III-A2]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._limits import LARGEST_EXPONENT
from sanitize.budgets import LDPBudget, LiftBudget, check_kind
from sanitize.mechanisms._random_response.bases import inverse_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget

# Columns are designed this much inside the budget, so that rounding cannot carry a released symbol out of it.
_MARGIN = 2e-13
_NEAR = 1e-11
_SAME = 1e-11
# Bounds looser than this many nats only bind beside empty cells, where the loss is below e**-25.
_LOOSEST = 25.0
# A budget below this many nats, on either side, is an equality: no lift but 1. Its polytope is so thin that rounding
# would decide, and what it may keep more than the null space is of the order of the budget.
_EQUALITY = 3e-7
_OVERHEAD = 2000


@dataclass(frozen=True)
class LiftBounds:
    """What a budget asks of the lifts of a posterior: low <= l <= high, or max l <= (1 + span) min l.

    Attributes
    ----------
    low, high, span : float
        nan where the budget is of the other kind.
    """

    low: float = math.nan
    high: float = math.nan
    span: float = math.nan

    @classmethod
    def inner(cls, lifts: NDArray[np.float64], budget: Budget) -> LiftBounds:
        """Bounds a hair inside the budget, for letters with these lifts (n_s, n); lift 1 alone for one near 0."""
        known = check_kind(budget)
        if _is_equality(known):
            return cls(span=0.0) if isinstance(known, LDPBudget) else cls(1.0, 1.0)
        if isinstance(known, LDPBudget):
            span = math.expm1(min(known.eps, _LOOSEST))
            return cls(span=max(span - _MARGIN * (1 + span), 0.0))
        lower = _LOOSEST if _is_too_loose(known, lifts) else known.lower
        low, high = math.exp(-lower) * (1 + _MARGIN), _exp(known.upper) * (1 - _MARGIN)
        return cls(min(low, 1.0), max(high, 1.0))

    @classmethod
    def outer(cls, lifts: NDArray[np.float64], budget: Budget) -> LiftBounds:
        """Bounds that every posterior within the budget meets."""
        known = check_kind(budget)
        if isinstance(known, LDPBudget):
            return cls(0.0, math.inf) if known.eps > _LOOSEST else cls(span=math.expm1(known.eps))
        low = 0.0 if _is_too_loose(known, lifts) else math.exp(-known.lower)
        return cls(low, _exp(known.upper))

    def equal(self, other: LiftBounds) -> bool:
        """Whether only the margin of `inner` stands between two bounds."""
        pairs = ((self.low, other.low), (self.high, other.high), (self.span, other.span))
        return all(math.isclose(a, b, rel_tol=_SAME) or (math.isnan(a) and math.isnan(b)) for a, b in pairs)

    def cuts(self, lifts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows a with a·v >= 0 for every posterior v within the bounds, shape (k, n)."""
        if math.isnan(self.span):
            upper = self.high - lifts if math.isfinite(self.high) else np.empty((0, lifts.shape[1]))
            return np.concatenate([lifts - self.low, upper])
        i, j = np.nonzero(~np.eye(len(lifts), dtype=bool))
        cuts: NDArray[np.float64] = self.span * lifts[i] + (lifts[i] - lifts[j])
        return cuts


@dataclass(frozen=True, eq=False)
class ResponsePolytope:
    """Π = {v >= 0: Σ v = 1, the lifts L v within the budget}, as ``matrix @ u = rhs, lower <= u <= upper``.

    The first ``n`` entries of u are v; the others are slacks (the lifts themselves, or for LDP the smallest lift
    t and the distances of each lift from t and from e^ε t). Every entry is bounded, which makes any basis dual
    feasible.

    Attributes
    ----------
    n : int
        Letters.
    lifts : ndarray of shape (n_s, n)
        P(s|x) / P(s) of each letter.
    matrix, rhs, lower, upper : ndarrays of shape (m, n + k), (m,), (n + k,), (n + k,)
    low, high, ratio : float
        The bounds on the lifts, or on the ratio of the largest to the smallest; nan where it is the other kind.
    n_target : int
        The last so many entries of u are P(t|y) of a target T; 0 where X itself is to be kept.
    """

    n: int
    lifts: NDArray[np.float64]
    matrix: NDArray[np.float64]
    rhs: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    low: float = math.nan
    high: float = math.nan
    ratio: float = math.nan
    n_target: int = 0

    @classmethod
    def inner(cls, lifts: NDArray[np.float64], budget: Budget) -> ResponsePolytope:
        """Polytope a hair inside the budget, over letters with these lifts (n_s, n): what columns are made of."""
        return cls.of(lifts, LiftBounds.inner(lifts, budget))

    @classmethod
    def outer(cls, lifts: NDArray[np.float64], budget: Budget) -> ResponsePolytope:
        """Polytope that contains every posterior within the budget: what bounds are proved on."""
        return cls.of(lifts, LiftBounds.outer(lifts, budget))

    @classmethod
    def of(cls, lifts: NDArray[np.float64], bounds: LiftBounds) -> ResponsePolytope:
        """Polytope of the posteriors over letters with these lifts (n_s, n) that are within the bounds."""
        if math.isnan(bounds.span):
            return cls._of_bounds(lifts, bounds.low, bounds.high)
        return cls._of_ratio(lifts, bounds.span)

    @classmethod
    def _of_bounds(cls, lifts: NDArray[np.float64], low: float, high: float) -> ResponsePolytope:
        top, bottom = lifts.max(axis=1), lifts.min(axis=1)
        binding = (bottom < low) | (top > high)
        rows = lifts[binding]
        k, n = rows.shape
        return cls(
            n=n,
            lifts=lifts,
            matrix=np.block([[rows, -np.eye(k)], [np.ones((1, n)), np.zeros((1, k))]]),
            rhs=np.append(np.zeros(k), 1.0),
            lower=np.append(np.zeros(n), np.maximum(bottom[binding], low)),
            upper=np.append(np.ones(n), np.minimum(top[binding], high)),
            low=low,
            high=high,
        )

    @classmethod
    def _of_ratio(cls, lifts: NDArray[np.float64], span: float) -> ResponsePolytope:
        scale = max(span, 1.0)
        k, n = lifts.shape
        eye, none = np.eye(k), np.zeros((k, k))
        matrix = np.block(
            [
                [lifts, -np.ones((k, 1)), -eye, none],
                [np.zeros((k, n)), np.full((k, 1), -span / scale), eye / scale, eye],
                [np.ones((1, n)), np.zeros((1, 1 + 2 * k))],
            ]
        )
        return cls(
            n=n,
            lifts=lifts,
            matrix=matrix,
            rhs=np.append(np.zeros(2 * k), 1.0),
            lower=np.zeros(n + 1 + 2 * k),
            upper=np.concatenate([np.ones(n + 1), np.full(k, lifts.max()), np.ones(k)]),
            ratio=1 + span,
        )

    def with_target(self, law: NDArray[np.float64] | None) -> ResponsePolytope:
        """The same polytope with the law of a target, P(t|x) of shape (n_t, n), as further variables; None adds none.

        No bound of theirs can bind, so the vertices are the same.
        """
        if law is None:
            return self
        n_t, spare = len(law), np.zeros((len(law), self.size - self.n))
        matrix = np.block([[self.matrix, np.zeros((self.n_rows, n_t))], [law, spare, -np.eye(n_t)]])
        return replace(
            self,
            matrix=matrix,
            rhs=np.append(self.rhs, np.zeros(n_t)),
            lower=np.append(self.lower, np.full(n_t, -1.0)),
            upper=np.append(self.upper, np.full(n_t, 2.0)),
            n_target=n_t,
        )

    @property
    def spread(self) -> slice:
        """Variables whose entropies are what a posterior leaves open: P(t|y), or v itself."""
        return slice(self.size - self.n_target, self.size) if self.n_target else slice(0, self.n)

    @property
    def n_spread(self) -> int:
        """How many these are."""
        return self.n_target or self.n

    @property
    def n_rows(self) -> int:
        """Equations, which is the size of a basis."""
        return len(self.rhs)

    @property
    def work(self) -> int:
        """Units of effort that a program takes: the entries of the matrix, and what every program costs."""
        return self.n_rows * self.size + _OVERHEAD

    @property
    def size(self) -> int:
        """Variables, slacks included."""
        return len(self.lower)

    def slack_basis(self, copies: int) -> NDArray[np.intp]:
        """Basis of slacks and letter 0, repeated, shape (copies, m)."""
        first = self.size - self.n_rows + 1
        return np.tile(np.append(np.arange(first, self.size), 0), (copies, 1))

    def basic_solution(
        self, basis: NDArray[np.intp], at_upper: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Inverse basis matrices (K, m, m) and values of the basic variables (K, m), refined once."""
        inverse, is_regular = inverse_of(self.matrix, basis)
        if not is_regular.all():
            raise np.linalg.LinAlgError("a basis is singular")
        fixed = np.where(at_upper, self.upper, self.lower)
        np.put_along_axis(fixed, basis, 0.0, axis=1)
        target = self.rhs - fixed @ self.matrix.T
        values = np.einsum("kij,kj->ki", inverse, target)
        left = target - np.einsum("ikj,kj->ki", self.matrix[:, basis], values)
        values += np.einsum("kij,kj->ki", inverse, left)
        return inverse, values

    def contains(self, v: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points v, shape (K, n), are in Π up to 1e-11 of lift; the channel repairs what is left."""
        lifts = v @ self.lifts.T
        top, bottom = lifts.max(axis=1), lifts.min(axis=1)
        if math.isnan(self.ratio):
            outside = np.maximum(self.low - bottom, top - self.high)
        else:
            outside = top / self.ratio - bottom
        inside: NDArray[np.bool_] = (outside < _NEAR) & (np.abs(v.sum(axis=1) - 1) < _NEAR)
        return inside

    def solution(self, basis: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """U of basic solutions, shape (K, size); negative rounding set to 0, and what is not basic too."""
        u = np.zeros((len(basis), self.size))
        np.put_along_axis(u, basis, np.maximum(values, 0.0), axis=1)
        return u


def _is_equality(budget: LiftBudget | LDPBudget) -> bool:
    """Whether a budget leaves nothing but lift 1: the mean lift is 1, so one side near 0 is enough."""
    return (budget.eps if isinstance(budget, LDPBudget) else min(budget.lower, budget.upper)) < _EQUALITY


def _is_too_loose(budget: LiftBudget, lifts: NDArray[np.float64]) -> bool:
    return _LOOSEST < budget.lower < math.inf and bool((lifts == 0).any())


def _exp(nats: float) -> float:
    return math.exp(nats) if nats < LARGEST_EXPONENT else math.inf
