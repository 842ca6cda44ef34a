"""Commands for tables whose rows belong to units."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sanitize._util.outputs import temporary_place
from sanitize._util.progress import show_progress
from sanitize.cli._settings import STREAM
from sanitize.cli._standard import say
from sanitize.errors import InvalidParameter, PolicyError
from sanitize.policy import designer_of
from sanitize.tables.files.open import Among, Target

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from sanitize.over_time import UnitLedger, UnitReport
    from sanitize.policy import Policy
    from sanitize.release.designer import Designer
    from sanitize.report import LeakageReport


def check_by_unit(args: argparse.Namespace, policy: Policy) -> None:
    """Refuse options that a release by unit does not support, before any file is read."""
    for option, value in (("--channel", args.channel), ("--receipt", policy.receipt)):
        if value is not None:
            words = "because a released value also depends on the unit and the ledger; leave it out"
            raise InvalidParameter(f"{option} cannot be used with units, {words}")
    if args.report is not None and args.report.suffix == ".html":
        raise InvalidParameter("a report on units is text or JSON; give --report a name that ends in .json or .txt")


def release_by_unit(
    args: argparse.Namespace, policy: Policy, sanitizer: Designer, table: Any, target: Among | None
) -> UnitReport:
    """Release by unit, or plan if there is no target, and return the report on all units."""
    from sanitize.engines.parquet import plan_units, release_units

    settings: dict[str, Any] = {"rows": policy.rows, "workers": policy.workers}
    ledger = _open_ledger(args, policy, sanitizer.recipe().confidence, is_kept=target is not None)
    if target is None:
        return plan_units(table, sanitizer, ledger, **settings)
    return release_units(table, target, sanitizer, ledger, **settings, force=args.force)


def _open_ledger(args: argparse.Namespace, policy: Policy, confidence: float | None, *, is_kept: bool) -> UnitLedger:
    """Open the ledger that a policy names; a new ledger is deleted unless it is kept and used."""
    from sanitize.over_time import UnitLedger

    of_ledger: dict[str, Any] = {"unit": policy.unit, "confidence": confidence}
    path, during = policy.ledger, args.outputs.during
    assert path is not None
    if path.exists():
        return UnitLedger(path, **of_ledger)
    if not is_kept:
        path = Path(during.enter_context(tempfile.TemporaryDirectory(dir=temporary_place()))) / path.name
    ledger = UnitLedger(path, policy.budget.build(), **of_ledger)
    during.callback(ledger.remove_if_empty)
    return ledger


def release_tables(args: argparse.Namespace, policy: Policy) -> LeakageReport:
    """Release tables of units, or only fit them in a dry run."""
    from sanitize.people import UnitRelease

    if args.channel is not None:
        words = "because their release also needs the model that generates rows; leave it out"
        raise InvalidParameter(f"--channel cannot be used with tables of units, {words}")
    if STREAM in (args.input, args.output):
        raise InvalidParameter(
            "tables of units need a folder as input and another as output, got standard input or output; name both"
        )
    ledger = None
    if policy.ledger is not None and not policy.is_noisy:
        ledger = _open_ledger(args, policy, designer_of(policy).recipe().confidence, is_kept=not args.dry_run)
    if not args.dry_run:  # before the tables are fitted, which takes long
        Target.check(args.output, Path(args.input), force=args.force, as_folder=True)
    with show_progress():
        units = UnitRelease(policy, ledger=ledger).fit(args.input)
        if args.dry_run:
            return units.report_
        return units.write(Among(args.output, args.outputs), force=args.force)


def give_by_unit(report: UnitReport, args: argparse.Namespace, stream: Any) -> None:
    """Show the report on the terminal, and write it to a file if requested."""
    if args.report is not None:
        as_json = args.report.suffix == ".json"
        args.outputs.text(args.report, (report.to_json() if as_json else report.to_text()) + "\n")
    say((report.to_json() if args.json else report.to_text()) + "\n", stream)


def refuse_by_unit(policy: Policy) -> None:
    """Raise an error if a policy releases by unit, because such a release cannot be verified."""
    if policy.tables:
        raise PolicyError("tables of units have no receipt yet, so verify has nothing to compare them with", "table")
    if policy.unit is not None:
        words = "because it depends on the earlier releases of its units; the ledger shows how much was revealed"
        raise PolicyError(f"verify cannot repeat a release by unit, {words}", "columns.unit")
