"""Random response within a budget on an average of the lifts of each released symbol: l1-, chi2- and alpha-lift."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Codes, Mask, Vector, positive
from sanitize._util.progress import progress
from sanitize.core.budgets import AlphaLiftBudget, budget_in_nats, limits_for, tightest_limit
from sanitize.core.joint import check_distribution
from sanitize.errors import InvalidBudget
from sanitize.mechanisms._effort import Status
from sanitize.mechanisms._merging.risks import merging_groups
from sanitize.mechanisms._merging.subset_merging import subset_merging
from sanitize.mechanisms._response_solver.columns import ColumnPool, Loss, Mixture, RoundingStops, entr
from sanitize.mechanisms._response_solver.faces import Simplices, lowest
from sanitize.mechanisms._response_solver.mixture import Problem, RandomResponse, Response, solve_within_blocks
from sanitize.mechanisms._response_solver.posterior_set import Cuts, PosteriorSet, reduce_axis
from sanitize.mechanisms._response_solver.repair import channel_posteriors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.core.budgets import AveragedBudget
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort

# Points that a search begins at, random ones for each letter, how far others are moved, and the share of the gap that a
# column must be worth.
_STARTS, _RANDOM, _OFF, _WORTH = 64, 4, 0.1, 0.1
# Gap in nats that is closed first; the part of it that is proved, the rest being rounding of the linear program.
_COARSE, _PROVED = 1e-3, 0.9
# Shares of a posterior that are none, how far inside the set one is sought, and what one search counts as effort.
_NOTHING, _INSIDE, _SEARCH = 1e-9, 1e-9, 50_000
# Of the effort: for columns, before their prices are proved, and beside it for what has lifts of 1 alone.
_COLUMNS, _PART = 0.3, 0.1
# Units of effort that the simplices of one entry of a face take, about. Letters, and columns in use, where a polytope
# around the set touches it at first; how often it is cut again, at which part of the effort, and what a cut in use is.
_FACE, _CUTS, _ROUNDS, _ROUND, _BINDING = 100, 20, 8, 0.25, 1e-7
# Shares that a slope of H is taken at, at least.
_FLOOR = 1e-12


def average_response(
    joint: JointDistribution, budget: AveragedBudget, gap: float, effort: Effort, target: ArrayLike | None
) -> RandomResponse:
    """Most of I(T;Y) where an average of the lifts of each released symbol is bounded, with a proven gap.

    A release mixes posteriors q = P(x|y) into P_X, and the best one has the least Σ P(y) H(T|q_y). Prices μ of a
    mixture bound that from below by μ·P_X + min {H(T|q) - μ·q} over the posteriors within the budget, whatever set
    these are: mixtures of them are no better. H is concave where the lifts are given, so the least price is at a
    posterior of at most |S| letters, on the border of the set or of one letter: `lowest` cuts the faces of that many
    letters into simplices, and bounds each by the chord of H and a tangent of the budget. A bound on the l1-lift alone
    is a polytope of posteriors, which `solve_within_blocks` knows. Proofs: docs/theory/mechanisms.md.
    """
    loss = Loss.for_target(target, len(check_distribution(joint).public))
    budget = limits_for(budget, joint.sensitive)
    limits = budget.limits or budget_in_nats(math.inf, math.inf)
    if min(tightest_limit(limits.lower), tightest_limit(limits.upper)) == 0:
        raise InvalidBudget("limits of 1 are not taken beside an average: give the LiftBudget alone")
    posteriors = PosteriorSet.from_budget(joint, budget)
    problem = Problem(joint, budget_in_nats(math.inf, math.inf), positive("gap", gap), loss)
    if not (budget.excess(joint) > 0).any():
        return solve_within_blocks(problem, None, effort)
    if isinstance(budget, AlphaLiftBudget) and math.isinf(budget.alpha):
        sides = (np.minimum(getattr(limits, name), getattr(budget, name)) for name in ("lower", "upper"))
        return solve_within_blocks(replace(problem, budget=budget_in_nats(*sides)), None, effort)
    sealed = solve_within_blocks(replace(problem, budget=budget_in_nats(0.0, 0.0)), None, effort.part(_PART))
    if min(budget.lower, budget.upper) == 0:
        return sealed
    groups = merging_groups(subset_merging(joint, budget))
    if posteriors.is_polytope:
        return solve_within_blocks(replace(problem, side=Cuts(posteriors.gain_cuts(), posteriors)), [groups], effort)
    search = _Search(posteriors, gap, loss, effort)
    search.add(np.array([np.bincount(group, joint.p_x[group], len(joint.p_x)) for group in groups]))
    search.add(channel_posteriors(joint.p_x, sealed.channel))
    return search.run(problem)


@dataclass(frozen=True, eq=False)
class BoundedPrice:
    """H(T|q) - μ·q of the posteriors q of a set: below 0, q is worth mixing in.

    Attributes
    ----------
    within : PosteriorSet
    loss : Loss
    mu : ndarray of shape (n,)
    """

    within: PosteriorSet
    loss: Loss
    mu: Vector

    @property
    def lifts(self) -> Vector:
        """Lifts of the letters, shape (n_s, n)."""
        return self.within.lifts

    def evaluate(self, q: Vector) -> Vector:
        """Prices of points q, shape (K, n)."""
        return self.loss.entropies(q) - q @ self.mu

    def concave(self, faces: Codes, shares: Vector, lifts: Vector) -> Vector:
        """The price of points on faces: all of it is concave."""
        spread = shares
        if self.loss.distribution is not None:
            spread = np.einsum("...k,t...k->...t", shares, self.loss.distribution[:, faces])
        return np.asarray(entr(spread).sum(axis=-1) - (shares * self.mu[faces]).sum(axis=-1))

    def convex_part(self, lifts: Vector) -> Vector:
        """0 of lifts (K, n_s) within the set, inf outside."""
        return np.where(self.within.contains(lifts), 0.0, math.inf)

    def stretch(self, turning: Vector) -> Vector:
        """Increase of the square of a length by lifts that turn by so much, (..., n_s): the sides turn with them."""
        return np.asarray(turning**2 @ self.within.joint.p_s)

    def may_hold(self, simplices: Simplices, target: float) -> Mask:
        """Which simplices may hold the least price of all, below the target.

        A concave function on a face is least at a letter or where the set ends: not in a simplex that lies within.
        Elsewhere the price is at least its chord over what a tangent leaves of the simplex.
        """
        bound = reduce_axis(np.minimum, simplices.prices)
        open_ = bound < target
        open_[open_] = ~self.within.surely_holds(simplices.lifts[open_])
        simplices, bound = simplices.take(open_), bound[open_]
        ends = reduce_axis(np.minimum, simplices.lifts), reduce_axis(np.maximum, simplices.lifts)
        for slope, most in self.within.tangents(
            reduce_axis(np.add, simplices.lifts) / simplices.prices.shape[1], *ends
        ):
            over = (simplices.lifts @ slope[:, :, None])[:, :, 0] - most[:, None]
            np.maximum(bound, least_mixture(simplices.prices, over), out=bound)
        open_[open_] = bound < target
        return open_

    def descend(self, q: Vector) -> Vector:
        """A posterior of the set among the letters of q, shape (n,), about which the price does not fall."""
        from scipy.optimize import minimize

        letters, inner = np.flatnonzero(q > _NOTHING), self.within.shrunk(_INSIDE)
        lifts, loss, mu = self.lifts[:, letters], self.loss.restricted_to(letters), self.mu[letters]

        def sides(v: Vector) -> list[tuple[Vector, Vector]]:
            at = lifts @ v
            return inner.tangents(at, at, at)

        solution = minimize(
            lambda v: float(loss.entropies(v[None])[0] - mu @ v),
            q[letters] / q[letters].sum(),
            jac=lambda v: loss.slope(v[None], _FLOOR)[0] - 1 - mu,
            bounds=[(0, 1)] * len(letters),
            constraints=[
                {"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like},
                {
                    "type": "ineq",
                    "fun": lambda v: np.array([most - slope @ (lifts @ v) for slope, most in sides(v)]),
                    "jac": lambda v: np.array([-slope @ lifts for slope, _ in sides(v)]),
                },
            ],
            method="SLSQP",
            options={"maxiter": 60, "ftol": 1e-12},
        ).x
        posterior = np.zeros(len(q))
        posterior[letters] = np.where(solution > _NOTHING, solution, 0.0)
        return posterior


def least_mixture(prices: Vector, over: Vector) -> Vector:
    """The least of Σ θ rest with Σ θ over <= 0, θ a mixture of corners, shape (K, k): at a corner or on an edge."""
    inside = over <= 0
    least = reduce_axis(np.minimum, np.where(inside, prices, math.inf))
    i, j = np.nonzero(~np.eye(prices.shape[1], dtype=bool))
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (prices[:, i] * over[:, j] - prices[:, j] * over[:, i]) / (over[:, j] - over[:, i])
    return np.minimum(least, reduce_axis(np.minimum, np.where(inside[:, i] & ~inside[:, j], crossing, math.inf)))


class _Search:
    """Posteriors of the set found so far, their best mixture with its prices, and the least that any release loses."""

    def __init__(self, within: PosteriorSet, gap: float, loss: Loss, effort: Effort) -> None:
        self.within, self.gap, self.effort, self.rng = within, gap, effort, np.random.default_rng(0)
        self.p_x, self.pool, self.least = within.joint.p_x, ColumnPool(within.joint.p_x, loss), 0.0
        self.add(np.concatenate([self.p_x[None], np.eye(len(self.p_x))]))
        # P_X alone, which is a release where no program can be solved.
        self.mixture = Mixture(loss.entropy(self.p_x), np.zeros(len(self.p_x)), np.zeros(1, np.intp), np.ones(1))

    @property
    def price(self) -> BoundedPrice:
        """The price by the best mixture."""
        return BoundedPrice(self.within, self.pool.loss, self.mixture.mu)

    def add(self, q: Vector) -> int:
        """Take in the posteriors q, shape (K, n), that are of the set; how many were new."""
        q = q / q.sum(axis=1, keepdims=True)
        return sum(self.pool.add(posterior) for posterior in q[self.within.contains(q @ self.within.lifts.T)])

    def run(self, problem: Problem) -> RandomResponse:
        """Find columns and prove that none is left, for a coarse gap first; the release is measured."""
        status = Status.STALLED
        try:
            with progress("optimal random response") as show, contextlib.suppress(RoundingStops):
                self.mixture = self.pool.mix()
                while self._improve(self._start_points()) and not self.effort.is_used(_COLUMNS):
                    show(f"{len(self.pool)} columns")
                coarse = max(self.gap, _COARSE)
                for gap in dict.fromkeys([coarse, self.gap]) if self._has_few_faces else ():
                    self._prove(gap)
                if self.mixture.value - self.least > coarse:
                    self._raise_bound(replace(problem, gap=coarse))
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if self.effort.is_used():
            status = self.effort.status
        problem = replace(problem, side=Cuts(np.zeros((0, len(self.p_x))), self.within))
        chosen, weights = self.mixture.chosen, self.mixture.weights
        columns = self.pool.matrix(chosen)
        response = Response(columns, weights, self.mixture.value, self.least, len(self.pool), status)
        return problem.measure([response], self.least)

    def _improve(self, q: Vector) -> bool:
        """Take in what is found from points q where it is worth it; whether some was."""
        price = self.price
        self.effort.spend(len(q) * _SEARCH)
        early = takewhile(lambda _: not self.effort.is_late(), q)
        points = np.concatenate([q, *(price.descend(point)[None] for point in early)])
        is_new = self.add(points[price.evaluate(points) < -_WORTH * self.gap]) > 0
        self.mixture = self.pool.mix()
        return is_new

    def _start_points(self) -> Vector:
        """Posteriors in use, a little off, and random ones of few letters."""
        rng, (n_s, n), used = self.rng, self.within.lifts.shape, self.pool.matrix(self.mixture.chosen).toarray().T
        support = np.argsort(rng.random((_RANDOM * n, n)), axis=1) < n_s
        random = support * rng.dirichlet(np.ones(n), len(support))
        off = (used + _OFF * np.eye(n)[rng.integers(n, size=len(used))]) / (1 + _OFF)
        return np.concatenate([off, random / random.sum(axis=1, keepdims=True)])

    def _prove(self, gap: float) -> None:
        """Prove that the mixture is so near to the best, with what the search for a bound finds taken in."""
        while not self.effort.is_used():
            price = self.price
            least, below = lowest(price, -_PROVED * gap, self.effort)
            self.least = max(self.least, float(self.mixture.mu @ self.p_x) + least)
            below = below[np.argsort(price.evaluate(below))[:_STARTS]]
            if not (len(below) and self._improve(below)):
                return

    @property
    def _has_few_faces(self) -> bool:
        n, rank = len(self.p_x), int(np.linalg.matrix_rank(self.within.lifts))
        return _FACE * n * sum(k * math.comb(n, k) for k in range(2, rank + 1)) < self.effort.left

    def _raise_bound(self, free: Problem) -> None:
        """Bound the loss over polytopes around the set, cut anew where their best mixtures leave it."""
        likely, used = np.argsort(-self.p_x), self.mixture.chosen[np.argsort(-self.mixture.weights)]
        points = np.concatenate([np.eye(len(self.p_x))[likely[:_CUTS]], self.pool.matrix(used[:_CUTS]).toarray().T])
        rows = np.zeros((0, len(self.p_x)))
        for _ in range(_ROUNDS):
            if self.effort.is_late():
                break
            rows = np.concatenate([rows, self.within.tangent_cuts(self.within.border(points))])
            around = solve_within_blocks(replace(free, side=Cuts(rows)), None, self.effort.part(_ROUND))
            least, points = (
                self.pool.loss.entropy(self.p_x) - around.bound,
                channel_posteriors(self.p_x, around.released()),
            )
            self._improve(points)
            if least <= self.least or self.mixture.value - least <= free.gap:
                self.least = max(self.least, least)
                break
            self.least, rows = least, rows[(points @ rows.T).min(axis=0) < _BINDING]
            points = points[~self.within.contains(points @ self.within.lifts.T)]
