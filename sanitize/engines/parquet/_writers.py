"""Writers of released columns, as Parquet with a new schema or as CSV.

CSV is RFC 4180 in UTF-8, like the CSV that is read. Symbols are written unchanged, and quoted only if needed, so that
they are read as the same symbols. A spreadsheet may take text that starts with ``= + - @`` for a formula. Quoting does
not prevent this, and a changed symbol would be wrong for all other readers, so the report names such columns instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sanitize.errors import ColumnError
from sanitize.tables.columns import cast_values, value_type
from sanitize.tables.files.csv import BLOCK_BYTES
from sanitize.tables.files.csv_stream import HEADER_BYTES
from sanitize.tables.files.parquet import is_text

if TYPE_CHECKING:
    from sanitize.release.release import FittedRelease

# Rows of a row group, which is in memory until it is written, and is read as a whole: a million, as in Arrow.
ROW_GROUP_ROWS = 1 << 20
# Newer Arrow cuts pages at 20,000 rows for page indexes. A release has no indexes, and each page costs a header.
_PAGES = {"max_rows_per_page": ROW_GROUP_ROWS} if "max_rows_per_page" in signature(pq.ParquetWriter).parameters else {}


def output_schema(source: pa.Schema, columns: Mapping[str, pa.Array], release: FittedRelease) -> pa.Schema:
    """Schema of the output, without metadata of the input and with every column nullable.

    Text is written from dictionaries, but the file only names the plain type. Numbers and dates keep their type if
    values, not labels, are written; whole numbers that do not fit the type get 64 bits.
    """
    plain = {field.name: value_type(field.type) for field in source if field.name in columns}
    whole = {name: np.dtype(dtype.to_pandas_dtype()) for name, dtype in plain.items() if pa.types.is_integer(dtype)}
    wide = release.wide(whole)
    fields = []
    for name, array in columns.items():
        dtype = value_type(array.type)
        if name in release.own_columns or (not is_text(dtype) and name in plain and name not in wide):
            dtype = plain[name]
        if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            dtype = pa.dictionary(pa.int32(), dtype)
        fields.append(pa.field(name, dtype))
    return pa.schema(fields)


def as_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Convert an array to the type in which its column is written."""
    if pa.types.is_dictionary(dtype) or not isinstance(array, pa.DictionaryArray):
        return cast_values(array, dtype)
    storage = dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype
    values = array.dictionary.cast(storage).take(array.indices)
    return dtype.wrap_array(values) if isinstance(dtype, pa.ExtensionType) else values


def with_sorted_dictionary(array: pa.Array) -> pa.Array:
    """Sort the dictionary of a text column, because the order of first occurrence would reveal the row order."""
    if not isinstance(array, pa.DictionaryArray):
        return array
    order = np.asarray(pc.sort_indices(array.dictionary))
    if (np.diff(order.astype(np.int64)) > 0).all():
        return array
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(rank).take(array.indices), array.dictionary.take(pa.array(order)))


def restore_type(column: Any, dtype: pa.DataType, name: str) -> Any:
    """Convert a column read from a file back to its type before it was written: undo `as_type` and text forms."""
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
        raise ColumnError.fault(name, f"of the release has text that cannot be converted to the type {dtype}") from None


