"""Merging under a budget on the mean lift over the worst part of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize.budgets import CVaRLiftBudget
from sanitize.errors import InvalidBudget
from sanitize.joint import check_law
from sanitize.mechanisms._merging.risks import merge_channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution

# A cost that rounding makes 0.
_LEAST = 1e-300


def tail_merging(joint: JointDistribution, budget: CVaRLiftBudget) -> Channel:
    """Merge sets of symbols, the pair that lowers the excess most for what it costs first, until the budget is met.

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
    groups = [[x] for x in range(len(check_law(joint).public))]
    columns = joint.pmf.copy()
    while len(groups) > 1 and (excess := _excess(columns, joint.p_s, budget)) > 0:
        first = int((columns / joint.p_s[:, None] / columns.sum(axis=0)).max(axis=0).argmax())
        second = _partner(columns, first, joint.p_s, budget, excess)
        groups[first].extend(groups.pop(second))
        columns = _merged(columns, first, second)
    return merge_channel(joint, groups)


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
            gain[other] = (excess - left) / max(cost[other], _LEAST)
    return int(gain.argmax())


def _excess(columns: NDArray[np.float64], p_s: NDArray[np.float64], budget: CVaRLiftBudget) -> float:
    masses = columns.sum(axis=0)
    return budget.excess_of_release(columns / p_s[:, None] / masses, masses)


def _merged(columns: NDArray[np.float64], first: int, second: int) -> NDArray[np.float64]:
    """Columns with the second added to the first and taken out; ``groups`` lose it in the same way."""
    summed = columns.copy()
    summed[:, first] += summed[:, second]
    return np.delete(summed, second, axis=1)
