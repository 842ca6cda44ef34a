"""The only code that reads or writes DataFrame columns: pandas, polars, pyarrow tables and NumPy arrays."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize.errors import ColumnError

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
        if isinstance(native, nw.DataFrame):
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
            raise ColumnError.absent(name, self.names)
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
                name: _arrow_like(array, self.native[name] if name in self.names and name not in wide else None)
                for name, array in columns.items()
            }
            return pa.table({**arrays, **{name: self.native[name] for name in kept}})
        own, whole = self.native.dtype, np.dtype(np.int64)
        parts = [_array_like(array, whole if name in wide else own) for name, array in columns.items()]
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

    def _native_type(self, name: str, wide: Collection[str] = ()) -> Any:
        """Type of a column in the table's own kind, 64 bits for wide ones; None for a new column or another kind."""
        if name not in self.names or self.kind == "array":
            return None
        if self.kind == "pandas":
            dtype = self.native.dtypes.iloc[self.names.index(name)]
            return dtype if name not in wide else "int64" if isinstance(dtype, np.dtype) else "Int64"
        if self.kind == "polars":
            return None if name in wide else self.native.schema[name]
        return self.native.schema.field(name).type

    def _to_pandas(self, columns: Mapping[str, pa.Array], kept: tuple[str, ...], wide: Collection[str]) -> Any:
        import pandas as pd

        own = self.kind == "pandas"
        label_of = dict(zip(self.names, self.labels, strict=True)) if own else {}
        made = {
            label_of.get(name, name): _pandas_like(array, self._native_type(name, wide) if own else None)
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
            _polars_like(name, array, self._native_type(name, wide) if self.kind == "polars" else None)
            for name, array in columns.items()
        ]
        return pl.DataFrame([*made, *[pl.Series(name, self[name]) for name in kept]])


def _kind(native: Any) -> str:
    if isinstance(native, pa.Table):
        return "pyarrow"
    try:
        implementation = nw.from_native(native, eager_only=True).implementation
    except nw.exceptions.DuplicateError:
        return "pandas"  # the only kind that allows it; `Table.of` names the column
    except TypeError:
        raise ColumnError(
            f"expected a pandas or polars DataFrame, a pyarrow Table or a two-dimensional array, got "
            f"{type(native).__name__}; collect lazy frames first"
        ) from None
    if implementation.is_pandas():
        return "pandas"
    if implementation.is_polars():
        return "polars"
    raise ColumnError(f"frames of {implementation} are not supported; convert to pandas, polars or pyarrow")


def _parts(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Distinct values and indices of a dictionary array; a plain array has no indices."""
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary, array.indices
    return array, None


def _pandas_like(array: pa.Array, dtype: Any) -> Any:
    """Pandas column of a dtype; only the distinct values are converted, rows are taken from them."""
    import pandas as pd

    dictionary, indices = _parts(array)
    levels = pd.Series(pd.arrays.ArrowExtensionArray(dictionary))
    if isinstance(dtype, pd.CategoricalDtype):
        released = set(dictionary.to_pylist())
        categories = [c for c in dtype.categories.tolist() if c in released]
        if len(categories) < len(released):
            categories = dictionary.to_pylist()
        values: Any = pd.Categorical(dictionary.to_pylist(), categories=categories, ordered=dtype.ordered)
    elif dtype is None:
        values = levels.astype(object).array if pa.types.is_string(dictionary.type) else levels.array
    else:
        try:
            values = levels.astype(dtype).array
        except (TypeError, ValueError):
            # A numpy integer column cannot hold the interval labels or missing values; objects can.
            values = levels.astype(object).array
    if indices is None:
        return values
    codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
    fill = bool(indices.null_count)
    if isinstance(dtype, np.dtype):
        return pd.api.extensions.take(values.to_numpy(), codes, allow_fill=fill)
    return values.take(codes, allow_fill=fill)


def _polars_like(name: str, array: pa.Array, dtype: Any) -> Any:
    """Polars column of a dtype; only the distinct values are converted, rows are gathered from them."""
    import polars as pl

    dictionary, indices = _parts(array)
    levels = pl.Series(name, dictionary)
    if isinstance(dtype, pl.Enum):
        # An Enum lists its categories in the type; only released ones may show.
        released = set(levels.to_list())
        dtype = pl.Enum([c for c in dtype.categories.to_list() if c in released])
    if dtype is not None:
        try:
            levels = levels.cast(dtype)
        except pl.exceptions.PolarsError:
            levels = levels.cast(pl.String)  # labels of a numeric column
    return levels.gather(pl.Series(indices)) if indices is not None else levels


def _arrow_like(array: pa.Array, column: pa.ChunkedArray | None) -> pa.Array:
    """Arrow column of the type of the column it replaces."""
    dictionary, indices = _parts(array)
    dtype = None if column is None else column.type
    if column is None or (pa.types.is_string(dictionary.type) and not _holds_text(dtype)):
        return dictionary.take(indices) if indices is not None else dictionary
    if pa.types.is_dictionary(dtype):
        return _arrow_dictionary(array, column)
    # Rows are taken before the cast: views of text cannot be taken from.
    values = dictionary.take(indices) if indices is not None else dictionary
    return values.cast(dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype)


def _arrow_dictionary(array: pa.Array, column: pa.ChunkedArray) -> pa.Array:
    """Dictionary array with a column's index type, and its order of values where that has a meaning."""
    dtype = column.type
    dictionary, indices = _parts(array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode())
    dictionary = dictionary.cast(dtype.value_type)
    if dtype.ordered:
        known = pa.chunked_array([chunk.dictionary for chunk in column.chunks], dtype.value_type).unique()
        place = known.filter(pc.is_in(known, value_set=dictionary))
        dictionary, indices = place, pc.index_in(dictionary, value_set=place).take(indices)
    fits = len(dictionary) <= np.iinfo(dtype.index_type.to_pandas_dtype()).max
    made = pa.DictionaryArray.from_arrays(indices, dictionary, ordered=dtype.ordered)
    return made.cast(dtype) if fits else made


def _holds_text(dtype: pa.DataType) -> bool:
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain))


def _array_like(array: pa.Array, dtype: np.dtype[Any]) -> Any:
    """NumPy column of an array's dtype where its values allow it, wider for longer texts, else objects."""
    dictionary, indices = _parts(array)
    values = dictionary.to_numpy(zero_copy_only=False)
    text = {"U": pa.types.is_string, "S": pa.types.is_binary}.get(dtype.kind)
    if text is not None and text(dictionary.type):
        values = np.asarray(dictionary.to_pylist(), dtype.kind)
        values = values.astype(np.result_type(values, dtype))
    elif any(dtype.kind in kinds and values.dtype.kind in kinds for kinds in ("iufb", "m", "M")):
        values = values.astype(dtype)
    elif values.dtype.kind in "iufb":
        values = values.astype(object)
    else:  # NumPy's own times have no zone, and its time spans become numbers
        values = np.fromiter(dictionary.to_pylist(), object, len(dictionary))
    if indices is None:
        return values
    codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
    if indices.null_count:
        filler: Any = "NaT" if values.dtype.kind in "mM" else None
        filler = np.nan if pa.types.is_floating(dictionary.type) else filler
        values = np.append(values, np.array([filler], object if filler is None else values.dtype))
    return values[codes]
