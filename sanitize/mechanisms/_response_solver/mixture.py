"""Optimal responses inside blocks of letters, combined into one measured channel, with remedies for rounding."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize._util.arithmetic import product
from sanitize._util.checks import Codes, Vector, positive
from sanitize._util.limits import LOOSEST
from sanitize.core.budgets import LDPBudget, LiftBudget, as_budget, budget_in_nats, check_kind
from sanitize.core.channel import Optimality
from sanitize.core.joint import check_distribution
from sanitize.core.lifts import lift
from sanitize.mechanisms._effort import Status
from sanitize.mechanisms._merging.subset_merging import seed_groups
from sanitize.mechanisms._response_solver.column_generation import Search
from sanitize.mechanisms._response_solver.columns import Loss, RoundingStops
from sanitize.mechanisms._response_solver.polytope import EQUALITY, LiftBounds, least_side
from sanitize.mechanisms._response_solver.repair import response_channel
from sanitize.mechanisms._response_solver.side_knowledge import SideKnowledge
from sanitize.mechanisms._response_solver.vertices import mix_all_vertices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.posterior_set import Cuts

# With more letters, there are too many vertices to list.
_MOST_LETTERS = 64
# Default effort, in entries of linear programs: about half a minute. Entries and not seconds, so that a design is the
# same on every machine.
RESPONSE_EFFORT = 400_000_000
# Additional share of the effort for tighter and again for looser budgets, which seldom are needed.
_NEARBY_SHARE = 0.2
# Factors of these budgets. Where rounding stops a search, a budget slightly tighter, or 0 as a last resort, may be
# solved; looser budgets only give bounds, which get weaker quickly. A budget below 1e-6 nats is raised to it before it
# is loosened, because a multiple of nearly 0 would stop as well.
_TIGHTER, _LOOSER, _LEAST = (1.0, 0.5, 0.1, 0.01, 0.0), (2.0, 10.0, 100.0), 1e-6
# Nats that rounding may leave open, nats that repairs may cost, and the excess, relative to the largest lift, from
# which a lift counts as beyond a cut: the first is what a linear program may miss its constraints by.
_ROUNDING, _REPAIRED, _BESIDE = 1e-10, 1e-6, 1e-9
# Share of a time limit for the groups of letters with which a search begins; the search itself needs the rest.
_SEEDS = 0.1


@dataclass(frozen=True, eq=False)
class RandomResponse:
    """Random response with the information that it keeps and its largest possible distance from the optimum.

    Attributes
    ----------
    channel : Channel
        Channel P(y|x). A released symbol whose posterior is a vertex mixes at most |S| public symbols.
    utility : float
        I(X;Y) of this channel in nats, as measured; with a target T, I(T;Y).
    normalized_utility : float
        Share of H(X), or of I(T;X), that is kept; 1 if nothing can be kept.
    bound : float
        Upper bound on I(X;Y), or I(T;Y), of all channels within the budget, in nats.
    gap : float
        bound - utility, in nats; at least 0.
    n_columns : int
        Posteriors considered.
    status : {"optimal", "effort", "time_limit", "interrupted", "stalled"}
        ``optimal`` (gap reached), ``effort`` (used up, or far from enough), ``time_limit``, ``interrupted``, or
        ``stalled`` (rounding keeps the gap open).
    """

    channel: Channel
    utility: float
    normalized_utility: float
    bound: float
    gap: float
    n_columns: int
    status: Status

    @property
    def optimality(self) -> Optimality:
        """Proved statement about the utility; its ``words`` are optimal, within some nats, or cut short."""
        words: dict[Status, Any] = {Status.OPTIMAL: "optimal", Status.STALLED: "within"}
        return Optimality(words.get(self.status, "cut short"), self.gap)

    def released(self, n_blocks: int = 1) -> Channel:
        """Return the channel with its optimality among all channels, or among the responses inside the same blocks.

        Raises
        ------
        KeyboardInterrupt
            If the search was interrupted.
        """
        if self.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        among = "" if n_blocks == 1 else "responses inside its blocks"
        return self.channel.with_optimality(replace(self.optimality, among=among))


@dataclass(frozen=True, eq=False)
class Response:
    """Optimal response on a set of letters that is safe as a whole, before it is made into a channel.

    Attributes
    ----------
    columns : sparse array of shape (n_x, n_y)
        Posteriors over all letters.
    weights : ndarray of shape (n_y,)
        P(y) under the whole distribution.
    loss, bound : float
        Loss Σ P(y) H(X|y) over these letters, or Σ P(y) H(T|y) of a target, and a lower bound on the loss of any
        response, in nats of the whole distribution.
    n_columns : int
    status : Status
    """

    columns: sparse.csc_array
    weights: Vector
    loss: float
    bound: float
    n_columns: int
    status: Status


@dataclass(frozen=True, eq=False)
class Problem:
    """Design problem that all blocks share.

    Attributes
    ----------
    joint : JointDistribution
    budget : LiftBudget or LDPBudget
    gap : float
        Distance from the optimum that is good enough, in nats of each block, > 0.
    loss : Loss
        Information to keep.
    side : SideKnowledge or Cuts, optional
        Side knowledge about a row, or other cuts of posteriors; all letters are then one block.
    groups : ndarray of int, optional
        Group of each letter; no released symbol mixes letters of two groups.
    """

    joint: JointDistribution
    budget: LiftBudget | LDPBudget
    gap: float
    loss: Loss
    side: SideKnowledge | Cuts | None = None
    groups: Codes | None = None

    @classmethod
    def from_request(
        cls,
        joint: JointDistribution,
        budget: Budget | float,
        gap: float,
        target: ArrayLike | None = None,
        side: str | Sequence[str] | ArrayLike = (),
    ) -> Problem:
        """Check a user's arguments and return the problem."""
        loss = Loss.for_target(target, len(check_distribution(joint).public))
        positive("gap", gap)
        return cls(joint, check_kind(as_budget(budget, joint)), gap, loss, SideKnowledge.from_columns(joint, side))

    def measure(
        self, responses: Sequence[Response], least: float, distributions: ConfidenceSet | None = None
    ) -> RandomResponse:
        """Combine responses into a measured channel; the status shows if repairs leave more than the requested gap."""
        columns = sparse.hstack([response.columns for response in responses], "csc")
        weights = np.concatenate([response.weights for response in responses])
        channel = response_channel(self.joint, self.budget, columns, weights, distributions, self.side, self.groups)
        information, n_columns = self.loss.information(self.joint, channel), sum(part.n_columns for part in responses)
        share = self.loss.share(information, self.joint.p_x)
        status = max([Status.STALLED, *(response.status for response in responses)], key=[*Status].index)
        return self.with_bound(RandomResponse(channel, information, share, information, 0.0, n_columns, status), least)

    def with_bound(self, response: RandomResponse, least: float) -> RandomResponse:
        """Return the response with a bound on the loss of all blocks together."""
        bound = max(self.loss.entropy(self.joint.p_x) - least, response.utility)
        gap = bound - response.utility
        status = Status.OPTIMAL if gap <= self.gap + _ROUNDING else response.status
        return replace(response, bound=bound, gap=gap, status=status)


