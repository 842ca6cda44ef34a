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


def uniform_dp(distortion: float, n_records: int, n_symbols: int, delta: float = 0.0) -> float:
    """Least ε of (ε, δ)-DP at distortion D: max(0, h^-1(D/(1-δ))), δ by event [ZB Thm 7.1, 8.1, 17.1; WYZ].

    Exact for all n, δ included (averaging over the other records reduces n records to one).

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    n_records, n_symbols : int
        Records n, and symbols m of one record.
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
    >>> round(uniform_dp(0.5, n_records=2, n_symbols=3), 6), uniform_dp(1.4, n_records=2, n_symbols=3)
    (1.791759, 0.0)
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion, delta = distortion_within(distortion, n_records), number("delta", delta, 0, 1)
    if distortion * n_symbols >= (1 - delta) * n_records * (n_symbols - 1):
        return 0.0
    return max(0.0, hamming_epsilon(distortion / (1 - delta), n_records, n_symbols))


def uniform_dp_distortion(eps: float, n_records: int, n_symbols: int, delta: float = 0.0) -> float:
    """Least distortion of (ε, δ)-DP: D*(ε) = (1-δ) h(ε); the inverse of `uniform_dp`.

    Parameters
    ----------
    eps : float
        ε in nats, >= 0; inf is allowed.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.
    delta : float
        δ by event, from 0 to 1.

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
    >>> round(uniform_dp_distortion(1.0, n_records=3, n_symbols=2), 6)
    0.806824
    """
    return (1 - number("delta", delta, 0, 1)) * hamming_distortion(eps, n_records, n_symbols)


def uniform_dp_mechanism(distortion: float, n_records: int, n_symbols: int, delta: float = 0.0) -> NDArray[np.float64]:
    """Optimal (ε, δ)-DP channel at distortion D: δ I + (1-δ) E_d, shape (m**n, m**n).

    Its ε is `uniform_dp`. Its distortion is D for every prior, or n(m-1)(1-δ)/m if that is less.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.
    delta : float
        δ by event, from 0 to 1.

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
    >>> uniform_dp_mechanism(0.25, n_records=1, n_symbols=2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    epsilon = uniform_dp(distortion, n_records, n_symbols, delta)
    matrix = (1 - delta) * hamming_mechanism(epsilon, n_records, n_symbols)
    matrix[np.diag_indices_from(matrix)] += delta
    return matrix


def entrywise_dp(distortion: float, n_records: int, n_symbols: int, delta: float) -> float:
    """ε at distortion D if p(y|x) <= e**ε p(y|x') + δ is asked of single outputs only: h^-1(D/(1 - m**(n-1) δ)).

    For comparison with [ZB Def. 3.2, Thm 9, 17.2]; not a privacy notion. A channel that reveals x together with a
    uniform tag of 1/δ values meets it at ε = 0. For n = 1 the number agrees with `uniform_dp`.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.
    delta : float
        δ by single output, from 0 to m**-(n-1).

    Returns
    -------
    float
        ε in nats.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(entrywise_dp(0.5, n_records=2, n_symbols=2, delta=0.1), 4)
    0.7885
    >>> round(uniform_dp(0.5, n_records=2, n_symbols=2, delta=0.1), 4)
    0.9555
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion, delta = distortion_within(distortion, n_records), number("delta", delta, 0, 1)
    return uniform_dp(distortion, n_records, n_symbols, min(1.0, n_symbols ** (n_records - 1) * delta))


def uniform_renyi_dp(distortion: float, n_records: int, n_symbols: int, alpha: float) -> float:
    """Least order-α Rényi DP at distortion D: log(c**α q**(1-α) + q**α c**(1-α) + (m-2)q)/(α-1) [ZB Thm 7.5].

    With d = D/n, q = d/(m-1), c = 1-d; 0 for d >= (m-1)/m. Exact for all n; `symmetric_mechanism` reaches it.
    At α = 1 the divergence (c-q) log(c/q), at inf `uniform_dp`.

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
    >>> round(uniform_renyi_dp(0.25, n_records=1, n_symbols=2, alpha=2), 6)
    0.847298
    """
    alpha = number("alpha", alpha, 1, math.inf)
    epsilon = uniform_dp(distortion, n_records, n_symbols)
    return _renyi(epsilon, n_symbols, alpha)


def _renyi(eps: float, n_symbols: int, alpha: float) -> float:
    """Rényi divergence between two rows of m-ary randomized response at level ε."""
    if eps == 0 or math.isinf(eps) or math.isinf(alpha):
        return eps
    order = alpha - 1
    # c**α q**(1-α) + q**α c**(1-α) - c - q factors into q (1 - e**(-(α-1)ε))(e**(αε) - 1): nothing cancels.
    if alpha * eps < _EXPONENT:
        grown = math.expm1(alpha * eps) / (math.exp(eps) + n_symbols - 1)
        if order == 0:
            return eps * grown
        return math.log1p(grown * -math.expm1(-order * eps)) / order
    exponent = alpha * eps - float(np.logaddexp(eps, math.log(n_symbols - 1)))
    if order == 0:
        return eps * math.exp(exponent)
    return float(np.logaddexp(0.0, exponent + math.log(-math.expm1(-order * eps)))) / order


def uniform_renyi_dp_distortion(eps: float, n_records: int, n_symbols: int, alpha: float) -> float:
    """Least distortion of order-α Rényi DP: the inverse of `uniform_renyi_dp`.

    Parameters
    ----------
    eps : float
        Rényi divergence allowed, in nats, >= 0.
    n_records, n_symbols : int
        Records n, and symbols m of one record.
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> round(uniform_renyi_dp_distortion(0.847298, n_records=1, n_symbols=2, alpha=2), 6)
    0.25
    """
    n_records, n_symbols = records(n_records, n_symbols)
    alpha, eps = number("alpha", alpha, 1, math.inf), number("eps", eps, 0, math.inf)
    return hamming_distortion(level_of(lambda level: _renyi(level, n_symbols, alpha), eps), n_records, n_symbols)


def uniform_mutual_information(distortion: float, n_records: int, n_symbols: int) -> float:
    """Least I(X;Y) at distortion D, uniform prior: n(log m - h_b(D/n)) - D log(m-1), in nats [ZB Thm 7.7].

    `symmetric_mechanism` reaches it.

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
        Information in nats.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(uniform_mutual_information(0.5, n_records=2, n_symbols=3), 6)
    0.725981
    """
    n_records, n_symbols = records(n_records, n_symbols)
    return n_records * _information(uniform_dp(distortion, n_records, n_symbols), n_symbols)


def _information(level: float, n_symbols: int) -> float:
    """Mutual information of m-ary randomized response at this level under the uniform law."""
    if math.isinf(level):
        return math.log(n_symbols)
    ratio = math.exp(-level)
    spread = 1 + (n_symbols - 1) * ratio
    return max(
        0.0, math.log1p((n_symbols - 1) * -math.expm1(-level) / spread) - level * (n_symbols - 1) * ratio / spread
    )


def uniform_mutual_information_distortion(information: float, n_records: int, n_symbols: int) -> float:
    """Least distortion with I(X;Y) at most the given nats: the inverse of `uniform_mutual_information`.

    Parameters
    ----------
    information : float
        Limit on the information, in nats.
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.

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
    >>> round(uniform_mutual_information_distortion(0.725981, n_records=2, n_symbols=3), 5)
    0.5
    """
    n_records, n_symbols = records(n_records, n_symbols)
    information = number("information", information, 0, math.inf)
    if information >= n_records * math.log(n_symbols):
        return 0.0
    return hamming_distortion(
        level_of(lambda level: n_records * _information(level, n_symbols), information), n_records, n_symbols
    )


def symmetric_mechanism(distortion: float, n_records: int, n_symbols: int) -> NDArray[np.float64]:
    """Channel that keeps each record with probability 1 - D/n, else draws another letter; shape (m**n, m**n).

    Optimal for DP, Rényi DP and mutual information at a uniform prior, all n [ZB Thm 7].

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
    >>> symmetric_mechanism(0.25, n_records=1, n_symbols=2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return uniform_dp_mechanism(distortion, n_records, n_symbols)


def max_information_bound(distortion: float, n_symbols: int, least_share: float) -> float:
    """Max-information of the symmetric channel on one record: log((1-D)/(q + p0(1-D-q))), q = D/(m-1) [ZB Thm 7.3].

    An upper bound on the least one for a prior whose smallest entry is p0 (exact for the uniform law, p0 = 1/m);
    the exact figure for a known prior is `optimal_max_information_channel`'s.

    Parameters
    ----------
    distortion : float
        D, from 0 to 1.
    n_symbols : int
        Letters.
    least_share : float
        p0, from 0 to 1/m.

    Examples
    --------
    >>> round(max_information_bound(0.25, n_symbols=2, least_share=0.5), 6)
    0.405465
    """
    _, n_symbols = records(1, n_symbols)
    distortion = distortion_within(distortion, 1)
    share = number("least_share", least_share, 0, 1 / n_symbols)
    other = distortion / (n_symbols - 1)
    if distortion * n_symbols >= n_symbols - 1:
        return 0.0
    floor = other + share * (1 - distortion - other)
    return math.log((1 - distortion) / floor) if floor else math.inf
