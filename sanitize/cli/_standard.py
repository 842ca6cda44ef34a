"""Standard streams: what is printed, and what becomes of streams that are closed, full, or cannot spell everything."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from sanitize.errors import TargetError


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Streams that the caller closed lead nowhere, and what the encoding of one has not is written out."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # or a file that is opened next would take its place
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    before, change = getattr(sys.stdout, "errors", None), getattr(sys.stdout, "reconfigure", lambda **_: None)
    change(errors="backslashreplace")
    try:
        yield
    finally:
        change(errors=before)


def check_stdout(*, is_written: bool) -> None:
    """Refuse to write a result to a standard output that the caller closed."""
    if is_written and sys.__stdout__ is None and getattr(sys.stdout, "name", None) == os.devnull:
        raise TargetError("standard output is closed, so nothing can be written to it; name a file with -o")


def say(text: str, stream: TextIO | None = None, *, is_file: bool = False) -> None:
    """Print a result; that nobody reads on, as in ``sanitize audit ... | head -1``, is no error.

    What ``is_file`` is in UTF-8 whatever the terminal has, for output to one.
    """
    place = stream or sys.stdout
    try:
        if is_file and hasattr(place, "buffer"):
            place.flush()
            place.buffer.write(text.encode())
        else:
            place.write(text)
        place.flush()
    except BrokenPipeError:
        drop(place)
    except OSError as error:
        drop(place)
        raise TargetError(f"standard output cannot be written ({error.strerror})") from None


def drop(stream: TextIO) -> None:
    """Let go of what cannot be written any more, or Python would complain about it at exit."""
    with contextlib.suppress(OSError, ValueError):  # a stream of the caller's may be no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def one_line(message: str) -> str:
    """The message on one line of bounded length.

    Names of files and columns may hold line breaks and terminal codes, which are written out, and be of any length;
    what is left out stands in the middle, because the end says what to do.
    """
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    return line if len(line) <= 700 else f"{line[:350]} ... {line[-350:]}"
