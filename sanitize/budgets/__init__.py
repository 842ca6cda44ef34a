"""What each released symbol may leak, as frozen values.

A budget looks at the lifts of one symbol and the prior, nothing else, so the same budget drives a mechanism
and judges its result. ``excess > 0`` holds exactly where a symbol leaks too much; differences up to 1e-12
(rounding of doubles) count as met.
"""

from __future__ import annotations

from sanitize.budgets._budgets import AlphaLiftBudget, Budget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.budgets._budgets import AveragedBudget as AveragedBudget
from sanitize.budgets._budgets import above as above
from sanitize.budgets._budgets import by_value as by_value
from sanitize.budgets._budgets import ends as ends
from sanitize.budgets._budgets import forgiven as forgiven
from sanitize.budgets._budgets import furthest as furthest
from sanitize.budgets._budgets import limit_rows as limit_rows
from sanitize.budgets._budgets import limited as limited
from sanitize.budgets._budgets import limits_for as limits_for
from sanitize.budgets._budgets import limits_seen as limits_seen
from sanitize.budgets._budgets import loosest as loosest
from sanitize.budgets._budgets import tightest as tightest
from sanitize.budgets._capacity import (
    CapacityBudget,
    CVaRLiftBudget,
    MaximalLeakageBudget,
    MutualInformationBudget,
    PMLEnvelopeBudget,
    TotalVariationBudget,
)
from sanitize.budgets._capacity import ChannelBudget as ChannelBudget
from sanitize.budgets._capacity import MeanBudget as MeanBudget
from sanitize.budgets._conditional import ReferredBudget as ReferredBudget
from sanitize.budgets._conditional import conditional_budget as conditional_budget
from sanitize.budgets._plain import BUDGETS as BUDGETS
from sanitize.budgets._plain import SYMBOL_BUDGETS as SYMBOL_BUDGETS
from sanitize.budgets._plain import as_budget as as_budget
from sanitize.budgets._plain import as_capacity_budget as as_capacity_budget
from sanitize.budgets._plain import bounds_of as bounds_of
from sanitize.budgets._plain import budget_from_dict as budget_from_dict
from sanitize.budgets._plain import budget_to_dict as budget_to_dict
from sanitize.budgets._plain import budget_words as budget_words
from sanitize.budgets._plain import check_kind as check_kind
from sanitize.budgets._plain import nameless as nameless
from sanitize.budgets._plain import nats_of as nats_of
from sanitize.budgets._plain import scaled_budget as scaled_budget
from sanitize.lifts import logs as logs

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
