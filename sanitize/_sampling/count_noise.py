"""Noise on the counts of the secrets of each cell: its draws, and its law as certificates take it.

Rows of a cell are public, and one row's secret is the matter: if it is another one, two counts of one cell change by 1.

Two-sided geometric noise, P(z) ∝ exp(-r|z|) [GRS]: a count that changes by 1 changes the probability of whatever is
seen by at most e^r. Of two secrets one count tells the other, and one draw a cell, with r = ε, is ε-differentially
private: z is put on the first and taken off the second. Of more secrets each count has a draw of its own, with r = ε/2.
Discrete Gaussian noise, P(z) ∝ exp(-z²/2σ²), is put on each count; what it promises is in `sanitize.accounting`.

Counts with noise are then moved by a common amount so that they add up to the rows of their cell, which is a function
of them. What is left of independent draws on K counts is Z = z_s - Σ z / K, of log E exp(tZ) =
ψ((1 - 1/K) t) + (K - 1) ψ(t/K), ψ(t) = log E exp(tz).

ψ(t) = -log(1 - sinh²(t/2)/sinh²(r/2)) for |t| < r of geometric noise, as E exp(tz) = (1-a)²/((1-ae^t)(1-ae^-t)),
a = e^-r, and (1-ae^t)(1-ae^-t) = (1-a)² - 4a sinh²(t/2); of the discrete Gaussian ψ(t) <= t²σ²/2 [CKS].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._sampling.discrete_gaussian import discrete_gaussian, two_sided_geometric

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sanitize._sampling.noise import NoiseKey

# Above it there is no noise to speak of, and ψ is smaller than here.
_HIGHEST_RATE = 100.0


@dataclass(frozen=True)
class Gaussian:
    """P(z) ∝ exp(-z²/2σ²) on whole numbers."""

    sigma: Fraction

    @property
    def variance(self) -> float:
        """Upper bound of the variance, in which ψ(t) <= t² variance / 2."""
        return float(self.sigma**2)

    @property
    def reach(self) -> float:
        """ψ is finite below it."""
        return float("inf")

    def draw(self, key: NoiseKey, count: int) -> NDArray[np.int64]:
        """Independent draws."""
        return discrete_gaussian(key, self.sigma, count)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bound of ψ(t)."""
        return np.asarray(t**2 * self.variance / 2)


@dataclass(frozen=True)
class Geometric:
    """P(z) ∝ exp(-rate |z|) on whole numbers."""

    rate: Fraction

    @property
    def variance(self) -> float:
        """2a/(1 - a)², a = exp(-rate)."""
        return float(0.5 / np.sinh(self.reach / 2) ** 2)

    @property
    def reach(self) -> float:
        """ψ is finite below it."""
        return min(float(self.rate), _HIGHEST_RATE)

    def draw(self, key: NoiseKey, count: int) -> NDArray[np.int64]:
        """Independent draws."""
        return two_sided_geometric(key, self.rate, count)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """ψ(t), for |t| below the reach."""
        return np.asarray(-np.log1p(-((np.sinh(t / 2) / np.sinh(self.reach / 2)) ** 2)))


@dataclass(frozen=True)
class CountNoise:
    """Noise on the counts of so many secrets of each cell, and the law of what is left when it adds up to 0 there."""

    law: Gaussian | Geometric
    n_secrets: int

    @classmethod
    def geometric(cls, eps: Fraction, n_secrets: int) -> CountNoise:
        """ε-differentially private in each row's secret; proof in the module's first lines."""
        return cls(Geometric(eps if n_secrets == 2 else eps / 2), n_secrets)

    @property
    def once(self) -> bool:
        """Whether the noise on the second count is that on the first one with the other sign."""
        return self.n_secrets == 2 and isinstance(self.law, Geometric)

    @property
    def variance(self) -> float:
        """Of the noise on one count."""
        return self.law.variance * (1 if self.once else 1 - 1 / self.n_secrets)

    @property
    def reach(self) -> float:
        """`log_mgf` is finite below it."""
        return self.law.reach / (1 if self.once else 1 - 1 / self.n_secrets)

    def draw(self, key: NoiseKey, n_cells: int) -> NDArray[np.int64]:
        """Noise on the counts of (secret, cell), before what it adds up to is taken off."""
        if self.once:
            z = self.law.draw(key, n_cells)
            return np.array([z, -z])
        return self.law.draw(key, self.n_secrets * n_cells).reshape(self.n_secrets, n_cells)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bound of the log of E exp(tZ), of the noise on one count."""
        if self.once:
            return self.law.log_mgf(t)
        k = self.n_secrets
        return self.law.log_mgf((1 - 1 / k) * t) + (k - 1) * self.law.log_mgf(t / k)
