"""All that one lift budget implies, by the name of the leakage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sanitize.bounds._lift import (
    chi2_bound,
    l1_lift_bound,
    mutual_information_bound,
    sibson_bound,
    total_variation_bound,
)
from sanitize.budgets import LDPBudget, LiftBudget

if TYPE_CHECKING:
    from sanitize.budgets import Budget


def implied_bounds(budget: Budget | None) -> dict[str, float]:
    """Largest value of each measure that a budget allows, by measure name, in the measure's unit.

    Parameters
    ----------
    budget : Budget or None
        Bounds are known for `LiftBudget` and `LDPBudget`; other budgets give an empty mapping.

    Returns
    -------
    dict of str to float
        ``min_log_lift`` is a lower limit, all others are upper limits.

    Examples
    --------
    >>> from sanitize.budgets import LiftBudget
    >>> bounds = implied_bounds(LiftBudget(lower=1.5, upper=0.5))
    >>> round(bounds["chi2_divergence"], 4), round(bounds["mutual_information"], 4)
    (0.504, 0.2969)
    """
    if isinstance(budget, LDPBudget):
        return {"ldp_sensitive": budget.eps, "max_log_lift": budget.eps, "min_log_lift": -budget.eps}
    if not isinstance(budget, LiftBudget):
        return {}
    lower, upper = budget.lower, budget.upper
    limits = {"max_log_lift": upper, "min_log_lift": -lower, "ldp_sensitive": lower + upper}
    if math.isinf(upper):
        return limits
    chi2, order_2 = chi2_bound(lower, upper).tight, sibson_bound(lower, upper, 2).tight
    return limits | {
        "maximal_leakage": upper,
        "mutual_information": mutual_information_bound(lower, upper).tight,
        "total_variation": total_variation_bound(lower, upper).tight,
        "chi2_divergence": chi2,
        "chi2_lift": chi2,
        "l1_lift": l1_lift_bound(lower, upper).tight,
        "sibson_2": order_2,
        "arimoto_2": order_2,
    }
