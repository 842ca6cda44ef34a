"""The lift l(s, y) = P(s|y) / P(s), and all measures of the leakage of one released symbol.

Functions take a distribution of (S, Y) and return one value per released symbol y; logarithms are in nats. Zeros are
allowed: an empty cell has lift 0, log-lift -inf and inverse lift +inf. References: [ZDS] sections II, VI.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.arithmetic import power, product
from sanitize._util.checks import Vector, check_number, number
from sanitize._util.tolerances import SAME, TIGHT
from sanitize.errors import InvalidDistribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.joint import JointDistribution

__all__ = [
    "alpha_lift",
    "alpha_lift_inverse",
    "chi2_lift",
    "chi2_lift_inverse",
    "l1_lift",
    "l1_lift_inverse",
    "ldp_ratio",
    "lift",
    "log_lift",
    "max_lift",
    "max_log_lift",
    "min_lift",
    "min_log_lift",
    "pml_envelope",
    "pml_quantile",
]

# Violation from which a row of the envelope's program counts as broken; the solver leaves violations up to 1e-10.
_BROKEN = 2e-10
# Width in nats of the interval in which a quantile is bracketed: each halving takes a linear program, and a verdict
# needs no more digits.
_QUANTILE = 1e-9


def lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Lift l(s, y) = P(s, y) / (P(s) P(y)), shape (n_s, n_y) [ZDS eq. 1].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> lift(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]]))
    array([[2.        , 0.66666667],
           [0.        , 1.33333333]])
    """
    try:
        return joint.pmf / joint.p_s[:, None] / joint.p_x
    except AttributeError:
        raise InvalidDistribution.expected_joint(joint) from None


def log_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Log-lift i(s, y) = log l(s, y) in nats, shape (n_s, n_y); -inf where P(s, y) = 0.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> log_lift(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])).round(4)
    array([[ 0.2877,    -inf],
           [-0.4055,  0.6931]])
    """
    return logs(lift(joint))


def max_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Largest lift over s of each symbol, Λ(y), shape (n_y,); at least 1 [ZDS eq. 2].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> max_lift(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])).round(4)
    array([1.3333, 2.    ])
    """
    return np.maximum(lift(joint).max(axis=0), 1.0)  # lifts average to 1 under P_S, up to rounding


def min_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Smallest lift over s of each symbol, Ψ(y), shape (n_y,); at most 1, and 0 if P(s, y) = 0 for some s.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> min_lift(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])).round(4)
    array([0.6667, 0.    ])
    """
    return np.minimum(lift(joint).min(axis=0), 1.0)


def max_log_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Largest log-lift of each symbol, log Λ(y) in nats, shape (n_y,): pointwise maximal leakage.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> max_log_lift(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])).round(4)
    array([0.2877, 0.6931])
    """
    return logs(max_lift(joint))


