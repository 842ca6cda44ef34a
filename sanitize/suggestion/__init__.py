"""Choosing: the curve of a mechanism, the budget that keeps enough, and the mechanism that keeps most within it."""

from __future__ import annotations

from sanitize.report import TradeoffCurve as TradeoffCurve
from sanitize.report import TradeoffPoint as TradeoffPoint
from sanitize.suggestion._budget import Suggestion as Suggestion
from sanitize.suggestion._budget import suggest_budget
from sanitize.suggestion._curve import point_of as point_of
from sanitize.suggestion._curve import tradeoff_curve
from sanitize.suggestion._mechanism import KINDS as KINDS
from sanitize.suggestion._mechanism import PRINTED as PRINTED
from sanitize.suggestion._mechanism import Compared as Compared
from sanitize.suggestion._mechanism import Comparison as Comparison
from sanitize.suggestion._mechanism import compare
from sanitize.suggestion._mechanism import comparison_section as comparison_section
from sanitize.suggestion._mechanism import kinds_for as kinds_for
from sanitize.suggestion._mechanism import most_useful as most_useful
from sanitize.suggestion._mechanism import most_useful_so_far as most_useful_so_far
from sanitize.suggestion._mechanism import preferred as preferred
from sanitize.suggestion._mechanism import reason as reason

__all__ = [
    "compare",
    "suggest_budget",
    "tradeoff_curve",
]
