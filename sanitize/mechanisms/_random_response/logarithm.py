"""Logarithms from additions, products and quotients alone, which every processor rounds alike.

Those of NumPy and of C libraries are right to the last digit or the one before, and which of the two depends on the
processor: some multiply and add in one step.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

# log(2^e m) = e log 2 + 2 artanh((m - 1) / (m + 1)), m from the root of 1/2 to the root of 2.
ROOT, LN_2 = 0.7071067811865476, 0.6931471805599453
# Of 2 artanh(s) / s in powers of s²; what comes after is below 1e-17.
SERIES = tuple(2.0 / k for k in range(21, 0, -2))
LEAST = 2.2250738585072014e-308  # normal number
_DIGITS = 40


def log_into(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Logarithms of normal numbers > 0, shape (k,), to within two units of the last digit."""
    bits = x.view(np.int64)
    power = (bits - np.int64(np.float64(ROOT).view(np.int64))) >> np.int64(52)
    share = (bits - (power << np.int64(52))).view(np.float64)
    s = (share - 1.0) / (share + 1.0)
    z = s * s
    np.multiply(z, SERIES[0], out=out)
    for c in SERIES[1:-1]:
        out += c
        out *= z
    out += SERIES[-1]
    out *= s
    out += power * LN_2


def exp(nats: float) -> float:
    """The double next to e**nats, the same everywhere; slow."""
    with localcontext() as digits:
        digits.prec = _DIGITS
        return float(Decimal(nats).exp())


def expm1(nats: float) -> float:
    """The double next to e**nats - 1, the same everywhere; slow."""
    with localcontext() as digits:
        digits.prec = _DIGITS
        if abs(nats) < 1e-20:
            return nats
        return float(Decimal(nats).exp() - 1)
