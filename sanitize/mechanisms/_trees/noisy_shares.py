"""Shares of rows from counts with noise: exponential tails of a binomial and a sub-Gaussian count together.

For n independent rows of share p and noise Z with E exp(tZ) <= exp(t²v/2), E exp(λ(k + Z)) is at most
(1 + p(e^λ - 1))^n exp(λ²v/2), so k + Z lies as far above np as t with probability at most exp(-I),
I = max_λ>0 λt - n log(1 + p(e^λ - 1)) - λ²v/2; below likewise, with λ < 0. So p is ruled out at the level exp(-c) where
some λ > 0 has p <= (exp((λt - c - λ²v/2)/n) - 1)/(e^λ - 1), or some λ < 0 has p >= that: the largest and the least of
these are the bounds, and fewer λ only make them wider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEWTON_STEPS = 4
_FLATTEST, _STEEPEST, _TILTS = 1e-7, 40.0, 4096


def noisy_shares(
    told: NDArray[np.float64], n: float, variance: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds of shares of n rows from counts with noise; each fails with at most ``level / 2``.

    Parameters
    ----------
    told : ndarray of shape (k,)
        Counts with noise, of which k may be below 0 or above n.
    n : float
        Rows, at least 1.
    variance : float
        v of the noise on each count.
    level : float
    """
    # A hair more than is needed, for rounding.
    needed = -np.log(level / 2) * (1 + 1e-9)
    tilt = np.geomspace(_FLATTEST, _STEEPEST, _TILTS)[:, None]
    least, most = (
        np.expm1((sign * tilt * told - needed - tilt**2 * variance / 2) / n) / np.expm1(sign * tilt) for sign in (1, -1)
    )
    return np.clip(least.max(axis=0), 0.0, 1.0), np.clip(most.min(axis=0), 0.0, 1.0)


def noisy_tilt(
    rows: NDArray[np.float64], spread: NDArray[np.float64], bound: float, sign: int, needed: float
) -> NDArray[np.float64]:
    """λ that is about best for the posterior that would just pass, for symbols of so many rows and so much noise.

    The best λ for a posterior q has q R = R m(λ) + λ V, m the tilted mean of a coin of probability ``bound``; what it
    then shows, R KL(m(λ), bound) + λ²V/2, is set to ``needed`` by some steps of Newton. Any λ is valid.
    """
    rows = np.maximum(rows, 1e-9)
    first = np.sqrt(2 * needed / (rows * bound * (1 - bound) + spread))
    size = np.minimum(first, _STEEPEST)
    for _ in range(_NEWTON_STEPS):
        log_mean, mean = _tilted(sign * size, bound)
        shown = rows * (sign * size * mean - log_mean) + size**2 * spread / 2
        slope = size * (rows * mean * (1 - mean) + spread)
        size = np.clip(size + (needed - shown) / np.maximum(slope, 1e-12), first / 4, np.minimum(4 * first, _STEEPEST))
    return np.asarray(sign * size)


def _tilted(
    tilt: NDArray[np.float64], share: NDArray[np.float64] | float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log of E exp(λ 1{S=s}) and the mean under it, of a coin of this share."""
    log_mean = np.log1p(share * np.expm1(tilt))
    return log_mean, np.asarray(share * np.exp(tilt - log_mean))
