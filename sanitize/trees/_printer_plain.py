"""What a printer prints from as plain values for JSON and back; what is read is checked as untrusted input."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.columns import check_type, factorize
from sanitize.errors import ColumnError
from sanitize.trees._plain import bad, listed, values_from_plain, values_to_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

VERSION = 1
_MOST_COLUMNS = 1 << 14
_MOST_ROWS = 1 << 53  # counts are drawn by as doubles

Fields = tuple["dict[str, pa.Array]", "NDArray[np.int32]", "NDArray[np.int64]", "NDArray[np.int64]"]


def printer_to_plain(tables: Sequence[Fields]) -> dict[str, Any]:
    """Plain values of the fields of print tables, in their order; whole numbers are packed."""
    return {
        "version": VERSION,
        "tables": [
            {
                "columns": [{"name": name, "values": values_to_plain(level)} for name, level in levels.items()],
                "codes": _packed(codes, "<i4"),
                "starts": _packed(starts, "<i8"),
                "counts": _packed(counts, "<i8"),
            }
            for levels, codes, starts, counts in tables
        ],
    }


def printer_from_plain(state: Any) -> list[Fields]:
    """Fields of print tables from plain values.

    Raises
    ------
    InvalidParameter
        If they are not those of a printer: every symbol must print something, and every column once.
    """
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise bad(f"it has no printer of version {VERSION}")
    tables = [_table(entry) for entry in listed(state, "tables", _MOST_COLUMNS)]
    names = [name for levels, *_ in tables for name in levels]
    if not names or len(set(names)) < len(names) or len({len(starts) for _, _, starts, _ in tables}) != 1:
        raise bad("its tables must print the same symbols, and each column once")
    return tables


def _table(entry: Any) -> Fields:
    if not isinstance(entry, dict):
        raise bad("a table of its printer is not an object")
    columns = listed(entry, "columns", _MOST_COLUMNS)
    levels = dict(_level(column) for column in columns)
    if not levels or len(levels) < len(columns):
        raise bad("a table of its printer must have columns, each once")
    codes, starts, counts = (_unpacked(entry.get(key), kind) for key, kind in _KINDS.items())
    if codes.size != len(counts) * len(levels):
        raise bad("the codes of its printer are not those of its columns")
    codes = codes.reshape(len(counts), len(levels))
    if (codes < 0).any() or (codes > [len(level) for level in levels.values()]).any():
        raise bad("its printer names values that it does not hold")
    if len(starts) < 2 or starts[0] or starts[-1] != len(counts) or (np.diff(starts) <= 0).any():
        raise bad("every symbol of its printer must print something")
    if (counts < 1).any() or counts.sum(dtype=np.float64) > _MOST_ROWS:
        raise bad("its printer must count rows, one or more each")
    return levels, np.asfortranarray(codes, np.int32), starts.astype(np.int64), counts.astype(np.int64)


def _level(column: Any) -> tuple[str, pa.Array]:
    if not isinstance(column, dict) or not isinstance(column.get("name"), str):
        raise bad("a column of its printer has no name")
    name, values = column["name"], values_from_plain(column.get("values"))
    try:
        check_type(values.type, name)
        distinct = values.null_count == 0 and len(factorize(values, name)[0]) == len(values)
    except ColumnError:
        distinct = False
    if not distinct:
        raise bad("the values of its printer must be plain and distinct")
    return name, values


_KINDS = {"codes": "<i4", "starts": "<i8", "counts": "<i8"}


def _packed(numbers: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()


def _unpacked(text: Any, kind: str) -> NDArray[Any]:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), kind)
    except (TypeError, ValueError):
        raise bad("the numbers of its printer cannot be read") from None
