"""Nearest row: how near the release comes to a target, by itself and compared with rows of the same population."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import APART
from sanitize.auditing.attack._scene import Scene


class NearestRow(Attack):
    """How near the nearest released row is."""

    title = "Nearest row"
    question = "Is a released row nearer to people in the data?"

    def score(self, scene: Scene) -> Vector:
        """Return minus the distance of the nearest released row."""
        return -scene.neighbours.nearest.astype(float)


class CalibratedNearestRow(Attack):
    """How near the nearest released row is, compared with the nearest other target."""

    title = "Calibrated nearest row"
    question = "Is a released row nearer than rows of the same population are?"

    def score(self, scene: Scene) -> Vector:
        """Return the log of the ratio of both distances, each a little more than it is."""
        neighbours, little = scene.neighbours, APART / 50
        return np.log(neighbours.population + little) - np.log(neighbours.nearest + little)


class Neighbourhood(Attack):
    """How many released rows are in the neighbourhood of a target, compared with other targets."""

    title = "Neighbourhood"
    question = "Are more released rows around people in the data?"

    def score(self, scene: Scene) -> Vector:
        """Return the log of the ratio of the shares of released rows and of targets among the nearest ten."""
        neighbours, n = scene.neighbours, scene.n[0]
        return np.log(neighbours.within + 1 / n) - np.log(neighbours.expected + 1 / n)
