"""Density of values: how much more often a target's own values are released, each by itself and exactly."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import RELEASED
from sanitize.auditing.attack._scene import TARGETS, Scene


class ValueDensity(Attack):
    """How much more often each of a target's values is released than the population has it.

    Keys, and amounts that one person has, are found here: other densities compare numbers in groups.
    """

    title = "Density of values"
    question = "Are the very values of a person more frequent in the release?"

    def score(self, scene: Scene) -> Vector:
        """Return the sum over columns of the log of the ratio of the counts of the target's value."""
        total = np.zeros(scene.n[TARGETS])
        for column in scene.columns:
            place, released, targets = scene.combinations([column])
            expected = targets * (scene.n[RELEASED] / scene.n[TARGETS])
            total += np.log((released[place] + 0.5) / (expected[place] + 0.5))
        return total
