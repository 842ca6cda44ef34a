"""Bounds that a lift budget implies for each measure of leakage, next to the bounds printed in [ZDS].

Let a = e**-lower, b = e**upper. The lifts of one symbol lie in [a, b] and average to 1 under P_S (those of one
s average to 1 under P_Y), so the largest mean of f(l) is the concave envelope of f on [a, b], taken at 1: a
distribution on two lifts. That distribution exists, so every bound here is a supremum over all priors and channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sanitize._util.checks import exp, expm1, number
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize._util.tolerances import SAME
from sanitize.core.budgets import LDPBudget, LiftBudget, MeanBudget, lift_limits, loosest

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget


@dataclass(frozen=True)
class Bound:
    """Tight bound on a measure, with the published bound for comparison.

    Attributes
    ----------
    tight : float
        Supremum (infimum for a lower bound) over all distributions that meet the premise.
    printed : float
        The bound as published.
    side : {"upper", "lower"}
        ``upper`` if the measure is at most the bound, ``lower`` if it is at least the bound.
    """

    tight: float
    printed: float
    side: Literal["upper", "lower"] = "upper"

    @property
    def verdict(self) -> Literal["tight", "loose", "false"]:
        """Verdict on the published bound for the given parameters; ``false`` if some distribution violates it."""
        if self.tight == self.printed or math.isclose(self.tight, self.printed, rel_tol=SAME):
            return "tight"
        holds = self.printed > self.tight if self.side == "upper" else self.printed < self.tight
        return "loose" if holds else "false"


@dataclass(frozen=True)
class TwoPoint:
    """Distribution with mean 1 on two lifts a and b: probabilities q of a and p of b, and the products qa and pb."""

    p: float
    q: float
    pb: float
    qa: float

    @classmethod
    def from_bounds(cls, lower: float, upper: float) -> TwoPoint:
        """Build the distribution on a = e**-lower and b = e**upper; p = pb/b avoids overflow and cancellation."""
        width = -math.expm1(-(lower + upper))
        pb = -math.expm1(-lower) / width
        q = -math.expm1(-upper) / width
        return cls(pb * math.exp(-upper), q, pb, q * math.exp(-lower))


def mutual_information_bound(lower: float, upper: float) -> Bound:
    """Bound on I(S;Y), for lifts in [a, b]: p b log b + (1-p) a log a, p = (1-a)/(b-a) [ZDS Prop. 1.1, corrected].

    The printed bound ``upper`` is true and loose.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.

    Returns
    -------
    Bound

    Raises
    ------
    InvalidParameter
        If a bound is negative or not a number.

    Examples
    --------
    >>> bound = mutual_information_bound(1.5, 0.5)
    >>> round(bound.tight, 4), bound.printed, bound.verdict
    (0.2969, 0.5, 'loose')
    """
    lower, upper = _nats(lower, upper)
    return Bound(_information(lower, upper, 1.0), upper)


def total_variation_bound(lower: float, upper: float) -> Bound:
    """Bound on the total variation T(S;Y), for lifts in [a, b]: (b-1)(1-a)/(b-a) [ZDS Prop. 1.2, corrected].

    The printed bound (b-1)/2 is false if a + b < 2.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.

    Examples
    --------
    >>> import math
    >>> bound = total_variation_bound(math.log(2), math.log(1.25))
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (0.1667, 0.125, 'false')
    """
    lower, upper = _nats(lower, upper)
    return Bound(_deviation(lower, upper), expm1(upper) / 2)


def chi2_bound(lower: float, upper: float) -> Bound:
    """Bound on χ²(S;Y) and on every χ²-lift, for lifts in [a, b]: (b-1)(1-a) [ZDS Prop. 1.2, 3.2, corrected].

    The printed bound (b-1)**2 is false if a + b < 2.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.

    Examples
    --------
    >>> import math
    >>> bound = chi2_bound(math.log(2), math.log(1.25))
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (0.125, 0.0625, 'false')
    """
    lower, upper = _nats(lower, upper)
    tight = 0.0 if min(lower, upper) == 0 else expm1(upper) * -math.expm1(-lower)
    return Bound(tight, expm1(upper) * expm1(upper))


def l1_lift_bound(lower: float, upper: float) -> Bound:
    """Bound on every ℓ1-lift, for lifts in [a, b]: 2(b-1)(1-a)/(b-a) [ZDS Prop. 3.1, corrected].

    The printed bound b-1 is false if a + b < 2.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.

    Examples
    --------
    >>> import math
    >>> bound = l1_lift_bound(math.log(2), math.log(1.25))
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (0.3333, 0.25, 'false')
    """
    lower, upper = _nats(lower, upper)
    return Bound(2 * _deviation(lower, upper), expm1(upper))


def alpha_lift_bound(lower: float, upper: float, alpha: float) -> Bound:
    """Bound on every α-lift, for lifts in [a, b]: (p b**α + (1-p) a**α)**(1/α), p = (1-a)/(b-a) [ZDS Prop. 3.3].

    The printed bound b is true and loose.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.
    alpha : float
        Order, at least 1; inf gives the max-lift.

    Examples
    --------
    >>> bound = alpha_lift_bound(1.5, 0.5, 2)
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (1.2264, 1.6487, 'loose')
    """
    lower, upper = _nats(lower, upper)
    alpha = number("alpha", alpha, 1, math.inf)
    share = 1.0 if math.isinf(alpha) else (alpha - 1) / alpha
    return Bound(exp(share * _information(lower, upper, alpha)) if share else 1.0, exp(upper))


def sibson_bound(lower: float, upper: float, alpha: float) -> Bound:
    """Bound on Sibson's I_α(S;Y), lifts in [a, b]: log(p b**α + (1-p) a**α)/(α-1), p = (1-a)/(b-a) [ZDS Prop. 1.3].

    The printed bound upper α/(α-1) is true and loose. At α = 1 the result is the bound on I(S;Y); at inf it is
    ``upper``, the bound on maximal leakage.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.
    alpha : float
        Order, at least 1; inf gives the bound on maximal leakage.

    Examples
    --------
    >>> bound = sibson_bound(1.5, 0.5, 2)
    >>> round(bound.tight, 4), bound.printed, bound.verdict
    (0.4081, 1.0, 'loose')
    """
    lower, upper = _nats(lower, upper)
    alpha = number("alpha", alpha, 1, math.inf)
    printed = upper if math.isinf(alpha) or upper == 0 else math.inf if alpha == 1 else upper * alpha / (alpha - 1)
    return Bound(_information(lower, upper, alpha), printed)


def arimoto_bound(lower: float, upper: float, alpha: float) -> Bound:
    """Bound on Arimoto's I_α(S;Y), lifts in [a, b]: log(p b**α + (1-p) a**α)/(α-1), p = (1-a)/(b-a) [ZDS Prop. 1.3].

    The bound is the number of `sibson_bound`: the two measures agree for a uniform S, and E_Y[l(s, Y)**α] meets the
    bound for every s, so no weighting of s exceeds it.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.
    alpha : float
        Order, at least 1; inf gives the bound on maximal leakage.

    Examples
    --------
    >>> arimoto_bound(1.5, 0.5, 2) == sibson_bound(1.5, 0.5, 2)
    True
    """
    return sibson_bound(lower, upper, alpha)


def ldp_bound(lower: float, upper: float) -> Bound:
    """Level of LDP of S, in nats, that (lower, upper)-ALIP implies: lower + upper, as published [ZDS Prop. 1.4].

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.

    Examples
    --------
    >>> ldp_bound(1.5, 0.5)
    Bound(tight=2.0, printed=2.0, side='upper')
    """
    lower, upper = _nats(lower, upper)
    # Lifts average to 1, so they cannot lie on one side of 1 only.
    return Bound(0.0 if min(lower, upper) == 0 else lower + upper, lower + upper)


def _nats(lower: float, upper: float) -> tuple[float, float]:
    return number("lower", lower, 0, math.inf), number("upper", upper, 0, math.inf)


def _deviation(lower: float, upper: float) -> float:
    """Half of the largest mean E|l - 1| within the bounds, which is p(b - 1)."""
    if min(lower, upper) == 0:
        return 0.0
    return TwoPoint.from_bounds(lower, upper).pb * -math.expm1(-upper)


def _information(lower: float, upper: float, alpha: float) -> float:
    """Return log(E[l**α])/(α-1) of the two-point distribution on the bounds, or E[l log l] at α = 1."""
    if min(lower, upper) == 0:
        return 0.0
    if math.isinf(alpha) or math.isinf(upper):
        return upper
    distribution, order = TwoPoint.from_bounds(lower, upper), alpha - 1
    if alpha * upper <= LARGEST_EXPONENT:
        mean = distribution.p * excess(upper, alpha) + distribution.q * excess(-lower, alpha)
    elif order * upper <= LARGEST_EXPONENT:
        mean = distribution.pb * _growth(upper, order) + (
            distribution.qa * _growth(-lower, order) if distribution.qa else 0.0
        )
    else:
        low = math.log(distribution.qa) - order * lower if distribution.qa else -math.inf
        return float(np.logaddexp(math.log(distribution.pb) + order * upper, low)) / order
    return math.log1p(order * mean) / order if order else mean


def _growth(t: float, order: float) -> float:
    """Return (e**(order t) - 1)/order, or t at order 0."""
    return math.expm1(order * t) / order if order else t


def excess(t: float, alpha: float) -> float:
    """Return (l**α - 1 - α(l - 1))/(α-1) at l = e**t, or its limit at α = 1: the part of l**α that is not linear in l.

    For small t it is about α t**2/2, where the closed form would lose every digit; the terms used here are >= 0 for t
    >= 0.
    """
    if abs(alpha * t) < 1:
        coefficient, term, k = alpha, t * t / 2, 2
        total = coefficient * term
        while abs(coefficient * term) > 1e-18 * total:
            k += 1
            coefficient, term = alpha * (1 + coefficient), term * t / k
            total += coefficient * term
        return total
    value = math.exp(t)
    return (value * _growth(t, alpha - 1) if value else 0.0) - math.expm1(t)


def implied_bounds(budget: Budget | None) -> dict[str, float]:
    """Largest value of each measure that a budget allows, by measure name, in the measure's unit.

    Parameters
    ----------
    budget : Budget or None
        Bounds are known for `LDPBudget` and for `LiftBudget`, also as the limits of an averaged budget. A budget on a
        mean bounds the measure that it is named for; other budgets give an empty mapping.

    Returns
    -------
    dict of str to float
        ``min_log_lift`` is a lower limit, all others are upper limits.

    Examples
    --------
    >>> from sanitize.core.budgets import LiftBudget
    >>> bounds = implied_bounds(LiftBudget(lower=1.5, upper=0.5))
    >>> round(bounds["chi2_divergence"], 4), round(bounds["mutual_information"], 4)
    (0.504, 0.2969)
    """
    budget = loosest(lift_limits(budget) or budget)
    if isinstance(budget, LDPBudget):
        return {"ldp_sensitive": budget.eps, "max_log_lift": budget.eps, "min_log_lift": -budget.eps}
    if isinstance(budget, MeanBudget):
        return {budget.measure: budget.upper}
    if not isinstance(budget, LiftBudget):
        return {}
    lower, upper = budget.lower, budget.upper
    limits = {"max_log_lift": upper, "min_log_lift": -lower, "ldp_sensitive": lower + upper}
    if math.isinf(upper):
        return limits
    chi2, order_2 = chi2_bound(lower, upper).tight, sibson_bound(lower, upper, 2).tight
    return limits | {
        "maximal_leakage": upper,
        "mutual_information": mutual_information_bound(lower, upper).tight,
        "total_variation": total_variation_bound(lower, upper).tight,
        "chi2_divergence": chi2,
        "chi2_lift": chi2,
        "l1_lift": l1_lift_bound(lower, upper).tight,
        "sibson_2": order_2,
        "arimoto_2": order_2,
    }
