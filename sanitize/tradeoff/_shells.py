"""Maximal leakage, max-information and Sibson information of n records at a uniform prior.

All are functions of how much probability a symmetric channel puts on each shell of databases at distance j.
The n-fold product, which is optimal for DP and mutual information, is not optimal here for n >= 2: the best law
is uniform on a ball (order inf), or g_j ~ (1 - kj)_+**(1/(α-1)) on the shells (order α).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from sanitize._checks import number
from sanitize.tradeoff._hamming import distortion_within, hamming_distortion, isotropic, records, shell_sizes, shells
from sanitize.tradeoff._inverses import level_of, root_between
from sanitize.tradeoff._uniform import (
    symmetric_mechanism,
    uniform_dp,
    uniform_mutual_information,
    uniform_mutual_information_distortion,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def uniform_maximal_leakage(distortion: float, n: int, m: int) -> float:
    """Least maximal leakage at distortion D: log(m**n c), c the height of the fractional ball of mean distance D.

    c N_j in each full shell, the rest in the next one. For n = 1 it is log(m(1-D)) [ZB Thm 7.4, 8.4]; for n >= 2
    the printed n log(m(1-D/n)) of the product is only an upper bound (`product_sibson_information`, α = inf).

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    n, m : int
        Records, and letters of one record.

    Returns
    -------
    float
        Nats; 0 from D = n(m-1)/m on.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(uniform_maximal_leakage(0.7, n=2, m=2), 4)
    0.2624
    """
    n, m = records(n, m)
    distortion = distortion_within(distortion, n)
    if distortion * m >= n * (m - 1):
        return 0.0
    shell, scale = _edge(distortion, n, m)
    return max(0.0, n * math.log(m) + math.log(shell - distortion) - math.log(scale))


def uniform_maximal_leakage_distortion(leakage: float, n: int, m: int) -> float:
    """Least distortion at maximal leakage L: the inverse of `uniform_maximal_leakage`.

    Parameters
    ----------
    leakage : float
        L in nats, >= 0.
    n, m : int
        Records, and letters of one record.

    Examples
    --------
    >>> round(uniform_maximal_leakage_distortion(0.2624, n=2, m=2), 4)
    0.7
    """
    n, m = records(n, m)
    log_height = number("leakage", leakage, 0, math.inf) - n * math.log(m)
    if log_height >= 0:
        return 0.0
    inside, moment = 0, 0
    for shell, size in enumerate(shells(n, m)):
        if shell and (shell == n or log_height + math.log(inside + size) >= 0):
            filled = math.exp(log_height + math.log(shell * inside - moment))
            return min(max(0.0, shell - filled), n * (m - 1) / m)
        inside, moment = inside + size, moment + shell * size
    raise AssertionError  # pragma: no cover - the last shell always ends the loop


def uniform_max_information(distortion: float, n: int, m: int) -> float:
    """Least max-information at distortion D for a prior that is exactly uniform [ZB Thm 7.3].

    The same number, mechanism and inverse as `uniform_maximal_leakage`.

    Examples
    --------
    >>> round(uniform_max_information(0.25, n=1, m=2), 6)
    0.405465
    """
    return uniform_maximal_leakage(distortion, n, m)


def ball_mechanism(distortion: float, n: int, m: int) -> NDArray[np.float64]:
    """Channel uniform on the fractional Hamming ball of mean distance D around x, shape (m**n, m**n).

    Optimal for maximal leakage, and for max-information at a uniform prior.

    Examples
    --------
    >>> ball_mechanism(0.5, n=2, m=2)[0]
    array([0.5 , 0.25, 0.25, 0.  ])
    """
    n, m = records(n, m)
    distortion = distortion_within(distortion, n)
    if distortion * m >= n * (m - 1):
        return isotropic(np.full(n + 1, float(m) ** -n), n, m)
    shell, scale = _edge(distortion, n, m)
    height, sizes = (shell - distortion) / scale, shell_sizes(n, m)
    heights = np.zeros(n + 1)
    heights[:shell] = height
    heights[shell] = max(0.0, 1 - height * sum(sizes[:shell])) / sizes[shell]
    return isotropic(heights, n, m)


def _edge(distortion: float, n: int, m: int) -> tuple[int, int]:
    """The shell k that is partly filled, and k V - A: the height of the ball is (k - D)/(k V - A).

    V databases lie inside shell k, at total distance A.
    """
    inside, moment, numerator = 1, 0, distortion.as_integer_ratio()
    for shell, size in enumerate(shells(n, m)):
        if shell == 0:
            continue
        more, further = inside + size, moment + shell * size
        # Whole numbers of thousands of digits are not divided: the next shell holds the mean, or is the last.
        if shell == n or numerator[0] * more <= numerator[1] * further:
            return shell, shell * inside - moment
        inside, moment = more, further
    raise AssertionError  # pragma: no cover - the last shell always ends the loop


def uniform_sibson_information(distortion: float, n: int, m: int, alpha: float) -> float:
    """Least Sibson information of order α at distortion D, uniform prior, in nats [ZB Thm 7.6 for n = 1].

    Shells g_j ~ (1 - kj)_+**(1/(α-1)) with k fixed by the mean distance; n = 1 gives the symmetric channel's
    α/(α-1) log(m (((1-D)**α + (m-1)q**α)/m)**(1/α)). For n >= 2 the printed product is an upper bound only
    (`product_sibson_information`). At α = 1 mutual information, at inf maximal leakage.

    Parameters
    ----------
    distortion : float
        D, from 0 to n.
    n, m : int
        Records, and letters of one record.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> round(uniform_sibson_information(0.6, n=2, m=2, alpha=8), 4)
    0.3652
    """
    n, m = records(n, m)
    distortion, alpha = distortion_within(distortion, n), number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return uniform_maximal_leakage(distortion, n, m)
    if alpha == 1 or distortion == 0 or distortion * m >= n * (m - 1):
        return uniform_mutual_information(distortion, n, m)
    if n == 1:
        return _one_record(uniform_dp(distortion, 1, m), m, alpha)
    return _Shells(n, m, alpha).at(lambda law: law[0] - distortion)[1]


def _one_record(level: float, m: int, alpha: float) -> float:
    """Sibson information of m-ary randomized response at this level under the uniform law."""
    order, ratio = alpha - 1, math.exp(-level)
    spread = 1 + (m - 1) * ratio
    gain = math.log1p((m - 1) * -math.expm1(-level) / spread)  # log(m c), c the probability to keep
    if order * gain > 1:
        loss = math.log1p(-1 / spread) + order * (gain - level) if spread > 1 else -math.inf
        return float(np.logaddexp(order * gain - math.log(spread), loss)) / order
    moved = (m - 1) * ratio * math.expm1(order * (gain - level))
    return max(0.0, math.log1p((math.expm1(order * gain) + moved) / spread) / order)


def uniform_sibson_information_distortion(information: float, n: int, m: int, alpha: float) -> float:
    """Least distortion at Sibson information of order α: the inverse of `uniform_sibson_information`.

    Examples
    --------
    >>> round(uniform_sibson_information_distortion(0.3652, n=2, m=2, alpha=8), 4)
    0.6
    """
    n, m = records(n, m)
    information, alpha = number("information", information, 0, math.inf), number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return uniform_maximal_leakage_distortion(information, n, m)
    if alpha == 1 or information == 0 or information >= n * math.log(m):
        return uniform_mutual_information_distortion(information, n, m)
    if n == 1:
        return hamming_distortion(level_of(lambda level: _one_record(level, m, alpha), information), 1, m)
    return _Shells(n, m, alpha).at(lambda law: information - law[1])[0]


def shell_mechanism(distortion: float, n: int, m: int, alpha: float) -> NDArray[np.float64]:
    """Channel with the least Sibson information of order α at distortion D, shape (m**n, m**n).

    Examples
    --------
    >>> shell_mechanism(0.5, n=2, m=2, alpha=2)[0].round(4)
    array([0.5 , 0.25, 0.25, 0.  ])
    """
    n, m = records(n, m)
    distortion, alpha = distortion_within(distortion, n), number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return ball_mechanism(distortion, n, m)
    if alpha == 1 or distortion == 0 or distortion * m >= n * (m - 1):
        return symmetric_mechanism(distortion, n, m)
    return isotropic(np.exp(_Shells(n, m, alpha).at(lambda law: law[0] - distortion)[2]), n, m)


def product_sibson_information(distortion: float, n: int, m: int, alpha: float) -> float:
    """Sibson information of order α of n symmetric channels, one a record: n times one record's at D/n.

    What [ZB Thm 7, 17] prints. Optimal among products of identical factors for every α (Lemma 16.2 holds for
    those only), among all channels for n = 1 or α = 1; else an upper bound. α = inf gives n log(m(1-D/n)).

    Examples
    --------
    >>> round(product_sibson_information(0.7, n=2, m=2, alpha=float("inf")), 4)
    0.5247
    """
    n, m = records(n, m)
    return n * uniform_sibson_information(distortion_within(distortion, n) / n, 1, m, alpha)


_Law = tuple[float, float, "NDArray[np.float64]"]


class _Shells:
    """The path of optimal shell laws, from no distortion to the uniform law, for 1 < α < inf.

    A point is (J, r): shells 0..J carry weight, 1 - kJ = e**((α-1) r). So 1 - kj = 1 - j(1 - e**((α-1)r))/J is free
    of cancellation inside, and the last shell has weight e**r however small 1 - kJ is.
    """

    def __init__(self, n: int, m: int, alpha: float) -> None:
        self.n, self.order = n, alpha - 1
        self.log_sizes = np.array([math.log(size) for size in shell_sizes(n, m)])
        self.log_total = n * math.log(m)

    def law(self, last: int, r: float) -> _Law:
        """Distortion, information and log g_j at a point of the path."""
        slope = -math.expm1(self.order * r) / last
        log_g = np.full(self.n + 1, -np.inf)
        log_g[:last] = np.log1p(-slope * np.arange(last)) / self.order
        log_g[last] = r
        log_mass = self.log_sizes + log_g
        log_z = float(logsumexp(log_mass))
        distortion = float(np.exp(log_mass - log_z) @ np.arange(self.n + 1))
        information = self.log_total - log_z + math.log1p(-slope * distortion) / self.order
        return distortion, max(0.0, information), log_g - log_z

    def at(self, above: Callable[[_Law], float]) -> _Law:
        """Point where a function that grows with the distortion crosses 0."""
        low, high = 1, self.n  # the law with shells below J only grows with J; J = 1 is no distortion
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if above(self.law(middle, -math.inf)) < 0 else (low, middle - 1)
        # The piece ends at k = 1/(J+1), before r = 0 unless it is the last; the root lies within it all the same.
        start = -1.0
        while above(self.law(low, start)) > 0:
            start *= 2
        if above(self.law(low, 0.0)) <= 0:
            return self.law(low, 0.0)
        return self.law(low, root_between(lambda r: above(self.law(low, r)), start, 0.0))
