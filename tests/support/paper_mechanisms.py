"""Algorithms 1 and 2 of the lift paper as printed, which the library's own mechanisms are held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanitize.core.budgets import as_budget
from sanitize.mechanisms._effort import effort_account
from sanitize.mechanisms._merging.risks import merge_channel, merging_groups, set_risks
from sanitize.mechanisms._merging.subset_merging import paper_groups
from sanitize.mechanisms._response_solver.mixture import RESPONSE_EFFORT, Problem, solve_within_blocks

if TYPE_CHECKING:
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.core.joint import JointDistribution


def paper_subset_merging(
    joint: JointDistribution, budget: Budget | float, *, confidence: float | ConfidenceSet | None = None
) -> Channel:
    """Release low-risk symbols as they are and merge high-risk ones into several safe groups [ZDS Alg. 1].

    Splitting a set never loses utility, so this keeps at least what `watchdog` keeps of the same symbols. The work
    grows with the square of the number of high-risk symbols, and where sensitive symbols are ruled out all risks are
    infinite and the lowest index wins: `subset_merging` has neither weakness.
    """
    return merge_channel(joint, paper_groups(set_risks(joint, as_budget(budget, joint), confidence)))


def paper_subset_random_response(
    joint: JointDistribution,
    budget: Budget | float,
    *,
    gap: float = 1e-7,
    effort: float | None = None,
    time_limit: float | None = None,
) -> Channel:
    """Optimal random response inside each group of subset merging, low-risk symbols as they are [ZDS Alg. 2].

    A subset is feasible when P_X restricted to it lies in its polytope; the paper's test, that the polytope is
    not empty, is not enough. The groups of `paper_subset_merging` are safe, so its while loop (lines 7-14) and its
    fallback (lines 17-18) are never needed here.
    """
    problem, account = Problem.from_request(joint, budget, gap), effort_account(effort, RESPONSE_EFFORT, time_limit)
    blocks = [[group] for group in merging_groups(paper_subset_merging(joint, problem.budget))]
    return solve_within_blocks(problem, blocks, account).released(len(blocks))
