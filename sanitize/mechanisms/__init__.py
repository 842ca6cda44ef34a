"""Mechanisms: one algorithm of one paper a file, each ``(joint, budget, ...) -> Channel``."""

from sanitize.mechanisms._calibration import (
    CapacityBudget,
    calibrate_randomized_response,
    capacity_randomized_response,
    randomized_response_capacity,
)
from sanitize.mechanisms._exponential import calibrate_exponential, exponential_channel, exponential_entropy
from sanitize.mechanisms._gaussian import gaussian_channel, gaussian_noise_variance
from sanitize.mechanisms._hamming import (
    hamming_channel,
    identifiability_channel,
    product_channel,
)
from sanitize.mechanisms._randomized_response import randomized_response
from sanitize.mechanisms._subset_merging import subset_merging
from sanitize.mechanisms._watchdog import watchdog

__all__ = [
    "CapacityBudget",
    "calibrate_exponential",
    "calibrate_randomized_response",
    "capacity_randomized_response",
    "exponential_channel",
    "exponential_entropy",
    "gaussian_channel",
    "gaussian_noise_variance",
    "hamming_channel",
    "identifiability_channel",
    "product_channel",
    "randomized_response",
    "randomized_response_capacity",
    "subset_merging",
    "watchdog",
]
