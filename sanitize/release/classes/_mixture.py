"""Latent classes fitted by expectation maximization, where every parameter is an average over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from sanitize._util.checks import Codes, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Prior: rows with the margin of each column that every class starts with, and rows added to each class size. Without
# it, a class would rule out values that none of its rows has.
_PRIOR, _CLASS_PRIOR = 2.0, 0.5
# Most rounds, and the gain in likelihood, in nats per row, below which the likelihood has settled: later rounds change
# less than a fit of other rows would.
_ROUNDS, _SETTLED = 60, 5e-4
# Rounds after which only the best start is continued: they suffice to recognize it.
_TRIAL = 8
# Columns of many groups would determine the classes alone, so log-chances are divided by this power of the entropy of
# their column. A certified channel distinguishes few classes: they serve more columns if all count more evenly. Without
# a certificate columns of many groups lose more by it than others gain. Entropies below 0.05 nats count as that, or a
# nearly constant column would outweigh all others.
_EVEN, _CERTIFIED_EVEN, _LEAST_ENTROPY = 0.35, 0.7, 0.05
# Logarithms are rounded to this step, so that the last digits of sums decide nothing.
_GRID = 2.0**20


@dataclass(frozen=True, eq=False)
class Mixture:
    """Classes of rows, with the distribution of each column in each class.

    Attributes
    ----------
    log_sizes : ndarray of float, shape (n_classes,)
    log_chances : ndarray of float, shape (sum of n_groups, n_classes)
        Log-chances of the groups of all columns, one column after another; columns of high entropy count less.
    settled : bool
        Whether the likelihood had stopped rising.
    """

    log_sizes: Vector
    log_chances: Vector
    log_likelihood: float
    settled: bool

    @classmethod
    def fit(
        cls,
        codes: NDArray[np.int32],
        sizes: Sequence[int],
        n_classes: int,
        weights: Vector,
        noise: Vector,
        importance: Vector | None = None,
        *,
        is_certified: bool = False,
    ) -> Mixture:
        """Fit a mixture of classes to rows.

        Parameters
        ----------
        codes : ndarray of int, shape (n, n_columns)
            Group of each row in each column.
        sizes : sequence of int
            Number of groups of each column.
        n_classes : int
        weights : ndarray of float, shape (n,)
        noise : ndarray of float, shape (n_starts, n, n_classes)
            Random numbers in (0, 1) for the starts.
        importance : ndarray of float, shape (n_columns,), optional
            Weight of each column in determining the classes.
        is_certified : bool
            Whether other rows certify what is released of the classes.
        """
        rows = indicators(codes, sizes)
        transposed = rows.T.tocsr()
        margin = (transposed @ weights + 1e-3) / (weights.sum() + 1e-3)
        first = np.cumsum([0, *sizes])
        powers = _powers(margin, first, _CERTIFIED_EVEN if is_certified else _EVEN)
        powers *= np.repeat(np.ones(len(sizes)) if importance is None else importance, sizes)
        starts = [cls._maximize(transposed, _start(trial), weights, margin, first, powers) for trial in noise]
        tried = [trial._improve(rows, transposed, weights, margin, first, powers, _TRIAL) for trial in starts]
        best = max(tried, key=lambda trial: trial.log_likelihood)
        return best._improve(rows, transposed, weights, margin, first, powers, _ROUNDS)

    def _improve(
        self,
        rows: csr_array,
        transposed: csr_array,
        weights: Vector,
        margin: Vector,
        first: Codes,
        powers: Vector,
        rounds: int,
    ) -> Mixture:
        model = self
        for _ in range(rounds):
            memberships, likelihood = model.memberships(rows)
            total = float(likelihood @ weights)
            settled = total - model.log_likelihood < _SETTLED * float(weights.sum())
            model = self._maximize(transposed, memberships * weights[:, None], weights, margin, first, powers, total)
            if settled:
                return Mixture(model.log_sizes, model.log_chances, total, settled=True)
        return model

    @classmethod
    def _maximize(
        cls,
        transposed: csr_array,
        memberships: Vector,
        weights: Vector,
        margin: Vector,
        first: Codes,
        powers: Vector,
        log_likelihood: float = -np.inf,
    ) -> Mixture:
        sizes = memberships.sum(axis=0)
        counts = transposed @ memberships + _PRIOR * margin[:, None]
        totals = np.add.reduceat(counts, first[:-1], axis=0)
        chances = counts / np.repeat(totals, np.diff(first), axis=0)
        log_sizes = np.log((sizes + _CLASS_PRIOR) / (sizes.sum() + _CLASS_PRIOR * len(sizes)))
        logs = np.log(chances) * powers[:, None]
        return cls(_round_logs(log_sizes), _round_logs(logs), log_likelihood, settled=False)

    def sharpen(self, power: int) -> Mixture:
        """Mixture whose memberships are raised to a power and scaled to sum to one."""
        return Mixture(power * self.log_sizes, power * self.log_chances, self.log_likelihood, self.settled)

    def memberships(self, rows: csr_array) -> tuple[Vector, Vector]:
        """Memberships P(class | row), and the log-likelihood of each row."""
        logs = rows @ self.log_chances
        logs += self.log_sizes
        largest = logs.max(axis=1, keepdims=True)
        logs -= largest
        np.exp(logs, out=logs)
        totals = logs.sum(axis=1, keepdims=True)
        logs /= totals
        return logs, (np.log(totals) + largest)[:, 0]


def indicators(codes: NDArray[np.int32], sizes: Sequence[int]) -> csr_array:
    """Indicator matrix of rows and groups, with the groups of one column after another."""
    n, width = codes.shape
    places = (codes + np.cumsum([0, *sizes[:-1]]).astype(np.int32)).astype(np.int32)
    return csr_array((np.ones(n * width), places.ravel(), np.arange(n + 1) * width), shape=(n, int(sum(sizes))))


def _powers(margin: Vector, first: Codes, evenness: float) -> Vector:
    """Exponents with which columns of higher entropy count less in memberships; one for each group of a column."""
    entropies = np.maximum(-np.add.reduceat(margin * np.log(margin), first[:-1]), _LEAST_ENTROPY)
    powers = entropies**-evenness
    powers *= entropies.sum() / (powers * entropies).sum()
    return np.repeat(powers, np.diff(first))


def _start(noise: Vector) -> Vector:
    """Initial memberships, concentrated on few classes, from random numbers in (0, 1)."""
    sharp = noise ** (1 / 0.3) + 1e-12
    return np.asarray(sharp / sharp.sum(axis=1, keepdims=True))


def _round_logs(logs: Vector) -> Vector:
    return np.asarray(np.rint(logs * _GRID) / _GRID)
