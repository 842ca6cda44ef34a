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


def uniform_maximal_leakage(distortion: float, n_records: int, n_symbols: int) -> float:
    """Least maximal leakage at distortion D: log(m**n c), c the height of the fractional ball of mean distance D.

    c N_j in each full shell, the rest in the next one. For n = 1 it is log(m(1-D)) [ZB Thm 7.4, 8.4]; for n >= 2
    the printed n log(m(1-D/n)) of the product is only an upper bound (`product_sibson_information`, α = inf).

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    n_records, n_symbols : int
        Records n, and symbols m of one record.

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
    >>> round(uniform_maximal_leakage(0.7, n_records=2, n_symbols=2), 4)
    0.2624
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion = distortion_within(distortion, n_records)
    if distortion * n_symbols >= n_records * (n_symbols - 1):
        return 0.0
    shell, scale = _edge(distortion, n_records, n_symbols)
    return max(0.0, n_records * math.log(n_symbols) + math.log(shell - distortion) - math.log(scale))


def uniform_maximal_leakage_distortion(leakage: float, n_records: int, n_symbols: int) -> float:
    """Least distortion at maximal leakage L: the inverse of `uniform_maximal_leakage`.

    Parameters
    ----------
    leakage : float
        L in nats, >= 0.
    n_records, n_symbols : int
        Records n, and symbols m of one record.

    Examples
    --------
    >>> round(uniform_maximal_leakage_distortion(0.2624, n_records=2, n_symbols=2), 4)
    0.7
    """
    n_records, n_symbols = records(n_records, n_symbols)
    log_height = number("leakage", leakage, 0, math.inf) - n_records * math.log(n_symbols)
    if log_height >= 0:
        return 0.0
    inside, moment = 0, 0
    for shell, size in enumerate(shells(n_records, n_symbols)):
        if shell and (shell == n_records or log_height + math.log(inside + size) >= 0):
            filled = math.exp(log_height + math.log(shell * inside - moment))
            return min(max(0.0, shell - filled), n_records * (n_symbols - 1) / n_symbols)
        inside, moment = inside + size, moment + shell * size
    raise AssertionError  # pragma: no cover - the last shell always ends the loop


def uniform_max_information(distortion: float, n_records: int, n_symbols: int) -> float:
    """Least max-information at distortion D for a prior that is exactly uniform [ZB Thm 7.3].

    The same number, mechanism and inverse as `uniform_maximal_leakage`.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.

    Returns
    -------
    float
        Max-information in nats.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(uniform_max_information(0.25, n_records=1, n_symbols=2), 6)
    0.405465
    """
    return uniform_maximal_leakage(distortion, n_records, n_symbols)


def ball_mechanism(distortion: float, n_records: int, n_symbols: int) -> NDArray[np.float64]:
    """Channel uniform on the fractional Hamming ball of mean distance D around x, shape (m**n, m**n).

    Optimal for maximal leakage, and for max-information at a uniform prior.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.

    Returns
    -------
    ndarray of shape (m**n, m**n)
        Rows sum to 1; databases in lexicographic order.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> ball_mechanism(0.5, n_records=2, n_symbols=2)[0]
    array([0.5 , 0.25, 0.25, 0.  ])
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion = distortion_within(distortion, n_records)
    if distortion * n_symbols >= n_records * (n_symbols - 1):
        return isotropic(np.full(n_records + 1, float(n_symbols) ** -n_records), n_records, n_symbols)
    shell, scale = _edge(distortion, n_records, n_symbols)
    height, sizes = (shell - distortion) / scale, shell_sizes(n_records, n_symbols)
    heights = np.zeros(n_records + 1)
    heights[:shell] = height
    heights[shell] = max(0.0, 1 - height * sum(sizes[:shell])) / sizes[shell]
    return isotropic(heights, n_records, n_symbols)


def _edge(distortion: float, n_records: int, n_symbols: int) -> tuple[int, int]:
    """The shell k that is partly filled, and k V - A: the height of the ball is (k - D)/(k V - A).

    V databases lie inside shell k, at total distance A.
    """
    inside, moment, numerator = 1, 0, distortion.as_integer_ratio()
    for shell, size in enumerate(shells(n_records, n_symbols)):
        if shell == 0:
            continue
        more, further = inside + size, moment + shell * size
        # Whole numbers of thousands of digits are not divided: the next shell holds the mean, or is the last.
        if shell == n_records or numerator[0] * more <= numerator[1] * further:
            return shell, shell * inside - moment
        inside, moment = more, further
    raise AssertionError  # pragma: no cover - the last shell always ends the loop


