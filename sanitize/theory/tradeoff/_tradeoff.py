"""Common base of all families of trade-offs: three functions, checks of their arguments, and inverses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sanitize._util.checks import Vector, doubles, number, probabilities
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize._util.tolerances import ROOT, SAME, SMALLEST_POSITIVE
from sanitize.core.channel import Channel
from sanitize.errors import InvalidDistribution

# Relative width of the bracket in which the least argument is found: each step takes a design, and results are given to
# fewer digits.
_WIDTH = 1e-10


class Tradeoff(ABC):
    """Base of families of privacy-distortion functions, each for a source set, a notion of privacy and a distortion.

    Distortion is the expectation under the prior, or under the worst prior of a source set; levels are in nats.
    Arguments out of range raise InvalidParameter, and a prior that is not a distribution raises InvalidDistribution.

    Examples
    --------
    >>> from sanitize.theory.tradeoff import UniformDP
    >>> family = UniformDP(n_records=1, n_symbols=2)
    >>> round(family.privacy(0.25), 6), round(family.distortion(1.098612), 6), family.channel(0.25).matrix[0]
    (1.098612, 0.25, array([0.75, 0.25]))
    """

    def privacy(self, distortion: float) -> float:
        """Least level of a channel with distortion at most D, in nats; inf if no finite level is enough."""
        return self._privacy(self._check_distortion(distortion))

    def distortion(self, level: float) -> float:
        """Least distortion of a channel within a level in nats, from 0 to inf: the inverse of `privacy`."""
        return self._distortion(number("level", level, 0, math.inf))

    def channel(self, distortion: float) -> Channel:
        """Channel of the least level at distortion D, databases in lexicographic order.

        Probabilities are the integers over 2**62 nearest to the optimum, so a level that bounds a ratio may differ from
        `privacy` by 2**-62 over the smallest entry.
        """
        return Channel.from_matrix(self._matrix(self._check_distortion(distortion)))

    def _check_distortion(self, distortion: float) -> float:
        # A distortion cannot exceed the number of records, which is 1 for families without ``n_records``.
        return number("distortion", distortion, 0, getattr(self, "n_records", 1))

    @abstractmethod
    def _privacy(self, distortion: float) -> float: ...

    @abstractmethod
    def _distortion(self, level: float) -> float: ...

    @abstractmethod
    def _matrix(self, distortion: float) -> Vector: ...


@dataclass(frozen=True)
class PrivacyInterval:
    """Bounds on a privacy-distortion function at one distortion, in nats; equal where the value is known.

    Attributes
    ----------
    lower, upper : float
        The least privacy level lies between them.
    """

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """True if both bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True, eq=False)
class OptimalChannel:
    """Optimal channel at a privacy level or distortion; `Channel.from_matrix` turns its matrix into a Channel.

    Attributes
    ----------
    privacy : float
        Measured level ε or leakage of this matrix in nats, rounded up.
    distortion : float
        Expected distortion of this matrix; the largest over the given priors.
    matrix : ndarray of shape (n_x, n_y)
        P(y|x).
    """

    privacy: float
    distortion: float
    matrix: Vector


def check_priors(priors: ArrayLike) -> Vector:
    """Return one distribution (m,) or several (k, m), as rows."""
    table = doubles(priors, InvalidDistribution("prior must be one distribution (m,) or several (k, m) of numbers"))
    if table.ndim not in (1, 2) or not table.size:
        raise InvalidDistribution(f"prior must be one distribution (m,) or several (k, m), got shape {table.shape}")
    return np.array([probabilities(row, "every prior" if len(table) > 1 else "prior") for row in np.atleast_2d(table)])


def single_distribution(prior: ArrayLike) -> Vector:
    """Return a single distribution (m,); refuse several."""
    distributions = check_priors(prior)
    if len(distributions) > 1:
        raise InvalidDistribution(
            f"prior must be one distribution of shape (m,), got {len(distributions)} distributions"
        )
    return distributions[0]


def smallest_level(value: Callable[[float], float], target: float) -> float:
    """Least t >= 0 at which an increasing value(t) reaches the target; inf if it stays below up to t = 700."""
    if value(0.0) >= target:
        return 0.0
    high = 1.0
    while value(high) < target:
        if high >= LARGEST_EXPONENT:
            return math.inf
        high = min(2 * high, LARGEST_EXPONENT)
    low = high / 16
    while low and value(low) >= target:
        high, low = low, low / 16
    return root_between(lambda t: value(t) - target, low, high)


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function in a bracket, to relative machine precision."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=SMALLEST_POSITIVE, rtol=ROOT, maxiter=1000))


def least_argument(
    design: Callable[[float], OptimalChannel | None], value: Callable[[OptimalChannel], float], aim: float
) -> OptimalChannel | None:
    """Return the design at the least t >= 0 with a value of at most ``aim``; None if there is none up to t = 700.

    The value falls as t grows; if there is no design for a t, t is too small.
    """

    def enough(candidate: OptimalChannel) -> bool:
        return value(candidate) <= aim * (1 + SAME)

    low, high = 0.0, 0.5
    short, best = design(low), design(high)
    if short is not None and enough(short):
        return short
    while best is None or not enough(best):
        if high >= LARGEST_EXPONENT:
            return None
        low, high, short = high, min(2 * high, LARGEST_EXPONENT), best
        best = design(high)
    secant = True
    while (width := high - low) > _WIDTH * max(high, 1e-3):
        middle = (low + high) / 2
        if secant and short is not None and 0 < value(best) < aim < value(short):
            # Slightly above the point where the line through the logarithms of two values meets the aim.
            share = math.log(value(short) / aim) / math.log(value(short) / value(best))
            edge = _WIDTH / 2 * max(high, 1e-3)
            middle = min(max(low + share * width + edge / 2, low + edge), high - edge)
        candidate = design(middle)
        if candidate is not None and enough(candidate):
            high, best = middle, candidate
        else:
            low, short = middle, candidate
        secant = high - low <= width / 2 or not secant
    return best
