"""Divergences of many pairs of distributions at once: rows of P against rows of Q, shapes (n_pairs, n_y) to (n_pairs,).

Rows of both arguments are probabilities; an output that neither distribution reaches adds nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss

from sanitize._util.checks import Mask, Vector

# The integrand is smooth, and its argument below 0.1, so that twelve nodes are exact up to the last digit.
_NODES, _WEIGHTS = leggauss(12)


def log_ratios(p: Vector, q: Vector) -> Vector:
    """Return log p/q of entries: inf where only q is 0, and -inf where p is 0 (also if both are 0)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = (p - q) / q
        ratio = np.where(np.abs(change) < 0.5, np.log1p(change), np.log(p) - np.log(q))
    return np.where(p == 0, -np.inf, ratio)


def positive_part(p: Vector, q: Vector, eps: float) -> Vector:
    """Largest P(A) - e^ε Q(A) over events A: the sum over outputs of the positive part of p - e^ε q."""
    # e^ε is applied in two halves, because it may overflow although its product with a tiny q does not. e^1400 lifts
    # the smallest double above 1, so no larger ε, not even inf, changes the result.
    half = np.exp(min(eps / 2, 700.0))
    with np.errstate(over="ignore"):
        total: Vector = np.maximum(p - q * half * half, 0).sum(axis=1)
    return np.minimum(total, 1.0)


def epsilon_at(p: Vector, q: Vector, delta: float) -> Vector:
    """Least ε >= 0 with P(A) <= e^ε Q(A) + δ for every event A, exactly.

    This is the largest log((P(A) - δ) / Q(A)), which by the Neyman-Pearson lemma some A = {p/q >= t} attains.
    """
    ratios = log_ratios(p, q)
    if delta == 0:  # for δ = 0 single outputs decide, and sums would add rounding errors
        return np.maximum(ratios.max(axis=1), 0.0)
    order = np.argsort(-ratios, axis=1, kind="stable")
    mass_p = np.minimum(np.cumsum(np.take_along_axis(p, order, axis=1), axis=1), 1.0)
    mass_q = np.cumsum(np.take_along_axis(q, order, axis=1), axis=1)
    excess = mass_p - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        # A smaller excess over δ is the rounding error of a sum of probabilities.
        logs = np.where(excess > 1e-15 * delta, np.log(excess) - np.log(mass_q), -np.inf)
    return np.maximum(logs.max(axis=1), 0.0)


def renyi(p: Vector, q: Vector, alpha: float) -> Vector:
    """Rényi divergence D_α(P || Q) for α in (0, inf]; 0 for equal rows, inf if P leaves the support of Q."""
    ratio = log_ratios(p, q)
    # Above this order the divergence equals the largest log-ratio up to the last digit.
    if alpha > 1e18:
        return np.maximum(ratio.max(axis=1), 0.0)
    overlap = (p > 0) & (q > 0)
    shift = alpha - 1
    lost = np.where(q == 0, p, 0.0).sum(axis=1)
    if alpha == 1:
        value = _mean_terms(p, q, ratio, overlap, alpha)
    else:
        with np.errstate(divide="ignore"):
            exponents = np.where(overlap, np.log(p) + shift * np.where(overlap, ratio, 0.0), -np.inf)
        # log Σ p^α q^(1-α) is accurate unless it is small, that is, unless P and Q are close or α is near 1.
        top = exponents.max(axis=1)
        shifted = exponents - np.where(np.isinf(top), 0.0, top)[:, None]
        with np.errstate(divide="ignore"):
            total = top + np.log(np.exp(shifted).sum(axis=1))
        value = total / shift
        small = np.abs(total) <= 0.5
        if small.any():
            mean = _mean_terms(p[small], q[small], ratio[small], overlap[small], alpha)
            if alpha < 1:
                mean += lost[small] * alpha / (1 - alpha)
            value[small] = np.log1p(shift * mean) / shift
    if alpha >= 1:
        value = np.where(lost > 0, np.inf, value)
    return np.maximum(value, 0.0)


def _mean_terms(p: Vector, q: Vector, ratio: Vector, overlap: Mask, alpha: float) -> Vector:
    """Return Σ q g(p/q) with g(t) = (t^α - 1 - α(t-1)) / (α-1) >= 0, a sum whose terms do not cancel.

    The sum is the KL divergence at α = 1; multiplied by α-1, plus 1, it is Σ p^α q^(1-α).
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        terms = np.where(overlap, _terms(p, q, ratio, alpha), 0.0)
    return terms.sum(axis=1) + np.where(p == 0, q, 0.0).sum(axis=1)


def _terms(p: Vector, q: Vector, ratio: Vector, alpha: float) -> Vector:
    """Return q g(p/q); near p = q it is computed by g = α d² ∫ (1-s) (1 + s d)^(α-2) ds with d = (p - q)/q."""
    shift = alpha - 1
    growth = ratio if shift == 0 else np.expm1(shift * ratio) / shift
    plain: Vector = p * growth - (p - q)
    change = (p - q) / q
    # Below this product of order and relative difference the plain Rényi term loses digits to cancellation.
    near = np.abs(change) * max(1.0, abs(shift)) < 0.1
    d = change[near]
    s, weights = (_NODES + 1) / 2, _WEIGHTS / 2
    integral = sum(w * (1 - t) * np.exp((alpha - 2) * np.log1p(t * d)) for t, w in zip(s, weights, strict=True))
    plain[near] = alpha * q[near] * d**2 * integral
    return plain
