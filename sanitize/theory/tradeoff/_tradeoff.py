"""Common parts of all families of trade-offs: three functions, checks of their arguments, inverses."""

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

# Relative width of the arguments between which the least one is found.
_WIDTH = 1e-10


class Tradeoff(ABC):
    """A family of privacy-distortion functions: one source set, notion of privacy and measure of distortion.

    Distortion is expected under the prior, the worst one of a source set; levels are in nats. What is out of its
    range raises InvalidParameter, and a prior that is no distribution InvalidDistribution.

    Examples
    --------
    >>> from sanitize.theory.tradeoff import UniformDP
    >>> family = UniformDP(n_records=1, n_symbols=2)
    >>> round(family.privacy(0.25), 6), round(family.distortion(1.098612), 6), family.channel(0.25).matrix[0]
    (1.098612, 0.25, array([0.75, 0.25]))
    """

    def privacy(self, distortion: float) -> float:
        """Least level of a channel with distortion at most D, in nats; inf if no finite level suffices."""
        return self._privacy(self._check_distortion(distortion))

    def distortion(self, level: float) -> float:
        """Least distortion of a channel within a level in nats, from 0 to inf: the inverse of `privacy`."""
        return self._distortion(number("level", level, 0, math.inf))

    def channel(self, distortion: float) -> Channel:
        """Channel of the least level at distortion D, databases in lexicographic order.

        Its probabilities are the integers over 2**62 next to the optimum, so a level that rests on a ratio may
        differ from `privacy` by 2**-62 over the smallest entry.
        """
        return Channel.from_matrix(self._matrix(self._check_distortion(distortion)))

    def _check_distortion(self, distortion: float) -> float:
        # No distortion of more than all records makes sense; a family that does not count them is of one.
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
        """True if the bounds meet."""
        return self.lower == self.upper


@dataclass(frozen=True, eq=False)
class OptimalChannel:
    """Channel that no other beats at its privacy level or distortion; `Channel.from_matrix` makes one to release.

    Attributes
    ----------
    privacy : float
        Level ε or leakage of this very matrix, measured and rounded up, in nats.
    distortion : float
        Expected distortion of this very matrix; the largest over the priors given.
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
    """Return the only distribution (m,)."""
    distributions = check_priors(prior)
    if len(distributions) > 1:
        raise InvalidDistribution(
            f"prior must be one distribution of shape (m,), got {len(distributions)} distributions"
        )
    return distributions[0]


def smallest_level(value: Callable[[float], float], target: float) -> float:
    """Least t >= 0 at which an increasing value(t) reaches the target; inf if not up to t = 700."""
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
    """Root in a bracket, to relative machine precision."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=SMALLEST_POSITIVE, rtol=ROOT, maxiter=1000))


def least_argument(
    design: Callable[[float], OptimalChannel | None], value: Callable[[OptimalChannel], float], aim: float
) -> OptimalChannel | None:
    """Design at the least t >= 0 whose value is at most the target; None if there is none up to t = 700.

    The value falls as t grows; where there is no design, t is too small.
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
            # Just above where the line through the logarithms of two values meets the aim.
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
