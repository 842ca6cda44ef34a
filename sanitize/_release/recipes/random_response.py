"""Recipes of the random responses: on many columns, each search ends when it is near enough or has used its effort."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sanitize._release.recipes.recipe import Recipe, TupleParameters
from sanitize.budgets import as_budget
from sanitize.mechanisms import optimal_random_response, subset_random_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize._release.design import Specification
    from sanitize.channel import Channel


@dataclass(eq=False, repr=False, kw_only=True)
class ResponseParameters(TupleParameters):
    """Of a search for a channel, which ends when it is near enough to the best or its effort is used."""

    gap: float = 1e-6
    effort: float | None = None
    time_limit: float | None = None
    target: str | None = None


class _Searching(ResponseParameters, Recipe):
    def _searched(self, name: str, mechanism: Callable[..., Channel]) -> Specification:
        budget = as_budget(self.budget)
        limits = {"gap": self.gap, "effort": self.effort, "time_limit": self.time_limit}
        return replace(self._specified(name, partial(mechanism, budget=budget, **limits), budget), target=self.target)


class OptimalRandomResponseRecipe(_Searching):
    """The most useful channel within a lift or LDP budget [ZDS §III-A2]."""

    def specification(self) -> Specification:
        """Budget and mechanism."""
        return self._searched("optimal random response", optimal_random_response)


class SubsetRandomResponseRecipe(_Searching):
    """Optimal random response inside blocks of public symbols [ZDS Algorithm 2, with larger blocks]."""

    def specification(self) -> Specification:
        """Budget and mechanism."""
        return self._searched("subset random response", subset_random_response)
