"""Option ``sanitize report --dossier``, which writes a dossier, Croissant metadata, and a statement that names both."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sanitize._util.outputs import json_text
from sanitize._util.sealed_text import path_digest
from sanitize.auditing.verify import Verification, make_croissant, make_statement, read_json
from sanitize.cli._settings import check_output
from sanitize.core.budgets import budget_words
from sanitize.errors import InvalidParameter, SourceError, TargetError
from sanitize.over_time import DPLedger, Ledger, UnitLedger
from sanitize.policy import Policy
from sanitize.report import LeakageReport, Material, ReportViews, dossier
from sanitize.tables.files.open import to_path
from sanitize.tables.files.source import read_small_file


def write_dossier(args: argparse.Namespace) -> None:
    """Write the dossier of a release with its metadata and its statement: all three files or none."""
    policy = Policy.read(args.policy)
    papers = {"policy": args.policy, "report": Path(args.input), "channel": args.channel}
    released: Path = args.released
    inputs = (*papers.values(), released, args.verified)
    records = [to_path(path, SourceError) for path in inputs if path is not None] + [*filter(None, [policy.ledger])]
    targets = [args.dossier, *(args.dossier.with_suffix(f".{kind}.json") for kind in ("croissant", "intoto"))]
    for target in targets:
        check_output(target, args, force=args.force, records=records)
        if released.resolve() in target.resolve().parents:
            raise TargetError(f"{target.name} would lie inside the release and change it; choose another folder")
    for kind, path in papers.items():
        # The statement refers to its papers as files of its own folder, where readers look for them.
        if path is not None and path.resolve().parent != args.dossier.resolve().parent:
            words = "lies in another folder than the dossier, which names files of its own folder; move it there"
            raise InvalidParameter(f"the {kind} {path.name} {words}")
    digest = path_digest(released)
    saved = LeakageReport.from_json(read_small_file(Path(args.input)))
    origin = saved.to_dict()["origin"]
    if origin is not None and origin["digest"] not in (None, digest):
        raise SourceError(
            "the report belongs to another file than --released; name the file that was released with this report"
        )
    document = saved.to_dict(audience=args.audience)
    if document["audience"] == "public":
        _refuse_private(saved, args)
    tables = () if policy.root is None else (policy.root, *policy.tables)
    metadata = _metadata(saved.to_dict(audience="public"), released, tables)
    present = {kind: path for kind, path in papers.items() if path is not None}
    files = (("released file", released.name, digest.removeprefix("sha256:")),)
    files += tuple((kind, path.name, path_digest(path).removeprefix("sha256:")) for kind, path in present.items())
    text = dossier(document, _material(args, policy, digest, files), args.dossier.suffix.removeprefix("."))
    write = partial(args.outputs.text, replaces=args.force)
    write(targets[0], text)
    write(targets[1], json_text(metadata), private=False)
    names = {kind: path.name for kind, path in present.items()} | {"croissant": targets[1].name}
    statement = make_statement(released, names, present | {"croissant": args.outputs.readable(targets[1])}, tables)
    write(targets[2], json_text(statement), private=False)


def _refuse_private(saved: ReportViews, args: argparse.Namespace) -> None:
    """Refuse private papers in a public dossier, because their digests could identify the table."""
    if saved.to_dict()["audience"] != "public":
        command = f"sanitize report {Path(args.input).name} --audience public -o public.json"
        words = "because the digest of that report reveals the last row to anyone who knows all others"
        remedy = f"name a public report, which '{command}' writes"
        raise InvalidParameter(f"a public dossier cannot name the owner's report, {words}; {remedy}")
    if args.channel is not None:
        raise InvalidParameter(
            "a public dossier cannot name the channel, which was computed from the table; leave --channel out"
        )
    policy = Path(args.policy)
    if re.search(r"#.*\d different ", policy.read_text(encoding="utf-8")):  # as in the draft of a policy
        words = f"but comments in {policy.name} count values of the table; take these comments out, and release again"
        raise InvalidParameter(f"a public dossier contains a digest of its policy, {words}")


def _metadata(document: dict[str, Any], released: Path, tables: Sequence[str]) -> dict[str, Any]:
    verdict, origin = document["verdict"], document["origin"] or {}
    about = f"{verdict['headline']}. {verdict['sentence']} Mechanism: {verdict['mechanism']}."
    return make_croissant(released, origin.get("title") or released.stem, about, origin.get("date"), tables)


def _material(args: argparse.Namespace, policy: Policy, digest: str, files: tuple[tuple[str, ...], ...]) -> Material:
    checks, false_alarm = None, None
    if args.verified is not None:
        verification = Verification.from_dict(read_json(args.verified, "the verification"))
        if verification.digest != digest:
            raise SourceError("the verification belongs to another file than --released; verify the released file")
        checks = tuple((check.name, "passed" if check.ok else "FAILED", check.detail) for check in verification.checks)
        false_alarm = verification.false_alarm
        files += (("verification", args.verified.name, path_digest(args.verified).removeprefix("sha256:")),)
    ledger = None
    if policy.ledger is not None:
        kind = DPLedger if policy.is_noisy else Ledger if policy.unit is None else UnitLedger
        book: Any = kind(policy.ledger)
        ledger = (len(book), book.total if isinstance(book, DPLedger) else budget_words(book.budget))
    return Material(files, _settings(policy), policy.drop, checks, false_alarm, ledger, policy.reason)


def _settings(policy: Policy) -> tuple[tuple[str, ...], ...]:
    """List the settings of a policy, one per line."""
    rows = [("budget", budget_words(policy.budget.build()))]
    for channel in policy.channels:
        settings = "".join(f"; {name} = {value}" for name, value in channel.settings.items())
        rows.append((f"channel {channel.name}", f"{channel.mechanism}: {', '.join(channel.public)}{settings}"))
    for name, child in policy.tables.items():
        order = "" if child.order is None else f"; order = {child.order}"
        rows.append((f"table {name}", f"{', '.join(child.public or ())}; key = {child.key or policy.unit}{order}"))
    ledger = "none" if policy.ledger is None else policy.ledger.name
    rows += [("order of rows", policy.rows), ("missing values", policy.missing)]
    return (*rows, ("values absent at fit", policy.handle_unknown), ("ledger", ledger))
