"""Watchdog mechanism, which merges all high-risk symbols [ZDS §III]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._util.arithmetic import product
from sanitize._util.checks import Codes, Vector
from sanitize.core.budgets import as_budget
from sanitize.mechanisms._merging.risks import (
    OrderedRisks,
    absorb,
    even_budgets,
    merge_channel,
    set_risks,
    tighter_risks,
)

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._merging.risks import SetRisks

# Up to _EVERY symbols that may join, every choice is compared: 4,096 sets in one array. Up to _SEVERAL, several orders
# of growing are tried, which take too long for more.
_EVERY, _SEVERAL = 12, 1500
# Members that join or leave at once: one in _SHARE of those that already have, so that few steps are needed.
_SHARE = 16


def watchdog(
    joint: JointDistribution, budget: Budget | float, *, confidence: float | ConfidenceSet | None = None
) -> Channel:
    """Design a channel that releases low-risk symbols unchanged and merges all high-risk ones into one [ZDS §III].

    A symbol is high-risk when it exceeds the budget by itself. Merging is an X-invariant randomisation, which minimises
    the leakage of the merged set [ZDS Thm 1]. If even the merged set exceeds the budget, low-risk symbols join it until
    it is safe, those that lower its risk most first; symbols that turn out to be unnecessary leave it again. The
    cheapest of several such sets is used, or of all possible sets if at most 12 symbols may join. All of X merged leaks
    nothing, so a safe set always exists.

    Guarantee
    ---------
    Every released symbol is within the budget under the distribution given, for any budget >= 0; with a confidence,
    under every distribution of the confidence set. All of X merged has lift 1 in every distribution, so there always is
    such a channel.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : Budget or float
        A number is symmetric local information privacy (LIP) in nats.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every distribution that the counts allow at this confidence, instead of their frequencies
        alone; ``joint`` must be the frequencies of ``joint.n`` rows, and the budget a lift or LDP budget.

    Returns
    -------
    Channel
        Deterministic, from X to groups.

    Raises
    ------
    InvalidBudget
        If the budget is missing or is not a budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> watchdog(joint, 0.3).matrix
    array([[1., 0., 0.],
           [1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    budget = as_budget(budget, joint)
    merged = _find_set(joint, budget, confidence)
    return merge_channel(joint, [merged] if len(merged) else [])


def _find_set(joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None) -> Codes:
    """Return the symbols to merge: the cheapest candidate set of all high-risk symbols and some low-risk symbols.

    If at most 12 symbols may join, the set is the cheapest of all: see proof 1 in docs/theory/proofs.md.
    """
    risks = set_risks(joint, budget, confidence)
    low = risks.safe(risks.columns)
    high_risk, low_risk = np.flatnonzero(~low), np.flatnonzero(low)
    if not len(high_risk) or risks.is_safe(risks.columns[:, high_risk].sum(axis=1)):
        return high_risk
    if len(low_risk) <= _EVERY:
        choices, p_x = np.arange(1 << len(low_risk))[:, None], joint.p_x
        joined = (choices >> np.arange(len(low_risk)) & 1).astype(np.float64)
        columns = risks.columns[:, high_risk].sum(axis=1, keepdims=True) + product(risks.columns[:, low_risk], joined.T)
        masses = p_x[high_risk].sum() + product(joined, p_x[low_risk])
        costs = (xlogy(masses, masses) - product(joined, xlogy(p_x[low_risk], p_x[low_risk]))).round(12)
        safe = risks.safe(columns)
        safe[-1] = True  # all of X merged reveals nothing, whatever rounding says
        return np.concatenate([high_risk, low_risk[joined[int(np.where(safe, costs, np.inf).argmin())] == 1]])
    orders = [risks, *(tighter_risks(joint, budget, confidence) if len(low) <= _SEVERAL else ())]
    candidates = [set_that_is_safe(risks, high_risk, low_risk, joint.p_x, search_risks) for search_risks in orders]
    if len(low) <= _SEVERAL:
        for even_budget in even_budgets(budget):
            # A set merged within a tighter budget contains all high-risk symbols of this budget, and is safe here.
            taken = np.setdiff1d(_find_set(joint, even_budget, confidence), high_risk)
            candidates.append(_prune_members(risks, high_risk, taken, joint.p_x))
    return min(candidates, key=lambda members: merging_costs(joint.p_x, members))


def set_that_is_safe(risks: SetRisks, core: Codes, pool: Codes, p_x: Vector, search_risks: SetRisks) -> Codes:
    """Return the members of a safe set that contains the core and the necessary part of the pool.

    Parameters
    ----------
    risks : SetRisks
        Risks that decide which sets are safe.
    core, pool : ndarray of int
        Codes that must be in the set, and codes that may be in it.
    p_x : ndarray of shape (n,)
    search_risks : SetRisks
        Risks that decide which member lowers the risk most; risks under a tighter budget may give a better order.
    """
    ordered_risks = OrderedRisks(np.concatenate([risks.columns, search_risks.columns]), risks, search_risks)
    beyond = ~search_risks.safe(search_risks.columns[:, pool])
    sets = []
    # One by one, symbols that exceed a tighter budget may each make the set riskier although together they balance.
    for first in (pool[:0], pool[beyond]) if beyond.any() else (pool[:0],):
        later_pool = np.setdiff1d(pool, first)
        column = ordered_risks.columns[:, np.concatenate([core, first])].sum(axis=1)
        taken = absorb(ordered_risks, column, ordered_risks.columns[:, later_pool], _SHARE)[1]
        sets.append(_prune_members(risks, core, np.concatenate([first, later_pool[taken]]), p_x))
    return min(sets, key=lambda members: merging_costs(p_x, members))


def merging_costs(p_x: Vector, members: Codes) -> float:
    """Loss of I(X;Y) from merging some symbols, in nats: Σ P(x) log(P(G) / P(x))."""
    mass = p_x[members]
    return float(xlogy(mass.sum(), mass.sum()) - xlogy(mass, mass).sum())


def _prune_members(risks: SetRisks, core: Codes, taken: Codes, p_x: Vector) -> Codes:
    """Drop members outside the core while the set stays safe, most costly first, and return all that are left."""
    members = np.sort(taken)
    base = risks.columns[:, core].sum(axis=1)
    while len(members):
        column = base + risks.columns[:, members].sum(axis=1)
        may_leave = np.flatnonzero(risks.safe(column[:, None] - risks.columns[:, members]))
        order = may_leave[np.argsort(-p_x[members[may_leave]], kind="stable")]
        if not len(order):
            break
        several = order[: max(len(members) // _SHARE, 1)]
        stays_safe = risks.safe(column[:, None] - risks.columns[:, members[several]].cumsum(axis=1))
        # Dropping the first alone is safe; drop as many more as leave the set safe at every step.
        n = max(int(np.append(~stays_safe, True).argmax()), 1)
        left = np.delete(members, several[:n])
        if not risks.is_safe(base + risks.columns[:, left].sum(axis=1)):
            break
        members = left
    return np.concatenate([core, members])
