"""Local search over partitions: windows of a few groups are taken apart and put together in the best way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize.mechanisms._merging.windows import Noise, partition_windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize.mechanisms._merging.risks import SetRisks
    from sanitize.mechanisms._random_response.effort import Effort

# Rounds without any gain before a partition rests.
_BARREN = 12
# Groups of one that take part in a round, for each larger group.
_ALONE = 2
# In one round of so many, groups are taken apart with few others, into nearly as many atoms as a window holds: more
# often among few symbols, where there are few groups to choose from.
_DEEP, _DEEP_AMONG_FEW, _FEW = 4, 2, 40
_GAIN = 1e-12
# Rounds whose costs are blurred, among few symbols; the width of the blur in nats at first, and atoms of their windows.
_BLURRED_ROUNDS, _BLUR, _BLURRED_ATOMS = 80, 0.03, 10


def loosened(
    labels: NDArray[np.intp],
    risks: SetRisks,
    p_x: NDArray[np.float64],
    size: int,
    effort: Effort,
    show: Callable[[str], None],
) -> NDArray[np.intp]:
    """Labels of the best partition met on a walk over good ones, for `improved` to begin with.

    Windows are solved for costs that are blurred less and less, and what comes out is taken even where it keeps a
    little less: so the walk leaves partitions that no single window can improve.
    """
    rng = np.random.default_rng(0)
    best, least = labels, _cost(labels, p_x)
    for turn in range(_BLURRED_ROUNDS):
        if not effort.left:
            break
        noise = Noise(_BLUR * (1 - turn / _BLURRED_ROUNDS) ** 2, rng)
        dealt = _deal(labels, min(size, _BLURRED_ATOMS), turn, _DEEP_AMONG_FEW, rng)
        if dealt is None:
            break
        labels, _ = _round(labels, *dealt, risks, p_x, rng, effort, noise)
        cost = _cost(labels, p_x)
        if cost < least - _GAIN:
            best, least = labels, cost
            show(f"{int(labels.max()) + 1} groups")
    return best


def _cost(labels: NDArray[np.intp], p_x: NDArray[np.float64]) -> float:
    """Σ P(G) log P(G), in nats."""
    mass = np.bincount(labels, p_x)
    return float(xlogy(mass, mass).sum())


def improved(
    labels: NDArray[np.intp],
    risks: SetRisks,
    p_x: NDArray[np.float64],
    size: int,
    effort: Effort,
    show: Callable[[str], None],
) -> NDArray[np.intp]:
    """Labels of a partition that keeps at least as much, found within the effort (sets of atoms judged).

    A round deals the groups to windows at random, takes them apart into atoms, and solves every window exactly; a
    group too large for its part of a window is dealt into atoms of several symbols. Nothing is ever lost: a window
    changes only where that keeps more.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Safe groups, numbered from 0.
    size : int
        Atoms of a window, at least 4.
    """
    rng = np.random.default_rng(0)
    barren, turn = 0, 0
    deep = _DEEP_AMONG_FEW if len(labels) <= _FEW else _DEEP
    while effort.left and barren < _BARREN:
        dealt = _deal(labels, size, turn, deep, rng)
        if dealt is None:
            break
        labels, gain = _round(labels, *dealt, risks, p_x, rng, effort)
        barren = 0 if gain > _GAIN else barren + 1
        turn += 1
        show(f"{int(labels.max()) + 1} groups")
    return labels


def _deal(
    labels: NDArray[np.intp], size: int, turn: int, deep: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Window and atoms of each group in a round; None where every symbol is alone."""
    members = np.bincount(labels)
    several = np.flatnonzero(members > 1)
    if not len(several):
        return None
    alone = rng.permutation(np.flatnonzero(members == 1))[: _ALONE * len(several)]
    order = rng.permutation(np.concatenate([several, alone]))
    most = size if len(members) == 1 else size // 2 if turn % deep else size - 2
    quota = np.minimum(members, most)
    return _dealt(order, quota, size), quota


def _dealt(order: NDArray[np.intp], quota: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Window of each group, -1 for those in none; one after the other, no window beyond its size."""
    window = np.full(len(quota), -1, np.intp)
    atoms = quota[order]
    window[order] = (atoms.cumsum() - atoms) // max(size - int(atoms.max()) + 1, 1)
    return window


def _round(
    labels: NDArray[np.intp],
    window: NDArray[np.intp],
    quota: NDArray[np.intp],
    risks: SetRisks,
    p_x: NDArray[np.float64],
    rng: np.random.Generator,
    effort: Effort,
    noise: Noise | None = None,
) -> tuple[NDArray[np.intp], float]:
    """Labels after every window was solved, and what was gained, in nats; with noise whatever comes out is taken."""
    symbols = rng.permutation(np.flatnonzero(window[labels] >= 0))
    symbols = symbols[np.lexsort((labels[symbols], window[labels[symbols]]))]
    group, first, member = np.unique(labels[symbols], return_index=True, return_inverse=True)
    # Atoms are numbered window by window, group by group; a group deals its symbols out to its atoms.
    by_place = np.argsort(first, kind="stable")
    start = np.empty(len(group), np.intp)
    n_atoms = quota[group]
    start[by_place] = n_atoms[by_place].cumsum() - n_atoms[by_place]
    atom = start[member] + (np.arange(len(symbols)) - first[member]) % n_atoms[member]
    into = np.argsort(atom, kind="stable")
    edges = np.searchsorted(atom[into], np.arange(int(n_atoms.sum())))
    columns = np.add.reduceat(risks.columns[:, symbols[into]], edges, axis=1)
    mass = np.add.reduceat(p_x[symbols[into]], edges)
    owner = labels[symbols[into][edges]]

    n_groups = len(window)
    before = xlogy(whole := np.bincount(labels, p_x, n_groups), whole)
    seen, at, counts = np.unique(window[owner], return_index=True, return_counts=True)
    old = np.bincount(np.searchsorted(seen, window[group]), before[group], len(seen))
    new_owner, gain = owner.copy(), 0.0
    for k in np.unique(counts[counts > 1]).tolist():
        those = np.flatnonzero(counts == k)
        atoms = at[those] + np.arange(k)[:, None]
        sets, value = partition_windows(columns[:, atoms], mass[atoms], risks, noise)
        effort.spend(len(those) << k)
        better = value < (np.inf if noise is not None else old[those] - _GAIN)
        gain += float((old[those] - value)[better].sum())
        new_owner[atoms[:, better]] = n_groups + np.take_along_axis(atoms, sets, 0)[:, better]
    labels = labels.copy()
    labels[symbols] = new_owner[atom]
    return np.unique(labels, return_inverse=True)[1], gain
