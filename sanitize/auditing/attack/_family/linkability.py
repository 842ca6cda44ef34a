"""Linkability: two halves of a record that lead to the same released row, and a record that is read off one row."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import RELEASED
from sanitize.auditing.attack._scene import TARGETS, Scene


class Linkability(Attack):
    """Attack that asks if both halves of a target's columns have the same nearest released row."""

    title = "Linkability"
    question = "Do two halves of a record lead to one released row?"
    claim = "promised"
    figure = "share"
    people = "For {} of 100 people in the data, each half of their columns leads to the same released row"
    outsiders = "for {} of 100 people outside it"

    def score(self, scene: Scene) -> Vector | None:
        """Return 1 for targets that are linked; None for one column, which has no halves."""
        return scene.neighbours.linked.astype(float) if len(scene.columns) > 1 else None


class RestOfRecord(Attack):
    """Attack on the rest of a record: all other columns are read off the released row nearest in the known ones."""

    title = "The rest of a record"
    question = "Do a few known columns give away all the others?"
    claim = "promised"
    figure = "share"
    people = "For {} of 100 people in the data, the released row nearest to known columns has all the others"
    outsiders = "for {} of 100 people outside it"

    def score(self, scene: Scene) -> Vector | None:
        """Return 1 for targets of whom everything is read off."""
        unknown_columns = [column for j, column in enumerate(scene.columns) if j not in scene.search.known]
        row = scene.neighbours.known_row
        same = [column.codes[RELEASED][row] == column.codes[TARGETS] for column in unknown_columns]
        return np.all(same, axis=0).astype(float) if unknown_columns else None
