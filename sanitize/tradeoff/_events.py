"""Optimal (ε, δ)-DP channels, δ > 0: Σ_y (p(y|x) - e**ε p(y|x'))_+ <= δ, one constraint for each event that binds.

Giving the noiseless choice with probability δ and an ε-DP channel otherwise is one solution, most often the best.
A relaxation with few events proves that, or leads to a better one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize.tradeoff._linear_program import Problem, Program
from sanitize.tradeoff._local import best_constant
from sanitize.tradeoff._measured import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

# Larger channels are only held against the events that most often bind.
_ROUNDS, _CELLS_SEARCHED = 60, 400
# From this level on a solver's tolerance is more than an event could gain.
_LAST_LEVEL = 12.0
_TOLERANCE = 1e-9
_LAST_DIGITS = 4.5e-16
_CELLS = 1 << 20


def revealed(problem: Problem, channel: Vector, delta: float) -> Vector:
    """The noiseless choice with probability δ, of several the one the channel likes best, else the channel."""
    nearest = np.where(problem.d == 0, channel, -1.0).argmax(axis=1)
    share = delta if delta == 1 else max(0.0, delta - _LAST_DIGITS)  # a cell near 1 is known no better
    mixed = (1 - share) * channel
    mixed[np.arange(len(channel)), nearest] += share
    return mixed


def improved(problem: Problem, eps: float, delta: float, pairs: NDArray[np.intp], known: Vector) -> Vector | None:
    """A channel that costs less than the known one, up to the tolerance of a solver; None if there is none."""
    if eps > _LAST_LEVEL or not 0 < delta < 1:
        return None
    relaxed = _Relaxed(problem, eps, delta)
    relaxed.forbid(pairs, np.eye(known.shape[1], dtype=bool)[known.argmax(axis=1)][pairs[:, 0]])
    enough = problem.spent(known) * (1 - 1e-7) - _TOLERANCE
    for _ in range(_ROUNDS if known.size <= _CELLS_SEARCHED else 1):
        channel = relaxed.solve()
        if problem.spent(channel) >= enough:
            return None
        excess, events = _events(channel, pairs, eps)
        over = excess > delta + _TOLERANCE
        if not over.any():
            break
        relaxed.forbid(pairs[over], events[over])
    else:
        return None
    return channel


def held_to_events(problem: Problem, channel: Vector, eps: float, delta: float, pairs: NDArray[np.intp]) -> Vector:
    """The channel blended with a constant one so that no event exceeds δ."""
    over = max(0.0, float(_events(channel, pairs, eps)[0].max()) - delta)
    return channel + over / (delta + over) * (best_constant(problem) - channel)


class _Relaxed:
    """The program with the events found so far."""

    def __init__(self, problem: Problem, eps: float, delta: float) -> None:
        self.shrink, self.delta = math.exp(-eps), delta
        self.program = Program(np.ones(problem.d.shape, dtype=bool))
        self.worst = self.program.new(1)
        self.program.balance(self.program.cells, 1.0, 1.0)
        costs = problem.costs().reshape(len(problem.laws), -1)
        variables = np.broadcast_to(self.program.cells.ravel(), costs.shape)
        self.program.bound_worst(self.worst, variables, costs / (costs.max() or 1.0))

    def forbid(self, pairs: NDArray[np.intp], events: NDArray[np.bool_]) -> None:
        """P(A|x) <= e**ε P(A|x') + δ for each pair and its event, a row of ``events``."""
        left, right = (np.where(events, self.program.cells[side], -1) for side in pairs.T)
        size = events.shape[1]
        signs = np.append(np.full(size, self.shrink), np.full(size, -1.0))
        self.program.require(np.hstack([left, right]), signs[None], self.shrink * self.delta)

    def solve(self) -> Vector:
        return normalised(self.program.shares(self.program.least(self.worst, np.ones(1))))


def _events(channel: Vector, pairs: NDArray[np.intp], eps: float) -> tuple[Vector, NDArray[np.bool_]]:
    """Of each pair the largest P(A|x) - e**ε P(A|x') and its event A."""
    block = max(1, _CELLS // channel.shape[1])
    excess, events = [], []
    for start in range(0, len(pairs), block):
        left, right = pairs[start : start + block].T
        gap = channel[left] - math.exp(eps) * channel[right]
        events.append(gap > 0)
        excess.append(np.maximum(gap, 0.0).sum(axis=1))
    return np.concatenate(excess), np.concatenate(events)
