"""What is left of P_X beside columns that were found, where these alone do not mix into it: one column of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.mechanisms._random_response.pool import scaled_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._random_response.polytope import ResponsePolytope
    from sanitize.mechanisms._random_response.pool import ColumnPool

_NOTHING = 1e-9


def rest_beside(pool: ColumnPool, polytope: ResponsePolytope, about: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Posterior that is left where columns of the pool take as much of P_X as pays; None where nothing is left.

    P_X as a whole is within every budget, and so is what a small part of other columns leaves of it: where a search
    ends before its columns mix into P_X, they are worth something beside such a rest. A linear program chooses how
    much of each column, the rest q >= 0 being within the budget. Its loss is concave, and is replaced by its tangent
    at ``about``, which is never less.
    """
    from scipy.optimize import linprog

    n, n_columns = polytope.n, len(pool)
    scaled, scale = scaled_columns(pool.matrix(), pool.p_x)
    cuts = _cuts(polytope)
    n_more = cuts.shape[1] - n
    # The rest is a share of each letter of P_X, which makes all rows of one size.
    cuts[:, :n] *= pool.p_x
    tangent = pool.loss.slope(about[None, :], _NOTHING)[0] * pool.p_x
    solution = linprog(
        np.concatenate([np.array(pool.costs) / scale, tangent, np.zeros(n_more)]),
        A_ub=sparse.hstack([sparse.csc_array((len(cuts), n_columns)), sparse.csc_array(cuts)], format="csc"),
        b_ub=np.zeros(len(cuts)),
        A_eq=sparse.hstack([scaled, sparse.eye_array(n), sparse.csc_array((n, n_more))], format="csc"),
        b_eq=np.ones(n),
        method="highs-ds",
    )
    if solution.status != 0:
        return None
    rest = np.maximum(solution.x[n_columns : n_columns + n], 0.0) * pool.p_x
    return rest / rest.sum() if rest.sum() > _NOTHING else None


def _cuts(polytope: ResponsePolytope) -> NDArray[np.float64]:
    """Rows a with a·q <= 0 for every q >= 0 that is a multiple of a point of the polytope.

    A bound on the ratio of lifts asks for one more variable, a number between the least lift and the largest.
    """
    lifts = polytope.lifts
    if not math.isnan(polytope.ratio):
        between = np.ones((len(lifts), 1))
        return np.block([[-lifts, between], [lifts, -polytope.ratio * between]])
    above = lifts - polytope.high if math.isfinite(polytope.high) else np.empty((0, polytope.n))
    return np.concatenate([polytope.low - lifts, above])
