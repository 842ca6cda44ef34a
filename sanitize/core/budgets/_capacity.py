"""Budgets on a whole release: the channel's capacity, and means over all or the most revealing released symbols."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from sanitize._util.arithmetic import log, product
from sanitize._util.checks import Vector, exp, nats, non_negative, number
from sanitize._util.tolerances import BUDGET
from sanitize.core.budgets._budgets import LiftwiseBudget, checking, clear_rounding, excess_over
from sanitize.core.capacity import channel_capacity
from sanitize.core.channel import Channel
from sanitize.core.lifts import lift, lift_envelope, logs
from sanitize.core.measures import Measure

if TYPE_CHECKING:
    from sanitize.core.joint import JointDistribution


@dataclass(frozen=True)
class CapacityBudget:
    """Limit on the capacity of the channel from X to Y: information privacy for every prior [WXH Def. 6].

    A capacity belongs to the whole channel, not to one released symbol, so a report measures it from the channel
    itself: as the upper end max_x KL(P(y|x) || q) of a certified bracket, for the best output distribution q found. By
    data processing, I(S;Y) is then at most ``nats`` for every S and its distribution. Every released symbol carries the
    same excess.

    Parameters
    ----------
    nats : float
        Largest capacity, >= 0; inf for no bound.

    Examples
    --------
    >>> from sanitize.mechanisms import randomized_response
    >>> line = CapacityBudget(0.4).measure_channel(randomized_response(2, 2.0))
    >>> line.name, round(line.after, 6), line.bound
    ('channel_capacity', 0.327813, 0.4)
    """

    nats: float

    def __post_init__(self) -> None:
        with checking("CapacityBudget"):
            nats("nats", self.nats)

    def measure_channel(self, channel: Channel) -> Measure:
        """Return the report's line on the capacity of the channel, with the certified upper bound and the limit."""
        # Requested gap of the certified bracket: far below the 1e-9 nats that a verdict tolerates.
        bracket = channel_capacity(channel, 1e-11)
        label, most = "capacity of the channel X to Y", math.log(channel.n_inputs)
        return Measure("channel_capacity", label, "nats", "bound", most, bracket.upper, float(self.nats))

    def excess(self, released: JointDistribution) -> Vector:
        """Excess of I(S;Y) over the budget, shape (n_y,): one figure for the release, repeated for each symbol."""
        information = float(product(self.lift_risk(lift(released), released.p_s), released.p_x))
        return np.full(len(released.public), information - self.nats)

    def lift_excess(self, lifts: Vector, p_s: Vector) -> Vector:
        """Excess of KL(P_S|y || P_S) over the budget, shape (k,); if all are <= 0, I(S;Y) is within the budget."""
        return self.lift_risk(lifts, p_s) - self.nats

    def lift_risk(self, lifts: Vector, p_s: Vector) -> Vector:
        """KL(P_S|y || P_S) of each column of lifts, shape (k,), in nats: the information that the symbol reveals."""
        return product(p_s, lifts * log(lifts))


@runtime_checkable
class ChannelBudget(Protocol):
    """Budget that also limits a figure of the whole channel, such as its capacity, which P_SY does not determine."""

    def measure_channel(self, channel: Channel) -> Measure:
        """Return the figure of a channel, with its limit, as a line of the report."""


