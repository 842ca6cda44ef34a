"""Pricing of posteriors when leakage has a price, too: descent, and branch and bound on simplices."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import exp10

from sanitize._util.arithmetic import entr, log, product
from sanitize._util.checks import Codes, Mask, Vector

if TYPE_CHECKING:
    from sanitize.core.budgets import MeanBudget
    from sanitize.mechanisms._effort import Effort

# Steps of a descent, which grow and shrink with their success, and the first in powers of ten of a share. Twenty powers
# of ten at most keep products of shares in a double, and a share of 1e-9 hardly changes a price.
_STEPS, _FIRST, _LONGEST, _NOTHING = 60, 0.13, 20.0, 1e-9
# Faces and simplices of a batch, whose arrays take a few megabytes.
_FACES, _BATCH = 1 << 12, 1 << 12
# Relative rounding of curvatures, and a lift that counts as 0: a price divided by it is still a double.
_CURVED, _NO_LIFT = 1e-9, 1e-100


@dataclass(frozen=True, eq=False)
class Price:
    """Price H(r) + λ g(r) - μ·r of posteriors r of X, with g convex in the lifts; adding r helps if its price is < 0.

    Attributes
    ----------
    budget : MeanBudget
        Budget on the mean of g.
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

    def evaluate(self, r: Vector) -> tuple[Vector, Vector]:
        """Prices of points r, shape (K,), and their slopes up to a constant, shape (K, n)."""
        lifts = product(r, self.lifts.T)
        slopes, logs = self.budget.slope(lifts.T, self.p_s).T, log(r)
        price = entr(r).sum(axis=1) + self.rate * (lifts * slopes).sum(axis=1) - product(r, self.mu)
        return price, self.rate * product(slopes, self.lifts) - logs - self.mu

    @property
    def shared(self) -> float:
        """Weight λ' <= λ such that H + λ' g is concave: up to 1 for g = KL(P_S|y || P_S).

        H(X|y) - H(S|y) = H(X|S,y) - Σ_x r(x) H(S|x) is concave in r, and KL is -H(S|y) plus a linear function of r.
        """
        return min(self.rate, 1.0)

    def concave(self, faces: Codes, shares: Vector, lifts: Vector) -> Vector:
        """Concave part H + λ' g - μ·r at points on faces (..., k) with lifts (..., n_s); λ' is the weight `shared`."""
        risk = self.budget.lift_risk(lifts.reshape(-1, lifts.shape[-1]).T, self.p_s).reshape(lifts.shape[:-1])
        return entr(shares).sum(axis=-1) + self.shared * risk - (shares * self.mu[faces]).sum(axis=-1)

    def convex_part(self, lifts: Vector) -> Vector:
        """Price minus its concave part at points with lifts (K, n_s)."""
        return (self.rate - self.shared) * self.budget.lift_risk(lifts.T, self.p_s)

    def stretch(self, turning: Vector) -> Vector:
        """Amount that a change of lifts, (..., n_s), adds to an edge's squared length: λ times its mean square."""
        return self.rate * (product(turning**2, self.p_s))

    def may_hold(self, simplices: Simplices, target: float) -> Mask:
        """Mask of simplices that may contain the overall lowest price, below the target.

        The concave part is at least its chord, the convex part of g is at least its tangent at the center, and the sum
        of both is least at a corner. At a minimum inside a face, the price is not concave along any line of the face.
        """
        slopes = (self.rate - self.shared) * self.budget.slope(simplices.lifts.mean(axis=1).T, self.p_s).T
        open_ = (simplices.prices + (simplices.lifts * slopes[:, None, :]).sum(axis=2)).min(axis=1) < target
        simplices, (i, j) = simplices.take(open_), np.triu_indices(simplices.faces.shape[1], 1)
        along, turning = (part[:, i] - part[:, j] for part in (simplices.corners, simplices.lifts))
        falls = (along**2 / simplices.corners.max(axis=1)[:, None]).sum(axis=2)
        weights = self.rate * self.p_s / np.maximum(simplices.lifts.min(axis=1), _NO_LIFT)
        open_[open_] = (falls <= (1 + _CURVED) * (turning**2 * weights[:, None]).sum(axis=2)).all(axis=1)
        return open_

    def descend(self, r: Vector) -> Vector:
        """Descend from points r, shape (K, n), by multiplicative steps to points of lower price on the same letters."""
        (price, slope), step = self.evaluate(r), np.full((len(r), 1), _FIRST)
        for _ in range(_STEPS):
            ahead = stretch(r, step * ((slope * r).sum(axis=1, keepdims=True) - slope))
            new_price, turned = self.evaluate(ahead)
            better = (new_price < price)[:, None]
            r, slope, price = np.where(better, ahead, r), np.where(better, turned, slope), np.minimum(new_price, price)
            step = np.where(better, 1.5 * step, 0.4 * step)
        r = np.where(r < _NOTHING, 0.0, r)
        return np.asarray(r / r.sum(axis=1, keepdims=True))


