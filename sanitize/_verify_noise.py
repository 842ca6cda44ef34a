"""Noise that is drawn once a row, and an order that tells nothing: statistics of rows in sequence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sanitize._verify_law import log_bennett, log_hypergeometric, log_matching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._verify_rows import Observed

# Rows whose noise is correlated at every distance.
_MOST_ROWS = 1 << 21
_MOST_KINDS = 64
_MOST_BLOCKS = 64


Draws: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"


def residuals(matrix: NDArray[np.float64], x: NDArray[np.int32], y: NDArray[np.int32]) -> Draws:
    """How each row's draw differs from what was expected of it, and the chance that it was measured against.

    The outputs of an input are cut in two, as near to half and half as their order allows; a row whose draw falls into
    the upper part has the residual 1 - p, any other -p, where p is the chance of the upper part.
    """
    below = np.cumsum(matrix, axis=1)
    cut = np.abs(below - 0.5).argmin(axis=1)
    chance = np.clip(1 - below[np.arange(len(matrix)), cut], 0.0, 1.0)
    p = chance[x]
    return np.where(y > cut[x], 1 - p, -p), p


def draws_of_parts(seen: Observed, groups: Sequence[Sequence[str]]) -> list[Draws]:
    """Residuals of each group of columns, as if it had been released alone."""
    matrix, outputs = seen.dense, seen.channel.outputs
    if matrix is None:
        return []
    found = []
    for group in groups:
        columns = [outputs.columns.index(name) for name in group]
        _, own = np.unique(outputs.codes[:, columns], axis=0, return_inverse=True)
        own = own.reshape(-1)
        summed = np.zeros((len(matrix), int(own.max()) + 1))
        np.add.at(summed.T, own, matrix.T)
        found.append(residuals(summed, seen.x, own[seen.y].astype(np.int32)))
    return found


def log_chance_of_parts(parts: Sequence[Draws]) -> float:
    """How unlikely it is that the draws of two parts of a row go together as they do, the worst pair of all."""
    logs = [
        float(log_bennett((r * q).sum(), (np.square(np.maximum(p, 1 - p)) * t * (1 - t)).sum()))
        for i, (r, p) in enumerate(parts)
        for q, t in parts[:i]
    ]
    return min(logs) + math.log(len(logs)) if logs else 0.0


def log_chance_of_repeats(one: Draws, other: Draws | None = None) -> tuple[float, int]:
    """How unlikely it is that draws at some distance go together as they do, and that distance.

    Without ``other`` the draws of one release are compared with each other at every distance from 1, otherwise with
    those of another release at every distance, forwards and backwards. The sums are martingales with increments of at
    most 1, so Freedman's inequality bounds each, and the bound is for all distances together.
    """
    r, p = (part[:_MOST_ROWS] for part in one)
    q, t = (part[:_MOST_ROWS] for part in other) if other is not None else (r, p)
    size = 1 << int(len(r) + len(q)).bit_length()
    sums = _at_every_distance(r, q, size)
    variances = _at_every_distance(np.square(np.maximum(p, 1 - p)), t * (1 - t), size)
    logs = log_bennett(sums, np.maximum(variances, 0.0) + 1e-6)
    if other is None:
        logs = logs[1 : len(r)]
        best = int(logs.argmin()) if len(logs) else 0
        return (float(logs[best]) + math.log(len(logs)), best + 1) if len(logs) else (0.0, 0)
    best = int(logs.argmin())
    return float(logs[best]) + math.log(size), best if best < size // 2 else best - size


def _at_every_distance(a: NDArray[np.float64], b: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Sums of a[i] * b[i + d] for every d, negative ones from the end."""
    spectrum = np.conj(np.fft.rfft(a, size)) * np.fft.rfft(b, size)
    return np.fft.irfft(spectrum, size)


def log_chance_of_order(y: NDArray[np.int32], n_y: int, beside: list[tuple[NDArray[Any], int]]) -> tuple[float, str]:
    """How unlikely the order of shuffled rows is, and what gives it away.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
        Printed symbols in the order of the release.
    n_y : int
    beside : list of (ndarray of int of shape (n,), int)
        Codes of the source's rows in its order and their number: a shuffled release is independent of them.
    """
    n = len(y)
    if n < 2:
        return 0.0, "too few rows to tell"
    kinds, n_kinds = _common(y, n_y)
    found = []
    n_blocks = int(np.clip(n // 50, 2, _MOST_BLOCKS))
    blocks = np.minimum(np.arange(n) * n_blocks // n, n_blocks - 1)
    found.append((_log_independent(blocks, n_blocks, kinds, n_kinds), "symbols crowd in some parts of the file"))
    even, odd = kinds[: n // 2 * 2 : 2], kinds[1 : n // 2 * 2 : 2]
    expected = float((np.bincount(even, minlength=n_kinds) / len(even) * np.bincount(odd, minlength=n_kinds)).sum())
    found.append((log_matching(float((even == odd).sum()), expected), "neighbours are too often alike or unlike"))
    for codes, n_codes in beside:
        if len(codes) == n:
            pooled, n_pooled = _common(codes, n_codes)
            log = _log_independent(pooled, n_pooled, kinds, n_kinds)
            found.append((log, "rows stand where their rows in the source stand"))
    best = min(found)
    return best[0] + math.log(len(found)), best[1]


def log_chance_of_same_order(a: NDArray[np.int32], b: NDArray[np.int32]) -> float:
    """How unlikely it is that two shuffled releases go up and down together as they do."""
    n = min(len(a), len(b))
    if n < 2:
        return 0.0
    high = [codes[:n] >= np.sort(codes[:n])[n // 2] for codes in (a, b)]
    agree = float((high[0] == high[1]).sum())
    shares = [float(h.mean()) for h in high]
    expected = n * (shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1]))
    return log_matching(agree, expected)


def _log_independent(a: NDArray[Any], n_a: int, b: NDArray[Any], n_b: int) -> float:
    """How unlikely the cell of a table of two sequences is, the worst of all, when one is in random order."""
    table = np.bincount(a.astype(np.int64) * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b)
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    return float(log_hypergeometric(table, rows, columns, len(a)).min()) + math.log(table.size)


def _common(codes: NDArray[Any], n: int) -> tuple[NDArray[np.int64], int]:
    """Codes with all but the most frequent made one."""
    counts = np.bincount(codes[codes >= 0], minlength=n)
    kind = np.full(n + 1, min(n, _MOST_KINDS - 1), np.int64)  # the last serves -1
    frequent = np.argsort(-counts, kind="stable")[: _MOST_KINDS - 1]
    kind[frequent] = np.arange(len(frequent))
    return kind[codes], min(n, _MOST_KINDS - 1) + 1
