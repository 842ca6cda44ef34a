"""The optimal mixture of all vertices of Π, for laws small enough to list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._random_response.double_description import vertices
from sanitize.mechanisms._random_response.loss import entr
from sanitize.mechanisms._random_response.mixture import best_mixture
from sanitize.mechanisms._random_response.pool import NOTHING, Mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._random_response.loss import Loss

# Up to here, listing every vertex of the polytope is quicker than looking for the right ones.
_MOST_VERTICES, _MOST_PAIRS = 20_000, 1 << 21
_NEXT_TO_NOTHING = 1e-30


@dataclass(frozen=True, eq=False)
class Vertices:
    """All vertices of a polytope of posteriors.

    Attributes
    ----------
    points : ndarray of shape (n, K)
        A vertex a column.
    cost : ndarray of shape (K,)
        What they lose, beyond what their letters alone leave open, in nats; 0 exactly for letters alone.
    """

    points: NDArray[np.float64]
    cost: NDArray[np.float64]

    @classmethod
    def of(cls, cuts: NDArray[np.float64]) -> Vertices | None:
        """Vertices of {v >= 0: Σ v = 1, cuts @ v >= 0}; None where there are too many, or rounding would decide."""
        found = vertices(cuts, _MOST_VERTICES, _MOST_PAIRS)
        return None if found is None or not len(found) else cls(found.T, entr(found).sum(axis=1))

    def towards(self, loss: Loss) -> Vertices:
        """The same vertices, and what they lose of a target."""
        if loss.law is None:
            return self
        beyond = loss.of(self.points.T) - (loss.alone(len(self.points))[:, None] * self.points).sum(axis=0)
        # Vertices whose letters say the same of the target lose nothing, but only letters alone may cost nothing: the
        # mixture starts from these.
        return Vertices(self.points, np.where(self.cost <= 0, 0.0, np.maximum(beyond, _NEXT_TO_NOTHING)))

    def mix(self, p_x: NDArray[np.float64]) -> Mixture | None:
        """The best mixture into P_X, shape (n,); None where rounding or ties keep the simplex method from it."""
        return best_mixture(self.points.T, self.cost, p_x)

    def lowest(self, mu: NDArray[np.float64]) -> float:
        """Least H(v) - μ·v of a vertex, in nats."""
        return float((self.cost - mu @ self.points).min())


def mix_all_vertices(
    outer: NDArray[np.float64],
    inner: NDArray[np.float64],
    p_x: NDArray[np.float64],
    gap: float,
    loss: Loss,
) -> tuple[NDArray[np.float64], Mixture, float, int] | None:
    """Posteriors chosen, shape (k, n), their mixture, its lower bound, and how many vertices there are.

    The value and its bound are beyond Σ P(x) H(T|x), which no response can lower.

    None where there are too many vertices, or rounding leaves a doubt or a gap: the other route is for these.

    Parameters
    ----------
    outer, inner : ndarrays of shape (k, n)
        Rows a with a·v >= 0 for the posteriors v that bounds are proved on, and for those that columns are made of;
        one array where these are the same but for a margin.
    p_x : ndarray of shape (n,)
        Law of these letters.
    gap : float
        In nats.
    loss : Loss
        What is to be kept.
    """
    around = Vertices.of(outer)
    within = around if around is None or inner is outer else Vertices.of(inner)
    if around is None or within is None:
        return None
    around, within = around.towards(loss), within.towards(loss)
    mixture = within.mix(p_x)
    if mixture is None:
        return None
    # No mixture of posteriors within the budget has a lower value: they are mixtures of these vertices, H is concave.
    bound = float(mixture.mu @ p_x) + min(around.lowest(mixture.mu), 0.0)
    if mixture.value - bound > gap:
        return None
    chosen = within.points[:, mixture.chosen].T
    if not (chosen > NOTHING).any(axis=0).all():  # a letter so rare that its share of every posterior is rounding
        return None
    return chosen, mixture, max(bound, 0.0), len(within.cost)