@dataclass(eq=False)
class Block:
    """Block of letters that share released symbols, with the response on these letters.

    Attributes
    ----------
    letters : ndarray of int
        Letters in ascending order, which are safe as a whole.
    atoms : sequence of ndarrays, optional
        Safe sets of letters that seed the search, by default the groups of subset merging.
    response : Response
    least : float
        Lower bound on the loss of any response on these letters, in nats of the whole distribution.
    effort : Effort
        Effort of searches under nearby budgets.
    """

    letters: Codes
    atoms: Sequence[Codes] | None
    response: Response
    least: float
    effort: Effort

    def retry(self, problem: Problem, budget: LiftBudget | LDPBudget) -> Response:
        """Find a response under a nearby budget."""
        response = solve_block(replace(problem, budget=budget), self.letters, self.atoms, self.effort)
        if response.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return response


def solve_block(problem: Problem, letters: Codes, atoms: Sequence[Codes] | None, effort: Effort) -> Response:
    """Find the response on some letters: release letters unchanged if allowed, else mix all vertices, else search.

    Parameters
    ----------
    problem : Problem
    letters : ndarray of int
        Letters in ascending order, which are safe as a whole.
    atoms : sequence of ndarrays, optional
        Safe sets of letters that seed a search, by default the groups of subset merging.
    effort : Effort
    """
    joint, budget, side, loss = problem.joint, problem.budget, problem.side, problem.loss.restricted_to(letters)
    p_x, symbol_entropies, lifts = joint.p_x[letters], loss.symbol_entropies(len(letters)), lift(joint)[:, letters]
    prior, total = p_x / p_x.sum(), float(p_x.sum())

    def place(
        posteriors: Vector | sparse.csc_array, p_y: Vector, costs: Vector, bound: float, status: Status, n_columns: int
    ) -> Response:
        """Embed columns computed for the distribution of these letters into the whole distribution."""
        columns = sparse.csc_array(posteriors)
        parts = columns.data, letters[columns.indices], columns.indptr
        whole = sparse.csc_array(parts, shape=(len(joint.p_x), len(p_y)))
        return Response(whole, p_y * total, float(product(costs, p_y)) * total, bound * total, n_columns, status)

    inner = LiftBounds.inner(lifts, budget, prior)
    outer = LiftBounds.outer(lifts, budget, product(lifts, prior)) if least_side(budget) else inner
    if side is not None:
        is_one = outer is inner
        inner = replace(inner, sides=side.cuts(budget, prior, is_inner=True))
        outer = replace(outer, sides=side.cuts(budget, prior, is_inner=is_one))
    cuts = outer.cuts() if len(letters) <= _MOST_LETTERS else None
    # A letter clearly beyond a cut is over the budget; if there is none, the budget itself decides.
    is_over = cuts is not None and cuts.min(initial=0.0) < -_BESIDE * lifts.max()
    is_over = is_over or bool(outer.sides is not None and len(outer.sides))
    if not is_over and not (budget.lift_excess(lifts, joint.p_s) > 0).any():
        every, least = sparse.eye_array(len(letters), format="csc"), float(product(symbol_entropies, prior))
        return place(every, prior, symbol_entropies, least, Status.OPTIMAL, len(letters))
    is_late = effort.is_late()
    if cuts is not None and not is_late:
        inner_cuts = cuts if inner.equal(outer) else inner.cuts()
        listing = mix_all_vertices(cuts, inner_cuts, prior, problem.gap, loss)
        if listing is not None:
            chosen, mixture, bound, n_vertices = listing
            bound += float(product(symbol_entropies, prior))
            return place(chosen.T, mixture.weights, loss.entropies(chosen), bound, Status.OPTIMAL, n_vertices)
    # P_X restricted to a safe set is a posterior within the budget, so a search can begin with the sets of a merging.
    if not atoms:
        # With all of merging's effort, as in blocks: a search that is cut short keeps little more than its seeds.
        atoms = seed_groups(joint, budget, 1.0, _SEEDS * effort.seconds) if side is None else [letters]
    seeds = np.array([np.bincount(atom, joint.p_x[atom], len(joint.p_x)) for atom in atoms])[:, letters]
    seeds /= seeds.sum(axis=1, keepdims=True)
    search = None
    with contextlib.suppress(np.linalg.LinAlgError, RoundingStops):
        search = None if is_late else Search(inner, outer, prior, problem.gap, effort, loss).solve(seeds)
    if search is None:
        # For distributions that linear programs of doubles cannot handle: the seeds alone, with the trivial bound 0.
        status = Status.TIME_LIMIT if is_late else Status.STALLED
        masses = np.where(seeds > 0, prior, 0.0).sum(axis=1)
        return place(seeds.T, masses, loss.entropies(seeds), 0.0, status, len(seeds))
    pool, mixture = search.pool, search.mixture
    costs = np.array(pool.costs)[mixture.chosen]
    return place(pool.matrix(mixture.chosen), mixture.weights, costs, search.bound, search.status, len(pool))


