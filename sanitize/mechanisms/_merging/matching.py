"""Safe groups in nearly linear time: every unsafe group looks for its mate among its opposites, all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._merging.risks import by_size, first_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._merging.risks import SetRisks

# Fewer unsafe groups than this are finished one by one.
_FEW = 400
_MATES, _DIMENSIONS = 12, 14
# In more dimensions than so many a search for the nearest asks nearly all points: of more than so many, each seeker
# then only asks a part, drawn anew in every round, which keeps the time nearly linear.
_FLAT, _PART = 6, 2000
# Uniform lift that is mixed in where sets are compared, so that those which rule out a sensitive symbol are in order.
_SOFT = 0.05
_GROWING = 8
# A round that merges less than one in so many is stuck; the next one draws so many mates for each seeker.
_STUCK, _DRAWN = 32, 4
_NOISE = 1e-6  # relative, in coordinates that only say who is compared with whom


def matched_groups(risks: SetRisks, p_x: NDArray[np.float64], *, in_pairs: bool) -> NDArray[np.intp]:
    """Label of a safe group for each symbol, shape (n,); safe symbols stay alone unless they are needed.

    The best mate of a group is what cancels it: among the unsafe groups nearest to its mirror image, the one that
    minimises the risk of the union. Where several want the same, the riskiest gets it. The few groups that are left
    over are grown one by one.

    Parameters
    ----------
    risks : SetRisks
    p_x : ndarray of shape (n,)
    in_pairs : bool
        Merge the riskier half with whatever fits best, groups with groups; else grow an eighth of the unsafe symbols
        by one symbol at a time, as Algorithm 1 grows one. Neither is always better.
    """
    groups = _Groups.of(risks, p_x)
    while len(groups.unsafe) > _FEW and groups.match(in_pairs=in_pairs):
        pass
    groups.finish()
    return groups.labels


@dataclass(eq=False)
class _Groups:
    """Groups on their way to be safe; each goes by the number of one of its symbols."""

    risks: SetRisks
    columns: NDArray[np.float64]
    mass: NDArray[np.float64]
    labels: NDArray[np.intp]
    unsafe: NDArray[np.intp]
    total: NDArray[np.float64]
    grows: NDArray[np.bool_] = field(init=False)
    is_stuck: bool = False

    def __post_init__(self) -> None:
        self.grows = np.zeros(len(self.mass), np.bool_)

    @classmethod
    def of(cls, risks: SetRisks, p_x: NDArray[np.float64]) -> _Groups:
        """Every symbol alone."""
        columns = risks.columns.copy()
        unsafe = np.flatnonzero(~risks.safe(columns))
        return cls(risks, columns, p_x.copy(), np.arange(len(p_x)), unsafe, columns.sum(axis=1))

    def risk(self, columns: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Risk of sets (m, K) of probability (K,), finite and in order even where they rule something out."""
        return self.risks.risk(columns + _SOFT * mass * self.total[:, None])

    def match(self, *, in_pairs: bool) -> bool:
        """Merge unsafe groups with mates, once; False where nobody found one."""
        here = self.unsafe
        order = np.argsort(by_size(-self.risk(self.columns[:, here], self.mass[here])), kind="stable")
        rank = np.empty(len(here), np.intp)
        rank[order] = np.arange(len(here))
        seekers, pool = order[: len(here) // 2], np.arange(len(here))
        if not in_pairs:
            self._sow(here[order])
            grows = self.grows[here]
            if grows.sum() < 3 * len(here) // 4:
                seekers, pool = np.flatnonzero(grows), np.flatnonzero(~grows)
        mates = _settle(seekers, self._wishes(here, seekers, pool), rank)
        found = np.flatnonzero(mates >= 0)
        self.is_stuck = len(found) < len(here) // _STUCK
        self.merge(here[found], here[mates[found]])
        return len(found) > 0

    def _sow(self, riskiest: NDArray[np.intp]) -> None:
        """Let more of the riskiest symbols grow, until an eighth of the unsafe groups do."""
        wanted = len(riskiest) // _GROWING - int(self.grows[riskiest].sum())
        self.grows[riskiest[~self.grows[riskiest]][: max(wanted, 1)]] = True

    def _wishes(self, here: NDArray[np.intp], seekers: NDArray[np.intp], pool: NDArray[np.intp]) -> NDArray[np.intp]:
        """Positions of mates for each seeker, the best first, shape (len(seekers), k); a seeker itself is none."""
        columns, mass = self.columns[:, here], self.mass[here]
        away = np.divide(columns, self.total[:, None], out=np.zeros_like(columns), where=self.total[:, None] > 0) - mass
        told = np.argsort(by_size(-np.square(away).sum(axis=1)), kind="stable")[:_DIMENSIONS]
        # Symbols that are alike would all want the same few mates, and only those would find one.
        noise = np.random.default_rng(len(here)).random((len(here), len(told)))
        points = away[np.sort(told)].T * (1 + _NOISE * noise)
        k = min(_MATES, len(pool))
        near = pool[_nearest(points[pool], -points[seekers], k)]
        if self.is_stuck:
            # Where nearly all lean to one side, all mirror images are the same few: some mates are drawn instead.
            drawn = np.random.default_rng(len(here)).integers(0, len(pool), (len(seekers), _DRAWN))
            near = np.concatenate([near, pool[drawn]], axis=1)
        union = columns[:, seekers][:, :, None] + columns[:, near]
        weight = mass[seekers][:, None] + mass[near]
        risk = self.risk(union.reshape(len(union), -1), weight.ravel()).reshape(near.shape)
        risk[near == seekers[:, None]] = np.inf
        return np.take_along_axis(near, np.argsort(by_size(risk), axis=1, kind="stable"), 1)

    def merge(self, kept: NDArray[np.intp], gone: NDArray[np.intp]) -> None:
        """Merge pairs of groups, each group in one pair at most."""
        self.columns[:, kept] += self.columns[:, gone]
        self.mass[kept] += self.mass[gone]
        to = np.arange(len(self.mass))
        to[gone] = kept
        self.labels = to[self.labels]
        left = np.setdiff1d(self.unsafe, gone)
        self.unsafe = left[~self.risks.safe(self.columns[:, left])]

    def finish(self) -> None:
        """Grow the riskiest unsafe group until it is safe, and so on: by unsafe groups, and by all others at last."""
        while len(self.unsafe):
            at = first_least(-self.risk(self.columns[:, self.unsafe], self.mass[self.unsafe]))
            group = int(self.unsafe[at])
            for pool in (np.delete(self.unsafe, at), None):
                rest = np.setdiff1d(np.unique(self.labels), group) if pool is None else pool
                self._grow(group, rest)
                if not (self.unsafe == group).any():
                    break

    def _grow(self, group: int, pool: NDArray[np.intp]) -> None:
        """Add to a group the member of a pool that lowers its risk most, until it is safe or has them all."""
        column, mass, taken = self.columns[:, group].copy(), float(self.mass[group]), []
        while len(pool) and not self.risks.is_safe(column):
            risk = self.risk(column[:, None] + self.columns[:, pool], mass + self.mass[pool])
            best = first_least(risk)
            column = column + self.columns[:, pool[best]]
            mass += float(self.mass[pool[best]])
            taken.append(int(pool[best]))
            pool = np.delete(pool, best)
        to = np.arange(len(self.mass))
        to[taken] = group
        self.labels = to[self.labels]
        self.columns[:, group], self.mass[group] = column, mass
        left = np.setdiff1d(self.unsafe, taken)
        # What is not safe by rounding alone, all symbols together, has nothing left to take.
        is_done = self.risks.is_safe(column) or not (self.labels != group).any()
        self.unsafe = left[left != group] if is_done else left


def _nearest(points: NDArray[np.float64], mirrored: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Positions of the k points nearest to each of others, or nearest of a part of the points where they are many."""
    from scipy.spatial import cKDTree

    n_parts = 1 if points.shape[1] <= _FLAT else -(-len(points) // _PART)
    if n_parts == 1:
        return np.asarray(cKDTree(points).query(mirrored, k=k)[1], np.intp).reshape(-1, k)
    rng = np.random.default_rng(len(points))
    dealt, asking = rng.permutation(len(points)), rng.permutation(len(mirrored))
    near = np.empty((len(mirrored), k), np.intp)
    for part in range(n_parts):
        some, those = dealt[part::n_parts], asking[part::n_parts]
        near[those] = some[cKDTree(points[some]).query(mirrored[those], k=k)[1].reshape(-1, k)]
    return near


def _settle(seekers: NDArray[np.intp], wishes: NDArray[np.intp], rank: NDArray[np.intp]) -> NDArray[np.intp]:
    """Mate of each group, -1 without one: each seeker asks in the order of its wishes, the lowest rank is heard."""
    n, k = len(rank), wishes.shape[1]
    mates, taken = np.full(n, -1, np.intp), np.zeros(n, np.bool_)
    asked, left = np.zeros(len(seekers), np.intp), np.arange(len(seekers))
    for _ in range(2 * k):
        left = left[~taken[seekers[left]] & (asked[left] < k)]
        if not len(left):
            break
        wish = wishes[left, asked[left]]
        gone = taken[wish] | (wish == seekers[left])
        asked[left[gone]] += 1
        one, other = seekers[left[~gone]], wish[~gone]
        first = np.full(n, n)
        np.minimum.at(first, one, rank[one])
        np.minimum.at(first, other, rank[one])
        heard = (first[one] == rank[one]) & (first[other] == rank[one])
        mates[one[heard]] = other[heard]
        taken[one[heard]] = taken[other[heard]] = True
    return mates
