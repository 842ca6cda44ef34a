"""Effort: limit on a search, counted in units of work and not in time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from sanitize._util.checks import check_number, positive


class Status(StrEnum):
    """Reason why a search ended, from best to worst."""

    OPTIMAL = "optimal"  # its gap is closed
    STALLED = "stalled"  # rounding keeps the gap open
    EFFORT = "effort"  # used up, or far from enough
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"

    @classmethod
    def worst(cls, statuses: Iterable[Status]) -> Status:
        """Return the worst status of several, which holds for all of them together."""
        return max(statuses, key=list(cls).index)


@dataclass(eq=False)
class Effort:
    """Units of work that a search may spend, and the number left.

    The same distribution, budget and effort are the same steps on one kind of machine, so they give the same channel;
    on another the last digits of linear algebra may decide between two vertices. Who asks for a time limit gives that
    up.

    Attributes
    ----------
    limit : int
        Units that may be spent; a step that has begun is finished, so a little more may be.
    seconds : float
        Time that may pass, by default any.
    spent : int
    """

    limit: int
    seconds: float = math.inf
    spent: int = 0
    _started: float = field(default_factory=lambda: time.monotonic())

    @property
    def left(self) -> int:
        """Units that may still be spent; 0 after the time limit."""
        return 0 if self.is_late() else max(self.limit - self.spent, 0)

    def is_late(self, share: float = 1.0) -> bool:
        """Return whether this share of the time has passed."""
        return self.seconds < math.inf and time.monotonic() - self._started >= share * self.seconds

    def is_used(self, share: float = 1.0) -> bool:
        """Return whether this share of the units or of the time is used."""
        return self.spent >= share * self.limit or self.is_late(share)

    @property
    def status(self) -> Status:
        """Reason why a search that may not continue ends."""
        return Status.TIME_LIMIT if self.is_late() else Status.EFFORT

    def spend(self, units: int) -> None:
        """Count units of finished work."""
        self.spent += int(units)

    def part(self, share: float) -> Effort:
        """Separate account for a part of the work, with this share of the initial units.

        Of the time it has no more than what is left.
        """
        left = max(self._started + self.seconds - time.monotonic(), 0.0)
        return Effort(max(int(self.limit * share), 1), min(self.seconds * share, left))


def effort_account(effort: float | None, default: int, time_limit: float | None = None) -> Effort:
    """Account of a number of units (at least 1) and seconds; None is the mechanism's default.

    Raises
    ------
    InvalidParameter
        If effort is no number >= 1, or time_limit no number > 0.
    """
    seconds = math.inf if time_limit is None else positive("time_limit", time_limit)
    if effort is None:
        return Effort(default, seconds)
    units = check_number("effort", effort, "be a number of units of work >= 1", lambda units: 1 <= units < 1 << 62)
    return Effort(int(units), seconds)
