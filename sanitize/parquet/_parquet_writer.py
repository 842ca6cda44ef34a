"""Writing released columns as Parquet: a schema built anew, dictionaries of released values, row groups put together.

Nothing inside a column chunk says where in the file it lies, only the footer does. So a file of one row group is
appended without being looked at, and its line of the footer is moved: what comes out is, byte for byte, what a writer
of all row groups writes, and any thread may encode any of them.
"""

from __future__ import annotations

import struct
from inspect import signature
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sanitize._files.parquet import MAGIC, is_text
from sanitize._files.thrift import STRUCT, RawFields, Thrift, packed, packed_list, packed_whole
from sanitize._tables.columns import in_type, value_type
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._release.release import Release


ROW_GROUP_ROWS = 1 << 20
# Newer Arrow cuts pages at 20,000 rows, for indexes of pages; a release has none, and every page has a header to read.
_PAGES = {"max_rows_per_page": ROW_GROUP_ROWS} if "max_rows_per_page" in signature(pq.ParquetWriter).parameters else {}


def released_schema(source: pa.Schema, columns: Mapping[str, pa.Array], release: Release) -> pa.Schema:
    """Schema of the output: no metadata of the source, every column nullable.

    Text is written from dictionaries; the file itself names the plain type only. Numbers and dates keep their
    type where what is printed is a value and not a label; whole numbers that it could not hold get 64 bits.
    """
    plain = {field.name: value_type(field.type) for field in source if field.name in columns}
    whole = {name: np.dtype(dtype.to_pandas_dtype()) for name, dtype in plain.items() if pa.types.is_integer(dtype)}
    wide = release.wide(whole)
    fields = []
    for name, array in columns.items():
        dtype = value_type(array.type)
        if not is_text(dtype) and name in plain and name not in wide:
            dtype = plain[name]
        if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            dtype = pa.dictionary(pa.int32(), dtype)
        fields.append(pa.field(name, dtype))
    return pa.schema(fields)


def as_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Array of the type that its column is written with."""
    if pa.types.is_dictionary(dtype) or not isinstance(array, pa.DictionaryArray):
        return in_type(array, dtype)
    storage = dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype
    values = array.dictionary.cast(storage).take(array.indices)
    return dtype.wrap_array(values) if isinstance(dtype, pa.ExtensionType) else values


def typed(column: Any, dtype: pa.DataType, name: str) -> Any:
    """A column of a file in the type that it was written from: the inverse of `as_type`, and of values as text."""
    plain = value_type(column.type)
    if plain == dtype:
        return column
    try:
        values = column.cast(plain)
        if pa.types.is_null(dtype):
            return pa.nulls(len(values)) if values.null_count == len(values) else values
        if isinstance(dtype, pa.ExtensionType):
            chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
            stored = [dtype.wrap_array(chunk.cast(dtype.storage_type)) for chunk in chunks]
            return pa.chunked_array(stored, dtype) if isinstance(values, pa.ChunkedArray) else stored[0]
        if pa.types.is_duration(dtype):
            values = values.cast(pa.int64())
        if pa.types.is_time(dtype) and pa.types.is_string(values.type):
            values = pc.binary_join_element_wise("1970-01-01", values, " ").cast(pa.timestamp(dtype.unit))
        return values.cast(dtype)
    except pa.ArrowException:
        raise ColumnError(f"column {name!r} of the release holds text that is no {dtype}", name) from None


# Fields of the footer and of a row group.
_N_ROWS, _ROW_GROUPS = 3, 4
_CHUNKS, _GROUP_START, _ORDINAL = 1, 5, 7
# Fields of a chunk that are places in the file, and of its metadata: those of its first pages and of its bloom filter.
_METADATA, _METADATA_AND_INDEXES, _PAGES_AND_FILTER = 3, (2, 4, 6), (9, 10, 11, 14)


class JoinedFile:
    """A Parquet file that grows by whole row groups.

    Parameters
    ----------
    stream : binary stream
        At its start.
    empty : buffer
        A file without rows, of the same schema and metadata.
    """

    def __init__(self, stream: BinaryIO, empty: memoryview) -> None:
        self._stream = stream
        self._footer = _parts(empty)[1]
        self._groups: list[bytes] = []
        self._n_rows = 0
        self._end = len(MAGIC)
        stream.write(MAGIC)

    def write(self, file: memoryview) -> None:
        """Append the row groups of a file of the same schema."""
        body, footer = _parts(file)
        fields = _contents(footer)
        by = self._end - len(MAGIC)
        for group in _structures(fields[_ROW_GROUPS]):
            chunks = []
            for chunk in _structures(_contents(group)[_CHUNKS]):
                metadata = _moved(Thrift(_contents(chunk)[_METADATA]).raw_fields(), by, _PAGES_AND_FILTER, {})
                chunks.append(_moved(chunk, by, _METADATA_AND_INDEXES, {_METADATA: metadata}))
            known = {_CHUNKS: packed_list(STRUCT, chunks), _ORDINAL: packed_whole(len(self._groups))}
            self._groups.append(_moved(group, by, [_GROUP_START], known))
        self._n_rows += Thrift(fields[_N_ROWS]).whole()
        self._stream.write(body)
        self._end += len(body)

    def close(self) -> None:
        """Write the footer."""
        known = {_N_ROWS: packed_whole(self._n_rows), _ROW_GROUPS: packed_list(STRUCT, self._groups)}
        footer = packed([(number, kind, known.get(number, raw)) for number, kind, raw in self._footer])
        self._stream.write(footer + struct.pack("<I", len(footer)) + MAGIC)


class ReleaseWriter(JoinedFile):
    """Parquet writer that lets nothing through but released columns."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, footer: bytes) -> None:
        self._schema = schema
        self._summary = footer
        super().__init__(stream, self._encoded([]))

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
            writer.add_key_value_metadata({"sanitize": self._summary})
            for table in tables:
                writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        return memoryview(held.getvalue())


def _parts(file: memoryview) -> tuple[memoryview, RawFields]:
    """What stands between the first magic number and the footer, and the fields of the footer."""
    (length,) = struct.unpack("<I", file[-8:-4])
    return file[len(MAGIC) : -8 - length], Thrift(bytes(file[-8 - length : -8])).raw_fields()


def _contents(fields: RawFields) -> dict[int, bytes]:
    return {number: raw for number, _, raw in fields}


def _structures(raw: bytes) -> list[RawFields]:
    """Structures of a list."""
    reader = Thrift(raw)
    _, size = reader.list_head()
    return [reader.raw_fields() for _ in range(size)]


def _moved(fields: RawFields, by: int, places: Sequence[int], known: Mapping[int, bytes]) -> bytes:
    """Fields packed again: places in the file moved, 0 stays none, and some fields have other content."""

    def content(number: int, raw: bytes) -> bytes:
        place = Thrift(raw).whole() if number in places else 0
        return packed_whole(place + by) if place else known.get(number, raw)

    return packed([(number, kind, content(number, raw)) for number, kind, raw in fields])
