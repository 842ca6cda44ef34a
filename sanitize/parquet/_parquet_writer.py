"""Writing released columns as Parquet: a schema built anew, dictionaries of released values."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sanitize._files.parquet import is_text
from sanitize._files.row_groups import JoinedFile
from sanitize._tables.columns import in_type
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize._release.release import Release

ROW_GROUP_ROWS = 1 << 20
# Newer Arrow cuts pages at 20,000 rows, for indexes of pages; a release has none, and every page has a header to read.
_PAGES = {"max_rows_per_page": ROW_GROUP_ROWS} if "max_rows_per_page" in signature(pq.ParquetWriter).parameters else {}


def released_schema(source: pa.Schema, columns: Mapping[str, pa.Array], release: Release) -> pa.Schema:
    """Schema of the output: no metadata of the source, every column nullable.

    Text is written from dictionaries; the file itself names the plain type only. Numbers and dates keep their
    type where what is printed is a value and not a label; whole numbers that it could not hold get 64 bits.
    """
    plain = {field.name: getattr(field.type, "value_type", field.type) for field in source if field.name in columns}
    whole = {name: np.dtype(dtype.to_pandas_dtype()) for name, dtype in plain.items() if pa.types.is_integer(dtype)}
    wide = release.wide(whole)
    fields = []
    for name, array in columns.items():
        dtype = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if not is_text(dtype) and name in source.names and name not in wide:
            wanted = source.field(name).type
            dtype = wanted.value_type if pa.types.is_dictionary(wanted) else wanted
        if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            dtype = pa.dictionary(pa.int32(), dtype)
        fields.append(pa.field(name, dtype))
    return pa.schema(fields)


class ReleaseWriter:
    """Parquet writer that lets nothing through but released columns."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, footer: bytes) -> None:
        self._schema = schema
        self._footer = footer
        self._file = JoinedFile(stream, self._encoded([]))

    def encode(self, columns: Mapping[str, pa.Array]) -> memoryview:
        """A row group as a file of its own, to be written in its turn; any thread may make it."""
        arrays = [as_type(columns[field.name], field.type) for field in self._schema]
        return self._encoded([pa.Table.from_arrays(arrays, schema=self._schema)])

    def _encoded(self, tables: list[pa.Table]) -> memoryview:
        held = pa.BufferOutputStream()
        with pq.ParquetWriter(
            held,
            self._schema,
            store_schema=False,
            compression="zstd",
            use_dictionary=True,
            # Those of text take a third of the time, and tell nothing: the least and largest of a few values.
            write_statistics=[field.name for field in self._schema if not pa.types.is_dictionary(field.type)],
            write_page_checksum=True,
            **_PAGES,
        ) as writer:
            writer.add_key_value_metadata({"sanitize": self._footer})
            for table in tables:
                writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        return memoryview(held.getvalue())

    def write(self, encoded: memoryview) -> None:
        """Write one row group."""
        self._file.add(encoded)

    def close(self) -> None:
        """Write the footer."""
        self._file.close()


def as_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Array of the type that its column is written with."""
    if pa.types.is_dictionary(dtype) or not isinstance(array, pa.DictionaryArray):
        return in_type(array, dtype)
    storage = dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype
    values = array.dictionary.cast(storage).take(array.indices)
    return dtype.wrap_array(values) if isinstance(dtype, pa.ExtensionType) else values


def typed(column: Any, dtype: pa.DataType, name: str) -> Any:
    """A column of a file in the type that it was written from: the inverse of `as_type`, and of values as text."""
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if plain == dtype:
        return column
    try:
        values = column.cast(plain)
        if pa.types.is_null(dtype):
            return pa.nulls(len(values)) if values.null_count == len(values) else values
        if isinstance(dtype, pa.ExtensionType):
            return _wrapped(values, dtype)
        if pa.types.is_duration(dtype):
            values = values.cast(pa.int64())
        if pa.types.is_time(dtype) and pa.types.is_string(values.type):
            values = pc.binary_join_element_wise("1970-01-01", values, " ").cast(pa.timestamp(dtype.unit))
        return values.cast(dtype)
    except pa.ArrowException:
        raise ColumnError(f"column {name!r} of the release holds text that is no {dtype}", name) from None


def _wrapped(values: Any, dtype: pa.ExtensionType) -> Any:
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    storage = [dtype.wrap_array(chunk.cast(dtype.storage_type)) for chunk in chunks]
    return pa.chunked_array(storage, dtype) if isinstance(values, pa.ChunkedArray) else storage[0]
