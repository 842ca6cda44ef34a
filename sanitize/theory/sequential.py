"""The best channel of a second column beside a first release, for a linear objective: one linear program."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sanitize._util.checks import Vector, doubles
from sanitize._util.limits import BLOCK_CELLS, LOOSEST
from sanitize._util.tolerances import BUDGET, TIGHT
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets import LDPBudget, as_budget, check_kind, limits_for
from sanitize.core.channel import Channel, channel_matrix
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidBudget, InvalidChannel, InvalidParameter
from sanitize.theory.accounting import check_pair_tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.core.budgets import Budget, LiftBudget

__all__ = ["sequential_response"]


def sequential_response(
    distribution: ArrayLike, first: Channel | ArrayLike | Any, budget: Budget | float, gains: ArrayLike | None = None
) -> Channel:
    """Channel of a second column that keeps a joint budget beside the release of a first, and gains most.

    Budgets of separately designed releases do not add. Given M_1, P(s, y_1, y_2) = Σ P(s, y_1, x_2) M_2(y_2|x_2) is
    linear in M_2, and so is every bound on a lift or on the ratio of two: the largest mean of a gain g(x_2, y_2) is
    one linear program with n_x2 n_y2 variables.

    Guarantee
    ---------
    Every pair (y_1, y_2) is within the budget under the distribution given (to 1e-12), by
    `sanitize.theory.accounting.joint_release`. The mean gain is within about 1e-8 of the largest.

    Parameters
    ----------
    distribution : array-like of shape (n_s, n_x1, n_x2)
        Joint distribution of S and the two columns.
    first : array-like of shape (n_x1, n_y1), Channel, or estimator with ``channel_``
        P(y_1|x_1): released already, within the budget by itself.
    budget : LiftBudget, LDPBudget or float
        For (Y_1, Y_2) together; a number is symmetric local information privacy (LIP) in nats.
    gains : array-like of shape (n_x2, n_y2), optional
        What it is worth to release y_2 for x_2; by default 1 for y_2 = x_2 and 0 otherwise.

    Returns
    -------
    Channel
        From x_2 to y_2, numbered as in ``gains``; what is never released is left out. Where Y_1 uses the whole budget
        up for some s, Y_2 tells nothing more of that s.

    Raises
    ------
    InvalidBudget
        If the budget is of another kind, or the first release exceeds it.
    InvalidDistribution
        If the distribution is not one with three axes and every S of positive probability.
    InvalidChannel
        If the first channel does not fit.
    InvalidParameter
        If gains do not fit, or the program would be too large.

    Examples
    --------
    S is the sum of two bits modulo 2: the first is told as it is, and the second hardly at all.

    >>> import numpy as np
    >>> distribution = np.zeros((2, 2, 2))
    >>> distribution[[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]] = 0.25
    >>> sequential_response(distribution, np.eye(2), 0.1).matrix.round(4)
    array([[0.5476, 0.4524],
           [0.4524, 0.5476]])
    """
    tensor, p_s = check_pair_tensor(distribution, "X1", "X2")
    limits = check_kind(limits_for(as_budget(budget), Alphabet.from_size("s", len(p_s))))
    kernel = channel_matrix(first, "first")
    if len(kernel) != tensor.shape[1]:
        raise InvalidChannel(f"first takes {len(kernel)} symbols, its column has {tensor.shape[1]}")
    worth = np.eye(tensor.shape[2]) if gains is None else _gains(gains, tensor.shape[2])
    seen = np.einsum("sab,ay->ysb", tensor, kernel)
    seen = seen[seen.any(axis=(1, 2))]  # P(y_1, s, x_2)
    if float(limits.excess(_pairs(seen, np.ones((len(worth), 1)))).max()) > BUDGET:
        raise InvalidBudget("the first release exceeds the budget by itself; give the two more, or release less first")
    over = _rows(seen, p_s, limits)
    if len(over) * worth.size > BLOCK_CELLS:
        raise InvalidParameter("the program would have more than 2^22 entries; merge symbols first")
    p_x = tensor.sum(axis=(0, 1))
    return _mix_into_budget(_solve_program(over, p_x[:, None] * worth), seen, limits, p_x)


def _rows(seen: Vector, p_s: Vector, budget: LiftBudget | LDPBudget) -> Vector:
    """Rows a, shape (k, n_x2): M_2 is within the budget where a·M_2(y|.) <= 0 for every y."""
    of_s, of_all = np.broadcast_arrays(seen / p_s[None, :, None], seen.sum(axis=1)[:, None, :])
    if isinstance(budget, LDPBudget):
        i, j = np.nonzero(~np.eye(len(p_s), dtype=bool))
        sides: list[tuple[Vector, Vector, Any]] = [(of_s[:, i], of_s[:, j], budget.eps)]
    else:
        sides = [(of_s, of_all, budget.upper), (of_all, of_s, budget.lower)]
    rows = [np.empty((0, seen.shape[2]))]
    for high, low, level in sides:
        # high - e**level low in units, a margin inside; none of the margin where the sums over x_2 have no room.
        top, bottom = high.sum(axis=2), low.sum(axis=2)
        nats = np.broadcast_to(level, top.shape)
        live = (top > 0) & (nats < math.inf)
        nats = np.minimum(nats[live], LOOSEST)
        with np.errstate(divide="ignore"):
            room = nats - np.log(top[live] / bottom[live])
        # Columns are designed this much inside the budget, more than a program's tolerance, where there is room.
        margin = np.clip(room / 2, 0.0, 1e-9)[:, None]
        unit = np.maximum(top, bottom)[live][:, None]
        factor = np.array([math.exp(most) for most in nats])[:, None]
        rows.append((high[live] - factor * (1 - margin) * low[live]) / unit)
    return np.concatenate(rows)


def _solve_program(over: Vector, worth: Vector) -> Vector:
    """M_2 of the largest Σ worth M_2, to the tolerance of a program."""
    from scipy.optimize import linprog

    n_x, n_y = worth.shape
    solution = linprog(
        -worth.ravel() / (float(np.abs(worth).max()) or 1.0),
        A_ub=sparse.kron(sparse.csr_array(over), sparse.eye_array(n_y), format="csr") if len(over) else None,
        b_ub=np.zeros(len(over) * n_y) if len(over) else None,
        A_eq=sparse.kron(sparse.eye_array(n_x), np.ones((1, n_y)), format="csr"),
        b_eq=np.ones(n_x),
        method="highs-ds",
        options=TIGHT,
    )
    if solution.x is None:  # not in exact arithmetic: one output for all is a solution
        return np.full((n_x, n_y), 1 / n_y)
    matrix: Vector = np.maximum(solution.x, 0.0).reshape(n_x, n_y)
    return matrix / matrix.sum(axis=1, keepdims=True)


def _mix_into_budget(matrix: Vector, seen: Vector, budget: LiftBudget | LDPBudget, p_x: Vector) -> Channel:
    """Channel with as little of one row for all x_2 mixed in as the budget asks for, by its measured excess."""
    constant = p_x @ matrix
    share = 0.0
    while share < 1:
        channel = _channel((1 - share) * matrix + share * constant)
        if float(budget.excess(_pairs(seen, channel.matrix)).max()) <= BUDGET:
            return channel
        share = max(4 * share, 1e-13)
    return _channel(np.ones((len(matrix), 1)))


def _channel(matrix: Vector) -> Channel:
    used = np.flatnonzero(matrix.any(axis=0))
    rows = matrix[:, used] / matrix[:, used].sum(axis=1, keepdims=True)
    return Channel.from_matrix(rows, outputs=Alphabet(("y2",), used.tolist()))


def _pairs(seen: Vector, matrix: Vector) -> JointDistribution:
    """Distribution of S and the released pairs that occur."""
    released = np.einsum("ysb,bz->syz", seen, matrix).reshape(seen.shape[1], -1)
    released = released[:, released.any(axis=0)]
    return JointDistribution.from_matrix(released / released.sum())


def _gains(gains: ArrayLike, n_x: int) -> Vector:
    worth = doubles(gains, InvalidParameter("gains must be a matrix of numbers (n_x2, n_y2)"))
    if worth.ndim != 2 or len(worth) != n_x or not worth.size or not np.isfinite(worth).all():
        raise InvalidParameter(f"gains must be finite numbers of shape ({n_x}, n_y2), got shape {worth.shape}")
    return worth
