"""Choice of the symbols to test, made on the design rows: sets of cells, and sets diluted with other cells.

Blocks of cells that are likely to pass are merged from single cells: the block with the least evidence first, at the
least loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.errors import SanitizeError
from sanitize.mechanisms._certified.foresight import expected_evidence

if TYPE_CHECKING:
    from sanitize.core.profiles import Profiles
    from sanitize.mechanisms._certified.foresight import PowerModel

# Ratios of P(y|cell) in the second set of cells to P(y|cell) in the first: 1.6 times apart, which loses little. Beyond
# a hundred, one of the sets hardly matters.
_RATIOS = np.geomspace(0.01, 100.0, 21)
# P(y|cell) of both sets at each ratio. The scale of a symbol does not change its lifts, so the larger is 1.
_PARTS = np.minimum([1 / _RATIOS, _RATIOS], 1.0)
# Safety margins: multiples of the needed evidence that symbols must reach on the design rows. With small margins they
# may fail on fresh rows, with large ones they hardly can.
_MARGINS = (1.0, 1.3, 1.7, 2.2, 3.0, 4.0, 6.0, 8.0)
# Levels of each column used to compare losses; more levels cost time for each candidate.
LOSS_STEPS = 32


def candidates(members: Mask, profiles: Profiles, power: PowerModel) -> sparse.csr_array:
    """Return candidate symbols to test, as P(y|cell) scaled to a largest entry of 1, shape (k, n_cells).

    For each safety margin, the candidates are the symbols of the best channel that could be made if all symbols with
    that much evidence on the design rows passed. Possible symbols are nodes of the dendrogram, agglomerated blocks, and
    nodes with too little evidence diluted with the least sufficient part of another or an enclosing node. The fewer
    symbols are tested, the less evidence each one needs.

    Parameters
    ----------
    members : ndarray of bool, shape (n_nodes, n_cells)
        Cells below each node of a dendrogram.
    profiles : Profiles
        Information to keep.
    power : PowerModel
        Model of the evidence expected from the design rows.
    """
    profiles = profiles.coarser(LOSS_STEPS)
    nodes = np.unique(members, axis=0)
    nodes = nodes[~nodes.all(axis=1)]
    singles = np.unique(np.concatenate([nodes, agglomerate(profiles, power).blocks]), axis=0)
    singles = singles[~singles.all(axis=1)]
    node_evidence = expected_evidence(power, power.design @ singles.T, singles.sum(axis=1))
    everything = np.ones((1, members.shape[1]), bool)
    sets = np.concatenate([nodes, everything])
    pairs = _dilutions(sets, power)
    distinct, place = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    alike = sparse.csr_array(np.concatenate([everything, singles]).astype(np.float64))
    symbols = sparse.csr_array(sparse.vstack([alike, _symbols(sets, distinct)]))
    lost = profiles.information_loss(symbols)
    ends = np.cumsum([len(pair) for pair in pairs])
    tested = np.zeros(symbols.shape[0], bool)
    tested[1 : 1 + len(singles)] = True
    before = np.zeros(0, np.intp)
    for margin, pair_places in zip(_MARGINS, np.split(place.ravel(), ends[:-1]), strict=True):
        likely = np.zeros(symbols.shape[0], bool)
        likely[0] = True
        likely[1 : 1 + len(singles)] = node_evidence >= margin * power.needed
        likely[1 + len(singles) + pair_places] = True
        chosen = np.flatnonzero(likely)
        if len(chosen) > 1 and not np.array_equal(chosen, before):
            tested[chosen[best_mixture(symbols[chosen], lost[chosen]) > 1e-9]] = True
        before = chosen
    tested[0] = False
    return symbols[np.flatnonzero(tested)]


def _dilutions(sets: Mask, power: PowerModel) -> list[Codes]:
    """Return, per safety margin, the least dilutions (node, set, ratio) that suffice; the last set has all cells."""
    sizes = sets.sum(axis=1)
    inside = power.design @ sets.T
    node_evidence = expected_evidence(power, inside[:, :-1], sizes[:-1])
    common = sets[:-1].astype(np.int64) @ sets.T
    encloses_node = (common == sizes[:-1, None]) & (sizes > sizes[:-1, None])
    node, outer = np.nonzero(encloses_node | (common == 0))
    is_inside = encloses_node[node, outer]
    node_rows, set_rows = inside[:, node], inside[:, outer] - is_inside * inside[:, node]
    n_own, n_rest = sizes[node], sizes[outer] - is_inside * sizes[node]
    least = np.full((len(_MARGINS), len(node)), -1)
    for place in range(len(_RATIOS))[::-1]:
        first, second = _PARTS[:, place]
        shown = expected_evidence(power, first * node_rows + second * set_rows, first**2 * n_own + second**2 * n_rest)
        shown[is_inside & (first < 1)] = 0.0
        for least_here, margin in zip(least, _MARGINS, strict=True):
            least_here[shown >= margin * power.needed] = place
    # Diluting a node with a near set loses least. A set is nearer if the smallest set that contains both is smaller.
    around_both = np.full((len(sets), len(sets)), sets.shape[1])
    is_subset = sets.astype(np.int64) @ sets.T == sizes[:, None]  # [i, j]: set i is within set j
    for j in np.argsort(-sizes, kind="stable"):
        inner_sets = np.flatnonzero(is_subset[:, j])
        around_both[np.ix_(inner_sets, inner_sets)] = sizes[j]
    order = np.lexsort((outer, around_both[node, outer], node))
    dilutions = []
    for least_here, margin in zip(least, _MARGINS, strict=True):
        enough = (least_here >= 0) & (node_evidence[node] < margin * power.needed)
        pairs = order[enough[order]]
        begin = np.searchsorted(node[pairs], node[pairs])
        # Every symbol is tested and shares the error probability, so farther sets would cost more than they add.
        pairs = pairs[np.arange(len(pairs)) - begin < 32]
        dilutions.append(np.stack([node[pairs], outer[pairs], least_here[pairs]], axis=1))
    return dilutions


def _symbols(cells: Mask, pairs: Codes) -> sparse.csr_array:
    """Return symbols that are 1 on a node and the ratio on the rest of a set, scaled to a largest entry of 1."""
    sets = sparse.csr_array(cells.astype(np.float64))
    first, second = _PARTS[:, pairs[:, 2], None]
    symbols = sparse.csr_array(sets[pairs[:, 0]].multiply(first) + sets[pairs[:, 1]].multiply(second))
    symbols.data = np.minimum(symbols.data, 1.0)  # a set around a node counts the node's cells twice
    return symbols


@dataclass(frozen=True, eq=False)
class Agglomeration:
    """Sequence of blocks: first the single cells, then blocks that are each merged from two earlier blocks.

    Attributes
    ----------
    blocks : ndarray of bool, shape (n_blocks, n_cells)
    parts : ndarray of int, shape (n_blocks - n_cells, 2)
        The two blocks from which each later block is merged.
    """

    blocks: Mask
    parts: Codes

    def finest(self, passed: Mask) -> Codes:
        """Block of each cell in the finest partition into blocks that passed; one block if no partition exists."""
        n_blocks, n_cells = self.blocks.shape
        part_blocks: list[list[int]] = [[i] if passed[i] else [] for i in range(n_cells)]
        for number, pair in enumerate(self.parts, n_cells):
            sides = [part_blocks[part] for part in pair]
            part_blocks.append(sides[0] + sides[1] if all(sides) else [number] if passed[number] else [])
        tops = np.setdiff1d(np.arange(n_blocks), self.parts)
        if not all(part_blocks[top] for top in tops):
            return np.zeros(n_cells, np.intp)
        chosen = self.blocks[[block for top in tops for block in part_blocks[top]]]
        return chosen[np.argsort(chosen.argmax(axis=1))].argmax(axis=0)  # blocks are numbered by their first cell


def agglomerate(profiles: Profiles, power: PowerModel) -> Agglomeration:
    """Merge blocks of cells until all have enough evidence, the least proven block first; repeat for larger margins.

    Among the blocks with which the merged block has enough evidence, the one that loses least is chosen; if there is
    none, the choice is among the eight with the most evidence.

    Parameters
    ----------
    profiles : Profiles
        Information to keep.
    power : PowerModel
        Model of the evidence expected from the design rows.
    """
    counts = list(power.design.T.astype(np.float64))
    blocks = list(np.eye(len(counts), dtype=bool))
    lost = list(profiles.information_loss(np.eye(len(counts))))
    sizes = [1.0] * len(counts)
    shown = list(expected_evidence(power, power.design, np.ones(len(counts))))
    alive, parts = list(range(len(counts))), []
    # Multiples of the needed evidence that blocks must reach on the design rows; with small ones they may fail on fresh
    # rows.
    for margin in (1.0, 1.5, 2.2, 3.3, 5.0, 8.0, 12.0):
        enough = margin * power.needed
        while len(alive) > 1:
            worst = min(alive, key=lambda block: (shown[block], block))
            if shown[worst] >= enough:
                break
            partners = [block for block in alive if block != worst]
            joined = counts[worst][:, None] + np.array([counts[block] for block in partners]).T
            evidence = expected_evidence(power, joined, sizes[worst] + np.array([sizes[block] for block in partners]))
            may = np.flatnonzero(evidence >= enough)
            if not len(may):
                may = np.argsort(-evidence, kind="stable")[:8]
            unions = np.array([blocks[worst] | blocks[partners[i]] for i in may], np.float64)
            together = profiles.information_loss(unions)
            best = int(np.argmin(np.round(together - np.array([lost[partners[i]] for i in may]), 6)))
            partner = partners[may[best]]
            parts.append((worst, partner))
            blocks.append(blocks[worst] | blocks[partner])
            counts.append(joined[:, may[best]])
            sizes.append(sizes[worst] + sizes[partner])
            shown.append(float(evidence[may[best]]))
            lost.append(float(together[best]))
            alive = [*(block for block in partners if block != partner), len(blocks) - 1]
    return Agglomeration(np.array(blocks), np.array(parts, np.intp).reshape(-1, 2))


def best_mixture(net: sparse.csr_array, lost: Vector) -> Vector:
    """Return the amounts a >= 0 of symbols that lose the least information, with Σ_y a_y w_y(cell) = 1 for all cells.

    Parameters
    ----------
    net : sparse array of shape (k, n_cells)
        Weights w_y(cell), which are P(y|cell) up to a factor.
    lost : ndarray of shape (k,)
        Information lost by one unit of each symbol.
    """
    from scipy.optimize import linprog

    solved = linprog(lost, A_eq=sparse.csc_array(net.T), b_eq=np.ones(net.shape[1]), method="highs-ds")
    if solved.x is None:
        raise SanitizeError(
            f"no channel of certified symbols could be computed ({solved.message}); merge some public symbols first"
        )
    return np.maximum(solved.x, 0.0)
