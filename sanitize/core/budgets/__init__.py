"""Budgets: limits on the leakage of each released symbol, as frozen values.

A budget is a function of the lifts of one symbol and of the prior alone, so a mechanism can use the budget that its
result is later judged by. ``excess > 0`` holds exactly where a symbol leaks too much; differences up to 1e-12 (rounding
of doubles) count as met.
"""

from __future__ import annotations

from sanitize.core.budgets._budgets import AlphaLiftBudget, Budget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.core.budgets._budgets import AveragedBudget as AveragedBudget
from sanitize.core.budgets._budgets import budget_in_nats as budget_in_nats
from sanitize.core.budgets._budgets import by_value as by_value
from sanitize.core.budgets._budgets import clear_rounding as clear_rounding
from sanitize.core.budgets._budgets import ends as ends
from sanitize.core.budgets._budgets import excess_over as excess_over
from sanitize.core.budgets._budgets import extreme_log_lifts as extreme_log_lifts
from sanitize.core.budgets._budgets import lift_limits as lift_limits
from sanitize.core.budgets._budgets import limit_rows as limit_rows
from sanitize.core.budgets._budgets import limits_for as limits_for
from sanitize.core.budgets._budgets import loosest as loosest
from sanitize.core.budgets._budgets import present_limits as present_limits
from sanitize.core.budgets._budgets import tightest_limit as tightest_limit
from sanitize.core.budgets._capacity import (
    CapacityBudget,
    CVaRLiftBudget,
    MaximalLeakageBudget,
    MutualInformationBudget,
    PMLEnvelopeBudget,
    TotalVariationBudget,
)
from sanitize.core.budgets._capacity import ChannelBudget as ChannelBudget
from sanitize.core.budgets._capacity import MeanBudget as MeanBudget
from sanitize.core.budgets._conditional import ReferredBudget as ReferredBudget
from sanitize.core.budgets._conditional import conditional_budget as conditional_budget
from sanitize.core.budgets._plain import BUDGETS as BUDGETS
from sanitize.core.budgets._plain import SYMBOL_BUDGETS as SYMBOL_BUDGETS
from sanitize.core.budgets._plain import BudgetForm as BudgetForm
from sanitize.core.budgets._plain import as_budget as as_budget
from sanitize.core.budgets._plain import as_capacity_budget as as_capacity_budget
from sanitize.core.budgets._plain import budget_bounds as budget_bounds
from sanitize.core.budgets._plain import budget_from_dict as budget_from_dict
from sanitize.core.budgets._plain import budget_nats as budget_nats
from sanitize.core.budgets._plain import budget_to_dict as budget_to_dict
from sanitize.core.budgets._plain import budget_words as budget_words
from sanitize.core.budgets._plain import check_kind as check_kind
from sanitize.core.budgets._plain import declared_budget as declared_budget
from sanitize.core.budgets._plain import nameless as nameless
from sanitize.core.budgets._plain import scale_budget as scale_budget
from sanitize.core.lifts import logs as logs

__all__ = [
    "AlphaLiftBudget",
    "Budget",
    "CVaRLiftBudget",
    "CapacityBudget",
    "Chi2LiftBudget",
    "L1LiftBudget",
    "LDPBudget",
    "LiftBudget",
    "MaximalLeakageBudget",
    "MutualInformationBudget",
    "PMLEnvelopeBudget",
    "TotalVariationBudget",
]
