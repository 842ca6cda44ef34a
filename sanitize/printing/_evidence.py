"""What a cell says of each node: its box, and weights that make what is printed for a region look like the region.

Messages up the tree say what the states of a node mean for all below it, for many cells at once. Chances and messages
are whole numbers whose sums of products stay below 2**53, so that doubles hold them exactly and linear algebra gives
the same digits whatever the machine adds up first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import Codes, Mask, Vector
from sanitize._files.declared import Declared, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.printing._nodes import Node
    from sanitize.trees import Tree

# Groups of states that weights are for, rounds, rows that the model counts for, and the largest share of a region.
_GROUPS, _ROUNDS, _PRIOR, _LARGEST = 6, 3, 100.0, 1 / 8
LARGEST_WEIGHT = 1 << 12
LARGEST = 1 << 24  # of a message: whole numbers up to it are exact in single precision


class Evidence(Declared, frozen=True, eq=False):
    """Weights of the states of one node in each cell.

    Attributes
    ----------
    box : ndarray of int, shape (n_cells,)
        Which of the boxes a cell has in this node.
    boxes : ndarray of bool, shape (n_boxes, n_states)
    region : ndarray of int, shape (n_cells,)
        Which row of weights.
    weights : ndarray of int, shape (n_regions, n_groups)
        From 1 to 2**12.
    group : ndarray of int, shape (n_states,)
    """

    box: NDArray[np.int32]
    boxes: Mask
    region: NDArray[np.int32]
    weights: NDArray[np.int32]
    group: NDArray[np.int32]

    def __post_init__(self) -> None:
        require(self.boxes.ndim == self.weights.ndim == 2 and self.boxes.any(axis=1).all())
        require(len(self.box) > 0 and self.box.shape == self.region.shape and self.box.ndim == 1)
        require(self.group.shape == self.boxes.shape[1:])
        require(((self.weights >= 1) & (self.weights <= LARGEST_WEIGHT)).all())
        below = len(self.boxes), len(self.weights), self.weights.shape[1]
        for numbers, n in zip((self.box, self.region, self.group), below, strict=True):
            require(((numbers >= 0) & (numbers < n)).all())

    @classmethod
    def of(cls, node: Node, tree: Tree) -> Self:
        """Evidence of the boxes of a tree alone."""
        masks = np.ones((tree.n_cells, len(node.counts)), bool)
        for column in node.columns:
            j = tree.names.index(column.name)
            level = node.encoded(tree.columns[j])
            for cell, box in enumerate(tree.boxes):
                if j in box:
                    masks[cell] &= box[j][level]
        # A tree of part of the rows may know values that are too rare in all of them: they are printed as those are.
        masks[~masks.any(axis=1)] = node.is_other[0] | ~node.is_other[0].any()
        _, place, box_of = np.unique(np.packbits(masks, axis=1), axis=0, return_index=True, return_inverse=True)
        nothing = np.zeros(tree.n_cells, np.int32), np.full((1, 1), LARGEST_WEIGHT, np.int32)
        return cls(box_of.ravel().astype(np.int32), masks[place], *nothing, np.zeros(masks.shape[1], np.int32))

    def of_cells(self, cells: NDArray[np.integer[Any]]) -> Vector:
        """Weights in some cells, shape (n, n_states)."""
        return self.weights[self.region[cells]][:, self.group] * self.boxes[self.box[cells]].astype(np.float64)


def weighted(
    evidence: Sequence[Evidence],
    nodes: Sequence[Node],
    parents: Sequence[int],
    chances: Sequence[Vector],
    cells: NDArray[np.integer[Any]],
    tree: Tree,
) -> list[Evidence]:
    """Evidence under which coarse one-way counts of what is printed agree with those of the rows of each region.

    Parameters
    ----------
    evidence : sequence of Evidence
        Of boxes.
    nodes : sequence of Node
    parents, chances : sequences
        Of each node.
    cells : ndarray of int, shape (n,)
        Cell of each row.
    tree : Tree
    """
    region = regions(tree)
    n_regions, of_row = int(region.max()) + 1, region[cells]
    rows = np.bincount(cells, minlength=tree.n_cells).astype(np.float64)
    groups = [node.groups(_GROUPS) for node in nodes]
    sizes = [int(group.max()) + 1 for group in groups]
    weights = [np.ones((n_regions, size)) for size in sizes]
    for here in range(n_regions):
        inside, part = of_row == here, np.flatnonzero(region == here)
        counts = [
            np.bincount(group[node.codes[inside]], minlength=size)
            for node, group, size in zip(nodes, groups, sizes, strict=True)
        ]
        boxes, total = [one.of_cells(part) for one in evidence], rows[part].sum()
        for _ in range(_ROUNDS):
            own = [box * weight[here][group] for box, weight, group in zip(boxes, weights, groups, strict=True)]
            below = messages(parents, chances, own)
            found: list[Vector] = []
            for node, (weight, group, size, count) in enumerate(zip(weights, groups, sizes, counts, strict=True)):
                belief = _belief(node, parents, chances, below, found)
                printed = np.bincount(group, rows[part] @ belief.sum(axis=0), size)
                aim = (count + _PRIOR * printed / max(total, 1)) / (total + _PRIOR) * total
                step = np.divide(aim, printed, out=np.ones(size), where=printed > 0)
                weight[here] *= step
                found.append(belief * step[group])  # so that columns that are alike are not moved twice
    weights = [weight / weight.max(axis=1, keepdims=True) for weight in weights]
    whole = [np.ceil(weight * LARGEST_WEIGHT).astype(np.int32) for weight in weights]
    return [
        one.__replace__(region=region.astype(np.int32), weights=weight, group=group.astype(np.int32))
        for one, weight, group in zip(evidence, whole, groups, strict=True)
    ]


def regions(tree: Tree) -> Codes:
    """Region of each cell: those below the topmost nodes of few enough rows are one."""
    members, region = tree.members, np.empty(tree.n_cells, np.intp)
    few = (tree.n_rows <= _LARGEST * tree.n_rows[0]) | (tree.column < 0)
    for node in np.flatnonzero(few)[::-1]:  # parents come before children
        region[members.indices[members.indptr[node] : members.indptr[node + 1]]] = node
    return np.unique(region, return_inverse=True)[1]


def _belief(
    node: int, parents: Sequence[int], chances: Sequence[Vector], below: list[Vector], found: list[Vector]
) -> Vector:
    """Distribution of kind and node in each cell, from those of the nodes before it and what is below it."""
    if node == 0:
        weights = chances[0] * below[0]
    else:
        told = below[node] @ chances[node].transpose(0, 2, 1)
        rest = np.divide(found[parents[node]], told, out=np.zeros_like(told), where=told > 0)
        weights = (rest @ chances[node]) * below[node]
    return np.asarray(weights / np.maximum(weights.sum(axis=(0, 2), keepdims=True), np.finfo(float).tiny))


def messages(parents: Sequence[int], chances: Sequence[Vector], evidence: Sequence[Vector]) -> list[Vector]:
    """For each node and cell the weight of each state by its own evidence and all that is below it.

    Parameters
    ----------
    parents : sequence of int
        Of each node, an earlier one; -1 for the first.
    chances : sequence of ndarray, shape (n_kinds, n_parent, n_states)
    evidence : sequence of ndarray, shape (n_cells, n_states)
        Whole numbers up to 2**24.

    Returns
    -------
    list of ndarray of shape (n_kinds, n_cells, n_states), or (1, n_cells, n_states) where kinds do not differ
    """
    found = [rescaled(own[None]) for own in evidence]
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        found[parent] = rescaled(found[parent] * rescaled(found[node] @ chances[node].transpose(0, 2, 1)))
    return found


def rescaled(weights: Vector) -> Vector:
    """Whole numbers of which the largest of each cell is 2**24; what is above 0 stays so."""
    top = weights.max(axis=(0, 2), keepdims=True)
    return np.ceil(weights * (LARGEST / np.maximum(top, 1.0)))
