"""Shadow releases: the likelihood ratio of a release, where the program that makes releases can be run again."""

from __future__ import annotations

import numpy as np

from sanitize._util.checks import Vector
from sanitize._util.progress import progress
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._family.differencing import signals
from sanitize.auditing.attack._scene import Scene

# Releases that are made again, each with half of the targets.
_RELEASES = 16


class ShadowReleases(Attack):
    """Attack that compares a target's signals with those of releases made with it and without it."""

    title = "Shadow releases"
    question = "Can who runs the program again tell who is in the data?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the log-likelihood ratio of normal signals with means of each target; None without a program."""
        if scene.release_again is None:
            return None
        rng, seen = scene.rng(self.title), signals(scene)
        n, k = seen.shape
        sums, counts, squares = np.zeros((2, n, k)), np.zeros((2, n, 1)), np.zeros((n, k))
        with progress("attacks: shadow releases", _RELEASES) as step:
            for _ in range(_RELEASES // 2):
                half = np.isin(np.arange(n), rng.choice(n, n // 2, replace=False))
                for is_in in (half, ~half):
                    signal = signals(scene.release_again(is_in))
                    sums[is_in.astype(int), np.arange(n)] += signal
                    counts[is_in.astype(int), np.arange(n)] += 1
                    squares += signal**2
                    step("")
        without, within = means = sums / counts
        spread = np.maximum((squares - (counts * means**2).sum(axis=0)).mean(axis=0) / (_RELEASES - 2), 1e-12)
        # The effect is shrunk to that of all targets: a few releases say little of one.
        effect = within - without
        usual = effect.mean(axis=0)
        noise = 4 * spread / _RELEASES
        shrinkage = np.maximum(effect.var(axis=0) - noise, 0) / np.maximum(effect.var(axis=0), 1e-12)
        effect, middle = usual + shrinkage * (effect - usual), (within + without) / 2
        return np.asarray((effect * (seen - middle) / spread).sum(axis=1))
