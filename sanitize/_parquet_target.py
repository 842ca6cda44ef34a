"""Writing released columns: a schema built anew, dictionaries of released values, all or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from sanitize._version import __version__
from sanitize.errors import SanitizeError, TargetError, TargetExists

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sanitize.report import LeakageReport

ROW_GROUP_ROWS = 1 << 20
_SUMMARY_BYTES = 2048


def released_schema(source: pa.Schema, columns: Mapping[str, pa.Array]) -> pa.Schema:
    """Schema of the output: no metadata of the source, every column nullable.

    Text is written from dictionaries; the file itself names the plain type only. Numbers and dates keep their
    type where what is printed is a value and not a label.
    """
    fields = []
    for name, array in columns.items():
        dtype = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            dtype = pa.dictionary(pa.int32(), dtype)
        elif name in source.names:
            wanted = source.field(name).type
            dtype = wanted.value_type if pa.types.is_dictionary(wanted) else wanted
        fields.append(pa.field(name, dtype))
    return pa.schema(fields)


def summary(report: LeakageReport, rows: str) -> bytes:
    """What the file says about itself: verdict, budget and figures; no symbols and no counts."""
    text = {
        "sanitize": __version__,
        "mechanism": report.facts.mechanism,
        "budget": repr(report.budget),
        "within_budget": report.ok,
        "max_log_lift": report.summary["max_log_lift"],
        "min_log_lift": str(report.summary["min_log_lift"]),
        "normalized_utility": report.summary["normalized_utility"],
        "rows": rows,
    }
    packed = json.dumps(text).encode()
    if len(packed) > _SUMMARY_BYTES:  # a budget of the user's own may have a long name
        packed = json.dumps({**text, "budget": type(report.budget).__name__[:100]}).encode()
    return packed


class ReleaseWriter:
    """Parquet writer that lets nothing through but released columns."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, footer: bytes) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(
            stream,
            schema,
            store_schema=False,
            compression="zstd",
            use_dictionary=True,
            write_statistics=True,
            write_page_checksum=True,
        )
        self._writer.add_key_value_metadata({"sanitize": footer})

    def write(self, columns: Mapping[str, pa.Array]) -> None:
        """Write one row group."""
        arrays = [_as_type(columns[field.name], field.type) for field in self._schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROW_GROUP_ROWS)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()

    def abandon(self) -> None:
        """Let go of a file that is thrown away; left open, pyarrow would complain on stderr when it is collected."""
        with contextlib.suppress(Exception):
            self._writer.close()


def _as_type(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(dtype) or not isinstance(array, pa.DictionaryArray):
        return array.cast(dtype)
    storage = dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype
    values = array.dictionary.cast(storage).take(array.indices)
    return dtype.wrap_array(values) if isinstance(dtype, pa.ExtensionType) else values


@dataclass(frozen=True)
class Target:
    """Where a release goes: one file, or a folder of parts. Appears whole or not at all."""

    path: Path
    as_folder: bool

    @classmethod
    def check(cls, target: str | os.PathLike[str], source: Path, *, force: bool) -> Target:
        """Refuse targets that exist, are the source, or lie in a folder that is not there."""
        path = Path(target)
        as_folder = source.is_dir() and path.suffix != ".parquet"
        here, there = source.resolve(), path.resolve()
        if here == there or (source.is_dir() and here in there.parents):
            raise TargetError(f"{path.name} is the source or lies inside it; the source is never modified")
        if there in here.parents:
            raise TargetError(f"the source lies inside {path.name}; choose another target")
        if not there.parent.is_dir():
            raise TargetError(f"the folder of {path} does not exist; make it first")
        if path.exists():
            if not force:
                raise TargetExists(f"{path} exists already; choose another name or overwrite it with force")
            if path.is_dir() != as_folder or not (path.is_dir() or stat.S_ISREG(path.stat().st_mode)):
                kind = "a folder" if as_folder else "a regular file"
                raise TargetError(f"{path} exists and is not {kind}; it is left as it is")
        return cls(path, as_folder)

    @contextlib.contextmanager
    def parts(self, n_parts: int) -> Iterator[list[Path]]:
        """Paths to write the parts of a folder to; the folder takes its name when the block ends well."""
        hidden = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        with writing(self.path):
            hidden.mkdir(mode=0o700)
        try:
            yield [hidden / f"part-{i:05d}.parquet" for i in range(n_parts)]
            with writing(self.path):
                hidden.chmod(0o777 & ~_umask())
                _sync_folder(hidden)
                if self.path.exists():
                    old = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.old")
                    os.replace(self.path, old)
                    os.replace(hidden, self.path)
                    shutil.rmtree(old)
                else:
                    os.replace(hidden, self.path)
                _sync_folder(self.path.parent)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Stream for a file that gets its name only when the block ends well.

    Where the system allows it the file has no name at all until then, so that even a killed process leaves
    nothing behind.
    """
    with writing(path):
        stream, name = _anonymous(path)
    try:
        with stream:
            yield stream
            with writing(path):
                stream.flush()
                os.fchmod(stream.fileno(), 0o666 & ~_umask())
                os.fsync(stream.fileno())
                if name is None:
                    name = _hidden_name(path)
                    folder = os.open(path.parent, os.O_RDONLY)
                    try:
                        os.link(f"/proc/self/fd/{stream.fileno()}", name.name, dst_dir_fd=folder)
                    finally:
                        os.close(folder)
        with writing(path):
            os.replace(name, path)
            name = None
            _sync_folder(path.parent)
    finally:
        if name is not None:
            name.unlink(missing_ok=True)


def _anonymous(path: Path) -> tuple[BinaryIO, Path | None]:
    """Open file in the target's folder, readable by its owner only, and its temporary name if it has one."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is not None and Path("/proc/self/fd").is_dir():
        try:
            return os.fdopen(os.open(path.parent, flag | os.O_RDWR, 0o600), "wb"), None
        except OSError:  # not every file system has unnamed files
            pass
    name = _hidden_name(path)
    return os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb"), name


def _hidden_name(path: Path) -> Path:
    return path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system while writing into a TargetError."""
    try:
        yield
    except SanitizeError:
        raise
    except PermissionError:
        raise TargetError(f"{path.parent} may not be written to; nothing was released") from None
    except OSError as error:
        raise TargetError(f"{path.name} cannot be written ({error.strerror}); nothing was released") from None
