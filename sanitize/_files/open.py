"""Which kind of file a name or stream stands for."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

import pyarrow as pa

from sanitize._files.csv import CSV_SUFFIXES, CsvSource
from sanitize._files.csv_stream import is_delimiter
from sanitize._files.names import path_of
from sanitize._files.numbers import AS_STORED, Numbers
from sanitize._files.outputs import Outputs, outputs
from sanitize._files.parquet import ParquetSource
from sanitize._files.source import Source
from sanitize._files.spool import Spool
from sanitize._files.target import Target
from sanitize.errors import InvalidParameter, SourceError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    SourceLike: TypeAlias = "str | os.PathLike[str] | BinaryIO | Source | Delimited"
    TargetLike: TypeAlias = "str | os.PathLike[str] | BinaryIO | Among"


@dataclass(frozen=True)
class Among:
    """A target that appears together with other outputs of a run.

    Attributes
    ----------
    target : path or binary stream
    outputs : Outputs
    """

    target: str | os.PathLike[str] | BinaryIO
    outputs: Outputs


@dataclass(frozen=True)
class Delimited:
    """A CSV file, folder or stream with the name of what stands between its fields.

    Attributes
    ----------
    source : path or binary stream
    delimiter : str
    """

    source: str | os.PathLike[str] | BinaryIO
    delimiter: str


def delimited(source: SourceLike, delimiter: str | None) -> SourceLike:
    """A source, and what stands between its fields where that was named.

    Raises
    ------
    InvalidParameter
        If it is no sign that can stand there, or the source is open already.
    """
    if delimiter is None:
        return source
    if not (isinstance(delimiter, str) and is_delimiter(delimiter)):
        got = repr(delimiter[:10]) if isinstance(delimiter, str) else type(delimiter).__name__
        raise InvalidParameter(f'delimiter must be one sign that stands between fields, as ";", got {got}')
    if isinstance(source, (Source, Delimited)):
        raise InvalidParameter("this source is open already, with a delimiter of its own; leave delimiter out")
    return Delimited(source, delimiter)


@contextlib.contextmanager
def open_source(source: SourceLike, numbers: Numbers = AS_STORED) -> Iterator[Source]:
    """Table of a path, by its suffix (a folder's by what it holds), or of a stream of CSV.

    Parameters
    ----------
    source : path, binary stream or Source
        A Source is open already.
    numbers : Numbers
        Columns that are numbers, which a CSV file does not know.
    """
    if isinstance(source, Source):
        yield source.with_numbers(numbers)
        return
    source, delimiter = (source.source, source.delimiter) if isinstance(source, Delimited) else (source, None)
    if hasattr(source, "read"):
        if isinstance(source.read(0), str):
            raise InvalidParameter("a stream must be opened for bytes, for example sys.stdin.buffer")
        with Spool(cast(BinaryIO, source)) as spool:
            yield CsvSource.open(spool, numbers, delimiter)
        return
    path = path_of(source, SourceError)
    if delimiter is not None and path.exists() and not _is_csv(path):
        raise SourceError(f"{path.name} is no CSV file, so it has no delimiter; leave it out")
    yield CsvSource.open(path, numbers, delimiter) if _is_csv(path) else ParquetSource.open(path)


def _is_csv(path: Path) -> bool:
    if not path.is_dir():
        return path.name.lower().endswith(CSV_SUFFIXES)
    names = [file.name.lower() for file in path.rglob("*")]
    return not any(name.endswith(".parquet") for name in names) and any(name.endswith(CSV_SUFFIXES) for name in names)


def whole_table(source: SourceLike, columns: Sequence[str] = (), also: Sequence[str] | None = ()) -> pa.Table:
    """A table in memory, with columns of a CSV file as numbers where every value is written as one.

    Parameters
    ----------
    source : path, binary stream or Source
    columns : sequence of str
        Columns that must be there.
    also : sequence of str, optional
        Others that are read where they are there; None for all.
    """
    with open_source(source, Numbers(found=lambda _: True)) as table:
        there = table.schema.names
        more = there if also is None else [name for name in also if name in there]
        wanted = list(dict.fromkeys([*columns, *more]))
        table.check(wanted)
        batches = [batch for file in table.files for batch in table.batches(file, wanted)]
        types = {name: batches[0][name].type if batches else table.schema.field(name).type for name in wanted}
        return pa.table({n: pa.chunked_array([b[n] for b in batches], dtype) for n, dtype in types.items()})


def open_target(
    target: TargetLike, source: SourceLike, *, force: bool
) -> tuple[Target | BinaryIO, contextlib.AbstractContextManager[Outputs]]:
    """A target that may be written to, or a stream, and the outputs that it appears with: its own where it has none."""
    if isinstance(target, Among):
        return open_target(target.target, source, force=force)[0], contextlib.nullcontext(target.outputs)
    place = target if hasattr(target, "write") else Target.check(target, _root(source), force=force)
    return cast("Target | BinaryIO", place), outputs()


def _root(source: SourceLike) -> Path | None:
    """File or folder of a source; None for a stream."""
    source = source.source if isinstance(source, Delimited) else source
    if isinstance(source, Source):
        return None if isinstance(source, CsvSource) and source.spool is not None else source.root
    return None if hasattr(source, "read") else path_of(source, SourceError)
