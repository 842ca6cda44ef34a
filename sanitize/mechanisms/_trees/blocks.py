"""The finest partition of the cells of a tree into nodes that may be released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.joint import JointDistribution
    from sanitize.trees import Tree


def finest_blocks(tree: Tree, alone: NDArray[np.bool_], may_part: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Number of the lowest node above each cell, of nodes that may stand alone, such that they make a partition.

    Parameters
    ----------
    tree : Tree
    alone : ndarray of bool, shape (n_nodes,)
        Nodes that may be released; the root must be.
    may_part : ndarray of bool, shape (n_nodes,)
        Nodes that may be given up for their sides; no cell is.
    """
    parted = np.zeros(len(alone), bool)  # whether both sides have a partition of such nodes
    for node in np.flatnonzero(may_part)[::-1]:  # sides come after their parents
        parted[node] = (alone | parted)[tree.sides[node]].all()
    labels = np.full(len(alone), -1, np.intp)
    stack, number = [0], 0
    while stack:
        node = stack.pop()
        if parted[node]:
            stack.extend(tree.sides[node][::-1].tolist())
        else:
            labels[node] = number
            number += 1
    for node in np.flatnonzero(tree.column >= 0):
        if labels[node] >= 0:
            labels[tree.sides[node]] = labels[node]
    return labels[tree.cell_nodes]


def blocks_within(tree: Tree, joint: JointDistribution, budget: Budget) -> NDArray[np.intp]:
    """Block of each cell under a law; where it is not the one the tree was grown on, some blocks become one.

    Parameters
    ----------
    tree : Tree
    joint : JointDistribution
        Law of (S, cell).
    budget : Budget
    """
    mass = np.zeros((len(tree.column), len(joint.sensitive)))
    mass[tree.cell_nodes] = joint.pmf.T
    for node in np.flatnonzero(tree.column >= 0)[::-1]:
        mass[node] = mass[tree.sides[node]].sum(axis=0)
    lifts = (mass / mass.sum(axis=1, keepdims=True) / joint.p_s).T
    alone = ~(budget.excess_of(lifts, joint.p_s) > 0)
    alone[0] = True
    return finest_blocks(tree, alone, tree.block < 0)
