"""Quadrature of even functions for a Gaussian channel, and Newton's method for the best input distribution.

D(x) = KL(N(x, 1) || q) is at most C everywhere and equals C, with slope 0, where the best input has mass (Smith 1971).

Newton starts near what the best input looks like under a large amplitude. The amplitude only decides how many points
lie between the two ends: near an end, the best inputs of all large amplitudes are alike; near the middle, their points
are evenly spaced, and closer for longer intervals. This shape is a starting point and proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sanitize._util.checks import Vector
from sanitize._util.tolerances import SMALLEST_POSITIVE

# The trapezoid rule converges like exp(-2 pi d / step), d the distance of the complex zeros of q from the axis;
# optimal points never lie more than 3.4 apart.
_STEP = 0.05
# Standard deviations beyond the outermost point that the rule covers: the density there is below 1e-19.
TAIL = 9.5
# Up to about this amplitude the best input has its mass on the two ends alone, so no other start is needed.
_NEAR_ENDS = 1.66
# The best input for |X| <= 30, from an end inwards: distances between its points, and masses next to the end's. Near
# its ends, the best input for any other large amplitude has almost the same shape.
_SPACINGS = (
    *(2.7188, 2.1696, 1.9352, 1.7901, 1.6873, 1.6086, 1.5455, 1.4931, 1.4487, 1.4102),
    *(1.3765, 1.3466, 1.3201, 1.2967, 1.2761, 1.2586, 1.2444, 1.2339, 1.2274),
)
_MASSES = (
    *(1.0, 0.6719, 0.5808, 0.5301, 0.4959, 0.4704, 0.4505, 0.4341, 0.4204, 0.4086),
    *(0.3983, 0.3893, 0.3812, 0.3741, 0.3678, 0.3623, 0.3578, 0.3542, 0.3518, 0.3505),
)


@dataclass(frozen=True, eq=False)
class AmplitudeCapacity:
    """Capacity of a Gaussian channel of noise variance 1, in nats, with an input distribution that certifies it.

    Attributes
    ----------
    value : float
        I(X;Y) for the input distribution below, and so a lower bound of the capacity.
    upper : float
        max_x KL(N(x, 1) || q) over all legal inputs: an upper bound of the capacity.
    points, weights : ndarray of shape (k,)
        The input distribution, ascending.

    Examples
    --------
    >>> from sanitize.core.capacity import amplitude_capacity
    >>> found = amplitude_capacity(1.0)
    >>> found.value <= found.upper, found.points.tolist(), found.weights.tolist()
    (True, [-1.0, 1.0], [0.5, 0.5])
    """

    value: float
    upper: float
    points: Vector
    weights: Vector

    @property
    def gap(self) -> float:
        """Width of the bracket value <= C <= upper."""
        return self.upper - self.value


@dataclass(frozen=True, eq=False)
class HalfLine:
    """Quadrature of even functions, with nodes y >= 0 and inputs u >= 0; each input u represents the pair ±u.

    The output density is q(y) = phi(y) S(y), S(y) = sum_k w_k e^{-u_k^2/2} cosh(u_k y), so that
    D(u) = u^2/2 - E log S(u + Z): nothing cancels, however small the amplitude.
    """

    amplitude: float
    nodes: Vector
    masses: Vector

    @classmethod
    def from_amplitude(cls, amplitude: float) -> HalfLine:
        nodes = (np.arange(math.ceil((amplitude + TAIL) / _STEP) + 1) * _STEP).astype(np.float64)
        masses: Vector = np.full(len(nodes), 2 * _STEP)
        masses[0] = _STEP
        return cls(amplitude, nodes, masses)

    def densities(self, u: Vector, order: int = 0) -> list[Vector]:
        """Mean of the output densities of u and -u at the nodes, shape (k, m), and its derivatives up to ``order``."""
        right, left = self.nodes - u[:, None], self.nodes + u[:, None]
        f, g = density_at(right) / 2, density_at(left) / 2  # exponentials take most of the time
        derivatives = [f + g]
        if order > 0:
            derivatives.append(right * f - left * g)
        if order > 1:
            derivatives.append((right**2 - 1) * f + (left**2 - 1) * g)
        return derivatives

    def log_s(self, u: Vector, w: Vector) -> Vector:
        """Log-ratio of the output density to the standard normal density at the nodes, with high relative accuracy."""
        uy = u[:, None] * self.nodes
        log_cosh = np.where(
            uy < 1, np.log1p(2 * np.sinh(np.minimum(uy, 1) / 2) ** 2), uy + np.log1p(np.exp(-2 * uy)) - math.log(2)
        )
        t = log_cosh - u[:, None] ** 2 / 2
        top = t.max(axis=0)
        small = w @ np.expm1(np.minimum(t, 1.0))
        near_one = (top < 1) & (small > -0.5)
        return np.where(near_one, np.log1p(np.where(near_one, small, 0.0)), top + np.log(w @ np.exp(t - top)))

    def divergence(self, x: Vector, log_s: Vector) -> Vector:
        """Divergence D(x) of each input from the output distribution."""
        return self.divergences(x, log_s, self.densities(x))[0]

    def divergences(self, x: Vector, log_s: Vector, densities: list[Vector]) -> list[Vector]:
        """Divergence D(x) and its derivatives, up to the order of the given densities."""
        own_terms = x**2 / 2, x, np.ones_like(x)
        weighted = self.masses * log_s
        return [part - density @ weighted for part, density in zip(own_terms, densities, strict=False)]

    def peaks(self, log_s: Vector) -> tuple[Vector, Vector]:
        """Local maxima of D on [0, A] and their heights."""
        x = np.linspace(0, self.amplitude, max(3, math.ceil(self.amplitude / _STEP) + 1))
        d = np.concatenate([[-np.inf], self.divergence(x, log_s), [-np.inf]])
        indices = np.flatnonzero((d[1:-1] >= d[:-2]) & (d[1:-1] > d[2:]))
        places = x[indices]
        left, right = x[np.maximum(indices - 1, 0)], x[np.minimum(indices + 1, len(x) - 1)]
        for _ in range(4):  # the maximum lies within a step of its node, where Newton converges at once
            _, first, second = self.divergences(places, log_s, self.densities(places, 2))
            inner = (second < 0) & (places < self.amplitude)
            moved = places - np.divide(first, second, out=np.zeros_like(first), where=inner)
            places = np.clip(moved, left, right)
        heights = np.maximum(self.divergence(places, log_s), d[1:-1][indices])
        return places, heights

    def certify(self, u: Vector, w: Vector) -> AmplitudeCapacity:
        """Return the bracket of the capacity that an input distribution on ±u proves: the mean and the maximum of D."""
        log_s = self.log_s(u, w)
        value = float(w @ self.divergence(u, log_s))
        upper = max(value, float(self.peaks(log_s)[1].max()))
        order = np.argsort(u)
        u, w = u[order], w[order]
        away = u > 0
        points = np.concatenate([-u[away][::-1], u])
        weights = np.concatenate([w[away][::-1] / 2, np.where(away, w / 2, w)])
        return AmplitudeCapacity(value, upper, points, weights)


def refine_input(line: HalfLine, u: Vector, w: Vector, blunt: float | None) -> AmplitudeCapacity:
    """Solve D(u_k) = C at all points and D'(u_k) = 0 at inner points by Newton's method; return the capacity's bracket.

    Directions in which the conditions change by less than the share ``blunt`` of the steepest change are ignored.
    """
    n = len(u)
    free = np.flatnonzero((u > 0) & (u < line.amplitude))
    f = len(free)
    for _ in range(30):
        kernels = line.densities(u, 2)
        d0, d1, d2 = line.divergences(u, line.log_s(u, w), kernels)
        k0, k1, d1, d2 = kernels[0], kernels[1][free], d1[free], d2[free]
        weighted = line.masses / (w @ k0)
        jacobian = np.zeros((n + f + 1, n + f + 1))
        jacobian[:n, :n] = -(k0 * weighted) @ k0.T
        jacobian[:n, n:-1] = -(k0 * weighted) @ k1.T * w[free]
        jacobian[n:-1, :n] = -(k1 * weighted) @ k0.T
        jacobian[n:-1, n:-1] = -(k1 * weighted) @ k1.T * w[free] + np.diag(d2)
        jacobian[free, n + np.arange(f)] += d1
        jacobian[:n, -1] = -1
        jacobian[-1, :n] = 1
        level = float(w @ d0)
        residual = np.concatenate([d0 - level, d1, [w.sum() - 1]])
        scale = np.concatenate([w, np.ones(f + 1)])
        step = scale * np.linalg.lstsq(jacobian * scale, -residual, rcond=blunt)[0]
        shrink = 1.0
        falling = step[:n] < 0
        if falling.any():
            shrink = min(1.0, 0.9 * float((w[falling] / -step[:n][falling]).min()))
        # Points lie more than 1 apart; a longer step than 0.1 leaves the region in which Newton's method converges.
        shrink = min(shrink, 0.1 / max(float(np.abs(step[n:-1]).max(initial=0.0)), SMALLEST_POSITIVE))
        w = w + shrink * step[:n]
        w = w / w.sum()
        u = u.copy()
        u[free] = np.clip(u[free] + shrink * step[n:-1], 0.0, line.amplitude)
        if np.abs(step[:-1]).max() < 1e-13:
            break
    return line.certify(u, w)


def fold_input(bracket: AmplitudeCapacity) -> tuple[Vector, Vector]:
    """Return the points u >= 0 of a symmetric distribution, each representing ±u, and their masses."""
    u = bracket.points[bracket.points >= 0]
    return u, bracket.weights[-len(u) :] * np.where(u > 0, 2, 1)


def density_at(z: Vector) -> Vector:
    """Return the standard normal density at z."""
    return np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def starts_from_shape(amplitude: float) -> Iterator[tuple[Vector, Vector]]:
    """Yield starting points u >= 0, each representing ±u, and masses close to the best input's; best guess first."""
    closer = 0.993  # towards the middle, each spacing is about this share of the one before
    spacings, masses = list(_SPACINGS), list(_MASSES)
    while sum(spacings) < amplitude + 2:
        spacings.append(spacings[-1] * closer)
        masses.append(masses[-1] * closer)
    depths = np.cumsum([0.0, *spacings])
    # The innermost point is at 0 or half a spacing from it; numbers of points that need the least shifting come first.
    ends = np.concatenate([depths[1:], depths[1:] + np.diff(depths) / 2])
    for nearest in np.abs(ends - amplitude).argsort()[: 2 if amplitude > _NEAR_ENDS else 0]:
        last = int(nearest) % len(spacings) + 1
        inner_depths, end = depths[: last + 1], float(ends[nearest])
        # The known shape must end in the middle of the interval. It is stretched most there, where it is least exact.
        moved = inner_depths + (amplitude - end) * (inner_depths / inner_depths[-1]) ** 2
        mass = np.array(masses[: last + 1]) * np.gradient(moved) / np.gradient(inner_depths)
        u = (amplitude - moved)[::-1].copy()
        if end == inner_depths[-1]:
            u[0], mass[-1] = 0.0, mass[-1] / 2
        yield u, mass[::-1] / mass.sum()
