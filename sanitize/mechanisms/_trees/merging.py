"""Tree merging: of each cell, the block it lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.alphabet import group_alphabet
from sanitize.budgets import as_budget
from sanitize.channel import HEURISTIC, Channel
from sanitize.errors import InvalidParameter
from sanitize.joint import JointDistribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sanitize.budgets import Budget


def tree_merging(joint: JointDistribution, blocks: ArrayLike, budget: Budget | float) -> Channel:
    """Release of each cell the block of a tree that it lies in.

    Guarantee
    ---------
    Every block is within the budget under the law given, as `Budget.excess` measures it (1e-12); blocks that are not
    are refused.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, cell).
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
        If the blocks do not fit the law, or one of them is not within the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> tree_merging(joint, [0, 0, 1, 1], 0.3).outputs.symbols
    ('{0, 1}', '{2, 3}')
    """
    labels = check_blocks(joint, blocks, as_budget(budget))
    n_blocks = int(labels.max()) + 1
    made = Channel.merge(labels, joint.public, group_alphabet(joint.public, labels, n_blocks))
    return made.with_standing(HEURISTIC)


def check_blocks(joint: JointDistribution, blocks: ArrayLike, budget: Budget) -> NDArray[np.intp]:
    """Block of each cell, each of them within the budget."""
    labels = np.asarray(blocks)
    n = len(joint.public)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise InvalidParameter(f"blocks must be one whole number for each of the {n} cells, got shape {labels.shape}")
    labels = labels.astype(np.intp)
    if not np.array_equal(np.unique(labels), np.arange(labels.max() + 1)):
        raise InvalidParameter("blocks must be numbered from 0 without gaps")
    mass = np.zeros((len(joint.sensitive), labels.max() + 1))
    for s, row in enumerate(joint.pmf):
        mass[s] = np.bincount(labels, row, mass.shape[1])
    over = int((budget.excess_of(mass / joint.p_s[:, None] / mass.sum(axis=0), joint.p_s) > 0).sum())
    if over:
        raise InvalidParameter(
            f"{over} of {mass.shape[1]} blocks are not within the budget {budget!r}; grow the tree with this budget"
        )
    return labels
