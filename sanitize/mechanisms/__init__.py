"""Mechanisms: one algorithm of one paper a file, each ``(joint, budget, ...) -> Channel``."""

from sanitize.budgets import CapacityBudget
from sanitize.mechanisms._data_independent.calibration import (
    calibrate_randomized_response,
    capacity_randomized_response,
    randomized_response_capacity,
)
from sanitize.mechanisms._data_independent.discrete_laplace import discrete_laplace_channel
from sanitize.mechanisms._data_independent.exponential import (
    calibrate_exponential,
    exponential_channel,
    exponential_entropy,
)
from sanitize.mechanisms._data_independent.gaussian import Method as Method
from sanitize.mechanisms._data_independent.gaussian import gaussian_channel, gaussian_noise_variance
from sanitize.mechanisms._data_independent.hamming import hamming_channel, identifiability_channel, product_channel
from sanitize.mechanisms._data_independent.randomized_response import randomized_response
from sanitize.mechanisms._merging.best_partition import best_subset_merging
from sanitize.mechanisms._merging.paper_merging import paper_subset_merging
from sanitize.mechanisms._merging.subset_merging import subset_merging
from sanitize.mechanisms._merging.tail_merging import tail_merging
from sanitize.mechanisms._merging.watchdog import watchdog
from sanitize.mechanisms._random_response.optimal import optimal_random_response, solve_optimal_random_response
from sanitize.mechanisms._random_response.repair import response_names as response_names
from sanitize.mechanisms._random_response.response import RandomResponse
from sanitize.mechanisms._random_response.sequential import sequential_response
from sanitize.mechanisms._random_response.subset import paper_subset_random_response, subset_random_response
from sanitize.mechanisms._random_response.tail import tail_random_response
from sanitize.mechanisms._trees.blocks import blocks_within as blocks_within
from sanitize.mechanisms._trees.certified import MOST_PAIRED as MOST_PAIRED
from sanitize.mechanisms._trees.certified import as_lift_budget as as_lift_budget
from sanitize.mechanisms._trees.certified import certified_random_response
from sanitize.mechanisms._trees.certified_merging import certified_tree_merging
from sanitize.mechanisms._trees.merging import tree_merging
from sanitize.mechanisms._trees.random_response import tree_random_response

__all__ = [
    "CapacityBudget",
    "RandomResponse",
    "best_subset_merging",
    "calibrate_exponential",
    "calibrate_randomized_response",
    "capacity_randomized_response",
    "certified_random_response",
    "certified_tree_merging",
    "discrete_laplace_channel",
    "exponential_channel",
    "exponential_entropy",
    "gaussian_channel",
    "gaussian_noise_variance",
    "hamming_channel",
    "identifiability_channel",
    "optimal_random_response",
    "paper_subset_merging",
    "paper_subset_random_response",
    "product_channel",
    "randomized_response",
    "randomized_response_capacity",
    "sequential_response",
    "solve_optimal_random_response",
    "subset_merging",
    "subset_random_response",
    "tail_merging",
    "tail_random_response",
    "tree_merging",
    "tree_random_response",
    "watchdog",
]
