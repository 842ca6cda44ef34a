"""Lines proposed for a policy: bins, latent classes, hierarchies, and columns to leave out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import quote_toml
from sanitize._util.limits import TUPLE_ROWS
from sanitize.core.binning import LearnedEdges
from sanitize.policy._declaration import CLASSES, GRID, MECHANISMS
from sanitize.policy._policy import is_joint
from sanitize.release.survey import MANY_VALUES, ColumnSurvey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.policy._policy import Policy, PolicyChannel


# Bins that are proposed for a column: few keep rows per combination, and five still distinguish low from high.
N_BINS = 5


@dataclass(frozen=True)
class Proposal:
    """Line proposed for a policy, with the key that it sets and the reason.

    Attributes
    ----------
    table, name : str
        TOML table of the key, such as ``channel.bins``, and name of the key.
    setting : object
        Value of the key; None if the line is to be removed.
    why : str
        Reason, which names no value of the table except proposed edges.
    channel : str or None
        Name of the channel, if the policy has several.
    is_open : bool
        Whether the line is only a comment, because it weakens a claim or limit or the owner has to choose the value.
    shown : str or None
        Text in place of the setting, if it is only an example.
    """

    table: str
    name: str
    setting: Any
    why: str = ""
    channel: str | None = None
    is_open: bool = False
    shown: str | None = None

    @property
    def key(self) -> str:
        """Key of the line as written in TOML."""
        return toml_key(self.name)

    @property
    def value(self) -> str:
        """Value of the line as written in TOML."""
        return to_toml(self.setting) if self.shown is None else self.shown

    @property
    def is_blank(self) -> bool:
        """True if the owner has to decide, or to write a file, before the line can be tried."""
        return self.is_open or self.table == "channel.hierarchies"

    @property
    def head(self) -> str:
        """Heading of the table that the line belongs to."""
        return f"[{self.table}]{'' if self.channel is None else f'  # under the [[channel]] {self.channel!r}'}"

    @property
    def assignment(self) -> str:
        """Key and value; commented out if the value is left open."""
        return f"{'# ' * self.is_open}{self.key} = {self.value}"

    @property
    def line(self) -> str:
        """Line with the reason as a comment."""
        return f"{self.assignment}  # {self.why}"


def proposals_text(proposals: Sequence[Proposal]) -> str:
    """Write proposed lines under the headings of their tables."""
    lines = []
    for head in dict.fromkeys(proposal.head for proposal in proposals):
        lines += [head, *(proposal.line for proposal in proposals if proposal.head == head)]
    return "\n".join(lines)


def propose(policy: Policy, columns: Mapping[str, Any], n_rows: int) -> tuple[Proposal, ...]:
    """Propose settings for the columns of a table under a policy.

    Bins are proposed for a public column with more than 20 distinct numbers or dates, if the combinations of all public
    columns have fewer than five rows each on average. Latent classes are proposed if they still do with bins: then text
    with more than 50 values needs a hierarchy, and text that differs in most rows identifies rows and is left out. Bins
    are proposed for a sensitive column whose numbers or dates have fewer than 50 rows each. Edges are rounded quantiles
    of the rows, marked as learned. Under a confidence, which needs symbols that are fixed before any row is seen, the
    edges are left open.

    Parameters
    ----------
    policy : Policy
    columns : mapping of name to column
        Sensitive and public columns of the policy, with all rows or a sample.
    n_rows : int
        Number of rows of the table.
    """
    binned = {name for channel in policy.channels for name in channel.bins}
    surveys = {name: ColumnSurvey.from_column(name, column) for name, column in columns.items()}
    proposals: list[Proposal] = []
    for name in policy.sensitive:
        secret = surveys[name]
        if name not in binned and secret.is_wide and secret.n_values * 50 > n_rows:
            proposals.append(propose_bins(secret, is_sure=any("confidence" in c.settings for c in policy.channels)))
    for channel in policy.channels:
        title = channel.name if len(policy.channels) > 1 else None
        proposed = _propose_for_channel(policy, channel, [surveys[column] for column in channel.public], n_rows)
        proposals += [replace(proposal, channel=title) for proposal in proposed]
    return tuple(proposals)


def _propose_for_channel(
    policy: Policy, channel: PolicyChannel, surveys: list[ColumnSurvey], n_rows: int
) -> list[Proposal]:
    """Propose settings for the public columns of one channel."""
    if channel.mechanism == GRID:
        return []
    if channel.mechanism == CLASSES:
        return [*_propose_drops(surveys), *_hierarchies(channel, surveys)]
    sizes = {survey.name: survey.n_symbols(channel.bins.get(survey.name)) for survey in surveys}
    if math.prod(sizes.values()) * TUPLE_ROWS <= n_rows:
        return []
    wide = [survey for survey in surveys if survey.is_wide and survey.name not in channel.bins]
    released = [survey for survey in surveys if not survey.is_identifier]
    after = math.prod(N_BINS if survey in wide else sizes[survey.name] for survey in released)
    may_be_whole = not is_joint(policy) and policy.budget.notion in MECHANISMS[CLASSES][1]
    if after * TUPLE_ROWS > n_rows and len(released) > 1 and may_be_whole:
        why = f"{_count(math.prod(sizes.values()))} combinations of the public columns in {n_rows} rows"
        return [
            *_propose_drops(surveys),
            Proposal("channel", "mechanism", CLASSES, f"{why}; latent classes are groups of rows that are alike"),
            *_hierarchies(channel, released),
        ]
    is_sure = "confidence" in channel.settings  # the limit is claimed for the population
    return [*_propose_drops(surveys), *(propose_bins(survey, is_sure=is_sure) for survey in wide)]


def propose_bins(survey: ColumnSurvey, *, is_sure: bool, n_bins: int = N_BINS) -> Proposal:
    """Line that cuts a column into about ``n_bins`` bins; under a confidence, an example for the owner to adapt."""
    is_date = survey.kind == "date"
    count_words = f"{_count(survey.n_values)} different {'dates or times' if is_date else 'numbers'}"
    cuts: Any = survey.step or survey.edges(n_bins)
    if is_sure:
        why = f"{count_words}; choose from knowledge: with bins taken from these rows, confidence would claim too much"
        shown = '"year"' if is_date else "[low, ..., high]"
        return Proposal("channel.bins", survey.name, cuts, why, is_open=True, shown=shown)
    if isinstance(cuts, str):
        return Proposal("channel.bins", survey.name, cuts, count_words)
    why = f"{count_words}; rounded quantiles of these rows, better chosen from knowledge"
    return Proposal("channel.bins", survey.name, LearnedEdges(cuts), why)


def _propose_drops(surveys: list[ColumnSurvey]) -> list[Proposal]:
    names = [survey.name for survey in surveys if survey.is_identifier]
    return [drop_line(names, "a different text in most rows, which names them")] if names else []


def drop_line(names: Sequence[str], why: str) -> Proposal:
    """Line that leaves columns out of the release."""
    return Proposal("columns", "drop", tuple(names), why)


def _hierarchies(channel: PolicyChannel, surveys: list[ColumnSurvey]) -> list[Proposal]:
    proposals, names = [], channel.settings.get("hierarchies", {})
    for survey in surveys:
        is_large = survey.kind == "text" and survey.n_values > 50 and not survey.is_identifier
        if is_large and survey.name not in names:
            why = f"{_count(survey.n_values)} different values; a file with a line for each: value;wider;widest"
            proposals.append(Proposal("channel.hierarchies", survey.name, f"{survey.name}.csv", why))
    return proposals


def toml_key(name: str) -> str:
    """Key as written in TOML."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else quote_toml(name)


def to_toml(value: Any) -> str:
    """Write a value in TOML; a text among learned edges is written as a date."""
    match value:
        case LearnedEdges():
            return f"{{ learned = [{', '.join(edge if isinstance(edge, str) else f'{edge:.15g}' for edge in value)}] }}"
        case str():
            return quote_toml(value)
        case Mapping():
            return f"{{ {', '.join(f'{toml_key(key)} = {to_toml(inner)}' for key, inner in value.items())} }}"
        case list() | tuple():
            return f"[{', '.join(map(to_toml, value))}]"
        case float():
            return f"{value:.15g}"
    return json.dumps(value)


def _count(n: int) -> str:
    return f"{n}" if n < MANY_VALUES else f"{n:.3g}".replace("+", "")
