"""Column generation for the least mean H(T|y) of posteriors in Π that mix to P_X; T is X or a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import product
from sanitize._util.checks import Vector
from sanitize._util.progress import progress
from sanitize.mechanisms._effort import Status
from sanitize.mechanisms._response_solver.certificate import certify
from sanitize.mechanisms._response_solver.columns import ColumnPool, Loss, Mixture, RoundingStops
from sanitize.mechanisms._response_solver.pricing import LONG_WALK, SHORT_WALK, Pricer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._response_solver.polytope import LiftBounds

# With fewer than n / _FEW new columns in a round, the pool alone is nearly exhausted and random starts are tried too.
_FEW = 20
# Early rounds walk a short way, because prices still change much: long walks would follow prices that do not last.
_SHORT_ROUNDS = 6
# Random starts in a round, near each letter: one start per letter takes long with many letters, four suffice with few.
_STARTS = 400
# Rounds of random starts without new columns before a certificate, which takes longer than a round, is tried.
_BARREN = 2
# Share of the gap to prove; rounding in the mixing program may use the rest.
_CERTIFIED_SHARE = 0.9
# Residual columns that end a search cut short: each costs a pass over all columns, beyond the effort.
_RESTS = 2
# Share of the effort or time for the search: without the rest, a response would have no bound to be judged by.
_SEARCH_SHARE = 0.7


class Search:
    """Search for the mixture to P_X of posteriors in ``inner`` with the least loss, and for a bound over ``outer``.

    The mixture and the bound are valid after every assignment, so the search may be interrupted.

    Parameters
    ----------
    inner, outer : LiftBounds
        Bounds with and without a safety margin; ``outer`` contains ``inner``.
    p_x : ndarray of shape (n,)
        Distribution of the letters, which lies within both bounds.
    gap : float
        Stop when value - bound is at most this, in nats.
    effort : Effort
        Entries of linear programs that may be solved, and a time limit where there is one.
    loss : Loss
        Information to keep.

    Attributes
    ----------
    pool : ColumnPool
    mixture : Mixture
        Best mixture so far, with the value H(T|Y).
    bound : float
        Lower bound on the value of mixtures of posteriors within the outer bounds.
    status : Status
        ``optimal`` (gap reached), ``effort`` (used up, or far from enough), ``time_limit``, ``interrupted``, or
        ``stalled`` (rounding of the linear program prevents the requested gap).
    """

    mixture: Mixture

    def __init__(
        self, inner: LiftBounds, outer: LiftBounds, p_x: Vector, gap: float, effort: Effort, loss: Loss
    ) -> None:
        self.within = inner
        self.inner, self.outer = (bounds.polytope(loss.distribution) for bounds in (inner, outer))
        self.p_x, self.gap, self.effort = p_x, gap, effort
        self.pool, self.bound, self.status = ColumnPool(p_x, loss), 0.0, Status.STALLED
        self.pricer = Pricer(self.inner, self.pool, np.random.default_rng(0), gap / 4, effort)

    def solve(self, seeds: Iterable[Vector]) -> Search:
        """Search from P_X and seed posteriors, each of shape (n,), until the gap is closed or the effort is used up."""
        for v in (self.p_x, *seeds):
            self.pool.add(v)
        self.mixture = self.pool.mix()
        try:
            with progress("optimal random response") as show:
                self.run(show)
            if self.is_used():
                self.status = Status.TIME_LIMIT if self.effort.is_late(_SEARCH_SHARE) else Status.EFFORT
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
            self.mixture = self.pool.mix()
        except (np.linalg.LinAlgError, RoundingStops):
            pass  # the mixture and bound found before are still valid
        if self.mixture.value - self.bound <= self.gap:
            self.status = Status.OPTIMAL
        return self

    def is_used(self) -> bool:
        """Return whether the remaining effort is reserved for the bound."""
        return self.effort.is_used(_SEARCH_SHARE)

    def run(self, show: Callable[[str], None]) -> None:
        """Alternate between mixing and pricing until the gap is closed or the effort is used up."""
        n = self.inner.n
        penalty = self.pricer.first_vertices() if not self.is_used() else None
        barren, rounds = 0, 0
        while True:
            early = rounds < _SHORT_ROUNDS and penalty is not None
            # Penalties for letters without columns steer the first rounds; they do not enter the final mixture.
            mixture = self.pool.mix(penalty if early else None)
            if not early:
                self.mixture = mixture
            self.effort.spend(len(self.pool) * n)
            show(f"{len(self.pool)} columns, gap {self.mixture.value - self.bound:.1e}")
            rounds += 1
            if self.is_used():
                self._add_residuals()
                self.mixture = self.pool.mix()
                self._certify(self.mixture, stop_at_points=False)
                return
            n_added = self.pricer.from_pool(mixture, SHORT_WALK if early else LONG_WALK)
            if early:
                rounds = rounds if n_added else _SHORT_ROUNDS
                continue
            if n_added > n // _FEW:
                barren = 0
                continue
            n_added += self.pricer.from_random(mixture.mu, max(1, min(4, _STARTS // n)))
            barren = barren + 1 if not n_added else 0
            if barren >= _BARREN:
                barren = _BARREN - 1
                if self._certify(mixture):
                    return

    def _add_residuals(self) -> None:
        """Add posteriors of the remainder of P_X as columns, each better than the one before."""
        about = self.p_x
        for _ in range(_RESTS):
            self.effort.spend(len(self.pool) * self.inner.n)
            residual = self.pool.residual_posterior(self.within, about)
            if residual is None or not self.within.contains(residual[None, :])[0] or not self.pool.add(residual):
                return
            about = residual

    def _certify(self, mixture: Mixture, *, stop_at_points: bool = True) -> bool:
        """Bound the optimum by a mixture's prices; return True if the gap is closed or no better column was found."""
        value = float(product(mixture.mu, self.p_x))
        target, short = self.mixture.value - value - _CERTIFIED_SHARE * self.gap, self.gap
        while True:
            proof = certify(self.outer, mixture.mu, self.p_x, target, self.effort, stop_at_points=stop_at_points)
            self.bound = max(self.bound, value + proof.bound)
            if not len(proof.points):
                if proof.is_hopeless:
                    self.status = Status.EFFORT
                return True
            # A basis of the outer polytope is a basis of the inner one only if the same number of rows bind.
            bases = proof.bases if self.inner.n_rows == self.outer.n_rows else self.inner.slack_basis(len(proof.points))
            added = self.pricer.from_points(mixture.mu, proof.points, bases)
            if added or any(self.pool.add(v / v.sum()) for v in proof.points):
                return False
            if self.effort.is_used():
                return True
            # Points so little below the target are not new to the pool, which rounds them; try to prove a slightly
            # lower target.
            target, short = target - short, 4 * short
