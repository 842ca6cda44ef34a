"""Reader of Parquet as untrusted input, which limits sizes and verifies checksums, and whose errors quote no values."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from sanitize.errors import SourceError
from sanitize.tables.columns import value_type
from sanitize.tables.files.footer import REMEMBERED_BYTES, UNLESS, Footer, is_trusted
from sanitize.tables.files.source import (
    BATCH_ROWS,
    Load,
    Source,
    check_same_columns,
    file_stamp,
    files_under,
    partition_schema,
    reading,
)

# First and last bytes of a file, as the format declares.
MAGIC = b"PAR1"
# Both versions of Feather, which is not read: Arrow's format is for trusted memory, and its reader checks no offsets.
_ARROW = (b"ARROW1", b"FEA1")
# The same of a file with an encrypted footer.
_ENCRYPTED = b"PARE"
# The magic number twice, and the length of the footer, of four bytes each.
_MIN_BYTES = 12
# Encodings of text pages that Arrow can read into dictionaries; columns with any other are read as plain text.
_IN_DICTIONARIES = frozenset(("PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"))
# Largest footer, in bytes; even thousands of columns and row groups need far less.
_FOOTER_BYTES = 1 << 28
# Most values to read together: Arrow keeps all texts of a row group in memory, some hundred megabytes for these.
_APART_VALUES = 1 << 22
# Column chunks are read in pieces of this size, so that they are not in memory as a whole.
_BUFFER_BYTES = 1 << 18
# Limits of Arrow's reader for texts and lists in a footer. The limits cannot be switched off, so a trusted file gets
# the largest possible.
_LIMITS: dict[str, Any] = {"thrift_string_size_limit": 1 << 27, "thrift_container_size_limit": 1 << 24}
_NO_LIMITS = dict.fromkeys(_LIMITS, (1 << 31) - 1)


@dataclass(frozen=True)
class ParquetSource(Source):
    """Files of a table: a Parquet file, or all ``*.parquet`` files under a folder, with a common schema.

    Attributes
    ----------
    row_groups : tuple of int or None
        Row groups to read from each file; None for all.
    """

    n_rows: int = field(kw_only=True)
    row_groups: tuple[int, ...] | None = field(default=None, kw_only=True)
    reads_on_demand: ClassVar[bool] = True

    @classmethod
    def open(cls, root: str | os.PathLike[str]) -> ParquetSource:
        """Read the footers of a file or folder; no data is read.

        Raises
        ------
        SourceError
            If the file does not exist, is not Parquet, is damaged or encrypted, or the files of a folder have
            different columns.
        """
        path = Path(root)
        files = files_under(path, [".parquet"])
        schemas: list[pa.Schema] = []
        n_rows = 0
        for file in files:
            with reading(file.name):
                n_rows += sum(read_footer(file).row_groups)
                with _reader(file) as reader:
                    schemas.append(reader.schema_arrow.remove_metadata())
        schema = _join_schemas(files, schemas)
        partitions = partition_schema(path, files, schema.names)
        stamps = tuple(file_stamp(file) for file in files)
        return cls(path, files, pa.schema([*schema, *partitions]), stamps, tuple(partitions.names), n_rows=n_rows)

    def list_row_groups(self, file: Path) -> Sequence[tuple[int, int]]:
        """Number of each row group to read from a file, and the number of its rows."""
        with reading(file.name):
            groups = enumerate(read_footer(file).row_groups)
            return [group for group in groups if self.row_groups is None or group[0] in self.row_groups]

    def column_groups(self, columns: Sequence[str]) -> Iterator[list[str]]:
        """Yield groups of columns to read together, smaller if rows are many: Arrow keeps all texts of a row group."""
        width = max(1, _APART_VALUES // max(1, min(self.n_rows, BATCH_ROWS)))
        for start in range(0, len(columns), width):
            yield list(columns[start : start + width])

    def loads(self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS) -> Iterator[Load]:
        """Yield the loads of one file; each load is a row group, or several small row groups."""
        first, row_groups = 0, self.list_row_groups(file)
        for groups, n_rows in consecutive([rows for _, rows in row_groups], BATCH_ROWS):
            numbers = [row_groups[place][0] for place in groups]
            yield Load(first, n_rows, partial(self._load, file, columns, batch_rows, numbers, n_rows))
            first += n_rows

    def _load(
        self, file: Path, columns: Sequence[str], batch_rows: int, row_groups: Sequence[int], n_rows: int
    ) -> Iterator[dict[str, pa.Array]]:
        for batch in self.batches(file, columns, batch_rows, row_groups):
            n_rows -= len(next(iter(batch.values())))
            yield batch
        if n_rows:
            raise SourceError(
                f"{file.name} is damaged: its number of rows differs from the number in its footer; write it again"
            )

    def _file_batches(
        self, file: Path, columns: Sequence[str], batch_rows: int, row_groups: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        row_groups = self.row_groups if row_groups is None else row_groups
        with contextlib.ExitStack() as stack:
            with reading(file.name):
                raw, size = _read_footer_bytes(file)
                Footer.read(raw, size, file.name).refuse_bombs(columns, file, row_groups)
                # Each load opens the file again and reads its footer, which grows with the number of row groups.
                metadata = _metadata(raw) if len(raw) <= REMEMBERED_BYTES else None
                text = [name for name in columns if is_text(self.schema.field(name).type)]
                reader = stack.enter_context(_reader(file, text, metadata))
                if text and (plain := _plain_text_columns(reader.metadata, text, row_groups)):
                    text_columns = [name for name in text if name not in plain]
                    reader = stack.enter_context(_reader(file, text_columns, metadata))
            with reading(file.name):
                batches = reader.iter_batches(batch_rows, row_groups, list(columns), use_threads=False)
            while True:
                with reading(file.name):
                    batch = next(batches, None)
                if batch is None:
                    return
                # A name may also select nested fields that start with it, so columns are picked by exact name.
                yield self._alike(batch.select([batch.schema.get_field_index(name) for name in columns]), file)

    def _alike(self, batch: pa.RecordBatch, file: Path) -> pa.RecordBatch:
        """Convert a batch to the types of the whole table, with texts in dictionaries."""
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            dtype = value_type(self.schema.field(name).type)
            if value_type(column.type) != dtype:
                with reading(file.name):
                    column = column.cast(dtype)
            columns.append(column.dictionary_encode() if is_text(column.type) else column)
        return pa.RecordBatch.from_arrays(columns, batch.schema.names) if columns else batch


def _join_schemas(files: Sequence[Path], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Join the schemas of all files, with types that fit the values of each file.

    Raises
    ------
    SourceError
        If a file lacks a column, or has an additional one, or one with values of another kind.
    """
    first = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        check_same_columns(file, schema.names, files[0], first.names)
    if len(set(first.names)) < len(first.names):
        return first
    return pa.schema([_join_fields(name, files, [schema.field(name) for schema in schemas]) for name in first.names])


