"""The recipe of an exponential channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._release.design import MIN_COUNT
from sanitize._release.recipes.recipe import Recipe
from sanitize.budgets import as_capacity_budget
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import exponential_channel

if TYPE_CHECKING:
    from sanitize._release.design import Specification
    from sanitize._release.recipes.recipe import Edges, Missing, Printed, Unknown
    from sanitize._release.recipes.roles import ColumnSpec
    from sanitize._sampling.noise import Randomness
    from sanitize.budgets import CapacityBudget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

Near = Literal["line", "circle", "hamming"]
# Distances between all pairs of symbols are held in memory.
_MOST_SYMBOLS = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class ExponentialChannelParameters:
    """Of an exponential channel."""

    budget: CapacityBudget | float | None = field(default=None, kw_only=False)
    distance: Near = "line"
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    bins: Edges = None
    output: Printed = "resample"
    handle_unknown: Unknown = "high_risk"
    missing: Missing = "category"
    smoothing: float = 0.0
    min_count: int = MIN_COUNT
    keep_sensitive: bool = False
    random_state: Randomness = None


class ExponentialChannelRecipe(ExponentialChannelParameters, Recipe):
    """Replace a public symbol by one that is rarer the farther it is, within a capacity [WXH §4.3]."""

    needs_sensitive = False

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = as_capacity_budget(self.budget, "ExponentialChannel")
        if self.distance not in ("line", "circle", "hamming"):
            raise InvalidParameter(f"distance must be 'line', 'circle' or 'hamming', got {self.distance!r}")
        mechanism = partial(_spread, capacity=budget.nats, distance=self.distance)
        return self._specified("exponential channel", mechanism, budget, keeps_symbols=True)


def _spread(joint: JointDistribution, capacity: float, distance: Near) -> Channel:
    n = len(joint.public)
    if n > _MOST_SYMBOLS:
        raise InvalidParameter(f"an exponential channel on {n} symbols is too large; bin or pool them (min_count)")
    near: Any = distance
    if distance == "hamming":
        codes = joint.public.codes
        near = sum(np.not_equal.outer(column, column).astype(np.int32) for column in codes.T)
    return exponential_channel(n, capacity=capacity, distance=near).renamed(inputs=joint.public)
