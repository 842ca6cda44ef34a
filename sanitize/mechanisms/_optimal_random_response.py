"""Optimal random response: the most useful channel within a lift or LDP budget [ZDS §III-A2]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.errors import InvalidParameter
from sanitize.mechanisms._merging import as_budget
from sanitize.mechanisms._polytope import check_kind
from sanitize.mechanisms._response import RandomResponse, respond

if TYPE_CHECKING:
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution


def optimal_random_response(
    joint: JointDistribution, budget: Budget | float, *, gap: float = 1e-7, time_limit: float | None = None
) -> Channel:
    """Channel of the largest I(X;Y) within a lift or LDP budget [ZDS §III-A2].

    With Q = P(x|y), I(X;Y) = H(X) - Σ_y P(y) H(Q_y): the best channel mixes vertices of the polytope
    Π = {v: e^{-lower} <= Σ_x P(s|x) v(x) / P(s) <= e^{upper}} into P_X with the least entropy. For LDP, Π is
    {max lift <= e^eps min lift}. See `solve_optimal_random_response` for the certified gap.

    Guarantee
    ---------
    Every released symbol is within the budget under the law given, as `Budget.excess` measures it (1e-12).

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


def check_positive(*, gap: float, time_limit: float | None) -> None:
    """Refuse a gap that is not a number > 0, and a time limit that is neither None nor a number > 0."""
    for name, value in {"gap": gap, "time_limit": np.inf if time_limit is None else time_limit}.items():
        is_number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
        if not (is_number and value > 0):
            raise InvalidParameter(f"{name} must be a number > 0, got {value!r}")
