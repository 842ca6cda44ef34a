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


Draws: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"


def residuals(matrix: NDArray[np.float64], x: NDArray[Any], y: NDArray[Any]) -> Draws:
    """How each row's draw differs from what was expected of it, and the chance that it was measured against.

    The outputs of an input are cut in two, as near to half and half as their order allows; a row whose draw falls into
    the upper part has the residual 1 - p, any other -p, where p is the chance of the upper part.
    """
    below = np.cumsum(matrix, axis=1)
    cut = np.abs(below - 0.5).argmin(axis=1)
    chance = np.clip(1 - below[np.arange(len(matrix)), cut], 0.0, 1.0)
    p = chance[x]
    return np.where(y > cut[x], 1 - p, -p), p


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
    r, p = (part[:MOST_ROWS] for part in one)
    q, t = (part[:MOST_ROWS] for part in other) if other is not None else (r, p)
    size = 1 << max(len(r) + len(q) - 1, 1).bit_length()  # so large that no distance stands for another
    # Without another release, distance 0 is a row with itself, and negative ones are the positive ones again.
    asked = slice(1, len(r)) if other is None else slice(None)
    sums = _at_every_distance(r, q, size)[asked].copy()
    if not len(sums):
        return 0.0, 0
    variances = _at_every_distance(np.square(np.maximum(p, 1 - p)), t * (1 - t), size)[asked].copy()
    logs = log_bennett(sums, np.maximum(variances, 0.0) + 1e-6)
    best = int(logs.argmin())
    log_chance = float(logs[best]) + math.log(len(logs))
    if other is None:
        return log_chance, best + 1
    return log_chance, best if best < size // 2 else best - size


def _at_every_distance(a: NDArray[np.float64], b: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Sums of a[i] * b[i + d] for every d, negative ones from the end."""
    spectrum = np.fft.rfft(a, size)
    np.conj(spectrum, out=spectrum)
    spectrum *= np.conj(spectrum) if a is b else np.fft.rfft(b, size)
    return np.fft.irfft(spectrum, size)
