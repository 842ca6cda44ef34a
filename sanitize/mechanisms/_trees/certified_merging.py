"""The finest partition into nodes of a tree that rows apart certify, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.budgets import as_budget
from sanitize.channel import HEURISTIC, Channel, group_alphabet
from sanitize.mechanisms._trees.blocks import finest_blocks
from sanitize.mechanisms._trees.certified import as_lift_budget, proven

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.joint import JointDistribution
    from sanitize.trees import Tree


def certified_tree_merging(
    joint: JointDistribution,
    design: NDArray[np.int64],
    fresh: NDArray[np.int64],
    tree: Tree,
    budget: Budget | float,
    confidence: float,
) -> Channel:
    """Release of each cell a node of the tree above it that is certified: the lowest ones that make a partition.

    Guarantee
    ---------
    With probability at least ``confidence`` over the rows, every released symbol is within the budget under the law
    they were drawn from, whatever it is; under the frequencies of all rows it always is. The root, which tells
    nothing, can always be released.

    Parameters
    ----------
    joint : JointDistribution
        Frequencies of (S, cell) over all rows.
    design, fresh : ndarrays of int, shape (n_s, n_cells)
        Counts of the rows that the tree was grown on and of all others. Which rows are which must not depend on
        their values.
    tree : Tree
    budget : LiftBudget, LDPBudget or float
        An LDP budget is met by the symmetric lift budget of half its level, which implies it.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Channel
        Deterministic.

    Raises
    ------
    InvalidBudget, InvalidParameter
        If the budget is of another kind or the counts do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import sanitize as sz
    >>> from sanitize.trees import cell_counts, design_rows, grow
    >>> rng = np.random.default_rng(0)
    >>> secrets = rng.integers(0, 2, 4000)
    >>> table = {"age": rng.integers(18, 90, 4000) + 3 * secrets, "town": rng.choice(["A", "B"], 4000)}
    >>> first = design_rows(4000, 0.3)
    >>> grown = grow(table, secrets, None, max_cells=8, rows=first)
    >>> tree = grown.tree
    >>> design, fresh = (cell_counts(grown.cells[r], secrets[r], tree.n_cells, 2) for r in (first, ~first))
    >>> joint = sz.JointDistribution.from_matrix((design + fresh) / 4000)
    >>> channel = certified_tree_merging(joint, design, fresh, tree, 0.8, 0.95)
    >>> bool(sz.LiftBudget.symmetric(0.8).excess(joint.release(channel)).max() <= 0)
    True
    """
    nodes = tree.members[1:].astype(np.float64)  # without the root
    _, passed = proven(joint, design, fresh, as_lift_budget(as_budget(budget)), confidence, lambda _: nodes)
    labels = finest_blocks(tree, np.concatenate([[True], passed]), tree.column >= 0)
    n_blocks = int(labels.max()) + 1
    made = Channel.merge(labels, joint.public, group_alphabet(joint.public, labels, n_blocks))
    return made.with_standing(HEURISTIC)
