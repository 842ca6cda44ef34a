"""Trade-off families for source sets whose convex hull contains the uniform source (Class I) [ZB §III].

The formulas are exact for these sets, and upper bounds for any prior: their mechanisms are symmetric, so their
distortion is D for every prior.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from sanitize._util.checks import Vector, number, whole_number
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize.theory.tradeoff._shells import (
    Ball,
    ShellPath,
    distance_of_ball,
    hamming_distances,
    level_at,
    mean_distance,
    symmetric,
)
from sanitize.theory.tradeoff._tradeoff import Tradeoff, smallest_level


@dataclass(frozen=True)
class _Uniform(Tradeoff):
    """Base of trade-off families solved by the symmetric channel; its leakage increases with its level ε."""

    n_records: int
    n_symbols: int

    def __post_init__(self) -> None:
        n, m = whole_number("n_records", self.n_records, 1), whole_number("n_symbols", self.n_symbols, 2)
        vars(self).update(n_records=n, n_symbols=m)

    def _level(self, distortion: float) -> float:
        """Level of the symmetric channel at this distortion."""
        return level_at(distortion, self.n_records, self.n_symbols)

    @abstractmethod
    def _loss(self, level: float) -> float: ...

    def _privacy(self, distortion: float) -> float:
        return self._loss(self._level(distortion))

    def _distortion(self, level: float) -> float:
        return mean_distance(smallest_level(self._loss, level), self.n_records, self.n_symbols)

    def _matrix(self, distortion: float) -> Vector:
        return symmetric(self._level(distortion), self.n_records, self.n_symbols)


@dataclass(frozen=True)
class _UniformOfOrder(_Uniform):
    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["alpha"] = number("alpha", self.alpha, 1, math.inf)


@dataclass(frozen=True)
class UniformDP(_Uniform):
    """Trade-off: least level of (ε, δ)-DP at D, unknown prior: max(0, h^-1(D/(1-δ))) [ZB Thm 7.1, 8.1, 17.1; WYZ].

    Here h(ε) = n/(1 + e**ε/(m-1)), so h^-1(D) = log(n/D - 1) + log(m-1), and D = (1-δ) h(ε) is the least distortion.
    This is exact for all n and δ: averaging over the other records reduces n records to one. The channel is δ I + (1-δ)
    E_d with E_d = e**(-ε d(x,y))/(1 + (m-1)e**-ε)**n for the Hamming distance d [WYZ Lemma 5]. Its distortion is D for
    every prior, or n(m-1)(1-δ)/m if that is less.

    Parameters
    ----------
    n_records, n_symbols : int
        Records n >= 1, and symbols m >= 2 of one record.
    delta : float
        δ, bounding events (not single outputs), from 0 to 1.

    Examples
    --------
    >>> family = UniformDP(n_records=2, n_symbols=3)
    >>> round(family.privacy(0.5), 6), family.privacy(1.4), round(family.distortion(1.791759), 6)
    (1.791759, 0.0, 0.5)
    >>> UniformDP(1, 2).channel(0.25).matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    delta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["delta"] = number("delta", self.delta, 0, 1)

    def entrywise_privacy(self, distortion: float) -> float:
        """Least ε with p(y|x) <= e**ε p(y|x') + δ for single outputs y only: h^-1(D/(1 - m**(n-1) δ)).

        This is for comparison with [ZB Def. 3.2, Thm 9, 17.2] and not a notion of privacy: a channel that reveals x
        together with a uniform tag of 1/δ values meets it at ε = 0. For n = 1 it equals `privacy`.

        Examples
        --------
        >>> family = UniformDP(n_records=2, n_symbols=2, delta=0.1)
        >>> round(family.entrywise_privacy(0.5), 4), round(family.privacy(0.5), 4)
        (0.7885, 0.9555)
        """
        delta = min(1.0, self.n_symbols ** (self.n_records - 1) * self.delta)
        return UniformDP(self.n_records, self.n_symbols, delta).privacy(distortion)

    def _level(self, distortion: float) -> float:
        return super()._level(distortion / (1 - self.delta)) if self.delta < 1 else 0.0

    def _loss(self, level: float) -> float:
        return level

    def _distortion(self, level: float) -> float:
        return (1 - self.delta) * mean_distance(level, self.n_records, self.n_symbols)

    def _matrix(self, distortion: float) -> Vector:
        matrix = (1 - self.delta) * super()._matrix(distortion)
        matrix[np.diag_indices_from(matrix)] += self.delta
        return matrix


