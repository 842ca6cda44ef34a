"""Random response under a budget on the mean lift over the worst part of a release."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import entr

from sanitize._util.checks import Vector
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize._util.tolerances import TIGHT
from sanitize.core.budgets import CVaRLiftBudget, LiftBudget
from sanitize.core.channel import HEURISTIC, Channel
from sanitize.core.joint import JointDistribution, check_distribution
from sanitize.core.lifts import lift
from sanitize.core.measures import utility
from sanitize.errors import InvalidBudget
from sanitize.mechanisms._effort import effort_account
from sanitize.mechanisms._merging.tail_merging import tail_merging
from sanitize.mechanisms._response_solver.columns import Loss
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, Problem, solve_within_blocks
from sanitize.mechanisms._response_solver.vertices import list_vertices

# Steps of single thresholds, in parts of the way from the lowest to e**upper, and the least gain that counts.
_FIRST_STEP, _LAST_STEP, _LEAST_GAIN, _LOWEST = 0.2, 0.02, 1e-7, 0.7
# Distributions small enough to list every vertex of the arrangement of {l_s = t_s}.
_FEW_LETTERS, _FEW_SECRETS = 20, 5
_INSIDE, _POSITIVE = 1e-9, 1e-12
# Nats above the budget, whose optimal responses are pooled.
_LOOSER = 0.15, 0.35, 0.7, 1.2, 2.0
# A posterior further beyond its thresholds has no weight in a linear program of doubles.
_STEEPEST = 1e6


def tail_random_response(joint: JointDistribution, budget: CVaRLiftBudget, *, effort: float | None = None) -> Channel:
    """Random response of large I(X;Y) within a budget on the mean lift over the worst mass δ.

    The mean is min over t of t + Σ_y P(y) max(l(s,y) - t, 0) / δ, so it couples all released symbols: no polytope of
    single posteriors describes it. For given thresholds t_s it is linear in the masses of posteriors, with one row
    for each s beside those of P_X; H is concave and the parts above a threshold are linear on every cell that the
    planes l_s = t_s cut out, so the best posteriors are vertices of these cells. The best mixture for given thresholds
    is one linear program: over all of them for up to 20 symbols and 5 sensitive ones, else over those of optimal
    responses to looser bounds on every lift, groups of `tail_merging`, and single symbols. Thresholds are searched:
    common ones, those at which the release's own means are attained, and one after the other in smaller steps.

    Guarantee
    ---------
    The release meets the budget under the distribution given, as it is measured; it keeps at least what `tail_merging`
    keeps, and at least what the optimal response of the same effort with every lift within the bound keeps. Optimal
    for its thresholds where all vertices were listed; over thresholds it is a search, so no gap is claimed.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : CVaRLiftBudget
    effort : float, optional
        Entries of linear programs to solve for the response with every lift within the bound, >= 1; each response to
        a looser bound takes a tenth.

    Returns
    -------
    Channel

    Raises
    ------
    InvalidBudget
        If the budget is of another kind.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.core.budgets import CVaRLiftBudget
    >>> joint, budget = sz.datasets.make_joint(9, 3, random_state=0), CVaRLiftBudget(0.4, delta=0.2)
    >>> for design in (tail_merging, tail_random_response):
    ...     print(round(sz.normalized_utility(joint, design(joint, budget)), 3))
    0.932
    0.955
    """
    if not isinstance(budget, CVaRLiftBudget):
        raise InvalidBudget(f"tail_random_response takes a CVaRLiftBudget(upper, delta), got {type(budget).__name__}")
    if budget.excess(check_distribution(joint)).max() <= 0:
        return Channel.identity(len(joint.public), joint.public)
    merged, bounded = tail_merging(joint, budget), _response(joint, budget.upper, 1e-7, effort)
    search = _Search(joint, budget, merged, bounded)
    search.improve(search.pool_posteriors(effort))
    every = [candidate for candidate in (search.channel(), bounded) if budget.excess(joint.push(candidate)).max() <= 0]
    return max([*every, merged], key=lambda candidate: utility(joint, candidate)).with_optimality(HEURISTIC)


def _response(joint: JointDistribution, upper: float, gap: float, effort: float | None) -> Channel:
    """Optimal response with every lift within a bound, in nats."""
    problem = Problem(joint, LiftBudget(lower=math.inf, upper=upper), gap, Loss())
    return solve_within_blocks(problem, None, effort_account(effort, RESPONSE_EFFORT)).released()


class _Search:
    """The best mixture so far of posteriors into P_X, at first what merging gives, and the search over thresholds."""

    def __init__(self, joint: JointDistribution, budget: CVaRLiftBudget, merged: Channel, bounded: Channel) -> None:
        self.joint, self.budget, self.lifts, self.tried = joint, budget, lift(joint), 0
        self.bound = 1 + math.expm1(min(budget.upper, LARGEST_EXPONENT)) * (1 - _INSIDE)
        self.merged, self.points = merged, channel_posteriors(joint.p_x, merged)
        # Posteriors on the bound are moved below every threshold, so that rounding takes none for one beyond it.
        self.within = (1 - 2 * _INSIDE) * channel_posteriors(joint.p_x, bounded) + 2 * _INSIDE * joint.p_x
        self.weights = self.merged.push(joint.p_x[None, :])[0]
        self.thresholds = np.full(len(joint.p_s), self.bound)
        self.value = self._open(self.points, self.weights)

    def pool_posteriors(self, effort: float | None) -> Vector:
        """Posteriors worth mixing, whatever the thresholds, shape (k, n)."""
        p_x = self.joint.p_x
        posteriors = [np.eye(len(p_x)), p_x[None, :], self.points, self.within]
        part = 0.1 * (RESPONSE_EFFORT if effort is None else effort)
        for more in _LOOSER:
            response = _response(self.joint, self.budget.upper + more, 1e-4, max(1.0, part))
            posteriors.append(channel_posteriors(p_x, response))
        return np.concatenate(posteriors)

    def improve(self, pool: Vector) -> None:
        """Try common thresholds, those of the best release, then one after the other in smaller steps."""
        # Shares of the way from 1 to e**upper.
        for share in (-0.5, 0.0, 0.25, 0.5, 0.75, 0.9, 1.0):
            self._try(pool, np.full(len(self.joint.p_s), 1 + share * (self.bound - 1)))
        while self._try(pool, self.budget.lift_thresholds(self.lifts @ self.points.T, self.weights)):
            pass
        step = _FIRST_STEP
        # No further step is begun after so many posteriors in all programs: some seconds.
        while step >= _LAST_STEP and self.tried < 100_000:
            better = False
            for s, side in itertools.product(range(len(self.joint.p_s)), (-1, 1)):
                moved = self.thresholds.copy()
                moved[s] += side * step * (self.bound - _LOWEST)
                better |= self._try(pool, np.clip(moved, _LOWEST, self.bound))
            step = step if better else step / 2

    def _try(self, pool: Vector, thresholds: Vector) -> bool:
        """Take the best mixture for these thresholds if it keeps more; whether it does."""
        from scipy.optimize import linprog

        thresholds = np.minimum(thresholds, self.bound)
        points = np.concatenate([pool, self.points, *self._cells(thresholds)])
        points = np.unique(np.round(points, 15), axis=0)
        points /= points.sum(axis=1, keepdims=True)
        self.tried += len(points)
        over, most = self.budget.tail_constraints(points @ self.lifts.T, thresholds, self.bound)
        is_mixed = (over <= _STEEPEST).all(axis=1)
        points, over = points[is_mixed], over[is_mixed]
        program = linprog(
            entr(points).sum(axis=1),
            A_eq=points.T,
            b_eq=self.joint.p_x,
            A_ub=over.T,
            b_ub=most,
            method="highs-ds",
            options=TIGHT,
        )
        if program.x is None:
            return False
        chosen = np.flatnonzero(program.x > _POSITIVE)
        value = self._open(points[chosen], program.x[chosen])
        if value >= self.value - _LEAST_GAIN:
            return False
        self.points, self.weights, self.value, self.thresholds = points[chosen], program.x[chosen], value, thresholds
        return True

    def _cells(self, thresholds: Vector) -> list[Vector]:
        """Vertices of every cell between the planes l_s = t_s; none where they are too many to list."""
        n_s, n = self.lifts.shape
        if n > _FEW_LETTERS or n_s > _FEW_SECRETS:
            return []
        sides = self.lifts - thresholds[:, None]
        vertices = []
        for signs in itertools.product((-1.0, 1.0), repeat=n_s):
            over = np.array(signs) > 0
            if self.joint.p_s[over] @ thresholds[over] > 1:  # lifts average to 1, so all of these cannot be above
                continue
            points = list_vertices(np.array(signs)[:, None] * sides)
            if points is not None:
                vertices.append(points)
        return vertices

    @staticmethod
    def _open(points: Vector, weights: Vector) -> float:
        """H(X|Y) of a mixture, in nats."""
        return float(weights @ entr(points).sum(axis=1))

    def channel(self) -> Channel:
        """The best release as a channel, as little of one row for all x mixed in as its measured mean asks for."""
        masses = self.points * self.weights[:, None]
        # A letter that hardly ever occurs may have no mass left by rounding: it is released as any other.
        masses[:, masses.sum(axis=0) == 0] = self.weights[:, None]
        matrix = (masses / masses.sum(axis=0)).T
        constant, share = self.joint.p_x @ matrix, 0.0
        while share < 1:
            channel = Channel.from_matrix((1 - share) * matrix + share * constant, self.joint.public)
            if self.budget.excess(self.joint.push(channel)).max() <= 0:
                return channel
            share = max(4 * share, 1e-13)
        return self.merged


def channel_posteriors(p_x: Vector, channel: Channel) -> Vector:
    """P(x|y) of a channel, shape (n_y, n_x)."""
    masses = channel.matrix * p_x[:, None]
    return np.asarray((masses / masses.sum(axis=0)).T)
