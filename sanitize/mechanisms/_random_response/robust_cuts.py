"""The exact set of posteriors within a budget under every law of a set, from outside: half-spaces that contain it.

The worst p(y|s) is convex in the column, the least one concave, and so are they summed with the weights of a lift
bound under any P_S: the columns within the budget form a convex cone. At a column outside it the laws that are worst
there give a linear inequality that every column of the cone meets, in the entries of the column alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._limits import LARGEST_EXPONENT
from sanitize._tolerances import SMALLEST_POSITIVE
from sanitize.budgets import LDPBudget
from sanitize.confidence import least_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._random_response.robust_cone import RobustCone

_SLACK = 1e-12  # of a row scaled to 1, so that rounding cannot cut a column off
_BROKEN = 1e-9
_OVERHEAD, _INVERSE = 2000, 400


@dataclass(frozen=True, eq=False)
class CutPolytope:
    """Columns v >= 0 of sum 1 with ``rows @ v <= 0``, in the standard form that branch and bound asks for.

    Attributes
    ----------
    rows : ndarray of shape (k, n)
        Scaled so that the largest entry is 1 or -1.
    matrix, rhs, lower, upper : ndarrays
        ``matrix @ u = rhs, lower <= u <= upper`` with u = (v, slacks); a new row is a new slack at the end, so
        bases found before stay bases once that slack joins them.
    """

    rows: NDArray[np.float64]
    matrix: NDArray[np.float64]
    rhs: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> CutPolytope:
        """Polytope of these rows."""
        k, n = rows.shape
        top = np.maximum(-rows.min(axis=1, initial=0.0), 0.0) + _SLACK
        return cls(
            rows,
            np.block([[np.ones((1, n)), np.zeros((1, k))], [rows, np.eye(k)]]),
            np.append(1.0, np.zeros(k)),
            np.append(np.zeros(n), np.full(k, -_SLACK)),
            np.append(np.ones(n), top),
        )

    @property
    def n(self) -> int:
        """Letters."""
        return self.rows.shape[1]

    @property
    def n_spread(self) -> int:
        """Entries whose entropies are the loss: all letters."""
        return self.n

    @property
    def spread(self) -> slice:
        """Where these stand."""
        return slice(0, self.n)

    @property
    def n_rows(self) -> int:
        """Equations, which is the size of a basis."""
        return len(self.rhs)

    @property
    def size(self) -> int:
        """Variables, slacks included."""
        return len(self.lower)

    @property
    def work(self) -> int:
        """Units of effort that a program takes: its pivots, and the inverse of its first basis."""
        return self.n_rows * self.size + self.n_rows**3 // _INVERSE + _OVERHEAD

    def slack_basis(self, copies: int) -> NDArray[np.intp]:
        """Basis of letter 0 and all slacks, repeated, shape (copies, m)."""
        return np.tile(np.append(0, np.arange(self.n, self.size)), (copies, 1))

    def padded(self, basis: NDArray[np.intp]) -> NDArray[np.intp]:
        """A basis of earlier rows, with the slacks of later ones."""
        return np.append(basis, np.arange(self.n + len(basis) - 1, self.size))


def cuts_at(cone: RobustCone, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each column v, shape (K, n), that is over the budget, the row that it breaks most; shape (K', n)."""
    center, up, down = cone.parts
    values = np.concatenate([v / cone.p_x, np.zeros((len(v), 1))], axis=1).T
    most = center[:, :, None] + _shift(values, up, down, cone.laws.distance)
    least = center[:, :, None] + _shift(-values, up, down, cone.laws.distance)
    high, low = (most * values).sum(axis=1), (least * values).sum(axis=1)
    n_s = len(center)
    best = np.full(len(v), _BROKEN)
    rows = np.zeros_like(v)
    forms_of = _ratio_weights if isinstance(cone.budget, LDPBudget) else _lift_weights
    for s in range(n_s):
        for on_most, on_least in forms_of(cone, s, low, high):
            row = (np.einsum("sk,snk->kn", on_most, most) + np.einsum("sk,snk->kn", on_least, least))[:, :-1]
            row = row / cone.p_x
            row /= np.maximum(np.abs(row).max(axis=1, keepdims=True), SMALLEST_POSITIVE)
            broken = (row * v).sum(axis=1)
            worse = broken > best
            best[worse], rows[worse] = broken[worse], row[worse]
    return rows[best > _BROKEN]


def _shift(
    values: NDArray[np.float64], up: NDArray[np.float64], down: NDArray[np.float64], distance: NDArray[np.float64]
) -> NDArray[np.float64]:
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


_Weights = list[tuple["NDArray[np.float64]", "NDArray[np.float64]"]]


def _lift_weights(cone: RobustCone, s: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> _Weights:
    """Weights (n_s, K) of the most and least p(y|s') in the two bounds on the lift of s, under the worst P_S."""
    assert not isinstance(cone.budget, LDPBudget)
    box = (cone.laws.prior_lower, cone.laws.prior_upper)
    found = []
    if cone.budget.upper < math.inf:
        factor = math.exp(min(cone.budget.upper, LARGEST_EXPONENT))
        values = low.copy()
        values[s] = high[s]
        prior = least_law(values, *box)
        on_most, on_least = np.zeros_like(prior), -factor * prior
        on_most[s], on_least[s] = 1 - factor * prior[s], 0.0
        # Where the weight of the most is negative the lift cannot reach the bound.
        trivial = on_most[s] <= 0
        on_most[:, trivial] = on_least[:, trivial] = 0.0
        found.append((on_most, on_least))
    if cone.budget.lower < math.inf:
        factor = math.exp(-cone.budget.lower)
        values = high.copy()
        values[s] = low[s]
        prior = least_law(-values, *box)
        on_most, on_least = factor * prior, np.zeros_like(prior)
        on_most[s], on_least[s] = 0.0, factor * prior[s] - 1
        found.append((on_most, on_least))
    return found


def _ratio_weights(cone: RobustCone, s: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> _Weights:
    """Weights of the most p(y|s) and the least of every other in the bound on their ratio."""
    assert isinstance(cone.budget, LDPBudget)
    if cone.budget.eps == math.inf:
        return []
    found = []
    for other in range(len(low)):
        if other != s:
            on_most, on_least = np.zeros_like(low), np.zeros_like(low)
            on_most[s], on_least[other] = math.exp(-cone.budget.eps), -1.0
            found.append((on_most, on_least))
    return found