def solve_within_blocks(problem: Problem, blocks: Sequence[Sequence[Codes]] | None, effort: Effort) -> RandomResponse:
    """Find the optimal response inside each block of letters, and return one measured channel.

    A block is a list of safe sets, which seed its search; None is one block of all letters. If rounding stops a search,
    or pushes columns out of a thin polytope so that repairs merge them, nearby budgets are tried: a response under a
    tighter budget is within the budget, and a bound for a looser budget is valid for it.

    Parameters
    ----------
    problem : Problem
    blocks : sequence of sequences of ndarray of int, or None
    effort : Effort
        Effort, which is shared out over the blocks by their size.
    """
    n = len(problem.joint.p_x)
    parts: list[Block] = []
    for atoms in [None] if blocks is None else blocks:
        letters = np.arange(n) if atoms is None else np.sort(np.concatenate(atoms))
        account = effort.part(len(letters) / n)
        response = solve_block(problem, letters, atoms, account)
        if response.status is Status.INTERRUPTED and blocks is not None:
            raise KeyboardInterrupt
        nearby = account.part(0.0 if account.is_late(_NEARBY_SHARE) else _NEARBY_SHARE)
        parts.append(Block(letters, atoms, response, response.bound, nearby))
    best = problem.measure([part.response for part in parts], sum(part.least for part in parts))
    try:
        return _bound_by_looser_budgets(problem, parts, _improve_by_tighter_budgets(problem, parts, best))
    except KeyboardInterrupt:
        return replace(best, status=Status.INTERRUPTED)


