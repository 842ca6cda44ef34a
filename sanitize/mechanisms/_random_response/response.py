"""The optimal response on a set of letters: which route finds it, and the channel made of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sanitize.budgets import check_kind
from sanitize.channel import Standing
from sanitize.lifts import lift
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._merging.subset_merging import subset_merging
from sanitize.mechanisms._random_response.column_generation import lower_envelope
from sanitize.mechanisms._random_response.loss import Loss
from sanitize.mechanisms._random_response.nearby_budgets import looser, tighter
from sanitize.mechanisms._random_response.polytope import LiftBounds, ResponsePolytope
from sanitize.mechanisms._random_response.pool import NOTHING, RoundingStops
from sanitize.mechanisms._random_response.repair import Columns, response_channel
from sanitize.mechanisms._random_response.vertices import mix_all_vertices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

_MOST_LETTERS = 64  # with more, there are too many vertices to list
# Entries of linear programs solved by default: about half a minute.
RESPONSE_EFFORT = 400_000_000
# Of the effort, before budgets nearby are left alone.
_NEARBY_SHARE = 0.3
_ROUNDING, _BESIDE = 1e-10, 1e-9


@dataclass(frozen=True, eq=False)
class RandomResponse:
    """A random response, what it keeps, and how far from the best it can be.

    Attributes
    ----------
    channel : Channel
        P(y|x); each released symbol is a mixture of at most |S| public ones where the design is a vertex.
    utility : float
        I(X;Y) of this channel in nats, as measured; with a target T, I(T;Y).
    normalized_utility : float
        Its share of H(X), or of I(T;X); 1 where that is 0.
    bound : float
        No channel within the budget has a larger I(X;Y), or I(T;Y), in nats.
    gap : float
        bound - utility, in nats; at least 0.
    n_columns : int
        Posteriors considered.
    status : str
        ``optimal`` (gap reached), ``effort`` (used up), ``time_limit``, ``interrupted``, or ``stalled`` (rounding keeps
        the gap open).
    """

    channel: Channel
    utility: float
    normalized_utility: float
    bound: float
    gap: float
    n_columns: int
    status: str

    @property
    def standing(self) -> Standing:
        """What is proved of it; its ``words`` say optimal, within so many nats of the optimum, or cut short."""
        if self.status == "optimal":
            return Standing("optimal", self.gap)
        return Standing("within" if self.status == "stalled" else "cut short", self.gap)


@dataclass(frozen=True, eq=False)
class Response:
    """Optimal response on a set of letters that is safe as a whole, before it is a channel.

    Attributes
    ----------
    letters, shares : ndarrays
        Posteriors one after the other: their letters, as numbered in the whole law, and the probabilities of these.
    sizes : ndarray of int
        Letters of each posterior.
    weights : ndarray
        P(y), in parts of the whole law.
    costs : ndarray
        H(X|y) of each posterior, or H(T|y) of a target.
    loss_bound : float
        Σ P(y) H(X|y) over these letters, or Σ P(y) H(T|y), is at least this, in nats of the whole law.
    n_columns : int
    status : str
    """

    letters: NDArray[np.intp]
    shares: NDArray[np.float64]
    sizes: NDArray[np.intp]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    loss_bound: float
    n_columns: int
    status: str

    @property
    def loss(self) -> float:
        """Σ P(y) H(X|y) over these letters, or of a target, in nats of the whole law."""
        return float(self.costs @ self.weights)

    @classmethod
    def union(cls, parts: Iterable[Response]) -> Response:
        """Responses on disjoint sets of letters, side by side."""
        every = list(parts)
        statuses = {part.status for part in every} - {"optimal"}
        return cls(
            np.concatenate([part.letters for part in every]),
            np.concatenate([part.shares for part in every]),
            np.concatenate([part.sizes for part in every]),
            np.concatenate([part.weights for part in every]),
            np.concatenate([part.costs for part in every]),
            sum(part.loss_bound for part in every),
            sum(part.n_columns for part in every),
            min(statuses, default="optimal"),
        )

    def response(self, joint: JointDistribution, budget: Budget, gap: float, loss: Loss) -> RandomResponse:
        """The channel, measured; repairs may leave more than the gap asked for, and then the status says so."""
        indptr = np.zeros(len(self.sizes) + 1, np.intp)
        self.sizes.cumsum(out=indptr[1:])
        columns = Columns(self.shares, self.letters, indptr, (len(joint.p_x), len(self.sizes)))
        channel = response_channel(joint, budget, columns, self.weights)
        kept = loss.kept(joint, channel)
        entropy = loss.entropy(joint.p_x)
        available = entropy - float(loss.alone(len(joint.p_x)) @ joint.p_x)
        bound = max(entropy - self.loss_bound, kept)
        status = "stalled" if self.status == "optimal" and bound - kept > gap + _ROUNDING else self.status
        share = min(1.0, kept / available) if available > NOTHING else 1.0
        return RandomResponse(channel, kept, share, bound, bound - kept, self.n_columns, status)


def respond(
    joint: JointDistribution,
    budget: Budget,
    letters: NDArray[np.intp],
    *,
    gap: float,
    effort: Effort | None = None,
    atoms: Iterable[NDArray[np.intp]] | None = None,
    loss: Loss | None = None,
) -> Response:
    """Optimal response on some letters, ascending; ``atoms`` are safe sets of them that seed the search.

    ``loss`` is that of all letters, by default H(X|y). Weights and the bound on the loss are in parts of the whole law.
    Where rounding stops the search, responses for budgets nearby say more: a tighter one's is within the budget, and a
    looser one's bound holds for it.
    """
    account = Effort(RESPONSE_EFFORT) if effort is None else effort
    find = partial(_respond, joint, letters=letters, gap=gap, effort=account, loss=(loss or Loss()).on(letters))
    found = find(budget, atoms=atoms)
    if found.status != "stalled":
        return found
    # A part of the letters may be beyond a tighter budget as a whole.
    for other in tighter(check_kind(budget)) if len(letters) == len(joint.p_x) else ():
        if account.is_used(_NEARBY_SHARE):
            break
        within = find(other, atoms=None)
        if within.loss < found.loss:
            found = replace(within, loss_bound=found.loss_bound, status="stalled")
        if within.status == "optimal":
            break
    for other in looser(check_kind(budget)):
        if account.is_used(_NEARBY_SHARE) or found.loss - found.loss_bound <= gap:
            break
        around = find(other, atoms=atoms)
        found = replace(found, loss_bound=max(found.loss_bound, around.loss_bound))
    return replace(found, status="optimal") if found.loss - found.loss_bound <= gap else found


def _respond(
    joint: JointDistribution,
    budget: Budget,
    *,
    letters: NDArray[np.intp],
    gap: float,
    effort: Effort,
    loss: Loss,
    atoms: Iterable[NDArray[np.intp]] | None,
) -> Response:
    """The response, for this budget alone."""
    p_x = joint.p_x[letters]
    total = float(p_x.sum())
    lifts = lift(joint) if len(letters) == len(joint.p_x) else lift(joint)[:, letters]
    inner, outer = LiftBounds.inner(lifts, budget), LiftBounds.outer(lifts, budget)
    cuts = outer.cuts(lifts) if len(letters) <= _MOST_LETTERS else None
    # A letter well outside one of few cuts is over the budget; where there is none, the budget itself is asked.
    is_over = cuts is not None and cuts.min(initial=0.0) < -_BESIDE * lifts.max()
    if not is_over and not (budget.excess_of(lifts, joint.p_s) > 0).any():
        one, alone = np.ones(len(letters)), loss.alone(len(letters))
        return Response(letters, one, one.astype(np.intp), p_x, alone, float(alone @ p_x), len(letters), "optimal")
    p_x = p_x / total
    least = float(loss.alone(len(letters)) @ p_x)
    listed = None
    if cuts is not None:
        within = cuts if inner.equal(outer) else inner.cuts(lifts)
        listed = mix_all_vertices(cuts, within, p_x, gap / total, loss)
    if listed is not None:
        chosen, mixture, bound, n_vertices = listed
        y, x = np.nonzero(chosen > NOTHING)
        return Response(
            letters[x],
            chosen[y, x],
            np.bincount(y),
            mixture.weights * total,
            loss.of(chosen),
            (least + bound) * total,
            n_vertices,
            "optimal",
        )
    seeds = _seeds(joint, budget, letters, atoms)
    try:
        found = lower_envelope(
            ResponsePolytope.of(lifts, inner).with_target(loss.law),
            ResponsePolytope.of(lifts, outer).with_target(loss.law),
            p_x,
            seeds,
            gap=gap / total,
            effort=effort,
            loss=loss,
        )
    except (np.linalg.LinAlgError, RoundingStops):
        return _merged(seeds, letters, joint.p_x, loss)
    pool, mixture = found.pool, found.mixture
    parts = [pool.letters[k] for k in mixture.chosen]
    return Response(
        letters[np.concatenate(parts)],
        np.concatenate([pool.shares[k] for k in mixture.chosen]),
        np.array([len(part) for part in parts]),
        mixture.weights * total,
        np.array([pool.costs[k] for k in mixture.chosen]),
        found.bound * total,
        len(pool),
        found.status,
    )


def _merged(
    seeds: list[NDArray[np.float64]], letters: NDArray[np.intp], p_x: NDArray[np.float64], loss: Loss
) -> Response:
    """The seeds alone as posteriors, with a bound that proves nothing: for laws beyond linear programs of doubles."""
    parts = [np.flatnonzero(seed) for seed in seeds]
    return Response(
        letters[np.concatenate(parts)],
        np.concatenate([seed[part] for seed, part in zip(seeds, parts, strict=True)]),
        np.array([len(part) for part in parts]),
        np.array([p_x[letters[part]].sum() for part in parts]),
        loss.of(np.array(seeds)),
        0.0,
        len(parts),
        "stalled",
    )


def _seeds(
    joint: JointDistribution,
    budget: Budget,
    letters: NDArray[np.intp],
    atoms: Iterable[NDArray[np.intp]] | None,
) -> list[NDArray[np.float64]]:
    """P_X restricted to safe sets: those given, or the groups of subset merging."""
    if atoms is None:
        labels = subset_merging(joint, budget).stages[0].indices
        atoms = [np.flatnonzero(labels == y) for y in range(int(labels.max()) + 1)]
    seeds = []
    for atom in atoms:
        v = np.zeros(len(joint.p_x))
        v[atom] = joint.p_x[atom] / joint.p_x[atom].sum()
        seeds.append(v[letters])
    return seeds
