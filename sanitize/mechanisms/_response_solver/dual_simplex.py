"""Bounded dual simplex method for many small linear programs at once, all with the same matrix.

Every variable is bounded, so any basis with its nonbasic variables at the right bounds is dual feasible. So a child of
a branch-and-bound node, with other costs and bounds, can start where its parent stopped. The returned bound comes from
the multipliers alone (weak duality), so it is valid however the basis was reached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sanitize._util.arithmetic import basis_inverses, product
from sanitize._util.checks import Codes, Mask, Vector

# A violation below _FEASIBLE is rounding; a pivot smaller than _PIVOT would magnify it.
_FEASIBLE, _PIVOT = 1e-12, 1e-9
# Updates of the inverse lose digits, so after _REFRESH updates it is computed anew. After _MAX_PIVOTS pivots a program
# stops with its current bound, which is still valid.
_REFRESH, _MAX_PIVOTS = 25, 300
# Costs are perturbed by this much, so that similar letters do not make the method cycle. This affects only the path:
# bounds are computed from the given costs. Multiples of the golden ratio, modulo 1, are spread evenly for any number of
# letters.
_SPREAD = 1e-11
# Multiples of the golden section are spread evenly between 0 and 1, so that no two costs move by the same amount.
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class LinearBatch:
    """K linear programs ``min cost @ u s.t. matrix @ u = rhs, lower <= u <= upper`` with one matrix and right side.

    Attributes
    ----------
    matrix : ndarray of shape (m, N)
    rhs : ndarray of shape (m,)
    lower, upper, cost : ndarray of shape (K, N)
    """

    matrix: Vector
    rhs: Vector
    lower: Vector
    upper: Vector
    cost: Vector

    def take(self, places: Codes) -> LinearBatch:
        """Return the programs at the given places."""
        return LinearBatch(self.matrix, self.rhs, self.lower[places], self.upper[places], self.cost[places])

    def corner(self, basis: Codes, inverse: Vector, spread: Vector) -> DualSolution:
        """Return the basic solutions of bases (K, m) under slightly perturbed costs."""
        cost = self.cost + spread
        multipliers = np.einsum("ki,kij->kj", np.take_along_axis(cost, basis, 1), inverse)
        reduced = cost - product(multipliers, self.matrix)
        true = reduced - spread
        bound = (multipliers * self.rhs).sum(axis=1)
        bound += np.where(true < 0, true * self.upper, true * self.lower).sum(axis=1)
        np.put_along_axis(reduced, basis, 0.0, axis=1)
        point = np.where(reduced < 0, self.upper, self.lower)
        np.put_along_axis(point, basis, 0.0, axis=1)
        values = np.einsum("kij,kj->ki", inverse, self.rhs - product(point, self.matrix.T))
        np.put_along_axis(point, basis, values, axis=1)
        return DualSolution(bound, reduced, point, basis)


@dataclass(eq=False)
class DualSolution:
    """Result of the dual simplex method for K programs.

    Attributes
    ----------
    bound : ndarray of shape (K,)
        Lower bound on each optimum; the optimum itself if it was reached, and inf if the program is infeasible.
    reduced : ndarray of shape (K, N)
        Reduced costs; 0 on the basis.
    point : ndarray of shape (K, N)
        Basic solution; feasible where the optimum was reached.
    basis : ndarray of shape (K, m)
    """

    bound: Vector
    reduced: Vector
    point: Vector
    basis: Codes


def solve_batch(programs: LinearBatch, basis: Codes, cutoff: Vector | None = None) -> DualSolution:
    """Solve K programs from starting bases (K, m); a program stops as soon as its bound reaches its cutoff."""
    n, size = programs.lower.shape
    out = DualSolution(np.empty(n), np.empty((n, size)), np.empty((n, size)), basis.copy())
    left, basis, limit = np.arange(n), basis.copy(), np.full(n, np.inf) if cutoff is None else cutoff
    columns, inverse = programs.matrix.T.copy(), basis_inverses(programs.matrix, basis)[0]
    spread = _SPREAD * (np.arange(1, size + 1) * _GOLDEN % 1) / np.maximum(programs.upper.max(axis=0), 1.0)
    for step in range(_MAX_PIVOTS + 1):
        rows, at = np.arange(len(left)), programs.corner(basis, inverse, spread)
        values = np.take_along_axis(at.point, basis, 1)
        above = values - np.take_along_axis(programs.upper, basis, 1)
        outside = np.maximum(np.take_along_axis(programs.lower, basis, 1) - values, above)
        norm = np.sqrt(np.square(inverse).sum(axis=2))
        # The inverse of a singular basis may have rows of zeros, which are ignored.
        leaving = np.divide(outside, norm, out=np.zeros_like(norm), where=norm > 0).argmax(axis=1)
        done = (outside.max(axis=1) < _FEASIBLE) | (at.bound >= limit) | (step == _MAX_PIVOTS)
        row = product(inverse[rows, leaving], programs.matrix) * np.where(above[rows, leaving] > 0, 1.0, -1.0)[:, None]
        np.put_along_axis(row, basis, 0.0, axis=1)
        entering, unbounded = _ratio_test(at.reduced, row, programs.upper - programs.lower, outside[rows, leaving])
        column = np.einsum("kij,kj->ki", inverse, columns[entering])
        # With an ill-conditioned basis, the pivot may vanish in another order of summation; the bound stays valid.
        stuck = (np.abs(column[rows, leaving]) < _PIVOT) & (~unbounded | (norm[rows, leaving] == 0))
        at.bound[unbounded & ~done & ~stuck] = np.inf
        finished = done | unbounded | stuck
        if finished.any():
            for results, now in zip(vars(out).values(), vars(at).values(), strict=True):
                results[left[finished]] = now[finished]
            active = np.flatnonzero(~finished)
            if not len(active):
                break
            left, programs, limit, rows = left[active], programs.take(active), limit[active], np.arange(len(active))
            basis, inverse, leaving = basis[active], inverse[active], leaving[active]
            entering, column = entering[active], column[active]
        pivot_row = inverse[rows, leaving] / column[rows, leaving][:, None]
        inverse = inverse - column[:, :, None] * pivot_row[:, None, :]
        inverse[rows, leaving] = pivot_row
        basis[rows, leaving] = entering
        if step % _REFRESH == _REFRESH - 1:
            inverse = basis_inverses(programs.matrix, basis)[0]
    return out


def _ratio_test(reduced: Vector, row: Vector, span: Vector, amount: Vector) -> tuple[Codes, Mask]:
    """Choose entering variables by the long-step rule, which flips bounds while the dual objective still rises."""
    eligible = np.where(reduced >= 0, row > _PIVOT, row < -_PIVOT)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(eligible, np.abs(reduced / row), np.inf)
    slope = np.where(eligible, np.abs(row) * span, 0.0)
    n_eligible = eligible.sum(axis=1)
    # If all bounds must be flipped, rounding may leave the sum slightly below the amount.
    unbounded = (n_eligible == 0) | (slope.sum(axis=1) < amount - _FEASIBLE)
    order = ratio.argsort(axis=1, kind="stable")
    passed = (np.cumsum(np.take_along_axis(slope, order, 1), axis=1) < amount[:, None]).sum(axis=1)
    return order[np.arange(len(row)), np.clip(passed, 0, np.maximum(n_eligible - 1, 0))], unbounded
