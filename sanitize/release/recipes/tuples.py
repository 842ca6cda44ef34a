"""Recipes that release combinations of values: how the budget is read, and which function designs the channel.

Mechanisms are named by their room, which loads the file of one when it is first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize import mechanisms
from sanitize._util.checks import check_choice, is_number
from sanitize.core.budgets import LDPBudget, as_capacity_budget, budget_nats, declared_budget
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.release.recipes.recipe import PooledParameters, Recipe, TupleParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution
    from sanitize.release.design import Specification

Near = Literal["line", "circle", "hamming"]


class WatchdogRecipe(TupleParameters, Recipe):
    """Merge all high-risk public symbols into one [ZDS §III]."""

    takes_weights = True
    takes_any_budget = True

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = declared_budget(self.budget)
        return self._make_specification("watchdog", partial(mechanisms.watchdog, budget=budget), budget)


@dataclass(eq=False, repr=False, kw_only=True)
class SubsetMergingParameters(TupleParameters):
    """Parameters of subset merging: those of tuples, and an effort."""

    effort: float | None = None


class SubsetMergingRecipe(SubsetMergingParameters, Recipe):
    """Merge high-risk public symbols in small groups, each safe by itself [ZDS §IV]."""

    takes_weights = True
    takes_any_budget = True

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = declared_budget(self.budget)
        mechanism = partial(mechanisms.subset_merging, budget=budget, effort=self.effort)
        return self._make_specification("subset merging", mechanism, budget)


@dataclass(eq=False, repr=False, kw_only=True)
class ResponseParameters(TupleParameters):
    """Parameters of a search for a channel, which ends when it is near enough to the best or its effort is used."""

    gap: float = 1e-6
    effort: float | None = None
    time_limit: float | None = None
    target: str | None = None


class _Searching(ResponseParameters, Recipe):
    def _specify_search(self, name: str, mechanism: Callable[..., Channel]) -> Specification:
        budget = declared_budget(self.budget)
        limits = {"gap": self.gap, "effort": self.effort, "time_limit": self.time_limit}
        return replace(
            self._make_specification(name, partial(mechanism, budget=budget, **limits), budget), target=self.target
        )


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalResponseParameters(ResponseParameters):
    """Parameters of the best channel: those of a search, and public columns that may be known of a row."""

    takes_weights = True

    side_columns: str | Sequence[str] = ()


class OptimalRandomResponseRecipe(OptimalResponseParameters, _Searching):
    """The most useful channel within a budget on lifts or their averages [ZDS §III-A2]."""

    def specification(self) -> Specification:
        """Budget and mechanism."""
        spec = self._specify_search("optimal random response", mechanisms.optimal_random_response)
        names = self.side_columns
        return replace(spec, side_columns=[names] if isinstance(names, str) else list(names))


class SubsetRandomResponseRecipe(_Searching):
    """Optimal random response inside blocks of public symbols [ZDS Algorithm 2, with larger blocks]."""

    def specification(self) -> Specification:
        """Budget and mechanism."""
        return self._specify_search("subset random response", mechanisms.subset_random_response)


class RandomizedResponseRecipe(TupleParameters, Recipe):
    """Keep each public symbol or replace it by a random one: ε-LDP whatever the distribution of the data [WXH §4.1]."""

    takes_weights = True

    needs_sensitive = False

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = self.budget
        if is_number(budget):
            budget = LDPBudget(budget_nats(budget))
        if not isinstance(budget, LDPBudget):
            kind = "none" if budget is None else type(budget).__name__
            raise InvalidBudget(f"RandomizedResponse needs its LDP in nats: a number or LDPBudget(eps), got {kind}")
        mechanism = partial(_respond, eps=budget.eps)
        return self._make_specification("randomized response", mechanism, budget, keeps_symbols=True)


def _respond(joint: JointDistribution, eps: float, confidence: object = None) -> Channel:
    # LDP of X bounds LDP of S under every distribution, so a set of distributions changes nothing.
    return mechanisms.randomized_response(len(joint.public), eps).renamed(inputs=joint.public)


@dataclass(eq=False, repr=False, kw_only=True)
class ExponentialChannelParameters(PooledParameters):
    """Parameters of an exponential channel."""

    distance: Near = "line"


class ExponentialChannelRecipe(ExponentialChannelParameters, Recipe):
    """Replace a public symbol by one that is rarer the farther it is, within a capacity [WXH §4.3]."""

    takes_weights = True

    needs_sensitive = False

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = as_capacity_budget(self.budget, "ExponentialChannel")
        check_choice("distance", self.distance, "line", "circle", "hamming")
        mechanism = partial(_exponential_channel, capacity=budget.nats, distance=self.distance)
        return self._make_specification("exponential channel", mechanism, budget, keeps_symbols=True)


def _exponential_channel(joint: JointDistribution, capacity: float, distance: Near) -> Channel:
    n = len(joint.public)
    if n > 4096:  # distances between all pairs of symbols are held in memory
        raise InvalidParameter(f"an exponential channel on {n} symbols is too large; bin or pool them (min_count)")
    near: Any = distance
    if distance == "hamming":
        codes = joint.public.codes
        near = sum(np.not_equal.outer(column, column).astype(np.int32) for column in codes.T)
    return mechanisms.exponential_channel(n, capacity=capacity, distance=near).renamed(inputs=joint.public)
