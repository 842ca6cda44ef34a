"""Certified lower bound on min H(v) - μ·v over the columns within a budget under every law of a set.

The worst p(y|s) is convex in the column, the least one concave, and so are they summed with the weights of a lift
bound under any P_S: the columns within the budget form a convex cone. At a column outside it the laws that are worst
there give a linear inequality that every column of the cone meets, in the entries of the column alone. Branch and bound
on boxes is as for one law (`certificate`), over such half-spaces: wherever a box is bounded at a column outside, one
more of them is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._tolerances import SMALLEST_POSITIVE
from sanitize.mechanisms._random_response.robust_cone import BROKEN, SAFE
from sanitize.mechanisms._response_solver.certificate import Tree
from sanitize.mechanisms._response_solver.columns import entr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._random_response.robust_cone import RobustCone
    from sanitize.mechanisms._response_solver.polytope import Polytope

    Vector = NDArray[np.float64]

_NEW_ROWS = 12  # a batch of boxes
_MOST_ROWS = 200
_SLACK = 1e-12  # of a row scaled to 1, so that rounding cannot cut a column off


@dataclass(eq=False)
class RobustCertificate:
    """What is proved about columns within the budget.

    Attributes
    ----------
    bound : float
        Mixtures of such columns into P_X are worth at least μ·P_X + bound.
    points : ndarray of shape (K, n)
        Columns within the budget that are below the target: the search stops where it meets some.
    beside : ndarray of shape (K, n)
        Columns below the target that are over the budget: where to look for others.
    polytope : Polytope
        Half-spaces found, for the next search.
    """

    bound: float
    points: Vector
    beside: Vector
    polytope: Polytope


def certify_robust(
    cone: RobustCone, polytope: Polytope, mu: Vector, target: float, effort: Effort
) -> RobustCertificate:
    """Prove ``H(v) - μ·v >= target`` for columns within the budget, or find some below it, or stop with the effort.

    At least the first layer of boxes is always bounded, so the result is valid (if weak) at any effort.
    """
    tree = Tree(polytope, mu, target)
    none = beside = np.empty((0, polytope.n))
    for boxes, open_ in tree.steps(effort):
        v = np.clip(boxes.v[open_], 0.0, 1.0)
        v /= v.sum(axis=1, keepdims=True)
        below = entr(v).sum(axis=1) - (v * mu).sum(axis=1) < target
        inside = cone.excess(v) <= SAFE
        if (below & inside).any():
            return RobustCertificate(tree.bound, v[below & inside], v[below & ~inside], tree.polytope)
        beside = v[below & ~inside] if (below & ~inside).any() else beside
        order = np.argsort(boxes.bound[open_][~inside], kind="stable")[: 4 * _NEW_ROWS]
        tree.polytope = _cut(tree.polytope, cuts_at(cone, v[~inside][order]))
    return RobustCertificate(tree.repaired(cone.p_x / cone.p_x.sum()), none, beside, tree.polytope)


def _cut(polytope: Polytope, rows: Vector) -> Polytope:
    """The polytope within more half-spaces, up to a number that keeps the programs small."""
    rows = np.unique(rows.round(13), axis=0)[: min(_MOST_ROWS + 1 - polytope.n_rows, _NEW_ROWS)]
    return polytope.cut(rows, np.minimum(rows.min(axis=1, initial=0.0), 0.0) - _SLACK, np.full(len(rows), _SLACK))


def cuts_at(cone: RobustCone, v: Vector) -> Vector:
    """For each column v, shape (K, n), that is over the budget, the row that it breaks most; shape (K', n)."""
    center, up, down = cone.parts
    values = np.concatenate([v / cone.p_x, np.zeros((len(v), 1))], axis=1).T
    most = center[:, :, None] + _shift(values, up, down, cone.laws.distance)
    least = center[:, :, None] + _shift(-values, up, down, cone.laws.distance)
    high, low = (most * values).sum(axis=1), (least * values).sum(axis=1)
    best, rows = np.full(len(v), BROKEN), np.zeros_like(v)
    for on_most, on_least in cone.weights(low, high):
        row = (np.einsum("sk,snk->kn", on_most, most) + np.einsum("sk,snk->kn", on_least, least))[:, :-1] / cone.p_x
        row /= np.maximum(np.abs(row).max(axis=1, keepdims=True), SMALLEST_POSITIVE)
        broken = (row * v).sum(axis=1)
        worse = broken > best
        best[worse], rows[worse] = broken[worse], row[worse]
    return rows[best > BROKEN]


def _shift(values: Vector, up: Vector, down: Vector, distance: Vector) -> Vector:
    """Change of each law, shape (n_s, n, K), that raises the mean of values (n, K) most."""
    order = np.argsort(-values, axis=0, kind="stable")
    growing = np.cumsum(up[:, order], axis=1)
    shrinking = np.cumsum(down[:, order][:, ::-1], axis=1)
    moved = np.minimum(growing[:, :-1], shrinking[:, -2::-1]).max(axis=1, initial=0.0, keepdims=True)
    moved = np.minimum(moved, distance[:, None, None])
    taken = np.diff(np.minimum(growing, moved), axis=1, prepend=0.0)
    given = np.diff(np.minimum(shrinking, moved), axis=1, prepend=0.0)[:, ::-1]
    change = np.empty_like(taken)
    np.put_along_axis(change, np.broadcast_to(order, taken.shape), taken - given, axis=1)
    return change
