"""Bounds that a lift budget implies for the measures of the inverse lift 1/l, which control the min-lift [ZDS §VI-A].

1 - 1/l flattens out above 1, so for the ℓ1- and χ²-inverse the worst distribution puts its upper point t where the
chord from a touches the curve, if that comes before b.
"""

from __future__ import annotations

import math

import numpy as np

from sanitize._util.checks import exp, expm1, number
from sanitize.core.bounds._lift import Bound, TwoPoint


def l1_lift_inverse_bound(lower: float, upper: float) -> Bound:
    """Bound on every ℓ1-lift-inverse, for lifts in [a, b]: (1-a)(t-1)(t+a)/(a t (t-a)), t <= b [ZDS Prop. 5.1].

    Here t = b if a <= 1/2, else min(b, a/(1 - √(2-2a))). The printed bound 1/a - 1 is false if 1/a + 1/b < 2.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats, each >= 0, inf for no bound; ``lower=inf`` gives inf.

    Returns
    -------
    Bound

    Raises
    ------
    InvalidParameter
        If a bound is negative or not a number.

    Examples
    --------
    >>> import math
    >>> bound = l1_lift_inverse_bound(math.log(1.25), math.log(2))
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (0.2917, 0.25, 'false')
    """
    lower, upper, a, d = _ends(lower, upper)
    if d == 0 or upper == 0:
        return Bound(0.0, expm1(lower))
    if a == 0:
        return Bound(math.inf, math.inf)
    root = math.sqrt(2 * d)
    rise = expm1(upper) if a <= 0.5 else min(expm1(upper), (root - d) / (1 - root))
    weighed = d if math.isinf(rise) else d * rise / (d + rise)
    return Bound(weighed / a + weighed / (1 + rise), expm1(lower))


def chi2_lift_inverse_bound(lower: float, upper: float) -> Bound:
    """Bound on every χ²-lift-inverse, for lifts in [a, b]: (1-a)(t-1)(a+(1-a)t)/(a²t²), t <= b [ZDS Prop. 5.2].

    Here t = b if a <= 1/2, else min(b, 2a/(2a-1)). The printed bound (1/a - 1)**2 is false if 1/a + 1/b < 2.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.

    Examples
    --------
    >>> import math
    >>> bound = chi2_lift_inverse_bound(math.log(1.25), math.log(2))
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (0.0938, 0.0625, 'false')
    """
    lower, upper, a, d = _ends(lower, upper)
    if d == 0 or upper == 0:
        return Bound(0.0, expm1(lower) * expm1(lower))
    if a == 0:
        return Bound(math.inf, math.inf)
    rise = expm1(upper) if a <= 0.5 else min(expm1(upper), 1 / (1 - 2 * d) if d < 0.5 else math.inf)
    top = 1 + rise
    # (1-a)(t-1)(a+(1-a)t)/(a t)**2, divided through by t and by a, so that it is defined for t = inf and tiny a.
    share = 1.0 if math.isinf(rise) else rise / top
    return Bound(share * (d / a) * ((a / top + d) / a), expm1(lower) * expm1(lower))


def alpha_lift_inverse_bound(lower: float, upper: float, alpha: float) -> Bound:
    """Bound on every α-lift-inverse, lifts in [a, b]: (p b**-α + (1-p) a**-α)**(1/α), p = (1-a)/(b-a) [ZDS Prop. 5.3].

    The printed bound 1/a is true and loose.

    Parameters
    ----------
    lower, upper : float
        (lower, upper)-ALIP in nats: -lower <= log l(s, y) <= upper; each >= 0, inf for no bound.
    alpha : float
        Order, at least 1; inf gives the largest 1/l.

    Examples
    --------
    >>> bound = alpha_lift_inverse_bound(0.5, 1.5, 2)
    >>> round(bound.tight, 4), round(bound.printed, 4), bound.verdict
    (1.5644, 1.6487, 'loose')
    """
    lower, upper, a, d = _ends(lower, upper)
    alpha = number("alpha", alpha, 1, math.inf)
    if d == 0 or upper == 0:
        return Bound(1.0, exp(lower))
    if a == 0 or math.isinf(alpha):
        return Bound(exp(lower), exp(lower))
    distribution = TwoPoint.from_bounds(lower, upper)
    high = math.log(distribution.p) - alpha * upper if distribution.p else -math.inf
    return Bound(exp(float(np.logaddexp(high, math.log(distribution.q) + alpha * lower)) / alpha), exp(lower))


def _ends(lower: float, upper: float) -> tuple[float, float, float, float]:
    """Check both bounds, which are in nats, and return lower, upper, a and 1 - a, with a = e**-lower."""
    lower, upper = number("lower", lower, 0, math.inf), number("upper", upper, 0, math.inf)
    return lower, upper, math.exp(-lower), -math.expm1(-lower)
