"""Recipes, which have frozen parameters; the method `Recipe.fit` makes a release from a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sanitize._util.checks import check_choice
from sanitize._util.sampling.noise import is_secure
from sanitize.core.binning import is_of_dates
from sanitize.core.budgets import limits_for
from sanitize.core.confidence import ConfidenceSet
from sanitize.core.lifts import lift
from sanitize.core.measures import Measure, normalized_utility
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.design import (
    Specification,
    chain_channels,
    check_confidence_settings,
    design_channels,
    release_facts,
)
from sanitize.release.first_pass import RowCounts, TableCounter
from sanitize.release.layout import Layout, make_bins, public_columns, require_columns, select
from sanitize.release.people import ROW, encode_counts, refuse_by_companions, refuse_people
from sanitize.release.recipes.promise import NoisyRowCounts, add_noise, check_order, with_level, with_promise
from sanitize.release.release import FittedRelease, Unknown
from sanitize.report import SEEDED_NOTE, USELESS_BELOW, LeakageReport
from sanitize.tables.columns import as_arrow, factorize
from sanitize.tables.files.source import Numbers

if TYPE_CHECKING:
    from sanitize._util.sampling.noise import NoiseKey, Randomness
    from sanitize.core.channel import Channel
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.classes import ClassPartition
    from sanitize.release.first_pass import RowOrder, TableSource
    from sanitize.release.layout import ColumnSpec
    from sanitize.report import ReleaseFacts
    from sanitize.tables.columns import ArrowColumn

Missing = Literal["category", "error"]
# Rows of a table in files from which companions of a column are determined: a column that names people shows it in
# these.
_COMPANIONS = 200_000


@dataclass(frozen=True)
class FitOptions:
    """Options of a single fit, which are not part of the recipe.

    Attributes
    ----------
    order : {"shuffle", "keep"}
        Order of the released rows of a file; ``keep`` also measures what this order reveals.
    random_words : NoiseKey, optional
        Noise of this release, in place of that of the recipe.
    channel : Channel, optional
        Complete channel of an earlier release, which is measured in place of a design.
    classes : ClassPartition, optional
        Latent classes of an earlier release, in place of a fit.
    is_priced : bool
        Whether the report states the cost of confidence, which takes three more designs.
    """

    order: RowOrder = "shuffle"
    random_words: NoiseKey | None = field(default=None, repr=False)
    channel: Channel | None = None
    classes: ClassPartition | None = None
    is_priced: bool = True


# Most callers need no option.
PLAIN = FitOptions()


class Recipe(ABC):
    """Base class of recipes, one per mechanism, which have the parameters of the estimator of the same name.

    Each fit of an estimator makes a new recipe, which never changes. Recipes do not import the estimators, so the
    command line needs no scikit-learn, which takes longer to load than a small release takes.
    """

    # Recipes without one of these parameters have its value here, so that callers need not ask which recipe it is.
    budget: Any
    sensitive: ColumnSpec
    public: ColumnSpec = None
    keep: ColumnSpec = None
    bins: Any = None
    handle_unknown: Unknown = "high_risk"
    missing: Missing = "category"
    smoothing: float = 0.0
    min_count: int = 0
    confidence: float | None = None
    side_columns: str | Sequence[str] = ()
    keep_sensitive: bool = False
    random_state: Randomness = None
    secret_dp: Any = None
    record_dp: Any = None
    person: str | None = None

    counts_people: ClassVar[bool] = True  # whether people with several rows can be counted
    needs_sensitive: ClassVar[bool] = True
    is_part: ClassVar[bool] = True  # whether the recipe may be a part of a joint release
    takes_any_budget: ClassVar[bool] = False  # whether the mechanism can be designed given other columns
    takes_weights: ClassVar[bool] = False  # whether rows of files may have weights
    takes_channel: ClassVar[bool] = True  # whether a given channel may replace the design

    @classmethod
    def estimator(cls) -> str:
        """Name of the estimator that corresponds to the recipe."""
        return cls.__name__.removesuffix("Recipe")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter for the first time; recipes are frozen, so a later change raises an error."""
        if name in vars(self) or name not in {item.name for item in fields(self)}:  # type: ignore[arg-type]
            raise FrozenInstanceError(f"cannot assign to {name!r} of a recipe: use with_changes")
        super().__setattr__(name, value)

    def with_changes(self, **parameters: Any) -> Self:
        """Return a copy with other values of some parameters."""
        return replace(self, **parameters)  # type: ignore[type-var]

    # ---------------------------------------------------------------- steps from a table to a release, in order

    def fit(self, table: TableSource, options: FitOptions = PLAIN, roles: Layout | None = None) -> FittedRelease:
        """Count a table, design a channel and measure it; all frames, files, engines and commands use this method.

        Parameters
        ----------
        table : TableCounter or MemoryTable
        options : FitOptions
        roles : Layout, optional
            Roles of the columns, if they are known already.

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        self.check(table, options.order)
        with table.naming_absent():
            layout = self.learn_layout(self.roles(table) if roles is None else roles, table, options)
            counts = self.count(table, layout, options.order)
        return self.design(layout, counts, options)

    def design(self, layout: Layout, counts: RowCounts, options: FitOptions = PLAIN) -> FittedRelease:
        """Design a channel from counts of any origin, and measure it independently of the design.

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        check_choice("handle_unknown", self.handle_unknown, "high_risk", "error")
        if self.promise is not None and not isinstance(counts, NoisyRowCounts):
            raise InvalidParameter(
                f"{self.promise.keyword} adds noise to counts of rows, but got a finished distribution; fit on a table"
            )
        table, channel = counts.table, options.channel if self.takes_channel else None
        layout.check_distinct(table)
        if self.person is None and layout.prints_symbols:
            refuse_people(*encode_counts(table), layout.value_columns)
        spec = self._full_specification()
        if self.promise is not None:
            spec = replace(spec, facts=with_level(spec.facts, self.promise, seeded=self.is_seeded))
        spec, layout = self.resolve(spec, layout, counts, channel)
        facts = self._settings_facts(spec, layout)
        check_confidence_settings(spec, layout)
        joint = table.to_joint(spec.smoothing)
        confidence = None if spec.confidence is None else ConfidenceSet.of(table, spec.confidence)
        channels = design_channels(table, joint, spec, confidence=confidence, fixed=channel)
        printed = chain_channels(channels).with_optimality(channels[0].optimality)
        facts = release_facts(layout, counts, spec, facts, printed, is_fixed=channel is not None)
        report = LeakageReport.measure(joint, printed, spec.budget, facts=facts, confidence=confidence)
        if not self.keep_sensitive:
            report.require()
        riskiest = int(np.argmax(limits_for(spec.budget, joint.sensitive).lift_risk(lift(joint), joint.p_s)))
        settings = layout, spec.budget, self.handle_unknown, channel is not None, counts
        release = self.finish(FittedRelease(joint, printed, report, riskiest, *settings), spec, options)
        if self.promise is not None:
            release = with_promise(release, self.promise, layout)
        return self.price(release, options)

    def price(self, release: FittedRelease, options: FitOptions) -> FittedRelease:
        """Return the release with a report that also covers the order of its rows and the cost of confidence."""
        counts, report = release.counts, release.report
        assert counts is not None
        if counts.order is not None:
            report = counts.order.check_report(report, release.budget, counts.table)
        if options.is_priced:
            report = _price_confidence(report, release, counts.table, self._full_specification())
        return replace(release, report=report)

    def _full_specification(self) -> Specification:
        """Return the specification, completed with whether people or rows are counted."""
        return replace(self.specification(), counts_people=self.person_column is not None)

    # ------------------------------------------- methods of each mechanism: the first is required, the others optional

    @abstractmethod
    def specification(self) -> Specification:
        """Return the budget, the mechanism and the common settings, after checking the parameters."""

    def resolve(
        self, spec: Specification, layout: Layout, counts: RowCounts, channel: Channel | None
    ) -> tuple[Specification, Layout]:
        """Return the mechanism and the columns to design for, given the counts; ``channel`` replaces a design."""
        return spec, layout

    def finish(self, release: FittedRelease, spec: Specification, options: FitOptions) -> FittedRelease:
        """Complete a release with the parts that are computed after the design."""
        return release

    def check(self, table: TableSource, order: RowOrder) -> None:
        """Refuse parameters that contradict one another or the table, before any row is read."""
        column = table.source.weights if isinstance(table, TableCounter) else None
        if self.promise is not None and any(given is not None for given in (column, table.weights, table.groups)):
            raise InvalidParameter(f"{self.promise.keyword} requires that each row is one person: leave weights out")
        if column is not None:
            self._check_weights(column, order)
        if isinstance(table, TableCounter):
            self.check_files(order)
        self.specification()

    def _check_weights(self, name: str, order: RowOrder) -> None:
        """Refuse weights of the rows of a file if the recipe cannot use weights."""
        if self.takes_weights and self.confidence is None and order == "shuffle":
            return
        what = "rows that keep their order" if self.confidence is None else "a confidence"
        raise InvalidParameter(
            f"the weights of the rows, {name!r}, cannot be used with "
            f"{what if self.takes_weights else self.estimator()}: leave weights out, or name one mechanism "
            "(such as subset-merging or latent-classes) with rows='shuffle' and without a confidence"
        )

    def check_files(self, order: RowOrder = "shuffle") -> None:
        """Refuse settings that tables in files do not support."""
        if self.keep_sensitive:
            raise InvalidParameter("keep_sensitive=True would write the sensitive columns to the file; leave it out")
        if self.bins is not None and not isinstance(self.bins, Mapping):
            raise InvalidParameter("bins must name the columns of a file, as in bins={'age': [0, 30, 60]}")
        if self.record_dp is not None:
            check_order(order, "record_dp")

    def _settings_facts(self, spec: Specification, layout: Layout) -> ReleaseFacts:
        """Facts about the mechanism and the settings that all recipes share."""
        notes = (*((SEEDED_NOTE,) if self.is_seeded else ()), *spec.facts.warnings)
        facts = replace(spec.facts, seeded=self.is_seeded, warnings=notes)
        if not self.keep_sensitive:
            return facts
        notes = (*notes, "the sensitive columns are kept in the output: not for release")
        return replace(facts, kept=layout.sensitive, warnings=notes)

    # ------------------------------------------------------------------------------------------- columns

    @property
    def numbers(self) -> Numbers:
        """Columns with bins, which are read as numbers because a CSV file does not state types."""
        if not isinstance(self.bins, Mapping):
            return Numbers()
        dates = tuple(name for name, bins in self.bins.items() if is_of_dates(bins))
        joined = [name for name, bins in self.bins.items() if isinstance(bins, Mapping)]
        return Numbers(tuple(name for name in self.bins if name not in (*dates, *joined)), dates)

    @property
    def promise(self) -> Any:
        """Requested differential privacy, of sensitive values or of whole rows; None if there is none."""
        return self.secret_dp if self.record_dp is None else self.record_dp

    @property
    def person_column(self) -> str | None:
        """Name of the column that identifies people; None if rows are counted.

        Raises
        ------
        InvalidParameter
            If a column is named and the recipe cannot count people.
        """
        if self.person is None or self.person == ROW:
            return None
        if not isinstance(self.person, str):
            raise InvalidParameter(f"person must be the name of a column, or {ROW!r}, got {type(self.person).__name__}")
        if not self.counts_people:
            raise InvalidParameter(
                f"{self.estimator()} counts rows and cannot count people with person={self.person!r}. If people have "
                f"several rows, use sanitize.people.UnitRelease; if each row is a different person, give person={ROW!r}"
            )
        return self.person

    @staticmethod
    def people(source: Mapping[str, Any], name: str) -> ArrowColumn | None:
        """Return the column that identifies people; None if nobody has two rows.

        Raises
        ------
        ColumnError
            If an identifier is missing.
        """
        column = as_arrow(source[name], name)
        if (n_missing := column.null_count) > 0:
            raise ColumnError.fault(
                name,
                f"must name the person of every row, but is missing in {n_missing} rows; fill it, "
                "or leave these rows out",
            )
        return None if len(factorize(column, name)[0]) == len(column) else column

    @property
    def is_seeded(self) -> bool:
        """True if the noise comes from a seed, which can be guessed."""
        if isinstance(self.random_state, bytes):
            raise InvalidParameter(
                "random_state must not be bytes, because an estimator shows its parameters, and a key must stay "
                "private; give random_state=sanitize.NoiseKey(key)"
            )
        return not is_secure(self.random_state)

    def roles(self, table: TableSource) -> Layout:
        """Determine the roles of the columns from their names and types only."""
        head = table.head
        person = select("person", self.person_column, head)
        require_columns(head, self.sensitive, self.public, self.keep, self.bins)
        sensitive = self.sensitive_names(table)
        keep = select("keep", self.keep, head)
        public = (*public_columns(head, self.public, (*sensitive, *person, *keep)), *keep)
        if taken := [name for name in person if name in (*sensitive, *public)]:
            raise ColumnError.fault(taken[0], "identifies people and is never released; name it with person= only")
        if not sensitive:
            sensitive = public
        elif overlap := sorted(set(sensitive) & set(public)):
            raise ColumnError.fault(overlap[0], "is listed both as sensitive and as public; choose one")
        bins = make_bins(self.bins, table.columns, tuple(dict.fromkeys((*sensitive, *public))))
        return Layout(sensitive, public, bins, self.missing, keep)

    def sensitive_names(self, table: TableSource) -> tuple[str, ...]:
        """Return the names of the sensitive columns; raise an error if the recipe needs some and none is named."""
        if table.sensitive_features is not None and self.sensitive is not None:
            raise ColumnError("give the sensitive columns once: either sensitive= or sensitive_features=, not both")
        names = tuple(table.features) or select("sensitive", self.sensitive, table.head)
        if not names and self.needs_sensitive:
            raise ColumnError(
                f"{self.estimator()} needs sensitive columns: name them with sensitive=, or pass them to fit as "
                "sensitive_features (y is never taken as sensitive)"
            )
        return names

    def learn_layout(self, roles: Layout, table: TableSource, options: FitOptions) -> Layout:
        """Return the layout for counting rows; a layout of latent classes is fitted to the rows."""
        return roles

    def count(self, table: TableSource, layout: Layout, order: RowOrder) -> RowCounts:
        """Count rows, or people if they have several rows, and refuse columns that identify people."""
        counts, others = table.count(layout, order), list(table.names)
        if self.promise is not None:  # noise would not cover another look at sensitive values
            counts = add_noise(layout, counts, self.promise, self.random_state, self.min_count)
            others = [name for name in others if name not in layout.sensitive]
        if (person := self.person_column) is None:
            if self.person is None and layout.prints_symbols:
                read = partial(table.sample, most=_COMPANIONS)
                every, times = encode_counts(counts.table)
                columns = {name: column for name, column in every.items() if name in others}
                refuse_by_companions(columns, times, layout.value_columns, others, read)
            return counts
        rows = table.sample((*layout.sensitive, *layout.read, person), table.n_rows)
        people = self.people(rows, person)
        if people is None:
            return counts
        weights = np.ones(len(people)) if table.weights is None else table.weights
        return replace(counts, table=RowCounts.from_table(layout, rows, weights, people, table.largest_total).table)


