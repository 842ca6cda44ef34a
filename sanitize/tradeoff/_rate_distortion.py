"""Least mutual information at a distortion (rate-distortion function) for any prior and distortion matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._checks import number
from sanitize.errors import InvalidParameter
from sanitize.tradeoff._inverses import root_between
from sanitize.tradeoff._linear_program import OptimalChannel, problem_of, single_law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_STEPS = 100_000


def optimal_mutual_information_channel(
    distortion: float, prior: ArrayLike, distortion_matrix: ArrayLike, tolerance: float = 1e-9
) -> OptimalChannel:
    """Least I(X;Y) with expected distortion at most D, by Blahut-Arimoto with a certificate [WYZ PD-MIP].

    Each step gives the channel p(y|x) ~ q(y) e**(-λ d(x, y)) the multiplier λ that meets D, then takes q from it.
    It stops when Blahut's dual bound is within the tolerance, so the value is proved to that many nats.

    Parameters
    ----------
    distortion : float
        D, at least the distortion of the best deterministic choice.
    prior : array-like of shape (n_x,)
        Law of X.
    distortion_matrix : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    tolerance : float
        Largest gap to the optimum in nats, from 1e-13 to 1.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range, or the tolerance is not met in 100000 steps.

    Examples
    --------
    >>> import numpy as np
    >>> found = optimal_mutual_information_channel(0.2, [0.5, 0.3, 0.2], 1 - np.eye(3))
    >>> round(found.privacy, 6)
    0.390621
    """
    laws, d = problem_of(prior, distortion_matrix)
    single_law(laws)
    p, tolerance = laws[0], number("tolerance", tolerance, 1e-13, 1)
    distortion = number("distortion", distortion, float(p @ d.min(axis=1)), math.inf)
    constant = p @ d
    if distortion >= constant.min():
        channel = np.zeros_like(d)
        channel[:, constant.argmin()] = 1.0
        return OptimalChannel(0.0, float(constant.min()), channel)
    kept = p > 0
    p, shifted = p[kept], d[kept] - d[kept].min(axis=1, keepdims=True)
    target = distortion - float(p @ d[kept].min(axis=1))
    q = np.full(d.shape[1], 1 / d.shape[1])
    for _ in range(_STEPS):
        slope = _slope(p, shifted, q, target)
        weights = np.exp(-slope * shifted)
        norm = weights @ q
        growth = (p / norm) @ weights
        # Blahut: this channel costs at most -λD - Σ p log(norm), and no channel less than that minus log max growth.
        if math.log(growth.max()) <= tolerance:
            break
        q = q * growth
        q /= q.sum()
    else:
        raise InvalidParameter(f"tolerance must be reachable in {_STEPS} steps, got {tolerance:g}")
    conditional = np.exp(-slope * (d - d.min(axis=1, keepdims=True))) * q
    conditional /= conditional.sum(axis=1, keepdims=True)
    full = laws[0]
    marginal = full @ conditional
    information = float(full @ (xlogy(conditional, conditional) - xlogy(conditional, marginal)).sum(axis=1))
    return OptimalChannel(max(0.0, information), float(full @ (conditional * d).sum(axis=1)), conditional)


def _slope(p: NDArray[np.float64], d: NDArray[np.float64], q: NDArray[np.float64], target: float) -> float:
    """The λ >= 0 at which p(y|x) ~ q(y) e**(-λ d) has the target distortion."""

    def surplus(slope: float) -> float:
        weights = np.exp(-slope * d) * q
        return float(p @ ((weights * d).sum(axis=1) / weights.sum(axis=1))) - target

    if surplus(0.0) <= 0:
        return 0.0
    high = 1.0
    while surplus(high) > 0:
        if high > 1e6:
            return high
        high *= 2
    return root_between(surplus, 0.0, high)
