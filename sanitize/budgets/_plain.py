"""Budgets as plain values and back: the one form that saved releases, ledgers and reports write into their JSON."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sanitize._checks import is_number
from sanitize._files.declared import Misfit, Number, read
from sanitize._formatting import exact
from sanitize.budgets._budgets import AlphaLiftBudget, Budget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.budgets._capacity import CapacityBudget
from sanitize.budgets._tail import CVaRLiftBudget
from sanitize.errors import InvalidBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

# Budgets of the library by their names: those on what a symbol tells, and all. Their numbers say everything.
SYMBOL_BUDGETS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget, AlphaLiftBudget)
}
BUDGETS: dict[str, type[Any]] = {
    **SYMBOL_BUDGETS,
    **{kind.__name__: kind for kind in (CapacityBudget, CVaRLiftBudget)},
}


def budget_to_dict(budget: object) -> dict[str, Any]:
    """Type and numeric fields; a budget of somebody else's making may hold anything, which stays here."""
    values = {name: exact(value) for name, value in bounds_of(budget).items() if is_number(value)}
    return {"type": type(budget).__name__, **values}


def bounds_of(budget: object) -> dict[str, Any]:
    """What a budget was made with, by name; nothing for a number, or a class that is no dataclass."""
    if isinstance(budget, LiftBudget):
        return budget.bounds
    fields = dataclasses.fields(budget) if dataclasses.is_dataclass(budget) else ()
    return {field.name: getattr(budget, field.name) for field in fields if field.init}


def budget_from_dict(state: Mapping[str, Any], kinds: Mapping[str, type[Any]] = BUDGETS) -> Budget:
    """Inverse of `budget_to_dict` for budgets of the library; exactly their own bounds are taken.

    Raises
    ------
    InvalidBudget
        If it is none of these kinds, lacks a bound or has a strange one, or a bound is out of its range.
    """
    name = state.get("type")
    if not isinstance(name, str) or name not in kinds:
        raise InvalidBudget(f"a budget must be one of {', '.join(kinds)}")
    fields = [field.name for field in dataclasses.fields(kinds[name]) if field.init]
    bounds = ["at_most", "at_least"] if kinds[name] is LiftBudget and "at_most" in state else fields
    if set(state) != {"type", *bounds}:
        raise InvalidBudget(f"{name} must have the bounds {', '.join(bounds)} and no others")
    try:
        given = read(dict[str, Number], {bound: state[bound] for bound in bounds})
    except Misfit:
        raise InvalidBudget(f"the bounds of {name} must be numbers, or 'inf'") from None
    made: Budget = kinds[name](**{bound: float(value) for bound, value in given.items()})
    return made
