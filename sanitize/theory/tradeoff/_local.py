"""Optimal channels for notions that bound a ratio between pairs of inputs: DP and identifiability, at any level.

Where all inputs are neighbours, a column of an ε-LDP channel lies between its least value and e**ε times it. So the
channel is p(y|x) = (l_y + (e**ε - 1) V(y|x)) / (Σ l + e**ε - 1) with V a channel and l_y >= max_x V(y|x): the level
enters the costs only, and opening an output y is paid for once, as in facility location. No variable has to be as small
as e**-ε. If only some pairs are neighbours, such as databases that differ in one record, a cell d steps away from the
inputs with distortion 0 at its output may be e**(-ε d) times their cells, and is stated in that unit.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from sanitize._util.checks import Codes, Mask, Vector
from sanitize._util.tolerances import SAME
from sanitize.theory.tradeoff._linear_program import Index, Problem, Program, normalise_rows

# If the iteration does not settle within these, `fill_rows` makes the channel.
_FIXED_POINTS, _SETTLED = 200, 1e-14


def best_constant(problem: Problem) -> Vector:
    """Return the constant channel (all rows equal), shape (n_x, n_y), with the least worst-case cost."""
    constants = problem.constants
    distribution = np.zeros(constants.shape[1])
    if len(constants) == 1:
        distribution[constants[0].argmin()] = 1.0
    else:
        program = Program(np.ones((1, constants.shape[1]), dtype=bool))
        worst = program.worst(program.cells[0], constants)
        program.balance(program.cells, 1.0, 1.0)
        distribution = normalise_rows(program.shares(program.least(*worst)))[0]
    return np.tile(distribution, (problem.d.shape[0], 1))


def sharp_part(problem: Problem, eps: float) -> Vector:
    """Return the channel V from which `blend_floor` makes the optimal ε-LDP channel, for ε > 0."""
    shrink = math.exp(-eps)
    worth = _worth_it(problem, shrink / -math.expm1(-eps))
    opened = np.flatnonzero(worth.any(axis=0))
    # Variables are the cells of V and l_y of each output, in units of e**-ε times the channel's.
    program, low = _floor_program(worth[:, opened], np.ones(len(worth)), np.ones(len(opened)), eps)
    x, y = np.nonzero(program.allowed)
    costs = np.hstack([problem.costs()[:, x, opened[y]], shrink * problem.constants[:, opened]])
    values = program.least(*program.worst(np.append(program.cells[x, y], low), costs))
    shares = program.shares(values)
    # If the constant part alone is best for an input, V may equal that part.
    shares[shares.sum(axis=1) == 0] = values[low]
    sharp = np.zeros(worth.shape)
    sharp[:, opened] = normalise_rows(shares)
    return sharp


def blend_floor(sharp: Vector, eps: float) -> Vector:
    """Return the channel (l + (e**ε - 1) V) / (Σ l + e**ε - 1) with l_y = max_x V(y|x)."""
    low = sharp.max(axis=0)
    if eps == 0:
        return np.tile(low / low.sum(), (len(sharp), 1))
    odds = 1 / math.expm1(eps)
    return (odds * low + sharp) / (1 + odds * low.sum())


def _worth_it(problem: Problem, odds: float) -> Mask:
    """Mask of cells that an optimal V may use: no cell that costs more than opening another output for the input."""
    costs, opening, nearest = problem.costs(), odds * problem.constants, problem.d.argmin(axis=1)
    if len(costs) > 1:
        return (costs <= opening[:, nearest, None]).any(axis=0) | (problem.d == 0)
    cost, opened = costs[0], opening[0]
    dearest = (cost + opened).min(axis=1)
    # The optimum D enters as l_y (c_y - D), so an output that saves less than it costs is not worth opening. D is at
    # most the cost of a constant, and of the channel whose V maps every input to its nearest output.
    used = np.unique(nearest)
    most = min(float(problem.constants.min()), float(opened[used].sum() / (1 + odds * len(used))))
    saved = np.maximum(dearest[:, None] - cost, 0.0).sum(axis=0)
    open_ = odds * (problem.constants[0] - most) * (1 - 1e-12) <= saved
    return (cost <= dearest[:, None]) & open_


def identifiable_part(problem: Problem, eps: float) -> Vector:
    """Return the part U of the optimal ε-identifiable joint U + e**-ε L, with L_y >= max_x U(x, y) / (1 - e**-ε)."""
    p, d = problem.distributions[0], problem.d
    shrink, every = math.exp(-eps), d.sum(axis=0)
    odds, allowed = shrink / -math.expm1(-eps), np.ones_like(d, dtype=bool)
    if odds <= p.min():
        allowed = d <= (d + odds * every).min(axis=1)[:, None]
    # L_y is in units of the likeliest input with distortion 0 at y, and each row in units of its input.
    scale = np.where(d == 0, p[:, None], 0.0).max(axis=0)
    scale[scale == 0] = p.max()
    (program, low), (x, y) = _floor_program(allowed, p, scale, eps), np.nonzero(allowed)
    costs = np.append((p[:, None] * d)[x, y], shrink * scale * every)
    costs /= costs.max() or 1.0
    values = program.least(np.append(program.cells[x, y], low), costs)
    return p[:, None] * program.shares(values)


def _floor_program(allowed: Mask, p: Vector, scale: Vector, eps: float) -> tuple[Program, Index]:
    """Return the program with p U <= (1 - e**-ε) L and row sums 1, and its variables L_y in units of ``scale``."""
    program, (x, y) = Program(allowed), np.nonzero(allowed)
    low, total, ratio = program.new(len(scale)), program.new(1), p[x] / scale[y]
    sides = np.minimum(ratio, 1.0), math.expm1(-eps) * np.minimum(1 / ratio, 1.0)
    program.require(np.stack([program.cells[x, y], low[y]], axis=1), np.stack(sides, axis=1))
    program.balance(np.append(low, total)[None], np.append(scale, -1.0)[None], 0.0)
    rows = np.hstack([np.ones(allowed.shape), (math.exp(-eps) / p)[:, None]])
    program.balance(np.hstack([program.cells, np.broadcast_to(total, (len(p), 1))]), rows, 1.0)
    return program, low


def identifiable(problem: Problem, part: Vector, eps: float) -> Vector:
    """Return the channel of an ε-identifiable joint distribution close to U + e**-ε L that has the given prior."""
    p = problem.distributions[0]
    settled = _fixed_point(p, part, eps) if eps > 0 else None
    if settled is not None:
        return normalise_rows(settled / p[:, None])
    return fill_rows(problem, with_floor(part, eps), eps, p, 1.0 - np.eye(len(p)))


def with_floor(part: Vector, eps: float) -> Vector:
    """Return the joint U + e**-ε L with the least L that U allows."""
    return part + part.max(axis=0) / math.expm1(eps) if eps > 0 else part


def _fixed_point(p: Vector, part: Vector, eps: float) -> Vector | None:
    """Return U + e**-ε L with rows of U scaled to sum to P(x) - e**-ε Σ L; None without convergence."""
    u, odds = part, 1 / math.expm1(eps)
    for _ in range(_FIXED_POINTS):
        remainder, sums = p - odds * u.max(axis=0).sum(), u.sum(axis=1)
        if (remainder <= 0).any() or (sums <= 0).any():
            return None
        change = remainder / sums
        if np.abs(change - 1).max() < _SETTLED:
            return u + odds * u.max(axis=0)
        u = u * change[:, None]
    return None


def fill_rows(problem: Problem, joint: Vector, eps: float, weights: Vector, steps: Vector) -> Vector:
    """Turn an almost private joint distribution into a private channel.

    Cells are raised to the least values that their neighbours allow. The raised cells are scaled down until the
    remaining mass of all inputs is private too; this remainder goes to one output.
    """
    raised = raise_cells(joint, eps, steps)
    sums, near = raised.sum(axis=1), steps == 1
    if np.ptp(sums / weights) <= SAME:  # a level lower by this much compensates for it
        return normalise_rows(raised)
    growth = math.exp(eps)
    room, used = growth * weights[None, :] - weights[:, None], growth * sums[None, :] - sums[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.where(near & (used > 0), np.maximum(room, 0.0) / used, np.inf)
    share = min(1.0, float(limits.min()), float((weights / sums).min()))
    raised *= share * (1 - 1e-15)
    remainder = np.maximum(weights - raised.sum(axis=1), 0.0)
    raised[:, problem.constants.max(axis=0).argmin()] += remainder
    return normalise_rows(raised / weights[:, None])


def raise_cells(joint: Vector, eps: float, steps: Vector) -> Vector:
    """Raise every cell to at least e**(-ε steps) times the cell of any other input."""
    return np.stack([(np.exp(-eps * steps[x])[:, None] * joint).max(axis=0) for x in range(len(joint))])


def steps_between(pairs: Codes, size: int) -> Vector:
    """Least number of steps between inputs over ordered pairs of neighbours; inf if no path exists."""
    from scipy.sparse.csgraph import shortest_path

    graph = sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    return shortest_path(graph, unweighted=True)


def solve_relaxed(problem: Problem, weights: Vector, eps: float, pairs: Codes) -> Vector:
    """Return the cheapest w(x) p(y|x) with w(x) p(y|x) <= e**ε w(x') p(y|x') for neighbours, to solver tolerance."""
    steps, liked = steps_between(pairs, len(weights)), problem.d == 0
    # Rows of the program have one scale if cells are divided by e**-ε for each step from an input to the nearest one
    # with distortion 0 at the output.
    away = np.stack([steps[:, liked[:, y]].min(axis=1, initial=np.inf) for y in range(liked.shape[1])], axis=1)
    logs = np.maximum(-eps * np.where(np.isfinite(away), away, 0.0), -690.0)
    program, (left, right) = Program(np.ones(problem.d.shape, dtype=bool)), pairs.T
    excess = (logs + np.log(weights)[:, None])[left] - (logs + np.log(weights)[:, None])[right] - eps
    program.require(
        np.stack([program.cells[left], program.cells[right]], axis=-1).reshape(-1, 2),
        np.stack([np.exp(np.minimum(excess, 0.0)), -np.exp(np.minimum(-excess, 0.0))], axis=-1).reshape(-1, 2),
    )
    program.balance(program.cells, np.exp(logs), 1.0)
    costs = (problem.costs() * np.exp(logs)).reshape(len(problem.distributions), -1)
    values = program.least(*program.worst(program.cells.ravel(), costs))
    return weights[:, None] * normalise_rows(program.shares(values) * np.exp(logs))
