"""Merging under a budget on the mean lift over the worst part of a release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._util.checks import Codes, Vector
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.budgets import CVaRLiftBudget
from sanitize.core.channel import HEURISTIC
from sanitize.core.joint import check_distribution
from sanitize.core.measures import entropy
from sanitize.errors import InvalidBudget
from sanitize.mechanisms._merging.risks import merge_by_labels

if TYPE_CHECKING:
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

# Of few symbols what the greedy merges give is improved symbol by symbol, from these tighter budgets too.
_FEW, _TIGHTER, _LEAST_GAIN = 24, (0.0, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0), 1e-9


def tail_merging(joint: JointDistribution, budget: CVaRLiftBudget) -> Channel:
    """Merge sets of symbols, the pair that lowers the excess most for what it costs first, until the budget is met.

    Of up to 24 symbols the groups are improved then: a symbol moves to another group, or to one of its own, while
    more is kept, from what the greedy merges give for the budget and for some tighter ones.

    One side of each merge is the set of the largest lift, in the tail of the s that is worst off. With n symbols and
    k sensitive ones a step looks at n partners and costs n² k log n, and there are at most n - 1: hundreds of symbols
    take seconds. Greedy: it is not claimed to keep the most.

    Guarantee
    ---------
    The release meets the budget under the distribution given. All of X merged has lift 1, so there always is such a
    channel.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    budget : CVaRLiftBudget

    Returns
    -------
    Channel
        Deterministic, from X to groups.

    Raises
    ------
    InvalidBudget
        If the budget is of another kind.

    Examples
    --------
    A symbol of mass 0.02 and lift 2 stays as it is where the mean over a tenth of the mass is what counts:

    >>> import sanitize as sz
    >>> from sanitize.core.budgets import CVaRLiftBudget
    >>> joint = sz.JointDistribution.from_matrix([[0.02, 0.23, 0.25], [0.0, 0.25, 0.25]])
    >>> tail_merging(joint, CVaRLiftBudget(0.2, delta=0.1)).n_outputs, sz.watchdog(joint, 0.2).n_outputs
    (3, 2)
    """
    if not isinstance(budget, CVaRLiftBudget):
        raise InvalidBudget(f"tail_merging takes a CVaRLiftBudget(upper, delta), got {type(budget).__name__}")
    labels = _greedy(check_distribution(joint), budget)
    if joint.pmf.shape[1] <= _FEW:
        tighter = (replace(budget, upper=upper) for upper in _TIGHTER if upper < budget.upper)
        candidates = [
            _move_symbols(start, joint, budget)
            for start in (labels, *(_greedy(joint, tight_budget) for tight_budget in tighter))
        ]
        labels = max(candidates, key=lambda candidate: _information(joint, candidate))
    return merge_by_labels(joint, labels, HEURISTIC)


def _greedy(joint: JointDistribution, budget: CVaRLiftBudget) -> Codes:
    """Group of each symbol, by merging two sets at a time: the one of the largest lift, and what pays best."""
    labels = np.arange(len(joint.public))
    while labels.any():
        lifts, masses = _lifts(joint, labels)
        excess = budget.excess_of_release(lifts, masses)
        if excess <= 0:
            break
        first = int(lifts.max(axis=0).argmax())
        options = {k: _renumber(np.where(labels == k, first, labels)) for k in range(len(masses)) if k != first}
        together = masses + masses[first]
        cost = xlogy(together, together) - xlogy(masses, masses) - xlogy(masses[first], masses[first])
        thresholds = budget.lift_thresholds(lifts, masses)
        # Nearest to the budget for each nat of I(X;Y) lost.
        gain = {
            k: (excess - max(0.0, budget.excess_at(*_lifts(joint, merged), thresholds)))
            / max(cost[k], SMALLEST_POSITIVE)
            for k, merged in options.items()
        }
        labels = options[max(gain, key=gain.__getitem__)]
    return labels


def _move_symbols(labels: Codes, joint: JointDistribution, budget: CVaRLiftBudget) -> Codes:
    """Groups after single symbols moved to others or to themselves, while more is kept within the budget."""
    best_information, before = _information(joint, labels), None
    while before is not labels:
        before = start = labels
        for x in range(len(start)):
            for group in range(int(start.max()) + 2):
                candidate = start.copy()
                candidate[x] = group
                candidate = _renumber(candidate)
                information = _information(joint, candidate)
                if information > best_information + _LEAST_GAIN and budget.is_met(*_lifts(joint, candidate)):
                    labels, best_information = candidate, information
    return labels


def _information(joint: JointDistribution, labels: Codes) -> float:
    return entropy(np.bincount(labels, joint.p_x).astype(np.float64))


def _lifts(joint: JointDistribution, labels: Codes) -> tuple[Vector, Vector]:
    """Lifts of groups, shape (n_s, k), and their masses."""
    columns = np.stack([np.bincount(labels, row) for row in joint.pmf])
    masses = columns.sum(axis=0)
    return columns / joint.p_s[:, None] / masses, masses


def _renumber(labels: Codes) -> Codes:
    return np.unique(labels, return_inverse=True)[1]
