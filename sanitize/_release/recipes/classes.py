"""The recipe for tables of many columns: a limit on what the latent class of a row reveals, and rows written by class.

The public symbol of a row is its latent class, drawn given the row: S - X - class - Y is a Markov chain, so what
is designed and certified for (S, class) holds for whole rows. Classes never see S.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
from scipy.cluster.hierarchy import linkage

from sanitize import mechanisms
from sanitize._checks import one_of, whole_number
from sanitize._release.design import Specification, rare_secrets
from sanitize._release.first_pass import Counted, sampled_rows
from sanitize._release.layout import CellLayout
from sanitize._release.people import one_row_each
from sanitize._release.recipes.grown_layout import FEWEST_CELLS, declared_edges
from sanitize._release.recipes.recipe import Recipe
from sanitize._release.survey import refuse_identifiers
from sanitize._sampling.noise import key_from, random_words
from sanitize._tables.columns import as_arrow, ascending
from sanitize._tables.frame import Table
from sanitize._tables.keys import distinct_rows
from sanitize.budgets import LDPBudget, LiftBudget, as_budget, limits_for
from sanitize.channel import Channel
from sanitize.classes import UNIT, ClassPartition, LatentClassModel, couple_classes
from sanitize.confidence import REPEATED, check_confidence, repeats_too_often
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.mechanisms import as_lift_budget, certified_random_response, certified_tree_merging, rows_needed
from sanitize.report import ReplacedValues, Section, with_columns
from sanitize.trees import (
    Profiles,
    column_counts,
    design_rows,
    grouped,
    is_ordered,
    pair_counts,
    read_hierarchy,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize._checks import Codes, Mask
    from sanitize._files.source import Numbers
    from sanitize._release.first_pass import FirstPass, RowOrder
    from sanitize._release.layout import Columns, ColumnSpec, Layout
    from sanitize._release.recipes.recipe import FittedFiles, LaidOut, Missing, Settled, Weights
    from sanitize._release.release import Release
    from sanitize._sampling.noise import NoiseKey, Randomness, RandomWords
    from sanitize._tables.columns import ArrowColumn
    from sanitize.budgets import Budget
    from sanitize.joint import ContingencyTable, JointDistribution
    from sanitize.report import ReleaseFacts
    from sanitize.trees import Hierarchy

Rule = Literal["optimal-random-response", "subset-random-response", "subset-merging", "watchdog"]

# Rows of files that classes are fitted on: more would not make them better.
MOST_SAMPLED = 200_000
# Share of the rows that classes are fitted on where the others certify the channel.
FIT_SHARE = 0.3
# Rows that a class has at least, of those that fitted it: a class is what many rows have in common.
LEAST_ROWS = 10


@dataclass(eq=False, repr=False, kw_only=True)
class LatentClassParameters:
    """Of latent classes."""

    budget: Budget | float | None = field(default=None, kw_only=False)
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    n_classes: int | None = None
    rule: Rule | None = None
    target: str | None = None
    hierarchies: Mapping[str, Hierarchy | str | Path] | None = None
    bins: Mapping[str, Sequence[float] | int] | None = None
    confidence: float | None = None
    effort: float | None = None
    missing: Missing = "category"
    person: str | None = None
    keep_sensitive: bool = False
    random_state: Randomness = None


@dataclass(frozen=True, kw_only=True)
class FittedClasses(CellLayout):
    """Layout of latent classes with the table they were fitted on, while a channel is designed."""

    partition: ClassPartition
    source: Mapping[str, Any]  # that table, the sensitive columns in it
    cells: NDArray[np.int32]
    fitted: Mask | None  # rows of it that fitted the classes, where the others certify

    def columns(self, source: Mapping[str, Any], workers: int = 1, first: int | None = None) -> Columns:
        """Columns of a batch; of the table they were fitted on the classes are known."""
        return self.columns_of(source, self.cells) if source is self.source else super().columns(source, workers, first)

    def bare(self) -> CellLayout:
        """Layout without the table."""
        return CellLayout(*self.roles, partition=self.partition)

    def apart(self, counts: ContingencyTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts of (S, class) of the rows that fitted the classes, and of the others."""
        columns, mask = self.columns(self.source), pa.array(self.fitted)
        seen = counts.without_rows()
        seen.count({name: as_arrow(columns[name], name).filter(mask) for name in (*self.sensitive, *self.public)})
        return seen.counts, counts.counts - seen.counts

    @cached_property
    def profiles(self) -> Profiles:
        """Counts of the groups of values of each column in each class, of the rows that fitted the classes."""
        tables = [table.toarray() for _, table in self.column_counts(self.fitted)]
        starts = np.cumsum([0, *(len(table) for table in tables[:-1])])
        shares = [table.sum(axis=1) / table.sum() for table in tables]
        entropies = np.array([-(p[p > 0] * np.log(p[p > 0])).sum() for p in shares])
        return Profiles(np.concatenate(tables).T.astype(np.float64), starts, 1 / np.maximum(entropies, 1e-9))

    @property
    def members(self) -> Mask:
        """Classes below each node of a dendrogram of classes that write alike rows, shape (n_nodes, n_classes)."""
        k = self.partition.n_cells
        found = list(np.eye(k, dtype=bool))
        if k > 1:
            profiles = self.profiles
            shares = profiles.counts / np.maximum(profiles.rows[:, None], 1)
            for one, other, *_ in linkage(np.sqrt(shares), "ward"):
                found.append(found[int(one)] | found[int(other)])
        return np.array(found)

    def column_counts(self, rows: Mask | None = None) -> Iterator[tuple[str, sparse.csr_array]]:
        """Name of each column and rows of (X_j, class), X_j in at most 16 groups, shape (n_groups, n_classes)."""
        return column_counts(self.read, self._groups, self.cells, self.partition.n_cells, rows)

    def pair_counts(self) -> Iterator[tuple[tuple[str, str], sparse.csr_array]]:
        """The same of pairs of columns; of very many rows of every k-th row."""
        return pair_counts(
            self.read, lambda step: [own[::step] for own in self._groups], self.cells, self.partition.n_cells
        )

    def replaced_values(self, n_rows: int) -> tuple[ReplacedValues, ...]:
        """How many rows of each column are written as others, or with a number inside the edges, of so many rows."""
        part, found = n_rows / max(len(self.cells), 1), []
        for column in self.partition.columns:
            other, clipped = column.replaced(as_arrow(self.source[column.name], column.name))
            found.append(ReplacedValues(column.name, other=round(part * other), clipped=round(part * clipped)))
        return tuple(found)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """How often each row is there of those that differ in the groups of some column."""
        rows = np.stack(self._groups, axis=1).astype(np.int32)
        sizes = [int(groups.max()) + 1 for groups in self._groups]
        return np.bincount(distinct_rows(rows, sizes)[1])

    @cached_property
    def _groups(self) -> list[NDArray[np.int64]]:
        return [_grouped(as_arrow(self.source[name], name), name) for name in self.read]


