"""Where a release may go."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanitize._files.names import path_of
from sanitize._files.outputs import NAME_CHARACTERS, take_lock, writing
from sanitize.errors import TargetError, TargetExists

if TYPE_CHECKING:
    from pathlib import Path

_FILE_SUFFIXES = (".parquet", ".csv")


@dataclass(frozen=True)
class Target:
    """Where a release goes: one file, or a folder of parts.

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
        as_folder = source is not None and source.is_dir() and path.suffix.lower() not in _FILE_SUFFIXES
        if not as_folder and path.suffix.lower() not in ("", *_FILE_SUFFIXES):
            raise TargetError(f"{path.name} is of a kind that is not written; name a .csv or a .parquet")
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

    def clear_stale(self) -> None:
        """Take away what earlier releases to this target left when they were killed; running ones hold a lock."""
        pattern = re.compile(rf"\.{re.escape(self.path.name[:NAME_CHARACTERS])}\.[0-9a-f]{{8}}\.(tmp|tmp\.gone|old)")
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
