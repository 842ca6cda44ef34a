"""Limit on a search, counted in units of work instead of time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from enum import StrEnum

from sanitize._util.checks import check_number, positive


class Status(StrEnum):
    """Reason why a search ended, from best to worst."""

    OPTIMAL = "optimal"  # the gap was closed
    STALLED = "stalled"  # rounding kept the gap open
    EFFORT = "effort"  # the effort was used up, or would be far from enough
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"


@dataclass(eq=False)
class Effort:
    """Account of the units of work that a search may spend, with an optional time limit.

    With the same distribution, budget and effort, a search takes the same steps on one kind of machine and finds the
    same channel; on another kind, the last digits of linear algebra may decide differently between two vertices. With a
    time limit, results may differ from run to run.

    Attributes
    ----------
    limit : int
        Units that may be spent. A step that has begun is finished, so slightly more may be spent.
    seconds : float
        Time that may pass; unlimited by default.
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
        """Return whether this share of the units or of the time is used up."""
        return self.spent >= share * self.limit or self.is_late(share)

    @property
    def status(self) -> Status:
        """Status of a search that ends because it may not continue."""
        return Status.TIME_LIMIT if self.is_late() else Status.EFFORT

    def spend(self, units: int) -> None:
        """Count units of finished work."""
        self.spent += int(units)

    def part(self, share: float) -> Effort:
        """Separate account for a part of the work, with this share of the initial units.

        The part has at most the remaining time.
        """
        left = max(self._started + self.seconds - time.monotonic(), 0.0)
        return Effort(max(int(self.limit * share), 1), min(self.seconds * share, left))


def effort_account(effort: float | None, default: int, time_limit: float | None = None) -> Effort:
    """Return an account with a number of units of work, by default the mechanism's, and a time limit in seconds.

    Raises
    ------
    InvalidParameter
        If effort is not a number >= 1, or time_limit is not a number > 0.
    """
    seconds = math.inf if time_limit is None else positive("time_limit", time_limit)
    if effort is None:
        return Effort(default, seconds)
    units = check_number("effort", effort, "be a number of units of work >= 1", lambda units: 1 <= units < 1 << 62)
    return Effort(int(units), seconds)
