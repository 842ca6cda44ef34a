"""Facts about a release beyond the figures of its report, and how close its design is to the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sanitize.core.channel import Optimality
from sanitize.report._headline import PROMISES

# Rows that leave a certificate next to nothing, of every secret or of a rare one, and about how many it takes if known.
Shortage = tuple[Literal["rows", "secret"], int | None] | None
# How the sentence on people begins where rare combinations are pooled.
POOLED = "Each released combination has at least"
SEEDED_NOTE = "the noise is seeded: fit for tests, not for release"


@dataclass(frozen=True)
class Origin:
    """Origin of a report, in the words of its author; every field is optional, and no clock is read.

    Attributes
    ----------
    title : str or None
        Heading of the page; of both audiences, like the date.
    date : str or None
    table, policy : str or None
        Names of the source and of the policy's file; internal, because a name can tell.
    digest : str or None
        Of the released file, ``sha256:`` and its digits; of both audiences.
    """

    title: str | None = None
    date: str | None = None
    table: str | None = None
    policy: str | None = None
    digest: str | None = None


# Columns with more of their rows replaced are named in a warning.
REPLACED_SHARE = 0.01


@dataclass(frozen=True)
class ReplacedValues:
    """Number of rows of a column written with another value, whatever the channel draws, and the reason.

    Attributes
    ----------
    column : str
    pooled : int
        Few rows have the combination of values, so that it is printed as others.
    unprinted : int
        Of those, rows with a value of this column that is printed nowhere.
    clipped : int
        The value lies outside the edges of its bins.
    other : int
        The value is written as ``(other)``.
    """

    column: str
    pooled: int = 0
    unprinted: int = 0
    clipped: int = 0
    other: int = 0

    @property
    def n_rows(self) -> int:
        """Least number of rows that are written differently."""
        return max(self.pooled, self.clipped, self.other)

    @classmethod
    def section(cls, columns: tuple[ReplacedValues, ...]) -> Section | None:
        """Section of a report on replaced values; None if every value can be written."""
        rows: tuple[tuple[str | float | None, ...], ...] = tuple(
            (column.column, *(int(getattr(column, name)) for name in _REPLACED)) for column in columns if column.n_rows
        )
        words = (
            "The values of these rows are too rare, or outside the edges of the bins: they are written as other "
            "values, and do not count as kept."
        )
        return (
            Section("replaced", "Values that are written as others", words, ("Column", *_REPLACED.values()), rows)
            if rows
            else None
        )


_REPLACED = {
    "pooled": "in rare combinations",
    "unprinted": "of these never written",
    "clipped": "outside the edges",
    "other": 'written "(other)"',
}


@dataclass(frozen=True)
class ReleaseFacts:
    """Facts that a report states about a release in addition to its figures.

    Attributes
    ----------
    mechanism : str
        Name of the rule that designed the channel.
    is_chosen : bool
        It was chosen among several by what each keeps of this table, so that the public view does not name it.
    output : str
        ``resample`` (a released symbol is printed as a public one) or ``model`` (a latent class as generated rows).
    seeded : bool
        The noise came from a seed, so the release can be undone by whoever guesses it.
    n_unseen : int or None
        Rows whose symbol was absent at fit.
    warnings : tuple of str
        Sentences for people; they name no sensitive symbol.
    kept : tuple of str
        Columns released without a channel.
    parts : tuple of PartLeakage
        Of a joint release: what each part and each kept column tells by itself.
    binned : tuple of str
        Public columns that were put in bins before anything was counted: raw figures are of the bins.
    secret_dp, record_dp : pair of float or None
        (eps, delta) of each row's secret, where the counts of secrets hold noise, or of whole rows, where all do.
    optimality : Optimality or None
        What is proved of the utility of the design; by default what the channel brings along.
    people : str
        What holds of the people whose rows these are, beside what holds of released symbols: a sentence that follows
        from settings alone, because everybody may see it.
    recorded : int or None
        Releases of the same rows in a ledger, this one among them, which are within its budget together.
    shortage : Shortage
    side_columns : tuple of str
        Public columns that may be known of a row: the limit holds for those who know some of them, too.
    replaced : tuple of ReplacedValues
        Of each public column the rows whose value is written as another for want of a place.
    """

    mechanism: str = "none"
    is_chosen: bool = False
    output: str = "resample"
    seeded: bool = False
    n_unseen: int | None = None
    warnings: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    parts: tuple[PartLeakage, ...] = ()
    binned: tuple[str, ...] = ()
    secret_dp: tuple[float, float] | None = None
    record_dp: tuple[float, float] | None = None
    optimality: Optimality | None = None
    people: str = ""
    recorded: int | None = None
    shortage: Shortage = None
    side_columns: tuple[str, ...] = ()
    replaced: tuple[ReplacedValues, ...] = ()

    @property
    def promise(self) -> str | None:
        """Parameter that requested differential privacy; None if there is none."""
        return next((name for name in PROMISES if getattr(self, name) is not None), None)


class Finding(Protocol):
    """A result that a report can carry, for example one of `sanitize.auditing.attack`.

    One with an attribute ``ok`` that is False refutes the release: it is not what the report measured, or gives its
    people away. One with a method ``report_entry`` has a place of its own. The public view has none of them.
    """

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""


@dataclass(frozen=True)
class Section:
    """Part of a report in addition to its measures; `publish` decides what the public view keeps of it.

    Attributes
    ----------
    name, title : str
        Key, and heading.
    words : str
        What it says, in one paragraph. It names no sensitive symbol.
    columns : tuple of str
        Heads of the table, the first for the names of its rows.
    rows : tuple of tuples
        Name and figures of each row, None where there is no figure.
    """

    name: str
    title: str
    words: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | float | None, ...], ...] = ()


@dataclass(frozen=True)
class PartLeakage:
    """Leakage of one part of a joint release, or of one kept column, alone.

    Attributes
    ----------
    part : str
        Name of the part, or of the kept column.
    columns : tuple of str
    mechanism : str or None
        None for a kept column.
    max_log_lift, min_log_lift, mutual_information : float
        Of S and what this part releases, in nats.
    normalized_utility : float
        Share of the information in its columns that is kept.
    """

    part: str
    columns: tuple[str, ...]
    mechanism: str | None
    max_log_lift: float
    min_log_lift: float
    mutual_information: float
    normalized_utility: float

    @classmethod
    def from_summary(
        cls, part: str, columns: tuple[str, ...], mechanism: str | None, figures: Mapping[str, Any]
    ) -> PartLeakage:
        """Make the line from the summary of a report on this part alone."""
        names = ("max_log_lift", "min_log_lift", "mutual_information", "normalized_utility")
        return cls(part, columns, mechanism, *(float(figures[name]) for name in names))

    @property
    def role(self) -> str:
        """Name of the mechanism, or a note that there is none."""
        return self.mechanism or "kept as it is"
