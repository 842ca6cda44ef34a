"""Choice of a budget and a mechanism: curves, the tightest useful budget, and the most useful mechanism."""

from __future__ import annotations

from sanitize.release.choosing._budget import Suggestion as Suggestion
from sanitize.release.choosing._budget import suggest_budget
from sanitize.release.choosing._candidates import KINDS as KINDS
from sanitize.release.choosing._candidates import PRINTED as PRINTED
from sanitize.release.choosing._candidates import Candidate as Candidate
from sanitize.release.choosing._candidates import Choice as Choice
from sanitize.release.choosing._candidates import Comparison as Comparison
from sanitize.release.choosing._candidates import compare
from sanitize.release.choosing._candidates import kept_words as kept_words
from sanitize.release.choosing._candidates import kinds_for as kinds_for
from sanitize.release.choosing._candidates import most_useful as most_useful
from sanitize.release.choosing._candidates import most_useful_so_far as most_useful_so_far
from sanitize.release.choosing._candidates import room as room
from sanitize.release.choosing._curve import tradeoff_curve
from sanitize.report import TradeoffCurve as TradeoffCurve
from sanitize.report import TradeoffPoint as TradeoffPoint

__all__ = ["compare", "suggest_budget", "tradeoff_curve"]
