"""Conversions between (ε, δ)-closeness, divergence, total variation and mutual information [CY].

P and Q are (ε, δ)-close when P(A) <= e**ε Q(A) + δ and Q(A) <= e**ε P(A) + δ for every event A. A channel is (ε,
δ)-differentially private when the output distributions of neighbouring inputs are (ε, δ)-close, so each statement about
pairs of distributions is also one about channels. Everything is in nats, and bounds are rounded up by a few units of
the last digit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import number, whole_number
from sanitize._util.tolerances import ROOT, SMALLEST_POSITIVE
from sanitize.core.bounds import Bound
from sanitize.core.capacity import dp_information_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "approximate_dp_delta",
    "approximate_dp_epsilon",
    "kl_from_dp",
    "mutual_information_from_dp",
    "mutual_information_from_kl",
    "mutual_information_from_total_variation",
    "power_from_dp",
    "total_variation_from_kl",
    "total_variation_from_mutual_information",
]

# Largest entropy of one bit, in nats.
_LN2 = math.log(2)
# Generous bound on the relative rounding error of a formula's few operations, of 1.1e-16 each.
_ROUNDING = 4e-15
# Decimals to which privacy losses, in nats, are rounded: equal sums of levels then merge, and outcomes stay few.
_MERGED = 12


def binary_entropy(probability: float) -> float:
    """Entropy h_b(p) = -p log p - (1-p) log(1-p) of a coin with probability p, in nats.

    Parameters
    ----------
    probability : float
        Probability p, between 0 and 1.

    Raises
    ------
    InvalidParameter
        If the value is not a probability.

    Examples
    --------
    >>> round(binary_entropy(0.11), 4)
    0.3465
    """
    p = number("probability", probability, 0, 1)
    return 0.0 if p in (0, 1) else -p * math.log(p) - (1 - p) * math.log1p(-p)


def binary_entropy_inverse(entropy: float) -> float:
    """Probability p <= 1/2 with h_b(p) = entropy; the relative error is small near 0, the absolute error near 1/2.

    Parameters
    ----------
    entropy : float
        Between 0 and log 2, in nats.

    Raises
    ------
    InvalidParameter
        If the entropy is out of range.

    Examples
    --------
    >>> round(binary_entropy_inverse(0.3465), 2)
    0.11
    """
    from scipy.optimize import brentq

    entropy = number("entropy", entropy, 0, _LN2)
    if entropy == 0:
        return 0.0
    if _LN2 - entropy < 0.3:
        return (1 - _bias(_LN2 - entropy)) / 2
    low = max(2 * math.log(entropy / 1.4), -740.0)  # h_b(p) <= 1.4 √p; p itself stays a double
    if binary_entropy(math.exp(low)) >= entropy:
        return 0.0
    root = brentq(lambda t: binary_entropy(math.exp(t)) - entropy, low, -_LN2, xtol=1e-16, rtol=ROOT)
    return math.exp(root)


def approximate_dp_delta(eps: float, delta: float, to_eps: float) -> float:
    """Least δ' such that (ε, δ) implies (ε', δ'): 1 - (e**ε' + 1)(1-δ)/(e**ε + 1) for ε' <= ε, else δ [CY, tight].

    Parameters
    ----------
    eps, to_eps : float
        ε and ε' in nats, >= 0 (inf allowed).
    delta : float
        δ, between 0 and 1.

    Returns
    -------
    float
        The least δ' that every (ε, δ)-close pair meets; a pair on four points reaches it.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(approximate_dp_delta(1.0, 1e-6, 0.5), 6)
    0.28765
    """
    eps, target = number("eps", eps, 0, math.inf), number("to_eps", to_eps, 0, math.inf)
    delta = number("delta", delta, 0, 1)
    if target >= eps:
        return delta
    grown = delta + (1 - delta) * -math.expm1(target - eps) / (1 + math.exp(-eps))
    if grown < 0.5:
        return _up(grown)
    # Near 1 a double holds fewer digits than its distance from 1, which is therefore computed.
    left = (1 - delta) * (math.exp(target - eps) + math.exp(-eps)) / (1 + math.exp(-eps))
    return min(1.0, math.nextafter(1 - left * (1 - _ROUNDING), 2))


def approximate_dp_epsilon(eps: float, delta: float, to_delta: float) -> float:
    """Least ε' for which (ε, δ) implies (ε', to_delta): the inverse of `approximate_dp_delta` [CY].

    The result is inf if ``to_delta < delta``, because no ε' makes δ smaller.

    Parameters
    ----------
    eps : float
        ε in nats, >= 0.
    delta, to_delta : float
        δ and δ', between 0 and 1.

    Examples
    --------
    >>> round(approximate_dp_epsilon(1.0, 1e-6, 0.28765), 4)
    0.5
    """
    eps = number("eps", eps, 0, math.inf)
    delta, target = number("delta", delta, 0, 1), number("to_delta", to_delta, 0, 1)
    if target < delta:
        return math.inf
    if target in (1, delta):
        return 0.0 if target == 1 else eps
    if math.isinf(eps):
        return math.inf
    # e**ε' = share (e**ε + 1) - 1 with share = (1-δ')/(1-δ), both from differences that doubles hold.
    fall = (target - delta) / (1 - delta)
    shrink = fall * (1 + math.exp(-eps))
    if shrink <= 0.5:
        return max(0.0, min(eps, _up(eps + math.log1p(-shrink)) + _ROUNDING * eps))
    remainder = (1 - target) / (1 - delta) - fall * math.exp(-eps)
    return max(0.0, _up(eps + math.log(remainder)) + _ROUNDING * eps) if remainder > 0 else 0.0


def kl_from_dp(eps: float) -> Bound:
    """Largest KL divergence of (ε, 0)-close distributions, ε tanh(ε/2), attained by randomized response [CY].

    The first printed bound is ε, which is true and loose; the tightest printed form ε (e**ε-1)(1-e**-ε)/(e**ε-e**-ε)
    equals this one.

    Parameters
    ----------
    eps : float
        Value in nats, >= 0.

    Examples
    --------
    >>> bound = kl_from_dp(1.0)
    >>> round(bound.tight, 4), bound.printed
    (0.4621, 1.0)
    """
    eps = number("eps", eps, 0, math.inf)
    return Bound(min(eps, _up(eps * math.tanh(eps / 2))), eps)


def total_variation_from_kl(divergence: float) -> float:
    """Bound min(√(d/2), √(1 - e**-d)) on the total variation if D(P||Q) <= d [CY: Pinsker, Bretagnolle-Huber].

    The bound is valid but not attained for d > 0. The second term is smaller from d = 1.6 on, and the first is at least
    1 from d = 2 on.

    Parameters
    ----------
    divergence : float
        Value in nats, >= 0.

    Examples
    --------
    >>> round(total_variation_from_kl(0.02), 6), round(total_variation_from_kl(3), 6)
    (0.1, 0.974789)
    """
    divergence = number("divergence", divergence, 0, math.inf)
    return min(1.0, _up(min(math.sqrt(divergence / 2), math.sqrt(-math.expm1(-divergence)))))


def mutual_information_from_kl(divergence: float) -> float:
    """Loose bound d on I(X;Y) for every prior if output distributions differ by at most d in KL divergence [CY].

    Examples
    --------
    >>> mutual_information_from_kl(0.3)
    0.3
    """
    return number("divergence", divergence, 0, math.inf)


def mutual_information_from_dp(eps: float) -> float:
    """Bound z - 1 - log z, z = ε e**ε/(e**ε - 1), on I(X;Y) over all ε-LDP channels of X, priors and alphabets.

    The bound is a supremum, which subset mechanisms on growing alphabets approach. It sharpens [CY] and [WXH Cor. 1] (I
    <= ε).

    Parameters
    ----------
    eps : float
        Value in nats, >= 0.

    Examples
    --------
    >>> round(mutual_information_from_dp(1.0), 4), round(mutual_information_from_dp(2.0), 4)
    (0.1233, 0.4745)
    """
    return _up(dp_information_bound(number("eps", eps, 0, math.inf)))


def total_variation_from_mutual_information(information: float) -> Bound:
    """Bound 1 - 2 h_b^-1(log 2 - i) on the total variation of output distributions if I(X;Y) <= i for all priors [CY].

    The binary symmetric channel attains the bound, which is 1 from i = log 2 on. The other printed bound, √(2i), is
    true and loose.

    Parameters
    ----------
    information : float
        Capacity bound in nats, >= 0.

    Examples
    --------
    >>> bound = total_variation_from_mutual_information(0.1)
    >>> round(bound.tight, 4), round(bound.printed, 4)
    (0.4396, 0.4472)
    """
    information = number("information", information, 0, math.inf)
    return Bound(min(1.0, _up(_bias(information))) if information < _LN2 else 1.0, _up(math.sqrt(2 * information)))


def mutual_information_from_total_variation(delta: float, n_inputs: int, n_outputs: int) -> float:
    """Bound on I(X;Y) from total variation <= δ: h_b(δ) + δ log(k-1), k the smaller alphabet, or log k if δ > 1 - 1/k.

    Here k = min(n_inputs, n_outputs). The bound is at most about half of the printed 2 h_b(δ) + 2δ log min(n_outputs,
    n_inputs + 1) [CY]; both follow from the continuity of (conditional) entropy.

    Parameters
    ----------
    delta : float
        Largest total variation between two output distributions, 0 to 1.
    n_inputs, n_outputs : int
        Sizes of the alphabets of X and Y, >= 1.

    Examples
    --------
    >>> round(mutual_information_from_total_variation(0.1, 2, 5), 4)
    0.3251
    """
    delta = number("delta", delta, 0, 1)
    k = min(whole_number("n_inputs", n_inputs, 1), whole_number("n_outputs", n_outputs, 1))
    if delta * k >= k - 1:
        return math.log(k)
    return _up(binary_entropy(delta) + delta * math.log(k - 1))


def _up(figure: float) -> float:
    """Round a bound up by the error of its computation, so that it stays valid."""
    return figure * (1 + _ROUNDING)


def _bias(gap: float) -> float:
    """Solve log 2 - h_b((1-t)/2) = gap < log 2 for t in [0, 1], without cancellation for small gaps."""
    from scipy.optimize import brentq

    if gap == 0:
        return 0.0
    if gap > 0.5:
        return 1 - 2 * binary_entropy_inverse(_LN2 - gap)
    # t²/2 <= t atanh t + log(1-t²)/2 <= t² log 2
    low, high = math.sqrt(gap / _LN2) * (1 - 1e-15), min(math.sqrt(2 * gap) * (1 + 1e-15), 1 - 1e-16)
    return float(
        brentq(lambda t: t * math.atanh(t) + math.log1p(-t * t) / 2 - gap, low, high, xtol=SMALLEST_POSITIVE, rtol=ROOT)
    )


def power_from_dp(levels: Sequence[float], size: float) -> float:
    """Largest power, at a given size, of any test between two inputs given their ε-DP releases; 1 - power is f of f-DP.

    For any two inputs, an ε-DP release can be simulated from a randomized response of level ε [KOV], so no test of
    releases has more power than the best test of such responses [DRS]. Two-sided geometric noise of rate ε on a count
    that differs by 1 attains this power.

    Parameters
    ----------
    levels : sequence of float
        Level ε of each release in nats, from 0 to 700. Equal levels are cheap; up to about 20 different levels are too.
    size : float
        Chance of a false positive, between 0 and 1.

    Returns
    -------
    float
        The power, which is concave in the size and at least the size.

    Raises
    ------
    InvalidParameter
        If a level or the size is out of its range.

    Examples
    --------
    >>> round(power_from_dp([1.0], 0.1), 4), round(power_from_dp([0.5, 0.5], 0.1), 4)
    (0.2718, 0.2718)
    >>> round(power_from_dp([1.0], 0.5), 4), round(power_from_dp([0.5, 0.5], 0.5), 4)
    (0.8161, 0.7449)
    """
    size = number("size", size, 0, 1)
    loss, mass = np.zeros(1), np.ones(1)
    for level in levels:
        step = number("levels", level, 0, 700)
        ends = np.round(np.add.outer(loss, [step, -step]).ravel(), _MERGED)
        loss, place = np.unique(ends, return_inverse=True)
        shares = np.array([math.exp(-step), 1.0]) / (1 + math.exp(-step))
        mass = np.bincount(place, np.outer(mass, shares).ravel()).astype(np.float64)
    alarms, hits = mass[::-1], mass  # from the most revealing outcome down; the losses are symmetric
    taken = np.clip((size - (np.cumsum(alarms) - alarms)) / alarms, 0.0, 1.0)
    return min(1.0, float(taken @ hits) * (1 + _ROUNDING * len(mass)))


def rho_from_dp(eps: float, delta: float) -> float:
    """Largest known ρ such that ρ-zCDP implies (ε, δ)-differential privacy.

    Parameters
    ----------
    eps : float
        Level in nats, >= 0.
    delta : float
        Probability, above 0 and below 1.

    Returns
    -------
    float
        The level ρ, rounded down.

    Raises
    ------
    InvalidParameter
        If an argument is outside its range.

    Notes
    -----
    δ <= exp((α - 1)(αρ - ε)) (1 - 1/α)^α / (α - 1) for each α > 1 [CKS]; the best of many values of α is taken.

    Examples
    --------
    >>> round(rho_from_dp(1.0, 1e-5), 4)
    0.0306
    """
    eps = number("eps", eps, 0.0, math.inf)
    delta = number("delta", delta, SMALLEST_POSITIVE, 1.0)
    above = np.geomspace(1e-4, 1e7, 20_000)  # α - 1
    alpha = above + 1
    rho = ((math.log(delta) + np.log(above) - alpha * np.log1p(-1 / alpha)) / above + eps) / alpha
    return max(float(rho.max()) * (1 - 1e-12), 0.0)
