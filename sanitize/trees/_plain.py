"""A tree as plain values for JSON and back; what is read is checked as untrusted input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._tables.packed import packed, unpacked
from sanitize.errors import InvalidParameter
from sanitize.trees._levels import Levels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

VERSION = 1
_MOST_NODES = 1 << 18
_MOST_LEVELS = 1 << 10
_PLAIN = {
    str(t): t
    for t in (pa.string(), pa.bool_(), *(getattr(pa, f"{u}int{b}")() for u in ("", "u") for b in (8, 16, 32, 64)))
}
_FLOATS = {"float": pa.float32(), "double": pa.float64()}


Fields = tuple[
    tuple[Levels, ...],
    "NDArray[np.int32]",
    "NDArray[np.int32]",
    "tuple[NDArray[np.bool_], ...]",
    "NDArray[np.int32]",
    "NDArray[np.int64]",
]


def to_plain(fields: Fields) -> dict[str, Any]:
    """Plain values of the fields of a tree, in their order."""
    columns, *nodes = fields
    return {
        "version": VERSION,
        "columns": [
            {
                "name": levels.name,
                "ordered": levels.is_ordered,
                "values": values_to_plain(levels.values),
                **(
                    {}
                    if levels.pooled is None
                    else {"pooled": values_to_plain(levels.pooled), "pool": levels.pool.tolist()}
                ),
            }
            for levels in columns
        ],
        "nodes": [
            {
                "rows": int(n_rows),
                "block": int(block),
                **({"column": int(j), "sides": pair.tolist(), "left": np.flatnonzero(left).tolist()} if j >= 0 else {}),
            }
            for j, pair, left, block, n_rows in zip(*nodes, strict=True)
        ],
    }


def from_plain(state: Any) -> Fields:
    """Fields of a tree from plain values.

    Raises
    ------
    InvalidParameter
        If they are not those of a tree: every node but the root must be a side of one earlier node.
    """
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise bad(f"it is not a tree of version {VERSION}")
    columns = tuple(_levels(entry) for entry in listed(state, "columns", _MOST_LEVELS))
    if not columns or len({levels.name for levels in columns}) < len(columns):
        raise bad("its columns must be named, each once")
    nodes = listed(state, "nodes", _MOST_NODES)
    if not nodes:
        raise bad("it has no nodes")
    column, sides = np.full(len(nodes), -1, np.int32), np.full((len(nodes), 2), -1, np.int32)
    left: list[NDArray[np.bool_]] = [np.zeros(0, bool)] * len(nodes)
    block, n_rows = np.empty(len(nodes), np.int32), np.empty(len(nodes), np.int64)
    following = 1
    for i, node in enumerate(nodes):
        if not isinstance(node, dict):
            raise bad(f"node {i} is not an object")
        n_rows[i] = _whole(node.get("rows"), 0, 1 << 62)
        block[i] = _whole(node.get("block"), -1, len(nodes) - 1)
        if "column" not in node:
            continue
        column[i] = _whole(node["column"], 0, len(columns) - 1)
        if node.get("sides") != [following, following + 1] or following + 1 >= len(nodes):
            raise bad(f"the sides of node {i} must be the next two nodes")
        sides[i] = (following, following + 1)
        following += 2
        left[i] = np.zeros(columns[column[i]].n_levels, bool)
        for level in listed(node, "left", len(left[i])):
            left[i][_whole(level, 0, len(left[i]) - 1)] = True
    if following != len(nodes):
        raise bad("some node is not a side of another")
    blocks = block[column < 0]
    if blocks.min() < 0 or not np.array_equal(np.unique(blocks), np.arange(blocks.max() + 1)):
        raise bad("blocks of cells must be numbered from 0 without gaps")
    return columns, column, sides, tuple(left), block, n_rows


def _levels(entry: Any) -> Levels:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("name"), str)
        or not isinstance(entry.get("ordered"), bool)
    ):
        raise bad("a column must have a name and say whether it is ordered")
    values = values_from_plain(entry.get("values"))
    if len(values) > _MOST_LEVELS or values.null_count:
        raise bad("a column has too many levels, or a missing one")
    made = Levels(entry["name"], is_ordered=entry["ordered"], values=values)
    if "pooled" in entry and not made.is_ordered:
        pooled = values_from_plain(entry["pooled"])
        pool = [_whole(level, 0, len(values) - 1) for level in listed(entry, "pool", _MOST_NODES)]
        if len(pool) != len(pooled) or pooled.type != values.type or pooled.null_count:
            raise bad("the pooled values of a column are not those of its levels")
        made = replace(made, pooled=pooled, pool=np.array(pool, np.intp))
    if not made.begins_well():
        raise bad("the levels of a column must be distinct, and ascending where they are ordered")
    return made


def values_to_plain(values: pa.Array) -> dict[str, Any]:
    """Arrow array without missing values as plain values; see `values_from_plain`."""
    name = str(values.type)
    if name in _PLAIN:
        return {"type": name, "values": values.to_pylist()}
    if name in _FLOATS:
        return {"type": name, "values": [float(value).hex() for value in values.to_pylist()]}
    return {"type": "arrow", "values": packed(values)}


def values_from_plain(entry: Any) -> pa.Array:
    """Arrow array from plain values, checked as untrusted input."""
    try:
        name, values = entry["type"], entry["values"]
        is_list = isinstance(values, list)
        if is_list and name in _PLAIN:
            return pa.array(values, _PLAIN[name])
        if is_list and name in _FLOATS:
            return pa.array([float.fromhex(value) for value in values], _FLOATS[name])
        return unpacked(values)
    except (pa.ArrowException, TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError):
        raise bad("the values of a column cannot be read") from None


def listed(state: Mapping[str, Any], key: str, most: int) -> list[Any]:
    """List under a key of an object, of a bounded length."""
    found = state.get(key)
    if not isinstance(found, list) or len(found) > most:
        raise bad(f"{key!r} must be a list of at most {most} entries")
    return found


def _whole(value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise bad(f"a number must be whole, from {least} to {most}")
    return value


def bad(what: str) -> InvalidParameter:
    """Error for a saved tree that cannot be one."""
    return InvalidParameter(f"saved tree: {what}")
