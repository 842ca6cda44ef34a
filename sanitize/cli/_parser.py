"""What may stand on the command line."""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import NoReturn

from sanitize._files.csv_stream import is_delimiter
from sanitize._version import __version__
from sanitize.binning import STEPS
from sanitize.cli import _commands as commands
from sanitize.cli._settings import MECHANISMS, check_papers_of, check_settings
from sanitize.cli._standard import one_line

_EPILOG = (
    "exit codes: 0 done, 1 over budget and nothing written (verify: not verified; judge: refuted), 2 usage or policy, "
    "3 input unreadable or unfit, 4 output exists or cannot be written, 5 internal error, 130 interrupted"
)
_CHECKS = {**dict.fromkeys(("audit", "plan", "release", "verify"), check_settings), "report": check_papers_of}
_INPUT = "Parquet or CSV file, folder of such files, or - for CSV on standard input"


class OneLineParser(argparse.ArgumentParser):
    """Parser whose errors are one line, like those of all commands, without the usage around them."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where help is, and leave with the code of usage errors."""
        self.exit(2, one_line(f"{self.prog}: error: {message}; see {self.prog} --help") + "\n")

    def file(self, *flags: str, about: str, metavar: str = "FILE") -> None:
        """Take an option that names a file."""
        self.add_argument(*flags, metavar=metavar, type=Path, help=about)

    def switch(self, *flags: str, about: str) -> None:
        """Take an option that is on where it is given."""
        self.add_argument(*flags, action="store_true", help=about)


def bins(text: str) -> tuple[str, list[float] | list[str] | str]:
    """COLUMN=EDGE,EDGE,... as a column and its edges, numbers or dates; or COLUMN=UNIT of the calendar."""
    column, equals, edges = text.rpartition("=")
    given: list[float] | list[str] = edges.split(",")
    with contextlib.suppress(ValueError):
        given = [float(edge) for edge in given]
    if equals and column and len(given) >= 2:
        return column, given
    if equals and column and edges in STEPS:
        return column, edges
    raise argparse.ArgumentTypeError(
        "takes COLUMN=EDGE,EDGE,... with two edges or more, as in age=18,30,45,65, or the calendar unit of dates, as "
        "in born=year"
    )


def level(text: str) -> float:
    """A number of nats, or of times as likely."""
    try:
        given = float(text)
        if math.isinf(given) and "inf" not in text.lower():
            raise argparse.ArgumentTypeError(f"takes a number that a double can hold, or inf, got {len(text)} digits")
    except ValueError:
        more = "; for a pair, use --at-most and --at-least" if ":" in text else ""
        raise argparse.ArgumentTypeError(f"takes one number, got {text!r}{more}") from None
    return given


def day(text: str) -> str:
    """A date, as 2026-01-31."""
    with contextlib.suppress(ValueError):
        if date.fromisoformat(text).isoformat() == text:
            return text
    raise argparse.ArgumentTypeError(f"takes a date as 2026-01-31, got {text!r}")


def sign(text: str) -> str:
    """What stands between fields; a tab may be written as in TOML."""
    given = "\t" if text in ("\\t", "tab") else text
    if not is_delimiter(given):
        raise argparse.ArgumentTypeError('takes one sign, as in --delimiter ";", or tab')
    return given


