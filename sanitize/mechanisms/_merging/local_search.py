"""Local search over partitions, which splits windows of a few groups and reassembles them, many windows at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._util.checks import Codes, Vector
from sanitize._util.limits import BLOCK_CELLS
from sanitize._util.tolerances import SAME
from sanitize.mechanisms._merging.risks import set_sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._merging.risks import SetRisks

    Noise = Callable[[Vector], Vector]

# Values in nats that differ by less than this differ by rounding only, and the first is taken on every processor.
TIE = 1e-13
# Every so many rounds, a window holds few groups, split into nearly as many atoms as it has room for, which finds what
# shallow splits of many groups miss. With few symbols this happens more often, because there are few groups to choose
# from.
_DEEP, _DEEP_AMONG_FEW, _FEW = 4, 2, 40
# Rounds of a walk with blurred costs, for few symbols. The blur, in nats, lets windows accept partitions that keep
# slightly less, and shrinks to 0. With 10 atoms a window is cheap, because each atom triples its work.
_BLURRED_ROUNDS, _BLUR, _BLURRED_ATOMS = 80, 0.03, 10


def _random_costs(scale: float, rng: np.random.Generator, mass: Vector) -> Vector:
    """Return uniform random costs of sets, (n_sets, W), spread over ``scale`` times the mass of their window."""
    return scale * mass[-1] * (rng.random(mass.shape) - 0.5)


@dataclass(frozen=True, eq=False)
class LocalSearch:
    """Search over partitions into safe groups, with a window size and a limit on the sets to check.

    Attributes
    ----------
    risks : SetRisks
    p_x : ndarray of shape (n,)
    size : int
        Atoms of a window, at least 4.
    effort : Effort
        Number of sets of atoms that may be checked.
    show : callable
    """

    risks: SetRisks
    p_x: Vector
    size: int
    effort: Effort
    show: Callable[[str], None]

    def walk(self, labels: Codes) -> Codes:
        """Return labels of the best partition on a random walk over good partitions, as a start for `improve`.

        Windows are solved for costs with random noise that shrinks, and each result is accepted even if it keeps
        slightly less. So the walk can leave partitions that no single window improves.
        """
        rng = np.random.default_rng(0)
        best, least = labels, partition_loss(labels, self.p_x)
        for turn in range(_BLURRED_ROUNDS):
            dealt = _deal(labels, min(self.size, _BLURRED_ATOMS), turn, _DEEP_AMONG_FEW, rng)
            if dealt is None or not self.effort.left:
                break
            noise = partial(_random_costs, _BLUR * (1 - turn / _BLURRED_ROUNDS) ** 2, rng)
            labels, _ = self._round(labels, *dealt, rng, noise)
            if (loss := partition_loss(labels, self.p_x)) < least - SAME:
                best, least = labels, loss
                self.show(f"{int(labels.max()) + 1} groups")
        return best

    def improve(self, labels: Codes) -> Codes:
        """Improve a partition within the effort, and return labels of its groups, which count from 0.

        A round assigns groups to windows at random, splits the groups into atoms, and solves every window exactly. A
        group with more symbols than its share of a window is split into atoms of several symbols. A window changes only
        if that keeps more, so nothing is lost.
        """
        rng = np.random.default_rng(0)
        barren, turn = 0, 0
        deep = _DEEP_AMONG_FEW if len(labels) <= _FEW else _DEEP
        # Rounds choose windows at random, so a few without any gain do not show that the partition is a local optimum.
        while self.effort.left and barren < 12 and (dealt := _deal(labels, self.size, turn, deep, rng)):
            labels, is_better = self._round(labels, *dealt, rng)
            barren = 0 if is_better else barren + 1
            turn += 1
            self.show(f"{int(labels.max()) + 1} groups")
        return labels

    def _round(
        self, labels: Codes, window: Codes, quota: Codes, rng: np.random.Generator, noise: Noise | None = None
    ) -> tuple[Codes, bool]:
        """Return labels after solving every window, and whether any improved; with noise, all results are accepted."""
        symbols = rng.permutation(np.flatnonzero(window[labels] >= 0))
        symbols = symbols[np.lexsort((labels[symbols], window[labels[symbols]]))]
        # A group has more symbols than atoms, so its symbols are dealt out. Atoms are numbered by window and group, so
        # that windows are slices.
        group, first, member = np.unique(labels[symbols], return_index=True, return_inverse=True)
        n_atoms, by_place = quota[group], np.argsort(first)
        start = np.empty(len(group), np.intp)
        start[by_place] = n_atoms[by_place].cumsum() - n_atoms[by_place]
        atom = start[member] + (np.arange(len(symbols)) - first[member]) % n_atoms[member]
        order = np.argsort(atom, kind="stable")
        edges = np.flatnonzero(np.diff(atom[order], prepend=-1))
        columns = np.add.reduceat(self.risks.columns[:, symbols[order]], edges, axis=1)
        mass = np.add.reduceat(self.p_x[symbols[order]], edges)
        owner = labels[symbols[order[edges]]]
        whole = np.bincount(labels, self.p_x)[group]
        old = np.bincount(np.unique(window[group], return_inverse=True)[1], xlogy(whole, whole))
        _, at, counts = np.unique(window[owner], return_index=True, return_counts=True)
        new_owner, is_better = owner.copy(), False
        for k in np.unique(counts[counts > 1]).tolist():
            those = np.flatnonzero(counts == k)
            atoms = at[those] + np.arange(k)[:, None]
            sets, value = partition_windows(columns[:, atoms], mass[atoms], self.risks, noise)
            self.effort.spend(len(those) << k)
            better = value < (np.inf if noise is not None else old[those] - SAME)
            is_better |= bool(better.any())
            new_owner[atoms[:, better]] = len(window) + np.take_along_axis(atoms, sets, 0)[:, better]
        labels = labels.copy()
        labels[symbols] = new_owner[atom]
        return np.unique(labels, return_inverse=True)[1], is_better


def partition_loss(labels: Codes, p_x: Vector) -> float:
    """Loss H(X|Y) in nats up to a constant of the distribution, Σ P(G) log P(G), rounded to 12 decimals."""
    mass = np.bincount(labels, p_x)
    return round(float(xlogy(mass, mass).sum()), 12)


def _deal(labels: Codes, size: int, turn: int, deep: int, rng: np.random.Generator) -> tuple[Codes, Codes] | None:
    """Return the window of each group in a round (-1: none) and its number of atoms; None if no symbols are merged.

    Groups are assigned to windows one after the other, so that no window exceeds its size.
    """
    members = np.bincount(labels)
    several = np.flatnonzero(members > 1)
    if not len(several):
        return None
    # Single symbols gain only if a larger group takes them, so two per larger group take part in a round.
    singles = rng.permutation(np.flatnonzero(members == 1))[: 2 * len(several)]
    order = rng.permutation(np.concatenate([several, singles]))
    quota = np.minimum(members, size if len(members) == 1 else size // 2 if turn % deep else size - 2)
    window = np.full(len(quota), -1, np.intp)
    atoms = quota[order]
    window[order] = (atoms.cumsum() - atoms) // max(size - int(atoms.max()) + 1, 1)
    return window, quota


def partition_windows(
    columns: Vector, mass: Vector, risks: SetRisks, noise: Noise | None = None
) -> tuple[Codes, Vector]:
    """Partition the atoms of each window into the safe sets that keep the most information.

    Merging a set G costs Σ_{x in G} P(x) log(P(G) / P(x)), so the best partition has the least Σ P(G) log P(G). It is
    found by dynamic programming over sets of atoms: the least sum of A is, over safe sets B in A that contain A's first
    atom, the least P(B) log P(B) plus the least sum of A without B. Ties go to the first B in the order of bit masks.

    Parameters
    ----------
    columns : ndarray of shape (m, k, W)
        Columns of the k atoms of W windows, by which `risks` decides whether a set is safe.
    mass : ndarray of shape (k, W)
        Probabilities of the atoms.
    risks : SetRisks
    noise : Noise, optional
        Random noise on the costs of sets, so that different good partitions are found.

    Returns
    -------
    labels : ndarray of shape (k, W)
        Set of each atom, numbered by the set's first atom.
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


