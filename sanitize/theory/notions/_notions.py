"""Notions of privacy like differential privacy: worst cases of a channel over pairs of neighbouring inputs, in nats.

Inputs are neighbours if the release must not distinguish them. For one record, all letters are neighbours; for
databases of n records, databases that differ in one record are (`hamming_neighbours`). Functions take the pairs as
``neighbours``, an integer array (n_pairs, 2) read in both directions; None means all pairs of inputs.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Vector, check_number, probabilities
from sanitize._util.limits import BLOCK_CELLS
from sanitize.core.channel import channel_matrix
from sanitize.errors import InvalidParameter
from sanitize.theory.notions._divergences import epsilon_at, log_ratios, positive_part, renyi
from sanitize.theory.notions._neighbours import check_databases, check_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from sanitize.core.channel import Channel


def global_dp(
    channel: Channel | ArrayLike | Any,
    n_records: int | None = None,
    n_symbols: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    neighbours: ArrayLike | None = None,
) -> float:
    """Least ε with P(y|x) <= e^ε P(y|x') for all y and neighbouring databases x, x' [WYZ Def. 3, WXH Def. 10].

    For one record, this level is the local differential privacy of `ldp_epsilon`. By [WXH Thm 2.1] it is also the
    supremum of the max-information I_∞(X_i;Y) over records i and product priors. Priors that tend to a point mass
    approach the supremum, which in general is not attained.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases in lexicographic order.
    n_records, n_symbols : int
        Records n, and symbols m of one record: n_x = m**n.
    sizes : sequence of int
        Number of symbols of each record, instead of ``n_records`` and ``n_symbols``; n_x is their product.
    neighbours : array-like of int, shape (n_pairs, 2)
        Pairs of inputs that are neighbours, instead of a description of databases.

    Returns
    -------
    float
        Level ε in nats; inf if a database can lead to an output that a neighbour cannot.

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.
    InvalidParameter
        If the inputs are not described in exactly one way, or the description does not fit the channel.

    Examples
    --------
    >>> import numpy as np
    >>> flip = np.array([[0.75, 0.25], [0.25, 0.75]])   # each of two records on its own
    >>> round(global_dp(np.kron(flip, flip), 2, 2), 4), round(global_dp(np.kron(flip, flip), 1, 4), 4)
    (1.0986, 2.1972)
    """
    matrix = channel_matrix(channel)
    if neighbours is None:
        shape = check_databases(len(matrix), n_records, n_symbols, sizes)
        tensor = matrix.reshape(*shape, -1)
        ends = [(tensor.max(axis=record), tensor.min(axis=record)) for record in range(len(shape))]
        return max(0.0, *(float(log_ratios(top, low).max()) for top, low in ends))
    if not (n_records is None and n_symbols is None and sizes is None):
        raise InvalidParameter("give either neighbours or the databases (n_records and n_symbols, or sizes), not both")
    return _worst(matrix, neighbours, partial(renyi, alpha=math.inf))


def approximate_dp(
    channel: Channel | ArrayLike | Any,
    *,
    eps: float | None = None,
    delta: float | None = None,
    neighbours: ArrayLike | None = None,
) -> float:
    """Least δ for a given ε, or least ε for a given δ, with P(A|x) <= e^ε P(A|x') + δ for all events A.

    The least δ is the largest sum over y of the positive part of P(y|x) - e^ε P(y|x'); the least ε is computed from the
    sorted likelihood ratios, without a search [CY; ZB Def. 3(2)]. Corrected: [ZB] bound every single entry by e^ε
    P(y|x') + δ, which guarantees nothing if there are many outputs; here δ is for events.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
    eps : float
        Level in nats, >= 0; inf allowed. Exactly one of ``eps`` and ``delta`` is given.
    delta : float
        Probability, between 0 and 1.
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; None for all pairs.

    Returns
    -------
    float
        Least δ, or least ε in nats (inf if no finite level is enough).

    Raises
    ------
    InvalidParameter
        If not exactly one level is given, ``eps`` < 0, ``delta`` is outside [0, 1], or a pair does not name two inputs.

    Examples
    --------
    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> round(approximate_dp(flip, eps=0.0), 4)   # total variation
    0.5
    >>> round(approximate_dp(flip, delta=0.25), 4)    # ln((0.75 - 0.25) / 0.25)
    0.6931
    """
    matrix = channel_matrix(channel)
    if (eps is None) == (delta is None):
        given = "neither" if eps is None else "both"
        raise InvalidParameter(
            f"give exactly one of eps (for the least delta) and delta (for the least eps), got {given}"
        )
    if eps is not None:
        level = check_number("eps", eps, "be a number >= 0 (inf is allowed)", lambda v: v >= 0)
        return _worst(matrix, neighbours, partial(positive_part, eps=level))
    mass = check_number("delta", delta, "be a number from 0 to 1", lambda v: 0 <= v <= 1)
    return _worst(matrix, neighbours, partial(epsilon_at, delta=mass))


def renyi_dp(channel: Channel | ArrayLike | Any, alpha: float, neighbours: ArrayLike | None = None) -> float:
    """Largest Rényi divergence D_α(P(.|x) || P(.|x')) over neighbours, in nats [ZB Def. 3(5)].

    D_α(P || Q) = log(sum of p**α q**(1-α)) / (α-1) is the KL divergence at α = 1 and gives the DP level at α = inf. It
    grows with α [ZB Lemma 20(8)].

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
    alpha : float
        Order, > 0; inf allowed. Values near 1 cause no loss of digits.
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; None for all pairs.

    Returns
    -------
    float
        Nats; inf if an input can lead to an output that a neighbour cannot (α >= 1), or shares no output with it.

    Raises
    ------
    InvalidParameter
        If ``alpha`` is not > 0, or a pair does not name two inputs.

    Examples
    --------
    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> [round(renyi_dp(flip, alpha), 4) for alpha in (1, 2, float("inf"))]
    [0.5493, 0.8473, 1.0986]
    """
    matrix = channel_matrix(channel)
    order = check_number("alpha", alpha, "be a number > 0 (inf is allowed)", lambda v: v > 0)
    if math.isinf(order) and neighbours is None:
        return global_dp(matrix, 1, len(matrix))
    return _worst(matrix, neighbours, partial(renyi, alpha=order))


def identifiability(prior: ArrayLike, channel: Channel | ArrayLike | Any, neighbours: ArrayLike | None = None) -> float:
    """Least ε with P(x|y) <= e^ε P(x'|y) for all y and neighbours x, x' [WYZ Def. 2].

    Unlike differential privacy, the level depends on the prior: it bounds the posterior odds of two databases, not the
    change from the prior odds. It differs from `global_dp` by at most `prior_ratio` in either direction.

    Parameters
    ----------
    prior : array-like of shape (n_x,)
        Distribution of X.
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)` for databases; None for all pairs (one record).

    Returns
    -------
    float
        Nats; inf if some y rules out an input but not its neighbour. Outputs of probability 0 do not count.

    Raises
    ------
    InvalidDistribution, InvalidChannel, InvalidParameter
        If the prior is not a distribution, the channel is not row-stochastic, or they or a pair of inputs do not fit.

    Examples
    --------
    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> round(identifiability([0.5, 0.5], flip), 4), round(identifiability([0.2, 0.8], flip), 4)
    (1.0986, 2.4849)
    """
    matrix = channel_matrix(channel)
    distribution = probabilities(prior)
    if len(distribution) != len(matrix):
        raise InvalidParameter(f"prior has {len(distribution)} entries, expected one for each of {len(matrix)} inputs")
    with np.errstate(divide="ignore"):
        return _log_range(np.log(distribution)[:, None] + np.log(matrix), neighbours)


def prior_ratio(prior: ArrayLike, neighbours: ArrayLike | None = None) -> float:
    """Level ε_X of the prior alone, the largest log P(x)/P(x') over neighbours, in nats [WYZ (16)].

    Parameters
    ----------
    prior : array-like of shape (n_x,)
        Distribution of X.
    neighbours : array-like of int, shape (n_pairs, 2), optional
        Pairs of inputs, such as `hamming_neighbours(n, m)`; None for all pairs.

    Returns
    -------
    float
        Nats; inf if a possible input has an impossible neighbour.

    Raises
    ------
    InvalidDistribution, InvalidParameter
        If the prior is not a distribution, or a pair does not name two inputs.

    Examples
    --------
    >>> round(prior_ratio([0.2, 0.8]), 4)
    1.3863
    """
    with np.errstate(divide="ignore"):
        return _log_range(np.log(probabilities(prior))[:, None], neighbours)


def _worst(matrix: Vector, neighbours: ArrayLike | None, divergence: Callable[[Vector, Vector], Vector]) -> float:
    """Largest divergence over ordered pairs of neighbouring rows; at least 0."""
    if neighbours is None:
        matrix = np.unique(matrix, axis=0)
        pairs = np.stack(np.triu_indices(len(matrix), 1), axis=1)
    else:
        pairs = check_pairs(neighbours, len(matrix))
    block = max(1, BLOCK_CELLS // matrix.shape[1])
    worst = 0.0
    for start in range(0, len(pairs), block):
        p, q = matrix[pairs[start : start + block].T]
        worst = max(worst, float(divergence(p, q).max()), float(divergence(q, p).max()))
    return worst


def _log_range(logs: Vector, neighbours: ArrayLike | None) -> float:
    """Largest difference of the logs of weights (n_x, n_y) between neighbours; two weights of 0 count as equal."""
    logs = logs[:, (logs > -np.inf).any(axis=0)]
    if neighbours is None:
        return float((logs.max(axis=0) - logs.min(axis=0)).max())
    with np.errstate(invalid="ignore"):
        return _worst(logs, neighbours, lambda a, b: np.nan_to_num(np.abs(a - b), nan=0.0, posinf=np.inf))
