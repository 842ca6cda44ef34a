"""What a budget allows, in a plain sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sanitize._formatting import or_infinity, times
from sanitize.budgets._budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.budgets._capacity import ChannelBudget
from sanitize.budgets._tail import CVaRLiftBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.budgets._budgets import Budget


def budget_words(budget: Budget | None) -> str:
    """Say what a budget allows in a plain sentence.

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
                f"{times(eps)} times as likely under one sensitive value as under another"
            )
        case L1LiftBudget(lower=lower, upper=upper):
            return _averaged_words("l1-lift", lower, upper, math.expm1)
        case Chi2LiftBudget(lower=lower, upper=upper):
            return _averaged_words("chi2-lift", lower, upper, lambda bound: math.expm1(bound) ** 2)
        case AlphaLiftBudget(alpha=alpha, lower=lower, upper=upper):
            return _averaged_words(f"alpha-lift of order {alpha:.4g}", lower, upper, math.exp)
        case CVaRLiftBudget(upper=upper, delta=delta):
            if math.isinf(upper):
                return "no limit (budget on the mean lift with an infinite bound)"
            return (
                f"log of the mean lift over the most telling {delta:.4g} of the release at most {upper:.4g} nats: "
                f"there, no single sensitive value becomes more than {times(upper)} times as likely on average"
            )
    owner = "the whole channel" if isinstance(budget, ChannelBudget) else "every released value"
    return f"{owner} meets the limits of {type(budget).__name__}"


def _lift_words(budget: LiftBudget) -> str:
    lower, upper = budget.lower, budget.upper
    if math.isinf(lower) and math.isinf(upper):
        return "no limit (lift budget with both bounds infinite)"
    least, most = f"{0.0 - lower:.4g}", f"{upper:.4g}"
    # What was written in times is shown as it was written.
    digits = ".3g" if "lower" in budget.bounds else ".15g"
    less, more = f"less than {budget.at_least:{digits}}", f"more than {budget.at_most:{digits}}"
    if math.isinf(lower):
        limit, either = f"at most {most}", more
    elif math.isinf(upper):
        limit, either = f"at least {least}", less
    else:
        limit, either = f"between {least} and {most}", f"{less} or {more}"
    return f"no released value makes a sensitive value {either} times as likely (log-lift {limit} nats)"


def _averaged_words(name: str, lower: float, upper: float, of: Callable[[float], float]) -> str:
    sides = [(f"{name} at most", upper), (f"{name} of the inverse at most", lower)]
    limits = [f"{words} {or_infinity(of, bound):.4g}" for words, bound in sides if not math.isinf(bound)]
    if not limits:
        return f"no limit ({name} budget with both bounds infinite)"
    return f"{', '.join(limits)}: limits what a released value changes about the sensitive values on average"
