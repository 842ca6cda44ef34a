"""Privacy-utility curve of a mechanism on a distribution: measured leakage and utility for each budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sanitize._util.tolerances import BUDGET
from sanitize.errors import InvalidParameter
from sanitize.release.choosing._candidates import Candidate, mechanism_name
from sanitize.report import TradeoffCurve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

    Mechanism = Callable[[JointDistribution, Any], Channel]


def tradeoff_curve(joint: JointDistribution, mechanism: Mechanism, budgets: Iterable[Budget | float]) -> TradeoffCurve:
    """Design a channel for each budget and measure its leakage about S and the information on X that it keeps.

    A channel within a tighter budget is within every looser budget. So where a design for another budget of the curve
    is within this one and keeps more, that design is used: a looser budget never keeps less.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    mechanism : callable
        Function that designs a channel from the distribution and a budget, such as `subset_merging`. The channel itself
        is measured; an estimator draws from it once more, which changes nothing for merging and can only lower the
        figures of a random response.
    budgets : iterable of Budget or float
        Passed to the mechanism unchanged; a number means the mechanism's own notion, and a larger number allows more.

    Returns
    -------
    TradeoffCurve

    Raises
    ------
    InvalidParameter
        If there is no budget.
    BudgetExceeded
        If a channel exceeds the budget it was designed for.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> curve = tradeoff_curve(joint, sz.watchdog, [0, 0.5, 1])
    >>> [round(point["normalized_utility"], 4) for point in curve.points]
    [0.7482, 0.7482, 1.0]
    >>> [round(point["max_log_lift"], 4) for point in curve.points]
    [0.0, 0.0, 0.47]
    """
    wanted = list(budgets)
    if not wanted:
        raise InvalidParameter("tradeoff_curve needs at least one budget, for example [0.1, 0.5, 1, 2]")
    candidates = [Candidate.design(joint, mechanism, budget) for budget in wanted]
    points = tuple(_most_useful(joint, candidate, candidates).point for candidate in candidates)
    return TradeoffCurve(mechanism_name(mechanism), points, candidates[0].report.measures)


def _most_useful(joint: JointDistribution, own: Candidate, candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate that keeps most within the budget of ``own``: ``own`` itself unless another keeps more."""
    for candidate in sorted(candidates, key=lambda candidate: -candidate.normalized_utility):
        if candidate.normalized_utility <= own.normalized_utility + BUDGET:
            break
        if candidate.serves(joint, own.budget):
            return candidate.within(joint, own.budget)
    return own
