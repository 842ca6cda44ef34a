"""Tree random response: the optimal random response on the cells of each block of a tree [ZDS §V, Algorithm 2]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import positive
from sanitize.budgets import as_budget, check_kind
from sanitize.mechanisms._effort import effort_of
from sanitize.mechanisms._response_solver.columns import Loss
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, respond_in
from sanitize.mechanisms._trees.merging import check_blocks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution


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
    Every released symbol is within the budget under the law given, as `Budget.excess` measures it (1e-12), and
    I(X;Y) is at least that of `tree_merging`; with a target T, I(T;Y) is, up to the gap.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, cell).
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
        If the blocks do not fit the law, or one of them is not within the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> round(sz.normalized_utility(joint, tree_random_response(joint, [0, 0, 1, 1], 0.3)), 4)
    0.7832
    """
    known = check_kind(as_budget(budget))
    positive("gap", gap)
    labels = check_blocks(joint, blocks, known)
    loss = Loss.towards(target, len(labels))
    order = np.argsort(labels, kind="stable")
    # Cells that are blocks stay as they are; some that follow each other are one part.
    alone = np.bincount(labels)[labels[order]] == 1
    is_new = (np.diff(labels[order]) > 0) & ~(alone[1:] & alone[:-1])
    parts = [[cells] for cells in np.split(order, np.flatnonzero(is_new) + 1)]
    account = effort_of(None, RESPONSE_EFFORT)
    return respond_in(joint, known, parts, gap=gap, effort=account, loss=loss).released(len(parts))
