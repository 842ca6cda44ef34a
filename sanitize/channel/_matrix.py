"""Row-stochastic matrices from what users pass: an array, a Channel, or a fitted sanitizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.channel._channel import Channel
from sanitize.errors import InvalidChannel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Rounding that a row sum may have.
_SUM_TOLERANCE = 1e-9


def channel_matrix(channel: Channel | ArrayLike | Any, name: str = "channel") -> NDArray[np.float64]:
    """P(y|x) as a dense matrix (n_x, n_y) whose rows sum to 1.

    An array keeps its own floating-point entries, however small; a Channel gives the law it samples.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
    name : str
        Parameter to name in errors.

    Raises
    ------
    InvalidChannel
        If the matrix is not two-dimensional, has negative or non-finite entries, or a row does not sum to 1.
    """
    channel = getattr(channel, "channel_", channel)
    if isinstance(channel, Channel):
        return channel.matrix
    try:
        matrix = np.array(channel, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidChannel(f"{name} must be a Channel or a matrix of numbers (n_x, n_y)") from None
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidChannel(f"{name} must be a matrix (n_x, n_y) with entries, got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InvalidChannel(f"{name} must have finite entries >= 0")
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _SUM_TOLERANCE:
        raise InvalidChannel(f"row {worst} of {name} sums to {sums[worst]:.12g}, expected 1")
    return matrix / sums[:, None]
