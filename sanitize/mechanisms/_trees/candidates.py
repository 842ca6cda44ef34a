"""Symbols worth a test, chosen on the rows of the design alone: nodes, blocks, and nodes diluted with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.mechanisms._trees.agglomeration import STEPS, agglomerated
from sanitize.mechanisms._trees.foresight import foreseen
from sanitize.mechanisms._trees.mixing import best_mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._trees.foresight import Foresight
    from sanitize.trees import Profiles

# P(y|x') of the second set of cells, in parts of that of the first.
_RATIOS = np.geomspace(0.01, 100.0, 21)
# What each set has then, the larger one 1.
_PARTS = np.minimum([1 / _RATIOS, _RATIOS], 1.0)
# Times what is asked that symbols must show: the mildest ones may fail on fresh rows, the strong ones hardly can.
_SURE = (1.0, 1.3, 1.7, 2.2, 3.0, 4.0, 6.0, 8.0)
_NEAREST = 32  # sets that each node is diluted with, of those that are enough
_TINY = 1e-9


def candidates(members: NDArray[np.bool_], profiles: Profiles, foresight: Foresight) -> sparse.csr_array:
    """P(y|cell) up to a factor of each symbol to test, shape (k, n_cells), the largest entry 1.

    For each degree of caution, the symbols that would make the best channel if all passed that show so much on the
    design: of nodes of the tree, agglomerated blocks, and nodes that alone show too little with the least part of
    another node, or of one around it, that is enough. The fewer are tested, the less each has to show.

    Parameters
    ----------
    members : ndarray of bool, shape (n_nodes, n_cells)
        Cells below each node of the tree.
    profiles : Profiles
        What is to be kept.
    foresight : Foresight
        What the rows of the design let expect.
    """
    profiles = profiles.coarser(STEPS)
    nodes = np.unique(members, axis=0)
    nodes = nodes[~nodes.all(axis=1)]
    singles = np.unique(np.concatenate([nodes, agglomerated(profiles, foresight).blocks]), axis=0)
    singles = singles[~singles.all(axis=1)]
    alone = foreseen(foresight, foresight.design @ singles.T, singles.sum(axis=1))
    everything = np.ones((1, members.shape[1]), bool)
    sets = np.concatenate([nodes, everything])
    pairs = _diluted(sets, foresight)
    distinct, place = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    alike = sparse.csr_array(np.concatenate([everything, singles]).astype(np.float64))
    net = sparse.csr_array(sparse.vstack([alike, _symbols(sets, distinct)]))
    lost = profiles.lost(net)
    ends = np.cumsum([len(pair) for pair in pairs])
    tested = np.zeros(net.shape[0], bool)
    tested[1 : 1 + len(singles)] = True
    before = np.zeros(0, np.intp)
    for sure, own in zip(_SURE, np.split(place.ravel(), ends[:-1]), strict=True):
        likely = np.zeros(net.shape[0], bool)
        likely[0] = True
        likely[1 : 1 + len(singles)] = alone >= sure * foresight.needed
        likely[1 + len(singles) + own] = True
        chosen = np.flatnonzero(likely)
        if len(chosen) > 1 and not np.array_equal(chosen, before):
            tested[chosen[best_mixture(net[chosen], lost[chosen]) > _TINY]] = True
        before = chosen
    tested[0] = False
    return net[np.flatnonzero(tested)]


def _diluted(sets: NDArray[np.bool_], foresight: Foresight) -> list[NDArray[np.intp]]:
    """For each degree of caution (node, set, ratio) of the least dilutions that are enough; the last set is all."""
    sizes = sets.sum(axis=1)
    inside = foresight.design @ sets.T
    alone = foreseen(foresight, inside[:, :-1], sizes[:-1])
    common = sets[:-1].astype(np.int64) @ sets.T
    around = (common == sizes[:-1, None]) & (sizes > sizes[:-1, None])
    one, another = np.nonzero(around | (common == 0))
    encloses = around[one, another]
    own, rest = inside[:, one], inside[:, another] - encloses * inside[:, one]
    n_own, n_rest = sizes[one], sizes[another] - encloses * sizes[one]
    least = np.full((len(_SURE), len(one)), -1)
    for place in range(len(_RATIOS))[::-1]:
        first, second = _PARTS[:, place]
        shown = foreseen(foresight, first * own + second * rest, first**2 * n_own + second**2 * n_rest)
        shown[encloses & (first < 1)] = 0.0
        for least_here, sure in zip(least, _SURE, strict=True):
            least_here[shown >= sure * foresight.needed] = place
    # The sets of each node from the nearest one on, which has the smallest node around both.
    order = np.lexsort((another, _around_both(sets)[one, another], one))
    found = []
    for least_here, sure in zip(least, _SURE, strict=True):
        enough = (least_here >= 0) & (alone[one] < sure * foresight.needed)
        kept = order[enough[order]]
        begin = np.searchsorted(one[kept], one[kept])
        kept = kept[np.arange(len(kept)) - begin < _NEAREST]
        found.append(np.stack([one[kept], another[kept], least_here[kept]], axis=1))
    return found


def _around_both(sets: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Size of the smallest set that holds both of two sets, the last of which is all cells."""
    found = np.full((len(sets), len(sets)), sets.shape[1])
    sizes = sets.sum(axis=1)
    within = sets.astype(np.int64) @ sets.T == sizes[:, None]  # [i, j]: set i is within set j
    for j in np.argsort(-sizes, kind="stable"):
        here = np.flatnonzero(within[:, j])
        found[np.ix_(here, here)] = sizes[j]
    return found


def _symbols(cells: NDArray[np.bool_], pairs: NDArray[np.intp]) -> sparse.csr_array:
    """1 on a node and the ratio on the rest of a set, divided by the larger one."""
    sets = sparse.csr_array(cells.astype(np.float64))
    first, second = _PARTS[:, pairs[:, 2], None]
    made = sparse.csr_array(sets[pairs[:, 0]].multiply(first) + sets[pairs[:, 1]].multiply(second))
    made.data = np.minimum(made.data, 1.0)  # a set around a node has the node's cells too
    return made
