"""Recipes over whole tables, whose public symbols are the cells of a tree over all columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, inf
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sanitize._release.design import Specification
from sanitize._release.first_pass import Counted
from sanitize._release.recipes.fitted_classes import FEWEST_CELLS
from sanitize._release.recipes.grown_layout import GrownLayout, cells_section, output_of, with_people
from sanitize._release.recipes.promise import (
    check_order,
    check_settings,
    noise_key,
    with_level,
    with_noise,
    with_promise,
)
from sanitize._release.recipes.recipe import Recipe
from sanitize._release.recipes.record_dp import RECORD_SHARE
from sanitize._release.release import no_mechanism
from sanitize._release.survey import refuse_identifiers
from sanitize._sampling.noise import random_words
from sanitize._tables.frame import Table
from sanitize.budgets import LiftBudget, as_budget
from sanitize.errors import ColumnError
from sanitize.mechanisms import (
    MOST_MERGED,
    MOST_PAIRED,
    as_lift_budget,
    blocks_within,
    certified_merging,
    certified_random_response,
    rows_of_cells,
    tree_merging,
    tree_random_response,
)
from sanitize.report import with_columns
from sanitize.trees import DESIGN_SHARE, MOST_BLOCKS, design_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sanitize._files.source import Numbers
    from sanitize._release.first_pass import FirstPass, RowOrder
    from sanitize._release.layout import ColumnSpec, Layout
    from sanitize._release.recipes.grown_layout import Output
    from sanitize._release.recipes.recipe import FittedFiles, LaidOut, Missing, Printed, Settled, Weights
    from sanitize._release.recipes.record_dp import RecordDP
    from sanitize._release.recipes.secret_dp import SecretDP
    from sanitize._release.release import Release
    from sanitize._sampling.noise import Randomness, RandomWords
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable, JointDistribution
    from sanitize.trees import Hierarchy, Tree


# Rows of files that a tree is grown on: more would not make it better.
MOST_SAMPLED = 1_000_000


@dataclass(eq=False, repr=False, kw_only=True)
class TreeParameters:
    """Of trees."""

    budget: Budget | float | None = field(default=None, kw_only=False)
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    min_rows: int = 20
    max_cells: int | None = None
    weights: Mapping[str, float] | None = None
    hierarchies: Mapping[str, Hierarchy | str | Path] | None = None
    target: str | None = None
    bins: Mapping[str, Sequence[float] | int] | None = None
    output: Output | None = None
    confidence: float | None = None
    missing: Missing = "category"
    person: str | None = None
    keep_sensitive: bool = False
    random_state: Randomness = None


class TreeRecipe(TreeParameters, Recipe):
    """Base of the recipes whose public symbols are the cells of a tree: every row has one, and cells are not rare."""

    counts_people = False
    is_part = False
    takes_channel = False
    handle_unknown = "error"
    name: ClassVar[str]
    # Columns that many rows come to, which name nobody.
    made: Collection[str] = ()

    @abstractmethod
    def _growth(self, n_rows: int, budget: Budget, p_s: NDArray[np.float64] | None) -> dict[str, Any]:
        """Budget, and rows and numbers of blocks and cells, of a tree; without P(s) where that is not to be seen."""

    def _certified(
        self, mechanism: Callable[..., Channel], layout: GrownLayout, counts: ContingencyTable, **more: Any
    ) -> Callable[..., Channel]:
        """A mechanism that designs on some of the rows and certifies on the others."""
        design, fresh = layout.apart(counts)
        more |= {"profiles": layout.grown.profiles, "confidence": self.confidence}
        return partial(mechanism, design=design, fresh=fresh, **more)

    @abstractmethod
    def _mechanism(self, layout: GrownLayout, counts: ContingencyTable, budget: Budget) -> Callable[..., Channel]:
        """From the distribution of (S, cell) to the channel."""

    def changed(self, **parameters: Any) -> Self:
        """The same with other values of some parameters."""
        other = super().changed(**parameters)
        other.made = self.made
        return other

    @property
    def design_share(self) -> float:
        """Share of the rows that a tree is grown on where the others certify it."""
        return DESIGN_SHARE if self.record_dp is None else RECORD_SHARE

    @property
    def numbers(self) -> Numbers:
        """Columns with bins, and public ones that a CSV file writes as numbers throughout."""
        public, sensitive = ({roles} if isinstance(roles, str) else roles for roles in (self.public, self.sensitive))
        if self.record_dp is not None:  # which of the others are, a row could tell
            return super().numbers
        if isinstance(public, Collection):
            return replace(super().numbers, found=public.__contains__)
        if isinstance(sensitive, Collection):
            return replace(super().numbers, found=lambda name: name not in sensitive)
        return super().numbers

    def specification(self) -> Specification:
        """Budget; the tree's certificate is in place of a set of distributions, its printer of resampled columns."""
        output_of(self.output, 0)
        if self.promise is not None:
            check_settings(vars(self))
        return Specification(self.name, no_mechanism, as_budget(self.budget))

    def layout(self, table: Table, sensitive_features: Any = None, weights: Weights = None) -> LaidOut:
        """Roles of the columns, and the tree grown over the public ones."""
        layout, source = super().layout(table, sensitive_features, weights)
        return self.grown(layout, source, table.n_rows), source

    def grown(
        self, layout: Layout, source: Mapping[str, Any], n_rows: int, beside: Collection[str] = ()
    ) -> GrownLayout:
        """A layout with the tree that is grown over its public columns.

        Those beside the tree are in the private model of whole rows alone.
        """
        modelled, layout = layout, replace(layout, public=tuple(name for name in layout.public if name not in beside))
        if self.target is not None and self.target not in layout.public:
            shown = ", ".join(map(repr, layout.public[:10]))
            raise ColumnError(f"target must be one of the public columns {shown}, got {self.target!r}")
        rows = source
        if self.record_dp is not None:
            chosen = design_rows(n_rows, RECORD_SHARE)
            source = self.record_dp.rows_instead(modelled, rows, chosen, noise_key(self.random_state, "record_dp"))
        free = [name for name in layout.public if name not in {*layout.bins, *(self.hierarchies or {}), *self.made}]
        refuse_identifiers(source, free, others=() if self.person else layout.public)
        settings: dict[str, Any] = {"weights": self.weights, "hierarchies": self.hierarchies, "target": self.target}
        grown = GrownLayout.grow(
            layout,
            source,
            partial(self._growth, n_rows),
            as_budget(self.budget),
            share=None if self.confidence is None else self.design_share,
            blind=self.secret_dp is not None,
            **settings,
        )
        return grown if self.record_dp is None else grown.with_design(rows, chosen)

    def fit(
        self, spec: Specification, table: FirstPass, order: RowOrder, words: RandomWords | None = None
    ) -> FittedFiles:
        """Grow the tree on the rows of the files, or a uniform sample of them, and design on the counts of all."""
        if self.promise is not None:
            check_order(order, self.promise.keyword)
        with table.naming_absent():
            roles, _ = super().layout(Table.of(table.empty()))
            sample = table.sample((*roles.sensitive, *roles.public), MOST_SAMPLED)
            n_sampled = len(sample[roles.public[0]])
            layout = self.grown(roles, sample, n_sampled)
            is_whole = order == "shuffle" and n_sampled == table.source.n_rows
            counted = Counted.of(layout, sample) if is_whole else table.count(layout.bare(), order)
        if n_sampled < counted.table.n:
            note = f"the tree and what prints its cells were learned from a uniform sample of {n_sampled} rows"
            spec = replace(spec, facts=replace(spec.facts, warnings=(*spec.facts.warnings, note)))
        # The second pass must see the same rows of each cell again, whatever the noise on what was designed by.
        exact = counted.table if self.record_dp is None else copy(counted.table)
        return self.design(spec, layout, counted, words), exact

    def _settled(self, spec: Specification, layout: Layout, counted: Counted) -> Settled:
        assert isinstance(layout, GrownLayout)
        clipped: Mapping[str, int] = counted.clipped
        if (promise := self.promise) is not None:
            told = with_noise(layout, counted.table, promise, self.random_state)
            layout = replace(
                layout, secrets=counted.table.sensitive, design=told.design, fresh=told.fresh, noise=told.noise
            )
            spec = replace(spec, facts=with_level(spec.facts, promise, seeded=self.is_seeded))
            clipped = {}  # how many secrets were clipped is not told
        mechanism = self._mechanism(layout, counted.table, spec.budget)
        if self.confidence is not None:
            notes, shortage = layout.doubts(counted.table, spec.budget, self.confidence)
            facts = replace(spec.facts, warnings=(*spec.facts.warnings, *notes), shortage=shortage)
            spec = replace(spec, facts=facts)
        # Labels name what the mechanism releases; rows are printed from a cell that is drawn for it.
        output: Printed = "label" if self._output(counted) == "label" else "resample"
        return replace(spec, mechanism=mechanism, output=output), layout, clipped

    def _output(self, counted: Counted) -> Output:
        return output_of(self.output, int(counted.table.counts.sum()))

    def _finished(self, release: Release, counted: Counted, words: RandomWords | None) -> Release:
        layout = release.layout
        assert isinstance(layout, GrownLayout)
        output = "label" if release.spec.is_draft else self._output(counted)
        printer = layout.printer(output, release.channel, random_words(self.random_state) if words is None else words)
        facts = with_people(release.report.facts, printer, output)
        report = replace(release.report, public=layout.partition.names, facts=facts)
        if self.confidence is not None:  # the tree's own certificate claims what a set of distributions does elsewhere
            lines = tuple(line for line in report.measures if not line.name.startswith("worst_"))
            report = replace(report, measures=lines, confidence=self.confidence, _worst=None)
        if layout.raw is not None:
            report = report.beside(layout.raw)
        rows = counted.table.counts.sum(axis=0)
        shapes = () if output == "label" else layout.shapes(printer, release.channel.push(rows[None] / rows.sum())[0])
        report = with_columns(report, layout.grown.column_counts(), layout.grown.pair_counts(), shapes, release.channel)
        report = report.with_section(cells_section(layout.partition, rows, self.confidence))
        if self.promise is not None:
            report = with_promise(report, self.promise, layout)
        shown = {"tree_": layout.partition}
        return replace(release, layout=layout.bare(), report=report, printer=printer, beside=shown)


