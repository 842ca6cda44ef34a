"""The program around the commands: exit codes, one-line errors, signals and warnings."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import traceback
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from sanitize.cli._parser import one_line, parser_of
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidDistribution,
    ReleaseRefuted,
    RowOrderLeak,
    SanitizeError,
    SourceError,
    TargetError,
    VerificationFailed,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

# A device or a quota without room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DONE, GATE, USAGE, INPUT, OUTPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    The warning hook and the handler of SIGTERM are those of the caller again when it returns.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Examples
    --------
    >>> main(["audit", "no-such-file.parquet", "-s", "income", "-x", "education"])
    3
    """
    _open_streams()
    try:
        args = parser_of().parse_args(argv)
        args.check(args)
    except SystemExit as stop:  # argparse has printed usage or help
        return int(stop.code or 0)
    with _warnings_as_lines(), _stop_on_terminate():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away; keep Python from complaining at exit
        _drop_output()
        return DONE
    except KeyboardInterrupt as stop:
        return _fail(f"interrupted; {str(stop) or 'nothing was written'}", INTERRUPTED, args)
    except SanitizeError as error:
        return _fail(str(error), _code(error), args)
    except OSError as error:
        if error.errno not in _FULL:
            return _internal(error, args)
        _drop_output()
        return _fail(f"standard output cannot be written ({error.strerror})", OUTPUT, args)
    except MemoryError:
        return _fail("not enough memory for this input", INPUT, args)
    except Exception as error:
        return _internal(error, args)
    return DONE


def _internal(error: Exception, args: argparse.Namespace) -> int:
    return _fail(f"internal error ({type(error).__name__}); run again with -v and report it", INTERNAL, args)


def _open_streams() -> None:
    """Standard streams that the caller closed lead nowhere, or a file that is opened next would take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _drop_output() -> None:
    """Let go of what cannot be written any more, or Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _code(error: SanitizeError) -> int:
    if isinstance(error, (BudgetExceeded, ReleaseRefuted, RowOrderLeak, VerificationFailed)):
        return GATE
    if isinstance(error, TargetError):
        return OUTPUT
    if isinstance(error, (SourceError, ColumnError, InvalidDistribution)):
        return INPUT
    return USAGE


def _fail(message: str, code: int, args: argparse.Namespace) -> int:
    with contextlib.suppress(OSError):  # nobody reads what is wrong, and the exit code still says it
        if args.verbose:
            traceback.print_exc()
        print(f"sanitize: {one_line(message)}", file=sys.stderr, flush=True)
    return code


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line each."""

    def show(message: Warning | str, *_: Any) -> None:
        print(f"sanitize: warning: {message}", file=sys.stderr)

    before = warnings.showwarning
    warnings.showwarning = show  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = before


@contextlib.contextmanager
def _stop_on_terminate() -> Iterator[None]:
    """Let SIGTERM unwind like Ctrl-C, so that unfinished output is removed."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread, where signals cannot be handled
        yield
        return
    try:
        yield
    finally:
        # None stands for a handler that was not set from Python, which cannot be put back.
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
