"""Recipes of releases: frozen parameters of columns and of a mechanism, from counts to channel and report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from sanitize._util.checks import check_choice
from sanitize._util.sampling.noise import is_secure
from sanitize.core.binning import is_of_dates
from sanitize.core.confidence import ConfidenceSet
from sanitize.core.measures import Measure, normalized_utility
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.design import MIN_COUNT, Specification, chain_channels, design, design_channels
from sanitize.release.first_pass import RowCounts
from sanitize.release.layout import Layout, make_bins, public_columns, require_columns, select, with_sensitive
from sanitize.release.people import ROW, encode_counts, refuse_by_companions, refuse_people
from sanitize.release.release import FittedRelease, Unknown
from sanitize.report import SEEDED_NOTE
from sanitize.tables.columns import as_arrow, factorize
from sanitize.tables.files.source import Numbers
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import Randomness, RandomWords
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import ContingencyTable
    from sanitize.release.first_pass import RowOrder, TableCounter
    from sanitize.release.layout import ColumnSpec
    from sanitize.tables.columns import ArrowColumn


Missing = Literal["category", "error"]
Edges = Mapping[str, Sequence[float]] | Sequence[float] | None
Rows = Mapping[str, Any] | None
Weights: TypeAlias = "NDArray[np.float64] | None"
# Rows of a table in files that are looked at for what goes with what.
_COMPANIONS = 200_000
# The columns by their roles, and the table that has them.
LaidOut: TypeAlias = "tuple[Layout, Mapping[str, Any]]"
# What is designed, for which columns, and how many values were clipped.
Settled: TypeAlias = "tuple[Specification, Layout, Mapping[str, int]]"
FittedFiles: TypeAlias = "tuple[FittedRelease, ContingencyTable]"


class Recipe(ABC):
    """Base of the recipes, one a mechanism, which share their parameters with the estimator of the same name.

    A recipe is made anew whenever an estimator is fitted, and never changes. It knows no estimator: the command line
    carries it out without loading scikit-learn, which takes longer than to release a small table.
    """

    # Parameters that every recipe can be asked for; a recipe without one of them has what is said here.
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

    counts_people: ClassVar[bool] = True  # whether it can count people where they have several rows
    needs_sensitive: ClassVar[bool] = True
    is_part: ClassVar[bool] = True  # whether it may be a part of a joint release
    takes_any_budget: ClassVar[bool] = False  # whether the mechanism can be designed given other columns
    takes_weights: ClassVar[bool] = False  # whether rows of files may have weights
    takes_channel: ClassVar[bool] = True  # whether one may take the place of a design

    @classmethod
    def estimator(cls) -> str:
        """Name of the estimator."""
        return cls.__name__.removesuffix("Recipe")

    @abstractmethod
    def specification(self) -> Specification:
        """Budget and mechanism, with the settings that recipes share; parameters are checked here."""

    def with_changes(self, **parameters: Any) -> Self:
        """Return a copy with other values of some parameters."""
        return replace(self, **parameters)  # type: ignore[type-var]

    def _make_specification(
        self, name: str, mechanism: Callable[..., Channel], budget: Budget, *, keeps_symbols: bool = False
    ) -> Specification:
        shared = (self.smoothing, self.min_count, self.confidence)
        return Specification(name, mechanism, budget, keeps_symbols, *shared)

    # --------------------------------------------------------------------------------- from counts to a release

    def design(self, spec: Specification, layout: Layout, counted: RowCounts, rows: Rows = None) -> FittedRelease:
        """Design from counts, wherever they were taken, and measure: the one pass of tables, files and engines.

        Parameters
        ----------
        spec : Specification
            Of this recipe, with what was given in place of a design if anything was.
        layout : Layout
        counted : RowCounts
        rows : mapping of str to column, optional
            What was counted, for a recipe that may count them otherwise.

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        check_choice("handle_unknown", self.handle_unknown, "high_risk", "error")
        if self.person is None and layout.prints_symbols:
            layout.check_distinct(counted.table)
            refuse_people(*encode_counts(counted.table), layout.value_columns)
        spec = replace(spec, counts_people=self.person_column is not None)
        spec, layout, clipped = self._resolve_mechanism(spec, layout, counted)
        notes = (*((SEEDED_NOTE,) if self.is_seeded else ()), *spec.facts.warnings)
        facts = replace(spec.facts, seeded=self.is_seeded, warnings=notes)
        if self.keep_sensitive:
            notes = (*notes, "the sensitive columns are kept in the output: not for release")
            facts = replace(facts, kept=layout.sensitive, warnings=notes)
        result = design(layout, counted.table, spec, facts, clipped)
        if not self.keep_sensitive:
            result.report.require()
        release = FittedRelease(**vars(result), layout=layout, spec=spec, handle_unknown=self.handle_unknown)
        fitted = self._attach_printer(release, counted)
        return self._audit_order(fitted, counted, is_priced=spec.is_priced)

    def check_companions(self, layout: Layout, counted: RowCounts, *table: Any) -> None:
        """Refuse identifiers of people by columns of the table that stay behind: their names, and what reads them."""
        if self.person is None and layout.prints_symbols:
            refuse_by_companions(*encode_counts(counted.table), layout.value_columns, *table)

    def _resolve_mechanism(self, spec: Specification, layout: Layout, counted: RowCounts) -> Settled:
        """Settle the design, its columns, and how many values were clipped, from the counts."""
        return spec, layout, counted.clipped

    def _attach_printer(self, release: FittedRelease, counted: RowCounts) -> FittedRelease:
        """The release with what follows its design."""
        return release

    def _audit_order(self, fitted: FittedRelease, counted: RowCounts, *, is_priced: bool) -> FittedRelease:
        """Return the release after a look at the order of the rows, and at what confidence costs."""
        spec, table = fitted.spec, counted.table
        if counted.order is not None:
            fitted = replace(fitted, report=counted.order.check_report(fitted.report, spec.budget, table))
        if not is_priced:
            return fitted
        return _price_confidence(fitted, table, spec)

    def check_weights(self, table: TableCounter, order: RowOrder) -> None:
        """Refuse weights of the rows of a file where they have no meaning."""
        if table.source.weights is None or (self.takes_weights and self.confidence is None and order == "shuffle"):
            return
        what = "a confidence" if self.takes_weights and self.confidence is not None else "rows that keep their order"
        raise InvalidParameter(
            f"the weights of the rows, {table.source.weights!r}, are not for "
            f"{what if self.takes_weights else self.estimator()}: leave weights out, or release tuples (as "
            "subset-merging) without a confidence, in shuffled rows"
        )

    def fit(
        self, spec: Specification, table: TableCounter, order: RowOrder, words: RandomWords | None = None
    ) -> FittedFiles:
        """Count a table in files and design, see `design`; the counts are returned, too."""
        layout, counted = self._count_files(table, order)
        return self.design(spec, layout, counted), counted.table

    def _count_files(self, table: TableCounter, order: RowOrder) -> tuple[Layout, RowCounts]:
        """Roles of the columns of a table in files, and its counts."""
        with table.naming_absent():
            layout, _ = self.layout(Table.from_native(table.empty()))
            counted = table.count(layout, order)
            if (person := self.person_column) is None:
                read = partial(table.sample, most=_COMPANIONS)
                self.check_companions(layout, counted, table.source.readable_columns, read)
                return layout, counted
            columns = table.sample((*layout.sensitive, *layout.read, person), table.source.n_rows)
            people = self.people(columns, person)
            if people is None:
                return layout, counted
            return layout, replace(
                counted, table=RowCounts.from_table(layout, columns, np.ones(len(people)), people).table
            )

    def for_files(self, **changed: Any) -> Specification:
        """Specification for a table in files, with some of its fields changed; what files cannot have is refused."""
        if self.keep_sensitive:
            raise InvalidParameter("keep_sensitive=True cannot be released to a file; drop it")
        if self.bins is not None and not isinstance(self.bins, Mapping):
            raise InvalidParameter("bins must name the columns of a file, as in bins={'age': [0, 30, 60]}")
        if not self.takes_channel:
            changed["channel"] = None
        return replace(self.specification(), **changed)

    # ------------------------------------------------------------------------------------------- columns

    @property
    def numbers(self) -> Numbers:
        """Columns with bins, which a CSV file does not know to be numbers or dates."""
        if not isinstance(self.bins, Mapping):
            return Numbers()
        dates = tuple(name for name, bins in self.bins.items() if is_of_dates(bins))
        joined = [name for name, bins in self.bins.items() if isinstance(bins, Mapping)]
        return Numbers(tuple(name for name in self.bins if name not in (*dates, *joined)), dates)

    @property
    def promise(self) -> Any:
        """The differential privacy asked for, of secrets or of whole rows; None where there is none."""
        return self.secret_dp if self.record_dp is None else self.record_dp

    @property
    def person_column(self) -> str | None:
        """Column that says whose a row is; None where rows are counted.

        Raises
        ------
        InvalidParameter
            If there is one, and people cannot be counted.
        """
        if self.person is None or self.person == ROW:
            return None
        if not isinstance(self.person, str):
            raise InvalidParameter(f"person must be the name of a column, or {ROW!r}, got {type(self.person).__name__}")
        if not self.counts_people:
            raise InvalidParameter(
                f"{self.estimator()} counts rows and not people: where people have several rows, release them whole "
                f"with sanitize.people.UnitRelease; person={ROW!r} says that every row is a person of its own"
            )
        return self.person

    @staticmethod
    def people(source: Mapping[str, Any], name: str) -> ArrowColumn | None:
        """The column of this name, which says whose each row is; None where nobody has two.

        Raises
        ------
        ColumnError
            If it is missing somewhere.
        """
        column = as_arrow(source[name], name)
        if (n_missing := column.null_count) > 0:
            raise ColumnError(
                f"column {name!r} says whose a row is, and is missing in {n_missing} rows: fill it, or leave these "
                "rows out",
                name,
            )
        return None if len(factorize(column, name)[0]) == len(column) else column

    @property
    def is_seeded(self) -> bool:
        """True if its noise can be guessed."""
        if isinstance(self.random_state, bytes):
            raise InvalidParameter(
                "random_state must not be bare bytes, because parameters of estimators are printed; wrap the key: "
                "random_state=sanitize.NoiseKey(key)"
            )
        return not is_secure(self.random_state)

    def layout(self, table: Table, sensitive_features: Any = None) -> LaidOut:
        """Roles of the columns, and the table with the sensitive ones in it."""
        person = select("person", self.person_column, table)
        require_columns(table, self.sensitive, self.public, self.keep, self.bins)
        sensitive, source = with_sensitive(table, self.sensitive, sensitive_features)
        keep = select("keep", self.keep, table)
        public = (*public_columns(table, self.public, (*sensitive, *person, *keep)), *keep)
        if taken := [name for name in person if name in (*sensitive, *public)]:
            raise ColumnError(
                f"column {taken[0]!r} says whose a row is, and is never released: list it as person alone", taken[0]
            )
        if not sensitive:
            if self.needs_sensitive:
                raise ColumnError(
                    f"{self.estimator()} needs to know what is sensitive: name columns with sensitive=, or "
                    "pass them to fit as sensitive_features (y is never taken as sensitive)"
                )
            return Layout(public, public, make_bins(self.bins, source, public), self.missing, keep), source
        overlap = sorted(set(sensitive) & set(public))
        if overlap:
            raise ColumnError(
                f"column {overlap[0]!r} is listed both as sensitive and as public; choose one", overlap[0]
            )
        bins = make_bins(self.bins, source, (*sensitive, *public))
        return Layout(sensitive, public, bins, self.missing, keep), source


