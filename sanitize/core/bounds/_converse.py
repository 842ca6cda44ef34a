"""Bounds on the max-lift or min-lift from a bound on an averaged lift, given P(s) of the value with the extreme lift.

The printed converses hold [ZDS Prop. 4, 6]. The converses for the max-lift are improved here: lifts average to 1, so a
letter with a lift above 1 forces other lifts below 1, and no lift exceeds 1/P_S(s).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sanitize._util.checks import number
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize._util.tolerances import ROOT, SMALLEST_POSITIVE
from sanitize.core.bounds._lift import Bound, excess


def max_lift_from_l1(bound: float, share: float) -> Bound:
    """Bound min(1/P, 1 + bound/(2P)), P = share, on the max-lift from one on the ℓ1-lift [ZDS Prop. 4.1, sharpened].

    The printed bound 1 + bound/P is true and loose, because only half of the ℓ1-lift comes from lifts above 1.

    Parameters
    ----------
    bound : float
        Largest ℓ1-lift, >= 0.
    share : float
        P = P_S(s) of the letter with the largest lift, in (0, 1]; the least entry of P_S is always safe.

    Returns
    -------
    Bound

    Raises
    ------
    InvalidParameter
        If a parameter is outside its range.

    Examples
    --------
    >>> max_lift_from_l1(0.25, 0.25)
    Bound(tight=1.5, printed=2.0, side='upper')
    """
    bound, share = number("bound", bound, 0, math.inf), _share(share)
    return Bound(min(1 / share, 1 + bound / (2 * share)), 1 + bound / share)


def max_lift_from_chi2(bound: float, share: float) -> Bound:
    """Bound min(1/P, 1 + √(bound (1-P)/P)), P = share, on the max-lift from a χ²-lift bound [ZDS Prop. 4.2, sharpened].

    The printed bound 1 + √(bound/P) is true and loose.

    Parameters
    ----------
    bound : float
        Largest χ²-lift, >= 0.
    share : float
        P = P_S(s) of the letter with the largest lift, in (0, 1]; the least entry of P_S is always safe.

    Examples
    --------
    >>> max_lift_from_chi2(0.25, 0.5)
    Bound(tight=1.5, printed=1.7071067811865475, side='upper')
    """
    bound, share = number("bound", bound, 0, math.inf), _share(share)
    printed = 1 + math.sqrt(bound / share)
    if share == 1:
        return Bound(1.0, printed)
    return Bound(min(1 / share, 1 + math.sqrt(bound * (1 - share) / share)), printed)


def max_lift_from_alpha(bound: float, share: float, alpha: float) -> Bound:
    """Bound x on the max-lift from a bound on the α-lift: P x**α + (1-P)((1-Px)/(1-P))**α = bound**α [ZDS Prop. 4.3].

    The result sharpens the printed bound P**(-1/α) bound, which is true and loose.

    Parameters
    ----------
    bound : float
        Largest α-lift, >= 1.
    share : float
        P = P_S(s) of the letter with the largest lift, in (0, 1]; the least entry of P_S is always safe.
    alpha : float
        Order, at least 1; at 1 every α-lift is 1 and only Λ <= 1/P is left.

    Examples
    --------
    >>> bound = max_lift_from_alpha(1.25, 0.5, 2)
    >>> round(bound.tight, 6), round(bound.printed, 6)
    (1.75, 1.767767)
    """
    bound, share = number("bound", bound, 1, math.inf), _share(share)
    alpha = number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return Bound(min(1 / share, bound), bound)
    printed, cap = bound * share ** (-1 / alpha), -math.log(share)
    if share == 1 or alpha == 1 or cap * (alpha - 1) <= alpha * math.log(bound):
        return Bound(1 / share, printed)
    log_other_share = math.log1p(-share)

    def log_excess(t: float) -> float:
        # Log of P e**(αt) + (1-P)((1 - P e**t)/(1-P))**α, the two-letter distribution's E[l**α], less the log bound.
        other_lift = math.log(-math.expm1(t - cap)) - log_other_share if t < cap else -math.inf
        if alpha * cap > LARGEST_EXPONENT:  # the powers are beyond a double
            mean = float(np.logaddexp(math.log(share) + alpha * t, log_other_share + alpha * other_lift))
        else:
            mean = math.log1p((alpha - 1) * (share * excess(t, alpha) + (1 - share) * excess(other_lift, alpha)))
        return mean - alpha * math.log(bound)

    return Bound(math.exp(_root(log_excess, cap)), printed)


def min_lift_from_l1_inverse(bound: float, share: float) -> Bound:
    """Lower bound P/(bound + P), P = share, on the min-lift from a bound on the ℓ1-lift-inverse [ZDS Prop. 6.1].

    The bound is approached as the share of a letter that takes up the rest vanishes.

    Parameters
    ----------
    bound : float
        Largest ℓ1-lift-inverse, >= 0.
    share : float
        P = P_S(s) of the letter with the least lift, in (0, 1]; the least entry of P_S is always safe.

    Examples
    --------
    >>> min_lift_from_l1_inverse(0.25, 0.25)
    Bound(tight=0.5, printed=0.5, side='lower')
    """
    bound, share = number("bound", bound, 0, math.inf), _share(share)
    printed = share / (bound + share)
    return Bound(1.0 if share == 1 else printed, printed, "lower")


def min_lift_from_chi2_inverse(bound: float, share: float) -> Bound:
    """Lower bound √P/(√bound + √P), P = share, on the min-lift from a bound on the χ²-lift-inverse [ZDS Prop. 6.2].

    The bound is approached as the share of a letter that takes up the rest vanishes.

    Parameters
    ----------
    bound : float
        Largest χ²-lift-inverse, >= 0.
    share : float
        P = P_S(s) of the letter with the least lift, in (0, 1]; the least entry of P_S is always safe.

    Examples
    --------
    >>> min_lift_from_chi2_inverse(0.25, 0.25)
    Bound(tight=0.5, printed=0.5, side='lower')
    """
    bound, share = number("bound", bound, 0, math.inf), _share(share)
    printed = 1 / (1 + math.sqrt(bound / share))
    return Bound(1.0 if share == 1 else printed, printed, "lower")


def min_lift_from_alpha_inverse(bound: float, share: float, alpha: float) -> Bound:
    """Lower bound x on the min-lift, which solves P x**-α + (1-P)((1-P)/(1-Px))**α = bound**α [ZDS Prop. 6.3].

    The result sharpens the printed bound P**(1/α)/bound on the min-lift, which is true and loose.

    Parameters
    ----------
    bound : float
        Largest α-lift-inverse, >= 1.
    share : float
        P = P_S(s) of the letter with the least lift, in (0, 1]; the least entry of P_S is always safe.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> bound = min_lift_from_alpha_inverse(1.25, 0.5, 2)
    >>> round(bound.tight, 6), round(bound.printed, 6), bound.verdict
    (0.620204, 0.565685, 'loose')
    """
    bound, share = number("bound", bound, 1, math.inf), _share(share)
    alpha = number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return Bound(1.0 if share == 1 else 1 / bound, 1 / bound, "lower")
    printed = share ** (1 / alpha) / bound
    if share == 1 or bound == 1 or math.isinf(bound):
        return Bound(1.0 if share == 1 or bound == 1 else 0.0, printed, "lower")
    target, log_share, log_other_share = alpha * math.log(bound), math.log(share), math.log1p(-share)

    def log_excess(t: float) -> float:
        other_lift = math.log(-math.expm1(log_share - t)) - log_other_share
        return float(np.logaddexp(log_share + alpha * t, log_other_share - alpha * other_lift)) - target

    return Bound(math.exp(-_root(log_excess, math.log(bound) - log_share / alpha)), printed, "lower")


def _root(log_excess: Callable[[float], float], high: float) -> float:
    """Root of the increasing function ``log_excess`` between 0 and ``high``."""
    from scipy.optimize import brentq

    if log_excess(high) <= 0:
        return high
    # The roots are logarithms of lifts, so absolute precision matters.
    return float(brentq(log_excess, 0.0, high, xtol=1e-18, rtol=ROOT, maxiter=1000)) if log_excess(0.0) < 0 else 0.0


def _share(share: float) -> float:
    value = number("share", share, 0, 1)
    return value if value > 0 else number("share", value, SMALLEST_POSITIVE, 1)
