"""Design of the parts of a joint release, each given what the others release."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from sanitize._release.design import channels_of
from sanitize._release.layout import Layout
from sanitize.budgets import TOLERANCE, conditional_budget
from sanitize.channel import Channel, Tuples, tuple_channel
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.joint import ContingencyTable
from sanitize.report import LeakageReport, PartLeakage, ReleaseFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize.budgets import Budget
    from sanitize.joint import JointDistribution
    from sanitize.transformers._sanitizer import Sanitizer

# Cells of P(s, what is released already, x) that a part is designed on: half a gigabyte.
_MOST_CELLS = 1 << 26


@dataclass(frozen=True)
class JointLayout(Layout):
    """Roles of the columns of a joint release: those of its parts in order, then the kept ones.

    Attributes
    ----------
    parts : dict of str to Layout
        Layout of each part by name.
    keep : tuple of str
    """

    parts: Mapping[str, Layout] = field(default_factory=dict)
    keep: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Columns of each part, then the kept ones if there are any."""
        return [part.public for part in self.parts.values()] + ([self.keep] if self.keep else [])

    def check_distinct(self, table: ContingencyTable) -> None:
        """Refuse columns that hold a different value in most rows, where no law can be learned from them."""
        tables = marginal_tables(table, self.groups)
        for part, own in zip(self.parts.values(), tables, strict=False):
            part.check_distinct(own)
        if self.keep:
            Layout(self.sensitive, self.keep).check_distinct(tables[-1])


def marginal_tables(table: ContingencyTable, groups: Sequence[Sequence[str]]) -> list[ContingencyTable]:
    """Counts of S and each group of columns."""
    tuples, alphabets = Tuples.split(table.public, groups)
    return [
        ContingencyTable(table.sensitive, own, _summed(table.counts, codes, len(own)), table.n)
        for own, codes in zip(alphabets, tuples.codes.T, strict=True)
    ]


def _summed(cells: NDArray[Any], places: NDArray[np.int32], n: int) -> NDArray[Any]:
    """Columns of cells added up by place."""
    sums = np.stack([np.bincount(places, weights=row, minlength=n) for row in cells])
    return sums if np.issubdtype(cells.dtype, np.floating) else np.rint(sums).astype(cells.dtype)


@dataclass(frozen=True)
class JointPlan:
    """What a joint release does: the channel of each part, and of all columns together.

    Attributes
    ----------
    channel : Channel
        On tuples of all columns.
    channels : dict of str to Channel
        Of each part by name.
    facts : ReleaseFacts
        What each part and each kept column tells by itself.
    """

    channel: Channel
    channels: dict[str, Channel]
    facts: ReleaseFacts

    @classmethod
    def of(
        cls, layout: JointLayout, parts: Sequence[tuple[str, Sanitizer]], counts: ContingencyTable, budget: Budget
    ) -> JointPlan:
        """Design every part: those with a budget of their own first, then the others in order, given all before.

        Raises
        ------
        BudgetExceeded
            If a part exceeds the budget of its own.
        ColumnError
            If the columns have too many combinations.
        """
        law = counts.to_joint()
        tables = marginal_tables(_positive(counts, law), layout.groups)
        made: dict[str, tuple[Channel, ...]] = {}
        lines: dict[str, PartLeakage] = {}
        given_law = _GivenLaw.of(law, layout)
        warnings: list[str] = []
        for number in sorted(range(len(parts)), key=lambda number: parts[number][1].budget is None):
            name, part = parts[number]
            table = tables[number]
            own = part.budget is not None
            if not own:
                _check_sequential(name, part)
                pairs, conditional = conditional_budget(given_law.cells(number), table.public, budget)
                part = clone(part).set_params(budget=conditional)
                recipe = part._recipe()
                joint = table.to_joint()
                channels = channels_of(table, joint, recipe, pairs)
            else:
                recipe = part._recipe()
                joint = table.to_joint(recipe.smoothing)
                channels = channels_of(table, joint, recipe)
            made[name] = tuple(channel for channel in channels if channel is not None)
            whole = _whole(made[name])
            if own:
                facts = ReleaseFacts(mechanism=recipe.name, release=recipe.release)
                LeakageReport.measure(joint, whole, recipe.budget, facts=facts).require()
            if recipe.smoothing:
                warnings.append(
                    f"part {name!r} was designed with smoothing {recipe.smoothing:g}, a prior and not data; the "
                    "verdict is about the raw frequencies"
                )
            report = LeakageReport.measure(table.to_joint(), whole)
            lines[name] = PartLeakage.of(name, layout.parts[name].public, recipe.name, report.summary)
            if len(table.public) > 1 and lines[name].normalized_utility <= TOLERANCE:
                warnings.append(_keeps_nothing(name, own=own))
            given_law = given_law.released(number, made[name])
        kept = tuple(
            PartLeakage.of(name, (name,), None, _as_it_is(own).summary)
            for name, own in zip(layout.keep, marginal_tables(counts, [(name,) for name in layout.keep]), strict=True)
        )
        channels_by_name = {name: _whole(made[name]) for name, _ in parts}
        applied = [made[name] for name, _ in parts] + ([()] if layout.keep else [])
        facts = ReleaseFacts(
            kept=layout.keep, parts=(*(lines[name] for name, _ in parts), *kept), warnings=tuple(warnings)
        )
        return cls(tuple_channel(law.public, layout.groups, applied), channels_by_name, facts)

    def mechanism(self, _: JointDistribution) -> Channel:
        """The channel, as the mechanism of a recipe."""
        return self.channel


