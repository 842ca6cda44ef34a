"""Search for safe groups in nearly linear time, by pairing many unsafe groups at once with complementary groups."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Codes, Vector
from sanitize.mechanisms._merging.risks import OrderedRisks, SetRisks, absorb, by_size

# At most this many unsafe groups are finished one by one, which keeps more but takes the square of their number.
_FEW_GROUPS = 400
# The nearest group is not always the best mate, and others may want it too, so each seeker ranks 12 neighbours by their
# exact risk. Distances use the 14 dimensions of largest spread: a search takes longer with each, and the others change
# little.
_MATES, _DIMENSIONS = 12, 14
# In more dimensions than _FLAT, a nearest-neighbour search visits nearly all points. With more than _PART points, each
# seeker then searches only a random part, drawn anew in every round, which keeps the time nearly linear.
_FLAT, _PART = 6, 2000
# A round that merges less than one group in _STUCK is stuck; the next round draws _DRAWN random mates per seeker. Each
# of these costs as much as a neighbour, and one that fits is enough.
_STUCK, _DRAWN = 32, 4


def match_groups(risks: SetRisks, p_x: Vector, *, in_pairs: bool) -> Codes:
    """Return a label of a safe group for each symbol, shape (n,); safe symbols stay alone unless others need them.

    The best mate of a group cancels its lifts: among the unsafe groups nearest to its mirror image, it is the one that
    minimises the risk of the union. If several groups want the same mate, the riskiest one gets it. The few remaining
    groups are grown one by one.

    Parameters
    ----------
    risks : SetRisks
    p_x : ndarray of shape (n,)
    in_pairs : bool
        If True, merge the riskier half of the groups with the groups that fit best. If False, grow an eighth of the
        unsafe symbols by one symbol at a time, as Algorithm 1 grows one group. Neither way is always better.
    """
    groups = _Groups(risks, p_x)
    while len(groups.unsafe) > _FEW_GROUPS and groups.match(in_pairs=in_pairs):
        pass
    groups.finish()
    return groups.labels


class _Groups:
    """Groups that are merged until safe, starting from single symbols; one member's number names each group."""

    def __init__(self, risks: SetRisks, p_x: Vector) -> None:
        self.total = risks.columns.sum(axis=1)
        # A uniform lift is mixed in, so that sets that rule out a sensitive symbol can be ordered too.
        columns = np.concatenate([risks.columns, risks.columns + 0.05 * p_x * self.total[:, None]])
        self.risks = OrderedRisks(columns, risks, risks)
        self.columns, self.mass = columns.copy(), p_x.copy()
        self.labels, self.grows = np.arange(len(p_x)), np.zeros(len(p_x), np.bool_)
        self.unsafe = np.flatnonzero(~self.risks.safe(self.columns))
        self.is_stuck = False

    def match(self, *, in_pairs: bool) -> bool:
        """Merge unsafe groups with mates in a single round; return False if no group has a mate."""
        unsafe = self.unsafe
        order = np.argsort(-self.risks.risk(self.columns[:, unsafe]), kind="stable")
        rank = np.argsort(order)
        seekers, pool = order[: len(unsafe) // 2], np.arange(len(unsafe))
        if not in_pairs:
            # The riskiest symbols grow into the groups, and an eighth of the unsafe ones leaves seven mates for each.
            riskiest = unsafe[order]
            wanted = len(riskiest) // 8 - int(self.grows[riskiest].sum())
            self.grows[riskiest[~self.grows[riskiest]][: max(wanted, 1)]] = True
            grows = self.grows[unsafe]
            if grows.sum() < 3 * len(unsafe) // 4:
                seekers, pool = np.flatnonzero(grows), np.flatnonzero(~grows)
        mates = _settle(seekers, self._wishes(unsafe, seekers, pool), rank)
        pairs = np.flatnonzero(mates >= 0)
        self.is_stuck = len(pairs) < len(unsafe) // _STUCK
        self.merge(unsafe[pairs], unsafe[mates[pairs]])
        return len(pairs) > 0

    def _wishes(self, unsafe: Codes, seekers: Codes, pool: Codes) -> Codes:
        """Positions of possible mates of each seeker, best first, (len(seekers), k); the seeker itself is put last."""
        columns, total = self.columns[:, unsafe], self.total[:, None]
        share = columns[: len(total)]
        away = np.divide(share, total, out=np.zeros_like(share), where=total > 0) - self.mass[unsafe]
        dimensions = np.argsort(-np.square(away).sum(axis=1), kind="stable")[:_DIMENSIONS]
        # Similar symbols would all want the same few mates, and only a few of these symbols would find one.
        noise = np.random.default_rng(len(unsafe)).random((len(unsafe), len(dimensions)))
        # The noise does no harm, because these coordinates only decide which groups are compared.
        points = away[np.sort(dimensions)].T * (1 + 1e-6 * noise)
        k = min(_MATES, len(pool))
        near = pool[_nearest(points[pool], -points[seekers], k)]
        if self.is_stuck:
            # If nearly all groups lean to one side, their mirror images have the same few neighbours, so some mates are
            # drawn.
            drawn = np.random.default_rng(len(unsafe)).integers(0, len(pool), (len(seekers), _DRAWN))
            near = np.concatenate([near, pool[drawn]], axis=1)
        union = columns[:, seekers][:, :, None] + columns[:, near]
        risk = self.risks.risk(union.reshape(len(union), -1)).reshape(near.shape)
        risk[near == seekers[:, None]] = np.inf
        return np.take_along_axis(near, np.argsort(risk, axis=1, kind="stable"), 1)

    def merge(self, target: Codes, source: Codes) -> None:
        """Merge pairs of groups; each group is in at most one pair."""
        self.columns[:, target] += self.columns[:, source]
        self.mass[target] += self.mass[source]
        self._label(target, source)
        left = np.setdiff1d(self.unsafe, source)
        self.unsafe = left[~self.risks.safe(self.columns[:, left])]

    def finish(self) -> None:
        """Grow the riskiest unsafe group until it is safe, and repeat; unsafe groups are added before any others."""
        while len(self.unsafe):
            at = int(by_size(-self.risks.risk(self.columns[:, self.unsafe])).argmin())
            group = int(self.unsafe[at])
            for pool in (np.delete(self.unsafe, at), None):
                self._grow(group, np.setdiff1d(np.unique(self.labels), group) if pool is None else pool)
                if not (self.unsafe == group).any():
                    break

    def _grow(self, group: int, pool: Codes) -> None:
        """Add to a group the pool member that lowers its risk most; repeat until it is safe or the pool is empty."""
        column, taken = absorb(self.risks, self.columns[:, group], self.columns[:, pool])
        gone = pool[taken]
        self.columns[:, group] = column
        self.mass[group] += self.mass[gone].sum()
        self._label(group, gone)
        left = np.setdiff1d(self.unsafe, gone)
        # All symbols together may be unsafe by rounding alone, and then no symbols are left to take.
        is_done = self.risks.is_safe(column) or not (self.labels != group).any()
        self.unsafe = left[left != group] if is_done else left

    def _label(self, target: Codes | int, source: Codes) -> None:
        to = np.arange(len(self.mass))
        to[source] = target
        self.labels = to[self.labels]


def _nearest(points: Vector, mirrored: Vector, k: int) -> Codes:
    """Positions of the k points nearest to each mirrored point; with many points, a random part of them is searched."""
    from scipy.spatial import cKDTree

    n_parts = 1 if points.shape[1] <= _FLAT else -(-len(points) // _PART)
    if n_parts == 1:
        return np.asarray(cKDTree(points).query(mirrored, k=k)[1], np.intp).reshape(-1, k)
    rng = np.random.default_rng(len(points))
    dealt, asking = rng.permutation(len(points)), rng.permutation(len(mirrored))
    near = np.empty((len(mirrored), k), np.intp)
    for part in range(n_parts):
        part_places, query_places = dealt[part::n_parts], asking[part::n_parts]
        found = cKDTree(points[part_places]).query(mirrored[query_places], k=k)[1]
        near[query_places] = part_places[found.reshape(-1, k)]
    return near


def _settle(seekers: Codes, wishes: Codes, rank: Codes) -> Codes:
    """Return the mate of each group, -1 for none: seekers ask by preference, and the seeker of lowest rank wins."""
    n, k = len(rank), wishes.shape[1]
    mates, taken = np.full(n, -1, np.intp), np.zeros(n, np.bool_)
    n_asked, left = np.zeros(len(seekers), np.intp), np.arange(len(seekers))
    for _ in range(2 * k):
        left = left[~taken[seekers[left]] & (n_asked[left] < k)]
        if not len(left):
            break
        wish = wishes[left, n_asked[left]]
        gone = taken[wish] | (wish == seekers[left])
        n_asked[left[gone]] += 1
        seeker, mate = seekers[left[~gone]], wish[~gone]
        first = np.full(n, n)
        np.minimum.at(first, seeker, rank[seeker])
        np.minimum.at(first, mate, rank[seeker])
        heard = (first[seeker] == rank[seeker]) & (first[mate] == rank[seeker])
        mates[seeker[heard]] = mate[heard]
        taken[seeker[heard]] = taken[mate[heard]] = True
    return mates
