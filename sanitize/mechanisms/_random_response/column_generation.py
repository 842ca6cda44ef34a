"""Lower convex envelope of H(T|·) over Π at P_X by column generation, with a certified gap; T is X or a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._progress import progress
from sanitize.mechanisms._random_response.certificate import certify
from sanitize.mechanisms._random_response.loss import Loss
from sanitize.mechanisms._random_response.pool import ColumnPool, Mixture, RoundingStops
from sanitize.mechanisms._random_response.pricing import Pricer
from sanitize.mechanisms._random_response.rest import rest_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._random_response.polytope import ResponsePolytope

_FEW = 20  # fewer than n / _FEW new columns a round: look further afield
_SHORT_WALK, _LONG_WALK, _SHORT_ROUNDS = 4, 40, 6
_STARTS = 400
_BARREN = 2  # fruitless random rounds before asking for a certificate
_CERTIFIED_SHARE = 0.9  # the rest of the gap is left to rounding in the master program
_RESTS = 2  # of P_X beside the columns, at the end of a search that is cut short
_SEARCH_SHARE = 0.7  # of the effort or a time limit, before the bound is computed


@dataclass(frozen=True, eq=False)
class Envelope:
    """Mixture found, and what is proved about it.

    Attributes
    ----------
    pool : ColumnPool
    mixture : Mixture
        Its value is H(T|Y).
    bound : float
        No mixture of Π has a value below this.
    status : str
        ``optimal`` (gap reached), ``effort`` (used up), ``time_limit``, ``interrupted``, or ``stalled`` (rounding
        of the linear program stands between the bound and the gap asked for).
    """

    pool: ColumnPool
    mixture: Mixture
    bound: float
    status: str


def lower_envelope(
    inner: ResponsePolytope,
    outer: ResponsePolytope,
    p_x: NDArray[np.float64],
    seeds: Iterable[NDArray[np.float64]],
    *,
    gap: float,
    effort: Effort,
    loss: Loss | None = None,
) -> Envelope:
    """Mix vertices of ``inner`` into P_X with the least loss; bound it over ``outer``, which contains inner.

    Parameters
    ----------
    inner, outer : ResponsePolytope
        The polytope with and without its safety margin.
    p_x : ndarray of shape (n,)
        A point of both.
    seeds : iterable of ndarray of shape (n,)
        Points of the polytope to begin with, besides P_X.
    gap : float
        Stop when value - bound is at most this, in nats.
    effort : Effort
        Entries of linear programs that may be solved, and a time limit where there is one.
    loss : Loss, optional
        What is to be kept, by default X; polytopes have its variables (`ResponsePolytope.with_target`).
    """
    search = _Search(inner, outer, p_x, gap, effort, Loss() if loss is None else loss)
    search.pool.add(p_x)
    for seed in seeds:
        search.pool.add(seed)
    search.mixture = search.pool.mix()
    try:
        with progress("optimal random response") as show:
            search.run(show)
        status = (
            "stalled" if not search.searched_enough() else "time_limit" if effort.is_late(_SEARCH_SHARE) else "effort"
        )
    except KeyboardInterrupt:
        status = "interrupted"
        search.mixture = search.pool.mix()
    except (np.linalg.LinAlgError, RoundingStops):
        status = "stalled"  # what was found before is still a mixture and a bound
    if search.mixture.value - search.bound <= gap:
        status = "optimal"
    return Envelope(search.pool, search.mixture, search.bound, status)


class _Search:
    """State of one run; every assignment leaves a valid mixture and a valid bound."""

    mixture: Mixture

    def __init__(
        self,
        inner: ResponsePolytope,
        outer: ResponsePolytope,
        p_x: NDArray[np.float64],
        gap: float,
        effort: Effort,
        loss: Loss | None = None,
    ) -> None:
        self.inner, self.outer, self.p_x, self.gap = inner, outer, p_x, gap
        self.effort = effort
        self.pool = ColumnPool(p_x, Loss() if loss is None else loss)
        self.bound = 0.0
        self.pricer = Pricer(inner, self.pool, np.random.default_rng(0), gap / 4, effort)

    def searched_enough(self) -> bool:
        return self.effort.is_used(_SEARCH_SHARE)

    def run(self, show: Callable[[str], None]) -> None:
        """Alternate between mixing and pricing until the gap is closed or time is up."""
        n = self.inner.n
        penalty = self.pricer.first_vertices() if not self.searched_enough() else None
        barren, rounds = 0, 0
        while True:
            early = rounds < _SHORT_ROUNDS and penalty is not None
            # Prices of missing letters steer the first rounds; they are no part of the mixture that counts.
            mixture = self.pool.mix(penalty if early else None)
            if not early:
                self.mixture = mixture
            self.effort.spend(len(self.pool) * n)
            show(f"{len(self.pool)} columns, gap {self.mixture.value - self.bound:.1e}")
            rounds += 1
            if self.searched_enough():
                self._add_rests()
                self.mixture = self.pool.mix()
                self._certify(self.mixture, stop_at_points=False)
                return
            found = self.pricer.from_pool(mixture.mu, mixture.chosen, _SHORT_WALK if early else _LONG_WALK)
            if early and found:
                continue
            if early:
                rounds = _SHORT_ROUNDS
                continue
            if found > n // _FEW:
                barren = 0
                continue
            found += self.pricer.from_random(mixture.mu, max(1, min(4, _STARTS // n)))
            barren = barren + 1 if not found else 0
            if barren < _BARREN:
                continue
            barren = _BARREN - 1
            if self._certify(mixture):
                return

    def _add_rests(self) -> None:
        """Columns that the others leave of P_X, each the better for the one before."""
        about = self.p_x
        for _ in range(_RESTS):
            self.effort.spend(len(self.pool) * self.inner.n)
            rest = rest_beside(self.pool, self.inner, about)
            if rest is None or not self.inner.contains(rest[None, :])[0] or not self.pool.add(rest):
                return
            about = rest

    def _certify(self, mixture: Mixture, *, stop_at_points: bool = True) -> bool:
        """Bound the optimum by these prices; True if the gap is closed or nothing better was found."""
        value = float(mixture.mu @ self.p_x)
        target = self.mixture.value - value - _CERTIFIED_SHARE * self.gap
        certificate = certify(self.outer, mixture.mu, self.p_x, target, self.effort, stop_at_points=stop_at_points)
        self.bound = max(self.bound, value + certificate.bound)
        if len(certificate.points):
            added = self.pricer.from_points(mixture.mu, certificate.points, certificate.bases)
            return not (added or any(self.pool.add(v / v.sum()) for v in certificate.points))
        return True
