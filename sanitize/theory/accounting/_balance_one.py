"""Largest I(X;Y) of a channel under a lower bound on the entropy of X, by a concave program with a certificate.

Equal rows of the channel are merged into one letter with a share u(x) of the alphabet, so that log|X| - H(X) is the
divergence of the distribution p of the letters from u. This divergence may be at most ``slack`` = log|X| - b.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, null_space
from scipy.optimize import brentq
from scipy.special import xlog1py, xlogy

from sanitize._util.checks import Codes, Vector
from sanitize._util.tolerances import SMALLEST_POSITIVE

# Below this slack, doubles cannot distinguish the allowed distributions from u itself.
NO_SLACK = 1e-14
# Newton's method ends long before, unless rounding keeps it moving.
_NEWTON_STEPS = 60


def distinct_rows(matrix: Vector) -> tuple[Vector, Codes, NDArray[np.int64]]:
    """Return the distinct rows (k, n_y) of a channel, the index of each row among them, and their counts."""
    pmfs, where, counts = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)
    return pmfs, where.reshape(-1), counts


def divergences(pmfs: Vector, q: Vector) -> Vector:
    """Divergence D(W_x || q) of each row in nats; q must be positive where any row is."""
    ratio = np.divide(pmfs, q, out=np.ones_like(pmfs), where=pmfs > 0)
    return np.asarray(xlogy(pmfs, ratio).sum(axis=1))


def relative_entropies(p: Vector, share: Vector) -> Vector:
    """Divergence D(p || u) of each row of p (..., k), without cancellation for p close to u."""
    r = p / share
    terms = np.where(r > 0.5, xlog1py(r, np.maximum(r - 1, -0.5)), xlogy(r, r)) - (r - 1)
    return np.asarray(np.maximum(terms @ share, 0.0))


def divergence_from(p: Vector, share: Vector) -> float:
    """Divergence D(p || u) of one distribution."""
    return float(relative_entropies(p, share))


def gibbs_bound(values: Vector, share: Vector, slack: float) -> float:
    """Upper bound on max{p·D : D(p||u) <= slack}: s log Σ u exp(D/s) + s slack, at the Gibbs p ∝ u exp(D/s).

    Any s > 0 gives a valid bound, so the accuracy of the root affects only the tightness.
    """
    top = float(values.max())
    if slack <= NO_SLACK:
        return float(share @ values)
    below = values - top
    spread = -float(below.min())
    if spread == 0 or -math.log(share[below == 0].sum()) <= slack:
        return top

    def excess(log_s: float) -> float:
        weights = share * np.exp(below / math.exp(log_s))
        return divergence_from(weights / weights.sum(), share) - slack

    low, high = math.log(spread) - 40, math.log(spread) + 25
    if excess(low) <= 0:
        return top
    s = math.exp(float(brentq(excess, low, high, xtol=1e-12))) if excess(high) < 0 else math.exp(high)
    bound = top + s * math.log1p(float(share @ np.expm1(below / s))) + s * slack
    return min(top, bound)


def solve_restricted(pmfs: Vector, share: Vector, slack: float, tol: float) -> tuple[float, float, Vector]:
    """Return bounds on max I(p, W) subject to D(p||u) <= slack, in nats, and the p that attains the lower one.

    The method is a logarithmic barrier with Newton steps. Each p gives the lower bound I(p, W), and its output
    distribution q = pW gives the upper bound `gibbs_bound`.
    """
    pmfs = pmfs[:, pmfs.sum(axis=0) > 0]
    k = len(pmfs)
    p = share.copy()
    barrier = 0.1 * max(_information(p, pmfs), 1e-3)
    lower = upper = -math.inf
    while True:
        if slack > NO_SLACK and k > 1:
            p = _barrier_maximum(p, pmfs, share, slack, barrier)
        lower = _information(p, pmfs)
        bound = max(lower, gibbs_bound(divergences(pmfs, p @ pmfs), share, slack))
        upper = bound if math.isinf(upper) else min(upper, bound)
        barrier *= 0.1
        if upper - lower <= tol or barrier < 1e-14 or slack <= NO_SLACK or k == 1:
            return lower, upper, p


def widest_input(pmfs: Vector, share: Vector, p: Vector) -> Vector:
    """Find the distribution of largest entropy among distributions with the same output distribution as p.

    If p is in the centre of the distributions that attain a capacity, the result is the one of largest entropy: D(p||u)
    is minimised over p plus the null space of the rows, restricted to the letters that p uses.
    """
    used = np.flatnonzero(p > 1e-7)
    free = null_space(np.column_stack([pmfs[used], np.ones(len(used))]).T, rcond=1e-7)
    v = p[used] / p[used].sum()
    for _ in range(_NEWTON_STEPS if free.size else 0):
        gradient = free.T @ (np.log(v / share[used]) + 1)
        step = -free @ np.linalg.solve(free.T @ (free / v[:, None]), gradient)
        length = 1.0
        if (step < 0).any():
            length = min(1.0, 0.95 * float((v[step < 0] / -step[step < 0]).min()))
        before = divergence_from(v, share[used])
        while length > 1e-10 and divergence_from(v + length * step, share[used]) > before:
            length /= 2
        v = v + length * step
        if np.abs(length * step).max() < 1e-12:
            break
    widest = np.zeros_like(p)
    widest[used] = v / v.sum()
    return widest


def _information(p: Vector, pmfs: Vector) -> float:
    return max(0.0, float(p @ divergences(pmfs, p @ pmfs)))


def _barrier_maximum(p: Vector, pmfs: Vector, share: Vector, slack: float, barrier: float) -> Vector:
    """Maximise I(p) + μ (log(slack - D(p||u)) + Σ log p) by Newton steps in relative changes of p."""

    def objective(p: Vector) -> float:
        left = slack - divergence_from(p, share)
        return -math.inf if left <= 0 else _information(p, pmfs) + barrier * (math.log(left) + np.log(p / share).sum())

    for _ in range(_NEWTON_STEPS):
        q = p @ pmfs
        left, outward = slack - divergence_from(p, share), -p * np.log(p / share)
        slope = p * divergences(pmfs, q) + barrier + barrier / left * outward
        scaled = p[:, None] * pmfs
        curvature = (scaled / q) @ scaled.T + barrier / left**2 * np.outer(outward, outward)
        curvature[np.diag_indices_from(curvature)] += barrier + barrier / left * p
        solutions = cho_solve(cho_factor(curvature), np.column_stack([slope, p]))
        change = solutions[:, 0] - (p @ solutions[:, 0]) / (p @ solutions[:, 1]) * solutions[:, 1]
        gain = float(change @ curvature @ change)
        if gain <= 1e-6 * barrier:
            break
        length = min(1.0, 0.99 / max(-float(change.min()), SMALLEST_POSITIVE))
        before = objective(p)
        # Close to the centre Newton's step is safe, and the gain of the objective is below rounding.
        while (
            gain > 0.05 * barrier
            and length > 1e-12
            and objective(p * (1 + length * change)) < before + 0.25 * length * gain
        ):
            length /= 2
        if length <= 1e-12:
            break
        p = p * (1 + length * change)
        p = p / p.sum()
    return p
