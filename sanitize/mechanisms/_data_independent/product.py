"""Product of channels, which passes each coordinate of a tuple through its own channel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.limits import DENSE_CELLS
from sanitize.core.channel import Channel, Stage
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.core.alphabet import Alphabet


def product_channel(
    channels: Sequence[Channel], inputs: Alphabet | None = None, outputs: Alphabet | None = None
) -> Channel:
    """Channel that passes each coordinate independently through its own channel: P(y|x) = prod_j P_j(y_j|x_j).

    Capacities of the factors add up, and so do their local DP levels if neighbours may differ in every coordinate.
    Symbols are tuples in lexicographic order, with the first coordinate most significant. Each factor stays a separate
    stage, so the product matrix is never formed.

    Parameters
    ----------
    channels : sequence of Channel
        At least one.
    inputs, outputs : Alphabet, optional
        Symbols of the tuples; integers by default.

    Returns
    -------
    Channel

    Raises
    ------
    InvalidParameter
        If there is no channel, or the stages would have more than 2^25 entries.

    Examples
    --------
    >>> one = Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
    >>> product_channel([one, one]).matrix[0]
    array([0.5625, 0.1875, 0.1875, 0.0625])
    """
    if not channels:
        raise InvalidParameter("channels must contain at least one channel, got none")
    plan = []
    before, after = 1, math.prod(channel.n_inputs for channel in channels)
    for channel in channels:
        after //= channel.n_inputs
        plan += [(stage, before, after) for stage in channel.stages]
        before *= channel.n_outputs
    entries = sum(left * len(stage.indices) * right for stage, left, right in plan)
    if entries > DENSE_CELLS or before > DENSE_CELLS:
        raise InvalidParameter(
            f"the product channel would have {entries} entries and {before} outputs, more than 2^25; "
            "take fewer coordinates or fewer symbols in each"
        )
    stages = []
    for stage, before, after in plan:
        # A stage acts on the middle coordinate of (before, middle, after), so it is an identity on the outer ones.
        matrix = sparse.csr_array((stage.weights, stage.indices, stage.indptr), (stage.n_inputs, stage.n_outputs))
        ends = [sparse.eye_array(size, dtype=np.int64) for size in (before, after)]
        whole = sparse.kron(sparse.kron(ends[0], matrix, "csr"), ends[1], "csr")
        stages.append(Stage(whole.indptr, whole.indices, whole.data, whole.shape[1]))
    return Channel(tuple(stages), inputs, outputs)
