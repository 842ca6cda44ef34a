"""Split of each unit into two units: one with the earlier half of its rows, and one with the later half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize.people._profiles import Child, row_owners, sort_rows
from sanitize.tables.columns import look_up

if TYPE_CHECKING:
    from sanitize.people._profiles import OwnedRows
    from sanitize.tables.frame import Table


def halve_units(
    read: Mapping[str, Table], key: str, children: Mapping[str, Child], root: str | None, units: Any
) -> dict[str, pa.Table]:
    """Split each unit i into unit 2i, with the earlier half of its rows, and unit 2i + 1, with the later half.

    Both units get a copy of the unit's row in the root table.

    Rows of second-level tables follow the rows to which they belong.
    """
    tables = {name: table.to_arrow() for name, table in read.items()}
    for name, native in tables.items():
        child = children.get(name, Child())
        if child.parent not in (None, root):
            continue
        owner_key = child.key or key
        owner = row_owners(native, owner_key, units)
        if name == root:
            rows, half = np.repeat(np.arange(len(native)), 2), np.tile([0, 1], len(native))
        else:
            rows = sort_rows(native, owner, child.order)
            first, last = (np.searchsorted(owner[rows], owner[rows], side=side) for side in ("left", "right"))
            half = 2 * (np.arange(len(rows)) - first) >= last - first
        keys = pa.array(2 * owner[rows] + half, mask=owner[rows] < 0)
        tables[name] = native.take(pa.array(rows)).set_column(native.schema.get_field_index(owner_key), owner_key, keys)
    return tables


def side_by_side(whole: OwnedRows, halves: OwnedRows) -> dict[str, Any]:
    """Return the columns of all units: their own columns, and the summaries of each half of their rows."""
    names = [name for name in whole.columns if name not in whole.summary_names]
    columns = {name: whole.columns[name] for name in names}
    for half, words in enumerate(("earlier", "later")):
        rows = look_up(pa.array(2 * np.arange(len(whole.owner)) + half), halves.keys)
        place = pa.array(rows, mask=rows < 0)
        columns |= {f"{words} {name}": halves.columns[name].take(place) for name in halves.columns if name not in names}
    return columns
