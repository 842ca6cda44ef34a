"""Better partitions for merging: exact for few letters, and exact re-partition of a few blocks at a time above."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._progress import progress
from sanitize.budgets import as_budget
from sanitize.errors import InvalidParameter
from sanitize.mechanisms._merging.exact_partition import exact_partition
from sanitize.mechanisms._merging.risks import merge_channel, set_risks
from sanitize.mechanisms._merging.subset_merging import subset_merging

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.confidence import ConfidenceSet
    from sanitize.joint import JointDistribution
    from sanitize.mechanisms._merging.risks import SetRisks

_EXACT_LETTERS = 17
_WINDOW = 11  # letters re-partitioned exactly at a time
_TRIES = 30  # fruitless windows around a block before it rests
_GAIN = 1e-12


def best_subset_merging(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    time_limit: float | None = None,
    confidence: float | ConfidenceSet | None = None,
) -> Channel:
    """Merge public symbols into safe groups that keep the most; never worse than `subset_merging`.

    I(X;Y) = H(X) - Σ_G Σ_{x in G} P(x) log(P(G) / P(x)) is maximal over all partitions of X into safe sets, low-risk
    symbols included, for up to 17 public symbols. Above, the greedy partition of [ZDS Algorithm 1] is improved:
    a few of its blocks are taken apart and put together again in the best way, until that no longer helps.
    Greedy loses 0.00 to 0.18 of normalised utility to the optimum, most at small budgets.

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
    time_limit : float, optional
        Seconds for the search above 17 symbols; the best partition so far is returned.
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
        If time_limit is not a positive number.

    Examples
    --------
    >>> import sanitize as sz
    >>> rng = np.random.default_rng(2)
    >>> cells = rng.random((3, 9))
    >>> joint = sz.JointDistribution.from_matrix(cells / cells.sum())
    >>> round(sz.normalized_utility(joint, best_subset_merging(joint, 0.3)), 4)
    0.8032
    >>> round(sz.normalized_utility(joint, sz.subset_merging(joint, 0.3)), 4)
    0.6823
    """
    budget = as_budget(budget)
    is_number = isinstance(time_limit, (int, float, np.floating, np.integer)) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit > 0):
        raise InvalidParameter(f"time_limit must be a number of seconds > 0, got {time_limit!r}")
    labels = subset_merging(joint, budget, confidence=confidence).stages[0].indices
    blocks = [np.flatnonzero(labels == y) for y in range(int(labels.max()) + 1)]
    if len(blocks) == len(labels):
        return merge_channel(joint, [])
    risks = set_risks(joint, budget, confidence)
    if len(labels) <= _EXACT_LETTERS:
        found = exact_partition(risks.columns, joint.p_x, risks)
        exact = [np.array(block) for block in found]
        if found and _loss(joint.pmf, exact) < _loss(joint.pmf, blocks) - _GAIN:
            blocks = exact
    else:
        blocks = _improve(joint.pmf, risks, blocks, time_limit)
    return merge_channel(joint, [block.tolist() for block in blocks])


def _improve(
    pmf: NDArray[np.float64], risks: SetRisks, blocks: list[NDArray[np.intp]], time_limit: float | None
) -> list[NDArray[np.intp]]:
    """Re-partition windows of blocks until every block has rested; interruptible, the best so far stays."""
    rng = np.random.default_rng(0)
    p_x = pmf.sum(axis=0)
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    active = [block for block in blocks if len(block) > 1]
    done: set[tuple[int, ...]] = set()
    with progress("subset merging") as show:
        while active and time.monotonic() < deadline:
            seed = active.pop(0)
            for _ in range(_TRIES):
                others = [k for k, block in enumerate(blocks) if block is not seed]
                picked, size = [], len(seed)
                for k in rng.permutation(others):
                    if size + len(blocks[k]) <= _WINDOW:
                        picked.append(int(k))
                        size += len(blocks[k])
                letters = np.concatenate([seed, *(blocks[k] for k in picked)])
                old = [seed, *(blocks[k] for k in picked)]
                if len(old) < 2 or tuple(sorted(letters.tolist())) in done:
                    continue
                done.add(tuple(sorted(letters.tolist())))
                new = [letters[block] for block in exact_partition(risks.columns[:, letters], p_x[letters], risks)]
                if new and _loss(pmf, new) < _loss(pmf, old) - _GAIN:
                    gone = {id(block) for block in old}
                    blocks = [block for block in blocks if id(block) not in gone] + new
                    active = [block for block in active if id(block) not in gone]
                    active += [block for block in new if len(block) > 1]
                    show(f"{len(blocks)} groups")
                    break
    return blocks


def _loss(pmf: NDArray[np.float64], blocks: list[NDArray[np.intp]]) -> float:
    """H(X|Y) up to a constant: Σ_G P(G) log P(G) over the letters concerned, less their own."""
    p_x = pmf.sum(axis=0)
    return float(sum(xlogy(p_x[b].sum(), p_x[b].sum()) - xlogy(p_x[b], p_x[b]).sum() for b in blocks))
