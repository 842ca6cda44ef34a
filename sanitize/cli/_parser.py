"""Parser of the command line."""

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
from sanitize.cli._settings import MECHANISMS, check_dossier, check_settings
from sanitize.cli._standard import one_line
from sanitize.core.binning import STEPS
from sanitize.policy import REPLACED_MECHANISMS
from sanitize.tables.files.description import is_separator

# Rules about several options together, which argparse cannot express.
_CHECKS = {**dict.fromkeys(("audit", "plan", "release", "verify"), check_settings), "report": check_dossier}


class OneLineParser(argparse.ArgumentParser):
    """Argument parser that reports errors in one line, without usage."""

    def error(self, message: str) -> NoReturn:
        """Show the error and where to find help, and exit with the code of usage errors."""
        self.exit(2, one_line(f"{self.prog}: error: {message}; see {self.prog} --help") + "\n")

    def take(self, options: Mapping[str, dict[str, Any]]) -> None:
        """Add options to a parser, from a mapping of flags to arguments for argparse, with kinds of values by name."""
        for flags, settings in options.items():
            kind = {"type": _TYPES[settings["type"]]} if "type" in settings else {}
            self.add_argument(*flags.split(), **{**settings, **kind})


def bins(text: str) -> tuple[str, list[float] | list[str] | str]:
    """Parse COLUMN=EDGE,EDGE,... (numbers or dates), or COLUMN=UNIT with a calendar unit."""
    column, equals, edges = text.rpartition("=")
    values: list[float] | list[str] = edges.split(",")
    with contextlib.suppress(ValueError):
        values = [float(edge) for edge in values]
    if equals and column and edges in STEPS:
        return column, edges
    if equals and column and (len(values) > 1 or edges[:1].isdigit() or isinstance(values[0], float)):
        return column, values
    words = "takes COLUMN=EDGE,EDGE,..., as in age=18,30,45,65, or the calendar unit of dates, as in born=year"
    raise argparse.ArgumentTypeError(words)


def level(text: str) -> float:
    """Parse a limit, in nats or in times."""
    try:
        value = float(text)
        if math.isinf(value) and "inf" not in text.lower():
            raise argparse.ArgumentTypeError("takes a number below 1.8e308, or inf, got a larger number")
    except ValueError:
        more = "; for a pair, use --at-most and --at-least" if ":" in text else ""
        raise argparse.ArgumentTypeError(f"takes one number, got {text!r}{more}") from None
    return value


def day(text: str) -> str:
    """Parse a date, such as 2026-01-31."""
    with contextlib.suppress(ValueError):
        if date.fromisoformat(text).isoformat() == text:
            return text
    raise argparse.ArgumentTypeError(f"takes a date such as 2026-01-31, got {text!r}")


def sign(text: str) -> str:
    """Parse a field separator; a tab may be written as in TOML."""
    separator = "\t" if text in ("\\t", "tab") else text
    if not is_separator(separator):
        raise argparse.ArgumentTypeError('takes one character, as in --delimiter ";", or tab')
    return separator


def mechanism(text: str) -> str:
    """Parse the name of a mechanism; a replaced mechanism is refused with its new name."""
    if text in REPLACED_MECHANISMS:
        raise argparse.ArgumentTypeError(f"{text!r} was replaced: write {REPLACED_MECHANISMS[text]!r}")
    return text


# Options are declared in ``commands.toml``, which can only name a kind of value.
_TYPES: dict[str, Callable[[str], Any]] = {
    **{kind.__name__: kind for kind in (int, float, bins, level, day, sign, mechanism)},
    "path": Path,
}


@functools.cache
def make_parser() -> OneLineParser:
    """Make the parser of the whole command, once for repeated calls of `main`."""
    spec = tomllib.loads(files("sanitize.cli").joinpath("commands.toml").read_text(encoding="utf-8"))
    groups = spec["group"]
    groups["design"]["-m --mechanism"]["choices"] = sorted(MECHANISMS)
    parser = OneLineParser(prog="sanitize", description=spec["about"], epilog=spec["epilog"])
    parser.add_argument("--version", action="version", version=f"sanitize {__version__}")
    commands_of = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, command in spec["command"].items():
        about = command["about"]
        subparser = commands_of.add_parser(name, help=about, description=command.get("more", about))
        for group in command.get("uses", ()):
            subparser.take(groups[group])
        subparser.take({"-v --verbose": {"action": "store_true", "help": "traceback when something fails"}})
        for flags, option in command.get("options", {}).items():
            subparser.take({flags: groups[option][flags] if isinstance(option, str) else option})
        check = _CHECKS.get(name, lambda _: None)
        subparser.set_defaults(run=getattr(commands, name), check=check, parser=subparser, policy=None)
    return parser
