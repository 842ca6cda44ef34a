"""Dependence of a numeric column on an earlier column within groups, such as two similar bills of one person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._util.checks import Vector

# Least information, in nats, that one number is taken to carry about another within groups; the prior is divided by it.
_FAINT = 1e-4


def bin_factors(pairs: Vector, groups: NDArray[np.integer[Any]]) -> tuple[Vector, float]:
    """Factor by which each bin is more likely within its group, given the bin of an earlier numeric column.

    Shares are shrunk towards the group's; the more information the numbers share within groups, the less.

    Parameters
    ----------
    pairs : ndarray of float, shape (n_earlier, n_bins)
        Number of rows by the bins of both columns.
    groups : ndarray of int, shape (n_bins,)
        Group of each bin, ascending.

    Returns
    -------
    factors : ndarray of float, shape (n_earlier, n_bins)
    degrees : float
        Effective number of parameters.

    Examples
    --------
    >>> bin_factors(np.full((2, 2), 50.0), np.zeros(2, int))[0]
    array([[1., 1.],
           [1., 1.]])
    """
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    mass, sizes = pairs.sum(axis=0), np.bincount(groups)
    shares = (mass + 0.5) / np.add.reduceat(mass + 0.5, first)[groups]
    totals = np.add.reduceat(pairs, first, axis=1)
    expected, n, seen = totals[:, groups] * shares, max(float(pairs.sum()), 1.0), pairs > 0
    by_chance = ((totals > 0) * (sizes - 1)).sum() / 2
    nats = (float((pairs[seen] * np.log(pairs[seen] / expected[seen])).sum()) - by_chance) / n
    prior = float((totals * (sizes - 1)).sum()) / n / (2 * max(nats, _FAINT))
    if prior == 0:  # no group has two bins
        return np.ones(pairs.shape), 0.0
    factors = (pairs / shares + prior) / (totals[:, groups] + prior)
    return factors, float(((totals / (totals + prior)) ** 2 * (sizes - 1)).sum())
