"""Hierarchies of values: declared generalisations of the values of a column, read from a mapping or a file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sanitize.errors import InvalidParameter
from sanitize.tables.files.csv_stream import detect_delimiter

Hierarchy = Mapping[Any, Sequence[str]]


def read_hierarchy(hierarchy: Hierarchy | str | Path, column: str) -> dict[str, tuple[str, ...]]:
    """Read the ancestors of each value of a column, nearest first, and check that they form a tree.

    Parameters
    ----------
    hierarchy : mapping of value to list of ancestors, or path
        A file has one line per value, with the value followed by its ancestors, separated by semicolons (ARX's format),
        commas, tabs or vertical bars.
    column : str
    """
    if isinstance(hierarchy, (str, Path)):
        path = Path(hierarchy)
        try:
            if path.stat().st_size > 1 << 26:
                raise bad_hierarchy(column, "its file is larger than 64 MiB")
            text = path.read_text(encoding="utf-8-sig")
            # Values may contain commas, so semicolons are preferred if every line has the same number of them.
            n_marks = {line.count(";") for line in text.splitlines() if line.strip()}
            sign = ";" if len(n_marks) == 1 and n_marks != {0} else detect_delimiter(text)
            rows = csv.reader(text.splitlines(keepends=True), delimiter=sign[0], strict=True)
            lines = [[entry.strip() for entry in line] if sign != ";" else line for line in rows if line]
        except (OSError, UnicodeDecodeError, csv.Error):
            raise bad_hierarchy(column, "its file cannot be read as UTF-8 text with semicolons or commas") from None
    elif isinstance(hierarchy, Mapping):
        lines = [[value, *above] for value, above in hierarchy.items() if not isinstance(above, str)]
        if len(lines) < len(hierarchy):
            raise bad_hierarchy(column, "the ancestors of a value must be a list of names, the nearest first")
    else:
        given = type(hierarchy).__name__
        raise bad_hierarchy(column, f"give a mapping of values to ancestors, or the path of a CSV file, not {given}")
    if not lines:
        raise bad_hierarchy(column, "it has no values")
    ancestors: dict[str, tuple[str, ...]] = {}
    height = len(lines[0])
    for number, line in enumerate(lines, 1):
        if len(line) != height:
            raise bad_hierarchy(column, f"line {number} has {len(line)} entries, but the first line has {height}")
        value, *above = (str(entry) for entry in line)
        if ancestors.setdefault(value, tuple(above)) != tuple(above):
            raise bad_hierarchy(column, f"line {number} repeats a value of an earlier line, with other ancestors")
    for place in range(height - 2):
        parent: dict[str, str] = {}
        for names in ancestors.values():
            node, its_parent = names[place], names[place + 1]
            if parent.setdefault(node, its_parent) != its_parent:
                raise bad_hierarchy(column, f"{node!r} has two parents, {parent[node]!r} and {its_parent!r}")
    return ancestors


def bad_hierarchy(column: str, what: str) -> InvalidParameter:
    """Return the error for an invalid hierarchy."""
    return InvalidParameter(f"hierarchy of {column!r}: {what}")
