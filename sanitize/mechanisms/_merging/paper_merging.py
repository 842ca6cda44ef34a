"""Subset merging as printed: high-risk symbols merged in small safe groups [ZDS §IV, Algorithm 1]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Vector
from sanitize.core.budgets import as_budget
from sanitize.mechanisms._merging.risks import absorb, by_size, merge_channel, set_risks

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._merging.risks import SetRisks


def paper_subset_merging(
    joint: JointDistribution, budget: Budget | float, *, confidence: float | ConfidenceSet | None = None
) -> Channel:
    """Release low-risk symbols as they are and merge high-risk ones into several safe groups [ZDS Alg. 1].

    Each group starts from the riskiest symbol left and takes in, one at a time, the symbol that minimises the
    risk of the union, until the group is safe. If the last group stays unsafe, the group that minimises the
    risk of the union joins it, and so on; if everything high-risk together is unsafe, low-risk symbols join.
    Splitting a set never loses utility, so this keeps at least what `watchdog` keeps of the same symbols.

    The algorithm as printed is ambiguous; this follows the readings that reproduce the paper's curves: risk is
    log Λ - log Ψ, the outer loop runs while high-risk symbols remain, the set checked last is the last one
    built, ties go to the lowest index, and safe means within 1e-12. Its work grows with the square of the number
    of high-risk symbols, and where sensitive symbols are ruled out all risks are infinite and the lowest index wins:
    `subset_merging` has neither weakness.

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
        If there is no budget or it is not one.

    See Also
    --------
    subset_merging : a search for better groups, never worse on alphabets where this is quick.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> paper_subset_merging(joint, 0.3).outputs.symbols
    ('{0, 1}', '2', '3')
    """
    return merge_channel(joint, paper_groups(set_risks(joint, as_budget(budget, joint), confidence)))


def paper_groups(risks: SetRisks) -> list[list[int]]:
    """Groups of Algorithm 1; symbols in none of them stay alone."""
    low = risks.safe(risks.columns)
    groups: list[list[int]] = []
    columns: list[Vector] = []
    left, risk = np.flatnonzero(~low), risks.risk(risks.columns)
    while len(left):  # groups of high-risk symbols, all safe but perhaps the last
        seed = int(by_size(-risk[left]).argmin())
        first, left = int(left[seed]), np.delete(left, seed)
        column, taken = absorb(risks, risks.columns[:, first], risks.columns[:, left])
        groups.append([first, *left[taken].tolist()])
        columns.append(column)
        left = np.delete(left, taken)
    if groups and not risks.is_safe(columns[-1]):
        group_columns = np.array(columns[:-1]).reshape(-1, len(risks.columns)).T
        last, taken = absorb(risks, columns[-1], group_columns)
        merged = [*groups[-1], *(x for i in taken for x in groups[i])]
        groups = [group for i, group in enumerate(groups[:-1]) if i not in set(taken)]
        low_risk = np.flatnonzero(low)
        _, joined = absorb(risks, last, risks.columns[:, low_risk])
        groups.append([*merged, *low_risk[joined].tolist()])
    return groups