def _positive(counts: ContingencyTable, law: JointDistribution) -> ContingencyTable:
    """The counts without symbols that only rows of weight 0 have."""
    rows = counts.sensitive.union(law.sensitive)[2]
    columns = counts.public.union(law.public)[2]
    return replace(counts, sensitive=law.sensitive, public=law.public, counts=counts.counts[np.ix_(rows, columns)])


def _whole(channels: Sequence[Channel]) -> Channel:
    whole = channels[0]
    for channel in channels[1:]:
        whole = whole.then(channel)
    return whole


def _as_it_is(table: ContingencyTable) -> LeakageReport:
    joint = table.to_joint()
    return LeakageReport.measure(joint, Channel.identity(len(joint.public), joint.public))


def _check_sequential(name: str, part: Sanitizer) -> None:
    """Refuse what cannot be designed given other columns."""
    if not part._takes_any_budget:
        raise InvalidParameter(
            f"part {name!r} has no budget, and {type(part).__name__} cannot be designed given the other columns: give "
            "it a budget of its own, or use SubsetMerging or Watchdog, which take what the joint budget leaves"
        )
    if part.smoothing:
        raise InvalidParameter(
            f"part {name!r} has no budget of its own, so it is designed on the joint frequencies of all columns as "
            f"they are: smoothing must be 0, got {part.smoothing!r}"
        )


def _keeps_nothing(name: str, *, own: bool) -> str:
    """Warning about a part that releases one symbol for all rows."""
    if own:
        return f"part {name!r} keeps nothing: its budget is too tight for any two of its symbols to be told apart"
    return (
        f"part {name!r} keeps nothing: what is released before it leaves it no budget; name it earlier, give the parts "
        "budgets of their own, or release its columns in one part with others"
    )


@dataclass(frozen=True)
class _GivenLaw:
    """Law of S and the tuples in which some parts are released already and the kept columns are as they are."""

    pmf: NDArray[np.float64]
    tuples: Tuples
    settled: frozenset[int]

    @classmethod
    def of(cls, law: JointDistribution, layout: JointLayout) -> _GivenLaw:
        tuples, _ = Tuples.split(law.public, layout.groups)
        return cls(law.pmf, tuples, frozenset({len(layout.parts)} if layout.keep else ()))

    def cells(self, part: int) -> NDArray[np.float64]:
        """P(s, b, x) of what is settled, b, and a part that is not, shape (n_s, n_b, n_x)."""
        before, places = self.tuples.select(sorted(self.settled))
        n_x = self.tuples.sizes[part]
        if len(self.pmf) * len(before) * n_x > _MOST_CELLS:
            raise ColumnError(
                f"{n_x} symbols of one part cannot be designed given {len(before)} combinations of what is released "
                "already: keep fewer columns, give the part a budget of its own, or bin and pool values first"
            )
        cells = places.astype(np.int64) * n_x + self.tuples.codes[:, part]
        return _summed(self.pmf, cells, len(before) * n_x).reshape(len(self.pmf), len(before), n_x)

    def released(self, part: int, channels: Sequence[Channel]) -> _GivenLaw:
        """The law after a part is released: its merged symbols, or what is printed of random ones."""
        first = channels[0].stages
        # Printing a merged symbol draws inside its group and tells no more, but there are more printed symbols.
        stages = first if all(stage.is_deterministic for stage in first) else _whole(channels).stages
        pmf, tuples = self.pmf, self.tuples
        for kernel in stages:
            stage, tuples = tuples.through(part, kernel)
            pmf = Channel((stage,)).push(pmf)
        return _GivenLaw(pmf, tuples, self.settled | {part})
