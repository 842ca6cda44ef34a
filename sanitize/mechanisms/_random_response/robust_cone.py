"""Set of posteriors P(x|y) within a budget under every distribution of a confidence set, by small linear programs.

A released symbol is a column v of P(x, y) / P(y). With m(x) = v(x) / P(x), and growth and shrinkage up, down of
P(x|s) limited to a total of ρ(s), duality gives, for any 0 <= b <= a, e >= m - a, f >= b - m, e, f >= 0:

    high(s) = Σ P(x|s) m(x) + ρ(s) (a - b) + Σ up(s, x) e(x) + Σ down(s, x) f(x)    is at least max p(y|s),
    low(s)  = Σ P(x|s) m(x) - ρ(s) (a - b) - Σ down(s, x) e(x) - Σ up(s, x) f(x)    is at most min p(y|s),

with equality at the best thresholds for that s. Using the same thresholds for all s keeps the program small: 3 |X| + 2
variables. A lift bound is then linear for each P_S; the few distributions P_S that matter are found when they are
needed.

A lower bound on min H(v) - μ·v over these columns is certified. The largest p(y|s) is convex in the column and the
smallest is concave, and this remains true when they are summed with the weights of a lift bound under any P_S: so the
columns within the budget form a convex cone. At a column outside the cone, the worst distributions give a linear
inequality in the entries of the column that every column of the cone meets. Branch and bound on boxes works as for one
distribution (`certificate`), over such half-spaces: if a box is bounded at a column outside the cone, one more
half-space is found.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.arithmetic import entr, product
from sanitize._util.checks import Codes, Vector
from sanitize._util.limits import LARGEST_EXPONENT
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.budgets import LDPBudget
from sanitize.core.confidence import (
    deviation_bounds,
    least_distribution,
    lift_bounds,
    lift_excess,
    ratio_bounds,
    release_bounds,
    shift_mass,
)
from sanitize.mechanisms._response_solver.certificate import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize.core.budgets import LiftBudget
    from sanitize.core.confidence import ConfidenceSet
    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.polytope import Polytope

# Excess in nats that repairing the channel can still remove.
SAFE = 1e-7
# Violation from which a row scaled to 1 counts as broken; linear programs leave less.
BROKEN = 1e-9
# Presolving finds nothing in these blocks and would take a third of the time.
_OPTIONS = {"presolve": False, "primal_feasibility_tolerance": BROKEN, "dual_feasibility_tolerance": BROKEN}
# HiGHS passes over the entries of a sparse program about this often until it is solved, which is what effort counts.
_PASSES = 25
# Margin of a row scaled to 1, so that rounding cuts no column off.
_SLACK = 1e-12
# Largest number of new cuts per batch of boxes, because each makes later programs larger.
_NEW_ROWS = 12


class RobustCone:
    """Cone of columns over some letters that are within a budget under every distribution of a set.

    Parameters
    ----------
    distributions : ConfidenceSet
    budget : LiftBudget or LDPBudget
    letters : ndarray of int
        Letters that columns may use; the other letters only limit how much these can grow and shrink.
    p_x : ndarray of shape (n_x,)
        P(x) of all letters.
    """

    def __init__(
        self, distributions: ConfidenceSet, budget: LiftBudget | LDPBudget, letters: Codes, p_x: Vector
    ) -> None:
        self.distributions, self.budget = distributions, budget
        self.p_x = p_x[letters]
        other_letters = np.setdiff1d(np.arange(len(p_x)), letters)
        self.parts = tuple(
            np.concatenate([part[:, letters], part[:, other_letters].sum(axis=1, keepdims=True)], axis=1)
            for part in deviation_bounds(distributions)
        )
        prior = distributions.counts.sum(axis=1) / distributions.n
        unseen = np.ones((len(prior), 1))
        self.rows = self._rows(unseen, unseen, -math.inf, (prior, prior))
        # Pairs of secrets grow with their square. A ring of pairs bounds all ratios roughly, and broken pairs are
        # added.
        if isinstance(budget, LDPBudget) and len(self.rows) > 200:
            self.rows = self.rows[[(r - s) % len(prior) == 1 for s, r in permutations(range(len(prior)), 2)]]
        # High(s), then low(s), as linear forms of (v, e, f, a, b), shape (2 n_s, 3 n + 2).
        center, up, down = (part[:, :-1] / self.p_x for part in self.parts)
        rest_up, rest_down = self.parts[1][:, -1:], self.parts[2][:, -1:]
        radius = distributions.distance[:, None]
        self._forms = np.block(
            [[center, up, down, radius, rest_down - radius], [center, -down, -up, -radius, radius - rest_up]]
        )

    def worst_case(self, v: Vector) -> tuple[Vector, Vector]:
        """Return the smallest and largest p(y|s) of columns v, shape (K, n), up to the factor P(y)."""
        matrix = np.zeros((v.shape[1] + 1, len(v)))
        matrix[:-1] = (v / self.p_x).T
        center, up, down = self.parts
        return release_bounds(center, up, down, self.distributions.distance, sparse.csc_array(matrix))

    def excess(self, v: Vector) -> Vector:
        """Exact excess of columns v, shape (K, n), over the budget under the worst distribution."""
        low, high = self.worst_case(v)
        lifts = lift_bounds(low, high, self.distributions.prior_lower, self.distributions.prior_upper)
        return lift_excess(*lifts, ratio_bounds(low, high), self.budget)

    def minimise(self, costs: Vector, effort: Effort) -> Vector:
        """Return columns v, shape (K', n), that minimise linear costs (K, n).

        Costs without a solution are left out. If the effort does not suffice for all costs, an even choice is solved.
        """
        columns, left = [np.zeros((0, costs.shape[1]))], costs
        for _ in range(8):  # each round adds the worst distributions P_S so far, and later ones few that matter
            if effort.is_used():
                break
            matrix = np.concatenate([product(self.rows, self._forms), self._thresholds()])
            price = _PASSES * int(np.count_nonzero(matrix))
            most = max(min(len(left), effort.left // price), 1)
            left = left[np.linspace(0, len(left) - 1, most).astype(np.intp)]
            effort.spend(len(left) * price)
            v = self._solve(left, matrix)
            if not len(v):
                break
            good = self.excess(v) <= SAFE
            columns.append(v[good])
            if good.all() or not self._add_rows(v[~good]):
                break
            left = left[~good]
        return np.concatenate(columns)

    def _solve(self, costs: Vector, matrix: Vector) -> Vector:
        """Return the optimal v for each cost under the constraints so far; large programs combine many small ones."""
        from scipy.optimize import linprog

        n = len(self.p_x)
        per_batch = max(1, (1 << 20) // matrix.size)  # one program of a million entries outweighs the calls for many
        block = sparse.csr_array(matrix)
        mass_row = sparse.csr_array(np.append(np.ones(n), np.zeros(2 * n + 2))[None])
        columns = []
        for batch in np.array_split(costs, -(-len(costs) // per_batch)):
            k = len(batch)
            solved = linprog(
                np.concatenate([batch, np.zeros((k, 2 * n + 2))], axis=1).ravel(),
                A_ub=sparse.block_diag([block] * k, format="csr"),
                b_ub=np.zeros(k * len(matrix)),
                A_eq=sparse.block_diag([mass_row] * k, format="csr"),
                b_eq=np.ones(k),
                method="highs-ds",
                options=_OPTIONS,
            )
            if solved.x is None:  # no column of these letters is safe with any thresholds
                return np.zeros((0, n))
            v = np.maximum(solved.x.reshape(k, -1)[:, :n], 0.0)
            v[v < BROKEN] = 0.0
            columns.append(v / v.sum(axis=1, keepdims=True))
        return np.concatenate(columns)

    def _thresholds(self) -> Vector:
        """Constraints e >= v - p a, f >= p b - v and b <= a, as rows <= 0 of (v, e, f, a, b)."""
        n = len(self.p_x)
        eye, none, p = np.eye(n), np.zeros((n, n)), self.p_x[:, None]
        nothing = np.zeros((n, 1))
        last = np.append(np.zeros(3 * n), [-1.0, 1.0])
        return np.block([[eye, -eye, none, -p, nothing], [-eye, none, -eye, nothing, p], [last]])

    def weights(
        self, low: Vector, high: Vector, box: tuple[Vector, Vector] | None = None
    ) -> Iterator[tuple[Vector, Vector]]:
        """Yield, for each bound on a lift or ratio, weights (n_s, K) of the largest and smallest p(y|s) with sum <= 0.

        The weights belong to the distribution P_S in its box that is worst for columns with p(y|s) between low and
        high.
        """
        n_s, k = low.shape
        if isinstance(self.budget, LDPBudget):
            for s, r in permutations(range(n_s), 2) if self.budget.eps < math.inf else ():
                on_most, on_least = np.zeros((n_s, k)), np.zeros((n_s, k))
                on_most[s], on_least[r] = math.exp(-self.budget.eps), -1.0
                yield on_most, on_least
            return
        box = (self.distributions.prior_lower, self.distributions.prior_upper) if box is None else box
        sides = np.broadcast_to(self.budget.upper, n_s), np.broadcast_to(self.budget.lower, n_s)
        for s, (upper, lower) in enumerate(zip(*(side.tolist() for side in sides), strict=True)):
            is_secret, is_other = np.arange(n_s)[:, None] == s, np.arange(n_s)[:, None] != s
            if upper < math.inf:
                factor = math.exp(min(upper, LARGEST_EXPONENT))
                prior = factor * least_distribution(np.where(is_secret, high, low), *box)
                # If the weight of the largest p(y|s) is negative, the lift cannot reach the bound.
                binds = prior[s] < 1
                yield np.where(is_secret & binds, 1 - prior, 0.0), np.where(is_other & binds, -prior, 0.0)
            if lower < math.inf:
                prior = math.exp(-lower) * least_distribution(-np.where(is_secret, low, high), *box)
                yield np.where(is_other, prior, 0.0), np.where(is_secret, prior - 1, 0.0)

    def _rows(self, low: Vector, high: Vector, least: float, box: tuple[Vector, Vector] | None = None) -> Vector:
        """Return the constraints that columns violate by more than ``least``, as rows of weights of (high, low)."""
        row_blocks = [np.zeros((0, 2 * len(low)))]
        for weights in self.weights(low, high, box):
            rows = np.concatenate(weights).T
            scale = np.abs(rows).max(axis=1)
            rows, columns = (part[scale > 0] for part in (rows, np.concatenate([high, low]).T))
            rows /= scale[scale > 0, None]
            row_blocks.append(rows[(rows * columns).sum(axis=1) > least])
        return np.concatenate(row_blocks)

    def _add_rows(self, v: Vector) -> bool:
        """Add the constraint rows that columns over the budget violate; return whether any row was new."""
        before = len(self.rows)
        broken = self._rows(*self.worst_case(v), BROKEN)
        self.rows = np.unique(np.concatenate([self.rows, broken]).round(13), axis=0)
        return len(self.rows) > before


def certify_robust(
    cone: RobustCone, polytope: Polytope, mu: Vector, target: float, effort: Effort
) -> tuple[float, Vector, Vector, Polytope]:
    """Prove ``H(v) - μ·v >= target`` for columns within the budget, or find columns below the target.

    The first layer of boxes is always bounded, so the result is valid at any effort, though perhaps weak.

    Returns
    -------
    bound : float
        Mixtures of columns within the budget into P_X have a loss of at least μ·P_X + bound.
    points : ndarray of shape (K, n)
        Columns within the budget that are below the target; the search stops when it finds some.
    outside_points : ndarray of shape (K, n)
        Columns below the target that exceed the budget, near which to search for others.
    polytope : Polytope
        Polytope with the half-spaces found, for the next search.
    """
    tree = Tree(polytope, mu, target)
    no_points = outside_points = np.empty((0, polytope.n))
    for boxes, open_ in tree.steps(effort):
        v = np.clip(boxes.v[open_], 0.0, 1.0)
        v /= v.sum(axis=1, keepdims=True)
        below = entr(v).sum(axis=1) - (v * mu).sum(axis=1) < target
        inside = cone.excess(v) <= SAFE
        if (below & inside).any():
            return tree.bound, v[below & inside], v[below & ~inside], tree.polytope
        outside_points = v[below & ~inside] if (below & ~inside).any() else outside_points
        order = np.argsort(boxes.bound[open_][~inside], kind="stable")[: 4 * _NEW_ROWS]
        rows = np.unique(cuts_at(cone, v[~inside][order]).round(13), axis=0)
        # Programs take longer with more rows, and later cuts are sharper than many early ones.
        rows = rows[: min(200 + 1 - tree.polytope.n_rows, _NEW_ROWS)]
        low = np.minimum(rows.min(axis=1, initial=0.0), 0.0) - _SLACK
        tree.polytope = tree.polytope.add_rows(rows, low, np.full(len(rows), _SLACK))
    return tree.repaired(cone.p_x / cone.p_x.sum()), no_points, outside_points, tree.polytope


def cuts_at(cone: RobustCone, v: Vector) -> Vector:
    """Return the constraint row that each column v (K, n) over the budget violates most, shape (K', n)."""
    center, up, down = cone.parts
    values = np.concatenate([v / cone.p_x, np.zeros((len(v), 1))], axis=1).T
    most = center[:, :, None] + _shift(values, up, down, cone.distributions.distance)
    least = center[:, :, None] + _shift(-values, up, down, cone.distributions.distance)
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
    """Change of each distribution, shape (n_s, n, K), that raises the mean of values (n, K) most."""
    order = np.argsort(-values, axis=0, kind="stable")
    moves = shift_mass(up[:, order], down[:, order], distance)
    change = np.empty_like(moves)
    np.put_along_axis(change, np.broadcast_to(order, moves.shape), moves, axis=1)
    return change
