"""Budgets near one that rounding fails at: tighter ones are feasible for it, and the bounds of looser ones hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanitize.budgets import LDPBudget, LiftBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

# Beyond this many nats a bound only binds beside empty cells.
_FREE = 25.0
_TIGHTER, _LOOSER = (0.5, 0.1, 0.01, 0.0), (2.0, 10.0, 100.0)
_LEAST = 1e-6


def tighter(budget: LiftBudget | LDPBudget) -> Iterator[LiftBudget | LDPBudget]:
    """Budgets that allow less, from near to far; a channel within one of them is within the budget."""
    if isinstance(budget, LDPBudget):
        top = min(budget.eps, _FREE)
        yield from (LDPBudget(top * part) for part in (*([1.0] if top < budget.eps else []), *_TIGHTER))
        return
    lower, upper = min(budget.lower, _FREE), min(budget.upper, _FREE)
    if (lower, upper) != (budget.lower, budget.upper):
        yield LiftBudget(lower=lower, upper=upper)
    yield from (LiftBudget(lower=lower * part, upper=upper * part) for part in _TIGHTER)


def looser(budget: LiftBudget | LDPBudget) -> Iterator[LiftBudget | LDPBudget]:
    """Budgets that allow more, from near to far; no channel within the budget keeps more than the best of one."""
    if isinstance(budget, LDPBudget):
        yield from (LDPBudget(max(budget.eps, _LEAST) * part) for part in _LOOSER)
        return
    lower, upper = max(budget.lower, _LEAST), max(budget.upper, _LEAST)
    yield from (LiftBudget(lower=lower * part, upper=upper * part) for part in _LOOSER)
