"""Designers of the merging mechanisms; each says how its budget is read and which function designs the channel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from sanitize._release.design import MIN_COUNT, Recipe
from sanitize._release.designers.designer import Designer
from sanitize.budgets import as_budget
from sanitize.mechanisms import subset_merging, watchdog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._release.designers.roles import ColumnSpec
    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import Budget


class Watchdog(Designer):
    """Merge all high-risk public symbols into one [ZDS §III]."""

    _takes_any_budget = True

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        return self._with_settings("watchdog", partial(watchdog, budget=budget), budget)


class SubsetMerging(Designer):
    """Merge high-risk public symbols in small groups, each safe by itself [ZDS §IV]."""

    _takes_any_budget = True

    def __init__(
        self,
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        effort: float | None = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        output: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = MIN_COUNT,
        confidence: float | None = None,
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
        self.effort = effort

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        return self._with_settings("subset merging", partial(subset_merging, budget=budget, effort=self.effort), budget)
