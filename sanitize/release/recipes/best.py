"""The recipe that chooses its mechanism: all that fit are designed, and the one that keeps most is taken."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sanitize._util.limits import TUPLE_ROWS
from sanitize._util.sampling.noise import random_words
from sanitize.core.confidence import check_confidence
from sanitize.core.measures import Measure
from sanitize.core.profiles import GROUPS, column_counts, group_levels, pair_relations
from sanitize.errors import SanitizeError
from sanitize.release.choosing import PRINTED, choose_report, comparison_section, kinds_for, reason
from sanitize.release.classes import MODELLED_ROWS
from sanitize.release.first_pass import RowCounts
from sanitize.release.recipes.recipe import Recipe, TupleParameters, recipe_type
from sanitize.report import column_utilities, with_relations
from sanitize.tables.ordered import is_ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy import sparse

    from sanitize._util.checks import Codes
    from sanitize._util.sampling.noise import RandomWords
    from sanitize.core.joint import JointDistribution
    from sanitize.core.profiles import Relation
    from sanitize.release.design import Specification
    from sanitize.release.first_pass import RowOrder, TableCounter
    from sanitize.release.layout import Layout
    from sanitize.release.recipes.recipe import FittedFiles, Rows
    from sanitize.release.release import FittedRelease
    from sanitize.tables.files.source import Numbers


class BestSanitizerRecipe(TupleParameters, Recipe):
    """The mechanism that keeps most of what is printed, of those that fit the table and the budget."""

    is_part = False
    takes_channel = False

    @property
    def numbers(self) -> Numbers:
        """Those of latent classes, which cut columns that a CSV file writes as numbers throughout."""
        return self._recipe("latent class release").numbers

    def specification(self) -> Specification:
        """Specification of the mechanism that fits every distribution and budget."""
        return self._recipe("subset merging").specification()

    def _recipe(self, name: str, **settings: Any) -> Recipe:
        recipe_class: Any = recipe_type(name.title().replace(" ", ""))
        names = {item.name for item in fields(recipe_class)}
        recipe: Recipe = recipe_class(
            **{item.name: getattr(self, item.name) for item in fields(self) if item.name in names} | settings
        )
        return recipe

    def design(self, spec: Specification, layout: Layout, counted: RowCounts, rows: Rows = None) -> FittedRelease:
        """Design all that fit, and take the one that keeps most; latent classes are among them where rows are there."""
        n_rows = 0 if rows is None else len(rows[layout.public[0]])
        recipe, candidates = self._halve_confidence(n_rows) if rows is not None else self, []
        if rows is not None and (classes := recipe._classes(layout, n_rows)):
            with contextlib.suppress(SanitizeError):  # what cannot be released through them keeps nothing
                fitted = classes.fit_layout(layout, rows, random_words(self.random_state))
                counts = RowCounts.from_table(fitted, rows)
                draft = replace(classes.specification(), is_priced=False)
                candidates.append((classes.design(draft, fitted, counts), counts.table))
        return self._restate_confidence(recipe._choose_best(spec, layout, counted, candidates)[0])

    def fit(
        self, spec: Specification, table: TableCounter, order: RowOrder, words: RandomWords | None = None
    ) -> FittedFiles:
        """Count a table in files and choose; latent classes count it once more."""
        layout, counted = self._count_files(table, order)
        n_rows = table.source.n_rows
        recipe, candidates = self._halve_confidence(n_rows), []
        if classes := recipe._classes(layout, n_rows):
            with contextlib.suppress(SanitizeError):
                draft = classes.for_files(is_priced=False, partition=spec.partition)
                candidates.append(classes.fit(draft, table, order, words))
        fitted, counts = recipe._choose_best(spec, layout, counted, candidates, is_shuffled=order == "shuffle")
        return self._restate_confidence(fitted), counts

    def _halve_confidence(self, n_rows: float) -> Self:
        """Return the recipe at the confidence that both certificates need to hold together, by the union bound.

        One is of the set of distributions that all tuples share, one of the split rows of latent classes. Whether there
        are two follows from settings and rows alone: one that is not designed after all counts, too.
        """
        if self.confidence is None or not self._has_classes(n_rows):
            return self
        return self.with_changes(confidence=1 - (1 - check_confidence(self.confidence)) / 2)

    def _restate_confidence(self, fitted: FittedRelease) -> FittedRelease:
        """A release that was certified with others, so that it holds at the confidence asked for, whichever it is."""
        return (
            fitted
            if self.confidence is None
            else replace(fitted, report=fitted.report.with_confidence(self.confidence))
        )

    def _has_classes(self, n_rows: float) -> bool:
        """Return whether latent classes are compared: few rows have none."""
        is_plain = not (self.smoothing or self.person_column)
        return is_plain and n_rows >= MODELLED_ROWS

    def _classes(self, layout: Layout, n_rows: int) -> Any:
        """Recipe of latent classes, or None."""
        if not self._has_classes(n_rows):
            return None
        declared = self.bins if isinstance(self.bins, Mapping) else {}
        learned = {name for name, bins in layout.bins.items() if bins.learned and name in layout.public}
        settings: dict[str, Any] = {
            "sensitive": list(layout.sensitive),
            "public": list(layout.public),
            "bins": {name: edges for name, edges in declared.items() if name not in learned},
        }
        return self._recipe("latent class release", **settings)

    def _choose_best(
        self,
        spec: Specification,
        layout: Layout,
        counted: RowCounts,
        classes: Sequence[FittedFiles],
        *,
        is_shuffled: bool = False,
    ) -> FittedFiles:
        """The best of the tuples and the latent classes, whose report compares all of them, and the counts it is of."""
        # Classes and tuples are other symbols: where there are both, what they keep of each column is compared; of
        # shuffled rows, which stand beside nobody, first what pairs of columns say about each other.
        share = "mean_column_utility" if classes else "normalized_utility"
        releases = list(self._tuples(spec, layout, counted, is_alone=not classes))
        if classes and releases:
            columns, rows = list(_column_counts(releases[0].joint)), spec.support(counted.table)[1]
            never = rows[rows < self.min_count].sum() / rows.sum()
            releases = [_with_columns(entry, columns, float(never), is_shuffled=is_shuffled) for entry in releases]
        candidates = [*((entry, counted.table) for entry in releases), *classes]
        reports = [entry.report for entry, _ in candidates]
        place = choose_report(reports, share)
        note = f"{reports[place].facts.mechanism} was chosen, because it {reason(reports[place], reports, share)}."
        if self.confidence is not None:
            note += f" Each certificate holds at {100 * self.confidence:.6g} %, so that whichever is chosen may be."
        best, table = candidates[place]
        report = best.report.with_section(comparison_section(reports, note, share))
        chosen = replace(best, report=replace(report, facts=replace(report.facts, is_chosen=True)))
        compared = {report.facts.mechanism: report for report in reports}
        chosen = replace(chosen, attributes={**chosen.attributes, "compared_": compared})
        return (
            chosen if place >= len(releases) else self._audit_order(chosen, counted, is_priced=spec.is_priced)
        ), table

    def _tuples(
        self, spec: Specification, layout: Layout, counted: RowCounts, *, is_alone: bool
    ) -> Iterator[FittedRelease]:
        """Designs of tuples; none where classes were fitted and they are too many, or cannot be released."""
        rows = counted.table.counts.sum(axis=0)
        n_x = int(np.count_nonzero(rows))
        if not is_alone and n_x * TUPLE_ROWS > rows.sum():
            return
        kinds = kinds_for(n_x, spec.budget)
        if self.confidence is not None and n_x > 60:  # robust responses take longer
            kinds = [kind for kind in kinds if not kind.is_response]
        unordered = replace(counted, order=None)
        for recipe in (self._recipe(kind.name) for kind in kinds):
            with contextlib.nullcontext() if is_alone else contextlib.suppress(SanitizeError):
                yield recipe.design(replace(recipe.specification(), is_priced=False), layout, unordered)


def _with_columns(
    fitted: FittedRelease, rows: Sequence[tuple[str, sparse.csr_array]], never: float, *, is_shuffled: bool
) -> FittedRelease:
    """A release of tuples whose report says what it keeps of columns, as that of classes does, and leaves out."""
    lines = [column_utilities(rows, fitted.channel)[1]]
    if never:
        lines.append(Measure(PRINTED, "rows whose values may be printed", "1", "exact", 1.0, 1 - never))
    report = replace(fitted.report, measures=(*fitted.report.measures, *lines))
    return replace(
        fitted, report=with_relations(report, relations_of_tuples(fitted), is_shuffled=True) if is_shuffled else report
    )


def relations_of_tuples(fitted: FittedRelease) -> tuple[Relation, ...]:
    """Return how much a release of tuples has of each relation between two columns."""
    joint, channel = fitted.joint, fitted.channel
    after = np.zeros(len(joint.public))
    written = joint.public.encode(dict(channel.outputs.decode(np.arange(channel.n_outputs, dtype=np.int32))))
    np.add.at(after, written, channel.push(joint.p_x[None])[0])
    codes, n = [(own, own) for _, own in _groups(joint, 8)], joint.n or 0
    return pair_relations(joint.public.columns, codes, (n * joint.p_x, n * after), is_drawn=False)


def _groups(joint: JointDistribution, most: int = GROUPS) -> Iterator[tuple[str, Codes]]:
    """Name of each column, and the group of its value in each symbol."""
    symbols, rows = joint.public, np.rint(joint.p_x * (joint.n or 0)).astype(np.int64)
    for name, values, codes in zip(symbols.columns, symbols.levels, symbols.codes.T, strict=True):
        level = np.where(codes < 0, len(values), codes)
        counts = np.bincount(level, rows).astype(np.int64)
        yield name, group_levels(counts, is_ordered=is_ordered(values.type, name), most=most)[level]


def _column_counts(joint: JointDistribution) -> Iterator[tuple[str, sparse.csr_array]]:
    """Name of each column and rows of (X_j, X), X_j in the groups that classes are measured by."""
    x = np.repeat(np.arange(len(joint.p_x)), np.rint(joint.p_x * (joint.n or 0)).astype(np.int64))
    names, groups = zip(*_groups(joint), strict=True)
    return column_counts(names, [own[x] for own in groups], x, len(joint.p_x))
