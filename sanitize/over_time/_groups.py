"""Units in groups that were released the same so far, split further by what they are released next.

Those of a group that are released something now are split into blocks of what it would be, each of enough units and
within the budget on P(s|group, block)/P(s), P(s) being the reference. Where there are no such blocks they are told
nothing new. So whatever a unit was released, those who were released the same are within the budget: it holds for the
reference, it holds for each block when it is made, and nobody joins a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.checks import Codes, Vector
from sanitize.core.budgets import ReferredBudget
from sanitize.core.joint import JointDistribution
from sanitize.core.profiles import cell_counts
from sanitize.mechanisms import subset_merging

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget

# Sets of symbols that the search of one group judges: groups are many, and mostly of few symbols.
_EFFORT = 50_000.0


@dataclass(frozen=True)
class Counting:
    """Blocks that are within a budget by counting.

    Attributes
    ----------
    reference : ndarray of int, shape (n_s,)
        Units of each secret, whose shares lifts are held against.
    budget : Budget
        One that looks at lifts; unions of what is within it are within it.
    least : int
        Units of a block.
    """

    reference: NDArray[np.int64]
    budget: Budget
    least: int

    def allows(self, secret: Codes, blocks: Codes) -> bool:
        """Whether blocks, numbered from 1, have enough units and are within the budget."""
        counts = cell_counts(blocks - 1, secret, int(blocks.max()), len(self.reference))
        n, prior = counts.sum(axis=0), self.reference / self.reference.sum()
        if n.min() < self.least:
            return False
        return not (self.budget.excess_of(counts / n / prior[:, None], prior) > 0).any()

    def split(self, secret: Codes, symbol: Codes, *, is_stale: bool) -> Codes:
        """Blocks of units of a group, or 0 where they are too few, over the budget, or one stale block."""
        nobody: Codes = np.zeros(len(secret), np.intp)
        if len(secret) < self.least or not self.allows(secret, nobody + 1):
            return nobody
        seen, own = np.unique(symbol, return_inverse=True)
        if len(seen) == 1:
            return nobody if is_stale else nobody + 1
        counts = cell_counts(own, secret, len(seen), len(self.reference))
        present = np.flatnonzero(counts.any(axis=1))
        distribution = JointDistribution.from_matrix(counts[present] / len(secret))
        within = ReferredBudget(self.budget, self.reference / self.reference.sum(), present)
        found = subset_merging(distribution, within, effort=_EFFORT).stages[0].indices
        blocks = _at_least(found, counts.sum(axis=0), self.least)[own] + 1
        return nobody if is_stale and blocks.max() == 1 else blocks


def _at_least(merged: NDArray[np.int32], sizes: NDArray[np.int64], least: int) -> Codes:
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


@dataclass(frozen=True)
class Sources:
    """What each unit that is released something now is printed from.

    It is anybody's symbol of its block, so that it tells the block alone, or, where it is told nothing new, one of
    those that its group was printed before. Its own symbol would tell, month after month, whether a value changed that
    the channel released alike.

    Attributes
    ----------
    group, block : ndarray of int, shape (n_units,)
    number : ndarray of int, shape (n_units,)
        Of the group and block.
    symbol : ndarray of int, shape (n_units,)
    again : ndarray of int, shape (n_units, k)
        Symbols that the group was printed before; first those that can be printed now, then -1.
    n_again : ndarray of int, shape (n_units,)
        How many can be.
    """

    group: Codes
    block: Codes
    number: Codes
    symbol: NDArray[np.int32]
    again: Codes
    n_again: Codes

    @classmethod
    def of(cls, group: Codes, block: Codes, symbol: NDArray[np.int32], again: Codes) -> Sources:
        """Those of units by their groups and blocks; ``again`` has a row for each group."""
        _, number = np.unique(group * (int(block.max()) + 1) + block, return_inverse=True)
        first = -np.sort(-again, axis=1)
        return cls(group, block, number, symbol, first[group], np.count_nonzero(first >= 0, axis=1)[group])

    def draw(self, words: NDArray[np.uint64]) -> Codes:
        """Symbol that each unit is printed, by a random word each; -1 where there is none."""
        order = np.argsort(self.number, kind="stable")
        size = np.bincount(self.number)
        other = order[(np.cumsum(size) - size)[self.number] + _below(words, size[self.number])]
        old = self.again[np.arange(len(words)), _below(words, np.maximum(self.n_again, 1))]
        return np.where(self.block > 0, self.symbol[other], old)

    def rows(self, secret: Codes, shape: tuple[int, int]) -> Vector:
        """Rows of each secret that are printed as each symbol, in the mean over the words; shape (n_s, n_y)."""
        found, own = np.zeros(shape), np.flatnonzero(self.block)
        size = np.bincount(self.number)
        members = sparse.csr_array((np.ones(len(own)), (secret[own], self.number[own])), shape=(len(found), len(size)))
        prints = sparse.csr_array(
            (1 / size[self.number[own]], (self.number[own], self.symbol[own])), shape=(len(size), shape[1])
        )
        unit, place = np.nonzero((self.again >= 0) & (self.block == 0)[:, None])
        np.add.at(found, (secret[unit], self.again[unit, place]), 1 / self.n_again[unit])
        return found + (members @ prints).toarray()


def _below(words: NDArray[np.uint64], bound: Codes) -> Codes:
    """A whole number below each bound."""
    return ((words >> np.uint64(32)) * bound.astype(np.uint64) >> np.uint64(32)).astype(np.intp)
