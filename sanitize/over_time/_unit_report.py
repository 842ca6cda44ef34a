"""Report of the joint leakage of all releases about each unit, and the remaining budget."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanitize._util.checks import Vector
from sanitize._util.formatting import Told, exact, level, times
from sanitize.core.budgets import budget_to_dict, budget_words
from sanitize.core.lifts import logs
from sanitize.report import VERDICT_TOLERANCE, render_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize.core.budgets import Budget

# From this number of further releases on, a pace measured in a few releases says nothing, and none is reported.
_MANY = 1000


@dataclass(frozen=True)
class UnitEntry:
    """Figures of one release of units.

    Attributes
    ----------
    n_rows, n_withheld, n_again : int
        Number of released rows; of rows withheld because nothing may be released; and of released rows that repeat an
        earlier release of the unit's group.
    n_units, n_new : int
        Number of units in the table, and of those without earlier releases.
    kept : mapping of str to float
        I(X_j; released row) / H(X_j) of each public column among the rows, minus approximately the part due to chance.
    least_log_lift, largest_log_lift : float
        Log-lift of a single released row, compared with the shares among the rows, in nats; averaged exactly over the
        random unit of each block.
    room : float
        Mean over all units, after the release, of log(units with the same releases / least allowed), in nats.
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
        """Return the entry as plain values; infinite figures are text."""
        figures = {name: exact(value) for name, value in vars(self).items() if isinstance(value, float)}
        return {**vars(self), "kept": dict(self.kept), **figures}


def log_extremes(lifts: Vector) -> tuple[float, float]:
    """Logarithms of the smallest and the largest lift; -inf for 0."""
    log_lifts = logs(lifts)
    return float(log_lifts.min()), float(log_lifts.max())


@dataclass(frozen=True)
class UnitReport(Told):
    """Joint leakage of all releases of a unit ledger about each unit's sensitive value, exact for these units.

    Attributes
    ----------
    budget : Budget
    unit : str
        Column that identifies individuals.
    min_units : int
        Least units that may be released the same.
    confidence : float or None
        Confidence at which the budget also holds for the population of the units.
    n_units, n_groups, least_units : int
        Number of known units; of groups of units with the same releases; and of units in the smallest group when it was
        made.
    least_log_lift, largest_log_lift : float
        Extremes of log P(s|all releases about a unit)/P(s), in nats, where P(s) is the share among the units of the
        first release.
    excess : float
        Excess of the worst group over the budget; at most 0 if all groups are within it.
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
        """True if all releases together are within the budget for every unit."""
        return self.excess <= VERDICT_TOLERANCE

    @property
    def room(self) -> float:
        """Room for further splits of the groups, in nats, on average over the units."""
        return self.releases[-1].room if self.releases else math.inf

    @property
    def more_releases(self) -> float:
        """Number of further releases until no group can be split, at the mean pace so far; inf if none was split."""
        if not self.releases:
            return math.inf
        paid = math.log(max(self.releases[0].n_units / self.min_units, 1.0)) - self.room
        return len(self.releases) * self.room / paid if paid > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values; infinite figures are text."""
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
