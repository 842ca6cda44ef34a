"""Certificate that groups are within the budget in the population, tested on units that did not choose the groups.

A fifth of the units, the design units, choose the channel and the blocks into which a group is to be split; they are
selected by their keyed digests. The other units decide whether the group is split: exact intervals of the shares of
sensitive values in each block are compared with intervals of these shares in the first release. Units are independent
draws; rows of one unit need not be, and do not count.

The existing groups depend on earlier tests, so every split that could ever be tried has a share of the error
probability, which the design units alone determine. A group divides its share among the test, itself in case its
blocks do not pass, its absent units, and its blocks. It never passes on more than it has, so the shares of all possible
tests add up to at most the error probability: proof 5 in docs/theory/proofs.md.
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

# Share of the error probability that is spent on P(s), whose bounds all units narrow.
_FOR_PRIOR = 0.05
# Parts of a group's share of the error probability: for the test of its blocks, for the group itself if they fail, and
# for its absent units. The blocks that pass get the rest, so the sum must be below 1.
_FOR_TEST, _FAILED, ABSENT = 0.25, 0.05, 0.2
# Evidence that the design units must predict for a block, as a multiple of the evidence required in the test: at 1,
# about every other block would fail the test, and a failed test takes most of the group's share.
_SURE = 1.5
# Smallest level of a test, below which the tails of exact intervals have too few digits.
_LEAST_LEVEL = 1e-12


def is_design_unit(units: NDArray[np.uint8]) -> Mask:
    """Mask of the design units, which choose the groups, from the digests of units, shape (n_units,)."""
    return np.asarray(units[:, 0] < 256 * DESIGN_SHARE)


def whole_share(confidence: float) -> float:
    """Part of the error probability, 1 - ``confidence``, that all groups together may use."""
    return (1 - confidence) * (1 - _FOR_PRIOR)


@dataclass(frozen=True)
class Certificate:
    """Test that blocks of units must pass: bounds on the share of each sensitive value in a block.

    Attributes
    ----------
    counting : Counting
        Rule that the blocks must also meet, in exact counts of all units.
    proven, expected : pair of ndarrays of shape (n_s,)
        Range for P(s|block) that is safe for every P(s) that the first release allows, and its prediction by the design
        units.
    """

    counting: Counting
    proven: Bounds = field(repr=False)
    expected: Bounds = field(repr=False)

    @classmethod
    def from_counts(
        cls, counting: Counting, chosen: NDArray[np.int64], budget: Budget, confidence: float
    ) -> Certificate:
        """Return the certificate for counts of all units, and of design units (``chosen``), in the first release."""
        bounds, first = as_lift_budget(budget), counting.reference
        low, high = clopper_pearson(first, first.sum(), (1 - confidence) * _FOR_PRIOR / len(first))
        about = (chosen + 1) / (chosen.sum() + len(chosen))
        least, most = np.exp(-bounds.lower), np.exp(min(bounds.upper, LARGEST_EXPONENT))
        return cls(counting, (least * high, most * low), (least * about, most * about))

    def divide(
        self, secret: Codes, symbol: Codes, chooses: Mask, share: float, *, is_first: bool, is_stale: bool
    ) -> tuple[Codes, float]:
        """Return the block of each present unit of a group, and the part of the group's error share that is left.

        All units of the first release together form a block without a test, because they define P(s). A single block of
        a later group is not tested, either, because it only reveals that a unit is present.
        """
        no_block: Codes = np.zeros(len(secret), np.intp)
        if chooses.sum() < self.counting.least:  # independent of the others' data
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
        """Return whether counts of units, shape (n_s, n_blocks), prove that every block is within the budget.

        A block beyond the budget makes some claim false, and the first false claim passes with probability at most
        ``level``. So a block needs no smaller level for all of its claims.
        """
        if level < _LEAST_LEVEL:
            return False
        low, high = clopper_pearson(counts, counts.sum(axis=0), 2 * level)
        least, most = self.proven
        return bool((low >= least[:, None]).all() and (high <= most[:, None]).all())

    def _choose_blocks(self, secret: Codes, symbol: Codes, n_symbols: int, share: float) -> Codes:
        """Choose the block of each symbol, by merging the block with the least evidence until all blocks have enough.

        The block is merged into one with which it has enough evidence: preferably a block that lacks evidence itself,
        and the smallest of these. If there is none, it is merged into the block with which it has the most evidence.
        Symbols without a design unit here go to the largest block.
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
        """Evidence, in nats, that the certifying units are expected to give for blocks of design units; 0 for none."""
        n = counts.sum(axis=0)
        return least_shown((counts + 0.5) / (n + 1), *self.expected, n * (1 - DESIGN_SHARE) / DESIGN_SHARE)
