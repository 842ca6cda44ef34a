"""Merging under a budget on the mean lift over the worst part of a release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._tolerances import SMALLEST_POSITIVE
from sanitize.budgets import CVaRLiftBudget
from sanitize.errors import InvalidBudget
from sanitize.joint import check_law
from sanitize.measures import entropy
from sanitize.mechanisms._merging.risks import merge_channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

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
    The release meets the budget under the law given. All of X merged has lift 1, so there always is such a channel.

    Parameters
    ----------
    joint : JointDistribution
        Law of (S, X).
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
    >>> from sanitize.budgets import CVaRLiftBudget
    >>> joint = sz.JointDistribution.from_matrix([[0.02, 0.23, 0.25], [0.0, 0.25, 0.25]])
    >>> tail_merging(joint, CVaRLiftBudget(0.2, delta=0.1)).n_outputs, sz.watchdog(joint, 0.2).n_outputs
    (3, 2)
    """
    if not isinstance(budget, CVaRLiftBudget):
        raise InvalidBudget(f"tail_merging takes a CVaRLiftBudget(upper, delta), got {type(budget).__name__}")
    labels = _greedy(check_law(joint), budget)
    if joint.pmf.shape[1] <= _FEW:
        tighter = (replace(budget, upper=upper) for upper in _TIGHTER if upper < budget.upper)
        found = [_moved(start, joint, budget) for start in (labels, *(_greedy(joint, other) for other in tighter))]
        labels = max(found, key=lambda made: entropy(_summed(made, joint.p_x)))
    return merge_channel(joint, [np.flatnonzero(labels == group).tolist() for group in np.unique(labels)])


def _greedy(joint: JointDistribution, budget: CVaRLiftBudget) -> NDArray[np.intp]:
    """Group of each symbol, by merging two sets at a time."""
    labels = np.arange(len(joint.public))
    columns = joint.pmf.copy()
    while columns.shape[1] > 1 and (excess := _excess(columns, joint.p_s, budget)) > 0:
        first = int((columns / joint.p_s[:, None] / columns.sum(axis=0)).max(axis=0).argmax())
        second = _partner(columns, first, joint.p_s, budget, excess)
        labels[labels == second] = first
        labels[labels > second] -= 1
        columns = _merged(columns, first, second)
    return labels


def _moved(labels: NDArray[np.intp], joint: JointDistribution, budget: CVaRLiftBudget) -> NDArray[np.intp]:
    """Groups after single symbols moved to others or to themselves, while more is kept within the budget."""
    kept = entropy(_summed(labels, joint.p_x))
    while True:
        best = None
        for x in range(len(labels)):
            for group in range(int(labels.max()) + 2):
                made = labels.copy()
                made[x] = group
                made = np.unique(made, return_inverse=True)[1]
                masses = _summed(made, joint.p_x)
                if (now := entropy(masses)) > kept + _LEAST_GAIN:
                    columns = np.stack([_summed(made, row) for row in joint.pmf])
                    if budget.excess_of_release(columns / joint.p_s[:, None] / masses, masses) <= 0:
                        best, kept = made, now
        if best is None:
            return labels
        labels = best


def _summed(labels: NDArray[np.intp], masses: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(labels, masses).astype(np.float64)


def _partner(
    columns: NDArray[np.float64], first: int, p_s: NDArray[np.float64], budget: CVaRLiftBudget, excess: float
) -> int:
    """The set to merge with: nearest to the budget for each nat of I(X;Y) lost."""
    masses = columns.sum(axis=0)
    together = masses + masses[first]
    cost = xlogy(together, together) - xlogy(masses, masses) - xlogy(masses[first], masses[first])
    gain = np.full(len(masses), -np.inf)
    for other in range(len(masses)):
        if other != first:
            left = max(0.0, _excess(_merged(columns, first, other), p_s, budget))
            gain[other] = (excess - left) / max(cost[other], SMALLEST_POSITIVE)
    return int(gain.argmax())


def _excess(columns: NDArray[np.float64], p_s: NDArray[np.float64], budget: CVaRLiftBudget) -> float:
    masses = columns.sum(axis=0)
    return budget.excess_of_release(columns / p_s[:, None] / masses, masses)


def _merged(columns: NDArray[np.float64], first: int, second: int) -> NDArray[np.float64]:
    """Columns with the second added to the first and taken out; ``groups`` lose it in the same way."""
    summed = columns.copy()
    summed[:, first] += summed[:, second]
    return np.delete(summed, second, axis=1)
