"""Intervals of measures over a set of distributions, and a test of whether rows repeat too often for independent draws.

The figures of every distribution of the set lie inside the intervals.

All intervals hold at the same time, at the confidence of the set, without asymptotics. The intervals of the lifts and
of local DP end in the exact worst case; the others are bounds that need not be attained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr, xlogy

from sanitize._util.checks import Vector
from sanitize.core.budgets import logs
from sanitize.core.confidence._boxes import least_mean, least_near, most_mean, ratio_bounds
from sanitize.core.confidence._confidence_set import deviation_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.channel import Channel
    from sanitize.core.confidence._confidence_set import WorstCase

# Largest probability that the test refuses independent rows of any distribution: their owner could not remedy it.
_ALARM = 1e-6
# Stakes of the bets against independence, each half of the one before, because the number of copies is unknown. A stake
# below 1 leaves something after a lost bet.
_BETS = 0.95 * 0.5 ** np.arange(10)
# A note and not an error, because a table may repeat rows for reasons that its owner knows.
REPEATED = (
    "rows repeat exactly, far more often than independently drawn rows do, but confidence= assumes such rows: drop "
    "the copies, or keep one row per person"
)
Interval = tuple[float, float]


def intervals(worst: WorstCase, channel: Channel) -> dict[str, Interval]:
    """Interval of each measure of the released distribution, by the measure's name in reports.

    Parameters
    ----------
    worst : WorstCase
        Extremes of the channel over the set.
    channel : Channel
    """
    least, most, distributions = worst.least_lift, worst.most_lift, worst.distributions
    box = (distributions.prior_lower, distributions.prior_upper)
    # Extremes of |l - 1| are at an end of the lift's interval, or 0 where the lift may be 1.
    far = np.maximum(most - 1, 1 - least)
    near = np.maximum(np.maximum(least - 1, 1 - most), 0.0)
    l1 = least_mean(near, *box), most_mean(far, *box)
    chi2 = least_mean(near**2, *box), most_mean(far**2, *box)
    p_y = least_mean(worst.low, *box), np.minimum(most_mean(worst.high, *box), 1.0)
    nats = np.log(min(worst.low.shape))
    return {
        "max_log_lift": (max(0.0, _log(least.max())), _log(most.max())),
        "min_log_lift": (_log(least.min()), min(0.0, _log(most.min()))),
        "ldp_sensitive": (max(0.0, _log(ratio_bounds(worst.high, worst.low).max())), _log(worst.ldp_ratio.max())),
        "l1_lift": (float(l1[0].max()), float(l1[1].max())),
        "chi2_lift": (float(chi2[0].max()), float(chi2[1].max())),
        "mutual_information": (
            max(0.0, _least_information(worst, channel)),
            min(nats, _log(most.max()), _most_information(worst)),
        ),
        "total_variation": (float(p_y[0] @ l1[0]) / 2, min(1.0, float(p_y[1] @ l1[1]) / 2)),
        "chi2_divergence": (float(p_y[0] @ chi2[0]), float(p_y[1] @ chi2[1])),
        "maximal_leakage": (max(0.0, _log(worst.low.max(axis=0).sum())), min(nats, _log(worst.high.max(axis=0).sum()))),
    }


def _log(value: float) -> float:
    return float(logs(np.asarray(value)))


def _most_information(worst: WorstCase) -> float:
    """Upper bound of I(S;Y) = min over Q of Σ P(s) D(P(.|s) || Q), from a fixed Q.

    The divergence D is a sum of convex functions of single p(y|s), each of which lies below its chord between the two
    bounds of p(y|s).
    """
    distributions = worst.distributions
    q = (worst.low + worst.high).mean(axis=0) / 2
    q = q / q.sum()
    divergence = np.empty(len(worst.low))
    for s, (low, high) in enumerate(zip(worst.low, worst.high, strict=True)):
        bottom, top = xlogy(low, low / q), xlogy(high, high / q)
        slope = _slope(bottom, top, low, high)
        divergence[s] = (bottom - slope * low).sum() + most_mean(slope[:, None], low, high)[0]
    return float(most_mean(divergence[:, None], distributions.prior_lower, distributions.prior_upper)[0])


def _least_information(worst: WorstCase, channel: Channel) -> float:
    """Lower bound H(S) + E log R(S|Y) of I(S;Y), with the posterior R of the observed frequencies.

    The right-hand side is linear in each P(.|s) and concave in P(s), where the entropy lies above its chord.
    """
    distributions = worst.distributions
    joint = channel.push(distributions.counts / distributions.n)
    guess = joint + 1 / distributions.n  # a guess of 0 would give -inf if a distribution of the set has some mass there
    log_guesses = np.asarray(channel.sparse_matrix() @ np.log(guess / guess.sum(axis=0)).T)
    parts = zip(log_guesses.T, *deviation_bounds(distributions), distributions.distance, strict=True)
    gain = np.array([least_near(*of_secret) for of_secret in parts])
    low, high = distributions.prior_lower, distributions.prior_upper
    slope = _slope(entr(low), entr(high), low, high)
    least = least_mean((slope + gain)[:, None], low, high)[0]
    return float((entr(low) - slope * low).sum() + least)


def _slope(bottom: Vector, top: Vector, low: Vector, high: Vector) -> Vector:
    """Slope of the chord from (low, bottom) to (high, top); 0 if they are one point."""
    width = high - low
    return np.divide(top - bottom, width, out=np.zeros_like(width), where=width > 0)


def repeats_too_often(counts: NDArray[np.int64]) -> bool:
    """Return whether rows repeat too often to be independent draws; it is True for such draws with probability <= 1e-6.

    The test finds a table that holds all its rows twice, or a table of 3,000 rows in which some 400 occur twice. No
    test can distinguish copies that look like independent draws, such as those of a bootstrap.

    Parameters
    ----------
    counts : ndarray of int
        Number of copies of each distinct row.

    Notes
    -----
    If n is itself drawn from a Poisson distribution, each value x occurs N times among n independent draws, where N has
    a Poisson distribution with a mean of its own, independently of all other values. Whatever the mean is, for k >= 2

    * P(N = k - 1) P(N = k + 1) = k / (k + 1) P(N = k)², so a P(N = k - 1) + a' P(N = k + 1) >= u P(N = k) with
      u = 2 √(a a' k / (k + 1)): k - 1 and k + 1 copies are about as frequent as k of them;
    * N >= 1 is a multiple of k with probability at most P(N >= 1) / 2. Odd N are likelier than even ones, by
      e^-μ (1 - e^-μ). For k >= 3 a multiple below the mode is no likelier than the next number, one above it no
      likelier than the number before, and one at the mode no likelier than both together, by the first point; no two
      multiples share such a number.

    So 1 + u at k, 1 - a at k - 1, 1 - a' at k + 1 and 1 elsewhere has a mean of at most 1, and so has 1 + a at the
    multiples of k, 1 - a at other N >= 1 and 1 at 0. By Markov's inequality the product over all values reaches 1/α
    with probability at most α; for n itself that is at most e √n α, because n is drawn with probability at least
    1 / (e √n).

    Examples
    --------
    >>> rows = np.random.default_rng(0).integers(0, 1000, 800)
    >>> counts = np.unique(rows, return_counts=True)[1]
    >>> repeats_too_often(counts), repeats_too_often(2 * counts)
    (False, True)
    """
    times, n_cells = np.unique(counts[counts > 0], return_counts=True)
    cells_by_times = dict(zip(times.tolist(), n_cells.tolist(), strict=True))
    n = max(int(times @ n_cells), 1)
    needed = np.log((_BETS.size**2 + _BETS.size) / _ALARM) + 1 + np.log(n) / 2
    # A table that is repeated k times has only multiples of k, among which k may not occur: all up to 32 are tried.
    for k in np.union1d(times[times > 1], np.arange(2, 33)).tolist():
        before, current, after = (cells_by_times.get(number, 0) for number in (k - 1, k, k + 1))
        u = 2 * np.sqrt(np.outer(_BETS, _BETS) * k / (k + 1))
        shown = current * np.log1p(u) + before * np.log1p(-_BETS)[:, None] + after * np.log1p(-_BETS)
        multiples = n_cells[times % k == 0].sum()
        together = multiples * np.log1p(_BETS) + (n_cells.sum() - multiples) * np.log1p(-_BETS)
        # Each k gets the share 1 / (k (k + 1)) of the alarm; over k from 2 on, the shares sum to 1/2.
        if max(float(shown.max()), float(together.max())) >= needed + np.log(k * (k + 1)):
            return True
    return False
