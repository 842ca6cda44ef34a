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

_FLATTEST, _STEEPEST, _TILTS = 1e-7, 40.0, 4096
_WITHIN = 0.999  # of the tilts for which the noise has a bound


class Noise(Protocol):
    """Noise Z on one count, with a bound ψ of log E exp(tZ), even in t."""

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


def _steepest(noise: Noise) -> float:
    return min(_STEEPEST, _WITHIN * noise.reach)
