"""Levels of a finished channel, measured by the code that measures any channel and rounded up.

Whatever a program proposes, only these figures are stated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize.notions import approximate_dp, global_dp, identifiability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

# Rounding of a log-ratio of two doubles and of the sums of their rows, with room to spare.
_RELATIVE, _ABSOLUTE = 1e-15, 4.5e-16
_ATTEMPTS = 60


def measured_dp(channel: Vector, delta: float, neighbours: ArrayLike | None) -> float:
    """Least ε of (ε, δ)-DP by event, rounded up."""
    if delta == 1 or constant(channel):
        return 0.0
    if delta > 0:
        level = approximate_dp(channel, delta=delta * (1 - 5e-16), neighbours=neighbours)
        return rounded_up(level) if level else 0.0
    if neighbours is None:
        return rounded_up(global_dp(channel, 1, len(channel)))
    return rounded_up(global_dp(channel, neighbours=neighbours))


def measured_identifiability(prior: Vector, channel: Vector, neighbours: ArrayLike | None) -> float:
    """Least ε of identifiability, rounded up."""
    return rounded_up(identifiability(prior, channel, neighbours))


def measured_max_information(prior: Vector, channel: Vector) -> float:
    """Largest log p(y|x)/p_Y(y) over all inputs, possible or not, rounded up."""
    if constant(channel):
        return 0.0
    top = channel.max(axis=0)
    shown = top > 0
    # Sums are exact, and one logarithm is taken of each ratio: those of small masses have larger last digits than it.
    marginal = np.array([math.fsum(column) for column in (prior[:, None] * channel[:, shown]).T]) / math.fsum(prior)
    with np.errstate(divide="ignore"):
        ratios = np.log(top[shown] / marginal)
    return rounded_up(max(0.0, float(ratios.max()))) + _ABSOLUTE  # rows sum to 1 but for the last digit


def measured_maximal_leakage(channel: Vector) -> float:
    """Log Σ_y max_x p(y|x), rounded up; the sum is exact."""
    if constant(channel):
        return 0.0
    return rounded_up(max(0.0, math.log1p(math.fsum([*channel.max(axis=0).tolist(), -1.0]))))


def constant(channel: Vector) -> bool:
    """Whether all inputs release the very same law."""
    return bool((channel == channel[0]).all())


def rounded_up(level: float) -> float:
    """A level no smaller than the one a measurement may have rounded down."""
    return level * (1 + _RELATIVE) + _ABSOLUTE


def within(
    build: Callable[[float], Vector], level: float, measure: Callable[[Vector], float]
) -> tuple[Vector, float] | None:
    """Channel whose measured level is at most the one asked for, built a little below it where rounding needs that.

    None where no attempt stays within the level.
    """
    target, room = level, 0.0
    for _ in range(_ATTEMPTS):
        channel = build(target)
        found = measure(channel)
        if found <= level:
            return channel, found
        if target == 0:
            return None
        room = max(2 * room, 2 * (found - level) if math.isfinite(found) else 1e-15)
        target = max(0.0, level - room)
    return None


def normalised(shares: Vector) -> Vector:
    """Rows scaled to sum to 1."""
    rows: Vector = shares / shares.sum(axis=1, keepdims=True)
    return rows
