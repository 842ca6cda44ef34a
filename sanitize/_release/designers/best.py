"""The designer that chooses its mechanism: all that fit are designed, and the one that keeps most is taken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sanitize._release.designers.designer import Designer
from sanitize._release.designers.merging import SubsetMerging, Watchdog
from sanitize._release.designers.random_response import OptimalRandomResponse, SubsetRandomResponse
from sanitize.suggestion import comparison_section, kinds_for, most_useful

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize._release.design import Design, Recipe

_DESIGNERS: dict[str, type[Designer]] = {
    "watchdog": Watchdog,
    "subset merging": SubsetMerging,
    "optimal random response": OptimalRandomResponse,
    "subset random response": SubsetRandomResponse,
}
# Robust responses take longer: with a confidence they fit up to so many public symbols.
_MOST_ROBUST = 60


class BestSanitizer(Designer):
    """The mechanism that keeps most of what is printed, of those that fit the table and the budget."""

    _is_part = False

    def _recipe(self) -> Recipe:
        """The mechanism that fits every law and budget; the others are designed beside it."""
        return self._recipe_of("subset merging")

    def _recipe_of(self, name: str) -> Recipe:
        return _DESIGNERS[name](**self._parameters())._recipe()

    def _chosen(self, recipe: Recipe, made: Design, design_of: Callable[[Recipe], Design]) -> tuple[Recipe, Design]:
        n_x = len(made.joint.public)
        kinds = kinds_for(n_x, recipe.budget)
        if self.confidence is not None and n_x > _MOST_ROBUST:
            kinds = [kind for kind in kinds if not kind.is_response]
        found = []
        for kind in kinds:
            own = recipe if kind.name == recipe.name else self._recipe_of(kind.name)
            found.append((own, made if own is recipe else design_of(own)))
        chosen, best = found[most_useful([one.report.summary["normalized_utility"] for _, one in found])]
        words = f"{chosen.name} was chosen, because it keeps most."
        section = comparison_section([one.report for _, one in found], words)
        return chosen, replace(best, report=best.report.with_section(section))
