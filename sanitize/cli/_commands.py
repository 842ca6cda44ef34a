"""Commands, each of which reads its arguments, makes one call of the library, and shows the result."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._util.progress import show_progress
from sanitize._util.sealed_text import path_digest
from sanitize.cli._by_unit import check_by_unit, give_by_unit, refuse_by_unit, release_by_unit, release_tables
from sanitize.cli._judge import compare_models, judge_release
from sanitize.cli._judge import judge as judge
from sanitize.cli._settings import STREAM, check_output, check_records, input_description, open_input, resolve_policy
from sanitize.cli._standard import check_stdout, one_line, say
from sanitize.errors import InvalidParameter, SourceError, TargetError, VerificationFailed
from sanitize.policy import designer_of
from sanitize.tables.files.open import Among, attach_description, is_address, to_path
from sanitize.tables.files.source import read_small_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sanitize.errors import SanitizeError
    from sanitize.policy import Policy
    from sanitize.report import LeakageReport, ReportViews


def audit(args: argparse.Namespace) -> None:
    """Measure the leakage of the raw columns."""
    from sanitize.engines.parquet import audit_file

    policy = resolve_policy(args)
    check_output(args.report, args, force=True, records=_records(args, policy))
    with open_input(args, policy) as table, show_progress():
        report = audit_file(table, policy.sensitive, (*policy.public, *policy.keep), workers=policy.workers)
    _give(report, args, policy)


def plan(args: argparse.Namespace) -> SanitizeError | None:
    """Design a release, show its verdict, alternatives and lines for the policy; return the error of a refusal."""
    from sanitize.policy import make_plan

    policy = resolve_policy(args)
    check_output(args.report, args, force=True, records=_records(args, policy))
    is_internal = (args.audience or policy.audience) == "internal"
    check_output(args.html, args, force=args.force, records=_records(args, policy))
    if args.html is not None and not is_internal:
        words = "because its page shows further figures of the table; leave out one of them"
        raise InvalidParameter(f"--html cannot be used with --audience public, {words}")
    with open_input(args, policy, designer_of(policy).numbers) as table:
        # Advice, curves and comparison are further figures of the same table, so they are not for the public.
        release_plan = make_plan(policy, table, advise=is_internal)
    release_plan = release_plan.with_origin(**_origin(args, policy))
    report = release_plan.full_report
    if report is None:
        say((release_plan.to_json() if args.json else release_plan.to_text()) + "\n")
    else:
        if args.html is not None:
            args.outputs.text(args.html, release_plan.to_html(), replaces=args.force)
        printed = release_plan.to_json if args.json else partial(release_plan.to_text, full=args.full)
        _give(report, args, policy, printed=printed if is_internal else None)
    return release_plan.refusal


def release(args: argparse.Namespace) -> None:
    """Release the public columns through a channel."""
    from sanitize.engines.parquet import plan_file, release_file

    policy = resolve_policy(args)
    check_output(args.report, args, force=True, records=_records(args, policy))
    check_stdout(is_written=args.output == STREAM and not args.dry_run)
    if is_address(args.output):
        raise TargetError("the command line cannot write to an address: name a local file, and copy it afterwards")
    if args.output != STREAM:
        check_records(Path(args.output), _records(args, policy))
    check_output(args.channel, args, force=args.force, records=_records(args, policy))
    if None not in (args.channel, args.report) and args.channel.resolve() == args.report.resolve():
        raise TargetError(f"{args.channel.name} is named both with --channel and with --report; choose two names")
    if policy.unit is not None and not policy.tables:
        check_by_unit(args, policy)
    if policy.receipt is not None and not args.dry_run:
        args.outputs.home(policy.receipt)
        check_output(policy.receipt, args, force=args.force, records=_records(args, policy))
    written = None if args.dry_run or args.output == STREAM else Path(args.output)
    report: Any
    if policy.tables:
        report = release_tables(args, policy)
        _give(report, args, policy, written=written, size=f"{report.n_rows:,} units, {1 + len(policy.tables)} tables")
        return
    sanitizer = designer_of(policy)
    findings = [found for found in (judge_release(args, policy), compare_models(args, policy)) if found is not None]
    target = None if args.dry_run else Among(sys.stdout.buffer if written is None else written, args.outputs)
    with open_input(args, policy, sanitizer.numbers) as table, show_progress():
        if policy.unit is not None:
            report = release_by_unit(args, policy, sanitizer, table, target)
        elif target is None:
            report = plan_file(table, sanitizer)
        else:
            report = release_file(table, target, sanitizer, force=args.force, allow_useless=args.allow_useless)
        if findings:
            report = report.with_findings(*findings)
    if args.channel is not None and not args.dry_run:
        args.outputs.text(args.channel, sanitizer.channel_.to_json() + "\n", replaces=args.force)
    # If the table goes to standard output, no report may be mixed in.
    stream = sys.stderr if args.output == STREAM and not args.dry_run else sys.stdout
    if policy.unit is not None:
        give_by_unit(report, args, stream)
    else:
        n = len({*policy.public, *policy.keep})
        size = f"{report.n_rows:,} rows, {n} column{'s' if n > 1 else ''}"
        _give(report, args, policy, stream, written=written, size=size)


def verify(args: argparse.Namespace) -> SanitizeError | None:
    """Check a released file against its original table and its policy; return an error if a check fails."""
    from sanitize.auditing.verify import verify_file

    policy = resolve_policy(args)
    if STREAM in (args.input, args.source):
        raise InvalidParameter("verify reads files, not standard input; write the release to a file first")
    refuse_by_unit(policy)
    sanitizer = policy if args.policy is not None else designer_of(policy)
    settings: dict[str, Any] = {"rows": policy.rows, "against": args.against, "statement": args.statement}
    rewrite = None if args.rewrite is None else Among(args.rewrite, args.outputs)
    settings |= {"description": policy.description, "receipt": policy.receipt, "rewrite": rewrite}
    with show_progress():
        verification = verify_file(args.input, args.source, sanitizer, **settings)
    say(verification.to_json() if args.json else verification.to_text() + "\n")
    return None if verification.ok else VerificationFailed(verification)  # a rewritten file stays


def report(args: argparse.Namespace) -> None:
    """Show a saved report, or write it in another format."""
    from sanitize.report import LeakageReport

    if args.dossier is not None:
        from sanitize.cli._dossier import write_dossier

        write_dossier(args)
        return
    check_stdout(is_written=args.output is None)
    check_output(args.output, args, force=args.force)
    content = sys.stdin.buffer.read() if args.input == STREAM else read_small_file(to_path(args.input, SourceError))
    saved = LeakageReport.from_json(content)
    if args.output is not None:
        _write(saved, args, args.output, args.audience)
    else:
        say(_format_report(saved, args.audience, as_json=args.json) + "\n")


def init(args: argparse.Namespace) -> None:
    """Write a first policy for a table, to be reviewed."""
    from sanitize.cli._policy_skeleton import skeleton

    check_stdout(is_written=args.output is None)
    check_output(args.output, args, force=args.force)
    source = sys.stdin.buffer if args.input == STREAM else args.input
    with show_progress():
        content = skeleton(source, input_description(args))
    if args.output is None:
        say(content, is_file=True)
    else:
        args.outputs.text(args.output, content, private=False, replaces=args.force)


def sql(args: argparse.Namespace) -> None:
    """Show the SQL that counts the table for a policy or, given the counts, the statement that releases it."""
    try:
        from sanitize.engines.sql import Database
    except ModuleNotFoundError as error:
        raise InvalidParameter(str(error)) from None
    policy, database = resolve_policy(args), Database(args.dialect, args.table, args.row_id)
    if args.input is None:
        say(database.counts(policy) + "\n", is_file=True)
        return
    counts = attach_description(sys.stdin.buffer if args.input == STREAM else args.input, input_description(args))
    with show_progress():
        sanitizer = database.fit(policy, counts)
    say(database.release(sanitizer) + "\n", is_file=True)
    say(_format_report(sanitizer.report_, policy.audience, as_json=False, full=False) + "\n", sys.stderr)


def _records(args: argparse.Namespace, policy: Policy) -> list[Path]:
    """List the files of the run that no output may replace."""
    return [Path(record) for record in (args.policy, policy.ledger) if record is not None]


def _give(
    report: LeakageReport,
    args: argparse.Namespace,
    policy: Policy,
    stream: Any = None,
    printed: Callable[[], str] | None = None,
    written: Path | None = None,
    size: str = "",
) -> None:
    """Show a report, or other text in its place, and write it if requested; ``written`` is the released file."""
    audience = args.audience or policy.audience
    report = report.with_origin(**_origin(args, policy, written))
    full = getattr(args, "full", True)
    rendered = printed() if printed else _format_report(report, audience, as_json=args.json, full=full)
    if args.report is not None:
        _write(report, args, args.report, audience)
    say(rendered + "\n", stream)
    if written is not None and not args.json:
        args.wrote = f"wrote {one_line(written.name)} ({size})\n"


def _origin(args: argparse.Namespace, policy: Policy, written: Path | None = None) -> dict[str, str | None]:
    """Origin of a report, from the names on the command line."""
    table = args.input.partition("?")[0] if is_address(args.input) else args.input
    return {
        "title": args.title or policy.title,
        "date": args.date or policy.date,
        "table": None if args.input == STREAM else Path(table).name,
        "policy": None if args.policy is None else Path(args.policy).name,
        # Text reports do not show the digest, and reading a large file again takes a while.
        "digest": path_digest(args.outputs.readable(written)) if written and (args.json or args.report) else None,
    }


def _format_report(report: ReportViews, audience: Any, *, as_json: bool, full: bool = True) -> str:
    return report.to_json(audience=audience) if as_json else report.to_text(audience=audience, full=full)


def _write(report: ReportViews, args: argparse.Namespace, path: Path, audience: Any) -> None:
    if path.suffix == ".html":
        args.outputs.text(path, report.to_html(audience=audience))
    else:
        as_json = path.suffix == ".json"
        args.outputs.text(path, _format_report(report, audience, as_json=as_json) + ("" if as_json else "\n"))
