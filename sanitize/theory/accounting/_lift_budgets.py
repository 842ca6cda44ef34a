"""Composition bounds for lift budgets, LDP of S, a private mean, and groups of records."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scipy.special import ndtr

from sanitize._util.checks import as_list, check_number, nats, positive, probability, short_repr, whole_number
from sanitize.core.budgets import LiftBudget
from sanitize.errors import InvalidParameter


@dataclass(frozen=True)
class MeanTail:
    """Tail probability of the difference between a private mean of many rows and the true mean.

    Attributes
    ----------
    variance : float
        Variance N of the noise, in squared units of the data.
    limit : float
        Limit of Pr[|W - μ| >= τ] as the rows grow in number.
    chebyshev : float
        Chebyshev's bound N/τ², printed as the limit; it is only an upper bound, and trivial above 1.
    """

    variance: float
    limit: float
    chebyshev: float


def independent_release_budget(first: LiftBudget, second: LiftBudget) -> LiftBudget:
    """Smallest budget that (Y_1, Y_2) is within if each of the two is within its own and both are independent given S.

    This budget exceeds the sum of the two budgets, because l(s, y_1, y_2) = l_1 l_2 / E_S[l_1 l_2], and the mean of the
    product may be far from 1. With a = e^-lower and b = e^upper of each budget, and lifts of mean 1 between them,

    * E[l_1 l_2] >= 1 - min((1-a_1)(1-a_2), (b_1-1)(b_2-1)), which bounds the lift from above,
    * E[l_1 l_2] <= 1 + min((1-a_1)(b_2-1), (1-a_2)(b_1-1)), which bounds it from below,

    both attained by two-point distributions. For two ε-LIP outputs the upper end is 3ε - ln(2 - e^-ε), a supremum that
    is approached as the share of the worst s vanishes, and the lower end 2ε + ln(e^ε - 1 + e^-ε), attained: at ε = 1
    2.510 and 2.735 instead of 2. Without independence given S, the two budgets imply nothing: each of two fair bits
    reveals nothing about their sum modulo 2, and both together reveal it.

    Parameters
    ----------
    first, second : LiftBudget
        Budgets that the two releases meet, in nats.

    Returns
    -------
    LiftBudget

    Examples
    --------
    >>> budget = independent_release_budget(LiftBudget.symmetric(1.0), LiftBudget.symmetric(1.0))
    >>> round(budget.upper, 4), round(budget.lower, 4)
    (2.5101, 2.7353)
    """
    _check_lift_budgets((first, second))
    # Lifts that must not fall below 1, or must not rise above 1, all equal 1: such an output is independent of S.
    live = [budget for budget in (first, second) if budget.lower > 0 and budget.upper > 0]
    if len(live) < 2:
        return live[0] if live else LiftBudget(lower=0.0, upper=0.0)
    # Lifts of a budget are between 1 - fall and 1 + rise; 400 digits keep even the smallest doubles next to 1.
    with decimal.localcontext(decimal.Context(prec=400, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])):
        lows = [(-Decimal(budget.lower)).exp() for budget in live]
        (fall, other_fall), rises = [1 - low for low in lows], [Decimal(budget.upper).exp() - 1 for budget in live]
        # The first term is 1 - fall * other_fall.
        least = max(lows[0] + fall * lows[1], 1 - rises[0] * rises[1])
        most = 1 + min(fall * rises[1], other_fall * rises[0])
        log_least, log_most = float(least.ln()), float(most.ln())
    return LiftBudget(lower=first.lower + second.lower + log_most, upper=first.upper + second.upper - log_least)


def sequential_budget(budgets: Sequence[LiftBudget]) -> LiftBudget:
    """Budget of all releases if each is within its own budget given the earlier outputs: the sum of the budgets.

    log l(s, y_1, y_2) = log l(s, y_1) + log l(s, y_2 | y_1), so bounds of the second lift *conditional on* y_1 add
    to those of the first.

    Parameters
    ----------
    budgets : sequence of LiftBudget
        At least one, in nats.

    Returns
    -------
    LiftBudget

    Raises
    ------
    InvalidParameter
        If there is no budget, or a budget is not a LiftBudget.

    Examples
    --------
    >>> sequential_budget([LiftBudget(lower=1.0, upper=0.5), LiftBudget(lower=0.5, upper=0.25)])
    LiftBudget(lower=1.5, upper=0.75)
    """
    _check_lift_budgets(budgets)
    return LiftBudget(lower=sum(budget.lower for budget in budgets), upper=sum(budget.upper for budget in budgets))


def sensitive_ldp_composition(eps: Sequence[float], dependence: float) -> float:
    """LDP level of S, Σ ε_j + 2γ, for columns released separately, each ε_j-LDP with respect to S, in nats.

    γ = max |log P(x_1, ..., x_d | s) / Π P(x_j | s)| is `conditional_dependence`; at γ = 0 the levels add.

    Parameters
    ----------
    eps : sequence of float
        LDP level of S of each column, >= 0; inf is allowed.
    dependence : float
        γ >= 0; inf is allowed.

    Returns
    -------
    float

    Raises
    ------
    InvalidParameter
        If there is no level, or one or γ is negative or not a number.

    Examples
    --------
    >>> sensitive_ldp_composition([0.5, 0.25], dependence=0.125)
    1.0
    """
    return basic_composition(eps).eps + 2 * nats("dependence", dependence)


def private_mean_tail(
    half_range: float, eps: float, tau: float, balance: float = 0.0, *, variance: float | None = None
) -> MeanTail:
    """Tail Pr[|W - μ| >= τ] of W, the mean of n rows plus Gaussian noise of variance N, for large n [WXH Prop. 4].

    N = T²/(e^{2(ε+δ)} - 1) makes W ε-information private against adversaries for whom the channel is (b, δ)-balanced.
    **Corrected:** W tends to μ + noise in distribution, so the limit is 2Q(τ/√N); the printed N/τ² is Chebyshev's
    bound, and the variance of W tends to N, not to 0. This N is larger than needed, since the capacity of a channel
    with bounded input is below ½ log(1 + T²/N) [WXH Cor. 6, corrected]. The least sufficient variance is
    `sanitize.mechanisms.gaussian_noise_variance` of T and ε + δ; pass it as ``variance``.

    Parameters
    ----------
    half_range : float
        T > 0: rows lie in an interval of length 2T, of which the middle is subtracted.
    eps : float
        Information privacy in nats, > 0.
    tau : float
        Deviation, > 0, in units of the data.
    balance : float
        δ = g(b) in nats, >= 0.
    variance : float, optional
        N, > 0, in squared units of the data; by default that of the closed form above.

    Returns
    -------
    MeanTail

    Raises
    ------
    InvalidParameter
        If an argument is outside its range or not finite.

    Examples
    --------
    >>> tail = private_mean_tail(1.0, 1.0, 0.5)
    >>> round(tail.limit, 3), round(tail.chebyshev, 3)
    (0.206, 0.626)
    >>> import sanitize as sz
    >>> least = sz.mechanisms.gaussian_noise_variance(1.0, 1.0)
    >>> round(private_mean_tail(1.0, 1.0, 0.5, variance=least).limit, 3)
    0.07
    """
    half_range, eps, tau = (
        check_number(name, value, "be a finite number > 0", lambda amount: 0 < amount < math.inf)
        for name, value in (("half_range", half_range), ("eps", eps), ("tau", tau))
    )
    level = 2 * (eps + nats("balance", balance))
    if variance is not None:
        deviation = math.sqrt(positive("variance", variance))
    elif math.isinf(level):
        return MeanTail(0.0, 0.0, 0.0)
    else:  # T e^{-level/2} / sqrt(1 - e^{-level}): no overflow at large levels.
        deviation = half_range * math.exp(-level / 2) / math.sqrt(-math.expm1(-level))
    spread = deviation / tau
    # Products, unlike powers, raise no error if they leave the range of doubles.
    return MeanTail(deviation * deviation, 2 * float(ndtr(-1 / spread)) if spread > 0 else 0.0, spread * spread)


def _check_lift_budgets(budgets: Any) -> None:
    values = as_list("budgets", budgets)
    if not values or not all(isinstance(budget, LiftBudget) for budget in values):
        raise InvalidParameter(f"budgets must be a list of at least one LiftBudget, got {short_repr(values)}")


@dataclass(frozen=True)
class PrivacyLoss:
    """Level of (ε, δ)-differential privacy for events, with ε in nats."""

    eps: float
    delta: float


def basic_composition(eps: Sequence[float], deltas: Sequence[float] | None = None) -> PrivacyLoss:
    """Level of independent (ε_j, δ_j)-private answers about the same x: (Σ ε_j, 1 - Π (1 - δ_j)).

    The usual rule in the literature, Σ δ_j, is larger. The pair is attained by channels that reveal x with probability
    δ_j and otherwise answer by randomized response. Levels of Rényi DP of one order, of mutual-information DP and of
    information privacy (C_1) also add up: pass them as ``eps`` [WXH Thm 7.1; CY].

    Parameters
    ----------
    eps : sequence of float
        Levels in nats, >= 0; inf is allowed.
    deltas : sequence of float, optional
        Probabilities δ for events, one per level; all 0 by default.

    Returns
    -------
    PrivacyLoss

    Raises
    ------
    InvalidParameter
        If a level is negative or not a number, a probability is outside [0, 1], or their numbers differ.

    Examples
    --------
    >>> basic_composition([0.5, 1.0], [0.0, 0.25])
    PrivacyLoss(eps=1.5, delta=0.25)
    """
    levels = [nats("eps", level) for level in as_list("eps", eps)]
    deltas = [0.0] * len(levels) if deltas is None else as_list("deltas", deltas)
    chances = [probability("deltas", delta) for delta in deltas]
    if len(levels) != len(chances) or not levels:
        raise InvalidParameter(f"eps and deltas must have one entry per channel, got {len(levels)} and {len(chances)}")
    delta = 0.0
    for chance in chances:  # computing 1 - Π(1 - δ) directly would lose a δ of 1e-17
        delta += chance * (1 - delta)
    return PrivacyLoss(math.fsum(levels), min(delta, 1.0))


def group_privacy(eps: float, k: int, delta: float = 0.0) -> PrivacyLoss:
    """Level for k records at once if it is (ε, δ) for one: (kε, δ (e^{kε} - 1)/(e^ε - 1)), with δ at most 1.

    Parameters
    ----------
    eps : float
        Level for one record in nats, >= 0.
    k : int
        Records of the group, >= 1.
    delta : float
        Probability in [0, 1], event-wise.

    Returns
    -------
    PrivacyLoss

    Raises
    ------
    InvalidParameter
        If an argument is outside its range.

    Examples
    --------
    >>> group_privacy(0.5, 3)
    PrivacyLoss(eps=1.5, delta=0.0)
    """
    eps, k, delta = nats("eps", eps), whole_number("k", k, 1), probability("delta", delta)
    if k == 1 or delta == 0:
        return PrivacyLoss(k * eps, delta)
    if math.isinf(eps):
        return PrivacyLoss(eps, 1.0)
    # log Σ_{j<k} e^{jε}, without the terms that overflow.
    log_sum = math.log(k) if eps == 0 else (k - 1) * eps + math.log(math.expm1(-k * eps) / math.expm1(-eps))
    return PrivacyLoss(k * eps, math.exp(min(0.0, math.log(delta) + log_sum)))


def group_capacity_bound(individual: float, k: int, whole: float = math.inf) -> float:
    """Bound on the capacity of a group: C_k <= min(k C_1, C_n), in nats [WXH Lemma 4, Thm 6.1, sharpened].

    The noiseless release of k records attains the bound. The exact C_k of a channel is
    ``individual_channel_capacity(channel, ..., group=k)``.

    Parameters
    ----------
    individual : float
        C_1 in nats, >= 0.
    k : int
        Records of the group, >= 1.
    whole : float
        C_n, the capacity of the channel in nats; inf where unknown.

    Returns
    -------
    float

    Raises
    ------
    InvalidParameter
        If an argument is outside its range.

    Examples
    --------
    >>> group_capacity_bound(0.25, 3), group_capacity_bound(0.25, 3, whole=0.5)
    (0.75, 0.5)
    """
    return min(whole_number("k", k, 1) * nats("individual", individual), nats("whole", whole))