def min_log_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Smallest log-lift of each symbol, log Ψ(y) in nats, shape (n_y,).

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> min_log_lift(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])).round(4)
    array([-0.4055,    -inf])
    """
    return logs(min_lift(joint))


def pml_envelope(joint: JointDistribution, u: float) -> float:
    """Envelope of pointwise maximal leakage: the largest P(max-log-lift of Z >= u) over all Z computed from Y.

    P(max-log-lift of Y >= u) may grow when symbols are merged: a very revealing symbol and others can become one symbol
    that just reaches u. The envelope is the largest value that any Z computed from Y (S - Y - Z) can reach. With q(s,
    y) >= 0 the mass of y that is merged for the secret s, the envelope is the largest sum of q such that sum_s q(s, y)
    <= P(y) for every y and sum_y q(s, y) (P(s|y) - e^u P(s)) >= 0 for every s, which is a linear program.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, Y).
    u : float
        Level of max-log-lift, in nats.

    Returns
    -------
    float
        A certain upper bound, equal to the envelope up to the solver's precision: the value of the dual program, min
        over λ >= 0 of sum_y P(y) max(0, max_s 1 + λ_s (P(s|y) - e^u P(s))), at the λ found.

    Examples
    --------
    >>> import math
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.1, 0.0, 0.4], [0.0, 0.1, 0.4]])
    >>> float(joint.p_x[max_log_lift(joint) >= math.log(1.9)].sum()), round(pml_envelope(joint, math.log(1.9)), 4)
    (0.2, 0.2222)
    """
    with np.errstate(over="ignore"):
        least = np.exp(number("u", u, -math.inf, math.inf))
    # A symbol on the bound must not count as below it because of rounding.
    return lift_envelope(lift(joint) * (1 + SAME), joint.p_x, float(least))


def pml_quantile(joint: JointDistribution, delta: float) -> float:
    """Least ε, in nats, such that any Z computed from Y has pointwise maximal leakage above ε with probability <= δ.

    This is the inverse ε(δ) of `pml_envelope`: sup P(log Λ(Z) > ε) over all Z computed from Y is at most δ, and no
    smaller ε has this property. So Y is (ε, δ)-PML under any post-processing [Saeidian], and within
    `PMLEnvelopeBudget(ε, δ)`.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, Y).
    delta : float
        δ, from 0 to 1.

    Returns
    -------
    float
        A value above the quantile by at most 1e-9.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.1, 0.0, 0.4], [0.0, 0.1, 0.4]])
    >>> [round(pml_quantile(joint, delta), 4) for delta in (0.0, 0.2222, 0.5, 1.0)]
    [0.6931, 0.6419, 0.3365, 0.0]
    """
    delta = number("delta", delta, 0, 1)
    low, high = 0.0, max(0.0, float(max_log_lift(joint).max()))
    if delta == 1:
        return 0.0
    lifts = lift(joint)
    while high - low > _QUANTILE:
        middle = (low + high) / 2
        # Rounding must not make a lift that equals the middle count as above it.
        mass = lift_envelope(lifts, joint.p_x, math.exp(middle) * (1 + SAME))
        low, high = (low, middle) if mass <= delta else (middle, high)
    return high


def lift_envelope(lifts: Vector, p_y: Vector, bound: float) -> float:
    """Largest mass of symbols with a lift of at least ``bound`` in any Z computed from Y, from lifts (n_s, n_y).

    The mass is the least Σ_y P(y) max(0, max_s 1 + λ_s (l - bound)) over λ_s >= 0; secrets that have such a lift in no
    symbol are left out: see proof 6 in docs/theory/proofs.md. In the linear program, each symbol y has a price v_y >=
    0, which is at least 1 + λ_s (l - bound) for each s. Few of these constraints bind: each symbol begins with its most
    revealing secret, and constraints that the last prices violate are added. The value is computed from the prices, not
    taken from the solver, so it is an upper bound whenever the rounds end.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    gains = lifts[lifts.max(axis=1) >= bound] - bound
    n_s, n_y = gains.shape
    if not n_s:
        return 0.0
    is_row = np.zeros(gains.shape, bool)
    is_row[gains.argmax(axis=0), np.arange(n_y)] = True
    best, is_broken = 1.0, np.ones(n_y, bool)
    while is_broken.any():
        s, y = np.nonzero(is_row)
        entries = np.concatenate([gains[s, y], -np.ones(len(s))])
        places = np.tile(np.arange(len(s)), 2), np.concatenate([s, n_s + y])
        rows = sparse.csc_array((entries, places), shape=(len(s), n_s + n_y))
        costs = np.append(np.zeros(n_s), p_y)
        prices = linprog(costs, rows, -np.ones(len(s)), method="highs-ds", options=TIGHT).x
        if prices is None:
            break
        needed = 1 + np.maximum(prices[:n_s], 0)[:, None] * gains
        top, highest = needed.argmax(axis=0), needed.max(axis=0)
        best = min(best, float(p_y @ np.maximum(highest, 0)))
        is_broken = highest > np.maximum(prices[n_s:], 0) * (1 + SAME) + _BROKEN
        is_broken &= ~is_row[top, np.arange(n_y)]
        is_row[top[is_broken], np.flatnonzero(is_broken)] = True
    return best


