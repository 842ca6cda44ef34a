"""Prices of posteriors where what a symbol tells has a price too: descent, and branch and bound on simplices."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import Codes, Mask, Vector
from sanitize._tolerances import SMALLEST_POSITIVE
from sanitize.mechanisms._response_solver.columns import entr

if TYPE_CHECKING:
    from sanitize.budgets import MeanBudget
    from sanitize.mechanisms._effort import Effort

# Steps of a descent, the first in nats of a share, and shares that are none after it.
_STEPS, _FIRST, _NOTHING = 60, 0.3, 1e-9
# Faces begun at a time, and simplices cut at a time.
_FACES, _BATCH = 1 << 12, 1 << 12
# Rounding of two curvatures, and a lift that is as good as 0.
_CURVED, _NO_LIFT = 1e-9, 1e-100


@dataclass(frozen=True, eq=False)
class Price:
    """H(r) + λ g(r) - μ·r of posteriors r of X, where g is convex in the lifts: below 0, r is worth mixing in.

    Attributes
    ----------
    budget : MeanBudget
        Tells g.
    lifts : ndarray of shape (n_s, n)
    p_s : ndarray of shape (n_s,)
    mu : ndarray of shape (n,)
    rate : float
        λ >= 0.
    """

    budget: MeanBudget
    lifts: Vector
    p_s: Vector
    mu: Vector
    rate: float

    def of(self, r: Vector) -> tuple[Vector, Vector]:
        """Prices of points r, shape (K,), and their slopes but for a constant, shape (K, n)."""
        lifts = r @ self.lifts.T
        slopes, logs = self.budget.slope(lifts.T, self.p_s).T, np.log(np.maximum(r, SMALLEST_POSITIVE))
        price = entr(r).sum(axis=1) + self.rate * (lifts * slopes).sum(axis=1) - r @ self.mu
        return price, self.rate * (slopes @ self.lifts) - logs - self.mu

    @property
    def shared(self) -> float:
        """How much of g counts as concave beside H: of KL(P_S|y || P_S), up to once.

        H(X|y) - H(S|y) is H(X|S,y), which is concave in r, less Σ_x r(x) H(S|x), and KL is linear in r less H(S|y).
        """
        return min(self.rate, 1.0)

    def descended(self, r: Vector) -> Vector:
        """Points of lower price, by multiplicative steps from points r, shape (K, n), among the letters of each."""
        (price, slope), step = self.of(r), np.full((len(r), 1), _FIRST)
        for _ in range(_STEPS):
            ahead = r * np.exp(np.clip(step * ((slope * r).sum(axis=1, keepdims=True) - slope), -50.0, 50.0))
            ahead /= ahead.sum(axis=1, keepdims=True)
            there, turned = self.of(ahead)
            better = (there < price)[:, None]
            r, slope, price = np.where(better, ahead, r), np.where(better, turned, slope), np.minimum(there, price)
            step = np.where(better, 1.5 * step, 0.4 * step)
        r = np.where(r < _NOTHING, 0.0, r)
        return np.asarray(r / r.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Simplices:
    """K simplices in faces of k letters, with what the price is made of at their corners.

    Attributes
    ----------
    faces : ndarray of int, shape (K, k)
    corners : ndarray of shape (K, k, k)
        Shares of the letters of the face.
    rest : ndarray of shape (K, k)
        H + λ' g - μ·r at each corner, where λ' is the price's `shared` part of λ.
    lifts : ndarray of shape (K, k, n_s)
    """

    faces: Codes
    corners: Vector
    rest: Vector
    lifts: Vector

    def take(self, kept: slice | Mask) -> _Simplices:
        """Some of them."""
        return _Simplices(*(part[kept] for part in vars(self).values()))

    def joined(self, others: _Simplices) -> _Simplices:
        """These and others."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        return _Simplices(*(np.concatenate(pair) for pair in pairs))

    def open(self, price: Price, target: float) -> _Simplices:
        """Those that may hold the least price of all, below the target.

        The concave part is at least its chord, the convex rest of g at least its tangent at the center, and the sum of
        both is least at a corner. Where a price is least among all points that mix the letters of a face, it is not
        concave along any line of the face.
        """
        slopes = (price.rate - price.shared) * price.budget.slope(self.lifts.mean(axis=1).T, price.p_s).T
        bound = (self.rest + (self.lifts @ slopes[:, :, None])[:, :, 0]).min(axis=1)
        some, (i, j) = self.take(bound < target), np.triu_indices(self.faces.shape[1], 1)
        along, turning = some.corners[:, i] - some.corners[:, j], some.lifts[:, i] - some.lifts[:, j]
        falls = (along**2 / some.corners.max(axis=1)[:, None]).sum(axis=2)
        weights = price.rate * price.p_s / np.maximum(some.lifts.min(axis=1), _NO_LIFT)
        return some.take((falls <= (1 + _CURVED) * (turning**2 * weights[:, None]).sum(axis=2)).all(axis=1))

    def halves(self, price: Price) -> tuple[_Simplices, Vector, Vector]:
        """Both halves of each, cut in the middle of its longest edge, that middle and its price.

        What the lifts turn along an edge counts too, at its price: a third of the cuts is enough then.
        """
        (i, j), k = np.triu_indices(self.faces.shape[1], 1), np.arange(len(self.faces))
        lengths = ((self.corners[:, i] - self.corners[:, j]) ** 2).sum(axis=2)
        lengths += price.rate * ((self.lifts[:, i] - self.lifts[:, j]) ** 2 @ price.p_s)
        longest = lengths.argmax(axis=1)
        i, j = i[longest], j[longest]
        corner, lifts = ((part[k, i] + part[k, j]) / 2 for part in (self.corners, self.lifts))
        told = price.budget.risk_of(lifts.T, price.p_s)
        rest = entr(corner).sum(axis=1) + price.shared * told - (corner * price.mu[self.faces]).sum(axis=1)
        both = self.joined(self)
        k = np.arange(len(both.faces))
        for part, middle in ((both.corners, corner), (both.rest, rest), (both.lifts, lifts)):
            part[k, np.append(i, j)] = np.concatenate([middle, middle])
        return both, corner, rest + (price.rate - price.shared) * told


