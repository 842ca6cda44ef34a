"""Plans of joint releases: parts designed given the output of the others, and measured together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.tolerances import BUDGET
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets import LiftBudget, limits_for
from sanitize.core.channel import Channel, Stage, Tuples, tuple_channel
from sanitize.core.joint import ContingencyTable
from sanitize.release.design import chain_channels, design_channels
from sanitize.release.layout import Layout
from sanitize.release.recipes.joint_turns import GivenDistribution, OpenPart, design_in_turns, sum_columns
from sanitize.report import LeakageReport, PartLeakage, ReleaseFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize.core.budgets import Budget
    from sanitize.core.joint import JointDistribution
    from sanitize.release.fit import Recipe

    Parts = Sequence[tuple[str, Recipe]]


@dataclass(frozen=True)
class JointPart:
    """A release that is to be measured together with others.

    Attributes
    ----------
    column : str
        Name of the column with the symbols of this release.
    stages : tuple of Stage
        Channel from the number of a symbol to the drawn symbol; empty if the symbol itself is released.
    """

    column: str
    stages: tuple[Stage, ...]

    def channels(self, symbols: Alphabet) -> list[Channel]:
        """List with the part's channel, whose inputs are the symbols that occur; empty if nothing is drawn."""
        if not self.stages:
            return []
        first, *later_stages = self.stages
        stages = (first.take(np.asarray(symbols.symbols)), *later_stages)
        return [Channel(stages, symbols, Alphabet.from_size(self.column, stages[-1].n_outputs))]


def side_by_side(public: Alphabet, releases: Sequence[JointPart]) -> Channel:
    """Joint channel of all releases, on tuples of their symbols; other columns are kept unchanged.

    Raises
    ------
    ColumnError
        If there are too many tuples.
    """
    by_column = {release.column: release for release in releases}
    groups = [(name,) for name in public.columns]
    channels = [
        by_column[name].channels(symbols) if name in by_column else []
        for name, symbols in zip(public.columns, Tuples.from_alphabet(public, groups)[1], strict=True)
    ]
    return tuple_channel(public, groups, channels)


