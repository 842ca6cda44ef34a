"""Relations between pointwise maximal leakage (max-lift) and pointwise maximal cost (inverse of the min-lift)."""

from __future__ import annotations

import math

from sanitize._util.checks import number
from sanitize._util.tolerances import SMALLEST_POSITIVE


def min_lift_from_max_lift(bound: float, share: float) -> float:
    """Least lift, in times, of a sensitive value of share P if no lift exceeds b: max(0, (1 - b (1 - P)) / P).

    Lifts have the mean 1 under P_S, and the other sensitive values contribute at most b (1 - P) to the mean, with
    equality where all their lifts are b. So ε-PML, with b = e^ε, also bounds the pointwise maximal cost as long as b <
    1 / (1 - P) [Saeidian].

    Parameters
    ----------
    bound : float
        b >= 1, the largest lift of any secret.
    share : float
        P = P_S(s) of the secret, in (0, 1]; the least entry of P_S is always safe.

    Examples
    --------
    >>> min_lift_from_max_lift(1.5, 0.5), round(min_lift_from_max_lift(1.2, 0.25), 4), min_lift_from_max_lift(3.0, 0.5)
    (0.5, 0.4, 0.0)
    """
    bound, share = number("bound", bound, 1, math.inf), number("share", share, SMALLEST_POSITIVE, 1)
    return 1.0 if share == 1 else max(0.0, 1 - (bound - 1) * (1 - share) / share)


def max_lift_from_min_lift(bound: float, share: float) -> float:
    """Largest lift, in times, of a sensitive value of share P if no lift is below a: (1 - a (1 - P)) / P.

    For ε-PMC, a = e^-ε. The bound is attained where the lifts of all other sensitive values are a; it is 1 / P for a =
    0.

    Parameters
    ----------
    bound : float
        a from 0 to 1, the least lift of any secret.
    share : float
        P = P_S(s) of the secret, in (0, 1]; the least entry of P_S is always safe.

    Examples
    --------
    >>> max_lift_from_min_lift(0.5, 0.5), max_lift_from_min_lift(0.0, 0.25)
    (1.5, 4.0)
    """
    bound, share = number("bound", bound, 0, 1), number("share", share, SMALLEST_POSITIVE, 1)
    return 1 + (1 - bound) * (1 - share) / share  # (1 - a (1 - P)) / P loses digits if a is near 1
