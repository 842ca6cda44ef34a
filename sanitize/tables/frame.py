"""Conversion of tables of every kind to named columns and back; no other code reads or writes DataFrame columns.

A released column has the type of the column that it replaces.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize.errors import ColumnError
from sanitize.tables.columns import as_arrow, cast_values, is_view
from sanitize.tables.own_types import pandas_restorer


@dataclass(frozen=True, eq=False)
class Table(Mapping[str, Any]):
    """User's table as named columns, which can be converted back to a table of the user's kind.

    Attributes
    ----------
    native : object
        Table that the user passed.
    kind : str
        Kind of the table: pandas, polars, pyarrow, or array.
    names : tuple of str
        Column names; ``x0, x1, ...`` for arrays.
    labels : tuple
        Column labels of the user's table (pandas allows any object).
    """

    native: Any
    kind: str
    names: tuple[str, ...]
    labels: tuple[Any, ...]

    @classmethod
    def from_native(cls, native: Any) -> Table:
        """Wrap a DataFrame, a pyarrow Table, a two-dimensional array, or a stream, which is read once."""
        if isinstance(native, Table):
            return native
        if isinstance(native, np.ndarray):
            if native.ndim != 2:
                raise ColumnError(f"expected a table or an array of 2 dimensions, got {native.ndim} dimension(s)")
            names = tuple(f"x{j}" for j in range(native.shape[1]))
            return cls(native, "array", names, names)
        if hasattr(native, "to_native"):  # a narwhals frame, which wraps one of these kinds
            native = native.to_native()
        if is_stream(native):
            native = _read_stream(native)
        kind = _kind(native)
        if kind is None:
            raise ColumnError(
                "expected a pandas or polars DataFrame, a pyarrow Table, a two-dimensional array, or a stream of "
                f"Arrow record batches, got {type(native).__name__}"
            )
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
            # An object array of floats is numeric, as in scikit-learn.
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
        """Column names of the table."""
        return self.names

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.native)

    def take(self, rows: NDArray[np.integer[Any]]) -> Table:
        """Return some of the rows as Arrow columns."""
        return Table.from_native(self.to_arrow().take(pa.array(rows)))

    def to_arrow(self) -> pa.Table:
        """Return all columns as Arrow columns."""
        return pa.table({name: as_arrow(self[name], name) for name in self.names})

    def rebuild(
        self,
        columns: Mapping[str, pa.Array],
        extra: tuple[str, ...] = (),
        container: str | None = None,
        wide: Collection[str] = (),
    ) -> Any:
        """Make a table of the user's kind from released columns, followed by unchanged kept columns.

        Parameters
        ----------
        columns : mapping of name to Arrow array
            Released columns; a dictionary array gets the dtype of the column that it replaces if the values allow it.
        extra, wide : names of columns
            Kept columns, and released columns whose whole numbers need 64 bits in place of the column's own dtype.
        container : {"pandas", "polars"}, optional
            Kind of the result; the table's own kind by default.
        """
        kind = container or self.kind
        if kind == "pandas":
            return self._to_pandas(columns, extra, wide)
        if kind == "polars":
            import polars as pl

            own = self.names if self.kind == "polars" else ()
            types = {name: self._native_type(name) for name in own if name not in wide}
            series = [polars_like(name, array, types.get(name)) for name, array in columns.items()]
            return pl.DataFrame([*series, *[pl.Series(name, self[name]) for name in extra]])
        if kind == "pyarrow":
            replaced = {name: self.native[name] for name in self.names if name not in wide}
            arrays = {name: arrow_like(array, replaced.get(name)) for name, array in columns.items()}
            return pa.table({**arrays, **{name: self.native[name] for name in extra}})
        native = self.native.dtype
        parts = [array_like(array, widest(array) if name in wide else native) for name, array in columns.items()]
        parts += [self.native[:, self.names.index(name)] for name in extra]
        kinds = {native.kind, *(part.dtype.kind for part in parts)}
        # Labels may be longer than the texts of an array; mixed kinds become objects.
        dtype = np.result_type(*parts) if len(kinds) == 1 or kinds <= set("iuf") else object
        return np.stack([part.astype(dtype) for part in parts], axis=1)

    @property
    def whole_types(self) -> dict[str, np.dtype[Any]]:
        """NumPy dtype of each column of whole numbers."""
        # Libraries spell the same type differently (Int64, int64), and pandas appends the storage.
        pattern, types = re.compile(r"(u?int(?:8|16|32|64))(?:\[pyarrow\])?"), {}
        for name in self.names:
            dtype = self._native_type(name)
            if match := pattern.fullmatch(str(getattr(dtype, "value_type", dtype)).lower()):
                types[name] = np.dtype(match[1])
        return types

    def _native_type(self, name: str) -> Any:
        """Dtype of a column in the user's table; None for new columns."""
        if name not in self.names:
            return None
        if self.kind == "pandas":
            return self.native.dtypes.iloc[self.names.index(name)]
        if self.kind == "array":
            return self.native.dtype
        return self.native.schema[name] if self.kind == "polars" else self.native.schema.field(name).type

    def _to_pandas(self, columns: Mapping[str, pa.Array], extra: tuple[str, ...], wide: Collection[str]) -> Any:
        import pandas as pd

        if self.kind != "pandas":
            frame = pd.DataFrame({name: pandas_like(array, None) for name, array in columns.items()})
            return frame.assign(**{name: np.asarray(self[name]) for name in extra})
        label_of, data, objects = dict(zip(self.names, self.labels, strict=True)), {}, {}
        for name, array in columns.items():
            dtype, label = self._native_type(name), label_of.get(name, name)
            if dtype == np.dtype(object):  # by default, pandas reads a column of text objects as str
                objects[label] = object
            if name in wide:
                widened = widest(array)
                dtype = widened if isinstance(dtype, np.dtype) else {"int64": "Int64", "uint64": "UInt64"}[widened.name]
            restore = pandas_restorer(self[name]) if name in self.names and name not in wide else None
            data[label] = pandas_like(array, dtype, restore)
        is_same = len(next(iter(columns.values()), ())) == len(self.native)
        frame = pd.DataFrame(data, index=self.native.index if is_same else None)
        frame = frame.astype(objects) if objects else frame
        for name in extra:
            frame[label_of[name]] = self[name]
        return frame


