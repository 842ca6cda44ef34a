"""Noise that is drawn once a row: how the draws of a release go together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sanitize.verify._chance import log_bennett
from sanitize.verify._observed import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.verify._observed import Observed


Draws: TypeAlias = "tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]"

# Rows and distances whose intermediate arrays stay in the cache.
_BLOCK = 1 << 16
# Rows that are transformed together.
_STRETCH = 1 << 17
# Transforms that are made side by side, and frequencies of all stretches that stay in the cache.
_AT_ONCE, _FREQUENCIES = 4, 1 << 12

# Of sums by a transform of single precision, relative to the norms: five times what was seen.
_ROUNDING = 2e-6


def residuals(matrix: NDArray[np.float64], x: NDArray[Any], y: NDArray[Any]) -> Draws:
    """How each row's draw differs from what was expected of it, and the chance that it was measured against.

    The outputs of an input are cut in two, as near to half and half as their order allows; a row whose draw falls into
    the upper part has the residual 1 - p, any other -p, where p is the chance of the upper part.
    """
    cut, chance = _cuts(matrix)
    p = chance[x]
    return np.where(y > cut[x], 1 - p, -p), p


def residuals_of_rows(matrix: NDArray[np.float64], x: NDArray[Any], y: NDArray[Any]) -> Draws:
    """The same of many rows, in single precision."""
    cut, chance = _cuts(matrix)
    r, p = np.empty(len(x), np.float32), np.empty(len(x), np.float32)
    for start in range(0, len(x), _BLOCK):
        block = slice(start, start + _BLOCK)
        own = chance[x[block]]
        p[block], r[block] = own, np.where(y[block] > cut[x[block]], 1 - own, -own)
    return r, p


def _cuts(matrix: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Last output of each input's lower part, and the chance of its upper part."""
    below = np.cumsum(matrix, axis=1)
    cut = np.abs(below - 0.5).argmin(axis=1)
    return cut, np.clip(1 - below[np.arange(len(matrix)), cut], 0.0, 1.0)


def log_chance_of_parts(seen: Observed, groups: Sequence[Sequence[str]]) -> float:
    """How unlikely it is that the draws of two parts of a row go together as they do, the worst pair of all.

    A row's residual in a part depends on its public and its printed symbol only, so counts of these pairs are enough.
    """
    matrix, table = seen.dense, seen.pairs
    if matrix is None or table is None:
        return 0.0
    outputs, sizes = seen.channel.outputs, table.sum(axis=1)
    parts: list[Draws] = []
    logs: list[float] = []
    for group in groups:
        columns = [outputs.columns.index(name) for name in group]
        _, own = np.unique(outputs.codes[:, columns], axis=0, return_inverse=True)
        own = own.reshape(-1)
        summed = np.zeros((len(matrix), int(own.max()) + 1))
        np.add.at(summed.T, own, matrix.T)
        r, p = residuals(summed, np.arange(len(matrix))[:, None], own[None, :])
        parts.append((r, p[:, 0]))
        for q, t in parts[:-1]:
            variance = sizes @ (np.square(np.maximum(parts[-1][1], 1 - parts[-1][1])) * t * (1 - t))
            logs.append(float(log_bennett((table * r * q).sum(), variance)))
    return min(logs) + math.log(len(logs)) if logs else 0.0


def log_chance_of_repeats(one: Draws, other: Draws | None = None) -> tuple[float, int]:
    """How unlikely it is that draws at some distance go together as they do, and that distance.

    Without ``other`` the draws of one release are compared with each other at every distance from 1, otherwise with
    those of another release at every distance, forwards and backwards. The sums are martingales with increments of at
    most 1, so Freedman's inequality bounds each, and the bound is for all distances together.
    """
    r, p = (part[:MOST_ROWS].astype(np.float32, copy=False) for part in one)
    q, t = (part[:MOST_ROWS].astype(np.float32, copy=False) for part in other) if other is not None else (r, p)
    # Without another release, distance 0 is a row with itself, and negative ones are the positive ones again.
    first = 1 if other is None else 1 - len(r)
    n = max(len(q) - first, 0)
    if not n:
        return 0.0, 0
    if not (r.any() and q.any()):  # nothing was drawn
        return math.log(n), first
    sums, error = _at_every_distance(r, q, first)
    sums = np.maximum(np.abs(sums) - np.float32(error), 0)
    variances, error = _at_every_distance(np.square(np.maximum(p, 1 - p)), t * (1 - t), first)
    variances = np.maximum(variances, 0) + np.float32(error)
    worst = (1.0, 0)
    for start in range(0, n, _BLOCK):
        logs = log_bennett(sums[start : start + _BLOCK], variances[start : start + _BLOCK])
        place = int(logs.argmin())
        worst = min(worst, (float(logs[place]), start + place))
    return worst[0] + math.log(n), worst[1] + first


def _at_every_distance(a: NDArray[np.float32], b: NDArray[np.float32], first: int) -> tuple[NDArray[Any], float]:
    """Sums of a[i] * b[i + d] for every distance d from the first on, and what rounding may have done to them.

    Both are cut into stretches, whose transforms fit into little memory; the sums of two of them lie around the
    distance between them.
    """
    from scipy.fft import irfft  # half the time of NumPy's; not loaded for shuffled rows

    error = _ROUNDING * float(np.linalg.norm(a) * np.linalg.norm(b)) + 1e-6
    size = min(_STRETCH, 1 << max(len(a), len(b), 1).bit_length())
    theirs = _spectra(b, size)
    ours = (theirs if a is b else _spectra(a, size)).conj()
    n_before = len(ours) if first < 0 else 0
    found = np.zeros((n_before + len(theirs)) * size, np.float32)
    distances = range(1 - n_before if n_before else 0, len(theirs))
    for start in range(0, len(distances), _AT_ONCE):
        some = distances[start : start + _AT_ONCE]
        for apart, sums in zip(some, irfft(_products(ours, theirs, some), 2 * size), strict=True):
            at = (n_before + apart) * size
            found[at : at + size] += sums[:size]
            if at:
                found[at - size : at] += sums[size:]
    at = n_before * size
    return found[at + first : at + len(b)], error


def _spectra(values: NDArray[np.float32], size: int) -> NDArray[np.complex64]:
    """Transforms of stretches, each as long again; several at once are transformed side by side."""
    from scipy.fft import rfft

    found = np.empty((-(-len(values) // size), size + 1), np.complex64)
    for start in range(0, len(found), _AT_ONCE):
        stretches = values[start * size : (start + _AT_ONCE) * size]
        whole = len(stretches) // size * size
        found[start : start + whole // size] = rfft(stretches[:whole].reshape(-1, size), 2 * size)
        if whole < len(stretches):
            found[-1] = rfft(stretches[whole:], 2 * size)
    return found


def _products(ours: NDArray[np.complex64], theirs: NDArray[np.complex64], distances: range) -> NDArray[np.complex64]:
    """Sums of products of stretches that are so many apart, one line a distance."""
    found = np.empty((len(distances), ours.shape[1]), np.complex64)
    for begin in range(0, ours.shape[1], _FREQUENCIES):
        block = slice(begin, begin + _FREQUENCIES)
        for apart, line in zip(distances, found[:, block], strict=True):
            n = min(len(ours) - max(-apart, 0), len(theirs) - max(apart, 0))
            one, other = (at[max(skip, 0) :][:n, block] for at, skip in ((ours, -apart), (theirs, apart)))
            np.multiply(one, other).sum(axis=0, out=line)
    return found
