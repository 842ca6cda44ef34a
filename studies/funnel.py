"""The privacy funnel beside two published heuristics, in one process: ``python studies/funnel.py``.

Distributions are `sanitize.datasets.make_joint` (uniform entries, normalised), budgets are parts of what X tells of S.
The heuristics are written from their definitions, and each may share time between any of the channels that it finds:

* merging: two symbols become one, again and again, each time the pair that takes most of I(S;Y) for what it takes of
  I(X;Y);
* difference of convex functions: I(S;Y) - β I(X;Y), both convex in P(y|x), the second replaced by its tangent and the
  first by a bound that Bregman's divergence gives, so that every step is one of exponents. Many starts and many β.

Set OMP_NUM_THREADS=1. Results: funnel.md.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

import sanitize as sz
from sanitize.core.budgets import MaximalLeakageBudget, MutualInformationBudget, TotalVariationBudget
from sanitize.core.measures import maximal_leakage, mutual_information, total_variation
from sanitize.datasets import make_joint
from sanitize.mechanisms import solve_optimal_random_response

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

_RATES, _STARTS, _STEPS = np.geomspace(0.015, 1.0, 24), 20, 300
_TINY = 1e-300
KINDS = (
    (MutualInformationBudget, mutual_information),
    (TotalVariationBudget, total_variation),
    (MaximalLeakageBudget, maximal_leakage),
)


def information(pmf: Vector) -> Vector:
    """Mutual information of distributions (..., n, m), in nats."""
    alone = xlogy(pmf.sum(axis=-1), pmf.sum(axis=-1)).sum(axis=-1) + xlogy(pmf.sum(axis=-2), pmf.sum(axis=-2)).sum(-1)
    return np.maximum(xlogy(pmf, pmf).sum(axis=(-1, -2)) - alone, 0.0)


def points_of(joint: sz.JointDistribution, channels: Vector) -> Vector:
    """I(S;Y) and I(X;Y) of channels (K, n_x, n_y), shape (K, 2)."""
    return np.stack([information(joint.pmf @ channels), information(joint.p_x[:, None] * channels)], axis=1)


def merged(joint: sz.JointDistribution) -> Vector:
    """Points of greedy merging, from all of X to one symbol."""
    channel = np.eye(len(joint.p_x))
    path = [points_of(joint, channel[None])[0]]
    while channel.shape[1] > 1:
        made = []
        for i, j in combinations(range(channel.shape[1]), 2):
            together = np.delete(channel, j, axis=1)
            together[:, i] += channel[:, j]
            made.append(together)
        points = points_of(joint, np.array(made))
        lost = path[-1] - points
        best = int((lost[:, 0] / np.maximum(lost[:, 1], _TINY)).argmax())
        channel = made[best]
        path.append(points[best])
    return np.array(path)


def alternated(joint: sz.JointDistribution) -> Vector:
    """Points of the difference of convex functions, from random channels for each β."""
    n = len(joint.p_x)
    rng = np.random.default_rng(0)
    rate = np.repeat(_RATES, _STARTS)[:, None, None]
    channels = rng.dirichlet(np.full(n, 0.5), (len(rate), n))
    given_x = joint.pmf / joint.p_x
    found = []
    for step in range(_STEPS):
        p_y = joint.p_x @ channels
        of_s = np.log(np.maximum(joint.pmf @ channels / joint.p_s[:, None], _TINY) / p_y.clip(_TINY)[:, None])
        of_x = np.log(np.maximum(channels, _TINY) / p_y.clip(_TINY)[:, None])
        score = np.log(np.maximum(channels, _TINY)) - given_x.T @ of_s + rate * of_x
        channels = np.exp(score - score.max(axis=2, keepdims=True))
        channels /= channels.sum(axis=2, keepdims=True)
        if step % 100 == 99:
            found.append(points_of(joint, channels))
    return np.concatenate(found)


def within(points: Vector, limit: float) -> float:
    """The most of I(X;Y) with I(S;Y) at most a limit, where time is shared between two points, or nothing is told."""
    leak, kept = np.append(points[:, 0], 0.0), np.append(points[:, 1], 0.0)
    safe = leak <= limit
    best = float(kept[safe].max())
    low, high = np.flatnonzero(safe)[:, None], np.flatnonzero(~safe)
    if high.size:
        share = (limit - leak[low]) / (leak[high] - leak[low])
        best = max(best, float(((1 - share) * kept[low] + share * kept[high]).max()))
    return best


def table(n_x: int, n_s: int, n_distributions: int, shares: list[float], gap: float) -> None:
    """One row a budget: gaps, how far above the heuristics, and seconds of the processor."""
    joints = [make_joint(n_x, n_s, random_state=seed) for seed in range(n_distributions)]
    start = time.process_time()
    paths = [merged(joint) for joint in joints]
    merging = time.process_time() - start
    clouds = [alternated(joint) for joint in joints]
    rest = time.process_time() - start - merging
    print(
        f"\n{n_distributions} distributions of |S| = {n_s}, |X| = {n_x}, gap asked for {gap:g} nats. Seconds of each:"
    )
    print(f"{merging / n_distributions:.2f} for merging, {rest / n_distributions:.2f} for the difference.\n")
    print("| budget | of all | kept, median | gap, median | gap, max | within the gap | above merging, least | median "
          "| above the difference, least | median | s, median | s, max |")  # fmt: skip
    print("|---" * 12 + "|")
    for kind, measure in KINDS:
        for share in shares:
            kept, gaps, seconds, above = [], [], [], []
            for joint, path, cloud in zip(joints, paths, clouds, strict=True):
                limit = share * measure(joint)
                start = time.process_time()
                made = solve_optimal_random_response(joint, kind(limit), gap=gap)
                seconds.append(time.process_time() - start)
                assert kind(limit).excess(joint.push(made.channel)).max() <= 0
                kept.append(made.normalized_utility)
                gaps.append(made.gap)
                above.append([made.utility - within(points, limit) for points in (path, cloud)])
            told = [f"{np.median(kept):.3f}", f"{np.median(gaps):.1e}", f"{max(gaps):.1e}"]
            told.append(f"{sum(found <= gap + 1e-10 for found in gaps)} of {len(gaps)}")
            for differences in np.array(above).T:
                is_same = kind is MutualInformationBudget
                told += [f"{differences.min():.6f}", f"{np.median(differences):.4f}"] if is_same else ["–", "–"]
            told += [f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"]
            print(f"| {kind.__name__[:-6]} | {share:g} |", " | ".join(told), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.02, 0.1, 0.3, 0.7])
    parser.add_argument("--few", type=int, default=100, help="distributions of 5 x 8")
    parser.add_argument("--many", type=int, default=20, help="distributions of 5 x 17")
    options = parser.parse_args()
    table(8, 5, options.few, options.shares, 1e-6)
    table(17, 5, options.many, options.shares, 1e-4)


if __name__ == "__main__":
    main()
