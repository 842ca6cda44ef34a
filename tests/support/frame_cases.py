"""What the tests split from frame share: tables, releases and oracles."""

from __future__ import annotations

import math

import sanitize as sz
import sanitize.pandas
import sanitize.polars

N = 60

LOOSE = sz.LiftBudget(lower=math.inf, upper=math.inf)  # every symbol is safe, so every row keeps its own

TIGHT = sz.LiftBudget(lower=math.inf, upper=0.05)  # everything is merged and drawn anew

SECRET = ["p", "n", "n"] * (N // 3)

ESTIMATORS = {
    "watchdog": sz.Watchdog,
    "subset_merging": sz.SubsetMerging,
    "optimal_random_response": sz.OptimalRandomResponse,
    "subset_random_response": sz.SubsetRandomResponse,
    "randomized_response": sz.RandomizedResponse,
    "exponential_channel": sz.ExponentialChannel,
    "gaussian_channel": sz.GaussianChannel,
    "joint_release": sz.JointRelease,
    "latent_class_release": sz.LatentClassRelease,
}


def cycle(values: list) -> list:
    return [values[i % len(values)] for i in range(N)]
