"""Releases of tables whose rows belong to units, from the command line."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sanitize._files.outputs import temporary_place
from sanitize.cli._standard import say
from sanitize.errors import InvalidParameter, PolicyError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    from sanitize._files.open import Among
    from sanitize._release.designer import Designer
    from sanitize.ledger import UnitLedger, UnitReport
    from sanitize.policy import Policy


def check_by_unit(args: argparse.Namespace, policy: Policy) -> None:
    """Refuse what a release by unit has not, before anything is read."""
    if args.channel is not None:
        raise InvalidParameter("--channel does not go with units: what a row is released as depends on its unit too")
    if policy.receipt is not None:
        raise InvalidParameter("--receipt does not go with units: what a row is released as depends on the ledger, too")
    if args.report is not None and args.report.suffix == ".html":
        raise InvalidParameter("a report of units is text or JSON; give --report another name")


def release_by_unit(
    args: argparse.Namespace, policy: Policy, sanitizer: Designer, table: Any, target: Among | None
) -> UnitReport:
    """Release, or plan where there is no target, and return the report of all that the units were told."""
    from sanitize.parquet import plan_units, release_units

    settings: dict[str, Any] = {"rows": policy.rows, "workers": policy.workers}
    ledger = args.outputs.during.enter_context(
        _ledger_of(policy, sanitizer.recipe().confidence, keep=target is not None)
    )
    if target is None:
        return plan_units(table, sanitizer, ledger, **settings)
    return release_units(table, target, sanitizer, ledger, **settings, force=args.force)


@contextlib.contextmanager
def _ledger_of(policy: Policy, confidence: float | None, *, keep: bool) -> Iterator[UnitLedger]:
    """The ledger that a policy names; where there is none a new one, which stays only if it is to be kept and used."""
    from sanitize.ledger import UnitLedger

    path = policy.ledger
    assert path is not None
    if path.exists():
        yield UnitLedger(path, unit=policy.unit, confidence=confidence)
        return
    with tempfile.TemporaryDirectory(dir=temporary_place()) as folder:
        place = path if keep else Path(folder) / path.name
        made = UnitLedger(place, policy.budget.build(), unit=policy.unit, confidence=confidence)
        try:
            yield made
        finally:
            made.remove_if_empty()


def give_by_unit(report: UnitReport, args: argparse.Namespace, stream: Any) -> None:
    """Print the report, and write it where asked."""
    text = report.to_json() if args.json else report.to_text()
    if args.report is not None:
        as_json = args.report.suffix == ".json"
        args.outputs.text(args.report, (report.to_json() if as_json else report.to_text()) + "\n")
    say(text + "\n", stream)


def refuse_by_unit(policy: Policy) -> None:
    """Refuse to verify a release by unit."""
    if policy.unit is not None:
        raise PolicyError(
            "a release by unit depends on what its units were released before, so it cannot be designed again: verify "
            "has nothing to compare it with; the ledger says what it told",
            "columns.unit",
        )
