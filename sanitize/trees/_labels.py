"""What a cell says about each column, as intervals and sets that people can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.trees._levels import Levels
    from sanitize.trees._tree import Tree

_MISSING, _OTHER = "missing", "any other"


def cell_labels(tree: Tree) -> tuple[dict[str, str], ...]:
    """For each cell the label of each column that some split above it looked at."""
    return tuple(
        {tree.columns[j].name: label(tree.columns[j], kept) for j, kept in sorted(box.items())} for box in boxes(tree)
    )


def boxes(tree: Tree) -> list[dict[int, NDArray[np.bool_]]]:
    """For each cell the levels that it allows, by column; columns that no split above it looked at are left out."""
    box: list[dict[int, NDArray[np.bool_]]] = [{} for _ in tree.column]
    for node in np.flatnonzero(tree.column >= 0).tolist():  # parents come before their sides
        j, left = int(tree.column[node]), tree.goes_left[node]
        for side, goes in zip(tree.sides[node].tolist(), (left, ~left), strict=True):
            box[side] = {**box[node], j: box[node].get(j, True) & goes}
    return [box[node] for node in tree.cell_nodes.tolist()]


def label(levels: Levels, kept: NDArray[np.bool_]) -> str:
    """An interval such as ``[30, 45)``, or a set such as ``{A, B}``."""
    if not levels.is_ordered:
        names = [str(value) for value in levels.values.to_pylist()] + [_MISSING, _OTHER]
        if kept.sum() > len(kept) / 2 and kept[-1]:
            return "all but {" + ", ".join(n for n, k in zip(names, kept, strict=True) if not k) + "}"
        return "{" + ", ".join(n for n, k in zip(names, kept, strict=True) if k) + "}"
    inside = np.flatnonzero(kept[:-1])
    if not len(inside):
        return _MISSING
    low, high = int(inside[0]), int(inside[-1]) + 1
    values = levels.values
    above = f"{values[low].as_py()} or more" if low else ""
    below = f"less than {values[high].as_py()}" if high < len(values) else ""
    text = f"[{values[low].as_py()}, {values[high].as_py()})" if above and below else above or below or "any value"
    return f"{text} or missing" if kept[-1] else text