def _join_fields(name: str, files: Sequence[Path], fields: Sequence[pa.Field]) -> pa.Field:
    """Join the types of a column in all files to the narrowest type that represents their values exactly."""
    if len({field.type for field in fields}) == 1:
        return fields[0].with_nullable(any(field.nullable for field in fields))
    first: dict[pa.DataType, Path] = {}  # the first file with each type
    for file, column in zip(files, fields, strict=True):
        first.setdefault(value_type(column.type), file)
    checks = (pa.types.is_temporal, is_text, pa.types.is_binary, pa.types.is_large_binary)
    kinds = {tuple(is_kind(dtype) for is_kind in checks) for dtype in first if not pa.types.is_null(dtype)}
    if len(kinds) <= 1:
        with contextlib.suppress(pa.ArrowException):
            schemas = [pa.schema([(name, dtype)]) for dtype in first]
            return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    has = " and ".join(f"{dtype} in {file.name}" for dtype, file in first.items())
    raise SourceError(f"column {name!r} is {has}; convert it to one type")


def is_text(dtype: pa.DataType) -> bool:
    """Return whether the reader can keep a column as dictionaries."""
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_binary(dtype))


def _plain_text_columns(metadata: pq.FileMetaData, names: Sequence[str], row_groups: Sequence[int] | None) -> set[str]:
    """Names of text columns with pages in an encoding that Arrow cannot keep as dictionaries."""
    wanted, columns = set(names), set()
    places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in wanted]
    for group in range(metadata.num_row_groups) if row_groups is None else row_groups:
        for chunk in (metadata.row_group(group).column(place) for place in places):
            if not _IN_DICTIONARIES.issuperset(chunk.encodings):
                columns.add(chunk.path_in_schema)
    return columns


