"""Outputs of a run: files, folders and streams that appear together if the run succeeds, or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from sanitize._util.system import BINARY, HAS_LOCKS, defer_signals, sync_folder, take_lock, umask
from sanitize.errors import SanitizeError, TargetError, TargetExists

# Bytes of a file's name that its hidden name repeats: file systems allow 255, and a random part is added.
_NAME_BYTES = 100
# Errors name this in place of a file.
STREAM = Path("the output stream")


@contextlib.contextmanager
def outputs() -> Iterator[Outputs]:
    """Collect all files written in the block: they appear if the block succeeds; otherwise nothing on disk changes."""
    batch = Outputs()
    try:
        try:
            with batch.during:
                yield batch
                batch._appear()
            batch._send()
        except BaseException:
            batch._withdraw()
            raise
        finally:
            batch._discard()
    finally:  # an interruption may have cut the first call off
        batch._discard()


@contextlib.contextmanager
def new_file(path: Path, *, replaces: bool = True) -> Iterator[BinaryIO]:
    """Open a stream for a single file, which appears if the block succeeds; see `Outputs.file`."""
    with outputs() as batch, batch.file(path, replaces=replaces) as stream:
        yield stream


def write_text(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return the text; if a path is given, also write it there in one step, readable by its owner only.

    Raises
    ------
    TargetError
        If the file cannot be written; an existing file is then unchanged.
    """
    if path is not None:
        with outputs() as batch:
            batch.text(Path(path), text)
    return text


def json_text(values: Any, path: str | os.PathLike[str] | None = None) -> str:
    """Return values as JSON, written to a path if given; non-ASCII is escaped so that no name controls a terminal."""
    return write_text(json.dumps(values, indent=2, allow_nan=False) + "\n", path)


