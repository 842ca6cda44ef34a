"""Intervals of measures over a set of distributions: every distribution of the set has its figures inside.

They hold at the same time, at the confidence of the set, without asymptotics. Those of the lifts and of local DP
end in the exact worst case; the others are bounds that need not be attained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr, xlogy

from sanitize._checks import Vector
from sanitize.budgets import logs
from sanitize.confidence._boxes import least_mean, least_near, most_mean, ratio_bounds
from sanitize.confidence._confidence_set import around

if TYPE_CHECKING:
    from sanitize.channel import Channel
    from sanitize.confidence._confidence_set import WorstCase

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
    # Of each |l - 1|, and of its square: 0 is possible where the lift may be 1.
    far = np.maximum(most - 1, 1 - least)
    near = np.maximum(np.maximum(least - 1, 1 - most), 0.0)
    l1 = least_mean(near, *box), most_mean(far, *box)
    chi2 = least_mean(near**2, *box), most_mean(far**2, *box)
    p_y = least_mean(worst.low, *box), np.minimum(most_mean(worst.high, *box), 1.0)
    nats = np.log(min(worst.low.shape))
    return {
        "max_log_lift": (max(0.0, _log(least.max())), _log(most.max())),
        "min_log_lift": (_log(least.min()), min(0.0, _log(most.min()))),
        "ldp_sensitive": (
            max(0.0, _log(ratio_bounds(worst.high, worst.low).max())),
            _log(worst.ldp_ratio.max()),
        ),
        "l1_lift": (float(l1[0].max()), float(l1[1].max())),
        "chi2_lift": (float(chi2[0].max()), float(chi2[1].max())),
        "mutual_information": (
            max(0.0, _least_information(worst, channel)),
            min(nats, _log(most.max()), _most_information(worst)),
        ),
        "total_variation": (float(p_y[0] @ l1[0]) / 2, min(1.0, float(p_y[1] @ l1[1]) / 2)),
        "chi2_divergence": (float(p_y[0] @ chi2[0]), float(p_y[1] @ chi2[1])),
        "maximal_leakage": (
            max(0.0, _log(worst.low.max(axis=0).sum())),
            min(nats, _log(worst.high.max(axis=0).sum())),
        ),
    }


def _log(value: float) -> float:
    return float(logs(np.asarray(value)))


def _most_information(worst: WorstCase) -> float:
    """I(S;Y) = min over Q of Σ P(s) D(P(.|s) || Q), so any fixed Q bounds it from above.

    D is a sum of convex functions of each p(y|s), which lie below their chords between the two ends of p(y|s).
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
    """I(S;Y) >= H(S) + E log R(S|Y) for any guess R of the posterior; here that of the frequencies.

    The right-hand side is linear in each P(.|s) and concave in P(s), where the entropy lies above its chord.
    """
    distributions = worst.distributions
    joint = channel.push(distributions.counts / distributions.n)
    guess = joint + 1 / distributions.n  # no guess of 0, which a distribution of the set might prove wrong
    told = np.asarray(channel.sparse_matrix() @ np.log(guess / guess.sum(axis=0)).T)
    parts = zip(told.T, *around(distributions), distributions.distance, strict=True)
    gain = np.array([least_near(*of_secret) for of_secret in parts])
    low, high = distributions.prior_lower, distributions.prior_upper
    slope = _slope(entr(low), entr(high), low, high)
    least = least_mean((slope + gain)[:, None], low, high)[0]
    return float((entr(low) - slope * low).sum() + least)


def _slope(bottom: Vector, top: Vector, low: Vector, high: Vector) -> Vector:
    """Slope of the chord from (low, bottom) to (high, top); 0 where they are one point."""
    width = high - low
    return np.divide(top - bottom, width, out=np.zeros_like(width), where=width > 0)
