"""Certified lower bound on min H(v) - μ·v over Π: branch and bound on boxes, H replaced by its chords.

H is concave and separable, so on a box its chord in each coordinate bounds it from below and the bound is a
linear program. Reduced costs shrink the box, the chords rise, and the program is solved again; where that
stalls, the coordinate with the largest distance between H and its chord is split.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from sanitize.mechanisms._dual_simplex import LinearBatch, solve_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize.mechanisms._polytope import ResponsePolytope

_BATCH = 128
_ROUNDS = 6
_WORTHWHILE = 0.02  # share of a box that tightening must remove to be tried again
_EDGE = 0.1  # splits keep this distance, as a share of the side, from its ends


@dataclass(eq=False)
class Certificate:
    """What branch and bound proved.

    Attributes
    ----------
    bound : float
        H(v) - μ·v >= bound for every v in Π.
    points : ndarray of shape (K, n)
        Points of Π below the target, if any were met: the search stops at the first batch that has some.
    bases : ndarray of shape (K, m)
    n_nodes : int
    """

    bound: float
    points: NDArray[np.float64]
    bases: NDArray[np.intp]
    n_nodes: int


@dataclass(eq=False)
class _Boxes:
    """K boxes with the best bound and the last basis known for each."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    basis: NDArray[np.intp]
    bound: NDArray[np.float64]
    point: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.point = self.low.copy()


def certify(
    polytope: ResponsePolytope, mu: NDArray[np.float64], target: float, expired: Callable[[], bool]
) -> Certificate:
    """Prove ``H(v) - μ·v >= target`` on Π, or find points below it, or stop when time has expired.

    At least the first layer of boxes is always bounded, so the result is valid (if weak) at any time limit.
    """
    n = polytope.n
    # Either one letter has at least half of the mass, and no other has more, or no letter has more than half.
    low, high = np.zeros((n + 1, n)), np.full((n + 1, n), 0.5)
    letters = np.arange(n)
    low[letters, letters], high[letters, letters] = 0.5, 1.0
    heap = [(-np.inf, i, low[i], high[i], basis) for i, basis in enumerate(polytope.slack_basis(n + 1))]
    serial, n_nodes = len(heap), 0
    while heap and (n_nodes <= n or not expired()):
        popped = [heapq.heappop(heap) for _ in range(min(_BATCH, len(heap)))]
        n_nodes += len(popped)
        boxes = _Boxes(
            np.array([node[2] for node in popped]),
            np.array([node[3] for node in popped]),
            np.array([node[4] for node in popped]),
            np.array([node[0] for node in popped]),
        )
        _tighten(polytope, mu, target, boxes)
        open_ = np.flatnonzero(boxes.bound < target)
        for k, j, at in zip(open_, *_split(boxes, open_), strict=True):
            below, above = boxes.high[k].copy(), boxes.low[k].copy()
            below[j] = above[j] = at
            heapq.heappush(heap, (boxes.bound[k], serial, boxes.low[k], below, boxes.basis[k]))
            heapq.heappush(heap, (boxes.bound[k], serial + 1, above, boxes.high[k], boxes.basis[k]))
            serial += 2
        v = np.clip(boxes.point[open_], 0.0, 1.0)
        better = np.flatnonzero((entr(v).sum(axis=1) - v @ mu < target) & polytope.contains(v))
        if len(better):
            return Certificate(min(target, heap[0][0]), v[better], boxes.basis[open_[better]], n_nodes)
    none = np.empty((0, n)), np.empty((0, polytope.n_rows), np.intp)
    return Certificate(min(target, heap[0][0]) if heap else target, *none, n_nodes)


def _tighten(polytope: ResponsePolytope, mu: NDArray[np.float64], target: float, boxes: _Boxes) -> None:
    """Bound each box by its chord program and shrink it by reduced costs, in place."""
    n = polytope.n
    live = np.arange(len(boxes.low))
    for _ in range(_ROUNDS):
        low, high = boxes.low[live], boxes.high[live]
        spare_low, spare_high = low.sum(axis=1)[:, None] - low, high.sum(axis=1)[:, None] - high
        high, low = np.minimum(high, 1 - spare_low), np.maximum(low, 1 - spare_high)
        empty = (high < low - 1e-12).any(axis=1)
        high = np.maximum(high, low)
        slope, offset = _chords(low, high)
        lower = np.tile(polytope.lower, (len(live), 1))
        upper = np.tile(polytope.upper, (len(live), 1))
        cost = np.zeros_like(lower)
        lower[:, :n], upper[:, :n], cost[:, :n] = low, high, slope - mu
        programs = LinearBatch(polytope.matrix, polytope.rhs, lower, upper, cost)
        solved = solve_batch(programs, boxes.basis[live], target - offset)
        bound = np.where(empty, np.inf, solved.bound + offset)
        boxes.bound[live] = np.maximum(boxes.bound[live], bound)
        boxes.basis[live], boxes.point[live] = solved.basis, solved.point[:, :n]
        # A point below the target costs at most `room` more than the bound, so it cannot be far from it.
        room = np.maximum(target - bound, 0.0)[:, None]
        reduced = solved.reduced[:, :n]
        with np.errstate(divide="ignore", invalid="ignore"):
            cap = np.where(reduced > 1e-9, (low + room / reduced) * (1 + 1e-9) + 1e-15, np.inf)
            floor = np.where(reduced < -1e-9, high + room / reduced - 1e-12, -np.inf)
        new_high, new_low = np.minimum(high, cap), np.maximum(low, floor)
        boxes.low[live], boxes.high[live] = new_low, np.maximum(new_high, new_low)
        removed = ((high - new_high) + (new_low - low)).sum(axis=1)
        again = removed > _WORTHWHILE * np.maximum((high - low).sum(axis=1), 1e-300)
        live = live[again & (boxes.bound[live] < target)]
        if not len(live):
            break


def _chords(low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slopes of the chords of -v log v on [low, high], shape (K, n), and the sums of their offsets, shape (K,)."""
    at_low, width = entr(low), high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(width > 0, (entr(high) - at_low) / width, 0.0)
    return slope, (at_low - slope * low).sum(axis=1)


def _split(boxes: _Boxes, open_: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Coordinate and place where each open box is split: where H and its chord differ most."""
    low, high = boxes.low[open_], boxes.high[open_]
    v = np.clip(boxes.point[open_], low, high)
    width, at_low = high - low, entr(low)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(width > 0, (entr(high) - at_low) / width, 0.0)
    j = (entr(v) - at_low - slope * (v - low)).argmax(axis=1)
    k = np.arange(len(open_))
    margin = _EDGE * width[k, j]
    return j, np.clip(v[k, j], low[k, j] + margin, high[k, j] - margin)