@functools.cache
def parser_of() -> OneLineParser:
    """The parser of the whole command; made once, for those who call `main` again and again."""
    about = "Release tables without giving away their sensitive columns."
    parser = OneLineParser(prog="sanitize", description=about, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"sanitize {__version__}")
    commands_of = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, *groups: Callable[[OneLineParser], None], about: str, more: str = "") -> OneLineParser:
        made = commands_of.add_parser(name, help=about, description=more or about)
        for add in groups:
            add(made)
        made.switch("-v", "--verbose", about="traceback when something fails")
        check = _CHECKS.get(name, lambda _: None)
        made.set_defaults(run=getattr(commands, name), check=check, parser=made, policy=None)
        return made

    command("audit", _input, _columns, _report, about="measure what the raw columns leak")

    design_options = _input, _columns, _design, _report
    about = "design a release and print its verdict and what other budgets would give; write nothing"
    plan = command("plan", *design_options, about=about)
    plan.file("--html", about="also write the plan as a page, with the curve of each mechanism")
    plan.switch("--force", about="replace FILE of --html if it exists")
    plan.switch("--full", about="print the whole report, not its first lines alone")

    release = command(
        "release",
        *design_options,
        about="write the public columns through a channel that keeps to a budget",
        more="Measure, design a channel, check it against the budget, and only then write OUTPUT.",
    )
    about = "file or folder to write, or - for CSV on standard output"
    release.add_argument("-o", "--output", metavar="OUTPUT", required=True, help=about)
    release.switch("--force", about="replace OUTPUT if it exists")
    release.file("--channel", about="also write the channel, for analysts of the release", metavar="FILE.json")
    release.file(
        "--receipt",
        about="also write what verify draws the release again by; it undoes the noise, so keep it with INPUT",
    )
    release.switch("--full", about="print the whole report, not its first lines alone")
    release.switch("--dry-run", about="design and report, write nothing")
    release.add_argument(
        "--judge",
        metavar="OUTSIDERS",
        nargs="?",
        const="",
        help="attack a twin of the release first, and write nothing if it gives people away; beside people who were "
        "never in the table, in a file, or a tenth of it that the twin is made without",
    )
    release.file("--ledger", about="records releases of the same rows, or with --unit of the same units")
    release.add_argument(
        "--unit", metavar="COL", help="column that identifies individuals; the ledger has one budget for each"
    )

    verify = command(
        "verify",
        _columns,
        _design,
        about="check a released file against its source and its policy",
        more="With a receipt, draw the release again and compare every byte; without, check what needs no drawing.",
    )
    verify.add_argument("input", metavar="RELEASED", help="file or folder that was released")
    verify.add_argument("--source", metavar="SOURCE", required=True, help="what it was released from")
    verify.file("--receipt", about="what release --receipt wrote: draws again, compares every byte")
    verify.add_argument(
        "--against", metavar="FILE", type=Path, action="append", default=[],
        help="receipt of another release, whose key must be another; may be repeated",
    )  # fmt: skip
    verify.file("--statement", about="also check the papers that report --dossier wrote", metavar="FILE.intoto.json")
    verify.file("--rewrite", about="also write its rows anew, and nothing else of it", metavar="OUT")
    _delimiter(verify)
    verify.switch("--json", about="print the checks as JSON")

    judge = command(
        "judge",
        about="attack anybody's released file and say what it gives away of its people, beside people never in it",
        more="Try what RELEASED gives away of the people of RAW, and of outsiders: copies, singling out, linkability, "
        "inference, membership. Without outsiders there are figures and no verdict.",
    )
    judge.add_argument("input", metavar="RELEASED", help="what is handed out: Parquet or CSV, whoever made it")
    judge.add_argument("--source", metavar="RAW", required=True, help="the rows it was made from, and no others")
    judge.add_argument("--outsiders", metavar="FILE", help="rows put aside at random before anything was made")
    judge.add_argument("-s", "--sensitive", metavar="COL", action="append", required=True, help="sensitive column")
    judge.add_argument("-x", "--public", metavar="COL", action="append", help="column to compare; default: all shared")
    judge.add_argument(
        "--excess", metavar="SHARE", type=float, default=0.02, help="allowed beyond outsiders; default: 0.02"
    )
    judge.add_argument("--rows", choices=("shuffle", "keep"), default="shuffle", help="keep: row i is made from row i")
    judge.add_argument(
        "--at-most", metavar="T", type=float, help="times as likely a group of rows may make a secret; with --rows keep"
    )
    judge.switch("--json", about="print the figures as JSON")
    judge.file("--html", about="also write them as a page")
    judge.switch("--force", about="replace FILE of --html if it exists")

    report = command("report", about="print a saved JSON report again, as text, JSON or a page")
    report.add_argument(
        "input", metavar="REPORT.json", help="report that --report or --json saved; - for standard input"
    )
    report.file("-o", "--output", about="write it: .html, .json or text")
    report.switch("--force", about="replace FILE if it exists")
    report.switch("--json", about="print it as JSON")
    report.file(
        "--dossier", about="write the dossier of the release, .html or .md, and its metadata and statement beside it"
    )
    report.file("--released", about="of the dossier: what was released")
    report.file("-p", "--policy", about="of the dossier: the policy", metavar="POLICY.toml")
    report.file("--verified", about="of the dossier: what verify --json printed", metavar="FILE.json")
    report.file("--channel", about="of the dossier: what release --channel wrote", metavar="FILE.json")
    _audience(report)

    init = command(
        "init",
        _input,
        about="write a policy for a table to start from",
        more="List every column of INPUT in a policy, sensitive ones guessed by their names. No value is printed.",
    )
    init.file("-o", "--output", about="file to write; standard output without", metavar="POLICY.toml")
    init.switch("--force", about="replace POLICY.toml if it exists")

    sql = command(
        "sql",
        about="print the SQL that releases a table inside its database",
        more="Print the GROUP BY whose result a policy learns from or, given that result as COUNTS, the statement that "
        "releases; its parameter is the key.",
    )
    sql.add_argument("input", metavar="COUNTS", nargs="?", help="result of the GROUP BY: Parquet, CSV, or - for CSV")
    sql.add_argument("-p", "--policy", metavar="POLICY.toml", type=Path, required=True, help="reviewed policy")
    sql.add_argument("--dialect", choices=("duckdb", "postgres", "sqlite"), required=True, help="of the database")
    sql.add_argument("--table", metavar="NAME", required=True, help="table or view, as in schema.table")
    sql.add_argument("--row-id", metavar="COL", help="column that is different in each row; needed to release")
    _delimiter(sql)
    return parser