def _grouped(column: ArrowColumn, name: str) -> NDArray[np.int64]:
    """Group of each row: an ordered column in about equal parts, of any other the most frequent values alone."""
    values, codes = ascending(column, name)
    levels = np.where(codes < 0, len(values), codes)
    counts = np.bincount(levels, minlength=len(values) + 1)
    return grouped(counts, is_ordered=is_ordered(values.type, name))[levels].astype(np.int64)


class LatentClassReleaseRecipe(LatentClassParameters, Recipe):
    """Limit what the latent class of a row reveals, and write a row for each released class."""

    is_part = False
    handle_unknown = "error"

    @property
    def takes_channel(self) -> bool:  # type: ignore[override]
        """Whether a channel may take the place of a design: a certificate is of its own design alone."""
        return self.confidence is None

    @property
    def numbers(self) -> Numbers:
        """Columns with bins, and public ones that a CSV file writes as numbers throughout."""
        public, sensitive = ({roles} if isinstance(roles, str) else roles for roles in (self.public, self.sensitive))
        if isinstance(public, Collection):
            return replace(super().numbers, found=public.__contains__)
        if isinstance(sensitive, Collection):
            return replace(super().numbers, found=lambda name: name not in sensitive)
        return super().numbers

    @property
    def person_column(self) -> str | None:
        """Column that says whose a row is; a certificate is of rows drawn one by one, and not of people."""
        if (found := super().person_column) is not None and self.confidence is not None:
            raise InvalidParameter(
                "confidence= of LatentClassRelease certifies rows that were drawn one by one, and person= says that a "
                "person has several: leave confidence out, or release people whole with sanitize.relational.UnitRelease"
            )
        return found

    def specification(self) -> Specification:
        """Budget and the mechanism that designs a channel on classes; a certificate is in place of a set of laws."""
        if self.n_classes is not None:
            whole_number("n_classes", self.n_classes, 1)
        budget, kind = as_budget(self.budget), self.rule
        if kind is None:
            kind = "optimal-random-response" if isinstance(budget, (LiftBudget, LDPBudget)) else "subset-merging"
        one_of("rule", kind, *get_args(Rule))
        settings: dict[str, Any] = {"budget": budget}
        if self.confidence is not None:
            check_confidence(self.confidence)
            as_lift_budget(budget)
            made = certified_random_response if kind.endswith("response") else certified_tree_merging
        else:
            made = getattr(mechanisms, kind.replace("-", "_"))
            settings |= {} if kind == "watchdog" else {"effort": self.effort}
        return Specification("latent classes", partial(made, **settings), budget, prints=False)

    def layout(self, table: Table, sensitive_features: Any = None, weights: Weights = None) -> LaidOut:
        """Roles of the columns, and classes fitted on the public ones."""
        layout, source = super().layout(table, sensitive_features, weights)
        return self._fitted(layout, source, random_words(self.random_state)), source

    def _fitted(
        self,
        layout: Layout,
        source: Mapping[str, Any],
        words: RandomWords,
        numbers: Codes | None = None,
        partition: ClassPartition | None = None,
    ) -> FittedClasses:
        """Fit classes, unless they are given, and draw one for each row; of files rows have numbers."""
        if self.target is not None and self.target not in layout.public:
            shown = ", ".join(map(repr, layout.public[:10]))
            raise ColumnError(f"target must be one of the public columns {shown}, got {self.target!r}")
        table = {name: source[name] for name in layout.public}
        edges = {name: declared_edges(bins, table[name]) for name, bins in layout.bins.items() if name in table}
        layout = replace(layout, bins={name: bins for name, bins in layout.bins.items() if name not in table})
        free = [name for name in table if name not in {*edges, *(self.hierarchies or {})}]
        refuse_identifiers(source, free, others=() if self.person else layout.public)
        key = key_from(words, "latent classes") if partition is None else partition.words
        rows, weights = self._rows_to_fit(source, len(table[layout.public[0]]), key)
        if partition is None:
            above = {name: read_hierarchy(given, name) for name, given in (self.hierarchies or {}).items()}
            learned: dict[str, Any] = {"rows": rows, "weights": weights, "edges": edges, "above": above}
            learned["rows_are_people"] = self.person is not None
            model = LatentClassModel.fit(table, key, n_classes=self.n_classes, **learned)
            partition = ClassPartition.of(model, key, table)
        while True:  # whoever is in a class of few rows goes to the next likely one
            cells = partition.assign(table, first=numbers)
            held = np.bincount(cells if rows is None else cells[rows], minlength=partition.n_cells)
            if held.min() >= LEAST_ROWS or partition.n_cells == 1:
                break
            partition = partition.without(held == held.min())
        bare = CellLayout.of(layout, partition)
        fitted = None if self.confidence is None else rows
        return FittedClasses(*bare.roles, partition=partition, source=source, cells=cells, fitted=fitted)

    def _rows_to_fit(self, source: Mapping[str, Any], n: int, key: NoiseKey) -> tuple[Mask | None, Weights]:
        """Rows that classes are fitted on, all where there is no mask, and their weights.

        Where people have several, that is one row of each: whatever counts rows from there on counts people.
        """
        if self.confidence is not None:
            return design_rows(n, FIT_SHARE), None
        person = self.person_column
        people = None if person is None else self.people(source, person)
        return (None, None) if person is None or people is None else one_row_each(people, person, key.derive("people"))

    def fit(
        self, spec: Specification, table: FirstPass, order: RowOrder, words: RandomWords | None = None
    ) -> FittedFiles:
        """Fit classes on the rows of the files, or a uniform sample of them, and design on the counts of all."""
        noise = random_words(self.random_state) if words is None else words
        with table.naming_absent():
            roles, _ = super().layout(Table.of(table.empty()))
            person = () if self.person_column is None else (self.person_column,)
            sample = table.sample((*roles.sensitive, *roles.public, *person), MOST_SAMPLED)
            numbers = sampled_rows(table.source.n_rows, MOST_SAMPLED)
            layout = self._fitted(roles, sample, noise, numbers, spec.partition)
            is_whole = order == "shuffle" and len(numbers) == table.source.n_rows
            counted = Counted.of(layout, sample) if is_whole else table.count(layout.bare(), order)
        if len(numbers) < counted.table.n:
            note = f"the latent classes were fitted on a uniform sample of {len(numbers)} rows"
            spec = replace(spec, facts=replace(spec.facts, warnings=(*spec.facts.warnings, note)))
        return self.design(spec, layout, counted, noise), counted.table

    def _settled(self, spec: Specification, layout: Layout, counted: Counted) -> Settled:
        assert isinstance(layout, FittedClasses)
        more: dict[str, Any] = {}
        if self.confidence is not None:
            design, fresh = layout.apart(counted.table)
            more |= {"design": design, "fresh": fresh, "profiles": layout.profiles, "confidence": self.confidence}
            if getattr(spec.mechanism, "func", None) is certified_random_response:
                more["members"] = layout.members
            spec = replace(spec, facts=self._doubted(spec, layout, counted.table, fresh))
        elif self.target is not None:
            of_target = dict(layout.column_counts())[self.target].toarray()
            more["target"] = of_target / of_target.sum(axis=0)
        written = partial(_written, design=partial(spec.mechanism, **more))
        return replace(spec, mechanism=written), layout, counted.clipped

    def _doubted(
        self, spec: Specification, layout: FittedClasses, counts: ContingencyTable, fresh: NDArray[np.int64]
    ) -> ReleaseFacts:
        """Facts that say what leaves little to certify, and rows that no certificate is about."""
        assert self.confidence is not None
        told, n_fresh = counts.counts.sum(axis=1), float(fresh.sum())
        limits = as_lift_budget(limits_for(spec.budget, counts.sensitive))
        needed = FEWEST_CELLS * rows_needed(limits, told / told.sum(), FEWEST_CELLS, self.confidence)
        found, shortage = rare_secrets(layout.sensitive, told, needed / n_fresh * told, f"{FEWEST_CELLS} classes")
        repeated = [REPEATED] if repeats_too_often(layout.repeats) else []
        return replace(spec.facts, warnings=(*spec.facts.warnings, *found, *repeated), shortage=shortage)

    def _finished(self, release: Release, counted: Counted, words: RandomWords | None) -> Release:
        layout = release.layout
        assert isinstance(layout, FittedClasses)
        partition = layout.partition
        n_rows = counted.table.n
        replaced = layout.replaced_values(n_rows)
        facts = replace(release.report.facts, output="model", people=partition.people, replaced=replaced)
        report = replace(release.report, public=layout.read, facts=facts)
        if self.confidence is not None:  # fresh rows certify in place of a set of distributions
            lines = tuple(line for line in report.measures if not line.name.startswith("worst_"))
            report = replace(report, measures=lines, confidence=self.confidence, _worst=None)
        lost = {one.column: one.n_rows / n_rows for one in replaced}
        report = with_columns(report, layout.column_counts(), layout.pair_counts(), (), release.channel, lost)
        section = _classes_section(partition, counted, layout.fitted)
        if self.person_column is None:  # the figure is of people with one row each
            section = replace(section, words=section.words + partition.membership)
        report = report.with_section(section)
        shown = {"classes_": partition.model}
        return replace(release, layout=layout.bare(), report=report, printer=partition, beside=shown)


def _written(joint: JointDistribution, design: Callable[..., Channel]) -> Channel:
    """The channel that a rule designs, and then to the class that is written: as often as can be the row's own."""
    channel = design(joint)
    mass = (channel.matrix * joint.p_x[:, None]).T
    mass[mass.sum(axis=1) == 0] = joint.p_x
    writing = Channel.from_matrix(couple_classes(mass) / UNIT, channel.outputs, joint.public)
    return channel.then(writing).with_optimality(channel.optimality)


def _classes_section(partition: ClassPartition, counted: Counted, fitted: Mask | None) -> Section:
    """What the report says of the classes."""
    words = "Each row is released through its latent class, which was fitted to the public columns alone."
    if fitted is not None:
        n_fitted = int(fitted.sum())
        words += f" {n_fitted} rows fitted the classes; the other {counted.table.n - n_fitted} certify the limit."
    rows = counted.table.counts.sum(axis=0)
    figures = (("classes", float(partition.n_cells)), ("rows of the smallest class", float(rows.min())))
    return Section("classes", "Latent classes", words, ("", "number"), figures)
