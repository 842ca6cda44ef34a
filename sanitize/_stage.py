"""One sparse row-stochastic stage whose probabilities are integers over 2**62.

The integers are the law: the report, the budget check and the sampler read the same ones. A float64
probability above 2**-10 is such an integer exactly; smaller ones move by at most 2**-63, and a positive
probability never becomes zero nor a zero positive, so the support is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize._alias_table import AliasTable
from sanitize._dense_table import DenseTable, is_dense
from sanitize._keep import KeepTable, RedrawTable, UniformTable
from sanitize.errors import InvalidChannel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._sampler import Sampler

SCALE_BITS = 62
SCALE = 1 << SCALE_BITS
ROW_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Stage:
    """Rows of a sparse stochastic matrix: entries ``indptr[i]:indptr[i+1]`` belong to input i.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_inputs + 1,)
    indices : ndarray of int32
        Output of each entry, ascending in a row.
    weights : ndarray of int64
        Probability of each entry times 2**62; positive, and exactly 2**62 a row.
    n_outputs : int
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.int64]
    n_outputs: int

    def __post_init__(self) -> None:
        if len(self.indices) and not 0 <= self.indices.min() <= self.indices.max() < min(self.n_outputs, 1 << 31):
            raise InvalidChannel(f"a channel names outputs outside 0 to {self.n_outputs - 1}")
        for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("weights", np.int64)):
            array = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.indptr) < 2 or (np.diff(self.indptr) < 1).any() or self.indptr[0] != 0:
            raise InvalidChannel("every input symbol of a channel needs at least one output")
        if self.indptr[-1] != len(self.indices) or len(self.indices) != len(self.weights):
            raise InvalidChannel("a channel's entries do not fit its rows")
        starts = self.indptr[:-1]
        # Sums of integers wrap around at 2**64, which the sums of doubles exclude.
        exact = (np.add.reduceat(self.weights, starts) == SCALE) & (
            np.add.reduceat(self.weights / SCALE, starts) < ROW_TOLERANCE + 1
        )
        if (self.weights <= 0).any() or not exact.all():
            raise InvalidChannel("a channel's rows must be positive integers that sum to 2**62")
        ascending = np.diff(self.indices) > 0
        ascending[starts[1:] - 1] = True
        if not ascending.all():
            raise InvalidChannel("the outputs of a channel's row must be in ascending order, each once")

    @classmethod
    def from_probabilities(
        cls, indptr: NDArray[Any], indices: NDArray[Any], probabilities: NDArray[np.float64], n_outputs: int
    ) -> Stage:
        """Stage from float rows: each entry rounded to the grid, the rest given to the row's largest entry."""
        if not np.isfinite(probabilities).all() or (probabilities < 0).any():
            raise InvalidChannel("a channel's probabilities must be finite and non-negative")
        positive = probabilities > 0
        if not positive.all():
            indptr = np.concatenate([[0], np.cumsum(positive)])[indptr]
            indices, probabilities = indices[positive], probabilities[positive]
        sizes = np.diff(indptr)
        if (sizes < 1).any():
            raise InvalidChannel(f"row {int(np.argmin(sizes))} of the channel sums to 0, expected 1")
        starts = indptr[:-1]
        sums = np.add.reduceat(probabilities, starts)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > ROW_TOLERANCE:
            raise InvalidChannel(f"row {worst} of the channel sums to {sums[worst]:.12g}, expected 1")
        weights = np.maximum(np.rint(probabilities / np.repeat(sums, sizes) * SCALE), 1).astype(np.int64)
        rest = SCALE - np.add.reduceat(weights, starts)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((-weights, rows))  # the first of each row is its largest entry
        weights[order[starts]] += rest
        return cls(indptr, indices, weights, n_outputs)

    @classmethod
    def deterministic(cls, outputs: NDArray[Any], n_outputs: int) -> Stage:
        """Stage that sends input i to ``outputs[i]`` for sure."""
        n = len(outputs)
        return cls(np.arange(n + 1), outputs, np.full(n, SCALE, np.int64), n_outputs)

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return Stage, (self.indptr, self.indices, self.weights, self.n_outputs)

    @property
    def n_inputs(self) -> int:
        return len(self.indptr) - 1

    @property
    def is_deterministic(self) -> bool:
        return len(self.indices) == self.n_inputs

    @cached_property
    def probabilities(self) -> sparse.csr_array:
        """The stage as a float matrix (n_inputs, n_outputs)."""
        return sparse.csr_array(
            (self.weights / SCALE, self.indices, self.indptr), shape=(self.n_inputs, self.n_outputs)
        )

    @cached_property
    def sampler(self) -> Sampler:
        """Table for drawing outputs, built once, of the kind that is fastest for the form of the stage."""
        n, form = self.n_inputs, (self.indptr, self.indices, self.weights)
        if UniformTable.fits(*form, self.n_outputs):
            return UniformTable(self.n_outputs, SCALE_BITS)
        if KeepTable.fits(*form):
            return KeepTable(int(self.weights[0]), int(self.indices[1]), self.n_outputs, SCALE_BITS)
        if RedrawTable.fits(self.indptr, self.indices):
            return RedrawTable(self.take(np.array([n - 1])).sampler, n - 1, self.n_outputs)
        if is_dense(n, self.n_outputs, len(self.indices)):
            return DenseTable.build(self.indptr, self.weights, SCALE_BITS)
        return AliasTable.build(self.indptr, self.indices, self.weights, SCALE_BITS)

    def take(self, inputs: NDArray[Any]) -> Stage:
        """Stage with some of the inputs, in the order given."""
        sizes = np.diff(self.indptr)[inputs]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.indptr[inputs] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Stage(indptr, self.indices[entries], self.weights[entries], self.n_outputs)
