"""Budgets on what each released symbol tells, one class for each leakage; all are functions of its lifts.

Differences up to 1e-12 (rounding of doubles) count as met.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, overload, runtime_checkable

import numpy as np

from sanitize._checks import exp, is_whole, non_negative, number, probability
from sanitize._formatting import box, figure, percent
from sanitize._tolerances import BUDGET
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.lifts import alpha_of, chi2_of, inverse, l1_of, lift, logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.joint import JointDistribution


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

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same from lifts (n_s, k) and the prior (n_s,), shape (k,)."""

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Risk ω of each column of lifts, shape (k,): the order in which mechanisms treat symbols."""


class OfLifts(ABC):
    """Budgets that are functions of the lifts of one symbol."""

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """Leakage above the budget of each released symbol, shape (n_y,); > 0 exactly where it is too much."""
        return self.excess_of(lift(released), released.p_s)

    @abstractmethod
    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess from lifts (n_s, k) and the prior (n_s,), shape (k,)."""


class _LiftBased(OfLifts):
    """Those that are made of numbers alone."""

    def __post_init__(self) -> None:
        """Check the bounds, and make plain numbers of NumPy's and of fractions, which print as they were written."""
        with checking(type(self).__name__):
            for name, value in list(vars(self).items()):
                non_negative(name, value)
                object.__setattr__(self, name, int(value) if is_whole(value) else float(value))


@contextlib.contextmanager
def checking(owner: str) -> Iterator[None]:
    """Turn errors about a bound into errors of the budget that has it."""
    try:
        yield
    except InvalidParameter as error:
        raise InvalidBudget(f"{owner}: {error}") from None


def _checked(name: str, value: object, low: float, high: float) -> float:
    with checking("LiftBudget"):
        given = number(name, value, low, high)
    return int(given) if is_whole(value) else given


