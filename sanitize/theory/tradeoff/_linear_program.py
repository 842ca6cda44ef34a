"""Linear programs over the cells of a channel, and measurement of the level and distortion of solutions.

A solver has absolute tolerances and drops coefficients below 1e-9. So programs are stated in units: costs are divided
by the largest relevant cost, cells that cannot carry mass are left out, and factors e**-ε are replaced by coefficients
of 1 where possible. A solution is only a proposal: all stated figures are measured on it afterwards, by the code that
measures any channel, and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sanitize._util.checks import Codes, Mask, Vector, doubles
from sanitize._util.tolerances import TIGHT
from sanitize.errors import InvalidParameter
from sanitize.theory.notions import approximate_dp, check_pairs

Index = NDArray[np.int64]
# Variables and coefficients of several rows of a program, and their common right side.
_Rows = tuple[Index, ArrayLike, float]

# Generous bounds on the rounding of a log-ratio of two doubles and of the sums of their rows.
_RELATIVE, _ABSOLUTE = 1e-15, 4.5e-16


@dataclass(frozen=True, eq=False)
class Problem:
    """Distributions and rescaled distortions: each row is reduced by its least entry, and the largest entry is 1.

    Attributes
    ----------
    distributions : ndarray of shape (k, n_x)
    d : ndarray of shape (n_x, n_y)
        Distortions from 0 to 1, with a 0 in every row.
    unit : float
        Distortion of one unit.
    floor : ndarray of shape (k,)
        Distortion of the noiseless choice under each distribution, in units.
    """

    distributions: Vector
    d: Vector
    unit: float
    floor: Vector

    @property
    def constants(self) -> Vector:
        """Cost of releasing y for every x, above the cost of the noiseless choice, shape (k, n_y)."""
        return self.distributions @ self.d

    def costs(self) -> Vector:
        """Cost of each cell, shape (k, n_x, n_y)."""
        return self.distributions[:, :, None] * self.d

    def excess_distortion(self, channel: Vector) -> float:
        """Distortion of a channel above that of the noiseless choice, in units; the largest over the distributions."""
        return float((self.distributions @ (self.d * channel).sum(axis=1)).max())

    def distortion(self, channel: Vector) -> float:
        """Distortion of a channel in the user's units."""
        return self.unit * float((self.floor + self.distributions @ (self.d * channel).sum(axis=1)).max())


class Program:
    """Linear program over the allowed cells of p(y|x) and further variables of a notion, all >= 0."""

    def __init__(self, allowed: Mask) -> None:
        self.allowed = allowed
        self.cells: Index = np.full(allowed.shape, -1, dtype=np.int64)
        self.n_variables = int(allowed.sum())
        self.cells[allowed] = np.arange(self.n_variables)
        self._limits: list[_Rows] = []
        self._totals: list[_Rows] = []

    def new(self, size: int) -> Index:
        """Add variables and return their indices."""
        self.n_variables += size
        return np.arange(self.n_variables - size, self.n_variables)

    def require(self, variables: Index, coefficients: ArrayLike, limit: float = 0.0) -> None:
        """Add constraints Σ coefficients * variables <= limit, one per row; variable -1 is a removed cell."""
        self._limits.append((variables, coefficients, limit))

    def balance(self, variables: Index, coefficients: ArrayLike, total: float) -> None:
        """Add constraints Σ coefficients * variables = total, one per row."""
        self._totals.append((variables, coefficients, total))

    def worst(self, variables: Index, costs: Vector) -> tuple[Index, Vector]:
        """Return the objective that minimises the largest cost, with one row of ``costs`` per distribution."""
        worst, shape = self.new(1), (len(costs), 1)
        table = np.hstack([np.broadcast_to(variables, costs.shape), np.broadcast_to(worst, shape)])
        self.require(table, np.hstack([costs / (costs.max() or 1.0), np.full(shape, -1.0)]))
        return worst, np.ones(1)

    def least(self, variables: Index, costs: Vector) -> Vector:
        """Solve the program; return the values of all variables at the minimum of Σ costs * variables."""
        from scipy.optimize import linprog

        cost = np.zeros(self.n_variables)
        cost[variables[variables >= 0]] = costs[variables >= 0]
        upper, limits = _system(self._limits, self.n_variables)
        equal, totals = _system(self._totals, self.n_variables)
        solution = linprog(cost, A_ub=upper, b_ub=limits, A_eq=equal, b_eq=totals, method="highs-ds", options=TIGHT)
        if solution.x is None:
            raise InvalidParameter("no channel is within both the level and the distortion; raise level or distortion")
        return np.maximum(solution.x, 0.0)

    def shares(self, values: Vector) -> Vector:
        """Return the cells as a matrix, with 0 for removed cells and for values below the solver's tolerance."""
        shares = np.zeros(self.allowed.shape)
        shares[self.allowed] = values[self.cells[self.allowed]]
        # Values below the tolerance of the solver are not mass.
        return np.where(shares < 1e-11, 0.0, shares)


