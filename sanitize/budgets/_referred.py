"""A budget on P(s|y, group)/P(s) for a law of (S, Y) in one group: what is told is held against everybody's secrets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sanitize.lifts import lift

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets._budgets import Budget
    from sanitize.joint import JointDistribution


@dataclass(frozen=True, eq=False)
class ReferredBudget:
    """An inner budget on P(s|y)/P(s) where P(s) is another law's, for mechanisms that are given a group alone.

    Merging all symbols of the group need not be within it: what the group tells is counted too.

    Attributes
    ----------
    inner : Budget
    prior : ndarray of shape (n_s,)
        P(s) that lifts are held against.
    present : ndarray of int
        Sensitive symbols that the law of the group has, in its order; the others are ruled out there.
    """

    inner: Budget
    prior: NDArray[np.float64] = field(repr=False)
    present: NDArray[np.intp] = field(repr=False)

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """Inner excess of each released symbol of the group, shape (n_y,)."""
        return self.excess_of(lift(released), released.p_s)

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same from lifts in the group, shape (n_present, k), and its shares of secrets, shape (n_present,)."""
        return self.inner.excess_of(self._referred(lifts, p_s), self.prior)

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner risk of each column of such lifts."""
        return self.inner.risk_of(self._referred(lifts, p_s), self.prior)

    def _referred(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.zeros((len(self.prior), lifts.shape[1]))
        whole[self.present] = lifts * (p_s / self.prior[self.present])[:, None]
        return whole
