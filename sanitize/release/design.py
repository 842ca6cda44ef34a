"""Design of a channel from counts, and facts about data and settings for reports."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sanitize._util.checks import whole_number
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets import LDPBudget, LiftBudget, limits_for, present_limits
from sanitize.core.channel import Channel
from sanitize.core.confidence import (
    REPEATED,
    ConfidenceSet,
    design_assumptions,
    level_of_each,
    repeats_too_often,
    rows_to_tell_two,
)
from sanitize.errors import ColumnError, InvalidChannel, InvalidParameter, UselessRelease
from sanitize.mechanisms import as_lift_budget
from sanitize.report import (
    POOLED,
    VERDICT_TOLERANCE,
    Lack,
    LeakageReport,
    ReleaseFacts,
    ReplacedValues,
    Shortage,
    column_distributions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.core.joint import ContingencyTable, JointDistribution
    from sanitize.release.first_pass import RowCounts
    from sanitize.release.layout import Layout

_B = TypeVar("_B")

# Fewest rows with a combination of public values that is released unchanged: fewer rows could be traced to people.
MIN_COUNT = 10
# Most sensitive values, the most frequent first, for which the report says whether the limit allows certainty: a limit
# allows certainty of the most frequent values first.
_MOST_SHARES = 10
# Label of the pool of rare values; brackets, because no table is likely to contain such a value.
_OTHERS = "(other)"
# Readers expect weighted frequencies of a weighted table, so the report says what holds.
_WEIGHTED_NOTE = (
    "the limit is on the weighted distribution, but each row is released once and without its weight: the frequencies "
    "of released values are neither those of the rows nor those of the population"
)


@dataclass(frozen=True)
class Specification:
    """Settings for designing a channel from a distribution.

    Attributes
    ----------
    name : str
        Name of the mechanism in reports.
    mechanism : callable
        Designs a channel from the distribution of (S, X).
    budget : Budget
        Budget that every released symbol must meet, under the distribution that was learned.
    keeps_symbols : bool
        Whether the mechanism's outputs are public symbols already (randomized response), so that none must be written.
    smoothing : float
    min_count : int
    target : str, optional
        Public column that the mechanism favours. The mechanism gets the distribution of this column given each public
        symbol as ``target``.
    side_columns : sequence of str
        Public columns that an attacker may know about a row. The mechanism gets P(w, s, x) for each part of these
        columns as ``side_columns``.
    prints : bool
        Whether the mechanism's output is written as a public symbol drawn from P(x|y), because the output itself names
        groups that depend on exact counts. False for a joint release, whose parts do this, and for points of a declared
        grid, which name no group.
    facts : ReleaseFacts
        Facts that the report states in addition to its numbers.
    confidence : float, optional
        Confidence at which the budget is met under every distribution that agrees with the counts. The mechanism gets
        the set of these distributions as ``confidence``.
    counts_people : bool
        Whether clusters of rows are people, so that rules about few rows apply to few people.
    """

    name: str
    mechanism: Callable[..., Channel]
    budget: Budget
    keeps_symbols: bool = False
    smoothing: float = 0.0
    min_count: int = 0
    confidence: float | None = None
    target: str | None = None
    side_columns: Sequence[str] = ()
    prints: bool = True
    facts: ReleaseFacts = field(default_factory=ReleaseFacts)
    counts_people: bool = False

    @property
    def whom(self) -> str:
        """Word for the units that are counted, rows or people."""
        return "people" if self.counts_people else "rows"

    def support(self, table: ContingencyTable) -> tuple[NDArray[Any], NDArray[Any]]:
        """Number of rows, or people, with each sensitive symbol, and with each public symbol."""
        if self.counts_people and table.rows is not None:  # otherwise nobody has two rows
            return table.people
        rows = self.cell_rows(table)
        return rows.sum(axis=1), rows.sum(axis=0)

    def cell_rows(self, table: ContingencyTable) -> NDArray[Any]:
        """Number of rows of each pair (s, x); without a confidence, their total weight unless row counts are known."""
        return table.counts if self.confidence is None and table.row_counts is None else table.seen


def check_confidence_settings(spec: Specification, layout: Layout) -> None:
    """Refuse settings that cannot be combined with a confidence."""
    if spec.confidence is None:
        return
    learned = next((name for name, bins in layout.bins.items() if bins.learned), None)
    if learned is not None:
        raise ColumnError(
            f"confidence needs bin edges that do not depend on the rows, but the edges of column {learned!r} were "
            f"learned from the rows; declare edges, as in bins={{{learned!r}: [0, 10, 20]}}",
            learned,
        )
    if spec.smoothing:
        raise InvalidParameter("smoothing and confidence cannot be combined; leave one of them out")


def release_facts(
    layout: Layout, counts: RowCounts, spec: Specification, facts: ReleaseFacts, channel: Channel, *, is_fixed: bool
) -> ReleaseFacts:
    """Facts about the mechanism, the settings and the data for a report.

    Parameters
    ----------
    layout : Layout
    counts : RowCounts
        Counts of (S, X), and of values outside the edges of binned columns.
    spec : Specification
    facts : ReleaseFacts
    channel : Channel
        Channel from public symbols to released ones.
    is_fixed : bool
        Whether the channel was given instead of designed.
    """
    table, notes = counts.table, list(facts.warnings)
    rare, shortage = _too_rare(layout, table, spec)
    if table.row_counts is not None:
        notes.append(_WEIGHTED_NOTE)
    notes += [*layout.notes(counts.clipped), *_warnings(layout, table, spec, channel), *rare]
    people = ""
    if layout.prints_symbols and not is_fixed:  # whether any are rare may depend on a single row, so it is not stated
        phrase = f"combinations of values that few {spec.whom} have"
        people = f"The limit does not keep people from being recognised: {phrase} are released as they are."
        if spec.min_count >= MIN_COUNT:
            maybe = "" if spec.counts_people else ", perhaps all of one person"
            people = f"{POOLED} {spec.min_count} {spec.whom}{maybe}."
    return replace(
        facts,
        mechanism=spec.name,
        binned=layout.binned_public,
        warnings=tuple(notes),
        people=people,
        shortage=shortage,
        side_columns=tuple(spec.side_columns),
        replaced=count_replaced_values(layout, counts, spec),
    )


def count_replaced_values(layout: Layout, counts: RowCounts, spec: Specification) -> tuple[ReplacedValues, ...]:
    """Count, per public column, the rows that are written with another value because their value has no symbol."""
    table, clipped = counts.table, counts.clipped
    if not (layout.prints_symbols and spec.prints):
        return tuple(ReplacedValues(name, clipped=n) for name, n in clipped.items() if name in layout.public)
    rows = spec.cell_rows(table).sum(axis=0)
    is_rare = rows < spec.min_count
    entries = []
    for name, codes in zip(table.public.columns, table.public.codes.T, strict=True):
        is_printed = np.isin(codes, codes[~is_rare])
        pooled, unprinted = (round(float(rows[where].sum())) for where in (is_rare, ~is_printed))
        entries.append(ReplacedValues(name, pooled, unprinted, int(clipped[name])))
    return tuple(entries)


def chain_channels(channels: Sequence[Channel]) -> Channel:
    """Chain consecutive channels to a single channel from public symbols to written symbols."""
    return reduce(Channel.then, channels)


def design_channels(
    table: ContingencyTable,
    joint: JointDistribution,
    spec: Specification,
    input_joint: JointDistribution | None = None,
    confidence: ConfidenceSet | None = None,
    fixed: Channel | None = None,
) -> tuple[Channel, ...]:
    """Design the channel from public symbols to the mechanism's output, and the channel that writes this output.

    ``input_joint`` is the distribution that the mechanism sees in place of ``joint``, with the same public symbols;
    ``confidence`` is the set of distributions under all of which the mechanism must meet its budget; ``fixed`` is a
    channel to use in place of a design.
    """
    place = table.public.union(joint.public)[2]
    rows = spec.support(table)[1][place]
    pooled = _pool_rare(table, joint, spec, place, rows)
    if fixed is not None:
        return (check_fixed_channel(fixed, joint, pooled),)
    distribution = joint if input_joint is None else input_joint
    settings: dict[str, Any] = {}
    if spec.side_columns:
        masses = distribution.pmf * joint.public.alike(spec.side_columns)[:, None]
        settings["side_columns"] = masses if pooled is None else [pooled.push(mass) for mass in masses]
    if pooled is not None:
        distribution = distribution.push(pooled)
    if spec.target is not None:
        of_columns = column_distributions(joint)
        if spec.target not in of_columns:
            raise ColumnError(
                f"target must be one of the public columns {', '.join(map(repr, of_columns))}, got {spec.target!r}"
            )
        seen = of_columns[spec.target] if pooled is None else pooled.push(of_columns[spec.target])
        settings["target"] = seen / seen.sum(axis=0)  # P(t|x), given the pooled symbols that the mechanism sees
    if confidence is not None:
        settings["confidence"] = (
            confidence if pooled is None else confidence.merge(pooled.stages[0].indices, pooled.outputs)
        )
    inner = spec.mechanism(distribution, **settings)
    channel = (
        inner.renamed(inputs=joint.public) if pooled is None else pooled.then(inner).with_optimality(inner.optimality)
    )
    if spec.keeps_symbols:
        channel = channel.renamed(outputs=distribution.public)
    printing = pooled if spec.keeps_symbols else channel if spec.prints else None
    if printing is None:
        return (channel,)
    # Rows of the pool are written with values of other rows, because values in the pool could be traced to people.
    shown = np.where(rows < spec.min_count, 0.0, joint.p_x)
    if not shown.any():
        raise unshared_error(joint, spec.min_count, spec.whom)
    return channel, printing.reversed(shown)


def unshared_error(joint: JointDistribution, min_count: int, whom: str = "rows") -> UselessRelease:
    """Error for a table in which no combination of public values is frequent enough to be written."""
    what = f"no combination of values of the public columns is shared by {min_count} {whom} (min_count)"
    return UselessRelease(None, what, Lack("combinations", column=joint.public.widest).advice)


def check_fixed_channel(channel: Channel, joint: JointDistribution, pooled: Channel | None) -> Channel:
    """Return the given channel, which replaces a design; refuse a channel that reads or writes other symbols.

    The channel of a receipt is not trusted. Its leakage is measured like that of any design. Its output symbols are
    compared with the table here, because a budget does not restrict the names of released symbols.

    Parameters
    ----------
    channel : Channel
        Channel from public symbols to released ones.
    joint : JointDistribution
        Distribution of the table.
    pooled : Channel or None
        Channel that merges rare symbols, which the given channel must not separate.

    Raises
    ------
    InvalidChannel
    """
    if channel.inputs != joint.public:
        raise InvalidChannel(
            "the channel and the table have different public values; give the channel of a release of this table"
        )
    if pooled is not None:
        pool = pooled.stages[0].indices
        members = np.unique(pool, return_index=True)[1]
        if Channel((channel.stages[0],)) != Channel((channel.stages[0].take(members).take(pool),)):
            raise InvalidChannel(
                "the channel releases rare values that min_count pools; give a channel designed with this min_count"
            )
    # A joint release may write tuples of its columns' values that no row has.
    inputs, outputs = channel.inputs, channel.outputs
    if (outputs.columns, outputs.levels) != (inputs.columns, inputs.levels):
        raise InvalidChannel(
            "the channel writes a value that the table does not have; give the channel of a release of this table"
        )
    return channel


def _people_among_first(table: ContingencyTable, place: NDArray[Any], order: NDArray[Any]) -> NDArray[Any]:
    """Number of people with one of the first k symbols of a list, for every k."""
    assert table.rows is not None
    _, x, weights, person, _ = table.rows
    rank = np.full(len(table.public), len(order))
    rank[place[order]] = np.arange(len(order))
    first = np.full(int(person.max(initial=0)) + 1, len(order))
    np.minimum.at(first, person[weights > 0], rank[x[weights > 0]])
    return np.bincount(first, minlength=len(order) + 1)[: len(order)].cumsum()


def _pool_rare(
    table: ContingencyTable, joint: JointDistribution, spec: Specification, place: NDArray[Any], rows: NDArray[Any]
) -> Channel | None:
    """Channel that merges all symbols of fewer than ``min_count`` rows, or people, into one; None if there are none.

    If all rare symbols together still have too few, the next rarest join them. ``place`` is the place of each symbol in
    the table, and ``rows`` is the number of rows, or people, with it.
    """
    min_count = whole_number("min_count", spec.min_count, 0)
    n_rare = int((rows < min_count).sum())
    if n_rare == 0:
        return None
    order = np.argsort(rows, kind="stable")
    are_people = spec.counts_people and table.rows is not None  # people with several rows may have several symbols
    together = _people_among_first(table, place, order) if are_people else np.cumsum(rows[order])
    n_pooled = max(n_rare, int(np.searchsorted(together, min_count)) + 1)
    leader = np.arange(len(rows))
    leader[order[:n_pooled]] = order[:n_pooled].min()
    first, labels = np.unique(leader, return_inverse=True)

    def names() -> list[str]:  # values in the pool could be traced to people, so their number is not shown
        return [_OTHERS if x == leader[order[0]] else joint.public.label(int(x)) for x in first]

    outputs = Alphabet.from_n_labels("+".join(joint.public.columns), len(first), names)
    return Channel.merge(labels, joint.public, outputs)


def _warnings(layout: Layout, table: ContingencyTable, spec: Specification, channel: Channel) -> list[str]:
    """Warnings about the data and the settings for a reader of the report."""
    notes = []
    rows, rare = spec.cell_rows(table).sum(axis=0), spec.support(table)[1] < MIN_COUNT
    n_rare = int(rows[rare].sum())
    if n_rare and spec.min_count < MIN_COUNT and layout.prints_symbols:
        way_out = f"min_count={MIN_COUNT} pools them"
        if spec.facts.parts or spec.facts.kept:
            way_out = "one tuple of all columns, or latent classes, avoid this"
        notes.append(
            f"{n_rare} rows have combinations of values that fewer than {MIN_COUNT} {spec.whom} have. These are "
            f"released as they are and reveal single people ({way_out})"
        )
    if spec.confidence is not None and table.rows is not None:
        notes += design_assumptions(table, of_people=spec.counts_people)
    elif spec.confidence is not None and repeats_too_often(table.counts):
        notes.append(REPEATED)
    notes += _certainties(table, spec)
    if spec.smoothing:
        raw = LeakageReport.measure(*restrict(table, channel, 0, spec.budget))
        state = "also within" if raw.worst_excess <= VERDICT_TOLERANCE else f"{raw.worst_excess:.4g} nats over"
        notes.append(
            f"smoothing adds {spec.smoothing:g} to every cell, a prior and not data; under the raw frequencies "
            f"the release is {state} the budget"
        )
    return notes


def _certainties(table: ContingencyTable, spec: Specification) -> list[str]:
    """List with a warning if the limit allows certainty about some sensitive values; empty otherwise."""
    if not isinstance(spec.budget, LiftBudget):
        return []
    seen = present_limits(spec.budget, table.sensitive)
    p_s = table.to_joint().p_s
    frequent = np.argsort(-p_s, kind="stable")[:_MOST_SHARES]
    lifts = np.zeros((len(p_s), len(frequent)))
    lifts[frequent, range(len(frequent))] = 1 / p_s[frequent]
    sure = p_s[frequent[limits_for(seen, table.sensitive).lift_excess(lifts, p_s) <= VERDICT_TOLERANCE]]
    if len(p_s) == 1 or not len(sure):
        return []
    shares = ", ".join(f"{100 * share:.2g} %" for share in sure)
    return [
        f"the limit allows certainty: a released value may reveal for sure a sensitive value that {shares} of the "
        f"{spec.whom} have, because at_most times its share reaches 1 and at_least is 0; set at_most below "
        f"{1 / sure[0]:.3g}, or at_least above 0"
    ]


def restrict(
    counts: ContingencyTable, channel: Channel, fallback: int, budget: _B
) -> tuple[JointDistribution, Channel, _B]:
    """Return the distribution of counted rows, and the channel and the budget restricted to their symbols.

    A symbol that the channel does not have is released like the symbol number ``fallback``.
    """
    distribution = counts.to_joint()
    codes = {symbol: code for code, symbol in enumerate(channel.inputs.symbols)}
    inputs = np.array([codes.get(symbol, fallback) for symbol in distribution.public.symbols])
    stages = (channel.stages[0].take(inputs), *channel.stages[1:])
    restricted = Channel(stages, distribution.public, channel.outputs)
    return distribution, restricted, present_limits(budget, distribution.sensitive)


def _too_rare(layout: Layout, table: ContingencyTable, spec: Specification) -> tuple[list[str], Shortage]:
    """Notes on sensitive values with too few rows to be certified, and the kind of shortage."""
    if spec.confidence is None or not isinstance(spec.budget, (LiftBudget, LDPBudget)):
        return [], spec.facts.shortage
    rows = spec.support(table)[0]
    bounds = as_lift_budget(limits_for(present_limits(spec.budget, table.sensitive), table.sensitive))
    level = level_of_each(len(rows), table.counts.shape[1], spec.confidence)
    lower, upper, _ = np.broadcast_arrays(bounds.lower, bounds.upper, rows)
    needed = np.array([rows_to_tell_two(*sides, level=level) for sides in zip(lower, upper, strict=True)])
    notes, shortage = rare_secrets(layout.sensitive, rows, needed, "even two symbols", whom=spec.whom)
    return notes, shortage and (shortage[0], None)  # enough for two symbols, not for more


def rare_secrets(
    sensitive: Sequence[str], rows: NDArray[Any], needed: NDArray[Any], what: str, about: str = "", whom: str = "rows"
) -> tuple[list[str], Shortage]:
    """Sentences on up to three sensitive values that are too rare to certify, without naming them; and the shortage.

    ``rows`` is the number of rows with each sensitive value, and ``needed`` is the number that it would take.
    """
    columns, places = " x ".join(map(repr, sensitive)), np.flatnonzero((rows > 0) & (rows < needed))
    if not len(places):
        return [], None
    notes = [
        f"the value of {columns} that {about}{rows[s]:.0f} of {rows.sum():.0f} {whom} have is too rare to certify "
        f"{what}, so less is kept: about {float(f'{needed[s]:.2g}'):.0f} or more {whom} must have it; join it "
        f"with another value, or take more {whom}"
        for s in places[:3]
    ]
    in_all = float((needed[places] / rows[places]).max() * rows.sum())
    return notes, ("secret" if len(places) < (rows > 0).sum() else "rows", int(float(f"{in_all:.1g}")))