@dataclass(frozen=True)
class CVaRLiftBudget:
    """Limit e**upper on the mean of each s's largest lifts, over released symbols of total probability δ.

    The mean, max over events A of P(Y in A) = δ of P(A|s)/P(A), is the conditional value at risk (CVaR) of the lift:
    the max-lift for δ = 0, and 1 for δ = 1. The lifts of anything computed from Y are means of the lifts of Y, and
    averaging does not raise the CVaR, so the budget survives post-processing. The condition P(lift > e**upper) <= δ
    does not survive it: merging a symbol of huge lift with one of small lift can double the mass above the bound. This
    budget implies that condition for each secret by itself, but the masses of two secrets may add up;
    `PMLEnvelopeBudget` limits their sum.

    The mean is one figure for the whole release, so every released symbol carries the same excess. Mechanisms look at
    one symbol at a time and hold each max-lift below the bound, which is enough.

    Parameters
    ----------
    upper : float
        Bound on the logarithm of the mean, in nats, >= 0.
    delta : float
        δ, from 0 to 1.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.05, 0.45], [0.0, 0.5]])    # the first symbol has mass 0.05, lift 2
    >>> CVaRLiftBudget(0.5, delta=0.1).excess(joint).round(4)    # log((0.05 * 2 + 0.05 * 0.947) / 0.1) - 0.5
    array([-0.1122, -0.1122])
    """

    upper: float
    delta: float

    def __post_init__(self) -> None:
        with checking(type(self).__name__):
            object.__setattr__(self, "upper", non_negative("upper", self.upper))
            object.__setattr__(self, "delta", number("delta", self.delta, 0, 1))

    def excess(self, released: JointDistribution) -> Vector:
        """Excess of the log of the largest mean lift over the budget, shape (n_y,): one figure for all symbols."""
        largest = logs(tail_means(lift(released), released.p_x, self.delta)).max(keepdims=True)
        return np.full(len(released.public), clear_rounding(excess_over(largest, self.upper))[0])

    def lift_excess(self, lifts: Vector, p_s: Vector) -> Vector:
        """Excess of max-log-lifts over the budget, shape (k,); if all are <= 0, the release is within the budget."""
        return clear_rounding(excess_over(self.lift_risk(lifts, p_s), self.upper))

    def lift_risk(self, lifts: Vector, p_s: Vector) -> Vector:
        """Max-log-lift of each column, shape (k,)."""
        return logs(lifts.max(axis=0))


@dataclass(frozen=True)
class PMLEnvelopeBudget(CVaRLiftBudget):
    """Limit e**upper on all lifts, which Y or anything computed from Y may exceed with probability at most δ.

    The budget bounds sup P(log Λ(Z) > upper) over all Z computed from Y, the limit of
    `sanitize.core.lifts.pml_envelope` from above: a symbol on the bound meets the budget, while the envelope at u
    counts the symbols that reach u. The budget implies `CVaRLiftBudget(upper, delta)`, which looks at each secret by
    itself. The excess is the mass beyond δ; measuring it takes a linear program.

    Parameters
    ----------
    upper : float
        Bound on the max-log-lift (the pointwise maximal leakage) of all but the mass δ, in nats, >= 0.
    delta : float
        δ, from 0 to 1.

    Examples
    --------
    Two secrets have a symbol of mass 0.1 and lift 2 each; merged with some of the third, 2/9 has lifts of 1.9.

    >>> from sanitize.core.joint import JointDistribution
    >>> joint = JointDistribution.from_matrix([[0.1, 0.0, 0.4], [0.0, 0.1, 0.4]])
    >>> for kind in (CVaRLiftBudget, PMLEnvelopeBudget):
    ...     kind(math.log(1.9), 0.12).excess(joint).round(4)
    array([-0.0357, -0.0357, -0.0357])
    array([0.1022, 0.1022, 0.1022])
    """

    def excess(self, released: JointDistribution) -> Vector:
        """Probability of lifts above the limit minus δ, shape (n_y,): one figure, repeated for each released symbol."""
        # A symbol on the bound is within the budget, and rounding puts some of these symbols slightly above the bound.
        beyond = lift_envelope(lift(released), released.p_x, exp(self.upper) * (1 + 2 * BUDGET)) - self.delta
        return np.full(len(released.public), float(clear_rounding(np.array(beyond))))


@dataclass(frozen=True)
class MeanBudget(LiftwiseBudget):
    """Base of budgets on the mean over released symbols of a convex function of their lifts.

    The function is the largest of some linear functions, and ``slope`` gives the largest one at given lifts. Averaging
    lifts does not raise the function, so these budgets survive post-processing, and any mixture of symbols that each
    meet the budget meets it too.

    Attributes
    ----------
    measure : str
        Name of the bounded line of a report.
    """

    upper: float
    measure: ClassVar[str]

    def __post_init__(self) -> None:
        with checking(type(self).__name__):
            object.__setattr__(self, "upper", non_negative("upper", self.upper))

    @property
    def limit(self) -> float:
        """Largest mean that the budget allows."""
        return self.upper

    @abstractmethod
    def slope(self, lifts: Vector, p_s: Vector) -> Vector:
        """Subgradients of the convex function at each column of lifts, shape (n_s, k)."""

    def excess(self, released: JointDistribution) -> Vector:
        """Excess of the mean over the budget, shape (n_y,): one figure for the release, repeated for each symbol."""
        mean = product(self.lift_risk(lift(released), released.p_s), released.p_x)
        return self._risk_excess(np.full(len(released.public), mean))

    def lift_excess(self, lifts: Vector, p_s: Vector) -> Vector:
        """Excess of each symbol over the budget, shape (k,); if all are <= 0, the release is within the budget."""
        return self._risk_excess(self.lift_risk(lifts, p_s))

    def lift_risk(self, lifts: Vector, p_s: Vector) -> Vector:
        """Value of the function for each column of lifts, shape (k,), which measures how much the symbol reveals."""
        return np.asarray((lifts * self.slope(lifts, p_s)).sum(axis=0))

    def _risk_excess(self, risk: Vector) -> Vector:
        return clear_rounding(excess_over(risk, self.upper))


