"""Tree random response: the optimal random response on the cells of each block of a tree [ZDS §V, Algorithm 2]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import positive
from sanitize.budgets import as_budget, check_kind
from sanitize.mechanisms._random_response.loss import Loss
from sanitize.mechanisms._random_response.response import Response, respond
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
    budget = as_budget(budget)
    check_kind(budget)
    positive("gap", gap)
    labels = check_blocks(joint, blocks, budget)
    loss = Loss.towards(target, len(labels))
    order = np.argsort(labels, kind="stable")
    parts = []
    for cells in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        mass = float(joint.p_x[cells].sum())
        parts.append(respond(joint, budget, cells, gap=gap * mass, atoms=[cells], loss=loss))
    made = Response.union(parts).response(joint, budget, gap, loss)
    among = "" if len(parts) == 1 else "responses inside its blocks"
    return made.channel.with_standing(replace(made.standing, among=among))
