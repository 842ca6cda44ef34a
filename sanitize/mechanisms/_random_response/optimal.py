"""Optimal random response, the channel with the largest I(X;Y) within a budget on lifts or averages [ZDS §III-A2]."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.tolerances import BUDGET
from sanitize.core.budgets import AveragedBudget, MeanBudget, limits_for
from sanitize.core.channel import HEURISTIC
from sanitize.errors import ColumnError, InvalidBudget, InvalidParameter
from sanitize.mechanisms._effort import Status, effort_account
from sanitize.mechanisms._merging.subset_merging import seed_groups
from sanitize.mechanisms._random_response.averaged import average_response
from sanitize.mechanisms._random_response.funnel import funnel_response
from sanitize.mechanisms._random_response.robust import robust_random_response
from sanitize.mechanisms._random_response.subset import deal_groups
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, Problem, RandomResponse, solve_within_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from sanitize._util.checks import Codes
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort


# Share of the effort or time; the rest is for a response inside blocks if the whole search was cut short.
_WHOLE = 0.8


def optimal_random_response(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    gap: float = 1e-7,
    effort: float | None = None,
    time_limit: float | None = None,
    confidence: float | ConfidenceSet | None = None,
    target: ArrayLike | None = None,
    side_columns: str | Sequence[str] | ArrayLike = (),
    keep: Sequence[str] = (),
    keep_margin: bool = False,
) -> Channel:
    """Design the channel with the largest I(X;Y) within a budget on lifts or on averages of lifts [ZDS §III-A2].

    With Q = P(x|y), I(X;Y) = H(X) - Σ_y P(y) H(Q_y): the best channel mixes vertices of the polytope Π = {v: e^{-lower}
    <= Σ_x P(s|x) v(x) / P(s) <= e^{upper}} into P_X with the least entropy. For LDP, Π is {max lift <= e^eps min lift}.
    With ``lower=inf`` the budget limits pointwise maximal leakage, the max-lift alone. See
    `solve_optimal_random_response` for the certified gap. If the search is cut short, as with thousands of symbols, the
    response inside blocks of 32 symbols is returned if it keeps more.

    With a target T the channel has the largest I(T;Y) instead: H(T|y) is concave in Q like H(Q), so the same vertices
    and certificates apply.

    Within a budget on the l1-, chi2- or alpha-lift, the best channel mixes posteriors on the border of a set that is
    not a polytope (except for the l1-lift alone). The gap is still proved, within about half a minute for 17 public and
    5 sensitive symbols.

    Guarantee
    ---------
    Every released symbol is within the budget under the distribution given (to 1e-12), or with a confidence under all
    its distributions; with ``side_columns``, also in each given case, and in no other case. Knowing that one of two
    cases holds is a case of its own, which can exceed a limit that both cases meet: by half of the limit, with three
    values.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : Budget or float
        LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget, AlphaLiftBudget, or a budget on a mean. A number is
        symmetric local information privacy (LIP) in nats. The limits of an averaged budget are met too; none of them
        may be 1. For a `MutualInformationBudget`, `TotalVariationBudget` or `MaximalLeakageBudget` the channel is the
        privacy funnel [MSFM14], with its gap.
    gap : float
        Distance from the optimum that is good enough, in nats, > 0.
    effort : float, optional
        Entries of linear programs to solve, >= 1: by default four hundred million, about half a minute. The same
        effort gives the same channel on every machine whose SciPy has the same version of HiGHS, also where it cuts
        the search short.
    time_limit : float, optional
        Seconds after which the best channel found so far is returned; for interactive use, because the result depends
        on the machine.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every distribution that the counts allow at this confidence; with ``target``
        the gap is not certified.
    target : array-like of shape (n_t, n_x), optional
        P(t|x) of a variable T that matters, with T - X - Y; by default X itself.
    side_columns : str, sequence of str, or array-like of shape (n_w, n_s, n_x)
        Public columns of which a reader may know any subset for a row: P(s|y,w) / P(s|w) is then within the budget too,
        for the values w of every subset. Alternatively, P(w, s, x) for any other side information W with (S, W) - X -
        Y. Cases w may overlap; the sum of some cases is the case of a reader who knows that one of them holds. Coarser
        knowledge of a column, such as an age group, is such a sum: give it as a case or as a column.
    keep : sequence of str
        Public columns that are released unchanged: no released symbol mixes two of their values, and the budget covers
        what these values and the symbol reveal together.
    keep_margin : bool
        Replace each released symbol by a symbol of X drawn from its posterior. Released shares are then those of X, P_Y
        = P_X, with no more leakage and less utility, both by data processing. Estimators do this.

    Returns
    -------
    Channel
        One sparse stage; its ``optimality`` says whether it is optimal, within which gap, or cut short. With
        ``keep_margin`` two stages, from X to X, and no gap is known.

    Raises
    ------
    InvalidBudget
        If the budget is missing or of another kind.
    InvalidParameter
        If gap, effort or time_limit is not a positive number, or ``side_columns`` or ``keep`` is combined with a
        confidence.
    ColumnError
        If a known column is not public, or a kept one is over the budget by itself.
    KeyboardInterrupt
        If interrupted; `solve_optimal_random_response` returns the best response so far instead.

    Examples
    --------
    >>> import numpy as np
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> channel = optimal_random_response(joint, 0.3)
    >>> round(sz.normalized_utility(joint, channel), 4)
    0.7832
    >>> round(sz.normalized_utility(joint, sz.subset_merging(joint, 0.3)), 4)
    0.7482
    >>> joint.push(optimal_random_response(joint, 0.3, keep_margin=True)).p_x.round(12)
    array([0.25, 0.25, 0.3 , 0.2 ])

    Whoever knows the class of a passenger learns more, or as little as anybody else:

    >>> joint = sz.JointDistribution.from_frame(sz.datasets.load_titanic(), "survived", ["class", "sex"])
    >>> budget = sz.LiftBudget(at_most=1.65, at_least=0.37)
    >>> channels = [optimal_random_response(joint, budget, side_columns=columns) for columns in ([], ["class"])]
    >>> [float(round(np.exp(sz.core.measures.side_knowledge(joint, channel, ["class"])[1]), 2)) for channel in channels]
    [3.63, 1.65]
    >>> [round(sz.normalized_utility(joint, channel), 3) for channel in channels]
    [0.897, 0.842]
    """
    response = solve_optimal_random_response(
        joint,
        budget,
        gap=gap,
        effort=effort,
        time_limit=time_limit,
        target=target,
        side_columns=side_columns,
        keep=keep,
        confidence=confidence,
    )
    channel = response.released()
    if confidence is not None and target is not None:
        channel = channel.with_optimality(HEURISTIC)
    return channel.then(channel.reversed(joint.p_x)).with_optimality(HEURISTIC) if keep_margin else channel


def solve_optimal_random_response(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    gap: float = 1e-7,
    effort: float | None = None,
    time_limit: float | None = None,
    target: ArrayLike | None = None,
    side_columns: str | Sequence[str] | ArrayLike = (),
    keep: Sequence[str] = (),
    confidence: float | ConfidenceSet | None = None,
) -> RandomResponse:
    """Find the optimal random response, and return it with its utility, bound and certified gap [ZDS §III-A2].

    Small problems list all vertices of Π, which are polynomially many in |X| because a vertex has at most |S| letters
    (the paper calls them exponential). Larger ones generate columns: the dual prices μ of the mixture ask for min H(v)
    - μ·v over Π; linear programs and walks over neighbouring vertices find candidates, and branch and bound on boxes
    proves that none is left. The mixture and the bound are valid at any time, so a run stopped by the clock or by
    Ctrl-C returns its best response with a valid gap.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget, AlphaLiftBudget, a budget on a mean, or float
        A number is symmetric local information privacy (LIP) in nats.
    gap : float
        Distance from the optimum that is good enough, in nats, > 0. Below about 1e-9 rounding decides.
    effort : float, optional
        Entries of linear programs to solve, >= 1: by default four hundred million, about half a minute. The same
        effort gives the same channel on every machine whose SciPy has the same version of HiGHS, also where it cuts
        the search short.
    time_limit : float, optional
        Seconds after which the best response so far is returned; the first pass of the bound is always finished.
    target : array-like of shape (n_t, n_x), optional
        P(t|x) of a variable T that matters, with T - X - Y; by default X itself.
    side_columns : str, sequence of str, or array-like of shape (n_w, n_s, n_x)
        Public columns of which a reader may know any subset for a row, or P(w, s, x); the bound is over channels that
        are within the budget for all such readers.
    keep : sequence of str
        Public columns of which no released symbol mixes two values; the bound is over channels that keep these columns.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every distribution that the counts allow at this confidence. The bound is then on I(X;Y),
        under the frequencies, over all channels that meet it. With ``target`` the bound is only the entropy of T.

    Returns
    -------
    RandomResponse

    Raises
    ------
    InvalidBudget
        If the budget is missing or of another kind.
    InvalidParameter
        If gap, effort or time_limit is not a positive number.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> response = solve_optimal_random_response(joint, sz.LDPBudget(0.5))
    >>> response.status.value, response.gap < 1e-7, round(response.normalized_utility, 4)
    ('optimal', True, 0.7793)
    >>> response = solve_optimal_random_response(joint, sz.core.budgets.MutualInformationBudget(0.02))
    >>> response.status.value, response.gap < 1e-7, round(response.normalized_utility, 4)
    ('optimal', True, 0.8004)
    """
    account = effort_account(effort, RESPONSE_EFFORT, time_limit)
    has_side, has_kept = len(side_columns) > 0, len(keep) > 0  # type: ignore[arg-type]
    if isinstance(budget, AveragedBudget | MeanBudget):
        is_mean = isinstance(budget, MeanBudget)
        if confidence is not None or has_side or has_kept or (is_mean and target is not None):
            refused = "confidence, target, side_columns or keep" if is_mean else "confidence, side_columns or keep"
            raise InvalidBudget(f"{type(budget).__name__} takes no {refused}; give a LiftBudget to use them")
        if isinstance(budget, AveragedBudget):
            return average_response(joint, budget, gap, account, target)
        return funnel_response(joint, budget, gap, account)
    problem = Problem.from_request(joint, budget, gap, target, side_columns if has_side else ())
    if (confidence is not None) + (problem.side is not None) + has_kept > 1:
        raise InvalidParameter(
            "give only one of confidence, side_columns and keep: with side_columns or keep, the limit covers only the "
            "rows of the table and not the population"
        )
    if confidence is not None:
        return robust_random_response(problem, confidence, account)
    if has_kept:
        groups = kept_groups(problem.joint, keep, problem.budget)
        blocks = [[np.flatnonzero(groups == group)] for group in np.unique(groups)]
        return solve_within_blocks(replace(problem, groups=groups), blocks, account)
    share = _WHOLE if account.seconds < math.inf else 1.0
    return _better(problem, solve_within_blocks(problem, None, account.part(share)), account)


def kept_groups(joint: JointDistribution, keep: Sequence[str], budget: Budget) -> Codes:
    """Return a group number for each public symbol, equal for symbols with the same values in the kept columns.

    Raises
    ------
    ColumnError
        If a kept column, or all of them together, exceed the budget by themselves.
    """
    limits = limits_for(budget, joint.sensitive)
    groups = np.zeros(len(joint.public), np.intp)
    for names in dict.fromkeys([*((name,) for name in keep), tuple(keep)]):
        groups = joint.public.group_by(names)
        masses = np.stack([np.bincount(groups, mass) for mass in joint.pmf])
        lifts = masses / masses.sum(axis=0) / joint.p_s[:, None]
        if (limits.lift_excess(lifts, joint.p_s) > BUDGET).any():
            listed = ", ".join(map(repr, names))
            raise ColumnError(
                f"keeping {listed} unchanged would reveal more than the limit allows; cut the values into coarser "
                "bins, loosen the limit, or remove columns from keep",
                names[0] if len(names) == 1 else None,
            )
    return groups


def _better(problem: Problem, response: RandomResponse, account: Effort) -> RandomResponse:
    """Return the response or, if its search was cut short and a response in blocks keeps more, the latter."""
    if response.status not in {Status.EFFORT, Status.TIME_LIMIT} or problem.side is not None or account.is_late():
        return response
    blocks = deal_groups(seed_groups(problem.joint, problem.budget, 1.0, (1 - _WHOLE) * account.seconds))
    if len(blocks) == 1:
        return response
    try:
        block_response = solve_within_blocks(problem, blocks, account.part(1 - _WHOLE))
    except KeyboardInterrupt:
        return replace(response, status=Status.INTERRUPTED)
    if block_response.utility <= response.utility:
        return response
    gap = max(response.bound - block_response.utility, 0.0)
    bound, status = block_response.utility + gap, response.status
    return replace(block_response, bound=bound, gap=gap, n_columns=response.n_columns, status=status)
