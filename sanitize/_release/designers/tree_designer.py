"""The base of the designers over whole tables, whose public symbols are the cells of a tree over all columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from sanitize._release.design import Recipe
from sanitize._release.designers.designer import Designer
from sanitize._release.designers.secret_counts import with_noise
from sanitize._release.designers.secret_dp import check_settings, noise_key, with_level, with_promise
from sanitize._release.designers.tree_growth import GrownLayout, cells_section, output_of, with_people
from sanitize._release.identifiers import refuse_identifiers
from sanitize._sampling.noise import random_words
from sanitize.budgets import as_budget
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.report import with_columns
from sanitize.trees import DESIGN_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sanitize._files.numbers import Numbers
    from sanitize._release.designers.roles import ColumnSpec
    from sanitize._release.designers.secret_dp import SecretDP
    from sanitize._release.designers.tree_growth import Output
    from sanitize._release.first_pass import Counted, FirstPass
    from sanitize._release.layout import Layout
    from sanitize._release.row_order import RowOrder
    from sanitize._sampling.noise import Randomness
    from sanitize._tables.frame import Table
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable, JointDistribution
    from sanitize.report import LeakageReport, ReleaseFacts
    from sanitize.trees import Hierarchy


# Rows of files that a tree is grown on: more would not make it better.
MOST_SAMPLED = 1_000_000


class TreeSanitizer(Designer):
    """Base of the designers whose public symbols are the cells of a tree."""

    # What the base reads of parameters that make no sense here: every row has a cell, and cells are not rare.
    handle_unknown: Literal["error"] = "error"
    smoothing = 0.0
    min_count = 0
    secret_dp: SecretDP | None = None
    output: Output | None  # type: ignore[assignment]

    _is_part = False
    _name: str

    def __init__(
        self,
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        public: ColumnSpec = None,
        min_rows: int = 20,
        max_cells: int | None = None,
        weights: Mapping[str, float] | None = None,
        hierarchies: Mapping[str, Hierarchy | str | Path] | None = None,
        target: str | None = None,
        bins: Mapping[str, Sequence[float] | int] | None = None,
        output: Output | None = None,
        confidence: float | None = None,
        missing: Literal["category", "error"] = "category",
        keep_sensitive: bool = False,
        random_state: Randomness = None,
    ) -> None:
        self.budget = budget
        self.sensitive = sensitive
        self.public = public
        self.min_rows = min_rows
        self.max_cells = max_cells
        self.weights = weights
        self.hierarchies = hierarchies
        self.target = target
        self.bins = bins
        self.output = output
        self.confidence = confidence
        self.missing = missing
        self.keep_sensitive = keep_sensitive
        self.random_state = random_state

    @abstractmethod
    def _growth(self, n_rows: int, budget: Budget, p_s: NDArray[np.float64] | None) -> dict[str, Any]:
        """Budget, and rows and numbers of blocks and cells, of a tree; without P(s) where that is not to be seen."""

    @abstractmethod
    def _mechanism(self, layout: GrownLayout, counts: ContingencyTable, budget: Budget) -> Callable[..., Channel]:
        """From the law of (S, cell) to the channel."""

    @property
    def numbers(self) -> Numbers:
        """Columns with bins, and public ones that a CSV file writes as numbers throughout."""
        public, sensitive = ({roles} if isinstance(roles, str) else roles for roles in (self.public, self.sensitive))
        if isinstance(public, Collection):
            return replace(super().numbers, found=public.__contains__)
        if isinstance(sensitive, Collection):
            return replace(super().numbers, found=lambda name: name not in sensitive)
        return super().numbers

    def _recipe(self) -> Recipe:
        output_of(self.output, 0)
        if self.secret_dp is not None:
            check_settings(self.secret_dp, vars(self))
        # The tree's own certificate takes the place of a set of laws, and its printer that of resampled columns.
        return Recipe(self._name, _not_grown, as_budget(self.budget))

    def _layout(
        self, table: Table, sensitive_features: Any, weights: NDArray[np.float64] | None
    ) -> tuple[Layout, Mapping[str, Any]]:
        layout, source = super()._layout(table, sensitive_features, weights)
        return self._grow(layout, source, table.n_rows), source

    def _grow(self, layout: Layout, source: Mapping[str, Any], n_rows: int) -> GrownLayout:
        if self.target is not None and self.target not in layout.public:
            shown = ", ".join(map(repr, layout.public[:10]))
            raise ColumnError(f"target must be one of the public columns {shown}, got {self.target!r}")
        free = [name for name in layout.public if name not in layout.bins and name not in (self.hierarchies or {})]
        refuse_identifiers(source, free)
        settings: dict[str, Any] = {"weights": self.weights, "hierarchies": self.hierarchies, "target": self.target}
        return GrownLayout.grow(
            layout,
            source,
            partial(self._growth, n_rows, as_budget(self.budget)),
            share=None if self.confidence is None else DESIGN_SHARE,
            blind=self.secret_dp is not None,
            **settings,
        )

    def _fit_counted(self, table: FirstPass, order: RowOrder, given: Channel | None = None) -> Counted:
        """Grow the tree on the rows of the files, or a uniform sample of them, and design on the counts of all."""
        assert given is None, "a tree has no time limit, so its channel is designed again"
        self._check_for_files()
        recipe = self._recipe()
        if self.secret_dp is not None and order != "shuffle":
            raise InvalidParameter(
                "rows='keep' is allowed after a look at every secret; use rows='shuffle', the default, with secret_dp"
            )
        with table.naming_absent():
            roles, _ = super()._layout(self._read(table.empty(), reset=True), None, None)
            sample = table.sample((*roles.sensitive, *roles.public), MOST_SAMPLED)
            n_sampled = len(sample[roles.public[0]])
            layout = self._grow(roles, sample, n_sampled)
            counted = table.count(layout.bare(), order)
        if n_sampled < counted.table.n:
            note = f"the tree and what prints its cells were learned from a uniform sample of {n_sampled} rows"
            recipe = replace(recipe, facts=replace(recipe.facts, warnings=(*recipe.facts.warnings, note)))
        self._fit_counts(layout, counted.table, recipe, counted.clipped)
        if counted.order is not None:
            self.report_ = counted.order.checked(self.report_, recipe.budget, counted.table)
        return counted

    def _fit_counts(self, layout: Layout, counts: ContingencyTable, recipe: Recipe, clipped: Mapping[str, int]) -> Self:
        assert isinstance(layout, GrownLayout)
        if self.secret_dp is not None:
            layout = with_noise(layout, counts, self.secret_dp, noise_key(self.random_state))
            recipe = replace(recipe, facts=with_level(recipe.facts, self.secret_dp, seeded=self._seeded))
            clipped = {}  # how many secrets were clipped is not told
        rows = counts.counts.sum(axis=0)
        output = output_of(self.output, int(rows.sum()))
        mechanism = self._mechanism(layout, counts, recipe.budget)
        # Labels name what the mechanism releases; rows are printed from a cell that is drawn for it.
        recipe = replace(recipe, mechanism=mechanism, output="label" if output == "label" else "resample")
        super()._fit_counts(layout.bare(), counts, recipe, clipped)
        words = random_words(self.random_state) if self._words is None else self._words
        printer = layout.printer(output, self.channel_, words)
        self.tree_ = layout.tree
        self.report_ = self._reported(self.report_, layout, rows, with_people(self.report_.facts, printer, output))
        design = replace(self._release.design, report=self.report_)
        self._release = replace(self._release, design=design, printer=printer)
        return self

    def _reported(
        self, report: LeakageReport, layout: GrownLayout, rows: NDArray[np.int64], facts: ReleaseFacts
    ) -> LeakageReport:
        """Report of the columns, and of what the tree's own certificate claims in place of a set of laws."""
        report = replace(report, public=layout.tree.names, facts=facts)
        if self.confidence is not None:
            lines = tuple(line for line in report.measures if not line.name.startswith("worst_"))
            report = replace(report, measures=lines, confidence=self.confidence, _worst=None)
        if layout.raw is not None:
            report = report.beside(layout.raw)
        report = with_columns(report, layout.grown.column_counts(), layout.grown.pair_counts(), self.channel_)
        report = report.with_section(cells_section(layout.tree, rows, self.confidence))
        return report if self.secret_dp is None else with_promise(report, self.secret_dp, len(layout.secrets))


def _not_grown(_: JointDistribution) -> Channel:
    raise AssertionError("a tree is grown before its channel is designed")  # pragma: no cover
