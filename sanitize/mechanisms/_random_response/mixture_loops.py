"""The best mixture of listed points in compiled loops: what `mixture` does, by the same rules and to the same bits."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sanitize.mechanisms._random_response.arithmetic_loops import invert


@njit(
    "boolean(float64[:, ::1], float64[::1], float64[::1], int64[::1], float64[::1], float64[:, ::1], "
    "float64, float64, float64, int64, int64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def _pivoted(
    points: NDArray[np.float64],
    cost: NDArray[np.float64],
    p_x: NDArray[np.float64],
    basis: NDArray[np.int64],
    price: NDArray[np.float64],
    inverse: NDArray[np.float64],
    optimal: float,
    least_pivot: float,
    rise: float,
    n_rises: int,
    n_pivots: int,
    positive: float,
) -> bool:
    """Whether the simplex method ends: it leads a basis, its prices and its inverse from the letters to the optimum."""
    n, n_points = points.shape
    weights, mu, column, reduced = np.empty(n), np.empty(n), np.empty(n), np.empty(n_points)
    for x in range(n):
        weights[x] = p_x[x]
    rises = 0
    for _ in range(n_pivots):
        for j in range(n_points):
            reduced[j] = cost[j]
        for x in range(n):
            mu[x] = 0.0
            for r in range(n):
                mu[x] += price[r] * inverse[r, x]
            for j in range(n_points):
                reduced[j] -= mu[x] * points[x, j]
        best = 0
        for j in range(n_points):
            if reduced[j] < reduced[best]:
                best = j
        if reduced[best] > -optimal:
            is_bought = False
            for r in range(n):
                is_bought |= basis[r] >= n_points and weights[r] > positive * p_x[r]
            if not is_bought:
                return True
            rises += 1
            if rises > n_rises:
                return False
            for r in range(n):
                if basis[r] >= n_points:
                    price[r] *= rise
            continue
        leaves, step = -1, np.inf
        for r in range(n):
            column[r] = 0.0
            for x in range(n):
                column[r] += inverse[r, x] * points[x, best]
            if column[r] > least_pivot and weights[r] / column[r] < step:
                leaves, step = r, weights[r] / column[r]
        if leaves < 0:
            return False
        for x in range(n):
            inverse[leaves, x] /= column[leaves]
        for r in range(n):
            if r != leaves:
                weights[r] -= step * column[r]
                for x in range(n):
                    inverse[r, x] -= column[r] * inverse[leaves, x]
        weights[leaves] = step
        basis[leaves], price[leaves] = best, cost[best]
    return False


@njit(
    "Tuple((float64, float64[::1], int64[::1], float64[::1]))(float64[:, ::1], float64[::1], float64[::1], "
    "float64, float64, float64, float64, int64, int64, float64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def mixed(
    points: NDArray[np.float64],
    cost: NDArray[np.float64],
    p_x: NDArray[np.float64],
    optimal: float,
    least_pivot: float,
    first_price: float,
    rise: float,
    n_rises: int,
    pivots: int,
    positive: float,
    exact: float,
) -> tuple[float, NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Value, prices, columns chosen and their weights of the least mixture of these columns into P_X.

    No columns are chosen where `mixture.best_mixture` gives up; the numbers after P_X are its `Rules`.
    """
    n, n_points = points.shape
    nothing = 0.0, np.empty(0), np.empty(0, np.int64), np.empty(0)
    basis, price, inverse = np.empty(n, np.int64), np.empty(n), np.zeros((n, n))
    for x in range(n):
        basis[x], price[x], inverse[x, x] = n_points + x, first_price, 1.0
    for j in range(n_points):
        if cost[j] <= 0:
            for x in range(n):
                if points[x, j] > 0:
                    basis[x], price[x] = j, 0.0
    if not _pivoted(
        points, cost, p_x, basis, price, inverse, optimal, least_pivot, rise, n_rises, pivots * n, positive
    ):
        return nothing

    # The weights of the final basis, solved afresh and refined once.
    columns, squares = np.zeros((n, n)), np.zeros((1, n, n))
    for r in range(n):
        for x in range(n):
            if basis[r] < n_points:
                columns[r, x] = points[x, basis[r]]
            elif basis[r] == n_points + x:
                columns[r, x] = 1.0
            squares[0, r, x] = columns[r, x]
    if not invert(squares)[0]:
        return nothing
    inverse = squares[0]
    left, weights, mu = np.empty(n), np.zeros(n), np.zeros(n)
    for x in range(n):
        left[x] = p_x[x]
    for _ in range(2):
        for r in range(n):
            more = 0.0
            for x in range(n):
                more += left[x] * inverse[x, r]
            weights[r] += more
        for x in range(n):
            mixed_in = 0.0
            for r in range(n):
                mixed_in += weights[r] * columns[r, x]
            left[x] = p_x[x] - mixed_in
    least = np.inf
    for x in range(n):
        least = min(least, positive * p_x[x])
    value, n_chosen = 0.0, 0
    for r in range(n):
        if not (abs(left[r]) < exact * p_x[r] and weights[r] > -least):
            return nothing
        for x in range(n):
            mu[r] += inverse[r, x] * price[x]
        if basis[r] < n_points:
            value += weights[r] * price[r]
            if weights[r] > least:
                basis[n_chosen], weights[n_chosen] = basis[r], weights[r]
                n_chosen += 1
    return value, mu, basis[:n_chosen], weights[:n_chosen]


@njit("float64(float64[:, ::1], float64[::1], float64[::1])", cache=True, nogil=True)
def lowest(points: NDArray[np.float64], cost: NDArray[np.float64], mu: NDArray[np.float64]) -> float:
    """Least cost of a column beyond the prices of its letters."""
    n, n_points = points.shape
    least = np.inf
    for j in range(n_points):
        reduced = cost[j]
        for x in range(n):
            reduced -= mu[x] * points[x, j]
        least = min(least, reduced)
    return least
