"""The columns found so far, and the linear program that mixes them into P_X."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize.mechanisms._random_response.loss import Loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING = 1e-15
_POSITIVE = 1e-13


class RoundingStops(ArithmeticError):
    """Probabilities too far apart for linear programs in double precision; nobody outside the search sees it."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Optimal mixture of a pool: min Σ β H(T|v) with Σ β v = P_X, β >= 0, where T is what is to be kept, or X.

    Attributes
    ----------
    value : float
        Σ β H(T|v), in nats: H(T|Y).
    mu : ndarray of shape (n,)
        Dual price of each letter.
    chosen : ndarray of int
        Columns with positive weight.
    weights : ndarray
        Their β.
    """

    value: float
    mu: NDArray[np.float64]
    chosen: NDArray[np.intp]
    weights: NDArray[np.float64]


@dataclass(eq=False)
class ColumnPool:
    """Points of Π with what they leave open, each known once; a vertex also keeps its basis."""

    p_x: NDArray[np.float64]
    loss: Loss = field(default_factory=Loss)
    letters: list[NDArray[np.intp]] = field(default_factory=list)
    shares: list[NDArray[np.float64]] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    vertices: dict[int, tuple[NDArray[np.intp], NDArray[np.bool_]]] = field(default_factory=dict)
    _known: set[tuple[bytes, bytes]] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.costs)

    def add(self, v: NDArray[np.float64], vertex: tuple[NDArray[np.intp], NDArray[np.bool_]] | None = None) -> bool:
        """Add a point v of the simplex, shape (n,); False if it is there already."""
        letters = np.flatnonzero(v > NOTHING)
        shares = v[letters] / v[letters].sum()
        key = letters.tobytes(), np.round(shares, 10).tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        if vertex is not None:
            self.vertices[len(self)] = vertex[0].copy(), vertex[1].copy()
        self.letters.append(letters)
        self.shares.append(shares)
        self.costs.append(self.loss.of_few(letters, shares))
        return True

    def matrix(self, columns: NDArray[np.intp] | None = None) -> sparse.csc_array:
        """Columns as a sparse matrix (n, K)."""
        kept = np.arange(len(self)) if columns is None else columns
        letters, shares = [self.letters[k] for k in kept], [self.shares[k] for k in kept]
        indptr = np.append(0, np.cumsum([len(part) for part in letters]))
        return sparse.csc_array(
            (np.concatenate(shares), np.concatenate(letters), indptr), shape=(len(self.p_x), len(kept))
        )

    def mix(self, penalty: NDArray[np.float64] | None = None) -> Mixture:
        """Best mixture; with a penalty a letter, shape (n,), the letter alone may be bought at that price."""
        matrix, cost = self.matrix(), np.array(self.costs)
        n_columns = len(cost)
        if penalty is not None:
            matrix = sparse.csc_array(sparse.hstack([matrix, sparse.eye_array(len(self.p_x))]))
            cost = np.append(cost, penalty)
        scaled, scale = scaled_columns(matrix, self.p_x)
        solution = _solve(cost / scale, scaled)
        weights = solution.x / scale
        chosen = np.flatnonzero(weights[:n_columns] > _POSITIVE * self.p_x.min())
        return Mixture(float(solution.fun), solution.eqlin.marginals / self.p_x, chosen, weights[chosen])


def scaled_columns(matrix: sparse.csc_array, p_x: NDArray[np.float64]) -> tuple[sparse.csc_array, NDArray[np.float64]]:
    """Columns of P(y|x), each with 1 as its largest entry whatever the size of P_X, and what they were divided by."""
    scaled = sparse.csc_array(sparse.diags_array(1 / p_x) @ matrix)
    scale = np.maximum.reduceat(scaled.data, scaled.indptr[:-1])
    scaled.data /= np.repeat(scale, np.diff(scaled.indptr))
    return scaled, scale


def _solve(cost: NDArray[np.float64], matrix: sparse.csc_array) -> Any:
    """Solve the master program with the simplex method, at tight and then at default tolerances."""
    from scipy.optimize import linprog

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
    for options in (tight, {}):
        solution = linprog(cost, A_eq=matrix, b_eq=np.ones(matrix.shape[0]), method="highs-ds", options=options)
        if solution.status == 0:
            return solution
    raise RoundingStops(f"the linear program of the optimal response failed: {solution.message}")
