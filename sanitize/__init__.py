"""Release tables without giving away their sensitive columns.

``sanitize`` learns the joint law of sensitive and public columns, designs a privacy channel that keeps every
released symbol within a budget on the lift P(s|y)/P(s), releases the public columns through it, and reports
what leaks and what was kept.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sanitize._version import __version__

# Eager, and light: the function must take the name that the submodule would otherwise keep.
from sanitize.lift import lift

if TYPE_CHECKING:
    from sanitize import (
        accounting,
        attack,
        bounds,
        conversions,
        datasets,
        frame,
        mechanisms,
        plots,
        tradeoff,
        transformers,
    )
    from sanitize._appended import AppendedReport
    from sanitize._random import NoiseKey
    from sanitize.accounting import balance_function, joint_release
    from sanitize.alphabet import Alphabet
    from sanitize.anonymity import (
        alpha_k_anonymity,
        anonymity_profile,
        beta_likeness,
        delta_disclosure,
        enhanced_beta_likeness,
        entropy_l_diversity,
        k_anonymity,
        l_diversity,
        recursive_l_diversity,
        t_closeness,
    )
    from sanitize.budgets import (
        AlphaLiftBudget,
        Budget,
        Chi2LiftBudget,
        L1LiftBudget,
        LDPBudget,
        LiftBudget,
    )
    from sanitize.capacity import channel_capacity
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet, worst_case_lift
    from sanitize.curve import tradeoff_curve
    from sanitize.errors import BudgetExceeded, SanitizeError
    from sanitize.frame import audit, last_report
    from sanitize.individual import individual_channel_capacity, mi_dp
    from sanitize.joint import ContingencyTable, JointDistribution
    from sanitize.ledger import Ledger
    from sanitize.lift import (
        alpha_lift,
        alpha_lift_inverse,
        chi2_lift,
        chi2_lift_inverse,
        l1_lift,
        l1_lift_inverse,
        ldp_ratio,
        log_lift,
        max_lift,
        max_log_lift,
        min_lift,
        min_log_lift,
    )
    from sanitize.measures import (
        arimoto_information,
        chi2_divergence,
        ldp_epsilon,
        max_information,
        maximal_leakage,
        mutual_information,
        normalized_utility,
        sibson_information,
        total_variation,
        utility,
    )
    from sanitize.mechanisms import (
        exponential_channel,
        gaussian_channel,
        hamming_channel,
        identifiability_channel,
        optimal_random_response,
        randomized_response,
        subset_merging,
        subset_random_response,
        watchdog,
    )
    from sanitize.notions import approximate_dp, global_dp, identifiability, renyi_dp
    from sanitize.parquet import privatize_parquet
    from sanitize.policy import Policy
    from sanitize.report import LeakageReport
    from sanitize.saved import SavedRelease
    from sanitize.suggestion import suggest_budget
    from sanitize.verify import Verification, verify_parquet

# Public name -> the room it lives in. Rooms are imported when a name is first used, so that
# `import sanitize` stays light.
_ROOMS = {
    "_appended": "AppendedReport",
    "_random": "NoiseKey",
    "accounting": "balance_function joint_release",
    "alphabet": "Alphabet",
    "anonymity": (
        "alpha_k_anonymity anonymity_profile beta_likeness delta_disclosure enhanced_beta_likeness "
        "entropy_l_diversity k_anonymity l_diversity recursive_l_diversity t_closeness"
    ),
    "budgets": "AlphaLiftBudget Budget Chi2LiftBudget L1LiftBudget LDPBudget LiftBudget",
    "capacity": "channel_capacity",
    "channel": "Channel",
    "confidence": "ConfidenceSet worst_case_lift",
    "curve": "tradeoff_curve",
    "errors": "BudgetExceeded SanitizeError",
    "frame": "audit last_report",
    "individual": "individual_channel_capacity mi_dp",
    "joint": "ContingencyTable JointDistribution",
    "ledger": "Ledger",
    "lift": (
        "alpha_lift alpha_lift_inverse chi2_lift chi2_lift_inverse l1_lift l1_lift_inverse ldp_ratio log_lift "
        "max_lift max_log_lift min_lift min_log_lift"
    ),
    "measures": (
        "arimoto_information chi2_divergence ldp_epsilon max_information maximal_leakage mutual_information "
        "normalized_utility sibson_information total_variation utility"
    ),
    "mechanisms": (
        "exponential_channel gaussian_channel hamming_channel identifiability_channel optimal_random_response "
        "randomized_response subset_merging subset_random_response watchdog"
    ),
    "notions": "approximate_dp global_dp identifiability renyi_dp",
    "parquet": "privatize_parquet",
    "policy": "Policy",
    "report": "LeakageReport",
    "saved": "SavedRelease",
    "suggestion": "suggest_budget",
    "verify": "Verification verify_parquet",
}
_MODULES = (
    "accounting",
    "attack",
    "bounds",
    "conversions",
    "datasets",
    "frame",
    "mechanisms",
    "plots",
    "tradeoff",
    "transformers",
)
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "AlphaLiftBudget",
    "Alphabet",
    "AppendedReport",
    "Budget",
    "BudgetExceeded",
    "Channel",
    "Chi2LiftBudget",
    "ConfidenceSet",
    "ContingencyTable",
    "JointDistribution",
    "L1LiftBudget",
    "LDPBudget",
    "LeakageReport",
    "Ledger",
    "LiftBudget",
    "NoiseKey",
    "Policy",
    "SanitizeError",
    "SavedRelease",
    "Verification",
    "__version__",
    "accounting",
    "alpha_k_anonymity",
    "alpha_lift",
    "alpha_lift_inverse",
    "anonymity_profile",
    "approximate_dp",
    "arimoto_information",
    "attack",
    "audit",
    "balance_function",
    "beta_likeness",
    "bounds",
    "channel_capacity",
    "chi2_divergence",
    "chi2_lift",
    "chi2_lift_inverse",
    "conversions",
    "datasets",
    "delta_disclosure",
    "enhanced_beta_likeness",
    "entropy_l_diversity",
    "exponential_channel",
    "frame",
    "gaussian_channel",
    "global_dp",
    "hamming_channel",
    "identifiability",
    "identifiability_channel",
    "individual_channel_capacity",
    "joint_release",
    "k_anonymity",
    "l1_lift",
    "l1_lift_inverse",
    "l_diversity",
    "last_report",
    "ldp_epsilon",
    "ldp_ratio",
    "lift",
    "log_lift",
    "max_information",
    "max_lift",
    "max_log_lift",
    "maximal_leakage",
    "mechanisms",
    "mi_dp",
    "min_lift",
    "min_log_lift",
    "mutual_information",
    "normalized_utility",
    "optimal_random_response",
    "plots",
    "privatize_parquet",
    "randomized_response",
    "recursive_l_diversity",
    "renyi_dp",
    "sibson_information",
    "subset_merging",
    "subset_random_response",
    "suggest_budget",
    "t_closeness",
    "total_variation",
    "tradeoff",
    "tradeoff_curve",
    "transformers",
    "utility",
    "verify_parquet",
    "watchdog",
    "worst_case_lift",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(import_module(f"sanitize.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"sanitize.{name}")
    else:
        raise AttributeError(f"module 'sanitize' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