def _partition(columns: Vector, mass: Vector, risks: SetRisks, noise: Noise | None) -> tuple[Codes, Vector]:
    m, k, n_windows = columns.shape
    sums, total = set_sums(columns), set_sums(mass[None])[0]
    safe = risks.safe(sums[:, 1:].reshape(m, -1)).reshape(-1, n_windows)
    judged = np.full((1 << k, n_windows), np.inf)
    np.copyto(judged[1:], xlogy(total[1:], total[1:]), where=safe)
    if noise is not None:
        judged[1:] += noise(total[1:])
    best, chosen = np.zeros((1 << k, n_windows)), np.zeros((1 << k, n_windows), np.intp)
    for whole, parts, rests in _plan(k):
        options = judged.take(parts, axis=0)
        options += best.take(rests, axis=0)
        at = (options <= (options.min(axis=1) + TIE)[:, None]).argmax(axis=1)
        row = np.arange(len(whole))[:, None]
        best[whole] = options[row, at, np.arange(n_windows)]
        chosen[whole] = parts[row, at]
    labels = _labels(chosen, k)
    if noise is None:
        return labels, best[-1]
    sets = np.stack([np.where(labels == atom, mass, 0.0).sum(axis=0) for atom in range(k)])
    return labels, np.where(np.isfinite(best[-1]), xlogy(sets, sets).sum(axis=0), np.inf)


def _labels(chosen: Codes, k: int) -> Codes:
    """Return the labels of each window's atoms, (k, W), from the set chosen first for each set of remaining atoms."""
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
def _plan(k: int) -> tuple[tuple[Codes, Codes, Codes], ...]:
    """Return per size the sets as bit masks, (n,), their subsets with the first atom and the remainders, (n, 2^i).

    These are all sets without the window's first atom, and finally the whole window: no other set can be left over.
    """
    steps = []
    for size in range(1, k + 1):
        atoms = np.array(list(combinations(range(1, k), size) if size < k else [range(k)]), np.intp)
        bits = 1 << atoms
        parts = bits[:, :1] + set_sums(bits[:, 1:])
        whole = bits.sum(axis=1)
        steps.append((whole, parts, whole[:, None] - parts))
    return tuple(steps)
