"""Folds of rows, and weighted means with errors that know which rows belong together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import whole_number
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Score:
    """Weighted means over rows, with standard errors that know which rows belong together."""

    def __init__(self, weights: NDArray[np.float64], unit: NDArray[np.int64], fold: NDArray[np.int64]) -> None:
        self.weights, self.unit, self.fold = weights, unit, fold
        self.total = float(weights.sum())
        self.n_effective = self.total**2 / float((weights**2).sum()) if self.total else 0.0

    def mean(self, values: NDArray[np.float64]) -> float:
        """Weighted mean."""
        return float(self.weights @ values) / self.total

    def of(self, values: NDArray[np.float64]) -> tuple[float, float]:
        """Mean and standard error: the larger of that over rows (or clusters) and that over folds."""
        mean = self.mean(values)
        parts = self.weights * (values - mean)
        return mean, max(self._error(parts, self.unit), self._error(parts, self.fold))

    def _error(self, parts: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
        """Standard error of a weighted mean whose rows vary together within a label."""
        counted = np.bincount(labels, self.weights) > 0
        n = int(counted.sum())
        sums = np.bincount(labels, parts)
        return math.sqrt(n / (n - 1) * float(sums @ sums)) / self.total if n > 1 else math.inf


def folds_of(codes: NDArray[np.int32], unit: NDArray[np.int64], cv: int, seed: int) -> NDArray[np.int64]:
    """Fold of each row: units dealt out in turn, sorted by the S of their first row, in random order within."""
    cv = whole_number("cv", cv, 2)
    units, first = np.unique(unit, return_index=True)
    if len(units) < 2 * cv:
        raise InvalidParameter(f"{len(units)} rows (or clusters) are too few for cv={cv} folds of at least two")
    order = np.lexsort((np.random.default_rng(seed).random(len(units)), codes[first]))
    fold = np.empty(len(units), np.int64)
    fold[order] = np.arange(len(units)) % cv
    return fold[unit]


def numbered(clusters: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Number of each row's cluster."""
    labels = np.asarray(clusters)
    if labels.shape != (n_rows,):
        raise InvalidParameter(f"clusters must be one label a row, got shape {labels.shape} for {n_rows} rows")
    return np.unique(labels, return_inverse=True)[1]
