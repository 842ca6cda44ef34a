"""Inverses of increasing functions, to the last digits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_RTOL = 4 * np.finfo(float).eps
_TINY = 1e-300
_LAST = 700.0


def level_of(value: Callable[[float], float], target: float) -> float:
    """The least t >= 0 where an increasing value(t) reaches the target; inf if it does not up to t = 700."""
    if value(0.0) >= target:
        return 0.0
    high = 1.0
    while value(high) < target:
        if high >= _LAST:
            return math.inf
        high = min(2 * high, _LAST)
    low = high / 16
    while low and value(low) >= target:
        high, low = low, low / 16
    return root_between(lambda t: value(t) - target, low, high)


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Root in a bracket, to relative machine precision."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=_TINY, rtol=_RTOL, maxiter=1000))
