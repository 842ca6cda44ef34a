"""Recipes for combinations of values: each reads the budget and names the function that designs the channel.

Mechanisms are referred to by their package, which imports the file of a mechanism on first use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize import mechanisms
from sanitize._util.checks import check_choice, is_number
from sanitize.core.budgets import LDPBudget, as_capacity_budget, budget_nats, declared_budget
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.release.design import MIN_COUNT, Specification
from sanitize.release.fit import Recipe
from sanitize.release.recipes.promise import check_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution
    from sanitize.release.fit import Missing
    from sanitize.release.layout import ColumnSpec
    from sanitize.release.recipes.secret_dp import SecretDP
    from sanitize.release.release import Unknown

    Edges = Mapping[str, Sequence[float]] | Sequence[float] | None

Near = Literal["line", "circle", "hamming"]


@dataclass(eq=False, repr=False, kw_only=True)
class PooledParameters:
    """Parameters of recipes that release combinations of public values and pool rare combinations."""

    budget: Budget | None = field(default=None, kw_only=False)
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    bins: Edges = None
    handle_unknown: Unknown = "high_risk"
    missing: Missing = "category"
    smoothing: float = 0.0
    min_count: int = MIN_COUNT
    person: str | None = None
    keep_sensitive: bool = False
    random_state: Randomness = None


@dataclass(eq=False, repr=False, kw_only=True)
class TupleParameters(PooledParameters):
    """Parameters of recipes that also accept a confidence."""

    confidence: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class DesignParameters(TupleParameters):
    """Parameters of recipes that design the channel from counts of sensitive values, with or without noise."""

    secret_dp: SecretDP | None = None


class TupleRecipe(Recipe):
    """Base of the recipes whose public symbols are combinations of values."""

    takes_weights = True

    def _specify(
        self, name: str, mechanism: Callable[..., Channel], budget: Budget, *, keeps_symbols: bool = False
    ) -> Specification:
        if self.promise is not None:
            check_settings(vars(self))
            if self.confidence is not None:
                raise InvalidParameter(
                    f"{self.estimator()} cannot combine confidence= with secret_dp=; leave one of them out, or use "
                    "LatentClassRelease"
                )
        shared = (self.smoothing, self.min_count, self.confidence)
        return Specification(name, mechanism, budget, keeps_symbols, *shared)

    def _specify_design(self, name: str, design: Callable[..., Channel], **settings: Any) -> Specification:
        """Specification of a function that designs a channel for the declared budget."""
        budget = declared_budget(self.budget)
        return self._specify(name, partial(design, budget=budget, **settings), budget)


class WatchdogRecipe(DesignParameters, TupleRecipe):
    """Merge all high-risk public symbols into one symbol [ZDS §III]."""

    takes_any_budget = True

    def specification(self) -> Specification:
        """Return the budget, the mechanism and the settings, after checking the parameters."""
        return self._specify_design("watchdog", mechanisms.watchdog)


@dataclass(eq=False, repr=False, kw_only=True)
class SubsetMergingParameters(DesignParameters):
    """Parameters of subset merging: the parameters of tuple recipes, and an effort."""

    effort: float | None = None


class SubsetMergingRecipe(SubsetMergingParameters, TupleRecipe):
    """Merge high-risk public symbols into small groups, each safe by itself [ZDS §IV]."""

    takes_any_budget = True

    def specification(self) -> Specification:
        """Return the budget, the mechanism and the settings, after checking the parameters."""
        return self._specify_design("subset merging", mechanisms.subset_merging, effort=self.effort)


@dataclass(eq=False, repr=False, kw_only=True)
class ResponseParameters(DesignParameters):
    """Parameters of a search for a channel, which ends close to the optimum or when its effort is used up."""

    gap: float = 1e-6
    effort: float | None = None
    time_limit: float | None = None
    target: str | None = None


class _Searching(ResponseParameters, TupleRecipe):
    def _specify_search(self, name: str, mechanism: Callable[..., Channel]) -> Specification:
        limits = {"gap": self.gap, "effort": self.effort, "time_limit": self.time_limit}
        return replace(self._specify_design(name, mechanism, **limits), target=self.target)


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalResponseParameters(ResponseParameters):
    """Parameters of optimal random response: a search, and public columns that a reader may know about a row."""

    side_columns: str | Sequence[str] = ()


class OptimalRandomResponseRecipe(OptimalResponseParameters, _Searching):
    """Release through the most useful channel within a budget on lifts or their averages [ZDS §III-A2]."""

    def specification(self) -> Specification:
        """Return the budget, the mechanism and the settings, after checking the parameters."""
        spec = self._specify_search("optimal random response", mechanisms.optimal_random_response)
        names = self.side_columns
        return replace(spec, side_columns=[names] if isinstance(names, str) else list(names))


class SubsetRandomResponseRecipe(_Searching):
    """Apply optimal random response within blocks of public symbols [ZDS Algorithm 2, with larger blocks]."""

    takes_weights = False

    def specification(self) -> Specification:
        """Return the budget, the mechanism and the settings, after checking the parameters."""
        return self._specify_search("subset random response", mechanisms.subset_random_response)


class RandomizedResponseRecipe(TupleParameters, TupleRecipe):
    """Keep each public symbol or replace it by a random one: ε-LDP for any distribution of the data [WXH §4.1]."""

    needs_sensitive = False

    def specification(self) -> Specification:
        """Return the budget, the mechanism and the settings, after checking the parameters."""
        budget = LDPBudget(budget_nats(self.budget)) if is_number(self.budget) else self.budget
        if not isinstance(budget, LDPBudget):
            kind = "none" if budget is None else type(budget).__name__
            raise InvalidBudget(
                f"RandomizedResponse needs an LDP level: LDPBudget(eps) or a number of nats, got {kind}"
            )
        mechanism = partial(_respond, eps=budget.eps)
        return self._specify("randomized response", mechanism, budget, keeps_symbols=True)


def _respond(joint: JointDistribution, eps: float, confidence: object = None) -> Channel:
    # LDP of X bounds LDP of S under every distribution, so a set of distributions changes nothing.
    return mechanisms.randomized_response(len(joint.public), eps).renamed(inputs=joint.public)


@dataclass(eq=False, repr=False, kw_only=True)
class ExponentialChannelParameters(PooledParameters):
    """Parameters of an exponential channel."""

    distance: Near = "line"


class ExponentialChannelRecipe(ExponentialChannelParameters, TupleRecipe):
    """Replace each public symbol at random, rarely by a distant symbol, within a capacity [WXH §4.3]."""

    needs_sensitive = False

    def specification(self) -> Specification:
        """Return the budget, the mechanism and the settings, after checking the parameters."""
        budget = as_capacity_budget(self.budget, "ExponentialChannel")
        check_choice("distance", self.distance, "line", "circle", "hamming")
        mechanism = partial(_exponential_channel, capacity=budget.nats, distance=self.distance)
        return self._specify("exponential channel", mechanism, budget, keeps_symbols=True)


def _exponential_channel(joint: JointDistribution, capacity: float, distance: Near) -> Channel:
    n = len(joint.public)
    if n > 4096:  # memory holds the distances between all pairs
        raise InvalidParameter(
            f"ExponentialChannel takes at most 4096 public symbols, got {n}; give bins or a larger min_count"
        )
    near: Any = distance
    if distance == "hamming":
        codes = joint.public.codes
        near = sum(np.not_equal.outer(column, column).astype(np.int32) for column in codes.T)
    return mechanisms.exponential_channel(n, capacity=capacity, distance=near).renamed(inputs=joint.public)
