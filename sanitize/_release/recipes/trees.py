"""Recipes over whole tables: merging of cells into blocks of a tree, and random responses inside blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from sanitize._release.recipes.tree import TreeParameters, TreeRecipe
from sanitize._release.recipes.tree_growth import FEWEST_CELLS
from sanitize.budgets import LiftBudget
from sanitize.mechanisms import (
    MOST_MERGED,
    MOST_PAIRED,
    as_lift_budget,
    blocks_within,
    certified_random_response,
    certified_tree_merging,
    rows_of_cells,
    tree_merging,
    tree_random_response,
)
from sanitize.trees import DESIGN_SHARE, MOST_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from sanitize._release.recipes.secret_dp import SecretDP
    from sanitize._release.recipes.tree_growth import GrownLayout
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable, JointDistribution
    from sanitize.trees import Tree

MOST_CELLS = 4096
# Fresh rows of the least cell of certified merging, and of the average one of a certified response, in parts of those
# that an average cell needs to pass alone.
_MERGED_ROWS, _CERTIFIED_ROWS = 1.4, 1.2
# The same where no secret may be looked at.
_BLIND_ROWS = 330.0
# Of the rows of an average cell, that each has at least.
_LEAST_PART = 1 / 3
_ANY = LiftBudget(lower=inf, upper=inf)


class TreeMergingRecipe(TreeRecipe):
    """Release, of each row, the block of a tree over all public columns that it lies in, printed as a row again."""

    name = "tree merging"

    def _growth(self, n_rows: int, budget: Budget, p_s: NDArray[np.float64] | None) -> dict[str, Any]:
        limits = {"min_rows": self.min_rows, "min_cell_rows": self.min_rows, "max_block_cells": 1}
        if self.confidence is None:
            return limits | _at_most(MOST_CELLS if self.max_cells is None else self.max_cells, budget)
        assert p_s is not None
        fresh = (1 - DESIGN_SHARE) * n_rows
        rows = _MERGED_ROWS * rows_of_cells(as_lift_budget(budget), p_s, fresh, self.confidence)
        least = max(self.min_rows, ceil(rows * DESIGN_SHARE / (1 - DESIGN_SHARE)))
        return _singles(least, MOST_MERGED if self.max_cells is None else self.max_cells)

    def _mechanism(self, layout: GrownLayout, counts: ContingencyTable, budget: Budget) -> Callable[..., Channel]:
        if self.confidence is None:
            return partial(_merged, tree=layout.tree, budget=budget)
        design, fresh = layout.apart(counts)
        return partial(
            certified_tree_merging,
            design=design,
            fresh=fresh,
            profiles=layout.grown.profiles,
            budget=budget,
            confidence=self.confidence,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class TreeRandomResponseParameters(TreeParameters):
    """Of the tree random response."""

    min_rows: int = 200
    min_cell_rows: int = 20
    secret_dp: SecretDP | None = None


class TreeRandomResponseRecipe(TreeRandomResponseParameters, TreeRecipe):
    """Exchange rows at random with like rows, inside the blocks of a tree over all public columns [ZDS Algorithm 2]."""

    name = "tree random response"

    def _growth(self, n_rows: int, budget: Budget, p_s: NDArray[np.float64] | None) -> dict[str, Any]:
        limits = {"min_rows": self.min_rows, "min_cell_rows": self.min_cell_rows}
        if self.confidence is None:
            return limits | _at_most(MOST_CELLS if self.max_cells is None else self.max_cells, budget)
        fresh, rows = (1 - DESIGN_SHARE) * n_rows, _BLIND_ROWS
        if p_s is not None:
            rows = _CERTIFIED_ROWS * rows_of_cells(as_lift_budget(budget), p_s, fresh, self.confidence)
        most = min(max(int(fresh / rows), FEWEST_CELLS), MOST_PAIRED)
        most = most if self.max_cells is None else self.max_cells
        if p_s is None:
            return limits | {"max_cells": most, "max_block_cells": None, "budget": None}
        return _singles(max(self.min_cell_rows, int(_LEAST_PART * DESIGN_SHARE * n_rows / most)), most)

    def _mechanism(self, layout: GrownLayout, counts: ContingencyTable, budget: Budget) -> Callable[..., Channel]:
        if self.confidence is None:
            return partial(_mixed, tree=layout.tree, budget=budget, target=layout.target_law(self.target))
        design, fresh = layout.apart(counts)
        return partial(
            certified_random_response,
            design=design,
            fresh=fresh,
            members=layout.tree.members.toarray(),
            profiles=layout.grown.profiles,
            budget=budget,
            confidence=self.confidence,
            noise=layout.noise,
        )


def _at_most(cells: int, budget: Budget) -> dict[str, Any]:
    """Limits of a tree of so many cells, and no more blocks."""
    return {"max_cells": cells, "max_blocks": min(cells, MOST_BLOCKS), "budget": budget}


def _singles(least: int, most: int) -> dict[str, Any]:
    """Limits of a tree whose blocks are single cells, which may tell anything but do not for its own sake."""
    limits = {"min_rows": least, "min_cell_rows": least, "max_blocks": most, "max_cells": most, "max_block_cells": 1}
    return limits | {"budget": _ANY}


def _merged(joint: JointDistribution, tree: Tree, budget: Budget) -> Channel:
    return tree_merging(joint, blocks_within(tree, joint, budget), budget)


def _mixed(joint: JointDistribution, tree: Tree, budget: Budget, target: NDArray[np.float64] | None) -> Channel:
    return tree_random_response(joint, blocks_within(tree, joint, budget), budget, target=target)
