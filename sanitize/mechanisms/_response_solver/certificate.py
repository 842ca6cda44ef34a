"""Certified lower bound on min H(w) - μ·v over Π: branch and bound on boxes of w, with H replaced by its chords.

Here w is v itself, or P(t|y) of a target T, which is linear in v. H is concave and separable, so on a box the chord in
each coordinate bounds H from below, and minimising the bound is a linear program. Reduced costs shrink the box, which
raises the chords, and the program is solved again. If this stalls, the coordinate with the largest distance between H
and its chord is split.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from sanitize._util.arithmetic import entr, product
from sanitize._util.checks import Codes, Vector
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.mechanisms._response_solver.dual_simplex import LinearBatch, solve_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.polytope import Polytope

# Boxes bounded at a time: enough to outweigh Python's overhead, few enough that most are still the worst when their
# turn comes.
_BATCH = 128
# Rounds of tightening a box, each of which takes a program, and the share of a box that a round must remove for the
# next.
_ROUNDS, _WORTHWHILE = 6, 0.02
# Ten times the number that 200 letters need. More open boxes are a sign of rounding errors, and would fill the memory.
_MOST_OPEN = 1 << 17
# Least distance of a split from the ends of a side, as a share of the side: one part would otherwise hardly shrink.
_EDGE = 0.1
# Number of boxes after which the effort is checked for being far too small, and the share of closed boxes that counts
# as hardly any. Distributions that could be proved had closed more by then or soon after.
_FIRST_LOOK = 1 << 13
_HARDLY_ANY = 0.125


@dataclass(eq=False)
class Certificate:
    """Result of branch and bound: a lower bound, and points below the target.

    Attributes
    ----------
    bound : float
        Mixtures of posteriors of Π into P_X have a loss of at least μ·P_X + bound.
    points : ndarray of shape (K, n)
        Points of Π below the target, if any were found; the search stops at the first batch with such points.
    bases : ndarray of shape (K, m)
    is_hopeless : bool
        True if the search stopped because the remaining effort would be far from enough.
    """

    bound: float
    points: Vector
    bases: Codes
    is_hopeless: bool = False


class _Node(NamedTuple):
    """Box of w in the heap, stored compactly: only lower sides > 0 are stored, and upper sides are rounded up.

    Boxes are ordered by their bounds and, for equal bounds, by their serial numbers.
    """

    bound: float
    serial: int
    letters: Codes
    low: Vector
    high: NDArray[np.float32]
    basis: Codes


@dataclass(eq=False)
class Boxes:
    """Batch of K boxes of w with the best known bounds and bases, and the points at which programs were solved."""

    low: Vector
    high: Vector
    basis: Codes
    bound: Vector
    v: Vector = field(init=False)
    w: Vector = field(init=False)


class Tree:
    """Boxes of one search in a heap, worst first; boxes that left the heap have a bound of at least the target."""

    def __init__(self, polytope: Polytope, mu: Vector, target: float) -> None:
        self.polytope, self.mu, self.target = polytope, mu, target
        self.n_bounded, self.n_closed = 0, 0
        self.is_hopeless, self._look = False, (_FIRST_LOOK, np.inf)
        self.heap: list[_Node] = []
        self._serial = 0

    @property
    def has_roots(self) -> bool:
        """True if some of the initial boxes have not been bounded yet."""
        return self.n_bounded <= self.polytope.n_spread

    @property
    def bound(self) -> float:
        """Lower bound of H(w) - μ·v on Π."""
        return -np.inf if self.has_roots else min(self.target, self.heap[0].bound if self.heap else np.inf)

    def steps(self, effort: Effort) -> Iterator[tuple[Boxes, Codes]]:
        """Bound and split boxes, the first layer without a limit; yield each batch and the positions of its open boxes.

        When the time is up, one program bounds the rest of the first layer.
        """
        while self.has_roots or (0 < len(self.heap) <= _MOST_OPEN and not (self.is_hopeless or effort.is_used())):
            if self.has_roots and effort.is_late():
                self._add_whole()
                return
            boxes = self._roots() if self.has_roots else self._worst()
            self.n_bounded += len(boxes.low)
            _tighten(self.polytope, self.mu, self.target, boxes)
            open_ = np.flatnonzero(boxes.bound < self.target)
            self._branch(boxes, open_)
            effort.spend(len(boxes.low) * self.polytope.work)
            self.n_closed += len(boxes.low) - len(open_)
            at, before = self._look
            if self.n_bounded >= at and not self.has_roots:
                # After each doubling: give up if hardly any box closes and, at this pace, the bound needs more effort
                # than is left.
                short = self.target - self.bound
                doublings = short / max(before - short, SMALLEST_POSITIVE)
                needed = self.n_bounded * (2.0 ** min(doublings, 64.0) - 1) * self.polytope.work
                self.is_hopeless = self.n_closed < _HARDLY_ANY * self.n_bounded and needed > effort.left
                self._look = 2 * at, short
            yield boxes, open_

    def _branch(self, boxes: Boxes, open_: Codes) -> None:
        """Split each open box where H and its chord differ most."""
        low, high = boxes.low[open_], boxes.high[open_]
        w, (at_low, slope) = np.clip(boxes.w[open_], low, high), _chords(low, high)
        letter, k = (entr(w) - at_low - slope * (w - low)).argmax(axis=1), np.arange(len(open_))
        margin = _EDGE * (high - low)[k, letter]
        place = np.clip(w[k, letter], low[k, letter] + margin, high[k, letter] - margin)
        for k, j, at in zip(open_.tolist(), letter, place, strict=True):
            below, above = boxes.high[k].copy(), boxes.low[k].copy()
            below[j] = above[j] = at
            for start, end in ((boxes.low[k], below), (above, boxes.high[k])):
                letters, short = np.flatnonzero(start), end.astype(np.float32)
                short = np.where(short < end, np.nextafter(short, np.float32(np.inf)), short)
                parts = letters, start[letters], short, boxes.basis[k].copy()
                heapq.heappush(self.heap, _Node(float(boxes.bound[k]), self._serial, *parts))
                self._serial += 1

    def _roots(self) -> Boxes:
        # The first boxes cover every posterior: at most one entry has more than half of the mass, or none has.
        n, first = self.polytope.n_spread, self.n_bounded
        k = min(_BATCH, n + 1 - first)
        low, high = np.zeros((k, n)), np.full((k, n), 0.5)
        row = np.arange(min(k, n - first))
        low[row, first + row], high[row, first + row] = 0.5, 1.0
        return Boxes(low, high, self.polytope.slack_basis(k), np.full(k, -np.inf))

    def _add_whole(self) -> None:
        """Replace the initial boxes that have no bound yet by one box that contains all boxes."""
        n = self.polytope.n_spread
        whole = Boxes(np.zeros((1, n)), np.ones((1, n)), self.polytope.slack_basis(1), np.full(1, -np.inf))
        _tighten(self.polytope, self.mu, self.target, whole)
        self.n_bounded = n + 1
        self._branch(whole, np.flatnonzero(whole.bound < self.target))

    def _worst(self) -> Boxes:
        nodes = [heapq.heappop(self.heap) for _ in range(min(_BATCH, len(self.heap)))]
        low = np.zeros((len(nodes), self.polytope.n_spread))
        for row, node in zip(low, nodes, strict=True):
            row[node.letters] = node.low
        high, bound = np.array([node.high for node in nodes], np.float64), np.array([node.bound for node in nodes])
        return Boxes(low, high, np.array([self.polytope.pad_basis(node.basis) for node in nodes]), bound)

    def repaired(self, p_x: Vector) -> float:
        """Target minus the cost of lowering the prices μ until H(w) - μ·v reaches the target everywhere.

        In an open box with w >= l, H(w) - μ·v may be short of the target by r. Lowering prices by δ·w with δ >= 0, and
        all prices by c >= 0, is enough if δ·l + c >= r; both lower prices because w is linear in v. A linear program
        finds the δ and c that reduce μ·P_X least, by δ·P_W + c: about the average shortage, whereas c alone would have
        to be the largest shortage.
        """
        from scipy.optimize import linprog

        if not self.heap:
            return self.target
        nodes, p_w = self.heap, self.polytope.variable_entries(p_x)
        short = self.target - np.array([node.bound for node in nodes])
        indptr = np.append(0, np.cumsum([len(node.letters) for node in nodes]))
        entries = np.concatenate([node.low for node in nodes]), np.concatenate([node.letters for node in nodes]), indptr
        shares = sparse.csr_array(entries, shape=(len(nodes), len(p_w)))
        every = sparse.hstack([shares, sparse.csr_array(np.ones((len(nodes), 1)))], format="csr")
        program = linprog(np.append(p_w, 1.0), A_ub=-every, b_ub=-short, method="highs")
        cut = np.maximum(program.x[:-1], 0.0) if program.status == 0 else np.zeros(len(p_w))
        # The cut c of all prices makes them valid, whatever the program returned.
        return self.target - float(product(cut, p_w)) - max(float((short - shares @ cut).max()), 0.0)


def certify(
    polytope: Polytope, mu: Vector, p_x: Vector, target: float, effort: Effort, *, stop_at_points: bool = True
) -> Certificate:
    """Prove ``H(w) - μ·v >= target`` on Π, find points below the target, or stop at the limit of effort or memory.

    The first layer of boxes, or one box that contains it if the time is up, is always bounded, so the result is valid
    at any effort, though perhaps weak.
    """
    tree = Tree(polytope, mu, target)
    for boxes, open_ in tree.steps(effort):
        v, w = np.clip(boxes.v[open_], 0.0, 1.0), np.clip(boxes.w[open_], 0.0, 1.0)
        price = entr(w).sum(axis=1) - (v * mu).sum(axis=1) + polytope.point_costs(v)
        better = np.flatnonzero((price < target) & polytope.contains(v))
        if len(better) and stop_at_points:
            return Certificate(tree.bound, v[better], boxes.basis[open_[better]])
    none = np.empty((0, polytope.n)), np.empty((0, polytope.n_rows), np.intp)
    return Certificate(tree.repaired(p_x), *none, tree.is_hopeless)


def _tighten(polytope: Polytope, mu: Vector, target: float, boxes: Boxes) -> None:
    """Bound each box by its chord program and shrink it by reduced costs, in place."""
    n, spread = polytope.n, polytope.spread
    live = np.arange(len(boxes.low))
    boxes.v, boxes.w = np.zeros((len(live), n)), boxes.low.copy()
    for _ in range(_ROUNDS):
        low, high = boxes.low[live], boxes.high[live]
        spare_low, spare_high = low.sum(axis=1)[:, None] - low, high.sum(axis=1)[:, None] - high
        high, low = np.minimum(high, 1 - spare_low), np.maximum(low, 1 - spare_high)
        empty = (high < low - 1e-12).any(axis=1)
        high = np.maximum(high, low)
        at_low, slope = _chords(low, high)
        offset = (at_low - slope * low).sum(axis=1)
        lower, upper = np.tile(polytope.lower, (len(live), 1)), np.tile(polytope.upper, (len(live), 1))
        cost = np.tile(polytope.costs, (len(live), 1))
        lower[:, spread], upper[:, spread], cost[:, spread] = low, high, slope
        cost[:, :n] -= mu
        programs = LinearBatch(polytope.matrix, polytope.rhs, lower, upper, cost)
        solved = solve_batch(programs, boxes.basis[live], target - offset)
        bound = np.where(empty, np.inf, solved.bound + offset)
        boxes.bound[live] = np.maximum(boxes.bound[live], bound)
        boxes.basis[live] = solved.basis
        boxes.v[live], boxes.w[live] = solved.point[:, :n], solved.point[:, spread]
        # A point below the target costs at most `room` more than the bound, so its variables cannot move far.
        room, reduced = np.maximum(target - bound, 0.0)[:, None], solved.reduced[:, spread]
        with np.errstate(divide="ignore", invalid="ignore"):
            cap = np.where(reduced > 1e-9, (low + room / reduced) * (1 + 1e-9) + 1e-15, np.inf)
            floor = np.where(reduced < -1e-9, high + room / reduced - 1e-12, -np.inf)
        new_high, new_low = np.minimum(high, cap), np.maximum(low, floor)
        boxes.low[live], boxes.high[live] = new_low, np.maximum(new_high, new_low)
        removed = ((high - new_high) + (new_low - low)).sum(axis=1)
        is_worthwhile = removed > _WORTHWHILE * np.maximum((high - low).sum(axis=1), SMALLEST_POSITIVE)
        live = live[is_worthwhile & (boxes.bound[live] < target)]
        if not len(live):
            break


def _chords(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Values of -v log v at the lower ends of [low, high], and slopes of its chords, each of shape (K, n)."""
    at_low, width = entr(low), high - low
    return at_low, np.divide(entr(high) - at_low, width, out=np.zeros_like(width), where=width > 0)
