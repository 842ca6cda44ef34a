"""The privacy funnel: the random response of largest I(X;Y) within a budget on a mean over all released symbols."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._checks import Vector
from sanitize._tolerances import TIGHT
from sanitize.budgets import MutualInformationBudget, TotalVariationBudget, limited
from sanitize.errors import InvalidBudget
from sanitize.lifts import lift
from sanitize.mechanisms._random_response.tail import posteriors_of
from sanitize.mechanisms._response_solver.columns import RoundingStops, entr
from sanitize.mechanisms._response_solver.faces import Price, lowest
from sanitize.mechanisms._response_solver.mixture import Problem, RandomResponse, Response, respond_in
from sanitize.mechanisms._response_solver.vertices import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sanitize.budgets import MeanBudget
    from sanitize.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort

# A smaller limit is taken for this one where a bound is proved, and so no bound is too low.
_LEAST_LIMIT = 1e-9
# Secrets whose sides of their priors are listed; digits that tell points apart; weights up to so much of P(x) are 0.
_MOST_SECRETS, _DIGITS, _POSITIVE = 10, 9, 1e-10
# Gap in nats that is closed first, and looser limits that are proved before: parts of I(S;X).
_COARSE, _LOOSER = 1e-3, 0.5 * 0.2 ** np.arange(12)
# Random points that a descent begins at, and of those below the target; the share of the gap that a point must be
# worth; the part of the effort of what is within every budget, and what the descents may take.
_STARTS, _WORTH, _PART, _DESCENTS = 64, 0.1, 0.1, 0.5


def funnel_response(joint: JointDistribution, budget: MeanBudget, gap: float, effort: Effort) -> RandomResponse:
    """Most of I(X;Y) with Σ_y P(y) g(l_y) <= b, where g tells what the lifts l_y of one symbol tell [MSFM14].

    A release mixes posteriors r = P(x|y) into P_X. What it leaves open, Σ_y P(y) H(r_y), and the mean of g are linear
    in the weights P(y), so that prices are dual to them without a gap: for all μ and λ >= 0, H(X|Y) is at least
    μ·P_X - λ b + min_r {H(r) + λ g(r) - μ·r}, and the prices of the best mixture attain that where no posterior is
    missing. For total variation and maximal leakage the best posteriors are vertices of cells in which g is linear,
    and one program over all of them is exact. For mutual information `Price.descended` finds columns, and `lowest`
    proves how far from the last ones the best may be. Proofs: docs/theory/mechanisms.md.

    Raises
    ------
    InvalidBudget
        If the cells have too many vertices to list.
    """
    free = Problem.of(joint, limited(math.inf, math.inf), gap)
    if budget.excess(joint).max() <= 0:
        return respond_in(free, None, effort)
    # What has lifts of 1 alone is within every budget.
    sealed = respond_in(replace(free, budget=limited(0.0, 0.0)), None, effort.part(_PART))
    if budget.upper == 0:
        return sealed
    funnel = Funnel(joint, budget, gap, effort)
    made = replace(sealed, status="stalled")
    with contextlib.suppress(RoundingStops):
        funnel.take(np.concatenate([np.eye(len(joint.p_x)), joint.p_x[None], posteriors_of(joint.p_x, sealed.channel)]))
        if isinstance(budget, MutualInformationBudget):
            try:
                funnel.generate()
            except KeyboardInterrupt:
                funnel.status = "interrupted"
        else:
            funnel.list_all()
        made = max(made, funnel.released(free), key=lambda one: one.utility)
    return free.bounded(made, funnel.least)


class Funnel:
    """Posteriors found so far, their best mixture with its prices, and the least that any release leaves open."""

    def __init__(self, joint: JointDistribution, budget: MeanBudget, gap: float, effort: Effort) -> None:
        self.joint, self.budget, self.gap, self.effort = joint, budget, gap, effort
        self.lifts, self.least, self.rng = lift(joint), 0.0, np.random.default_rng(0)
        self.at = self.limit = max(budget.limit, _LEAST_LIMIT)
        self.points, self.status = np.empty((0, len(joint.p_x))), "stalled"

    def take(self, points: Vector) -> bool:
        """Take in points, each once, and price all by their best mixture; whether there were new ones."""
        every = np.concatenate([self.points, points])
        kept = np.sort(np.unique(every.round(_DIGITS), axis=0, return_index=True)[1])
        is_new = len(kept) > len(self.points)
        self.points = every[kept]
        self.mix(self.at)
        return is_new

    def mix(self, limit: float) -> None:
        """Find the best mixture with a mean of at most so much, and its prices."""
        from scipy.optimize import linprog

        p_x, p_s = self.joint.p_x, self.joint.p_s
        # The largest entry of each column is 1, and the limit is 1, whatever their size.
        columns = self.points / p_x
        scale = columns.max(axis=1)
        found = linprog(
            entr(self.points).sum(axis=1) / scale,
            A_ub=(self.budget.risk_of(self.lifts @ self.points.T, p_s) / scale / self.limit)[None],
            b_ub=[limit / self.limit],
            A_eq=(columns / scale[:, None]).T,
            b_eq=np.ones(len(p_x)),
            method="highs-ds",
            options=TIGHT,
        )
        if found.status:
            raise RoundingStops(f"the linear program of the funnel failed: {found.message}")
        rate = max(-float(found.ineqlin.marginals[0]) / self.limit, 0.0)
        self.price = Price(self.budget, self.lifts, p_s, found.eqlin.marginals / p_x, rate)
        self.weights = found.x / scale

    def prove(self, lowest: float) -> None:
        """Take the bound that the prices give, where no posterior has a lower one."""
        self.least = max(self.least, float(self.price.mu @ self.joint.p_x) - self.price.rate * self.limit + lowest)

    def list_all(self) -> None:
        """Take in all vertices of the cells in which what a symbol tells is linear."""
        vertices = np.concatenate([*self._vertices()])
        self.take(vertices)
        self.prove(min(float(self.price.of(vertices)[0].min()), 0.0))

    def _vertices(self) -> Iterator[Vector]:
        (n_s, n), p_s, is_few = self.lifts.shape, self.joint.p_s, True
        cells: Iterable[Vector] = (row - np.delete(self.lifts, s, axis=0) for s, row in enumerate(self.lifts))
        if isinstance(self.budget, TotalVariationBudget):
            sides, most, is_few = self.lifts - 1, p_s.argmax(), n_s <= _MOST_SECRETS
            # The others say what is left of the commonest secret: what is near 0 of it is not left to rounding.
            sides[most] = -np.delete(p_s, most) @ np.delete(sides, most, axis=0) / p_s[most]
            cells = (np.array(signs)[:, None] * sides for signs in itertools.product((-1, 1), repeat=n_s))
        for cell in cells:
            found = listed(cell) if is_few else None
            if found is None:
                raise InvalidBudget(
                    f"{type(self.budget).__name__}: too many posteriors to list, or too near to each other, for {n_s} "
                    f"sensitive and {n} public symbols; merge some first, or give a MutualInformationBudget"
                )
            yield found

    def generate(self) -> None:
        """Find columns, and prove that none is left: for looser limits first, whose prices bound this one too.

        They are proved sooner, so that there is a bound where the effort ends before this limit's prices are proved.
        """
        while self._improved(self.gap):
            pass  # columns for this limit come first, whatever is proved of them
        whole, coarse = self.budget.risk_of(self.lifts, self.joint.p_s) @ self.joint.p_x, max(self.gap, _COARSE)
        looser = [(limit, coarse) for limit in whole * _LOOSER if limit > self.limit]
        for limit, gap in dict.fromkeys([*looser, (self.limit, coarse), (self.limit, self.gap)]):
            self.at = limit
            self.mix(limit)
            while not self.effort.is_used():
                while self._improved(gap):
                    pass
                least, below = lowest(self.price, -0.9 * gap, self.effort)
                self.prove(least)
                below = below[np.argsort(self.price.of(below)[0])[:_STARTS]]
                if not (len(below) and self.take(self.price.descended(below))):
                    break
        if self.effort.is_used():
            self.status = "time_limit" if self.effort.is_late() else "effort"

    def _improved(self, gap: float) -> bool:
        """Descend from posteriors in use, from these a little off, and from random ones; whether some were worth it."""
        rng, (n_s, n), used = self.rng, self.lifts.shape, self.points[self.weights > 0]
        few = np.argsort(rng.random((_STARTS, n)), axis=1) < n_s
        random = few * rng.dirichlet(np.ones(n), _STARTS)
        off = (used + _WORTH * np.eye(n)[rng.integers(n, size=len(used))]) / (1 + _WORTH)
        found = self.price.descended(np.concatenate([used, off, random / random.sum(axis=1, keepdims=True)]))
        self.effort.spend(found.size * _STARTS)
        worth = found[self.price.of(found)[0] < -_WORTH * gap]
        return len(worth) > 0 and self.take(worth) and not self.effort.is_used(_DESCENTS)

    def released(self, free: Problem) -> RandomResponse:
        """The best mixture as a channel whose mean, as it is measured, is within the budget."""
        slack = 0.0
        while True:
            self.mix(self.budget.limit - slack)
            used = np.flatnonzero(self.weights > _POSITIVE * self.joint.p_x.min())
            columns, weights = sparse.csc_array(self.points[used].T), self.weights[used]
            response = Response(columns, weights, 0.0, self.least, len(self.points), self.status)
            made = free.measured([response], self.least)
            over = self.budget.excess(self.joint.push(made.channel)).max()
            if over <= 0:
                return made
            slack = 2 * max(slack, float(over))
