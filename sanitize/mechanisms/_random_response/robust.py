"""Random response whose budget holds under every distribution of a confidence set."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.arithmetic import product
from sanitize._util.checks import Codes, Mask, Vector
from sanitize._util.progress import progress
from sanitize.core.confidence import design_distributions
from sanitize.mechanisms._effort import Status
from sanitize.mechanisms._merging.subset_merging import seed_groups
from sanitize.mechanisms._random_response.robust_cone import SAFE, RobustCone, certify_robust
from sanitize.mechanisms._response_solver.columns import ColumnPool, RoundingStops
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, Problem, RandomResponse, Response
from sanitize.mechanisms._response_solver.polytope import Polytope

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.core.confidence import ConfidenceSet
    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.columns import Loss

    Deal = Callable[[list[Codes]], list[list[Codes]]]


def robust_random_response(
    problem: Problem, confidence: float | ConfidenceSet, effort: Effort, deal: Deal | None = None
) -> RandomResponse:
    """Find a response of large I(X;Y), with a proved gap, whose columns are within the budget for all distributions.

    The method is column generation: given the dual prices μ of the best mixture so far, linear programs over
    `RobustCone` look for columns of least H(v) - μ·v, starting from every letter and every column in use. The search
    begins with the groups of a robust merging and keeps at least as much as these. `certify_robust` then proves how far
    the mixture is from the best one whose every column is within the budget under every distribution, or finds columns
    that were missed.

    Parameters
    ----------
    problem : Problem
        Its distribution holds the frequencies of ``joint.n`` rows; the gap is proved only without a target.
    confidence : float or ConfidenceSet
    effort : Effort
        Entries of linear programs to solve, shared out over the blocks by their size.
    deal : callable, optional
        Function from groups of letters that are safe under every distribution to blocks of groups; letters of a block
        share columns. By default all letters are one block.
    """
    joint, budget, gap, loss = problem.joint, problem.budget, problem.gap, problem.loss
    distributions = design_distributions(joint, confidence)
    groups = seed_groups(joint, budget, effort.limit / RESPONSE_EFFORT, confidence=distributions)
    n, blocks = len(joint.public), []
    with progress("robust random response") as show:
        for block in [groups] if deal is None else deal(groups):
            letters = np.sort(np.concatenate(block))
            cone = RobustCone(distributions, budget, letters, joint.p_x)
            sets = [np.isin(letters, group) for group in block]
            solver = _Block(cone, sets, effort.part(len(letters) / n), loss.restricted_to(letters), show)
            with contextlib.suppress(RoundingStops):  # the mixture and bound found before are still valid
                solver.improve(gap)
                if loss.distribution is None:
                    solver.prove(gap * float(cone.p_x.sum()))
            columns = solver.pool.matrix(solver.mixture.chosen)
            columns = sparse.csc_array((columns.data, letters[columns.indices], columns.indptr), (n, columns.shape[1]))
            mixture, n_columns = solver.mixture, len(solver.pool)
            blocks.append(Response(columns, mixture.weights, mixture.value, solver.bound, n_columns, solver.status))
    return problem.measure(blocks, sum(response.bound for response in blocks), distributions)


class _Block:
    """Block of letters: columns over these letters, their best mixture into P_X, and a proved bound on mixtures.

    Attributes
    ----------
    bound : float
        Lower bound on the loss of mixtures of columns within the budget, in nats of the whole distribution.
    """

    def __init__(
        self, cone: RobustCone, sets: list[Mask], effort: Effort, loss: Loss, show: Callable[[str], None]
    ) -> None:
        self.cone, self.effort, self.show = cone, effort, show
        self.pool, self.bound = ColumnPool(cone.p_x, loss), 0.0
        singles = np.eye(len(cone.p_x))
        for v in (*(np.where(group, cone.p_x, 0.0) for group in sets), *singles[cone.excess(singles) <= 0]):
            self.pool.add(v)
        self.mixture = self.pool.mix()

    @property
    def status(self) -> Status:
        """Status of a search that ended with an open gap."""
        return self.effort.status if self.effort.is_used() else Status.STALLED

    def improve(self, gap: float) -> None:
        """Add columns until none lowers the loss by more than the gap, or the effort is used up."""
        n = len(self.cone.p_x)
        rng = np.random.default_rng(0)
        if any(len(letters) > 1 for letters in self.pool.letters):
            # Prices of a few columns do not cover the other letters, so the search begins without prices.
            for v in self._solve_programs(np.eye(n), 0.0):
                self.pool.add(v)
            self.mixture = self.pool.mix()
        for _ in range(100):
            used = self.pool.matrix(self.mixture.chosen).toarray().T
            if (np.count_nonzero(used, axis=1) == 1).all():
                return  # every letter is released unchanged
            # Columns of an optimal response have few letters, so starts have most of their mass on a few as well.
            random = rng.dirichlet(np.full(n, 0.3), n)
            starts = ((np.eye(n), 1.0), (used, 1.0), (random, 1.0), (np.eye(n), 0.5))
            is_better = any(self._take(self._solve_programs(v, steer), gap) for v, steer in starts)
            if not is_better or self.effort.is_used(0.7):  # the rest of the effort is for the proof
                return

    def prove(self, gap: float) -> None:
        """Bound mixtures over these letters from below, adding columns that the search for a bound finds."""
        p_x = self.cone.p_x
        mass, polytope = float(p_x.sum()), Polytope.simplex(len(p_x), len(p_x))
        while self.mixture.value - self.bound > gap:
            base = float(product(self.mixture.mu, p_x))
            # The whole gap could not be proved if the mixing program rounds, so a tenth is left to it.
            target = (self.mixture.value - base - 0.9 * gap) / mass
            bound, *points, polytope = certify_robust(self.cone, polytope, self.mixture.mu, target, self.effort)
            self.bound, near = max(self.bound, base + mass * bound), np.concatenate(points)[:40]
            if not len(near) or self.effort.is_used():
                return
            near = np.concatenate([near[self.cone.excess(near) <= SAFE], self._solve_programs(near, 1.0)])
            if not self._take(near, 1e-9):
                return

    def _take(self, v: Vector, worth: float) -> bool:
        """Add columns that lower the loss by more than a threshold in nats; return whether any column was new."""
        below = v[self.pool.loss.entropies(v) - product(v, self.mixture.mu) < -worth]
        if not sum(self.pool.add(column) for column in below):
            return False
        self.mixture = self.pool.mix()
        self.show(f"{len(self.pool)} columns, gap {self.mixture.value - self.bound:.1e}")
        return True

    def _solve_programs(self, v: Vector, steer: float) -> Vector:
        """Return columns from linear programs that start at these points; ``steer`` is the weight of the prices."""
        column_blocks = [np.zeros((0, v.shape[1]))]
        # The slope of H is infinite at 0, so it is first taken far from 0. Each result is the start for a lower floor.
        for floor in (1e-1, 1e-3, 1e-6):
            v = self.cone.minimise(self.pool.loss.slope(v, floor) - steer * self.mixture.mu, self.effort)
            # Many starts lead to the same column.
            v = v[np.sort(np.unique(v.round(9), axis=0, return_index=True)[1])]
            column_blocks.append(v)
            if not len(v):
                break
        return np.concatenate(column_blocks)
