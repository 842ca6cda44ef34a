"""Identifiability, differential privacy and mutual information of a database with a known prior [WYZ].

A prior over databases of n records with m letters is a vector of length m**n, databases in lexicographic order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from sanitize._checks import listed, number, probabilities, whole_number
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.notions import hamming_neighbours, prior_ratio
from sanitize.tradeoff._hamming import distortion_within, hamming_distortion, hamming_epsilon, hamming_mechanism
from sanitize.tradeoff._prior import prior_dp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

# A posterior mixture weight this far below 0 is rounding of the threshold, not infeasibility.
_ROUNDING = 1e-12


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
        """Whether the bounds meet."""
        return self.lower == self.upper


def identifiability_threshold(prior: ArrayLike, n_records: int = 1) -> float:
    """ε~_X: least ε at which e**(-ε d(x,y))/(1 + (m-1)e**-ε)**n is a posterior of the prior [WYZ §3].

    That is, the channel with these rows, inverted, maps the prior to a law. For n = 1 it is
    log(1/min p - m + 1). The feasible levels are an interval [ε~_X, inf), because the kernels form a semigroup;
    so a bisection finds its end. ε~_X >= ε_X; inf without full support.

    Parameters
    ----------
    prior : array-like of shape (m**n,)
        Law of the database.
    n_records : int
        Records.

    Examples
    --------
    >>> round(identifiability_threshold([0.5, 0.3, 0.2]), 6)
    1.098612
    """
    p, m = _databases(prior, n_records)
    least = float(p.min())
    if least == 0:
        return math.inf
    if p.ndim == 1:
        return max(0.0, math.log1p(max(0.0, 1 - m * least) / least))
    low = _ratio(p)
    if _weights(p, low).min() >= 0:
        return low
    high = low + 1.0
    while _weights(p, high).min() < 0:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _weights(p, middle).min() >= 0 else (middle, high)
    return high


def identifiability_mechanism(eps: float, prior: ArrayLike, n_records: int = 1) -> Vector:
    """Channel E_i: p(y|x) = p_Y(y) e**(-ε d(x,y))/(p(x)(1 + (m-1)e**-ε)**n), shape (m**n, m**n) [WYZ eq. 26].

    ε-identifiable with distortion h(ε), the least possible, and at that distortion the least I(X;Y) too
    [WYZ Lemma 4, Thm 2]. Its differential privacy is ε + ε_X.

    Parameters
    ----------
    eps : float
        Nats, at least `identifiability_threshold`.
    prior : array-like of shape (m**n,)
        Law of the database, all entries positive.
    n_records : int
        Records.

    Raises
    ------
    InvalidParameter
        If eps is below the threshold: no such posterior exists.

    Examples
    --------
    >>> identifiability_mechanism(1.0, [0.6, 0.4]).round(4)
    array([[0.8729, 0.1271],
           [0.4817, 0.5183]])
    """
    p, m = _databases(prior, n_records)
    eps = number("eps", eps, 0, math.inf)
    threshold = identifiability_threshold(prior, n_records)
    if eps < threshold * (1 - _ROUNDING):
        raise InvalidParameter(
            f"eps must be at least {threshold:.12g}, the identifiability threshold of the prior, got {eps:.12g}"
        )
    joint = hamming_mechanism(eps, p.ndim, m)
    mixture = np.maximum(_weights(p, eps), 0.0).ravel()
    if math.isinf(eps) or not mixture.any():
        return joint  # the identity; or a uniform prior at no privacy loss at all
    weighted = joint * (mixture / mixture.sum())
    rows: Vector = weighted / weighted.sum(axis=1, keepdims=True)
    return rows


def identifiability_tradeoff(distortion: float, prior: ArrayLike, n_records: int = 1) -> PrivacyInterval:
    """Least identifiability at distortion D: h^-1(D) up to D = h(ε~_X), bounds beyond [WYZ Thm 1].

    Beyond, it lies between max(h^-1(D), ε_X), which is not tight, and ε~_X; `optimal_identifiability_channel`
    computes it.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    prior : array-like of shape (m**n,)
        Law of the database.
    n_records : int
        Records.

    Returns
    -------
    PrivacyInterval

    Examples
    --------
    >>> identifiability_tradeoff(0.2, [0.5, 0.3, 0.2]).exact, identifiability_tradeoff(0.45, [0.5, 0.3, 0.2]).exact
    (True, False)
    """
    p, m = _databases(prior, n_records)
    distortion = distortion_within(distortion, n_records)
    threshold = identifiability_threshold(prior, n_records)
    level = hamming_epsilon(distortion, n_records, m)
    if level >= threshold:
        return PrivacyInterval(level, level)
    return PrivacyInterval(max(level, _ratio(p)), threshold)


def dp_tradeoff(distortion: float, prior: ArrayLike, n_records: int = 1) -> PrivacyInterval:
    """Least differential privacy of a database with a known prior at distortion D [WYZ Thm 1, sharpened].

    h^-1(D), exactly, for 0 <= D <= h(ε~_X): the identifiability function and this one coincide there. The printed
    max(h^-1 - ε_X, 0) and max(h^-1, 0) bound it elsewhere, with 0 where some constant release is good enough. For
    n = 1 it is known everywhere (`prior_dp`); independent records: `records_dp`.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    prior : array-like of shape (m**n,)
        Law of the database.
    n_records : int
        Records n, >= 1.

    Returns
    -------
    PrivacyInterval
        Bounds in nats, equal where the value is known exactly.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> dp_tradeoff(0.2, [0.5, 0.3, 0.2])
    PrivacyInterval(lower=2.0794415416798357, upper=2.0794415416798357)
    """
    p, m = _databases(prior, n_records)
    distortion = distortion_within(distortion, n_records)
    if p.ndim == 1:
        value = prior_dp(distortion, p)
        return PrivacyInterval(value, value)
    level = hamming_epsilon(distortion, n_records, m)
    if level >= identifiability_threshold(prior, n_records):
        return PrivacyInterval(level, level)
    constant = sum(1 - float(p.sum(axis=tuple(set(range(n_records)) - {i})).max()) for i in range(n_records))
    if distortion >= constant or level <= 0:
        return PrivacyInterval(0.0, 0.0)
    return PrivacyInterval(max(level - _ratio(p), 0.0), level)


def source_set_dp_tradeoff(distortion: float, priors: Sequence[ArrayLike], n_records: int = 1) -> PrivacyInterval:
    """Least DP with distortion at most D under every prior of a set: bounds in the place of [ZB Thm 6.1].

    The largest lower bound of a prior of the set, and max(h^-1(D), 0), which the symmetric channel reaches under
    any prior. Mixtures of the priors may be added: they leave the problem as it is [ZB Lemma 5] and can only
    raise the lower bound.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records.
    priors : sequence of array-likes of shape (m**n,)
        Laws of the database, of which any may hold.
    n_records : int
        Records n, >= 1.

    Returns
    -------
    PrivacyInterval
        Bounds in nats, equal where the value is known exactly.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> source_set_dp_tradeoff(0.2, [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]).exact
    True
    """
    priors = listed("priors", priors)
    if not priors:
        raise InvalidDistribution("priors must hold at least one law")
    sizes = {_databases(prior, n_records)[1] for prior in priors}
    if len(sizes) > 1:
        raise InvalidDistribution(f"priors must be over the same databases, got {sorted(sizes)} letters")
    lower = max(dp_tradeoff(distortion, prior, n_records).lower for prior in priors)
    return PrivacyInterval(lower, max(lower, hamming_epsilon(distortion, n_records, sizes.pop()), 0.0))


def prior_mutual_information(distortion: float, prior: ArrayLike, n_records: int = 1) -> float:
    """Least I(X;Y) at distortion D: H(X) - n h_b(D/n) - D log(m-1) for D <= h(ε~_X), in nats [WYZ Thm 2].

    `identifiability_mechanism` at h^-1(D) reaches it.

    Parameters
    ----------
    distortion : float
        D, from 0 to h(ε~_X); beyond, `optimal_mutual_information_channel` computes it.
    prior : array-like of shape (m**n,)
        Law of the database.
    n_records : int
        Records.

    Raises
    ------
    InvalidParameter
        If D exceeds h(ε~_X), where no closed form is known.

    Examples
    --------
    >>> round(prior_mutual_information(0.2, [0.5, 0.3, 0.2]), 6)
    0.390621
    """
    p, m = _databases(prior, n_records)
    distortion = distortion_within(distortion, n_records)
    threshold = identifiability_threshold(prior, n_records)
    largest = 0.0 if math.isinf(threshold) else hamming_distortion(threshold, n_records, m)
    if distortion > largest * (1 + _ROUNDING):
        raise InvalidParameter(
            f"distortion must lie between 0 and {largest:.12g} for the closed form, got {distortion:.12g}; "
            "optimal_mutual_information_channel has no such limit"
        )
    share = distortion / n_records
    noise = n_records * float(entr(share) + entr(1 - share)) + distortion * math.log(m - 1)
    return max(0.0, float(entr(p).sum()) - noise)


def _databases(prior: ArrayLike, n_records: int) -> tuple[Vector, int]:
    """The prior with one axis a record, and the number of letters."""
    n_records = whole_number("n_records", n_records, 1)
    p = probabilities(prior)
    m = round(len(p) ** (1 / n_records))
    if m < 2 or m**n_records != len(p):
        raise InvalidDistribution(
            f"prior must have m ** n_records entries, m >= 2 and n_records={n_records}, got {len(p)}"
        )
    return p.reshape((m,) * n_records), m


def _ratio(p: Vector) -> float:
    """ε_X of a prior with one axis a record."""
    return prior_ratio(p.ravel(), hamming_neighbours(p.ndim, p.shape[0]))


def _weights(p: Vector, eps: float) -> Vector:
    """The prior taken back through the kernel of level ε, up to a positive factor: a law iff all entries are >= 0."""
    ratio, gap, m = math.exp(-eps), -math.expm1(-eps), p.shape[0]
    for axis in range(p.ndim):
        # (1 + (m-1) r) I - r J, with 1 + (m-1) r = (1 - r) + m r: uniform laws lose nothing to cancellation.
        p = gap * p + ratio * (m * p - p.sum(axis=axis, keepdims=True))
    return p