def ldp_ratio(joint: JointDistribution) -> NDArray[np.float64]:
    """Ratio of the largest to the smallest lift of each symbol, Γ(y) = Λ(y) / Ψ(y), shape (n_y,) [ZDS Def. 2].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> ldp_ratio(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])).round(4)
    array([ 2., inf])
    """
    with np.errstate(divide="ignore"):
        return max_lift(joint) / min_lift(joint)


def l1_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Sum over s of P(s) |l(s, y) - 1|, shape (n_y,); half its mean is the total variation [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> l1_lift(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]])).round(4)
    array([1.    , 0.3333])
    """
    return l1_deviation(lift(joint), joint.p_s)


def chi2_lift(joint: JointDistribution) -> NDArray[np.float64]:
    """Sum over s of P(s) (l(s, y) - 1)**2, shape (n_y,); its mean is the chi2 divergence [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> chi2_lift(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]])).round(4)
    array([1.    , 0.1111])
    """
    return chi2_deviation(lift(joint), joint.p_s)


def alpha_lift(joint: JointDistribution, alpha: float) -> NDArray[np.float64]:
    """Norm (sum over s of P(s) l(s, y)**alpha)**(1/alpha), shape (n_y,); the max-lift at alpha = inf [ZDS §VI].

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, Y).
    alpha : float
        Order, at least 1 (1 gives the value 1 for every symbol).

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> alpha_lift(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]]), 2).round(4)
    array([1.4142, 1.0541])
    """
    return alpha_norm(lift(joint), joint.p_s, check_alpha(alpha))


def l1_lift_inverse(joint: JointDistribution) -> NDArray[np.float64]:
    """ℓ1-lift with 1/l in place of l, shape (n_y,), which bounds the min-lift; inf if some P(s, y) = 0 [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> l1_lift_inverse(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]])).round(4)
    array([  inf, 0.375])
    """
    return l1_deviation(inverse(lift(joint)), joint.p_s)


def chi2_lift_inverse(joint: JointDistribution) -> NDArray[np.float64]:
    """chi2-lift with 1/l in place of l, shape (n_y,), which bounds the min-lift; inf if some P(s, y) = 0 [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> chi2_lift_inverse(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]])).round(4)
    array([   inf, 0.1562])
    """
    return chi2_deviation(inverse(lift(joint)), joint.p_s)


def alpha_lift_inverse(joint: JointDistribution, alpha: float) -> NDArray[np.float64]:
    """α-lift with 1/l in place of l, shape (n_y,), which bounds the min-lift; inf if some P(s, y) = 0 [ZDS §VI].

    Parameters
    ----------
    joint : JointDistribution
    alpha : float
        Order, at least 1; inf gives the largest 1/l.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> alpha_lift_inverse(JointDistribution.from_matrix([[0.25, 0.25], [0.0, 0.5]]), 2).round(4)
    array([   inf, 1.1859])
    """
    return alpha_norm(inverse(lift(joint)), joint.p_s, check_alpha(alpha))


def check_alpha(alpha: float) -> float:
    """Return the order of a Rényi-type measure if it is at least 1; otherwise refuse it."""
    return check_number("alpha", alpha, "be at least 1 (inf is allowed)", lambda order: order >= 1)


def l1_deviation(lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean |l - 1| of each column of lifts under the prior."""
    return product(p_s, np.abs(lifts - 1))


def chi2_deviation(lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean (l - 1)**2 of each column of lifts under the prior."""
    with np.errstate(over="ignore"):  # infinite if beyond the range of doubles
        return product(p_s, np.square(lifts - 1))


def alpha_norm(lifts: NDArray[np.float64], p_s: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Norm of order α of each column of lifts under the prior; scaled so that no power overflows."""
    top = lifts.max(axis=0)
    if np.isinf(alpha):
        return top
    with np.errstate(invalid="ignore"):
        scaled = np.where(np.isinf(top), 1.0, lifts / top)
    return top * power(product(p_s, power(scaled, alpha)), 1 / alpha)


def inverse(lifts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse lifts 1/l, inf where l = 0."""
    with np.errstate(divide="ignore"):
        return 1 / lifts


def logs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithms of numbers >= 0; -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
