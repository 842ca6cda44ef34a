"""Budgets on what each released symbol tells, one class for each leakage; all are functions of its lifts.

Differences up to 1e-12 (rounding of doubles) count as met.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from sanitize._checks import is_whole, non_negative
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.lifts import alpha_of, chi2_of, inverse, l1_of, lift

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.joint import JointDistribution

TOLERANCE = 1e-12
# Beyond this no lift of doubles can reach the bound, and its square would overflow.
_LARGEST_NATS = 350.0


@runtime_checkable
class Budget(Protocol):
    """What one released symbol may leak about S.

    Examples
    --------
    >>> from sanitize.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])
    >>> isinstance(LDPBudget(0.5), Budget), LDPBudget(0.5).excess(joint).round(4)
    (True, array([0.1931, 0.5986]))
    """

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """Leakage above the budget of each released symbol, shape (n_y,); > 0 exactly where it is too much."""
        ...

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same from lifts (n_s, k) and the prior (n_s,), shape (k,)."""
        ...

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Risk ω of each column of lifts, shape (k,): the order in which mechanisms treat symbols."""
        ...


class _LiftBased(ABC):
    """Budgets that are functions of the lifts of one symbol."""

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """Leakage above the budget of each released symbol, shape (n_y,); > 0 exactly where it is too much."""
        return self.excess_of(lift(released), released.p_s)

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess from lifts (n_s, k) and the prior (n_s,), shape (k,)."""
        over = self._over(lifts, p_s)
        return np.where(over <= TOLERANCE, np.minimum(over, 0.0), over)

    @abstractmethod
    def _over(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Leakage above the budget of each column, before rounding is forgiven."""


def _check(owner: str, **bounds: float) -> None:
    try:
        for name, value in bounds.items():
            non_negative(name, value)
    except InvalidParameter as error:
        raise InvalidBudget(f"{owner}: {error}") from None


def _settle(budget: _LiftBased) -> None:
    """Check the bounds, and make plain numbers of NumPy's and of fractions, which print as they were written."""
    for name, value in list(vars(budget).items()):
        _check(type(budget).__name__, **{name: value})
        object.__setattr__(budget, name, int(value) if is_whole(value) else float(value))


def above(value: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """How far values lie above a bound, where an infinite bound is never exceeded, not even by an infinite value."""
    return np.full_like(value, -np.inf) if math.isinf(bound) else value - bound


def _expm1(nats: float) -> float:
    """e**nats - 1; a finite bound stays finite, so that an infinite leakage still exceeds it."""
    return nats if math.isinf(nats) else math.expm1(min(nats, _LARGEST_NATS))


def logs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithms, -inf of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _extremes(lifts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest and smallest log-lift of each column."""
    return logs(lifts.max(axis=0)), logs(lifts.min(axis=0))


@dataclass(frozen=True, kw_only=True)
class LiftBudget(_LiftBased):
    """(ε_l, ε_u)-ALIP: ``-lower <= log l(s, y) <= upper`` for every s, in nats [ZDS Def. 3].

    It implies (lower + upper)-LDP of S. A lower bound larger than the upper one is the paper's advice: the
    min-lift ranges wider. ``lower=inf`` leaves it free, which empty cells may need.

    Parameters
    ----------
    lower, upper : float
        Bounds in nats, each >= 0; by name only, so that nobody can mistake one for the other.

    Examples
    --------
    >>> from sanitize.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.25, 0.25], [0.1, 0.4]])
    >>> LiftBudget(lower=1.0, upper=0.3).excess(joint).round(4)
    array([ 0.0567, -0.0924])
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        _settle(self)

    @classmethod
    def symmetric(cls, eps: float) -> LiftBudget:
        """ε-LIP: both bounds ε [ZDS Def. 1]."""
        return cls(lower=eps, upper=eps)

    @classmethod
    def from_ldp(cls, eps: float, min_share: float = 0.5) -> LiftBudget:
        """Budget that implies ε-LDP of S: ``min_share`` of ε for the min-lift, the rest for the max-lift."""
        _check("LiftBudget.from_ldp", eps=eps, min_share=min_share)
        if not 0 <= min_share <= 1:
            raise InvalidBudget(f"LiftBudget.from_ldp: min_share must lie in [0, 1], got {min_share}")
        # No share of an infinite ε is a bound; 0 times inf would be none either.
        if math.isinf(eps):
            return cls(lower=eps, upper=eps)
        return cls(lower=min_share * eps, upper=(1 - min_share) * eps)

    def _over(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        top, bottom = _extremes(lifts)
        return np.maximum(above(top, self.upper), above(-bottom, self.lower))

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log Λ - log Ψ, without the side that has no bound."""
        top, bottom = _extremes(lifts)
        if math.isinf(self.lower):
            return top
        return -bottom if math.isinf(self.upper) else top - bottom


@dataclass(frozen=True)
class LDPBudget(_LiftBased):
    """ε-LDP of S: ``log(max_s l / min_s l) <= eps`` for every released symbol, in nats [ZDS Def. 2].

    Examples
    --------
    >>> from sanitize.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.25, 0.25], [0.1, 0.4]])
    >>> LDPBudget(1.0).excess(joint).round(4)
    array([-0.0837, -0.53  ])
    """

    eps: float

    def __post_init__(self) -> None:
        _settle(self)

    def _over(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return above(self.risk_of(lifts, p_s), self.eps)

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log Λ - log Ψ."""
        top, bottom = _extremes(lifts)
        return top - bottom