def stack_rows(parts: Sequence[tuple[Table, NDArray[np.integer[Any]]]], rng: np.random.Generator) -> Any:
    """Stack the rows of several tables in random order, with the kind and columns of the first table."""
    first = parts[0][0]
    order = rng.permutation(sum(len(rows) for _, rows in parts))
    if {table.kind for table, _ in parts} == {"pandas"}:
        import pandas as pd

        chosen = [table.native.iloc[rows, [table.names.index(n) for n in first.names]] for table, rows in parts]
        return pd.concat(chosen, ignore_index=True).iloc[order].reset_index(drop=True)
    arrow = [table.take(rows).native.select(list(first.names)) for table, rows in parts]
    stacked = pa.concat_tables([part.cast(arrow[0].schema) for part in arrow]).take(pa.array(order))
    if first.kind == "pyarrow":
        return stacked
    return first.rebuild({name: stacked[name].combine_chunks() for name in first.names})


def _kind(native: Any) -> str | None:
    """Library of a table, None if unknown; pandas and polars are checked only if they were imported."""
    if isinstance(native, pa.Table):
        return "pyarrow"
    return next((library for library in ("pandas", "polars") if _is(native, library, "DataFrame")), None)


def _is(native: Any, module: str, name: str) -> bool:
    """Return whether an object is an instance of a class of a library, which need not be imported."""
    return isinstance(native, getattr(sys.modules.get(module), name, ()))


def is_stream(native: Any) -> bool:
    """Return whether an object is a stream from which `open_readers` makes a table."""
    if _kind(native) or isinstance(native, (np.ndarray, Table)):
        return False
    if hasattr(native, "__arrow_c_stream__"):
        return not hasattr(native, "__array__")  # single columns have this method, too
    return isinstance(native, Iterator) or is_dataset(native) or _is(native, "polars", "LazyFrame")


def is_dataset(native: Any) -> bool:
    """Return whether an object is a data set of pyarrow."""
    return _is(native, "pyarrow.dataset", "Dataset")


