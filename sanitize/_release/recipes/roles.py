"""Which columns are sensitive, which are public, and which are binned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from sanitize._checks import is_whole
from sanitize._tables.columns import as_arrow
from sanitize._tables.frame import Table
from sanitize.binning import Bins, DateBins, holds_dates, is_numeric, is_of_dates
from sanitize.errors import ColumnError, InvalidParameter

ColumnSpec: TypeAlias = str | Sequence[str] | Sequence[int] | Callable[[Any], Sequence[str]] | None
BinSpec: TypeAlias = Mapping[str, Sequence[Any] | int | str] | int | None


def two_dimensional(native: Any) -> Any:
    """Array of a matrix or nested list; scikit-learn's own errors about its shape would print the rows."""
    if hasattr(native, "toarray"):  # sparse matrices are refused by name elsewhere
        return native
    array = np.asarray(native)
    if array.ndim != 2:
        raise ColumnError(
            f"Expected 2D array, got {array.ndim}D array instead ({type(native).__name__}). Reshape your data to two "
            "dimensions: a row a record, a column a feature; or pass a DataFrame"
        )
    if array.dtype.kind == "c":
        raise ColumnError("Complex data not supported: give real and imaginary parts as two columns")
    return array


def with_sensitive(table: Table, spec: ColumnSpec, apart: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Names of the sensitive columns, and the table that has them."""
    if apart is None:
        return select("sensitive", spec, table), table
    if spec is not None:
        raise ColumnError("give the sensitive columns once: either sensitive= or sensitive_features=, not both")
    if hasattr(apart, "columns") or hasattr(apart, "column_names"):
        frame = Table.of(apart)
        columns = {name: frame[name] for name in frame}
    else:
        name = getattr(apart, "name", None)
        array = apart if name is not None else np.asarray(apart)
        if getattr(array, "ndim", 1) == 2:
            columns = {f"sensitive_features_{j}": array[:, j] for j in range(array.shape[1])}
        else:
            columns = {str(name) if name is not None else "sensitive_features": array}
    for name, column in columns.items():
        if len(column) != table.n_rows:
            raise ColumnError(f"sensitive column {name!r} has {len(column)} rows, X has {table.n_rows}", name)
    clash = sorted(set(columns) & set(table.names))
    if clash:
        raise ColumnError(
            f"column {clash[0]!r} is in X and in sensitive_features; drop it from X or rename it", clash[0]
        )
    return tuple(columns), {**{name: table[name] for name in table}, **columns}


def public_columns(table: Table, spec: ColumnSpec, sensitive: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the public columns; all but the sensitive ones by default."""
    if spec is not None:
        return select("public", spec, table)
    left = tuple(name for name in table.names if name not in sensitive)
    if not left:
        raise ColumnError(f"no public column is left: the table has {len(table)} feature(s) and all are sensitive")
    return left


def bins_of(
    wanted: BinSpec, source: Mapping[str, Any], names: tuple[str, ...], weights: NDArray[np.float64] | None
) -> dict[str, Bins]:
    """Bins of the columns that have them: a number of quantiles, edges, or a calendar unit."""
    if wanted is None:
        return {}
    if isinstance(wanted, (int, np.integer)):
        columns = {name: as_arrow(source[name], name) for name in names}
        return {
            name: Bins.quantiles(name, column, int(wanted), weights)
            for name, column in columns.items()
            if is_numeric(column.type)
        }
    if not isinstance(wanted, Mapping):
        raise InvalidParameter(
            f"bins must be a number of bins, or a dict of columns to edges or numbers, got {type(wanted).__name__}"
        )
    made: dict[str, Bins] = {}
    for key, spec in wanted.items():
        name = _name_of(key, source)
        if name not in names:
            raise ColumnError(f"bins names the column {name!r}, which is neither sensitive nor public", name)
        column = as_arrow(source[name], name)
        if isinstance(spec, str):
            made[name] = DateBins.by_step(name, spec, column)
        elif isinstance(spec, (int, np.integer)):
            quantiles = DateBins.quantiles_of if holds_dates(column.type) else Bins.quantiles
            made[name] = quantiles(name, column, int(spec), weights)
        else:
            made[name] = (DateBins if is_of_dates(spec) else Bins).declared(name, cast("Any", spec), column.type)
    return made


def require_named(table: Table, *specs: object) -> None:
    """Refuse all names together that the table does not have, where there are two or more of them."""
    named: list[object] = []
    for spec in specs:
        named += [spec] if isinstance(spec, str) else spec if isinstance(spec, (list, tuple, Mapping)) else []
    absent = [name for name in dict.fromkeys(named) if isinstance(name, str) and name not in table.names]
    if len(absent) > 1:
        raise ColumnError.absent(absent, table.names)


def _name_of(key: str | int, source: Mapping[str, Any]) -> str:
    """Column name of a name or a position."""
    if is_whole(key):
        names = list(source)
        if not -len(names) <= key < len(names):
            raise ColumnError(f"there is no column number {key}; the table has {len(names)}")
        return names[key]
    name = str(key)
    if name not in source:
        raise ColumnError.absent([name], source)
    return name


def select(role: str, spec: ColumnSpec, table: Table) -> tuple[str, ...]:
    """Names of the columns a parameter asks for: a name, a list of names or positions, or a callable."""
    if spec is None:
        return ()
    asked: Any = spec(table.native) if callable(spec) else spec
    if isinstance(asked, str):
        asked = [asked]
    try:
        keys = list(asked)
    except TypeError:
        raise InvalidParameter(
            f"{role} must be a column name, a list of names or positions as in [0], or a callable, "
            f"got {type(asked).__name__}"
        ) from None
    return tuple(_name_of(key, table) for key in keys)
