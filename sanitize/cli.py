"""The ``sanitize`` command: argparse to one call each.

Exit codes: 0 done; 1 the gate failed and nothing was written; 2 usage error; 3 input unreadable or unfit;
4 output exists or cannot be written; 5 internal error; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sanitize._version import __version__
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidDistribution,
    InvalidParameter,
    RowOrderLeak,
    SanitizeError,
    SourceError,
    TargetError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.report import LeakageReport
    from sanitize.transformers import Sanitizer

DONE, GATE, USAGE, INPUT, OUTPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

_MECHANISMS = {
    "watchdog": "Watchdog",
    "subset-merging": "SubsetMerging",
    "optimal-random-response": "OptimalRandomResponse",
    "randomized-response": "RandomizedResponse",
    "subset-random-response": "SubsetRandomResponse",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Examples
    --------
    >>> main(["audit", "no-such-file.parquet", "-s", "income", "-x", "education"])
    3
    """
    parser = _parser()
    try:
        given = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has printed usage or help
        return int(stop.code or 0)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    _stop_on_terminate()
    try:
        given.run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away; keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was written", INTERRUPTED, given)
    except SanitizeError as error:
        return _fail(str(error), _code(error), given)
    except MemoryError:
        return _fail("not enough memory for this input", INPUT, given)
    except Exception as error:
        return _fail(f"internal error ({type(error).__name__}); run again with -v and report it", INTERNAL, given)
    return DONE


def _code(error: SanitizeError) -> int:
    if isinstance(error, (BudgetExceeded, RowOrderLeak)):
        return GATE
    if isinstance(error, TargetError):
        return OUTPUT
    if isinstance(error, (SourceError, ColumnError, InvalidDistribution)):
        return INPUT
    return USAGE


def _fail(message: str, code: int, given: argparse.Namespace) -> int:
    if given.verbose:
        traceback.print_exc()
    # A file name may hold line breaks and terminal codes.
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"sanitize: {line}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any) -> None:
    print(f"sanitize: warning: {message}", file=sys.stderr)


def _stop_on_terminate() -> None:
    """Let SIGTERM unwind like Ctrl-C, so that unfinished output is removed."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread, where signals cannot be handled
        return


# ----------------------------------------------------------------------------------------- subcommands


def _audit(given: argparse.Namespace) -> None:
    from sanitize.parquet import audit_parquet

    _check_roles(given)
    _check_report(given)
    report = audit_parquet(given.input, given.sensitive, given.public)
    _print(report, given)


def _release(given: argparse.Namespace) -> None:
    from sanitize.parquet import plan_parquet, privatize_parquet

    _check_roles(given)
    _check_report(given)
    sanitizer = _sanitizer(given)
    if given.dry_run:
        report = plan_parquet(given.input, sanitizer, rows=given.rows)
    else:
        report = privatize_parquet(given.input, given.output, sanitizer, rows=given.rows, force=given.force)
    _print(report, given)


def _check_roles(given: argparse.Namespace) -> None:
    both = sorted(set(given.sensitive) & set(given.public))
    if both:
        raise InvalidParameter(f"column {both[0]!r} is given both with -s and with -x; choose one")


def _check_report(given: argparse.Namespace) -> None:
    """Refuse a place for the report that is no place, or that is the table's own, before any work is done."""
    if given.report is None:
        return
    there = given.report.resolve()
    tables = [given.input.resolve(), *([given.output.resolve()] if "output" in given else [])]
    if any(there == table or table in there.parents for table in tables):
        raise TargetError(f"the report {given.report.name} would replace the input or the output; choose another name")
    if there.is_dir() or not there.parent.is_dir():
        raise TargetError(f"the report cannot be written to {given.report}: name a file in a folder that exists")


def _sanitizer(given: argparse.Namespace) -> Sanitizer:
    import sanitize.transformers

    estimator = getattr(sanitize.transformers, _MECHANISMS[given.mechanism])
    made: Sanitizer = estimator(
        _budget(given.budget, given.mechanism),
        sensitive=given.sensitive,
        public=given.public,
        bins=dict(given.bins) or None,
        min_count=given.min_count,
        smoothing=given.smoothing,
    )
    return made