def lowest(price: Price, target: float, effort: Effort) -> tuple[float, Vector]:
    """The target where no posterior has a lower price, else a weak bound, and points below it where some were met.

    H is concave where the lifts are given, so the price is least at a point of at most as many letters as the rank of
    the lifts: faces of that many letters and fewer are searched, some at a time, until no simplex is open.
    """
    n = len(price.mu)
    nothing, weak = np.empty((0, n)), -float(price.mu.max())  # H and g are at least 0
    alone = price.of(np.eye(n))[0]
    if alone.min() < target:
        return weak, np.eye(n)[alone < target]
    rest = alone - (price.rate - price.shared) * price.budget.risk_of(price.lifts, price.p_s)
    for k in range(2, int(np.linalg.matrix_rank(price.lifts)) + 1):
        letters = itertools.combinations(range(n), k)
        while begun := [*itertools.islice(letters, _FACES)]:
            faces = np.array(begun)
            corners = np.tile(np.eye(k), (len(faces), 1, 1))
            open_ = _Simplices(faces, corners, rest[faces], price.lifts.T[faces]).open(price, target)
            effort.spend(len(faces) * k * n)
            while len(open_.faces) and not effort.is_used():
                # Depth first, so that few are open at any time.
                last = open_.take(slice(-_BATCH, None))
                halves, middles, prices = last.halves(price)
                below = prices < target
                if below.any():
                    points = np.zeros((len(middles), n))
                    np.put_along_axis(points, last.faces, middles, axis=1)
                    return weak, points[below]
                open_ = open_.take(slice(0, -_BATCH)).joined(halves.open(price, target))
                effort.spend(halves.lifts.size)
            if effort.is_used():
                return weak, nothing
    return target, nothing
