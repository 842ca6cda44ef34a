"""Rare pairs: pairs of exact values that one person has, and that a release hardly has by chance."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import RELEASED
from sanitize.auditing.attack._scene import TARGETS, Scene

# Columns that are looked at; released rows from which on a pair is not one person's.
_MOST_COLUMNS, _GROUP = 12, 3


class RarePairs(Attack):
    """How unlikely it is by chance that a pair of values is released which no other target has."""

    title = "Rare pairs"
    question = "Does the release have pairs of values that one person alone has?"

    def score(self, scene: Scene) -> Vector:
        """Return the largest surprise of a pair: minus the log of how many rows would have it, were columns apart."""
        columns = scene.columns[:_MOST_COLUMNS]
        frequencies = [
            (released + 0.5)[place] for place, released, _ in (scene.combinations([column]) for column in columns)
        ]
        best = np.zeros(scene.n[TARGETS])
        for i, j in combinations(range(len(columns)), 2):
            place, released, targets = scene.combinations([columns[i], columns[j]])
            is_alone = (released > 0) & (released < _GROUP) & (targets == 1)
            expected = frequencies[i] * frequencies[j] / scene.n[RELEASED]
            best = np.maximum(best, is_alone[place] * np.log1p(1 / expected))
        return best
