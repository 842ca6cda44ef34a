"""Optimal channels of notions that bound outputs or events: maximal leakage, max-information, (ε, δ)-DP.

Of (ε, δ)-DP, δ > 0, each event that binds is a constraint: Σ_y (p(y|x) - e**ε p(y|x'))_+ <= δ. Giving the noiseless
choice with probability δ and an ε-DP channel otherwise is one solution, most often the best; a relaxation with few
events proves that, or leads to a better one.
"""

from __future__ import annotations

import math

import numpy as np

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.theory.tradeoff._linear_program import Problem, Program, normalise_rows
from sanitize.theory.tradeoff._local import best_constant

_FLAT = 1e-12
# Larger channels are only held against the events that most often bind.
_ROUNDS, _CELLS_SEARCHED = 60, 400
_TOLERANCE = 1e-9


def least_leakage(problem: Problem, limit: float) -> Vector:
    """Channel of least Σ_y max_x p(y|x) whose cost above the floor is within the limit under its one distribution.

    The trade-off is a polygon. Each of its edges has a slope, at which a program without limits, in costs of the
    order of 1, finds both of its ends; the answer lies on the edge over the limit.
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
    """Channel of least Σ_y max_x p(y|x) + slope * cost."""
    allowed: Mask
    if math.isinf(slope):
        allowed, weighted = np.asarray(costs == 0), np.zeros_like(costs)
    else:
        weighted = slope * costs
        dearest = weighted.min(axis=1) + 1
        saved = np.maximum(dearest[:, None] - weighted, 0.0).sum(axis=0)
        allowed = (weighted <= dearest[:, None]) & (saved >= 1 - 1e-12)
    program = Program(allowed)
    top, x, y = program.new(costs.shape[1]), *np.nonzero(allowed)
    program.require(np.stack([program.cells[x, y], top[y]], axis=1), [1.0, -1.0])
    program.balance(program.cells, 1.0, 1.0)
    values = program.least(np.append(program.cells[x, y], top), np.append(weighted[x, y], np.ones(len(top))))
    return normalise_rows(program.shares(values))


def least_leakage_of_many(problem: Problem, limits: Vector) -> Vector:
    """Channel of least leakage under several distributions, each with its limit, as one program."""
    costs = problem.costs()
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(costs == 0, 0.0, costs / limits[:, None, None])
    # Cells dearer than this many times the whole budget carry no mass that a solver could see.
    allowed: Mask = np.asarray((shares <= 1e9).all(axis=0))
    program = Program(allowed)
    top, x, y = program.new(costs.shape[2]), *np.nonzero(allowed)
    program.require(np.stack([program.cells[x, y], top[y]], axis=1), [1.0, -1.0])
    program.balance(program.cells, 1.0, 1.0)
    used = shares[:, x, y]
    scale = np.maximum(used.max(axis=1, keepdims=True), 1.0)
    for row, unit in zip(used / scale, 1 / scale[:, 0], strict=True):
        program.require(program.cells[x, y][None], row[None], unit)
    channel = normalise_rows(program.shares(program.least(top, np.ones(len(top)))))
    # Whatever the tolerance spent too much is given back to the noiseless choice.
    spent = (problem.distributions * (problem.d * channel).sum(axis=1)).sum(axis=1)
    over = spent > limits
    share = float((limits[over] / spent[over]).min()) * (1 - 1e-15) if over.any() else 1.0
    nearest = np.zeros_like(channel)
    nearest[np.arange(len(channel)), np.where(problem.d == 0, channel, -1.0).argmax(axis=1)] = 1.0
    return normalise_rows(share * channel + (1 - share) * nearest)


def least_informative(problem: Problem, eps: float) -> Vector:
    """Channel of least distortion with p(y|x) <= e**ε p_Y(y), up to the tolerance of a solver.

    Only inputs with P(x) < e**-ε are bound at all. They may use an output as far as others carry mass e**-ε to it.
    In units of e**-ε those masses, and what is opened, are of the order of 1.
    """
    p, d = problem.distributions[0], problem.d
    weights = math.exp(eps) * p
    bound, nearest, n_y = weights < 1, d.argmin(axis=1), d.shape[1]
    saved = np.einsum("b,bxy->xy", weights[bound], np.maximum(d[bound][:, nearest, None] - d[bound][:, None, :], 0.0))
    # What is opened for bound inputs lets their own mass open more.
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
    """Blend rows that reveal more than ε with p_Y, each as little as needed."""
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
    """Mixture of the noiseless choice with probability δ, the one that the channel favours, and the channel."""
    nearest = np.where(problem.d == 0, channel, -1.0).argmax(axis=1)
    share = delta if delta == 1 else max(0.0, delta - 4.5e-16)  # a cell near 1 is known no better
    mixed = (1 - share) * channel
    mixed[np.arange(len(channel)), nearest] += share
    return mixed


def improve_by_events(problem: Problem, eps: float, delta: float, pairs: Codes, baseline: Vector) -> Vector | None:
    """Channel that costs less than the known one, up to a solver's tolerance; None if there is none."""
    # From this level on a solver's tolerance is more than an event could gain.
    if eps > 12.0 or not 0 < delta < 1:
        return None
    program, size, shrink = Program(np.ones(problem.d.shape, dtype=bool)), baseline.shape[1], math.exp(-eps)
    program.balance(program.cells, 1.0, 1.0)
    worst = program.worst(program.cells.ravel(), problem.costs().reshape(len(problem.distributions), -1))
    enough = problem.excess_distortion(baseline) * (1 - 1e-7) - _TOLERANCE
    cut_pairs, events = pairs, np.eye(size, dtype=bool)[baseline.argmax(axis=1)][pairs[:, 0]]
    for _ in range(_ROUNDS if baseline.size <= _CELLS_SEARCHED else 1):
        # P(A|x) <= e**ε P(A|x') + δ for each of these pairs and its event A.
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
    """Blend the channel with a constant one so that no event exceeds δ."""
    over = max(0.0, float(_events(channel, pairs, eps)[0].max()) - delta)
    return channel + over / (delta + over) * (best_constant(problem) - channel)


def _events(channel: Vector, pairs: Codes, eps: float) -> tuple[Vector, Mask]:
    """Return the largest P(A|x) - e**ε P(A|x') of each pair, and its event A."""
    block = max(1, (1 << 20) // channel.shape[1])
    excess, events = [], []
    for start in range(0, len(pairs), block):
        left, right = pairs[start : start + block].T
        gap = channel[left] - math.exp(eps) * channel[right]
        events.append(gap > 0)
        excess.append(np.maximum(gap, 0.0).sum(axis=1))
    return np.concatenate(excess), np.concatenate(events)
