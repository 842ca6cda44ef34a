"""Optimal channels when some pairs of inputs are neighbours, such as databases that differ in one record.

A cell d steps away from the inputs that like its output may be e**(-ε d) of theirs, and is stated in that unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.tradeoff._linear_program import Problem, Program
from sanitize.tradeoff._measured import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

_LOG_TINY = -690.0


def steps_between(pairs: NDArray[np.intp], size: int) -> Vector:
    """Fewest steps from input to input over ordered pairs of neighbours; inf where no path leads."""
    from scipy.sparse.csgraph import shortest_path

    graph = sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    steps: Vector = shortest_path(graph, unweighted=True)
    return steps


def proposed(problem: Problem, weights: Vector, eps: float, pairs: NDArray[np.intp]) -> Vector:
    """Cheapest joint law w(x) p(y|x) with w(x) p(y|x) <= e**ε w(x') p(y|x') for neighbours, to a solver's tolerance."""
    logs = np.maximum(-eps * _steps_away(problem, steps_between(pairs, len(weights))), _LOG_TINY)
    n_x, n_y = problem.d.shape
    program = Program(np.ones((n_x, n_y), dtype=bool))
    worst = program.new(1)
    left, right = pairs.T
    excess = (logs + np.log(weights)[:, None])[left] - (logs + np.log(weights)[:, None])[right] - eps
    program.require(
        np.stack([program.cells[left], program.cells[right]], axis=-1).reshape(-1, 2),
        np.stack([np.exp(np.minimum(excess, 0.0)), -np.exp(np.minimum(-excess, 0.0))], axis=-1).reshape(-1, 2),
    )
    program.balance(program.cells, np.exp(logs), 1.0)
    costs = (problem.costs() * np.exp(logs)).reshape(len(problem.laws), -1)
    unit = float(costs.max()) or 1.0
    program.bound_worst(worst, np.broadcast_to(program.cells.ravel(), costs.shape), costs / unit)
    channel = normalised(program.shares(program.least(worst, np.ones(1))) * np.exp(logs))
    return weights[:, None] * channel


def _steps_away(problem: Problem, steps: Vector) -> Vector:
    """Steps from each input to the nearest one that likes the output, shape (n_x, n_y); 0 where there is none."""
    liked = problem.d == 0
    away = np.stack([steps[:, liked[:, y]].min(axis=1, initial=np.inf) for y in range(liked.shape[1])], axis=1)
    return np.where(np.isfinite(away), away, 0.0)
