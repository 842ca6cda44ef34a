"""Input of an attack: a release, targets of unknown membership, and rows to learn from.

Attacks do not know which targets are in the data. So, whatever an attack computes, both kinds of targets are
exchangeable if the release does not depend on who is in the data, and a difference between them is tested by permuting
the labels.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sanitize._util.checks import Mask, Vector
from sanitize.auditing.attack._compared import RELEASED, Column
from sanitize.auditing.attack._search import Neighbours, Search
from sanitize.tables.keys import distinct_rows

Rows = NDArray[np.integer[Any]]

# Positions in the tables of a scene, which keep the release first. Targets mix people in the data and outside it, so
# that an attack cannot distinguish them by their table.
TARGETS, OTHERS = 1, 2


@dataclass(frozen=True, eq=False)
class Scene:
    """Input of an attack: a release, targets, and people who are not targets.

    Attributes
    ----------
    columns, secrets : tuple of Column
        Public columns that can be compared, and sensitive columns of the release; each has the codes of released rows,
        of targets, and of other people whose rows the release was made from.
    secret : list of ndarray of int
        Number of the sensitive symbol of each row of the three tables.
    n_secrets : int
    is_printed : bool
        True if the release has all sensitive columns; if not, ``secret`` does not describe its rows.
    n : tuple of int
        Number of rows of the release, of targets, and of other people.
    n_each : int
        Number of targets of each kind: people in the data, and as many outside it.
    seed : int
        Seed of random choices.
    half : sequence of str or None
        Columns of one of the two halves of a record that the attack on linkability links.
    earlier : Scene or None
        Scene of an earlier release of the same table with the same targets.
    release_again : callable or None
        Function that takes a mask of targets, releases these and all other people, and returns the scene.
    """

    columns: tuple[Column, ...]
    secrets: tuple[Column, ...]
    secret: list[Rows]
    n_secrets: int
    is_printed: bool
    n: tuple[int, int, int]
    n_each: int
    seed: int = 0
    half: Sequence[str] | None = None
    earlier: Scene | None = None
    release_again: Callable[[Mask], Scene] | None = None

    def rng(self, name: str) -> np.random.Generator:
        """Return a random generator for one attack, independent of other attacks."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    @cached_property
    def search(self) -> Search:
        """Index of the released rows for searches."""
        return Search(
            self.columns, self.secret[RELEASED] if self.is_printed else None, self.n_secrets, self.seed, self.half
        )

    @cached_property
    def neighbours(self) -> Neighbours:
        """Released rows near each target, and distances to other targets, computed once for all attacks."""
        return self.search.find(TARGETS)

    def combinations(self, columns: Sequence[Column], cuts: int | None = None) -> tuple[Rows, Rows, Rows]:
        """Return codes of the targets' combinations of values, and counts of each code in the release and targets.

        Released rows with an interval or a set match no person and do not count. With ``cuts``, numbers are compared in
        that many groups of equally many released rows.
        """
        whole = np.flatnonzero(~np.any([column.is_set for column in columns], axis=0))
        parts, sizes = [], []
        for column in columns:
            sides, size = column.group_levels(cuts) if cuts else (column.codes, column.n_codes)
            parts.append(np.concatenate([sides[RELEASED][whole], sides[TARGETS]]))
            sizes.append(size)
        numbers = distinct_rows(np.column_stack(parts).astype(np.int32), sizes)[1]
        released, targets = numbers[: len(whole)], numbers[len(whole) :]
        n = int(numbers.max()) + 1
        return targets, np.bincount(released, minlength=n), np.bincount(targets, minlength=n)

    def ranking_chance(self, beliefs: Vector) -> Vector | None:
        """Chance that these beliefs rank each target above a random target with another sensitive value.

        Parameters
        ----------
        beliefs : ndarray of float, shape (n_targets, n_secrets)
            Strength of the belief that each target has each secret; only the order within a column counts.

        Returns
        -------
        ndarray of float, shape (n_targets,), or None
            Chance for each target's own secret, with ties counting half; None if all targets have the same secret.
        """
        truth = self.secret[TARGETS]
        right = np.empty(len(truth))
        for s in np.unique(truth):
            has_secret = truth == s
            if has_secret.all():
                return None
            ranks = rankdata(beliefs[:, s])[has_secret] - rankdata(beliefs[has_secret, s])
            right[has_secret] = ranks / (~has_secret).sum()
        return right
