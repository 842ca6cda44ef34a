"""What the tests split from uniform share: tables, releases and oracles."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from sanitize.theory import tradeoff as td

mpmath.mp.dps = 50

INF = math.inf

SIZES = [(1, 2), (1, 3), (1, 5), (2, 2), (2, 3), (3, 2)]


def mean_distance(prior: np.ndarray, channel: np.ndarray, n: int, m: int) -> float:
    return float(prior @ (channel * td.hamming_distances(n, m)).sum(axis=1))


def dp_level(channel: np.ndarray, n: int, m: int, delta: float = 0.0) -> float:
    """Least ε of (ε, δ)-DP by event, one pair of neighbours at a time, by bisection."""
    distances = td.hamming_distances(n, m)
    pairs = np.argwhere(distances == 1)
    low, high = 0.0, 80.0

    def over(level: float) -> float:
        gap = channel[pairs[:, 0]] - math.exp(level) * channel[pairs[:, 1]]
        return float(np.maximum(gap, 0).sum(axis=1).max())

    if over(0.0) <= delta + 1e-15:
        return 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) > delta + 1e-15 else (low, middle)
    return high
