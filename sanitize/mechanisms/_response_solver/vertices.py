"""Best mixture of all vertices of Π if there are few enough to list, by double description and one linear program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sanitize._util.arithmetic import basis_inverses, product
from sanitize._util.checks import Codes, Vector
from sanitize._util.limits import BLOCK_CELLS
from sanitize.mechanisms._response_solver.columns import NOTHING, Loss, Mixture
from sanitize.mechanisms._response_solver.dual_simplex import LinearBatch, solve_batch

# Up to these numbers of vertices and pairs, listing all vertices of the polytope is faster than a search.
_MOST_VERTICES, _MOST_PAIRS = 20_000, 1 << 21
# A vertex is on a cut below the first and clear of it above the second; in between, rounding would decide.
_ON, _CLEAR = 1e-13, 1e-10
# Weights up to _POSITIVE times P(x) are rounding of 0. A mixture that misses P_X by more than _EXACT times P(x) is left
# to the search.
_POSITIVE, _EXACT = 1e-13, 1e-12


def mix_all_vertices(
    outer: Vector, inner: Vector, p_x: Vector, gap: float, loss: Loss
) -> tuple[Vector, Mixture, float, int] | None:
    """Return the chosen posteriors, shape (k, n), their mixture, a lower bound, and the number of vertices.

    The value and the bound do not include Σ P(x) H(T|x), which no response can lower. The result is None if there are
    too many vertices, or rounding leaves a doubt or a gap; column generation handles these problems.

    Parameters
    ----------
    outer, inner : ndarrays of shape (k, n)
        Rows a with a·v >= 0 for the posteriors v over which the bound is proved, and for those used as columns; the
        same array if they differ only by a margin.
    p_x : ndarray of shape (n,)
        Distribution of these letters.
    gap : float
        Largest gap, in nats.
    loss : Loss
        Information to keep.
    """
    around = list_vertices(outer)
    within = around if around is None or inner is outer else list_vertices(inner)
    if around is None or within is None:
        return None
    cost = _costs(within, loss)
    mixture = best_mixture(within, cost, p_x)
    if mixture is None:
        return None
    # H is concave and posteriors within the budget are mixtures of these vertices, so no mixture has a lower value.
    lowest = float(((cost if inner is outer else _costs(around, loss)) - product(around, mixture.mu)).min())
    bound = float(product(mixture.mu, p_x)) + min(lowest, 0.0)
    chosen = within[mixture.chosen]
    # A letter may be so rare that its share of every posterior is rounding error.
    if mixture.value - bound > gap or not (chosen > NOTHING).any(axis=0).all():
        return None
    return chosen, mixture, max(bound, 0.0), len(within)


def _costs(points: Vector, loss: Loss) -> Vector:
    """Loss of points minus the loss of their single letters, in nats, at least 0."""
    return np.maximum(loss.entropies(points) - product(points, loss.symbol_entropies(points.shape[1])), 0.0)


def list_vertices(cuts: Vector, most: int = _MOST_VERTICES, most_pairs: int = _MOST_PAIRS) -> Vector | None:
    """Vertices of {v >= 0: Σ v = 1, cuts @ v >= 0}, shape (K, n), each once; None if too many [ZDS §III-A2].

    A cut keeps the vertices on its allowed side and adds a point on every edge that it crosses. Two vertices share an
    edge when no third one lies on all the facets that both lie on; where every vertex is on n - 1 facets only,
    sharing n - 2 of them is enough. A vertex mixes at most |S| letters, so that for fixed |S| their number is
    polynomial in |X|; the paper calls it exponential.

    Parameters
    ----------
    cuts : ndarray of shape (k, n)
    most, most_pairs : int
        Largest numbers of vertices to hold and of pairs of vertices to compare for one cut.

    Returns
    -------
    ndarray or None
        None if there are too many vertices or none, or a vertex is so close to a cut that rounding would decide.
    """
    n = cuts.shape[1]
    left = np.flatnonzero(cuts.min(axis=1) < 0)
    cuts = cuts[left] / np.abs(cuts[left]).max(axis=1, keepdims=True)
    k = len(cuts)
    # A point on an edge takes all values from its ends alike, so a vertex is followed by its value under each cut.
    rows = np.concatenate([np.eye(n), cuts.T], axis=1)
    on_facet = np.zeros((n, n + k), np.float32)
    on_facet[:, :n] = 1 - np.eye(n)
    is_simple = True
    for _ in range(k):
        n_below = (rows[:, n:] < -_ON).sum(axis=0)
        i = int(n_below.argmax())  # applying the cut that removes most vertices first keeps the lists short
        if not n_below[i]:
            break
        value = rows[:, n + i]
        distance = np.abs(value)
        on = distance < _ON
        if ((distance < _CLEAR) & ~on).any():
            return None
        on_facet[on, n + i] = 1
        above, below = np.flatnonzero(value >= _ON), np.flatnonzero(value <= -_ON)
        if len(above) * len(below) > most_pairs:
            return None
        q, p = np.nonzero(on_facet[below] @ on_facet[above].T > n - 2.5)
        if len(rows) - len(below) + len(p) > most:
            return None
        p, q = above[p], below[q]
        shared = on_facet[p] * on_facet[q]
        if on.any() or not is_simple:
            is_simple = False
            is_edge = _count_facet_vertices(shared, on_facet) == 2
            p, q, shared = p[is_edge], q[is_edge], shared[is_edge]
        at = (value[p] / (value[p] - value[q]))[:, None]
        new = (1 - at) * rows[p] + at * rows[q]
        new[:, n + i], shared[:, n + i] = 0.0, 1
        is_inside = value > -_ON
        rows, on_facet = np.concatenate([rows[is_inside], new]), np.concatenate([on_facet[is_inside], shared])
    return rows[:, :n] if len(rows) else None


def _count_facet_vertices(shared: NDArray[np.float32], on_facet: NDArray[np.float32]) -> Codes:
    """Number of vertices that lie on all the facets of each row, computed for blocks of rows."""
    block = max(1, BLOCK_CELLS // len(on_facet))
    counts = [
        (rows @ on_facet.T > rows.sum(axis=1, keepdims=True) - 0.5).sum(axis=1)
        for rows in (shared[first : first + block] for first in range(0, len(shared), block))
    ]
    return np.concatenate(counts) if counts else np.empty(0, np.intp)


def best_mixture(points: Vector, cost: Vector, p_x: Vector) -> Mixture | None:
    """Solve min Σ β cost with Σ β v = P_X and β >= 0; return None if rounding prevents an accurate optimum.

    The method starts from single letters whose weights must be 0; letters that stay in the last basis are linearly
    dependent on the points. Matrices are dense, for a few dozen letters.

    Parameters
    ----------
    points : ndarray of shape (K, n)
    cost : ndarray of shape (K,)
        Entropies.
    p_x : ndarray of shape (n,)
    """
    n, k = len(p_x), len(points)
    every, costs = np.concatenate([points, np.eye(n)]), np.append(cost, np.zeros(n))
    # Rare letters make columns of very different size, so columns are scaled to a largest entry of 1.
    scale = (every / p_x).max(axis=1)
    matrix, upper = (every / p_x / scale[:, None]).T, np.append(scale[:k], np.zeros(n))
    program = LinearBatch(matrix, np.ones(n), np.zeros((1, n + k)), upper[None], (costs / scale)[None])
    basis = solve_batch(program, (k + np.arange(n))[None]).basis[0]
    # Updates of the inverse have lost digits, so the weights are solved afresh from the last basis and refined once.
    columns = every[basis]
    (inverse,), is_regular = basis_inverses(every.T, basis[None])
    weights = product(inverse, p_x)
    weights += product(inverse, p_x - product(weights, columns))
    is_listed, least = basis < k, _POSITIVE * p_x.min()
    is_exact = (np.abs(p_x - product(weights[is_listed], columns[is_listed])) < _EXACT * p_x).all()
    if not (is_regular.all() and is_exact and weights[is_listed].min() > -least):
        return None
    is_used = is_listed & (weights > least)
    value = float(product(weights[is_listed], costs[basis[is_listed]]))
    return Mixture(value, product(costs[basis], inverse), basis[is_used], weights[is_used])
