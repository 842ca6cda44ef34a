"""Privacy-distortion functions: the least privacy loss at a distortion, its inverse, and the channel that reaches it.

Closed forms first, microseconds each: source sets that hold the uniform law (``uniform_*``, n records over m
letters), known priors (``prior_*`` one record, ``records_*`` and ``iid_*`` several, ``ordered_*`` a set of priors),
and databases with any prior under identifiability, differential privacy and mutual information
(`identifiability_tradeoff`, `dp_tradeoff`, `prior_mutual_information`). Then programs for any prior, alphabet and
distortion matrix (``optimal_*``). Distortion is the expected number of changed records; levels are in nats.
Mechanisms are matrices p(y|x); `Channel.from_matrix` makes one to release with. References: [WYZ], [ZB].
"""

from __future__ import annotations

from sanitize.tradeoff._hamming import hamming_distances, hamming_distortion, hamming_epsilon, hamming_mechanism
from sanitize.tradeoff._identifiability import (
    PrivacyInterval,
    dp_tradeoff,
    identifiability_mechanism,
    identifiability_threshold,
    identifiability_tradeoff,
    prior_mutual_information,
    source_set_dp_tradeoff,
)
from sanitize.tradeoff._leakage import (
    iid_maximal_leakage_bound,
    ordered_maximal_leakage,
    ordered_maximal_leakage_distortion,
    ordered_maximal_leakage_mechanism,
    prior_maximal_leakage,
    prior_maximal_leakage_distortion,
    prior_maximal_leakage_mechanism,
)
from sanitize.tradeoff._level import least_level
from sanitize.tradeoff._linear_program import OptimalChannel
from sanitize.tradeoff._optimal import (
    optimal_dp_channel,
    optimal_identifiability_channel,
    optimal_max_information_channel,
    optimal_maximal_leakage_channel,
)
from sanitize.tradeoff._prior import (
    iid_dp,
    iid_dp_distortion,
    prior_dp,
    prior_dp_distortion,
    prior_dp_mechanism,
    records_dp,
    records_dp_distortion,
    records_dp_mechanism,
)
from sanitize.tradeoff._rate_distortion import optimal_mutual_information_channel
from sanitize.tradeoff._shells import (
    ball_mechanism,
    product_sibson_information,
    shell_mechanism,
    uniform_max_information,
    uniform_maximal_leakage,
    uniform_maximal_leakage_distortion,
    uniform_sibson_information,
    uniform_sibson_information_distortion,
)
from sanitize.tradeoff._sibson import optimal_sibson_channel
from sanitize.tradeoff._uniform import (
    entrywise_dp,
    max_information_bound,
    symmetric_mechanism,
    uniform_dp,
    uniform_dp_distortion,
    uniform_dp_mechanism,
    uniform_mutual_information,
    uniform_mutual_information_distortion,
    uniform_renyi_dp,
    uniform_renyi_dp_distortion,
)

__all__ = [
    "OptimalChannel",
    "PrivacyInterval",
    "ball_mechanism",
    "dp_tradeoff",
    "entrywise_dp",
    "hamming_distances",
    "hamming_distortion",
    "hamming_epsilon",
    "hamming_mechanism",
    "identifiability_mechanism",
    "identifiability_threshold",
    "identifiability_tradeoff",
    "iid_dp",
    "iid_dp_distortion",
    "iid_maximal_leakage_bound",
    "least_level",
    "max_information_bound",
    "optimal_dp_channel",
    "optimal_identifiability_channel",
    "optimal_max_information_channel",
    "optimal_maximal_leakage_channel",
    "optimal_mutual_information_channel",
    "optimal_sibson_channel",
    "ordered_maximal_leakage",
    "ordered_maximal_leakage_distortion",
    "ordered_maximal_leakage_mechanism",
    "prior_dp",
    "prior_dp_distortion",
    "prior_dp_mechanism",
    "prior_maximal_leakage",
    "prior_maximal_leakage_distortion",
    "prior_maximal_leakage_mechanism",
    "prior_mutual_information",
    "product_sibson_information",
    "records_dp",
    "records_dp_distortion",
    "records_dp_mechanism",
    "shell_mechanism",
    "source_set_dp_tradeoff",
    "symmetric_mechanism",
    "uniform_dp",
    "uniform_dp_distortion",
    "uniform_dp_mechanism",
    "uniform_max_information",
    "uniform_maximal_leakage",
    "uniform_maximal_leakage_distortion",
    "uniform_mutual_information",
    "uniform_mutual_information_distortion",
    "uniform_renyi_dp",
    "uniform_renyi_dp_distortion",
    "uniform_sibson_information",
    "uniform_sibson_information_distortion",
]
