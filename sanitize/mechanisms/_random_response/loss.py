"""What a released symbol leaves open: the entropy of X, or of a target T with T - X - Y, concave in P(x|y)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from sanitize._tolerances import PROBABILITY_SUM
from sanitize.errors import InvalidParameter
from sanitize.measures import utility

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sanitize.channel import Channel
    from sanitize.joint import JointDistribution


@dataclass(frozen=True, eq=False)
class Loss:
    """H(T|y) of posteriors v = P(x|y), in nats.

    The law of T is linear in v, so H(T|y) is concave in v as H(X|y) is: the best response mixes vertices of the same
    polytope, and chords bound it from below in the same way.

    Attributes
    ----------
    law : ndarray of shape (n_t, n), optional
        P(t|x); None is T = X.
    """

    law: NDArray[np.float64] | None = None

    @classmethod
    def towards(cls, target: ArrayLike | None, n_symbols: int) -> Loss:
        """Loss of a target, given as P(t|x), shape (n_t, n_symbols); None is X itself.

        Raises
        ------
        InvalidParameter
            If it is no matrix of that many columns, each of them a distribution.
        """
        if target is None:
            return cls()
        try:
            law = np.asarray(target, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter("target must be a matrix of the probabilities P(t|x), one column a symbol") from None
        if law.ndim != 2 or law.shape[1] != n_symbols:
            raise InvalidParameter(
                f"target must be P(t|x), one column for each of the {n_symbols} public symbols, got shape {law.shape}"
            )
        if not ((law >= 0).all() and (np.abs(law.sum(axis=0) - 1) <= PROBABILITY_SUM).all()):
            raise InvalidParameter("target must be P(t|x): every column must be >= 0 and sum to 1")
        return cls(law[law.any(axis=1)])

    def on(self, letters: NDArray[np.intp]) -> Loss:
        """The same for posteriors over some letters."""
        return self if self.law is None else Loss(self.law[:, letters])

    def spread(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(t|y) of posteriors v, shape (K, n_t)."""
        return v if self.law is None else v @ self.law.T

    def of(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """H(T|y) of posteriors v, shape (K,)."""
        return np.asarray(entr(self.spread(v)).sum(axis=1))

    def of_few(self, letters: NDArray[np.intp], shares: NDArray[np.float64]) -> float:
        """H(T|y) of one posterior that has these shares of these letters."""
        return float(entr(shares if self.law is None else (self.law[:, letters] * shares).sum(axis=1)).sum())

    def slope(self, v: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """Slope of H(T|y) at v but for a constant, shape (K, n); probabilities below ``floor`` are raised to it."""
        slope = -np.log(np.maximum(self.spread(v), floor))
        return slope if self.law is None else slope @ self.law

    def alone(self, n: int) -> NDArray[np.float64]:
        """H(T|x) of n letters by themselves."""
        return np.zeros(n) if self.law is None else np.asarray(entr(self.law).sum(axis=0))

    def entropy(self, p_x: NDArray[np.float64]) -> float:
        """H(T)."""
        return float(self.of(p_x[None, :])[0])

    def kept(self, joint: JointDistribution, channel: Channel) -> float:
        """I(T;Y) of a channel from X to Y."""
        if self.law is None:
            return utility(joint, channel)
        released = channel.push(self.law * joint.p_x)
        open_ = entr(released).sum() - entr(released.sum(axis=0)).sum()
        return max(0.0, float(entr(released.sum(axis=1)).sum() - open_))


def entr(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """-x log x, of any shape; 0 of 0 and of what rounding leaves below."""
    return np.asarray(special.entr(np.maximum(x, 0.0)))
