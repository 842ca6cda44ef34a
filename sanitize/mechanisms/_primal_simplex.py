"""Best mixture of listed points by the primal simplex method: dense, for a few dozen letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._pool import Mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OPTIMAL = 1e-13
_PIVOT = 1e-10
_PRICE = 1e3  # of a letter that is not covered yet; far above any H(v)
_RAISES, _RAISE = 3, 1e3
_PIVOTS_A_LETTER = 50
_POSITIVE, _EXACT = 1e-13, 1e-12


def best_mixture(points: NDArray[np.float64], cost: NDArray[np.float64], p_x: NDArray[np.float64]) -> Mixture | None:
    """Min Σ β cost with Σ β v = P_X, β >= 0; None where rounding or ties keep the method from the optimum.

    It starts from the letters alone: the free ones are points of cost 0, the others are bought at a price that
    drives them out.

    Parameters
    ----------
    points : ndarray of shape (K, n)
    cost : ndarray of shape (K,)
        Entropies; 0 exactly for letters alone.
    p_x : ndarray of shape (n,)
    """
    n, n_points = len(p_x), len(points)
    free = np.flatnonzero(cost <= 0)
    letter = points[free].argmax(axis=1)
    basis, price = n_points + np.arange(n), np.full(n, _PRICE)
    basis[letter], price[letter] = free, 0.0
    inverse, weights = np.eye(n), p_x.copy()
    raises = 0
    for _ in range(_PIVOTS_A_LETTER * n):
        reduced = cost - points @ (price @ inverse)
        j = int(reduced.argmin())
        if reduced[j] > -_OPTIMAL:
            bought = basis >= n_points
            if not (bought & (weights > _POSITIVE * p_x)).any():
                return _polished(points, cost, p_x, basis, price)
            raises += 1
            if raises > _RAISES:
                return None
            price[bought] *= _RAISE
            continue
        column = inverse @ points[j]
        rises = np.flatnonzero(column > _PIVOT)
        if not len(rises):
            return None
        ratio = weights[rises] / column[rises]
        k = int(ratio.argmin())
        r, step = rises[k], ratio[k]
        weights -= step * column
        weights[r] = step
        row = inverse[r] / column[r]
        inverse -= column[:, None] * row
        inverse[r] = row
        basis[r], price[r] = j, cost[j]
    return None


def _polished(
    points: NDArray[np.float64],
    cost: NDArray[np.float64],
    p_x: NDArray[np.float64],
    basis: NDArray[np.intp],
    price: NDArray[np.float64],
) -> Mixture | None:
    """The mixture of a final basis, solved afresh and refined once; None where that is not accurate."""
    n, n_points = len(p_x), len(points)
    columns = np.eye(n)
    listed = np.flatnonzero(basis < n_points)
    columns[listed] = points[basis[listed]]
    bought = np.flatnonzero(basis >= n_points)
    columns[bought] = np.eye(n)[basis[bought] - n_points]
    try:
        inverse = np.linalg.inv(columns)
    except np.linalg.LinAlgError:
        return None
    weights = p_x @ inverse
    weights += (p_x - weights @ columns) @ inverse
    if not (np.abs(weights @ columns / p_x - 1).max() < _EXACT and weights.min() > -_POSITIVE * p_x.min()):
        return None
    kept = listed[weights[listed] > _POSITIVE * p_x.min()]
    return Mixture(float(weights[listed] @ price[listed]), inverse @ price, basis[kept], weights[kept])