def _system(blocks: list[_Rows], n_variables: int) -> tuple[sparse.csr_array | None, Vector | None]:
    """Return all rows as one sparse matrix, and their right sides."""
    parts = []
    for variables, coefficients, _ in blocks:
        values = np.broadcast_to(np.asarray(coefficients, dtype=np.float64), variables.shape)
        # Leave out coefficients that the solver would drop, or worse, drop only sometimes.
        is_used = (variables >= 0) & (np.abs(values) > 1e-8 * np.abs(values).max(axis=1, keepdims=True))
        entries = values[is_used], (np.nonzero(is_used)[0], variables[is_used])
        parts.append(sparse.csr_array(entries, shape=(len(variables), n_variables)))
    right = [np.full(len(variables), side) for variables, _, side in blocks]
    return (sparse.vstack(parts, "csr"), np.concatenate(right)) if blocks else (None, None)


def make_problem(distributions: Vector, distances: ArrayLike) -> Problem:
    """Return the problem of distributions (k, n_x) and matching distances (n_x, n_y)."""
    d = doubles(distances, InvalidParameter("distances must be a matrix of numbers"))
    if d.ndim != 2 or not d.size or d.shape[0] != distributions.shape[1]:
        raise InvalidParameter(f"distances must have shape ({distributions.shape[1]}, n_y), got {d.shape}")
    if not np.isfinite(d).all() or (d < 0).any():
        raise InvalidParameter("distances must have finite entries >= 0, got some that are negative, infinite or NaN")
    least = d.min(axis=1)
    unit = float((d - least[:, None]).max()) or 1.0
    return Problem(distributions, (d - least[:, None]) / unit, unit, distributions @ (least / unit))


def both_ways(neighbours: ArrayLike | None, size: int) -> Codes:
    """Ordered pairs of different neighbours, shape (k, 2); all pairs for None."""
    if neighbours is None:
        return np.argwhere(~np.eye(size, dtype=bool))
    pairs = check_pairs(neighbours, size)
    return np.concatenate([pairs, pairs[:, ::-1]])


def dp_level(channel: Vector, delta: float, neighbours: ArrayLike | None) -> float:
    """Least ε for which P(A|x) <= e**ε P(A|x') + δ for all events A and neighbours x, x', rounded up."""
    if delta == 1 or constant(channel):
        return 0.0
    level = approximate_dp(channel, delta=delta * (1 - 5e-16), neighbours=neighbours)
    return round_up(level) if level else 0.0


def max_information_level(prior: Vector, channel: Vector) -> float:
    """Largest log p(y|x)/p_Y(y) over all inputs, possible or not, rounded up."""
    if constant(channel):
        return 0.0
    top = channel.max(axis=0)
    shown = top > 0
    # Sums are exact, and each ratio takes one logarithm, because logs of small masses have larger rounding errors.
    marginal = np.array([math.fsum(column) for column in (prior[:, None] * channel[:, shown]).T]) / math.fsum(prior)
    with np.errstate(divide="ignore"):
        ratios = np.log(top[shown] / marginal)
    return round_up(max(0.0, float(ratios.max()))) + _ABSOLUTE  # rows sum to 1 up to the last digit


def maximal_leakage_level(channel: Vector) -> float:
    """Maximal leakage log Σ_y max_x p(y|x), rounded up; the sum is exact."""
    if constant(channel):
        return 0.0
    return round_up(max(0.0, math.log1p(math.fsum([*channel.max(axis=0).tolist(), -1.0]))))


def constant(channel: Vector) -> bool:
    """Return whether all inputs release exactly the same distribution."""
    return bool((channel == channel[0]).all())


def round_up(level: float) -> float:
    """Round a measured level up by the error of its measurement."""
    return level * (1 + _RELATIVE) + _ABSOLUTE


def build_for_level(
    build: Callable[[float], Vector], level: float, measure: Callable[[Vector], float]
) -> tuple[Vector, float] | None:
    """Return a channel with a measured level of at most ``level``, and its level; None if no attempt succeeds.

    If rounding requires, the channel is built for a slightly lower level.
    """
    target, room = level, 0.0
    for _ in range(60):
        channel = build(target)
        measured_level = measure(channel)
        if measured_level <= level:
            return channel, measured_level
        if target == 0:
            return None
        room = max(2 * room, 2 * (measured_level - level) if math.isfinite(measured_level) else 1e-15)
        target = max(0.0, level - room)
    return None


def normalise_rows(shares: Vector) -> Vector:
    """Scale rows to sum to 1."""
    return shares / shares.sum(axis=1, keepdims=True)