def stretch(q: Vector, powers: Vector) -> Vector:
    """Multiply the shares of posteriors q, shape (K, n), by powers of ten with these exponents, and normalise."""
    q = q * exp10(np.clip(powers, -_LONGEST, _LONGEST))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def start_points(used: Vector, n_random: int, n_letters: int, share: float, rng: np.random.Generator) -> Vector:
    """Return starting points: used posteriors, slight perturbations, and random posteriors on few letters."""
    n = used.shape[1]
    support = np.argsort(rng.random((n_random, n)), axis=1) < n_letters
    random = support * rng.dirichlet(np.ones(n), n_random)
    off = (used + share * np.eye(n)[rng.integers(n, size=len(used))]) / (1 + share)
    return np.concatenate([used, off, random / random.sum(axis=1, keepdims=True)])


class FacePrice(Protocol):
    """Protocol for prices of posteriors, which `lowest` minimises."""

    @property
    def lifts(self) -> Vector:
        """Lifts of the letters, shape (n_s, n)."""

    @property
    def mu(self) -> Vector:
        """Prices of the letters, shape (n,)."""

    def concave(self, faces: Codes, shares: Vector, lifts: Vector) -> Vector:
        """Concave part of the price of points on faces."""

    def convex_part(self, lifts: Vector) -> Vector:
        """Convex part of the price, at least 0, and inf for points that are not allowed."""

    def stretch(self, turning: Vector) -> Vector:
        """Amount that a change of lifts adds to an edge's squared length; the longest edge of a simplex is cut."""

    def may_hold(self, simplices: Simplices, target: float) -> Mask:
        """Mask of simplices that may contain the overall lowest price, below the target."""


@dataclass(frozen=True, eq=False)
class Simplices:
    """Batch of K simplices in faces of k letters, with the terms of the price at their corners.

    Attributes
    ----------
    faces : ndarray of int, shape (K, k)
    corners : ndarray of shape (K, k, k)
        Shares of the letters of the face.
    prices : ndarray of shape (K, k)
        Concave part of the price at each corner.
    lifts : ndarray of shape (K, k, n_s)
    """

    faces: Codes
    corners: Vector
    prices: Vector
    lifts: Vector

    def take(self, places: slice | Mask) -> Simplices:
        """Subset of the simplices."""
        return Simplices(*(part[places] for part in vars(self).values()))

    def join(self, addend: Simplices) -> Simplices:
        """Union with other simplices."""
        pairs = zip(vars(self).values(), vars(addend).values(), strict=True)
        return Simplices(*(np.concatenate(pair) for pair in pairs))

    def halves(self, price: FacePrice) -> tuple[Simplices, Vector, Vector]:
        """Both halves of each simplex, cut at the midpoint of its longest edge, and that midpoint's price."""
        (i, j), k = np.triu_indices(self.faces.shape[1], 1), np.arange(len(self.faces))
        lengths = ((self.corners[:, i] - self.corners[:, j]) ** 2).sum(axis=2)
        lengths += price.stretch(self.lifts[:, i] - self.lifts[:, j])
        longest = lengths.argmax(axis=1)
        i, j = i[longest], j[longest]
        corner, lifts = ((part[k, i] + part[k, j]) / 2 for part in (self.corners, self.lifts))
        prices = price.concave(self.faces, corner, lifts)
        halves = self.join(self)
        k = np.arange(len(halves.faces))
        for part, middle in ((halves.corners, corner), (halves.prices, prices), (halves.lifts, lifts)):
            part[k, np.append(i, j)] = np.concatenate([middle, middle])
        return halves, corner, prices + price.convex_part(lifts)


def lowest(price: FacePrice, target: float, effort: Effort) -> tuple[float, Vector]:
    """Return a lower bound of the price (the target if proved, else a weak bound) and points below the target.

    H is concave where the lifts are fixed, so the price is least at a point with at most as many letters as the rank of
    the lifts. Faces of at most that many letters are searched, a batch at a time, until no simplex is open.
    """
    n = len(price.mu)
    nothing, weak = np.empty((0, n)), -float(price.mu.max())  # H and the convex part are at least 0
    vertex_prices = price.concave(np.arange(n)[:, None], np.ones((n, 1)), price.lifts.T)
    full_prices = vertex_prices + price.convex_part(price.lifts.T)
    if full_prices.min() < target:
        return weak, np.eye(n)[full_prices < target]
    for k in range(2, int(np.linalg.matrix_rank(price.lifts)) + 1):
        letters = itertools.combinations(range(n), k)
        while chunk := [*itertools.islice(letters, _FACES)]:
            faces = np.array(chunk)
            corners = np.tile(np.eye(k), (len(faces), 1, 1))
            every = Simplices(faces, corners, vertex_prices[faces], price.lifts.T[faces])
            open_ = every.take(price.may_hold(every, target))
            effort.spend(len(faces) * k * n)
            while len(open_.faces) and not effort.is_used():
                # Depth first, few simplices are open at any time, which bounds the memory.
                last = open_.take(slice(-_BATCH, None))
                halves, middles, prices = last.halves(price)
                below = prices < target
                if below.any():
                    points = np.zeros((len(middles), n))
                    np.put_along_axis(points, last.faces, middles, axis=1)
                    return weak, points[below]
                open_ = open_.take(slice(0, -_BATCH)).join(halves.take(price.may_hold(halves, target)))
                effort.spend(halves.lifts.size)
            if effort.is_used():
                return weak, nothing
    return target, nothing
