"""What a cell says about each column, as intervals and sets that people can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sanitize._tables.columns import python_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.trees._levels import Levels

_MISSING, _OTHER, _ANY = "missing", "any other", "any value"


def boxes(
    column: NDArray[np.int32], sides: NDArray[np.int32], goes_left: Sequence[NDArray[np.bool_]]
) -> list[dict[int, NDArray[np.bool_]]]:
    """For each cell the levels that it allows, by column; columns that no split above it looked at are left out."""
    box: list[dict[int, NDArray[np.bool_]]] = [{} for _ in column]
    for node in np.flatnonzero(column >= 0).tolist():  # parents come before their sides
        j, left = int(column[node]), goes_left[node]
        for side, goes in zip(sides[node].tolist(), (left, ~left), strict=True):
            box[side] = {**box[node], j: box[node].get(j, True) & goes}
    return [box[node] for node in np.flatnonzero(column < 0).tolist()]


def label(levels: Levels, kept: NDArray[np.bool_]) -> str:
    """An interval such as ``[30, 45)``, or a set such as ``{A, B}``."""
    if kept.all():
        return _ANY
    if not levels.is_ordered:
        names = [str(value) for value in levels.values.to_pylist()] + [_MISSING, _OTHER]
        if kept.sum() > len(kept) / 2 and kept[-1]:
            return "all but {" + ", ".join(n for n, k in zip(names, kept, strict=True) if not k) + "}"
        return "{" + ", ".join(n for n, k in zip(names, kept, strict=True) if k) + "}"
    inside = np.flatnonzero(kept[:-1])
    if not len(inside):
        return _MISSING
    low, high = int(inside[0]), int(inside[-1]) + 1
    ends = levels.values.take(pa.array([low, min(high, len(levels.values) - 1)]))
    lowest, beyond = python_values(ends, levels.name)
    above = f"{lowest} or more" if low else ""
    below = f"less than {beyond}" if high < len(levels.values) else ""
    text = f"[{lowest}, {beyond})" if above and below else above or below or _ANY
    return f"{text} or missing" if kept[-1] else text
