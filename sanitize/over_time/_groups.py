"""Units grouped by identical releases so far, and split further by their next release.

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
    """Blocks that are within a budget by exact counts.

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
        """Return whether blocks, numbered from 1, have enough units and are within the budget."""
        counts = cell_counts(blocks - 1, secret, int(blocks.max()), len(self.reference))
        n, prior = counts.sum(axis=0), self.reference / self.reference.sum()
        if n.min() < self.least:
            return False
        return not (self.budget.lift_excess(counts / n / prior[:, None], prior) > 0).any()

    def divide(self, secret: Codes, symbol: Codes, *, is_stale: bool) -> Codes:
        """Blocks of a group's units; 0 for units in blocks that are too small, over the budget, or stale."""
        no_block: Codes = np.zeros(len(secret), np.intp)
        if len(secret) < self.least or not self.allows(secret, no_block + 1):
            return no_block
        seen, symbol_places = np.unique(symbol, return_inverse=True)
        if len(seen) == 1:
            return no_block if is_stale else no_block + 1
        counts = cell_counts(symbol_places, secret, len(seen), len(self.reference))
        present = np.flatnonzero(counts.any(axis=1))
        distribution = JointDistribution.from_matrix(counts[present] / len(secret))
        group_budget = ReferredBudget(self.budget, self.reference / self.reference.sum(), present)
        labels = subset_merging(distribution, group_budget, effort=_EFFORT).stages[0].indices
        blocks = _join_small_blocks(labels, counts.sum(axis=0), self.least)[symbol_places] + 1
        return no_block if is_stale and blocks.max() == 1 else blocks


def _join_small_blocks(merged: NDArray[np.int32], sizes: NDArray[np.int64], least: int) -> Codes:
    """Merge blocks with their neighbours until each has enough units."""
    n = int(merged.max()) + 1
    of_block = np.bincount(merged, sizes, n)
    place = np.bincount(merged, np.arange(len(merged)) * sizes, n) / of_block
    joined, number, n_units = np.zeros(n, np.intp), 0, 0.0
    order = np.argsort(place, kind="stable")
    for block in order:
        joined[block] = number
        n_units += of_block[block]
        if n_units >= least:
            number, n_units = number + 1, 0.0
    joined[joined == number] = max(number - 1, 0)  # the last ones are too few
    return joined[merged]


@dataclass(frozen=True)
class Sources:
    """Inputs of the rows that each unit is released now.

    It is anybody's symbol of its block, so that it tells the block alone, or, where it is told nothing new, one of
    those that its group was printed before. Its own symbol would tell, month after month, whether a value changed that
    the channel released alike.

    Attributes
    ----------
    group, block : ndarray of int, shape (n_units,)
    number : ndarray of int, shape (n_units,)
        Of the group and block.
    symbol : ndarray of int, shape (n_units,)
    earlier_symbols : ndarray of int, shape (n_units, k)
        Symbols that the group was printed before; first those that can be printed now, then -1.
    n_again : ndarray of int, shape (n_units,)
        How many can be.
    """

    group: Codes
    block: Codes
    number: Codes
    symbol: NDArray[np.int32]
    earlier_symbols: Codes
    n_again: Codes

    @classmethod
    def from_blocks(cls, group: Codes, block: Codes, symbol: NDArray[np.int32], earlier_symbols: Codes) -> Sources:
        """Build from the groups and blocks of units; ``earlier_symbols`` has a row for each group."""
        _, number = np.unique(group * (int(block.max()) + 1) + block, return_inverse=True)
        first = -np.sort(-earlier_symbols, axis=1)
        return cls(group, block, number, symbol, first[group], np.count_nonzero(first >= 0, axis=1)[group])

    def draw(self, random_words: NDArray[np.uint64]) -> Codes:
        """Symbol released for each unit, by one random word each; -1 if there is none."""
        order = np.argsort(self.number, kind="stable")
        size = np.bincount(self.number)
        partner = order[(np.cumsum(size) - size)[self.number] + _scale_words(random_words, size[self.number])]
        old = self.earlier_symbols[
            np.arange(len(random_words)), _scale_words(random_words, np.maximum(self.n_again, 1))
        ]
        return np.where(self.block > 0, self.symbol[partner], old)

    def rows(self, secret: Codes, shape: tuple[int, int]) -> Vector:
        """Expected number of rows of each sensitive value released as each symbol; shape (n_s, n_y)."""
        counts, block_units = np.zeros(shape), np.flatnonzero(self.block)
        size = np.bincount(self.number)
        members = sparse.csr_array(
            (np.ones(len(block_units)), (secret[block_units], self.number[block_units])), shape=(len(counts), len(size))
        )
        prints = sparse.csr_array(
            (1 / size[self.number[block_units]], (self.number[block_units], self.symbol[block_units])),
            shape=(len(size), shape[1]),
        )
        unit, place = np.nonzero((self.earlier_symbols >= 0) & (self.block == 0)[:, None])
        np.add.at(counts, (secret[unit], self.earlier_symbols[unit, place]), 1 / self.n_again[unit])
        return counts + (members @ prints).toarray()


def _scale_words(random_words: NDArray[np.uint64], bound: Codes) -> Codes:
    """Uniform whole number below each bound."""
    return ((random_words >> np.uint64(32)) * bound.astype(np.uint64) >> np.uint64(32)).astype(np.intp)