@dataclass(frozen=True)
class JointLayout(Layout):
    """Roles of the columns of a joint release: first the columns of each part, in order, then the kept columns.

    Attributes
    ----------
    parts : dict of str to Layout
        Layout of each part, by name.
    """

    parts: Mapping[str, Layout] = field(default_factory=dict)

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Columns of each part, then the kept columns if there are any."""
        return [part.public for part in self.parts.values()] + ([self.keep] if self.keep else [])

    def check_distinct(self, table: ContingencyTable) -> None:
        """Refuse columns with a different value in most rows, if their distribution must be learned."""
        tables = marginal_tables(table, self.groups)
        for part, part_table in zip(self.parts.values(), tables, strict=False):
            part.check_distinct(part_table)
        if self.keep:
            Layout(self.sensitive, self.keep).check_distinct(tables[-1])


def marginal_tables(table: ContingencyTable, groups: Sequence[Sequence[str]]) -> list[ContingencyTable]:
    """Contingency tables of S with each group of columns."""
    tuples, alphabets = Tuples.from_alphabet(table.public, groups)
    return [
        ContingencyTable(table.sensitive, alphabet, sum_columns(table.counts, codes, len(alphabet)), table.n)
        for alphabet, codes in zip(alphabets, tuples.codes.T, strict=True)
    ]


@dataclass(frozen=True)
class JointPlan:
    """Plan of a joint release: the channel of each part, and of all columns together.

    Attributes
    ----------
    channel : Channel
        Channel on tuples of all columns.
    channels : dict of str to Channel
        Channel of each part, by name.
    facts : ReleaseFacts
        Leakage through each part and each kept column alone.
    """

    channel: Channel
    channels: dict[str, Channel]
    facts: ReleaseFacts

    @classmethod
    def design(
        cls, layout: JointLayout, parts: Parts, counts: ContingencyTable, budget: Budget, weights: Mapping[str, float]
    ) -> JointPlan:
        """Design every part: first the parts with a budget of their own, then the others in turns.

        Raises
        ------
        BudgetExceeded
            If a part exceeds its own budget.
        ColumnError
            If the columns have too many combinations.
        """
        distribution = counts.to_joint()
        limits = limits_for(budget, distribution.sensitive)
        # Symbols that occur only in rows of weight 0 are not in the distribution.
        rows, columns = counts.sensitive.union(distribution.sensitive)[2], counts.public.union(distribution.public)[2]
        weighty = counts.counts[np.ix_(rows, columns)]
        positive = replace(counts, sensitive=distribution.sensitive, public=distribution.public, counts=weighty)
        tables = marginal_tables(positive, layout.groups)
        # Parts are numbered by their columns, so that the order in which they were given has no effect.
        order = sorted(range(len(parts)), key=lambda number: layout.groups[number])
        current = GivenDistribution.from_columns(distribution, [layout.groups[number] for number in order], layout.keep)
        part_channels: dict[str, tuple[Channel, ...]] = {}
        open_: dict[int, OpenPart] = {}
        for place, number in enumerate(order):
            name, part = parts[number]
            if part.budget is None:
                open_[place] = OpenPart(part, tables[number], weights.get(name, 1.0))
                continue
            spec = part.specification()
            joint = tables[number].to_joint(spec.smoothing)
            part_channels[name] = design_channels(tables[number], joint, spec)
            facts = ReleaseFacts(mechanism=spec.name)
            LeakageReport.measure(joint, chain_channels(part_channels[name]), spec.budget, facts=facts).require()
            current = current.release_part(place, part_channels[name])
        for place, channels in design_in_turns(current, open_, limits).items() if open_ else ():
            part_channels[parts[order[place]][0]] = channels
        channels_by_name = {name: chain_channels(part_channels[name]) for name, _ in parts}
        lines, warnings = _part_lines(layout, parts, tables, channels_by_name)
        keep_lines = []
        for name, table in zip(layout.keep, marginal_tables(counts, [(name,) for name in layout.keep]), strict=True):
            joint = table.to_joint()
            as_it_is = LeakageReport.measure(joint, Channel.identity(len(joint.public), joint.public))
            keep_lines.append(PartLeakage.from_summary(name, (name,), None, as_it_is.summary))
        applied = [part_channels[name] for name, _ in parts] + ([()] if layout.keep else [])
        facts = ReleaseFacts(kept=layout.keep, parts=(*lines, *keep_lines), warnings=warnings)
        return cls(tuple_channel(distribution.public, layout.groups, applied), channels_by_name, facts)

    def __call__(self, _: JointDistribution) -> Channel:
        """Return the channel, as the mechanism of a specification."""
        return self.channel


def _part_lines(
    layout: JointLayout, parts: Parts, tables: Sequence[ContingencyTable], channels: Mapping[str, Channel]
) -> tuple[tuple[PartLeakage, ...], tuple[str, ...]]:
    """Return lines of the report on the leakage of each part alone, and notes on its design."""
    lines, warnings = [], []
    for (name, part), table in zip(parts, tables, strict=False):
        has_budget = part.budget is not None
        spec = (part if has_budget else part.with_changes(budget=LiftBudget.symmetric(0.0))).specification()
        if spec.smoothing:
            warnings.append(
                f"part {name!r} was designed with smoothing={spec.smoothing:g}, a prior and not data; the verdict is "
                "for the raw frequencies"
            )
        report = LeakageReport.measure(table.to_joint(), channels[name])
        lines.append(PartLeakage.from_summary(name, layout.parts[name].public, spec.name, report.summary))
        if len(table.public) > 1 and lines[-1].normalized_utility <= BUDGET:
            warnings.append(
                f"part {name!r} keeps nothing: its budget is too tight to keep any two of its symbols apart; loosen it"
                if has_budget
                else f"part {name!r} keeps nothing: the other parts leave it no budget; give it a larger "
                "weight, drop other parts, or release its columns in one part with others"
            )
    return tuple(lines), tuple(warnings)
