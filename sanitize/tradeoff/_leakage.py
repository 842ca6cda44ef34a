"""Maximal leakage with a known prior: optimal local channels, ordered source sets, i.i.d. records [ZB §IV]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number, probabilities, whole_number
from sanitize.errors import InvalidDistribution
from sanitize.tradeoff._hamming import distortion_within
from sanitize.tradeoff._prior import likeliest_first

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]


def prior_maximal_leakage(distortion: float, prior: ArrayLike) -> float:
    """Least maximal leakage at distortion D for a known prior: log(k-1 + (1-D-F_{k-1})/P_k) [ZB Thm 14].

    Where F_{k-1} <= 1-D <= F_k, F_k the probability of the k likeliest letters; 0 iff D >= 1 - P_1 [ZB Lemma 33].

    Parameters
    ----------
    distortion : float
        D, from 0 to 1.
    prior : array-like of shape (m,)
        Law of X; letters of probability 0 are never released.

    Examples
    --------
    >>> round(prior_maximal_leakage(0.3, [0.5, 0.3, 0.2]), 6)
    0.510826
    """
    distortion = distortion_within(distortion, 1)
    shown, tails = _shown(distortion, prior)[1:]
    if distortion >= tails[1]:
        return 0.0
    return math.log(shown - 1 + _kept(distortion, tails, shown))


def prior_maximal_leakage_distortion(leakage: float, prior: ArrayLike) -> float:
    """Least distortion at maximal leakage L: 1 - F_k - (e**L - k)P_{k+1}, k = floor(e**L) [ZB Cor. 15].

    Parameters
    ----------
    leakage : float
        L in nats, >= 0.
    prior : array-like of shape (m,)
        Law of X.

    Examples
    --------
    >>> round(prior_maximal_leakage_distortion(0.510826, [0.5, 0.3, 0.2]), 6)
    0.3
    """
    leakage = number("leakage", leakage, 0, math.inf)
    _, tails = likeliest_first(prior)
    if leakage >= math.log(len(tails) - 1):
        return 0.0
    letters = math.exp(leakage)
    k = min(int(letters), len(tails) - 2)
    return float(tails[k] - (letters - k) * (tails[k] - tails[k + 1]))


def prior_maximal_leakage_mechanism(distortion: float, prior: ArrayLike) -> Vector:
    """Channel of least maximal leakage at distortion D, shape (m, m): likely letters kept, the rest given to the first.

    The k-1 likeliest letters are kept, the k-th with probability (1-D-F_{k-1})/P_k; whatever is not kept becomes
    the likeliest letter.

    Parameters
    ----------
    distortion : float
        D, chance that the record is changed.
    prior : array-like of shape (n_symbols,)
        Law of one record.

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
    >>> prior_maximal_leakage_mechanism(0.35, [0.5, 0.3, 0.2])
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    distortion = distortion_within(distortion, 1)
    order, shown, tails = _shown(distortion, prior)
    kept = np.zeros(len(order))
    kept[order[: shown - 1]] = 1
    kept[order[shown - 1]] = 1.0 if shown == 1 else _kept(distortion, tails, shown)
    matrix = np.diag(kept)
    matrix[:, order[0]] += 1 - kept
    return matrix


def _shown(distortion: float, prior: ArrayLike) -> tuple[NDArray[np.intp], int, Vector]:
    """Letters by probability, how many of them are released, and the tails T_k."""
    order, tails = likeliest_first(prior)
    return order, max(1, int((tails > distortion).sum())), tails


def _kept(distortion: float, tails: Vector, shown: int) -> float:
    """Share of the last released letter that is kept; what is not kept costs no more than is left of D."""
    letter = tails[shown - 1] - tails[shown]
    kept = float((tails[shown - 1] - distortion) / letter)
    while (1 - kept) * letter > distortion - tails[shown]:
        kept = math.nextafter(kept, 1)
    return kept


def ordered_maximal_leakage(distortion: float, priors: ArrayLike) -> float:
    """Least maximal leakage with distortion at most D under every prior of an ordered set: the largest of theirs.

    Parameters
    ----------
    distortion : float
        D, from 0 to 1.
    priors : array-like of shape (k, m)
        Laws that one order of the letters sorts all (Class II) [ZB Def. 1].

    Examples
    --------
    >>> round(ordered_maximal_leakage(0.3, [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]), 6)
    0.510826
    """
    return max(prior_maximal_leakage(distortion, prior) for prior in _ordered(priors))


def ordered_maximal_leakage_distortion(leakage: float, priors: ArrayLike) -> float:
    """Least worst distortion at maximal leakage L over an ordered set: max_P of each prior's [ZB Cor. 15].

    Parameters
    ----------
    leakage : float
        Limit L on the maximal leakage, in nats.
    priors : array-like of shape (n_priors, n_symbols)
        Laws of one record, all with the same order of their symbols.

    Returns
    -------
    float
        Chance that the record is changed, under the worst prior of the set.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(ordered_maximal_leakage_distortion(0.510826, [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]), 6)
    0.3
    """
    return max(prior_maximal_leakage_distortion(leakage, prior) for prior in _ordered(priors))


def ordered_maximal_leakage_mechanism(distortion: float, priors: ArrayLike) -> Vector:
    """Channel of least maximal leakage whose distortion is at most D under every prior of an ordered set.

    Parameters
    ----------
    distortion : float
        D, chance that the record is changed, under any prior of the set.
    priors : array-like of shape (n_priors, n_symbols)
        Laws of one record, all with the same order of their symbols.

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
    >>> ordered_maximal_leakage_mechanism(0.4, [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]).round(4)
    array([[1.    , 0.    , 0.    ],
           [0.6667, 0.3333, 0.    ],
           [1.    , 0.    , 0.    ]])
    """
    laws = _ordered(priors)
    worst = max(laws, key=lambda prior: prior_maximal_leakage(distortion, prior))
    # The letters are ranked as the whole set ranks them, whatever ties the worst prior has.
    order = np.argsort(-laws.sum(axis=0), kind="stable")
    matrix = np.empty((len(order), len(order)))
    matrix[np.ix_(order, order)] = prior_maximal_leakage_mechanism(distortion, worst[order])
    return matrix


def iid_maximal_leakage_bound(distortion: float, prior: ArrayLike, n_records: int) -> float:
    """Maximal leakage of n identical optimal local channels: n times the local value at D/n [ZB Thm 18.2].

    An upper bound on the least one for n >= 2; printed as the value. Exact for n = 1.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    prior : array-like of shape (n_symbols,)
        Law of one record.
    n_records : int
        Records n, >= 1.

    Returns
    -------
    float
        Leakage in nats.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> round(iid_maximal_leakage_bound(0.6, [0.5, 0.3, 0.2], 2), 6)
    1.021651
    """
    n_records = whole_number("n_records", n_records, 1)
    return n_records * prior_maximal_leakage(distortion_within(distortion, n_records) / n_records, prior)


def _ordered(priors: ArrayLike) -> Vector:
    """Rows as laws, all sorted by one order of the letters."""
    try:
        table = np.atleast_2d(np.asarray(priors, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise InvalidDistribution("priors must be a matrix (k, m) of probabilities") from None
    if table.ndim != 2 or not table.size:
        raise InvalidDistribution(f"priors must be a matrix (k, m) of probabilities, got shape {table.shape}")
    laws = np.array([probabilities(row, "every prior") for row in table])
    ranked = laws[:, np.argsort(-laws.sum(axis=0), kind="stable")]
    if (np.diff(ranked, axis=1) > 0).any():
        raise InvalidDistribution("priors must be sorted by one common order of the letters (Class II)")
    return laws
