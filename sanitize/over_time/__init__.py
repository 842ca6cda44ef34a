"""Ledgers that limit several releases together, of the same rows or of the same units over time."""

from __future__ import annotations

from sanitize.over_time._book import Entry as Entry
from sanitize.over_time._dp_ledger import DPLedger
from sanitize.over_time._joint_distribution import CountedElsewhere as CountedElsewhere
from sanitize.over_time._joint_distribution import Tally as Tally
from sanitize.over_time._ledger import Ledger
from sanitize.over_time._ledger import as_ledger as as_ledger
from sanitize.over_time._unit_ledger import UnitLedger
from sanitize.over_time._unit_report import UnitEntry as UnitEntry
from sanitize.over_time._unit_report import UnitReport as UnitReport

__all__ = ["DPLedger", "Ledger", "UnitLedger"]
