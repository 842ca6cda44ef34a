"""Optimal channels for notions that bound outputs or events: maximal leakage, max-information, (ε, δ)-DP.

In (ε, δ)-DP with δ > 0, each binding event is a constraint: Σ_y (p(y|x) - e**ε p(y|x'))_+ <= δ. One solution uses the
noiseless choice with probability δ and an ε-DP channel otherwise, and it is usually the best; a relaxation with few
events proves this, or leads to a better solution.
"""

from __future__ import annotations

import math

import numpy as np

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.theory.tradeoff._linear_program import Index, Problem, Program, normalise_rows
from sanitize.theory.tradeoff._local import best_constant

# Two ends of a segment, or a corner and the segment, closer than this are equal up to rounding.
_FLAT = 1e-12
# Larger channels are only checked against the events that bind most often, because every round takes a larger program.
_ROUNDS, _CELLS_SEARCHED = 60, 400
# Excess that the linear program may leave; its own tolerance is a tenth.
_TOLERANCE = 1e-9


def least_leakage(problem: Problem, limit: float) -> Vector:
    """Return the channel of least Σ_y max_x p(y|x) with an excess cost within a limit, for one distribution.

    The trade-off is a polygon. At the slope of an edge, a program without a limit, with costs of the order of 1, finds
    both ends of the edge; the solution lies on the edge that contains the limit.
    """
    costs = problem.costs()[0]
    low, high = _corner(costs, math.inf), best_constant(problem)
    for _ in range(200):
        spans = [(float((costs * end).sum()), float(end.max(axis=0).sum())) for end in (low, high)]
        (near, near_leakage), (far, far_leakage) = spans
        if near_leakage - far_leakage <= _FLAT:
            return low
        slope = (near_leakage - far_leakage) / (far - near)
        corner = _corner(costs, slope)
        spent, paid = float((costs * corner).sum()), float(corner.max(axis=0).sum())
        if paid + slope * spent >= (near_leakage + slope * near) * (1 - _FLAT):
            break
        low, high = (corner, high) if spent <= limit else (low, corner)
    share = min(1.0, max(0.0, (limit - near) / (far - near) * (1 - 1e-15)))
    return normalise_rows(share * high + (1 - share) * low)


def _corner(costs: Vector, slope: float) -> Vector:
    """Return the channel of least Σ_y max_x p(y|x) + slope * cost."""
    allowed: Mask
    if math.isinf(slope):
        allowed, weighted = np.asarray(costs == 0), np.zeros_like(costs)
    else:
        weighted = slope * costs
        dearest = weighted.min(axis=1) + 1
        saved = np.maximum(dearest[:, None] - weighted, 0.0).sum(axis=0)
        allowed = (weighted <= dearest[:, None]) & (saved >= 1 - 1e-12)
    program, top, x, y = _leakage_program(allowed)
    values = program.least(np.append(program.cells[x, y], top), np.append(weighted[x, y], np.ones(len(top))))
    return normalise_rows(program.shares(values))


def _leakage_program(allowed: Mask) -> tuple[Program, Index, Codes, Codes]:
    """Return the program of p(y|x) with the variables max_x p(y|x), and the places x, y of the allowed cells."""
    program = Program(allowed)
    top, x, y = program.new(allowed.shape[1]), *np.nonzero(allowed)
    program.require(np.stack([program.cells[x, y], top[y]], axis=1), [1.0, -1.0])
    program.balance(program.cells, 1.0, 1.0)
    return program, top, x, y


def least_leakage_of_many(problem: Problem, limits: Vector) -> Vector:
    """Return the channel of least leakage within limits on the cost under each of several distributions."""
    costs = problem.costs()
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(costs == 0, 0.0, costs / limits[:, None, None])
    # Cells that cost more than this many times the whole limit carry no mass that a solver could resolve.
    program, top, x, y = _leakage_program(np.asarray((shares <= 1e9).all(axis=0)))
    used = shares[:, x, y]
    scale = np.maximum(used.max(axis=1, keepdims=True), 1.0)
    for row, unit in zip(used / scale, 1 / scale[:, 0], strict=True):
        program.require(program.cells[x, y][None], row[None], unit)
    channel = normalise_rows(program.shares(program.least(top, np.ones(len(top)))))
    # Excess cost within the solver's tolerance is removed by mixing in the noiseless choice.
    spent = (problem.distributions * (problem.d * channel).sum(axis=1)).sum(axis=1)
    over = spent > limits
    share = float((limits[over] / spent[over]).min()) * (1 - 1e-15) if over.any() else 1.0
    nearest = np.zeros_like(channel)
    nearest[np.arange(len(channel)), np.where(problem.d == 0, channel, -1.0).argmax(axis=1)] = 1.0
    return normalise_rows(share * channel + (1 - share) * nearest)


