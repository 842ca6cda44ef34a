"""Reading Parquet as untrusted input: sizes guarded, checksums verified, errors without values."""

from __future__ import annotations

import contextlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._columns import check_type
from sanitize.errors import ColumnError, SourceChanged, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_MIN_BYTES = 12
# A footer describes columns and row groups; even thousands of both stay far below this.
_FOOTER_BYTES = 1 << 28
_FOOTER_STRING_BYTES = 1 << 27
_FOOTER_ITEMS = 1 << 24
# A column chunk that promises more than this out of a thousandth of it is a decompression bomb.
_BOMB_BYTES = 1 << 28
_BOMB_RATIO = 1000
BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class ParquetSource:
    """Files of one table: a Parquet file, or all ``*.parquet`` files under a folder, with one schema.

    Attributes
    ----------
    root : Path
        What the user named.
    files : tuple of Path
    schema : pyarrow.Schema
    n_rows : int
        Rows that the footers announce.
    """

    root: Path
    files: tuple[Path, ...]
    schema: pa.Schema
    n_rows: int
    _stamps: tuple[tuple[int, int, int], ...]

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
        files = _files(path)
        schema: pa.Schema | None = None
        n_rows = 0
        for file in files:
            with _reading(file):
                _check_regular(file)
                footer = _open(file)
            found = footer.schema_arrow.remove_metadata()
            if schema is None:
                schema = found
            elif not schema.equals(found):
                raise SourceError(f"{file.name} has other columns or types than {files[0].name}; convert them first")
            n_rows += footer.metadata.num_rows
            footer.close()
        assert schema is not None
        return cls(path, files, schema, n_rows, tuple(_stamp(file) for file in files))

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are absent, ambiguous or nested, before their data is touched."""
        names = self.schema.names
        for name in columns:
            found = names.count(name)
            if found == 0:
                raise ColumnError.absent(name, names)
            if found > 1:
                raise ColumnError(f"{self.root.name} has {found} columns named {name!r}; rename them first", name)
            check_type(self.schema.field(name).type, name)

    def label(self, file: Path) -> str:
        """Name of a file inside the source, for its random stream; empty for a single file."""
        return "" if file == self.root else file.relative_to(self.root).as_posix()

    def batches(
        self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS, row_groups: Sequence[int] | None = None
    ) -> Iterator[dict[str, pa.Array]]:
        """Columns of one file, or of some of its row groups, a batch at a time; text columns stay dictionaries."""
        with _reading(file):
            reader = _open(file, self._text(columns))
        with contextlib.closing(reader):
            _refuse_bombs(reader, columns, file)
            with _reading(file):
                batches = reader.iter_batches(batch_size=batch_rows, row_groups=row_groups, columns=list(columns))
            while True:
                with _reading(file):
                    batch = next(batches, None)
                if batch is None:
                    return
                # A name may also select nested fields that start with it, so pick by exact name.
                yield {name: batch.column(batch.schema.get_field_index(name)) for name in columns}

    def unchanged(self) -> None:
        """Refuse to go on when a file is not the one that was opened."""
        for file, stamp in zip(self.files, self._stamps, strict=True):
            if not file.exists() or _stamp(file) != stamp:
                raise SourceChanged(f"{file.name} changed while it was being read; nothing was released. Run again")

    def _text(self, columns: Sequence[str]) -> list[str]:
        types = {name: self.schema.field(name).type for name in columns}
        return [
            name
            for name, dtype in types.items()
            if pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_binary(dtype)
        ]


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        found = (file for file in path.rglob("*.parquet") if not file.is_dir())
        files = tuple(sorted(file for file in found if not _hidden(file.relative_to(path))))
        if not files:
            raise SourceError(f"the folder {path.name!r} holds no *.parquet files")
        return files
    if not path.exists():
        raise SourceError(f"no such file or folder: {path}")
    return (path,)


def _check_regular(file: Path) -> None:
    """Refuse pipes and devices, on which reading would wait or never end."""
    if file.exists() and not file.is_file():
        raise SourceError(f"{file.name} is not a regular file; write the data to a Parquet file first")


def _hidden(relative: Path) -> bool:
    return any(part.startswith((".", "_")) for part in relative.parts)


def _stamp(file: Path) -> tuple[int, int, int]:
    state = file.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino


def _open(file: Path, text_columns: Sequence[str] = ()) -> pq.ParquetFile:
    _check_frame(file)
    return pq.ParquetFile(
        file,
        read_dictionary=list(text_columns),
        page_checksum_verification=True,
        thrift_string_size_limit=_FOOTER_STRING_BYTES,
        thrift_container_size_limit=_FOOTER_ITEMS,
        pre_buffer=False,
    )


def _check_frame(file: Path) -> None:
    """Check the magic numbers and the length of the footer by hand, before a parser believes them."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        head = stream.read(4)
        if size < _MIN_BYTES or head not in (_MAGIC, _ENCRYPTED):
            raise SourceError(f"{file.name} is not a Parquet file; convert it to Parquet first")
        stream.seek(-8, os.SEEK_END)
        (length,), tail = struct.unpack("<I", stream.read(4)), stream.read(4)
    if head == _ENCRYPTED or tail == _ENCRYPTED:
        raise SourceError(f"{file.name} is encrypted; decrypt it first")
    if tail != _MAGIC or length > size - _MIN_BYTES + 4:
        raise SourceError(f"{file.name} is cut off or damaged: it does not end like a Parquet file")
    if length > _FOOTER_BYTES:
        raise SourceError(f"{file.name} has a footer of {length} bytes, more than any table needs; not read")


def _refuse_bombs(reader: pq.ParquetFile, columns: Sequence[str], file: Path) -> None:
    metadata = reader.metadata
    paths = [metadata.schema.column(j).path for j in range(metadata.num_columns)]
    # The reader takes every path that is a name or goes on after it with a dot, which may be part of a name.
    prefixes = tuple(f"{name}." for name in columns)
    wanted = [j for j, path in enumerate(paths) if path in columns or path.startswith(prefixes)]
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for j in wanted:
            chunk = row_group.column(j)
            if chunk.total_uncompressed_size > max(_BOMB_BYTES, _BOMB_RATIO * max(chunk.total_compressed_size, 1)):
                raise SourceError(
                    f"{file.name}: a column promises {chunk.total_uncompressed_size} bytes out of "
                    f"{chunk.total_compressed_size}; refused as a decompression bomb"
                )


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Errors of the reader as one sentence that quotes no bytes of the file."""
    try:
        yield
    except SourceError:
        raise
    except PermissionError:
        raise SourceError(f"{file.name} may not be read; check its permissions") from None
    except (pa.ArrowMemoryError, MemoryError):
        raise SourceError(f"{file.name} needs more memory than there is to decode") from None
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = "a page fails its checksum" if "checksum" in str(error).lower() else "it is damaged or not supported"
        raise SourceError(f"{file.name} cannot be read: {reason} ({type(error).__name__})") from None
