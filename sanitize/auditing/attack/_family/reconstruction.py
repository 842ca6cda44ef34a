"""Linear reconstruction: the secret of every row from tables of counts of the release, by least squares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csr_array, hstack

from sanitize._util.checks import Vector
from sanitize.auditing.attack._compared import RELEASED
from sanitize.auditing.attack._family.inference import KnownColumns
from sanitize.auditing.attack._scene import OTHERS, TARGETS, Rows, Scene

# Groups of a column, counts and rows of a table that are used at most, and how much a secret is held to its frequency.
_LEVELS, _MOST_COUNTS, _MOST_ROWS, _RIDGE = 8, 1200, 100_000, 1.0


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
        rows = [scene.rng(self.title).permutation(n)[:_MOST_ROWS] for n in (scene.n[RELEASED], scene.n[OTHERS])]
        counts = _indicators(scene, {RELEASED: rows[0], TARGETS: np.arange(scene.n[TARGETS]), OTHERS: rows[1]})
        released, target_counts = counts[: len(rows[0])], counts[len(rows[0]) :]
        secret = (scene.secret[RELEASED][rows[0]] == 0).astype(float)
        # Targets of both kinds stand for those of one.
        weight = np.where(np.arange(target_counts.shape[0]) < scene.n[TARGETS], scene.n_each / scene.n[TARGETS], 1.0)
        gram = (target_counts.T @ (target_counts * weight[:, None]).tocsr()).toarray()
        wanted = (released.T @ (secret - secret.mean())) * weight.sum() / len(secret)
        belief = target_counts[: scene.n[TARGETS]] @ np.linalg.solve(gram + _RIDGE * np.eye(len(gram)), wanted)
        return scene.ranking_chance(np.column_stack([belief, *[-belief] * (scene.n_secrets - 1)]))


def _indicators(scene: Scene, rows: dict[int, Rows]) -> csr_array:
    """One column for each value, and for each pair of values as far as they fit, of some rows of each table."""
    sides, sizes = zip(*(column.levels(_LEVELS) for column in scene.columns), strict=True)
    codes = [np.concatenate([side[table][selected] for table, selected in rows.items()]) for side in sides]
    pairs = scene.rng("pairs").permutation(list(combinations(range(len(codes)), 2))).tolist()
    parts, n = [], len(codes[0])
    for chosen in [*([j] for j in range(len(codes))), *pairs]:
        shape = [sizes[j] for j in chosen]
        numbers = np.ravel_multi_index([codes[j] for j in chosen], shape)
        parts.append(csr_array((np.ones(n), numbers, np.arange(n + 1)), shape=(n, int(np.prod(shape)))))
        if sum(part.shape[1] for part in parts) > _MOST_COUNTS:
            break
    return csr_array(hstack(parts, format="csr"))
