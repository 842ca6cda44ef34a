"""Certified lower bound on min H(v) - μ·v over the columns within a budget under every law of a set.

Branch and bound on boxes as for one law (`certificate`), over half-spaces that contain those columns: wherever a
box is bounded at a column outside, the worst laws there give one more half-space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._random_response.certificate import MOST_OPEN, Tree, price_of_repair
from sanitize.mechanisms._random_response.loss import entr
from sanitize.mechanisms._random_response.robust_cone import SAFE
from sanitize.mechanisms._random_response.robust_cuts import CutPolytope, cuts_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._effort import Effort
    from sanitize.mechanisms._random_response.robust_cone import RobustCone

_NEW_ROWS = 12  # a batch of boxes
_MOST_ROWS = 200


@dataclass(eq=False)
class RobustCertificate:
    """What is proved about columns within the budget.

    Attributes
    ----------
    bound : float
        Mixtures of such columns into P_X are worth at least μ·P_X + bound.
    points : ndarray of shape (K, n)
        Columns within the budget that are below the target: the search stops where it meets some.
    beside : ndarray of shape (K, n)
        Columns below the target that are over the budget: where to look for others.
    polytope : CutPolytope
        Half-spaces found, for the next search.
    """

    bound: float
    points: NDArray[np.float64]
    beside: NDArray[np.float64]
    polytope: CutPolytope


class _CutTree(Tree):
    """Boxes of one search over half-spaces that become more while it goes on."""

    def __init__(self, polytope: CutPolytope, mu: NDArray[np.float64], target: float) -> None:
        super().__init__(polytope, mu, target)
        self.cuts = polytope

    def add(self, rows: NDArray[np.float64]) -> None:
        """More half-spaces, to a limit that keeps the programs small."""
        room = _MOST_ROWS - len(self.cuts.rows)
        if len(rows) and room > 0:
            new = np.unique(rows.round(13), axis=0)[: min(room, _NEW_ROWS)]
            self.cuts = CutPolytope.of(np.concatenate([self.cuts.rows, new]))
            self.polytope = self.cuts

    def _basis(self, kept: NDArray[np.intp]) -> NDArray[np.intp]:
        return self.cuts.padded(kept)


def certify_robust(
    cone: RobustCone, polytope: CutPolytope, mu: NDArray[np.float64], target: float, effort: Effort
) -> RobustCertificate:
    """Prove ``H(v) - μ·v >= target`` for columns within the budget, or find some below it, or stop with the effort.

    At least the first layer of boxes is always bounded, so the result is valid (if weak) at any effort.
    """
    tree = _CutTree(polytope, mu, target)
    none = np.empty((0, polytope.n))
    beside = none
    while tree.has_roots or (0 < len(tree.heap) <= MOST_OPEN and not effort.is_used()):
        boxes, open_ = tree.step()
        effort.spend(len(boxes.low) * tree.cuts.work)
        v = np.clip(boxes.v[open_], 0.0, 1.0)
        v /= v.sum(axis=1, keepdims=True)
        below = entr(v).sum(axis=1) - (v * mu).sum(axis=1) < target
        inside = cone.excess(v) <= SAFE
        if (below & inside).any():
            return RobustCertificate(tree.bound, v[below & inside], v[below & ~inside], tree.cuts)
        if (below & ~inside).any():
            beside = v[below & ~inside]
        outside = v[~inside]
        order = np.argsort(boxes.bound[open_][~inside], kind="stable")[: 4 * _NEW_ROWS]
        tree.add(cuts_at(cone, outside[order]))
    return RobustCertificate(target - price_of_repair(tree, cone.p_x / cone.p_x.sum()), none, beside, tree.cuts)
