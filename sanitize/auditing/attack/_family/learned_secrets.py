"""Secrets by classifiers that learn from the rows of one table, the release or people who are no targets."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._compared import APART, RELEASED
from sanitize.auditing.attack._scene import TARGETS, Rows, Scene
from sanitize.release.adversaries import Secrets, predict, threads_for
from sanitize.release.features import Features, indicators

# Rows that an adversary learns from, and cuts of numbers.
_FEWEST, _MOST, _CUTS = 20, 20_000, 16


def learn_ranks(scene: Scene, teacher: int, is_known: list[bool], row: Rows | None = None) -> Vector | None:
    """Right ranks by classifiers that learn from one table; unknown columns of a target are those of a released row."""
    chosen = scene.rng("learned").permutation(scene.n[teacher])[:_MOST]
    secret = np.concatenate([scene.secret[teacher][chosen], scene.secret[TARGETS]])
    if len(chosen) < _FEWEST or len(np.unique(scene.secret[teacher][chosen])) < 2:
        return None
    parts = []
    for column, is_side in zip(scene.columns, is_known, strict=True):
        pieces = [(teacher, chosen), (TARGETS, slice(None)) if is_side or row is None else (RELEASED, row)]
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
    return scene.ranking_chance(beliefs)
