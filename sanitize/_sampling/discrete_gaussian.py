"""Exact draws of two-sided geometric and discrete Gaussian noise, of coins of exp(-γ) and by rejection [CKS].

Every comparison is one of whole numbers of any length, so the law is P(z) ∝ exp(-z²/2σ²) itself and not a law of
floating-point numbers close to it, whose last digits could tell what noise was added to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._sampling.noise import sequential_words

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sanitize._sampling.noise import NoiseKey

_WORD = 32
_BUFFERED = 4096


class Bits:
    """Fair bits of a key, in order."""

    def __init__(self, key: NoiseKey) -> None:
        self._next = sequential_words(key, 0, 0, np.dtype(np.uint32))
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """Uniform whole number from 0 to n - 1, for n >= 1."""
        bits = (n - 1).bit_length()
        while True:
            drawn = 0
            for _ in range(-(-bits // _WORD)):
                if not self._words:
                    self._words = self._next(_BUFFERED).tolist()
                drawn = drawn << _WORD | self._words.pop()
            drawn >>= -bits % _WORD
            if drawn < n:
                return drawn

    def is_below(self, numerator: int, denominator: int) -> bool:
        """Whether a coin of probability ``numerator / denominator`` comes up."""
        return self.below(denominator) < numerator

    def decays(self, numerator: int, denominator: int) -> bool:
        """Whether a coin of probability exp(-γ) comes up, γ = ``numerator / denominator`` >= 0.

        Of coins of probability γ/1, γ/2, γ/3, ... for γ <= 1, the first that fails has an odd number with probability
        Σ_k (-γ)^k / k! = exp(-γ).
        """
        while numerator > denominator:
            if not self.decays(1, 1):
                return False
            numerator -= denominator
        k = 1
        while self.is_below(numerator, denominator * k):
            k += 1
        return k % 2 == 1

    def two_sided_geometric(self, scale: int, parts: int = 1) -> int:
        """Whole number of P(z) ∝ exp(-|z| parts/scale): one of P(x) ∝ exp(-x/scale), x >= 0, in whole parts."""
        while True:
            rest = self.below(scale)
            if not self.decays(rest, scale):
                continue
            times = 0
            while self.decays(1, 1):
                times += 1
            size, negative = (rest + scale * times) // parts, self.below(2) == 1
            if size or not negative:  # zero has one sign
                return -size if negative else size

    def discrete_gaussian(self, variance: Fraction) -> int:
        """Whole number of P(z) ∝ exp(-z²/2σ²), σ² = ``variance``."""
        a, b = variance.numerator, variance.denominator
        scale = _root(a // b) + 1
        while True:
            z = self.two_sided_geometric(scale)
            # exp(-z²/2σ²) over exp(-|z|/scale), up to its largest value.
            if self.decays((abs(z) * scale * b - a) ** 2, 2 * a * b * scale**2):
                return z


def discrete_gaussian(key: NoiseKey, sigma: Fraction, count: int) -> NDArray[np.int64]:
    """Independent draws of P(z) ∝ exp(-z²/2σ²), as many as asked for, from a key of their own."""
    bits, variance = Bits(key), sigma**2
    return np.array([bits.discrete_gaussian(variance) for _ in range(count)], np.int64)


def two_sided_geometric(key: NoiseKey, rate: Fraction, count: int) -> NDArray[np.int64]:
    """Independent draws of P(z) ∝ exp(-rate |z|), as many as asked for, from a key of their own."""
    bits = Bits(key)
    return np.array([bits.two_sided_geometric(rate.denominator, rate.numerator) for _ in range(count)], np.int64)


def _root(n: int) -> int:
    root = int(n**0.5)
    return root if root * root <= n else root - 1
