"""Tighter budgets whose own order finds better sets where the budget itself leaves a side free."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sanitize.budgets import LDPBudget, LiftBudget
from sanitize.mechanisms._merging.risks import set_risks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize.budgets import Budget
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution
    from sanitize.mechanisms._merging.risks import SetRisks

# Nats that both sides are bounded by, in turn: a ladder that all budgets share, so that a looser budget starts from
# what a tighter one starts from.
_LADDER = (25.0, 10.0, 5.0, 3.0, 2.0, 1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1)


# A side is far looser than the other where it allows so many times as much.
_FAR = 4.0


def evened(budget: Budget) -> list[Budget]:
    """Budgets within this one whose sides are nearer to each other, from equal sides on; many budgets share them.

    Where a side hardly binds, a search that only asks what is safe goes astray, and may end with less than what it
    finds where that side binds.
    """
    if not isinstance(budget, LiftBudget) or budget.lower == budget.upper:
        return []
    least = min(budget.lower, budget.upper)
    near = min((nats for nats in _LADDER if nats >= _FAR * least), default=math.inf)
    return [_cut(budget, nats) for nats in (least, near) if nats < max(budget.lower, budget.upper)]


def _cut(budget: LiftBudget, nats: float) -> LiftBudget:
    """The budget with both sides at most so much."""
    return LiftBudget(lower=min(budget.lower, nats), upper=min(budget.upper, nats))


def tighter_risks(
    joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None
) -> Iterator[SetRisks]:
    """Risks under budgets within this one, from near to far; what is safe under one of them is safe under it."""
    if isinstance(budget, LDPBudget):
        yield from (set_risks(joint, LDPBudget(nats), confidence) for nats in _LADDER if nats < budget.eps)
    elif isinstance(budget, LiftBudget):
        seen = [budget]
        for nats in _LADDER:
            if (cut := _cut(budget, nats)) not in seen:
                seen.append(cut)
                yield set_risks(joint, cut, confidence)