@dataclass(frozen=True)
class UniformRenyiDP(_UniformOfOrder):
    """Trade-off: least Rényi DP of order α at D: log(c**α q**(1-α) + q**α c**(1-α) + (m-2)q)/(α-1) [ZB Thm 7.5].

    Here d = D/n, q = d/(m-1) and c = 1-d; the value is 0 for d >= (m-1)/m. It is exact for all n, and the channel is
    that of `UniformDP`. At α = 1 it is the KL divergence (c-q) log(c/q), and at inf the value of `UniformDP`.

    Parameters
    ----------
    n_records, n_symbols : int
        Records n >= 1, and symbols m >= 2 of one record.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> family = UniformRenyiDP(n_records=1, n_symbols=2, alpha=2)
    >>> round(family.privacy(0.25), 6), round(family.distortion(0.847298), 6)
    (0.847298, 0.25)
    """

    def _loss(self, level: float) -> float:
        if level == 0 or math.isinf(level) or math.isinf(self.alpha):
            return level
        m, order, exponent = self.n_symbols, self.alpha - 1, self.alpha * level
        # c**α q**(1-α) + q**α c**(1-α) - c - q factors into q (1 - e**(-(α-1)ε))(e**(αε) - 1), so nothing cancels.
        if exponent < LARGEST_EXPONENT:
            grown = math.expm1(exponent) / (math.exp(level) + m - 1)
            return level * grown if order == 0 else math.log1p(grown * -math.expm1(-order * level)) / order
        exponent -= float(np.logaddexp(level, math.log(m - 1)))
        if order == 0:
            return level * math.exp(exponent)
        return float(np.logaddexp(0.0, exponent + math.log(-math.expm1(-order * level)))) / order


