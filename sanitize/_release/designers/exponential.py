"""The design of an exponential channel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._release.design import MIN_COUNT, Recipe
from sanitize._release.designers.designer import Designer
from sanitize.budgets import as_capacity_budget
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import exponential_channel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._release.designers.roles import ColumnSpec
    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import CapacityBudget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

Near = Literal["line", "circle", "hamming"]
# Distances between all pairs of symbols are held in memory.
_MOST_SYMBOLS = 4096


class ExponentialChannel(Designer):
    """Replace a public symbol by one that is rarer the farther it is, within a capacity [WXH §4.3]."""

    _needs_sensitive = False

    def __init__(
        self,
        budget: CapacityBudget | float | None = None,
        *,
        distance: Near = "line",
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        output: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = MIN_COUNT,
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
            keep_sensitive=keep_sensitive,
            random_state=random_state,
        )
        self.distance = distance

    def _recipe(self) -> Recipe:
        budget = as_capacity_budget(self.budget, "ExponentialChannel")
        if self.distance not in ("line", "circle", "hamming"):
            raise InvalidParameter(f"distance must be 'line', 'circle' or 'hamming', got {self.distance!r}")
        mechanism = partial(_spread, capacity=budget.nats, distance=self.distance)
        return self._with_settings("exponential channel", mechanism, budget, keeps_symbols=True)


def _spread(joint: JointDistribution, capacity: float, distance: Near) -> Channel:
    n = len(joint.public)
    if n > _MOST_SYMBOLS:
        raise InvalidParameter(f"an exponential channel on {n} symbols is too large; bin or pool them (min_count)")
    near: Any = distance
    if distance == "hamming":
        codes = joint.public.codes
        near = sum(np.not_equal.outer(column, column).astype(np.int32) for column in codes.T)
    return exponential_channel(n, capacity=capacity, distance=near).renamed(inputs=joint.public)
