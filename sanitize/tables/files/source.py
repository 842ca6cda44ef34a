"""Tables in files as untrusted input: base class of Parquet and CSV sources."""

from __future__ import annotations

import contextlib
import lzma
import os
import re
import stat
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from sanitize._util.progress import advance
from sanitize.errors import ColumnError, SanitizeError, SourceChanged, SourceError
from sanitize.tables.columns import check_type, is_number_type, value_type
from sanitize.tables.files.description import NUMBERS, is_dated

# Usual number of rows in a row group, so that its dictionaries are examined only once.
BATCH_ROWS = 1 << 20
# Most values in memory per worker, 64 MB of numbers: batches of many columns have fewer rows.
_BATCH_VALUES = 1 << 23
# Exceptions of Python's decompressors on damaged files; they are of no common kind.
_UNPACKING = (zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


@dataclass(frozen=True)
class Numbers:
    """Columns of a text file to be read as numbers or dates.

    Attributes
    ----------
    columns : collection of str
        Columns that must be numbers because they have bins, or were numbers at fit.
    dates : collection of str
        Columns that are binned as dates, if they are not in the form of ISO 8601.
    is_inferred : callable, optional
        Whether the type of another column, given by name, is inferred from its values.
    """

    columns: Collection[str] = ()
    dates: Collection[str] = ()
    is_inferred: Callable[[str], bool] | None = None


# No conversion: all columns of a CSV file are text.
AS_STORED = Numbers()


@dataclass(frozen=True)
class Load:
    """Consecutive rows of a file, readable by any thread.

    Attributes
    ----------
    first : int
        Number of the first row among the rows read from the file.
    n_rows : int
    batches : function without arguments
        Reads the rows, yielding a batch of columns at a time.
    """

    first: int
    n_rows: int
    batches: Callable[[], Iterator[Mapping[str, pa.Array]]]


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Files of one table, read in batches as often as a release needs.

    Attributes
    ----------
    root : Path
        Path that the user named.
    files : tuple of Path
    schema : pyarrow.Schema
        Columns of the files, followed by the columns that their folders name.
    partitions : tuple of str
        Columns that come from the names of folders (``key=value``).
    n_rows : int
    weights : str or None
        Column of the weights of the rows.
    """

    root: Path
    files: tuple[Path, ...]
    schema: pa.Schema
    _stamps: tuple[tuple[int, int, int], ...] = ()
    partitions: tuple[str, ...] = ()
    n_rows: int = field(init=False, repr=False, compare=False)
    weights: str | None = field(default=None, kw_only=True)
    reads_on_demand: ClassVar[bool] = False  # whether a load reads the file each time that its batches are requested

    @property
    def is_on_disk(self) -> bool:
        """True if the input can be opened again by name; the content of a stream cannot."""
        return bool(self._stamps)

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if known without reading them again."""
        return vars(self).get("n_rows")

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are missing, ambiguous or nested, before reading their data."""
        times = Counter(self.schema.names)
        if absent := [name for name in columns if name not in times]:
            raise self.absent(absent)
        for name in columns:
            if times[name] > 1:
                raise ColumnError(f"{self.root.name} has {times[name]} columns named {name!r}; rename them first", name)
            check_type(self.schema.field(name).type, name)

    @property
    def readable_columns(self) -> list[str]:
        """Names of the columns that pass `check`."""
        names = []
        for name in dict.fromkeys(self.schema.names):
            with contextlib.suppress(ColumnError):
                self.check([name])
                names.append(name)
        return names

    def with_types(self, types: Mapping[str, str]) -> Source:
        """Return the same table with columns converted to their described types; numeric codes become unordered values.

        Raises
        ------
        ColumnError
            If a column is absent, or is stored as a type that contradicts its description.
        """
        if absent := [name for name in types if name not in self.schema.names]:
            raise self.absent(absent)
        fields = [apply_kind(field, types.get(field.name)) for field in self.schema]
        return self if fields == list(self.schema) else replace(self, schema=pa.schema(fields))

    def with_numbers(self, numbers: Numbers) -> Source:
        """Return the same table, with more text columns read as numbers."""
        return self

    def absent(self, columns: Sequence[str]) -> ColumnError:
        """Error for missing columns."""
        return ColumnError.absent(columns, self.schema.names)

    def label(self, file: Path) -> str:
        """Name of a file inside the source, for its random stream; empty for a single file."""
        return "" if file == self.root else file.relative_to(self.root).as_posix()

    def batches(
        self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS, row_groups: Sequence[int] | None = None
    ) -> Generator[dict[str, pa.Array], None, None]:
        """Yield batches of columns of one file, or of some of its row groups; text columns stay dictionaries."""
        stored = [name for name in columns if name not in self.partitions]
        batch_rows = min(batch_rows, max(1, _BATCH_VALUES // max(1, len(stored))))
        for batch in self._file_batches(file, stored, batch_rows, row_groups):
            arrays = {name: batch.column(j) for j, name in enumerate(stored)}
            self._check_folders(file, arrays)
            if self.partitions:
                arrays |= self._folder_columns(file, batch.num_rows)
            for name in columns:
                described, dtype = self.schema.field(name).type, arrays[name].type
                if pa.types.is_dictionary(described) and not pa.types.is_dictionary(dtype):  # numeric codes
                    arrays[name] = arrays[name].dictionary_encode()
            yield {name: arrays[name] for name in columns}
            advance(batch.num_rows)

    def _check_folders(self, file: Path, arrays: Mapping[str, pa.Array]) -> None:
        """Refuse a file with a column whose values differ from the value in the name of its folder."""
        for name, text in _values(self.root, file) if self.root.is_dir() else ():
            if name not in arrays:
                continue
            values = arrays[name].unique().drop_null().cast(value_type(arrays[name].type))
            if any(str(value) != text and not _is_same_number(value, text) for value in values.to_pylist()):
                fault = "contradicts the value in the name of its folder; move the file or rename the folder"
                raise ColumnError.fault(name, f"in {file.name} {fault}")

    def _folder_columns(self, file: Path, n_rows: int) -> dict[str, pa.Array]:
        """Columns named by the folders in which a file lies, as dictionaries with one value."""
        texts, arrays = dict(_values(self.root, file)), {}
        for name in self.partitions:
            dtype, text = self.schema.field(name).type, texts[name]
            value = int(text) if text is not None and pa.types.is_integer(dtype) else text
            values = pa.array([] if value is None else [value], dtype)
            mask = np.full(n_rows, value is None)
            arrays[name] = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32), mask=mask), values)
        return arrays

    def loads(self, file: Path, columns: Sequence[str], batch_rows: int = BATCH_ROWS) -> Iterator[Load]:
        """Yield columns of one file in independent loads; the rows of a stream are in memory already."""
        first = 0
        for batch in self.batches(file, columns, batch_rows):
            n_rows = len(next(iter(batch.values())))
            yield Load(first, n_rows, partial(iter, (batch,)))
            first += n_rows

    def column_groups(self, columns: Sequence[str]) -> Iterator[list[str]]:
        """Yield groups of columns; reading one group after another takes less memory."""
        if columns:
            yield list(columns)

    @abstractmethod
    def _file_batches(
        self, file: Path, columns: Sequence[str], batch_rows: int, row_groups: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the given columns of one file in batches, in this order; without columns, batches only count rows."""

    def check_unchanged(self) -> None:
        """Refuse to continue if a file has changed since it was opened."""
        for file, stamp in zip(self.files if self.is_on_disk else (), self._stamps, strict=True):
            if not file.exists() or file_stamp(file) != stamp:
                raise SourceChanged(f"{file.name} changed while it was being read; nothing was released. Run again")


def _is_same_number(value: Any, text: str | None) -> bool:
    try:
        return bool(float(value) == float(text or "nan"))
    except (TypeError, ValueError):
        return False


def apply_kind(field: pa.Field, kind: str | None) -> pa.Field:
    """Convert a column of a typed table to its described type."""
    dtype = value_type(field.type)
    is_number, is_date = is_number_type(dtype), pa.types.is_temporal(dtype)
    if (kind in NUMBERS and not is_number) or (kind is not None and is_dated(kind) and not is_date):
        message = (
            f"column {field.name!r} is stored as {dtype}, not as the type {kind!r} in its description; correct one of "
            "them"
        )
        raise ColumnError(message, field.name)
    if kind in ("code", "category") and is_number:
        return pa.field(field.name, pa.dictionary(pa.int32(), dtype))
    return field


def check_same_columns(file: Path, names: Sequence[str], first: Path, first_names: Sequence[str]) -> None:
    """Refuse a file of a folder whose columns differ from the columns of the first file, in any order.

    Raises
    ------
    SourceError
        The message names a column that the file lacks or has in addition.
    """
    expected, found = Counter(first_names), Counter(names)
    lacking, more = [*expected - found], [*found - expected]
    if not lacking and not more:
        return
    what = f"no column {lacking[0]!r}" if lacking else f"an additional column {more[0]!r}"
    raise SourceError(f"{file.name} has {what}, compared with {first.name}; give all files the same columns")


def files_under(path: Path, suffixes: Sequence[str]) -> tuple[Path, ...]:
    """Return the named file or, for a folder, all files under it with a suffix of the list, except hidden files."""
    if path.is_dir():
        files = tuple(sorted(file for file in _entries(path) if file.name.lower().endswith(tuple(suffixes))))
        if not files:
            raise SourceError(f"the folder {path.name!r} has no {' or '.join(f'*{end}' for end in suffixes)} files")
    elif not path.exists():
        raise SourceError(f"no such file or folder: {path}; check the name")
    else:
        files = (path,)
    for file in files:
        with reading(file.name):
            check_regular(file)
    return files


def _entries(folder: Path) -> Iterator[Path]:
    """List all files under a folder except hidden ones; refuse an unreadable folder, whose rows would be missing."""
    try:
        seen = (entry for entry in sorted(folder.iterdir()) if not entry.name.startswith((".", "_")))
        entries = [(entry, _is_folder(entry)) for entry in seen]
    except OSError as error:
        raise SourceError(
            f"the folder {folder.name!r} cannot be entered ({error.strerror}); no row was read. Check its permissions"
        ) from None
    for entry, is_folder in entries:
        if not is_folder:
            yield entry
        elif entry.is_symlink():
            raise SourceError(
                f"{entry.name!r} in the folder {folder.name!r} is a link to a folder, whose rows would be left "
                "out or read twice; replace the link by the folder itself"
            )
        else:
            yield from _entries(entry)


def _is_folder(entry: Path) -> bool:
    """Return whether a path is a folder; raise an error if this is unknown, unlike `is_dir` of newer Pythons."""
    try:
        return stat.S_ISDIR(entry.stat().st_mode)
    except FileNotFoundError:  # a broken link
        return False


def check_regular(file: Path) -> None:
    """Refuse pipes and devices, on which reading would wait or never end."""
    if file.exists() and not file.is_file():
        raise SourceError(f"{file.name} is not a regular file (for example a pipe); write the data to a file first")


def file_stamp(file: Path) -> tuple[int, int, int]:
    """Stamp of a file that changes when the file is modified."""
    state = file.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino


def read_small_file(file: Path, most: int = 1 << 28) -> bytes:
    """Read a small regular file as a whole.

    Raises
    ------
    SourceError
        If the file cannot be read or has more than ``most`` bytes; the message starts with the name of the file.
    """
    with reading(file.name):
        check_regular(file)
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size > most:  # reading with a large limit would allocate all of it
                raise SourceError(f"{file.name} is longer than {most >> 20} MiB; it was not read")
            return stream.read()


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Convert errors of a reader to a sentence that quotes no bytes of the file."""
    try:
        yield
    except SanitizeError:
        raise
    except PermissionError:
        raise SourceError(f"{name} cannot be read for lack of permission; check its permissions") from None
    except (pa.ArrowMemoryError, MemoryError):
        raise SourceError(f"{name} needs more memory than is available; split it into smaller files") from None
    except (pa.ArrowException, OSError, EOFError, ValueError, KeyError, *_UNPACKING) as error:
        if isinstance(error, OSError) and error.errno:  # Arrow's errors on content have none
            raise SourceError(f"{name} cannot be read ({os.strerror(error.errno)}); check the file") from None
        reason = "a page fails its checksum" if "checksum" in str(error).lower() else "it is damaged or not supported"
        raise SourceError(f"{name} cannot be read: {reason} ({type(error).__name__}); write it again") from None


def partition_schema(root: Path, files: Sequence[Path], file_columns: Collection[str] = ()) -> pa.Schema:
    """Columns from the names of the files' folders, as in ``year=2024/part.parquet``; none without such folders.

    A column is numeric if every value is a plain whole number, otherwise text. The name ``__HIVE_DEFAULT_PARTITION__``
    is a missing value. Values may be percent-encoded. Columns that the files contain (``file_columns``) are read from
    the files.

    Raises
    ------
    SourceError
        If the folders do not name the same columns in the same order for all files.
    """
    if not root.is_dir():
        return pa.schema([])
    folders = [_values(root, file) for file in files]
    names = [name for name, _ in folders[0]]
    if any([name for name, _ in values] != names for values in folders):
        raise SourceError(
            f"the folders under {root.name!r} do not name the same columns for every file, as in year=2024; rename them"
        )
    if len(set(names)) < len(names):
        raise SourceError(f"the folders under {root.name!r} name a column twice; rename one of them")
    fields = []
    for j, name in enumerate(names):
        if name in file_columns:
            continue
        texts = {values[j][1] for values in folders} - {None}
        whole = bool(texts) and all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text) for text in texts if text is not None)
        fields.append(pa.field(name, pa.int64() if whole else pa.string()))
    return pa.schema(fields)


def _values(root: Path, file: Path) -> list[tuple[str, str | None]]:
    """Columns and values named by the folders between root and file; names without = are ignored."""
    pairs: list[tuple[str, str | None]] = []
    for part in file.relative_to(root).parts[:-1]:
        name, equals, value = part.partition("=")
        if not equals:
            continue
        try:
            name, text = unquote(name, errors="strict"), unquote(value, errors="strict")
            (name + text).encode()
        except UnicodeError:
            raise SourceError(f"a folder under {root.name!r} has a name that is not valid UTF-8; rename it") from None
        pairs.append((name, None if text == "__HIVE_DEFAULT_PARTITION__" else text))
    return pairs
