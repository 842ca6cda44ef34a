"""Channels on databases of n records, with probabilities that decay with the Hamming distance [WYZ]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.checks import nats, probabilities, whole_number
from sanitize._util.limits import DENSE_CELLS
from sanitize._util.tolerances import SAME
from sanitize.core.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidBudget, InvalidDistribution, InvalidParameter
from sanitize.mechanisms import product_channel, randomized_response
from sanitize.theory.tradeoff import DatabaseIdentifiability

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["hamming_channel", "identifiability_channel"]


def hamming_channel(n_records: int, n_symbols: int, eps: float) -> Channel:
    """Channel E_d: P(y|x) = e^{-ε d(x,y)} / (1 + (m-1) e^{-ε})^n, d the number of differing records [WYZ (27)].

    Databases are numbered 0 .. m^n - 1, with the first record most significant. The channel applies randomized response
    to every record.

    Guarantee
    ---------
    ε-differential privacy: P(y|x) <= e^ε P(y|x') for x, x' that differ in one record [WYZ Lemma 5], exactly
    for the integers that are sampled. The expected distance is h(ε) = n / (1 + e^ε/(m-1)) for every x, up to
    that rounding (it can only grow).

    Parameters
    ----------
    n_records, n_symbols : int
        Records n, and symbols m of one record, each >= 1.
    eps : float
        Level in nats, finite and >= 0.

    Returns
    -------
    Channel
        One stage per record, with m^n inputs and outputs.

    Raises
    ------
    InvalidParameter, InvalidBudget
        If an argument is out of range or the channel is too large.

    Examples
    --------
    >>> hamming_channel(2, 2, np.log(3)).matrix[0]
    array([0.5625, 0.1875, 0.1875, 0.0625])
    """
    n, m = whole_number("n_records", n_records, 1), whole_number("n_symbols", n_symbols, 1)
    if m > 1 and n * math.log(m) > math.log(DENSE_CELLS):
        raise InvalidParameter(f"n_symbols ** n_records must be at most 2^25 databases, got {m} ** {n}")
    return product_channel([randomized_response(m, eps)] * n)


def identifiability_channel(prior: ArrayLike, n_records: int, eps: float) -> Channel:
    """Channel E_i: P(y|x) = p_Y(y) e^{-ε d(x,y)} / (P_X(x) (1 + (m-1) e^{-ε})^n), p_Y = T^{-1} P_X [WYZ (26)].

    Guarantee
    ---------
    ε-identifiability: P(x|y) <= e^ε P(x'|y) for x, x' that differ in one record, expected distance h(ε), and least
    I(X;Y) at that distance [WYZ Lemma 4, Theorem 2]. Under the same prior its differential privacy is at most ε + ε_X.
    For one record, the guarantee also holds for the sampled integers. For several records, log-ratios may exceed ε by
    2^-62 over the smallest entry.

    Parameters
    ----------
    prior : array-like of shape (m ** n_records,)
        Distribution of the database, m >= 2, first record most significant; all entries > 0, at most 1024 of them.
    n_records : int
        n >= 1.
    eps : float
        Level in nats, finite and at least the threshold of `DatabaseIdentifiability`.

    Returns
    -------
    Channel

    Raises
    ------
    InvalidDistribution
        If the prior is not a distribution with full support on m^n databases.
    InvalidParameter, InvalidBudget
        If eps is not a finite number, or below the threshold, where the formula gives negative entries.

    Examples
    --------
    >>> identifiability_channel([0.6, 0.4], 1, np.log(3)).matrix.round(4)
    array([[0.875 , 0.125 ],
           [0.4375, 0.5625]])
    """
    p = probabilities(prior)
    if len(p) > 1024:
        raise InvalidDistribution(f"prior must have at most 1024 entries, got {len(p)}")
    if (p == 0).any():
        raise InvalidDistribution(
            "prior must have positive entries only, got entries of 0, for which no identifiability level exists"
        )
    if not math.isfinite(nats("eps", eps)):
        raise InvalidBudget(f"eps must be finite and >= 0, got {eps}")
    family = DatabaseIdentifiability(p, n_records)
    if eps < family.threshold * (1 - SAME):
        raise InvalidParameter(f"eps must be at least {family.threshold:.9g} nats for this prior, got {eps}")
    if eps == 0:  # the prior is uniform
        return hamming_channel(n_records, round(len(p) ** (1 / n_records)), 0.0)
    # Integers are rounded up and the kept letter gets the remainder, so posteriors only get flatter.
    matrix = family.matrix_at(eps)
    weights, rows = np.ceil(matrix * SCALE).astype(np.int64), np.arange(len(p))
    giver = np.where(np.diagonal(matrix) > 1e-6, rows, weights.argmax(axis=1))
    weights[rows, giver] -= weights.sum(axis=1) - SCALE
    filled = sparse.csr_array(weights)
    return Channel((Stage(filled.indptr, filled.indices, filled.data, len(weights)),))
