"""What users pass as a budget, as a budget: numbers become budgets, and unfit kinds are refused."""

from __future__ import annotations

from sanitize._checks import is_number, nats
from sanitize.budgets._budgets import Budget, LDPBudget, LiftBudget
from sanitize.budgets._capacity import CapacityBudget
from sanitize.errors import InvalidBudget, InvalidParameter


def as_capacity_budget(budget: object, owner: str) -> CapacityBudget:
    """Budget of a mechanism that is calibrated to a capacity: a number of nats, or a `CapacityBudget`."""
    if is_number(budget):
        return CapacityBudget(nats_of(budget))
    if not isinstance(budget, CapacityBudget):
        given = "none" if budget is None else type(budget).__name__
        raise InvalidBudget(
            f"{owner} needs the capacity its channel may have, in nats: a number or CapacityBudget(nats), got {given}"
        )
    return budget


def as_budget(budget: Budget | float | None) -> Budget:
    """Budget of a lift mechanism: a Budget as it is, a number as symmetric LIP in nats, None refused."""
    if budget is None:
        raise InvalidBudget(
            "no budget given: pass a Budget such as LiftBudget(lower=1.5, upper=0.5), or a number of nats for "
            "a symmetric lift budget"
        )
    if is_number(budget):
        return LiftBudget.symmetric(nats_of(budget))
    # The kinds of this library first: to hold a value against a protocol takes ten times as long.
    if not isinstance(budget, (LiftBudget, LDPBudget, Budget)):
        raise InvalidBudget(f"budget must be a Budget or a number of nats, got {type(budget).__name__}")
    return budget


def nats_of(budget: float) -> float:
    """A budget that is a number, as a float."""
    try:
        return nats("budget", budget)
    except InvalidParameter as error:
        raise InvalidBudget(str(error)) from None


def check_kind(budget: Budget, owner: str = "random response") -> LiftBudget | LDPBudget:
    """The budget, if it bounds every lift or every ratio of two; refused otherwise.

    Π is a polytope with lift rows for these alone, and of these alone the worst case over a set of laws is known
    exactly.
    """
    if not isinstance(budget, (LiftBudget, LDPBudget)):
        raise InvalidBudget(
            f"{owner} takes a LiftBudget, an LDPBudget or a number, got {type(budget).__name__}: bounds on lifts "
            "and their ratio only; subset_merging and watchdog without confidence take any budget"
        )
    return budget
