"""Trade-off families for a database with a known prior: identifiability, DP and mutual information [WYZ].

A prior over databases of n records with m letters is a vector of length m**n, with databases in lexicographic order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from sanitize._util.checks import Vector, whole_number
from sanitize._util.tolerances import SAME
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.theory.notions import hamming_neighbours, prior_ratio
from sanitize.theory.tradeoff._prior import PriorDP
from sanitize.theory.tradeoff._shells import level_at, mean_distance, symmetric
from sanitize.theory.tradeoff._tradeoff import (
    PrivacyInterval,
    Tradeoff,
    check_priors,
    single_distribution,
    smallest_level,
)


class _Database(Tradeoff):
    """Base of trade-off families in closed form for distortions up to `largest`; larger ones raise InvalidParameter."""

    n_records: int
    _distributions: Vector  # the first axis is for priors, then one axis per record

    def _take(self, distributions: Vector) -> None:
        n, size = whole_number("n_records", self.n_records, 1), distributions.shape[1]
        m = round(size ** (1 / n))
        if m < 2 or m**n != size:
            raise InvalidDistribution(
                f"prior must have m ** {n} entries (n_records={n}) for a whole number m >= 2, got {size} entries"
            )
        vars(self).update(n_records=n, _distributions=distributions.reshape(len(distributions), *[m] * n))

    @property
    def _n_symbols(self) -> int:
        return self._distributions.shape[-1]

    @property
    def threshold(self) -> float:
        """Threshold ε~_X: least ε at which e**(-ε d(x,y))/(1 + (m-1)e**-ε)**n is a posterior of the prior [WYZ §3].

        That is, the inverse of the channel with these rows maps the prior to a distribution. For n = 1 the threshold is
        log(1/min p - m + 1). The feasible levels are an interval [ε~_X, inf), because the kernels form a semigroup, so
        a bisection finds its end. ε~_X >= ε_X, and it is inf without full support. For several priors it is the least
        threshold.
        """
        return min(self._thresholds)

    @cached_property
    def _thresholds(self) -> list[float]:
        return [_threshold(distribution) for distribution in self._distributions]

    @property
    def largest(self) -> float:
        """Largest distortion that the closed form covers, h(ε~_X) with h(ε) = n/(1 + e**ε/(m-1))."""
        return mean_distance(self.threshold, self.n_records, self._n_symbols)

    def _check_closed_form(self, distortion: float) -> float:
        """Return the distortion if the closed form covers it; otherwise refuse it."""
        if distortion > self.largest * (1 + SAME):
            raise InvalidParameter(
                f"distortion must lie between 0 and {self.largest:.12g} for the closed form, got {distortion:.12g}; "
                "for larger distortions use OptimalDP, OptimalIdentifiability or OptimalSibson"
            )
        return distortion

    def _level(self, distortion: float) -> float:
        """Level h^-1(D), at least the threshold, for a distortion that the closed form covers."""
        return max(level_at(self._check_closed_form(distortion), self.n_records, self._n_symbols), self.threshold)

    def _privacy(self, distortion: float) -> float:
        return self._level(distortion)

    def _distortion(self, level: float) -> float:
        if level < self.threshold * (1 - SAME):
            raise InvalidParameter(
                f"level must be at least {self.threshold:.12g}, the threshold of this prior, got {level:.12g}"
            )
        return mean_distance(level, self.n_records, self._n_symbols)

    def _matrix(self, distortion: float) -> Vector:
        return self.matrix_at(self._level(distortion))

    def matrix_at(self, level: float) -> Vector:
        """Matrix of the channel at a level that is at least the threshold."""
        return symmetric(level, self.n_records, self._n_symbols)


@dataclass(frozen=True, eq=False)
class _OnePrior(_Database):
    """Base of trade-offs solved by E_i: p(y|x) = p_Y(y) e**(-ε d(x,y))/(p(x)(1 + (m-1)e**-ε)**n) [WYZ eq. 26]."""

    prior: ArrayLike
    n_records: int = 1

    def __post_init__(self) -> None:
        self._take(single_distribution(self.prior)[None])

    def matrix_at(self, level: float) -> Vector:
        kernel = super().matrix_at(level)
        mixture = np.maximum(_weights(self._distributions[0], level), 0.0).ravel()
        if math.isinf(level) or not mixture.any():
            return kernel  # the identity, or a uniform prior without any privacy loss
        weighted = kernel * (mixture / mixture.sum())
        return weighted / weighted.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class DatabaseIdentifiability(_OnePrior):
    """Trade-off: least identifiability at distortion D for a known prior, log(n/D - 1) + log(m-1) [WYZ Thm 1].

    The formula holds for D up to `largest`. The channel is E_i: p(y|x) = p_Y(y) e**(-ε d(x,y))/(p(x)(1 +
    (m-1)e**-ε)**n) [WYZ eq. 26]. It is ε-identifiable with the least distortion h(ε), and has the least I(X;Y) at that
    distortion too [WYZ Lemma 4, Thm 2]. Its level of differential privacy is ε + ε_X.

    Parameters
    ----------
    prior : array-like of shape (m**n,)
        Distribution of the database.
    n_records : int
        Number of records n.

    Examples
    --------
    >>> family = DatabaseIdentifiability([0.5, 0.3, 0.2])
    >>> round(family.threshold, 6), round(family.largest, 6), round(family.privacy(0.2), 6)
    (1.098612, 0.4, 2.079442)
    >>> family.bounds(0.2).exact, family.bounds(0.45).exact
    (True, False)
    >>> DatabaseIdentifiability([0.6, 0.4]).channel(0.25).matrix.round(4)
    array([[0.875 , 0.125 ],
           [0.4375, 0.5625]])
    """

    def bounds(self, distortion: float) -> PrivacyInterval:
        """Bounds on the least identifiability at distortion D; beyond `largest`, max(h^-1(D), ε_X) and ε~_X.

        The lower end is not tight beyond `largest`; `OptimalIdentifiability` computes the value.
        """
        level = level_at(self._check_distortion(distortion), self.n_records, self._n_symbols)
        if level >= self.threshold:
            return PrivacyInterval(level, level)
        return PrivacyInterval(max(level, _ratio(self._distributions[0])), self.threshold)


@dataclass(frozen=True, eq=False)
class DatabaseMutualInformation(_OnePrior):
    """Trade-off: least I(X;Y) at distortion D for a known prior, H(X) - n h_b(D/n) - D log(m-1) [WYZ Thm 2].

    The formula holds for D up to `largest`, with the channel of `DatabaseIdentifiability`. Beyond, `OptimalSibson` of
    order 1 computes the value.

    Parameters
    ----------
    prior : array-like of shape (m**n,)
        Distribution of the database.
    n_records : int
        Number of records n.

    Examples
    --------
    >>> family = DatabaseMutualInformation([0.5, 0.3, 0.2])
    >>> round(family.privacy(0.2), 6), round(family.distortion(0.390621), 6)
    (0.390621, 0.2)
    """

    def _information(self, distortion: float) -> float:
        share = distortion / self.n_records
        noise = self.n_records * float(entr(share) + entr(1 - share)) + distortion * math.log(self._n_symbols - 1)
        return max(0.0, float(entr(self._distributions).sum()) - noise)

    def _privacy(self, distortion: float) -> float:
        return self._information(self._check_closed_form(distortion))

    def _distortion(self, level: float) -> float:
        if level >= self._information(0.0):
            return 0.0
        n, m = self.n_records, self._n_symbols
        return self._check_closed_form(
            mean_distance(smallest_level(lambda t: self._information(mean_distance(t, n, m)), level), n, m)
        )


@dataclass(frozen=True, eq=False)
class DatabaseDP(_Database):
    """Trade-off: least level of DP of a database at distortion D, for known priors: h^-1(D) [WYZ Thm 1, sharpened].

    The formula holds for D up to `largest`, where the identifiability function has the same values. The channel is E_d,
    that of `UniformDP`, which has this level and distortion under any prior. For independent records the value is known
    everywhere: see `PriorDP` and `RecordsDP`. Given several priors, any of them may hold; mixtures of them may be
    added, since they do not change the problem [ZB Lemma 5] and can only raise the lower bound.

    Parameters
    ----------
    priors : array-like of shape (m**n,) or (k, m**n)
        Distribution of the database, or several distributions, any of which may hold.
    n_records : int
        Number of records n.

    Examples
    --------
    >>> DatabaseDP([0.5, 0.3, 0.2]).bounds(0.2)
    PrivacyInterval(lower=2.0794415416798357, upper=2.0794415416798357)
    >>> family = DatabaseDP([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
    >>> round(family.privacy(0.3), 6), family.bounds(0.45).exact
    (1.540445, False)
    """

    priors: ArrayLike
    n_records: int = 1

    def __post_init__(self) -> None:
        self._take(check_priors(self.priors))

    def _check_closed_form(self, distortion: float) -> float:
        if math.isinf(self.threshold):  # some databases need not be distinguished, so the value may differ from h^-1(0)
            raise InvalidParameter(
                "at least one prior must be positive everywhere for the closed form; use the method bounds instead"
            )
        return super()._check_closed_form(distortion)

    def bounds(self, distortion: float) -> PrivacyInterval:
        """Bounds on the least level of differential privacy at any distortion D from 0 to n.

        Beyond `largest`, the bounds for one prior are max(h^-1(D) - ε_X, 0) and max(h^-1(D), 0), as printed, or 0 if a
        constant release is good enough; for one record they are exact (`PriorDP`). For several priors, instead of [ZB
        Thm 6.1], the bounds are the largest lower bound of a single prior and max(h^-1(D), 0), which E_d attains.
        """
        distortion = self._check_distortion(distortion)
        level = level_at(distortion, self.n_records, self._n_symbols)
        distributions = zip(self._distributions, self._thresholds, strict=True)
        intervals = [self._bounds(distortion, level, *distribution) for distribution in distributions]
        lower = max(interval.lower for interval in intervals)
        return intervals[0] if len(intervals) == 1 else PrivacyInterval(lower, max(lower, level))

    def _bounds(self, distortion: float, level: float, distribution: Vector, threshold: float) -> PrivacyInterval:
        n = self.n_records
        constant = sum(1 - float(distribution.sum(axis=tuple(set(range(n)) - {i})).max()) for i in range(n))
        if distortion >= constant:
            return PrivacyInterval(0.0, 0.0)
        if level >= threshold or level == 0:
            return PrivacyInterval(level, level)
        if n == 1:
            value = PriorDP(distribution).privacy(distortion)
            return PrivacyInterval(value, value)
        return PrivacyInterval(max(level - _ratio(distribution), 0.0), level)


def _threshold(distribution: Vector) -> float:
    """Threshold ε~_X of a prior with one axis per record."""
    least = float(distribution.min())
    if least == 0:
        return math.inf
    if distribution.ndim == 1:
        return max(0.0, math.log1p(max(0.0, 1 - len(distribution) * least) / least))
    low = _ratio(distribution)
    if _weights(distribution, low).min() >= 0:
        return low
    high = low + 1.0
    while _weights(distribution, high).min() < 0:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _weights(distribution, middle).min() >= 0 else (middle, high)
    return high


def _ratio(distribution: Vector) -> float:
    """Level ε_X of a prior with one axis per record."""
    return prior_ratio(distribution.ravel(), hamming_neighbours(distribution.ndim, len(distribution)))


def _weights(distribution: Vector, level: float) -> Vector:
    """Prior mapped by the inverse kernel of level ε, up to a positive factor; valid iff all entries are >= 0."""
    ratio, gap, m = math.exp(-level), -math.expm1(-level), len(distribution)
    for axis in range(distribution.ndim):
        # The matrix is (1 + (m-1) r) I - r J; with 1 + (m-1) r = (1 - r) + m r, nothing cancels for uniform
        # distributions.
        distribution = gap * distribution + ratio * (m * distribution - distribution.sum(axis=axis, keepdims=True))
    return distribution
