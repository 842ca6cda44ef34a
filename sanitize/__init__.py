"""Release tables without giving away their sensitive columns.

``sanitize`` learns the joint distribution of sensitive and public columns, designs a privacy channel that keeps every
released symbol within a budget on the lift P(s|y)/P(s), releases the public columns through this channel, and reports
leakage and utility. Levels are in nats; axes are in the order S (sensitive), X (public), Y (released).

Estimators
    Watchdog, SubsetMerging, SubsetRandomResponse, OptimalRandomResponse, RandomizedResponse, ExponentialChannel,
    GaussianChannel, BestSanitizer, JointRelease
Budgets
    LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget, AlphaLiftBudget
Tables and files
    audit, last_report, release_file, verify_file, suggest_budget, Policy, SavedRelease,
    Ledger, NoiseKey
Distributions, channels, reports
    JointDistribution, Channel, LeakageReport
Mechanisms, from a distribution to a channel
    watchdog, subset_merging, subset_random_response, optimal_random_response, randomized_response,
    exponential_channel, gaussian_channel
Lift and its measures, one value per symbol
    lift, log_lift, max_lift, min_lift, l1_lift, chi2_lift, alpha_lift, l1_lift_inverse, chi2_lift_inverse,
    alpha_lift_inverse
Measures of a distribution, one value
    mutual_information, total_variation, chi2_divergence, sibson_information, arimoto_information,
    maximal_leakage, max_information, ldp_epsilon, normalized_utility
Notions of a channel
    approximate_dp, renyi_dp, identifiability, channel_capacity

Further functions are in subpackages, which are attributes after ``import sanitize``: ``sanitize.core`` (distributions,
channels, lifts and budgets), ``sanitize.auditing`` (attacks, verification, analyses), ``sanitize.over_time`` (ledgers),
``sanitize.people`` (linked tables), ``sanitize.engines`` (files, Dask, Spark, databases) and ``sanitize.theory``.
``import sanitize.pandas`` adds ``df.sanitize`` to pandas frames, ``import sanitize.polars`` to polars frames. ``help``
of any name shows its parameters and an example: ``help(sanitize.SubsetMerging)``.
"""

import lazy_loader

from sanitize._version import __version__ as __version__

# Subpackages are imported when a name is first used, so that `import sanitize` is fast. There is no `__all__`,
# because with one, `help` would show every class in full.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
