"""One sparse row-stochastic stage whose probabilities are integers over 2**62.

These integers are the distribution: the report, the budget check and the sampler all use them. A float64 probability
above 2**-10 is such an integer exactly; smaller ones move by at most 2**-63, and positive probabilities stay positive
and zeros stay zero, so the support is kept.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sanitize._util.checks import Vector
from sanitize._util.sampling.alias_method import DenseTable, fits_dense_table
from sanitize._util.sampling.alias_table import AliasTable
from sanitize._util.sampling.sampler import KeepTable, RedrawTable, Sampler, UniformTable
from sanitize._util.tolerances import PROBABILITY_SUM
from sanitize.errors import InvalidChannel

# Probabilities are whole numbers over 2**62, the largest power of two in an int64, so that each row sums exactly.
SCALE_BITS: Final = 62
SCALE = 1 << SCALE_BITS


@dataclass(frozen=True, eq=False)
class Stage:
    """Sparse stochastic matrix, stored by rows: entries ``indptr[i]:indptr[i+1]`` belong to input i.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_inputs + 1,)
    indices : ndarray of int32
        Output of each entry, ascending within a row.
    weights : ndarray of int64
        Probability of each entry times 2**62: positive, with a sum of exactly 2**62 per row.
    n_outputs : int
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.int64]
    n_outputs: int

    def __post_init__(self) -> None:
        if len(self.indices) and not 0 <= self.indices.min() <= self.indices.max() < min(self.n_outputs, 1 << 31):
            raise InvalidChannel(f"the outputs of a channel must be numbers from 0 to {self.n_outputs - 1}")
        for name, kind in (("indptr", np.int64), ("indices", np.int32), ("weights", np.int64)):
            vars(self)[name] = np.ascontiguousarray(getattr(self, name), kind)
            vars(self)[name].flags.writeable = False
        starts, ends = self.indptr[:-1], self.indptr[1:]
        if not len(starts) or not (starts < ends).all() or starts[0] != 0:
            raise InvalidChannel("every input symbol of a channel needs at least one output")
        if ends[-1] != len(self.indices) or len(self.indices) != len(self.weights):
            raise InvalidChannel(
                "a channel must have one weight per output, and its rows must contain all outputs and weights"
            )
        ascending = self.indices[1:] > self.indices[:-1]
        ascending[starts[1:] - 1] = True
        if not ascending.all():
            raise InvalidChannel("the outputs in each row of a channel must be distinct and in ascending order")
        # Sums of integers wrap around at 2**64, which the sums of doubles exclude.
        exact = np.add.reduceat(self.weights, starts) == SCALE
        exact &= np.add.reduceat(self.weights / SCALE, starts) < PROBABILITY_SUM + 1
        if (self.weights <= 0).any() or not exact.all():
            raise InvalidChannel("the weights in each row of a channel must be positive integers that sum to 2**62")

    @classmethod
    def from_probabilities(
        cls, indptr: NDArray[Any], indices: NDArray[Any], probabilities: Vector, n_outputs: int
    ) -> Stage:
        """Stage from rows of floats, rounded to multiples of 2**-62; each row's largest entry absorbs the remainder."""
        positive = probabilities > 0
        if not positive.all():
            if not np.isfinite(probabilities).all() or (probabilities < 0).any():
                raise InvalidChannel(
                    "a channel must have finite entries >= 0, got some that are negative, infinite or NaN"
                )
            indptr = np.concatenate([[0], np.cumsum(positive)])[indptr]
            indices, probabilities = indices[positive], probabilities[positive]
        empty = indptr[1:] <= indptr[:-1]
        if empty.any():
            raise InvalidChannel(f"row {int(empty.argmax())} of the channel sums to 0, expected 1")
        sums = np.add.reduceat(probabilities, indptr[:-1])
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > PROBABILITY_SUM:
            raise InvalidChannel(f"row {worst} of the channel sums to {sums[worst]:.12g}, expected 1")
        return cls.from_masses(indptr, indices, probabilities, sums, n_outputs)

    @classmethod
    def from_masses(
        cls, indptr: NDArray[Any], indices: NDArray[Any], masses: Vector, sums: Vector, n_outputs: int
    ) -> Stage:
        """Build a stage from rows of positive masses, divided by their sums; every row has entries."""
        starts = indptr[:-1]
        rows = np.arange(len(starts)).repeat(indptr[1:] - starts)
        weights = np.maximum(np.rint(masses / sums[rows] * SCALE), 1).astype(np.int64)
        largest = np.flatnonzero(weights == np.maximum.reduceat(weights, starts)[rows])
        if len(largest) > len(starts):
            # Of equal entries, one alone takes the remainder, or the row would not sum to 2**62.
            largest = largest[np.unique(rows[largest], return_index=True)[1]]
        weights[largest] += SCALE - np.add.reduceat(weights, starts)
        return cls(indptr, indices, weights, n_outputs)

    @classmethod
    def deterministic(cls, outputs: NDArray[Any], n_outputs: int) -> Stage:
        """Stage that sends input i to ``outputs[i]`` with probability 1."""
        n = len(outputs)
        return cls(np.arange(n + 1), outputs, np.full(n, SCALE, np.int64), n_outputs)

    @classmethod
    def dense(cls, weights: NDArray[np.int64]) -> Stage:
        """Stage in which every input may give every output, from integer rows, shape (n_inputs, n_outputs)."""
        n, k = weights.shape
        return cls(np.arange(0, n * k + 1, k), np.tile(np.arange(k), n), weights.ravel(), k)

    @property
    def form(self) -> tuple[Any, Any, Any, Any]:
        """Return the arrays and the number of outputs of a stage, for JSON."""
        return self.indptr, self.indices, self.weights, self.n_outputs

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return Stage, self.form

    @property
    def n_inputs(self) -> int:
        return len(self.indptr) - 1

    @property
    def is_deterministic(self) -> bool:
        return len(self.indices) == self.n_inputs

    def push(self, pmf: Vector) -> Vector:
        """Turn a distribution of (anything, input), shape (k, n_inputs), into that of (anything, output)."""
        if self.is_deterministic:
            return np.array([np.bincount(self.indices, row, self.n_outputs) for row in pmf])
        return pmf @ self.probabilities

    @cached_property
    def probabilities(self) -> sparse.csr_array:
        """Return the stage as a float matrix (n_inputs, n_outputs)."""
        shares = self.weights / SCALE
        return sparse.csr_array((shares, self.indices, self.indptr), shape=(self.n_inputs, self.n_outputs))

    @cached_property
    def sampler(self) -> Sampler:
        """Table from which outputs are drawn, built once and of the fastest kind for this stage."""
        n, form = self.n_inputs, self.form[:3]
        if UniformTable.fits(*self.form):
            return UniformTable(self.n_outputs, SCALE_BITS)
        if KeepTable.fits(*form):
            return KeepTable(int(self.weights[0]), int(self.indices[1]), self.n_outputs, SCALE_BITS)
        if RedrawTable.fits(self.indptr, self.indices):
            return RedrawTable(self.take(np.array([n - 1])).sampler, n - 1, self.n_outputs)
        if fits_dense_table(n, self.n_outputs, len(self.indices)):
            return DenseTable.build(*self.form, SCALE_BITS)
        return AliasTable.build(*form, SCALE_BITS)

    def take(self, inputs: NDArray[Any]) -> Stage:
        """Stage with some of the inputs, in the order given."""
        sizes = np.diff(self.indptr)[inputs]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.indptr[inputs] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Stage(indptr, self.indices[entries], self.weights[entries], self.n_outputs)


def stage_product(stages: Sequence[Stage]) -> sparse.csr_array:
    """Return P(y|x) of consecutive stages as one sparse matrix."""
    return reduce(operator.matmul, (stage.probabilities for stage in stages))
