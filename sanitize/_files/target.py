"""Where a release goes: it appears whole, or not at all and without a trace."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sanitize._files.names import path_of
from sanitize._files.signals import uninterrupted
from sanitize.errors import SanitizeError, TargetError, TargetExists

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE_SUFFIXES = (".parquet", ".csv")
_OTHER_SUFFIXES = (".csv.gz", ".tsv", ".tsv.gz", ".feather", ".arrow", ".ipc")
_NAME_CHARACTERS = 100
# What an error leaves behind.
_NOTHING, _UNCHANGED = "nothing was released", "what was there is unchanged"


@dataclass(frozen=True)
class Target:
    """Where a release goes: one file, or a folder of parts. Appears whole or not at all.

    Where it does not replace, whoever comes first has the name: of several releases to one target one is written.
    """

    path: Path
    as_folder: bool
    replaces: bool = True

    @classmethod
    def check(cls, target: str | os.PathLike[str], source: Path | None, *, force: bool) -> Target:
        """Refuse targets that exist, are the source, or lie in a folder that is not there.

        A source of None is a stream.
        """
        path = path_of(target, TargetError)
        there = path.resolve()
        if path.name.lower().endswith(_OTHER_SUFFIXES):
            raise TargetError(
                f"{path.name} would be compressed, have tabs or be an Arrow file, which is not written; name a .csv or "
                "a .parquet"
            )
        as_folder = source is not None and source.is_dir() and path.suffix.lower() not in _FILE_SUFFIXES
        if source is not None:
            here = source.resolve()
            if here == there or (source.is_dir() and here in there.parents):
                raise TargetError(f"{path.name} is the source or lies inside it; the source is never modified")
            if there in here.parents:
                raise TargetError(f"the source lies inside {path.name or path}; choose another target")
        if not there.parent.is_dir():
            raise TargetError(f"the folder of {path} does not exist; make it first")
        if force and path.is_symlink():
            raise TargetError(f"{path} is a link, so it is left as it is; name what it leads to")
        if path.exists():
            if not force:
                raise TargetExists(f"{path} exists already; choose another name or overwrite it with force")
            if path.is_dir() != as_folder or not (path.is_dir() or stat.S_ISREG(path.stat().st_mode)):
                kind = "a folder" if as_folder else "a regular file"
                raise TargetError(f"{path} exists and is not {kind}; it is left as it is")
        return cls(path, as_folder, force)

    @property
    def is_csv(self) -> bool:
        """Whether the file is text."""
        return not self.as_folder and self.path.suffix.lower() == ".csv"

    @contextlib.contextmanager
    def parts(self, n_parts: int) -> Iterator[list[Path]]:
        """Paths to write the parts of a folder to; the folder takes its name when the block ends well."""
        self.clear_stale()
        names = [f"part-{i:05d}.parquet" for i in range(n_parts)]
        hidden, claim = None, None
        try:
            with writing(self.path):
                hidden, claim = self._claimed()
            yield list(map(hidden.joinpath, names))
            with writing(self.path):
                hidden.chmod(0o777 & ~_umask())
                _sync_folder(hidden)
                with uninterrupted():
                    self._take_name(hidden)
                _sync_folder(self.path.parent)
        except BaseException:
            if hidden is not None:
                shutil.rmtree(hidden, ignore_errors=True)
            raise
        finally:
            if claim is not None:
                os.close(claim)

    def _claimed(self) -> tuple[Path, int]:
        """A hidden folder and its lock; one that another release took for a stale one before it was locked is gone."""
        while True:
            hidden = hidden_name(self.path)
            try:
                hidden.mkdir(mode=0o700)
                claim = os.open(hidden, os.O_RDONLY)
                if take_lock(claim) and hidden.exists():
                    return hidden, claim
                os.close(claim)
            except FileNotFoundError:
                if not self.path.parent.is_dir():
                    raise
            except BaseException:
                shutil.rmtree(hidden, ignore_errors=True)
                raise

    def _take_name(self, hidden: Path) -> None:
        """Give a finished folder the name of the target, and take away the one that had it."""
        if not self.path.exists():
            try:
                os.replace(hidden, self.path)
            except OSError as error:  # somebody was quicker than the look
                if error.errno == errno.ENOTDIR:
                    self._require_free()
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            else:
                return
        self._require_free()
        old = hidden_name(self.path, "old")
        os.replace(self.path, old)
        try:
            os.replace(hidden, self.path)
        except BaseException:
            os.replace(old, self.path)
            raise
        shutil.rmtree(old)

    def _require_free(self) -> None:
        if not self.replaces:
            raise TargetExists(f"{self.path} was made by somebody else meanwhile; choose another name or use force")

    def clear_stale(self) -> None:
        """Take away what earlier releases to this target left when they were killed; running ones hold a lock."""
        pattern = re.compile(rf"\.{re.escape(self.path.name[:_NAME_CHARACTERS])}\.[0-9a-f]{{8}}\.(tmp|tmp\.gone|old)")
        with writing(self.path):
            found = [entry for entry in os.scandir(self.path.parent) if pattern.fullmatch(entry.name)]
        for entry in found:
            with contextlib.suppress(OSError):
                claim = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if not take_lock(claim):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)
                finally:
                    os.close(claim)


def take_lock(descriptor: int) -> bool:
    """Whether the lock of an unfinished file or folder is now ours; it goes when the process does."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def held_back(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Stream for what goes on to another one, all of it, when the block ends well and not a byte before."""
    with writing(Path("the output stream")):
        unnamed = tempfile.TemporaryFile()  # noqa: SIM115 - the next line closes it
    with _closing(unnamed) as held:
        yield held
        held.seek(0)
        shutil.copyfileobj(held, stream, 1 << 20)
        stream.flush()


