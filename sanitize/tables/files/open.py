"""Functions that open tables by file type, and the targets that releases are written to."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeGuard, cast

import pyarrow as pa

from sanitize._util.outputs import Outputs, exists_error, name_start, outputs, temporary_place, writing
from sanitize._util.progress import begin
from sanitize._util.system import HAS_LOCKS, take_lock
from sanitize.errors import InvalidParameter, SanitizeError, SourceError, TargetError
from sanitize.tables.files.csv import CSV_SUFFIXES, CsvSource, is_text_file
from sanitize.tables.files.description import TableDescription
from sanitize.tables.files.parquet import ParquetSource
from sanitize.tables.files.source import AS_STORED, Numbers, Source
from sanitize.tables.files.streams import COPY_BYTES, ArrowSource, Remote, Spool

SourceLike: TypeAlias = "str | os.PathLike[str] | BinaryIO | Source | Described"
TargetLike: TypeAlias = "str | os.PathLike[str] | BinaryIO | Among"


def to_path(name: str | os.PathLike[str], error: type[SanitizeError]) -> Path:
    """Convert a name to a path.

    Raises
    ------
    SanitizeError
        Of the given class, if no file can have this name (it contains NUL, is too long, or is a link to itself), or it
        is below a folder that may not be entered.
    """
    path = Path(name)
    try:
        path.stat()
    except (ValueError, OSError) as problem:
        # Errors that make a name unusable for any purpose; other errors are found when the file is opened.
        useless = {
            None: "cannot be the name of a file, because it contains a NUL character",
            errno.ENAMETOOLONG: "is too long for a file",
            errno.ELOOP: "is a link that leads around in a circle",
            errno.EACCES: "is below a folder that may not be entered",
        }
        if (number := getattr(problem, "errno", None)) in useless:
            raise error(f"{shorten_path(path)} {useless[number]}; name another file") from None
    return path


def is_address(name: object) -> TypeGuard[str]:
    """Return whether a name is an address in a store; only text can be one, as a Path never has a double slash."""
    return isinstance(name, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", name) is not None


def shorten_path(path: Path) -> str:
    """Last part of a path, shortened to fit on a line."""
    name = path.name or str(path)
    return repr(name if len(name) <= 60 else f"{name[:60]}...")


@dataclass(frozen=True)
class Target:
    """Target of a release: a file, or a folder of parts.

    Without overwriting, the first release gets the name: of several simultaneous releases to one target one is written.
    """

    path: Path
    as_folder: bool
    replaces: bool = True

    @classmethod
    def check(
        cls, target: str | os.PathLike[str], source: Path | None, *, force: bool, as_folder: bool | None = None
    ) -> Target:
        """Refuse targets that exist, are the input, or lie in a missing folder.

        A source of None is a stream or in memory. Unless ``as_folder`` is given, the two names decide whether the
        target is a folder.
        """
        path, of_files = to_path(target, TargetError), (".parquet", ".csv")
        target_path = path.resolve()
        if as_folder is None:
            as_folder = source is not None and source.is_dir() and path.suffix.lower() not in of_files
        if not as_folder and path.suffix.lower() not in ("", *of_files):
            raise TargetError(f"{path.name} has a suffix that cannot be written; name a .csv or .parquet file")
        if source is not None:
            source_path = source.resolve()
            inside = source.is_dir() and source_path in target_path.parents
            if source_path == target_path or inside or target_path in source_path.parents:
                raise TargetError(
                    f"{path.name or path} is the raw table, lies inside it or contains it; the raw table is never "
                    "modified. Choose another target"
                )
        if not target_path.parent.is_dir():
            raise TargetError(f"the folder of {path} does not exist; create it first")
        if force and path.is_symlink():
            raise TargetError(f"{path} is a link, so it was not replaced; name the file that it leads to")
        if path.exists():
            if not force:
                raise exists_error(path)
            if path.is_dir() != as_folder or not (path.is_dir() or stat.S_ISREG(path.stat().st_mode)):
                kind = "a folder" if as_folder else "a regular file"
                raise TargetError(f"{path} exists and is not {kind}; it was not replaced. Choose another name")
        return cls(path, as_folder, force)

    @property
    def is_csv(self) -> bool:
        """True if the target is a CSV file."""
        return not self.as_folder and self.path.suffix.lower() == ".csv"

    def clear_stale(self) -> None:
        """Remove files of interrupted earlier releases to this target; running releases are protected by a lock."""
        pattern = re.compile(rf"\.{re.escape(name_start(self.path))}\.[0-9a-f]{{8}}\.(tmp|tmp\.gone|old)")
        if not HAS_LOCKS:  # without locks, remnants cannot be distinguished from files of a running release
            return
        with writing(self.path):
            entries = [entry for entry in os.scandir(self.path.parent) if pattern.fullmatch(entry.name)]
        for entry in entries:
            with contextlib.suppress(OSError):
                claim = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if take_lock(claim):
                        (shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.unlink)(entry.path)
                finally:
                    os.close(claim)


@dataclass(frozen=True)
class Among:
    """Target that becomes visible together with the other outputs of a run.

    Attributes
    ----------
    target : path or binary stream
    outputs : Outputs
    """

    target: str | os.PathLike[str] | BinaryIO
    outputs: Outputs


@dataclass(frozen=True)
class Described:
    """File, folder, stream or table with its owner's description.

    Attributes
    ----------
    source : path, binary stream or table
    description : TableDescription
    infers_header : bool
        Whether a first line that looks like a row is read as a row.
    """

    source: Any
    description: TableDescription
    infers_header: bool = False


def attach_description(source: SourceLike, description: TableDescription | None) -> SourceLike:
    """Return an input with a description of its format; an empty description changes nothing.

    Raises
    ------
    InvalidParameter
        If the source is open already.
    """
    details = TableDescription.coerce(description)
    if details == TableDescription():
        return source
    if isinstance(source, (Source, Described)):
        raise InvalidParameter("the table was opened with its own description; leave out description=")
    return Described(source, details)


def describe_release(name: str | os.PathLike[str]) -> SourceLike:
    """Return a released file with its format described, so that its first rows do not affect how it is read."""
    plain = TableDescription(delimiter=",", header=True)
    return Described(name, plain) if _is_csv(to_path(name, SourceError)) else name


@contextlib.contextmanager
def open_source(source: SourceLike, numbers: Numbers = AS_STORED) -> Iterator[Source]:
    """Open a table from a path or address, a stream of CSV bytes, or Arrow batches; suffixes decide the format.

    Parameters
    ----------
    source : path, address, binary stream, frame, stream of Arrow's record batches, or Source
        Table to open; a Source is returned as it is.
    numbers : Numbers
        Columns to read as numbers or dates, because a text file does not state types.
    """
    request = source if isinstance(source, Described) else Described(source, TableDescription())
    source, weights = request.source, request.description.weights
    if weights is not None:
        numbers = replace(numbers, columns=(*numbers.columns, weights))
    with contextlib.ExitStack() as stack:
        if isinstance(source, Source):
            table = source.with_numbers(numbers)
        elif hasattr(source, "read") and not hasattr(source, "get_chunk"):  # pandas reads tables in chunks
            if isinstance(source.read(0), str):
                raise InvalidParameter("the stream must yield bytes, not text; give, for example, sys.stdin.buffer")
            spool = stack.enter_context(Spool(partial(shutil.copyfileobj, cast(BinaryIO, source), length=COPY_BYTES)))
            table = CsvSource.open(spool, numbers, request.description, infers_header=request.infers_header)
        elif is_address(source):
            table = _open_path(stack.enter_context(Remote.from_address(source, SourceError).fetch()), numbers, request)
        elif isinstance(source, (str, os.PathLike)):
            table = _open_path(to_path(source, SourceError), numbers, request)
        else:
            _refuse_of_text("this table", request.description, InvalidParameter)
            table = stack.enter_context(ArrowSource.open(source)).with_types(request.description.types)
        if weights is not None:
            table.check([weights])
            table = replace(table, weights=weights)
        yield table


def _open_path(path: Path, numbers: Numbers, request: Described) -> Source:
    """Open the table at a path, as CSV or Parquet."""
    if _is_csv(path):
        return CsvSource.open(path, numbers, request.description, infers_header=request.infers_header)
    if path.exists():
        _refuse_of_text(path.name, request.description, SourceError)
    return ParquetSource.open(path).with_types(request.description.types)


def _refuse_of_text(what: str, description: TableDescription, error: type[SanitizeError]) -> None:
    """Refuse settings that apply only to text files."""
    for name in ("delimiter", "header", "missing", "decimal", "thousands"):
        if getattr(description, name) is not None:
            raise error(f"{name} is a setting of text files and does not apply to {what}; leave out {name}")


def _is_csv(path: Path) -> bool:
    if not path.is_dir():
        return is_text_file(path.name)
    names = [file.name.lower() for file in path.rglob("*")]
    return not any(name.endswith(".parquet") for name in names) and any(name.endswith(CSV_SUFFIXES) for name in names)


def whole_table(source: SourceLike, columns: Sequence[str] = (), also: Sequence[str] | None = ()) -> pa.Table:
    """Read a table into memory, with columns of a CSV file as numbers if every value is a number.

    Parameters
    ----------
    source : path, binary stream or Source
    columns : sequence of str
        Columns that must exist.
    also : sequence of str, optional
        Further columns, which are read if they exist; None for all.
    """
    with open_source(source, Numbers(is_inferred=lambda _: True)) as table:
        names = table.schema.names
        more = names if also is None else [name for name in also if name in names]
        wanted = list(dict.fromkeys([*columns, *more]))
        table.check(wanted)
        begin(table.known_rows)
        batches = [batch for file in table.files for batch in table.batches(file, wanted)]
        types = {name: batches[0][name].type if batches else table.schema.field(name).type for name in wanted}
        return pa.table({n: pa.chunked_array([b[n] for b in batches], dtype) for n, dtype in types.items()})


def open_target(
    target: TargetLike, source: SourceLike, *, force: bool
) -> tuple[Target | BinaryIO, contextlib.AbstractContextManager[Outputs]]:
    """Return a target or stream to write, and a context with the outputs that become visible together with it."""
    if isinstance(target, Among):
        return open_target(target.target, source, force=force)[0], contextlib.nullcontext(target.outputs)
    if is_address(target):
        return _stage_for_store(Remote.from_address(target, TargetError), force=force)
    place = target if hasattr(target, "write") else Target.check(target, _root(source), force=force)
    return cast("Target | BinaryIO", place), outputs()


def _stage_for_store(remote: Remote, *, force: bool) -> tuple[Target, contextlib.AbstractContextManager[Outputs]]:
    """Return a local target, and a context of outputs that copies a complete file to the store at its end."""
    folder = Path(temporary_place(), f"sanitize-{secrets.token_hex(8)}")
    checked = Target.check(folder.with_suffix(Path(remote.name).suffix), None, force=False)
    place = replace(checked, path=folder / remote.name)
    remote.check_free(replaces=force)

    @contextlib.contextmanager
    def copy_outputs() -> Iterator[Outputs]:
        folder.mkdir(mode=0o700)
        try:
            with outputs() as files:
                yield files
            remote.upload(place.path, replaces=force)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return place, copy_outputs()


def _root(source: SourceLike) -> Path | None:
    """File or folder of an input; None for a stream."""
    source = source.source if isinstance(source, Described) else source
    if isinstance(source, Source):
        return source.root if source.is_on_disk else None
    if is_address(source) or not isinstance(source, (str, os.PathLike)):
        return None
    return to_path(source, SourceError)
