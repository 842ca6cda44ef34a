"""Groups that meet the budget in the population of units, certified by units that did not choose them.

A fifth of the units, taken by their keyed digests, choose the channel and the blocks into which a group is to be
split. What the others show decides whether it is: exact intervals of the shares of secrets in each block, against
intervals of those in the first release. Units are independent draws; rows of one unit need not be, and do not count.

Which groups there are depends on what passed before, so every split that could ever be tried has a share of the
probability of error, fixed by the fifth alone. A group hands on what it has: to the test, to itself in case its
blocks do not pass, to those of it who are absent, and the rest to its blocks. It never hands on more than it has, so
the shares of all that could be tested add up to the probability of error at most: proof 5 in docs/theory/proofs.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Codes, Mask, Vector
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize.core.confidence import clopper_pearson
from sanitize.core.profiles import DESIGN_SHARE, cell_counts
from sanitize.mechanisms import as_lift_budget, least_shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.over_time._groups import Counting

    Bounds = tuple[Vector, Vector]

# Of the probability of error, spent on P(s).
_FOR_PRIOR = 0.05
# Of the share of a group, spent on the test of its blocks, kept if they do not pass, and kept by those who are absent.
_FOR_TEST, _FAILED, ABSENT = 0.25, 0.05, 0.2
# What blocks are to show on the units that choose them, times what the others have to show.
_SURE = 1.5
# Below it the tails of exact intervals have too few digits.
_LEAST_LEVEL = 1e-12


def is_design_unit(units: NDArray[np.uint8]) -> Mask:
    """Mask of units that choose the groups, by their digests, shape (n_units,)."""
    return np.asarray(units[:, 0] < 256 * DESIGN_SHARE)


def whole_share(confidence: float) -> float:
    """Error probability of all groups together."""
    return (1 - confidence) * (1 - _FOR_PRIOR)


@dataclass(frozen=True)
class Certificate:
    """Evidence that blocks of units must show.

    Attributes
    ----------
    counting : Counting
        What they are held to besides, in counts of all units.
    proven, expected : pair of ndarrays of shape (n_s,)
        Between what P(s|block) must lie whatever P(s) is that the first release allows, and about, by those who choose.
    """

    counting: Counting
    proven: Bounds = field(repr=False)
    expected: Bounds = field(repr=False)

    @classmethod
    def from_counts(
        cls, counting: Counting, chosen: NDArray[np.int64], budget: Budget, confidence: float
    ) -> Certificate:
        """Build from counts of units by sensitive value in the first release; ``chosen`` counts those who choose."""
        bounds, first = as_lift_budget(budget), counting.reference
        low, high = clopper_pearson(first, first.sum(), (1 - confidence) * _FOR_PRIOR / len(first))
        about = (chosen + 1) / (chosen.sum() + len(chosen))
        least, most = np.exp(-bounds.lower), np.exp(min(bounds.upper, LARGEST_EXPONENT))
        return cls(counting, (least * high, most * low), (least * about, most * about))

    def divide(
        self, secret: Codes, symbol: Codes, chooses: Mask, share: float, *, is_first: bool, is_stale: bool
    ) -> tuple[Codes, float]:
        """Block of each present unit of a group, and the part of the group's error share passed on to the blocks.

        The first units of all are one block untested: P(s) is theirs. One block of a later group is not tested either,
        for it tells that a unit is here, and that alone.
        """
        no_block: Codes = np.zeros(len(secret), np.intp)
        if chooses.sum() < self.counting.least:  # whatever the others are, so that no test of theirs was skipped
            return (no_block + 1, 1 - ABSENT) if is_first else (no_block, 1.0)
        wanted = self._choose_blocks(secret[chooses], symbol[chooses], int(symbol.max()) + 1, share)
        n_blocks = int(wanted.max()) + 1
        if n_blocks > 1:
            blocks = wanted[symbol] + 1
            other_counts = cell_counts(blocks[~chooses] - 1, secret[~chooses], n_blocks, len(self.proven[0]))
            if self._shows(other_counts, share * _FOR_TEST / n_blocks) and self.counting.allows(secret, blocks):
                return blocks, 1 - _FOR_TEST - _FAILED - ABSENT
            return (no_block + 1 if is_first else no_block), _FAILED
        if not is_stale and self.counting.allows(secret, no_block + 1):
            return no_block + 1, 1 - _FAILED - ABSENT
        return no_block, _FAILED

    def _shows(self, counts: NDArray[np.int64], level: float) -> bool:
        """Return whether units (n_s, n_blocks) prove that every block is within the budget.

        One that is not makes a claim that is false; the first of them passes with probability ``level`` at most, so a
        block needs no smaller one for all of its claims.
        """
        if level < _LEAST_LEVEL:
            return False
        low, high = clopper_pearson(counts, counts.sum(axis=0), 2 * level)
        least, most = self.proven
        return bool((low >= least[:, None]).all() and (high <= most[:, None]).all())

    def _choose_blocks(self, secret: Codes, symbol: Codes, n_symbols: int, share: float) -> Codes:
        """Block of each symbol: the block with least evidence is merged into another until all have enough.

        To one with which it does, if there is one that did not by itself, and the smallest of them; else to that with
        which it shows most. Symbols that nobody has here who chooses go to the largest block.
        """
        seen, symbol_places = np.unique(symbol, return_inverse=True)
        labels, merged = np.arange(len(seen)), cell_counts(symbol_places, secret, len(seen), len(self.expected[0]))
        while merged.shape[1] > 1:
            enough = -_SURE * np.log(max(share, _LEAST_LEVEL) * _FOR_TEST / merged.shape[1])
            evidence = self._predict_evidence(merged)
            worst = int(evidence.argmin())
            if evidence[worst] >= enough:
                break
            together = merged + merged[:, [worst]]
            earlier_evidence, evidence = evidence, self._predict_evidence(together)
            evidence[worst] = -1.0
            may = np.flatnonzero(evidence >= enough)
            order = np.lexsort((merged.sum(axis=0)[may], earlier_evidence[may] >= enough))
            target = int(may[order[0]] if len(may) else evidence.argmax())
            merged[:, target] = together[:, target]
            merged = np.delete(merged, worst, axis=1)
            labels[labels == worst] = target
            labels -= labels > worst
        whole = np.full(n_symbols, merged.sum(axis=0).argmax())
        whole[seen] = labels
        return whole

    def _predict_evidence(self, counts: NDArray[np.int64]) -> Vector:
        """Expected evidence of certifying units for blocks of the designing units, in nats; 0 for none."""
        n = counts.sum(axis=0)
        return least_shown((counts + 0.5) / (n + 1), *self.expected, n * (1 - DESIGN_SHARE) / DESIGN_SHARE)