@contextlib.contextmanager
def new_file(path: Path, *, private: bool = False, replaces: bool = True, left: str = _NOTHING) -> Iterator[BinaryIO]:
    """Stream for a file that gets its name only when the block ends well; a private one is its owner's only.

    One that does not replace takes a free name only, however many are written to it at the same time.

    Where the system allows it the file has no name at all until then, so that even a killed process leaves
    nothing behind.
    """
    with writing(path, left):
        stream, name = _anonymous(path)
        take_lock(stream.fileno())
    try:
        with _closing(stream):
            yield stream
            with writing(path, left):
                stream.flush()
                os.fchmod(stream.fileno(), 0o600 if private else 0o666 & ~_umask())
                os.fsync(stream.fileno())
                if name is None:
                    name = hidden_name(path) if replaces else None
                    folder = os.open(path.parent, os.O_RDONLY)
                    try:
                        with _taking(path):
                            os.link(f"/proc/self/fd/{stream.fileno()}", (name or path).name, dst_dir_fd=folder)
                    finally:
                        os.close(folder)
        with writing(path, left):
            if replaces and name is not None:
                os.replace(name, path)
                name = None
            elif name is not None:
                with _taking(path):
                    os.link(name, path)
            _sync_folder(path.parent)
    finally:
        if name is not None:
            name.unlink(missing_ok=True)


@contextlib.contextmanager
def _taking(path: Path) -> Iterator[None]:
    """A name that is taken already stays with whom it belongs to."""
    try:
        yield
    except FileExistsError:
        raise TargetExists(f"{path} exists already; choose another name or overwrite it with force") from None


@contextlib.contextmanager
def _closing(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Close a stream whose last bytes are thrown away if the block fails: a full disk refuses them a second time."""
    try:
        yield stream
    except BaseException:
        with contextlib.suppress(OSError):
            stream.close()
        raise
    stream.close()


def _anonymous(path: Path) -> tuple[BinaryIO, Path | None]:
    """Open file in the target's folder, readable by its owner only, and its temporary name if it has one."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is not None and Path("/proc/self/fd").is_dir():
        try:
            return os.fdopen(os.open(path.parent, flag | os.O_RDWR, 0o600), "wb"), None
        except OSError:  # not every file system has unnamed files
            pass
    name = hidden_name(path)
    return os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb"), name


def hidden_name(path: Path, kind: str = "tmp") -> Path:
    return path.with_name(f".{path.name[:_NAME_CHARACTERS]}.{secrets.token_hex(4)}.{kind}")


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
def writing(path: Path, left: str = _NOTHING) -> Iterator[None]:
    """Turn errors of the file system while writing into a TargetError, which says what state they leave."""
    try:
        yield
    except SanitizeError:
        raise
    except PermissionError:
        raise TargetError(f"{path.parent} may not be written to; {left}") from None
    except OSError as error:
        raise TargetError(f"{path.name} cannot be written ({error.strerror}); {left}") from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in one step, readable by its owner only: others see the old content or the new, never a part of it.

    Raises
    ------
    TargetError
        If that fails; what was there is still there.
    """
    place = Path(path)
    with new_file(place, private=True, left=_UNCHANGED) as stream, writing(place, _UNCHANGED):
        stream.write(text.encode("utf-8"))
