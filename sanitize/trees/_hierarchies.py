"""Hierarchies of values: declared sets that a column may be split into, read from a mapping or a file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.errors import ColumnError, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.trees._levels import Levels

Hierarchy = Mapping[Any, Sequence[str]]


def read_hierarchy(given: Hierarchy | str | Path, column: str) -> dict[str, tuple[str, ...]]:
    """Ancestors of each value of a column, the nearest first, checked to form a tree.

    Parameters
    ----------
    given : mapping of value to list of ancestors, or path
        A file holds one value a line and its ancestors after it, separated by semicolons (ARX's format).
    column : str
    """
    if isinstance(given, (str, Path)):
        path = Path(given)
        try:
            if path.stat().st_size > 1 << 26:
                raise _bad(column, "its file is larger than 64 MiB")
            with path.open(encoding="utf-8-sig", newline="") as file:
                lines = [line for line in csv.reader(file, delimiter=";", strict=True) if line]
        except (OSError, UnicodeDecodeError, csv.Error):
            raise _bad(column, "its file cannot be read as UTF-8 text with semicolons") from None
    elif isinstance(given, Mapping):
        lines = [[value, *above] for value, above in given.items() if not isinstance(above, str)]
        if len(lines) < len(given):
            raise _bad(column, "the ancestors of a value must be a list of names, the nearest first")
    else:
        raise _bad(column, "give a mapping of value to ancestors, or the path of a CSV file")
    if not lines:
        raise _bad(column, "it has no values")
    found: dict[str, tuple[str, ...]] = {}
    height = len(lines[0])
    for number, line in enumerate(lines, 1):
        if len(line) != height:
            raise _bad(column, f"line {number} has {len(line)} entries, the first one has {height}")
        value, *above = (str(entry) for entry in line)
        if found.setdefault(value, tuple(above)) != tuple(above):
            raise _bad(column, f"line {number} gives a value that an earlier line has with other ancestors")
    for place in range(height - 2):
        parent: dict[str, str] = {}
        for names in found.values():
            node, its_parent = names[place], names[place + 1]
            if parent.setdefault(node, its_parent) != its_parent:
                raise _bad(column, f"{node!r} has two parents, {parent[node]!r} and {its_parent!r}: this is not a tree")
    return found


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
        raise _bad(levels.name, f"{absent} value(s) of the column are not in it")
    views = []
    for height in range(len(next(iter(hierarchy.values())))):
        names = [chains[value][height] for value in values]
        number = {name: i for i, name in enumerate(sorted(set(names)))}
        groups = [*(number[name] for name in names), len(number), len(number) + 1]
        views.append(np.array(groups, np.int64))
    return views


def _bad(column: str, what: str) -> InvalidParameter:
    return InvalidParameter(f"hierarchy of {column!r}: {what}")
