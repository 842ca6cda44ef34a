"""The recipe that chooses its mechanism: all that fit are designed, and the one that keeps most is taken."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._release.recipes.recipe import Recipe, TupleParameters, recipe_type
from sanitize.suggestion import comparison_section, kinds_for, most_useful

if TYPE_CHECKING:
    from sanitize._release.design import Specification
    from sanitize._release.first_pass import Counted
    from sanitize._release.layout import Layout
    from sanitize._release.recipes.recipe import Fitted
    from sanitize._sampling.noise import RandomWords


class BestSanitizerRecipe(TupleParameters, Recipe):
    """The mechanism that keeps most of what is printed, of those that fit the table and the budget."""

    is_part = False

    def specification(self) -> Specification:
        """Of the mechanism that fits every law and budget."""
        return self._recipe("subset merging").specification()

    def _recipe(self, name: str) -> Recipe:
        made: Any = recipe_type(name.title().replace(" ", ""))
        found: Recipe = made(**{one.name: getattr(self, one.name) for one in fields(self)})
        return found

    def design(
        self,
        spec: Specification,
        layout: Layout,
        counted: Counted,
        words: RandomWords | None = None,
        *,
        is_priced: bool = True,
    ) -> Fitted:
        """Design all that fit, and take the one that keeps most."""
        if spec.given is not None:
            return super().design(spec, layout, counted, words, is_priced=is_priced)
        n_x = int(np.count_nonzero(counted.table.counts.sum(axis=0)))
        kinds = kinds_for(n_x, spec.budget)
        if self.confidence is not None and n_x > 60:  # robust responses take longer
            kinds = [kind for kind in kinds if not kind.is_response]
        unordered = replace(counted, order=None)
        recipes = [self._recipe(kind.name) for kind in kinds]
        found = [one.design(one.specification(), layout, unordered, is_priced=False) for one in recipes]
        reports = [one.report for one in found]
        best = found[most_useful([report.summary["normalized_utility"] for report in reports])]
        told = f"{best.report.facts.mechanism} was chosen, because it keeps most."
        made = best.with_report(best.report.with_section(comparison_section(reports, told)))
        compared = {report.facts.mechanism: report for report in reports}
        return self._judged(replace(made, beside={"compared_": compared}), counted, is_priced=is_priced)
