"""Multinomial regression of a column's group on the groups of other columns, shrunk towards the column's margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sanitize._util.arithmetic import reduce_axis
from sanitize._util.checks import Vector
from sanitize.release.classes._mixture import indicators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

# How much less a linear, and a quadratic, trend along ordered groups is shrunk than a difference of two groups: numbers
# often follow one another, and seldom in a single group.
_TRENDS = (10.0, 3.0)
# Weight of the constant, which is hardly shrunk, because a shrunk constant would change the frequencies of a column.
_CONSTANT = 30.0
# Least information, in nats, from which shrinkage is computed: the less two columns share, the more effects shrink.
_FAINT = 0.01
# Steps of the search: a count rather than a tolerance, so that every processor stops at the same point.
_ROUNDS = 16


@dataclass(frozen=True, eq=False)
class Variable:
    """Group of each row in one column, and the rank of each group if the column is ordered.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
    n_groups : int
    scores : ndarray of float, shape (n_groups, n_trends)
        Standardized ranks of ordered groups, and their squares with the linear part removed; empty if unordered.
    """

    codes: NDArray[np.integer[Any]]
    n_groups: int
    scores: Vector

    @classmethod
    def from_codes(
        cls, codes: NDArray[np.integer[Any]], n_groups: int, weights: Vector, *, is_ordered: bool
    ) -> Variable:
        if not is_ordered:
            return cls(codes, n_groups, np.empty((n_groups, 0)))
        counts = np.bincount(codes, weights, n_groups)
        counts[-1] = 0
        ranks = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1e-9)
        return cls(codes, n_groups, _orthogonal_powers(ranks, counts))

    @property
    def basis(self) -> Vector:
        """Contrasts of the groups, scaled so that the same penalty suits all, shape (n_groups, n_contrasts)."""
        return np.hstack([np.eye(self.n_groups), self.scores * np.sqrt(_TRENDS)[: self.scores.shape[1]]])


@dataclass(frozen=True, eq=False)
class Design:
    """Regression in orthogonal directions, before its penalty is chosen.

    Attributes
    ----------
    rows : csr_array, shape (n, sum of n_groups)
        Indicators of the groups of all regressors.
    basis : ndarray of float, shape (sum of n_groups, n_contrasts)
    output : Variable
    weights : ndarray of float, shape (n,)
    left, right : pairs of ndarrays
        Eigenvalues and eigenvectors of the inputs and of the output.
    margin : ndarray of float, shape (n_groups,)
    """

    rows: csr_array
    basis: Vector
    output: Variable
    weights: Vector
    left: tuple[Vector, Vector]
    right: tuple[Vector, Vector]
    margin: Vector

    @classmethod
    def prepare(
        cls, inputs: Sequence[Variable], shared: Sequence[float], output: Variable, weights: Vector, pairs: Vector
    ) -> Design:
        """Prepare the regression of one variable on others, in orthogonal directions.

        Parameters
        ----------
        inputs : sequence of Variable
        shared : sequence of float
            Mutual information of each input and the output, in nats.
        output : Variable
        weights : ndarray of float, shape (n,)
        pairs : ndarray of float, shape (1 + sum of n_groups, 1 + sum of n_groups)
            Total weight of rows for each pair of groups of a constant and the inputs.
        """
        rows = with_constant(inputs)
        strengths = [(_FAINT + entry) ** 0.5 for entry in shared]
        blocks = [entry.basis * strength for entry, strength in zip(inputs, strengths, strict=True)]
        basis = _block_diagonal([np.full((1, 1), _CONSTANT), *blocks])
        gram = basis.T @ pairs @ basis
        counts = np.bincount(output.codes, weights, output.n_groups) + 0.5
        margin: Vector = counts / counts.sum()
        spread = np.diag(margin) - np.outer(margin, margin)
        left, right = np.linalg.eigh(gram), np.linalg.eigh(output.basis.T @ spread @ output.basis)
        return cls(rows, basis, output, weights, (left[0], left[1]), (right[0], right[1]), margin)

    @property
    def information(self) -> Vector:
        """Approximate Fisher information about the coefficient in each direction."""
        return np.maximum(np.outer(self.left[0], self.right[0]), 0.0)

    def degrees(self, penalty: float) -> float:
        """Effective number of parameters: the sum over directions of the squared shrinkage factor.

        The influence of a row on the estimate along a direction is reduced by this factor, so the sum measures how much
        the presence of a row shows.
        """
        return float(((self.information / (self.information + penalty)) ** 2).sum())

    def fit(self, penalty: float) -> Vector:
        """Fit the terms that a constant and regressors' groups add to logits, shape (1 + sum of n_groups, n_groups)."""
        scale = 1 / np.sqrt(self.information + penalty)
        turn, back = self.basis @ self.left[1], self.output.basis @ self.right[1]
        transposed, rows = self.rows.T.tocsr(), np.arange(len(self.output.codes))
        start = np.log(self.margin)

        def loss(flat: Vector) -> tuple[float, Vector]:
            free = flat.reshape(scale.shape) * scale
            logs = self.rows @ (turn @ free @ back.T) + start
            logs -= reduce_axis(np.maximum, logs)[:, None]
            own_logs = logs[rows, self.output.codes].copy()
            np.exp(logs, out=logs)
            totals = reduce_axis(np.add, logs)
            logs *= (self.weights / totals)[:, None]
            value = float(self.weights @ (np.log(totals) - own_logs)) + penalty / 2 * float((free**2).sum())
            logs[rows, self.output.codes] -= self.weights
            slope = turn.T @ (transposed @ logs) @ back + penalty * free
            return value, (slope * scale).ravel()

        # The number of rounds is fixed: with a stopping rule on the gain, last digits would decide when to stop.
        solution = minimize(
            loss, np.zeros(scale.size), jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS, "ftol": 0, "gtol": 0}
        )
        logs = turn @ (solution.x.reshape(scale.shape) * scale) @ back.T
        logs[0] += start
        return np.asarray(logs)


