"""Theorems that convert one notion into another, with their corrections.

A channel that meets a lift budget meets bounds on every averaged leakage too. The lifts of one symbol lie in
[a, b] = [e**-lower, e**upper] and average to 1 under P_S, so the extremes are two-point laws; the bounds here
are the suprema over all priors. Three of them replace printed statements of [ZDS Prop. 5] that fail when
a + b < 2, the regime the paper recommends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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
    (0.504, 0.2027)
    """
    if isinstance(budget, LDPBudget):
        return {"ldp_sensitive": budget.eps, "max_log_lift": budget.eps, "min_log_lift": -budget.eps}
    if not isinstance(budget, LiftBudget):
        return {}
    limits = {"max_log_lift": budget.upper, "min_log_lift": -budget.lower, "ldp_sensitive": budget.lower + budget.upper}
    if math.isinf(budget.upper):
        return limits
    a, b = math.exp(-budget.lower), math.exp(budget.upper)
    limits["maximal_leakage"] = budget.upper
    if a == b:
        return limits | dict.fromkeys(("mutual_information", "total_variation", "chi2_divergence", "l1_lift", "chi2_lift"), 0.0)
    p = (1 - a) / (b - a)
    spread = (b - 1) * (1 - a)
    return limits | {
        "mutual_information": p * b * budget.upper - (1 - p) * (a * budget.lower if a > 0 else 0.0),
        "total_variation": spread / (b - a),
        "chi2_divergence": spread,
        "chi2_lift": spread,
        "l1_lift": 2 * spread / (b - a),
        "sibson_2": math.log(p * b**2 + (1 - p) * a**2),
        "arimoto_2": math.log(p * b**2 + (1 - p) * a**2),
    }
