"""``sanitize judge``: attacks on anybody's released file, beside people who were never in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sanitize._files.names import path_of
from sanitize._files.open import whole_table
from sanitize._progress import shown
from sanitize.cli._settings import STREAM, check_output
from sanitize.errors import InvalidParameter, SourceError

if TYPE_CHECKING:
    import argparse


def judge(args: argparse.Namespace) -> None:
    """Attack a released file, print what is found, and leave with the code of the gate where that refutes it."""
    from sanitize.attack import judge as judge_table

    files = [args.input, args.source, *([args.outsiders] if args.outsiders is not None else [])]
    if STREAM in files:
        raise InvalidParameter("judge reads files, not standard input; write the table to a file first")
    paths = [path_of(file, SourceError).resolve() for file in files]
    if len(paths) > 2 and paths[1] == paths[2]:
        raise InvalidParameter("the outsiders are the source itself; name a file of people who were never in the table")
    if args.html is not None:
        check_output(args.html, args, force=args.force)
    public, sensitive = args.public or [], args.sensitive
    with shown():
        released = whole_table(Path(args.input), public, sensitive if public else None)
        others = [] if public else released.column_names
        people, *outsiders = (whole_table(Path(file), [*sensitive, *public], others) for file in files[1:])
    found = judge_table(
        released,
        people,
        outsiders=outsiders[0] if outsiders else None,
        sensitive=sensitive,
        public=public or None,
        rows=args.rows,
        excess=args.excess,
        at_most=args.at_most,
    )
    if args.html is not None:
        found.to_html(args.html)
    print(found.to_json() if args.json else found.to_text(), end="" if args.json else "\n")
    found.require()
