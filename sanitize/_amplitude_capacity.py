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

from sanitize._blahut import DenseKernel, solve
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# The trapezoid rule converges like exp(-2 pi d / step), d the distance of the complex zeros of q from the axis.
_STEP = 0.02
_TAIL = 9.5
LARGEST_AMPLITUDE = 40.0
# To find where the points lie, coarser figures do.
_GRID = 0.1
_COARSE_STEP = 0.1
_COARSE_TOL = 1e-10
_TOUCHES = 1e-4
_MOST_KNOWN = 4096


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
    """max I(X; X + Z) over all X with |X| <= A, Z standard normal, in nats: Smith's capacity [Smith71].

    For noise of variance N and a query of half-range T put A = T / sqrt(N). [WXH Cor. 6] prints
    log(1 + A^2)/2 as an equality; **corrected**: that is an upper bound only, reached by an input bounded in
    power, and the true capacity is 97 % of it at A = 1 and 76 % at A = 10.

    Parameters
    ----------
    amplitude : float
        A, between 0 and 60.
    tol : float
        Width of the bracket asked for, in nats, > 0. The bracket returned always holds; it is wider than
        ``tol`` where doubles allow no better (about 1e-12).

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
    a = _number("amplitude", amplitude)
    if not 0 <= a <= LARGEST_AMPLITUDE:
        raise InvalidParameter(f"amplitude must lie between 0 and {LARGEST_AMPLITUDE:g}, got {amplitude}")
    if not 0 < _number("tol", tol) < math.inf:
        raise InvalidParameter(f"tol must be a finite number > 0, got {tol}")
    if a == 0:
        return AmplitudeCapacity(0.0, 0.0, np.zeros(1), np.ones(1))
    line = _HalfLine.of(a)
    best = line.certify(np.array([a]), np.ones(1))
    if best.gap > tol:
        places, masses = _locate(line)
        # Around the amplitudes where a point is born at 0, one point at 0 and a close pair look alike.
        for centre in (0.0, places[0]):
            start = np.append(centre, places[1:]) if places[0] < 2 * _GRID else places
            found = line.certify(*_refine(line, start, masses))
            best = min(best, found, key=lambda one: one.gap)
            if best.gap <= tol:
                break
    return best


def known_values_capacity(points: ArrayLike, tol: float = 1e-9) -> AmplitudeCapacity:
    """max I(X; X + Z) in nats over laws on known points, Z standard normal; at most log k for k points.

    Parameters
    ----------
    points : array-like of shape (k,)
        What X may be, in units of the noise's standard deviation; finite, distinct values.
    tol : float
        Width of the bracket asked for, in nats.

    Examples
    --------
    >>> round(known_values_capacity([-2.0, 2.0]).value, 6)
    0.635997
    """
    x = np.unique(np.asarray(points, dtype=np.float64).ravel())
    if not 0 < len(x) <= _MOST_KNOWN or not np.isfinite(x).all():
        raise InvalidParameter(f"points must be 1 to {_MOST_KNOWN} finite numbers")
    x_c = x - (x[0] + x[-1]) / 2
    # Far from every point the density is below 1e-19 and tells nothing: no nodes there.
    nodes = np.arange(math.ceil((x_c[0] - _TAIL) / _STEP), math.floor((x_c[-1] + _TAIL) / _STEP) + 1) * _STEP
    near = np.abs(nodes - x_c[np.abs(nodes[:, None] - x_c[None, :]).argmin(axis=1)]) <= _TAIL
    rows = _density(nodes[near][None, :] - x_c[:, None]) * _STEP
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
        nodes = np.arange(math.ceil((amplitude + _TAIL) / _STEP) + 1) * _STEP
        masses = np.full(len(nodes), 2 * _STEP)
        masses[0] = _STEP
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

    def certify(self, u: NDArray[np.float64], w: NDArray[np.float64]) -> AmplitudeCapacity:
        """Bracket that an input law on +-u gives: the mean and the maximum of D."""
        log_s = self.log_s(u, w)
        value = float(w @ self.divergence(u, log_s))
        x = np.linspace(0, self.amplitude, max(3, math.ceil(self.amplitude / _STEP) + 1))
        d = self.divergence(x, log_s)
        inner = np.flatnonzero((d[1:-1] >= d[:-2]) & (d[1:-1] >= d[2:])) + 1
        peaks = x[inner]
        for _ in range(3):  # each maximum lies within a step of its node, where Newton converges at once
            first, second = (self.divergence(peaks, log_s, order) for order in (1, 2))
            moved = peaks - np.divide(first, second, out=np.zeros_like(first), where=second < 0)
            peaks = np.clip(moved, x[inner - 1], x[inner + 1])
        upper = float(max(d.max(), self.divergence(peaks, log_s).max(initial=0.0), value))
        order = np.argsort(u)
        u, w = u[order], w[order]
        away = u > 0
        points = np.concatenate([-u[away][::-1], u])
        weights = np.concatenate([w[away][::-1] / 2, np.where(away, w / 2, w)])
        return AmplitudeCapacity(value, upper, points, weights)


def _locate(line: _HalfLine) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places and masses of the optimal points to within a grid step, by a convex program on the grid.

    Neighbours on the grid share a mass at will, but D tells the places: its peaks, where it touches C.
    """
    half = math.ceil(line.amplitude / _GRID)
    grid = np.linspace(-line.amplitude, line.amplitude, 2 * half + 1)
    reach = math.ceil((line.amplitude + _TAIL) / _COARSE_STEP)
    rows = _density(np.arange(-reach, reach + 1) * _COARSE_STEP - grid[:, None])
    bracket = solve(DenseKernel(rows / rows.sum(axis=1, keepdims=True)), _COARSE_TOL)
    law = bracket.law[half:] + bracket.law[half::-1]
    law[0] /= 2
    d = np.append(bracket.divergences[half - 1 :], -np.inf)  # from the left neighbour of 0
    peak = (d[1:-1] >= d[:-2]) & (d[1:-1] > d[2:]) & (d[1:-1] > bracket.upper - _TOUCHES)
    places = grid[half:][peak]
    masses = np.bincount(np.abs(grid[half:, None] - places).argmin(axis=1), weights=law, minlength=len(places))
    kept = masses > 0
    return places[kept], masses[kept] / masses.sum()


def _refine(
    line: _HalfLine, u: NDArray[np.float64], w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
    return u, w


def _density(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal density."""
    density: NDArray[np.float64] = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return density


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)) or value != value:
        raise InvalidParameter(f"{name} must be a number, got {value!r}")
    return float(value)
