"""Program around the commands, which handles outputs, exit codes, one-line errors, signals and warnings."""

from __future__ import annotations

import argparse
import contextlib
import errno
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sanitize._util.outputs import outputs
from sanitize.cli._parser import make_parser
from sanitize.cli._standard import complain, drop, one_line, say, standard_streams
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidDistribution,
    NothingToProtect,
    ReleaseRefuted,
    RowOrderLeak,
    SanitizeError,
    SourceError,
    TargetError,
    UselessRelease,
    VerificationFailed,
)

# Scripts branch on these exit codes, so they are part of the interface. argparse itself exits with 2, and a shell
# reports 130 for Ctrl-C, which is 128 plus the number of the signal.
DONE, GATE, USAGE, INPUT, OUTPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
# A refused release, a target, and an input are distinct, so that a pipeline can hold back, retry or report. All other
# errors of the library are errors of usage.
_CODES: dict[tuple[type[SanitizeError], ...], int] = {
    (BudgetExceeded, NothingToProtect, ReleaseRefuted, RowOrderLeak, UselessRelease, VerificationFailed): GATE,
    (TargetError,): OUTPUT,
    (SourceError, ColumnError, InvalidDistribution): INPUT,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    On return, the caller's warning hook and SIGTERM handler are restored.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; by default those of the process.

    Examples
    --------
    >>> main(["audit", "no-such-file.parquet", "-s", "income", "-x", "education"])
    3
    """
    with standard_streams():
        try:
            args = make_parser().parse_args(argv)
            args.check(args)
        except SystemExit as stop:  # argparse has shown usage or help
            return int(stop.code or 0)
        with _warnings_as_lines(), _stop_on_terminate():
            return _run(args)


def _run(args: argparse.Namespace) -> int:
    """Run a command; its outputs become visible together if the command succeeds."""
    args.outputs = args.wrote = None
    try:
        with outputs() as args.outputs:
            refusal = args.run(args)
        if args.wrote is not None:
            say(args.wrote)
    except BrokenPipeError:  # the reader of the table has closed the pipe; avoid an error from Python at exit
        drop(sys.stdout)
        return DONE
    except (Exception, KeyboardInterrupt) as error:
        return _fail(*_answer(error, args), args)
    return DONE if refusal is None else _fail(*_answer(refusal, args), args)


def _answer(error: BaseException, args: argparse.Namespace) -> tuple[int, str]:
    """Return the exit code and message for any error; unexpected errors are hidden, because they may quote a value."""
    kind = type(error).__name__
    cause: BaseException | None = error
    while isinstance(cause, ImportError):  # Ctrl-C during an import may surface as another error
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, KeyboardInterrupt):
        return INTERRUPTED, f"interrupted; {_leftovers(args)}"
    if isinstance(error, SanitizeError):
        return next((code for kinds, code in _CODES.items() if isinstance(error, kinds)), USAGE), str(error)
    if isinstance(error, MemoryError):
        return INPUT, "not enough memory for this input"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return INPUT, "too many files are open; allow this process more of them (ulimit -n)"
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{Path(str(error.filename)).name} cannot be used: "
        return INPUT, f"{name}{error.strerror or kind}"
    if isinstance(error, UnicodeError):
        return USAGE, f"a name or text that was given is not valid UTF-8 ({kind}); write it in UTF-8"
    if type(error).__module__.startswith("pyarrow"):
        return INPUT, f"the input contains something that Arrow cannot handle ({kind}); run again with -v to see where"
    return INTERNAL, f"internal error ({kind}); run again with -v and report it"


def _leftovers(args: argparse.Namespace) -> str:
    """Describe the files that an interruption left."""
    if args.outputs is None or not args.outputs.are_there:
        return "nothing was written"
    return f"{', '.join(args.outputs.names) or 'the output'} had been written by then"


def _fail(code: int, message: str, args: argparse.Namespace) -> int:
    complain(f"{traceback.format_exc() if args.verbose else ''}sanitize: {one_line(message)}")
    return code


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show each warning as one line."""

    def show(message: Warning | str, *_: Any) -> None:
        complain(f"sanitize: warning: {one_line(str(message))}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextlib.contextmanager
def _stop_on_terminate() -> Iterator[None]:
    """Make SIGTERM stop the command as Ctrl-C does, so that unfinished output is removed."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with contextlib.ExitStack() as afterwards:
        with contextlib.suppress(ValueError):  # not in the main thread, where signals cannot be handled
            before = signal.signal(signal.SIGTERM, stop)
            # None means that the handler was not set from Python, so that it cannot be restored.
            afterwards.callback(signal.signal, signal.SIGTERM, signal.SIG_DFL if before is None else before)
        yield
