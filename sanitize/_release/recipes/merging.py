"""Recipes of the merging mechanisms: how the budget is read, and which function designs the channel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sanitize._release.recipes.recipe import Recipe, TupleParameters
from sanitize.budgets import as_budget
from sanitize.mechanisms import subset_merging, watchdog

if TYPE_CHECKING:
    from sanitize._release.design import Specification


class WatchdogRecipe(TupleParameters, Recipe):
    """Merge all high-risk public symbols into one [ZDS §III]."""

    takes_any_budget = True

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = as_budget(self.budget)
        return self._specified("watchdog", partial(watchdog, budget=budget), budget)


@dataclass(eq=False, repr=False, kw_only=True)
class SubsetMergingParameters(TupleParameters):
    """Of subset merging: those of tuples, and an effort."""

    effort: float | None = None


class SubsetMergingRecipe(SubsetMergingParameters, Recipe):
    """Merge high-risk public symbols in small groups, each safe by itself [ZDS §IV]."""

    takes_any_budget = True

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = as_budget(self.budget)
        return self._specified("subset merging", partial(subset_merging, budget=budget, effort=self.effort), budget)
