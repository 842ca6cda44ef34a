"""Composition, group privacy, and what several releases tell together.

Levels that bound every ratio P(y|x)/P(y|x') or every capacity add up over releases. Budgets on the lift of S do
not: the joint lift of two releases is measured here from the joint distribution, and bounded where a theorem allows it.
"""

from __future__ import annotations

from sanitize.accounting._balance import Balance as Balance
from sanitize.accounting._balance import balance_function
from sanitize.accounting._composition import GeneralComposition as GeneralComposition
from sanitize.accounting._composition import ParallelComposition as ParallelComposition
from sanitize.accounting._composition import compose, cross_capacity, general_composition, parallel_composition
from sanitize.accounting._computational_balance import ComputationalBalance as ComputationalBalance
from sanitize.accounting._computational_balance import computational_balance_function
from sanitize.accounting._joint_release import conditional_dependence, joint_release
from sanitize.accounting._joint_release import pair_of as pair_of
from sanitize.accounting._joint_release import sequential_log_lift as sequential_log_lift
from sanitize.accounting._lift_budgets import MeanTail as MeanTail
from sanitize.accounting._lift_budgets import PrivacyLoss as PrivacyLoss
from sanitize.accounting._lift_budgets import (
    basic_composition,
    group_capacity_bound,
    group_privacy,
    independent_release_budget,
    private_mean_tail,
    sensitive_ldp_composition,
    sequential_budget,
)
from sanitize.accounting._moved_counts import moved_count_delta as moved_count_delta
from sanitize.accounting._moved_counts import moved_count_sigma as moved_count_sigma
from sanitize.accounting._permanent_release import permanent_release

__all__ = [
    "balance_function",
    "basic_composition",
    "compose",
    "computational_balance_function",
    "conditional_dependence",
    "cross_capacity",
    "general_composition",
    "group_capacity_bound",
    "group_privacy",
    "independent_release_budget",
    "joint_release",
    "parallel_composition",
    "permanent_release",
    "private_mean_tail",
    "sensitive_ldp_composition",
    "sequential_budget",
]
