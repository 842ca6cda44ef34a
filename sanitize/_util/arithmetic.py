"""Products, inverses, logarithms and powers in a fixed order of operations, with the same digits on all processors.

The last digits decide between two candidates that are equal up to rounding. With BLAS, LAPACK and NumPy's vector
instructions these digits depend on the processor; with additions, products and quotients of doubles they do not.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import exp10

from sanitize._util.checks import Codes, Mask, Vector, exp
from sanitize._util.tolerances import SMALLEST_POSITIVE

# The series log x = 2 artanh((x - 1) / (x + 1)) is used from the root of 1/2 to twice that root: 11 terms leave out
# less than 1e-18 of it there. All logarithms are literals, because a processor's own may differ in the last digit.
_ROOT, _TERMS, _LN_2 = 0.7071067811865476, 11, 0.6931471805599453
LN_10 = 2.302585092994046

# Python's own function is slow but has the same digits on all processors; it is used for the few limits of a budget.
exp_each = np.vectorize(exp, otypes=[np.float64])


def product(a: Vector, b: Vector) -> Vector:
    """Matrix product a @ b of arrays (..., m) and (m,) or (m, n)."""
    return np.asarray(np.einsum("...m,m->..." if b.ndim == 1 else "...m,mn->...n", a, b))


def log(x: Vector) -> Vector:
    """Natural logarithms; numbers below 1e-300 get the logarithm of 1e-300."""
    share, power = np.frexp(np.maximum(x, SMALLEST_POSITIVE))
    is_low = share < _ROOT
    share *= 1.0 + is_low
    s = (share - 1.0) / (share + 1.0)
    z = s * s
    series = np.full(z.shape, 2.0 / (2 * _TERMS - 1))
    for k in range(2 * _TERMS - 3, 0, -2):
        series *= z
        series += 2.0 / k
    series *= s
    series += (power - is_low) * _LN_2
    return np.asarray(series)


def power(x: Vector, order: float) -> Vector:
    """Raise numbers >= 0 to the power ``order``."""
    if order in {0.5, 1.0, 2.0}:
        return np.asarray(x**order)  # NumPy computes these as roots and products
    return np.where(x == 0, 0.0, exp10(log(x) * (order / LN_10)))


def entr(x: Vector) -> Vector:
    """Terms -x log x of an entropy, for x of any shape; 0 at 0 and at negative numbers left by rounding."""
    x = np.maximum(x, 0.0)
    return np.asarray(0.0 - x * log(x))


def reduce_axis(ufunc: np.ufunc, values: Vector, axis: int = 1) -> Vector:
    """Reduce an array along a short axis with a ufunc, slice by slice, in a tenth of the time that NumPy takes."""
    return np.asarray(functools.reduce(ufunc, np.moveaxis(values, axis, 0)))


def basis_inverses(matrix: Vector, basis: Codes) -> tuple[Vector, Mask]:
    """Invert the square matrices that K choices of m columns form; return the inverses and a mask of the regular ones.

    The inverses have shape (K, m, m); a singular matrix gets zeros. The method is Gauss-Jordan elimination with the
    largest pivot. Columns with a single entry, such as slacks, are eliminated first and cost nothing.

    Raises
    ------
    LinAlgError
        If a basis has more or fewer columns than the matrix has rows.
    """
    (k, n), owned = basis.shape, np.full(matrix.shape[1], -1)
    if n != len(matrix):
        raise np.linalg.LinAlgError(f"basis must choose {len(matrix)} columns, one per row of the matrix, got {n}")
    lone = np.flatnonzero(np.count_nonzero(matrix, axis=0) == 1)
    rows, first = np.unique((matrix[:, lone] != 0).argmax(axis=0), return_index=True)
    owned[lone[first]] = rows
    order = np.argsort(owned[basis] < 0, axis=1, kind="stable")
    basis = np.take_along_axis(basis, order, 1)
    n_lone = int((owned[basis] >= 0).sum(axis=1).min(initial=n))
    place = np.full((k, n), n)
    np.put_along_axis(place, owned[basis[:, :n_lone]], np.arange(n_lone), axis=1)
    rows, every = np.argsort(place, axis=1, kind="stable"), np.arange(k)
    wide = np.concatenate([matrix[rows[:, :, None], basis[:, None, :]], np.eye(n)[rows]], axis=2)
    scale = np.diagonal(wide, axis1=1, axis2=2)[:, :n_lone].copy()
    regular = (scale != 0).all(axis=1)  # a basis with the same slack twice is singular
    wide[:, :n_lone] /= np.where(scale == 0, 1.0, scale)[:, :, None]
    for x in range(n_lone, n):
        top = x + np.abs(wide[:, x:, x]).argmax(axis=1)
        row = wide[every, top, x:]
        wide[every, top, x:] = wide[:, x, x:].copy()
        regular &= row[:, 0] != 0
        row /= np.where(row[:, 0] == 0, 1.0, row[:, 0])[:, None]
        wide[:, :, x:] -= wide[:, :, x, None] * row[:, None, :]
        wide[:, x, x:] = row
    inverses = np.empty((k, n, n))
    np.put_along_axis(inverses, order[:, :, None], np.where(regular[:, None, None], wide[:, :, n:], 0.0), axis=1)
    return inverses, regular