_GROWN_CELLS = 4096
# Fresh rows of the least cell of certified merging, and of the average one of a certified response, in parts of those
# that an average cell needs to pass alone.
_MERGED_ROWS, _CERTIFIED_ROWS = 1.4, 1.2
# The same where no secret may be looked at.
_BLIND_ROWS = 330.0


class TreeMergingRecipe(TreeRecipe):
    """Release, of each row, the block of a tree over all public columns that it lies in, printed as a row again."""

    name = "tree merging"

    def _growth(self, n_rows: int, budget: Budget, p_s: NDArray[np.float64] | None) -> dict[str, Any]:
        limits = {"min_rows": self.min_rows, "min_cell_rows": self.min_rows, "max_block_cells": 1}
        if self.confidence is None:
            return limits | _at_most(_GROWN_CELLS if self.max_cells is None else self.max_cells, budget)
        assert p_s is not None
        fresh = (1 - DESIGN_SHARE) * n_rows
        rows = _MERGED_ROWS * rows_of_cells(as_lift_budget(budget), p_s, fresh, self.confidence)
        least = max(self.min_rows, ceil(rows * DESIGN_SHARE / (1 - DESIGN_SHARE)))
        return _singles(least, MOST_MERGED if self.max_cells is None else self.max_cells)

    def _mechanism(self, layout: GrownLayout, counts: ContingencyTable, budget: Budget) -> Callable[..., Channel]:
        if self.confidence is None:
            return partial(_within_blocks, tree=layout.partition, budget=budget, design=tree_merging)
        return self._certified(certified_merging, layout, counts, budget=budget)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeRandomResponseParameters(TreeParameters):
    """Of the tree random response."""

    min_rows: int = 200
    min_cell_rows: int = 20
    secret_dp: SecretDP | None = None
    record_dp: RecordDP | None = None


