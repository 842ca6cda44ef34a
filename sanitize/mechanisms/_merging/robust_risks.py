"""Risks of merged sets of symbols at worst over a set of laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.budgets import LDPBudget, check_kind, logs
from sanitize.confidence import excess_of, lift_bounds, ratio_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import Budget, LiftBudget
    from sanitize.confidence import ConfidenceSet

# Risk of a set that some law rules a sensitive symbol out by; finite, so that such sets are still in order.
_RULED_OUT = 1e3


@dataclass(frozen=True, eq=False)
class RobustRiskOfSets:
    """Excess and risk of merged sets of symbols under the worst law.

    Columns hold the frequency of the set given s, how much P(set|s) may be above it, and how much below. These add
    up when sets are merged; what a set gains the rest must lose, and no more than the distance of the laws can
    move. That is exact for the laws of a confidence set.
    """

    columns: NDArray[np.float64]
    totals: NDArray[np.float64]
    laws: ConfidenceSet
    budget: LiftBudget | LDPBudget

    @classmethod
    def of(cls, laws: ConfidenceSet, budget: Budget) -> RobustRiskOfSets:
        """Risks over a set of laws; lift and LDP budgets only."""
        columns = np.concatenate([laws.center, laws.upper - laws.center, laws.center - laws.lower])
        return cls(columns, columns.sum(axis=1), laws, check_kind(budget, "confidence="))

    def safe(self, columns: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each set is within the budget under every law."""
        low, high = self._bounds(columns)
        return np.asarray(~(excess_of(*self._lifts(low, high), ratio_bounds(low, high), self.budget) > 0))

    def risk(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log of the largest over the smallest lift of any law, without a side that has no bound."""
        low, high = self._bounds(columns)
        if isinstance(self.budget, LDPBudget):
            risk = logs(ratio_bounds(low, high))
            return np.where(np.isinf(risk), _RULED_OUT + high.max(axis=0), risk)
        least, most = self._lifts(low, high)
        top, bottom = logs(most.max(axis=0)), logs(least.min(axis=0))
        bottom = np.where(np.isinf(bottom), -_RULED_OUT, bottom)
        if np.isinf(self.budget.lower):
            return top
        return -bottom if np.isinf(self.budget.upper) else top - bottom

    def is_safe(self, column: NDArray[np.float64]) -> bool:
        """Whether one set is within the budget under every law."""
        return bool(self.safe(column[:, None])[0])

    def _bounds(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        center, up, down = np.split(columns, 3)
        _, rest_up, rest_down = np.split(np.maximum(self.totals[:, None] - columns, 0.0), 3)
        most = self.laws.distance[:, None]
        high = center + np.minimum(np.minimum(up, rest_down), most)
        return center - np.minimum(np.minimum(down, rest_up), most), high

    def _lifts(
        self, low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return lift_bounds(low, high, self.laws.prior_lower, self.laws.prior_upper)
