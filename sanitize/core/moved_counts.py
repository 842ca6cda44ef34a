"""Differential privacy for the cell in which a row is counted, from discrete Gaussian noise on the counts.

A row that moves from one count to another changes two counts, by -1 and +1. With independent noise of P(z) ∝
exp(-z²/2σ²) on both counts, the noisy counts are o_1 = n_1 + z_1 and o_2 = n_2 + z_2; after the move, the same values
are n_1 - 1 + (z_1 + 1) and n_2 + 1 + (z_2 - 1). Both distributions have the same normalization, because the move is by
whole numbers. So the privacy loss is ((z_1 + 1)² - z_1² + (z_2 - 1)² - z_2²) / 2σ² = (1 + D)/σ², D = z_1 - z_2, and
δ(ε) = E max(0, 1 - exp(ε - (1 + D)/σ²)) exactly [CKS]. The other direction has the same distribution, as D is
symmetric. P(D = d) ∝ exp(-d²/4σ²) Σ_z exp(-(z + d/2)²/σ²): a discrete Gaussian of variance parameter 2σ², times one
factor for even and another for odd d.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from sanitize._util.checks import check_number, number
from sanitize.errors import InvalidParameter

# Noise levels are multiples of 1/64, so that exact samplers can use them unrounded.
_PER_UNIT = 64
# Noise of a thousand rows on each count leaves little to certify, and the sums over D grow with it.
_LARGEST_SIGMA = 1e3
# Standard deviations beyond which the distribution of D has a mass below 1e-300.
_REACH = 38.0


def moved_count_delta(eps: float, sigma: float) -> float:
    """Least δ for which counts with discrete Gaussian noise are (ε, δ)-DP if one row moves to another cell.

    The value is rounded up; the module's docstring derives the formula. Other rows do not matter, so δ holds for a
    whole table of counts with independent noise on each.

    Parameters
    ----------
    eps : float
        Level in nats, >= 0.
    sigma : float
        Parameter σ of the noise on each count, P(z) ∝ exp(-z²/2σ²); at least 1/64 and at most 1,000.

    Returns
    -------
    float

    Raises
    ------
    InvalidParameter
        If an argument is outside its range.

    References
    ----------
    [CKS] Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy (2020).

    Examples
    --------
    >>> f"{moved_count_delta(1.0, 6.0):.3g}"
    '8.94e-07'
    """
    eps = number("eps", eps, 0.0, math.inf)
    sigma = number("sigma", sigma, 1 / _PER_UNIT, _LARGEST_SIGMA)
    reach = math.ceil(_REACH * sigma) + 2
    d = np.arange(-2 * reach, 2 * reach + 1)
    weight = np.exp(-((d / (2 * sigma)) ** 2)) * np.where(d % 2 == 0, _sum(0.0, sigma), _sum(0.5, sigma))
    loss = (1 + d) / sigma**2
    over = loss > eps
    losses = weight[over] * -np.expm1(eps - loss[over])
    # Relative allowance for rounding in sums of positive terms, which are accurate to about 1e-13.
    return min(1.0, math.fsum(losses) / math.fsum(weight) * (1 + 1e-9) + 1e-300)


@cache
def moved_count_sigma(eps: float, delta: float) -> float:
    """Noise σ, in steps of 1/64, that makes counts (ε, δ)-DP if one row moves to another cell.

    The result is the least sufficient σ wherever δ falls as σ grows. For σ below 1, δ need not fall everywhere, and the
    result may be larger than the least σ.

    Parameters
    ----------
    eps : float
        Level in nats, > 0.
    delta : float
        Probability, at least 1e-100 and below 1.

    Returns
    -------
    float
        Noise level σ for which `moved_count_delta` is at most ``delta``.

    Raises
    ------
    InvalidParameter
        If an argument is outside its range, or the noise would have to exceed 1,000.

    Examples
    --------
    >>> sigma = moved_count_sigma(1.0, 1e-6)
    >>> sigma, moved_count_delta(1.0, sigma) <= 1e-6 < moved_count_delta(1.0, sigma - 1 / 64)
    (5.984375, True)
    """
    eps = check_number("eps", eps, "be a finite number > 0", lambda value: 0 < value < math.inf)
    delta = number("delta", delta, 1e-100, 1.0)
    low, high, most = 0, 1, int(_LARGEST_SIGMA * _PER_UNIT)
    while moved_count_delta(eps, high / _PER_UNIT) > delta:
        if high == most:
            raise InvalidParameter(
                f"eps={eps:g} and delta={delta:g} need noise of more than {_LARGEST_SIGMA:g} rows on each count; "
                "raise eps or delta"
            )
        low, high = high, min(2 * high, most)
    # The level on which the search ends was itself found to be enough.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if moved_count_delta(eps, middle / _PER_UNIT) <= delta else (middle, high)
    return high / _PER_UNIT


def _sum(shift: float, sigma: float) -> float:
    """Return Σ_z exp(-(z + shift)²/σ²) over whole numbers z."""
    reach = math.ceil(_REACH * sigma)
    z = np.arange(-reach, reach + 1) + shift
    return math.fsum(np.exp(-((z / sigma) ** 2)))
