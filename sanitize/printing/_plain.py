"""What printers print from as plain values for JSON and back; what is read is checked as untrusted input."""

from __future__ import annotations

import base64
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.columns import check_type, factorize
from sanitize.errors import ColumnError
from sanitize.printing._edges import WHOLE
from sanitize.printing._evidence import LARGEST_WEIGHT, Evidence
from sanitize.printing._model import ModelNode, RowModel
from sanitize.printing._print_table import PrintTable
from sanitize.printing._values import BETWEEN, PrintedColumn
from sanitize.trees import bad, listed, values_from_plain, values_to_plain

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

VERSION = 1
_MOST = 1 << 14  # columns
_MOST_ROWS = 1 << 53  # counts are drawn by as doubles

Printer = RowModel | PrintTable


def printer_to_plain(printer: Printer) -> dict[str, Any]:
    """Plain values of a printer."""
    if isinstance(printer, PrintTable):
        return {
            "version": VERSION,
            "kind": "table",
            "columns": [{"name": name, "values": values_to_plain(level)} for name, level in printer.values.items()],
            "codes": _packed(printer.codes, "<i4"),
            "starts": _packed(printer.starts, "<i8"),
            "counts": _packed(printer.counts, "<i8"),
        }
    return {
        "version": VERSION,
        "kind": "model",
        "names": list(printer.names),
        "parameters": printer.n_parameters,
        "rows": printer.n_rows,
        "nodes": [
            {
                "parent": node.parent,
                "chances": _packed(node.chances, "<i4"),
                "columns": [_column_to_plain(column) for column in node.columns],
                **{name: _packed(getattr(node.evidence, name), kind) for name, kind in _EVIDENCE.items()},
            }
            for node in printer.nodes
        ],
        "forbidden": [[one, another, _packed(never, "|b1")] for one, another, never in printer.forbidden],
    }


def printer_from_plain(state: Any) -> Printer:
    """Printer from plain values.

    Raises
    ------
    InvalidParameter
        If they are not those of a printer.
    """
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise bad(f"it has no printer of version {VERSION}")
    if state.get("kind") == "table":
        return _table(state)
    if state.get("kind") == "model":
        return _model(state)
    raise bad("its printer is of no known kind")


def _table(state: dict[str, Any]) -> PrintTable:
    columns = [_values(entry) for entry in listed(state, "columns", _MOST)]
    values = dict(columns)
    if not values or len(values) < len(columns):
        raise bad("its printer must have columns, each once")
    codes = _unpacked(state.get("codes"), "<i4", 2)
    starts, counts = (_unpacked(state.get(key), "<i8", 1) for key in ("starts", "counts"))
    _require(codes.shape == (len(counts), len(values)))
    _require((codes >= -1).all() and (codes < [len(level) for level in values.values()]).all())
    _check_starts(starts, len(counts))
    _require((counts >= 1).all() and counts.sum(dtype=np.float64) <= _MOST_ROWS)
    return PrintTable(values, np.asfortranarray(codes, np.int32), starts, counts)


def _model(state: dict[str, Any]) -> RowModel:
    nodes: list[ModelNode] = []
    for entry in listed(state, "nodes", _MOST):
        _require(isinstance(entry, dict))
        parent = _whole(entry.get("parent"), 0 if nodes else -1, len(nodes) - 1)
        chances = _unpacked(entry.get("chances"), "<i4", 2).astype(np.int64)
        n_parent, n_states = chances.shape
        _require(n_states > 0 and n_parent == (nodes[parent].chances.shape[1] if nodes else 1))
        _require((chances >= 0).all() and (chances.any(axis=1)).all())
        _require((chances.sum(axis=1) <= WHOLE + n_states).all())
        columns = tuple(_column(column, n_states) for column in listed(entry, "columns", _MOST))
        nodes.append(ModelNode(columns, parent, chances, _evidence(entry, n_states)))
    names = tuple(listed(state, "names", _MOST))
    _require(bool(nodes) and len({len(node.evidence.box) for node in nodes}) == 1)
    _require(sorted(column.name for node in nodes for column in node.columns) == sorted(map(str, names)))
    _require(len(set(names)) == len(names))
    forbidden = []
    for entry in listed(state, "forbidden", _MOST**2):
        _require(isinstance(entry, list) and len(entry) == 3)
        one, another = (_whole(place, 0, len(nodes) - 1) for place in entry[:2])
        never = _unpacked(entry[2], "|b1", 2)
        _require(never.shape == (nodes[one].chances.shape[1], nodes[another].chances.shape[1]))
        forbidden.append((one, another, never))
    counted = (_whole(state.get(key), 0, _MOST_ROWS) for key in ("parameters", "rows"))
    return RowModel(names, tuple(nodes), tuple(forbidden), *counted)


