"""Safety and risk of merged sets of symbols under one distribution or the worst of several, and merging channels."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.core.alphabet import group_alphabet
from sanitize.core.budgets import (
    LDPBudget,
    LiftBudget,
    budget_in_nats,
    check_kind,
    extreme_log_lifts,
    logs,
    tightest_limit,
)
from sanitize.core.channel import BEST, HEURISTIC, Channel
from sanitize.core.confidence import design_distributions, deviation_bounds, lift_bounds, lift_excess, ratio_bounds
from sanitize.core.joint import JointDistribution, check_distribution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Optimality
    from sanitize.core.confidence import ConfidenceSet

# Caps in nats on both sides of tighter budgets. All budgets share these values, so that searches under a looser budget
# include the starts of searches under a tighter one.
_LADDER = (25.0, 10.0, 5.0, 3.0, 2.0, 1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1)


def set_sums(atoms: NDArray[Any]) -> NDArray[Any]:
    """Sums over all subsets of k atoms (m, k, ...), in the order of bit masks, shape (m, 2^k, ...)."""
    sums = np.zeros((len(atoms), 1, *atoms.shape[2:]), atoms.dtype)
    for atom in range(atoms.shape[1]):
        sums = np.concatenate([sums, sums + atoms[:, [atom]]], axis=1)
    return sums


@dataclass(frozen=True, eq=False)
class SetRisks(ABC):
    """Base of tests that decide whether merged sets of symbols are safe; columns describe sets and add up in a merge.

    Attributes
    ----------
    columns : ndarray of shape (k, n_x)
        Column of each single symbol.
    """

    columns: Vector

    @abstractmethod
    def safe(self, columns: Vector) -> Mask:
        """Return whether each set is within the budget."""

    @abstractmethod
    def risk(self, columns: Vector) -> Vector:
        """Risk ω of each set, by which searches order sets."""

    def is_safe(self, column: Vector) -> bool:
        """Return whether one set is within the budget."""
        return bool(self.safe(column[:, None])[0])


def set_risks(joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None) -> SetRisks:
    """Return tests of sets under the distribution or, with confidence, the worst distribution that counts allow."""
    if confidence is None:
        return RiskOfSets(check_distribution(joint).pmf, joint.p_s, budget)
    distributions = design_distributions(joint, confidence)
    columns = np.concatenate(deviation_bounds(distributions))
    return RobustRiskOfSets(columns, columns.sum(axis=1), distributions, check_kind(budget, "confidence="))


@dataclass(frozen=True, eq=False)
class RiskOfSets(SetRisks):
    """Safety and risk of merged sets of symbols under one distribution; columns are P(s, set)."""

    p_s: Vector
    budget: Budget

    def _lifts(self, columns: Vector) -> Vector:
        return columns / self.p_s[:, None] / columns.sum(axis=0)

    def safe(self, columns: Vector) -> Mask:
        """Return whether each column P(s, set), shape (n_s, k), is within the budget."""
        return ~(self.budget.lift_excess(self._lifts(columns), self.p_s) > 0)

    def risk(self, columns: Vector) -> Vector:
        """Risk ω of each column P(s, set)."""
        return self.budget.lift_risk(self._lifts(columns), self.p_s)


@dataclass(frozen=True, eq=False)
class RobustRiskOfSets(SetRisks):
    """Safety and risk of merged sets of symbols under the worst distribution of a confidence set.

    Columns hold the frequency of the set given s, and how far P(set|s) may lie above and below it. These figures add up
    when sets are merged. A set can gain only mass that the rest loses, and at most the distance of the confidence set
    can move; with these limits the worst case is exact.
    """

    totals: Vector
    distributions: ConfidenceSet
    budget: LiftBudget | LDPBudget

    def safe(self, columns: Vector) -> Mask:
        """Return whether each set is within the budget under every distribution."""
        low, high = self._bounds(columns)
        return np.asarray(~(lift_excess(*self._lifts(low, high), ratio_bounds(low, high), self.budget) > 0))

    def risk(self, columns: Vector) -> Vector:
        """Log ratio of the largest to the smallest lift over all distributions; a side without limit is left out."""
        # Risk of a set with which some distribution rules a sensitive symbol out; finite, so that such sets can be
        # ordered.
        ruled_out = 1e3
        low, high = self._bounds(columns)
        if isinstance(self.budget, LDPBudget):
            risk = logs(ratio_bounds(low, high))
            return np.where(np.isinf(risk), ruled_out + high.max(axis=0), risk)
        least, most = self._lifts(low, high)
        top, bottom = extreme_log_lifts(self.budget, least, most)
        bottom = np.where(np.isinf(bottom), -ruled_out, bottom)
        if np.isinf(tightest_limit(self.budget.lower)):
            return top
        return -bottom if np.isinf(tightest_limit(self.budget.upper)) else top - bottom

    def _bounds(self, columns: Vector) -> tuple[Vector, Vector]:
        center, up, down = np.split(columns, 3)
        _, rest_up, rest_down = np.split(np.maximum(self.totals[:, None] - columns, 0.0), 3)
        most = self.distributions.distance[:, None]
        high = center + np.minimum(np.minimum(up, rest_down), most)
        return center - np.minimum(np.minimum(down, rest_up), most), high

    def _lifts(self, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        return lift_bounds(low, high, self.distributions.prior_lower, self.distributions.prior_upper)


@dataclass(frozen=True, eq=False)
class OrderedRisks(SetRisks):
    """Tests that check sets with one measure and order them by another; columns contain the figures of both."""

    judge: SetRisks
    order: SetRisks

    def safe(self, columns: Vector) -> Mask:
        """Return whether the checking measure allows each set."""
        return self.judge.safe(columns[: len(self.judge.columns)])

    def risk(self, columns: Vector) -> Vector:
        """Risk of each set according to the ordering measure."""
        return self.order.risk(columns[len(self.judge.columns) :])


def even_budgets(budget: Budget) -> list[Budget]:
    """Return tighter versions of a `LiftBudget` with sides closer together, equal sides first; none for other budgets.

    If one side hardly binds, a search guided only by safety may be misled and keep less than a search under a budget in
    which that side binds.
    """
    if not isinstance(budget, LiftBudget):
        return []
    least, most = min(map(tightest_limit, sides := (budget.lower, budget.upper))), max(map(np.max, sides))
    # The looser side is capped near the tighter one, at four times its nats: less would take away too many sets.
    near = min((nats for nats in _LADDER if nats >= 4.0 * least), default=math.inf)
    return [_cap_budget(budget, nats) for nats in (least, near) if nats < most]


def tighter_risks(
    joint: JointDistribution, budget: Budget, confidence: float | ConfidenceSet | None
) -> Iterator[SetRisks]:
    """Yield tests under tighter budgets, nearest first; sets that are safe under these are safe under the budget."""
    budgets: list[Budget] = []
    if isinstance(budget, LDPBudget):
        budgets = [LDPBudget(nats) for nats in _LADDER if nats < budget.eps]
    elif isinstance(budget, LiftBudget):
        most = max(np.max(budget.lower), np.max(budget.upper))
        budgets = [_cap_budget(budget, nats) for nats in _LADDER if nats < most]
    return (set_risks(joint, tight_budget, confidence) for tight_budget in budgets)


def _cap_budget(budget: LiftBudget, nats: float) -> LiftBudget:
    """Return the budget with both sides capped at ``nats``."""
    return budget_in_nats(np.minimum(budget.lower, nats), np.minimum(budget.upper, nats))


def absorb(risks: SetRisks, column: Vector, pool: Vector, share: float = math.inf) -> tuple[Vector, list[int]]:
    """Grow an unsafe set with members of a pool until it is safe or the pool is empty.

    Each step takes the member that minimises the risk of the union, and one further member per ``share`` members
    already taken; ties go to the lowest index.

    Returns
    -------
    column : ndarray of shape (k,)
        Column of the grown set.
    taken : list of int
        Positions in the pool, in the order taken.
    """
    left = np.arange(pool.shape[1])
    taken: list[int] = []
    is_done = risks.is_safe(column)
    while len(left) and not is_done:
        best = np.argsort(by_size(risks.risk(column[:, None] + pool[:, left])), kind="stable")
        best = best[: 1 + int(len(taken) // share)]
        sums = column[:, None] + pool[:, left[best]].cumsum(axis=1)
        is_safe = risks.safe(sums)
        if is_done := bool(is_safe.any()):
            best = best[: int(is_safe.argmax()) + 1]
        column = sums[:, len(best) - 1]
        taken += left[best].tolist()
        left = np.delete(left, best)
    return column, taken


def by_size(values: Vector) -> Vector:
    """Round values to 11 digits of the largest value, so that values that differ only by rounding become equal."""
    scale = np.abs(values, where=np.isfinite(values), out=np.zeros_like(values)).max(initial=0.0)
    # Risks that agree to 11 digits of the largest risk differ by rounding only.
    return np.round(values / scale, 11) if scale > 0 else values


def merge_channel(joint: JointDistribution, groups: Sequence[Sequence[int] | Codes]) -> Channel:
    """Channel that releases the group of each symbol; symbols in no group stay alone.

    Merging leaks as much as resampling inside each group [ZDS Prop. 1]. Released symbols are in the order of their
    first members.
    """
    return merge_by_labels(joint, group_labels(groups, len(joint.public)), HEURISTIC)


def group_labels(groups: Sequence[Sequence[int] | Codes], n: int) -> Codes:
    """Label each of n symbols with the least member of its group; symbols in no group stay alone."""
    labels = np.arange(n)
    for group in groups:
        labels[list(group)] = min(group)
    return labels


def merge_by_labels(joint: JointDistribution, labels: Codes, optimality: Optimality) -> Channel:
    """Channel that releases the labelled group of each symbol, or the identity if no symbols are merged."""
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[labels]
    channel = Channel.merge(labels, joint.public, group_alphabet(joint.public, labels))
    return channel.with_optimality(BEST if len(first) == len(labels) else optimality)


def merging_groups(merging: Channel) -> list[Codes]:
    """Symbols of each group of a merging, in ascending order; symbols released unchanged are groups of one."""
    labels = merging.stages[0].indices
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
