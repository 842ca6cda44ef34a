"""Privacy funnel, the random response with the largest I(X;Y) within a budget on a mean over released symbols."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.arithmetic import entr, product
from sanitize._util.checks import Vector
from sanitize._util.tolerances import BUDGET, TIGHT
from sanitize.core.budgets import MutualInformationBudget, TotalVariationBudget, budget_in_nats
from sanitize.core.lifts import lift
from sanitize.mechanisms._effort import Status
from sanitize.mechanisms._response_solver.cells import PricedCells
from sanitize.mechanisms._response_solver.certificate import certify
from sanitize.mechanisms._response_solver.columns import RoundingStops
from sanitize.mechanisms._response_solver.faces import Price, lowest, start_points
from sanitize.mechanisms._response_solver.mixture import Problem, RandomResponse, Response, solve_within_blocks
from sanitize.mechanisms._response_solver.repair import channel_posteriors
from sanitize.mechanisms._response_solver.vertices import list_vertices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize.core.budgets import MeanBudget
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort

# Smaller limits are replaced by this one when a bound is proved: the linear program divides by the limit, and the bound
# of a larger limit stays valid.
_LEAST_LIMIT = 1e-9
# Ten secrets have 1,024 cells, one for each choice of signs, and 50,000 vertices make a linear program of some seconds.
# Points that agree to nine digits are one point up to rounding, and so are weights below 1e-10 of P(x) and 0.
_MOST_SECRETS, _MOST_VERTICES, _DIGITS, _POSITIVE = 10, 50_000, 9, 1e-10
# A wide gap is closed first, and looser limits before the limit itself, because their columns help. The limits are
# shares of the mean without noise, such as I(S;X), each a fifth of the one before.
_COARSE, _LOOSER = 1e-3, 0.5 * 0.2 ** np.arange(12)
# Random starts, and points below the target, which bound the work of a round. A point that closes less than a tenth of
# the gap is not worth a mixing program. A tenth of the effort goes to the response with all lifts equal to 1, a floor,
# and at most half to descents; an entry of a mixing program takes about 3 units.
_STARTS, _WORTH, _PART, _DESCENTS, _MIXED = 64, 0.1, 0.1, 0.5, 3


def funnel_response(joint: JointDistribution, budget: MeanBudget, gap: float, effort: Effort) -> RandomResponse:
    """Find a response of large I(X;Y) with Σ_y P(y) g(l_y) <= b, where g is the leakage at lifts l_y [MSFM14].

    A release mixes posteriors r = P(x|y) into P_X. The remaining entropy H(X|Y) = Σ_y P(y) H(r_y) and the mean of g are
    linear in the weights P(y), so linear programming duality has no gap: for all μ and λ >= 0, H(X|Y) is at least μ·P_X
    - λ b + min_r {H(r) + λ g(r) - μ·r}, and the prices of the best mixture attain this if no posterior is missing. For
    total variation and maximal leakage the best posteriors are vertices of cells in which g is linear, and one program
    over all vertices is exact; if there are too many to list, `PricedCells` finds some of them and bounds the others.
    For mutual information `Price.descend` finds columns, and `lowest` proves how far the mixture may be from the best.
    See proofs 7 and 12 in docs/theory/proofs.md.
    """
    free = Problem.from_request(joint, budget_in_nats(math.inf, math.inf), gap)
    if budget.excess(joint).max() <= 0:
        return solve_within_blocks(free, None, effort)
    # A response with all lifts equal to 1 is within every budget.
    sealed = solve_within_blocks(replace(free, budget=budget_in_nats(0.0, 0.0)), None, effort.part(_PART))
    if budget.upper == 0:
        return sealed
    funnel = Funnel(joint, budget, gap, effort)
    best = replace(sealed, status=Status.STALLED)
    with contextlib.suppress(RoundingStops):
        sealed_points = channel_posteriors(joint.p_x, sealed.channel)
        funnel.take(np.concatenate([np.eye(len(joint.p_x)), joint.p_x[None], sealed_points]))
        try:
            if isinstance(budget, MutualInformationBudget):
                funnel.generate()
            elif not funnel.list_all():
                funnel.generate_vertices()
        except KeyboardInterrupt:
            funnel.status = Status.INTERRUPTED
        best = max(best, funnel.make_response(free), key=lambda candidate: candidate.utility)
    return free.with_bound(best, funnel.least)


def least_open(joint: JointDistribution, budget: MeanBudget) -> float:
    """Lower bound on H(X|Y) from pairs of letters, in nats, which needs no search.

    H(r) is at least (Σ_x r(x) g(l_x) - g(Σ_x r(x) l_x)) / c, with c from the two letters that are furthest apart: proof
    12 in docs/theory/proofs.md.
    """
    lifts, p_s = lift(joint), joint.p_s
    largest_gap = max(_letter_gap(budget, lifts, row, p_s) for row in lifts.T)
    # Subtract possible rounding errors, because for similar letters they are divided by nearly 0.
    over = product(budget.lift_risk(lifts, p_s), joint.p_x) - budget.limit - BUDGET
    return 0.0 if over <= 0 else float(over / largest_gap) * (1 - BUDGET)


def _letter_gap(budget: MeanBudget, lifts: Vector, row: Vector, p_s: Vector) -> float:
    """Factor c of the bound in `least_open` for the letter with lifts ``row``, (n_s,), and the letter furthest away."""
    if isinstance(budget, MutualInformationBudget):
        # The proof bounds information by the squared Hellinger distance, of which this sum is twice.
        square = float(product(p_s, (np.sqrt(lifts) - np.sqrt(row)[:, None]) ** 2).max())
        return square * (1 - square / 4)
    differences = lifts - row[:, None]
    is_mean = isinstance(budget, TotalVariationBudget)
    distances = product(p_s, np.abs(differences)) if is_mean else np.ptp(differences, axis=0)
    return float(distances.max()) / (4 * math.log(2))


class Funnel:
    """Search for the funnel: the posteriors so far, their best mixture with its prices, and a bound on H(X|Y)."""

    def __init__(self, joint: JointDistribution, budget: MeanBudget, gap: float, effort: Effort) -> None:
        self.joint, self.budget, self.gap, self.effort = joint, budget, gap, effort
        self.lifts, self.rng = lift(joint), np.random.default_rng(0)
        self.least = least_open(joint, budget)
        self.at = self.limit = max(budget.limit, _LEAST_LIMIT)
        self.points, self.status = np.empty((0, len(joint.p_x))), Status.STALLED

    def take(self, points: Vector) -> bool:
        """Add new points and find the best mixture and its prices; return whether any point was new."""
        every = np.concatenate([self.points, points])
        first = np.unique(every.round(_DIGITS), axis=0, return_index=True)[1]
        is_new = len(first) > len(self.points)
        self.points = every[np.sort(first)]
        self.mix(self.at)
        return is_new

    def mix(self, limit: float) -> None:
        """Find the best mixture whose mean is within a limit, and its prices."""
        from scipy.optimize import linprog

        p_x, p_s = self.joint.p_x, self.joint.p_s
        # HiGHS has absolute tolerances, so the largest entry of each column, and the limit, are scaled to 1.
        columns = self.points / p_x
        scale = columns.max(axis=1)
        program = linprog(
            entr(self.points).sum(axis=1) / scale,
            A_ub=(self.budget.lift_risk(product(self.lifts, self.points.T), p_s) / scale / self.limit)[None],
            b_ub=[limit / self.limit],
            A_eq=(columns / scale[:, None]).T,
            b_eq=np.ones(len(p_x)),
            method="highs-ds",
            options=TIGHT,
        )
        self.effort.spend(_MIXED * self.points.size)
        if program.status:
            raise RoundingStops(f"the linear program of the funnel failed: {program.message}")
        rate = max(-float(program.ineqlin.marginals[0]) / self.limit, 0.0)
        self.price = Price(self.budget, self.lifts, p_s, program.eqlin.marginals / p_x, rate)
        self.weights = program.x / scale

    def prove(self, lowest: float) -> None:
        """Raise the lower bound, given that no posterior has a price below ``lowest``."""
        worth = float(product(self.price.mu, self.joint.p_x)) - self.price.rate * self.limit
        self.least = max(self.least, worth + lowest)

    def list_all(self) -> bool:
        """Add all vertices of the cells in which the leakage is linear; False if there are too many."""
        vertices: list[Vector] = []
        for cell in self._cells() if len(self.joint.p_s) <= _MOST_SECRETS else []:
            cell_vertices = None if self.effort.is_late() else list_vertices(cell)
            if cell_vertices is None or sum(len(part) for part in vertices) + len(cell_vertices) > _MOST_VERTICES:
                return False
            vertices.append(cell_vertices)
        if vertices:
            self.take(np.concatenate(vertices))
            self.prove(min(float(self.price.evaluate(np.concatenate(vertices))[0].min()), 0.0))
        return bool(vertices)

    def _cells(self) -> Iterator[Vector]:
        """Yield, for each cell of posteriors v, the rows a with a·v >= 0."""
        if not isinstance(self.budget, TotalVariationBudget):
            yield from (row - np.delete(self.lifts, s, axis=0) for s, row in enumerate(self.lifts))
            return
        sides, p_s, most = self.lifts - 1, self.joint.p_s, self.joint.p_s.argmax()
        # The row of the most frequent secret follows from the others, so that its values near 0 are not rounding
        # errors.
        sides[most] = -product(np.delete(p_s, most), np.delete(sides, most, axis=0)) / p_s[most]
        yield from (np.array(signs)[:, None] * sides for signs in itertools.product((-1, 1), repeat=len(p_s)))

    def generate_vertices(self) -> None:
        """Find vertices of cells and prove that none is missing, by branch and bound on boxes of posteriors."""
        bounded = False
        while not (bounded or self.effort.is_used(_DESCENTS)):
            cells = PricedCells.from_price(self.price)
            if self._take_worth(cells.descend(self._starts(), self.effort)):
                continue
            proof = certify(cells, self.price.mu, self.joint.p_x, -0.9 * self.gap, self.effort)
            self.prove(proof.bound)
            bounded = not len(proof.points) or not self.take(
                np.concatenate([cells.descend(proof.points, self.effort), proof.points])
            )
        if not bounded:
            cells = PricedCells.from_price(self.price)
            proof = certify(cells, self.price.mu, self.joint.p_x, 0.0, self.effort, stop_at_points=False)
            self.prove(proof.bound)
        if self.effort.is_used() or not bounded:
            self.status = self.effort.status

    def generate(self) -> None:
        """Find posteriors to mix and prove that none is missing, first for looser limits, which give bounds, too.

        Looser limits are proved faster, so there is a bound even if the effort ends before this limit's prices are
        proved.
        """
        while self._improve(self.gap):
            pass  # columns for this limit come first, even if their prices are never proved
        coarse = max(self.gap, _COARSE)
        whole = product(self.budget.lift_risk(self.lifts, self.joint.p_s), self.joint.p_x)
        looser = [(limit, coarse) for limit in whole * _LOOSER if limit > self.limit]
        for limit, gap in dict.fromkeys([*looser, (self.limit, coarse), (self.limit, self.gap)]):
            if self.effort.is_used():
                break
            self.at = limit
            self.mix(limit)
            while not self.effort.is_used():
                while self._improve(gap):
                    pass
                least, below = lowest(self.price, -0.9 * gap, self.effort)
                self.prove(least)
                below = below[np.argsort(self.price.evaluate(below)[0], kind="stable")[:_STARTS]]
                if not (len(below) and self.take(self.price.descend(below))):
                    break
        if self.effort.is_used():
            self.status = self.effort.status

    def _improve(self, gap: float) -> bool:
        """Add posteriors from descents, if they help; return whether the search should continue."""
        points = self.price.descend(self._starts())
        self.effort.spend(points.size * _STARTS)
        return self._take_worth(points, gap) and not self.effort.is_used(_DESCENTS)

    def _starts(self) -> Vector:
        """Return starting points: used posteriors, slight perturbations, and random posteriors on few letters."""
        return start_points(self.points[self.weights > 0], _STARTS, len(self.lifts), _WORTH, self.rng)

    def _take_worth(self, points: Vector, gap: float | None = None) -> bool:
        """Add the points that close part of the gap; return whether any point was new."""
        worth = points[self.price.evaluate(points)[0] < -_WORTH * (self.gap if gap is None else gap)]
        return len(worth) > 0 and self.take(worth)

    def make_response(self, free: Problem) -> RandomResponse:
        """Return the best mixture as a channel whose measured mean is within the budget."""
        slack = 0.0
        while True:
            self.mix(self.budget.limit - slack)
            used = np.flatnonzero(self.weights > _POSITIVE * self.joint.p_x.min())
            settings = 0.0, self.least, len(self.points), self.status
            response = Response(sparse.csc_array(self.points[used].T), self.weights[used], *settings)
            result = free.measure([response], self.least)
            over = self.budget.excess(self.joint.push(result.channel)).max()
            if over <= 0:
                return result
            slack = 2 * max(slack, float(over))
