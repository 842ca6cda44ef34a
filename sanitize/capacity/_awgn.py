"""Capacity of a Gaussian channel whose input is bounded in power."""

from __future__ import annotations

import math
import sys

from sanitize._checks import number


def awgn_capacity(power: float, noise_variance: float = 1.0) -> float:
    """Capacity log(1 + P/N)/2 of Y = X + Z with E X² <= P and Z normal of variance N, in nats [WXH Cor. 6].

    Reached by a normal input. An input bounded in amplitude, |X| <= √P, carries less: `amplitude_capacity`.

    Parameters
    ----------
    power : float
        P, >= 0.
    noise_variance : float
        N, > 0 and finite.

    Returns
    -------
    float
        Nats, >= 0; inf for unbounded power.

    Raises
    ------
    InvalidParameter
        If an argument is out of its range.

    Examples
    --------
    >>> from sanitize.capacity import amplitude_capacity
    >>> round(awgn_capacity(1.0), 6), round(amplitude_capacity(1.0).value, 6)
    (0.346574, 0.336831)
    """
    p = number("power", power, 0, math.inf)
    n = number("noise_variance", noise_variance, sys.float_info.min, sys.float_info.max)
    return math.log1p(p / n) / 2
