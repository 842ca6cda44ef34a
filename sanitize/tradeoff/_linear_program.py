"""Linear programs over the cells of a channel, for `sanitize.tradeoff._optimal`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sanitize._checks import probabilities
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.neighbours import pairs_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class OptimalChannel:
    """A channel that no other beats at its privacy level or distortion.

    Attributes
    ----------
    privacy : float
        Level ε or leakage, in nats.
    distortion : float
        Expected distortion; the largest over the priors given.
    channel : ndarray of shape (n_x, n_y)
        P(y|x).
    """

    privacy: float
    distortion: float
    channel: Vector


class Program:
    """Linear program over the cells of p(y|x), row by row, and whatever variables a notion adds."""

    def __init__(self, laws: Vector, d: Vector) -> None:
        self.laws, self.d = laws, d
        self.n_x, self.n_y = d.shape
        self.n_variables = self.n_x * self.n_y
        self._rows: list[tuple[NDArray[np.int64], NDArray[np.int64], Vector]] = []
        self._limits: list[Vector] = []

    def cells(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """Variables p(.|x) of the inputs, shape (len(x), n_y)."""
        return x[:, None] * self.n_y + np.arange(self.n_y)

    def new(self, size: int) -> NDArray[np.int64]:
        """Further non-negative variables."""
        self.n_variables += size
        return np.arange(self.n_variables - size, self.n_variables)

    def require(self, variables: NDArray[np.int64], coefficients: ArrayLike, limit: float) -> None:
        """Σ coefficients * variables <= limit in each row of the arrays."""
        start = sum(len(limits) for limits in self._limits)
        rows = np.broadcast_to(np.arange(start, start + len(variables), dtype=np.int64)[:, None], variables.shape)
        values = np.broadcast_to(np.asarray(coefficients, dtype=np.float64), variables.shape)
        self._rows.append((rows.ravel(), variables.ravel(), values.ravel()))
        self._limits.append(np.full(len(variables), limit))

    def bound_ratio(self, epsilon: float) -> None:
        """Every pair of inputs: low_y <= p(y|x) <= e**ε low_y."""
        low = np.tile(self.new(self.n_y), self.n_x)
        cells = np.arange(self.n_x * self.n_y)
        self.require(np.stack([low, cells], axis=1), [1.0, -1.0], 0.0)
        self.require(np.stack([cells, low], axis=1), [math.exp(-epsilon), -1.0], 0.0)

    def bound_pairs(
        self, pairs: NDArray[np.int64], epsilon: float, delta: float, weights: Vector | None = None
    ) -> None:
        """Each pair (x, x'): Σ_y (w(x) p(y|x) - e**ε w(x') p(y|x'))_+ <= δ."""
        weights = np.ones(self.n_x) if weights is None else weights
        left, right = self.cells(pairs[:, 0]).ravel(), self.cells(pairs[:, 1]).ravel()
        scale = math.exp(-epsilon)
        coefficients = [np.repeat(weights[pairs[:, 0]], self.n_y) * scale, np.repeat(-weights[pairs[:, 1]], self.n_y)]
        columns = [left, right]
        if delta > 0:
            over = self.new(left.size)
            columns.append(over)
            coefficients.append(np.full(left.size, -scale))
            self.require(over.reshape(len(pairs), self.n_y), 1.0, delta)
        self.require(np.stack(columns, axis=1), np.stack(coefficients, axis=1), 0.0)

    def bound_by_output(self, epsilon: float) -> None:
        """e**-ε p(y|x) <= p_Y(y)."""
        cells = np.arange(self.n_x * self.n_y)
        column = np.arange(self.n_x) * self.n_y + (cells % self.n_y)[:, None]
        scale = np.full((cells.size, 1), math.exp(-epsilon))
        self.require(
            np.hstack([cells[:, None], column]),
            np.hstack([scale, np.broadcast_to(-self.laws[0], column.shape)]),
            0.0,
        )

    def least_distortion(self) -> tuple[float, Vector]:
        """Distortion and channel, the worst prior's distortion minimised."""
        worst = self.new(1)
        channel = self._solve(worst, math.inf, worst)
        return float((self.laws @ (self.d * channel).sum(axis=1)).max()), channel

    def least_leakage(self, distortion: float) -> OptimalChannel:
        """Σ_y max_x p(y|x) minimised under a distortion limit."""
        top = self.new(self.n_y)
        cells = np.arange(self.n_x * self.n_y)
        self.require(np.stack([cells, np.tile(top, self.n_x)], axis=1), [1.0, -1.0], 0.0)
        channel = self._solve(top, distortion, None)
        spent = float((self.laws @ (self.d * channel).sum(axis=1)).max())
        return OptimalChannel(max(0.0, float(np.log(channel.max(axis=0).sum()))), spent, channel)

    def _solve(self, objective: NDArray[np.int64], limit: float, worst: NDArray[np.int64] | None) -> Vector:
        cells = np.arange(self.n_x * self.n_y)
        costs = (self.laws[:, :, None] * self.d).reshape(len(self.laws), -1)
        used = np.broadcast_to(cells, costs.shape)
        if worst is None:
            self.require(used, costs, limit)
        else:
            slack = np.broadcast_to(worst, (len(costs), 1))
            self.require(np.hstack([used, slack]), np.hstack([costs, np.full((len(costs), 1), -1.0)]), 0.0)
        rows, columns, values = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        limits = np.concatenate(self._limits)
        upper = sparse.csr_array((values, (rows, columns)), shape=(len(limits), self.n_variables))
        sums = sparse.csr_array((np.ones(cells.size), (cells // self.n_y, cells)), shape=(self.n_x, self.n_variables))
        cost = np.zeros(self.n_variables)
        cost[objective] = 1.0
        found = linprog(
            cost, A_ub=upper, b_ub=limits, A_eq=sums, b_eq=np.ones(self.n_x), method="highs", options=_OPTIONS
        )
        if found.x is None:
            raise InvalidParameter("the level and the distortion must allow some channel; the program has no solution")
        channel = np.maximum(found.x[: cells.size].reshape(self.n_x, self.n_y), 0.0)
        solved: Vector = channel / channel.sum(axis=1, keepdims=True)
        return solved


def problem_of(priors: ArrayLike, distortion_matrix: ArrayLike) -> tuple[Vector, Vector]:
    """Laws (k, n_x) and distortions (n_x, n_y) that fit together."""
    try:
        table = np.atleast_2d(np.asarray(priors, dtype=np.float64))
        d = np.asarray(distortion_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("priors and distortion_matrix must be arrays of numbers") from None
    laws = np.array([probabilities(row) for row in table])
    if d.ndim != 2 or not d.size or d.shape[0] != laws.shape[1]:
        raise InvalidParameter(
            f"distortion_matrix must have shape (n_x, n_y) with n_x={laws.shape[1]} as the prior, got {d.shape}"
        )
    if not np.isfinite(d).all() or (d < 0).any():
        raise InvalidParameter("distortion_matrix must have finite entries >= 0")
    return laws, d


def single_law(laws: Vector) -> None:
    if len(laws) > 1:
        raise InvalidDistribution(f"prior must be one law of shape (n_x,), got {len(laws)} laws")


def both_ways(neighbours: ArrayLike | None, size: int) -> NDArray[np.int64]:
    """Ordered pairs of different neighbours, shape (k, 2); all pairs for None."""
    if neighbours is None:
        return np.argwhere(~np.eye(size, dtype=bool))
    pairs = pairs_of(neighbours, size)
    return np.concatenate([pairs, pairs[:, ::-1]])
