"""Reading Parquet as untrusted input: sizes guarded, checksums verified, errors without values."""

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

from sanitize._files.footer import REMEMBERED_BYTES, UNLESS, Footer, is_trusted
from sanitize._files.source import BATCH_ROWS, Load, Source, files_under, partition_schema, reading, stamp_of
from sanitize.errors import SourceError

MAGIC = b"PAR1"
# Both versions of Feather. Arrow's format is made for memory that is trusted: its reader follows offsets as they are.
_ARROW = (b"ARROW1", b"FEA1")
_ENCRYPTED = b"PARE"
_MIN_BYTES = 12
# A footer describes columns and row groups; even thousands of both stay far below this.
_FOOTER_BYTES = 1 << 28
# Values of columns that need not be read together.
_APART_VALUES = 1 << 22
# Column chunks are read in pieces of this size, or each would be held whole.
_BUFFER_BYTES = 1 << 18
# Of Arrow's own reader, which has none without number.
_LIMITS: dict[str, Any] = {"thrift_string_size_limit": 1 << 27, "thrift_container_size_limit": 1 << 24}
_NO_LIMITS = dict.fromkeys(_LIMITS, (1 << 31) - 1)


@dataclass(frozen=True)
class ParquetSource(Source):
    """Files of one table: a Parquet file, or all ``*.parquet`` files under a folder, with one schema."""

    n_rows: int = field(kw_only=True)
    reads_on_demand: ClassVar[bool] = True

    @classmethod
    def open(cls, root: str | os.PathLike[str]) -> ParquetSource:
        """Look at the footers of a file or folder; no data is read.

        Raises
        ------
        SourceError
            If there is no such file, it is not Parquet, is damaged or encrypted, or the files of a folder have
            different columns.
        """
        path = Path(root)
        files = files_under(path, [".parquet"])
        schema: pa.Schema | None = None
        n_rows = 0
        for file in files:
            with reading(file.name):
                n_rows += sum(read_footer(file).row_groups)
                with _reader(file) as reader:
                    found = reader.schema_arrow.remove_metadata()
            schema = found if schema is None else schema
            if not schema.equals(found):
                raise SourceError(f"{file.name} has other columns or types than {files[0].name}; convert them first")
        assert schema is not None
        named = partition_schema(path, files)
        stamps = tuple(stamp_of(file) for file in files)
        return cls(path, files, pa.schema([*schema, *named]), stamps, tuple(named.names), n_rows=n_rows)

    def row_groups_of(self, file: Path) -> Sequence[tuple[int, int]]:
        """Number of each row group that is read of a file, and its rows."""
        with reading(file.name):
            return list(enumerate(read_footer(file).row_groups))

    def apart(self, columns: Sequence[str]) -> Iterator[list[str]]:
        """Groups of a few columns, of more where there are few rows: Arrow holds the different texts of a row group."""
        width = max(1, _APART_VALUES // max(1, min(self.n_rows, BATCH_ROWS)))
        for start in range(0, len(columns), width):
            yield list(columns[start : start + width])

    def loads(self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS) -> Iterator[Load]:
        """Columns of one file in loads of a row group, or of several where they are small."""
        first, found = 0, self.row_groups_of(file)
        for groups, n_rows in consecutive([rows for _, rows in found], BATCH_ROWS):
            numbers = [found[place][0] for place in groups]
            yield Load(first, n_rows, partial(self._load, file, columns, batch_rows, numbers, n_rows))
            first += n_rows

    def _load(
        self, file: Path, columns: Sequence[str], batch_rows: int, row_groups: Sequence[int], n_rows: int
    ) -> Iterator[dict[str, pa.Array]]:
        left = n_rows
        for batch in self.batches(file, columns, batch_rows, row_groups):
            left -= len(next(iter(batch.values())))
            yield batch
        if left:
            raise SourceError(f"{file.name} is damaged: it does not hold the rows that its footer announces")

    def _stored(
        self, file: Path, columns: Sequence[str], batch_rows: int, row_groups: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        with contextlib.ExitStack() as stack:
            with reading(file.name):
                raw, size = _footer_of(file)
                Footer.read(raw, size, file.name).refuse_bombs(columns, file, row_groups)
                # Each load opens the file again, and a footer grows with the number of loads.
                known = _metadata(raw) if len(raw) <= REMEMBERED_BYTES else None
                text = [name for name in columns if is_text(self.schema.field(name).type)]
                reader = stack.enter_context(_reader(file, text, known))
            with reading(file.name):
                batches = reader.iter_batches(
                    batch_size=batch_rows, row_groups=row_groups, columns=list(columns), use_threads=False
                )
            while True:
                with reading(file.name):
                    batch = next(batches, None)
                if batch is None:
                    return
                # A name may also select nested fields that start with it, so pick by exact name.
                yield batch.select([batch.schema.get_field_index(name) for name in columns])


def is_text(dtype: pa.DataType) -> bool:
    """Whether the reader can leave a column in dictionaries."""
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_binary(dtype))


def consecutive(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Consecutive positions whose sizes sum to at most ``most`` (or one position), and the sums."""
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
    """What the footer of a file says, if all of it hangs together."""
    raw, size = _footer_of(file)
    return Footer.read(raw, size, file.name)


def _footer_of(file: Path) -> tuple[bytes, int]:
    """The footer alone, and bytes of the whole file, after a look at the magic numbers around them."""
    name = file.name
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        head = stream.read(len(_ARROW[0]))
        if head.startswith(_ARROW):
            raise SourceError(
                f"{name} is an Arrow (Feather) file, which is not read; write it as Parquet first, for example with "
                "pandas.read_feather(...).to_parquet(...)"
            )
        head = head[: len(MAGIC)]
        if size < _MIN_BYTES or head not in (MAGIC, _ENCRYPTED):
            raise SourceError(f"{name} is not a Parquet file; convert it to Parquet first")
        stream.seek(-8, os.SEEK_END)
        (length,), tail = struct.unpack("<I", stream.read(4)), stream.read(4)
        if head == _ENCRYPTED or tail == _ENCRYPTED:
            raise SourceError(f"{name} is encrypted; decrypt it first")
        if tail != MAGIC or length > size - _MIN_BYTES:
            raise SourceError(f"{name} is cut off or damaged: it does not end like a Parquet file")
        if length > _FOOTER_BYTES and not is_trusted():
            raise SourceError(f"{name} has a footer of {length} bytes, more than {_FOOTER_BYTES}; {UNLESS}")
        stream.seek(size - 8 - length)
        return stream.read(length), size


@lru_cache(maxsize=2)
def _metadata(raw: bytes) -> pq.FileMetaData:
    """The reader's own view of a footer that hangs together."""
    alone = pa.BufferReader(MAGIC + raw + struct.pack("<I", len(raw)) + MAGIC)
    with pq.ParquetFile(alone, **_limits()) as reader:
        return reader.metadata


def _reader(
    file: Path, text_columns: Sequence[str] = (), metadata: pq.FileMetaData | None = None
) -> contextlib.AbstractContextManager[pq.ParquetFile]:
    """A reader of a file whose footer hangs together."""
    return open_parquet(
        file,
        metadata=metadata,
        read_dictionary=list(text_columns),
        page_checksum_verification=True,
        pre_buffer=False,
        buffer_size=_BUFFER_BYTES,
        **_limits(),
    )


def _limits() -> dict[str, Any]:
    return _NO_LIMITS if is_trusted() else _LIMITS


@contextlib.contextmanager
def open_parquet(file: Path, **settings: Any) -> Iterator[pq.ParquetFile]:
    """A reader of a file by its name, or of the opened file where the name is not text in UTF-8, as Arrow's are."""
    with contextlib.ExitStack() as stack:
        named: Path | BinaryIO = file
        try:
            str(file).encode()
        except UnicodeEncodeError:
            named = stack.enter_context(file.open("rb"))
        yield stack.enter_context(pq.ParquetFile(named, **settings))
