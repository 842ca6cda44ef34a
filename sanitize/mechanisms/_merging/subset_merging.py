"""Subset merging, a search for small safe groups of public symbols that keep much information [ZDS §IV].

The search is exact for few symbols; otherwise it has several starts and improves them window by window.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._util.checks import Codes, Vector
from sanitize._util.progress import progress
from sanitize.core.budgets import CapacityBudget, CVaRLiftBudget, MeanBudget, as_budget
from sanitize.core.channel import HEURISTIC, Optimality
from sanitize.core.joint import check_distribution
from sanitize.mechanisms._effort import effort_account
from sanitize.mechanisms._merging.local_search import TIE, LocalSearch, partition_loss, partition_windows
from sanitize.mechanisms._merging.matching import match_groups
from sanitize.mechanisms._merging.risks import (
    absorb,
    by_size,
    even_budgets,
    group_labels,
    merge_by_labels,
    merging_groups,
    set_risks,
    set_sums,
    tighter_risks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._merging.risks import SetRisks

# Sets checked by default: about a second for up to 10,000 symbols, and some seconds for 100,000.
_EFFORT, _EFFORT_PER_SYMBOL = 2_000_000, 64
# Up to _EVENED symbols, partitions found under budgets with more equal sides are improved too. Each of up to three
# searches has a third of the effort, so that a search is the same for every budget that uses it.
_EVENED, _SEARCHES = 100, 3
# Sets checked by the longer search, ten times as many, and atoms in one of its windows, whose work each atom triples.
_LONG_EFFORT, _WINDOW = 20_000_000, 13
# Up to EXACT symbols the best of all partitions is found, up to _ONE_WINDOW in one window. Each symbol triples the
# work.
EXACT, _ONE_WINDOW = 17, 14
# Algorithm 1 gives a start if it takes a fraction of a second; its work is the square of the symbols times the rows.
_PAPER_SYMBOLS, _PAPER_CELLS = 1500, 60_000_000
# Up to _WALKED symbols, searches begin with a random walk, which takes too many rounds for more; above _SEVERAL, each
# start takes long, and only one in four tighter budgets gives starts.
_WALKED, _SEVERAL, _SPARED = 100, 300, 4


def subset_merging(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    effort: float | None = None,
    confidence: float | ConfidenceSet | None = None,
) -> Channel:
    """Design a channel that merges public symbols into small safe groups that keep much information [ZDS §IV].

    I(X;Y) = H(X) - Σ_G Σ_{x in G} P(x) log(P(G) / P(x)) is largest for many small groups, each safe by itself. Up to 17
    symbols the best partition of all is found. For more symbols, unsafe symbols are matched with symbols that cancel
    their lifts, in nearly linear time. The better of several such starts, up to 1,500 symbols also that of Algorithm 1
    as printed, are improved: windows of a few groups are split and reassembled in the best way. If one side of the
    budget allows much more than the other, up to 100 symbols, partitions found with more equal sides are improved too,
    so that a free side never keeps less than a bounded one. Algorithm 1 alone keeps up to 0.2 less normalised utility,
    mostly at small budgets.

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
    effort : float, optional
        Number of sets of symbols to check if there are more than 17 symbols, >= 1. The default is two million or 64 per
        symbol, whichever is larger; up to 100 symbols it is six million, a third of it for each search. The starts are
        always finished.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every distribution that the counts allow at this confidence, instead of their frequencies
        alone; ``joint`` must be the frequencies of ``joint.n`` rows, and the budget a lift or LDP budget.

    Returns
    -------
    Channel
        Deterministic, from X to groups; released symbols come in the order of their first member. Its ``optimality``
        says whether it is the best of all mergings.

    Raises
    ------
    InvalidBudget
        If the budget is missing or is not a budget.
    InvalidParameter
        If effort is not a number >= 1.

    See Also
    --------
    best_subset_merging : a longer search for the best partition.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> subset_merging(joint, 0.3).outputs.symbols
    ('{0, 1}', '2', '3')
    """
    budget, account = as_budget(budget, joint), _account(check_distribution(joint), effort)
    labels = find_partition(joint, budget, confidence, account)
    return merge_by_labels(joint, labels, _optimality(joint, budget, account))


def best_subset_merging(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    effort: float | None = None,
    time_limit: float | None = None,
    confidence: float | ConfidenceSet | None = None,
) -> Channel:
    """Design a channel that merges symbols, by a longer search; it keeps at least as much as `subset_merging`.

    I(X;Y) = H(X) - Σ_G Σ_{x in G} P(x) log(P(G) / P(x)) is maximal over all partitions of X into safe sets, low-risk
    symbols included, for up to 17 public symbols, as in `subset_merging`. For more symbols, the search of
    `subset_merging` goes on with larger windows and more effort.

    Guarantee
    ---------
    Every released symbol is within the budget under the distribution given, and I(X;Y) is at least that of
    `subset_merging`. With a confidence, the budget holds under every distribution of the confidence set.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : Budget or float
        A number is symmetric local information privacy (LIP) in nats.
    effort : float, optional
        Number of sets of symbols to check if there are more than 17 symbols, >= 1; by default twenty million.
    time_limit : float, optional
        Seconds for the search after `subset_merging`; the best partition found so far is then returned.
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
    >>> round(sz.normalized_utility(joint, sz.watchdog(joint, 0.3)), 4)
    0.4872
    """
    budget = as_budget(budget, joint)
    account = effort_account(effort, _LONG_EFFORT, time_limit)
    labels = find_partition(joint, budget, confidence, _account(check_distribution(joint)))
    if len(joint.p_x) > EXACT:
        with progress("subset merging") as show:
            search = LocalSearch(set_risks(joint, budget, confidence), joint.p_x, _WINDOW, account, show)
            labels = search.improve(labels)
    return merge_by_labels(joint, labels, _optimality(joint, budget, account))


def seed_groups(
    joint: JointDistribution,
    budget: Budget,
    share: float,
    seconds: float = math.inf,
    confidence: ConfidenceSet | None = None,
) -> list[Codes]:
    """Return the groups of `subset_merging`, searched with a share of the default effort and a time limit."""
    account = replace(_account(joint).part(min(share, 1.0)), seconds=seconds)
    return merging_groups(merge_by_labels(joint, find_partition(joint, budget, confidence, account), HEURISTIC))


def find_partition(
    joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None, account: Effort
) -> Codes:
    """Return a label of a safe group for each symbol, from searches under the budget and under more balanced ones."""
    starts: list[Codes] = []
    is_evened = EXACT < len(joint.p_x) <= _EVENED
    for even_budget in [*(even_budgets(budget) if is_evened else ()), budget]:
        part = account.part(1 / _SEARCHES if is_evened else 1.0)
        risks, tighter = set_risks(joint, even_budget, confidence), tighter_risks(joint, even_budget, confidence)
        starts = [search_partition(risks, joint.p_x, part, tighter, starts)]
        account.spend(part.spent)
    return starts[0]


def _account(joint: JointDistribution, effort: float | None = None) -> Effort:
    """Return an account of the sets that may be checked; the default grows with the number of symbols."""
    n = len(joint.p_x)
    return effort_account(effort, max(_EFFORT * (_SEARCHES if n <= _EVENED else 1), _EFFORT_PER_SYMBOL * n))


def _optimality(joint: JointDistribution, budget: Budget, account: Effort) -> Optimality:
    """Return the optimality that the search proves: optimal among mergings for few symbols, no claim otherwise.

    A merging may be within a budget on the whole release although some symbols are not; the search ignores such
    mergings.
    """
    if len(joint.p_x) <= EXACT:
        is_whole = isinstance(budget, (CapacityBudget, CVaRLiftBudget, MeanBudget))
        among = "mergings whose every symbol is within the budget" if is_whole else "mergings"
        return Optimality("optimal", 0.0, among)
    return Optimality("cut short") if account.is_used() else HEURISTIC


def search_partition(
    risks: SetRisks, p_x: Vector, effort: Effort, tighter: Iterable[SetRisks] = (), earlier_labels: Sequence[Codes] = ()
) -> Codes:
    """Return a label of a safe group for each symbol, shape (n,), chosen to keep much of I(X;Y).

    The result is optimal up to 17 symbols, and keeps at least as much as Algorithm 1 up to 1,500. Groups that are safe
    under tighter budgets are safe under this one, so up to 1,500 symbols they are starts too. The safe partitions in
    ``earlier_labels`` are improved along with the best starts, so that the result keeps at least as much as they keep.
    """
    n = len(p_x)
    if risks.safe(risks.columns).all():
        return np.arange(n)
    if n <= EXACT:
        effort.spend(1 << n)
        return best_partition(risks, p_x)
    # No rule is always the best. Partitions of the same cost are likely to be equal, so only one of them is a start.
    rules = [match_groups(risks, p_x, in_pairs=True)]
    if n <= 20_000:
        rules.append(match_groups(risks, p_x, in_pairs=False))
    if n <= _PAPER_SYMBOLS and n * n * len(risks.columns) <= _PAPER_CELLS:
        rules.append(group_labels(paper_groups(risks), n))
    if n <= _PAPER_SYMBOLS:
        nearby = islice(tighter, 0, None, 1 if n <= _SEVERAL else _SPARED)
        rules += [match_groups(tight_risk, p_x, in_pairs=pairs) for tight_risk in nearby for pairs in (True, False)]
    labels_by_cost: dict[float, Codes] = {}
    for labels in rules:
        labels_by_cost.setdefault(partition_loss(labels, p_x), np.unique(labels, return_inverse=True)[1])
    starts = [labels_by_cost[cost] for cost in sorted(labels_by_cost)]
    # Each atom of a window triples its work, and more symbols need more windows.
    size = next(atoms for most, atoms in ((24, 13), (40, 11), (64, 9), (np.inf, 8)) if n <= most)
    # Starts share the effort, so many symbols leave enough of it for one only.
    starts = starts[: next(n_starts for most, n_starts in ((100, 3), (300, 2), (np.inf, 1)) if n <= most)]
    with progress("subset merging") as show:
        partitions: list[Codes] = []
        for labels in [*earlier_labels, *starts]:
            search = LocalSearch(risks, p_x, size, effort.part(1 / (len(earlier_labels) + len(starts))), show)
            # Results of earlier searches come from a walk already.
            is_walked = n <= _WALKED and len(partitions) >= len(earlier_labels)
            partitions.append(search.improve(search.walk(labels) if is_walked else labels))
            effort.spend(search.effort.spent)
    return min(partitions, key=lambda labels: partition_loss(labels, p_x))


def paper_groups(risks: SetRisks) -> list[list[int]]:
    """Return the groups of [ZDS Algorithm 1]; symbols in no group stay alone.

    Each group starts from the riskiest remaining symbol and takes in, one at a time, the symbol that minimises the risk
    of the union, until the group is safe. If the last group stays unsafe, the group that minimises the risk of the
    union joins it, and so on; if all high-risk symbols together are unsafe, low-risk symbols join.

    The algorithm as printed is ambiguous; this follows the readings that reproduce the paper's curves: risk is
    log Λ - log Ψ, the outer loop runs while high-risk symbols remain, the set checked last is the last one
    built, ties go to the lowest index, and safe means within 1e-12.
    """
    low = risks.safe(risks.columns)
    groups: list[list[int]] = []
    columns: list[Vector] = []
    left, risk = np.flatnonzero(~low), risks.risk(risks.columns)
    while len(left):  # groups of high-risk symbols; all but possibly the last are safe
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


def best_partition(risks: SetRisks, p_x: Vector) -> Codes:
    """Return labels of the partition of a few symbols into safe sets that keeps the most information."""
    if len(p_x) > _ONE_WINDOW:
        return group_labels(exact_partition(risks.columns, p_x, risks) or [range(len(p_x))], len(p_x))
    sets, value = partition_windows(risks.columns[:, :, None], p_x[:, None], risks)
    # All symbols together have lift 1, so they are safe even if rounding says otherwise.
    return np.unique(sets[:, 0], return_inverse=True)[1] if np.isfinite(value[0]) else np.zeros(len(p_x), np.intp)


def exact_partition(letters: Vector, p_x: Vector, risks: SetRisks) -> list[list[int]]:
    """Partition k letters into safe sets with the least H(X|Y).

    ``letters`` has a column for each letter, from which ``risks`` decides whether a set is safe; ``p_x`` is the
    distribution of the letters. The least cost of a set A is best[A] = min cost(B) + best[A - B]. The minimum is over
    safe sets B in A that contain the lowest letter of A, and cost(B) = Σ_{x in B} P(x) log(P(B) / P(x)). Sets are bit
    masks. A set that is itself a union of disjoint safe sets is skipped, because splitting it never loses utility.

    Returns
    -------
    list of list of int
        Blocks of the partition; empty if all letters together are not a safe set.
    """
    k = len(p_x)
    mass, terms = set_sums(np.stack([p_x, xlogy(p_x, p_x)]))
    cost = xlogy(mass, mass) - terms
    safe = np.append(False, risks.safe(set_sums(letters)[:, 1:]))
    size = set_sums(np.ones((1, k), np.int8))[0]
    best, chosen = np.full(1 << k, np.inf), np.zeros(1 << k, np.int64)
    best[0] = 0.0
    for lowest in range(k - 1, -1, -1):
        sets = (np.arange(1 << (k - 1 - lowest)) * 2 + 1) << lowest
        sets = sets[safe[sets]]
        for block in sets[np.argsort(size[sets], kind="stable")].tolist():
            if best[block] <= cost[block] + TIE:
                continue
            remainders = set_sums(np.array([[1 << x for x in range(lowest + 1, k) if not block >> x & 1]], np.int64))[0]
            total = cost[block] + best[remainders]
            union = remainders | block
            better = np.flatnonzero(total < best[union] - TIE)
            best[union[better]] = total[better]
            chosen[union[better]] = block
    blocks, left = [], (1 << k) - 1
    while left and np.isfinite(best[-1]):
        block = int(chosen[left])
        blocks.append([x for x in range(k) if block >> x & 1])
        left ^= block
    return blocks
