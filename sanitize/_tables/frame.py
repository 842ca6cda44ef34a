"""Tables of every kind as named columns, and back; nothing else reads or writes DataFrame columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._tables.columns import as_arrow
from sanitize._tables.native import array_like, arrow_like, pandas_like, polars_like, widest
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Names of types of whole numbers in pandas, polars, pyarrow and NumPy.
_WHOLE = re.compile(r"(u?int(?:8|16|32|64))(?:\[pyarrow\])?")


@dataclass(frozen=True, eq=False)
class Table(Mapping[str, Any]):
    """A user's table as named columns, and the way back to its own kind.

    Attributes
    ----------
    native : object
        What the user passed.
    kind : str
        pandas, polars, pyarrow, or array.
    names : tuple of str
        Column names; ``x0, x1, ...`` for arrays.
    labels : tuple
        The names as the user's table has them (pandas allows any object).
    """

    native: Any
    kind: str
    names: tuple[str, ...]
    labels: tuple[Any, ...]

    @classmethod
    def of(cls, native: Any) -> Table:
        """Read a DataFrame, a pyarrow Table or a two-dimensional array."""
        if isinstance(native, Table):
            return native
        if isinstance(native, np.ndarray):
            if native.ndim != 2:
                raise ColumnError(f"expected a table, got an array of {native.ndim} dimension(s)")
            names = tuple(f"x{j}" for j in range(native.shape[1]))
            return cls(native, "array", names, names)
        if hasattr(native, "to_native"):  # a frame of narwhals, around one of these kinds
            native = native.to_native()
        kind = _kind(native)
        labels = tuple(native.column_names if kind == "pyarrow" else native.columns)
        names = tuple(str(label) for label in labels)
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ColumnError(f"the table has more than one column {twice!r}; rename or drop one", twice)
        return cls(native, kind, names, labels)

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise ColumnError.absent([name], self.names)
        j = self.names.index(name)
        if self.kind == "array":
            column = self.native[:, j]
            # An object array of floats is numeric, as scikit-learn has it.
            return column.tolist() if column.dtype == object else column
        if self.kind == "pandas":
            return self.native.iloc[:, j]
        return self.native[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Column names."""
        return self.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    def take(self, rows: NDArray[np.integer[Any]]) -> Table:
        """Some of the rows, as Arrow holds them."""
        return Table.of(pa.table({name: as_arrow(self[name], name) for name in self.names}).take(pa.array(rows)))

    def rebuild(
        self,
        columns: Mapping[str, pa.Array],
        kept: tuple[str, ...] = (),
        container: str | None = None,
        wide: Collection[str] = (),
    ) -> Any:
        """Table with these columns, then the kept ones as they were, rows in the same order.

        Parameters
        ----------
        columns : mapping of name to Arrow array
            Dictionary arrays take the dtype of the column they replace where its values allow it.
        kept, wide : names of columns
            Wide ones print whole numbers that the dtype of the column could not hold: they get 64 bits.
        container : {"pandas", "polars"}, optional
            Kind of the result; the table's own kind by default.
        """
        kind = container or self.kind
        if kind == "pandas":
            return self._to_pandas(columns, kept, wide)
        if kind == "polars":
            return self._to_polars(columns, kept, wide)
        if kind == "pyarrow":
            arrays = {
                name: arrow_like(array, self.native[name] if name in self.names and name not in wide else None)
                for name, array in columns.items()
            }
            return pa.table({**arrays, **{name: self.native[name] for name in kept}})
        own = self.native.dtype
        parts = [array_like(array, widest(array) if name in wide else own) for name, array in columns.items()]
        parts += [self.native[:, self.names.index(name)] for name in kept]
        kinds = {own.kind, *(part.dtype.kind for part in parts)}
        # Labels may be longer than the texts of an array; other kinds side by side are objects.
        dtype = np.result_type(*parts) if len(kinds) == 1 or kinds <= set("iuf") else object
        return np.stack([part.astype(dtype) for part in parts], axis=1)

    @property
    def whole_types(self) -> dict[str, np.dtype[Any]]:
        """NumPy's type of each column of whole numbers."""
        types = {name: self.native.dtype if self.kind == "array" else self._native_type(name) for name in self.names}
        found = {n: _WHOLE.fullmatch(str(getattr(dtype, "value_type", dtype)).lower()) for n, dtype in types.items()}
        return {name: np.dtype(match[1]) for name, match in found.items() if match}

    def _native_type(self, name: str, wide_as: np.dtype[Any] | None = None) -> Any:
        """Type of a column in the table's own kind, in pandas perhaps a wider one; None for what is new or an array."""
        if name not in self.names or self.kind == "array":
            return None
        if self.kind == "pandas":
            dtype = self.native.dtypes.iloc[self.names.index(name)]
            if wide_as is None:
                return dtype
            return wide_as if isinstance(dtype, np.dtype) else {"int64": "Int64", "uint64": "UInt64"}[wide_as.name]
        return self.native.schema[name] if self.kind == "polars" else self.native.schema.field(name).type

    def _to_pandas(self, columns: Mapping[str, pa.Array], kept: tuple[str, ...], wide: Collection[str]) -> Any:
        import pandas as pd

        own = self.kind == "pandas"
        label_of = dict(zip(self.names, self.labels, strict=True)) if own else {}
        made = {
            label_of.get(name, name): pandas_like(
                array, self._native_type(name, widest(array) if name in wide else None) if own else None
            )
            for name, array in columns.items()
        }
        frame = pd.DataFrame(made, index=self.native.index if own else None)
        # pandas reads a column of text objects as str unless told otherwise.
        objects = {label_of[name]: object for name in columns if own and self._native_type(name) == np.dtype(object)}
        if objects:
            frame = frame.astype(objects)
        for name in kept:
            frame[label_of.get(name, name)] = self[name] if own else np.asarray(self[name])
        return frame

    def _to_polars(self, columns: Mapping[str, pa.Array], kept: tuple[str, ...], wide: Collection[str]) -> Any:
        import polars as pl

        made = [
            polars_like(name, array, self._native_type(name) if self.kind == "polars" and name not in wide else None)
            for name, array in columns.items()
        ]
        return pl.DataFrame([*made, *[pl.Series(name, self[name]) for name in kept]])


def _kind(native: Any) -> str:
    """Library of a table; a table of pandas or polars is only there where that library was imported."""
    if isinstance(native, pa.Table):
        return "pyarrow"
    for library in ("pandas", "polars"):
        if isinstance(native, getattr(sys.modules.get(library), "DataFrame", ())):
            return library
    raise ColumnError(
        f"expected a pandas or polars DataFrame, a pyarrow Table or a two-dimensional array, got "
        f"{type(native).__name__}; collect lazy frames first, and convert others"
    )
