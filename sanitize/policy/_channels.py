"""The tables of a release policy: what a budget and a channel may say, and the estimator a channel asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from sanitize.budgets import AlphaLiftBudget, CapacityBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.errors import PolicyError
from sanitize.policy import _reader as keys
from sanitize.policy._secret_dp import SECRET_DP

if TYPE_CHECKING:
    from pathlib import Path

    from sanitize.policy._reader import Form, Section

# Keys with a few words to choose from, the first of which is the default.
CHOICES = {
    "rows": keys.choice("shuffle", "keep").said("Order of released rows; a kept order is audited."),
    "audience": keys.choice("internal", "public").said("Who reads the report."),
    "missing": keys.choice("category", "error").said("Missing values are one symbol, or refused."),
    "handle_unknown": keys.choice("high_risk", "error").said("Symbols that were not there at fit."),
}
WORKERS = keys.whole(1).said("Threads that read, count and draw; all cores by default. The output is the same for any.")
DELIMITER = keys.delimiter.said("What stands between the fields of a CSV source; told by its header otherwise.")
LEDGER = keys.text.said("File that records releases of the same rows, or of the same units; relative to this file.")
TITLE = keys.text.said("Heading of the report.")
DATE = keys.day.said("Date that the report shows, as 2026-01-31; no clock is read.")
UNIT = keys.text.said("Column that says whose a row is: what a unit was released is kept in the ledger.")
COLUMNS = {
    "sensitive": keys.some_names.said("Columns to protect."),
    "public": keys.some_names.said("Columns released together through one channel; omitted with [[channel]]."),
    "keep": keys.names.said("Columns released as they are; the budget covers what they tell."),
    "drop": keys.names.said("Columns left out."),
}

MERGING = ("lift", "ldp", "l1", "chi2", "alpha")
DEFAULT_NOTION = "lift"

# Mechanism in a policy -> its estimator, and the notions of budget it can be designed for.
MECHANISMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "watchdog": ("Watchdog", MERGING),
    "subset-merging": ("SubsetMerging", MERGING),
    "tree-merging": ("TreeMerging", MERGING),
    "auto": ("BestSanitizer", MERGING),
    "optimal-random-response": ("OptimalRandomResponse", ("lift", "ldp")),
    "subset-random-response": ("SubsetRandomResponse", ("lift", "ldp")),
    "tree-random-response": ("TreeRandomResponse", ("lift", "ldp")),
    "randomized-response": ("RandomizedResponse", ("ldp",)),
    "exponential-channel": ("ExponentialChannel", ("capacity",)),
    "gaussian-channel": ("GaussianChannel", ("capacity",)),
}
# Chooses one of the others, for one channel alone.
AUTO = "auto"
DEFAULT_MECHANISM = "subset-merging"
# Mechanisms that take what a joint budget leaves them, given the other columns.
SEQUENTIAL = ("watchdog", "subset-merging")
# Names that a channel cannot have: a joint release has parameters of these names.
RESERVED = ("sanitizers", "budget", "sensitive", "keep", "missing", "handle_unknown", "random_state")
LIFT_FAMILY = tuple(name for name, (_, notions) in MECHANISMS.items() if "lift" in notions)
GRID = "gaussian-channel"
# Mechanisms over whole tables, which are released through one channel alone.
TREES = ("tree-merging", "tree-random-response")
_NOT_GRID = tuple(name for name in MECHANISMS if name != GRID)
_TUPLES = tuple(name for name in _NOT_GRID if name not in TREES)
# The output that is for whole tables only.
MODEL = "model"

# Setting of a channel -> how it is read, and the mechanisms that have it.
SETTINGS: dict[str, tuple[Form[Any], tuple[str, ...]]] = {
    "min_count": (keys.whole(0).said("Public values in fewer rows are pooled."), _TUPLES),
    "smoothing": (keys.number(0, finite=True).said("Added to every cell of the counts: a prior, not data."), _TUPLES),
    "output": (
        keys.choice("resample", "label", MODEL).said(
            "Print a released symbol as a public value, or as a label; of whole tables as a row drawn from a model."
        ),
        _NOT_GRID,
    ),
    "min_rows": (keys.whole(1).said("Least rows of a block of a tree."), TREES),
    "min_cell_rows": (keys.whole(1).said("Least rows of a cell of a tree."), ("tree-random-response",)),
    "max_cells": (keys.whole(1).said("Most cells of a tree."), TREES),
    "weights": (
        keys.by_column(keys.number(0, finite=True)).said("How much the information about each column counts."),
        TREES,
    ),
    "hierarchies": (
        keys.by_column(keys.text).said(
            "File of the ancestors of each value of a column, nearest first, with semicolons; relative to this file."
        ),
        TREES,
    ),
    "confidence": (
        keys.number(0, 1, open_ends=True).said("Hold the budget for every law in a confidence set of this level."),
        LIFT_FAMILY,
    ),
    "secret_dp": (SECRET_DP, ("tree-random-response",)),
    "gap": (
        keys.number(0, open_ends=True, finite=True).said("Distance from the optimum that is good enough, in nats."),
        ("optimal-random-response", "subset-random-response"),
    ),
    "effort": (
        keys.number(1, finite=True).said(
            "Units of work of the search; the same effort is the same work on every machine."
        ),
        ("subset-merging", "optimal-random-response", "subset-random-response"),
    ),
    "time_limit": (
        keys.number(0, open_ends=True, finite=True).said(
            "Seconds; what a time limit cut off cannot be designed again, so verify takes the channel of the release."
        ),
        ("optimal-random-response", "subset-random-response"),
    ),
    "distance": (
        keys.choice("line", "circle", "hamming").said("Which public symbols are near one another."),
        ("exponential-channel",),
    ),
    "bounds": (
        keys.by_column(keys.pair).said("[low, high] of each public column, from knowledge and not from the rows."),
        (GRID,),
    ),
    "step": (
        keys.by_column(keys.number(0, open_ends=True, finite=True)).said("Distance of grid points of a column."),
        (GRID,),
    ),
    "points": (keys.whole(2).said("Most grid points within the bounds, where no step is given."), (GRID,)),
    "reach": (
        keys.number(0, finite=True).said("Standard deviations that the grid runs on beyond the bounds."),
        (GRID,),
    ),
    "method": (keys.choice("exact", "closed_form").said("How noise is calibrated to the capacity."), (GRID,)),
}
BINS = keys.by_column(keys.cuts).said(
    "Edges of numbers or dates, in ascending order, or the calendar unit that dates are cut into; dates by name."
)
MECHANISM = keys.choice(*MECHANISMS).said("The rule that designs the channel.")

# Notion of a budget -> its bounds: how each is read, and an example.
_BOTH = {
    "lower": (keys.number(0), "lower = 1.5 (nats; inf for no bound)"),
    "upper": (keys.number(0), "upper = 0.5 (nats)"),
}
BOUNDS: dict[str, dict[str, tuple[Form[float], str]]] = {
    "lift": _BOTH,
    "ldp": {"eps": (keys.number(0), "eps = 1.0 (nats)")},
    "l1": _BOTH,
    "chi2": _BOTH,
    "alpha": {"alpha": (keys.number(1, open_ends=True), "alpha = 2"), **_BOTH},
    "capacity": {"nats": (keys.number(0, open_ends=True), "nats = 0.5")},
}


@dataclass(frozen=True)
class PolicyBudget:
    """A budget as a policy writes it.

    Attributes
    ----------
    notion : {"lift", "ldp", "l1", "chi2", "alpha", "capacity"}
    bounds : mapping of str to float
        ``lower`` and ``upper``; for alpha also ``alpha``; ``eps`` for ldp; ``nats`` for capacity.
    """

    notion: str
    bounds: Mapping[str, float]

    def build(self) -> Any:
        """The budget itself."""
        bounds = self.bounds
        match self.notion:
            case "ldp":
                return LDPBudget(bounds["eps"])
            case "capacity":
                return CapacityBudget(bounds["nats"])
            case "alpha":
                return AlphaLiftBudget(bounds["alpha"], lower=bounds["lower"], upper=bounds["upper"])
        family: dict[str, Any] = {"lift": LiftBudget, "l1": L1LiftBudget, "chi2": Chi2LiftBudget}
        return family[self.notion](lower=bounds["lower"], upper=bounds["upper"])


def read_budget(value: Any, where: str) -> PolicyBudget:
    """A table with a notion and its bounds."""
    section = keys.table(value, where)
    notion = section.take("notion", keys.choice(*BOUNDS), DEFAULT_NOTION) or DEFAULT_NOTION
    bounds = {key: section.need(key, form, example) for key, (form, example) in BOUNDS[notion].items()}
    section.done()
    return PolicyBudget(notion, bounds)


@dataclass(frozen=True)
class PolicyChannel:
    """One channel of a policy: the public columns released through it together, and how it is designed.

    Attributes
    ----------
    name : str
    public : tuple of str
    mechanism : str
        A key of the table of mechanisms.
    bins : mapping of column to edges or calendar unit
    settings : mapping of str to value
        Settings of the estimator, those that the policy gives.
    budget : PolicyBudget or None
        Its own budget; None where it is designed within the budget of the whole release.
    """

    name: str
    public: tuple[str, ...]
    mechanism: str = DEFAULT_MECHANISM
    bins: Mapping[str, list[Any] | str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: PolicyBudget | None = None

    def within(self, folder: Path) -> PolicyChannel:
        """The same, with files that it names in a folder."""
        if "hierarchies" not in self.settings:
            return self
        files = {column: folder / name for column, name in self.settings["hierarchies"].items()}
        return replace(self, settings={**self.settings, "hierarchies": files})

    def build(
        self,
        budget: Any,
        sensitive: tuple[str, ...],
        missing: Literal["category", "error"],
        handle_unknown: Literal["high_risk", "error"],
        random_state: Any,
        kind: Callable[[str], Any],
    ) -> Any:
        """The estimator of this channel, or its designer, not fitted; ``kind`` gives the class of a name."""
        estimator = kind(MECHANISMS[self.mechanism][0])
        known = signature(estimator).parameters
        given: dict[str, Any] = {"bins": dict(self.bins) or None, **self.settings}
        if "confidence" in given and "confidence" not in known:
            raise PolicyError(
                f"confidence is not known to {self.mechanism} in this version of sanitize; leave it out", "confidence"
            )
        shared = {"missing": missing, "handle_unknown": handle_unknown}
        given |= {key: value for key, value in shared.items() if key in known}
        return estimator(
            budget, sensitive=list(sensitive), public=list(self.public), random_state=random_state, **given
        )


def read_channel(section: Section, name: str, public: tuple[str, ...], budget: PolicyBudget | None) -> PolicyChannel:
    """The rest of a channel's table, once its name, columns and budget are known."""
    mechanism = section.take("mechanism", MECHANISM, DEFAULT_MECHANISM) or DEFAULT_MECHANISM
    settings = {}
    for key, (read, owners) in SETTINGS.items():
        if mechanism not in owners:
            section.refuse(key, f"{mechanism} does not have it; it is a setting of {', '.join(owners)}")
        value = section.take(key, read)
        if value is not None:
            settings[key] = value
    bins = section.take("bins", BINS) or {}
    section.done()
    if settings.get("output") == MODEL and mechanism not in TREES:
        where = section.path("output")
        raise PolicyError(f"{where} can be {MODEL!r} only with {' or '.join(TREES)}, not {mechanism}", where)
    for key in ("bounds", "step", "weights", "hierarchies"):
        for column in settings.get(key, {}):
            if column not in public:
                where = f"{section.path(key)}.{column}"
                raise PolicyError(f"{where}: {column!r} is not a public column of this channel", where)
    if mechanism == GRID:
        absent = next((column for column in public if column not in settings.get("bounds", {})), None)
        if absent is not None:
            where = section.path("bounds")
            raise PolicyError(
                f"{where} lacks the column {absent!r}, and {GRID} needs bounds of every public column, from "
                f"knowledge and not from the rows; write for example bounds = {{ {absent} = [0, 100] }}",
                where,
            )
    return PolicyChannel(name, public, mechanism, bins, settings, budget)