class TreeRandomResponseRecipe(TreeRandomResponseParameters, TreeRecipe):
    """Exchange rows at random with like rows, inside the blocks of a tree over all public columns [ZDS Algorithm 2]."""

    name = "tree random response"

    def _growth(self, n_rows: int, budget: Budget, p_s: NDArray[np.float64] | None) -> dict[str, Any]:
        limits = {"min_rows": self.min_rows, "min_cell_rows": self.min_cell_rows}
        if self.confidence is None:
            return limits | _at_most(_GROWN_CELLS if self.max_cells is None else self.max_cells, budget)
        fresh, rows = (1 - self.design_share) * n_rows, _BLIND_ROWS
        if p_s is not None:
            rows = _CERTIFIED_ROWS * rows_of_cells(as_lift_budget(budget), p_s, fresh, self.confidence)
        most = min(max(int(fresh / rows), FEWEST_CELLS), MOST_PAIRED)
        most = most if self.max_cells is None else self.max_cells
        if p_s is None:
            return limits | {"max_cells": most, "max_block_cells": None, "budget": None}
        # Each cell has a third of the rows of an average one at least.
        return _singles(max(self.min_cell_rows, int(1 / 3 * self.design_share * n_rows / most)), most)

    def _mechanism(self, layout: GrownLayout, counts: ContingencyTable, budget: Budget) -> Callable[..., Channel]:
        if self.confidence is None:
            made = partial(tree_random_response, target=layout.target_distribution(self.target))
            return partial(_within_blocks, tree=layout.partition, budget=budget, design=made)
        more = {"members": layout.partition.members.toarray(), "noise": layout.noise, "budget": budget}
        return self._certified(certified_random_response, layout, counts, **more)


def _at_most(cells: int, budget: Budget) -> dict[str, Any]:
    """Limits of a tree of so many cells, and no more blocks."""
    return {"max_cells": cells, "max_blocks": min(cells, MOST_BLOCKS), "budget": budget}


def _singles(least: int, most: int) -> dict[str, Any]:
    """Limits of a tree whose blocks are single cells, which may tell anything but do not for its own sake."""
    limits = {"min_rows": least, "min_cell_rows": least, "max_blocks": most, "max_cells": most, "max_block_cells": 1}
    return limits | {"budget": LiftBudget(lower=inf, upper=inf)}


def _within_blocks(joint: JointDistribution, tree: Tree, budget: Budget, design: Callable[..., Channel]) -> Channel:
    return design(joint, blocks_within(tree, joint, budget), budget)
