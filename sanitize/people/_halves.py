"""Units in two: the earlier half of the rows of each, and the later one, as units of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize.people._profiles import Child, in_order, owners_of
from sanitize.tables.columns import look_up

if TYPE_CHECKING:
    from sanitize.people._profiles import Rows
    from sanitize.tables.frame import Table


def halved(
    read: Mapping[str, Table], key: str, children: Mapping[str, Child], root: str | None, units: Any
) -> dict[str, pa.Table]:
    """Tables in which unit i is two: 2i has the earlier half of its rows, 2i + 1 the later; both have its own columns.

    Tables of the second level follow the rows that they belong to.
    """
    made = {name: table.to_arrow() for name, table in read.items()}
    for name, native in made.items():
        child = children.get(name, Child())
        if child.parent not in (None, root):
            continue
        own = child.key or key
        owner = owners_of(native, own, units)
        if name == root:
            rows, half = np.repeat(np.arange(len(native)), 2), np.tile([0, 1], len(native))
        else:
            rows = in_order(native, owner, child.order)
            first, last = (np.searchsorted(owner[rows], owner[rows], side=side) for side in ("left", "right"))
            half = 2 * (np.arange(len(rows)) - first) >= last - first
        keys = pa.array(2 * owner[rows] + half, mask=owner[rows] < 0)
        made[name] = native.take(pa.array(rows)).set_column(native.schema.get_field_index(own), own, keys)
    return made


def side_by_side(whole: Rows, halves: Rows) -> dict[str, Any]:
    """Columns of units: their own, and what each half of their rows amounts to."""
    own = [name for name in whole.columns if name not in whole.made]
    made = {name: whole.columns[name] for name in own}
    for half, words in enumerate(("earlier", "later")):
        rows = look_up(pa.array(2 * np.arange(len(whole.owner)) + half), halves.keys)
        place = pa.array(rows, mask=rows < 0)
        made |= {f"{words} {name}": halves.columns[name].take(place) for name in halves.columns if name not in own}
    return made
