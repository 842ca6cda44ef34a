"""What a release replaces, under a second name for as long as it may have to come back."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from sanitize._files.signals import uninterrupted
from sanitize._files.target import hidden_name, take_lock, writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def second_name(path: Path) -> Iterator[Path]:
    """Hidden name of what a file or folder is now, for who may have to `put_back`; it is gone when the block ends."""
    old, claim = hidden_name(path, "old"), None
    try:
        try:
            with writing(path):
                shutil.copytree(path, old, copy_function=_link) if path.is_dir() else _link(path, old)
                claim = os.open(old, os.O_RDONLY)
            take_lock(claim)  # or a release to the same target would take it for a stale one
            yield old
        finally:
            if claim is not None:
                os.close(claim)
            _remove(old)
    finally:  # an interruption may have cut the other one off
        _remove(old)


def put_back(path: Path, old: Path | None) -> None:
    """Take away what was written, and give its name to what had it before."""
    if old is None or path.is_dir():
        _remove(path)
    if old is not None:
        os.replace(old, path)


def _link(path: str | os.PathLike[str], name: str | os.PathLike[str]) -> None:
    """Another name of a file; a copy of it where the file system has none."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copy2(path, name)


def _remove(path: Path) -> None:
    with uninterrupted():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
