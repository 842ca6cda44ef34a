"""What the crash tests run in processes of their own; a plain module, so that such a process can import it."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Any

import sanitize as sz
from sanitize.engines.parquet import release_file
from sanitize.errors import SanitizeError
from sanitize.transformers import RandomizedResponse


def release(source: str, target: str, *, unnamed: bool = True) -> None:
    """Release the public columns of a table of the tests; without unnamed files where asked."""
    if not unnamed and hasattr(os, "O_TMPFILE"):
        del os.O_TMPFILE
    budget = sz.LDPBudget(1.0)
    from_stream = source.endswith("-stream")
    with open(source.removesuffix("-stream"), "rb") if from_stream else contextlib.nullcontext(Path(source)) as given:
        release_file(given, target, RandomizedResponse(budget, sensitive="s", public=["x", "y"]), force=True)


def release_in_little_room(source: str, target: str, room: int, answer: Any) -> None:
    """The same where no file may grow beyond some bytes; the error goes through a pipe."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        release(source, target)
    except SanitizeError as error:
        answer.send(f"{type(error).__name__}: {error}")
    else:
        answer.send("released")


def interruptible(source: str, target: str, answer: Any) -> None:
    """The same, saying when it starts, and how Ctrl-C ended it."""
    try:
        answer.send("ready")  # the signal may come before this returns
        release(source, target)
    except KeyboardInterrupt:
        answer.send("interrupted")
    else:
        answer.send("released")
