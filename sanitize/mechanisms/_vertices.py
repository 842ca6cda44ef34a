"""All vertices of Π by their supports: a vertex has at most |S| letters, so they are polynomially many in |X|."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._polytope import ResponsePolytope

_INSIDE = 1e-10
_SINGULAR = 1e-11
_CHUNK = 1 << 15


def n_systems(n_s: int, n_x: int, *, is_ratio: bool) -> int:
    """Linear systems that `vertices` solves: Σ_m C(n_x, m) C(n_s, m-1) 2^(m-1), or for LDP C(n_s, m) (2^m - 2)."""
    total = n_x
    for m in range(2, min(n_s, n_x) + 1):
        ties = math.comb(n_s, m) * (2**m - 2) if is_ratio else math.comb(n_s, m - 1) * 2 ** (m - 1)
        total += math.comb(n_x, m) * ties
    return total


def vertices(polytope: ResponsePolytope) -> NDArray[np.float64]:
    """Vertices of Π, shape (K, n), each once [ZDS §III-A2].

    A vertex on m letters has m - 1 active lift constraints: for lift bounds, rows at one of their two bounds;
    for LDP, m letters of S tied, some at the level t and some at e^ε t. The paper counts vertices as exponential
    in |X|; for fixed |S| the supports show that they are polynomial.
    """
    is_ratio = math.isnan(polytope.low)
    lifts, n = polytope.lifts, polytope.n
    n_s = len(lifts)
    found = [np.eye(n)[_inside(polytope, np.eye(n))]]
    for m in range(2, min(n_s, n) + 1):
        supports = np.array(list(combinations(range(n), m)))
        if is_ratio:
            sides = [side for side in product((1.0, polytope.ratio), repeat=m) if len(set(side)) == 2]
            targets, rows_of = np.array(sides).T, combinations(range(n_s), m)
        else:
            bounds = sorted(b for b in {polytope.low, polytope.high} if math.isfinite(b))
            sides = list(product(bounds, repeat=m - 1))
            targets = np.vstack([np.ones(len(sides)), np.array(sides).T])
            rows_of = combinations(range(n_s), m - 1)
        if not targets.size:
            continue
        for rows in rows_of:
            for first in range(0, len(supports), max(1, _CHUNK // targets.shape[1])):
                part = supports[first : first + max(1, _CHUNK // targets.shape[1])]
                found.append(_solve(polytope, part, np.array(rows, np.intp), targets, is_ratio=is_ratio))
    every = np.concatenate(found)
    _, first_of = np.unique(np.round(every, 9), axis=0, return_index=True)
    return every[np.sort(first_of)]


def _solve(
    polytope: ResponsePolytope,
    supports: NDArray[np.intp],
    rows: NDArray[np.intp],
    targets: NDArray[np.float64],
    *,
    is_ratio: bool,
) -> NDArray[np.float64]:
    """Points of Π on supports (K, m) whose lifts in the rows meet the targets (m, sides)."""
    system = polytope.lifts[rows[:, None], supports[:, None, :]]
    if not is_ratio:
        system = np.concatenate([np.ones((len(supports), 1, supports.shape[1])), system], axis=1)
    regular = np.abs(np.linalg.det(system)) > _SINGULAR
    supports, system = supports[regular], system[regular]
    if not len(supports):
        return np.empty((0, polytope.n))
    solved = np.linalg.solve(system, np.broadcast_to(targets, (len(system), *targets.shape)))
    solved += np.linalg.solve(system, targets - system @ solved)
    which, side = np.nonzero((solved > 0).all(axis=1))
    values = solved[which, :, side]
    values = values / values.sum(axis=1, keepdims=True)
    v = np.zeros((len(which), polytope.n))
    np.put_along_axis(v, supports[which], values, axis=1)
    return v[_inside(polytope, v)]


def _inside(polytope: ResponsePolytope, v: NDArray[np.float64]) -> NDArray[np.bool_]:
    lifts = v @ polytope.lifts.T
    top, bottom = lifts.max(axis=1), lifts.min(axis=1)
    if math.isnan(polytope.low):
        return top / polytope.ratio - bottom <= _INSIDE
    return (bottom >= polytope.low - _INSIDE) & (top <= polytope.high + _INSIDE)