def open_readers(stream: Any) -> Iterator[pa.RecordBatchReader]:
    """Open readers for all rows of a stream, which can be read once.

    A stream is an Arrow reader, an object with ``__arrow_c_stream__`` (a query of DuckDB, a result of ADBC), a data set
    of pyarrow, a lazy frame of polars, which is executed here, or an iterator of record batches or tables.
    """
    if _is(stream, "polars", "LazyFrame"):
        stream = stream.collect()
    if is_dataset(stream):
        import pyarrow.dataset as ds

        is_parquet = isinstance(getattr(stream, "format", None), ds.ParquetFileFormat)
        checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True) if is_parquet else None
        yield stream.scanner(fragment_scan_options=checked).to_reader()
    elif hasattr(stream, "__arrow_c_stream__"):
        yield pa.RecordBatchReader.from_stream(stream)
    else:
        for part in stream:
            is_batch = isinstance(part, pa.RecordBatch)
            yield (pa.Table.from_batches([part]) if is_batch else Table.from_native(part).to_arrow()).to_reader()


def join_schemas(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Join the schemas of consecutive tables, with types that fit the values of all tables.

    Raises
    ------
    ColumnError
        If a table lacks a column of the first table, or has values of another kind in it.
    """
    first, *later = dict.fromkeys(schema.remove_metadata() for schema in schemas)
    for schema in later:
        if lacking := [name for name in first.names if name not in schema.names]:
            raise ColumnError.absent(lacking, schema.names)
    try:
        return pa.unify_schemas([first, *later], promote_options="permissive") if later else first
    except pa.ArrowException as error:  # the error quotes a name and types only
        raise ColumnError(
            f"the tables of the stream differ: {error}; give each column the same type in all of them"
        ) from None


def cast_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast a table to a schema from `join_schemas`."""
    if table.schema.equals(schema):
        return table
    try:
        return table.select(schema.names).cast(schema)
    except pa.ArrowException:
        raise ColumnError(
            "the tables of the stream have a column with different types; convert it to one type"
        ) from None


def _read_stream(stream: Any) -> pa.Table:
    """Read a whole stream; hide errors of its producer, which may quote values."""
    try:
        parts = [reader.read_all() for reader in open_readers(stream)]
    except pa.ArrowException as error:
        raise ColumnError(
            f"the stream raised {type(error).__name__} while it was read; check the code that makes it"
        ) from None
    check_any(sum(map(len, parts)))
    schema = join_schemas([part.schema for part in parts])
    return pa.concat_tables([cast_to_schema(part, schema) for part in parts])


def check_any(n_rows: int) -> None:
    """Refuse a stream without rows, which has probably been read before."""
    if not n_rows:
        raise ColumnError(
            "the stream has no rows left, because a stream can be read only once; open it again, or read it into a "
            "table first"
        )


def _parts(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Distinct values and indices of a dictionary array; a plain array has no indices."""
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary, array.indices
    return array, None


def widest(array: pa.Array) -> np.dtype[Any]:
    """Integer type of 64 bits, signed or unsigned, that fits the whole numbers of a column."""
    return np.dtype(np.uint64 if pa.types.is_unsigned_integer(_parts(array)[0].type) else np.int64)


def pandas_like(array: pa.Array, dtype: Any, restore: Callable[[pa.Array], Any] | None = None) -> Any:
    """Convert an array to a pandas column of a dtype; only its distinct values are converted, and rows refer to them.

    ``restore`` restores values of types that Arrow lacks.
    """
    import pandas as pd

    dictionary, indices = _parts(array)
    stored = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else pa.null()
    if (is_view(stored) or pa.types.is_run_end_encoded(stored)) and indices is not None:
        dictionary, indices = dictionary.take(indices), None  # rows cannot be taken from views or run-end arrays
    values = None
    if restore is not None:
        with contextlib.suppress(TypeError, ValueError):  # labels that join several values stay text
            values = restore(dictionary)
    if values is None:
        values = _pandas_values(dictionary, dtype, stored)
    if indices is None:
        return values
    codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
    fill = bool(indices.null_count)
    if isinstance(dtype, np.dtype) and not isinstance(values, pd.arrays.SparseArray):
        return pd.api.extensions.take(np.asarray(values), codes, allow_fill=fill)
    return values.take(codes, allow_fill=fill)


def _pandas_values(values: pa.Array, dtype: Any, stored: pa.DataType) -> Any:
    """Convert distinct values to a pandas array of an Arrow dtype, or of objects if the values do not fit."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        released = dict.fromkeys(values.drop_null().to_pylist())  # two codes may stand for the same value
        categories = [c for c in dtype.categories.tolist() if c in released]
        categories = categories if len(categories) == len(released) else list(released)
        return pd.Categorical(values.to_pylist(), categories=categories, ordered=dtype.ordered)
    levels, is_text = pd.Series(pd.arrays.ArrowExtensionArray(values)), pa.types.is_string(values.type)
    if dtype is None and not is_text:
        return levels.array
    # A NumPy integer column cannot hold interval labels or missing values, but objects can.
    with contextlib.suppress(TypeError, ValueError):
        if pa.types.is_run_end_encoded(stored):
            return pd.arrays.ArrowExtensionArray(_encode_runs(values, stored))
        if isinstance(dtype, pd.ArrowDtype) and pa.types.is_floating(values.type):
            return pd.arrays.ArrowExtensionArray(cast_values(values, stored))
        if not is_text or (dtype is not None and not pd.api.types.is_bool_dtype(dtype)):  # any text would become True
            return levels.astype(dtype).array
    return levels.astype(object).array


def polars_like(name: str, array: pa.Array, dtype: Any) -> Any:
    """Convert an array to a polars column of a dtype; only distinct values are converted, and rows refer to them."""
    import polars as pl

    dictionary, indices = _parts(array)
    levels = pl.Series(name, dictionary)
    if isinstance(dtype, pl.Enum):
        # An Enum lists its categories in its type, where only released ones may appear.
        released = set(levels.to_list())
        dtype = pl.Enum([c for c in dtype.categories.to_list() if c in released])
    if dtype is not None:
        try:
            levels = levels.cast(dtype)
        except pl.exceptions.PolarsError:
            levels = levels.cast(pl.String)  # labels of a numeric column
    return levels.gather(pl.Series(indices)) if indices is not None else levels


def arrow_like(array: pa.Array, column: pa.ChunkedArray | None) -> pa.Array:
    """Convert an array to the type of the Arrow column that it replaces."""
    dictionary, indices = _parts(array)
    dtype: Any = None if column is None else column.type
    plain = getattr(dtype, "value_type", dtype)
    holds_text = plain in (pa.string(), pa.large_string(), pa.string_view())
    if column is None or (pa.types.is_string(dictionary.type) and not holds_text):
        return dictionary.take(indices) if indices is not None else dictionary
    if pa.types.is_dictionary(dtype):
        # Keep the column's index type, and the order of its values if the dictionary is ordered.
        dictionary, indices = _parts(array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode())
        dictionary = dictionary.cast(dtype.value_type)
        if dtype.ordered:
            categories = pa.chunked_array([chunk.dictionary for chunk in column.chunks], dtype.value_type).unique()
            place = categories.filter(pc.is_in(categories, value_set=dictionary))
            dictionary, indices = place, pc.index_in(dictionary, value_set=place).take(indices)
        fits = len(dictionary) <= np.iinfo(dtype.index_type.to_pandas_dtype()).max
        result = pa.DictionaryArray.from_arrays(indices, dictionary, ordered=dtype.ordered)
        return result.cast(dtype) if fits else result
    # Rows are taken before the cast, because rows cannot be taken from text views.
    values = dictionary.take(indices) if indices is not None else dictionary
    if pa.types.is_run_end_encoded(dtype):
        return _encode_runs(values, dtype)
    return cast_values(values, dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype)


def _encode_runs(values: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Convert values to a run-end encoded array."""
    return pc.run_end_encode(cast_values(values, dtype.value_type), run_end_type=dtype.run_end_type)


def array_like(array: pa.Array, dtype: np.dtype[Any]) -> Any:
    """Convert an array to a NumPy column of a dtype, of a wider dtype for longer texts, or of objects if need be."""
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
    else:  # NumPy's times have no zone, and its time spans would become numbers
        values = np.fromiter(dictionary.to_pylist(), object, len(dictionary))
    if indices is None:
        return values
    if indices.null_count:  # the index -1 is that of the filler
        filler = np.nan if pa.types.is_floating(dictionary.type) else "NaT" if values.dtype.kind in "mM" else None
        values = np.append(values, np.array([filler], object if filler is None else values.dtype))
    return values[indices.fill_null(-1).to_numpy(zero_copy_only=False)]
