"""The watchdog mechanism: complete merging of high-risk symbols [ZDS §III]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._merging import RiskOfSets, absorb, as_budget, merge_channel

if TYPE_CHECKING:
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution


def watchdog(joint: JointDistribution, budget: Budget | float) -> Channel:
    """Release low-risk symbols as they are and merge all high-risk ones into one [ZDS §III].

    A symbol is high-risk when it exceeds the budget by itself. Merging is an X-invariant randomisation, which
    minimises the leakage of the merged set [ZDS Thm 1]. Where even the merged set exceeds the budget, low-risk
    symbols join it one at a time, the one that lowers its risk most first; all of X merged leaks nothing, so
    this ends.

    Guarantee
    ---------
    Every released symbol is within the budget under the law given, for any budget >= 0.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
    budget : Budget or float
        A number is symmetric local information privacy (LIP) in nats.

    Returns
    -------
    Channel
        Deterministic, from X to groups.

    Raises
    ------
    InvalidBudget
        If there is no budget or it is not one.

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
    budget = as_budget(budget)
    risks = RiskOfSets.of(joint, budget)
    low = risks.safe(joint.pmf)
    high_risk, low_risk = np.flatnonzero(~low), np.flatnonzero(low)
    if not len(high_risk):
        return merge_channel(joint, [])
    merged = joint.pmf[:, high_risk].sum(axis=1)
    _, taken = absorb(risks, merged, joint.pmf[:, low_risk])
    return merge_channel(joint, [[*high_risk, *low_risk[taken]]])
