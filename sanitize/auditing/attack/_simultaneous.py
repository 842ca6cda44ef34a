"""Permutation test of differences between people in the data and people outside it, for all attacks at once.

If the release does not depend on who is in the data, the labels of the targets are exchangeable. Then the largest of
all studentized differences is equally likely to be that of any permutation of the labels, whatever the attacks compute
and however they depend on each other, so the joint test of all attacks keeps its level exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sanitize._util.checks import Mask, Vector

# With the true labels there are 2,000 permutations, so that usual levels are whole numbers of them. Fifty at a time
# hold the memory of 10,000 targets below 10 MB.
_DEALS, _BLOCK = 1999, 50


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences between the means of targets in the data and of targets outside it, with simultaneous intervals.

    Attributes
    ----------
    people, outsiders : ndarray of float
        Means over each kind of targets.
    low, high : ndarray of float
        Ends of the intervals of the differences.
    chance : ndarray of float
        Chance that any of the attacks finds so large a difference if the release does not depend on who is in the data.
    """

    people: Vector
    outsiders: Vector
    low: Vector
    high: Vector
    chance: Vector


def compare(values: Vector, is_person: Mask, level: float, rng: np.random.Generator) -> Differences:
    """Compare means of targets in the data and outside it; all intervals hold with probability at least 1 - ``level``.

    Parameters
    ----------
    values : ndarray of float, shape (n_targets, n_values)
    is_person : ndarray of bool, shape (n_targets,)
        True for people in the data, who are half of the targets.
    level : float
    rng : numpy.random.Generator

    Notes
    -----
    The critical value c is the quantile of the largest |t| over the permutations. The variance of an interval is
    increased by (h c / 2)^2 and its upper end by c^2 h / 2, where h is the largest change of a mean by one target, so
    that few hits, or none, do not make an interval too short. For shares this is enough for any number of targets, as
    summation over all outcomes shows.
    """
    n = int(is_person.sum())
    powers = np.concatenate([values, values**2], axis=1)
    total = powers.sum(axis=0)

    def studentize(sums: Vector) -> tuple[Vector, Vector, Vector]:
        means, squares = np.split(sums / n, 2, axis=-1)
        other_means, other_squares = np.split((total - sums) / n, 2, axis=-1)
        spread = np.maximum((squares - means**2 + other_squares - other_means**2) / max(n - 1, 1), 0)
        difference = means - other_means
        # Without spread, either there is no difference up to rounding, or all targets of one kind and none of the other
        # are hit.
        error = np.sqrt(np.maximum(spread, (values.max(axis=0, initial=0) / n) ** 2 / 4))
        t = np.divide(difference, error, out=np.zeros_like(difference), where=np.abs(difference) > 1e-12)
        return difference, spread, t

    largest, smallest = np.empty(_DEALS), np.empty(_DEALS)
    for start in range(0, _DEALS, _BLOCK):
        labels = rng.permuted(np.tile(is_person, (min(_BLOCK, _DEALS - start), 1)), axis=1)
        t = studentize(labels.astype(float) @ powers)[2]
        largest[start : start + len(t)], smallest[start : start + len(t)] = t.max(axis=1), -t.min(axis=1)
    sums = powers[is_person].sum(axis=0)
    difference, spread, t = studentize(sums)
    # The true labels are one of the permutations, so at most a share of `level` of all lies above this position.
    place = min(_DEALS - 1, int(np.ceil((1 - level) * (_DEALS + 1))) - 1)
    # If hardly any target is hit, permutations are too coarse, so c is at least the normal quantile for two
    # differences.
    c = max(np.sort(np.maximum(largest, smallest))[place], NormalDist().inv_cdf(1 - level / 4))
    hit = np.maximum(1, values.max(axis=0, initial=0)) / n
    half = c * np.sqrt(spread + (c * hit / 2) ** 2)
    people = sums[: values.shape[1]] / n
    chance = (1 + (largest[:, None] >= t - 1e-9).sum(axis=0)) / (_DEALS + 1)
    return Differences(people, people - difference, difference - half, difference + half + c * c * hit / 2, chance)
