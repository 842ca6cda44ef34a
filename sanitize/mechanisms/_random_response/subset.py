"""Subset random response, an optimal random response in each block of a partition [ZDS §V, Algorithm 2]."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Codes, whole_number
from sanitize.core.channel import HEURISTIC
from sanitize.mechanisms._effort import effort_account
from sanitize.mechanisms._merging.risks import merging_groups
from sanitize.mechanisms._merging.subset_merging import subset_merging
from sanitize.mechanisms._random_response.robust import robust_random_response
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, Problem, solve_within_blocks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution


def subset_random_response(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    block_size: int = 32,
    gap: float = 1e-7,
    effort: float | None = None,
    time_limit: float | None = None,
    confidence: float | ConfidenceSet | None = None,
    target: ArrayLike | None = None,
) -> Channel:
    """Design an optimal random response inside blocks of public symbols, nearly the best channel for large alphabets.

    The safe groups of `subset_merging` (low-risk symbols are groups of one) are combined into blocks of about
    ``block_size`` symbols, and each block gets its optimal random response. A union of safe groups is safe, so every
    block is feasible, and since each group lies in one block, the result keeps at least what `subset_merging` keeps, up
    to the gap. With ``block_size >= n_x`` this is `optimal_random_response`. The work grows linearly in the number of
    blocks.

    Guarantee
    ---------
    Every released symbol is within the budget under the distribution given, as `Budget.excess` measures it (1e-12);
    with a confidence, under every distribution of the confidence set.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : LiftBudget, LDPBudget or float
        A number is symmetric local information privacy (LIP) in nats.
    block_size : int
        Symbols per block, at least 1; a larger group is a block of its own.
    gap : float
        Distance of each block's response from its optimum, in nats of the block, > 0.
    effort : float, optional
        Entries of linear programs to solve, >= 1, shared out over the blocks by their size.
    time_limit : float, optional
        Seconds; shared out over the blocks by their size.
    confidence : float or ConfidenceSet, optional
        Meet the budget under every distribution that the counts allow at this confidence.
    target : array-like of shape (n_t, n_x), optional
        P(t|x) of a variable T that matters, with T - X - Y; by default X itself.

    Returns
    -------
    Channel
        One sparse stage; its ``optimality`` compares it with the best response inside the same blocks.

    Raises
    ------
    InvalidBudget
        If the budget is missing or of another kind.
    InvalidParameter
        If block_size, gap, effort or time_limit is outside its range.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> round(sz.normalized_utility(joint, subset_random_response(joint, 0.3)), 4)
    0.7832
    >>> round(sz.normalized_utility(joint, subset_random_response(joint, 0.3, block_size=2)), 4)
    0.7832
    """
    deal = partial(deal_groups, block_size=whole_number("block_size", block_size, 1))
    problem = Problem.from_request(joint, budget, gap, target)
    account = effort_account(effort, RESPONSE_EFFORT, time_limit)
    if confidence is None:
        blocks = deal(merging_groups(subset_merging(joint, problem.budget)))
        return solve_within_blocks(problem, blocks, account).released(len(blocks))
    channel = robust_random_response(problem, confidence, account, deal).released(2)
    return channel if target is None else channel.with_optimality(HEURISTIC)


def deal_groups(groups: list[Codes], block_size: int = 32) -> list[list[Codes]]:
    """Assign groups to blocks of about equal size, largest groups first."""
    n = sum(len(group) for group in groups)
    blocks: list[list[Codes]] = [[] for _ in range(-(-n // block_size))]
    sizes = np.zeros(len(blocks), np.int64)
    for group in sorted(groups, key=len, reverse=True):
        smallest = int(np.argmin(sizes))
        blocks[smallest].append(group)
        sizes[smallest] += len(group)
    return [block for block in blocks if block]
