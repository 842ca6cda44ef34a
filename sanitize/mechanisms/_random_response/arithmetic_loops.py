"""The loops of `arithmetic` compiled: the same operations in the same order, so the same bits."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from sanitize.mechanisms._random_response.logarithm import LN_2, ROOT, SERIES

# What is frozen is taken too.
_GIVEN = types.Array(types.float64, 2, "C", readonly=True)
_BITS = np.int64(np.float64(ROOT).view(np.int64))
_MANTISSA = np.int64(52)
_C11, _C10, _C9, _C8, _C7, _C6, _C5, _C4, _C3, _C2, _C1 = SERIES


@njit("float64(float64)", cache=True, nogil=True, error_model="numpy")
def log(x: float) -> float:
    """Logarithm of one normal number > 0."""
    share, power = math.frexp(x)
    if share < ROOT:
        share, power = share + share, power - 1
    s = (share - 1.0) / (share + 1.0)
    z = s * s
    p = _C11 * z + _C10
    p = (((((((p * z + _C9) * z + _C8) * z + _C7) * z + _C6) * z + _C5) * z + _C4) * z + _C3) * z + _C2
    return ((p * z + _C1) * s) + power * LN_2


@njit("void(float64[::1], int64[::1], float64[::1], int64[::1], float64[::1])", cache=True, nogil=True)
def log_into(
    x: NDArray[np.float64],
    bits: NDArray[np.int64],
    share: NDArray[np.float64],
    share_bits: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Logarithms of normal numbers > 0: two plain passes, which a processor can take several entries at a time of."""
    for i in range(len(x)):
        power = (bits[i] - _BITS) >> _MANTISSA
        share_bits[i] = bits[i] - (power << _MANTISSA)
        out[i] = power
    for i in range(len(x)):
        s = (share[i] - 1.0) / (share[i] + 1.0)
        z = s * s
        p = _C11 * z + _C10
        p = (((((((p * z + _C9) * z + _C8) * z + _C7) * z + _C6) * z + _C5) * z + _C4) * z + _C3) * z + _C2
        out[i] = ((p * z + _C1) * s) + out[i] * LN_2


@njit(types.void(_GIVEN, _GIVEN, types.float64[:, ::1]), cache=True, nogil=True)
def product(a: NDArray[np.float64], b: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Matrix product: terms are added in order, eight while a row of the result is at hand."""
    m, n = b.shape
    whole = m - m % 8
    for k in range(len(a)):
        f, row = a[k], out[k]
        for y in range(n):
            row[y] = 0.0
        for r in range(0, whole, 8):
            f0, f1, f2, f3 = f[r], f[r + 1], f[r + 2], f[r + 3]
            f4, f5, f6, f7 = f[r + 4], f[r + 5], f[r + 6], f[r + 7]
            b0, b1, b2, b3 = b[r], b[r + 1], b[r + 2], b[r + 3]
            b4, b5, b6, b7 = b[r + 4], b[r + 5], b[r + 6], b[r + 7]
            for y in range(n):
                part = row[y] + f0 * b0[y] + f1 * b1[y] + f2 * b2[y] + f3 * b3[y]
                row[y] = part + f4 * b4[y] + f5 * b5[y] + f6 * b6[y] + f7 * b7[y]
        for r in range(whole, m):
            for y in range(n):
                row[y] += f[r] * b[r, y]


@njit("boolean[::1](float64[:, :, ::1])", cache=True, nogil=True, error_model="numpy")
def invert(squares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Invert each matrix in place; which of them are regular."""
    count, m, _ = squares.shape
    regular, swapped = np.ones(count, np.bool_), np.empty(m, np.int64)
    for k in range(count):
        a = squares[k]
        for x in range(m):
            top = x
            for r in range(x + 1, m):
                if abs(a[r, x]) > abs(a[top, x]):
                    top = r
            swapped[x] = top
            pivot = a[top, x]
            if pivot == 0:
                regular[k] = False
            a[top, x] = 1.0
            for y in range(m):
                share = a[top, y] / pivot if pivot != 0 else 0.0
                a[top, y] = a[x, y]
                a[x, y] = share
            for r in range(m):
                if r == x:
                    continue
                factor = a[r, x]
                a[r, x] = 0.0
                for y in range(m):
                    a[r, y] -= factor * a[x, y]
        for x in range(m - 1, -1, -1):
            other = swapped[x]
            if other != x:
                for r in range(m):
                    a[r, x], a[r, other] = a[r, other], a[r, x]
    return regular
