"""Hierarchies of values as groups of the levels of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize._files.hierarchies import bad_hierarchy
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.trees._levels import Levels


def ancestor_views(levels: Levels, hierarchy: dict[str, tuple[str, ...]]) -> list[NDArray[np.int64]]:
    """For each height of a hierarchy the group of each level of a column; missing and other values stay alone."""
    if levels.is_ordered:
        raise ColumnError(
            f"column {levels.name!r} holds numbers or dates, which are split at thresholds; hierarchies are for text",
            levels.name,
        )
    values = [str(value) for value in levels.values.to_pylist()]
    # Rare values may share the level of an ancestor, which is its own group up to its height.
    shared = {
        name: (name,) * height + names[height:] for names in hierarchy.values() for height, name in enumerate(names)
    }
    chains = shared | hierarchy
    absent = sum(value not in chains for value in values)
    if absent:
        raise bad_hierarchy(levels.name, f"{absent} value(s) of the column are not in it")
    views = []
    for height in range(len(next(iter(hierarchy.values())))):
        names = [chains[value][height] for value in values]
        number = {name: i for i, name in enumerate(sorted(set(names)))}
        groups = [*(number[name] for name in names), len(number), len(number) + 1]
        views.append(np.array(groups, np.int64))
    return views
