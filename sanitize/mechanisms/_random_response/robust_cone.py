"""Posteriors P(x|y) that meet a budget under every law of a confidence set, as small linear programs.

A released symbol is a column v of P(x, y) / P(y). With m(x) = v(x) / P(x), and growth and shrinkage up, down of
P(x|s) limited to a total of ρ(s), duality gives, for any 0 <= b <= a, e >= m - a, f >= b - m, e, f >= 0:

    high(s) = Σ P(x|s) m(x) + ρ(s) (a - b) + Σ up(s, x) e(x) + Σ down(s, x) f(x)    is at least max p(y|s),
    low(s)  = Σ P(x|s) m(x) - ρ(s) (a - b) - Σ down(s, x) e(x) - Σ up(s, x) f(x)    is at most min p(y|s),

with equality at the best thresholds of that s. Thresholds shared by all s keep the program small: 3 |X| + 2
variables. A lift bound is then linear for each P_S; the few laws P_S that matter are found as they are needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._limits import LARGEST_EXPONENT
from sanitize.budgets import LDPBudget, logs
from sanitize.confidence import excess_of, least_law, lift_bounds, ratio_bounds, released_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.budgets import LiftBudget
    from sanitize.confidence import ConfidenceSet
    from sanitize.mechanisms._effort import Effort

_CUTS = 8  # rounds of looking for laws P_S
SAFE = 1e-7  # nats over the budget that the channel's repair may still mend
_TOLERANCE = 1e-9  # of the linear programs
# Blocks have nothing to presolve: looking for it takes a third of the time.
_OPTIONS = {
    "presolve": False,
    "primal_feasibility_tolerance": _TOLERANCE,
    "dual_feasibility_tolerance": _TOLERANCE,
}
_BLOCK = 1 << 20  # entries of one linear program
_ALL_PAIRS = 200
_PASSES = 25  # over the entries of a sparse program, in units of effort


class RobustCone:
    """Columns over some letters that are within a budget under every law of a set.

    Parameters
    ----------
    laws : ConfidenceSet
    budget : LiftBudget or LDPBudget
    letters : ndarray of int
        Letters that columns may use; the others only limit how much these can grow and shrink.
    p_x : ndarray of shape (n_x,)
        P(x) of all letters.
    """

    def __init__(
        self,
        laws: ConfidenceSet,
        budget: LiftBudget | LDPBudget,
        letters: NDArray[np.intp],
        p_x: NDArray[np.float64],
    ) -> None:
        self.laws, self.budget = laws, budget
        self.p_x = p_x[letters]
        others = np.setdiff1d(np.arange(len(p_x)), letters)
        parts = (laws.center, laws.upper - laws.center, laws.center - laws.lower)
        self.parts = tuple(
            np.concatenate([part[:, letters], part[:, others].sum(axis=1, keepdims=True)], axis=1) for part in parts
        )
        self.rows = self._first_rows()
        self._forms = self._linear_forms()

    def worst_case(self, v: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Smallest and largest p(y|s) of columns v, shape (K, n), up to the factor P(y)."""
        matrix = np.zeros((v.shape[1] + 1, len(v)))
        matrix[:-1] = (v / self.p_x).T
        center, up, down = self.parts
        return released_bounds(center, up, down, self.laws.distance, sparse.csc_array(matrix))

    def excess(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exact excess of columns v, shape (K, n), over the budget under the worst law."""
        low, high = self.worst_case(v)
        lifts = lift_bounds(low, high, self.laws.prior_lower, self.laws.prior_upper)
        return excess_of(*lifts, ratio_bounds(low, high), self.budget)

    def minimise(self, costs: NDArray[np.float64], effort: Effort) -> NDArray[np.float64]:
        """Columns v, shape (K', n), that minimise each of some linear costs (K, n); those that were not found miss."""
        found = []
        left = costs
        for _ in range(_CUTS):
            v = self._solve(left, effort)
            if not len(v):
                break
            good = self.excess(v) <= SAFE
            found.append(v[good])
            if good.all() or not self._cut(v[~good]):
                break
            left = left[~good]
        return np.concatenate(found) if found else np.zeros((0, costs.shape[1]))

    # ---------------------------------------------------------------------------------------- linear programs

    def _solve(self, costs: NDArray[np.float64], effort: Effort) -> NDArray[np.float64]:
        """Optimal v of each cost over the rows known so far: independent programs, solved as a few large ones."""
        from scipy.optimize import linprog

        n = len(self.p_x)
        matrix = np.concatenate([self.rows @ self._forms, self._thresholds()])
        per_batch = max(1, _BLOCK // matrix.size)
        block = sparse.csr_array(matrix)
        effort.spend(len(costs) * block.nnz * _PASSES)
        one = sparse.csr_array(np.append(np.ones(n), np.zeros(2 * n + 2))[None])
        found = []
        for batch in np.array_split(costs, -(-len(costs) // per_batch)):
            k = len(batch)
            solved = linprog(
                np.concatenate([batch, np.zeros((k, 2 * n + 2))], axis=1).ravel(),
                A_ub=sparse.block_diag([block] * k, format="csr"),
                b_ub=np.zeros(k * len(matrix)),
                A_eq=sparse.block_diag([one] * k, format="csr"),
                b_eq=np.ones(k),
                method="highs-ds",
                options=_OPTIONS,
            )
            if solved.x is None:  # no column of these letters is safe whatever its thresholds
                return np.zeros((0, n))
            v = np.maximum(solved.x.reshape(k, -1)[:, :n], 0.0)
            v[v < _TOLERANCE] = 0.0
            found.append(v / v.sum(axis=1, keepdims=True))
        return np.concatenate(found)

    def _linear_forms(self) -> NDArray[np.float64]:
        """High(s), then low(s), as linear forms of (v, e, f, a, b), shape (2 n_s, 3 n + 2)."""
        center, up, down = (part[:, :-1] / self.p_x for part in self.parts)
        rest_up, rest_down = self.parts[1][:, -1:], self.parts[2][:, -1:]
        radius = self.laws.distance[:, None]
        return np.block(
            [[center, up, down, radius, rest_down - radius], [center, -down, -up, -radius, radius - rest_up]]
        )

    def _thresholds(self) -> NDArray[np.float64]:
        """E >= v - p a, f >= p b - v, b <= a, as rows <= 0 of (v, e, f, a, b)."""
        n = len(self.p_x)
        eye, none, p = np.eye(n), np.zeros((n, n)), self.p_x[:, None]
        nothing = np.zeros((n, 1))
        last = np.append(np.zeros(3 * n), [-1.0, 1.0])
        return np.block([[eye, -eye, none, -p, nothing], [-eye, none, -eye, nothing, p], [last]])

    # ------------------------------------------------------------------------------------------------- rows

    def _first_rows(self) -> NDArray[np.float64]:
        """Budget under the frequencies of S, as rows <= 0 of (high, low), shape (R, 2 n_s)."""
        n_s = len(self.laws.center)
        if isinstance(self.budget, LDPBudget):
            pairs = [(s, r) for s in range(n_s) for r in range(n_s) if s != r]
            if len(pairs) > _ALL_PAIRS:
                pairs = [(s, (s + 1) % n_s) for s in range(n_s)]
            return self._unique([row for pair in pairs for row in self._ratio_row(*pair)])
        prior = self.laws.counts.sum(axis=1) / self.laws.n
        return self._unique([row for s in range(n_s) for row in (self._upper_row(s, prior), self._lower_row(s, prior))])

    def _unique(self, rows: list[NDArray[np.float64] | None]) -> NDArray[np.float64]:
        kept = [row for row in rows if row is not None]
        if not kept:
            return np.zeros((0, 2 * len(self.laws.center)))
        return np.unique(np.array(kept), axis=0)

    def _upper_row(self, s: int, prior: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Lift of s at most e^upper under a prior; None where it always is."""
        assert not isinstance(self.budget, LDPBudget)
        top = math.exp(min(self.budget.upper, LARGEST_EXPONENT))
        if top * prior[s] >= 1 or math.isinf(self.budget.upper):
            return None
        row = np.append(np.zeros(len(prior)), -top * prior)
        row[s], row[len(prior) + s] = 1 - top * prior[s], 0.0
        return row / np.abs(row).max()

    def _lower_row(self, s: int, prior: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Lift of s at least e^-lower under a prior."""
        assert not isinstance(self.budget, LDPBudget)
        if math.isinf(self.budget.lower):
            return None
        bottom = math.exp(-self.budget.lower)
        row = np.append(bottom * prior, np.zeros(len(prior)))
        row[s], row[len(prior) + s] = 0.0, bottom * prior[s] - 1
        return row / np.abs(row).max() if row.any() else None

    def _ratio_row(self, s: int, r: int) -> list[NDArray[np.float64] | None]:
        assert isinstance(self.budget, LDPBudget)
        if math.isinf(self.budget.eps):
            return [None]
        n_s = len(self.laws.center)
        row = np.zeros(2 * n_s)
        row[s], row[n_s + r] = math.exp(-self.budget.eps), -1.0
        return [row]

    def _cut(self, v: NDArray[np.float64]) -> bool:
        """Rows that columns over their budget break; whether there were new ones."""
        low, high = self.worst_case(v)
        rows: list[NDArray[np.float64] | None] = []
        box = (self.laws.prior_lower, self.laws.prior_upper)
        for s in range(len(low)):
            if isinstance(self.budget, LDPBudget):
                over = logs(high[s]) - logs(low) > self.budget.eps + SAFE / 2
                over[s] = False
                rows += [row for r in np.flatnonzero(over.any(axis=1)) for row in self._ratio_row(s, int(r))]
                continue
            values = low.copy()
            values[s] = high[s]
            laws = least_law(values, *box)
            over = logs(high[s]) - logs((values * laws).sum(axis=0)) > self.budget.upper + SAFE / 2
            rows += [self._upper_row(s, law) for law in laws.T[over]]
            values = high.copy()
            values[s] = low[s]
            laws = least_law(-values, *box)
            over = logs((values * laws).sum(axis=0)) - logs(low[s]) > self.budget.lower + SAFE / 2
            rows += [self._lower_row(s, law) for law in laws.T[over]]
        before = len(self.rows)
        self.rows = np.unique(np.concatenate([self.rows, self._unique(rows)]).round(13), axis=0)
        return len(self.rows) > before
