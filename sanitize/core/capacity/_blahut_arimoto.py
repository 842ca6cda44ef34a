"""Computation of a finite channel's capacity by multiplicative steps, then Newton's method on the relevant inputs.

With q = pW and D(x) = KL(W_x || q), every input distribution p brackets the capacity: the mean of D under p is I(p),
and I(p) <= C <= max_x D(x). Blahut and Arimoto's update p <- p e^D needs thousands of passes to close that gap. Here
such updates, with longer steps, only find the inputs that carry mass. A primal-dual interior-point method then solves
the concave problem on these inputs, and any other input whose D exceeds I(p) is added. The bracket always covers all
inputs.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from sanitize._util.checks import Codes, Vector
from sanitize.core.channel import stage_product

if TYPE_CHECKING:
    from sanitize.core.channel import ReducedChannel

# Up to this many inputs, a Newton step takes a millisecond and the interior point starts at once, from the uniform
# distribution.
_FEW_INPUTS = 128
# With more inputs, some multiplicative steps first show which inputs get mass; each costs one product with the kernel.
_SCOUTING_STEPS = 30
# If too many inputs remain candidates for a Newton step, multiplicative steps go on, up to a few thousand; the bracket
# shows how far they got.
_MORE_STEPS, _MORE_TIMES = 300, 8
# The work of a Newton step, some seconds, grows with the cube of its inputs; its dense rows take 128 MB.
_NEWTON_WORK, _NEWTON_CELLS = 1 << 36, 1 << 24
# Inputs that join at a time: few of the others get mass, and each that joins makes all later Newton steps slower.
_NEWCOMERS = 300


class DenseKernel:
    """Channel given by a matrix; columns are divided by their largest entry so that no product underflows."""

    def __init__(self, matrix: Vector) -> None:
        peaks = matrix.max(axis=0)
        if not peaks.all():
            matrix, peaks = matrix[:, peaks > 0], peaks[peaks > 0]
        self.n_inputs, self.n_outputs = matrix.shape
        self.matrix = matrix
        self.peaks = peaks
        self.scaled = matrix / peaks
        self.own = xlogy(matrix, self.scaled).sum(axis=1)

    def divergences(self, p: Vector) -> Vector:
        """Return KL(W_x || pW) for each input x; the scale of a column cancels between the two terms."""
        return _divergences(self.own, p @ self.scaled, self.matrix)

    def rows(self, inputs: Codes) -> Vector:
        """Return the rows of the matrix for some inputs."""
        return self.matrix[inputs]

    def curvature(self, p: Vector) -> Vector:
        """Negative Hessian of I at p: sum_y W(y|x) W(y|x') / q(y), shape (n_inputs, n_inputs)."""
        half = self.scaled * np.sqrt(self.peaks / (p @ self.scaled))
        return half @ half.T


class ChainKernel:
    """Channel given by a chain of sparse stages; the product of the stages is never formed."""

    def __init__(self, reduced: ReducedChannel) -> None:
        self.stages = reduced.stages
        self.n_inputs = reduced.n_states
        self.n_outputs = reduced.stages[-1].n_outputs
        self.own = -reduced.entropies()

    def divergences(self, p: Vector) -> Vector:
        """Return KL(W_x || pW) for each input x, by one product through the stages in each direction."""
        for stage in self.stages:
            p = p @ stage.probabilities
        return _divergences(self.own, p, self)

    def __matmul__(self, v: Vector) -> Vector:
        for stage in reversed(self.stages):
            v = stage.probabilities @ v
        return v

    def rows(self, inputs: Codes) -> Vector:
        """Return the rows of P(y|x) for some inputs, as a dense matrix."""
        return stage_product((self.stages[0].take(inputs), *self.stages[1:])).toarray()


# The solver needs only divergences (inf where p reaches too few outputs) and dense rows of a few inputs, so that a
# chain need not be multiplied out.
Kernel = DenseKernel | ChainKernel


@dataclass(frozen=True)
class Bracket:
    """Input distribution p with its certificate: lower = I(p) <= C <= upper = max_x KL(W_x || pW).

    The distribution and its divergences hold one entry for each input of the kernel.
    """

    distribution: Vector
    divergences: Vector
    steps: int

    @property
    def lower(self) -> float:
        """Mutual information I(p) under the input distribution p, a lower bound on the capacity."""
        used = self.distribution > 0
        return max(0.0, float(self.distribution[used] @ self.divergences[used]))

    @property
    def upper(self) -> float:
        """Largest divergence of a row from pW, an upper bound on the capacity."""
        return max(self.lower, float(self.divergences.max()))

    @property
    def gap(self) -> float:
        """Width of the bracket, in nats."""
        return self.upper - self.lower


def solve(kernel: Kernel, tol: float) -> Bracket:
    """Return a bracket of the capacity, at most ``tol`` wide or as narrow as rounding and size allow."""
    n = kernel.n_inputs
    p = np.full(n, 1 / n)
    current = best = Bracket(p, kernel.divergences(p), 1)
    inputs = np.arange(n)
    if n > _FEW_INPUTS:
        for steps in (_SCOUTING_STEPS, *[_MORE_STEPS] * _MORE_TIMES):
            if best.gap <= tol:
                return best
            current, best = _scout(kernel, current, best, tol, steps)
            inputs = _candidates(kernel, current)
            if _fits(kernel, len(inputs)):
                break
    while best.gap > tol and _fits(kernel, len(inputs)):
        start = np.maximum(current.distribution[inputs], 1e-3 / len(inputs))
        weights, steps = _interior_point(DenseKernel(kernel.rows(inputs)), start / start.sum(), tol / 2)
        p = np.zeros(n)
        p[inputs] = weights
        current = Bracket(p, kernel.divergences(p), current.steps + steps)
        best = min(best, current, key=lambda bracket: bracket.gap)
        outside = np.setdiff1d(np.flatnonzero(current.divergences > current.lower + tol / 2), inputs)
        if not len(outside):
            break
        order = np.argsort(-current.divergences[outside], kind="stable")
        inputs = np.union1d(inputs, outside[order[:_NEWCOMERS]])
    return best


def _candidates(kernel: Kernel, bracket: Bracket) -> Codes:
    """Inputs that may have mass in an optimal distribution; some optimum uses no more inputs than there are outputs."""
    near = bracket.divergences > bracket.lower - bracket.gap
    inputs = np.flatnonzero(near | (bracket.distribution > 1e-3 / kernel.n_inputs))
    most = 2 * kernel.n_outputs + _NEWCOMERS
    if len(inputs) > most:
        inputs = np.sort(inputs[np.argsort(-bracket.distribution[inputs], kind="stable")[:most]])
    return inputs


def _fits(kernel: Kernel, n: int) -> bool:
    """Return whether a Newton step on n inputs is cheap enough, in multiplications and in memory."""
    return n * n * (n + kernel.n_outputs) <= _NEWTON_WORK and n * kernel.n_outputs <= _NEWTON_CELLS


def _scout(kernel: Kernel, current: Bracket, best: Bracket, tol: float, steps: int) -> tuple[Bracket, Bracket]:
    """Repeat p <- p e^{tD}, raising t while I(p) does not fall; return the last and the narrowest bracket."""
    length = 1.0
    for _ in range(steps):
        d = current.divergences
        # A floor on the iterate keeps the probability of every reachable output positive.
        logs = np.log(np.maximum(current.distribution, 1e-200)) + length * (d - d.max())
        p = np.exp(logs - logs.max())
        p /= p.sum()
        trial = Bracket(p, kernel.divergences(p), current.steps + 1)
        if trial.lower >= current.lower or length == 1.0:
            current = trial
            best = min(best, current, key=lambda bracket: bracket.gap)
            length *= 1.5
        else:
            length = max(1.0, length / 3)
        if best.gap <= tol:
            break
    return current, best


def _interior_point(kernel: DenseKernel, p: Vector, tol: float) -> tuple[Vector, int]:
    """Maximise I(p) over the simplex by predictor-corrector steps on D(x) + s(x) = const, p(x) s(x) = mu."""
    n = len(p)
    d = kernel.divergences(p)
    best, best_gap, steps, idle = p, float(d.max() - p @ d), 0, 0
    slack = np.maximum(d.max() + 0.1 * best_gap - d, best_gap / n)
    # Newton stops when its gap has not halved for this many steps: the floor of double precision.
    while best_gap > tol and steps < 100 and idle < 6:
        steps += 1
        system = _NewtonSystem(kernel.curvature(p), slack / p)
        d_p = system.solve(d)
        d_s = -slack - slack / p * d_p
        mu = float(p @ slack) / n
        reached = (p + _stretch(p, d_p) * d_p) @ (slack + _stretch(slack, d_s) * d_s) / n
        target = (mu * (reached / mu) ** 3 - d_p * d_s) / p
        d_p = system.solve(d + target)
        d_s = target - slack - slack / p * d_p
        p = p + min(1.0, 0.995 * _stretch(p, d_p)) * d_p
        p /= p.sum()
        slack = slack + min(1.0, 0.995 * _stretch(slack, d_s)) * d_s
        d = kernel.divergences(p)
        gap = float(d.max() - p @ d)
        idle = 0 if gap < best_gap / 2 else idle + 1
        if gap < best_gap:
            best, best_gap = p, gap
    return best, steps


class _NewtonSystem:
    """Linear system (K + diag(barrier)) dp + const = right side with sum dp = 0, factorised for several right sides."""

    def __init__(self, curvature: Vector, barrier: Vector) -> None:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        diagonal = curvature.diagonal() + barrier
        # Equal rows make K singular up to rounding; a relative ridge changes the step but never the bracket.
        for ridge in (0.0, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3, 1.0):
            curvature[np.diag_indices(len(barrier))] = diagonal * (1 + ridge)
            with suppress(LinAlgError):  # the last ridge never fails: it makes the matrix definite
                self.factor = cho_factor(curvature, lower=True, check_finite=False)
                break
        self.ones = cho_solve(self.factor, np.ones(len(barrier)), check_finite=False)

    def solve(self, right: Vector) -> Vector:
        from scipy.linalg import cho_solve

        free: Vector = cho_solve(self.factor, right, check_finite=False)
        return free - free.sum() / self.ones.sum() * self.ones


def _stretch(v: Vector, step: Vector) -> float:
    """Largest share of a step, at most 1, that keeps v >= 0."""
    shrinking = step < 0
    return min(1.0, float((-v[shrinking] / step[shrinking]).min())) if shrinking.any() else 1.0


def _divergences(own_terms: Vector, q: Vector, rows: Vector | ChainKernel) -> Vector:
    """Return each row's divergence from q: its own term minus its mean log q; inf if q lacks an output of the row."""
    missing = q == 0
    if not missing.any():
        return own_terms - rows @ np.log(q)
    d = own_terms - rows @ np.log(np.where(missing, 1.0, q))
    d[rows @ missing.astype(np.float64) > 0] = np.inf
    return d
