"""The best partition of a few letters into safe sets, by dynamic programming over sets of letters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._merging.risks import SetRisks

_TIE = 1e-13  # nats that differ by rounding only
_HALF = 9  # letters whose subsets are kept, for every set of them


def exact_partition(letters: NDArray[np.float64], p_x: NDArray[np.float64], risks: SetRisks) -> list[list[int]]:
    """Partition of k letters, given by the columns that judge them and by P(x), into safe sets of least H(X|Y).

    best[A] = min over safe B in A that hold A's lowest letter of cost(B) + best[A - B], where
    cost(B) = Σ_{x in B} P(x) log(P(B) / P(x)). Sets are bit masks, and a set that is itself a union of disjoint
    safe sets is skipped: splitting never loses utility.

    Returns
    -------
    list of list of int
        Blocks; empty when the letters together are not safe.
    """
    k = len(p_x)
    columns = np.zeros((len(letters), 1))
    mass, terms = np.zeros(1), np.zeros(1)
    for x in range(k):
        columns = np.concatenate([columns, columns + letters[:, [x]]], axis=1)
        mass = np.concatenate([mass, mass + p_x[x]])
        terms = np.concatenate([terms, terms + xlogy(p_x[x], p_x[x])])
    cost = xlogy(mass, mass) - terms
    safe = np.zeros(1 << k, np.bool_)
    safe[1:] = risks.safe(columns[:, 1:])
    size = np.zeros(1 << k, np.int8)
    for x in range(k):
        size[1 << x : 2 << x] = size[: 1 << x] + 1

    best = np.full(1 << k, np.inf)
    chosen = np.zeros(1 << k, np.int64)
    best[0] = 0.0
    for lowest in range(k - 1, -1, -1):
        sets = (np.arange(1 << (k - 1 - lowest)) * 2 + 1) << lowest
        sets = sets[safe[sets]]
        for block in sets[np.argsort(size[sets], kind="stable")].tolist():
            if np.isfinite(best[block]) and best[block] <= cost[block] + _TIE:
                continue
            outside = (1 << k) - (2 << lowest) & ~block
            high, low = _subsets_of(outside >> _HALF), _subsets_of(outside & (1 << _HALF) - 1)
            rest = ((high << _HALF)[:, None] | low).reshape(-1)
            total = cost[block] + best[rest]
            union = rest | block
            better = np.flatnonzero(total < best[union] - _TIE)
            best[union[better]] = total[better]
            chosen[union[better]] = block
    blocks, left = [], (1 << k) - 1
    if not np.isfinite(best[left]):
        return []
    while left:
        block = int(chosen[left])
        blocks.append([x for x in range(k) if block >> x & 1])
        left ^= block
    return blocks


@cache
def _subsets_of(letters: int) -> NDArray[np.int64]:
    """All subsets of some of a few letters, in ascending order."""
    masks = np.zeros(1, np.int64)
    for x in range(letters.bit_length()):
        if letters >> x & 1:
            masks = np.concatenate([masks, masks | 1 << x])
    return masks