def consecutive(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield groups of consecutive positions with their total size, at most ``most`` in groups of several positions."""
    run: list[int] = []
    total = 0
    for position, size in enumerate(sizes):
        if run and total + size > most:
            yield tuple(run), total
            run, total = [], 0
        run.append(position)
        total += size
    yield tuple(run), total


def read_footer(file: Path) -> Footer:
    """Read the footer of a file; refuse an inconsistent one."""
    raw, size = _read_footer_bytes(file)
    return Footer.read(raw, size, file.name)


def _read_footer_bytes(file: Path) -> tuple[bytes, int]:
    """Read the bytes of the footer, and the size of the file, and check the magic numbers."""
    name = file.name
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        head = stream.read(len(_ARROW[0]))
        if head.startswith(_ARROW):
            raise SourceError(
                f"{name} is an Arrow (Feather) file, which sanitize does not read; write it as Parquet first, "
                "for example with pandas.read_feather(...).to_parquet(...)"
            )
        head = head[: len(MAGIC)]
        if size < _MIN_BYTES or head not in (MAGIC, _ENCRYPTED):
            raise SourceError(f"{name} is not a Parquet file; convert it to Parquet first")
        stream.seek(-8, os.SEEK_END)
        (length,), tail = struct.unpack("<I", stream.read(4)), stream.read(4)
        if head == _ENCRYPTED or tail == _ENCRYPTED:
            raise SourceError(f"{name} is encrypted; decrypt it first")
        if tail != MAGIC or length > size - _MIN_BYTES:
            raise SourceError(
                f"{name} is cut off or damaged: it does not end like a Parquet file; copy or write it again"
            )
        if length > _FOOTER_BYTES and not is_trusted():
            raise SourceError(f"{name} has a footer of {length} bytes, more than {_FOOTER_BYTES}; {UNLESS}")
        stream.seek(size - 8 - length)
        return stream.read(length), size


@lru_cache(maxsize=2)
def _metadata(raw: bytes) -> pq.FileMetaData:
    """Parse a consistent footer with pyarrow."""
    footer = pa.BufferReader(MAGIC + raw + struct.pack("<I", len(raw)) + MAGIC)
    with pq.ParquetFile(footer, **_limits()) as reader:
        return reader.metadata


def _reader(
    file: Path, text_columns: Sequence[str] = (), metadata: pq.FileMetaData | None = None
) -> contextlib.AbstractContextManager[pq.ParquetFile]:
    """Open a reader of a file with a consistent footer."""
    settings = {"page_checksum_verification": True, "pre_buffer": False, "buffer_size": _BUFFER_BYTES, **_limits()}
    return open_parquet(file, metadata=metadata, read_dictionary=list(text_columns), **settings)


def _limits() -> dict[str, Any]:
    return _NO_LIMITS if is_trusted() else _LIMITS


@contextlib.contextmanager
def open_parquet(file: Path, **settings: Any) -> Iterator[pq.ParquetFile]:
    """Open a reader by name, or from the opened file if the name is not UTF-8, which Arrow requires."""
    with contextlib.ExitStack() as stack:
        source: Path | BinaryIO = file
        try:
            str(file).encode()
        except UnicodeEncodeError:
            source = stack.enter_context(file.open("rb"))
        yield stack.enter_context(pq.ParquetFile(source, **settings))