class Outputs:
    """Files, folders and streams of one run, created by `outputs`.

    Attributes
    ----------
    during : ExitStack
        Contexts that stay open until all outputs have appeared, and that receive the exception if they do not.
    are_there : bool
        True if all outputs have appeared.
    """

    def __init__(self) -> None:
        self.during = contextlib.ExitStack()
        self.are_there = False
        self._unnamed: list[_Unnamed] = []
        self._held: list[BinaryIO] = []
        self._streams: list[tuple[BinaryIO, BinaryIO]] = []
        self._homes: list[Path] = []

    @contextlib.contextmanager
    def file(self, path: Path, *, private: bool = False, replaces: bool = True) -> Iterator[BinaryIO]:
        """Open a stream for a file of this run; a private file can be read by its owner only.

        With ``replaces=False`` the file takes its name only if no other file has it. On systems that allow unnamed
        files, the file has no name until it appears, so that even a killed process leaves nothing behind.
        """
        with self._new(path, replaces=replaces) as entry:
            with writing(path):
                stream = entry.open()
                take_lock(stream.fileno())
            yield stream
            with writing(path):
                stream.flush()
                if hasattr(os, "fchmod"):  # on other systems, files have the rights of their folder
                    os.fchmod(stream.fileno(), 0o600 if private else 0o666 & ~umask())
                os.fsync(stream.fileno())

    def text(self, path: Path, text: str, *, private: bool = True, replaces: bool = True) -> None:
        """Write a file that consists of the given text."""
        with self.file(path, private=private, replaces=replaces) as stream, writing(path):
            stream.write(text.encode("utf-8"))

    def home(self, path: Path) -> None:
        """Make the folder of a file, readable by its owner only, if it is missing and the folder above it exists."""
        with writing(path.parent):
            if not path.parent.exists() and path.parent.parent.is_dir():
                path.parent.mkdir(mode=0o700)
                self._homes.append(path.parent)

    @contextlib.contextmanager
    def folder(self, path: Path, *, replaces: bool = True) -> Iterator[Path]:
        """Make a folder under a temporary name, and yield its path, under which the caller writes files."""
        with self._new(path, replaces=replaces, is_folder=True) as entry:
            with writing(path):
                while True:
                    entry.hidden = hidden_name(path)
                    entry.hidden.mkdir(mode=0o700)
                    if entry.claim(entry.hidden):
                        break
            yield entry.hidden
            with writing(path):
                entry.hidden.chmod(0o777 & ~umask())
                sync_folder(entry.hidden)

    @contextlib.contextmanager
    def stream(self, stream: BinaryIO) -> Iterator[BinaryIO]:
        """Yield a buffer; its content is copied to a stream after all files have appeared."""
        with writing(STREAM):
            buffer = tempfile.TemporaryFile(dir=temporary_place())  # noqa: SIM115 - it is closed with all others
        self._held.append(buffer)
        yield buffer
        self._streams.append((buffer, stream))

    def readable(self, path: Path) -> Path:
        """Return the path at which a file or folder of this run can be read before it appears."""
        return next(entry.readable for entry in self._unnamed if entry.path == path)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all files and folders."""
        return tuple(entry.path.name for entry in self._unnamed)

    @contextlib.contextmanager
    def _new(self, path: Path, *, replaces: bool, is_folder: bool = False) -> Iterator[_Unnamed]:
        entry = _Unnamed(path, replaces, is_folder)
        self._unnamed.append(entry)
        try:
            yield entry
        except BaseException:
            entry.discard()
            self._unnamed.remove(entry)
            raise

    def _appear(self) -> None:
        """Give all files their final names, the main file last, so that it appears only after its reports."""
        with defer_signals():
            try:
                for number, entry in reversed(list(enumerate(self._unnamed))):
                    # Nothing can fail after the last file, so that file is replaced in one step without a backup.
                    entry.take_name(comes_back=number > 0 or bool(self._streams))
            except BaseException:
                self._withdraw()
                raise
            self.are_there = not self._streams
            for folder in {entry.path.parent for entry in self._unnamed}:
                with contextlib.suppress(OSError):  # the names are visible already
                    sync_folder(folder)

    def _send(self) -> None:
        for buffer, stream in self._streams:
            try:
                with writing(STREAM):
                    buffer.seek(0)
                    shutil.copyfileobj(buffer, stream, 1 << 20)
                    stream.flush()
            except BrokenPipeError:  # it is no error if the reader stops early
                self.are_there = True
                raise
        self.are_there = True

    def _withdraw(self) -> None:
        if not self.are_there:
            with defer_signals():
                for entry in self._unnamed:
                    entry.give_back()

    def _discard(self) -> None:
        with defer_signals():
            for entry in self._unnamed:
                entry.discard()
            for buffer in self._held:
                with contextlib.suppress(OSError):
                    buffer.close()
            for folder in () if self.are_there else self._homes:
                with contextlib.suppress(OSError):  # the folder may no longer be empty
                    folder.rmdir()


@dataclass(eq=False)
class _Unnamed:
    """File or folder that does not have its final name yet.

    Attributes
    ----------
    path : Path
        The final name.
    replaces : bool
        True if it may replace an existing file or folder.
    is_folder : bool
    hidden : Path or None
        Temporary name; None for a file without a name.
    old : Path or None
        Hidden name of the file or folder that it replaced.
    has_name : bool
        True once it has its final name.
    """

    path: Path
    replaces: bool
    is_folder: bool = False
    hidden: Path | None = None
    old: Path | None = None
    has_name: bool = False
    _stream: BinaryIO | None = None
    _claims: list[int] = field(default_factory=list)

    def open(self) -> BinaryIO:
        """Open a file in its final folder, readable by its owner only, and without a name if the system allows."""
        flag = getattr(os, "O_TMPFILE", None)
        if flag is not None and os.path.isdir("/proc/self/fd"):  # Path.is_dir raises if access is denied
            with contextlib.suppress(OSError):  # some file systems have no unnamed files
                self._stream = os.fdopen(os.open(self.path.parent, flag | os.O_RDWR, 0o600), "wb")
                return self._stream
        self.hidden = hidden_name(self.path)
        self._stream = os.fdopen(os.open(self.hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o600), "wb")
        return self._stream

    @property
    def readable(self) -> Path:
        """Path of the output before it gets its final name; for a file without a name, the path of its descriptor."""
        if self.hidden is not None:
            return self.hidden
        assert self._stream is not None
        return Path(f"/proc/self/fd/{self._stream.fileno()}")

    def claim(self, hidden: Path) -> bool:
        """Lock a hidden name; return False if another process has locked it or removed it as stale."""
        if not HAS_LOCKS:  # without locks, an open file cannot be renamed
            return True
        self._claims.append(os.open(hidden, os.O_RDONLY))
        return take_lock(self._claims[-1]) and hidden.exists()

    def take_name(self, *, comes_back: bool) -> None:
        """Take the final name; keep an existing file under a hidden name if it may have to be restored."""
        with writing(self.path):
            if self._stream is not None and not HAS_LOCKS:
                self._stream.close()
            if self.is_folder:
                self._take_name_of_folder()
            elif self.replaces:
                self._replace(comes_back=comes_back)
            else:
                try:
                    self._link(self.path)
                except FileExistsError:
                    raise exists_error(self.path) from None
        self.has_name = True

    def give_back(self) -> None:
        """Undo `take_name`, and restore the file that was replaced."""
        if not self.has_name:
            return
        if self.is_folder:
            assert self.hidden is not None
            os.replace(self.path, self.hidden)
        elif self.old is None:
            self.path.unlink()
        if self.old is not None:
            os.replace(self.old, self.path)
        self.has_name = False

    def discard(self) -> None:
        """Delete the files with hidden names."""
        if self._stream is not None:
            with contextlib.suppress(OSError):  # on a full disk, closing fails again
                self._stream.close()
        for place in filter(None, (self.hidden, self.old)):
            if not place.is_dir():
                place.unlink(missing_ok=True)
                continue
            # A worker may still be writing into the folder; under another name the worker cannot reach it.
            with contextlib.suppress(OSError):
                place = place.rename(place.with_name(f"{place.name}.gone"))
            shutil.rmtree(place, ignore_errors=True)
        while self._claims:
            os.close(self._claims.pop())

    def _link(self, name: Path) -> None:
        """Link the file under a new name."""
        if self.hidden is not None:
            os.link(self.hidden, name)
            return
        folder = os.open(name.parent, os.O_RDONLY)  # relative to a folder, the link leads to the file itself
        try:
            os.link(self.readable, name.name, dst_dir_fd=folder)
        finally:
            os.close(folder)

    def _replace(self, *, comes_back: bool) -> None:
        if self.hidden is None:
            hidden = hidden_name(self.path)
            self._link(hidden)
            self.hidden = hidden
        if comes_back and self.path.exists():
            self.old = hidden_name(self.path, "old")
            try:
                os.link(self.path, self.old)
            except OSError:  # some file systems have no hard links
                shutil.copy2(self.path, self.old)
            self.claim(self.old)
        os.replace(self.hidden, self.path)

    def _take_name_of_folder(self) -> None:
        assert self.hidden is not None
        try:
            if not self.path.exists():
                os.replace(self.hidden, self.path)
                return
        except OSError as error:  # another process took the name after the check
            taken = (errno.ENOTEMPTY, errno.EEXIST, *(() if self.replaces else (errno.ENOTDIR,)))
            if error.errno not in taken:
                raise
        if not self.replaces:
            raise exists_error(self.path)
        self.old = hidden_name(self.path, "old")
        os.replace(self.path, self.old)
        try:
            self.claim(self.old)
            os.replace(self.hidden, self.path)
        except BaseException:
            os.replace(self.old, self.path)
            raise


def exists_error(name: object) -> TargetExists:
    """Return the error for an output that already exists."""
    return TargetExists(f"{name} exists already; choose another name, or overwrite it with force=True (--force)")


def temporary_place() -> str:
    """Return the folder for temporary files.

    Raises
    ------
    TargetError
        If no folder for temporary files is writable.
    """
    try:
        return tempfile.gettempdir()
    except OSError:
        raise TargetError("no folder for temporary files is writable; set TMPDIR to a writable folder") from None


def hidden_name(path: Path, kind: str = "tmp") -> Path:
    """Return the path of an unused hidden file next to ``path``, with a name that contains the name of ``path``."""
    return path.with_name(f".{name_start(path)}.{secrets.token_hex(4)}.{kind}")


def name_start(path: Path) -> str:
    """Return the part of a file's name that its hidden name repeats."""
    return path.name.encode(errors="ignore")[:_NAME_BYTES].decode(errors="ignore")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn file system errors while writing into a TargetError, which says that nothing was written."""
    try:
        yield
    except (SanitizeError, BrokenPipeError):
        raise
    except PermissionError:
        raise TargetError(
            f"the folder {path.parent} is not writable; nothing was written. Check its permissions"
        ) from None
    except OSError as error:
        reason = error.strerror or "the storage refused"  # Arrow's errors have no strerror and quote addresses
        raise TargetError(f"{path.name} cannot be written ({reason}); nothing was written") from None
