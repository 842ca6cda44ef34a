"""Source sets whose convex hull holds the uniform law (Class I): privacy of n records at distortion D [ZB §III].

The formulas are exact for these sets, and bounds from above for any prior: the mechanisms behind them are
symmetric, so their distortion is D whatever the prior is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number
from sanitize.tradeoff._hamming import (
    distortion_within,
    hamming_distortion,
    hamming_epsilon,
    hamming_mechanism,
    records,
)
from sanitize.tradeoff._inverses import level_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXPONENT = 700.0


def uniform_dp(distortion: float, n: int, m: int, delta: float = 0.0) -> float:
    """Least ε of (ε, δ)-DP at distortion D: max(0, h^-1(D/(1-δ))), δ by event [ZB Thm 7.1, 8.1, 17.1; WYZ].

    Exact for all n, δ included (averaging over the other records reduces n records to one).

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    n, m : int
        Records, and letters of one record.
    delta : float
        δ of (ε, δ)-DP, bounding events (not single outputs), from 0 to 1.

    Returns
    -------
    float
        ε in nats; inf at D = 0 (unless δ = 1).

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(uniform_dp(0.5, n=2, m=3), 6), uniform_dp(1.4, n=2, m=3)
    (1.791759, 0.0)
    """
    n, m = records(n, m)
    distortion, delta = distortion_within(distortion, n), number("delta", delta, 0, 1)
    if distortion * m >= (1 - delta) * n * (m - 1):
        return 0.0
    return max(0.0, hamming_epsilon(distortion / (1 - delta), n, m))


def uniform_dp_distortion(epsilon: float, n: int, m: int, delta: float = 0.0) -> float:
    """Least distortion of (ε, δ)-DP: D*(ε) = (1-δ) h(ε); the inverse of `uniform_dp`.

    Examples
    --------
    >>> round(uniform_dp_distortion(1.0, n=3, m=2), 6)
    0.806824
    """
    return (1 - number("delta", delta, 0, 1)) * hamming_distortion(epsilon, n, m)


def uniform_dp_mechanism(distortion: float, n: int, m: int, delta: float = 0.0) -> NDArray[np.float64]:
    """Optimal (ε, δ)-DP channel at distortion D: δ I + (1-δ) E_d, shape (m**n, m**n).

    Its ε is `uniform_dp`. Its distortion is D for every prior, or n(m-1)(1-δ)/m if that is less.

    Examples
    --------
    >>> uniform_dp_mechanism(0.25, n=1, m=2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    epsilon = uniform_dp(distortion, n, m, delta)
    matrix = (1 - delta) * hamming_mechanism(epsilon, n, m)
    matrix[np.diag_indices_from(matrix)] += delta
    return matrix


def entrywise_dp(distortion: float, n: int, m: int, delta: float) -> float:
    """ε at distortion D if p(y|x) <= e**ε p(y|x') + δ is asked of single outputs only: h^-1(D/(1 - m**(n-1) δ)).

    For comparison with [ZB Def. 3.2, Thm 9, 17.2]; not a privacy notion. A channel that reveals x together with a
    uniform tag of 1/δ values meets it at ε = 0. For n = 1 the number agrees with `uniform_dp`.

    Examples
    --------
    >>> round(entrywise_dp(0.5, n=2, m=2, delta=0.1), 4), round(uniform_dp(0.5, n=2, m=2, delta=0.1), 4)
    (0.7885, 0.9555)
    """
    n, m = records(n, m)
    distortion, delta = distortion_within(distortion, n), number("delta", delta, 0, 1)
    return uniform_dp(distortion, n, m, min(1.0, m ** (n - 1) * delta))


def uniform_renyi_dp(distortion: float, n: int, m: int, alpha: float) -> float:
    """Least order-α Rényi DP at distortion D: log(c**α q**(1-α) + q**α c**(1-α) + (m-2)q)/(α-1) [ZB Thm 7.5].

    With d = D/n, q = d/(m-1), c = 1-d; 0 for d >= (m-1)/m. Exact for all n; `symmetric_mechanism` reaches it.
    At α = 1 the divergence (c-q) log(c/q), at inf `uniform_dp`.

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
    >>> round(uniform_renyi_dp(0.25, n=1, m=2, alpha=2), 6)
    0.847298
    """
    alpha = number("alpha", alpha, 1, math.inf)
    epsilon = uniform_dp(distortion, n, m)
    return _renyi(epsilon, m, alpha)


def _renyi(epsilon: float, m: int, alpha: float) -> float:
    """Rényi divergence between two rows of m-ary randomized response at level ε."""
    if epsilon == 0 or math.isinf(epsilon) or math.isinf(alpha):
        return epsilon
    order = alpha - 1
    other = 1 / (math.exp(epsilon) + m - 1) if epsilon < _EXPONENT else math.exp(-epsilon)
    # c**α q**(1-α) + q**α c**(1-α) - c - q factors into q (1 - e**(-(α-1)ε))(e**(αε) - 1): nothing cancels.
    if alpha * epsilon < _EXPONENT:
        grown = other * math.expm1(alpha * epsilon)
        if order == 0:
            return epsilon * grown
        return math.log1p(grown * -math.expm1(-order * epsilon)) / order
    exponent = alpha * epsilon - float(np.logaddexp(epsilon, math.log(m - 1)))
    if order == 0:
        return epsilon * math.exp(exponent)
    return float(np.logaddexp(0.0, exponent + math.log(-math.expm1(-order * epsilon)))) / order


def uniform_renyi_dp_distortion(epsilon: float, n: int, m: int, alpha: float) -> float:
    """Least distortion of order-α Rényi DP: the inverse of `uniform_renyi_dp`.

    Parameters
    ----------
    epsilon : float
        Rényi divergence allowed, in nats, >= 0.
    n, m : int
        Records, and letters of one record.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> round(uniform_renyi_dp_distortion(0.847298, n=1, m=2, alpha=2), 6)
    0.25
    """
    n, m = records(n, m)
    alpha, epsilon = number("alpha", alpha, 1, math.inf), number("epsilon", epsilon, 0, math.inf)
    return hamming_distortion(level_of(lambda level: _renyi(level, m, alpha), epsilon), n, m)


def uniform_mutual_information(distortion: float, n: int, m: int) -> float:
    """Least I(X;Y) at distortion D, uniform prior: n(log m - h_b(D/n)) - D log(m-1), in nats [ZB Thm 7.7].

    `symmetric_mechanism` reaches it.

    Examples
    --------
    >>> round(uniform_mutual_information(0.5, n=2, m=3), 6)
    0.725981
    """
    n, m = records(n, m)
    return n * _information(uniform_dp(distortion, n, m), m)


def _information(level: float, m: int) -> float:
    """Mutual information of m-ary randomized response at this level under the uniform law."""
    if math.isinf(level):
        return math.log(m)
    ratio = math.exp(-level)
    spread = 1 + (m - 1) * ratio
    return max(0.0, math.log1p((m - 1) * -math.expm1(-level) / spread) - level * (m - 1) * ratio / spread)


def uniform_mutual_information_distortion(information: float, n: int, m: int) -> float:
    """Least distortion with I(X;Y) at most the given nats: the inverse of `uniform_mutual_information`.

    Examples
    --------
    >>> round(uniform_mutual_information_distortion(0.725981, n=2, m=3), 5)
    0.5
    """
    n, m = records(n, m)
    information = number("information", information, 0, math.inf)
    if information >= n * math.log(m):
        return 0.0
    return hamming_distortion(level_of(lambda level: n * _information(level, m), information), n, m)


def symmetric_mechanism(distortion: float, n: int, m: int) -> NDArray[np.float64]:
    """Channel that keeps each record with probability 1 - D/n, else draws another letter; shape (m**n, m**n).

    Optimal for DP, Rényi DP and mutual information at a uniform prior, all n [ZB Thm 7].

    Examples
    --------
    >>> symmetric_mechanism(0.25, n=1, m=2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return uniform_dp_mechanism(distortion, n, m)


def max_information_bound(distortion: float, m: int, least_share: float) -> float:
    """Max-information of the symmetric channel on one record: log((1-D)/(q + p0(1-D-q))), q = D/(m-1) [ZB Thm 7.3].

    An upper bound on the least one for a prior whose smallest entry is p0 (exact for the uniform law, p0 = 1/m);
    the exact figure for a known prior is `optimal_max_information_channel`'s.

    Parameters
    ----------
    distortion : float
        D, from 0 to 1.
    m : int
        Letters.
    least_share : float
        p0, from 0 to 1/m.

    Examples
    --------
    >>> round(max_information_bound(0.25, m=2, least_share=0.5), 6)
    0.405465
    """
    _, m = records(1, m)
    distortion = distortion_within(distortion, 1)
    share = number("least_share", least_share, 0, 1 / m)
    other = distortion / (m - 1)
    if distortion * m >= m - 1:
        return 0.0
    floor = other + share * (1 - distortion - other)
    return math.log((1 - distortion) / floor) if floor else math.inf
