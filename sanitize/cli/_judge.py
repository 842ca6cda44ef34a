"""Command ``sanitize judge``, which attacks a released file, and the attacks of ``release`` on a second release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.progress import show_progress
from sanitize.cli._settings import STREAM, check_output
from sanitize.cli._standard import say
from sanitize.errors import InvalidParameter, ReleaseRefuted, SourceError
from sanitize.tables.files.open import attach_description, to_path, whole_table

if TYPE_CHECKING:
    import argparse

    from sanitize.auditing.attack import Downstream
    from sanitize.policy import Policy
    from sanitize.report import Judgement


def judge(args: argparse.Namespace) -> ReleaseRefuted | None:
    """Attack a released file, show the findings, and write a page if asked; return an error if the file is refuted."""
    from sanitize.auditing.attack import judge as judge_table

    files = {name: getattr(args, name) for name in ("input", "source", "outsiders", "earlier")}
    files = {name: file for name, file in files.items() if file is not None}
    if STREAM in files.values():
        raise InvalidParameter("judge reads files, not standard input; write the table to a file first")
    paths = {name: to_path(file, SourceError).resolve() for name, file in files.items()}
    if paths.get("outsiders") == paths["source"]:
        raise InvalidParameter(
            "--outsiders names the raw table itself; name a file of people who were never in the raw table"
        )
    check_output(args.html, args, force=args.force)
    public, sensitive = args.public or [], args.sensitive
    tables = {}
    with show_progress():
        for name, file in files.items():
            if name in ("input", "earlier"):
                tables[name] = whole_table(file, public, sensitive if public else None)
            else:
                optional = [] if public else tables["input"].column_names
                tables[name] = whole_table(Path(file), [*sensitive, *public], optional)
    settings = {name: getattr(args, name) for name in ("rows", "excess", "at_most")}
    settings |= {"outsiders": tables.get("outsiders"), "earlier": tables.get("earlier")}
    judgement = judge_table(tables["input"], tables["source"], sensitive=sensitive, public=public or None, **settings)
    if args.html is not None:
        args.outputs.text(args.html, judgement.to_html(), replaces=args.force)
    say(judgement.to_json() if args.json else judgement.to_text() + "\n")
    return None if judgement.ok else ReleaseRefuted(judgement)


def judge_release(args: argparse.Namespace, policy: Policy) -> Judgement | None:
    """Attack a second release of the same design with ``--judge``; refuse the release if a promise is refuted.

    The release does not promise to hide who is in the data: such findings are in the report, and the release is
    written.

    Raises
    ------
    ReleaseRefuted
    """
    if args.judge is None:
        return None
    _refuse_twin("--judge", args, policy)
    from sanitize.auditing.attack import judge as judge_table

    names = [*policy.sensitive, *policy.public, *policy.keep]
    with show_progress():
        people = whole_table(attach_description(args.input, policy.description), names)
        outsiders = whole_table(Path(args.judge), names) if args.judge else None
        judgement = judge_table(policy.sanitizer(), people, outsiders=outsiders, sensitive=list(policy.sensitive))
    if judgement.promised == "refuted":
        raise ReleaseRefuted(judgement)
    return judgement


def compare_models(args: argparse.Namespace, policy: Policy) -> Downstream | None:
    """Compare models trained on a second release and on the raw table, on rows new to both; None without a target."""
    target = args.predict or policy.predict
    if target is None:
        return None
    _refuse_twin("--predict", args, policy)
    names = [*policy.sensitive, *policy.public, *policy.keep]
    if target not in names[len(policy.sensitive) :]:
        raise InvalidParameter(f"--predict must name a released column, got {target!r}")
    from sanitize.auditing.attack import downstream
    from sanitize.release.adversaries import fit_and_release

    with show_progress():
        table = whole_table(attach_description(args.input, policy.description), names)
        dealt = np.random.default_rng(0).permutation(table.num_rows)
        n_apart = table.num_rows // 10
        apart, rest = (table.take(np.sort(rows)) for rows in (dealt[:n_apart], dealt[n_apart:]))
        return downstream(rest, fit_and_release(policy.sanitizer(), rest), target, fresh=apart)


def _refuse_twin(option: str, args: argparse.Namespace, policy: Policy) -> None:
    """Raise an error if an option would fit the table a second time where this is not allowed or not possible."""
    if (args.audience or policy.audience) == "public":
        words = f"because its figures are computed from raw rows; leave out {option} or --audience public"
        raise InvalidParameter(f"{option} is for the owner, {words}")
    if policy.unit is not None or policy.is_noisy:
        words = "because it fits the table once more; leave it out"
        raise InvalidParameter(f"{option} cannot be used with units, secret_dp or record_dp, {words}")
    if args.input == STREAM:
        raise InvalidParameter(f"{option} reads the table twice, and standard input can be read only once; name a file")
