"""The watchdog mechanism: complete merging of high-risk symbols [ZDS §III]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.budgets import as_budget
from sanitize.mechanisms._merging.risks import absorb, merge_channel, set_risks

if TYPE_CHECKING:
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution


def watchdog(
    joint: JointDistribution, budget: Budget | float, *, confidence: float | ConfidenceSet | None = None
) -> Channel:
    """Release low-risk symbols as they are and merge all high-risk ones into one [ZDS §III].

    A symbol is high-risk when it exceeds the budget by itself. Merging is an X-invariant randomisation, which
    minimises the leakage of the merged set [ZDS Thm 1]. Where even the merged set exceeds the budget, low-risk
    symbols join it one at a time, the one that lowers its risk most first; all of X merged leaks nothing, so
    this ends.

    Guarantee
    ---------
    Every released symbol is within the budget under the law given, for any budget >= 0; with a confidence, under
    every law of the confidence set. All of X merged has lift 1 in every law, so there always is such a channel.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
    budget : Budget or float
        A number is symmetric local information privacy (LIP) in nats.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every law that the counts allow at this confidence, instead of their frequencies
        alone; ``joint`` must be the frequencies of ``joint.n`` rows, and the budget a lift or LDP budget.

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
    risks = set_risks(joint, budget, confidence)
    columns = risks.columns
    low = risks.safe(columns)
    high_risk, low_risk = np.flatnonzero(~low), np.flatnonzero(low)
    if not len(high_risk):
        return merge_channel(joint, [])
    merged = columns[:, high_risk].sum(axis=1)
    _, taken = absorb(risks, merged, columns[:, low_risk])
    return merge_channel(joint, [[*high_risk, *low_risk[taken]]])
