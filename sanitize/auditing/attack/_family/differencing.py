"""Difference of two releases of the same table: who came in between."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._family.density import PairDensity, TreeDensity
from sanitize.auditing.attack._family.nearest_row import NearestRow, Neighbourhood
from sanitize.auditing.attack._family.value_density import ValueDensity
from sanitize.auditing.attack._scene import Scene

# Attacks whose scores are signals of membership.
_SIGNALS = (NearestRow, Neighbourhood, ValueDensity, PairDensity, TreeDensity)


class Differencing(Attack):
    """How much nearer the release comes to a target than an earlier release of the same table."""

    title = "Difference of two releases"
    question = "Does the second release show who came in between?"

    def score(self, scene: Scene) -> Vector | None:
        """Return by how much the signals of the release exceed those of the earlier one; None where there is none."""
        if scene.earlier is None:
            return None
        more = signals(scene) - signals(scene.earlier)
        return np.asarray((more / np.maximum(more.std(axis=0), 1e-12)).sum(axis=1))


def signals(scene: Scene) -> Vector:
    """Signals of a target's membership, shape (n_targets, n_signals)."""
    return np.column_stack([attack().score(scene) for attack in _SIGNALS])
