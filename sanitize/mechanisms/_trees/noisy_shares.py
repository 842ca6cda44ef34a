"""Shares of rows from counts with noise: exponential tails of a binomial and of the noise together.

For n independent rows of share p and noise of log E exp(tZ) <= ψ(t), E exp(λ(k + Z)) is at most
(1 + p(e^λ - 1))^n exp(ψ(λ)), so k + Z lies as far above np as t with probability at most exp(-I),
I = max_λ>0 λt - n log(1 + p(e^λ - 1)) - ψ(λ); below likewise, with λ < 0. So p is ruled out at the level exp(-c) where
some λ > 0 has p <= (exp((λt - c - ψ(λ))/n) - 1)/(e^λ - 1), or some λ < 0 has p >= that: the largest and the least of
these are the bounds, and fewer λ only make them wider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BISECTIONS = 40
_FLATTEST, _STEEPEST, _TILTS = 1e-7, 40.0, 4096
_WITHIN = 0.999  # of the tilts for which the noise has a bound


class Noise(Protocol):
    """Noise Z on one count, with a bound ψ of log E exp(tZ), even, and ψ(wt) <= w²ψ(t) for 0 <= w <= 1."""

    @property
    def variance(self) -> float:
        """About that of Z."""
        ...

    @property
    def reach(self) -> float:
        """ψ(t) is finite for all t below it in size."""
        ...

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """ψ(t)."""
        ...

    def slope(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivative of ψ."""
        ...


def noisy_shares(
    told: NDArray[np.float64], n: float, noise: Noise, draws: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds of shares of n rows from counts with noise; each fails with at most ``level / 2``.

    Parameters
    ----------
    told : ndarray of shape (k,)
        Counts with noise, of which k may be below 0 or above n.
    n : float
        Rows, at least 1.
    noise : Noise
    draws : float
        How many independent ones are added up in each count.
    level : float
    """
    # A hair more than is needed, for rounding.
    needed = -np.log(level / 2) * (1 + 1e-9)
    tilt = np.geomspace(_FLATTEST, _steepest(noise), _TILTS)[:, None]
    taken = draws * noise.log_mgf(tilt)
    least, most = (np.expm1((sign * tilt * told - needed - taken) / n) / np.expm1(sign * tilt) for sign in (1, -1))
    return np.clip(least.max(axis=0), 0.0, 1.0), np.clip(most.min(axis=0), 0.0, 1.0)


def noisy_tilt(
    rows: NDArray[np.float64], draws: NDArray[np.float64], bound: float, sign: int, needed: float, noise: Noise
) -> NDArray[np.float64]:
    """λ that is about best for the posterior that would just pass, for symbols of so many rows and draws of noise.

    The best λ for a posterior q has q R = R m(λ) + V ψ'(λ), m the tilted mean of a coin of probability ``bound``; what
    it then shows, R KL(m(λ), bound) + V (λψ'(λ) - ψ(λ)), grows with λ and is set to ``needed``. Any λ is valid.
    """
    low, high = np.zeros(len(rows)), np.full(len(rows), _steepest(noise))
    for _ in range(_BISECTIONS):
        size = (low + high) / 2
        log_mean, mean = _tilted(sign * size, bound)
        shown = rows * (sign * size * mean - log_mean) + draws * (size * noise.slope(size) - noise.log_mgf(size))
        low, high = np.where(shown < needed, size, low), np.where(shown < needed, high, size)
    return np.asarray(sign * (low + high) / 2)


def _steepest(noise: Noise) -> float:
    return min(_STEEPEST, _WITHIN * noise.reach)


def _tilted(
    tilt: NDArray[np.float64], share: NDArray[np.float64] | float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log of E exp(λ 1{S=s}) and the mean under it, of a coin of this share."""
    log_mean = np.log1p(share * np.expm1(tilt))
    return log_mean, np.asarray(share * np.exp(tilt - log_mean))
