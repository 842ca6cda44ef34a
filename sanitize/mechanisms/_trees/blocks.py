"""Blocks of a tree, the finest that may be released: merged (tree merging), or mixed inside (tree random response)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import Codes, Mask
from sanitize.alphabet import group_alphabet
from sanitize.budgets import as_budget, limits_for
from sanitize.channel import HEURISTIC, Channel
from sanitize.errors import InvalidParameter
from sanitize.joint import JointDistribution
from sanitize.mechanisms._effort import effort_of
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, Problem, respond_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.budgets import Budget
    from sanitize.trees import Tree


def finest_blocks(tree: Tree, alone: Mask, may_part: Mask) -> Codes:
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


def blocks_within(tree: Tree, joint: JointDistribution, budget: Budget) -> Codes:
    """Block of each cell under a distribution; where it is not the one the tree was grown on, some blocks become one.

    Parameters
    ----------
    tree : Tree
    joint : JointDistribution
        Distribution of (S, cell).
    budget : Budget
    """
    budget, mass = limits_for(budget, joint.sensitive), np.zeros((len(tree.column), len(joint.sensitive)))
    mass[tree.cell_nodes] = joint.pmf.T
    for node in np.flatnonzero(tree.column >= 0)[::-1]:
        mass[node] = mass[tree.sides[node]].sum(axis=0)
    lifts = (mass / mass.sum(axis=1, keepdims=True) / joint.p_s).T
    alone = ~(budget.excess_of(lifts, joint.p_s) > 0)
    alone[0] = True
    return finest_blocks(tree, alone, tree.block < 0)


def tree_merging(joint: JointDistribution, blocks: ArrayLike, budget: Budget | float) -> Channel:
    """Release of each cell the block of a tree that it lies in.

    Guarantee
    ---------
    Every block is within the budget under the distribution given, as `Budget.excess` measures it (1e-12); blocks that
    are not are refused.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, cell).
    blocks : array-like of int, shape (n_cells,)
        Block of each cell, numbered from 0 (`sanitize.trees.Tree.blocks`).
    budget : Budget or float
        Any budget; a number is symmetric local information privacy (LIP) in nats.

    Returns
    -------
    Channel
        Deterministic, from cells to blocks.

    Raises
    ------
    InvalidParameter
        If the blocks do not fit the distribution, or one of them is not within the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> tree_merging(joint, [0, 0, 1, 1], 0.3).outputs.symbols
    ('{0, 1}', '{2, 3}')
    """
    labels = check_blocks(joint, blocks, as_budget(budget, joint))
    return Channel.merge(labels, joint.public, group_alphabet(joint.public, labels)).with_optimality(HEURISTIC)


def check_blocks(joint: JointDistribution, blocks: ArrayLike, budget: Budget) -> Codes:
    """Block of each cell, each of them within the budget."""
    labels = np.asarray(blocks)
    n = len(joint.public)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise InvalidParameter(f"blocks must be one whole number for each of the {n} cells, got shape {labels.shape}")
    labels = labels.astype(np.intp)
    if not np.array_equal(np.unique(labels), np.arange(labels.max() + 1)):
        raise InvalidParameter("blocks must be numbered from 0 without gaps")
    mass = np.stack([np.bincount(labels, row) for row in joint.pmf])
    over = int((budget.excess_of(mass / joint.p_s[:, None] / mass.sum(axis=0), joint.p_s) > 0).sum())
    if over:
        raise InvalidParameter(
            f"{over} of {mass.shape[1]} blocks are not within the budget {budget!r}; grow the tree with this budget"
        )
    return labels


def tree_random_response(
    joint: JointDistribution,
    blocks: ArrayLike,
    budget: Budget | float,
    *,
    gap: float = 1e-3,
    target: ArrayLike | None = None,
) -> Channel:
    """Mix the cells of each block as the optimal random response does; rows only go to cells of their own block.

    P_X restricted to a block is within the budget, so [ZDS] Algorithm 2 applies with the blocks as its subsets.

    Guarantee
    ---------
    Every released symbol is within the budget under the distribution given, as `Budget.excess` measures it (1e-12), and
    I(X;Y) is at least that of `tree_merging`; with a target T, I(T;Y) is, up to the gap.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, cell).
    blocks : array-like of int, shape (n_cells,)
        Block of each cell, numbered from 0 (`sanitize.trees.Tree.blocks`); each within the budget.
    budget : LiftBudget, LDPBudget or float
        A number is symmetric local information privacy (LIP) in nats.
    gap : float
        Distance of each block's response from its optimum, in nats of the block, > 0.
    target : array-like of shape (n_t, n_cells), optional
        P(t|cell) of a variable T that matters; by default the cell itself is to be kept.

    Returns
    -------
    Channel
        One sparse stage.

    Raises
    ------
    InvalidBudget
        If there is no budget or it is of another kind.
    InvalidParameter
        If the blocks do not fit the distribution, or one of them is not within the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> round(sz.normalized_utility(joint, tree_random_response(joint, [0, 0, 1, 1], 0.3)), 4)
    0.7832
    """
    problem = Problem.of(joint, budget, gap, target)
    labels = check_blocks(joint, blocks, problem.budget)
    order = np.argsort(labels, kind="stable")
    # Cells that are blocks stay as they are; some that follow each other are one part.
    alone = np.bincount(labels)[labels[order]] == 1
    is_new = (np.diff(labels[order]) > 0) & ~(alone[1:] & alone[:-1])
    parts = [[cells] for cells in np.split(order, np.flatnonzero(is_new) + 1)]
    account = effort_of(None, RESPONSE_EFFORT)
    return respond_in(problem, parts, account).released(len(parts))
