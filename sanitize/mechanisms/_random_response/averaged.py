"""Random response within a budget on the l1-, chi2- or alpha-lift, averages of each released symbol's lifts."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import LN_10, entr, product, reduce_axis
from sanitize._util.checks import Codes, Mask, Vector, positive
from sanitize._util.progress import progress
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.budgets import AlphaLiftBudget, budget_in_nats, limits_for, tightest_limit
from sanitize.core.joint import check_distribution
from sanitize.errors import InvalidBudget
from sanitize.mechanisms._effort import Status
from sanitize.mechanisms._merging.risks import merging_groups
from sanitize.mechanisms._merging.subset_merging import subset_merging
from sanitize.mechanisms._response_solver.columns import ColumnPool, Loss, Mixture, RoundingStops
from sanitize.mechanisms._response_solver.faces import Simplices, lowest, start_points, stretch
from sanitize.mechanisms._response_solver.mixture import Problem, RandomResponse, Response, solve_within_blocks
from sanitize.mechanisms._response_solver.posterior_set import Cuts, PosteriorSet
from sanitize.mechanisms._response_solver.repair import channel_posteriors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.core.budgets import AveragedBudget
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort

# Starting points from a proof, and random ones per letter, which bound the work of a round. Perturbations of a tenth
# lead a used posterior elsewhere. A column that closes less than a tenth of the gap is not worth a mixing program.
_STARTS, _RANDOM, _OFF, _WORTH = 64, 16, 0.1, 0.1
# A wide gap is closed first, because its proof supplies columns. A tenth of each gap is left to rounding of the linear
# program.
_COARSE, _PROVED = 1e-3, 0.9
# Shares that count as 0, and a margin inside the set, both above rounding and too small to matter. Effort is counted in
# entries of programs, and a descent counts as 20,000 of them.
_NOTHING, _INSIDE, _SEARCH = 1e-9, 1e-9, 20_000
# Shares of the effort. Columns come first, or prices would be proved that the next column changes; the response with
# all lifts equal to 1 is only a floor.
_COLUMNS, _PART = 0.3, 0.1
# An entry of a face takes about 100 entries of a program, because its simplices are cut again and again. For bounds by
# polytopes around the set: the first touches it at the 20 likeliest letters and most used columns; eight rounds of
# cuts, each with a quarter of the effort left, tighten it; cuts with less slack than 1e-7 are in use and stay.
_FACE, _CUTS, _ROUNDS, _ROUND, _BINDING = 100, 20, 8, 0.25, 1e-7
# The slope of H is infinite at 0, so it is evaluated at this share at least.
_FLOOR = 1e-12
# Steps of a descent, which grow and shrink with their success, and the first in powers of ten of a share. A start may
# be far outside the set and is pulled back up to 20 times; after a step, 4 times are enough.
_STEPS, _FIRST, _RESTORED, _AGAIN = 60, 0.13, 20, 4


def average_response(
    joint: JointDistribution, budget: AveragedBudget, gap: float, effort: Effort, target: ArrayLike | None
) -> RandomResponse:
    """Find a response of large I(T;Y), with a proved gap, within a budget on an average of each symbol's lifts.

    A release mixes posteriors q = P(x|y) into P_X, and the best one has the least Σ P(y) H(T|q_y). For any prices μ,
    this is at least μ·P_X + min {H(T|q) - μ·q} over the posteriors within the budget. H is concave where the lifts are
    fixed, so the least price is attained at a posterior of at most |S| letters that lies on the border of the set or is
    a single letter. `lowest` cuts the faces of that many letters into simplices, and bounds the price on each by the
    chord of H and a tangent of the budget. The posteriors within a bound on the l1-lift alone form a polytope, for
    which `solve_within_blocks` is used. Proofs: docs/theory/mechanisms.md.
    """
    loss = Loss.for_target(target, len(check_distribution(joint).public))
    budget = limits_for(budget, joint.sensitive)
    limits = budget.limits or budget_in_nats(math.inf, math.inf)
    if min(tightest_limit(limits.lower), tightest_limit(limits.upper)) == 0:
        raise InvalidBudget(
            "at_most=1 or at_least=1 in limits= cannot be combined with a budget on an average; give the LiftBudget of "
            "limits= as the budget"
        )
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
    """Reduced cost (price) H(T|q) - μ·q of the posteriors q of a set; mixing in q helps if its price is below 0.

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
        return self.loss.entropies(q) - product(q, self.mu)

    def concave(self, faces: Codes, shares: Vector, lifts: Vector) -> Vector:
        """Concave part of the price of points on faces, which is the whole price within the set."""
        target = self.loss.distribution
        spread = shares if target is None else np.einsum("...k,t...k->...t", shares, target[:, faces])
        return np.asarray(entr(spread).sum(axis=-1) - (shares * self.mu[faces]).sum(axis=-1))

    def convex_part(self, lifts: Vector) -> Vector:
        """Convex part of the price: 0 for lifts (K, n_s) within the set, inf outside."""
        return np.where(self.within.contains(lifts), 0.0, math.inf)

    def stretch(self, turning: Vector) -> Vector:
        """Amount that a change of lifts, (..., n_s), adds to an edge's squared length: its mean square under P(s)."""
        return np.asarray(product(turning**2, self.within.joint.p_s))

    def may_hold(self, simplices: Simplices, target: float) -> Mask:
        """Mask of simplices that may contain the overall lowest price, below the target.

        A concave function on a face is least at a letter or on the border of the set, so a simplex inside the set
        cannot hold the minimum. In other simplices the price is at least its chord on the part that a tangent of the
        set leaves.
        """
        bound = reduce_axis(np.minimum, simplices.prices)
        open_ = bound < target
        open_[open_] = ~self.within.surely_holds(simplices.lifts[open_])
        simplices, bound = simplices.take(open_), bound[open_]
        ends = reduce_axis(np.minimum, simplices.lifts), reduce_axis(np.maximum, simplices.lifts)
        center = reduce_axis(np.add, simplices.lifts) / simplices.prices.shape[1]
        for slope, most in self.within.tangents(center, *ends):
            over = (simplices.lifts * slope[:, None, :]).sum(axis=2) - most[:, None]
            np.maximum(bound, least_mixture(simplices.prices, over), out=bound)
        open_[open_] = bound < target
        return open_

    def descend(self, q: Vector) -> Vector:
        """Descend from points q, shape (K, n), to posteriors of the set with a locally least price.

        Each step is multiplicative down the slope, and then back to the set, first to the set's tangents at the point
        itself. So a point does not move if the slope has no component along these tangents.
        """
        inner, step = self.within.shrunk(_INSIDE), np.full((len(q), 1), _FIRST)
        q, price = self._restored(q, inner, _RESTORED)
        for _ in range(_STEPS):
            slope = self.loss.slope(q, _FLOOR) - self.mu
            ahead = stretch(q, step * ((slope * q).sum(axis=1, keepdims=True) - slope))
            ahead, new_price = self._restored(self._pull(ahead, q, inner), inner, _AGAIN)
            better = (new_price <= price)[:, None]
            q, price = np.where(better, ahead, q), np.minimum(new_price, price)
            step = np.where(better, 1.5 * step, 0.4 * step)
        return self._restored(np.where(q > _NOTHING, q, 0.0), inner, _AGAIN)[0]

    def _restored(self, q: Vector, inner: PosteriorSet, times: int) -> tuple[Vector, Vector]:
        """Pull points repeatedly to the set's tangents near them; return them with prices, inf for points outside."""
        for _ in range(times):
            pulled = self._pull(q, q, inner)
            if np.array_equal(pulled, q):
                break
            q = pulled
        q = q / q.sum(axis=1, keepdims=True)
        return q, self.evaluate(q) + self.convex_part(product(q, self.lifts.T))

    def _pull(self, q: Vector, touching: Vector, inner: PosteriorSet) -> Vector:
        """Move points beyond the tangents of the set at ``touching`` towards these tangents, by a Newton step each."""
        at = product(touching, self.lifts.T)
        for slope, most in inner.tangents(at, at, at):
            over = product(slope, self.lifts) - most[:, None]
            beyond, spread = (q * over).sum(axis=1), (q * over**2).sum(axis=1)
            rate = np.maximum(beyond, 0.0) / np.maximum(spread, SMALLEST_POSITIVE)
            q = stretch(q, -rate[:, None] * over / LN_10)
        return q