def forgiven(over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leakage above a budget, without what is rounding: that is no excess."""
    return np.where(over <= BUDGET, np.minimum(over, 0.0), over)


def above(value: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """How far values lie above a bound, where an infinite bound is never exceeded, not even by an infinite value."""
    return np.full_like(value, -np.inf) if math.isinf(bound) else value - bound


def _expm1(nats: float) -> float:
    """e**nats - 1; a finite bound stays finite, so that an infinite leakage still exceeds it."""
    # Beyond this no lift of doubles can reach the bound, and its square would overflow.
    return nats if math.isinf(nats) else math.expm1(min(nats, 350.0))


def _extremes(lifts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest and smallest log-lift of each column."""
    return logs(lifts.max(axis=0)), logs(lifts.min(axis=0))


@dataclass(frozen=True, init=False, repr=False)
class LiftBudget(_LiftBased):
    """(ε_l, ε_u)-ALIP: ``-lower <= log l(s, y) <= upper`` for every s [ZDS Def. 3], in nats or in times as likely.

    A released value makes no sensitive value more than ``at_most`` and none less than ``at_least`` times as likely as
    it is without the release: ``upper = log(at_most)``, ``lower = -log(at_least)``. It implies (lower + upper)-LDP of
    S. A lower bound larger than the upper one is the paper's advice: the min-lift ranges wider. ``at_least=0``
    (``lower=inf``) lets a value rule a sensitive one out, which empty cells may need.

    Parameters
    ----------
    at_most, at_least : float
        Times as likely: at_most >= 1, and at_least between 0 and 1. Both, or both bounds in nats.
    lower, upper : float
        The same in nats, each >= 0. All bounds go by name, so that nobody can mistake one for the other.

    Attributes
    ----------
    lower, upper : float
        In nats.
    at_most, at_least : float
        In times; as they were written, where they were.

    Raises
    ------
    InvalidBudget
        If not exactly one pair of bounds is given, or a bound is out of its range.

    Examples
    --------
    >>> from sanitize.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.25, 0.25], [0.1, 0.4]])
    >>> LiftBudget(at_most=1.35, at_least=0.37).excess(joint).round(4)
    array([ 0.0566, -0.0925])
    >>> LiftBudget(lower=1.0, upper=0.3).excess(joint).round(4)
    array([ 0.0567, -0.0924])
    """

    lower: float
    upper: float
    # What the bounds were written as, at_most first; two budgets with the same bounds are equal however written.
    _times: ClassVar[tuple[float, float] | None] = None

    @overload
    def __init__(self, *, at_most: float, at_least: float) -> None: ...

    @overload
    def __init__(self, *, lower: float, upper: float) -> None: ...

    def __init__(self, *given: object, **bounds: Any) -> None:
        in_times = set(bounds) == {"at_most", "at_least"}
        if given or not (in_times or set(bounds) == {"lower", "upper"}):
            raise InvalidBudget(
                "LiftBudget takes both of its bounds by name, in times as likely, as in LiftBudget(at_most=1.65, "
                "at_least=0.37), or in nats, as in LiftBudget(lower=1.0, upper=0.5); at_least=0 or lower=inf leaves "
                "that side free"
            )
        times = None
        if in_times:
            times = _checked("at_most", bounds["at_most"], 1, math.inf), _checked("at_least", bounds["at_least"], 0, 1)
            bounds = {"lower": -math.log(times[1]) + 0.0 if times[1] else math.inf, "upper": math.log(times[0])}
        vars(self).update(lower=bounds["lower"], upper=bounds["upper"])
        self.__post_init__()
        if times is not None:
            object.__setattr__(self, "_times", times)

    @property
    def bounds(self) -> dict[str, float]:
        """Both bounds, by the names and in the unit in which they were given."""
        if self._times is None:
            return {"lower": self.lower, "upper": self.upper}
        return {"at_most": self._times[0], "at_least": self._times[1]}

    @property
    def at_most(self) -> float:
        """Largest lift allowed, times as likely."""
        return exp(self.upper) if self._times is None else self._times[0]

    @property
    def at_least(self) -> float:
        """Smallest lift allowed, times as likely."""
        return math.exp(-self.lower) if self._times is None else self._times[1]

    def __repr__(self) -> str:
        return f"LiftBudget({', '.join(f'{name}={value!r}' for name, value in self.bounds.items())})"

    def _repr_html_(self) -> str:
        shares, most, least = (0.01, 0.1, 0.25, 0.5), self.at_most, self.at_least
        # What all other secrets keep, or gain, bounds one too.
        rows = [
            ("a secret that so many have", *map(percent, shares)),
            ("becomes at most", *(percent(min(most * p, 1 - (1 - p) * least)) for p in shares)),
            ("and at least", *(percent(max(least * p, 1 - (1 - p) * most)) for p in shares)),
        ]
        return box(f"At most {figure(most)} and at least {figure(least)} times as likely", (repr(self),), rows)

    @classmethod
    def symmetric(cls, eps: float) -> LiftBudget:
        """ε-LIP: both bounds ε [ZDS Def. 1]."""
        return cls(lower=eps, upper=eps)

    @classmethod
    def from_ldp(cls, eps: float, min_share: float = 0.5) -> LiftBudget:
        """Budget that implies ε-LDP of S: ``min_share`` of ε for the min-lift, the rest for the max-lift."""
        with checking("LiftBudget.from_ldp"):
            non_negative("eps", eps)
            probability("min_share", min_share)
        # No share of an infinite ε is a bound; 0 times inf would be none either.
        if math.isinf(eps):
            return cls(lower=eps, upper=eps)
        return cls(lower=min_share * eps, upper=(1 - min_share) * eps)

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess from lifts (n_s, k) and the prior (n_s,), shape (k,)."""
        top, bottom = _extremes(lifts)
        return forgiven(np.maximum(above(top, self.upper), above(-bottom, self.lower)))

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

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess from lifts (n_s, k) and the prior (n_s,), shape (k,)."""
        return forgiven(above(self.risk_of(lifts, p_s), self.eps))

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

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess from lifts (n_s, k) and the prior (n_s,), shape (k,)."""
        upper, lower = self._bounds()
        over = above(self._measure(lifts, p_s), upper)
        return forgiven(over if math.isinf(lower) else np.maximum(over, self._measure(inverse(lifts), p_s) - lower))

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
        super().__post_init__()
        if not self.alpha > 1:
            raise InvalidBudget(f"AlphaLiftBudget: alpha must be greater than 1 (inf allowed), got {self.alpha}")

    def _bounds(self) -> tuple[float, float]:
        return 1 + _expm1(self.upper), 1 + _expm1(self.lower)

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return alpha_of(lifts, p_s, self.alpha)
