"""Set of posteriors within a budget on an average of the lifts, with outer cuts and a sufficient condition."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import exp_each, power, product, reduce_axis
from sanitize._util.checks import Mask, Vector, exp
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.budgets import AlphaLiftBudget, Chi2LiftBudget, budget_in_nats
from sanitize.core.lifts import lift

if TYPE_CHECKING:
    from sanitize.core.budgets import AveragedBudget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

# Cuts of an l1-budget are 2^|S|, so they are listed for few secrets. Columns lie inside the set, and bounds outside it,
# by the margin, so that rounding breaks neither.
_MOST_SECRETS, _MARGIN = 6, 1e-12
# A lift that counts as 0; its squared inverse is still a double.
_NO_LIFT = 1e-75
# Up to this order, powers do not overflow, and the largest entry need not be taken out.
_SQUARE = 2
# Halvings of a segment, after which its point is on the border up to the last digits of a double.
_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class PosteriorSet:
    """Posteriors q whose lifts l have ||l - c|| <= high and ||1/l - c|| <= low, in the norm of order a under P_S.

    The l1-lift has a = c = 1, the root of the chi2-lift a = 2 and c = 1, and the alpha-lift a = alpha and c = 0. Lifts
    are linear in q, so the first condition is convex. The second condition is convex for c = 0, since 1/l is convex and
    the norm grows with it; for c = 1, secrets with l > 1 enter by a concave function of their lift. Limits on each
    lift, least <= l <= most, are linear.

    Attributes
    ----------
    joint : JointDistribution
    budget : L1LiftBudget, Chi2LiftBudget or AlphaLiftBudget
    lifts : ndarray of shape (n_s, n)
    order, center, high, low : float
    most, least : ndarray of shape (n_s,)
    """

    joint: JointDistribution
    budget: AveragedBudget
    lifts: Vector
    order: float
    center: float
    high: float
    low: float
    most: Vector
    least: Vector

    @classmethod
    def from_budget(cls, joint: JointDistribution, budget: AveragedBudget) -> PosteriorSet:
        """Build the set from a budget, whose limits on each lift must be in the order of the sensitive symbols."""
        free = budget.limits or budget_in_nats(math.inf, math.inf)
        most, least = (exp_each(side * np.ones(len(joint.p_s))) for side in (free.upper, np.negative(free.lower)))
        center = 0.0 if isinstance(budget, AlphaLiftBudget) else 1.0
        order = budget.alpha if isinstance(budget, AlphaLiftBudget) else 1.0 + isinstance(budget, Chi2LiftBudget)
        high, low = exp(budget.upper) - center, exp(budget.lower) - center
        return cls(joint, budget, lift(joint), order, center, high, low, most, least)

    @property
    def is_polytope(self) -> bool:
        """True if the set is exactly the polytope of `gain_cuts`, and there are few enough cuts to list."""
        return self.order == 1 and math.isinf(self.low) and len(self.lifts) <= _MOST_SECRETS

    def contains(self, lifts: Vector) -> Mask:
        """Mask of posteriors with lifts (K, n_s) within the budget, or slightly inside the budget if a side binds."""
        excess = self.budget.lift_excess(lifts.T, self.joint.p_s)
        return (excess <= 0) & ~(np.maximum(*self.sizes(lifts)) > 1 - _MARGIN)

    def sizes(self, lifts: Vector) -> tuple[Vector, Vector]:
        """Share of each side's limit that lifts (..., n_s) use; limits on single lifts count with the first side."""
        above, below = np.zeros(lifts.shape[:-1]), np.zeros(lifts.shape[:-1])
        if np.isfinite(self.most).any():
            above = reduce_axis(np.maximum, lifts / self.most, -1)
        if self.least.any():
            above = np.maximum(above, reduce_axis(np.maximum, self.least / np.maximum(lifts, _NO_LIFT), -1))
        if self.high < math.inf:
            above = np.maximum(above, self.norm(lifts - self.center) / max(self.high, SMALLEST_POSITIVE))
        if self.low < math.inf:
            below = self.norm(1 / np.maximum(lifts, _NO_LIFT) - self.center) / max(self.low, SMALLEST_POSITIVE)
        return above, below

    def shrunk(self, share: float) -> PosteriorSet:
        """Return the set with limits tightened by a share."""
        fewer, more = 1 - share, 1 + share
        return replace(
            self, high=self.high * fewer, low=self.low * fewer, most=self.most * fewer, least=self.least * more
        )

    def norm(self, z: Vector) -> Vector:
        """Norm of z, shape (..., n_s), without overflow."""
        size, top = np.abs(z), np.ones(1)
        if self.order > _SQUARE:
            top = np.maximum(reduce_axis(np.maximum, size, -1)[..., None], SMALLEST_POSITIVE)
        value = top * power(product(power(size / top, self.order), self.joint.p_s)[..., None], 1 / self.order)
        return np.asarray(value[..., 0])

    def slope(self, z: Vector) -> Vector:
        """Slope of the norm at z, shape (..., n_s)."""
        if self.order == 1:
            return np.asarray(self.joint.p_s * np.sign(z))
        share = np.abs(z) / np.maximum(self.norm(z)[..., None], SMALLEST_POSITIVE)
        return np.asarray(self.joint.p_s * np.sign(z) * power(share, self.order - 1))

    def tangents(self, at: Vector, least: Vector, most: Vector) -> list[tuple[Vector, Vector]]:
        """Return, per side, a and b with a·l <= b for all lifts of the set from ``least`` to ``most``, (..., n_s).

        The planes touch a convex side at the lifts ``at``. A norm is at least its tangent g·z, and g/l is at least its
        tangent if g is positive, or its chord if g is negative.
        """
        planes = []
        if self.high < math.inf:
            g = self.slope(at - self.center)
            planes.append((g, self.high * (1 + _MARGIN) + self.center * g.sum(axis=-1)))
        if self.low < math.inf:
            at, least, most = (np.maximum(lifts, _NO_LIFT) for lifts in (at, least, most))
            g = self.slope(1 / at - self.center)
            first, second = np.where(g > 0, at, least), np.where(g > 0, at, most)
            room = self.center * g - g * (first + second) / (first * second)
            planes.append((-g / (first * second), self.low * (1 + _MARGIN) + room.sum(axis=-1)))
        rows, ends = self._limit_rows
        pairs = zip(rows, ends, strict=True)
        return planes + [(np.broadcast_to(row, at.shape), np.full(at.shape[:-1], end)) for row, end in pairs]

    @cached_property
    def _limit_rows(self) -> tuple[Vector, Vector]:
        """Rows a and bounds b with a·l <= b for the limits on each lift."""
        above, below = np.isfinite(self.most), self.least > 0
        every = np.eye(len(self.most))
        ends = np.append(self.most[above] * (1 + _MARGIN), -self.least[below] * (1 - _MARGIN))
        return np.concatenate([every[above], -every[below]]), ends

    def surely_holds(self, lifts: Vector) -> Mask:
        """Return whether all mixtures of points with lifts (K, k, n_s) are in the set; exact for convex sides."""
        above, below = self.sizes(lifts)
        if self.center == 0:
            return reduce_axis(np.maximum, np.maximum(above, below)) < 1 - _MARGIN
        holds = reduce_axis(np.maximum, above) < 1 - _MARGIN
        if math.isinf(self.low):
            return holds
        ends = (np.maximum(reduce_axis(extreme, lifts), _NO_LIFT) for extreme in (np.minimum, np.maximum))
        largest = np.maximum(*(np.abs(1 / end - self.center) for end in ends))
        return holds & (self.norm(largest) < self.low * (1 - _MARGIN))

    def border(self, q: Vector) -> Vector:
        """Points at which the segments from P_X to points q, shape (K, n), leave the set, or q if q is inside."""
        p_x, inside, outside = self.joint.p_x, np.zeros((len(q), 1)), np.ones((len(q), 1))
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            within = self.contains(product(p_x + middle * (q - p_x), self.lifts.T))[:, None]
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        return np.asarray(p_x + outside * (q - p_x))

    def tangent_cuts(self, q: Vector) -> Vector:
        """Rows a with a·v >= 0 for all posteriors v of the set, tangent to it at points q, shape (k, n)."""
        at = product(q, self.lifts.T)
        ends = (np.broadcast_to(end, at.shape) for end in (self.lifts.min(axis=1), self.lifts.max(axis=1)))
        return np.concatenate([most[:, None] - product(slope, self.lifts) for slope, most in self.tangents(at, *ends)])

    def gain_cuts(self) -> Vector:
        """Rows a with a·q >= 0 exactly for the posteriors of a polytope, shape (k, n).

        The l1-lift is twice the largest sum Σ P(s) (l(s) - 1) over a subset of the secrets.
        """
        chosen = np.array([*itertools.product((0.0, 1.0), repeat=len(self.lifts))])[1:-1]
        rows, ends = self._limit_rows
        gains = self.high / 2 - product(chosen * self.joint.p_s, self.lifts - 1)
        return np.concatenate([gains, ends[:, None] - product(rows, self.lifts)])


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts that replace a set of posteriors in a search, and the set itself, which the channel must not leave.

    Attributes
    ----------
    rows : ndarray of shape (k, n)
        Rows a with a·q >= 0 for all posteriors of the set.
    within : PosteriorSet, optional
    """

    rows: Vector
    within: PosteriorSet | None = None

    def cuts(self, _budget: object, p_x: Vector, *, is_inner: bool) -> Vector:
        """Return the rows; if ``is_inner``, they are moved inwards by a margin for rounding."""
        return self.rows - (_MARGIN * product(self.rows, p_x)[:, None] if is_inner else 0.0)

    def excess(self, _budget: object, channel: Channel) -> Vector:
        """Excess of each released symbol's leakage over the budget, shape (n_y,)."""
        if self.within is None:
            return np.zeros(channel.push(np.ones((1, self.rows.shape[1]))).shape[1])
        return self.within.budget.excess(self.within.joint.push(channel))
