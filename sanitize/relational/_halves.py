"""Units in two: the earlier half of the rows of each, and the later one, as units of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._tables.columns import column_of, factorize, look_up
from sanitize.trees import as_ordered

if TYPE_CHECKING:
    from sanitize._tables.frame import Table
    from sanitize.relational._profiles import Child, Rows


def halved(
    read: Mapping[str, Table], key: str, children: Mapping[str, Child], root: str | None, units: Any
) -> dict[str, pa.Table]:
    """Tables in which unit i is two: 2i has the earlier half of its rows, 2i + 1 the later; both have its own columns.

    Tables of the second level follow the rows that they belong to.
    """
    made = {name: table.to_arrow() for name, table in read.items()}
    for name, native in made.items():
        child = children.get(name)
        if child is None:
            rows, half = np.repeat(np.arange(len(native)), 2), np.tile([0, 1], len(native))
        elif child.parent in (None, root):
            order = None if child.order is None else as_ordered(column_of(native, child.order), child.order)[0]
            rows, half = _in_halves(_units_of(native, child.key or key, units), order)
        else:
            continue
        name_of = key if child is None else child.key or key
        native = native.take(pa.array(rows))
        unit = _units_of(native, name_of, units)
        keys = pa.array(2 * unit + half, mask=unit < 0)
        made[name] = native.set_column(native.schema.get_field_index(name_of), name_of, keys)
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


def _units_of(table: pa.Table, name: str, units: Any) -> Any:
    """Number of the unit of each row; -1 of nobody."""
    values, codes = factorize(column_of(table, name), name)
    return np.append(look_up(values, units), -1)[codes].astype(np.int64)


def _in_halves(unit: Any, order: Any) -> tuple[Any, Any]:
    """Rows by unit and order, and whether each is of the later half."""
    rows = np.lexsort((np.arange(len(unit)) if order is None else order, unit))
    first, last = (np.searchsorted(unit[rows], unit[rows], side=side) for side in ("left", "right"))
    return rows, 2 * (np.arange(len(rows)) - first) >= last - first
