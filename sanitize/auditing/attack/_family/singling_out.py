"""Singling out: descriptions learned from the release that fit one released row, and exactly one target."""

from __future__ import annotations

from math import comb

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._scene import Scene

# Columns of a description; choices of columns that are tried; rows that are looked at for all of them; groups of a
# number.
_DESCRIBED, _MOST_CHOICES, _FEWEST_CHOICES, _MOST_ROWS, _CUTS = 4, 40, 4, 4_000_000, 64


class SinglingOut(Attack):
    """How many descriptions by a few columns, which fit one released row alone, fit a target and no other one."""

    title = "Singling out"
    question = "Does a description of a released row fit exactly one person?"
    figure = "share"
    people = "Of 100 descriptions that fit one released row, {} fit exactly one person, who is in the data"
    outsiders = "{} fit exactly one person, who is outside it"

    def score(self, scene: Scene) -> Vector:
        """Return the share of the descriptions that single a target out, in targets of a side.

        Every other choice of columns describes numbers by exact values, the others by one of 64 groups.
        """
        fits, n_descriptions = np.zeros(scene.n[1]), 0
        for i, choice in enumerate(self._choices(scene)):
            columns = [scene.columns[j] for j in choice]
            place, released, targets = scene.combinations(columns, cuts=_CUTS if i % 2 else None)
            n_descriptions += int((released == 1).sum())
            fits += ((released == 1) & (targets == 1))[place]
        return fits * scene.n_each / max(n_descriptions, 1)

    def _choices(self, scene: Scene) -> list[list[int]]:
        """Choices of columns: those that tell most rows apart, and random ones."""
        n, size = len(scene.columns), min(_DESCRIBED, len(scene.columns))
        most = max(_FEWEST_CHOICES, min(_MOST_CHOICES, _MOST_ROWS // sum(scene.n[:2])))
        rng, telling = scene.rng(self.title), scene.search.known[:size]
        drawn = [rng.choice(n, size, replace=False).tolist() for _ in range(min(most, 2 * comb(n, size)) - 1)]
        return [telling, *drawn]
