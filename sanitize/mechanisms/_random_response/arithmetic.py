"""Sums, products, inverses and entropies in an order of operations that is the same on every processor.

A search that is cut short goes where the last digits lead it. Those of BLAS and LAPACK depend on their version and on
the processor, and so do logarithms and the order in which a fast sort leaves ties; with them one law had another
channel on nearly every machine. Here every entry comes from the same additions, products and quotients in the same
order, whether NumPy does them or compiled loops.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sanitize.mechanisms._random_response import compiled as _compiled
from sanitize.mechanisms._random_response import logarithm

_LOOPS = "sanitize.mechanisms._random_response.arithmetic_loops"
_BLOCK = 1 << 12  # entries at a time, which stay in the nearest memory
_SQUARES = 1 << 15

Array = NDArray[np.float64]


def product(a: Array, b: Array) -> Array:
    """Matrix product of (k, m) and (m, n), terms added in order; einsum knows neither BLAS nor the processor."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    loops = _compiled.loops(_LOOPS)
    if loops is None:
        # A single column would be summed as a whole, in parts.
        wide = b if b.shape[1] > 1 else np.repeat(b, 2, axis=1)
        return np.asarray(np.einsum("km,mn->kn", a, wide))[:, : b.shape[1]]
    out = np.empty((len(a), b.shape[1]))
    loops.product(a, b, out)
    return out


def of_rows(rows: Array, matrices: Array) -> Array:
    """Row k times matrix k: (K, m) and (K, m, n) to (K, n)."""
    return np.asarray(np.einsum("ki,kij->kj", rows, matrices))


def of_columns(matrices: Array, columns: Array) -> Array:
    """Matrix k times column k: (K, m, n) and (K, n) to (K, m), in parts as wide as the vectors of NumPy's baseline."""
    return np.asarray(np.einsum("kij,kj->ki", matrices, columns))


def dot(a: Array, b: Array) -> float:
    """Sum of the products of two vectors."""
    return float((a * b).sum())


def log(x: Array) -> Array:
    """Logarithms of numbers > 0, of any shape."""
    out = np.empty(x.shape)
    flat, filled = np.ascontiguousarray(x).reshape(-1), out.reshape(-1)
    loops = _compiled.loops(_LOOPS)
    share = np.empty(min(_BLOCK, len(flat)))
    for first in range(0, len(flat), _BLOCK):
        part = np.maximum(flat[first : first + _BLOCK], logarithm.LEAST)
        into = filled[first : first + _BLOCK]
        if loops is None:
            logarithm.log_into(part, into)
        else:
            used = share[: len(part)]
            loops.log_into(part, part.view(np.int64), used, used.view(np.int64), into)
    return out


def entr(x: Array) -> Array:
    """-x log x of numbers >= 0, of any shape; 0 of 0."""
    found = log(x)
    found *= x
    return np.subtract(0.0, found, out=found)


def inverse(squares: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Inverses of K matrices, shape (K, m, m), and which of these are regular.

    By Gauss and Jordan with the largest pivot of each column. Where that is 0 a row of the result is 0.
    """
    made = np.array(squares, order="C")
    loops = _compiled.loops(_LOOPS)
    if loops is not None:
        return made, np.asarray(loops.invert(made))
    regular = np.ones(len(made), np.bool_)
    step = max(1, _SQUARES // max(made[0].size, 1)) if len(made) else 1
    for first in range(0, len(made), step):
        _invert(made[first : first + step], regular[first : first + step])
    return made, regular


def _invert(a: Array, regular: NDArray[np.bool_]) -> None:
    """Invert matrices in place and tell which are regular, all at a time."""
    count, m, _ = a.shape
    k = np.arange(count)
    swapped = np.empty((m, count), np.intp)
    for x in range(m):
        top = x + np.abs(a[:, x:, x]).argmax(axis=1)
        swapped[x] = top
        row = a[k, top]
        a[k, top] = a[:, x]
        pivot = row[:, x].copy()
        row[:, x] = 1.0
        is_zero = pivot == 0
        regular[is_zero] = False
        row /= np.where(is_zero, 1.0, pivot)[:, None]
        row[is_zero] = 0.0
        factor = a[:, :, x].copy()
        a[:, :, x] = 0.0
        a -= factor[:, :, None] * row[:, None, :]
        a[:, x] = row
    for x in range(m - 1, -1, -1):
        column = a[k, :, swapped[x]]
        a[k, :, swapped[x]] = a[:, :, x]
        a[:, :, x] = column