def _price_confidence(release: FittedRelease, table: ContingencyTable, spec: Specification) -> FittedRelease:
    """The design with what confidence costs in its report: three more designs of the same distribution."""
    if spec.confidence is None:
        return release
    among = ConfidenceSet.of(table, spec.confidence)

    def utility(confidence: ConfidenceSet | None) -> float:
        return normalized_utility(
            release.joint, chain_channels(design_channels(table, release.joint, spec, confidence=confidence))
        )

    plain = Measure("normalized_utility_plain", "share kept without confidence", "1", "exact", None, utility(None))
    more = (
        Measure(
            f"normalized_utility_{k}x",
            f"share kept with {k} x the rows",
            "1",
            "estimate",
            None,
            utility(among.scaled(k)),
        )
        for k in (10, 100)  # to say what more rows would buy
    )
    return replace(release, report=replace(release.report, measures=(*release.report.measures, plain, *more)))


@dataclass(eq=False, repr=False, kw_only=True)
class PooledParameters:
    """Parameters of recipes that release combinations of values of the public columns, the rare ones pooled."""

    budget: Budget | None = field(default=None, kw_only=False)
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    bins: Edges = None
    handle_unknown: Unknown = "high_risk"
    missing: Missing = "category"
    smoothing: float = 0.0
    min_count: int = MIN_COUNT
    person: str | None = None
    keep_sensitive: bool = False
    random_state: Randomness = None


@dataclass(eq=False, repr=False, kw_only=True)
class TupleParameters(PooledParameters):
    """Parameters of recipes that can be asked for a confidence, too."""

    confidence: float | None = None


def recipe_type(name: str) -> type[Recipe]:
    """Class of the recipe of an estimator, whose file is loaded now: a release needs few of them."""
    files = {
        "BestSanitizer": "best",
        "GaussianChannel": "gaussian",
        "JointRelease": "joint",
        "LatentClassRelease": "classes",
    }
    return getattr(import_module(f"sanitize.release.recipes.{files.get(name, 'tuples')}"), f"{name}Recipe")
