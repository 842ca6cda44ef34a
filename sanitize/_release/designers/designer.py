"""What a release is designed by: columns, settings and a mechanism, from counts to what rows are released through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sanitize._files.numbers import Numbers
from sanitize._release.design import MIN_COUNT, Recipe, design, priced
from sanitize._release.designers.roles import bins_of, public_columns, require_named, with_sensitive
from sanitize._release.layout import Layout
from sanitize._release.prepared import Prepared, footer_of
from sanitize._release.release import Release
from sanitize._sampling.noise import NoiseKey, is_secure, random_words, warn_of_seed
from sanitize._tables.frame import Table
from sanitize.binning import is_of_dates
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.report import SEEDED_NOTE, LeakageReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sanitize._release.design import Design
    from sanitize._release.designers.roles import ColumnSpec
    from sanitize._release.first_pass import Counted, FirstPass
    from sanitize._release.row_order import RowOrder
    from sanitize._sampling.noise import Randomness, RandomWords
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable


class Designer(ABC):
    """Base of what releases are designed by; it reads tables in files, counts them, and prepares their release.

    The estimators of `sanitize.transformers` are designers with the protocol of scikit-learn, which takes longer to
    load than a small table to release: a policy on the command line is carried out without it.

    Attributes
    ----------
    channel_ : Channel
        From public symbols to what is printed.
    report_ : LeakageReport
        Leakage before and after, against the budget.
    """

    def __init__(
        self,
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        bins: Mapping[str, Sequence[float] | int] | int | None = None,
        output: Literal["resample", "label"] = "resample",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        missing: Literal["category", "error"] = "category",
        smoothing: float = 0.0,
        min_count: int = MIN_COUNT,
        confidence: float | None = None,
        keep_sensitive: bool = False,
        random_state: Randomness = None,
    ) -> None:
        self.budget = budget
        self.sensitive = sensitive
        self.public = public
        self.bins = bins
        self.output = output
        self.handle_unknown = handle_unknown
        self.missing = missing
        self.smoothing = smoothing
        self.min_count = min_count
        self.confidence = confidence
        self.keep_sensitive = keep_sensitive
        self.random_state = random_state

    def _parameters(self) -> dict[str, Any]:
        """What the constructor was given, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def _copy(self, **changed: Any) -> Self:
        """The same, not fitted, with some parameters changed."""
        return type(self)(**{**self._parameters(), **changed})

    # ------------------------------------------------------------------------------- what subclasses say

    _needs_sensitive = True
    _words: RandomWords | None = None
    _is_part = True  # whether it may be a part of a joint release
    _takes_any_budget = False  # whether the mechanism can be designed given other columns

    @abstractmethod
    def _recipe(self) -> Recipe:
        """Budget and mechanism of the subclass, with the shared settings."""

    def _with_settings(
        self, name: str, mechanism: Callable[..., Channel], budget: Budget, *, keeps_symbols: bool = False
    ) -> Recipe:
        shared = (self.output, self.smoothing, self.min_count, self.confidence)
        return Recipe(name, mechanism, budget, keeps_symbols, *shared)

    # --------------------------------------------------------------------------------- from counts to a release

    def _fit_counts(self, layout: Layout, counts: ContingencyTable, recipe: Recipe, clipped: Mapping[str, int]) -> Self:
        """Design from counts, wherever they were taken; the path that files share."""
        if self.handle_unknown not in ("high_risk", "error"):
            raise InvalidParameter(f"handle_unknown must be 'high_risk' or 'error', got {self.handle_unknown!r}")
        notes = (*((SEEDED_NOTE,) if self._seeded else ()), *recipe.facts.warnings)
        facts = replace(recipe.facts, seeded=self._seeded, warnings=notes)
        if self.keep_sensitive:
            notes = (*notes, "the sensitive columns are kept in the output: not for release")
            facts = replace(facts, kept=layout.sensitive, warnings=notes)
        made = design(layout, counts, recipe, facts, clipped)
        recipe, made = self._chosen(recipe, made, lambda other: design(layout, counts, other, facts, clipped))
        if not self.keep_sensitive:
            made.report.require()
        self._release = Release(layout, recipe, made, self.handle_unknown)
        self._joint = made.joint
        self.channel_ = made.channel
        self.report_ = made.report
        return self

    def _priced(self, counts: ContingencyTable) -> Self:
        """What confidence costs, in the report of what was designed."""
        recipe = self._release.recipe
        made = priced(replace(self._release.design, report=self.report_), counts, recipe)
        self._release = replace(self._release, design=made)
        self.report_ = made.report
        return self

    def _chosen(self, recipe: Recipe, made: Design, design_of: Callable[[Recipe], Design]) -> tuple[Recipe, Design]:
        """The recipe and its design; who chooses among several designs the others too, and says which is taken."""
        return recipe, made

    def prepare(
        self, table: FirstPass, order: RowOrder, *, key: bytes | None = None, channel: Channel | None = None
    ) -> Prepared[LeakageReport]:
        """Fit on a table in files, and return what its second pass needs: for who writes releases to files.

        Parameters
        ----------
        table : FirstPass
            The files, and who counts them.
        order : {"shuffle", "keep"}
            Of the released rows; ``keep`` also measures what it tells.
        key : bytes, optional
            Of the noise, in place of ``random_state``.
        channel : Channel, optional
            What to release through and to measure, in place of a design.

        Returns
        -------
        Prepared

        Raises
        ------
        BudgetExceeded, RowOrderLeak
            If the designed channel exceeds the budget, or the order of the rows does.
        """
        words = random_words(self.random_state if key is None else key)
        self._words = words  # a model that prints rows takes its noise from those of the release
        counted = self._fit_counted(table, order, channel)
        self._words = None
        self._priced(counted.table)
        if key is not None:
            self.report_ = self.report_.with_key()
        elif self.report_.facts.seeded:
            warn_of_seed()
        release = replace(self.fitted_release(), handle_unknown="high_risk")
        expected = release.expected(counted.table)
        if key is None and isinstance(self.random_state, NoiseKey):
            self.random_state.bind(self.channel_, expected.tobytes(), None)  # files are told apart by their counts
        footer = footer_of(self.report_, order)
        return Prepared(release, expected, words, self.report_, footer)

    def draft(self, table: FirstPass, order: RowOrder) -> LeakageReport:
        """Fit on a table in files and measure, and prepare nothing: for who compares many designs.

        The report is that of `prepare`, but for what confidence costs, which takes three more designs.

        Parameters
        ----------
        table : FirstPass
        order : {"shuffle", "keep"}
        """
        self._fit_counted(table, order)
        return self.report_

    def _fit_counted(self, table: FirstPass, order: RowOrder, given: Channel | None = None) -> Counted:
        """Fit on the counts of a table in files, which are returned; to a channel, where one is given."""
        self._check_for_files()
        recipe = replace(self._recipe(), given=given)
        with table.naming_absent():
            layout, _ = self._layout(self._read(table.empty(), reset=True), None, None)
            counted = table.count(layout, order)
        self._fit_counts(layout, counted.table, recipe, counted.clipped)
        if counted.order is not None:
            self.report_ = counted.order.checked(self.report_, recipe.budget, counted.table)
        return counted

    def _check_for_files(self) -> None:
        """Refuse settings that a table in files cannot have."""
        if self.keep_sensitive:
            raise InvalidParameter("keep_sensitive=True cannot be released to a file; drop it")
        given = self.bins.values() if isinstance(self.bins, Mapping) else [self.bins]
        if any(isinstance(bins, (int, np.integer)) for bins in given):
            raise InvalidParameter(
                "quantile bins need the whole column in memory: declare edges to fit batches, or to fit or release "
                "a file"
            )

    def fitted_release(self) -> Release:
        """What rows are released through, without the law it was designed from.

        Raises
        ------
        InvalidParameter
            If the sanitizer is not fitted, or keeps the sensitive columns.
        BudgetExceeded
            If its report is over the budget.
        """
        release: Release | None = getattr(self, "_release", None)
        if release is None:
            raise InvalidParameter(f"this {type(self).__name__} is not fitted yet; call fit first")
        if self.keep_sensitive:
            raise InvalidParameter("keep_sensitive=True is not for release; drop it")
        self.report_.require()
        return release.bare()

    # ------------------------------------------------------------------------------------------- columns

    @property
    def numbers(self) -> Numbers:
        """Columns with bins of numbers, which a CSV file does not know to be numbers."""
        if not isinstance(self.bins, Mapping):
            return Numbers()
        return Numbers(tuple(name for name, bins in self.bins.items() if not is_of_dates(bins)))

    @property
    def _seeded(self) -> bool:
        if isinstance(self.random_state, bytes):
            raise InvalidParameter(
                "random_state must not be bare bytes, because parameters of estimators are printed; wrap the key: "
                "random_state=sanitize.NoiseKey(key)"
            )
        return not is_secure(self.random_state)

    def _read(self, X: Any, *, reset: bool) -> Table:
        """The table that columns are looked for in; estimators check that it is like the one of fit."""
        return Table.of(X)

    def _layout(
        self, table: Table, sensitive_features: Any, weights: NDArray[np.float64] | None
    ) -> tuple[Layout, Mapping[str, Any]]:
        """Roles of the columns, and the table with the sensitive ones in it."""
        require_named(table, self.sensitive, self.public, self.bins)
        sensitive, source = with_sensitive(table, self.sensitive, sensitive_features)
        public = public_columns(table, self.public, sensitive)
        if not sensitive:
            if self._needs_sensitive:
                raise ColumnError(
                    f"{type(self).__name__} needs to know what is sensitive: name columns with sensitive=, or "
                    "pass them to fit as sensitive_features (y is never taken as sensitive)"
                )
            return Layout(public, public, bins_of(self.bins, source, public, weights), self.missing), source
        overlap = sorted(set(sensitive) & set(public))
        if overlap:
            raise ColumnError(
                f"column {overlap[0]!r} is listed both as sensitive and as public; choose one", overlap[0]
            )
        bins = bins_of(self.bins, source, (*sensitive, *public), weights)
        return Layout(sensitive, public, bins, self.missing), source
