"""From counts to a channel and its report: the one path that memory, files and engines share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial, reduce
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
from sanitize.core.lifts import lift
from sanitize.errors import ColumnError, InvalidChannel, InvalidParameter
from sanitize.mechanisms import as_lift_budget
from sanitize.report import (
    VERDICT_TOLERANCE,
    LeakageReport,
    ReleaseFacts,
    ReplacedValues,
    Shortage,
    column_distributions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.core.joint import ContingencyTable, JointDistribution
    from sanitize.release.classes import ClassPartition
    from sanitize.release.layout import Layout

_B = TypeVar("_B")

# Rows that a combination of public values has before it is printed as it is: fewer are known to belong to somebody.
MIN_COUNT = 10
# Sensitive values that are looked at, the most frequent first, for whether a limit allows certainty.
_MOST_SHARES = 10
# What the pool of rarer ones is called.
_OTHERS = "(other)"


@dataclass(frozen=True)
class Specification:
    """How to get from a distribution to a channel.

    Attributes
    ----------
    name : str
        Mechanism, for the report.
    mechanism : callable
        From the distribution of (S, X) to the channel that is designed.
    budget : Budget
        What every printed symbol must meet, under the distribution that was learned.
    keeps_symbols : bool
        The mechanism's outputs are its inputs' symbols (randomized response), so nothing needs printing.
    smoothing : float
    min_count : int
    target : str, optional
        Public column that the mechanism shall keep, whose distribution given each public symbol it then gets as
        ``target``.
    side_columns : sequence of str
        Public columns that may be known of a row; the mechanism then gets P(w, s, x) of each case of a part of them as
        ``side_columns``.
    prints : bool
        What the mechanism releases is still to be printed, as a public symbol drawn from P(x|y): what it releases
        itself names groups that the exact counts made (a joint release is made of parts that are printed, and points of
        a declared grid name no group).
    channel : Channel, optional
        What was released through, printing included, where it is only to be measured; nothing is designed then.
    partition : ClassPartition, optional
        Latent classes in place of a fit, where a release is drawn again.
    facts : ReleaseFacts
        What the report says beyond its numbers.
    confidence : float, optional
        Meet the budget under every distribution that the counts allow at this confidence; the mechanism then gets the
        set of these distributions as ``confidence``.
    is_priced : bool
        Whether the report says what confidence costs, which takes three more designs.
    counts_people : bool
        Clusters of the rows are people, and what is said of few rows is meant of few people.
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
    channel: Channel | None = None
    partition: ClassPartition | None = None
    facts: ReleaseFacts = field(default_factory=ReleaseFacts)
    is_priced: bool = True
    counts_people: bool = False

    @property
    def whom(self) -> str:
        """Word for what is counted."""
        return "people" if self.counts_people else "rows"

    def support(self, table: ContingencyTable) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows, or people, that have each sensitive symbol, and each public one."""
        if self.counts_people and table.rows is not None:  # else nobody has two
            return table.people
        rows = self.cell_rows(table)
        return rows.sum(axis=1), rows.sum(axis=0)

    def cell_rows(self, table: ContingencyTable) -> NDArray[Any]:
        """Rows of each cell; without a confidence a weight is a number of rows, and else of people of the source."""
        return table.counts if self.confidence is None and table.row_counts is None else table.seen


@dataclass(frozen=True)
class Design:
    """A channel, what it leaks, and where symbols go that were not seen.

    Attributes
    ----------
    joint : JointDistribution
        The distribution learned (private to whoever holds the table).
    channel : Channel
        From public symbols to what is printed.
    report : LeakageReport
    fallback : int
        Code of the riskiest public symbol: unseen symbols are treated like it.
    """

    joint: JointDistribution
    channel: Channel
    report: LeakageReport
    fallback: int


def design(
    layout: Layout, table: ContingencyTable, spec: Specification, facts: ReleaseFacts, clipped: Mapping[str, int]
) -> Design:
    """Learn the distribution, design the channel, measure it. The report is not yet required to be ok.

    Parameters
    ----------
    layout : Layout
        Roles and bins of the columns that were counted.
    table : ContingencyTable
        Counts of (S, X).
    spec : Specification
    facts : ReleaseFacts
        What the report says of the settings; what it says of the data is added here.
    clipped : mapping of str to int
        Values of each binned column that lay outside its edges.
    """
    layout.check_distinct(table)
    learned = next((name for name, bins in layout.bins.items() if bins.learned), None)
    if spec.confidence is not None and learned is not None:
        raise ColumnError(
            f"confidence needs symbols that were fixed before the rows were seen, and the bin edges of column "
            f"{learned!r} were learned from them: declare the edges, as in bins={{{learned!r}: [0, 10, 20]}}",
            learned,
        )
    if spec.confidence is not None and spec.smoothing:
        raise InvalidParameter(
            "smoothing is a prior and confidence is about what was counted: use one of them (min_count pools rare "
            "symbols under either)"
        )
    joint = table.to_joint(spec.smoothing)
    among = None if spec.confidence is None else ConfidenceSet.of(table, spec.confidence)
    channels = design_channels(table, joint, spec, confidence=among)
    channel = chain_channels(channels).with_optimality(channels[0].optimality)
    rare, shortage = _too_rare(layout, table, spec)
    people = ""
    if layout.prints_symbols and spec.channel is None:  # whether any are rare turns with a row, so nobody reads it here
        phrase = f"combinations of values that few {spec.whom} have"
        people = f"Of people nothing is promised: {phrase} are printed as they are."
        if spec.min_count >= MIN_COUNT:
            maybe = "" if spec.counts_people else ", maybe all of one person"
            people = f"Each released combination has at least {spec.min_count} {spec.whom}{maybe}."
    warnings = (*facts.warnings, *layout.notes(clipped), *_warnings(layout, table, spec, channel), *rare)
    facts = replace(facts, mechanism=spec.name, binned=layout.binned_public)
    facts = replace(facts, warnings=warnings, people=people, shortage=shortage, known=tuple(spec.side_columns))
    facts = replace(facts, replaced=count_replaced_values(layout, table, spec, clipped))
    report = LeakageReport.measure(joint, channel, spec.budget, facts=facts, confidence=among)
    risk = limits_for(spec.budget, joint.sensitive).lift_risk(lift(joint), joint.p_s)
    return Design(joint, channel, report, int(np.argmax(risk)))


def count_replaced_values(
    layout: Layout, table: ContingencyTable, spec: Specification, clipped: Mapping[str, int]
) -> tuple[ReplacedValues, ...]:
    """How many rows of each public column are written with another value for want of a place."""
    if not (layout.prints_symbols and spec.prints):
        return tuple(ReplacedValues(name, clipped=n) for name, n in clipped.items() if name in layout.public)
    rows = spec.cell_rows(table).sum(axis=0)
    is_rare = rows < spec.min_count
    entries = []
    for name, codes in zip(table.public.columns, table.public.codes.T, strict=True):
        is_printed = np.isin(codes, codes[~is_rare])
        pooled, unprinted = (round(float(rows[where].sum())) for where in (is_rare, ~is_printed))
        entries.append(ReplacedValues(name, pooled, unprinted, int(clipped.get(name, 0))))
    return tuple(entries)


def chain_channels(channels: Sequence[Channel]) -> Channel:
    """Channel from public symbols to what is printed."""
    return reduce(Channel.then, channels)


def design_channels(
    table: ContingencyTable,
    joint: JointDistribution,
    spec: Specification,
    input_joint: JointDistribution | None = None,
    confidence: ConfidenceSet | None = None,
) -> tuple[Channel, ...]:
    """Channel from public symbols to what the mechanism releases, and the one that prints it, if there is one.

    ``given`` is the distribution that the mechanism shall see in place of ``joint``, with the same public symbols;
    ``confidence`` is the set of distributions under all of which it shall meet its budget.
    """
    place = table.public.union(joint.public)[2]
    rows = spec.support(table)[1][place]
    together = partial(_rows_among_first, rows)
    if spec.counts_people and table.rows is not None:
        together = partial(_people_among_first, table, place)
    pooled = _pool_rare(joint, rows, whole_number("min_count", spec.min_count, 0), together)
    if spec.channel is not None:
        return (check_fixed_channel(spec.channel, joint, pooled),)
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
        settings["target"] = seen / seen.sum(axis=0)  # P(t|x) of the symbols that the mechanism sees
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
        printing = pooled
    else:
        printing = channel if spec.prints else None
    if printing is None:
        return (channel,)
    # Rows of the pool are printed as those of others: its own values are somebody's.
    shown = np.where(rows < spec.min_count, 0.0, joint.p_x)
    if not shown.any():
        widest = joint.public.widest
        raise ColumnError(
            f"no combination of values of the public columns is there in min_count={spec.min_count} {spec.whom}, so "
            f"that none can be printed: cut {widest!r}, which has most values, into bins, release fewer columns, or "
            "release the table through latent classes",
            widest,
        )
    return channel, printing.reversed(shown)


def check_fixed_channel(channel: Channel, joint: JointDistribution, pooled: Channel | None) -> Channel:
    """A channel in place of a design, if it is for the public symbols of a table and prints nothing but them.

    One of a receipt is not trusted. Its distribution is measured like that of any design; what it may print is held
    against the table here, because no budget speaks of what a released symbol is called.

    Parameters
    ----------
    channel : Channel
        From public symbols to what is printed.
    joint : JointDistribution
        Distribution of the table.
    pooled : Channel or None
        Rare symbols made one, which the channel must take as one.

    Raises
    ------
    InvalidChannel
    """
    if channel.inputs != joint.public:
        raise InvalidChannel("the channel is for other public symbols than those of the source")
    if pooled is not None:
        pool = pooled.stages[0].indices
        members = np.unique(pool, return_index=True)[1]
        if Channel((channel.stages[0],)) != Channel((channel.stages[0].take(members).take(pool),)):
            raise InvalidChannel("the channel tells rare symbols apart that min_count makes one")
    # A joint release prints tuples of its columns' values that no row has.
    prints_own = channel.outputs.columns == channel.inputs.columns and all(
        output_level.equals(level)
        for output_level, level in zip(channel.outputs.levels, channel.inputs.levels, strict=True)
    )
    if not prints_own:
        raise InvalidChannel("the channel prints what is no public value of the source")
    return channel


def _rows_among_first(rows: NDArray[Any], order: NDArray[Any]) -> NDArray[Any]:
    """Rows that have one of the first k of some symbols, for every k."""
    return np.cumsum(rows[order])


def _people_among_first(table: ContingencyTable, place: NDArray[Any], order: NDArray[Any]) -> NDArray[Any]:
    """Different people who have one of the first k of some symbols, for every k."""
    assert table.rows is not None
    _, x, weights, person, _ = table.rows
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of_table = np.full(len(table.public), len(order), np.int64)
    of_table[place] = rank
    first = np.full(int(person.max(initial=0)) + 1, len(order))
    np.minimum.at(first, person[weights > 0], of_table[x[weights > 0]])
    return np.bincount(first, minlength=len(order) + 1)[: len(order)].cumsum()


def _pool_rare(
    joint: JointDistribution, counts: NDArray[Any], min_count: int, together: Callable[..., NDArray[Any]]
) -> Channel | None:
    """Channel that makes one symbol of all that occur in fewer than ``min_count`` rows; None if there are none.

    Where all rare symbols together are still too few, the next rarest join them: ``together`` are the rows, or the
    people, of the first so many of them.
    """
    n_rare = int((counts < min_count).sum())
    if n_rare == 0:
        return None
    order = np.argsort(counts, kind="stable")
    n_pooled = max(n_rare, int(np.searchsorted(together(order), min_count)) + 1)
    leader = np.arange(len(counts))
    leader[order[:n_pooled]] = order[:n_pooled].min()
    labels = np.unique(leader, return_inverse=True)[1]
    pool = labels[order[0]]

    def names() -> list[str]:  # those in the pool are somebody's, and how many they are nobody needs to read
        return [_OTHERS if y == pool else joint.public.label(int(x)) for y, x in enumerate(first)]

    first = np.unique(labels, return_index=True)[1]
    outputs = Alphabet.from_n_labels("+".join(joint.public.columns), len(first), names)
    return Channel.merge(labels, joint.public, outputs)


def _warnings(layout: Layout, table: ContingencyTable, spec: Specification, channel: Channel) -> list[str]:
    """Warnings for a reader of the report about the data and the settings."""
    notes = []
    empty = int((table.counts == 0).sum())
    if empty and not (spec.facts.secret_dp or spec.facts.record_dp):  # noise says nothing of what is impossible
        notes.append(
            f"{empty} of {table.counts.size} cells (sensitive x public) are empty: under the frequencies of this "
            "table those pairs are impossible, and any bound on the min-lift forces their symbols to be merged"
        )
    rows, rare = spec.cell_rows(table).sum(axis=0), spec.support(table)[1] < MIN_COUNT
    n_rare = int(rows[rare].sum())
    if n_rare and spec.min_count < MIN_COUNT and layout.prints_symbols:
        way_out = f"min_count={MIN_COUNT} pools them"
        if spec.facts.parts or spec.facts.kept:
            way_out = "one tuple of all columns, or latent classes, avoid this"
        notes.append(
            f"{n_rare} rows hold combinations of values that fewer than {MIN_COUNT} {spec.whom} have and that are "
            f"printed as they are: those are somebody's ({way_out})"
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
    """A sentence on the sensitive values of which a released one may be sure, by their shares alone."""
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
        f"the limit allows certainty: a released value may make sure of a sensitive value that {shares} of the "
        f"{spec.whom} have, where at_most times its share reaches 1 and at_least is 0; set at_most below "
        f"{1 / sure[0]:.3g}, or at_least above 0"
    ]


def restrict(
    counts: ContingencyTable, channel: Channel, fallback: int, budget: _B
) -> tuple[JointDistribution, Channel, _B]:
    """Distribution of other rows, the channel on their symbols, others acting like ``fallback``, and the budget."""
    distribution = counts.to_joint()
    codes = {symbol: code for code, symbol in enumerate(channel.inputs.symbols)}
    inputs = np.array([codes.get(symbol, fallback) for symbol in distribution.public.symbols])
    stages = (channel.stages[0].take(inputs), *channel.stages[1:])
    restricted = Channel(stages, distribution.public, channel.outputs)
    return distribution, restricted, present_limits(budget, distribution.sensitive)


def _too_rare(layout: Layout, table: ContingencyTable, spec: Specification) -> tuple[list[str], Shortage]:
    """Secrets that leave nothing to certify."""
    if spec.confidence is None or not isinstance(spec.budget, (LiftBudget, LDPBudget)):
        return [], spec.facts.shortage
    rows = spec.support(table)[0]
    bounds = as_lift_budget(limits_for(present_limits(spec.budget, table.sensitive), table.sensitive))
    level = level_of_each(len(rows), table.counts.shape[1], spec.confidence)
    lower, upper, _ = np.broadcast_arrays(bounds.lower, bounds.upper, rows)
    needed = np.array([rows_to_tell_two(*sides, level=level) for sides in zip(lower, upper, strict=True)])
    notes, shortage = rare_secrets(layout.sensitive, rows, needed, "even two symbols", whom=spec.whom)
    return notes, shortage and (shortage[0], None)  # with so many rows two symbols pass: how many more it takes is open


def rare_secrets(
    sensitive: Sequence[str], rows: NDArray[Any], needed: NDArray[Any], what: str, about: str = "", whom: str = "rows"
) -> tuple[list[str], Shortage]:
    """Sentences on the first three secrets that too few rows have to certify anything, none named; and the shortage.

    ``rows`` have each secret, and ``needed`` would have to.
    """
    columns, places = " x ".join(map(repr, sensitive)), np.flatnonzero((rows > 0) & (rows < needed))
    if not len(places):
        return [], None
    notes = [
        f"the value of {columns} that {about}{rows[s]:.0f} of {rows.sum():.0f} {whom} have is in too few to certify "
        f"{what}: about {float(f'{needed[s]:.2g}'):.0f} or more would have to have it; join it with another value, or "
        f"take more {whom}"
        for s in places[:3]
    ]
    in_all = float((needed[places] / rows[places]).max() * rows.sum())
    return notes, ("secret" if len(places) < (rows > 0).sum() else "rows", int(float(f"{in_all:.1g}")))