def _stopped(problem: Problem, parts: list[Block]) -> list[Block]:
    """Parts whose search was stopped by rounding, or used up its effort on a polytope too thin for doubles."""
    is_thin = 0 < least_side(problem.budget) < EQUALITY
    statuses = (Status.STALLED, Status.EFFORT) if is_thin else (Status.STALLED,)
    return [part for part in parts if part.response.status in statuses]


def _improve_by_tighter_budgets(problem: Problem, parts: list[Block], best: RandomResponse) -> RandomResponse:
    """Return the best response; if rounding stopped a search or repairs cost much, try tighter budgets, too."""
    weak_parts = _stopped(problem, parts) or (parts if best.status is Status.STALLED else [])
    entropy = problem.loss.entropy(problem.joint.p_x)
    for tight_budget in tighter(problem.budget):
        retries = [part for part in weak_parts if not part.effort.is_used()]
        if best.status is Status.OPTIMAL or not retries:
            break
        tried = {part: part.retry(problem, tight_budget) for part in retries}
        responses = [tried.get(part, part.response) for part in parts]
        candidate = problem.measure(responses, sum(part.least for part in parts))
        best = candidate if candidate.utility > best.utility else best
        # A response that was optimal and needed no repair cannot be improved under a tighter budget.
        is_whole = candidate.utility >= entropy - sum(response.loss for response in responses) - _REPAIRED
        if is_whole and all(response.status is Status.OPTIMAL for response in tried.values()):
            break
    return best


def _bound_by_looser_budgets(problem: Problem, parts: list[Block], best: RandomResponse) -> RandomResponse:
    """Return the response, with a bound from looser budgets if rounding stopped a search."""
    stopped = _stopped(problem, parts)
    for part in stopped:
        part.effort = part.effort.part(1.0)
    for loose_budget in looser(problem.budget):
        retries = [part for part in stopped if not part.effort.is_used()]
        if best.status is Status.OPTIMAL or not retries:
            break
        responses = [part.retry(problem, loose_budget) for part in retries]
        for part, response in zip(retries, responses, strict=True):
            part.least = max(part.least, response.bound)
        best = problem.with_bound(best, sum(part.least for part in parts))
        if all(response.status is Status.OPTIMAL for response in responses):
            break
    return best


def tighter(budget: LiftBudget | LDPBudget) -> Iterator[LiftBudget | LDPBudget]:
    """Yield tighter budgets that double precision can resolve, the nearest to this budget first."""
    for part in _TIGHTER:
        tight_budget = _scale_budget(budget, part, 0.0, LOOSEST)
        if tight_budget != budget and least_side(budget) and (least_side(tight_budget) >= EQUALITY or part == 0):
            yield tight_budget


def looser(budget: LiftBudget | LDPBudget) -> Iterator[LiftBudget | LDPBudget]:
    """Yield looser budgets, nearest first; no channel within the budget keeps more than the best under these."""
    return (_scale_budget(budget, part, _LEAST, math.inf) for part in _LOOSER)


def _scale_budget(budget: LiftBudget | LDPBudget, part: float, least: float, most: float) -> LiftBudget | LDPBudget:
    """Return the budget with each bound first clipped to a range in nats and then scaled."""
    if isinstance(budget, LDPBudget):
        return LDPBudget(part * min(max(budget.eps, least), most))
    return budget_in_nats(*(part * np.clip(bound, least, most) for bound in (budget.lower, budget.upper)))
