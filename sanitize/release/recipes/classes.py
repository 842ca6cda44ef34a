"""Recipe for tables of many columns: it limits leakage through each row's latent class and generates rows from classes.

The public symbol of a row is its latent class, drawn given the row: S - X - class - Y is a Markov chain, so a limit
certified for (S, class) holds for whole rows. Classes are fitted without S.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np

from sanitize import mechanisms
from sanitize._util.arithmetic import log, product
from sanitize._util.checks import check_choice, whole_number
from sanitize._util.sampling.noise import random_words
from sanitize.core.budgets import LDPBudget, LiftBudget, MeanBudget, declared_budget, limits_for
from sanitize.core.channel import HEURISTIC, Channel
from sanitize.core.confidence import REPEATED, check_confidence, repeats_too_often
from sanitize.core.profiles import design_rows
from sanitize.errors import ColumnError, InvalidChannel, InvalidParameter
from sanitize.mechanisms import as_lift_budget, certified_merging, certified_random_response, rows_needed
from sanitize.release.classes import UNIT, ClassPartition, LatentClassModel, couple_classes
from sanitize.release.design import MIN_COUNT, Specification, rare_secrets
from sanitize.release.first_pass import RowCounts, TableCounter, sample_rows
from sanitize.release.fit import Recipe
from sanitize.release.layout import CellLayout
from sanitize.release.people import encode_columns, one_row_each, refuse_by_companions
from sanitize.release.recipes.fitted_classes import FEWEST_CELLS, FittedClasses, user_edges
from sanitize.release.recipes.promise import (
    NoisyRowCounts,
    add_noise,
    check_settings,
    noise_key,
    require_confidence,
)
from sanitize.release.recipes.record_dp import RECORD_SHARE
from sanitize.release.survey import refuse_identifiers
from sanitize.report import Section, with_columns, with_relations
from sanitize.tables.columns import as_arrow
from sanitize.tables.files.hierarchies import read_hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize._util.checks import Codes, Mask, Vector
    from sanitize._util.sampling.noise import NoiseKey, Randomness
    from sanitize.core.budgets import Budget
    from sanitize.core.joint import ContingencyTable, JointDistribution
    from sanitize.release.first_pass import RowOrder, TableSource
    from sanitize.release.fit import FitOptions, Missing
    from sanitize.release.layout import ColumnSpec, Layout
    from sanitize.release.recipes.record_dp import RecordDP
    from sanitize.release.recipes.secret_dp import SecretDP
    from sanitize.release.release import FittedRelease
    from sanitize.report import ReleaseFacts
    from sanitize.tables.files.hierarchies import Hierarchy
    from sanitize.tables.files.source import Numbers

Weights: TypeAlias = "NDArray[np.float64] | None"
Rule = Literal["optimal-random-response", "subset-random-response", "subset-merging", "watchdog"]

# Rows of files on which classes are fitted: more rows would not improve them.
MOST_SAMPLED = 200_000
# Share of the rows on which classes are fitted if the other rows certify the channel, which needs more rows.
FIT_SHARE = 0.3
# Most levels of all columns together in the value that the response keeps; each level is a row of its linear programs.
# Entries of programs to solve: more gain little, because a response for many columns is rarely proved optimal.
_TARGET_LEVELS, _EFFORT = 48, 5e7
# Most levels when classes are compared, of which a comparison takes more than a response. A hundredth of the whole
# table's frequencies is mixed into those of a class, or a value that a class lacks would rule it out.
_COMPARED_LEVELS, _SMOOTHED = 256, 0.01
# Fewest fitted rows of a class, so that a class describes many rows.
LEAST_ROWS = 10


@dataclass(eq=False, repr=False, kw_only=True)
class LatentClassParameters:
    """Parameters of a release through latent classes."""

    budget: Budget | None = field(default=None, kw_only=False)
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    keep: ColumnSpec = None
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
    secret_dp: SecretDP | None = None
    record_dp: RecordDP | None = None


class LatentClassReleaseRecipe(LatentClassParameters, Recipe):
    """Limit what the latent class of a row reveals, and generate a row for each released class."""

    is_part = False
    takes_weights = True
    handle_unknown = "error"
    # Columns that summarize rows of other tables, and therefore identify nobody and determine no other column.
    summaries: Collection[str] = ()

    def with_changes(self, *, summaries: Collection[str] | None = None, **parameters: Any) -> Self:
        """Return a copy with other values of some parameters."""
        recipe = super().with_changes(**parameters)
        vars(recipe)["summaries"] = self.summaries if summaries is None else summaries
        return recipe

    @property
    def takes_channel(self) -> bool:  # type: ignore[override]
        """True if a given channel may replace the design, which a certificate does not allow."""
        return self.confidence is None

    @property
    def numbers(self) -> Numbers:
        """Columns to read as numbers: columns with bins, and public columns that contain only numbers in a CSV file."""
        if self.record_dp is not None:  # for the others, a single row could decide
            return super().numbers
        public, sensitive = ({roles} if isinstance(roles, str) else roles for roles in (self.public, self.sensitive))
        if isinstance(public, Collection):
            return replace(super().numbers, is_inferred=public.__contains__)
        if isinstance(sensitive, Collection):
            return replace(super().numbers, is_inferred=lambda name: name not in sensitive)
        return super().numbers

    @property
    def person_column(self) -> str | None:
        """Name of the column that identifies people; refused with a certificate, which assumes independent rows."""
        if (column := super().person_column) is not None and self.confidence is not None:
            raise InvalidParameter(
                "confidence= of LatentClassRelease requires one row per person, but person= names a column for people "
                "with several rows; leave confidence out, or use sanitize.people.UnitRelease"
            )
        return column

    def specification(self) -> Specification:
        """Return the budget and the mechanism for a channel on classes; with a confidence, it certifies its channel."""
        if self.promise is not None:
            check_settings(vars(self))
            if self.keep is None:
                require_confidence(self.confidence, self.promise.keyword)
        if self.n_classes is not None:
            whole_number("n_classes", self.n_classes, 1)
        budget, kind = declared_budget(self.budget), self.rule
        if kind is None:
            kind = "optimal-random-response" if isinstance(budget, (LiftBudget, LDPBudget)) else "subset-merging"
        check_choice("rule", kind, *get_args(Rule))
        if self.keep is not None:
            _check_kept(vars(self), budget, kind)
        if self.target is not None and self.confidence is None and not kind.endswith("response"):
            raise InvalidParameter(f"rule={kind!r} cannot favour one column; leave target= out, or give confidence=")
        settings: dict[str, Any] = {"budget": budget}
        if self.confidence is not None:
            check_confidence(self.confidence)
            as_lift_budget(budget)
            mechanism = certified_random_response if kind.endswith("response") else certified_merging
        else:
            mechanism = getattr(mechanisms, kind.replace("-", "_"))
            settings |= {} if kind == "watchdog" else {"effort": self.effort}
        return Specification("latent classes", partial(mechanism, **settings), budget, prints=False)

    def learn_layout(self, roles: Layout, table: TableSource, options: FitOptions) -> FittedClasses:
        """Fit classes on the rows, or on a uniform sample of the rows of files."""
        person = () if self.person_column is None else (self.person_column,)
        rows = table.sample((*roles.sensitive, *roles.public, *person), MOST_SAMPLED)
        words = random_words(self.random_state) if options.random_words is None else options.random_words
        if not isinstance(table, TableCounter):
            return self.fit_layout(roles, rows, words, partition=options.classes)
        numbers = sample_rows(table.n_rows, MOST_SAMPLED)
        layout = self.fit_layout(roles, rows, words, numbers, options.classes)
        if self.person is None and self.record_dp is None:
            names = [name for name in roles.value_columns if name not in (self.hierarchies or {})]
            others = [name for name in table.names if name not in roles.sensitive]
            read = partial(table.sample, most=MOST_SAMPLED)
            refuse_by_companions(encode_columns(rows, names), np.ones(len(numbers)), names, others, read)
        return replace(layout, is_shuffled=options.order == "shuffle")

    def count(self, table: TableSource, layout: Layout, order: RowOrder) -> RowCounts:
        """Count sensitive values and classes of all rows, with noise under differential privacy."""
        assert isinstance(layout, FittedClasses)
        is_sampled = len(layout.row_cells) < table.n_rows
        if isinstance(table, TableCounter) and (order == "keep" or is_sampled or table.source.weights is not None):
            counts = table.count(layout.bare(), order)
        else:
            weights = table.weights, getattr(table, "groups", None), table.largest_total
            counts = RowCounts.from_table(layout, layout.rows, *weights)
        return counts if self.promise is None else add_noise(layout, counts, self.promise, self.random_state)

    def fit_layout(
        self,
        layout: Layout,
        rows: Mapping[str, Any],
        words: NoiseKey,
        numbers: Codes | None = None,
        partition: ClassPartition | None = None,
        extra_columns: Collection[str] = (),
    ) -> FittedClasses:
        """Fit classes, unless they are given, and draw a class for each row; draws for files depend on row numbers.

        ``extra_columns`` are contained in the private model of whole rows only.
        """
        modelled, layout = (
            layout,
            replace(layout, public=tuple(name for name in layout.public if name not in extra_columns)),
        )
        if self.target is not None and self.target not in layout.public:
            shown = ", ".join(map(repr, layout.public[:10]))
            raise ColumnError(f"target must be one of the public columns {shown}, got {self.target!r}")
        source, design, is_certified = rows, None, self.confidence is not None
        if is_certified:
            share = FIT_SHARE if self.record_dp is None else RECORD_SHARE
            design = design_rows(len(as_arrow(rows[layout.public[0]], layout.public[0])), share)
        if self.record_dp is not None:
            assert design is not None
            if self.n_classes == 1:  # there is nothing to certify
                design[:] = True
            key = noise_key(self.random_state, "record_dp")
            source, as_classes = self.record_dp.model_rows(modelled, rows, design, key)
        columns = layout.columns(source)
        table = {name: columns[name] if name in layout.keep else source[name] for name in layout.public}
        drawn = {name for name in table if name not in layout.keep}
        if strange := [name for name in self.hierarchies or {} if name not in drawn]:
            raise ColumnError(
                f"hierarchies names {strange[0]!r}, which is not a generated column; leave it out", strange[0]
            )
        edges = {name: user_edges(bins, table[name]) for name, bins in layout.bins.items() if name in drawn}
        layout = replace(layout, bins={name: bins for name, bins in layout.bins.items() if name not in drawn})
        declared = {*edges, *(self.hierarchies or {}), *self.summaries, *layout.keep}
        free = [name for name in table if name not in declared]
        companions = [name for name in source if name not in layout.sensitive]  # S may be protected here
        refuse_identifiers(source, free, companions=() if self.person else companions)
        key = words.derive("latent classes") if partition is None else partition.words
        fitted, weights = (design, None) if source is rows else (None, None)
        if design is None:
            fitted, weights = self._row_of_each_person(source, key)
        above = {name: read_hierarchy(hierarchy, name) for name, hierarchy in (self.hierarchies or {}).items()}
        if partition is not None and (
            other := partition.model.differs(
                table, self.n_classes, edges, above, layout.keep, is_certified=is_certified
            )
        ):
            raise InvalidChannel(
                f"these latent classes were fitted with other settings ({other}); give the settings of their fit"
            )
        if partition is None:
            learned: dict[str, Any] = {"rows": fitted, "weights": weights, "edges": edges, "above": above}
            # A profile that summarizes other rows belongs to one person.
            are_people = self.person is not None or bool(self.summaries)
            learned |= {"rows_are_people": are_people, "summaries": self.summaries, "kept": layout.keep}
            if self.record_dp is not None and self.n_classes == 1 and not extra_columns:
                model = as_classes(table, edges)
            else:
                model = LatentClassModel.fit(table, key, n_classes=self.n_classes, is_certified=is_certified, **learned)
            # With a digest of all rows, changing one row would change the class of every other row.
            partition = ClassPartition.from_model(model, key, table if source is rows else None)
        groups = partition.encode(table)
        while True:  # rows of a class with few rows go to their next likely class
            cells = partition.assign(table, first=numbers, groups=groups)
            cell_rows = np.bincount(cells if fitted is None else cells[fitted], minlength=partition.n_cells)
            if cell_rows.min() >= LEAST_ROWS or partition.n_cells == 1:
                break
            fewest = cell_rows == cell_rows.min()
            fewest[0] &= not fewest.all()  # if all classes have equally few rows, one stays
            partition = partition.drop_cells(fewest)
        row_cells = cells if source is rows else partition.assign(rows, first=numbers)
        bare = CellLayout.from_partition(layout, partition)
        return FittedClasses(
            *bare.roles, partition=partition, source=source, cells=cells, rows=rows, row_cells=row_cells, design=design
        )

    def _row_of_each_person(self, source: Mapping[str, Any], key: NoiseKey) -> tuple[Mask | None, Weights]:
        """Rows for fitting classes, and their weights: one row per person; both None if nobody has two rows.

        All later counts of rows are then counts of people.
        """
        person = self.person_column
        people = None if person is None else self.people(source, person)
        return (None, None) if person is None or people is None else one_row_each(people, person, key.derive("people"))

    def resolve(
        self, spec: Specification, layout: Layout, counts: RowCounts, channel: Channel | None
    ) -> tuple[Specification, Layout]:
        """Return the mechanism and classes to design for: certified, with kept columns, or plain."""
        assert isinstance(layout, FittedClasses)
        if len(layout.row_cells) < counts.table.n:
            note = f"the latent classes were fitted on a uniform sample of {len(layout.row_cells)} rows"
            spec = replace(spec, facts=replace(spec.facts, warnings=(*spec.facts.warnings, note)))
        more: dict[str, Any] = {}
        function = getattr(spec.mechanism, "func", None)
        if layout.keep:
            layout = replace(layout, symbols=counts.table.public)
            more["keep"] = layout.keep
            kept = replace(spec.facts, kept=layout.keep, warnings=(*spec.facts.warnings, *_kept_notes(layout, counts)))
            spec = replace(spec, facts=kept)
        if self.confidence is not None:
            fresh: NDArray[Any]
            if isinstance(counts, NoisyRowCounts):
                design, _, fresh, more["noise"] = counts.noisy
            else:
                design, fresh = layout.divide_counts(counts.table)
            profiles = layout.profiles if self.target is None else layout.profiles_of({self.target})
            more |= {"design": design, "fresh": fresh, "profiles": profiles, "confidence": self.confidence}
            if function is certified_random_response:
                more["members"] = layout.members
            spec = replace(spec, facts=self._certificate_facts(spec, layout, counts.table, int(design.sum())))
        else:
            profiles = layout.profiles_of(layout.read if self.target is None else {self.target})
            takes_target = function in {mechanisms.optimal_random_response, mechanisms.subset_random_response}
            if takes_target and not isinstance(spec.budget, MeanBudget):
                target = profiles.column_values(_TARGET_LEVELS)
                more |= {"target": target, "effort": _EFFORT if self.effort is None else self.effort}
        written = partial(
            _design_written_classes,
            design=partial(spec.mechanism, **more),
            values=profiles.column_values(_COMPARED_LEVELS),
            is_heuristic="target" in more and self.target is None,
        )
        return replace(spec, mechanism=written), layout

    def _certificate_facts(
        self, spec: Specification, layout: FittedClasses, counts: ContingencyTable, n_design: int
    ) -> ReleaseFacts:
        """Add facts on why little can be certified, and on rows that no certificate covers."""
        assert self.confidence is not None
        rows = counts.counts.sum(axis=1)
        limits = as_lift_budget(limits_for(spec.budget, counts.sensitive))
        needed = FEWEST_CELLS * rows_needed(limits, rows / rows.sum(), FEWEST_CELLS, self.confidence)
        about = "" if self.promise is None else "about "
        required_rows = needed / float(rows.sum() - n_design) * rows
        notes, shortage = rare_secrets(layout.sensitive, rows, required_rows, f"{FEWEST_CELLS} classes", about)
        repeated = [REPEATED] if repeats_too_often(layout.repeats) else []
        return replace(spec.facts, warnings=(*spec.facts.warnings, *notes, *repeated), shortage=shortage)

    def finish(self, release: FittedRelease, spec: Specification, options: FitOptions) -> FittedRelease:
        """Complete the release with the report on its generated rows."""
        layout, counts = release.layout, release.counts
        assert isinstance(layout, FittedClasses)
        assert counts is not None
        partition = layout.partition
        n_rows = counts.table.n
        replaced = layout.count_replaced_values(n_rows)
        facts = replace(release.report.facts, output="model", people=partition.people, replaced=replaced)
        # Statistical tests on generated rows are invalid, even if the channel kept all differences.
        sections = tuple(section for section in release.report.sections if section.name != "power")
        report = replace(release.report, public=layout.read, facts=facts, sections=sections)
        if self.confidence is not None:  # held-out rows certify in place of a set of distributions
            report = report.with_worst_case(confidence=self.confidence)
        lost = {entry.column: entry.n_rows / n_rows for entry in replaced}
        report = with_columns(report, layout.column_counts(), release.channel, lost)
        # Relations under other limits for the same classes are not reported.
        is_draft = options.classes is not None and not options.is_priced
        if layout.is_shuffled or not is_draft:
            weighted = counts.table.row_counts  # each row is released once, whatever its weight
            shares = release.joint.p_x if weighted is None else weighted.sum(axis=0) / n_rows
            relations = layout.pair_relations(release.channel.push(shares[None])[0], release.decode)
            report = with_relations(report, relations, lost, is_shuffled=layout.is_shuffled)
        for section in report.sections:
            if section.name == "guesses":
                words = '"Before" describes latent classes (groups of similar rows); the raw rows reveal more.'
                report = report.with_section(replace(section, words=f"{section.words} {words}"))
        if self.person_column is None and self.promise is None:  # the figure assumes one row per person
            report = report.with_section(Section("membership", "Who is in the data", partition.membership))
        report = report.with_section(_classes_section(partition, counts, layout.design))
        return replace(release, layout=layout.bare(), report=report)


def _check_kept(settings: Mapping[str, Any], budget: Budget, rule: str) -> None:
    """Refuse settings that cannot be combined with kept columns."""
    if settings["record_dp"] is not None or settings["confidence"] is not None:
        raise InvalidParameter(
            "keep= cannot be combined with confidence= or record_dp=, because the limit on kept columns holds for "
            "these rows only; leave out confidence and record_dp, or keep"
        )
    if rule != "optimal-random-response" or not isinstance(budget, (LiftBudget, LDPBudget)):
        raise InvalidParameter(
            "keep= needs rule='optimal-random-response' and a LiftBudget or an LDPBudget, "
            f"got {rule} and {type(budget).__name__}"
        )


def _kept_notes(layout: FittedClasses, counted: RowCounts) -> Iterator[str]:
    """Warnings about kept columns for a reader of the report."""
    public, rows = counted.table.public, counted.table.seen.sum(axis=0)
    of_values = np.bincount(public.group_by(layout.keep), rows)
    if n_rare := int(of_values[of_values < MIN_COUNT].sum()):
        rare = f"{n_rare} rows have kept values that fewer than {MIN_COUNT} rows have"
        yield f"{rare}: anyone who knows these values can find the row"
    for name in layout.keep:
        if name in layout.bins:
            yield (
                f"the limit counts the bin of column {name!r}, which is released unchanged: what a value reveals "
                "beyond its bin is not counted"
            )


def _design_written_classes(
    joint: JointDistribution, design: Callable[..., Channel], values: Vector, *, is_heuristic: bool = False
) -> Channel:
    """Compose a mechanism's channel with a channel that writes a class, as similar as possible to the row's own.

    With kept columns, the written class is a class of rows with the same kept values. ``values`` has P(t|class) of the
    value of a random column: a class is similar if the values of the row's class are likely in it. A proof for the
    levels of columns that a design looks at is none for their values: such a design is a heuristic.
    """
    likely = log((1 - _SMOOTHED) * values + _SMOOTHED * product(values, joint.p_x)[:, None])
    similarity = product(values.T, likely)
    channel = design(joint)
    mass = (channel.matrix * joint.p_x[:, None]).T
    mass[mass.sum(axis=1) == 0] = joint.p_x
    groups = joint.public.group_by(joint.public.columns[:-1])
    written = np.zeros(mass.shape)
    for group in np.unique(groups):
        own = groups == group
        block = np.ix_(mass[:, own].any(axis=1), own)
        written[block] = couple_classes(mass[block], similarity[np.ix_(own, own)]) / UNIT
    writing = Channel.from_matrix(written, channel.outputs, joint.public)
    return channel.then(writing).with_optimality(HEURISTIC if is_heuristic else channel.optimality)


def _classes_section(partition: ClassPartition, counted: RowCounts, design: Mask | None) -> Section:
    """Section of the report about the latent classes."""
    words = (
        "Each row is released through its latent class, a group of similar rows. The public columns alone define the "
        "classes."
    )
    if design is not None and not design.all():
        n_fitted = int(design.sum())
        words += f" {n_fitted} rows fitted the classes; the other {counted.table.n - n_fitted} certify the limit."
    rows = np.bincount(counted.table.public.codes[:, -1], counted.table.seen.sum(axis=0))
    figures = (("classes", float(partition.n_cells)), ("rows of the smallest class", float(rows.min())))
    return Section("classes", "Latent classes", words, ("", "number"), figures)
