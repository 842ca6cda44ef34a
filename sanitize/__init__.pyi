# The public face: read by type checkers, and by `lazy_loader` at run time. Estimators first.
from . import (
    auditing as auditing,
    cli as cli,
    core as core,
    datasets as datasets,
    engines as engines,
    errors as errors,
    frames as frames,
    mechanisms as mechanisms,
    over_time as over_time,
    pandas as pandas,
    people as people,
    polars as polars,
    policy as policy,
    release as release,
    report as report,
    theory as theory,
    transformers as transformers,
)
from .core.budgets import (
    AlphaLiftBudget as AlphaLiftBudget,
    Chi2LiftBudget as Chi2LiftBudget,
    L1LiftBudget as L1LiftBudget,
    LDPBudget as LDPBudget,
    LiftBudget as LiftBudget,
)
from .core.capacity import channel_capacity as channel_capacity
from .core.channel import Channel as Channel
from .errors import SanitizeError as SanitizeError
from .frames import audit as audit, last_report as last_report
from .core.joint import JointDistribution as JointDistribution
from .over_time import Ledger as Ledger
from .core.lifts import (
    alpha_lift as alpha_lift,
    alpha_lift_inverse as alpha_lift_inverse,
    chi2_lift as chi2_lift,
    chi2_lift_inverse as chi2_lift_inverse,
    l1_lift as l1_lift,
    l1_lift_inverse as l1_lift_inverse,
    lift as lift,
    log_lift as log_lift,
    max_lift as max_lift,
    min_lift as min_lift,
)
from .core.measures import (
    arimoto_information as arimoto_information,
    chi2_divergence as chi2_divergence,
    ldp_epsilon as ldp_epsilon,
    max_information as max_information,
    maximal_leakage as maximal_leakage,
    mutual_information as mutual_information,
    normalized_utility as normalized_utility,
    sibson_information as sibson_information,
    total_variation as total_variation,
)
from .mechanisms import (
    exponential_channel as exponential_channel,
    gaussian_channel as gaussian_channel,
    optimal_random_response as optimal_random_response,
    randomized_response as randomized_response,
    subset_merging as subset_merging,
    subset_random_response as subset_random_response,
    watchdog as watchdog,
)
from .theory.notions import (
    approximate_dp as approximate_dp,
)
from .engines.parquet import TableDescription as TableDescription, release_file as release_file
from .policy import Policy as Policy
from .report import LeakageReport as LeakageReport
from .release.saved import SavedRelease as SavedRelease
from .release.choosing import compare as compare, suggest_budget as suggest_budget
from .transformers import (
    BestSanitizer as BestSanitizer,
    ExponentialChannel as ExponentialChannel,
    GaussianChannel as GaussianChannel,
    JointRelease as JointRelease,
    LatentClassRelease as LatentClassRelease,
    OptimalRandomResponse as OptimalRandomResponse,
    RandomizedResponse as RandomizedResponse,
    SubsetMerging as SubsetMerging,
    SubsetRandomResponse as SubsetRandomResponse,
    Watchdog as Watchdog,
)
from .auditing.verify import verify_file as verify_file
from ._util.sampling.noise import NoiseKey as NoiseKey
from ._version import __version__ as __version__
