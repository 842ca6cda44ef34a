"""What may stand on the command line."""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from sanitize._version import __version__
from sanitize.cli import _commands as commands
from sanitize.cli._settings import MECHANISMS, check_papers_of, check_settings
from sanitize.cli._standard import one_line
from sanitize.core.binning import STEPS
from sanitize.tables.files.description import is_separator

_CHECKS = {**dict.fromkeys(("audit", "plan", "release", "verify"), check_settings), "report": check_papers_of}


class OneLineParser(argparse.ArgumentParser):
    """Parser whose errors are one line, like those of all commands, without the usage around them."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where help is, and leave with the code of usage errors."""
        self.exit(2, one_line(f"{self.prog}: error: {message}; see {self.prog} --help") + "\n")

    def take(self, options: Mapping[str, dict[str, Any]]) -> None:
        """Take options: by the flags of each what argparse is told of it, the kind of value by name."""
        for flags, told in options.items():
            kind = {"type": _TYPES[told["type"]]} if "type" in told else {}
            self.add_argument(*flags.split(), **{**told, **kind})


def bins(text: str) -> tuple[str, list[float] | list[str] | str]:
    """COLUMN=EDGE,EDGE,... as a column and its edges, numbers or dates; or COLUMN=UNIT of the calendar."""
    column, equals, edges = text.rpartition("=")
    given: list[float] | list[str] = edges.split(",")
    with contextlib.suppress(ValueError):
        given = [float(edge) for edge in given]
    if equals and column and edges in STEPS:
        return column, edges
    if equals and column and (len(given) > 1 or edges[:1].isdigit() or isinstance(given[0], float)):
        return column, given
    raise argparse.ArgumentTypeError(
        "takes COLUMN=EDGE,EDGE,..., as in age=18,30,45,65, or the calendar unit of dates, as in born=year"
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
    if not is_separator(given):
        raise argparse.ArgumentTypeError('takes one sign, as in --delimiter ";", or tab')
    return given


# Kinds of values by the names that ``commands.toml`` has for them.
_TYPES: dict[str, Callable[[str], Any]] = {
    **{kind.__name__: kind for kind in (int, float, bins, level, day, sign)},
    "path": Path,
}


@functools.cache
def parser_of() -> OneLineParser:
    """The parser of the whole command; made once, for those who call `main` again and again."""
    told = tomllib.loads(files("sanitize.cli").joinpath("commands.toml").read_text(encoding="utf-8"))
    groups = told["group"]
    groups["design"]["-m --mechanism"]["choices"] = sorted(MECHANISMS)
    parser = OneLineParser(prog="sanitize", description=told["about"], epilog=told["epilog"])
    parser.add_argument("--version", action="version", version=f"sanitize {__version__}")
    commands_of = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, command in told["command"].items():
        about = command["about"]
        made = commands_of.add_parser(name, help=about, description=command.get("more", about))
        for group in command.get("uses", ()):
            made.take(groups[group])
        made.take({"-v --verbose": {"action": "store_true", "help": "traceback when something fails"}})
        own = command.get("options", {})
        made.take({flags: groups[of][flags] if isinstance(of, str) else of for flags, of in own.items()})
        check = _CHECKS.get(name, lambda _: None)
        made.set_defaults(run=getattr(commands, name), check=check, parser=made, policy=None)
    return parser
