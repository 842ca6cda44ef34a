"""Best mixture of listed points by the primal simplex method: dense, for a few dozen letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sanitize.mechanisms._random_response.bases import inverse as inverses_of
from sanitize.mechanisms._random_response.pool import Mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rules(NamedTuple):
    """When the simplex method stops, and what counts as nothing.

    Attributes
    ----------
    optimal, pivot : float
        Reduced costs above -optimal are 0; entries of a column up to pivot are not pivots.
    price, rise, n_rises : float, float, int
        Price of a letter that is not covered yet, far above any H(v), and how far it may rise.
    pivots : int
        Pivots a letter before it gives up.
    positive, exact : float
        Weights up to positive times P(x) are 0; the mixture is P_X up to exact times P(x).
    """

    optimal: float = 1e-13
    pivot: float = 1e-10
    price: float = 1e3
    rise: float = 1e3
    n_rises: int = 3
    pivots: int = 50
    positive: float = 1e-13
    exact: float = 1e-12


RULES = Rules()


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
    basis, price = n_points + np.arange(n), np.full(n, RULES.price)
    basis[letter], price[letter] = free, 0.0
    inverse, weights, letters = np.eye(n), p_x.copy(), points.T.copy()
    raises = 0
    for _ in range(RULES.pivots * n):
        reduced = cost - (price @ inverse) @ letters
        j = int(reduced.argmin())
        if reduced[j] > -RULES.optimal:
            bought = basis >= n_points
            if not (bought & (weights > RULES.positive * p_x)).any():
                return _polished(points, cost, p_x, basis, price)
            raises += 1
            if raises > RULES.n_rises:
                return None
            price[bought] *= RULES.rise
            continue
        column = points[j] @ inverse.T
        rises = np.flatnonzero(column > RULES.pivot)
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
    inverses, is_regular = inverses_of(columns[None])
    if not is_regular.all():
        return None
    inverse = inverses[0]
    weights = p_x @ inverse
    weights += (p_x - weights @ columns) @ inverse
    least = RULES.positive * p_x.min()
    off = np.abs(p_x - weights @ columns)
    if not ((off < RULES.exact * p_x).all() and weights.min() > -least):
        return None
    kept = listed[weights[listed] > least]
    value = float(weights[listed] @ price[listed])
    return Mixture(value, price @ inverse.T, basis[kept], weights[kept])
