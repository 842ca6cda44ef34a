"""How privacy levels add up: answers about the same data, and groups of records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanitize._checks import listed, nats, probability, whole_number
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class PrivacyLoss:
    """Level of (ε, δ)-differential privacy, δ of events; nats and a probability."""

    eps: float
    delta: float


def basic_composition(eps: Sequence[float], deltas: Sequence[float] | None = None) -> PrivacyLoss:
    """Level of independent (ε_j, δ_j)-private answers about the same x: (Σ ε_j, 1 - Π (1 - δ_j)).

    The printed rule of the literature, Σ δ_j, is larger. The pair is attained, by channels that reveal x with
    probability δ_j and else answer by randomized response. Levels of Rényi DP of one order, of mutual-information
    DP and of information privacy (C_1) add too: give them as ``eps`` [WXH Thm 7.1; CY].

    Parameters
    ----------
    eps : sequence of float
        Levels in nats, >= 0; inf is allowed.
    deltas : sequence of float, optional
        Probabilities, event-wise, one a level; all 0 without it.

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
    levels = [nats("eps", level) for level in listed("eps", eps)]
    chances = (
        [0.0] * len(levels) if deltas is None else [probability("deltas", delta) for delta in listed("deltas", deltas)]
    )
    if len(levels) != len(chances) or not levels:
        raise InvalidParameter(f"eps and deltas must have one entry a channel, got {len(levels)} and {len(chances)}")
    delta = 0.0
    for chance in chances:  # 1 - Π(1 - δ) would lose a δ of 1e-17
        delta += chance * (1 - delta)
    return PrivacyLoss(math.fsum(levels), min(delta, 1.0))


def group_privacy(eps: float, k: int, delta: float = 0.0) -> PrivacyLoss:
    """Level for k records at once of an (ε, δ)-private channel: (kε, δ (e^{kε} - 1)/(e^ε - 1)), at most δ = 1.

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

    Attained by the noiseless release of k records. The exact C_k of a channel is
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