def least_informative(problem: Problem, eps: float) -> Vector:
    """Return the channel of least distortion with p(y|x) <= e**ε p_Y(y), up to the tolerance of a solver.

    Only inputs with P(x) < e**-ε are bound by the constraint. They may use an output in proportion to the mass that
    others bring to it, in units of e**-ε. In these units all masses are of the order of 1.
    """
    p, d = problem.distributions[0], problem.d
    weights = math.exp(eps) * p
    bound, nearest, n_y = weights < 1, d.argmin(axis=1), d.shape[1]
    saved = np.einsum("b,bxy->xy", weights[bound], np.maximum(d[bound][:, nearest, None] - d[bound][:, None, :], 0.0))
    # Outputs opened for bound inputs allow these inputs' own mass to open more.
    grown = max(0.0, 1 - float(weights[bound].sum()))
    allowed = bound[:, None] | (d * grown <= saved) | (d == 0)
    program = Program(allowed)
    opened, x, y = program.new(n_y), *np.nonzero(allowed)
    tied = bound[x]
    program.require(np.stack([program.cells[x, y], opened[y]], axis=1)[tied], [1.0, -1.0])
    program.require(opened[:, None], 1.0, 1.0)
    program.require(
        np.hstack([program.cells.T, opened[:, None]]), np.append(np.where(bound, -weights, -1.0), 1.0)[None]
    )
    program.balance(program.cells[bound], 1.0, 1.0)
    for cells, mass in zip(program.cells[~bound], weights[~bound], strict=True):
        program.require(cells[None], 1.0, min(mass, float(n_y)))
    costs = np.where(bound[:, None], weights[:, None] * d, d)[x, y]
    shares = program.shares(program.least(program.cells[x, y], costs / (costs.max() or 1.0)))
    free = np.flatnonzero(~bound)
    shares[free] /= weights[free, None]
    shares[free, nearest[free]] += np.maximum(1 - shares[free].sum(axis=1), 0.0)
    return normalise_rows(shares)


def cap_outputs(problem: Problem, channel: Vector, eps: float) -> Vector:
    """Blend rows of a channel with p_Y, as little as needed, if p(y|x) exceeds e**ε p_Y(y)."""
    p, growth = problem.distributions[0], math.exp(eps)
    capped = channel
    for _ in range(20):
        marginal = p @ capped
        over = capped - growth * marginal
        if (over <= 0).all():
            return capped
        share = np.divide(over, capped - marginal, out=np.zeros_like(over), where=over > 0).max(axis=1)
        capped = capped + np.minimum(share * (1 + 1e-15), 1.0)[:, None] * (marginal - capped)
    marginal = p @ channel
    shown = marginal > 0
    ratio = float((channel[:, shown] / marginal[shown]).max()) if (channel[:, ~shown] == 0).all() else math.inf
    return channel + max(0.0, 1 - math.expm1(eps) / (ratio - 1)) * (marginal - channel)


def mix_noiseless(problem: Problem, channel: Vector, delta: float) -> Vector:
    """Replace the output, with probability δ, by the likeliest of the outputs with no distortion."""
    nearest = np.where(problem.d == 0, channel, -1.0).argmax(axis=1)
    share = delta if delta == 1 else max(0.0, delta - 4.5e-16)  # the precision of a cell near 1
    mixed = (1 - share) * channel
    mixed[np.arange(len(channel)), nearest] += share
    return mixed


def improve_by_events(problem: Problem, eps: float, delta: float, pairs: Codes, baseline: Vector) -> Vector | None:
    """Return a channel that costs less than the baseline, up to a solver's tolerance; None if none is found."""
    # Above this level, a solver's tolerance exceeds the possible gain from an event.
    if eps > 12.0 or not 0 < delta < 1:
        return None
    program, size, shrink = Program(np.ones(problem.d.shape, dtype=bool)), baseline.shape[1], math.exp(-eps)
    program.balance(program.cells, 1.0, 1.0)
    worst = program.worst(program.cells.ravel(), problem.costs().reshape(len(problem.distributions), -1))
    enough = problem.excess_distortion(baseline) * (1 - 1e-7) - _TOLERANCE
    cut_pairs, events = pairs, np.eye(size, dtype=bool)[baseline.argmax(axis=1)][pairs[:, 0]]
    for _ in range(_ROUNDS if baseline.size <= _CELLS_SEARCHED else 1):
        # All events are far too many, so P(A|x) <= e**ε P(A|x') + δ is required only for pairs and events that broke
        # it.
        sides = [np.where(events, program.cells[side], -1) for side in cut_pairs.T]
        program.require(np.hstack(sides), np.repeat([shrink, -1.0], size)[None], shrink * delta)
        channel = normalise_rows(program.shares(program.least(*worst)))
        if problem.excess_distortion(channel) >= enough:
            return None
        excess, events = _events(channel, pairs, eps)
        over = excess > delta + _TOLERANCE
        if not over.any():
            return channel
        cut_pairs, events = pairs[over], events[over]
    return None


def cap_events(problem: Problem, channel: Vector, eps: float, delta: float, pairs: Codes) -> Vector:
    """Blend the channel with a constant channel until P(A|x) - e**ε P(A|x') <= δ for every event A."""
    over = max(0.0, float(_events(channel, pairs, eps)[0].max()) - delta)
    return channel + over / (delta + over) * (best_constant(problem) - channel)


def _events(channel: Vector, pairs: Codes, eps: float) -> tuple[Vector, Mask]:
    """Return the largest P(A|x) - e**ε P(A|x') of each pair, and the event A that attains it."""
    block = max(1, (1 << 20) // channel.shape[1])
    excess, events = [], []
    for start in range(0, len(pairs), block):
        left, right = pairs[start : start + block].T
        gap = channel[left] - math.exp(eps) * channel[right]
        events.append(gap > 0)
        excess.append(np.maximum(gap, 0.0).sum(axis=1))
    return np.concatenate(excess), np.concatenate(events)
