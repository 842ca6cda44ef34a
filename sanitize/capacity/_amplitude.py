"""Capacity of Y = X + N(0, 1) when only the amplitude of X is bounded, with the certificate that proves it.

The best input is discrete with few points (Smith 1971). A convex program on a grid of inputs finds where they
lie; Newton on the optimality conditions D(x) = C, D'(x) = 0 moves them to their exact places, where
D(x) = KL(N(x, 1) || q). Whatever these steps do, any input law p proves I(p) <= C <= max_x D(x).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number
from sanitize.capacity._blahut_arimoto import DenseKernel, solve
from sanitize.capacity._capacity import check_tol
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

# The trapezoid rule converges like exp(-2 pi d / step), d the distance of the complex zeros of q from the axis.
_STEP = 0.02  # known points may lie 40 apart
_FINE_STEP = 0.05  # optimal points never lie more than 3.4 apart
_TAIL = 9.5
LARGEST_AMPLITUDE = 40.0
# To find where the points lie, coarser figures do.
_GRID = 0.1
_COARSE_STEP = 0.1
_COARSE_TOL = 1e-10
_TOUCHES = 1e-4
_CARRIES = 1e-9
_ROUNDS = 8
_MOST_KNOWN = 4096
_MOST_CELLS = 1 << 24


@dataclass(frozen=True, eq=False)
class AmplitudeCapacity:
    """Capacity of a Gaussian channel of noise variance 1, in nats, with an input law that certifies it.

    Attributes
    ----------
    value : float
        I(X;Y) for the law below: attained, so a lower bound of the capacity.
    upper : float
        max_x KL(N(x, 1) || q) over all legal inputs: an upper bound of the capacity.
    points, weights : ndarray of shape (k,)
        The input law, ascending.
    """

    value: float
    upper: float
    points: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def gap(self) -> float:
        """Width of the bracket value <= C <= upper."""
        return self.upper - self.value


def amplitude_capacity(amplitude: float, tol: float = 1e-9) -> AmplitudeCapacity:
    """Capacity max I(X; X + Z) over |X| <= A, Z standard normal, in nats [Smith].

    For noise of variance N and a query of half-range T put A = T / sqrt(N). [WXH Cor. 6] prints
    log(1 + A^2)/2 as an equality; **corrected**: that is an upper bound only, reached by an input bounded in
    power, and the true capacity is 97 % of it at A = 1 and 76 % at A = 10.

    Parameters
    ----------
    amplitude : float
        A, between 0 and 40.
    tol : float
        Width of the bracket asked for, in nats, > 0. The bracket returned always holds; it may be wider
        than ``tol`` where doubles allow no better (1e-12), and now and then, by about 1e-6, for amplitudes
        above 20.

    Returns
    -------
    AmplitudeCapacity
        Value, upper bound, and the few points that carry the optimal input.

    Raises
    ------
    InvalidParameter
        If the amplitude is negative, too large or not a number, or tol is not positive.

    Examples
    --------
    >>> found = amplitude_capacity(2.0)
    >>> round(found.value, 8), found.gap < 1e-9, found.points.round(4).tolist()
    (0.65286881, True, [-2.0, 0.0, 2.0])
    """
    a, tol = number("amplitude", amplitude, 0, LARGEST_AMPLITUDE), check_tol(tol)
    if a == 0:
        return AmplitudeCapacity(0.0, 0.0, np.zeros(1), np.ones(1))
    line = _HalfLine.of(a)
    best = line.certify(np.array([a]), np.ones(1))
    if best.gap > tol:
        for places, masses in _located(line):
            best = min(best, _refined(line, places, masses), key=lambda one: one.gap)
            if places[0] < 2 * _GRID and best.gap > tol:
                # Around the amplitudes where a point is born at 0, one point at 0 and a close pair look alike.
                single = _refined(line, np.append(0.0, places[1:]), masses)
                best = min(best, single, key=lambda one: one.gap)
            if best.gap <= tol:
                break
    return best


def known_values_capacity(points: ArrayLike, tol: float = 1e-9) -> AmplitudeCapacity:
    """Capacity max I(X; X + Z) over laws on k known points, Z standard normal, in nats; at most log k.

    Parameters
    ----------
    points : array-like of shape (k,)
        What X may be, in units of the noise's standard deviation; finite, distinct values.
    tol : float
        Width of the bracket asked for, in nats, > 0.

    Returns
    -------
    AmplitudeCapacity

    Raises
    ------
    InvalidParameter
        If the points are not finite numbers, are too many (4096), or lie so far apart that the output would
        need more than 2^24 cells.

    Examples
    --------
    >>> round(known_values_capacity([-2.0, 2.0]).value, 6)
    0.63272
    """
    try:
        x = np.unique(np.asarray(points, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("points must be numbers") from None
    if not 0 < len(x) <= _MOST_KNOWN or not np.isfinite(x).all():
        raise InvalidParameter(f"points must be 1 to {_MOST_KNOWN} finite numbers")
    tol = check_tol(tol)
    centred = x - (x[0] + x[-1]) / 2
    # Far from every point the density is below 1e-19 and tells nothing: no nodes there.
    window = np.arange(-math.ceil(_TAIL / _STEP), math.ceil(_TAIL / _STEP) + 1)
    nodes = np.unique(np.rint(centred / _STEP)[:, None] + window) * _STEP
    if len(nodes) * len(x) > _MOST_CELLS:
        raise InvalidParameter(f"{len(x)} points this far apart need too many output cells; take fewer points")
    rows = _density(nodes - centred[:, None]) * _STEP
    bracket = solve(DenseKernel(rows / rows.sum(axis=1, keepdims=True)), tol)
    return AmplitudeCapacity(bracket.lower, bracket.upper, x, bracket.law)


@dataclass(frozen=True, eq=False)
class _HalfLine:
    """Quadrature of even functions: nodes y >= 0 and inputs u >= 0, each standing for the pair +-u.

    The output density is q(y) = phi(y) S(y), S(y) = sum_k w_k e^{-u_k^2/2} cosh(u_k y), so that
    D(u) = u^2/2 - E log S(u + Z): nothing cancels, however small the amplitude.
    """

    amplitude: float
    nodes: NDArray[np.float64]
    masses: NDArray[np.float64]

    @classmethod
    def of(cls, amplitude: float) -> _HalfLine:
        nodes = (np.arange(math.ceil((amplitude + _TAIL) / _FINE_STEP) + 1) * _FINE_STEP).astype(np.float64)
        masses: NDArray[np.float64] = np.full(len(nodes), 2 * _FINE_STEP)
        masses[0] = _FINE_STEP
        return cls(amplitude, nodes, masses)

    def density(self, u: NDArray[np.float64], order: int = 0) -> NDArray[np.float64]:
        """Mean of the densities at u and -u, shape (k, m), or its derivative of some order in u."""
        right, left = self.nodes - u[:, None], self.nodes + u[:, None]
        f, g = _density(right), _density(left)
        if order == 1:
            f, g = right * f, -left * g
        elif order == 2:
            f, g = (right**2 - 1) * f, (left**2 - 1) * g
        return (f + g) / 2

    def log_s(self, u: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of S at the nodes; its own size is its accuracy."""
        uy = u[:, None] * self.nodes
        log_cosh = np.where(
            uy < 1, np.log1p(2 * np.sinh(np.minimum(uy, 1) / 2) ** 2), uy + np.log1p(np.exp(-2 * uy)) - math.log(2)
        )
        t = log_cosh - u[:, None] ** 2 / 2
        top = t.max(axis=0)
        small = w @ np.expm1(np.minimum(t, 1.0))
        near_one = (top < 1) & (small > -0.5)
        return np.where(near_one, np.log1p(np.where(near_one, small, 0.0)), top + np.log(w @ np.exp(t - top)))

    def divergence(self, x: NDArray[np.float64], log_s: NDArray[np.float64], order: int = 0) -> NDArray[np.float64]:
        """D(x), or a derivative of it."""
        own = (x**2 / 2, x, np.ones_like(x))[order]
        return own - self.density(x, order) @ (self.masses * log_s)

    def peaks(self, log_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Local maxima of D on [0, A] and their heights."""
        x = np.linspace(0, self.amplitude, max(3, math.ceil(self.amplitude / _FINE_STEP) + 1))
        d = np.concatenate([[-np.inf], self.divergence(x, log_s), [-np.inf]])
        found = np.flatnonzero((d[1:-1] >= d[:-2]) & (d[1:-1] > d[2:]))
        places = x[found]
        left, right = x[np.maximum(found - 1, 0)], x[np.minimum(found + 1, len(x) - 1)]
        for _ in range(4):  # the maximum lies within a step of its node, where Newton converges at once
            first, second = (self.divergence(places, log_s, order) for order in (1, 2))
            inner = (second < 0) & (places < self.amplitude)
            moved = places - np.divide(first, second, out=np.zeros_like(first), where=inner)
            places = np.clip(moved, left, right)
        heights = np.maximum(self.divergence(places, log_s), d[1:-1][found])
        return places, heights

    def certify(self, u: NDArray[np.float64], w: NDArray[np.float64]) -> AmplitudeCapacity:
        """Bracket that an input law on +-u gives: the mean and the maximum of D."""
        log_s = self.log_s(u, w)
        value = float(w @ self.divergence(u, log_s))
        upper = max(value, float(self.peaks(log_s)[1].max()))
        order = np.argsort(u)
        u, w = u[order], w[order]
        away = u > 0
        points = np.concatenate([-u[away][::-1], u])
        weights = np.concatenate([w[away][::-1] / 2, np.where(away, w / 2, w)])
        return AmplitudeCapacity(value, upper, points, weights)


def _located(line: _HalfLine) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Places and masses of the optimal points, ever closer: the peaks of D for the best law on a finite set.

    The set is a grid at first; then the points that carried mass, and the peaks they gave.
    """
    points = np.linspace(0, line.amplitude, math.ceil(line.amplitude / _GRID) + 1)
    reach = math.ceil((line.amplitude + _TAIL) / _COARSE_STEP)
    nodes = np.arange(-reach, reach + 1) * _COARSE_STEP
    for _ in range(_ROUNDS):
        both = np.concatenate([-points[:0:-1], points])  # points[0] is 0
        rows = _density(nodes - both[:, None])
        law = solve(DenseKernel(rows / rows.sum(axis=1, keepdims=True)), _COARSE_TOL).law
        folded = law[len(points) - 1 :] + law[len(points) - 1 :: -1]
        folded[0] /= 2
        used = folded > _CARRIES
        masses = folded[used] / folded[used].sum()
        places, heights = line.peaks(line.log_s(points[used], masses))
        nearest = np.abs(points[used, None] - places).argmin(axis=1)
        share = np.bincount(nearest, weights=masses, minlength=len(places))
        kept = (share > 0) & (heights > heights.max() - _TOUCHES)
        yield places[kept], share[kept] / share[kept].sum()
        points = np.union1d(np.append(0.0, points[used]), places)


def _refined(line: _HalfLine, u: NDArray[np.float64], w: NDArray[np.float64]) -> AmplitudeCapacity:
    """Newton on D(u_k) = C for all points, D'(u_k) = 0 for those that may move, and weights that sum to 1."""
    n = len(u)
    free = np.flatnonzero((u > 0) & (u < line.amplitude))
    f = len(free)
    for _ in range(30):
        k0, k1 = line.density(u), line.density(u[free], 1)
        log_s = line.log_s(u, w)
        d0, d1, d2 = (line.divergence(x, log_s, i) for i, x in enumerate((u, u[free], u[free])))
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
        step = np.linalg.lstsq(jacobian, -residual, rcond=None)[0]
        shrink = 1.0
        falling = step[:n] < 0
        if falling.any():
            shrink = min(1.0, 0.9 * float((w[falling] / -step[:n][falling]).min()))
        shrink = min(shrink, _GRID / max(float(np.abs(step[n:-1]).max(initial=0.0)), 1e-300))
        w = w + shrink * step[:n]
        w = w / w.sum()
        u = u.copy()
        u[free] = np.clip(u[free] + shrink * step[n:-1], 0.0, line.amplitude)
        if np.abs(step[:-1]).max() < 1e-13:
            break
    return line.certify(u, w)


def _density(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal density."""
    density: NDArray[np.float64] = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return density
