"""Measures of the leakage and utility of a whole release, as single numbers in nats; most are averages of lifts.

Every leakage takes a distribution of (S, Y); `normalized_utility` takes the distribution of (S, X) and the channel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import entr, logsumexp, xlogy

from sanitize._util.checks import Vector
from sanitize._util.limits import CHANNEL_CELLS
from sanitize.core.channel import ReducedChannel, check_channel
from sanitize.core.joint import JointDistribution, check_distribution, check_fit
from sanitize.core.lifts import check_alpha, chi2_lift, l1_lift, ldp_ratio, lift, max_lift
from sanitize.errors import ColumnError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.core.channel import Channel

__all__ = [
    "arimoto_information",
    "chi2_divergence",
    "dobrushin_coefficient",
    "effective_share",
    "ldp_epsilon",
    "max_information",
    "maximal_correlation",
    "maximal_leakage",
    "mutual_information",
    "normalized_utility",
    "sibson_information",
    "side_knowledge",
    "total_variation",
    "utility",
]

# Correlations of more symbols take minutes: the eigenvalues of one matrix, whose work grows with the cube of its side.
_MOST_SIDE = 4096
Kind = Literal["exact", "bound", "estimate"]
Scope = Literal["rows", "worst_case"]


def mutual_information(joint: JointDistribution) -> float:
    """Mutual information I(S;Y) = E[log l] in nats.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> round(mutual_information(JointDistribution.from_matrix([[0.5, 0.0], [0.0, 0.5]])), 6)
    0.693147
    """
    lifts = lift(joint)
    return max(0.0, float(joint.p_s @ xlogy(lifts, lifts) @ joint.p_x))


def total_variation(joint: JointDistribution) -> float:
    """Total variation T(S;Y) of P_SY from independence, half the mean ℓ1-lift, between 0 and 1 [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> total_variation(JointDistribution.from_matrix([[0.5, 0.0], [0.0, 0.5]]))
    0.5
    """
    return float(l1_lift(joint) @ joint.p_x) / 2


def chi2_divergence(joint: JointDistribution) -> float:
    """Divergence χ²(S;Y) of P_SY from independence, the mean chi2-lift [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> chi2_divergence(JointDistribution.from_matrix([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    return float(chi2_lift(joint) @ joint.p_x)


def sibson_information(joint: JointDistribution, alpha: float) -> float:
    """Sibson mutual information α/(α-1) log E[α-lift] in nats; I(S;Y) at 1, maximal leakage at inf [ZDS §VI].

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, Y).
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])
    >>> [round(sibson_information(joint, a), 4) for a in (1, 2, float("inf"))]
    [0.0863, 0.1533, 0.3365]
    """
    order = check_alpha(alpha)
    if math.isinf(order):
        return maximal_leakage(joint)
    return _renyi_information(joint, order)


def arimoto_information(joint: JointDistribution, alpha: float) -> float:
    """Arimoto mutual information H_α(S) - H_α(S|Y), the α-leakage of S, in nats [ZDS §VI].

    It equals Sibson's information with the prior tilted to P(s)**α in the weights; at inf it is the min-entropy
    leakage.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, Y).
    alpha : float
        Order, at least 1.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])
    >>> [round(arimoto_information(joint, a), 4) for a in (1, 2, float("inf"))]
    [0.0863, 0.1533, 0.3365]
    """
    order = check_alpha(alpha)
    check_distribution(joint)
    if math.isinf(order):
        return float(np.log(joint.pmf.max(axis=0).sum() / joint.p_s.max()))
    return _renyi_information(joint, order, np.log(joint.p_s))


def _renyi_information(joint: JointDistribution, alpha: float, tilt: NDArray[np.float64] | None = None) -> float:
    """Return α/(α-1) log E_Y[(Σ_s w(s) l(s, Y)^α)^{1/α}] for weights w ∝ P_S e^{(α-1) tilt}; None is a tilt of 0."""
    if alpha == 1:
        return mutual_information(joint)
    lifts = lift(joint)
    tilt = np.zeros(len(lifts)) if tilt is None else tilt
    order = alpha - 1
    with np.errstate(divide="ignore"):
        log_lifts = np.log(lifts)
    # Nearer to order 1 than this, the plain formula loses digits to cancellation.
    if order > 0.5:
        # Computed in logs, because for a large order the weight of a rare s with a large lift underflows.
        log_weights = np.log(joint.p_s) + order * tilt
        norms = logsumexp(log_weights[:, None] + alpha * log_lifts, axis=0) - logsumexp(log_weights)
        return max(0.0, alpha / order * float(logsumexp(norms / alpha, b=joint.p_x)))
    # With w = P_S e^{(α-1)t} / Z and Σ P_S l = 1 the bracket is 1 + Σ P_S l expm1((α-1)(t + log l)), over Z:
    # small numbers stay small, so that nothing cancels as α tends to 1.
    log_z = np.log1p(joint.p_s @ np.expm1(order * tilt))
    bracket = np.einsum("s,sy,sy->y", joint.p_s, lifts, np.expm1(order * (tilt[:, None] + log_lifts)))
    small = np.expm1((np.log1p(bracket) - log_z) / alpha)
    return max(0.0, alpha / order * float(np.log1p(small @ joint.p_x)))


def maximal_leakage(joint: JointDistribution) -> float:
    """Maximal leakage L(S→Y) = log E[max_s l(s, Y)], the Sibson information of order infinity, in nats [ZDS §VI].

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> round(maximal_leakage(JointDistribution.from_matrix([[0.5, 0.0], [0.0, 0.5]])), 6)
    0.693147
    """
    return max(0.0, float(np.log(max_lift(joint) @ joint.p_x)))


def side_knowledge(joint: JointDistribution, channel: Channel, side_columns: Sequence[str]) -> tuple[float, float]:
    """Smallest and largest log-lift, in nats, for an adversary who knows a row's values w in some public columns.

    That log-lift is log P(s|y,w) / P(s|w), and it is exact: P(s,w,y) is the sum of P(s,x) P(y|x) over all x with the
    values w. An adversary who knows all of X learns nothing more, so both are 0.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    channel : Channel
        From X to Y.
    side_columns : sequence of str
        Public columns that the adversary knows; without any, the result is the log-lift of S and Y.

    Raises
    ------
    ColumnError
        If a column is not public.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_frame(sz.datasets.load_titanic(), "survived", ["class", "sex"])
    >>> channel = sz.subset_merging(joint, sz.LiftBudget(at_most=1.65, at_least=0.37))
    >>> for side_columns in ([], ["class"], ["sex"], ["class", "sex"]):
    ...     print(side_columns, np.exp(side_knowledge(joint, channel, side_columns)).round(3))
    [] [0.69  1.586]
    ['class'] [0.073 3.63 ]
    ['sex'] [0.103 2.017]
    ['class', 'sex'] [1. 1.]
    """
    odds, _ = side_lifts(joint, channel, side_columns)
    with np.errstate(divide="ignore"):
        return float(np.log(odds.min())), float(np.log(odds.max()))


def side_lifts(
    joint: JointDistribution, channel: Channel, side_columns: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(s|y,w) / P(s|w) and P(s|w) for all s, y and w that occur together; see `side_knowledge`."""
    symbols, reduced = check_distribution(joint).public, ReducedChannel.from_channel(check_channel(channel))
    for name in set(side_columns) - {*symbols.columns}:
        listed = ", ".join(symbols.columns)
        raise ColumnError(f"side_columns names {name!r}, which is not public; choose among {listed}", name)
    w = symbols.group_by(side_columns)
    shape = len(joint.p_s), int(w.max()) + 1, reduced.n_states
    before = np.zeros(shape)
    for row, of_s in zip(joint.pmf, before, strict=True):
        np.add.at(of_s, (w, reduced.states), row)
    after = reduced.push(before.reshape(-1, shape[2]))
    p_swy, p_sw = after.reshape(*shape[:2], -1), before.sum(axis=2, keepdims=True)
    s, w, y = np.nonzero((p_sw > 0) & (p_swy.sum(axis=0) > 0))
    prior = p_sw[s, w, 0] / p_sw.sum(axis=0)[w, 0]
    return p_swy[s, w, y] / p_swy.sum(axis=0)[w, y] / prior, prior


def dobrushin_coefficient(channel: Channel) -> float:
    """Largest total variation between two rows of a channel; differences of P_X shrink at least by this factor.

    For any two distributions of X, the total variation between the distributions of Y is at most this coefficient times
    that between the distributions of X, with equality for the two point masses on these rows. The same holds for every
    f-divergence: strong data processing [Dobrushin, CKZ].

    Parameters
    ----------
    channel : Channel
        From X to Y.

    Raises
    ------
    InvalidParameter
        If there are too many symbols to compare all pairs.

    Examples
    --------
    >>> import sanitize as sz
    >>> round(dobrushin_coefficient(sz.mechanisms.randomized_response(2, 1.0)), 4)    # tanh(1/2)
    0.4621
    """
    rows = np.unique(state_rows(ReducedChannel.from_channel(check_channel(channel))), axis=0)
    if len(rows) * rows.size > 32 * CHANNEL_CELLS:
        raise InvalidParameter(
            f"{len(rows)} distinct rows of the channel are too many to compare in pairs; bin or pool symbols first"
        )
    return float(max(np.abs(rows - row).sum(axis=1).max() for row in rows)) / 2


def maximal_correlation(joint: JointDistribution, channel: Channel) -> float:
    """Largest correlation between a function of X and a function of Y, from 0 to 1, under a distribution of X.

    Its square is the strong data processing constant of chi2 at P_X: χ²(Q_Y || P_Y) is at most the square times χ²(Q ||
    P_X) for every Q, with equality for the best function of X. So no test for a small difference from P_X has more
    power on n released rows than on n times the square rows of X.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X), of which P_X counts.
    channel : Channel

    Raises
    ------
    InvalidParameter
        If the channel has too many symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    >>> round(maximal_correlation(joint, sz.mechanisms.randomized_response(2, 1.0)) ** 2, 4)
    0.2136
    """
    masses, _ = _correlations(joint, channel)
    side = masses @ masses.T if len(masses) <= masses.shape[1] else masses.T @ masses
    if len(side) > _MOST_SIDE:
        raise InvalidParameter(f"{len(side)} symbols are too many to compute correlations; bin or pool symbols first")
    values = np.linalg.eigvalsh(side)  # the largest correlation is 1, for constant functions
    return float(np.sqrt(np.clip(values[-2], 0.0, 1.0))) if len(values) > 1 else 0.0


def effective_share(joint: JointDistribution, channel: Channel) -> float:
    """Share of the original rows that gives a test the same power as all released rows, on average over hypotheses.

    The power of a test for a small difference h from P_X depends on n χ². In released rows, E[h(X)²] becomes
    E[E[h(X)|Y]²], and the mean of their ratio over all functions h of mean 0 is (Σ_xy P(x) P(y|x)² / P(y) - 1) / (|X| -
    1), the mean squared correlation: proof 9 in docs/theory/proofs.md. The share is 1 if every row is released
    unchanged, and 0 if the release is independent of X.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X), of which P_X counts.
    channel : Channel

    Raises
    ------
    InvalidParameter
        If the channel has too many symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> round(effective_share(joint, sz.watchdog(joint, 0.3)), 4)    # three symbols of four
    0.6667
    """
    masses, n_symbols = _correlations(joint, channel)
    if n_symbols == 1:
        return 1.0
    return float(np.clip((np.square(masses).sum() - 1) / (n_symbols - 1), 0.0, 1.0))


def _correlations(joint: JointDistribution, channel: Channel) -> tuple[Vector, int]:
    """Return √P(x) P(y|x) / √P(y) for classes of x with equal rows, shape (n, n_y), and the number of symbols x."""
    check_fit(check_distribution(joint), check_channel(channel))
    reduced = ReducedChannel.from_channel(channel)
    rows, p = state_rows(reduced), np.bincount(reduced.states, joint.p_x)
    q = p @ rows
    return np.sqrt(p)[:, None] * rows[:, q > 0] / np.sqrt(q[q > 0]), len(joint.p_x)


def state_rows(reduced: ReducedChannel) -> Vector:
    """Return the matrix P(y|state), shape (n_states, n_y)."""
    if reduced.n_states * reduced.most_symbols > CHANNEL_CELLS:
        raise InvalidParameter(f"{reduced.n_states} symbols are too many for one dense matrix; bin or pool them first")
    return reduced.push(np.eye(reduced.n_states))


def max_information(joint: JointDistribution) -> float:
    """Max-information I_∞(S;Y), the largest log-lift of any pair (s, y), in nats.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> round(max_information(JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])), 4)
    0.4055
    """
    return float(np.log(max_lift(joint).max()))


def ldp_epsilon(channel_or_joint: Channel | JointDistribution) -> float:
    """Level ε of local differential privacy in nats: of X for a channel, of S for a distribution; may be inf.

    Parameters
    ----------
    channel_or_joint : Channel or JointDistribution
        For a channel the largest log P(y|x)/P(y|x'); for a distribution the largest log P(y|s)/P(y|s') [ZDS Def. 2].

    Examples
    --------
    >>> from sanitize.core.channel import Channel
    >>> from sanitize.core.joint import JointDistribution
    >>> round(ldp_epsilon(Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])), 4)
    1.0986
    >>> ldp_epsilon(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]]))
    inf
    """
    if isinstance(channel_or_joint, JointDistribution):
        return max(0.0, float(np.log(ldp_ratio(channel_or_joint).max())))
    return ReducedChannel.from_channel(check_channel(channel_or_joint)).log_ratio()


def entropy(p: NDArray[np.float64]) -> float:
    """Shannon entropy of a distribution in nats.

    Examples
    --------
    >>> import numpy as np
    >>> round(entropy(np.array([0.5, 0.5])), 6)
    0.693147
    """
    return float(entr(p).sum())


def utility(joint: JointDistribution, channel: Channel) -> float:
    """Utility I(X;Y) in nats: the information about the public columns that the release keeps [ZDS §II].

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X); only the margin of X matters.
    channel : Channel
        From X to Y.

    Examples
    --------
    >>> from sanitize.core.channel import Channel
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.2, 0.2, 0.1], [0.1, 0.2, 0.2]])
    >>> round(utility(joint, Channel.merge([0, 0, 1])), 4)
    0.6109
    """
    reduced = ReducedChannel.from_channel(check_channel(channel))
    check_fit(check_distribution(joint), channel)
    p_state = np.bincount(reduced.states, weights=joint.p_x)
    p_y = reduced.push(p_state[None, :].astype(np.float64))
    return max(0.0, entropy(p_y.ravel()) - float(p_state @ reduced.entropies()))


def normalized_utility(joint: JointDistribution, channel: Channel) -> float:
    """Return I(X;Y) / H(X), between 0 and 1 [ZDS §II]; 1 if X is constant and nothing can be lost.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    channel : Channel
        From X to Y.

    Examples
    --------
    >>> from sanitize.core.channel import Channel
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.2, 0.2, 0.1], [0.1, 0.2, 0.2]])
    >>> normalized_utility(joint, Channel.identity(3))
    1.0
    """
    return share_of_entropy(utility(joint, channel), check_distribution(joint).p_x)


def share_of_entropy(information: float, p: NDArray[np.float64]) -> float:
    """Ratio of ``information`` to the entropy H(p), between 0 and 1; 1 if one symbol has probability 1.

    Examples
    --------
    >>> import numpy as np
    >>> even = np.array([0.5, 0.5])
    >>> share_of_entropy(0.0, even), share_of_entropy(1e-16, even), share_of_entropy(0.0, np.array([1 - 1e-16, 0.0]))
    (0.0, 0.0, 1.0)
    """
    # Further digits are rounding error: a share of 1e-15 means that nothing is kept.
    return round(min(max(information / entropy(p), 0.0), 1.0), 12) if np.count_nonzero(p) > 1 else 1.0


@dataclass(frozen=True)
class Measure:
    """One line of a report: a measure with its values, its bound and its interval.

    Attributes
    ----------
    name, label : str
        Key for programs, and words for readers.
    unit : str
        ``nats`` or ``1`` (a pure number).
    kind : str
        ``exact`` for a value under the stated distribution, ``bound`` for a guarantee, ``estimate`` from a sample.
    before, after : float or None
        Values for the raw table and for the release; None if a value does not apply or was not computed.
    bound : float or None
        Limit set by the budget: a lower limit for ``min_log_lift``, an upper limit for all other measures.
    low, high : float or None
        Interval of an estimate; all intervals of a report hold at the same time at its confidence.
    scope : str
        ``rows`` for the distribution that was measured, ``worst_case`` for all distributions that the rows allow.
    """

    name: str
    label: str
    unit: str
    kind: Kind
    before: float | None
    after: float | None
    bound: float | None = None
    low: float | None = None
    high: float | None = None
    scope: Scope = "rows"