@dataclass(frozen=True)
class UniformSibson(_UniformOfOrder):
    """Trade-off: least Sibson information of order α at D for n records, prior unknown or uniform [ZB Thm 7].

    At α = 1 the symmetric channel reveals n(log m - h_b(D/n)) - D log(m-1) [Thm 7.7]. For n = 1 and any α it reveals
    α/(α-1) log(m (((1-D)**α + (m-1)q**α)/m)**(1/α)) with q = D/(m-1) [Thm 7.6]. For n >= 2 and α > 1 the product of
    such channels, which the paper prints, is only an upper bound (`product_bound`). The optimum puts probability g_j ~
    (1 - kj)_+**(1/(α-1)) on each database at distance j, with k fixed by D. At α = inf this is a fractional Hamming
    ball of height c, with the value log(m**n c), or log(m(1-D)) for n = 1 [Thm 7.4, 8.4]. If the prior is exactly
    uniform, value, channel and inverse are then also those of max-information [Thm 7.3].

    Parameters
    ----------
    n_records, n_symbols : int
        Records n >= 1, and symbols m >= 2 of one record.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> family = UniformSibson(n_records=2, n_symbols=2, alpha=8)
    >>> round(family.privacy(0.6), 4), round(family.product_bound(0.6), 4), round(family.distortion(0.3652), 4)
    (0.3652, 0.5714, 0.6)
    >>> leakage = UniformSibson(n_records=2, n_symbols=2, alpha=float("inf"))
    >>> round(leakage.privacy(0.7), 4), leakage.channel(0.5).matrix[0]
    (0.2624, array([0.5 , 0.25, 0.25, 0.  ]))
    """

    def product_bound(self, distortion: float) -> float:
        """Information of n symmetric channels, one per record: n times that of one record at D/n [ZB Thm 7, 17].

        The paper prints this value. It is the least among products of identical factors (Lemma 16.2 holds only for
        these), and among all channels for n = 1 or α = 1; otherwise it is an upper bound, n log(m(1-D/n)) at α = inf.
        """
        single = UniformSibson(1, self.n_symbols, self.alpha)
        return self.n_records * single.privacy(self._check_distortion(distortion) / self.n_records)

    @property
    def _symmetric(self) -> bool:
        """True if the symmetric channel is the best one at every distortion."""
        return self.alpha == 1 or self.n_records == 1

    @property
    def _path(self) -> ShellPath:
        return ShellPath(self.n_records, self.n_symbols, self.alpha)

    def _loss(self, level: float) -> float:
        """Leakage of m-ary randomized response on every record of a uniform source (for α > 1: on one record)."""
        m, ratio, order = self.n_symbols, math.exp(-level), self.alpha - 1
        spread = 1 + (m - 1) * ratio
        gain = math.log1p((m - 1) * -math.expm1(-level) / spread)  # log(m c), c the probability of keeping
        if order == 0:
            return self.n_records * max(0.0, gain - level * (m - 1) * ratio / spread)
        if order * gain > 1:
            loss = math.log1p(-1 / spread) + order * (gain - level) if spread > 1 else -math.inf
            return float(np.logaddexp(order * gain - math.log(spread), loss)) / order
        moved = (m - 1) * ratio * math.expm1(order * (gain - level))
        return max(0.0, math.log1p((math.expm1(order * gain) + moved) / spread) / order)

    def _privacy(self, distortion: float) -> float:
        level = self._level(distortion)
        if level == 0:
            return 0.0
        if math.isinf(self.alpha):
            return Ball(distortion, self.n_records, self.n_symbols).leakage
        if math.isinf(level):
            return self.n_records * math.log(self.n_symbols)
        if self._symmetric:
            return self._loss(level)
        return self._path.crossing(lambda distribution: distribution[0] - distortion)[1]

    def _distortion(self, level: float) -> float:
        most = self.n_records * math.log(self.n_symbols)
        if level >= most:
            return 0.0
        if math.isinf(self.alpha):
            return distance_of_ball(level - most, self.n_records, self.n_symbols)
        if self._symmetric or level == 0:
            return super()._distortion(level)
        return self._path.crossing(lambda distribution: level - distribution[1])[0]

    def _matrix(self, distortion: float) -> Vector:
        level = self._level(distortion)
        if level == 0 or math.isinf(level) or self._symmetric:
            return super()._matrix(distortion)
        if math.isinf(self.alpha):
            heights = Ball(distortion, self.n_records, self.n_symbols).heights
        else:
            heights = np.exp(self._path.crossing(lambda distribution: distribution[0] - distortion)[2])
        return heights[hamming_distances(self.n_records, self.n_symbols)]


def max_information_bound(distortion: float, n_symbols: int, least_share: float) -> float:
    """Max-information of the symmetric channel on one record: log((1-D)/(q + p0(1-D-q))), q = D/(m-1) [ZB Thm 7.3].

    This is an upper bound on the least max-information for a prior whose smallest entry is p0, and exact for the
    uniform distribution (p0 = 1/m). `OptimalMaxInformation` computes the exact value for a known prior.

    Parameters
    ----------
    distortion : float
        D, from 0 to 1.
    n_symbols : int
        Letters m.
    least_share : float
        p0, from 0 to 1/m.

    Examples
    --------
    >>> round(max_information_bound(0.25, n_symbols=2, least_share=0.5), 6)
    0.405465
    """
    m, distortion = whole_number("n_symbols", n_symbols, 2), number("distortion", distortion, 0, 1)
    share, flip_share = number("least_share", least_share, 0, 1 / m), distortion / (m - 1)
    if distortion * m >= m - 1:
        return 0.0
    floor = flip_share + share * (1 - distortion - flip_share)
    return math.log((1 - distortion) / floor) if floor else math.inf