def uniform_sibson_information(distortion: float, n_records: int, n_symbols: int, alpha: float) -> float:
    """Least Sibson information of order α at distortion D, uniform prior, in nats [ZB Thm 7.6 for n = 1].

    Shells g_j ~ (1 - kj)_+**(1/(α-1)) with k fixed by the mean distance; n = 1 gives the symmetric channel's
    α/(α-1) log(m (((1-D)**α + (m-1)q**α)/m)**(1/α)). For n >= 2 the printed product is an upper bound only
    (`product_sibson_information`). At α = 1 mutual information, at inf maximal leakage.

    Parameters
    ----------
    distortion : float
        D, from 0 to n.
    n_records, n_symbols : int
        Records n, and symbols m of one record.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> round(uniform_sibson_information(0.6, n_records=2, n_symbols=2, alpha=8), 4)
    0.3652
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion, alpha = distortion_within(distortion, n_records), number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return uniform_maximal_leakage(distortion, n_records, n_symbols)
    if alpha == 1 or distortion == 0 or distortion * n_symbols >= n_records * (n_symbols - 1):
        return uniform_mutual_information(distortion, n_records, n_symbols)
    if n_records == 1:
        return _one_record(uniform_dp(distortion, 1, n_symbols), n_symbols, alpha)
    return _Shells(n_records, n_symbols, alpha).at(lambda law: law[0] - distortion)[1]


def _one_record(level: float, n_symbols: int, alpha: float) -> float:
    """Sibson information of m-ary randomized response at this level under the uniform law."""
    order, ratio = alpha - 1, math.exp(-level)
    spread = 1 + (n_symbols - 1) * ratio
    gain = math.log1p((n_symbols - 1) * -math.expm1(-level) / spread)  # log(m c), c the probability to keep
    if order * gain > 1:
        loss = math.log1p(-1 / spread) + order * (gain - level) if spread > 1 else -math.inf
        return float(np.logaddexp(order * gain - math.log(spread), loss)) / order
    moved = (n_symbols - 1) * ratio * math.expm1(order * (gain - level))
    return max(0.0, math.log1p((math.expm1(order * gain) + moved) / spread) / order)


def uniform_sibson_information_distortion(information: float, n_records: int, n_symbols: int, alpha: float) -> float:
    """Least distortion at Sibson information of order α: the inverse of `uniform_sibson_information`.

    Parameters
    ----------
    information : float
        Limit on the information, in nats.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.
    alpha : float
        Order of the Sibson information, >= 1; inf is allowed.

    Returns
    -------
    float
        Expected number of changed records.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(uniform_sibson_information_distortion(0.3652, n_records=2, n_symbols=2, alpha=8), 4)
    0.6
    """
    n_records, n_symbols = records(n_records, n_symbols)
    information, alpha = number("information", information, 0, math.inf), number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return uniform_maximal_leakage_distortion(information, n_records, n_symbols)
    if alpha == 1 or information == 0 or information >= n_records * math.log(n_symbols):
        return uniform_mutual_information_distortion(information, n_records, n_symbols)
    if n_records == 1:
        return hamming_distortion(
            level_of(lambda level: _one_record(level, n_symbols, alpha), information), 1, n_symbols
        )
    return _Shells(n_records, n_symbols, alpha).at(lambda law: information - law[1])[0]


def shell_mechanism(distortion: float, n_records: int, n_symbols: int, alpha: float) -> NDArray[np.float64]:
    """Channel with the least Sibson information of order α at distortion D, shape (m**n, m**n).

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.
    alpha : float
        Order of the Sibson information, >= 1; inf is allowed.

    Returns
    -------
    ndarray of shape (m**n, m**n)
        Rows sum to 1; databases in lexicographic order.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> shell_mechanism(0.5, n_records=2, n_symbols=2, alpha=2)[0].round(4)
    array([0.5 , 0.25, 0.25, 0.  ])
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion, alpha = distortion_within(distortion, n_records), number("alpha", alpha, 1, math.inf)
    if math.isinf(alpha):
        return ball_mechanism(distortion, n_records, n_symbols)
    if alpha == 1 or distortion == 0 or distortion * n_symbols >= n_records * (n_symbols - 1):
        return symmetric_mechanism(distortion, n_records, n_symbols)
    return isotropic(
        np.exp(_Shells(n_records, n_symbols, alpha).at(lambda law: law[0] - distortion)[2]), n_records, n_symbols
    )


def product_sibson_information(distortion: float, n_records: int, n_symbols: int, alpha: float) -> float:
    """Sibson information of order α of n symmetric channels, one a record: n times one record's at D/n.

    What [ZB Thm 7, 17] prints. Optimal among products of identical factors for every α (Lemma 16.2 holds for
    those only), among all channels for n = 1 or α = 1; else an upper bound. α = inf gives n log(m(1-D/n)).

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.
    alpha : float
        Order of the Sibson information, >= 1; inf is allowed.

    Returns
    -------
    float
        Information in nats.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(product_sibson_information(0.7, n_records=2, n_symbols=2, alpha=float("inf")), 4)
    0.5247
    """
    n_records, n_symbols = records(n_records, n_symbols)
    return n_records * uniform_sibson_information(
        distortion_within(distortion, n_records) / n_records, 1, n_symbols, alpha
    )


_Law = tuple[float, float, "NDArray[np.float64]"]


class _Shells:
    """The path of optimal shell laws, from no distortion to the uniform law, for 1 < α < inf.

    A point is (J, r): shells 0..J carry weight, 1 - kJ = e**((α-1) r). So 1 - kj = 1 - j(1 - e**((α-1)r))/J is free
    of cancellation inside, and the last shell has weight e**r however small 1 - kJ is.
    """

    def __init__(self, n_records: int, n_symbols: int, alpha: float) -> None:
        self.n, self.order = n_records, alpha - 1
        self.log_sizes = np.array([math.log(size) for size in shell_sizes(n_records, n_symbols)])
        self.log_total = n_records * math.log(n_symbols)

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
