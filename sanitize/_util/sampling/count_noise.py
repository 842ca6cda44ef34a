"""Random noise on the counts of sensitive values in each cell: draws, and the distribution needed for certificates.

The number of rows in each cell is public, and the noise protects each row's secret: changing one secret changes two
counts of one cell by 1 each.

With two-sided geometric noise, P(z) ∝ exp(-r|z|) [GRS], a change of a count by 1 changes the probability of any output
by a factor of at most e^r. With two possible secrets, one count determines the other, and one draw z per cell with r =
ε is ε-differentially private: z is added to the first count and subtracted from the second. With more secrets, each
count gets an independent draw, with r = ε/2. Discrete Gaussian noise, P(z) ∝ exp(-z²/2σ²), is added to each count;
`sanitize.core.moved_counts` states its guarantee.

The noisy counts of a cell are then shifted by a common amount so that they add up to the cell's number of rows, which
only post-processes them. The remaining noise on one of K counts with independent draws is Z = z_s - Σ z / K, with log E
exp(tZ) = ψ((1 - 1/K) t) + (K - 1) ψ(t/K) and ψ(t) = log E exp(tz).

For geometric noise, ψ(t) = -log(1 - sinh²(t/2)/sinh²(r/2)) for |t| < r, because E exp(tz) = (1-a)²/((1-ae^t)(1-ae^-t))
with a = e^-r, and (1-ae^t)(1-ae^-t) = (1-a)² - 4a sinh²(t/2). For the discrete Gaussian, ψ(t) <= t²σ²/2 [CKS].

Noise is drawn by tossing coins of probability exp(-γ) and by rejection [CKS]. All comparisons are of whole numbers of
any length, so the noise has exactly the distributions above. Floating-point noise would only approximate them, and its
last digits could reveal the count to which it was added.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sanitize._util.sampling.noise import NoiseKey, sequential_words

# Bits of each word that `Bits` takes from the key, as its dtype says.
_WORD = 32


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian noise, P(z) ∝ exp(-z²/2σ²) on whole numbers."""

    sigma: Fraction
    reach: ClassVar[float] = float("inf")  # ψ is finite below this number

    @property
    def variance(self) -> float:
        """Upper bound v of the variance; the log moment generating function ψ(t) is at most t² v / 2."""
        return float(self.sigma**2)

    def draw(self, key: NoiseKey, count: int) -> NDArray[np.int64]:
        """Draw ``count`` independent values from a key that is used for nothing else."""
        bits, variance = Bits(key), self.sigma**2
        return np.array([bits.discrete_gaussian(variance) for _ in range(count)], np.int64)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bound of ψ(t), the log moment generating function."""
        return np.asarray(t**2 * self.variance / 2)


@dataclass(frozen=True)
class Geometric:
    """Two-sided geometric noise, P(z) ∝ exp(-rate |z|) on whole numbers."""

    rate: Fraction

    @property
    def variance(self) -> float:
        """Variance 2a/(1 - a)², a = exp(-rate)."""
        return float(0.5 / np.sinh(self.reach / 2) ** 2)

    @property
    def reach(self) -> float:
        """Bound on |t|, below which the log moment generating function ψ(t) is finite."""
        # At higher rates there is practically no noise, and ψ is smaller than at this rate.
        return min(float(self.rate), 100.0)

    def draw(self, key: NoiseKey, count: int) -> NDArray[np.int64]:
        """Draw ``count`` independent values from a key that is used for nothing else."""
        bits, rate = Bits(key), self.rate
        return np.array([bits.two_sided_geometric(rate.denominator, rate.numerator) for _ in range(count)], np.int64)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ψ(t), the log moment generating function, for |t| below `reach`."""
        return np.asarray(-np.log1p(-((np.sinh(t / 2) / np.sinh(self.reach / 2)) ** 2)))


