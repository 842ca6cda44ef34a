"""Optimal random response: the most useful channel within a lift or LDP budget [ZDS §III-A2]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from sanitize.channel import Channel
from sanitize.lift import lift
from sanitize.measures import utility
from sanitize.mechanisms._column_generation import Envelope, lower_envelope
from sanitize.mechanisms._limits import check_positive
from sanitize.mechanisms._merging import as_budget
from sanitize.mechanisms._polytope import ResponsePolytope, check_kind
from sanitize.mechanisms._pool import ColumnPool
from sanitize.mechanisms._response_channel import response_channel
from sanitize.mechanisms._robust_response import robust_random_response
from sanitize.mechanisms._subset_merging import subset_merging
from sanitize.mechanisms._vertices import n_systems, vertices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution

# Up to this many small systems, writing down every vertex is quicker than looking for the right ones.
_ENUMERATED = 2_000
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class RandomResponse:
    """A random response, what it keeps, and how far from the best it can be.

    Attributes
    ----------
    channel : Channel
        P(y|x); each released symbol is a mixture of at most |S| public ones where the design is a vertex.
    utility : float
        I(X;Y) of this channel in nats, as measured.
    normalized_utility : float
        I(X;Y) / H(X); 1 where H(X) = 0.
    bound : float
        No channel within the budget has a larger I(X;Y), in nats.
    gap : float
        bound - utility, in nats; at least 0.
    n_columns : int
        Posteriors considered.
    status : str
        ``optimal`` (gap reached), ``time_limit``, ``interrupted``, or ``stalled`` (rounding keeps the gap open).
    """

    channel: Channel
    utility: float
    normalized_utility: float
    bound: float
    gap: float
    n_columns: int
    status: str


def optimal_random_response(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    gap: float = 1e-7,
    time_limit: float | None = None,
    confidence: float | ConfidenceSet | None = None,
) -> Channel:
    """Channel of the largest I(X;Y) within a lift or LDP budget [ZDS §III-A2].

    With Q = P(x|y), I(X;Y) = H(X) - Σ_y P(y) H(Q_y): the best channel mixes vertices of the polytope
    Π = {v: e^{-lower} <= Σ_x P(s|x) v(x) / P(s) <= e^{upper}} into P_X with the least entropy. For LDP, Π is
    {max lift <= e^eps min lift}. See `solve_optimal_random_response` for the certified gap.

    Guarantee
    ---------
    Every released symbol is within the budget under the law given (to 1e-12), or with a confidence under all its laws.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
    budget : LiftBudget, LDPBudget or float
        A number is symmetric local information privacy (LIP) in nats.
    gap : float
        Distance from the optimum that is good enough, in nats, > 0.
    time_limit : float, optional
        Seconds after which the best channel so far is returned.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every law that the counts allow at this confidence; without a certificate of the gap.

    Returns
    -------
    Channel
        One sparse stage.

    Raises
    ------
    InvalidBudget
        If there is no budget or it is of another kind.
    InvalidParameter
        If gap or time_limit is not a positive number.
    KeyboardInterrupt
        When interrupted; `solve_optimal_random_response` then returns the best so far instead.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> channel = optimal_random_response(joint, 0.3)
    >>> round(sz.normalized_utility(joint, channel), 4)
    0.7832
    >>> round(sz.normalized_utility(joint, sz.subset_merging(joint, 0.3)), 4)
    0.7482
    """
    if confidence is not None:
        return robust_random_response(joint, budget, confidence, gap=gap, time_limit=time_limit)
    response = solve_optimal_random_response(joint, budget, gap=gap, time_limit=time_limit)
    if response.status == "interrupted":
        raise KeyboardInterrupt
    return response.channel


def solve_optimal_random_response(
    joint: JointDistribution, budget: Budget | float, *, gap: float = 1e-7, time_limit: float | None = None
) -> RandomResponse:
    """Optimal random response with its utility, its bound and the certified gap [ZDS §III-A2].

    Small problems list all vertices of Π, which are polynomially many in |X| because a vertex has at most |S|
    letters (the paper calls them exponential). Larger ones generate columns: the dual prices μ of the mixture
    ask for min H(v) - μ·v over Π; linear programs and walks over neighbouring vertices find candidates, and
    branch and bound on boxes proves that none is left. At any time the mixture and the bound are valid, so a
    run stopped by the clock or by Ctrl-C returns what it has with an honest gap.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
    budget : LiftBudget, LDPBudget or float
        A number is symmetric local information privacy (LIP) in nats.
    gap : float
        Distance from the optimum that is good enough, in nats, > 0. Below about 1e-9 rounding decides.
    time_limit : float, optional
        Seconds after which the best so far is returned; the bound needs a first pass whatever the limit.

    Returns
    -------
    RandomResponse

    Raises
    ------
    InvalidBudget
        If there is no budget or it is of another kind.
    InvalidParameter
        If gap or time_limit is not a positive number.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> response = solve_optimal_random_response(joint, sz.LDPBudget(0.5))
    >>> response.status, response.gap < 1e-7, round(response.normalized_utility, 4)
    ('optimal', True, 0.7793)
    """
    budget = as_budget(budget)
    check_positive(gap=gap, time_limit=time_limit)
    check_kind(budget)
    return respond(joint, budget, np.arange(len(joint.public)), gap=gap, time_limit=time_limit).response(
        joint, budget, gap
    )


@dataclass(frozen=True, eq=False)
class Response:
    """Optimal response on a set of letters that is safe as a whole, before it is a channel.

    Attributes
    ----------
    letters, shares : list of ndarray
        Posteriors: their letters, as numbered in the whole law, and the probabilities of these.
    weights : ndarray
        P(y), in parts of the whole law.
    loss_bound : float
        Σ P(y) H(X|y) over these letters is at least this, in nats of the whole law.
    n_columns : int
    status : str
    """

    letters: list[NDArray[np.intp]]
    shares: list[NDArray[np.float64]]
    weights: NDArray[np.float64]
    loss_bound: float
    n_columns: int
    status: str

    @classmethod
    def union(cls, parts: Iterable[Response]) -> Response:
        """Responses on disjoint sets of letters, side by side."""
        every = list(parts)
        statuses = {part.status for part in every} - {"optimal"}
        return cls(
            [letters for part in every for letters in part.letters],
            [shares for part in every for shares in part.shares],
            np.concatenate([part.weights for part in every]),
            sum(part.loss_bound for part in every),
            sum(part.n_columns for part in every),
            min(statuses, default="optimal"),
        )

    def response(self, joint: JointDistribution, budget: Budget, gap: float) -> RandomResponse:
        """The channel, measured; repairs may leave more than the gap asked for, and then the status says so."""
        pool = ColumnPool(joint.p_x, self.letters, self.shares, [0.0] * len(self.letters))
        channel = response_channel(joint, budget, pool.matrix(), self.weights)
        kept = utility(joint, channel)
        entropy = float(entr(joint.p_x).sum())
        bound = max(entropy - self.loss_bound, kept)
        status = "stalled" if self.status == "optimal" and bound - kept > gap + _ROUNDING else self.status
        share = kept / entropy if entropy > 0 else 1.0
        return RandomResponse(channel, kept, share, bound, bound - kept, self.n_columns, status)


def respond(
    joint: JointDistribution,
    budget: Budget,
    letters: NDArray[np.intp],
    *,
    gap: float,
    time_limit: float | None = None,
    atoms: Iterable[NDArray[np.intp]] | None = None,
) -> Response:
    """Optimal response on some letters; ``atoms`` are safe sets of them that seed the search.

    Weights and the bound on Σ P(y) H(X|y) are in parts of the whole law.
    """
    total = float(joint.p_x[letters].sum())
    p_x = joint.p_x[letters] / total
    lifts = lift(joint)[:, letters]
    inner, outer = ResponsePolytope.inner(lifts, budget), ResponsePolytope.outer(lifts, budget)
    if not (budget.excess_of(lifts, joint.p_s) > 0).any():
        alone = [np.array([x]) for x in letters]
        return Response(alone, [np.ones(1)] * len(alone), joint.p_x[letters], 0.0, len(alone), "optimal")
    found = None
    if n_systems(*lifts.shape, is_ratio=math.isnan(inner.low)) <= _ENUMERATED:
        found = _enumerate(inner, outer, p_x, gap / total)
    if found is None:
        seeds = _seeds(joint, budget, letters, atoms)
        found = lower_envelope(inner, outer, p_x, seeds, gap=gap / total, time_limit=time_limit)
    pool, mixture = found.pool, found.mixture
    return Response(
        [letters[pool.letters[k]] for k in mixture.chosen],
        [pool.shares[k] for k in mixture.chosen],
        mixture.weights * total,
        found.bound * total,
        len(pool),
        found.status,
    )


def _enumerate(
    inner: ResponsePolytope, outer: ResponsePolytope, p_x: NDArray[np.float64], gap: float
) -> Envelope | None:
    """All vertices mixed; None where rounding at degenerate vertices leaves a gap, for the other route to close."""
    pool = ColumnPool(p_x)
    pool.add(p_x)
    for v in vertices(inner):
        pool.add(v)
    mixture = pool.mix()
    v = vertices(outer)
    worst = float((entr(v).sum(axis=1) - v @ mixture.mu).min()) if len(v) else -math.inf
    bound = float(mixture.mu @ p_x) + min(worst, 0.0)
    if not mixture.value - bound <= gap:
        return None
    return Envelope(pool, mixture, max(bound, 0.0), "optimal")


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
