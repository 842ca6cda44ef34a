"""Dense matrices of channels, and row entropies and ratios of probabilities computed without a dense matrix.

Three facts keep the cost of entropies and ratios linear in the entries of the stages: leading deterministic stages only
relabel X; if the rows of the last stage do not overlap, Y determines the input of that stage; and in a product of two
stages, one long row shared by many inputs (the uniform draw of randomized response) can be handled as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import xlogy

from sanitize._util.checks import Codes, Vector, doubles
from sanitize._util.limits import CHANNEL_CELLS
from sanitize._util.tolerances import PROBABILITY_SUM
from sanitize.core.channel._channel import Channel
from sanitize.core.channel._stage import Stage, stage_product
from sanitize.core.channel._tuples import part_stages
from sanitize.errors import InvalidChannel, InvalidParameter

# Two ways of being too large have the same remedy.
_TOO_MANY_ENTRIES = (
    "the rows of this channel have too many entries to measure without a dense matrix; pool rare symbols (min_count) "
    "or release fewer columns"
)


def channel_matrix(channel: Channel | ArrayLike | Any, name: str = "channel") -> Vector:
    """Return P(y|x) as a dense matrix (n_x, n_y) whose rows sum to 1.

    An array keeps its own floating-point entries, however small; a Channel gives the distribution that it samples.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
    name : str
        Name of the parameter for error messages.

    Raises
    ------
    InvalidChannel
        If the matrix is not two-dimensional, has negative or non-finite entries, or a row does not sum to 1.
    """
    channel = getattr(channel, "channel_", channel)
    if isinstance(channel, Channel):
        return channel.matrix
    matrix = doubles(
        channel, InvalidChannel(f"{name} must be a Channel or a matrix of numbers (n_x, n_y) with rows of equal length")
    )
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidChannel(f"{name} must be a matrix (n_x, n_y) that is not empty, got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InvalidChannel(f"{name} must have finite entries >= 0, got some that are negative, infinite or NaN")
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > PROBABILITY_SUM:
        raise InvalidChannel(f"row {worst} of {name} sums to {sums[worst]:.12g}, expected 1")
    return matrix / sums[:, None]


@dataclass(frozen=True)
class ReducedChannel:
    """Channel from the distinct states of X, without its deterministic first stages and last stages that mix no inputs.

    Attributes
    ----------
    states : ndarray of int, shape (n_x,)
        State of each input symbol after the leading deterministic stages.
    stages : tuple of Stage
        The remaining stages; empty if Y determines the state.
    """

    states: Codes
    stages: tuple[Stage, ...]

    @classmethod
    def from_channel(cls, channel: Channel) -> ReducedChannel:
        """Reduce a channel: compute the state of each input symbol, and drop last stages that do not mix inputs."""
        stages = list(channel.stages)
        states: Codes = np.arange(channel.n_inputs)
        while stages and stages[0].is_deterministic:
            states = stages.pop(0).indices[states].astype(np.intp)
        if len(stages) < len(channel.stages):
            used, states = np.unique(states, return_inverse=True)
            if stages and len(used) < stages[0].n_inputs:
                stages[0] = stages[0].take(used)
        while stages and not _overlaps(stages[-1]):
            stages.pop()
        return cls(states, tuple(stages))

    @staticmethod
    def source_symbols(channel: Channel) -> Codes:
        """Symbol from which each output comes, before the last stages that do not mix inputs, shape (n_y,)."""
        source: Codes = np.arange(channel.n_outputs)
        for stage in reversed(channel.stages):
            if _overlaps(stage):
                break
            of_output = np.zeros(stage.n_outputs, np.intp)
            of_output[stage.indices] = np.repeat(np.arange(stage.n_inputs), np.diff(stage.indptr))
            source = of_output[source]
        return source

    @property
    def n_states(self) -> int:
        """Number of distinct states."""
        return int(self.states.max()) + 1

    @property
    def most_symbols(self) -> int:
        """Largest number of input or output symbols of any stage."""
        return max(self.n_states, *(stage.n_outputs for stage in self.stages), 1)

    def push(self, pmf: Vector) -> Vector:
        """Turn a distribution of (anything, state), shape (..., n_states), into that of (anything, Y), (..., n_y)."""
        for stage in self.stages:
            pmf = stage.push(pmf)
        return pmf

    @property
    def _is_small(self) -> bool:
        """True if the product of all stages is small enough for one matrix."""
        return len(self.stages) == 1 or self.n_states * self.stages[-1].n_outputs <= CHANNEL_CELLS

    def entropies(self) -> Vector:
        """Entropies in nats of the reduced channel's output given each state, shape (n_states,)."""
        if not self.stages:
            return np.zeros(self.n_states)
        if self._is_small:
            matrix = stage_product(self.stages)
            return -np.add.reduceat(xlogy(matrix.data, matrix.data), matrix.indptr[:-1])
        if (parts := part_stages(self.stages)) is not None:
            # Parts are drawn independently given the state, so their entropies add up.
            part_entropies = [
                ReducedChannel(np.arange(kernels[0].n_inputs), kernels).entropies() for _, kernels in parts
            ]
            return np.sum([rows[start] for rows, (start, _) in zip(part_entropies, parts, strict=True)], axis=0)
        # Entropy of short[x] + weight[x] * rows[long_row[x]]: that of the long part, corrected where the two parts
        # overlap.
        short, weight, long_row, long_rows = self._decompose()
        n, p = short.shape[0], short.data
        owner = np.repeat(np.arange(n), np.diff(short.indptr))
        long_entries = np.asarray(long_rows[long_row[owner], short.indices]).ravel()
        sums = p + weight[owner] * long_entries
        met = np.bincount(owner, weights=long_entries, minlength=n)
        met_log = np.bincount(owner, weights=xlogy(long_entries, long_entries), minlength=n)
        exact = np.bincount(owner, weights=xlogy(sums, sums), minlength=n)
        whole_log = np.add.reduceat(xlogy(long_rows.data, long_rows.data), long_rows.indptr[:-1])[long_row]
        return -(exact + (xlogy(weight, weight) * (1 - met) + weight * (whole_log - met_log)))

    def log_ratio(self) -> float:
        """Largest log P(y|x)/P(y|x') over y, x, x' in nats; inf if some x can release a y and others cannot."""
        if self.n_states == 1:
            return 0.0
        if not self.stages:
            return np.inf
        base: Vector | float = 0.0
        if self._is_small:
            matrix = stage_product(self.stages)
            if len(matrix.indices) < self.n_states * len(np.unique(matrix.indices)):
                return np.inf
        else:
            split = self._decompose() if part_stages(self.stages) is None else None
            if split is None or len(np.unique(split[1])) > 1 or len(np.unique(split[2])) > 1:
                raise InvalidParameter(
                    "this channel has too many symbols to compute its level of local differential privacy; "
                    "pool rare symbols (min_count) or release fewer columns"
                )
            matrix, weight, long_row, rows = split
            base = weight[0] * rows[[long_row[0]]].toarray().ravel()
        top, bottom = base + matrix.max(axis=0).toarray(), base + matrix.min(axis=0).toarray()
        with np.errstate(divide="ignore"):
            return float(np.log(top[top > 0] / bottom[top > 0]).max())

    def _decompose(self) -> tuple[sparse.csr_array, Vector, Codes, sparse.csr_array]:
        """Split each row into a sparse part and a weight times one row of the last stage."""
        head, last = self.stages[0].probabilities, stage_product(self.stages[1:])
        is_long = np.diff(last.indptr) > 64
        links = head[:, np.flatnonzero(is_long)].tocsr()
        if (np.diff(links.indptr) > 1).any():
            raise InvalidParameter(_TOO_MANY_ENTRIES)
        weight = np.zeros(self.n_states)
        long_row = np.zeros(self.n_states, np.intp)
        owner = np.repeat(np.arange(self.n_states), np.diff(links.indptr))
        weight[owner] = links.data
        long_row[owner] = np.flatnonzero(is_long)[links.indices]
        light = sparse.csr_array(head @ sparse.diags_array(np.where(is_long, 0.0, 1.0)))
        light.eliminate_zeros()
        if int(np.diff(last.indptr)[light.indices].sum()) > 1 << 26:
            raise InvalidParameter(_TOO_MANY_ENTRIES)
        return sparse.csr_array(light @ last), weight, long_row, last


def _overlaps(stage: Stage) -> bool:
    """Return whether two inputs of a stage share an output."""
    return len(stage.indices) > stage.n_outputs or len(np.unique(stage.indices)) < len(stage.indices)
