"""Entropy that remains after a released symbol, and the linear program that mixes known columns into P_X."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize._util.arithmetic import entr, log, product
from sanitize._util.checks import Codes, Mask, Vector, doubles
from sanitize._util.tolerances import PROBABILITY_SUM, TIGHT
from sanitize.core.measures import share_of_entropy, utility
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms._response_solver.polytope import LiftBounds

    Vertex = tuple[Codes, Mask]

# A letter with a smaller share of a posterior counts as absent: it is what rounding leaves of 0.
NOTHING = 1e-15
# Weights up to this multiple of the least P(x) count as 0: no letter then loses more than rounding does.
_POSITIVE = 1e-13
# A smaller remainder of P_X is rounding of the other weights, and the slope of H is infinite at 0.
_SMALL = 1e-9


class RoundingStops(ArithmeticError):
    """Error raised inside a search if probabilities differ too much for linear programs in double precision."""


@dataclass(frozen=True, eq=False)
class Loss:
    """Loss of posteriors v = P(x|y): the remaining entropy H(T|y) in nats.

    The distribution of T is linear in v, so H(T|y) is concave in v like H(X|y): the best response mixes vertices of the
    same polytope, and chords bound H(T|y) from below in the same way.

    Attributes
    ----------
    distribution : ndarray of shape (n_t, n), optional
        P(t|x); None if T is X itself.
    """

    distribution: Vector | None = None

    @classmethod
    def for_target(cls, target: ArrayLike | None, n_symbols: int) -> Loss:
        """Return the loss for a target, given as P(t|x), shape (n_t, n_symbols), or for X itself if None.

        Raises
        ------
        InvalidParameter
            If the target is not a matrix with ``n_symbols`` columns, each of which is a distribution.
        """
        if target is None:
            return cls()
        error = InvalidParameter(
            f"target must be a matrix P(t|x) with one column for each of the {n_symbols} symbols; every column must be "
            ">= 0 and sum to 1"
        )
        distribution = doubles(target, error)
        if distribution.ndim != 2 or distribution.shape[1] != n_symbols:
            raise error
        if not ((distribution >= 0).all() and (np.abs(distribution.sum(axis=0) - 1) <= PROBABILITY_SUM).all()):
            raise error
        return cls(distribution[distribution.any(axis=1)])

    def restricted_to(self, letters: Codes) -> Loss:
        """Return the loss of posteriors over a subset of letters."""
        return self if self.distribution is None else Loss(self.distribution[:, letters])

    def target_posteriors(self, v: Vector) -> Vector:
        """Distribution P(t|y) for posteriors v, shape (K, n_t)."""
        return v if self.distribution is None else product(v, self.distribution.T)

    def entropies(self, v: Vector) -> Vector:
        """Entropy H(T|y) for posteriors v, shape (K,)."""
        return np.asarray(entr(self.target_posteriors(v)).sum(axis=1))

    def slope(self, v: Vector, floor: float) -> Vector:
        """Slope of H(T|y) at v up to a constant, shape (K, n); probabilities are raised to at least ``floor``."""
        slope = -log(np.maximum(self.target_posteriors(v), floor))
        return slope if self.distribution is None else product(slope, self.distribution)

    def symbol_entropies(self, n: int) -> Vector:
        """Entropy H(T|x) of n single letters."""
        return np.zeros(n) if self.distribution is None else np.asarray(entr(self.distribution).sum(axis=0))

    def entropy(self, p_x: Vector) -> float:
        """Entropy H(T)."""
        return float(self.entropies(p_x[None, :])[0])

    def information(self, joint: JointDistribution, channel: Channel) -> float:
        """Information I(T;Y) of a channel from X to Y."""
        if self.distribution is None:
            return utility(joint, channel)
        released = channel.push(self.distribution * joint.p_x)
        open_ = entr(released).sum() - entr(released.sum(axis=0)).sum()
        return max(0.0, float(entr(released.sum(axis=1)).sum() - open_))

    def share(self, information: float, p_x: Vector) -> float:
        """Share of H(X), or of I(T;X), that is kept; 1 if nothing can be kept."""
        if self.distribution is None:
            return share_of_entropy(information, p_x)
        available = self.entropy(p_x) - float(product(self.symbol_entropies(len(p_x)), p_x))
        return min(1.0, information / available) if available > NOTHING else 1.0


@dataclass(frozen=True, eq=False)
class Mixture:
    """Optimal mixture of the columns v of a pool: min Σ β H(T|v) with Σ β v = P_X and β >= 0.

    Attributes
    ----------
    value : float
        Σ β H(T|v), in nats: H(T|Y).
    mu : ndarray of shape (n,)
        Dual price of each letter.
    chosen : ndarray of int
        Columns with positive weight.
    weights : ndarray
        Weights β of the chosen columns.
    """

    value: float
    mu: Vector
    chosen: Codes
    weights: Vector


@dataclass(eq=False)
class ColumnPool:
    """Pool of distinct points of Π (columns) with their losses; a vertex also keeps its basis."""

    p_x: Vector
    loss: Loss = field(default_factory=Loss)
    letters: list[Codes] = field(default_factory=list)
    shares: list[Vector] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    vertices: dict[int, Vertex] = field(default_factory=dict)
    _known: set[tuple[bytes, bytes]] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.costs)

    def add(self, v: Vector, vertex: Vertex | None = None) -> bool:
        """Add a point v of the simplex, shape (n,); return False if the pool contains it already."""
        letters = np.flatnonzero(v > NOTHING)
        shares = v[letters] / v[letters].sum()
        key = letters.tobytes(), np.round(shares, 10).tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        if vertex is not None:
            self.vertices[len(self)] = vertex[0].copy(), vertex[1].copy()
        self.letters.append(letters)
        self.shares.append(shares)
        spread = shares if self.loss.distribution is None else product(self.loss.distribution[:, letters], shares)
        self.costs.append(float(entr(spread).sum()))
        return True

    def matrix(self, columns: Codes | None = None) -> sparse.csc_array:
        """Return all columns, or some of them, as a sparse matrix (n, K)."""
        places = range(len(self)) if columns is None else columns.tolist()
        letters, shares = [self.letters[k] for k in places], [self.shares[k] for k in places]
        indptr = np.append(0, np.cumsum([len(part) for part in letters]))
        return sparse.csc_array(
            (np.concatenate(shares), np.concatenate(letters), indptr), shape=(len(self.p_x), len(letters))
        )

    def mix(self, penalty: Vector | None = None) -> Mixture:
        """Find the best mixture; with a penalty per letter, shape (n,), single letters are columns at this cost."""
        from scipy.optimize import linprog

        matrix, cost = self.matrix(), np.array(self.costs)
        n_columns = len(cost)
        if penalty is not None:
            matrix = sparse.csc_array(sparse.hstack([matrix, sparse.eye_array(len(self.p_x))]))
            cost = np.append(cost, penalty)
        scaled, scale = _scale_columns(matrix, self.p_x)
        # HiGHS may fail at tight tolerances on similar columns; its default tolerances then still give a mixture.
        for options in (TIGHT | {"presolve": False}, {}):
            program = linprog(
                cost / scale, A_eq=scaled, b_eq=np.ones(len(self.p_x)), method="highs-ds", options=options
            )
            if program.status == 0:
                break
        else:
            raise RoundingStops(f"the linear program of the optimal response failed: {program.message}")
        weights = program.x / scale
        chosen = np.flatnonzero(weights[:n_columns] > _POSITIVE * self.p_x.min())
        return Mixture(float(program.fun), program.eqlin.marginals / self.p_x, chosen, weights[chosen])

    def residual_posterior(self, bounds: LiftBounds, about: Vector) -> Vector | None:
        """Return the posterior left of P_X after columns use its most informative part; None if nothing remains.

        P_X itself is within every budget, and so is the remainder of P_X after small parts of other columns are taken
        from it. So if a search ends before its columns mix into P_X, they are still useful together with such a
        remainder. A linear program chooses the amount of each column such that the remainder q >= 0 is within the
        budget. The concave loss of q is replaced by its tangent at ``about``, which is never smaller.
        """
        from scipy.optimize import linprog

        n, n_columns = len(self.p_x), len(self)
        scaled, scale = _scale_columns(self.matrix(), self.p_x)
        rows, low, high = bounds.rows()
        whole = np.append(np.ones(n), np.zeros(rows.shape[1] - n))
        cuts = np.concatenate([low[:, None] * whole - rows, rows - high[:, None] * whole])
        # The remainder is expressed as a share of each P(x), so that all rows have the same scale.
        cuts[:, :n] *= self.p_x
        tangent = self.loss.slope(about[None, :], _SMALL)[0] * self.p_x
        n_more = cuts.shape[1] - n
        program = linprog(
            np.concatenate([np.array(self.costs) / scale, tangent, np.zeros(n_more)]),
            A_ub=sparse.hstack([sparse.csc_array((len(cuts), n_columns)), sparse.csc_array(cuts)], format="csc"),
            b_ub=np.zeros(len(cuts)),
            A_eq=sparse.hstack([scaled, sparse.eye_array(n), sparse.csc_array((n, n_more))], format="csc"),
            b_eq=np.ones(n),
            method="highs-ds",
        )
        if program.status != 0:
            return None
        residual = np.maximum(program.x[n_columns : n_columns + n], 0.0) * self.p_x
        return np.asarray(residual / residual.sum()) if residual.sum() > _SMALL else None


def _scale_columns(matrix: sparse.csc_array, p_x: Vector) -> tuple[sparse.csc_array, Vector]:
    """Return columns v(x)/P(x), each scaled to a largest entry of 1, and the divisors."""
    scaled = sparse.csc_array(sparse.diags_array(1 / p_x) @ matrix)
    scale = np.maximum.reduceat(scaled.data, scaled.indptr[:-1])
    scaled.data /= np.repeat(scale, np.diff(scaled.indptr))
    return scaled, scale
