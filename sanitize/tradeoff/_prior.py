"""A known prior: optimal local channels of one record, and of n independent records [ZB §IV]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import listed, number, probabilities, whole_number
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.tradeoff._hamming import distortion_within
from sanitize.tradeoff._inverses import level_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

_DENSE_CELLS = 1 << 25


def prior_dp(distortion: float, prior: ArrayLike, delta: float = 0.0) -> float:
    """Least ε of (ε, δ)-LDP at distortion D for a known prior: min_k log((k-1)(1-D')/(D'-T_k)) [ZB Thm 9, 13].

    D' = D/(1-δ), T_k the prior outside its k likeliest letters, over k >= 2 with T_k < D'; 0 iff D' >= 1 - P_1
    [ZB Lemma 10]. δ bounds events; for one record the entrywise δ of the paper gives the same number.

    Parameters
    ----------
    distortion : float
        D, probability of a changed letter, from 0 to 1.
    prior : array-like of shape (m,)
        Law of X, in any order; zeros allowed.
    delta : float
        δ, from 0 to 1.

    Returns
    -------
    float
        ε in nats, inf where no finite one suffices (D = 0).

    Raises
    ------
    InvalidParameter, InvalidDistribution
        If a number is out of its range, or the prior is not a law.

    Examples
    --------
    >>> round(prior_dp(0.2, [0.5, 0.3, 0.2]), 6), prior_dp(0.5, [0.5, 0.3, 0.2])
    (2.079442, 0.0)
    """
    distortion, delta = distortion_within(distortion, 1), number("delta", delta, 0, 1)
    _, tails = likeliest_first(prior)
    if distortion >= (1 - delta) * tails[1]:
        return 0.0
    least = distortion / (1 - delta)
    room = least - tails[2:]
    open_ = room > 0
    if not open_.any():
        return math.inf
    k = np.arange(1, len(room) + 1)[open_]
    return max(0.0, float((np.log(k) + math.log1p(-least) - np.log(room[open_])).min()))


def prior_dp_distortion(eps: float, prior: ArrayLike, delta: float = 0.0) -> float:
    """Least distortion of (ε, δ)-LDP: (1-δ) min_k [1 - F_k e**ε/(e**ε + k - 1)]; the inverse of `prior_dp`.

    F_k is the probability of the k likeliest letters.

    Parameters
    ----------
    eps : float
        Nats, >= 0; inf gives 0.
    prior : array-like of shape (m,)
        Law of X.
    delta : float
        δ, from 0 to 1.

    Examples
    --------
    >>> round(prior_dp_distortion(2.079442, [0.5, 0.3, 0.2]), 6)
    0.2
    """
    eps, delta = number("eps", eps, 0, math.inf), number("delta", delta, 0, 1)
    _, tails = likeliest_first(prior)
    return (1 - delta) * float(_local_distortions(eps, tails).min())


def prior_dp_mechanism(distortion: float, prior: ArrayLike, delta: float = 0.0) -> Vector:
    """Optimal (ε, δ)-LDP channel at distortion D for a known prior, shape (m, m); its ε is `prior_dp`.

    δ I + (1-δ) M: M releases only the k likeliest letters, each kept with e**ε/(e**ε + k - 1); any other letter
    draws one of the k at random. Its distortion is at most D.

    Parameters
    ----------
    distortion : float
        D, chance that the record is changed.
    prior : array-like of shape (n_symbols,)
        Law of one record.
    delta : float
        δ by event, from 0 to 1.

    Returns
    -------
    ndarray of shape (n_symbols, n_symbols)
        Rows sum to 1.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> prior_dp_mechanism(0.3, [0.5, 0.45, 0.05]).round(4)
    array([[0.7368, 0.2632, 0.    ],
           [0.2632, 0.7368, 0.    ],
           [0.5   , 0.5   , 0.    ]])
    """
    epsilon = prior_dp(distortion, prior, delta)
    order, tails = likeliest_first(prior)
    m = len(order)
    k = 1 + int(_local_distortions(epsilon, tails).argmin())
    matrix = np.zeros((m, m))
    ratio = math.exp(-epsilon)
    matrix[np.ix_(order, order[:k])] = 1 / k
    matrix[np.ix_(order[:k], order[:k])] = ratio / (1 + (k - 1) * ratio)
    matrix[order[:k], order[:k]] = 1 / (1 + (k - 1) * ratio)
    return delta * np.eye(m) + (1 - delta) * matrix


def _local_distortions(eps: float, tails: Vector) -> Vector:
    """Distortion of keeping the k likeliest letters at level ε, for k = 1..m."""
    others = np.arange(len(tails) - 1) * math.exp(-eps)
    # 1 - F/(1 + o) = (T + o)/(1 + o)
    loss: Vector = (tails[1:] + others) / (1 + others)
    return loss


def records_dp(distortion: float, priors: Sequence[ArrayLike], delta: float = 0.0) -> float:
    """Least ε of (ε, δ)-DP for independent records with known priors at total distortion D, over all mechanisms.

    The root of Σ_i D*_i(ε) = D: no joint mechanism beats one optimal local channel a record at a common ε.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    priors : sequence of n array-likes
        Law of each record; alphabets may differ.
    delta : float
        δ by event, from 0 to 1.

    Examples
    --------
    >>> round(records_dp(0.5, [[0.5, 0.3, 0.2], [0.5, 0.5]]), 6)
    1.475285
    """
    tails = _all_tails(priors)
    distortion, delta = distortion_within(distortion, len(tails)), number("delta", delta, 0, 1)

    def utility(eps: float) -> float:
        return -(1 - delta) * float(sum(_local_distortions(eps, t).min() for t in tails))

    return level_of(utility, -distortion)


def records_dp_distortion(eps: float, priors: Sequence[ArrayLike], delta: float = 0.0) -> float:
    """Least total distortion of (ε, δ)-DP for independent records: Σ_i D*_i(ε); the inverse of `records_dp`.

    Parameters
    ----------
    eps : float
        ε in nats, >= 0; inf is allowed.
    priors : sequence of n array-likes
        Law of each record; alphabets may differ.
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
    >>> round(records_dp_distortion(1.0, [[0.5, 0.3, 0.2], [0.5, 0.5]]), 6)
    0.684095
    """
    eps, delta = number("eps", eps, 0, math.inf), number("delta", delta, 0, 1)
    return (1 - delta) * float(sum(_local_distortions(eps, t).min() for t in _all_tails(priors)))


def records_dp_mechanism(distortion: float, priors: Sequence[ArrayLike], delta: float = 0.0) -> Vector:
    """Optimal (ε, δ)-DP channel for independent records at total distortion D: a product of local ones.

    Shape (m_1 ... m_n, m_1 ... m_n), databases in lexicographic order.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    priors : sequence of n array-likes
        Law of each record; alphabets may differ.
    delta : float
        δ by event, from 0 to 1.

    Returns
    -------
    ndarray of shape (m_1 ... m_n, m_1 ... m_n)
        Rows sum to 1; databases in lexicographic order.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> records_dp_mechanism(0.4, [[0.5, 0.5], [0.8, 0.2]]).shape
    (4, 4)
    """
    epsilon = records_dp(distortion, priors, delta)
    size = math.prod(len(t) - 1 for t in _all_tails(priors))
    if size**2 > _DENSE_CELLS:
        raise InvalidParameter(f"the channel of all records must have at most 2**25 cells, got {size} x {size}")
    matrix: NDArray[np.float64] = np.ones((1, 1))
    for prior in priors:
        level = prior_dp_distortion(epsilon, prior, delta)
        matrix = np.kron(matrix, prior_dp_mechanism(level, prior, delta)).astype(np.float64)
    return matrix


def iid_dp(distortion: float, prior: ArrayLike, n_records: int, delta: float = 0.0) -> float:
    """Least ε of (ε, δ)-DP for n i.i.d. records: the local value at D/n, over all mechanisms [ZB Thm 18.1].

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    prior : array-like of shape (n_symbols,)
        Law of one record.
    n_records : int
        Records n, >= 1.
    delta : float
        δ by event, from 0 to 1.

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
    >>> round(iid_dp(0.4, [0.5, 0.3, 0.2], 2), 6)
    2.079442
    """
    n_records = whole_number("n_records", n_records, 1)
    return prior_dp(distortion_within(distortion, n_records) / n_records, prior, delta)


def iid_dp_distortion(eps: float, prior: ArrayLike, n_records: int, delta: float = 0.0) -> float:
    """Least distortion of (ε, δ)-DP for n i.i.d. records: n times the local one; the inverse of `iid_dp`.

    Parameters
    ----------
    eps : float
        ε in nats, >= 0; inf is allowed.
    prior : array-like of shape (n_symbols,)
        Law of one record.
    n_records : int
        Records n, >= 1.
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
    >>> round(iid_dp_distortion(2.079442, [0.5, 0.3, 0.2], 2), 6)
    0.4
    """
    return whole_number("n_records", n_records, 1) * prior_dp_distortion(eps, prior, delta)


def likeliest_first(prior: ArrayLike) -> tuple[NDArray[np.intp], Vector]:
    """Letters from likeliest to least likely, ties by index, and T_k = Σ_{i>k} P_i for k = 0..m."""
    p = probabilities(prior)
    order = np.argsort(-p, kind="stable")
    tails = np.zeros(len(p) + 1)
    tails[:-1] = np.cumsum(p[order[::-1]])[::-1]
    return order, tails


def _all_tails(priors: Sequence[ArrayLike]) -> list[Vector]:
    tails = [likeliest_first(prior)[1] for prior in listed("priors", priors)]
    if not tails:
        raise InvalidDistribution("priors must hold the law of at least one record")
    return tails
