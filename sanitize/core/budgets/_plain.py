"""Conversion of budgets from users' arguments, to plain values and back, to tighter budgets, and to sentences.

Saved releases, ledgers and reports all write budgets as these plain values into their JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from sanitize._util.checks import is_number, nats, or_infinity
from sanitize._util.declared import Finite, Number, SchemaError, read
from sanitize._util.formatting import exact, round_down, round_up, times_down, times_up
from sanitize.core.budgets._budgets import (
    AlphaLiftBudget,
    AveragedBudget,
    Budget,
    Chi2LiftBudget,
    L1LiftBudget,
    LDPBudget,
    LiftBudget,
    budget_in_nats,
    by_value,
    ends,
    lift_limits,
    limits_for,
    loosest,
    per_value,
    range_text,
)
from sanitize.core.budgets._capacity import (
    MEAN_BUDGETS,
    CapacityBudget,
    ChannelBudget,
    CVaRLiftBudget,
    MeanBudget,
    PMLEnvelopeBudget,
)
from sanitize.core.joint import JointDistribution, check_distribution
from sanitize.errors import InvalidBudget, InvalidParameter

# Budgets by the names in saved files. The budgets on single symbols come apart, because a ledger can hold only these
# against later releases.
SYMBOL_BUDGETS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget, AlphaLiftBudget)
}
BUDGETS: dict[str, type[Any]] = {
    **SYMBOL_BUDGETS,
    **{kind.__name__: kind for kind in (CapacityBudget, CVaRLiftBudget, PMLEnvelopeBudget, *MEAN_BUDGETS)},
}

# JSON has no infinity, so a bound may be a text; limits by value, and the limits next to an average, are tables.
_Sides = dict[str, Finite | str | dict[str, Finite | str]]
BudgetForm = dict[str, Finite | str | _Sides]


def budget_to_dict(budget: object) -> dict[str, Any]:
    """Return the type and numeric fields of a budget, without other fields, which only users' own classes have."""
    values, limits = budget_bounds(budget), lift_limits(budget)
    sides = values if isinstance(budget, LiftBudget) else {k: side for k, side in values.items() if is_number(side)}
    beside = {} if limits in (None, budget) else {"limits": budget_to_dict(limits)}
    return {"type": type(budget).__name__, **{name: per_value(exact, side) for name, side in sides.items()}, **beside}


def nameless(state: dict[str, Any]) -> dict[str, Any]:
    """Return a budget as plain values to publish; limits by value are reduced to the least and the largest."""

    def without_names(name: str, side: Any) -> Any:
        if name == "limits" or not isinstance(side, dict):
            return nameless(side) if isinstance(side, dict) else side
        return dict(zip(("least", "largest"), map(exact, ends(per_value(float, side))), strict=True))

    return {name: without_names(name, side) for name, side in state.items()}


def budget_bounds(budget: object) -> dict[str, Any]:
    """Parameters of a budget by name; empty for a number or an object that is not a dataclass."""
    if isinstance(budget, LiftBudget):
        return budget.bounds
    budget_fields = fields(budget) if is_dataclass(budget) else ()
    given = {field.name: getattr(budget, field.name) for field in budget_fields if field.init}
    return {name: bound for name, bound in given.items() if bound is not None}


def budget_from_dict(state: Mapping[str, Any], kinds: Mapping[str, type[Any]] = BUDGETS) -> Budget:
    """Read a budget of this library from plain values; its parameters must match exactly.

    Raises
    ------
    InvalidBudget
        If the type is none of these kinds, a bound is missing, unknown or out of its range.
    """
    name = state.get("type")
    if not isinstance(name, str) or name not in kinds:
        raise InvalidBudget(f"the type of a budget must be one of {', '.join(kinds)}")
    names = [field.name for field in fields(kinds[name]) if field.init]
    if "limits" in names:
        names.remove("limits")
        if isinstance(beside := state.get("limits"), Mapping):
            alone = {bound: side for bound, side in state.items() if bound != "limits"}
            limits = budget_from_dict(beside, {LiftBudget.__name__: LiftBudget})
            return budget_from_dict(alone, kinds).with_limits(limits)  # type: ignore[attr-defined]
    bounds = ["at_most", "at_least"] if kinds[name] is LiftBudget and "at_most" in state else names
    if set(state) != {"type", *bounds}:
        given = ", ".join(sorted(map(str, set(state) - {"type"}))) or "none"
        raise InvalidBudget(f"{name} must have the bounds {', '.join(bounds)} and no others, got {given}")
    try:
        sides = read(dict[str, Number | dict[str, Number]], {bound: state[bound] for bound in bounds})
    except SchemaError:
        raise InvalidBudget(f"the bounds of {name} must be numbers, or 'inf'") from None
    return kinds[name](**{bound: per_value(float, side) for bound, side in sides.items()})