def least_mixture(prices: Vector, over: Vector) -> Vector:
    """Least Σ θ prices over mixtures θ of corners, shape (K, k), with Σ θ over <= 0; it is on a corner or an edge."""
    inside = over <= 0
    least = reduce_axis(np.minimum, np.where(inside, prices, math.inf))
    i, j = np.nonzero(~np.eye(prices.shape[1], dtype=bool))
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (prices[:, i] * over[:, j] - prices[:, j] * over[:, i]) / (over[:, j] - over[:, i])
    return np.minimum(least, reduce_axis(np.minimum, np.where(inside[:, i] & ~inside[:, j], crossing, math.inf)))


class _Search:
    """Search for a response: the posteriors so far, their best mixture with its prices, and a bound on the loss."""

    def __init__(self, within: PosteriorSet, gap: float, loss: Loss, effort: Effort) -> None:
        self.within, self.gap, self.effort, self.rng = within, gap, effort, np.random.default_rng(0)
        self.p_x, self.pool, self.least = within.joint.p_x, ColumnPool(within.joint.p_x, loss), 0.0
        self.add(np.concatenate([self.p_x[None], np.eye(len(self.p_x))]))
        # P_X alone is a valid release if no program can be solved.
        self.mixture = Mixture(loss.entropy(self.p_x), np.zeros(len(self.p_x)), np.zeros(1, np.intp), np.ones(1))

    @property
    def price(self) -> BoundedPrice:
        """Price of posteriors, from the prices of the letters in the best mixture."""
        return BoundedPrice(self.within, self.pool.loss, self.mixture.mu)

    def add(self, q: Vector) -> int:
        """Add the posteriors q, shape (K, n), that are in the set; return the number of new posteriors."""
        q = q / q.sum(axis=1, keepdims=True)
        return sum(self.pool.add(posterior) for posterior in q[self.within.contains(product(q, self.within.lifts.T))])

    def run(self, problem: Problem) -> RandomResponse:
        """Find posteriors to mix and prove that none is missing, for a coarse gap first; then measure the release."""
        status = Status.STALLED
        try:
            with progress("optimal random response") as show, contextlib.suppress(RoundingStops):
                self.mixture = self.pool.mix()
                while self._improve(self._start_points()) and not self.effort.is_used(_COLUMNS):
                    show(f"{len(self.pool)} columns")
                coarse, n = max(self.gap, _COARSE), len(self.p_x)
                n_shares = sum(k * math.comb(n, k) for k in range(2, np.linalg.matrix_rank(self.within.lifts) + 1))
                for gap in dict.fromkeys([coarse, self.gap]) if _FACE * n * n_shares < self.effort.left else ():
                    self._prove(gap)
                if self.mixture.value - self.least > coarse:
                    self._raise_bound(replace(problem, gap=coarse))
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if self.effort.is_used():
            status = self.effort.status
        problem, mixture = replace(problem, side=Cuts(np.zeros((0, len(self.p_x))), self.within)), self.mixture
        columns = self.pool.matrix(mixture.chosen)
        response = Response(columns, mixture.weights, mixture.value, self.least, len(self.pool), status)
        return problem.measure([response], self.least)

    def _improve(self, q: Vector) -> bool:
        """Add points q and ends of descents from q that close part of the gap; return whether any point was new."""
        price = self.price
        self.effort.spend(len(q) * _SEARCH)
        points = q if self.effort.is_late() else np.concatenate([q, price.descend(q)])
        is_new = self.add(points[price.evaluate(points) < -_WORTH * self.gap]) > 0
        self.mixture = self.pool.mix()
        return is_new

    def _start_points(self) -> Vector:
        """Return starting points: used posteriors, slight perturbations, and random posteriors on few letters."""
        (n_s, n), used = self.within.lifts.shape, self.pool.matrix(self.mixture.chosen).toarray().T
        return start_points(used, _RANDOM * n, n_s, _OFF, self.rng)

    def _prove(self, gap: float) -> None:
        """Prove the gap of the mixture, adding posteriors that the search for a bound finds."""
        while not self.effort.is_used():
            price = self.price
            least, below = lowest(price, -_PROVED * gap, self.effort)
            self.least = max(self.least, float(product(self.mixture.mu, self.p_x)) + least)
            below = below[np.argsort(price.evaluate(below), kind="stable")[:_STARTS]]
            if not (len(below) and self._improve(below)):
                return

    def _raise_bound(self, free: Problem) -> None:
        """Bound the loss over polytopes around the set, which are cut again where their best mixtures leave the set."""
        likely = np.argsort(-self.p_x, kind="stable")
        used = self.mixture.chosen[np.argsort(-self.mixture.weights, kind="stable")]
        points = np.concatenate([np.eye(len(self.p_x))[likely[:_CUTS]], self.pool.matrix(used[:_CUTS]).toarray().T])
        rows = np.zeros((0, len(self.p_x)))
        for _ in range(_ROUNDS):
            if self.effort.is_late():
                break
            rows = np.concatenate([rows, self.within.tangent_cuts(self.within.border(points))])
            around = solve_within_blocks(replace(free, side=Cuts(rows)), None, self.effort.part(_ROUND))
            least = self.pool.loss.entropy(self.p_x) - around.bound
            points = channel_posteriors(self.p_x, around.released())
            self._improve(points)
            if least <= self.least or self.mixture.value - least <= free.gap:
                self.least = max(self.least, least)
                break
            self.least, rows = least, rows[(product(points, rows.T)).min(axis=0) < _BINDING]
            points = points[~self.within.contains(product(points, self.within.lifts.T))]
