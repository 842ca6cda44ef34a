"""Linear reconstruction: the secret of every row from tables of counts of the release, by least squares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csr_array, hstack

from sanitize._checks import Vector
from sanitize.attack._compared import RELEASED
from sanitize.attack._family.inference import KnownColumns
from sanitize.attack._scene import OTHERS, TARGETS, Scene

# Groups of a column, counts that are used at most, and how much a secret is held to its frequency.
_LEVELS, _MOST_COUNTS, _RIDGE = 8, 1200, 1.0


class LinearReconstruction(KnownColumns):
    """The secrets that agree best with the released counts of each value, and pair of values, with the secret."""

    title = "Secret by reconstruction"
    question = "Do released counts, put together, reveal the secret of each row?"

    def score(self, scene: Scene) -> Vector | None:
        """Return the chance of ranking the most frequent secret, or its absence, right; None where none is released.

        The adversary knows the public columns of all people. She looks for secrets s of theirs that make A s, the
        counts they would give, agree with those of the release.
        """
        if not scene.is_printed or scene.n_secrets < 2:
            return None
        counts = self._indicators(scene)
        n_released, n_targets, _ = scene.n
        released, known = counts[:n_released], counts[n_released:]
        secret = (scene.secret[RELEASED] == 0).astype(float)
        share = secret.mean()
        # Targets of both kinds stand for those of one.
        weight = np.ones(known.shape[0])
        weight[:n_targets] = scene.n_each / n_targets
        gram = (known.T @ (known * weight[:, None]).tocsr()).toarray()
        wanted = (released.T @ (secret - share)) * weight.sum() / n_released
        effect = np.linalg.solve(gram + _RIDGE * np.eye(len(gram)), wanted)
        belief = known[:n_targets] @ effect
        return scene.ranked_right(np.column_stack([belief, *[-belief] * (scene.n_secrets - 1)]))

    def _indicators(self, scene: Scene) -> csr_array:
        """One column for each value, and for each pair of values as far as they fit.

        Released rows come first, then targets, then other people.
        """
        sides, sizes = zip(*(column.levels(_LEVELS) for column in scene.columns), strict=True)
        codes = [np.concatenate([side[table] for table in (RELEASED, TARGETS, OTHERS)]) for side in sides]
        pairs = list(combinations(range(len(codes)), 2))
        scene.rng(self.title).shuffle(pairs)
        parts, n_counts = [], 0
        for chosen in [*((j,) for j in range(len(codes))), *pairs]:
            numbers = np.zeros(len(codes[0]), np.int64)
            for j in chosen:
                numbers = numbers * sizes[j] + codes[j]
            size = int(np.prod([sizes[j] for j in chosen]))
            if n_counts + size > _MOST_COUNTS:
                break
            ones = (np.ones(len(numbers)), numbers, np.arange(len(numbers) + 1))
            parts.append(csr_array(ones, shape=(len(numbers), size)))
            n_counts += size
        return csr_array(hstack(parts, format="csr"))
