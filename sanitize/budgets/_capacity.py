"""A budget on the channel as a whole: its capacity, whatever the law of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from scipy.special import xlogy

from sanitize._checks import nats
from sanitize.capacity import channel_capacity
from sanitize.channel import Channel
from sanitize.errors import InvalidBudget, InvalidParameter
from sanitize.lifts import lift
from sanitize.measures import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.joint import JointDistribution


@dataclass(frozen=True)
class CapacityBudget:
    """Capacity of the channel from X to Y at most ``nats``: information privacy for every prior [WXH Def. 6].

    A capacity is a figure of the whole channel, not of one released symbol, so a report measures it from the
    channel itself: the upper end max_x KL(P(y|x) || q) of a certified bracket, for the best output law q
    found. By data processing I(S;Y) is then at most ``nats`` whatever S and its law. Every released symbol
    carries the same excess.

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
        try:
            nats("nats", self.nats)
        except InvalidParameter as error:
            raise InvalidBudget(f"CapacityBudget: {error}") from None

    def measure_channel(self, channel: Channel) -> Measure:
        """Capacity of the channel (certified from above) as a line of a report, with what is allowed."""
        # Gap asked of the certificate: far below the 1e-9 nats that a verdict tolerates.
        found = channel_capacity(channel, 1e-11)
        return Measure(
            "channel_capacity",
            "capacity of the channel X to Y",
            "nats",
            "bound",
            math.log(channel.n_inputs),
            found.upper,
            float(self.nats),
        )

    def excess(self, released: JointDistribution) -> NDArray[np.float64]:
        """I(S;Y) above the budget, shape (n_y,): one figure for the whole release, the same for each symbol."""
        information = float(self.risk_of(lift(released), released.p_s) @ released.p_x)
        return np.full(len(released.public), information - self.nats)

    def excess_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """KL(P_S|y || P_S) above the budget, shape (k,): where no symbol has any, I(S;Y) is within it."""
        return self.risk_of(lifts, p_s) - self.nats

    def risk_of(self, lifts: NDArray[np.float64], p_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """KL(P_S|y || P_S) of each column of lifts, shape (k,), in nats: what one symbol tells."""
        return p_s @ xlogy(lifts, lifts)


@runtime_checkable
class ChannelBudget(Protocol):
    """A budget that also limits a figure of the whole channel, such as a capacity, which no law of (S, Y) tells."""

    def measure_channel(self, channel: Channel) -> Measure:
        """The figure and what is allowed."""
        ...
