"""Minimisation of a convex information measure at a given distortion by Newton's method, with a certificate.

The information F is a sum over outputs of functions of a column that are convex and homogeneous of degree 1. So
its gradient G at any channel bounds it from below at every other, F(p') >= <G, p'>, and with any λ >= 0 no channel of
cost at most D has less than Σ_x min_y (G + λ cost) - λD. The inverse of a column's Hessian, a diagonal less one
product, is known; a step costs one linear system in the inputs.

An information, for a distribution p > 0, has a ``value`` F, the level in ``nats`` that F stands for, a ``nat`` (the
smallest change of F that is worth one nat), a ``gradient`` G of shape (n_x, n_y), and a ``curvature`` (h, v): column y
of the Hessian is diag(h) - h p v' / (v'p).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import xlogy

from sanitize._util.checks import Vector
from sanitize._util.tolerances import SMALLEST_POSITIVE

# Centring takes few steps unless only rounding is left; then further ones are useless.
_NEWTON_STEPS, _STEPS_IN_ALL = 25, 1000
# Ten times the weight per step of the path keeps Newton's method near the path; centres need few digits, because the
# bound of each is proved.
_FASTER, _CENTRED = 10.0, 1e-8
# Weights between which the path leads from the middle of all channels to the optimum; at the last, what the barrier
# adds is rounding.
_FIRST_WEIGHT, _LAST_WEIGHT = 100.0, 1e15


class MutualInformation:
    """Mutual information I(X;Y) in nats, as a convex function to minimise."""

    def __init__(self, p: Vector) -> None:
        self.p, self.nat = p, 1.0

    def nats(self, value: float) -> float:
        return max(0.0, value)

    def value(self, channel: Vector) -> float:
        marginal = self.p @ channel
        return float(self.p @ (xlogy(channel, channel) - xlogy(channel, marginal)).sum(axis=1))

    def gradient(self, channel: Vector) -> Vector:
        return self.p[:, None] * (np.log(channel) - np.log(self.p @ channel))

    def curvature(self, channel: Vector, gradient: Vector) -> tuple[Vector, Vector]:
        return self.p[:, None] / channel, np.broadcast_to(self.p[:, None], gradient.shape)


class SibsonNorm:
    """Norm Σ_y (Σ_x P(x) p(y|x)**α)**(1/α) to minimise; its log times α/(α-1) is the Sibson information."""

    def __init__(self, p: Vector, alpha: float) -> None:
        self.p, self.alpha, self.nat = p, alpha, (alpha - 1) / alpha

    def nats(self, value: float) -> float:
        return math.log(max(value, 1.0)) / self.nat

    def _norms(self, channel: Vector) -> Vector:
        top = channel.max(axis=0)
        return top * (self.p @ (channel / top) ** self.alpha) ** (1 / self.alpha)

    def value(self, channel: Vector) -> float:
        return float(self._norms(channel).sum())

    def gradient(self, channel: Vector) -> Vector:
        ratio = np.log(channel) - np.log(self._norms(channel))
        return self.p[:, None] * np.exp((self.alpha - 1) * ratio)

    def curvature(self, channel: Vector, gradient: Vector) -> tuple[Vector, Vector]:
        return (self.alpha - 1) * gradient / channel, gradient


Information = MutualInformation | SibsonNorm


@dataclass(frozen=True, eq=False)
class Certified:
    """Channel with the value of its information F, and a lower bound of F over all channels within the limit."""

    channel: Vector
    value: float
    lower: float


def least_information(information: Information, d: Vector, limit: float, gap: float) -> Certified:
    """Return the channel with the least F and Σ P d p <= limit, to within ``gap`` if possible; each row of d has a 0.

    If the limit allows no noise, only cells of distortion 0 are used. The certified gap may be wider than requested.
    """
    # A distortion this small, in units of the largest, has no effect in doubles, so it is removed from the result.
    least = 1e-15
    path = _Path(information, information.p[:, None] * d, max(limit, least))
    weight, best, steps = _FIRST_WEIGHT, path.certificate(_FIRST_WEIGHT), 0
    while best.value - best.lower > gap and weight < _LAST_WEIGHT and steps < _STEPS_IN_ALL:
        steps += path.centre(weight)
        candidate = path.certificate(weight)
        best = replace(candidate if candidate.value <= best.value else best, lower=max(best.lower, candidate.lower))
        weight *= _FASTER
    if limit > least:
        return best
    channel = np.where(d == 0, best.channel, 0.0)
    channel /= channel.sum(axis=1, keepdims=True)
    return Certified(channel, information.value(channel[:, channel.any(axis=0)]), best.lower)


class _Path:
    """Path of the minimisers of weight * F - Σ log p - log(limit - cost) over channels, for growing weights."""

    def __init__(self, information: Information, costs: Vector, limit: float) -> None:
        self.information, self.costs, self.limit = information, costs, limit
        free = (costs == 0).astype(np.float64)
        free /= free.sum(axis=1, keepdims=True)
        spent = float(costs.mean(axis=1).sum())
        share = 0.5 if spent <= limit else 0.5 * limit / spent
        self.channel: Vector = share / costs.shape[1] + (1 - share) * free

    def slack(self, channel: Vector) -> float:
        return self.limit - float((self.costs * channel).sum())

    def certificate(self, weight: float) -> Certified:
        """Return the current channel with the lower bound of F that its gradient proves."""
        from scipy.optimize import minimize_scalar

        channel = self.channel / self.channel.sum(axis=1, keepdims=True)
        gradient = self.information.gradient(channel)

        def bound(slope: float) -> float:
            return float((gradient + slope * self.costs).min(axis=1).sum()) - slope * self.limit

        # The bound is concave in λ, and near the end the slack of the limit is known to few digits only.
        about = 1 / (weight * self.slack(self.channel))
        best = minimize_scalar(lambda r: -bound(about * math.exp(r)), bounds=(-1.0, 1.0), options={"xatol": 1e-14})
        lower = max(-float(best.fun), bound(about))
        return Certified(channel, self.information.value(channel), lower)

    def centre(self, weight: float) -> int:
        """Move to the minimum for one weight by Newton steps; return their number."""
        for step in range(1, _NEWTON_STEPS + 1):
            p, slack = self.channel, self.slack(self.channel)
            pull = self.information.gradient(p)
            gradient = weight * pull - 1 / p + self.costs / slack
            # A constant in a row of the gradient has no effect, but would hide the other terms.
            gradient -= (p * gradient).sum(axis=1, keepdims=True)
            change, decrement = self._step(weight, p, pull, gradient, slack)
            shrinking = change < 0
            length = min(1.0, 0.99 * float((-p[shrinking] / change[shrinking]).min(initial=np.inf)))
            pace = float((self.costs * change).sum())
            if pace > 0:
                length = min(length, 0.99 * slack / pace)
            before = self._merit(weight, p)
            while self._merit(weight, p + length * change) > before + 1e-9 * abs(before) and length > 1e-9:
                length /= 2
            moved = p + length * change
            moved /= moved.sum(axis=1, keepdims=True)
            if self.slack(moved) <= 0:  # only rounding is left
                return step
            self.channel = moved
            if decrement < _CENTRED:
                return step
        return _NEWTON_STEPS

    def _merit(self, weight: float, p: Vector) -> float:
        slack = self.slack(p)
        barrier = float(np.log(p).sum()) + math.log(slack) if slack > 0 else -math.inf
        return weight * self.information.value(p) - barrier

    def _step(self, weight: float, p: Vector, pull: Vector, gradient: Vector, slack: float) -> tuple[Vector, float]:
        """Return Newton's direction, which keeps row sums at 1, and its decrement."""
        from scipy.linalg import lstsq

        h, v = self.information.curvature(p, pull)
        inverse = p**2 / (1 + weight * h * p**2)
        along = np.maximum((v * p).sum(axis=0), SMALLEST_POSITIVE)
        # This is 1 - weight v'(diag)v, computed without cancellation by using that the Hessian maps p to 0.
        left = (v / p * inverse).sum(axis=0) / along
        # The product subtracted from the diagonal of a column is strength * v v'. v' change is kept as an unknown,
        # because eliminating it first would give a system with entries a factor of 1 / weight apart.
        ratio = np.divide(weight * h * p, v, out=np.zeros_like(v), where=v > 0)
        strength = np.maximum(ratio.max(axis=0), SMALLEST_POSITIVE) / along
        n, (n_x, n_y) = len(p) + 1, p.shape
        system, right = np.zeros((n + n_y, n + n_y)), np.zeros(n + n_y)
        system[np.arange(n_x), np.arange(n_x)] = inverse.sum(axis=1)
        system[:n_x, n - 1] = system[n - 1, :n_x] = (inverse * self.costs).sum(axis=1)
        system[n - 1, n - 1] = float((self.costs**2 * inverse).sum()) + slack**2
        system[:n_x, n:] = -inverse * v
        system[n - 1, n:] = -(self.costs * inverse * v).sum(axis=0)
        system[n:, :n] = system[:n, n:].T
        system[np.arange(n, n + n_y), np.arange(n, n + n_y)] = -left / strength
        right[:n_x] = -(inverse * gradient).sum(axis=1)
        right[n - 1] = -(self.costs * inverse * gradient).sum()
        right[n:] = (v * inverse * gradient).sum(axis=0)
        size = np.append(system.diagonal()[:n], (v**2 * inverse).sum(axis=0))
        scale = 1 / np.sqrt(np.maximum(size, SMALLEST_POSITIVE))
        scaled, aim = system * scale[:, None] * scale, right * scale
        # Pivots determine the rank as well as singular values do, in a quarter of the time.
        multipliers = lstsq(scaled, aim, cond=1e-16, lapack_driver="gelsy", check_finite=False)[0] * scale
        change = -inverse * (gradient + multipliers[:n_x, None] + multipliers[n - 1] * self.costs - v * multipliers[n:])
        change -= p * change.sum(axis=1, keepdims=True)
        return change, max(0.0, -float((gradient * change).sum()))
