"""Budgets on how much each released symbol reveals, one class per measure of leakage; all are functions of the lifts.

Differences up to 1e-12 (rounding of doubles) count as met.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload, runtime_checkable

import numpy as np

from sanitize._util.checks import Vector, exp, is_whole, non_negative, number, probability
from sanitize._util.formatting import box, figure, percent
from sanitize._util.tolerances import BUDGET
from sanitize.core.alphabet import MISSING_TEXT, symbol_place
from sanitize.core.lifts import alpha_norm, chi2_deviation, inverse, l1_deviation, lift, logs
from sanitize.errors import InvalidBudget, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.core.alphabet import Alphabet
    from sanitize.core.joint import JointDistribution

    # Limits by value name a value by its text, because a policy in TOML has no other keys.
    _Times = float | dict[str, float]
    # An array, of shape (n_s,), has the order of a distribution and is only made for one.
    _Limits = float | NDArray[np.float64]

_B = TypeVar("_B")


# Stands for all sensitive values that have no limit of their own, as a wildcard does in file names.
OTHERS = "*"


@runtime_checkable
class Budget(Protocol):
    """Limit on how much one released symbol reveals about S.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])
    >>> isinstance(LDPBudget(0.5), Budget), LDPBudget(0.5).excess(joint).round(4)
    (True, array([0.1931, 0.5986]))
    """

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """Excess of each released symbol's leakage over the budget, shape (n_y,); > 0 if the symbol leaks too much."""

    def lift_excess(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess of each symbol's leakage over the budget, shape (k,), from lifts (n_s, k) and the prior (n_s,)."""

    def lift_risk(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Risk ω of each column of lifts, shape (k,): mechanisms sort symbols by this number."""


class LiftwiseBudget(ABC):
    """Base of budgets that are computed from the lifts of one symbol."""

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """Excess of each released symbol's leakage over the budget, shape (n_y,); > 0 if the symbol leaks too much."""
        lifts = lift(released)  # refuses anything but a distribution
        return limits_for(self, released.sensitive).lift_excess(lifts, released.p_s)

    @abstractmethod
    def lift_excess(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess of each symbol's leakage over the budget, shape (k,), from lifts (n_s, k) and the prior (n_s,)."""


class _LiftBased(LiftwiseBudget):
    """Base of budgets whose parameters are all numbers."""

    def __post_init__(self) -> None:
        """Check the bounds; convert NumPy numbers and fractions to plain numbers."""
        with checking(type(self).__name__):
            for name, value in [*vars(self).items()]:
                if name == "limits":
                    continue
                non_negative(name, value)
                object.__setattr__(self, name, int(value) if is_whole(value) else float(value))


@contextlib.contextmanager
def checking(owner: str) -> Iterator[None]:
    """Turn errors about a bound into errors that name its budget."""
    try:
        yield
    except InvalidParameter as error:
        raise InvalidBudget(f"{owner}: {error}") from None


def _check_limits(name: str, value: object, low: float, high: float) -> _Times:
    """Check one limit, or a limit for each sensitive value; return the limits with the values' names as text."""

    def check_limit(limit_value: object) -> float:
        limit = number(name, limit_value, low, high)
        return int(limit) if is_whole(limit_value) else limit

    if isinstance(value, Mapping):
        texts = {MISSING_TEXT if key is None else str(key): limit for key, limit in value.items()}
        if not 0 < len(texts) == len(value):
            raise InvalidBudget(
                f'LiftBudget: {name} must map sensitive values to limits, no value twice; "*" means all other values'
            )
        value = texts
    with checking("LiftBudget"):
        limits: _Times = per_value(check_limit, value)
    return limits


def clear_rounding(over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set an excess to 0 if it is only rounding error."""
    return np.where(over <= BUDGET, np.minimum(over, 0.0), over)


def excess_over(value: NDArray[np.float64], bound: float) -> NDArray[np.float64]:
    """Excess of values over a bound; nothing exceeds an infinite bound, not even an infinite value."""
    return np.full_like(value, -np.inf) if math.isinf(bound) else value - bound


def _expm1(nats: float) -> float:
    """Return e**nats - 1; a finite bound stays finite, so that an infinite leakage still exceeds it."""
    # No lift that a double can hold reaches a bound above this, and the square of e**nats would overflow.
    return nats if math.isinf(nats) else math.expm1(min(nats, 350.0))


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LiftBudget(_LiftBased):
    """Budget on every lift, (ε_l, ε_u)-ALIP: ``-lower <= log l(s, y) <= upper`` for all s and y [ZDS Def. 3].

    A released value makes no sensitive value more than ``at_most`` or less than ``at_least`` times as likely as without
    the release: ``upper = log(at_most)``, ``lower = -log(at_least)``. The budget implies (lower + upper)-LDP of S. The
    paper advises a ``lower`` larger than ``upper``, because the min-lift varies more. ``at_least=0`` (``lower=inf``)
    lets a released value rule a sensitive value out, which empty cells may need.

    Either limit in times may be a mapping with a limit for each sensitive value: ``at_most={"hiv": 1.1, "*": 2}`` sets
    the limit 1.1 for one value and 2 for all others (the star). Keys are values of the sensitive column, or their texts
    as TOML writes keys ("3", "true", "2026-01-31"; "(missing)" for a missing value), which are read by the type of the
    column; for bins, keys are the labels. Such limits need a single sensitive column: combine several into one first.
    Every value must be named or covered by the star, and every name must be a value; both are checked once the budget
    is used with a distribution. ``1`` on both sides is perfect privacy of a value: the release reveals nothing about
    it.

    Parameters
    ----------
    at_most, at_least : float, or mapping of sensitive value to float
        Limits in times as likely: at_most >= 1, and at_least between 0 and 1. Give these two, or ``lower`` and
        ``upper``.
    lower, upper : float
        The bounds in nats, each >= 0. All bounds are keywords, so that nobody can mistake one for the other.

    Attributes
    ----------
    lower, upper : float
        Bounds in nats; an error if limits go by sensitive value.
    at_most, at_least : float or dict of str to float
        Limits in times, as they were written if the budget was given in times.

    Raises
    ------
    InvalidBudget
        If not exactly one pair of bounds is given, or a bound is out of its range.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.25, 0.25], [0.1, 0.4]])
    >>> LiftBudget(at_most=1.35, at_least=0.37).excess(joint).round(4)
    array([ 0.0566, -0.0925])
    >>> LiftBudget(lower=1.0, upper=0.3).excess(joint).round(4)
    array([ 0.0567, -0.0924])
    >>> LiftBudget(at_most={0: 1.3, "*": 1.5}, at_least=0.37).excess(joint).round(4)
    array([ 0.0943, -0.1978])
    """

    lower: float
    upper: float
    # The limits in times as the caller wrote them, at_most first; two budgets with the same bounds are equal however
    # they were written. Limits by sensitive value are stored only here until `limits_for` puts them in a distribution's
    # order.
    _times: ClassVar[tuple[_Times, _Times] | None] = None

    @overload
    def __init__(self, *, at_most: float | Mapping[Any, float], at_least: float | Mapping[Any, float]) -> None: ...

    @overload
    def __init__(self, *, lower: float, upper: float) -> None: ...

    def __init__(self, *positional: object, **bounds: Any) -> None:
        in_times = set(bounds) == {"at_most", "at_least"}
        if positional or not (in_times or set(bounds) == {"lower", "upper"}):
            raise InvalidBudget(
                "LiftBudget takes both of its bounds by name: in times as likely, as in LiftBudget(at_most=1.65, "
                "at_least=0.37), or in nats, as in LiftBudget(lower=1.0, upper=0.5). For no lower bound, give "
                "at_least=0 or lower=inf"
            )
        times = None
        if in_times:
            most, least = bounds["at_most"], bounds["at_least"]
            times = _check_limits("at_most", most, 1, math.inf), _check_limits("at_least", least, 0, 1)
            if isinstance(times[0], dict) or isinstance(times[1], dict):
                vars(self)["_times"] = times
                return
            bounds = {"lower": _nats_below(times[1]), "upper": math.log(times[0])}
        vars(self).update(lower=bounds["lower"], upper=bounds["upper"])
        self.__post_init__()
        if times is not None:
            object.__setattr__(self, "_times", times)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in ("lower", "upper") or self._times is None:
                raise AttributeError(name)
            raise InvalidBudget(
                "this method takes no limits by sensitive value: give one at_most and one at_least for all values. "
                "Only watchdog, subset merging, latent classes and optimal and subset random response take such limits"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiftBudget) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        sides: Any = self._times if by_value(self) else (self.lower, self.upper)
        return tuple(frozenset(side.items()) if isinstance(side, dict) else (*np.ravel(side),) for side in sides)

    @property
    def bounds(self) -> dict[str, Any]:
        """Both bounds, by the names and in the units in which they were given."""
        if self._times is None:
            return {"lower": self.lower, "upper": self.upper}
        return {"at_most": copy(self._times[0]), "at_least": copy(self._times[1])}

    @property
    def at_most(self) -> Any:
        """Largest allowed lift, in times as likely, or a limit per named sensitive value."""
        return exp(self.upper) if self._times is None else self.bounds["at_most"]

    @property
    def at_least(self) -> Any:
        """Smallest allowed lift, in times as likely, or a limit per named sensitive value."""
        return math.exp(-self.lower) if self._times is None else self.bounds["at_least"]

    def __repr__(self) -> str:
        # The repr names no sensitive value because errors, notes of files and public reports show it.
        def words(side: Any) -> str:
            if isinstance(side, dict):
                return f"{range_text(side)} by value"
            # 0 and 0.0 give one text, so that the notes of two files of one budget are the same bytes.
            return range_text(side) if by_value(self) else repr(side)

        return f"LiftBudget({', '.join(f'{name}={words(side)}' for name, side in self.bounds.items())})"

    def _repr_html_(self) -> str:
        if by_value(self):
            rows = [("value", "limit", "times as likely"), *([*map(str, row)] for row in limit_rows(self))]
            return box(repr(self), rows=rows)
        shares = (0.01, 0.1, 0.25, 0.5)
        most, least = zip(*map(self.share_range, shares), strict=True)
        rows = [
            ("a value that so many have", *map(percent, shares)),
            ("becomes at most", *map(percent, most)),
            ("and at least", *map(percent, least)),
        ]
        heading = f"At most {figure(self.at_most)} and at least {figure(self.at_least)} times as likely"
        return box(heading, (repr(self),), rows)

    def share_range(self, share: float) -> tuple[float, float]:
        """Largest and smallest P(s|y) that the budget allows for a sensitive value with this share of the rows.

        The limits on all other values count too, because the chances of all values sum to 1.

        Examples
        --------
        >>> import sanitize as sz
        >>> sz.LiftBudget(at_most=2, at_least=0.5).share_range(0.75)
        (0.875, 0.5)
        """
        most, least = self.at_most, self.at_least
        return min(most * share, 1 - (1 - share) * least), max(least * share, 1 - (1 - share) * most)

    @classmethod
    def symmetric(cls, eps: float) -> LiftBudget:
        """Budget for ε-LIP (local information privacy): both bounds are ε [ZDS Def. 1]."""
        return cls(lower=eps, upper=eps)

    @classmethod
    def pml(cls, eps: float) -> LiftBudget:
        """Budget for ε-PML: pointwise maximal leakage (the max-log-lift) of at most ε in every symbol [Saeidian]."""
        return cls(lower=math.inf, upper=eps)

    @classmethod
    def pmc(cls, eps: float) -> LiftBudget:
        """Budget for ε-PMC: pointwise maximal cost (log of the largest inverse lift) of at most ε [Saeidian]."""
        return cls(lower=eps, upper=math.inf)

    @classmethod
    def from_ldp(cls, eps: float, min_share: float = 0.5) -> LiftBudget:
        """Budget that implies ε-LDP of S: a share ``min_share`` of ε is for the min-lift, the rest for the max-lift."""
        with checking("LiftBudget.from_ldp"):
            non_negative("eps", eps)
            probability("min_share", min_share)
        # A share of an infinite ε is no bound, and 0 times inf is not a number.
        if math.isinf(eps):
            return cls(lower=eps, upper=eps)
        return cls(lower=min_share * eps, upper=(1 - min_share) * eps)

    def lift_excess(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess of each symbol's leakage over the budget, shape (k,), from lifts (n_s, k) and the prior (n_s,)."""
        return self.bounds_excess(lifts, lifts)

    def bounds_excess(self, least: Vector, most: Vector) -> Vector:
        """Largest excess of each symbol over the budget, shape (k,), from bounds of its lifts, shape (n_s, k)."""
        top, bottom = extreme_log_lifts(self, least, most)
        return clear_rounding(
            np.maximum(excess_over(top, tightest_limit(self.upper)), excess_over(-bottom, tightest_limit(self.lower)))
        )

    def lift_risk(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log Λ - log Ψ of each column of lifts, without the term of a side that has no bound."""
        top, bottom = extreme_log_lifts(self, lifts, lifts)
        if math.isinf(tightest_limit(self.lower)):
            return top
        return -bottom if math.isinf(tightest_limit(self.upper)) else top - bottom


def lift_limits(budget: object) -> LiftBudget | None:
    """Limits on each lift: a `LiftBudget` itself, or the ``limits`` of another budget; None if there are none."""
    found = budget.limits if isinstance(budget, AveragedBudget) else budget
    return found if isinstance(found, LiftBudget) else None


def _with_limits(budget: Any, limits: LiftBudget) -> Any:
    return budget.with_limits(limits) if isinstance(budget, AveragedBudget) else limits


def by_value(budget: object) -> bool:
    """Return whether a budget has limits by sensitive value that `limits_for` has not put in order yet."""
    limits = lift_limits(budget)
    return limits is not None and "upper" not in vars(limits)


def limits_for(budget: _B, sensitive: Alphabet) -> _B:
    """Return the budget with any limits by value replaced by one limit per sensitive symbol, in order.

    Raises
    ------
    InvalidBudget
        If there are several sensitive columns, a name is no value, or a value has no limit; no message quotes a value.
    """
    limits = lift_limits(budget)
    if limits is None or not by_value(limits):
        return budget
    if len(sensitive.columns) > 1:
        names = ", ".join(map(repr, sensitive.columns))
        raise InvalidBudget(f"limits by value need one sensitive column, got {names}; combine these columns into one")
    column, n = sensitive.columns[0], len(sensitive)

    def order_limits(name: str, side: _Times) -> list[float]:
        if not isinstance(side, dict):
            return [side] * n
        places = {symbol_place(sensitive, text): text for text in side if text != OTHERS}
        value = f"value of the sensitive column {column!r}"
        if -1 in places:
            raise InvalidBudget(
                f"{name} names {places[-1]!r}, but no {value} has this name; write values as in the table"
            )
        if len(places) < len(side) - (OTHERS in side):
            raise InvalidBudget(f"{name} names one {value} twice; write each value once")
        found = [limit for s in range(n) if (limit := side.get(places.get(s, OTHERS))) is not None]
        if len(found) < n:
            raise InvalidBudget(
                f"{name} has no limit for {n - len(found)} value(s) of the sensitive column {column!r}: name them, or "
                'give a limit for "*", which means all others'
            )
        return found

    most, least = (order_limits(*side) for side in limits.bounds.items())
    ordered = budget_in_nats(np.array([*map(_nats_below, least)]), np.array([*map(math.log, most)]))
    return _with_limits(budget, ordered)


def present_limits(budget: _B, sensitive: Alphabet) -> _B:
    """Return the budget for a part of a table, such as new rows, without limits of values that do not occur there."""
    limits = lift_limits(budget)
    if limits is None or not by_value(limits):
        return budget
    sides = {name: side for name, side in limits.bounds.items() if isinstance(side, dict)}
    for name, side in sides.items():
        present = [text for text in side if text == OTHERS or symbol_place(sensitive, text) >= 0]
        sides[name] = {text: side[text] for text in present} or side
    return _with_limits(budget, LiftBudget(**limits.bounds | sides))


def budget_in_nats(lower: _Limits, upper: _Limits) -> LiftBudget:
    """Build a budget from limits in nats: one limit, or an array with one limit per sensitive symbol."""
    sides = {"lower": np.ravel(lower), "upper": np.ravel(upper)}
    equal_sides = {name: float(side[0]) for name, side in sides.items() if (side == side[0]).all()}
    if len(equal_sides) == len(sides):
        return LiftBudget(**equal_sides)
    budget = object.__new__(LiftBudget)
    vars(budget).update(sides | equal_sides)
    return budget


def tightest_limit(limits: _Limits) -> float:
    """Smallest limit in nats, of one limit or several."""
    return limits.min() if isinstance(limits, np.ndarray) else limits


def extreme_log_lifts(budget: LiftBudget, least: Any, most: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logs of the largest and smallest lift of each column, from lower and upper bounds of the lifts (n_s, k).

    Where limits differ by sensitive value, each lift is shifted by the difference between its limit and the tightest
    one.
    """
    upper, lower = budget.upper, budget.lower
    top = _nearest(logs(most), upper) if isinstance(upper, np.ndarray) else logs(most.max(axis=0))
    return top, -_nearest(-logs(least), lower) if isinstance(lower, np.ndarray) else logs(least.min(axis=0))


def _nearest(nats: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    bound = np.isfinite(limits)
    return np.asarray((nats[bound] - (limits[bound] - limits.min())[:, None]).max(axis=0))


def ends(side: Any) -> tuple[float, float]:
    """Smallest and largest of a budget's limits on one side."""
    values = [*side.values()] if isinstance(side, dict) else np.ravel(side).tolist()
    return min(values), max(values)


def range_text(side: Any) -> str:
    """Describe the range of a budget's limits on one side as text."""
    return " to ".join(f"{end:.15g}" for end in dict.fromkeys(ends(side)))


def loosest(budget: _B) -> _B:
    """Return a budget with one limit for all values: the loosest of the limits by value on each side."""
    limits = lift_limits(budget)
    if limits is None or not by_value(limits):
        return budget
    loose = LiftBudget(at_most=ends(limits.at_most)[1], at_least=ends(limits.at_least)[0])
    return _with_limits(budget, loose)


def per_value(function: Callable[[Any], Any], side: Any) -> Any:
    """Apply a function to a limit, or to each limit by value."""
    return {text: function(limit) for text, limit in side.items()} if isinstance(side, dict) else function(side)


def limit_rows(budget: object) -> tuple[tuple[str, str, float], ...]:
    """List (sensitive value, side, limit in times) for each limit by value; empty if there are none."""
    limits = lift_limits(budget)
    bounds = {} if limits is None else limits.bounds
    sides = {name.replace("_", " "): side for name, side in bounds.items() if isinstance(side, dict)}
    return tuple((text, name, limit) for name, side in sides.items() for text, limit in side.items())


def _nats_below(times: float) -> float:
    return -math.log(times) + 0.0 if times else math.inf


@dataclass(frozen=True)
class LDPBudget(_LiftBased):
    """Budget for ε-LDP of S: ``log(max_s l / min_s l) <= eps`` for every released symbol, in nats [ZDS Def. 2].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.25, 0.25], [0.1, 0.4]])
    >>> LDPBudget(1.0).excess(joint).round(4)
    array([-0.0837, -0.53  ])
    """

    eps: float

    def lift_excess(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess of each symbol's leakage over the budget, shape (k,), from lifts (n_s, k) and the prior (n_s,)."""
        return clear_rounding(excess_over(self.lift_risk(lifts, p_s), self.eps))

    def lift_risk(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log Λ - log Ψ of each column of lifts."""
        return logs(lifts.max(axis=0)) - logs(lifts.min(axis=0))


class AveragedBudget(_LiftBased):
    """Base of budgets on an average of the lift and an average of its inverse, with optional limits on each lift."""

    lower: float
    upper: float
    limits: LiftBudget | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.limits, LiftBudget | None):
            raise InvalidBudget(
                f"{type(self).__name__}: limits must be a LiftBudget(at_most=..., at_least=...), "
                f"got {type(self.limits).__name__}"
            )

    def with_limits(self, limits: LiftBudget | None) -> AveragedBudget:
        """Return the budget with other limits on each lift."""
        return replace(self, limits=limits)  # type: ignore[type-var]

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({', '.join(given)})"

    def _bounds(self) -> tuple[float, float]:
        """Bounds on the average of the lift and on the average of its inverse."""
        return _expm1(self.upper), _expm1(self.lower)

    @abstractmethod
    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value of the bounded average for each column of lifts."""

    def lift_excess(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess of each symbol's leakage over the budget, shape (k,), from lifts (n_s, k) and the prior (n_s,)."""
        upper, lower = self._bounds()
        over = excess_over(self._measure(lifts, p_s), upper)
        if not math.isinf(lower):
            over = np.maximum(over, self._measure(inverse(lifts), p_s) - lower)
        return clear_rounding(over if self.limits is None else np.maximum(over, self.limits.lift_excess(lifts, p_s)))

    def lift_risk(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of both averages and the risk under the limits on each lift, leaving out averages without a bound."""
        risk = np.zeros(lifts.shape[1]) if self.limits is None else self.limits.lift_risk(lifts, p_s)
        if not math.isinf(self.upper):
            risk = risk + self._measure(lifts, p_s)
        if not math.isinf(self.lower):
            risk = risk + self._measure(inverse(lifts), p_s)
        return risk


@dataclass(frozen=True, kw_only=True, repr=False)
class L1LiftBudget(AveragedBudget):
    """Limits e**upper - 1 on the ℓ1-lift and e**lower - 1 on the ℓ1-lift-inverse [ZDS §VI-B].

    The ℓ1-lift and its inverse are averages over s, so a symbol may meet this budget and break the `LiftBudget` of the
    same numbers. A symbol that meets the `LiftBudget` meets this budget if e**-lower + e**upper and e**lower +
    e**-upper are at least 2; below 2 it may not [ZDS Prop. 3, 5]. ``limits``, a `LiftBudget` that may go by sensitive
    value, holds in addition, for each lift.

    Examples
    --------
    >>> L1LiftBudget(lower=1.0, upper=0.5)
    L1LiftBudget(lower=1.0, upper=0.5)
    >>> L1LiftBudget(lower=1.0, upper=0.5, limits=LiftBudget(at_most={"hiv": 1.1, "*": 2}, at_least=0))
    L1LiftBudget(lower=1.0, upper=0.5, limits=LiftBudget(at_most=1.1 to 2 by value, at_least=0))
    """

    lower: float
    upper: float
    limits: LiftBudget | None = None

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return l1_deviation(lifts, p_s)


@dataclass(frozen=True, kw_only=True, repr=False)
class Chi2LiftBudget(AveragedBudget):
    """Limits (e**upper - 1)**2 on the chi2-lift and (e**lower - 1)**2 on the chi2-lift-inverse [ZDS §VI-B].

    ``limits``, an optional `LiftBudget` (for all values or by sensitive value), also limits each single lift.

    Examples
    --------
    >>> Chi2LiftBudget(lower=1.0, upper=0.5)
    Chi2LiftBudget(lower=1.0, upper=0.5)
    """

    lower: float
    upper: float
    limits: LiftBudget | None = None

    def _bounds(self) -> tuple[float, float]:
        return _expm1(self.upper) ** 2, _expm1(self.lower) ** 2

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return chi2_deviation(lifts, p_s)


@dataclass(frozen=True, repr=False)
class AlphaLiftBudget(AveragedBudget):
    """Limits e**upper on the α-lift and e**lower on the α-lift-inverse, for alpha > 1 [ZDS §VI-B].

    ``limits``, an optional `LiftBudget` (for all values or by sensitive value), also limits each single lift.

    Examples
    --------
    >>> AlphaLiftBudget(2, lower=1.0, upper=0.5)
    AlphaLiftBudget(alpha=2, lower=1.0, upper=0.5)
    """

    alpha: float
    _: KW_ONLY
    lower: float
    upper: float
    limits: LiftBudget | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha > 1:
            raise InvalidBudget(f"AlphaLiftBudget: alpha must be greater than 1 (inf allowed), got {self.alpha}")

    def _bounds(self) -> tuple[float, float]:
        return 1 + _expm1(self.upper), 1 + _expm1(self.lower)

    def _measure(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return alpha_norm(lifts, p_s, self.alpha)
