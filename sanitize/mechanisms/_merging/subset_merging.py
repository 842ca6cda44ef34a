"""Subset merging: public symbols in small safe groups that keep as much as a search finds [ZDS §IV]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._progress import progress
from sanitize.budgets import as_budget
from sanitize.channel import HEURISTIC, Standing
from sanitize.joint import check_law
from sanitize.mechanisms._effort import effort_of
from sanitize.mechanisms._merging.local_search import LocalSearch
from sanitize.mechanisms._merging.risks import evened, merged_by_labels, set_risks, tighter_risks
from sanitize.mechanisms._merging.search import EXACT, search_partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort

# Sets judged by default: about a second up to 10,000 symbols, and some seconds for 100,000.
_EFFORT, _EFFORT_PER_SYMBOL = 2_000_000, 64
# Up to so many symbols, what is found with sides that are nearer to each other is improved too: up to three searches,
# each with a third of the effort, so that a search is the same whichever budget asks for it.
_EVENED, _SEARCHES = 100, 3
# Sets judged by a longer search, and atoms that it puts together anew at a time.
_LONG_EFFORT, _WINDOW = 20_000_000, 13


def subset_merging(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    effort: float | None = None,
    confidence: float | ConfidenceSet | None = None,
) -> Channel:
    """Merge public symbols into small safe groups that keep as much as a search finds [ZDS §IV].

    I(X;Y) = H(X) - Σ_G Σ_{x in G} P(x) log(P(G) / P(x)) is largest for many small groups, each safe by itself.
    Up to 17 symbols the best partition of all is found. Above, unsafe symbols are matched with what cancels them,
    in nearly linear time, and the better of several such starts, Algorithm 1 as printed among them up to 1,500
    symbols, is improved: windows of a few groups are taken apart and put together again in the best way. Where one
    side of the budget allows much more than the other, up to 100 symbols, what is found with more equal sides is
    improved too, so that a free side does not keep less than a bounded one. Algorithm 1 itself,
    `paper_subset_merging`, keeps up to 0.2 of normalised utility less, most at small budgets.

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
    effort : float, optional
        Sets of symbols to judge above 17 symbols, >= 1; by default two million, at least 64 a symbol, and
        up to 100 symbols six million, of which a search has a third.
        The starts are always finished.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every law that the counts allow at this confidence, instead of their frequencies
        alone; ``joint`` must be the frequencies of ``joint.n`` rows, and the budget a lift or LDP budget.

    Returns
    -------
    Channel
        Deterministic, from X to groups; released symbols come in the order of their first member. Its ``standing``
        says whether it is the best of all mergings.

    Raises
    ------
    InvalidBudget
        If there is no budget or it is not one.
    InvalidParameter
        If effort is not a number >= 1.

    See Also
    --------
    paper_subset_merging : Algorithm 1 as printed.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> subset_merging(joint, 0.3).outputs.symbols
    ('{0, 1}', '2', '3')
    """
    budget = as_budget(budget)
    account = _account(check_law(joint), effort)
    labels = found_partition(joint, budget, confidence, account)
    return merged_by_labels(joint, labels, _standing(joint, account))


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
    account = effort_of(effort, _LONG_EFFORT, time_limit)
    labels = found_partition(joint, budget, confidence, _account(check_law(joint)))
    if len(joint.p_x) > EXACT:
        with progress("subset merging") as show:
            search = LocalSearch(set_risks(joint, budget, confidence), joint.p_x, _WINDOW, account, show)
            labels = search.improved(labels)
    return merged_by_labels(joint, labels, _standing(joint, account))


def found_partition(
    joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None, account: Effort
) -> NDArray[np.intp]:
    """Label of a safe group for each symbol, from the search under this budget and under those that even it out."""
    known: list[NDArray[np.intp]] = []
    is_evened = EXACT < len(joint.p_x) <= _EVENED
    for within in [*(evened(budget) if is_evened else ()), budget]:
        part = account.part(1 / _SEARCHES if is_evened else 1.0)
        risks, tighter = set_risks(joint, within, confidence), tighter_risks(joint, within, confidence)
        known = [search_partition(risks, joint.p_x, part, tighter, known)]
        account.spend(part.spent)
    return known[0]


def _account(joint: JointDistribution, effort: float | None = None) -> Effort:
    """Sets that may be judged; by default more where there are more symbols."""
    n = len(joint.p_x)
    return effort_of(effort, max(_EFFORT * (_SEARCHES if n <= _EVENED else 1), _EFFORT_PER_SYMBOL * n))


def _standing(joint: JointDistribution, account: Effort) -> Standing:
    """What the search proves: the best of all partitions of a few symbols, and nothing above."""
    if len(joint.p_x) <= EXACT:
        return Standing("optimal", 0.0, "mergings")
    return Standing("cut short") if account.is_used() else HEURISTIC
