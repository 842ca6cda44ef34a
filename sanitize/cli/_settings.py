"""Settings of a release, from a policy or from the command line."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from sanitize.errors import InvalidParameter, PolicyError, TargetError
from sanitize.policy import CLASSES, DEFAULT_MECHANISM, OWNERS, PAIRS, Policy, PolicyBudget, PolicyChannel
from sanitize.policy import MECHANISMS as ALL
from sanitize.tables.files.description import TableDescription
from sanitize.tables.files.open import SourceLike, attach_description, open_source, to_path
from sanitize.tables.files.source import AS_STORED, Numbers

# The usual name of standard input and output in commands.
STREAM = "-"
# Mechanisms on the command line: a grid needs bounds of every column, which only a policy can state.
MECHANISMS = tuple(name for name in ALL if name != "gaussian-channel")
# A limit in times and a level in nats are different notions, so -e is refused for all other mechanisms.
_OF_EPS = tuple(name for name in MECHANISMS if "lift" not in ALL[name][1])
# Options that a policy states too, by the names of their arguments: given with -p, they would contradict it.
_LONG = (*chain(*PAIRS), "bins", "min_count", "smoothing", "rows", "delimiter", "header", "person", "unit", "ledger")
# The most frequent options have a letter; all others are named after their argument.
_SETTINGS = {"sensitive": "-s", "public": "-x", "keep": "-k", "eps": "-e", "mechanism": "-m"}
_SETTINGS |= {name: f"--{name.replace('_', '-')}" for name in _LONG}


def check_settings(args: argparse.Namespace) -> None:
    """Refuse a command line with too few settings, or with both settings and a policy."""
    if args.policy is not None:
        if extra := [option for name, option in _SETTINGS.items() if getattr(args, name, None) is not None]:
            args.parser.error(f"{', '.join(extra)} cannot be given with -p; change the policy instead")
        return
    needed = ["sensitive", "public"] if not args.keep else ["sensitive"]
    absent = [_SETTINGS[name] for name in needed if not getattr(args, name)]
    sides = tuple(_sides(args)) if "eps" in args else ()
    if "eps" in args and args.eps is None and not sides:
        absent.append("--at-most and --at-least")
    if absent:
        args.parser.error(f"the following arguments are required: {', '.join(absent)} (or -p POLICY.toml)")
    if getattr(args, "unit", None) is not None and args.ledger is None:
        args.parser.error("--unit needs --ledger FILE, which records the releases of each unit")
    mechanism = getattr(args, "mechanism", None) or DEFAULT_MECHANISM
    if getattr(args, "eps", None) is not None and "lift" in ALL[mechanism][1]:
        example = "--at-most 2 --at-least 0.5, in times as likely, or --lower 0.69 --upper 0.69, in nats"
        words = f"{mechanism} takes a limit with a unit: {example}"
        args.parser.error(f"-e is a level of {' and '.join(_OF_EPS)}; {words}")
    options = ", ".join(_SETTINGS[name] for name in sides)
    if sides and sides not in PAIRS:
        words = "give both --at-most and --at-least (times as likely), or both --lower and --upper (nats)"
        args.parser.error(
            f"{options}: {words}; for no limit on one side, write --at-least 0, or inf for any other option"
        )
    if sides and "lift" not in ALL[mechanism][1]:
        args.parser.error(f"{mechanism} takes one number of nats, -e EPS, instead of {options}")


def check_dossier(args: argparse.Namespace) -> None:
    """Refuse a command line with an incomplete dossier, or with a dossier and another output."""
    options = {"--released": args.released, "--verified": args.verified, "--channel": args.channel, "-p": args.policy}
    present = [option for option, value in options.items() if value is not None]
    if args.dossier is None:
        if present:
            args.parser.error(f"{present[0]} needs --dossier; name it too")
        return
    if absent := [option for option in ("--released", "-p") if option not in present]:
        words = "a dossier is about a released file and its policy"
        args.parser.error(f"--dossier also needs {', '.join(absent)}: {words}")
    if args.json or args.output is not None:
        args.parser.error("--dossier writes its own files; leave out --json and -o, and show the report in another run")
    if args.dossier.suffix not in (".html", ".md"):
        args.parser.error(f"--dossier takes a name ending in .html or .md, got {str(args.dossier)[-40:]!r}")
    if args.input == STREAM:
        args.parser.error("--dossier identifies the report by its digest: name a file, not standard input")


def resolve_policy(args: argparse.Namespace) -> Policy:
    """Return the named policy, or a policy made from the options, which leaves out all columns that are not listed."""
    # Options about the machine or the owner may be combined with a policy.
    overrides = {name: value for name in ("workers", "receipt") if (value := getattr(args, name, None)) is not None}
    if args.policy is not None:
        return replace(Policy.read(args.policy), **overrides)
    public, keep = tuple(args.public or ()), tuple(args.keep or ())
    unit = getattr(args, "unit", None)
    roles = [("-s", args.sensitive), ("-x", public), ("-k", keep), ("--unit", () if unit is None else (unit,))]
    for i, (option, names) in enumerate(roles):
        for other_option, other_names in roles[:i]:
            if overlap := sorted(set(names) & set(other_names)):
                both = f"{other_option} and with {option}"
                raise InvalidParameter(f"column {overlap[0]!r} is given both with {both}; choose one")
    mechanism = getattr(args, "mechanism", None) or DEFAULT_MECHANISM
    settings = {name: value for name in ("min_count", "smoothing") if (value := getattr(args, name, None)) is not None}
    for name in settings:
        if mechanism not in OWNERS[name]:
            raise InvalidParameter(f"{mechanism} has no {_SETTINGS[name]}; leave it out, or change the mechanism (-m)")
    if keep and mechanism == CLASSES:
        raise InvalidParameter(f"{mechanism} releases a whole table, so -k does not apply; list all columns with -x")
    channel = PolicyChannel("release", public, mechanism, dict(getattr(args, "bins", None) or []), settings)
    budget = _budget(args, mechanism) if "eps" in args else PolicyBudget("lift", {})
    overrides |= {name: getattr(args, name, None) for name in ("ledger", "person", "unit")}
    overrides |= {"rows": getattr(args, "rows", None) or "shuffle", "description": input_description(args)}
    return Policy(tuple(args.sensitive), (channel,) if public else (), budget, keep, **overrides)


def input_description(args: argparse.Namespace) -> TableDescription:
    """Description of the input from options of the command line."""
    header = getattr(args, "header", None)
    return TableDescription(getattr(args, "delimiter", None), None if header is None else header == "yes")


def _sides(args: argparse.Namespace) -> dict[str, float]:
    """Limits on the lift that were given as options."""
    return {name: value for name in chain(*PAIRS) if (value := getattr(args, name)) is not None}


def _budget(args: argparse.Namespace, mechanism: str) -> PolicyBudget:
    notions = ALL[mechanism][1]
    if "lift" in notions:
        return PolicyBudget("lift", _sides(args))
    return PolicyBudget(notions[0], {"eps" if notions == ("ldp",) else "nats": args.eps})


@contextlib.contextmanager
def open_input(args: argparse.Namespace, policy: Policy, numbers: Numbers = AS_STORED) -> Iterator[SourceLike]:
    """Open the input; if a policy is given, check that the policy lists all columns of the input."""
    if policy.tables:
        raise InvalidParameter("this policy has tables of units; measure them with `sanitize release --dry-run`")
    source = attach_description(sys.stdin.buffer if args.input == STREAM else args.input, policy.description)
    if args.policy is None:
        yield source
        return
    with open_source(source, numbers) as table:
        policy.check(table.schema.names)
        yield table


def check_output(path: Path | None, args: argparse.Namespace, *, force: bool, records: Sequence[Path] = ()) -> None:
    """Refuse, before any work, an output path that cannot be written or that belongs to a file of this run.

    ``records`` are further files of the run: its policy and its ledger.
    """
    if path is None:
        return
    target = _resolve(to_path(path, TargetError))
    arguments = [getattr(args, name, None) for name in ("input", "output", "source", "outsiders", "earlier")]
    tables = [_resolve(Path(value)) for value in arguments if value not in (None, STREAM, path)]
    if any(target == table or table in target.parents for table in tables):
        raise TargetError(f"{path.name} would replace the input or the output; choose another name")
    check_records(path, records)
    if target.is_dir() or not target.parent.is_dir():
        raise TargetError(f"{path} cannot be written: name a file in a folder that exists")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise TargetError(f"{path} is a link or not a regular file, so it was not replaced; name a regular file")
    if path.exists() and not force:
        raise TargetError(f"{path} exists already; choose another name or overwrite it with --force")


def check_records(path: Path, records: Sequence[Path]) -> None:
    """Refuse an output that would replace the policy or the ledger of the run."""
    to_path(path, TargetError)
    if _resolve(path) in [_resolve(to_path(record, PolicyError)) for record in records]:
        raise TargetError(f"{path.name} is the policy or the ledger of this run; choose another name")


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links form a loop
        raise TargetError(f"{path} is a link that cannot be followed; name the file itself") from None
