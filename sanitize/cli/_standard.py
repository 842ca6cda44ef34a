"""Output to the standard streams, which may be closed or full or lack characters."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from sanitize.errors import TargetError


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Replace streams that the caller closed, and escape characters that an encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # otherwise the next opened file would take their place
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
    """Show a result; it is no error if a reader stops early, as in ``sanitize audit ... | head -1``.

    With ``is_file``, the text is written in UTF-8, whatever the encoding of the terminal.
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


def complain(text: str) -> None:
    """Print a line on standard error; if this is impossible, the exit code still shows that something is wrong."""
    with contextlib.suppress(TargetError):
        say(f"{text}\n", sys.stderr)


def drop(stream: TextIO) -> None:
    """Discard output that can no longer be written, to avoid an error from Python at exit."""
    with contextlib.suppress(OSError, ValueError):  # the caller's stream may not be a file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def one_line(message: str) -> str:
    """Fit a message into one line of bounded length.

    Names of files and columns may contain line breaks and terminal codes, which are escaped, and may be long. A long
    message is shortened in the middle, because its end states the remedy.
    """
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    return line if len(line) <= 700 else f"{line[:350]} ... {line[-350:]}"
