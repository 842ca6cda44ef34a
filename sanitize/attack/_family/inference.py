"""Inference: secrets of targets, guessed by several adversaries from what is released."""

from __future__ import annotations

import numpy as np

from sanitize._checks import Vector
from sanitize.attack._adversaries import Secrets, predict, threads_for
from sanitize.attack._attack import Attack
from sanitize.attack._compared import APART, RELEASED
from sanitize.attack._features import Features, indicators
from sanitize.attack._scene import OTHERS, TARGETS, Rows, Scene

# Rows that an adversary learns from, and cuts of numbers.
_FEWEST, _MOST, _CUTS = 20, 20_000, 16


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
            return scene.ranked_right(_shares(scene.neighbours.known_secrets))
        known, row = scene.search.known, scene.neighbours.known_row
        return _learned(scene, OTHERS, [j in known for j in range(len(scene.columns))], row)


class AllColumns(KnownColumns):
    """The secret of the released rows that are nearest in all public columns."""

    title = "Secret by all columns"
    question = "Does everything else about a person reveal the secret?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the chance of ranking each target's secret right; None where no secret is released."""
        return scene.ranked_right(_shares(scene.neighbours.secrets)) if scene.is_printed else None


class Classifier(KnownColumns):
    """The secret by a mixture of classifiers that learn from the released rows."""

    title = "Secret by a classifier"
    question = "Does a classifier trained on the release know people in the data better?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the chance of ranking each target's secret right; None where no secret is released."""
        return _learned(scene, RELEASED, [True] * len(scene.columns)) if scene.is_printed else None


def _shares(counts: Vector) -> Vector:
    """Share of each secret among the rows that are equally near."""
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _learned(scene: Scene, teacher: int, is_known: list[bool], row: Rows | None = None) -> Vector | None:
    """Right ranks by classifiers that learn from one table; unknown columns of a target are those of a released row."""
    chosen = scene.rng("learned").permutation(scene.n[teacher])[:_MOST]
    secret = np.concatenate([scene.secret[teacher][chosen], scene.secret[TARGETS]])
    if len(chosen) < _FEWEST or len(np.unique(scene.secret[teacher][chosen])) < 2:
        return None
    parts = []
    for column, known in zip(scene.columns, is_known, strict=True):
        pieces = [(teacher, chosen), (TARGETS, slice(None)) if known or row is None else (RELEASED, row)]
        if column.ranks is not None:
            ranks = np.concatenate([column.ranks[side][rows] for side, rows in pieces]) / APART
            parts += [ranks[:, None].astype(np.float32), indicators(np.minimum(ranks * _CUTS, _CUTS).astype(np.int64))]
        else:
            usual = column.usual
            parts.append(indicators(np.concatenate([usual[side][rows] for side, rows in pieces])))
    matrix = np.concatenate(parts, axis=1)
    secrets = Secrets(secret.astype(np.int32), None, scene.n_secrets)
    rows = np.arange(len(matrix))
    with threads_for(None):
        beliefs = predict(
            None,
            Features(matrix, np.zeros(len(matrix), np.int64), ()),
            secrets,
            rows[: len(chosen)],
            rows[len(chosen) :],
        )
    return scene.ranked_right(beliefs)
