"""Attacks that need more than one release: an earlier one of the same table, or the program that makes them."""

from __future__ import annotations

import numpy as np

from sanitize._checks import Vector
from sanitize._progress import progress
from sanitize.attack._attack import Attack
from sanitize.attack._family.density import PairDensity, TreeDensity
from sanitize.attack._family.nearest_row import NearestRow, Neighbourhood
from sanitize.attack._scene import Scene

# Releases that are made again, each with half of the targets; attacks whose scores are signals of membership.
_RELEASES = 16
_SIGNALS = (NearestRow, Neighbourhood, PairDensity, TreeDensity)


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


class ShadowReleases(Attack):
    """Whether the signals of a target are those of releases made with it, or of releases made without it."""

    title = "Shadow releases"
    question = "Can who runs the program again tell who is in the data?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the log-likelihood ratio of normal signals with means of each target; None without a program."""
        if scene.release_again is None:
            return None
        rng, n = scene.rng(self.title), scene.n[1]
        k = len(_SIGNALS)
        sums, counts, squares = np.zeros((2, n, k)), np.zeros((2, n, 1)), np.zeros((n, k))
        with progress("attacks: shadow releases", _RELEASES) as step:
            for _ in range(_RELEASES // 2):
                half = np.isin(np.arange(n), rng.choice(n, n // 2, replace=False))
                for is_in in (half, ~half):
                    found = signals(scene.release_again(is_in))
                    sums[is_in.astype(int), np.arange(n)] += found
                    counts[is_in.astype(int), np.arange(n)] += 1
                    squares += found**2
                    step("")
        without, within = sums / counts
        spread = np.maximum(
            (squares - (counts * (sums / counts) ** 2).sum(axis=0)).mean(axis=0) / (_RELEASES - 2), 1e-12
        )
        # The effect is shrunk to that of all targets: a few releases say little of one.
        effect = within - without
        usual = effect.mean(axis=0)
        noise = 4 * spread / _RELEASES
        kept = np.maximum(effect.var(axis=0) - noise, 0) / np.maximum(effect.var(axis=0), 1e-12)
        effect, middle = usual + kept * (effect - usual), (within + without) / 2
        return np.asarray((effect * (signals(scene) - middle) / spread).sum(axis=1))


def signals(scene: Scene) -> Vector:
    """Signals of a target's membership, shape (n_targets, n_signals)."""
    return np.column_stack([attack().score(scene) for attack in _SIGNALS])
