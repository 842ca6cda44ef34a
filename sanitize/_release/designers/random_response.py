"""Designers of the random responses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sanitize._release.design import MIN_COUNT, Recipe
from sanitize._release.designers.designer import Designer
from sanitize.budgets import as_budget
from sanitize.mechanisms import optimal_random_response, subset_random_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._release.designers.roles import ColumnSpec
    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import Budget


class _Searching(Designer):
    """Sanitizers that search for a channel, until it is near enough to the best or the time is up."""

    def __init__(
        self,
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        gap: float = 1e-6,
        effort: float | None = None,
        time_limit: float | None = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        output: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = MIN_COUNT,
        confidence: float | None = None,
        target: str | None = None,
        keep_sensitive: bool = False,
        random_state: Randomness = None,
    ) -> None:
        super().__init__(
            budget,
            sensitive=sensitive,
            public=public,
            bins=bins,
            output=output,
            handle_unknown=handle_unknown,
            missing=missing,
            smoothing=smoothing,
            min_count=min_count,
            confidence=confidence,
            keep_sensitive=keep_sensitive,
            random_state=random_state,
        )
        self.gap = gap
        self.effort = effort
        self.time_limit = time_limit
        self.target = target

    def _limits(self) -> dict[str, Any]:
        """When the search ends."""
        return {"gap": self.gap, "effort": self.effort, "time_limit": self.time_limit}


class OptimalRandomResponse(_Searching):
    """The most useful channel within a lift or LDP budget [ZDS §III-A2]."""

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        mechanism = partial(optimal_random_response, budget=budget, **self._limits())
        return replace(self._with_settings("optimal random response", mechanism, budget), target=self.target)


class SubsetRandomResponse(_Searching):
    """Optimal random response inside blocks of public symbols [ZDS Algorithm 2, with larger blocks]."""

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        mechanism = partial(subset_random_response, budget=budget, **self._limits())
        return replace(self._with_settings("subset random response", mechanism, budget), target=self.target)
