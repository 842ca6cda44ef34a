"""Tables without local files: frames, streams (copied to an unnamed file), and tables in stores."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from sanitize._util.outputs import exists_error, temporary_place, writing
from sanitize.errors import SanitizeError, SourceError
from sanitize.tables.columns import as_arrow
from sanitize.tables.files.parquet import is_text, read_footer
from sanitize.tables.files.source import Source, reading
from sanitize.tables.frame import Table, cast_to_schema, check_any, is_dataset, is_stream, join_schemas, open_readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import WriteableBuffer

# Bytes per step of a copy: enough that the disk, not Python, is the bottleneck.
COPY_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class ArrowSource(Source):
    """A frame in memory, or the content of a stream of Arrow record batches.

    Attributes
    ----------
    read : function without arguments
        Reads all rows from the first on.
    """

    n_rows: int = field(kw_only=True)
    read: Callable[[], Iterable[pa.RecordBatch]] = field(kw_only=True)

    @classmethod
    @contextlib.contextmanager
    def open(cls, native: Any) -> Iterator[ArrowSource]:
        """Open a frame, or read a whole stream, which can be read only once.

        Raises
        ------
        ColumnError
            If the object is neither, two columns of a frame have the same name, the tables of an iterator differ, or a
            stream has no rows, perhaps because it was read before.
        SourceError
            If a stream cannot be read, or there is no room for its rows.
        """
        path = Path(Spool.name)
        if not is_stream(native):
            table = Table.from_native(native).to_arrow()
            yield cls(path, (path,), table.schema.remove_metadata(), n_rows=len(table), read=table.to_batches)
            return
        with contextlib.ExitStack() as stack:
            with reading(path.name):
                _check_files(native)
                rows: Counter[pa.Schema] = Counter()
                spool = stack.enter_context(Spool(partial(_keep, native, rows)))
            check_any(rows.total())
            read = partial(_reread_batches, spool)
            yield cls(path, (path,), join_schemas(list(rows)), n_rows=rows.total(), read=read)

    def _file_batches(
        self, file: Path, columns: Sequence[str], batch_rows: int, row_groups: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in columns])
        tables: list[pa.Table] = []
        n_held = 0
        for batch in self.read():
            for start in range(0, batch.num_rows, batch_rows):
                rows = pa.Table.from_batches([batch.slice(start, batch_rows)])
                part = cast_to_schema(rows.select(list(columns)), schema)
                if n_held + len(part) > batch_rows:
                    yield from _join_tables(tables)
                    tables, n_held = [], 0
                tables.append(part)
                n_held += len(part)
        yield from _join_tables(tables)


def _check_files(stream: Any) -> None:
    """Check the footers of the Parquet files in a data set, because Arrow trusts the sizes in them."""
    for fragment in stream.get_fragments() if is_dataset(stream) else ():
        if getattr(fragment, "path", None) is None:  # a data set in memory
            continue
        if not (fragment.format.default_extname == "parquet" and isinstance(fragment.filesystem, LocalFileSystem)):
            raise SourceError(
                "a data set must consist of Parquet files on this machine; for any other data set that you trust, give "
                "dataset.scanner().to_reader()"
            )
        read_footer(Path(fragment.path)).refuse_bombs(stream.schema.names, Path(fragment.path), None)


def _keep(stream: Any, rows: Counter[pa.Schema], file: BinaryIO) -> None:
    """Write all batches of a stream to the spool, grouped by table, and count the rows."""
    for reader in open_readers(stream):
        rows[reader.schema] += 0
        with pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows[reader.schema] += batch.num_rows


def _reread_batches(spool: Spool) -> Iterator[pa.RecordBatch]:
    """Yield the batches that `_keep` wrote to the spool."""
    file = spool.open()
    while file.peek(1):
        yield from pa.ipc.open_stream(pa.PythonFile(file, mode="r"))


def _join_tables(tables: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield few record batches with the rows of all tables, and with text in dictionaries."""
    with contextlib.suppress(pa.ArrowException):  # Arrow cannot join different dictionaries with missing values
        tables = [pa.concat_tables(tables).combine_chunks()] if len(tables) > 1 else tables
    for batch in (batch for table in tables for batch in table.to_batches()):
        names = batch.schema.names
        plain = [as_arrow(column, name) for name, column in zip(names, batch.columns, strict=True)]
        yield pa.record_batch([c.dictionary_encode() if is_text(c.type) else c for c in plain], names)


