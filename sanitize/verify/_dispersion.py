"""How much counts scatter around what a channel makes of a source: rows that were never drawn scatter too little.

A channel that keeps the frequencies of X gives a copy of the source its mean exactly. An honest draw has the
covariance of the channel around that mean, and lies so close to it by chance only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.channel import Channel

# Directions of a smaller variance, in rows squared, are left out: whole numbers are too coarse for the normal law.
_LEAST_VARIANCE = 25.0
# Symbols looked at one by one; all others are one.
_MOST_SYMBOLS = 64


def log_chance_of_closeness(
    y_counts: NDArray[np.int64], x_counts: NDArray[np.int64], dense: NDArray[np.float64]
) -> float:
    """Log of the chance that counts lie as close to their mean, or closer, given the symbols of the source.

    The squared distance in the metric of the covariance is chi-square distributed, asymptotically, in directions of
    variance 25 and more. Counts are whole numbers, which the law is not: the distance is enlarged by that of the
    corners of a unit cube, so a small table passes.

    Parameters
    ----------
    y_counts : ndarray of shape (n_y,)
    x_counts : ndarray of shape (n_x,)
    dense : ndarray of shape (n_x, n_y)
        P(y|x).
    """
    mean = x_counts @ dense
    variances = mean - x_counts @ np.square(dense)
    if len(mean) > _MOST_SYMBOLS:
        place = np.full(len(mean), _MOST_SYMBOLS - 1)
        place[np.argsort(-variances, kind="stable")[: _MOST_SYMBOLS - 1]] = np.arange(_MOST_SYMBOLS - 1)
        dense, y_counts = _summed(dense, place), _summed(y_counts[None, :], place)[0]
        mean = x_counts @ dense
    covariance = np.diag(mean) - (dense.T * x_counts) @ dense
    values, vectors = np.linalg.eigh(covariance)
    wide = values >= _LEAST_VARIANCE
    degrees = int(wide.sum())
    if not degrees:
        return 0.0
    distance = math.sqrt(float((np.square((y_counts - mean) @ vectors[:, wide]) / values[wide]).sum()))
    # The corner of a cube is at most half its diagonal away, in each direction over its standard deviation.
    corner = 0.5 * math.sqrt(float((1 / values[wide]).sum()))
    reach = distance + corner
    if reach * reach >= degrees:
        return 0.0
    from scipy.stats import chi2  # takes longer to load than a small release to verify

    return float(chi2.logcdf(reach * reach, degrees))


def closest(
    channel: Channel, y_counts: NDArray[np.int64], x_counts: NDArray[np.int64], dense: NDArray[np.float64]
) -> float:
    """The same for all columns at once and for each alone, the worst of them and allowing for their number."""
    logs = [
        log_chance_of_closeness(_summed(y_counts[None, :], place)[0], x_counts, _summed(dense, place))
        for place in _projections(channel)
    ]
    return min(0.0, min(logs) + math.log(len(logs)))


def _projections(channel: Channel) -> Iterator[NDArray[np.intp]]:
    codes = channel.outputs.codes
    yield np.arange(len(codes))
    for column in codes.T if codes.shape[1] > 1 else ():
        yield np.unique(column, return_inverse=True)[1].reshape(-1)


def _summed(table: NDArray, place: NDArray[np.intp]) -> NDArray:  # type: ignore[type-arg]
    """Columns of a table that have the same place as one."""
    if np.array_equal(place, np.arange(table.shape[1])):
        return table
    order = np.argsort(place, kind="stable")
    return np.add.reduceat(table[:, order], np.flatnonzero(np.diff(place[order], prepend=-1)), axis=1)