class ReleaseWriter(pq.ParquetWriter):  # type: ignore[misc]
    """Parquet writer that accepts released columns only."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, footer: bytes) -> None:
        super().__init__(
            stream,
            schema,
            store_schema=False,
            compression="zstd",
            # Statistics of text take a third of the time, and are useless: minimum and maximum of a few values.
            write_statistics=[field.name for field in schema if not pa.types.is_dictionary(field.type)],
            write_page_checksum=True,
            **_PAGES,
        )
        self.add_key_value_metadata({"sanitize": footer})

    def __del__(self) -> None:
        """Close a writer after a failure without writing more, because its file is deleted."""

    def encode(self, columns: Mapping[str, pa.Array]) -> pa.Table:
        """Convert a row group to the types of the file, for later writing; any thread may call this."""
        arrays = [with_sorted_dictionary(as_type(columns[field.name], field.type)) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def write(self, rows: pa.Table) -> None:
        """Write a row group."""
        self.write_table(rows, row_group_size=ROW_GROUP_ROWS)


# Fields that a reader would split or take for missing, and a mark of Unicode that a reader would remove.
_SPECIAL = re.compile('[,"\r\n]|^$|^\ufeff')
# Spreadsheets run a cell that begins with one of these signs, unless it is a signed number.
_FORMULA = re.compile(r"\s*[=+\-@|%]")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
# Approximate size of the pieces in which lines are assembled, and most rows of one: pieces are in memory twice, as
# fields and as lines, and larger ones are not faster.
_PIECE_BYTES = 1 << 25
# Short lines gain nothing from larger pieces, which would no longer fit the cache.
_PIECE_ROWS = 1 << 16


class CsvWriter:
    """CSV writer of released columns, with the interface of the Parquet writer."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self._stream = stream
        self._schema = schema
        # Readers detect the dialect from unquoted semicolons and tabs.
        names = (_add_quotes(name) if re.search("[;\t]", name) else quote_field(name) for name in schema.names)
        header = (",".join(names) + "\n").encode()
        if len(header) > HEADER_BYTES:
            raise _too_long(f"the names of the columns take more than {HEADER_BYTES >> 20} MiB")
        self._stream.write(header)

    def encode(self, columns: Mapping[str, pa.Array]) -> Mapping[str, pa.Array]:
        """Return the rows unchanged; their text is made only while writing, because it takes more memory."""
        return columns

    def write(self, columns: Mapping[str, pa.Array]) -> None:
        """Write some rows."""
        texts, longest = [], 0
        for number, field in enumerate(self._schema):
            end = "\n" if number == len(self._schema) - 1 else ","
            values, indices = _texts(as_type(columns[field.name], field.type), field.name)
            fields = ["" if text is None else quote_field(text) for text in (*values, None)]
            lines = pa.array([text + end for text in fields], pa.string())
            longest += pc.max(pc.binary_length(lines)).as_py()
            texts.append((lines, indices.fill_null(len(values))))
        n_rows = len(texts[0][1])
        step = max(1, min(_PIECE_ROWS, _PIECE_BYTES // longest))
        for start in range(0, n_rows, step):
            parts = [lines.take(indices.slice(start, step)) for lines, indices in texts]
            joined = pc.binary_join_element_wise(*parts, "")
            if pc.max(pc.binary_length(joined)).as_py() > BLOCK_BYTES:
                raise _too_long(f"a row takes more than {BLOCK_BYTES >> 20} MiB")
            # The texts of a new array are contiguous, so its buffer is written without a copy.
            offsets, content = (memoryview(buffer).cast("B") for buffer in joined.buffers()[1:])
            last = int.from_bytes(offsets[4 * len(joined) : 4 * len(joined) + 4], "little")
            self._stream.write(content[:last])

    def close(self) -> None:
        """Finish the file."""


def _too_long(what: str) -> ColumnError:
    """Error for text that is too long for CSV readers."""
    return ColumnError(f"{what} as text, more than CSV readers accept; release to a .parquet file")


def quote_field(text: str) -> str:
    """Return the text of a CSV field; empty text is quoted, because an empty field means missing."""
    return _add_quotes(text) if _SPECIAL.search(text) else text


def _add_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _texts(array: pa.Array, name: str) -> tuple[list[str | None], pa.Array]:
    """Distinct values of a column as text, and the index of each row's value."""
    encoded = array if isinstance(array, pa.DictionaryArray) else _plain(array).dictionary_encode()
    values = encoded.dictionary
    if not pa.types.is_string(values.type):
        try:
            if pa.types.is_binary(values.type) or pa.types.is_fixed_size_binary(values.type):
                raise pa.ArrowInvalid("bytes are not text")
            text = values.cast(pa.string())
            if pa.types.is_temporal(values.type) and not restore_type(text, values.type, name).equals(values):
                raise pa.ArrowInvalid("some times are too far from 1970 to be read again")
        except (pa.ArrowException, ColumnError):
            message = (
                f"column {name!r} is {array.type} and has values with no text form in CSV; release to a .parquet file"
            )
            raise ColumnError(message, name) from None
        values = text
    texts = values.to_pylist()
    if any("\0" in text for text in (name, *texts) if text is not None):
        raise ColumnError.fault(name, "has NUL characters, which CSV cannot store; release to a .parquet file")
    return texts, encoded.indices


def _plain(array: pa.Array) -> pa.Array:
    """Convert an array to a type that Arrow can deduplicate: extensions to storage types, narrow decimals to wide."""
    array = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
    if pa.types.is_decimal(array.type) and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return array


def formula_note(levels: Mapping[str, pa.Array]) -> tuple[str, ...]:
    """Return a note for the report if released texts, or names of columns, look like spreadsheet formulas."""
    columns = []
    for name, level in levels.items():
        texts = [name, *(level.to_pylist() if pa.types.is_string(level.type) else ())]
        if any(_FORMULA.match(text) and not _NUMBER.fullmatch(text) for text in texts):
            columns.append(name)
    if not columns:
        return ()
    names = ", ".join(map(repr, columns))
    return (
        f"texts or names of {names} start with a sign that spreadsheets take for a formula; they are written as they "
        "are, so import the file as text",
    )
