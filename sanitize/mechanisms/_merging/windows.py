"""Best partitions of many small windows at once: each a few atoms, every set of them judged, put together anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._limits import BLOCK_CELLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._merging.risks import SetRisks

_TIE = 1e-13  # nats


@dataclass(frozen=True)
class Noise:
    """Random costs of sets, uniform and so the same bits everywhere, in nats a unit of the probability of a window."""

    scale: float
    rng: np.random.Generator

    def of(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """One draw for each set of each window, shape (n_sets, W); the last set is the window as a whole."""
        return self.scale * mass[-1] * (self.rng.random(mass.shape) - 0.5)


def partition_windows(
    columns: NDArray[np.float64], mass: NDArray[np.float64], risks: SetRisks, noise: Noise | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Partition of the atoms of each window into safe sets that keep the most.

    Merging a set G costs Σ_{x in G} P(x) log(P(G) / P(x)), so the best partition has the least Σ P(G) log P(G). By
    dynamic programming over sets of atoms: the least of A is that of a safe B in A which holds A's first atom, plus
    the least of A without B. Ties go to the first B in the order of bit masks.

    Parameters
    ----------
    columns : ndarray of shape (m, k, W)
        Columns that judge the k atoms of W windows.
    mass : ndarray of shape (k, W)
        Their probabilities.
    risks : SetRisks
    noise : Noise, optional
        Blurs what sets cost, so that good partitions are found and not always the same.

    Returns
    -------
    labels : ndarray of shape (k, W)
        Number of the set that each atom is in: that of its first atom.
    value : ndarray of shape (W,)
        Least Σ P(G) log P(G), in nats; inf where the window as a whole is not safe.
    """
    m, k, n_windows = columns.shape
    labels, value = np.empty((k, n_windows), np.intp), np.empty(n_windows)
    block = max(1, BLOCK_CELLS // (m << k))
    for first in range(0, n_windows, block):
        part = slice(first, first + block)
        labels[:, part], value[part] = _partition(columns[:, :, part], mass[:, part], risks, noise)
    return labels, value


def _partition(
    columns: NDArray[np.float64], mass: NDArray[np.float64], risks: SetRisks, noise: Noise | None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    m, k, n_windows = columns.shape
    sums, total = np.zeros((m, 1, n_windows)), np.zeros((1, n_windows))
    for atom in range(k):
        sums = np.concatenate([sums, sums + columns[:, [atom]]], axis=1)
        total = np.concatenate([total, total + mass[atom]])
    safe = risks.safe(sums[:, 1:].reshape(m, -1)).reshape(-1, n_windows)
    judged = np.full((1 << k, n_windows), np.inf)
    np.copyto(judged[1:], xlogy(total[1:], total[1:]), where=safe)
    if noise is not None:
        judged[1:] += noise.of(total[1:])
    best, chosen = np.zeros((1 << k, n_windows)), np.zeros((1 << k, n_windows), np.intp)
    for whole, parts, rests in _plan(k):
        options = judged.take(parts, axis=0)
        options += best.take(rests, axis=0)
        least = options.min(axis=1)
        at = (options <= (least + _TIE)[:, None]).argmax(axis=1)
        row = np.arange(len(whole))[:, None]
        best[whole] = options[row, at, np.arange(n_windows)]
        chosen[whole] = parts[row, at]
    labels = _labels(chosen, k)
    if noise is not None:
        sets = np.stack([np.where(labels == atom, mass, 0.0).sum(axis=0) for atom in range(k)])
        return labels, np.where(np.isfinite(best[-1]), xlogy(sets, sets).sum(axis=0), np.inf)
    return labels, best[-1]


def _labels(chosen: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """The sets that a table of first sets leads to, window by window."""
    n_windows = chosen.shape[1]
    labels, left = np.zeros((k, n_windows), np.intp), np.full(n_windows, (1 << k) - 1)
    window, atoms = np.arange(n_windows), np.arange(k)[:, None]
    while left.any():
        first = left & -left
        block = np.where(left > 0, chosen[left, window], 0)
        np.copyto(labels, np.frexp(first)[1] - 1, where=(block >> atoms & 1) == 1)
        left = left & ~block
    return labels


@cache
def _plan(k: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]], ...]:
    """Sets by size, shape (n,), with their subsets that hold their first atom and what these leave, shape (n, 2^i).

    All sets without the first atom, and the whole window at last: no other is ever left over.
    """
    steps = []
    for size in range(1, k + 1):
        atoms = np.array(list(combinations(range(1, k), size) if size < k else [range(k)]), np.intp)
        bits = 1 << atoms
        parts = bits[:, :1]
        for atom in range(1, size):
            parts = np.concatenate([parts, parts + bits[:, [atom]]], axis=1)
        whole = bits.sum(axis=1)
        steps.append((whole, parts, whole[:, None] - parts))
    return tuple(steps)