def _price_confidence(
    report: LeakageReport, release: FittedRelease, table: ContingencyTable, spec: Specification
) -> LeakageReport:
    """Return the report with the cost of confidence, from three more designs for the same distribution."""
    if spec.confidence is None:
        return report
    # The report's own set keeps nothing about single rows, and so no weights or clusters.
    among = ConfidenceSet.of(table, spec.confidence)

    def utility(confidence: ConfidenceSet | None) -> float:
        channels = design_channels(table, release.joint, spec, confidence=confidence)
        return normalized_utility(release.joint, chain_channels(channels))

    kept = utility(None)
    lines = [Measure("normalized_utility_plain", "share kept without confidence", "1", "exact", None, kept)]
    for k in (10, 100) if kept >= USELESS_BELOW else ():  # gain by more rows, at most that without a confidence
        name, label = f"normalized_utility_{k}x", f"share kept with {k} x the rows"
        lines.append(Measure(name, label, "1", "estimate", None, utility(among.scaled(k))))
    return replace(report, measures=(*report.measures, *lines))


def recipe_type(name: str) -> type[Recipe]:
    """Recipe class of an estimator, imported on first use because a release needs few recipes."""
    files = {
        "BestSanitizer": "best",
        "GaussianChannel": "gaussian",
        "JointRelease": "joint",
        "LatentClassRelease": "classes",
    }
    return getattr(import_module(f"sanitize.release.recipes.{files.get(name, 'tuples')}"), f"{name}Recipe")