_EVIDENCE = {"box": "<i4", "boxes": "|b1", "block": "<i4", "weights": "<i4", "group": "<i4"}


def _evidence(entry: dict[str, Any], n_states: int) -> Evidence:
    dimensions = {"boxes": 2, "weights": 2}
    found = Evidence(*(_unpacked(entry.get(name), kind, dimensions.get(name, 1)) for name, kind in _EVIDENCE.items()))
    _require(len(found.box) > 0 and found.box.shape == found.block.shape and found.group.shape == (n_states,))
    _require(found.boxes.shape[1] == n_states and bool(found.boxes.any(axis=1).all()))
    for numbers, n in ((found.box, len(found.boxes)), (found.block, len(found.weights))):
        _require((numbers >= 0).all() and (numbers < n).all())
    _require((found.group >= 0).all() and (found.group < found.weights.shape[1]).all())
    _require((found.weights >= 1).all() and (found.weights <= LARGEST_WEIGHT).all())
    return found


_COLUMN = {"first": "<i8", "places": "<i4", "weights": "<i8"}


def _column_to_plain(column: PrintedColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "values": values_to_plain(column.values),
        **{name: _packed(getattr(column, name), kind) for name, kind in _COLUMN.items()},
        "ends": _packed(column.ends, column.ends.dtype.newbyteorder("<").str),
        "unit": None if column.unit is None else str(column.unit),
    }


def _column(entry: Any, n_states: int) -> PrintedColumn:
    name, values = _values(entry)
    first, places, weights = (_unpacked(entry.get(key), kind, 1) for key, kind in _COLUMN.items())
    _require(len(first) == n_states + 1 and len(places) == len(weights))
    _check_starts(first, len(places))
    _require((places >= BETWEEN).all() and (places < len(values)).all())
    _require(bool((weights >= 0).all()) and float(weights.sum(dtype=np.float64)) < _MOST_ROWS)
    _require((np.add.reduceat(weights, first[:-1]) > 0).all())
    unit = None
    kinds: tuple[str, ...] = ("<f8",)
    if entry.get("unit") is not None:
        kinds = ("<i8", "<u8")
        try:
            unit = Fraction(str(entry["unit"]))
        except (ValueError, ZeroDivisionError):
            raise bad("the unit of a column cannot be read") from None
        _require(Fraction(1, 10**18) <= unit <= 10**19)
    ends = _unpacked(entry.get("ends"), kinds, 2)
    _require(ends.shape == (n_states, 2) and bool((ends[:, 0] <= ends[:, 1]).all()))
    return PrintedColumn(name, values, first, places, weights, ends, unit)


def _values(entry: Any) -> tuple[str, pa.Array]:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise bad("a column of its printer has no name")
    name, values = entry["name"], values_from_plain(entry.get("values"))
    try:
        check_type(values.type, name)
        distinct = values.null_count == 0 and len(factorize(values, name)[0]) == len(values)
    except ColumnError:
        distinct = False
    if not distinct:
        raise bad("the values of its printer must be plain and distinct")
    return name, values


def _check_starts(starts: NDArray[np.int64], n: int) -> None:
    _require(len(starts) > 1 and starts[0] == 0 and starts[-1] == n and bool((np.diff(starts) > 0).all()))


def _require(holds: Any) -> None:
    if not holds:
        raise bad("the numbers of its printer do not fit each other")


def _whole(value: Any, least: int, most: int) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and least <= value <= most)
    return int(value)


def _packed(numbers: NDArray[Any], kind: str) -> dict[str, Any]:
    content = np.packbits(numbers) if kind == "|b1" else np.ascontiguousarray(numbers, kind)
    return {"type": kind, "shape": list(numbers.shape), "bytes": base64.b64encode(content.tobytes()).decode()}


def _unpacked(entry: Any, kinds: str | tuple[str, ...], dimensions: int) -> NDArray[Any]:
    try:
        kind, shape, content = entry["type"], tuple(entry["shape"]), base64.b64decode(entry["bytes"], validate=True)
        fits = kind in kinds and len(shape) == dimensions and all(type(n) is int and n >= 0 for n in shape)
        if fits and kind != "|b1":
            return np.frombuffer(content, kind).reshape(shape).astype(np.dtype(kind).newbyteorder("="))
        if fits and len(content) == -(-(size := math.prod(shape)) // 8):
            return np.unpackbits(np.frombuffer(content, np.uint8), count=size).astype(bool).reshape(shape)
    except (TypeError, ValueError, KeyError):
        pass
    raise bad("the numbers of its printer cannot be read")
