"""Row-stochastic matrices from what users pass: an array, a Channel, or a fitted sanitizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.channel import Channel
from sanitize.errors import InvalidChannel, InvalidDistribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TOLERANCE = 1e-9


def kernel_of(channel: Channel | ArrayLike | Any, name: str = "channel") -> NDArray[np.float64]:
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
    except (TypeError, ValueError):
        raise InvalidChannel(f"{name} must be a Channel or a matrix of numbers (n_x, n_y)") from None
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidChannel(f"{name} must be a matrix (n_x, n_y) with entries, got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InvalidChannel(f"{name} must have finite entries >= 0")
    sums = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _TOLERANCE:
        raise InvalidChannel(f"row {worst} of {name} sums to {sums[worst]:.12g}, expected 1")
    return matrix / sums[:, None]


def law_of(prior: ArrayLike, name: str = "prior") -> NDArray[np.float64]:
    """Probability vector (n,), entries >= 0 that sum to 1.

    Raises
    ------
    InvalidDistribution
        If it is not one.
    """
    try:
        p = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDistribution(f"{name} must be a vector of probabilities") from None
    if p.ndim != 1 or not p.size:
        raise InvalidDistribution(f"{name} must be a vector of probabilities, got shape {p.shape}")
    if not np.isfinite(p).all() or (p < 0).any():
        raise InvalidDistribution(f"{name} must have finite entries >= 0")
    if abs(p.sum() - 1) > _TOLERANCE:
        raise InvalidDistribution(f"{name} must sum to 1, got {p.sum():.12g}")
    return p / p.sum()
