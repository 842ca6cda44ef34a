"""Evidence from fresh rows about the lifts of symbols chosen on other rows: proofs 3 and 4 in docs/theory/proofs.md.

A released symbol y has P(y|cell) ∝ w(cell) with w in [0, 1]. With m = E w, q = E w 1{S=s} and π = P(s) its lift is
q / (m π). Rows are independent draws of (S, cell). To prove q <= r π m, take numbers μ, b (about m and r π) and

    f = μ (r 1{S=s} - b) - w (1{S=s} - b),    E f = μ (r π - b) - q + b m,

which is at most (μ - m)(r π - b) where q >= r π m. Let e be at least this for all (m, π) of a box. For λ >= 0 with 1 +
λ (f - e) > 0 the product over the rows of 1 + λ (f - e), which is what a bet against q >= r π m makes of 1 [WSR], has a
mean of at most 1 if q >= r π m and (m, π) is in the box, so by Markov's inequality it reaches 1 / level with
probability at most ``level``. With -f it proves q >= r π m. As q <= π, m >= 1/r proves q <= r π m by itself. The box
enters as a product of two small errors, those of m and of π, whereas bounds of P(s|y) derived from bounds of π would
contain the whole error of π.

The symbols, μ, b and λ come from other rows, and a product only grows as e falls, so the box may come from the fresh
rows themselves. A symbol that is not within the budget makes at least one false claim. The distribution alone
determines the first false claim, whatever the rows are, and the symbol passes only if this claim is shown, which has
probability at most ``level``, however many claims the symbol makes. A union bound over the box and the symbols covers
all symbols that pass at once, so any mixture of them, however chosen, is a release within the budget.

Counts of (s, cell) may hold noise that adds up to 0 in each cell: N + Z in place of N in the logarithm Σ N log(1 + λ (f
- e)) of the product. In one cell f has one value at S = s and one at all others, so the noise adds Z_s times d(cell),
the difference of the two logarithms; with log E exp(t Z_s) <= ψ(t), independent over cells, the product times
exp(-Σ_cells ψ(d)) still has a mean of at most 1. The number of rows in each cell is known without noise, and λ may
depend on ψ.

If the number of rows in a cell is private too, every count has independent noise Z, and only n is known. Then Σ N log(1
+ λ (f - e)) is n l + Σ N d, where l is the logarithm at one value of f (S /= s in cells without the symbol) and d the
difference of each other logarithm from l. The noise adds Σ Z d, for which Σ ψ(d) is subtracted. The mean of w is
bounded like shares, below, by the possible noise on Σ w N.

Bounds of P(s) are bounds of shares of rows, from counts with noise. For n independent rows of share p and noise of log
E exp(tZ) <= ψ(t), E exp(λ(k + Z)) is at most (1 + p(e^λ - 1))^n exp(ψ(λ)), so k + Z lies as far above np as t with
probability at most exp(-I), I = max_λ>0 λt - n log(1 + p(e^λ - 1)) - ψ(λ); below likewise, with λ < 0. So p is ruled
out at the level exp(-c) if p <= (exp((λt - c - ψ(λ))/n) - 1)/(e^λ - 1) for some λ > 0, or p >= this value for some λ <
0. The largest and the smallest of these values are the bounds; trying fewer λ only makes them wider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Mask, Vector
from sanitize._util.limits import LOOSEST

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize._util.sampling.count_noise import Noise
    from sanitize.core.budgets import LiftBudget

    Bounds = tuple[Vector, Vector]
    Counts = NDArray[np.int64]

# Share of the error probability for the bounds of the means of w, which use all rows and stay narrow with a small
# share.
_FOR_MEANS = 0.05
# Share used of the range of tilts with bounded noise, and of λ with positive factors: logarithms are infinite at its
# end.
_WITHIN = 0.99
# Replaces divisors and probabilities of 0, far below 1 over any number of rows.
_LEAST = 1e-12


def _claims(budget: LiftBudget, n_s: int) -> list[tuple[int, int, float, float]]:
    """Return the budget's claims on a symbol: sensitive value, sign, ratio, and P(s) above which the claim is implied.

    A claim says that P(y, s) is at least (sign 1) or at most (sign -1) the ratio times P(s) P(y).

    P(s|y) <= r P(s) is trivial for P(s) >= 1/r. P(s|y) >= r' P(s) follows from P(t|y) <= r P(t) for all t other than s
    if 1 - r (1 - P(s)) >= r' P(s), that is for P(s) >= (r - 1)/(r - r'), where r is the largest ratio of all secrets.
    So if a symbol is not within the budget, a claim is false that no other claims imply, and this claim is tested
    unless P(s) is below its bound.
    """
    uppers = [float(np.exp(min(nats, LOOSEST))) for nats in np.broadcast_to(budget.upper, n_s)]
    claims = [(s, -1, upper, 1 / upper) for s, upper in enumerate(uppers)]
    for s, nats in enumerate(np.broadcast_to(budget.lower, n_s)):
        if nats < LOOSEST:
            most, lower = max(uppers), float(np.exp(-nats))
            claims.append((s, 1, lower, (most - 1) / max(most - lower, _LEAST)))
    return claims


class Evidence:
    """Tests of symbols on fresh rows, with symbols and counts prepared for each sensitive value and side.

    Parameters
    ----------
    symbols : sparse array of shape (k, n_cells)
        P(y|cell) of each symbol up to a factor, between 0 and 1.
    design, fresh : ndarrays of shape (n_s, n_cells)
        Counts of the rows on which the symbols were chosen, and of other rows; the latter may hold noise.
    error : float
        Probability that some symbol passes that is not within the budget, if P(s) is within its bounds.
    noise : Noise or None
        Noise on each count of fresh rows, independent over cells.
    """

    def __init__(
        self, symbols: sparse.csr_array, design: Counts, fresh: Counts, error: float, noise: Noise | None
    ) -> None:
        self.k, self.n_cells = symbols.shape
        self.row = np.repeat(np.arange(self.k), np.diff(symbols.indptr))
        self.cell, self.w = symbols.indices, symbols.data
        self.design, self.fresh, self.noise = design, fresh, noise
        self.rows, self.n = fresh.sum(axis=0), row_total(fresh, noise)
        self.others = 0 if noise is None or noise.of_rows is None else len(fresh) - 1  # further noisy counts per cell
        self.p_s, self.n_outside = secret_shares(design), self.n_cells - np.bincount(self.row, minlength=self.k)
        self.p_cell = design.sum(axis=0) / max(float(design.sum()), 1.0)
        self.mean = np.maximum(self._sum(self.w * self.p_cell[self.cell]), _LEAST)
        self.needed = evidence_threshold(self.k, error) * (1 + 1e-9)
        level, total = error * _FOR_MEANS / max(self.k, 1), self._sum(self.w * self.rows[self.cell])
        if noise is None or not self.others:
            self.means = _means(total, self.n, -np.log(level / 2))
        else:
            tilt = np.geomspace(1e-6, min(40.0, _WITHIN * noise.reach), 512)
            taken = [len(fresh) * self._sum(noise.log_mgf(size * self.w)) for size in tilt]
            self.means = noisy_shares(total, self.n, tilt, np.array(taken), level)

    def _sum(self, values: Vector) -> Vector:
        """Sum values over the cells of each symbol."""
        return np.asarray(np.bincount(self.row, values, self.k), np.float64)

    def _least(self, values: Vector) -> Vector:
        """Least value over the cells of each symbol, or 0 if none is below 0."""
        least_values: Vector = np.zeros(self.k)
        np.minimum.at(least_values, self.row, values)
        return least_values

    def proves(self, budget: LiftBudget, prior: Bounds) -> Mask:
        """Return a mask of symbols that fresh rows prove to be within the budget, for P(s) within the given bounds."""
        passed = np.ones(self.k, bool)
        for s, sign, ratio, said_from in _claims(budget, len(prior[0])):
            if prior[0][s] < said_from:
                passed &= self.shows(s, sign, ratio, prior[0][s], prior[1][s])
        return passed

    def shows(self, s: int, sign: int, ratio: float, least: float, most: float) -> Mask:
        """Return a mask (k,) of symbols y with a proof of P(y, s) >= ``ratio`` P(s) P(y) (<= if ``sign`` is -1)."""
        room = 0.2  # e may be this share of the depth of f below 0; with more room, λ and so the evidence are smaller
        b = float(np.clip(ratio * self.p_s[s], _LEAST, 1 - _LEAST))
        # f at S = s and at other S: in cells without the symbol (off), and in cells with the symbol (on).
        off, off_else = sign * self.mean * (b - ratio), sign * self.mean * b
        on, on_else = off[self.row] + sign * self.w * (1 - b), off_else[self.row] - sign * self.w * b
        corners = [sign * (self.mean - m) * (b - ratio * p) for m in self.means for p in (least, most)]
        e = np.max(corners, axis=0)
        depth = np.maximum(-np.minimum.reduce([off, off_else, self._least(on), self._least(on_else)]), _LEAST)
        size = self._tilt(b, self.p_s[s], (off, off_else, on, on_else), (1 + room) * depth)
        # λ must not depend on e, which the fresh rows determine; an e larger than allowed for proves nothing.
        is_usable = e <= room * depth
        e = np.where(is_usable, e, 0.0)
        row_size = size[self.row]
        log_off, log_off_else = np.log1p(size * (off - e)), np.log1p(size * (off_else - e))
        log_on, log_on_else = np.log1p(row_size * (on - e[self.row])), np.log1p(row_size * (on_else - e[self.row]))
        secret_rows = self.fresh[s]
        n_secret = float(secret_rows.sum())
        secret_counts, rest_counts = secret_rows[self.cell], (self.rows - secret_rows)[self.cell]
        gains = secret_counts * (log_on - log_off[self.row]) + rest_counts * (log_on_else - log_off_else[self.row])
        shown = n_secret * log_off + (self.n - n_secret) * log_off_else + self._sum(gains)
        if self.noise is not None:
            shown -= self.n_outside * self.noise.log_mgf(log_off - log_off_else)
            log_base = log_off_else[self.row] if self.others else log_on_else
            shown -= self._sum(self.noise.log_mgf(log_on - log_base))
            shown -= self.others * self._sum(self.noise.log_mgf(log_on_else - log_base))
        is_common = sign < 0 and self.means[0] * ratio >= 1
        return np.asarray(is_common | is_usable & (shown >= self.needed))

    def _tilt(self, b: float, p: float, values: tuple[Vector, ...], depth: Vector) -> Vector:
        """Return a tilt λ close to the best for symbols that barely pass, from the design rows; λ * depth is below 1.

        For small λ, λ = t / (v + t²) is best if f has mean t and variance v; t is the mean for which n rows just give
        the needed evidence.
        """
        off, off_else, on, on_else = values
        p_cell = self.p_cell[self.cell]
        outside = 1 - self._sum(p_cell)
        variance = self._sum(p_cell * (b * on**2 + (1 - b) * on_else**2))
        variance += outside * (p * off**2 + (1 - p) * off_else**2)
        if self.noise is not None:
            base = off_else[self.row] if self.others else on_else
            spread = self._sum((on - base) ** 2 + self.others * (on_else - base) ** 2)
            spread += self.n_outside * (off - off_else) ** 2
            variance = variance + self.noise.variance * spread / self.n
        mean = np.sqrt(2 * self.needed * variance / self.n)
        size = np.minimum(mean / (variance + mean**2), _WITHIN / depth)
        if self.noise is not None and np.isfinite(self.noise.reach):
            reach = _WITHIN * self.noise.reach
            widest = np.maximum(np.abs(on - base), np.abs(on_else - base))
            widest = np.maximum(np.abs(off - off_else), -self._least(-widest))
            # log of a quotient of 1 + λ (f - e) and 1 + λ (f' - e) is at most λ |f - f'| / (1 - λ depth).
            size = np.minimum(size, reach / (widest + reach * depth))
        return np.asarray(size)


def _means(total: Vector, n: float, needed: float) -> Bounds:
    """Bounds of the mean of w in [0, 1] from its sum over n rows; each fails with probability at most exp(-needed).

    The average of n values in [0, 1] with mean m is at most x < m, or at least x > m, with probability at most exp(-n
    KL(x, m)) [HOEF], and KL(x, m) >= (x - m)² / (2 max(x, m)).
    """
    mean, unit = total / n, needed / n
    return np.maximum(mean - np.sqrt(2 * mean * unit), 0.0), mean + unit + np.sqrt(2 * mean * unit + unit**2)


def secret_shares(design: NDArray[np.int64]) -> Vector:
    """Estimates of P(s) from counts of (s, cell), all positive."""
    return np.asarray((design.sum(axis=1) + 1) / (design.sum() + len(design)))


def evidence_threshold(n_symbols: int, error: float) -> float:
    """Evidence in nats that each test needs if ``n_symbols`` symbols are tested."""
    return float(-np.log(error * (1 - _FOR_MEANS) / max(n_symbols, 1)))


def divergence(q: Vector, bound: Vector | float) -> Vector:
    """Kullback-Leibler divergence between coins with probabilities q and ``bound``, in nats."""
    return np.asarray(q * np.log(q / bound) + (1 - q) * np.log((1 - q) / (1 - bound)))


def row_total(fresh: NDArray[Any], noise: Noise | None) -> float:
    """Total number of fresh rows, which noise on counts must not change."""
    return float(fresh.sum() if noise is None or noise.of_rows is None else noise.of_rows)


def shares_within(noisy_counts: Vector, n: float, noise: Noise, draws: float, level: float) -> tuple[Vector, Vector]:
    """Bounds of shares of n rows, from counts that each contain the sum of ``draws`` independent noise draws."""
    tilt = np.geomspace(1e-7, min(40.0, 0.999 * noise.reach), 4096)
    return noisy_shares(noisy_counts, n, tilt, draws * noise.log_mgf(tilt)[:, None], level)


def noisy_shares(noisy_counts: Vector, n: float, tilt: Vector, taken: Vector, level: float) -> tuple[Vector, Vector]:
    """Lower and upper bounds of means of n numbers in [0, 1]; each fails with probability at most ``level / 2``.

    Parameters
    ----------
    noisy_counts : ndarray of shape (k,)
        Sums of the numbers with noise, which may be below 0 or above n.
    n : float
        Number of rows, at least 1.
    tilt : ndarray of shape (n_tilts,)
        Values of λ.
    taken : ndarray of shape (n_tilts, k) or (n_tilts, 1)
        Bound ψ(λ) of the noise on each sum.
    level : float
    """
    # Rounding must not let a bound fail more often than stated, so slightly more evidence is asked for.
    needed, tilt = -np.log(level / 2) * (1 + 1e-9), tilt[:, None]
    least, most = (
        np.expm1((sign * tilt * noisy_counts - needed - taken) / n) / np.expm1(sign * tilt) for sign in (1, -1)
    )
    return np.clip(least.max(axis=0), 0.0, 1.0), np.clip(most.min(axis=0), 0.0, 1.0)