class Spool(contextlib.AbstractContextManager["Spool"]):
    """Copy of a stream in an unnamed temporary file, readable by this process only.

    The file has no name, from its creation on if the system allows it, so the file disappears when the process ends,
    even by a crash. It takes room in the folder for temporary files (``TMPDIR``).
    """

    name = "the input stream"

    def __init__(self, fill: Callable[[BinaryIO], object]) -> None:
        self._file = tempfile.TemporaryFile(dir=temporary_place())  # noqa: SIM115 - it lives as long as the spool
        try:
            fill(cast(BinaryIO, self._file))
            self._file.flush()
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError) and error.errno is not None:  # Arrow's own errors have none
                reason = os.strerror(error.errno)
                raise SourceError(
                    f"{self.name} cannot be kept in a temporary file ({reason}); set TMPDIR to a folder with more room"
                ) from None
            raise

    def open(self) -> io.BufferedReader:
        """Open a reader that starts at the beginning and has its own position."""
        return io.BufferedReader(_Reader(self._file.fileno()), COPY_BYTES)

    def __exit__(self, *_: object) -> None:
        self._file.close()


class _Reader(io.RawIOBase):
    """Reader with a position of its own in a file that stays open."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position}.get(whence)
        self._position = offset + (os.fstat(self._descriptor).st_size if base is None else base)
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        got = os.pread(self._descriptor, len(view), self._position)
        view[: len(got)] = got
        self._position += len(got)
        return len(got)


@dataclass(frozen=True)
class Remote:
    """File or folder in a store, given by its address, which is never shown because it may contain a password."""

    store: FileSystem = field(repr=False)
    path: str

    @classmethod
    def from_address(cls, address: str, error: type[SanitizeError]) -> Remote:
        """Connect to the store of an address, and find the path in it.

        Raises
        ------
        SanitizeError
            Of the given class, if pyarrow knows no such store.
        """
        try:
            return cls(*FileSystem.from_uri(address))
        except (pa.ArrowException, OSError, ValueError, ImportError):  # these errors quote the address
            kind = address.partition("://")[0]
            raise error(
                f"the address {kind}://... names no store that pyarrow.fs can reach; check the address"
            ) from None

    @property
    def name(self) -> str:
        """Last part of the path in the store."""
        return PurePosixPath(self.path).name

    @contextlib.contextmanager
    def fetch(self) -> Iterator[Path]:
        """Copy the file or folder to a private local copy, which is deleted at the end of the ``with`` block."""
        with tempfile.TemporaryDirectory(dir=temporary_place()) as folder:
            root = Path(folder) / (self.name or "the store")
            with reading(root.name):
                for info in self._files():
                    inner = PurePosixPath(info.path).relative_to(self.path)
                    if ".." in inner.parts:
                        raise SourceError(f"{root.name} contains a file whose path leads out of it; rename the file")
                    (root / inner).parent.mkdir(parents=True, exist_ok=True)
                    with self.store.open_input_stream(info.path) as stream, (root / inner).open("xb") as copy:
                        shutil.copyfileobj(stream, copy, COPY_BYTES)
            yield root

    def _files(self) -> list[FileInfo]:
        info = self.store.get_file_info(self.path)
        if info.type != FileType.Directory:
            return [info]
        return [entry for entry in self.store.get_file_info(FileSelector(self.path, recursive=True)) if entry.is_file]

    def upload(self, file: Path, *, replaces: bool) -> None:
        """Copy a file to the store, under a temporary name until the copy is complete."""
        hidden = f"{self.path}.{secrets.token_hex(4)}.tmp"
        self.check_free(replaces=replaces)
        with writing(Path(self.name)):
            try:
                with file.open("rb") as source, self.store.open_output_stream(hidden) as stream:
                    shutil.copyfileobj(source, stream, COPY_BYTES)
                self.store.move(hidden, self.path)
            except BaseException:
                with contextlib.suppress(OSError, pa.ArrowException):
                    self.store.delete_file(hidden)
                raise

    def check_free(self, *, replaces: bool) -> None:
        """Refuse a target that exists already."""
        with writing(Path(self.name)):
            if not replaces and self.store.get_file_info(self.path).type != FileType.NotFound:
                raise exists_error(self.name)