def as_capacity_budget(budget: object, owner: str) -> CapacityBudget:
    """Return a number of nats as a `CapacityBudget`, or a `CapacityBudget` unchanged; refuse any other budget."""
    if is_number(budget):
        return CapacityBudget(budget_nats(budget))
    if not isinstance(budget, CapacityBudget):
        kind = "none" if budget is None else type(budget).__name__
        raise InvalidBudget(f"{owner} needs a capacity: a number of nats or CapacityBudget(nats), got {kind}")
    return budget


def declared_budget(budget: object) -> Budget:
    """Return the budget of an estimator; refuse a bare number, because 2 could mean 2 times or e² = 7.4 times."""
    if is_number(budget):
        raise InvalidBudget(
            "a bare number does not say its unit: write LiftBudget(at_most=2, at_least=0.5), in times as likely, or "
            "LiftBudget(lower=0.69, upper=0.69), in nats"
        )
    return as_budget(budget)  # type: ignore[arg-type]


def as_budget(budget: Budget | float | None, joint: JointDistribution | None = None) -> Budget:
    """Return the budget of a mechanism: a Budget unchanged, a number of nats as symmetric lift limits; refuse None.

    If a distribution is given, limits by value are put in the order of its sensitive symbols, as designing a channel
    requires.
    """
    if budget is None:
        raise InvalidBudget(
            "no budget given: pass a Budget such as LiftBudget(at_most=2, at_least=0.33), or a number of nats for "
            "a symmetric lift budget"
        )
    if is_number(budget):
        return LiftBudget.symmetric(budget_nats(budget))
    # The library's own kinds come first, because checking a value against a protocol takes ten times as long.
    if not isinstance(budget, (LiftBudget, LDPBudget, Budget)):
        raise InvalidBudget(
            f"budget must be a LiftBudget, another Budget or a number of nats, got {type(budget).__name__}"
        )
    return budget if joint is None else limits_for(budget, check_distribution(joint).sensitive)


def budget_nats(budget: float) -> float:
    """Return a budget given in nats as a float; refuse anything but a number >= 0."""
    try:
        return nats("budget", budget)
    except InvalidParameter as error:
        raise InvalidBudget(str(error)) from None


def check_kind(budget: Budget, owner: str = "random response") -> LiftBudget | LDPBudget:
    """Return the budget if it bounds every lift, or every ratio of two lifts; otherwise refuse it.

    Only for these budgets are the posteriors a polytope given by rows of lifts, and the worst case over a set of
    distributions known exactly.
    """
    if not isinstance(budget, (LiftBudget, LDPBudget)):
        raise InvalidBudget(
            f"{owner} takes a LiftBudget, an LDPBudget or a number, got {type(budget).__name__}. "
            "Without confidence, optimal_random_response also takes budgets on averages of lifts, and "
            "subset_merging and watchdog take any budget"
        )
    return budget


def scale_budget(budget: Budget, share: float) -> Budget:
    """Scale the levels of a budget, in nats, by a share from 0 to 1; unlimited sides stay unlimited.

    A release within the scaled budget is within the whole one, since lower levels allow less leakage. Budgets of
    classes from outside this package are returned unchanged.
    """
    if isinstance(budget, LiftBudget):
        sides = (np.asarray(side, np.float64) for side in (budget.lower, budget.upper))
        return budget_in_nats(*(np.multiply(side, share, out=side.copy(), where=side < math.inf) for side in sides))
    if not is_dataclass(budget) or isinstance(budget, type):
        return budget
    if isinstance(budget, AveragedBudget) and budget.limits is not None:
        budget = budget.with_limits(scale_budget(budget.limits, share))
    levels = {
        field.name: getattr(budget, field.name) for field in fields(budget) if field.name in ("lower", "upper", "eps")
    }
    return replace(budget, **{name: share * level for name, level in levels.items() if level < math.inf})


