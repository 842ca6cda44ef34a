"""A longer search for merging: larger windows and more effort."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._progress import progress
from sanitize.budgets import as_budget
from sanitize.errors import InvalidParameter
from sanitize.mechanisms._merging.partition_search import EXACT
from sanitize.mechanisms._merging.repartition import improved
from sanitize.mechanisms._merging.risks import merged_by_labels, set_risks
from sanitize.mechanisms._merging.subset_merging import found_partition, merging_effort, standing_of
from sanitize.mechanisms._random_response.effort import effort_of

if TYPE_CHECKING:
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution

_EFFORT = 20_000_000
_WINDOW = 13  # atoms put together anew at a time


def best_subset_merging(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    effort: float | None = None,
    time_limit: float | None = None,
    confidence: float | ConfidenceSet | None = None,
) -> Channel:
    """Merge public symbols into safe groups that keep the most; never worse than `subset_merging`.

    I(X;Y) = H(X) - Σ_G Σ_{x in G} P(x) log(P(G) / P(x)) is maximal over all partitions of X into safe sets, low-risk
    symbols included, for up to 17 public symbols, as in `subset_merging`. Above, that search goes on with larger
    windows and more effort.

    Guarantee
    ---------
    Every released symbol is within the budget under the law given, and I(X;Y) is at least that of
    `subset_merging`. With a confidence, the budget holds under every law of the confidence set.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
    budget : Budget or float
        A number is symmetric local information privacy (LIP) in nats.
    effort : float, optional
        Sets of symbols to judge above 17 symbols, >= 1; by default twenty million.
    time_limit : float, optional
        Seconds for what comes after `subset_merging`; the best partition so far is returned.
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
    InvalidParameter
        If effort is not a number >= 1, or time_limit not a positive number.

    Examples
    --------
    >>> import sanitize as sz
    >>> rng = np.random.default_rng(2)
    >>> cells = rng.random((3, 9))
    >>> joint = sz.JointDistribution.from_matrix(cells / cells.sum())
    >>> round(sz.normalized_utility(joint, best_subset_merging(joint, 0.3)), 4)
    0.8032
    >>> round(sz.normalized_utility(joint, sz.mechanisms.paper_subset_merging(joint, 0.3)), 4)
    0.6823
    """
    budget = as_budget(budget)
    is_number = isinstance(time_limit, (int, float, np.floating, np.integer)) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit > 0):
        raise InvalidParameter(f"time_limit must be a number of seconds > 0, got {time_limit!r}")
    risks = set_risks(joint, budget, confidence)
    account = effort_of(effort, _EFFORT, time_limit)
    labels = found_partition(joint, budget, confidence, merging_effort(joint))
    if len(joint.p_x) <= EXACT:
        return merged_by_labels(joint, labels, standing_of(joint, account))
    with progress("subset merging") as show:
        labels = improved(labels, risks, joint.p_x, _WINDOW, account, show)
    return merged_by_labels(joint, labels, standing_of(joint, account))
