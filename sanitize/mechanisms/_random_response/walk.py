"""Walk over neighbouring vertices of Π while H(v) - μ·v falls, from many vertices at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._random_response.loss import entr

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize.mechanisms._random_response.polytope import ResponsePolytope

    Visit = Callable[[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64]], None]

_CELLS = 1 << 18
_TINY = 1e-11


def walk(
    polytope: ResponsePolytope,
    mu: NDArray[np.float64],
    basis: NDArray[np.intp],
    at_upper: NDArray[np.bool_],
    visit: Visit,
    max_steps: int,
) -> None:
    """Steepest descent from each vertex; ``visit(bases, at_upper, values)`` sees every vertex passed.

    Parameters
    ----------
    mu : ndarray of shape (n,)
        Price of each letter.
    basis, at_upper : ndarrays of shape (K, m) and (K, N)
        Starting vertices.
    max_steps : int
    """
    block = max(1, _CELLS // (polytope.n_rows * polytope.size))
    for first in range(0, len(basis), block):
        here, upper = basis[first : first + block].copy(), at_upper[first : first + block].copy()
        for _ in range(max_steps):
            inverse, values = polytope.basic_solution(here, upper)
            visit(here, upper, values)
            u = polytope.solution(here, values)
            now = entr(u[:, polytope.spread]).sum(axis=1) - (u[:, : polytope.n] * mu).sum(axis=1)
            score, row = _neighbours(polytope, mu, here, upper, inverse, values)
            best = score.argmin(axis=1)
            k = np.arange(len(here))
            falls = np.flatnonzero(score[k, best] < now - _TINY)
            if not len(falls):
                break
            here, upper = _step(
                polytope, here[falls], upper[falls], inverse[falls], best[falls], row[falls, best[falls]]
            )


def _neighbours(
    polytope: ResponsePolytope,
    mu: NDArray[np.float64],
    basis: NDArray[np.intp],
    at_upper: NDArray[np.bool_],
    inverse: NDArray[np.float64],
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """H - μ·v at the neighbour along each nonbasic variable, shape (K, N), and the row that leaves (-1: none)."""
    k, m = basis.shape
    n, spread = polytope.n, polytope.spread
    change = (inverse.reshape(k * m, m) @ polytope.matrix).reshape(k, m, polytope.size)
    change = np.where(at_upper[:, None, :], change, -change)
    room_down = (values - polytope.lower[basis])[:, :, None]
    room_up = (polytope.upper[basis] - values)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(change < -_TINY, room_down / -change, np.where(change > _TINY, room_up / change, np.inf))
    np.maximum(steps, 0, out=steps)
    row = steps.argmin(axis=1)
    length = np.take_along_axis(steps, row[:, None, :], 1)[:, 0]
    span = polytope.upper - polytope.lower
    row = np.where(length > span, -1, row)
    length = np.minimum(length, span)
    np.put_along_axis(length, basis, 0.0, axis=1)
    is_letter = basis < n
    moved = values[:, :, None] + length[:, None, :] * change
    np.maximum(moved, 0, out=moved)
    prices = np.where(is_letter, mu[np.where(is_letter, basis, 0)], 0.0)
    paid = np.einsum("km,kmj->kj", prices, moved)
    moved[(basis < spread.start) | (basis >= spread.stop)] = 0
    score = entr(moved).sum(axis=1) - paid
    entering = np.zeros_like(score)
    entering[:, spread] = entr(length[:, spread])
    entering[:, :n] -= mu * length[:, :n]
    score += entering
    np.put_along_axis(score, basis, np.inf, axis=1)
    return score, row


def _step(
    polytope: ResponsePolytope,
    basis: NDArray[np.intp],
    at_upper: NDArray[np.bool_],
    inverse: NDArray[np.float64],
    entering: NDArray[np.intp],
    row: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The neighbouring vertices themselves."""
    basis, at_upper = basis.copy(), at_upper.copy()
    flips = np.flatnonzero(row < 0)
    at_upper[flips, entering[flips]] ^= True
    k = np.flatnonzero(row >= 0)
    r, j = row[k], entering[k]
    rate = np.einsum("km,mk->k", inverse[k, r], polytope.matrix[:, j])
    leaves_up = np.where(at_upper[k, j], rate, -rate) > 0
    out = basis[k, r]
    basis[k, r] = j
    at_upper[k, j] = False
    at_upper[k, out] = leaves_up
    return basis, at_upper
