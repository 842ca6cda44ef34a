"""Groups of units with identical releases so far, which are split by their next release.

The units of a group that are in the current release are split into blocks by their released symbols. Each block has
enough units and is within the budget on P(s|group, block)/P(s), where P(s) is the reference. If there are no such
blocks, the release shows nothing new about these units. So the units with the same releases are always within the
budget: this holds for the reference and for each block when it is made, and no unit joins a block later.
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

# Effort of the search in one group, in sets of symbols: there are many groups, most of them with few symbols.
_EFFORT = 50_000.0


@dataclass(frozen=True)
class Counting:
    """Rule that accepts blocks of units if their exact counts are within a budget.

    Attributes
    ----------
    reference : ndarray of int, shape (n_s,)
        Number of units with each sensitive value, whose shares are the reference of lifts.
    budget : Budget
        Budget on lifts; a union of blocks within the budget is also within it.
    least : int
        Least number of units in a block.
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
        """Return the block of each unit of a group; 0 if no block is allowed, or the block would show nothing new."""
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
    joined[joined == number] = max(number - 1, 0)  # the last block may be too small
    return joined[merged]


@dataclass(frozen=True)
class Sources:
    """Choice of the symbols that are released for the rows of each unit.

    The symbol of a unit is that of a random unit of its block, so that it reveals the block only. If the release shows
    nothing new about the unit, the symbol is an earlier one of its group. The unit's own symbol would reveal, month
    after month, whether a value changed that the channel releases alike.

    Attributes
    ----------
    block : ndarray of int, shape (n_units,)
        Block of the unit; 0 if the release shows nothing new about the unit.
    number : ndarray of int, shape (n_units,)
        Number of the unit's group and block.
    symbol : ndarray of int, shape (n_units,)
    earlier_symbols : ndarray of int, shape (n_units, k)
        Earlier symbols of the unit's group that can be released now, followed by -1.
    n_again : ndarray of int, shape (n_units,)
        Number of these symbols.
    """

    block: Codes
    number: Codes
    symbol: NDArray[np.int32]
    earlier_symbols: Codes
    n_again: Codes

    @classmethod
    def from_blocks(cls, group: Codes, block: Codes, symbol: NDArray[np.int32], earlier_symbols: Codes) -> Sources:
        """Return the choice for given groups and blocks of units; ``earlier_symbols`` has a row for each group."""
        _, number = np.unique(group * (int(block.max()) + 1) + block, return_inverse=True)
        first = -np.sort(-earlier_symbols, axis=1)
        return cls(block, number, symbol, first[group], np.count_nonzero(first >= 0, axis=1)[group])

    def draw(self, random_words: NDArray[np.uint64]) -> Codes:
        """Draw the released symbol of each unit, with one random word each; -1 if no symbol can be released."""
        order = np.argsort(self.number, kind="stable")
        size = np.bincount(self.number)
        partner = order[(np.cumsum(size) - size)[self.number] + _scale_words(random_words, size[self.number])]
        place = _scale_words(random_words, np.maximum(self.n_again, 1))
        old = self.earlier_symbols[np.arange(len(random_words)), place]
        return np.where(self.block > 0, self.symbol[partner], old)

    def rows(self, secret: Codes, shape: tuple[int, int]) -> Vector:
        """Expected number of rows for each sensitive value and released symbol, shape (n_s, n_y)."""
        counts, block_units, size = np.zeros(shape), np.flatnonzero(self.block), np.bincount(self.number)
        number, secrets, symbols = self.number[block_units], secret[block_units], self.symbol[block_units]
        members = sparse.csr_array((np.ones(len(number)), (secrets, number)), shape=(shape[0], len(size)))
        prints = sparse.csr_array((1 / size[number], (number, symbols)), shape=(len(size), shape[1]))
        unit, place = np.nonzero((self.earlier_symbols >= 0) & (self.block == 0)[:, None])
        np.add.at(counts, (secret[unit], self.earlier_symbols[unit, place]), 1 / self.n_again[unit])
        return counts + (members @ prints).toarray()


def _scale_words(random_words: NDArray[np.uint64], bound: Codes) -> Codes:
    """Convert random words to uniform whole numbers from 0 to below a bound for each."""
    return ((random_words >> np.uint64(32)) * bound.astype(np.uint64) >> np.uint64(32)).astype(np.intp)
