"""Copies: released rows that are somebody's own."""

from __future__ import annotations

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._scene import Scene

# Released rows from which on a row is one of a group rather than a copy of one person's.
_GROUP = 3


class Copies(Attack):
    """Attack that looks for a target's whole row among those released."""

    title = "Copies"
    question = "Is a released row somebody's own?"
    claim = "promised"
    figure = "share"
    people = "The whole row of {} of 100 people in the data stands in the release"
    outsiders = "that of {} of 100 people outside it does"

    def score(self, scene: Scene) -> Vector:
        """Return 1 for targets whose row is released."""
        place, released, _ = scene.combinations((*scene.columns, *scene.secrets))
        return (released > 0)[place].astype(float)


class SingleCopies(Copies):
    """Attack that asks if a row that no other target has is released once or twice; any difference refutes."""

    title = "Copies of one person"
    question = "Is a released row one person's alone?"
    is_strict = True
    people = "{} of 100 people in the data have a row of their own that stands once or twice in the release"
    outsiders = "{} of 100 people outside it do"

    def score(self, scene: Scene) -> Vector:
        """Return 1 for targets whose row is copied."""
        place, released, targets = scene.combinations((*scene.columns, *scene.secrets))
        return ((released > 0) & (released < _GROUP) & (targets == 1))[place].astype(float)
