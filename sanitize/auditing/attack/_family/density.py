"""Density: how much likelier a model of the release makes a target than a model of the population does."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._family.column_tree import log_density, most_informative_tree, scene_levels
from sanitize.auditing.attack._scene import Scene

# Levels of a column for pairs and for trees of columns.
_PAIR_LEVELS, _LEVELS = 64, (16, 64, 256)


class PairDensity(Attack):
    """How much more often pairs of a target's values occur in the release than in the population."""

    title = "Density of pairs"
    question = "Are pairs of a person's values more frequent in the release?"

    def score(self, scene: Scene) -> Vector:
        """Return the sum over pairs of columns of the log of the ratio of their frequencies."""
        released, targets, sizes = scene_levels(scene, _PAIR_LEVELS)
        total = np.zeros(len(targets))
        for i, j in combinations(range(len(sizes)), 2):
            place, released_place = targets[:, i] * sizes[j] + targets[:, j], released[:, i] * sizes[j] + released[:, j]
            counts, expected = (np.bincount(code, minlength=sizes[i] * sizes[j]) for code in (released_place, place))
            total += np.log(counts[place] / len(released_place) + 1 / len(released_place)) - np.log(
                expected[place] / len(place) + 1 / len(released_place)
            )
        return total


class TreeDensity(Attack):
    """How much likelier a tree of columns, learned from the release, makes a target than one learned from targets."""

    title = "Density by a tree of columns"
    question = "Does a model of the release make people in the data likelier?"

    def score(self, scene: Scene) -> Vector:
        """Return the log of the ratio of both densities, summed over coarse and fine levels.

        Of the targets' own model each target is an equally small part.
        """
        total = np.zeros(scene.n[1])
        for cuts in _LEVELS:
            released, targets, sizes = scene_levels(scene, cuts)
            tree = most_informative_tree(released, sizes)
            total += log_density(released, targets, sizes, tree) - log_density(targets, targets, sizes, tree)
        return total
