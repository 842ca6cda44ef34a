"""Bounded dual simplex over many small linear programs at once, all with the same matrix.

Every variable is bounded, so any basis with its nonbasic variables at the right bounds is dual feasible: a
child of a branch-and-bound node, with other costs and bounds, starts where its parent stopped. The bound
returned comes from the multipliers alone (weak duality), so it is valid however the basis was reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEASIBLE = 1e-12
_PIVOT = 1e-9
_REFRESH = 25
_MAX_PIVOTS = 300
# Costs are spread by this much, so that letters that look alike do not make the method cycle. It enters the path
# only: bounds are computed from the costs given.
_SPREAD = 1e-11
_GOLDEN = 0.6180339887498949
# From so many rows on, most of a basis are slacks, and it is worth the while to set them apart.
_MANY_ROWS = 24


@dataclass(frozen=True, eq=False)
class LinearBatch:
    """``min cost @ u  s.t.  matrix @ u = rhs, lower <= u <= upper`` for K triples (lower, upper, cost).

    Attributes
    ----------
    matrix : ndarray of shape (m, N)
    rhs : ndarray of shape (m,)
    lower, upper, cost : ndarray of shape (K, N)
    """

    matrix: NDArray[np.float64]
    rhs: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    cost: NDArray[np.float64]

    def take(self, kept: NDArray[np.intp]) -> LinearBatch:
        """Some of the programs."""
        return LinearBatch(self.matrix, self.rhs, self.lower[kept], self.upper[kept], self.cost[kept])


@dataclass(eq=False)
class DualSolution:
    """Where the dual simplex stopped, for K programs.

    Attributes
    ----------
    bound : ndarray of shape (K,)
        Lower bound on each optimum; the optimum itself where it was reached, inf where infeasible.
    reduced : ndarray of shape (K, N)
        Reduced costs; 0 on the basis.
    point : ndarray of shape (K, N)
        Basic solution; feasible where the optimum was reached.
    basis : ndarray of shape (K, m)
    """

    bound: NDArray[np.float64]
    reduced: NDArray[np.float64]
    point: NDArray[np.float64]
    basis: NDArray[np.intp]

    def at_upper(self) -> NDArray[np.bool_]:
        """Which nonbasic variables sit at their upper bound, shape (K, N)."""
        return self.reduced < 0


def solve_batch(
    programs: LinearBatch, basis: NDArray[np.intp], cutoff: NDArray[np.float64] | None = None
) -> DualSolution:
    """Solve K programs from starting bases (K, m); stop one as soon as its bound reaches its cutoff."""
    n_programs, size = programs.lower.shape
    matrix, rhs = programs.matrix, programs.rhs
    out = DualSolution(np.empty(n_programs), np.empty((n_programs, size)), np.empty((n_programs, size)), basis.copy())
    left, basis = np.arange(n_programs), basis.copy()
    limit = np.full(n_programs, np.inf) if cutoff is None else cutoff
    inverse = _inverse(matrix, basis)
    spread = _SPREAD * (np.arange(1, size + 1) * _GOLDEN % 1) / np.maximum(programs.upper.max(axis=0), 1.0)
    for step in range(_MAX_PIVOTS + 1):
        rows = np.arange(len(left))
        cost = programs.cost + spread
        multipliers = np.matmul(np.take_along_axis(cost, basis, 1)[:, None, :], inverse)[:, 0]
        reduced = cost - multipliers @ matrix
        true = reduced - spread
        bound = multipliers @ rhs + np.where(true < 0, true * programs.upper, true * programs.lower).sum(axis=1)
        np.put_along_axis(reduced, basis, 0.0, axis=1)
        point = np.where(reduced < 0, programs.upper, programs.lower)
        np.put_along_axis(point, basis, 0.0, axis=1)
        values = np.matmul(inverse, (rhs - point @ matrix.T)[:, :, None])[:, :, 0]
        low = np.take_along_axis(programs.lower, basis, 1)
        high = np.take_along_axis(programs.upper, basis, 1)
        outside = np.maximum(low - values, values - high)
        norm = np.sqrt(np.square(inverse).sum(axis=2))
        # A pseudo-inverse may have rows of zeros, which say nothing.
        leaving = np.divide(outside, norm, out=np.zeros_like(norm), where=norm > 0).argmax(axis=1)
        done = (outside.max(axis=1) < _FEASIBLE) | (bound >= limit) | (step == _MAX_PIVOTS)

        amount = outside[rows, leaving]
        towards = np.where(values[rows, leaving] > high[rows, leaving], 1.0, -1.0)
        row = (inverse[rows, leaving] @ matrix) * towards[:, None]
        np.put_along_axis(row, basis, 0.0, axis=1)
        entering, unbounded = _ratio_test(reduced, row, programs.upper - programs.lower, amount)
        column = np.matmul(inverse, matrix[:, entering].T[:, :, None])[:, :, 0]
        # Beside an ill-conditioned basis the pivot may be gone by the other order of summation; the bound stands.
        stuck = (np.abs(column[rows, leaving]) < _PIVOT) & (~unbounded | (norm[rows, leaving] == 0))
        finished = done | unbounded | stuck
        if finished.any():
            f = np.flatnonzero(finished)
            np.put_along_axis(point, basis, values, axis=1)
            out.bound[left[f]] = np.where(unbounded[f] & ~done[f] & ~stuck[f], np.inf, bound[f])
            out.reduced[left[f]], out.point[left[f]], out.basis[left[f]] = reduced[f], point[f], basis[f]
            kept = np.flatnonzero(~finished)
            if not len(kept):
                break
            left, programs, limit = left[kept], programs.take(kept), limit[kept]
            basis, inverse, leaving, entering = basis[kept], inverse[kept], leaving[kept], entering[kept]
            column, rows = column[kept], np.arange(len(left))
        pivot_row = inverse[rows, leaving] / column[rows, leaving][:, None]
        inverse = inverse - column[:, :, None] * pivot_row[:, None, :]
        inverse[rows, leaving] = pivot_row
        basis[rows, leaving] = entering
        if step % _REFRESH == _REFRESH - 1:
            inverse = _inverse(matrix, basis)
    return out


def _inverse(matrix: NDArray[np.float64], basis: NDArray[np.intp]) -> NDArray[np.float64]:
    """Inverse basis matrices; a basis that rounding made singular becomes the pseudo-inverse, still dual valid."""
    try:
        if len(matrix) >= _MANY_ROWS:
            return _inverse_beside_slacks(matrix, basis)
        return np.asarray(np.linalg.inv(_square(matrix, basis)), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(_square(matrix, basis)), np.float64)


def _square(matrix: NDArray[np.float64], basis: NDArray[np.intp]) -> NDArray[np.float64]:
    return matrix[:, basis].transpose(1, 0, 2)


def _inverse_beside_slacks(matrix: NDArray[np.float64], basis: NDArray[np.intp]) -> NDArray[np.float64]:
    """The same, where most of a basis are slacks: columns of a single 1, which leave a small matrix to invert.

    With the rows of the slacks last, a basis is [[A, 0], [B, I]], and its inverse [[A^-1, 0], [-B A^-1, I]].
    """
    n_rows = len(matrix)
    is_slack = (np.count_nonzero(matrix, axis=0) == 1) & (matrix.sum(axis=0) == 1)
    row_of = np.where(is_slack, np.abs(matrix).argmax(axis=0), -1)[basis]
    inverse = np.zeros((*basis.shape, n_rows))
    n_dense = (row_of < 0).sum(axis=1)
    for k in np.unique(n_dense).tolist():
        those = np.flatnonzero(n_dense == k)
        rows, here = row_of[those], those[:, None]
        places = np.argsort(rows >= 0, axis=1, kind="stable")
        dense, slack = places[:, :k], places[:, k:]
        taken = np.take_along_axis(rows, slack, 1)
        is_free = np.ones((len(those), n_rows), np.bool_)
        np.put_along_axis(is_free, taken, values=False, axis=1)
        if (is_free.sum(axis=1) != k).any():
            raise np.linalg.LinAlgError("two slacks of one row")
        inverse[here, slack, taken] = 1.0
        if k:
            free = np.nonzero(is_free)[1].reshape(len(those), k)
            letters = np.take_along_axis(basis[those], dense, 1)[:, None, :]
            small = np.linalg.inv(matrix[free[:, :, None], letters])
            inverse[here[:, :, None], dense[:, :, None], free[:, None, :]] = small
            rest = -np.matmul(matrix[taken[:, :, None], letters], small)
            inverse[here[:, :, None], slack[:, :, None], free[:, None, :]] = rest
    return inverse


def _ratio_test(
    reduced: NDArray[np.float64], row: NDArray[np.float64], span: NDArray[np.float64], amount: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Entering variables by the long-step rule: bounds are flipped while the dual objective still rises."""
    rows = np.arange(len(row))
    eligible = np.where(reduced >= 0, row > _PIVOT, row < -_PIVOT)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(eligible, np.abs(reduced / row), np.inf)
    order = ratio.argsort(axis=1)
    slope = np.cumsum(np.take_along_axis(np.where(eligible, np.abs(row) * span, 0.0), order, 1), axis=1)
    passed = (slope < amount[:, None]).sum(axis=1)
    n_eligible = eligible.sum(axis=1)
    # Where every bound must be flipped exactly, rounding may leave the sum a hair short of the amount.
    unbounded = (n_eligible == 0) | (slope[:, -1] < amount - _FEASIBLE)
    return order[rows, np.clip(passed, 0, np.maximum(n_eligible - 1, 0))], unbounded
