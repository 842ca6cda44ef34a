"""."""

from __future__ import annotations

from sanitize._checks import is_number, nats
from sanitize.budgets._budgets import Budget, LDPBudget, LiftBudget
from sanitize.budgets._capacity import CapacityBudget
from sanitize.errors import InvalidBudget, InvalidParameter


def check_lift_kind(budget: Budget) -> LiftBudget | LDPBudget:
    """The budget, if its worst case over a set of laws is known exactly; refused otherwise."""
    if not isinstance(budget, (LiftBudget, LDPBudget)):
        raise InvalidBudget(
            f"confidence= takes a LiftBudget, an LDPBudget or a number, got {type(budget).__name__}: the exact worst "
            "case over a confidence set is known for lifts and their ratio only"
        )
    return budget


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


def check_kind(budget: Budget) -> LiftBudget | LDPBudget:
    """The budget, if Π is a polytope with lift rows for it; refused otherwise."""
    if not isinstance(budget, (LiftBudget, LDPBudget)):
        raise InvalidBudget(
            f"random response takes a LiftBudget, an LDPBudget or a number, got {type(budget).__name__}; "
            "subset_merging and watchdog take any budget"
        )
    return budget
