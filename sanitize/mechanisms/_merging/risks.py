"""What merging mechanisms share: risks of sets of symbols, and the channel that merges them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sanitize.budgets import Budget
from sanitize.channel import BEST, HEURISTIC, Channel, group_alphabet
from sanitize.confidence import laws_of
from sanitize.joint import JointDistribution, check_law
from sanitize.mechanisms._merging.robust_risks import RobustRiskOfSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.channel import Standing
    from sanitize.confidence import ConfidenceSet

# Risks this near (in nats, or as a share where they are large) differ by rounding only.
_TIE = 1e-12
_DIGITS = 11


class SetRisks(Protocol):
    """Excess and risk of merged sets of symbols, given by columns that add up when sets are merged."""

    @property
    def columns(self) -> NDArray[np.float64]:
        """Column of each symbol by itself, shape (k, n_x)."""
        ...

    def safe(self, columns: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each set is within the budget."""
        ...

    def risk(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Risk ω of each set."""
        ...

    def is_safe(self, column: NDArray[np.float64]) -> bool:
        """Whether one set is within the budget."""
        ...


def set_risks(joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None) -> SetRisks:
    """Risks under one law, or, with a confidence, at worst over all laws that its counts allow."""
    if confidence is None:
        return RiskOfSets.of(joint, budget)
    return RobustRiskOfSets.of(laws_of(joint, confidence), budget)


@dataclass(frozen=True, eq=False)
class RiskOfSets:
    """Excess and risk of merged sets of symbols under one law; columns are P(s, set)."""

    columns: NDArray[np.float64]
    p_s: NDArray[np.float64]
    budget: Budget

    @classmethod
    def of(cls, joint: JointDistribution, budget: Budget) -> RiskOfSets:
        """Risks under a law and its prior."""
        return cls(check_law(joint).pmf, joint.p_s, budget)

    def _lifts(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return columns / self.p_s[:, None] / columns.sum(axis=0)

    def safe(self, columns: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each column P(s, set), shape (n_s, k), is within the budget."""
        return ~(self.budget.excess_of(self._lifts(columns), self.p_s) > 0)

    def risk(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Risk ω of each column."""
        return self.budget.risk_of(self._lifts(columns), self.p_s)

    def is_safe(self, column: NDArray[np.float64]) -> bool:
        """Whether one set is within the budget."""
        return bool(self.safe(column[:, None])[0])


def absorb(
    risks: SetRisks, column: NDArray[np.float64], pool: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[int]]:
    """Grow an unsafe set by members of a pool until it is safe or the pool is used up.

    Each step takes the member that minimises the risk of the union; ties go to the lowest index.

    Returns
    -------
    column : ndarray of shape (k,)
        Column of the grown set.
    taken : list of int
        Positions in the pool, in the order taken.
    """
    left = np.arange(pool.shape[1])
    taken: list[int] = []
    while len(left) and not risks.is_safe(column):
        best = first_least(risks.risk(column[:, None] + pool[:, left]))
        column = column + pool[:, left[best]]
        taken.append(int(left[best]))
        left = np.delete(left, best)
    return column, taken


def first_least(values: NDArray[np.float64]) -> int:
    """Lowest index of the least value; what differs in the last digits only is a tie, on every machine."""
    least = float(values.min())
    margin = _TIE * max(1.0, abs(least)) if math.isfinite(least) else 0.0
    return int(np.argmax(values <= least + margin))


def by_size(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values without their last digits, so that ties sort by index on every machine."""
    scale = np.abs(values, where=np.isfinite(values), out=np.zeros_like(values)).max(initial=0.0)
    return np.round(values / scale, _DIGITS) if scale > 0 else values


def merge_channel(joint: JointDistribution, groups: Sequence[Sequence[int] | NDArray[np.intp]]) -> Channel:
    """Channel that releases, of each symbol, the group it is in; symbols in no group stay alone.

    Merging, and resampling inside the group, leak the same [ZDS Prop. 1]. Released symbols come in the order
    of their first member.
    """
    n = len(joint.public)
    leader = np.arange(n)
    for group in groups:
        leader[list(group)] = min(group)
    return merged_by_labels(joint, leader, HEURISTIC)


def merged_by_labels(joint: JointDistribution, labels: NDArray[np.intp], standing: Standing) -> Channel:
    """Channel that releases, of each symbol, the group it is labelled with; nothing keeps more than merging nothing."""
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    labels = place[labels]
    made = Channel.merge(labels, joint.public, group_alphabet(joint.public, labels, len(first)))
    return made.with_standing(BEST if len(first) == len(labels) else standing)
