"""Recipe that designs with every mechanism that applies, and uses the design that keeps most."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.limits import TUPLE_ROWS
from sanitize.core.confidence import check_confidence
from sanitize.core.measures import Measure
from sanitize.core.profiles import GROUPS, column_counts, group_levels, pair_relations
from sanitize.errors import SanitizeError
from sanitize.release.choosing import PRINTED, Choice, kinds_for
from sanitize.release.classes import MODELLED_ROWS
from sanitize.release.first_pass import TableCounter
from sanitize.release.fit import PLAIN, FitOptions, Recipe, recipe_type
from sanitize.release.recipes.tuples import TupleParameters
from sanitize.report import column_utilities, with_relations
from sanitize.tables.ordered import is_ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy import sparse

    from sanitize._util.checks import Codes
    from sanitize.core.joint import JointDistribution
    from sanitize.core.profiles import Relation
    from sanitize.release.design import Specification
    from sanitize.release.first_pass import RowCounts, TableSource
    from sanitize.release.layout import Layout
    from sanitize.release.release import FittedRelease
    from sanitize.tables.files.source import Numbers


class BestSanitizerRecipe(TupleParameters, Recipe):
    """Choose, among mechanisms that fit the table and the budget, the mechanism that keeps most of the columns."""

    is_part = False
    takes_channel = False

    @property
    def numbers(self) -> Numbers:
        """Columns to read as numbers: columns that latent classes use, if a CSV file has only numbers in them."""
        return self._recipe("latent class release").numbers

    def specification(self) -> Specification:
        """Return the specification of subset merging, which applies to every distribution and budget."""
        return self._recipe("subset merging").specification()

    def _recipe(self, name: str, **settings: Any) -> Recipe:
        recipe_class: Any = recipe_type(name.title().replace(" ", ""))
        names = {item.name for item in fields(self)} & {item.name for item in fields(recipe_class)}
        recipe: Recipe = recipe_class(**{name: getattr(self, name) for name in names} | settings)
        return recipe

    def fit(self, table: TableSource, options: FitOptions = PLAIN, roles: Layout | None = None) -> FittedRelease:
        """Design with all mechanisms that apply, and use the best; latent classes take part from 1,000 rows on."""
        self.check(table, options.order)
        with table.naming_absent():
            layout = self.roles(table) if roles is None else roles
            counts = self.count(table, layout, options.order)
        n_rows = 0 if table.weights is not None else table.n_rows  # a model of weighted rows does not take part
        recipe, classes = self, []
        if n_rows >= MODELLED_ROWS and not (self.smoothing or self.person_column):
            if self.confidence is not None:
                # Two certificates hold together at a higher confidence of each (union bound): all tuple mechanisms
                # share one, on a set of distributions; latent classes have another, on split rows. Whether there are
                # two is decided by settings and rows alone, even if a design then turns out impossible.
                recipe = self.with_changes(confidence=1 - (1 - check_confidence(self.confidence)) / 2)
            with contextlib.suppress(SanitizeError):  # a mechanism that cannot release this table keeps nothing
                classes.append(recipe._fit_classes(table, layout, options))
        is_shuffled = isinstance(table, TableCounter) and options.order == "shuffle"
        chosen = recipe._choose_best(layout, counts, classes, options, is_shuffled=is_shuffled)
        if self.confidence is None:
            return chosen
        return replace(chosen, report=chosen.report.with_confidence(self.confidence))  # the user's, for all together

    def design(self, layout: Layout, counts: RowCounts, options: FitOptions = PLAIN) -> FittedRelease:
        """Design with all tuple mechanisms that apply to the counts, and use the one that keeps most."""
        return self._choose_best(layout, counts, [], options)

    def _fit_classes(self, table: TableSource, layout: Layout, options: FitOptions) -> FittedRelease:
        """Fit latent classes, which learn the edges of public columns by themselves unless these are declared."""
        learned = {name for name, bins in layout.bins.items() if bins.learned and name in layout.public}
        declared = self.bins if isinstance(self.bins, Mapping) else {}
        bins = {name: edges for name, edges in declared.items() if name not in learned}
        roles: dict[str, Any] = {"sensitive": list(layout.sensitive), "public": list(layout.public)}
        layout = replace(layout, bins={name: bins for name, bins in layout.bins.items() if name not in learned})
        draft = replace(options, channel=None, is_priced=False)
        return self._recipe("latent class release", **roles, bins=bins).fit(table, draft, layout)

    def _choose_best(
        self,
        layout: Layout,
        counts: RowCounts,
        classes: Sequence[FittedRelease],
        options: FitOptions,
        *,
        is_shuffled: bool = False,
    ) -> FittedRelease:
        """Return the best of tuples and latent classes, with a report that compares all of them."""
        # Classes and tuples have different symbols, so they are compared by the information kept per column. For
        # shuffled generated rows, which belong to no one, relations between columns come first.
        designs = list(self._tuples(layout, counts, is_alone=not classes))
        releases = [release for _, release in designs]
        if classes and releases:
            rows = self.specification().support(counts.table)[1]
            columns, never = list(_column_counts(releases[0].joint)), rows[rows < self.min_count].sum() / rows.sum()
            releases = [_with_columns(entry, columns, float(never), is_shuffled=is_shuffled) for entry in releases]
        candidates = [*releases, *classes]
        compared = {release.report.facts.mechanism: release.report for release in candidates}
        choice = Choice(compared)
        note = f"{choice.best} was chosen, because it {choice.reason}."
        if self.confidence is not None:
            note += f" Each certificate holds at {100 * self.confidence:.6g} %, so that whichever is chosen may be."
        place = list(compared).index(choice.best)
        report = candidates[place].report.with_section(choice.section(note))
        report = replace(report, facts=replace(report.facts, is_chosen=True))
        chosen = replace(candidates[place], report=report, compared=compared)
        if place >= len(releases):
            return chosen
        return designs[place][0].price(replace(chosen, counts=counts), options)

    def _tuples(self, layout: Layout, counts: RowCounts, *, is_alone: bool) -> Iterator[tuple[Recipe, FittedRelease]]:
        """Designs on tuples; none if tuples are too many or cannot be released, and classes were fitted instead."""
        rows = counts.table.counts.sum(axis=0)
        n_x = int(np.count_nonzero(rows))
        if not is_alone and n_x * TUPLE_ROWS > rows.sum():
            return
        kinds = kinds_for(n_x, self.specification().budget)
        if self.confidence is not None and n_x > 60:  # robust responses take longer
            kinds = [kind for kind in kinds if not kind.is_response]
        unordered, draft = replace(counts, order=None), FitOptions(is_priced=False)
        for recipe in (self._recipe(kind.name) for kind in kinds):
            with contextlib.nullcontext() if is_alone else contextlib.suppress(SanitizeError):
                yield recipe, recipe.design(layout, unordered, draft)


def _with_columns(
    fitted: FittedRelease, rows: Sequence[tuple[str, sparse.csr_array]], never: float, *, is_shuffled: bool
) -> FittedRelease:
    """Return a release of tuples with the figures of latent classes: by column, by relation, and for lost values."""
    lines = [column_utilities(rows, fitted.channel)[1]]
    if never:
        lines.append(Measure(PRINTED, "rows with values that may be released", "1", "exact", 1.0, 1 - never))
    report = replace(fitted.report, measures=(*fitted.report.measures, *lines))
    if is_shuffled:
        report = with_relations(report, relations_of_tuples(fitted), is_shuffled=True)
    return replace(fitted, report=report)


def relations_of_tuples(fitted: FittedRelease) -> tuple[Relation, ...]:
    """Return the share of each relation between two columns that a release of tuples keeps."""
    joint, channel = fitted.joint, fitted.channel
    after = np.zeros(len(joint.public))
    written = joint.public.encode(dict(channel.outputs.decode(np.arange(channel.n_outputs, dtype=np.int32))))
    np.add.at(after, written, channel.push(joint.p_x[None])[0])
    codes, n = [(own, own) for _, own in _groups(joint, 8)], joint.n or 0
    return pair_relations(joint.public.columns, codes, (n * joint.p_x, n * after), is_drawn=False)


def _groups(joint: JointDistribution, most: int = GROUPS) -> Iterator[tuple[str, Codes]]:
    """Yield the name of each column, and the group of its value in each symbol."""
    symbols, rows = joint.public, np.rint(joint.p_x * (joint.n or 0)).astype(np.int64)
    for name, values, codes in zip(symbols.columns, symbols.levels, symbols.codes.T, strict=True):
        level = np.where(codes < 0, len(values), codes)
        counts = np.bincount(level, rows).astype(np.int64)
        yield name, group_levels(counts, is_ordered=is_ordered(values.type, name), most=most)[level]


def _column_counts(joint: JointDistribution) -> Iterator[tuple[str, sparse.csr_array]]:
    """Yield each column's name and counts of (X_j, X), with X_j in the groups by which classes are measured."""
    x = np.repeat(np.arange(len(joint.p_x)), np.rint(joint.p_x * (joint.n or 0)).astype(np.int64))
    names, groups = zip(*_groups(joint), strict=True)
    return column_counts(names, [own[x] for own in groups], x, len(joint.p_x))