def _budget(text: str, mechanism: str) -> Any:
    """UPPER or UPPER:LOWER in nats."""
    from sanitize.budgets import LiftBudget

    upper, colon, lower = text.partition(":")
    try:
        numbers = (float(upper), float(lower) if colon else float(upper))
    except ValueError:
        raise InvalidParameter(f"-e takes UPPER or UPPER:LOWER in nats, for example 0.5:1.5, got {text!r}") from None
    if mechanism == "randomized-response":
        if colon:
            raise InvalidParameter("-e takes one number with randomized-response: its local DP in nats")
        return numbers[0]
    return LiftBudget(lower=numbers[1], upper=numbers[0])


def _print(report: LeakageReport, given: argparse.Namespace) -> None:
    if given.report is not None:
        try:
            _write(report, given)
        except OSError as error:
            raise TargetError(f"the report {given.report.name} cannot be written ({error.strerror})") from None
    print(report.to_json(audience=given.audience) if given.json else report.to_text(audience=given.audience))


def _write(report: LeakageReport, given: argparse.Namespace) -> None:
    suffix = given.report.suffix
    if suffix == ".html":
        report.to_html(given.report, audience=given.audience)
    elif suffix == ".json":
        report.to_json(given.report, audience=given.audience)
    else:
        given.report.write_text(report.to_text(audience=given.audience) + "\n", encoding="utf-8")


# ---------------------------------------------------------------------------------------------- parser


def _bins(text: str) -> tuple[str, list[float]]:
    column, equals, edges = text.rpartition("=")
    try:
        numbers = [float(edge) for edge in edges.split(",")]
    except ValueError:
        numbers = []
    if not (equals and column and len(numbers) >= 2):
        raise argparse.ArgumentTypeError("takes COLUMN=EDGE,EDGE,... with two edges or more, as in age=18,30,45,65")
    return column, numbers


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sanitize",
        description="Release tables without giving away their sensitive columns.",
        epilog="exit codes: 0 done, 1 over budget and nothing written, 2 usage, 3 input unreadable or unfit, "
        "4 output exists or cannot be written, 5 internal error, 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"sanitize {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("input", metavar="INPUT", type=Path, help="Parquet file, or folder of Parquet files")
    common.add_argument("-s", "--sensitive", metavar="COL", action="append", required=True, help="sensitive column")
    common.add_argument("-x", "--public", metavar="COL", action="append", required=True, help="column to release")
    common.add_argument("--json", action="store_true", help="print the report as JSON")
    common.add_argument("--report", metavar="FILE", type=Path, help="also write the report: .html, .json or text")
    common.add_argument(
        "--audience",
        choices=("internal", "public"),
        default="internal",
        help="public leaves symbols and counts out of the report",
    )
    common.add_argument("-v", "--verbose", action="store_true", help="traceback when something fails")

    audit = commands.add_parser("audit", parents=[common], help="measure what the raw columns leak")
    audit.set_defaults(run=_audit)

    release = commands.add_parser(
        "release",
        parents=[common],
        help="write the public columns through a channel that keeps to a budget",
        description="Measure, design a channel, check it against the budget, and only then write OUTPUT.",
    )
    release.add_argument("-o", "--output", metavar="OUTPUT", type=Path, required=True, help="file or folder to write")
    release.add_argument(
        "-e",
        "--budget",
        metavar="UPPER[:LOWER]",
        required=True,
        help="largest log-lift and, after the colon, largest minus log-lift, in nats; one number sets both",
    )
    release.add_argument(
        "-m",
        "--mechanism",
        choices=sorted(_MECHANISMS),
        default="subset-merging",
        help="default: subset-merging",
    )
    release.add_argument(
        "--bins",
        metavar="COL=EDGES",
        type=_bins,
        action="append",
        default=[],
        help="edges of a numeric column",
    )
    release.add_argument("--min-count", metavar="N", type=int, default=0, help="pool public values in fewer rows")
    release.add_argument("--smoothing", metavar="A", type=float, default=0.0, help="add A to every cell (a prior)")
    release.add_argument(
        "--rows", choices=("shuffle", "keep"), default="shuffle", help="row order can tell; default: shuffle"
    )
    release.add_argument("--force", action="store_true", help="replace OUTPUT if it exists")
    release.add_argument("--dry-run", action="store_true", help="design and report, write nothing")
    release.set_defaults(run=_release)
    return parser
