"""Choosing: the curve of a mechanism, the budget that keeps enough, and the mechanism that keeps most within it."""

from __future__ import annotations

from sanitize.release.choosing._budget import Suggestion as Suggestion
from sanitize.release.choosing._budget import suggest_budget
from sanitize.release.choosing._curve import curve_point as curve_point
from sanitize.release.choosing._curve import tradeoff_curve
from sanitize.release.choosing._mechanism import KINDS as KINDS
from sanitize.release.choosing._mechanism import PRINTED as PRINTED
from sanitize.release.choosing._mechanism import Compared as Compared
from sanitize.release.choosing._mechanism import Comparison as Comparison
from sanitize.release.choosing._mechanism import choose_report as choose_report
from sanitize.release.choosing._mechanism import compare
from sanitize.release.choosing._mechanism import comparison_section as comparison_section
from sanitize.release.choosing._mechanism import kinds_for as kinds_for
from sanitize.release.choosing._mechanism import most_useful as most_useful
from sanitize.release.choosing._mechanism import most_useful_so_far as most_useful_so_far
from sanitize.release.choosing._mechanism import reason as reason
from sanitize.release.choosing._mechanism import room as room
from sanitize.report import TradeoffCurve as TradeoffCurve
from sanitize.report import TradeoffPoint as TradeoffPoint

__all__ = [
    "compare",
    "suggest_budget",
    "tradeoff_curve",
]
