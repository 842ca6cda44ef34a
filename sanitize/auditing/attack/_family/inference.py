"""Inference: secrets of targets, guessed by several adversaries from what is released."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import RELEASED
from sanitize.auditing.attack._family.learned_secrets import learn_ranks
from sanitize.auditing.attack._scene import OTHERS, Scene


class KnownColumns(Attack):
    """The secret of the released rows that are nearest in a few known columns."""

    title = "Secret by a few columns"
    question = "Do a few known columns reveal the secret?"
    claim = "promised"
    figure = "secret"
    people = "Of two people in the data, the one with the secret is picked {} times of 100, where 50 is chance"
    outsiders = "of two people outside it {} times"

    def score(self, scene: Scene) -> Vector | None:
        """Return the chance of ranking each target's secret right.

        Where no secret is released, the record is completed from the nearest row, and the secret guessed as it goes
        with the public columns in rows of the source that are no targets.
        """
        if scene.is_printed:
            return scene.ranking_chance(_shares(scene.neighbours.known_secrets))
        side_columns, row = scene.search.known, scene.neighbours.known_row
        return learn_ranks(scene, OTHERS, [j in side_columns for j in range(len(scene.columns))], row)


class AllColumns(KnownColumns):
    """The secret of the released rows that are nearest in all public columns."""

    title = "Secret by all columns"
    question = "Does everything else about a person reveal the secret?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the chance of ranking each target's secret right; None where no secret is released."""
        return scene.ranking_chance(_shares(scene.neighbours.secrets)) if scene.is_printed else None


class Classifier(KnownColumns):
    """The secret by a mixture of classifiers that learn from the released rows."""

    title = "Secret by a classifier"
    question = "Does a classifier trained on the release know people in the data better?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the chance of ranking each target's secret right; None where no secret is released."""
        return learn_ranks(scene, RELEASED, [True] * len(scene.columns)) if scene.is_printed else None


def _shares(counts: Vector) -> Vector:
    """Share of each secret among the rows that are equally near."""
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
