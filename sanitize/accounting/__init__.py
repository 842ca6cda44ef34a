"""Composition, group privacy, and what several releases tell together.

Levels that bound every ratio P(y|x)/P(y|x') or every capacity add up over releases. Budgets on the lift of S do
not: the joint lift of two releases is measured here from the joint distribution, and bounded where a theorem allows it.
"""

from __future__ import annotations

from sanitize.accounting._balance import Balance, balance_function
from sanitize.accounting._composition import (
    GeneralComposition,
    ParallelComposition,
    compose,
    cross_capacity,
    general_composition,
    parallel_composition,
)
from sanitize.accounting._computational_balance import ComputationalBalance, computational_balance_function
from sanitize.accounting._joint_release import conditional_dependence, joint_release, sequential_log_lift
from sanitize.accounting._joint_release import pair_of as pair_of
from sanitize.accounting._lift_budgets import (
    MeanTail,
    PrivacyLoss,
    basic_composition,
    group_capacity_bound,
    group_privacy,
    independent_release_budget,
    private_mean_tail,
    sensitive_ldp_composition,
    sequential_budget,
)
from sanitize.accounting._moved_counts import moved_count_delta, moved_count_sigma
from sanitize.accounting._permanent_release import permanent_release

__all__ = [
    "Balance",
    "ComputationalBalance",
    "GeneralComposition",
    "MeanTail",
    "ParallelComposition",
    "PrivacyLoss",
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
    "moved_count_delta",
    "moved_count_sigma",
    "parallel_composition",
    "permanent_release",
    "private_mean_tail",
    "sensitive_ldp_composition",
    "sequential_budget",
    "sequential_log_lift",
]
