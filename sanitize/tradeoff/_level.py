"""The least level at a distortion, from whatever designs a channel for a level."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sanitize._checks import number
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.tradeoff._linear_program import OptimalChannel

_LARGEST = 700.0
_ROUNDING = 1e-12
# Relative width of the levels between which the least one is found.
_WIDTH = 1e-10


def least_level(design: Callable[[float], OptimalChannel], distortion: float) -> OptimalChannel:
    """Optimal channel at the least level whose distortion is at most D, from a design of a channel for a level.

    Parameters
    ----------
    design : callable
        Level in nats to `OptimalChannel`, with a distortion that falls as the level grows; a level at which
        none exists raises InvalidParameter and counts as too small.
    distortion : float
        D, >= 0.

    Raises
    ------
    InvalidParameter
        If no level up to 700 nats reaches D, or the design is no function.

    Examples
    --------
    >>> import numpy as np
    >>> from sanitize.tradeoff import optimal_dp_channel
    >>> prior, d = [0.5, 0.3, 0.2], 1 - np.eye(3)
    >>> round(least_level(lambda eps: optimal_dp_channel(eps, prior, d), 0.2).privacy, 6)
    2.079442
    """
    distortion = number("distortion", distortion, 0, math.inf)
    if not callable(design):
        raise InvalidParameter(f"design must be a function from a level to OptimalChannel, got {type(design).__name__}")

    def designed(level: float) -> OptimalChannel | None:
        try:
            return design(level)
        except InvalidParameter:
            return None

    def enough(found: OptimalChannel | None) -> bool:
        return found is not None and found.distortion <= distortion * (1 + _ROUNDING)

    low, high = 0.0, 0.5
    short, best = designed(low), designed(high)
    if short is not None and enough(short):
        return short
    while best is None or not enough(best):
        if high >= _LARGEST:
            raise InvalidParameter(f"distortion must be reachable by some level up to 700 nats, got {distortion:.12g}")
        low, high, short = high, min(2 * high, _LARGEST), best
        best = designed(high)
    secant = True
    while high - low > _WIDTH * max(high, 1e-3):
        middle = _between(low, high, short, best, distortion) if secant else (low + high) / 2
        found, width = designed(middle), high - low
        if found is not None and enough(found):
            high, best = middle, found
        else:
            low, short = middle, found
        secant = high - low <= width / 2 or not secant
    return best


def _between(low: float, high: float, short: OptimalChannel | None, best: OptimalChannel, aim: float) -> float:
    """A level just above where the line through two levels' log-distortions meets the aim; else the middle."""
    if short is None or not 0 < best.distortion < aim < short.distortion:
        return (low + high) / 2
    share = math.log(short.distortion / aim) / math.log(short.distortion / best.distortion)
    edge = _WIDTH / 2 * max(high, 1e-3)
    return min(max(low + share * (high - low) + edge / 2, low + edge), high - edge)
