"""Side knowledge of a reader about a row: cuts of posteriors, and the excess of a channel, in each possible case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import product
from sanitize._util.checks import Vector, doubles
from sanitize._util.tolerances import PROBABILITY_SUM
from sanitize.errors import InvalidParameter
from sanitize.mechanisms._response_solver.polytope import LiftBounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from sanitize.core.budgets import Budget, LDPBudget, LiftBudget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

# A smaller cut is rounding: a reader who knows the case learns nothing, whatever is released.
_NOTHING_TO_LEARN = 1e-12


@dataclass(frozen=True, eq=False)
class SideKnowledge:
    """Cases w that a reader may know about a row, with (S, W) - X - Y a Markov chain, and lifts P(s|y,w) / P(s|w).

    P(s,w|y) is the mean of P(s,w|x) over the posterior v of a released symbol y, so a budget in the case w is linear in
    v, as without side knowledge: Σ_x v(x) P(w|x) (l_w(s,x) - low) >= 0, and likewise for the upper bound, with l_w(s,x)
    = P(s|x,w) / P(s|w).

    A budget that holds in two cases may fail for a reader who knows only that one of them holds: the posterior of both
    together weighs them by P(w|y), the prior by P(w). So each such sum of cases is a case of its own: proof 8 in
    docs/theory/proofs.md.

    Attributes
    ----------
    masses : ndarray of shape (n_w, n_s, n_x)
        P(w, s, x). The cases of one set of columns sum to P(s, x); there may be several such sets, and sums of cases.
    """

    masses: Vector

    @classmethod
    def from_columns(
        cls, joint: JointDistribution, side_columns: str | Sequence[str] | ArrayLike
    ) -> SideKnowledge | None:
        """Build the cases for all subsets of some public columns, or from P(w, s, x); None if nothing is known."""
        if isinstance(side_columns, str):
            side_columns = [side_columns]
        if isinstance(side_columns, list | tuple) and all(isinstance(name, str) for name in side_columns):
            masses = joint.pmf * joint.public.alike(side_columns)[:, None]
        else:
            error = InvalidParameter(
                "side_columns must name public columns, or be an array P(w, s, x) with entries from 0 to P(s, x)"
            )
            masses = doubles(side_columns, error)
            is_part = masses.ndim == 3 and masses.shape[1:] == joint.pmf.shape and bool((masses >= 0).all())
            if not is_part or (masses > joint.pmf + PROBABILITY_SUM).any():
                raise error
        masses = masses[masses.any(axis=(1, 2))]
        return cls(masses) if len(masses) else None

    def cuts(self, budget: LiftBudget | LDPBudget, p_x: Vector, *, is_inner: bool) -> Vector:
        """Rows a with a·v >= 0 for posteriors within the budget in every case, shape (k, n_x)."""
        rows = [np.zeros((0, len(p_x)))]
        for lifts, mass in zip(self._lifts(self.masses)[0], self.masses.sum(axis=1), strict=True):
            prior = mass / mass.sum()
            mean = None if is_inner else product(lifts, prior)
            bounds = LiftBounds.inner(lifts, budget, prior) if mean is None else LiftBounds.outer(lifts, budget, mean)
            rows.append(bounds.cuts() * (mass / p_x))
        every = np.concatenate(rows)
        return every[every.min(axis=1) < -_NOTHING_TO_LEARN]

    def excess(self, budget: Budget, channel: Channel) -> Vector:
        """Excess of each released symbol's leakage over the budget in its worst case w, shape (n_y,)."""
        n_w, n_s, n_x = self.masses.shape
        lifts, p_s = self._lifts(channel.push(self.masses.reshape(-1, n_x)).reshape(n_w, n_s, -1))
        return np.max([budget.lift_excess(*case) for case in zip(lifts, p_s, strict=True)], axis=0)

    def _lifts(self, masses: Vector) -> tuple[Vector, Vector]:
        """Lifts of each case, shape (n_w, n_s, n), and P(s|w); 1 if a case lacks s or the symbol."""
        total, p_s = masses.sum(axis=1, keepdims=True), self.masses.sum(axis=2)
        p_s /= p_s.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            lifts = masses / total / p_s[..., None]
        return np.where(np.isfinite(lifts), lifts, 1.0), p_s
