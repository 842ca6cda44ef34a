"""Budgets on a released symbol given earlier releases, or within a group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Codes, Vector
from sanitize._util.limits import CHANNEL_CELLS
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets._budgets import LiftwiseBudget
from sanitize.core.joint import JointDistribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize.core.budgets._budgets import Budget


@dataclass(frozen=True, eq=False)
class ConditionalBudget(LiftwiseBudget):
    """Budget on a released symbol y that applies an inner budget to every pair of y and an earlier released symbol b.

    Any mechanism that takes a `Budget` can use it: the mechanism is given the distribution of ((s, b), X) and treats
    the pairs as its sensitive symbols. Each lift of (s, b) at y gives P(s, b | y), and from it the lift of s at (b, y),
    P(s, b | y) / (P(b | y) P(s)). The excess of y is the largest excess of the inner budget over all b that occur with
    y. Merging all of X makes y a constant that adds nothing to b, so this is within the budget if the earlier release
    is.

    Attributes
    ----------
    inner : Budget
    cells : ndarray of int, shape (n_pairs,)
        Index of each pair among all n_s * n_b pairs (s, b).
    shape : tuple of int
        Numbers n_s of sensitive and n_b of earlier symbols.
    """

    inner: Budget
    cells: Codes = field(repr=False)
    shape: tuple[int, int]

    def lift_excess(self, lifts: Vector, p_s: Vector) -> Vector:
        """Largest excess over the inner budget, among the earlier symbols b, of each column of lifts (n_pairs, k)."""
        return self._worst(self.inner.lift_excess, lifts, p_s)

    def lift_risk(self, lifts: Vector, p_s: Vector) -> Vector:
        """Largest risk under the inner budget, among the earlier symbols b, of each column of lifts, shape (k,)."""
        return self._worst(self.inner.lift_risk, lifts, p_s)

    def _worst(self, inner_figure: Callable[[Vector, Vector], Vector], lifts: Vector, p_pairs: Vector) -> Vector:
        n_s, n_b = self.shape
        prior: Vector = np.bincount(self.cells // n_b, p_pairs, n_s).astype(np.float64)
        step = max(1, CHANNEL_CELLS // (n_s * n_b))
        worst = np.empty(lifts.shape[1])
        for start in range(0, lifts.shape[1], step):
            columns = slice(start, start + step)
            distribution = np.zeros((n_s * n_b, len(worst[columns])))
            distribution[self.cells] = lifts[:, columns] * p_pairs[:, None]  # P(s, b | y)
            by_s = distribution.reshape(n_s, -1)
            together = by_s.sum(axis=0)  # P(b | y)
            occurs = together > 0
            figures = np.full(len(occurs), -np.inf)
            figures[occurs] = inner_figure(by_s[:, occurs] / together[occurs] / prior[:, None], prior)
            worst[columns] = figures.reshape(n_b, -1).max(axis=0)
        return worst


def conditional_budget(cells: Vector, public: Alphabet, budget: Budget) -> tuple[JointDistribution, ConditionalBudget]:
    """Return the distribution of ((s, b), X) and the budget on it, from P(s, b, x) of shape (n_s, n_b, n_x)."""
    n_s, n_b, n_x = cells.shape
    rows = cells.reshape(-1, n_x)
    occur = np.flatnonzero(rows.any(axis=1))
    distribution = JointDistribution(
        rows[occur], Alphabet.from_size("sensitive and released before", len(occur)), public
    )
    return distribution, ConditionalBudget(budget, occur, (n_s, n_b))


@dataclass(frozen=True, eq=False)
class ReferredBudget(LiftwiseBudget):
    """Budget for a mechanism applied to one group, on lifts P(s|y)/P(s), where P(s) is the whole population's.

    The inner budget limits P(s|y, group)/P(s), for a distribution of (S, Y) in one group. A release with all symbols of
    the group merged may exceed it, because the group itself reveals something about S.

    Attributes
    ----------
    inner : Budget
    prior : ndarray of shape (n_s,)
        P(s) by which posteriors are divided to get lifts.
    present : ndarray of int
        Sensitive symbols that occur in the group, in the group's order; the group rules out the others.
    """

    inner: Budget
    prior: Vector = field(repr=False)
    present: Codes = field(repr=False)

    def lift_excess(self, lifts: Vector, p_s: Vector) -> Vector:
        """Excess over the inner budget, from lifts within the group (n_present, k) and its prior (n_present,)."""
        return self.inner.lift_excess(self._reference_lifts(lifts, p_s), self.prior)

    def lift_risk(self, lifts: Vector, p_s: Vector) -> Vector:
        """Risk under the inner budget of each column of lifts in the group."""
        return self.inner.lift_risk(self._reference_lifts(lifts, p_s), self.prior)

    def _reference_lifts(self, lifts: Vector, p_s: Vector) -> Vector:
        whole = np.zeros((len(self.prior), lifts.shape[1]))
        whole[self.present] = lifts * (p_s / self.prior[self.present])[:, None]
        return whole
