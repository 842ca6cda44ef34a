"""Least Sibson information at a distortion, for any prior and distortion matrix: Blahut-Arimoto of order α."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number
from sanitize.errors import InvalidParameter
from sanitize.tradeoff._inverses import root_between
from sanitize.tradeoff._linear_program import OptimalChannel, problem_of, single_law
from sanitize.tradeoff._optimal import optimal_maximal_leakage_channel
from sanitize.tradeoff._rate_distortion import optimal_mutual_information_channel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

_STEPS = 20_000
_HALVINGS = 60
_EXPONENT = 600.0


def optimal_sibson_channel(
    distortion: float, prior: ArrayLike, distortion_matrix: ArrayLike, alpha: float, tolerance: float = 1e-7
) -> OptimalChannel:
    """Least Sibson information I_α(X;Y) with expected distortion at most D, with a certificate [ZB Def. 3.6].

    log min Σ P(x) p(y|x)**α q(y)**(1-α) / (α-1) over channels and output laws q, jointly convex for α > 1. Each
    step takes p(y|x) = q(y)(μ_x - λ d(x,y))_+**(1/(α-1)), optimal for q at distortion D, and then
    q(y) ~ (Σ_x P p**α)**(1/α), optimal for the channel. It stops when the first-order lower bound is within the
    tolerance. α = 1 is mutual information, inf maximal leakage.

    Parameters
    ----------
    distortion : float
        D, at least the distortion of the best deterministic choice.
    prior : array-like of shape (n_x,)
        Law of X.
    distortion_matrix : array-like of shape (n_x, n_y)
        Finite distortions d(x, y) >= 0.
    alpha : float
        Order, at least 1.
    tolerance : float
        Largest gap to the optimum in nats, from 1e-12 to 1.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range, alpha too large for doubles (from about 20 on; inf is exact), or the
        tolerance not met in 20000 steps.

    Examples
    --------
    >>> import numpy as np
    >>> found = optimal_sibson_channel(0.25, [0.5, 0.5], 1 - np.eye(2), 2)
    >>> round(found.privacy, 6)
    0.223144
    """
    alpha, tolerance = number("alpha", alpha, 1, math.inf), number("tolerance", tolerance, 1e-12, 1)
    if alpha == 1:
        return optimal_mutual_information_channel(distortion, prior, distortion_matrix, tolerance)
    if math.isinf(alpha):
        return optimal_maximal_leakage_channel(distortion, prior, distortion_matrix)
    laws, d = problem_of(prior, distortion_matrix)
    single_law(laws)
    least = d.min(axis=1)
    distortion = number("distortion", distortion, float(laws[0] @ least), math.inf)
    constant = laws[0] @ d
    channel = np.zeros_like(d)
    if distortion >= constant.min():
        channel[:, constant.argmin()] = 1.0
        return OptimalChannel(0.0, float(constant.min()), channel)
    kept = laws[0] > 0
    p, shifted = laws[0][kept], (d - least[:, None])[kept]
    q, slope = np.full(d.shape[1], 1 / d.shape[1]), 1.0
    for _ in range(_STEPS):
        slope, ratio = _tilted(p, shifted, q, distortion - float(laws[0] @ least), alpha, slope)
        spread = p @ ratio**alpha
        mean = float(q @ spread)
        # d/dq of the objective is -(α-1) spread: no law gains more than this over q.
        gap = (alpha - 1) * (float(spread.max()) - mean)
        if gap < mean and -math.log1p(-gap / mean) <= (alpha - 1) * tolerance:
            break
        q = q * spread ** (1 / alpha)
        q /= q.sum()
    else:
        raise InvalidParameter(f"tolerance must be reachable in {_STEPS} steps, got {tolerance:g}")
    channel[kept] = ratio * q
    channel[~kept, q.argmax()] = 1.0
    channel /= channel.sum(axis=1, keepdims=True)
    top = channel[kept].max(axis=0)
    shown = top > 0
    norms = top[shown] * (p @ (channel[kept][:, shown] / top[shown]) ** alpha) ** (1 / alpha)
    value, spent = alpha / (alpha - 1) * math.log(norms.sum()), float(laws[0] @ (channel * d).sum(axis=1))
    if spent > distortion + tolerance * (1 + distortion):
        # 1/(α-1) is so small a power that a cell jumps from nothing to its full size between two doubles.
        raise InvalidParameter(f"alpha must be small enough for doubles at this distortion (or inf), got {alpha:g}")
    return OptimalChannel(max(0.0, value), spent, channel)


def _tilted(p: Vector, d: Vector, q: Vector, target: float, alpha: float, guess: float) -> tuple[float, Vector]:
    """Slope λ and p(y|x)/q(y) = (μ_x - λ d)_+**(1/(α-1)) of the target distortion; the least d of each row is 0."""

    def ratios(slope: float) -> Vector:
        # μ - 1 lies in [0, λ max d]: at the upper end every term is at least 1.
        low, high = np.zeros(len(d)), slope * d.max(axis=1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            over = _power(middle[:, None] - slope * d, alpha) @ q > 1
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        ratio = _power(high[:, None] - slope * d, alpha)
        scaled: Vector = ratio / (ratio @ q)[:, None]
        return scaled

    def surplus(slope: float) -> float:
        return float(p @ ((ratios(slope) * q * d).sum(axis=1))) - target

    low, high = guess / 1.1, guess * 1.1
    while surplus(high) > 0 and high < 1e12:
        low, high = high, high * 4
    while surplus(low) <= 0:
        low, high = low / 4, low
        if low < 1e-12:
            return 0.0, np.ones_like(d)
    slope = root_between(surplus, low, high) if surplus(high) <= 0 else high
    return slope, ratios(slope)


def _power(above: Vector, alpha: float) -> Vector:
    """(1 + above)_+**(1/(α-1)), kept within a double."""
    with np.errstate(divide="ignore"):
        exponent = np.log1p(np.maximum(above, -1.0)) / (alpha - 1)
    power: Vector = np.exp(np.minimum(exponent, _EXPONENT))
    return power
