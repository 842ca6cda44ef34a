"""The public names of every module, frozen: one that comes or goes is a change that somebody means."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

import sanitize

# Module of `sanitize`: what its ``__all__`` lists.
NAMES = {
    "theory.accounting": """
        balance_function basic_composition compose computational_balance_function conditional_dependence
        cross_capacity general_composition group_capacity_bound group_privacy independent_release_budget
        joint_release parallel_composition permanent_release private_mean_tail
        sensitive_ldp_composition sequential_budget
    """,
    "core.alphabet": """
        Alphabet
    """,
    "auditing.analyze": """
        effective_rows logistic mean table
    """,
    "theory.anonymity": """
        alpha_k_anonymity anonymity_profile beta_likeness delta_disclosure enhanced_beta_likeness
        entropy_l_diversity k_anonymity l_diversity recursive_l_diversity t_closeness
    """,
    "auditing.attack": """
        bayes check downstream infer judge leave_one_out link
    """,
    "core.binning": "",
    "core.bounds": """
        alpha_lift_bound alpha_lift_inverse_bound arimoto_bound chi2_bound chi2_lift_inverse_bound l1_lift_bound
        l1_lift_inverse_bound ldp_bound max_lift_from_alpha max_lift_from_chi2 max_lift_from_l1
        max_lift_from_min_lift min_lift_from_max_lift
        min_lift_from_alpha_inverse min_lift_from_chi2_inverse min_lift_from_l1_inverse mutual_information_bound
        sibson_bound total_variation_bound
    """,
    "core.budgets": """
        AlphaLiftBudget Budget CVaRLiftBudget CapacityBudget Chi2LiftBudget L1LiftBudget LDPBudget LiftBudget
        MaximalLeakageBudget MutualInformationBudget PMLEnvelopeBudget TotalVariationBudget
    """,
    "core.capacity": """
        amplitude_capacity awgn_capacity channel_capacity dp_information_bound
    """,
    "core.channel": """
        Channel
    """,
    "tables": "",
    "cli": """
        main
    """,
    "core.confidence": """
        ConfidenceSet worst_case_lift
    """,
    "core.conversions": """
        approximate_dp_delta approximate_dp_epsilon kl_from_dp mutual_information_from_dp
        mutual_information_from_kl mutual_information_from_total_variation power_from_dp total_variation_from_kl
        total_variation_from_mutual_information
    """,
    "engines.dask": """
        release_file transform
    """,
    "datasets": """
        load_berkeley load_framingham load_hair_eye load_survey load_titanic make_joint make_table
    """,
    "errors": """
        BudgetExceeded ColumnError InfeasibleTarget InvalidBudget InvalidChannel InvalidDistribution
        InvalidParameter LedgerError LedgerExceeded NothingToProtect PolicyError ReleaseRefuted ReleaseWarning
        RowOrderLeak SanitizeError SourceChanged SourceError TargetError TargetExists UnknownSymbol UnseenSymbolWarning
        UselessRelease
        VerificationFailed
    """,
    "frames": """
        audit last_report release
    """,
    "theory.individual": """
        individual_channel_capacity individual_max_information mi_dp
    """,
    "core.joint": """
        ContingencyTable JointDistribution
    """,
    "over_time": """
        DPLedger Ledger UnitLedger
    """,
    "core.lifts": """
        alpha_lift alpha_lift_inverse chi2_lift chi2_lift_inverse l1_lift l1_lift_inverse ldp_ratio lift
        log_lift max_lift max_log_lift min_lift min_log_lift pml_envelope pml_quantile
    """,
    "core.measures": """
        arimoto_information chi2_divergence dobrushin_coefficient effective_share ldp_epsilon max_information
        maximal_correlation maximal_leakage mutual_information normalized_utility sibson_information side_knowledge
        total_variation utility
    """,
    "mechanisms": """
        best_subset_merging calibrate_exponential calibrate_randomized_response
        discrete_laplace_channel exponential_channel exponential_entropy gaussian_channel
        gaussian_noise_variance optimal_random_response randomized_response randomized_response_capacity
        solve_optimal_random_response subset_merging subset_random_response watchdog
    """,
    "theory.notions": """
        approximate_dp global_dp identifiability prior_ratio renyi_dp
    """,
    "pandas": "",
    "engines.parquet": """
        audit_file plan_file release_file release_units
    """,
    "polars": "",
    "policy": """
        Policy
    """,
    "people": """
        Child UnitRelease
    """,
    "report": """
        LeakageReport
    """,
    "core.repeats": """
        repeated_information repeats_needed
    """,
    "theory.hamming": """
        hamming_channel identifiability_channel
    """,
    "release.saved": """
        Receipt SavedRelease
    """,
    "engines.spark": """
        release_file transform
    """,
    "engines.sql": """
        Database release
    """,
    "release.choosing": """
        compare suggest_budget tradeoff_curve
    """,
    "theory.tradeoff": """
        DatabaseDP DatabaseIdentifiability DatabaseMutualInformation OptimalDP OptimalIdentifiability
        OptimalMaxInformation OptimalSibson PriorDP PriorMaximalLeakage RecordsDP Tradeoff UniformDP
        UniformRenyiDP UniformSibson hamming_distances max_information_bound
    """,
    "transformers": """
        BestSanitizer ExponentialChannel GaussianChannel JointRelease LatentClassRelease OptimalRandomResponse
        RandomizedResponse RecordDP Sanitizer SecretDP SubsetMerging SubsetRandomResponse Watchdog
        leakage_scorer utility_scorer
    """,
    "auditing.verify": """
        verify_file
    """,
}


# Rooms of several parts: the parts are listed, and they are not.
OF_PARTS = ("auditing", "core", "engines", "release", "theory")


def modules() -> list[str]:
    """Public modules, and the parts of rooms that hold several."""
    tops = [found.name for found in pkgutil.iter_modules(sanitize.__path__) if not found.name.startswith("_")]
    inner = [f"{top}.{name}" for top in OF_PARTS for name in importlib.import_module(f"sanitize.{top}").__all__]
    return sorted({*tops, *inner} - {*OF_PARTS})


def test_every_public_module_is_listed():
    assert sorted(NAMES) == modules()


@pytest.mark.parametrize("module", sorted(NAMES))
def test_a_module_has_the_names_that_are_listed_and_no_others(module):
    made = pytest.importorskip(f"sanitize.{module}", reason="Dask or Spark is not installed", exc_type=ImportError)
    assert sorted(made.__all__) == sorted(NAMES[module].split())
    assert [name for name in made.__all__ if not hasattr(made, name)] == []


def test_every_public_module_is_an_attribute_of_the_package():
    """In a process of its own: an import elsewhere would set the attribute."""
    engines = ("engines.dask", "engines.spark") if find_spec("dask") is None or find_spec("pyspark") is None else ()
    lines = ["import sanitize", *(f"sanitize.{name}" for name in modules() if name not in engines)]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_there_are_few_names():
    """Of what is called, or made; results are documented with what returns them, and nobody has to name them."""
    assert 200 < sum(len(names.split()) for names in NAMES.values()) <= 240
