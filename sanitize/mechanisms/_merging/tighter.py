"""Tighter budgets whose own order finds better sets where the budget itself leaves a side free."""

from __future__ import annotations

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


def tighter_risks(
    joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None
) -> Iterator[SetRisks]:
    """Risks under budgets within this one, from near to far; what is safe under one of them is safe under it."""
    if isinstance(budget, LDPBudget):
        yield from (set_risks(joint, LDPBudget(nats), confidence) for nats in _LADDER if nats < budget.eps)
    elif isinstance(budget, LiftBudget):
        seen = {(budget.lower, budget.upper)}
        for nats in _LADDER:
            bounds = min(budget.lower, nats), min(budget.upper, nats)
            if bounds not in seen:
                seen.add(bounds)
                yield set_risks(joint, LiftBudget(lower=bounds[0], upper=bounds[1]), confidence)
