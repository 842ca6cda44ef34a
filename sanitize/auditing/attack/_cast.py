"""Choice of the targets of an attack: people in the data and as many outside it, mixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sanitize._util.checks import Mask
from sanitize.auditing.attack._compared import PEOPLE, RELEASED, ComparedTables
from sanitize.auditing.attack._scene import Rows, Scene
from sanitize.auditing.attack._search import affordable_targets
from sanitize.release.adversaries import fit_and_release
from sanitize.tables.frame import Table, stack_rows


@dataclass(frozen=True, eq=False)
class Cast:
    """Targets of an attack, people in the data mixed with people outside it.

    Attributes
    ----------
    targets : list of ndarray of int
        Rows of people in the data, and as many rows of outsiders if there are any.
    order : ndarray of int
        Order in which both kinds are mixed.
    non_targets : ndarray of int
        Rows of people in the data who are not targets.
    seed : int
    """

    targets: list[Rows]
    order: Rows
    non_targets: Rows
    seed: int

    @classmethod
    def choose(cls, tables: ComparedTables, seed: int) -> Cast:
        """Choose the targets at random, as many as can be attacked in reasonable time.

        If no secret is released, half of the people are not targets: from their rows the attack learns how the secret
        depends on other columns.
        """
        n_released, n_people, n_outsiders = tables.n
        rng = np.random.default_rng(seed)
        dealt = [rng.permutation(n) for n in (n_people, n_outsiders) if n]
        most = n_people if tables.is_printed else max(1, n_people // 2)
        n = min(affordable_targets(n_released, len(tables.columns)), most, *map(len, dealt[1:]))
        return cls([side[:n] for side in dealt], rng.permutation(n * len(dealt)), dealt[0][n:], seed)

    @property
    def is_person(self) -> Mask:
        """Mask of the mixed targets, True for people in the data."""
        return self.order < len(self.targets[0])

    def scene(self, tables: ComparedTables, **more: Any) -> Scene:
        """Return the scene of an attack on these targets through a release."""
        columns, secrets = (
            tuple(column.select_targets(self.targets, self.order, self.non_targets) for column in group)
            for group in (tables.columns, tables.secrets)
        )
        sides = [side[rows] for side, rows in zip(tables.secret[PEOPLE:], self.targets, strict=False)]
        secret = [tables.secret[RELEASED], np.concatenate(sides)[self.order], tables.secret[PEOPLE][self.non_targets]]
        n, n_each = (tables.n[RELEASED], len(self.order), len(self.non_targets)), len(self.targets[0])
        return Scene(columns, secrets, secret, tables.n_secrets, tables.is_printed, n, n_each, self.seed, **more)

    def releaser(
        self, releaser: Any, source: Any, outsiders: Any, make_scene: Callable[[Any], Scene]
    ) -> Callable[[Mask], Scene]:
        """Return a function that releases the targets of a mask with all non-targets, and returns the scene."""
        tables = [Table.from_native(source), Table.from_native(outsiders)]
        make = releaser if not hasattr(releaser, "fit") else lambda table: fit_and_release(releaser, table)
        places = np.concatenate([np.arange(len(side)) for side in self.targets])[self.order]
        rng = np.random.default_rng(self.seed)

        def release(is_in: Mask) -> Scene:
            chosen = [
                side[places[is_in & (self.is_person == is_first)]]
                for side, is_first in zip(self.targets, (True, False), strict=True)
            ]
            parts = [(tables[0], np.concatenate([self.non_targets, chosen[0]])), (tables[1], chosen[1])]
            return make_scene(make(stack_rows(parts, rng)))

        return release
