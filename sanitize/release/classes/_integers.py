"""Distributions as whole numbers: fixed-point logarithms, their powers of two, and draws."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitize._util.checks import Codes, Vector

# Steps into which each unit of a logarithm to base two is divided: a weight is then rounded by at most 0.04 %.
STEPS = 1 << 10
# Sum of the memberships of a row, so that 16 random bits draw a class with exactly these chances.
UNIT = 1 << 16
# Bits of the largest weight of a distribution to draw from: 127 weights, the most of a column, sum to less than 31
# bits.
_BITS = 24
# Least logarithm: 24 bits shifted by 64 leave nothing, so that its power counts as 0.
LEAST_LOG = -64 * STEPS
# The product of a 32-bit word and a total of 31 bits, divided by 2**32, is uniform below the total.
_HALF = np.uint64(32)


def _powers() -> NDArray[np.int64]:
    """Return 2**(_BITS - i / STEPS) for each i, rounded down, by exact square roots."""
    scale = 256
    root = 1 << scale
    root *= 2
    for _ in range(STEPS.bit_length() - 1):
        root = isqrt(root << scale)
    power, powers = 1 << (scale + _BITS), []
    for _ in range(STEPS):
        powers.append(power >> scale)
        power = (power << scale) // root
    return np.array(powers, np.int64)


# Computed once, in whole numbers: floating-point powers may differ between processors in the last digit.
_POWERS = _powers()


def to_fixed_point(logs: NDArray[Any]) -> NDArray[np.int32]:
    """Convert natural logarithms to logarithms to base two, in whole steps."""
    return np.clip(np.rint(logs * (STEPS / np.log(2))), LEAST_LOG, -LEAST_LOG).astype(np.int32)


def powers_of_two(logs: NDArray[np.int32]) -> NDArray[np.int64]:
    """Convert logarithms to weights; in each row, the largest weight is 2**24."""
    below = logs.max(axis=1, keepdims=True) - logs
    return np.asarray(_POWERS[below & (STEPS - 1)] >> np.minimum(below >> (STEPS.bit_length() - 1), 63))


def apportion(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running totals of the weights of each row, scaled to end at `UNIT`."""
    totals = np.cumsum(weights, axis=1)
    return totals * UNIT // totals[:, -1:]


def draw_below(totals: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Draw a uniform whole number below each row's total, from 32-bit words; totals have at most 31 bits."""
    return ((words * totals.astype(np.uint64)) >> _HALF).astype(np.int64)


def draw_states(weights: NDArray[np.int64], words: NDArray[np.uint64]) -> Codes:
    """Draw a state for each row according to the row's weights, from 32-bit words."""
    totals = np.cumsum(weights, axis=1)
    drawn = draw_below(totals[:, -1], words)
    return np.asarray((totals <= drawn[:, None]).sum(axis=1), np.intp)


def draw_listed(
    cumulative: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64], words: NDArray[np.uint64]
) -> Codes:
    """Draw a position from ``first`` to before ``last`` for each row, with weights given as a running total.

    Parameters
    ----------
    cumulative : ndarray of int, shape (n_places + 1,)
        Running total of the weights of all distributions, one after another; each sums to at most 31 bits.
    first, last : ndarray of int, shape (n,)
        First position of each row's distribution, and the position after its last.
    words : ndarray of uint64, shape (n,)
        Random words of 32 bits.
    """
    start = cumulative[first]
    drawn = start + draw_below(cumulative[last] - start, words)
    return np.searchsorted(cumulative, drawn, side="right") - 1


def whole_weights(shares: Vector, first: Codes, most: int = 1 << _BITS) -> NDArray[np.int64]:
    """Convert the shares of outcomes to whole numbers that sum to about ``most`` in each distribution."""
    totals = np.add.reduceat(shares, first[:-1])
    sizes = np.diff(first)
    whole = np.rint(shares / np.repeat(np.where(totals > 0, totals, 1), sizes) * most).astype(np.int64)
    empty = np.add.reduceat(whole, first[:-1]) == 0
    return np.where(np.repeat(empty, sizes), 1, whole)