def _orthogonal_powers(ranks: Vector, counts: NDArray[Any]) -> Vector:
    """Powers of ranks, uncorrelated over all rows and with variance one; 0 without rows."""
    shares, present = counts / max(counts.sum(), 1e-9), (counts > 0).astype(float)
    powers = [present]
    for degree in range(1, len(_TRENDS) + 1):
        power = (ranks - 0.5) ** degree * present
        for lower in powers:
            power = power - lower * (shares * power * lower).sum()
        variance = float((shares * power**2).sum())
        powers.append(power / variance**0.5 if variance > 1e-6 else 0 * present)
    return np.stack(powers[1:], axis=1)


def find_penalty(designs: Sequence[Design], degrees: float) -> float:
    """Find the penalty at which the effective numbers of parameters of all regressions add up to ``degrees``."""
    low, high = 0.0, 12.0  # at penalties below e^0, a nearly separable fit depends on the last digits
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if sum(design.degrees(np.exp(middle)) for design in designs) > degrees else (low, middle)
        )
    return float(np.exp(high))


def with_constant(variables: Sequence[Variable]) -> csr_array:
    """Indicator matrix of the groups of variables, with a constant in the first column."""
    n = len(variables[0].codes)
    codes = np.stack([np.zeros(n, np.int32), *(variable.codes.astype(np.int32) for variable in variables)], axis=1)
    return indicators(codes, [1, *(variable.n_groups for variable in variables)])


def _block_diagonal(blocks: Sequence[Vector]) -> Vector:
    whole = np.zeros(tuple(np.sum([block.shape for block in blocks], axis=0)))
    at = np.zeros(2, np.intp)
    for block in blocks:
        end = at + block.shape
        whole[at[0] : end[0], at[1] : end[1]] = block
        at = end
    return whole
