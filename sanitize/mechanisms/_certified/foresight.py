"""Expected result of a test on fresh rows, predicted from the design rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Vector
from sanitize._util.limits import LOOSEST
from sanitize.core.confidence import check_confidence
from sanitize.mechanisms._certified.evidence import divergence, evidence_threshold, secret_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.budgets import LiftBudget


@dataclass(frozen=True, eq=False)
class PowerModel:
    """Counts of the design rows, with the bounds of posteriors and the evidence that symbols need on fresh rows.

    Attributes
    ----------
    design : ndarray of int, shape (n_s, n_cells)
    low, high : ndarrays of shape (n_s,)
        Bounds of P(s|y).
    scale : float
        Number of fresh rows per design row.
    needed : float
        Evidence that a symbol needs, in nats.
    variance : float
        Variance of the noise on each count of fresh rows.
    """

    design: NDArray[np.int64]
    low: Vector
    high: Vector
    scale: float
    needed: float
    variance: float = 0.0

    @classmethod
    def from_counts(
        cls, design: NDArray[np.int64], n_fresh: float, budget: LiftBudget, confidence: float, variance: float = 0.0
    ) -> PowerModel:
        """Return the model for counts of design rows; of the fresh rows, only their number is used."""
        p_s = secret_shares(design)
        low = np.where(np.less(budget.lower, LOOSEST), np.exp(np.negative(budget.lower)), 0.0) * p_s
        high = np.minimum(np.exp(np.minimum(budget.upper, LOOSEST)) * p_s, 1.0)
        scale = n_fresh / max(float(design.sum()), 1.0)
        return cls(design, low, high, scale, _evidence_threshold(design.shape[1], confidence), variance)


def expected_evidence(power: PowerModel, counts: NDArray[Any], draws: NDArray[Any]) -> Vector:
    """Expected evidence in nats: the informative fresh rows times the least divergence of posteriors from their bounds.

    Parameters
    ----------
    power : PowerModel
    counts : ndarray of shape (n_s, k)
        Design rows in each symbol.
    draws : ndarray of shape (k,)
        Σ_cells w², the number of noise draws in a symbol's evidence. Noise reduces the evidence about in the ratio of
        the variance without noise to the variance with noise.
    """
    rows, noise = counts.sum(axis=0), power.variance * draws if power.variance else None
    q = np.clip((counts + 0.5) / (rows + 1), 1e-9, 1 - 1e-9)
    return least_shown(q, power.low, power.high, rows * power.scale, noise)


def least_shown(q: Vector, low: Vector, high: Vector, rows: Vector, noise: Vector | None = None) -> Vector:
    """Least divergence in nats of shares q (n_s, k) from their bounds, times the number of informative rows (k,).

    The result is 0 for shares outside the bounds, and smaller with noise, whose variance has shape (k,).
    """
    least = np.full(len(rows), np.inf)
    for shares, *bounds in zip(q, low, high, strict=True):
        for bound, inside in zip(bounds, (shares > bounds[0], shares < bounds[1]), strict=True):
            if 0 < bound < 1:
                evidence = rows * divergence(shares, bound)
                if noise is not None:
                    own_spread = rows * (shares * (1 - shares) + bound * (1 - bound)) / 2
                    evidence *= own_spread / np.maximum(own_spread + noise, 1e-12)
                least = np.minimum(least, np.where(inside, evidence, 0.0))
    return least


def rows_needed(budget: LiftBudget, p_s: Vector, n_cells: float, confidence: float) -> Vector:
    """Approximate number of fresh rows that a symbol needs to pass all tests if its posterior equals the prior."""
    least = np.full(len(p_s), np.inf)
    for ratio in (np.exp(np.negative(budget.lower)), np.exp(np.minimum(budget.upper, LOOSEST))):
        bound = ratio * p_s
        tested = (bound > 0) & (bound < 1) & (p_s < 1)
        least[tested] = np.minimum(least[tested], divergence(p_s[tested], bound[tested]))
    # If there is nothing to test, no rows are needed, but a report needs a number.
    return np.asarray(np.maximum(_evidence_threshold(n_cells, confidence) / np.maximum(least, 1e-12), 1.0))


def _evidence_threshold(n_cells: float, confidence: float) -> float:
    # The error probability is shared by all tests: the candidates are about four symbols per cell.
    return evidence_threshold(max(int(4 * n_cells), 1), 1 - check_confidence(confidence))