class _Averaged(_LiftBased):
    """Budgets on an average of the lift and of its inverse."""

    lower: float
    upper: float

    def _bounds(self) -> tuple[float, float]:
        """Bounds on the measure of the lift and of its inverse."""
        return _expm1(self.upper), _expm1(self.lower)

    @abstractmethod
    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average that the budget bounds, of each column of lifts."""

    def _over(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        upper, lower = self._bounds()
        over = above(self._measure(lifts, p_s), upper)
        if math.isinf(lower):
            return over
        return np.maximum(over, self._measure(inverse(lifts), p_s) - lower)

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the measure of the lift and of its inverse, without a side that has no bound."""
        risk = np.zeros(lifts.shape[1])
        if not math.isinf(self.upper):
            risk = risk + self._measure(lifts, p_s)
        if not math.isinf(self.lower):
            risk = risk + self._measure(inverse(lifts), p_s)
        return risk


@dataclass(frozen=True, kw_only=True)
class L1LiftBudget(_Averaged):
    """ℓ1-lift at most e**upper - 1 and its inverse at most e**lower - 1 [ZDS §VI-B].

    Both are averages over s, so a symbol may pass that breaks the `LiftBudget` of the same numbers. The converse
    holds where e**-lower + e**upper and e**lower + e**-upper are at least 2, and not below [ZDS Prop. 3, 5].

    Examples
    --------
    >>> L1LiftBudget(lower=1.0, upper=0.5)
    L1LiftBudget(lower=1.0, upper=0.5)
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        _settle(self)

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return l1_of(lifts, p_s)


@dataclass(frozen=True, kw_only=True)
class Chi2LiftBudget(_Averaged):
    """chi2-lift at most (e**upper - 1)**2 and its inverse at most (e**lower - 1)**2 [ZDS §VI-B].

    Examples
    --------
    >>> Chi2LiftBudget(lower=1.0, upper=0.5)
    Chi2LiftBudget(lower=1.0, upper=0.5)
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        _settle(self)

    def _bounds(self) -> tuple[float, float]:
        return _expm1(self.upper) ** 2, _expm1(self.lower) ** 2

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return chi2_of(lifts, p_s)


@dataclass(frozen=True)
class AlphaLiftBudget(_Averaged):
    """α-lift at most e**upper and its inverse at most e**lower; alpha > 1 [ZDS §VI-B].

    Examples
    --------
    >>> AlphaLiftBudget(2, lower=1.0, upper=0.5)
    AlphaLiftBudget(alpha=2, lower=1.0, upper=0.5)
    """

    alpha: float
    _: KW_ONLY
    lower: float
    upper: float

    def __post_init__(self) -> None:
        _settle(self)
        if not self.alpha > 1:
            raise InvalidBudget(f"AlphaLiftBudget: alpha must be greater than 1 (inf allowed), got {self.alpha}")

    def _bounds(self) -> tuple[float, float]:
        return 1 + _expm1(self.upper), 1 + _expm1(self.lower)

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return alpha_of(lifts, p_s, self.alpha)
