"""Bounds on chance: how unlikely what was released is under the law that should have been drawn from.

Every figure here is the logarithm of an upper bound on a probability that holds for any number of rows, so a stated
rate of false alarms is kept whatever the table. Rows are independent given their public symbols, but they have
different laws, and all bounds allow for that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, logsumexp, xlogy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.channel import Channel

# Rounding of expected counts, in rows.
_ROUNDING = 1e-6


def log_evidence(counts: NDArray[Any], laws: NDArray[np.float64]) -> float:
    """Logarithm of an e-value against the hypothesis that each line of counts was drawn from its law.

    The e-value is the likelihood ratio of Dirichlet mixtures around the laws, averaged over how far the mixtures
    spread: a G-test whose false alarms are bounded by Markov's inequality, P(e >= 1/a) <= a, for every number of rows.
    It also holds when a line adds up rows of different laws and ``laws`` is their average, because a product is at
    most the power of the average.

    Parameters
    ----------
    counts : ndarray of shape (m, k)
    laws : ndarray of shape (m, k)
        Positive wherever there are counts, else the evidence is infinite.
    """
    counts = np.asarray(counts, np.float64)
    totals = counts.sum(axis=1)
    used = totals > 0
    counts, laws, totals = counts[used], laws[used], totals[used]
    if (counts[laws <= 0] > 0).any():
        return math.inf
    row, column = np.nonzero(laws > 0)
    n, p = counts[row, column], laws[row, column]
    if not len(n):
        return 0.0
    likelihood = np.bincount(row, weights=xlogy(n, p), minlength=len(totals))
    spreads = 2.0 ** np.arange(0, max(math.log2(totals.max()), 1) + 2)
    lines = np.stack(
        [
            np.bincount(row, weights=gammaln(n + c * p) - gammaln(c * p), minlength=len(totals))
            + gammaln(c)
            - gammaln(totals + c)
            - likelihood
            for c in spreads
        ]
    )
    # A fault of all lines shows in their product, one of a single line in the average.
    every = logsumexp(lines.sum(axis=1)) - math.log(len(spreads))
    single = logsumexp(lines) - math.log(lines.size)
    return float(np.logaddexp(every, single) - math.log(2))


def log_bennett(deviation: NDArray[Any] | float, variance: NDArray[Any] | float) -> NDArray[np.float64]:
    """Log of Bennett's bound on a sum of independent terms of mean 0, each at most 1 in size, being so far from 0."""
    t = np.maximum(np.abs(np.asarray(deviation, np.float64)) - _ROUNDING, 0)
    v = np.maximum(np.asarray(variance, np.float64), 1e-12)
    u = t / v
    return np.minimum(0.0, math.log(2) - v * ((1 + u) * np.log1p(u) - u))


def expected_counts(
    channel: Channel, counts: NDArray[Any], dense: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance (or a bound on it) of how often each symbol is released, for each line of symbol counts."""
    lines = np.atleast_2d(np.asarray(counts, np.float64))
    mean = channel.push(lines)
    if dense is not None:
        return mean, np.maximum(mean - lines @ np.square(dense), 0.0)
    totals = np.maximum(lines.sum(axis=1, keepdims=True), 1)
    return mean, mean - np.square(mean) / totals


def closed_groups(channel: Channel, present: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups of symbols that no row can leave: the group of each input and of each output.

    An output that no input in use can reach has the group -1.
    """
    sizes = [channel.n_inputs, *(stage.n_outputs for stage in channel.stages)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    reached = np.asarray(present, bool)
    tails, heads = [], []
    for depth, stage in enumerate(channel.stages):
        matrix = stage.probabilities.tocoo()
        possible = reached[matrix.row] & (matrix.data > 0)
        tails.append(matrix.row[possible] + offsets[depth])
        heads.append(matrix.col[possible] + offsets[depth + 1])
        reached = np.zeros(stage.n_outputs, bool)
        reached[matrix.col[possible]] = True
    tail, head = np.concatenate(tails), np.concatenate(heads)
    graph = sparse.coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(offsets[-1], offsets[-1]))
    groups = connected_components(graph, directed=False)[1].astype(np.int64)
    outputs = groups[offsets[-2] :]
    return groups[: channel.n_inputs], np.where(reached, outputs, -1)


def log_chance_of_copy(
    channel: Channel, x_counts: NDArray[Any], y_counts: NDArray[Any], dense: NDArray[np.float64]
) -> float:
    """Log of a bound on releasing every symbol exactly as often as the source holds it; 0 where that did not happen.

    In a group of symbols that no row can leave and whose rows all have one law, as after merging and resampling, the
    counts are multinomial. A copy of the source has the right frequencies there, only too exactly.
    """
    if channel.inputs.columns != channel.outputs.columns:
        return 0.0
    code = {symbol: y for y, symbol in enumerate(channel.outputs.symbols)}
    twin = np.array([code.get(symbol, -1) for symbol in channel.inputs.symbols])
    copy = np.bincount(twin[twin >= 0], weights=x_counts[twin >= 0], minlength=len(y_counts))
    if x_counts[twin < 0].any() or not np.array_equal(copy, y_counts):
        return 0.0
    present = np.flatnonzero(x_counts > 0)
    groups = closed_groups(channel, x_counts > 0)[0][present]
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    others = (dense[present] != dense[present[first]][place]).any(axis=1)
    n, p = x_counts[present].astype(np.float64), dense[present, twin[present]]
    logs = gammaln(np.bincount(place, n) + 1) + np.bincount(place, xlogy(n, p) - gammaln(n + 1))
    log_chance = float(logs[np.bincount(place, others) == 0].sum())
    return min(log_chance, 0.0)