def budget_words(budget: Budget | None) -> str:
    """Describe in a plain sentence what a budget allows.

    Examples
    --------
    >>> budget_words(LiftBudget(lower=float("inf"), upper=0.5))
    'no released value makes a sensitive value more than 1.65 times as likely (log-lift at most 0.5 nats)'
    >>> budget_words(None)
    'no budget: this report only measures'
    """
    match budget:
        case None:
            return "no budget: this report only measures"
        case LiftBudget():
            return _lift_words(budget)
        case LDPBudget(eps=eps):
            if math.isinf(eps):
                return "no limit (LDP with an infinite epsilon)"
            return (
                f"{eps:.4g}-LDP of the sensitive columns (nats): no released value is more than "
                f"{times_up(eps)} times as likely under one sensitive value as under another"
            )
        case AveragedBudget(limits=LiftBudget() as limits):
            return f"{budget_words(budget.with_limits(None))}; and {budget_words(limits)}"
        case L1LiftBudget(lower=lower, upper=upper):
            return _average_words("l1-lift", lower, upper, math.expm1)
        case Chi2LiftBudget(lower=lower, upper=upper):
            return _average_words("chi2-lift", lower, upper, lambda bound: math.expm1(bound) ** 2)
        case AlphaLiftBudget(alpha=alpha, lower=lower, upper=upper):
            return _average_words(f"alpha-lift of order {alpha:.4g}", lower, upper, math.exp)
        case CVaRLiftBudget(upper=upper, delta=delta):
            if math.isinf(upper):
                return "no limit (budget on the mean lift with an infinite bound)"
            if isinstance(budget, PMLEnvelopeBudget):
                return (
                    f"at most {delta:.4g} of the release, or of anything that is made of it, makes any sensitive value "
                    f"more than {times_up(upper)} times as likely"
                )
            return (
                f"log of the mean lift over the most revealing {delta:.4g} of the release at most {upper:.4g} nats: "
                f"there, no single sensitive value becomes more than {times_up(upper)} times as likely on average"
            )
        case MeanBudget(upper=upper, measure=measure):
            return f"{measure.replace('_', ' ')} of the sensitive columns and the whole release at most {upper:.4g}"
    owner = "the whole channel" if isinstance(budget, ChannelBudget) else "every released value"
    return f"{owner} meets the limits of {type(budget).__name__}"


def _lift_words(budget: LiftBudget) -> str:
    if by_value(budget):
        clauses = [f"less than {range_text(budget.at_least)}"] * (ends(budget.at_least)[1] > 0)
        clauses += [f"more than {range_text(budget.at_most)}"] * (ends(budget.at_most)[0] < math.inf)
        if clauses:
            return f"no released value makes a sensitive value {' or '.join(clauses)} times as likely, by value"
        budget = loosest(budget)
    lower, upper = budget.lower, budget.upper
    if math.isinf(lower) and math.isinf(upper):
        return "no limit (lift budget with both bounds infinite)"
    # In the unit that was not written, a bound is rounded to allow more: a sentence must not promise more than the
    # limit.
    in_nats = "lower" in budget.bounds
    least, most = (round_up(side, 4 if in_nats else 3) for side in (lower, upper))
    least = least if lower == 0 else f"-{least}"
    less = f"less than {times_down(-lower) if in_nats else round_down(budget.at_least, 6)}"
    more = f"more than {times_up(upper) if in_nats else round_up(budget.at_most, 6)}"
    if math.isinf(lower):
        limit, either = f"at most {most}", more
    elif math.isinf(upper):
        limit, either = f"at least {least}", less
    else:
        limit, either = f"between {least} and {most}", f"{less} or {more}"
    return f"no released value makes a sensitive value {either} times as likely (log-lift {limit} nats)"


def _average_words(name: str, lower: float, upper: float, convert: Callable[[float], float]) -> str:
    sides = [(f"{name} at most", upper), (f"{name} of the inverse at most", lower)]
    limits = [f"{words} {or_infinity(convert, bound):.4g}" for words, bound in sides if not math.isinf(bound)]
    if not limits:
        return f"no limit ({name} budget with both bounds infinite)"
    return f"{', '.join(limits)}: limits what a released value changes about the sensitive values on average"
