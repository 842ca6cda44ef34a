"""Report of the joint leakage of all releases about each unit, and the remaining budget."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanitize._util.checks import Vector
from sanitize._util.formatting import exact, level, times
from sanitize.core.budgets import budget_to_dict, budget_words
from sanitize.core.lifts import logs
from sanitize.report import VERDICT_TOLERANCE, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize.core.budgets import Budget

# Releases to come, from which on there is no end to them.
_MANY = 1000


@dataclass(frozen=True)
class UnitEntry:
    """One release of units.

    Attributes
    ----------
    n_rows, n_withheld, n_again : int
        Rows released; rows withheld, of which there is nothing to print; and released rows that repeat what the group
        of the unit was printed before.
    n_units, n_new : int
        Units of the table, and those that were not there before.
    kept : mapping of str to float
        I(X_j; released row) / H(X_j) of each public symbol's column among the rows, less about what chance adds.
    least_log_lift, largest_log_lift : float
        Of what one row of the release tells by itself, held against the shares of its rows, nats; exact over who is
        drawn from each block.
    room : float
        Mean over all units, after the release, of log(units that were released the same / least allowed), nats.
    """

    n_rows: int
    n_withheld: int
    n_again: int
    n_units: int
    n_new: int
    kept: Mapping[str, float]
    least_log_lift: float
    largest_log_lift: float
    room: float

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain values; infinite figures are texts."""
        figures = {name: exact(value) for name, value in vars(self).items() if isinstance(value, float)}
        return {**vars(self), "kept": dict(self.kept), **figures}


def log_extremes(lifts: Vector) -> tuple[float, float]:
    """Logarithms of the least and the largest lift; -inf for 0."""
    log_lifts = logs(lifts)
    return float(log_lifts.min()), float(log_lifts.max())


@dataclass(frozen=True)
class UnitReport:
    """Joint leakage of all releases of a unit ledger about each unit's sensitive value, exact for these units.

    Attributes
    ----------
    budget : Budget
    unit : str
        Column that identifies individuals.
    min_units : int
        Least units that may be released the same.
    confidence : float or None
        With which the budget also holds under the distribution that the units are drawn from.
    n_units, n_groups, least_units : int
        Units known; groups of units that were released the same; units of the least group when it was made.
    least_log_lift, largest_log_lift : float
        Of log P(s|all that a unit was released)/P(s), nats, P(s) being the shares among the units of the first release.
    excess : float
        By how much the worst group is over the budget; at most 0 where all are within it.
    information : float
        I(S; group) in nats, among all units.
    releases : tuple of UnitEntry
    """

    budget: Budget
    unit: str
    min_units: int
    confidence: float | None
    n_units: int
    n_groups: int
    least_units: int
    least_log_lift: float
    largest_log_lift: float
    excess: float
    information: float
    releases: tuple[UnitEntry, ...]

    @property
    def ok(self) -> bool:
        """True if everything that was released for any unit is within the budget."""
        return self.excess <= VERDICT_TOLERANCE

    @property
    def room(self) -> float:
        """Mean over the units of the nats by which their groups can still be split."""
        return self.releases[-1].room if self.releases else math.inf

    @property
    def more_releases(self) -> float:
        """Releases until groups cannot be split further, at the mean pace so far; inf if there was none."""
        if not self.releases:
            return math.inf
        paid = math.log(max(self.releases[0].n_units / self.min_units, 1.0)) - self.room
        return len(self.releases) * self.room / paid if paid > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values; infinite figures are texts."""
        figures = {**vars(self), "room": self.room, "more_releases": self.more_releases}
        return {
            "ok": self.ok,
            "holds_for": "these units" if self.confidence is None else "the population of these units",
            **{name: exact(value) if isinstance(value, float) else value for name, value in figures.items()},
            "budget": budget_to_dict(self.budget),
            "releases": [entry.to_dict() for entry in self.releases],
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    @property
    def summary(self) -> tuple[str, str, str]:
        """Sentences on whom the report covers, the limit on a sensitive value, and what is left."""
        whom = "these units"
        if self.confidence is not None:
            whom = f"the population of these units ({level(self.confidence)} sure) and for these units"
        verdict = f"holds for {whom}" if self.ok else "OVER THE BUDGET for these units"
        more = self.more_releases
        pace = f"about {_count_text(round(more), 'more release')} at this pace" if more < _MANY else "no end in sight"
        return (
            f"{verdict}: {_count_text(len(self.releases), 'release')} of {self.n_units} units (column {self.unit!r})",
            f"all releases of a unit together make a sensitive value {times(self.least_log_lift)} to "
            f"{times(self.largest_log_lift)} times as likely",
            f"left: groups can be split by {self.room:.2f} nats on average, {pace}; after that a group gets nothing "
            "new",
        )

    def to_text(self) -> str:
        """Return the report as text, which names no sensitive value."""
        return render_template("over_time/units.txt.jinja", report=self, budget=budget_words(self.budget), times=times)


def _count_text(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