class MutualInformationBudget(MeanBudget):
    """Limit ``upper`` on I(S;Y), the mean of KL(P_S|y || P_S): the budget of the privacy funnel.

    Parameters
    ----------
    upper : float
        Limit in nats, >= 0; inf for no bound.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> MutualInformationBudget(0.05).excess(JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])).round(4)
    array([0.0363, 0.0363])
    """

    measure = "mutual_information"

    def slope(self, lifts: Vector, p_s: Vector) -> Vector:
        """Return P(s) log l, the slope of KL(P_S|y || P_S) as a function of the lifts."""
        return p_s[:, None] * log(lifts)


class TotalVariationBudget(MeanBudget):
    """Limit ``upper`` on T(S;Y), the total variation of P_SY from independence and the mean of Σ_s P(s) |l - 1| / 2.

    Seeing Y raises the chance of guessing any event of S right by at most ``upper``.

    Parameters
    ----------
    upper : float
        A probability; 1 or more is no bound.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> TotalVariationBudget(0.1).excess(JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])).round(4)
    array([0.1, 0.1])
    """

    measure = "total_variation"

    def slope(self, lifts: Vector, p_s: Vector) -> Vector:
        """Return the slope P(s) sign(l - 1) / 2 of Σ_s P(s) |l - 1| / 2, shifted by a multiple of P(s) to sum to 0."""
        sides = np.sign(lifts - 1)
        return p_s[:, None] * (sides - product(p_s, sides)) / 2


class MaximalLeakageBudget(MeanBudget):
    """Limit ``upper`` on maximal leakage L(S→Y), the log of the mean max-lift.

    With Y, a guess of any function of S is right at most e**upper times as often as without Y.

    Parameters
    ----------
    upper : float
        Limit in nats, >= 0; inf for no bound.

    Examples
    --------
    >>> from sanitize.core.joint import JointDistribution
    >>> MaximalLeakageBudget(0.3).excess(JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])).round(4)
    array([0.0365, 0.0365])
    """

    measure = "maximal_leakage"

    @property
    def limit(self) -> float:
        """Largest mean that the budget allows, e**upper."""
        return exp(self.upper)

    def slope(self, lifts: Vector, p_s: Vector) -> Vector:
        """Return the slope of the max-lift: 1 at the largest lift and 0 elsewhere."""
        return np.eye(len(lifts))[:, lifts.argmax(axis=0)]

    def _risk_excess(self, risk: Vector) -> Vector:
        return clear_rounding(excess_over(logs(risk), self.upper))


# Kinds of budgets on means over all released symbols, which no symbol meets or breaks alone.
MEAN_BUDGETS = MutualInformationBudget, TotalVariationBudget, MaximalLeakageBudget


def tail_means(lifts: Vector, p_y: Vector, delta: float) -> Vector:
    """Mean of each s's largest lifts over released symbols of total probability δ, shape (n_s,); max-lift for δ = 0."""
    top = lifts[:, p_y > 0].max(axis=1)
    if delta == 0:
        return top
    order = np.argsort(-lifts, axis=1, kind="stable")
    masses = p_y[order]
    before = np.cumsum(masses, axis=1) - masses
    taken = np.clip(delta - before, 0.0, masses)
    # Rounding of the masses must not raise a mean above its largest term.
    return np.minimum((taken * np.take_along_axis(lifts, order, axis=1)).sum(axis=1) / delta, top)
