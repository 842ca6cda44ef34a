"""Random response whose budget holds under every law of a confidence set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._checks import positive
from sanitize._progress import progress
from sanitize.budgets import as_budget, check_kind
from sanitize.confidence import laws_of
from sanitize.errors import SanitizeError
from sanitize.mechanisms._effort import effort_of
from sanitize.mechanisms._merging.subset_merging import best_subset_merging, subset_merging
from sanitize.mechanisms._random_response.loss import Loss, entr
from sanitize.mechanisms._random_response.repair import response_channel
from sanitize.mechanisms._random_response.response import RESPONSE_EFFORT, RandomResponse
from sanitize.mechanisms._random_response.robust_certificate import certify_robust
from sanitize.mechanisms._random_response.robust_cone import SAFE, RobustCone
from sanitize.mechanisms._random_response.robust_cuts import CutPolytope

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort

_FLOORS = (1e-1, 1e-3, 1e-6)  # of v where the entropy is linearised
_ROUNDS = 100
_BEST_MERGED = 17  # letters that the exact partition is found for
_SPARSE = 0.3  # of random starts: a few letters carry most of each
_DIGITS = 9
_TINY = 1e-12
_SEARCH_SHARE = 0.7  # of the effort, before the gap is proved
_PROVED_SHARE = 0.9  # of the gap; the rest is left to rounding
_STARTS = 40
_WORTHWHILE = 1e-9

Groups = list["NDArray[np.intp]"]


def robust_random_response(
    joint: JointDistribution,
    budget: Budget | float,
    confidence: float | ConfidenceSet,
    *,
    gap: float,
    effort: float | None,
    time_limit: float | None,
    deal: Callable[[Groups], list[Groups]] | None = None,
    loss: Loss | None = None,
) -> RandomResponse:
    """Response that mixes columns within the budget under every law, for I(X;Y) under the frequencies, and its gap.

    Column generation: the dual prices μ of the best mixture so far ask for columns of the least H(v) - μ·v, which
    linear programs over `RobustCone` look for from every letter and every column in use. It begins with the groups
    of a robust merging and never falls below what that keeps. `certify_robust` then proves how far the mixture is from
    the best one whose every column is within the budget under every law, or finds columns that were missed.

    Parameters
    ----------
    joint : JointDistribution
        Frequencies of ``joint.n`` rows.
    budget : LiftBudget, LDPBudget or float
    confidence : float or ConfidenceSet
    gap : float
        Distance from the optimum that is good enough, in nats.
    effort : float, optional
        Entries of linear programs to solve, >= 1, shared out over the blocks by their size; by
        default as for one law.
    time_limit : float, optional
        Seconds, shared out over the blocks by their size.
    deal : callable, optional
        From groups of letters that are safe under every law to blocks of groups that share their columns; by
        default all letters share theirs.
    loss : Loss, optional
        What is to be kept, in place of X.
    """
    loss = Loss() if loss is None else loss
    positive("gap", gap)
    if time_limit is not None:
        positive("time_limit", time_limit)
    account = effort_of(effort, RESPONSE_EFFORT, time_limit)
    budget = check_kind(as_budget(budget), "confidence=")
    laws = laws_of(joint, confidence)
    merge = best_subset_merging if len(joint.public) <= _BEST_MERGED else subset_merging
    labels = merge(joint, budget, confidence=laws).stages[0].indices
    groups = [np.flatnonzero(labels == y) for y in range(int(labels.max()) + 1)]
    blocks = [groups] if deal is None else deal(groups)
    n = len(joint.public)
    columns, weights, pools = [], [], []
    with progress("robust random response") as show:
        for block in blocks:
            letters = np.sort(np.concatenate(block))
            cone = RobustCone(laws, budget, letters, joint.p_x)
            pool = Mixing(
                cone, [np.isin(letters, group) for group in block], account.part(len(letters) / n), loss.on(letters)
            )
            pool.improve(gap, show)
            if loss.law is None:
                prove(pool, gap * float(cone.p_x.sum()), show)
            v, weight = pool.used()
            full = np.zeros((len(v), n))
            full[:, letters] = v
            columns.append(full)
            weights.append(weight)
            pools.append(pool)
    made = sparse.csc_array(np.concatenate(columns).T)
    channel = response_channel(joint, budget, made, np.concatenate(weights), laws)
    return _measured(joint, channel, pools, gap, loss)


def _measured(
    joint: JointDistribution, channel: Channel, pools: list[Mixing], gap: float, loss: Loss
) -> RandomResponse:
    """The channel as it is, repairs included, beside what was proved of all blocks."""
    kept, entropy = loss.kept(joint, channel), loss.entropy(joint.p_x)
    bound = max(entropy - sum(pool.bound for pool in pools), kept)
    if bound - kept <= gap:
        status = "optimal"
    elif any(pool.effort.is_late() for pool in pools):
        status = "time_limit"
    else:
        status = "effort" if any(pool.effort.is_used() for pool in pools) else "stalled"
    share = kept / entropy if entropy > 0 else 1.0
    return RandomResponse(channel, kept, share, bound, bound - kept, sum(len(pool.v) for pool in pools), status)


def prove(pool: Mixing, gap: float, show: Callable[[str], None]) -> None:
    """Bound the mixtures over these letters from below, and take in the columns that the search for a bound finds."""
    cone = pool.cone
    mass = float(cone.p_x.sum())
    polytope = CutPolytope.of(np.zeros((0, len(cone.p_x))))
    while pool.value - pool.bound > gap:
        base = float(pool.prices @ cone.p_x)
        target = (pool.value - base - _PROVED_SHARE * gap) / mass
        proof = certify_robust(cone, polytope, pool.prices, target, pool.effort)
        polytope = proof.polytope
        pool.bound = max(pool.bound, base + mass * proof.bound)
        show(f"{len(pool.v)} columns, gap {pool.value - pool.bound:.1e}")
        if not pool.look_near(np.concatenate([proof.points, proof.beside])[:_STARTS]):
            return


class Mixing:
    """Columns over some letters, their best mixture into P_X, and what is proved of all mixtures.

    Attributes
    ----------
    bound : float
        No mixture of columns within the budget has a value below this, in nats of the whole law.
    """

    def __init__(
        self, cone: RobustCone, groups: list[NDArray[np.bool_]], effort: Effort, loss: Loss | None = None
    ) -> None:
        self.cone, self.effort, self.bound = cone, effort, 0.0
        self.loss = Loss() if loss is None else loss
        p_x = cone.p_x
        alone = np.eye(len(p_x))
        self.v = np.array([np.where(group, p_x, 0.0) / p_x[group].sum() for group in groups])
        self.seen = {column.round(_DIGITS).tobytes() for column in self.v}
        self.add(alone[cone.excess(alone) <= 0])
        self.mix()

    def add(self, v: NDArray[np.float64]) -> int:
        """Take in columns that are new; how many were."""
        new = []
        for column in v:
            key = column.round(_DIGITS).tobytes()
            if key not in self.seen:
                self.seen.add(key)
                new.append(column)
        if new:
            self.v = np.concatenate([self.v, new])
        return len(new)

    def mix(self) -> None:
        """Mixture of the least H(T|Y) = Σ P(y) H(T|v_y), its prices and its weights; T is X by default."""
        from scipy.optimize import linprog

        solved = linprog(self.loss.of(self.v), A_eq=self.v.T, b_eq=self.cone.p_x, method="highs-ds")
        if solved.x is None:
            raise SanitizeError(f"the linear program of the mixture failed: {solved.message}")
        self.weights = np.maximum(solved.x, 0.0)
        self.prices = np.asarray(solved.eqlin.marginals)

    @property
    def value(self) -> float:
        """H(T|Y) of the mixture over these letters, in nats of the whole law."""
        return float(self.loss.of(self.v) @ self.weights)

    def used(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Columns in the mixture and their weights."""
        kept = self.weights > _TINY * self.weights.sum()
        return self.v[kept], self.weights[kept]

    def improve(self, gap: float, show: Callable[[str], None]) -> None:
        """Add columns until none of those found lowers the entropy by more than the gap, or its share is used up."""
        n = len(self.cone.p_x)
        rng = np.random.default_rng(0)
        if (entr(self.v).sum(axis=1) > _TINY).any():
            # Prices of a few columns say nothing of the other letters: begin without any.
            self.add(self._from(np.eye(n), 0.0))
            self.mix()
        for _ in range(_ROUNDS):
            if len(self.v) and (entr(self.used()[0]).sum(axis=1) <= _TINY).all():
                return  # every letter is released as it is
            random = rng.dirichlet(np.full(n, _SPARSE), n)
            for starts, steer in ((np.eye(n), 1.0), (self.used()[0], 1.0), (random, 1.0), (np.eye(n), 0.5)):
                found = self._from(starts, steer)
                if self.add(found[self.loss.of(found) - (found * self.prices).sum(axis=1) < -gap]):
                    break
            else:
                return
            self.mix()
            show(f"{len(self.v)} columns")
            if self.effort.is_used(_SEARCH_SHARE):
                return

    def look_near(self, v: NDArray[np.float64]) -> bool:
        """Take in columns beside these that lower the entropy; whether there were any and effort is left."""
        if not len(v) or self.effort.is_used():
            return False
        found = np.concatenate([v[self.cone.excess(v) <= SAFE], self._from(v, 1.0)])
        if not self.add(found[self.loss.of(found) - (found * self.prices).sum(axis=1) < -_WORTHWHILE]):
            return False
        self.mix()
        return True

    def _from(self, v: NDArray[np.float64], steer: float) -> NDArray[np.float64]:
        """Columns from linear programs that start at these; ``steer`` says how far to trust the prices."""
        found = [np.zeros((0, len(self.prices)))]
        for floor in _FLOORS:
            v = self.cone.minimise(self.loss.slope(v, floor) - steer * self.prices, self.effort)
            # Many starts lead to the same column.
            v = v[np.sort(np.unique(v.round(_DIGITS), axis=0, return_index=True)[1])]
            found.append(v)
            if not len(v):
                break
        return np.concatenate(found)
