"""Facts about a release in addition to the figures of its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sanitize.core.channel import Optimality
from sanitize.report._headline import PROMISES

# A row of a section may lack a figure, for which it has None.
Cells = tuple[str | float | None, ...]
# Shortage of rows, in total or of a rare sensitive value, that leaves little to certify; the number needed, if known.
Shortage = tuple[Literal["rows", "secret"], int | None] | None
# Beginning of the sentence on people if rare combinations are pooled. A warning about single people is left out if it
# stands there.
POOLED = "Each released combination has at least"
# The warning is removed again if a release with a key is made from a fit with a seed.
SEEDED_NOTE = "the noise is seeded: fit for tests, not for release"


@dataclass(frozen=True)
class Origin:
    """Title, date and files of a report, as its author states them; every field is optional.

    Attributes
    ----------
    title : str or None
        Heading of the page, shown to both audiences, like the date.
    date : str or None
    table, policy : str or None
        Names of the table's and the policy's file; internal, because a name can reveal something.
    digest : str or None
        Digest of the released file, ``sha256:`` and its digits, shown to both audiences.
    """

    title: str | None = None
    date: str | None = None
    table: str | None = None
    policy: str | None = None
    digest: str | None = None


# A warning names the columns with a larger share of replaced rows: fewer rows change no figure that a reader would
# state.
REPLACED_SHARE = 0.01


@dataclass(frozen=True)
class ReplacedValues:
    """Numbers of rows that are always written with another value of a column, one number for each reason.

    Attributes
    ----------
    column : str
    pooled : int
        Rows whose combination of values is too rare, so that another combination is written.
    unprinted : int
        Rows among them whose value of this column is never written.
    clipped : int
        Rows whose value lies outside the edges of the bins.
    other : int
        Rows whose value is written as ``(other)``.
    """

    column: str
    pooled: int = 0
    unprinted: int = 0
    clipped: int = 0
    other: int = 0

    @property
    def n_rows(self) -> int:
        """Lower bound on the number of rows that are written with another value."""
        return max(self.pooled, self.clipped, self.other)

    @classmethod
    def section(cls, columns: tuple[ReplacedValues, ...]) -> Section | None:
        """Section of a report on replaced values; None if no value is replaced."""
        if not (replaced := [column for column in columns if column.n_rows]):
            return None
        rows: tuple[Cells, ...] = tuple((c.column, *(int(getattr(c, name)) for name in _REPLACED)) for c in replaced)
        words = (
            "The values of these rows are too rare, or outside the edges of the bins: they are written as other "
            "values, and do not count as kept."
        )
        return Section("replaced", "Values that are written as others", words, ("Column", *_REPLACED.values()), rows)


# Reasons why a row has another value, in the order of the columns of the table on them.
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
        Whether the mechanism was chosen by the utility on this table, so that the public view does not name it.
    output : str
        ``resample`` (a released symbol is written as a public one) or ``model`` (a latent class, as generated rows).
    seeded : bool
        Whether the noise came from a seed, so that anyone who guesses the seed can undo the release.
    n_unseen : int or None
        Number of rows whose symbol was absent at fit.
    warnings : tuple of str
        Sentences for readers, which name no sensitive symbol.
    kept : tuple of str
        Columns released without a channel.
    parts : tuple of PartLeakage
        Leakage through each part and each kept column of a joint release alone.
    binned : tuple of str
        Public columns that were binned before counting, so that raw figures refer to the bins.
    secret_dp, record_dp : pair of float or None
        (eps, delta) of differential privacy of each row's sensitive value, or of whole rows.
    optimality : Optimality or None
        Proved optimality of the design; by default the one attached to the channel.
    people : str
        Sentence on the guarantee for the people in the data, in addition to that on released symbols. The sentence
        follows from settings alone, because it is public.
    recorded : int or None
        Number of releases of the same rows in a ledger, including this one, which are within its budget together.
    shortage : Shortage
    side_columns : tuple of str
        Public columns that a reader may know about a row: the limit also holds for such readers.
    replaced : tuple of ReplacedValues
        Rows of each public column whose value is always written as another.
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
        """Name of the parameter that requested differential privacy; None without differential privacy."""
        return next((name for name in PROMISES if getattr(self, name) is not None), None)


class Finding(Protocol):
    """Result that can be added to a report, for example the result of an attack in `sanitize.auditing.attack`.

    A finding whose attribute ``ok`` is False refutes the release: the release is not the one that the report measured,
    or it identifies people. A finding with a method ``report_entry`` gets a field of its own. The public view contains
    no findings.
    """

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""


@dataclass(frozen=True)
class Section:
    """Section of a report in addition to its measures: a heading, a paragraph and a table.

    Attributes
    ----------
    name, title : str
        Key of the section, and its heading.
    words : str
        Text of the section in one paragraph, which names no sensitive symbol.
    columns : tuple of str
        Headings of the table's columns; the first is for the names of the rows.
    rows : tuple of tuples
        Name and figures of each row, None where there is no figure.
    """

    name: str
    title: str
    words: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[Cells, ...] = ()


@dataclass(frozen=True)
class PartLeakage:
    """Leakage through one part of a joint release, or through one kept column, by itself.

    Attributes
    ----------
    part : str
        Name of the part, or of the kept column.
    columns : tuple of str
    mechanism : str or None
        None for a kept column.
    max_log_lift, min_log_lift, mutual_information : float
        Leakage about S through this part, in nats.
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
        """Return the leakage of a part from the figures of a report on this part alone."""
        names = ("max_log_lift", "min_log_lift", "mutual_information", "normalized_utility")
        return cls(part, columns, mechanism, *(float(figures[name]) for name in names))

    @property
    def role(self) -> str:
        """Name of the mechanism, or a note that there is none."""
        return self.mechanism or "kept as it is"