@dataclass(frozen=True)
class CountNoise:
    """Noise on counts of sensitive values, and its distribution once it is shifted to sum to 0 in each cell."""

    distribution: Gaussian | Geometric
    n_secrets: int
    of_rows: ClassVar[None] = None  # the number of rows in each cell is public

    @classmethod
    def geometric(cls, eps: Fraction, n_secrets: int) -> CountNoise:
        """Return geometric noise with which counts are ε-differentially private in each row's sensitive value."""
        return cls(Geometric(eps if n_secrets == 2 else eps / 2), n_secrets)

    @property
    def once(self) -> bool:
        """True if the second count gets the noise of the first with the opposite sign."""
        return self.n_secrets == 2 and isinstance(self.distribution, Geometric)

    @property
    def variance(self) -> float:
        """Variance of the noise on one count."""
        return self.distribution.variance * (1 if self.once else 1 - 1 / self.n_secrets)

    @property
    def reach(self) -> float:
        """Bound on |t|, below which `log_mgf` is finite."""
        return self.distribution.reach / (1 if self.once else 1 - 1 / self.n_secrets)

    def draw(self, key: NoiseKey, n_cells: int) -> NDArray[np.int64]:
        """Draw noise on the counts of (sensitive value, cell), before its sum in each cell is removed."""
        if self.once:
            z = self.distribution.draw(key, n_cells)
            return np.array([z, -z])
        return self.distribution.draw(key, self.n_secrets * n_cells).reshape(self.n_secrets, n_cells)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bound of log E exp(tZ) for the noise Z on one count."""
        if self.once:
            return self.distribution.log_mgf(t)
        k = self.n_secrets
        return self.distribution.log_mgf((1 - 1 / k) * t) + (k - 1) * self.distribution.log_mgf(t / k)


@dataclass(frozen=True)
class RowNoise(Geometric):
    """Independent noise on every count, for guarantees about whole rows rather than only their sensitive values.

    Adding or removing a row changes one count by 1, so with rate r all counts together are r-differentially private.
    """

    of_rows: int


Noise = CountNoise | RowNoise


def digest_of_counts(counts: NDArray[np.int64]) -> str:
    """Digest from which the noise on counts is derived, so that other counts get other noise under the same key."""
    return hashlib.sha256(repr(counts.shape).encode() + counts.tobytes()).hexdigest()


class Bits:
    """Stream of fair random bits from a key, and draws made from them."""

    def __init__(self, key: NoiseKey) -> None:
        self._next = sequential_words(key, 0, 0, np.dtype(np.uint32))
        self._words: list[int] = []

    def uniform(self, n: int) -> int:
        """Draw a uniform whole number from 0 to n - 1, for n >= 1."""
        bits = (n - 1).bit_length()
        while True:
            drawn = 0
            for _ in range(-(-bits // _WORD)):
                if not self._words:
                    self._words = self._next(4096).tolist()
                drawn = drawn << _WORD | self._words.pop()
            drawn >>= -bits % _WORD
            if drawn < n:
                return drawn

    def decays(self, numerator: int, denominator: int) -> bool:
        """Return True with probability exp(-γ), γ = ``numerator / denominator`` >= 0.

        If coins of probability γ/1, γ/2, γ/3, ... are tossed for γ <= 1, the first coin that fails has an odd number
        with probability Σ_k (-γ)^k / k! = exp(-γ).
        """
        while numerator > denominator:
            if not self.decays(1, 1):
                return False
            numerator -= denominator
        k = 1
        while self.uniform(denominator * k) < numerator:
            k += 1
        return k % 2 == 1

    def two_sided_geometric(self, scale: int, parts: int = 1) -> int:
        """Draw a whole number with P(z) ∝ exp(-|z| parts/scale), by dividing a geometric draw by ``parts``."""
        while True:
            remainder = self.uniform(scale)
            if not self.decays(remainder, scale):
                continue
            times = 0
            while self.decays(1, 1):
                times += 1
            size, negative = (remainder + scale * times) // parts, self.uniform(2) == 1
            if size or not negative:  # reject -0, so that zero is not drawn twice as often
                return -size if negative else size

    def discrete_gaussian(self, variance: Fraction) -> int:
        """Draw a whole number with P(z) ∝ exp(-z²/2σ²), σ² = ``variance``."""
        a, b = variance.numerator, variance.denominator
        scale = _root(a // b) + 1
        while True:
            z = self.two_sided_geometric(scale)
            # Accept z with exp(-z²/2σ²) / exp(-|z|/scale), divided by its maximum, so that Gaussian noise is left.
            if self.decays((abs(z) * scale * b - a) ** 2, 2 * a * b * scale**2):
                return z


def _root(n: int) -> int:
    root = int(n**0.5)
    return root if root * root <= n else root - 1


def project_counts(noisy_counts: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Project noisy counts to whole counts >= 0, shape (n, k), whose columns sum to the given numbers of rows."""
    ordered = -np.sort(-noisy_counts, axis=0)
    left = (np.cumsum(ordered, axis=0) - rows) / np.arange(1, len(noisy_counts) + 1)[:, None]
    last = len(noisy_counts) - 1 - np.argmax((ordered > left)[::-1], axis=0)
    nearest = np.maximum(noisy_counts - left[last, np.arange(noisy_counts.shape[1])], 0.0)
    nearest[:, rows == 0] = 0.0
    counts = np.floor(nearest + 1e-9).astype(np.int64)
    rank = np.argsort(np.argsort(counts - nearest, axis=0, kind="stable"), axis=0, kind="stable")
    return counts + (rank < rows - counts.sum(axis=0))


def whole(noisy_counts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Project noisy counts to whole counts >= 0 that sum to n."""
    return project_counts(noisy_counts.reshape(-1, 1).astype(np.float64), np.array([n])).reshape(noisy_counts.shape)
