"""Mechanisms: one algorithm of one paper a file, each ``(joint, budget, ...) -> Channel``."""

import lazy_loader

# Files are loaded when a name of theirs is first used: a release on the command line needs few of them.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
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
