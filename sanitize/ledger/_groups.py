"""Units in groups that were released the same so far, split further by what they are released next.

A group is split into blocks of what its units would be released, each of which is within the budget on
P(s|group, block)/P(s), P(s) being the reference. A group that cannot be split so stays as it is: its units are released
values that say nothing of whose they are. So whatever a unit was released, those who were released the same are within
the budget: it holds for the reference, it holds for each block when it is made, and nobody joins or leaves a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.budgets import ReferredBudget
from sanitize.joint import JointDistribution
from sanitize.mechanisms import subset_merging

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget

# Sets of symbols that the search of one group judges: groups are many, and mostly of few symbols.
_EFFORT = 50_000.0


def blocks_of(
    group: NDArray[np.intp],
    secret: NDArray[np.intp],
    symbol: NDArray[np.intp],
    reference: NDArray[np.int64],
    budget: Budget,
    least: int,
) -> NDArray[np.intp]:
    """Block of each unit in its group: 0 where the group stays whole, else from 1 on.

    Parameters
    ----------
    group, secret, symbol : ndarray of int, shape (n_units,)
        Of units that are released something now, each once.
    reference : ndarray of int, shape (n_s,)
        Units of each secret, whose shares lifts are held against.
    budget : Budget
        One that looks at lifts; unions of what is within it are within it.
    least : int
        Units of a block.
    """
    blocks = np.zeros(len(group), np.intp)
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if len(members) >= 2 * least:
            blocks[members] = _split(secret[members], symbol[members], reference, budget, least)
    return blocks


def _split(
    secret: NDArray[np.intp], symbol: NDArray[np.intp], reference: NDArray[np.int64], budget: Budget, least: int
) -> NDArray[np.intp]:
    """The same in one group, which has units enough."""
    seen, own = np.unique(symbol, return_inverse=True)
    counts = np.zeros((len(reference), len(seen)))
    np.add.at(counts, (secret, own), 1)
    present = np.flatnonzero(counts.any(axis=1))
    law = JointDistribution.from_matrix(counts[present] / len(secret))
    within = ReferredBudget(budget, reference / reference.sum(), present)
    whole = np.zeros(len(secret), np.intp)
    if len(seen) == 1 or within.excess_of(np.ones((len(present), 1)), law.p_s)[0] > 0:
        return whole
    found = subset_merging(law, within, effort=_EFFORT).stages[0].indices
    merged = _at_least(found, counts.sum(axis=0), least)
    return whole if merged.max() == 0 else merged[own] + 1


def _at_least(merged: NDArray[np.int32], sizes: NDArray[np.float64], least: int) -> NDArray[np.intp]:
    """Blocks put together with their neighbours until each has units enough."""
    n = int(merged.max()) + 1
    of_block = np.bincount(merged, sizes, n)
    place = np.bincount(merged, np.arange(len(merged)) * sizes, n) / of_block
    joined, number, held = np.zeros(n, np.intp), 0, 0.0
    order = np.argsort(place, kind="stable")
    for block in order:
        joined[block] = number
        held += of_block[block]
        if held >= least:
            number, held = number + 1, 0.0
    joined[joined == number] = max(number - 1, 0)  # the last ones are too few
    return joined[merged]


def released_as(group: NDArray[np.intp], block: NDArray[np.intp], words: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Whose symbol each unit is released as: anybody's of its block, so that it tells the block alone.

    Its own would tell, month after month, whether a value changed that the channel released alike.

    Parameters
    ----------
    group, block : ndarray of int, shape (n_units,)
    words : ndarray of uint64, shape (n_units,)
        A random word each.
    """
    order = np.lexsort((block, group))
    starts = np.r_[True, (np.diff(group[order]) != 0) | (np.diff(block[order]) != 0)]
    first = np.flatnonzero(starts)
    number = np.cumsum(starts) - 1
    size = np.diff(np.r_[first, len(order)])[number].astype(np.uint64)
    other = first[number] + ((words[order] >> np.uint64(32)) * size >> np.uint64(32)).astype(np.intp)
    found = np.empty(len(order), np.intp)
    found[order] = order[other]
    return found
