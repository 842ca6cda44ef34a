"""Chance of guessing a sensitive value before and after a release, compared with shuffled values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize.core.channel import Channel, ReducedChannel
from sanitize.report._facts import Cells, Section

if TYPE_CHECKING:
    from sanitize._util.checks import Vector
    from sanitize.core.joint import JointDistribution

# With fewer rows, the adversary's figure is chance; with more probabilities or rows, it takes longer than the rest of a
# report, to which it only adds an illustration.
_FEWEST_ROWS, _MOST_CELLS, _MOST_ROWS = 100, 1 << 20, 2_000_000


def guesses_section(joint: JointDistribution, channel: Channel) -> Section | None:
    """Section of a report on an adversary's guesses before and after; None for too few rows or too much work."""
    n = joint.n or 0
    most = joint.pmf.shape[0] * max(joint.pmf.shape[1], ReducedChannel.from_channel(channel).most_symbols)
    # This needs real rows, not a distribution that was stated, smoothed or weighted.
    is_counted = np.allclose(joint.pmf * n, np.rint(joint.pmf * n), rtol=0, atol=1e-6)
    if not (is_counted and _FEWEST_ROWS <= n <= _MOST_ROWS and most <= _MOST_CELLS):
        return None
    words = (
        "Given a person with a sensitive value and one without, an attacker who learned from other rows picks the "
        "right one so many times in 100 (50 is chance); in the last column, where sensitive values are shuffled, "
        "there is nothing to find."
    )
    dealt = _deal_secrets(joint)
    identity, rows = Channel.identity(len(joint.public), joint.public), list[Cells]()
    for name, of in (("before", identity), ("after", channel)):
        rows.append((name, *(round(100 * found_by_released_rows(own, of), 1) for own in (joint, dealt))))
    heads = ("Right guesses", "in 100", "shuffled")
    return Section("guesses", "Guesses of an attacker, before and after", words, heads, tuple(rows))


def _deal_secrets(joint: JointDistribution) -> JointDistribution:
    """Distribution of the same rows with their sensitive values shuffled."""
    counts = np.rint(joint.pmf * (joint.n or 0)).astype(np.int64)
    left, dealt, source = counts.sum(axis=0), np.empty_like(counts), np.random.default_rng(13)
    # Counts are drawn instead of rows: shuffling a million rows took a quarter of the time of a release.
    for place, n_rows in enumerate(counts.sum(axis=1)):
        dealt[place] = source.multivariate_hypergeometric(left, n_rows, method="marginals")
        left = left - dealt[place]
    return replace(joint, pmf=dealt / dealt.sum())


def found_by_released_rows(joint: JointDistribution, channel: Channel) -> float:
    """Chance of picking, from the released rows of two people, the one person who has a sensitive value.

    The adversary learns from one half of the rows how often each released symbol occurs with each sensitive value, and
    is tested on the other half. The result is averaged over both directions, and values count by their share.
    """
    counts = np.rint(joint.pmf * (joint.n or 0)).astype(np.int64)
    half = np.random.default_rng(13).binomial(counts, 0.5)
    sides = [channel.push(part.astype(np.float64)) for part in (half, counts - half)]
    return float(np.mean([_found(*sides), _found(*sides[::-1])]))


def _found(known: Vector, tried: Vector) -> float:
    """Chance that P(s|y) of ``known`` ranks a person with s above a person without s in ``tried``; ties count half."""
    right, total = 0.0, tried.sum()
    for own, row in zip(known, tried, strict=True):
        prior = np.full(len(own), own.sum() / known.sum())
        belief = np.divide(own, known.sum(axis=0), out=prior, where=known.any(axis=0))
        groups = np.unique(belief.round(12), return_inverse=True)[1]  # last digits must not break ties
        with_it, without = np.bincount(groups, row), np.bincount(groups, tried.sum(axis=0) - row)
        pairs = row.sum() * without.sum()
        share = row.sum() / total
        right += share * (with_it @ (without.cumsum() - without / 2) / pairs if pairs else 0.5)
    return float(right)