def _input(parser: OneLineParser) -> None:
    parser.add_argument("input", metavar="INPUT", help=_INPUT)
    _delimiter(parser)


def _delimiter(parser: OneLineParser) -> None:
    parser.add_argument(
        "--delimiter", metavar="SIGN", type=sign, help="between the fields of CSV; default: , ; or tab, by the header"
    )


def _columns(parser: OneLineParser) -> None:
    parser.file("-p", "--policy", about="reviewed policy, instead of settings", metavar="POLICY.toml")
    parser.add_argument("-s", "--sensitive", metavar="COL", action="append", help="sensitive column")
    parser.add_argument("-x", "--public", metavar="COL", action="append", help="column to release through the channel")
    parser.add_argument("-k", "--keep", metavar="COL", action="append", help="column to release as it is")


def _design(parser: OneLineParser) -> None:
    """Settings of a design; None where they are not given, so that they can be told from a policy's."""
    parser.add_argument("--at-most", metavar="T", type=level, help="a value makes a secret at most T times as likely")
    parser.add_argument("--at-least", metavar="T", type=level, help="and at least T times; 0 permits ruling it out")
    parser.add_argument("--lower", metavar="L", type=level, help="the same in nats: log-lifts of at least -L")
    parser.add_argument("--upper", metavar="U", type=level, help="the same in nats: log-lifts of at most U")
    parser.add_argument("-e", "--eps", metavar="EPS", type=level, help="both in nats at once, or the level of -m")
    parser.add_argument("-m", "--mechanism", choices=sorted(MECHANISMS), help="default: subset-merging")
    about = "edges of numbers or dates, or the unit of dates"
    parser.add_argument("--bins", metavar="COL=EDGES", type=bins, action="append", help=about)
    parser.add_argument("--min-count", metavar="N", type=int, help="pool public values in fewer rows")
    parser.add_argument("--smoothing", metavar="A", type=float, help="add A to every cell (a prior)")
    parser.add_argument("--rows", choices=("shuffle", "keep"), help="row order can tell; default: shuffle")


def _report(parser: OneLineParser) -> None:
    parser.add_argument("--workers", metavar="N", type=int, help="threads, each with a row group; default: all cores")
    parser.switch("--json", about="print the report as JSON")
    parser.file("--report", about="also write the report: .html, .json or text")
    parser.add_argument("--title", metavar="TEXT", help="heading of the report; default: what the policy says")
    parser.add_argument(
        "--date", metavar="DATE", type=day, help="date the report shows, as 2026-01-31; no clock is read"
    )
    _audience(parser)


def _audience(parser: OneLineParser) -> None:
    parser.add_argument(
        "--audience",
        choices=("internal", "public"),
        help="public leaves symbols and counts out; default: what the policy or the report says, or internal",
    )
