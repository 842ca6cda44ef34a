"""The recipe of randomized response."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sanitize._checks import is_number
from sanitize._release.recipes.recipe import Recipe, TupleParameters
from sanitize.budgets import LDPBudget, nats_of
from sanitize.errors import InvalidBudget
from sanitize.mechanisms import randomized_response

if TYPE_CHECKING:
    from sanitize._release.design import Specification
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution


class RandomizedResponseRecipe(TupleParameters, Recipe):
    """Keep each public symbol or replace it by a random one: ε-LDP whatever the law of the data [WXH §4.1]."""

    needs_sensitive = False

    def specification(self) -> Specification:
        """Budget and mechanism."""
        budget = self.budget
        if is_number(budget):
            budget = LDPBudget(nats_of(budget))
        if not isinstance(budget, LDPBudget):
            given = "none" if budget is None else type(budget).__name__
            raise InvalidBudget(f"RandomizedResponse needs its LDP in nats: a number or LDPBudget(eps), got {given}")
        mechanism = partial(_respond, eps=budget.eps)
        return self._specified("randomized response", mechanism, budget, keeps_symbols=True)


def _respond(joint: JointDistribution, eps: float, confidence: object = None) -> Channel:
    # LDP of X bounds LDP of S under every law, so a set of laws changes nothing.
    return randomized_response(len(joint.public), eps).renamed(inputs=joint.public)
