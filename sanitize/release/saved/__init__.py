"""Fitted release without the distribution it was fitted on: saved as JSON, read back, applied to new rows.

What is saved is what a new file needs: the channel, the roles of the columns, bins, the budget and the public
figures of the fit. The distribution of (S, X), counts and keys are not. The channel does tell some of P_X: a released
symbol is printed as a public one with the frequencies of its group. A tree tells more: its thresholds, and the rows
that it prints from. Whoever may write to the saved text decides what is released by it, so keep it like code.
"""

from __future__ import annotations

from sanitize.release.saved._receipt import Receipt
from sanitize.release.saved._receipt import check_place as check_place
from sanitize.release.saved._receipt import digest_of_source as digest_of_source
from sanitize.release.saved._saved_release import AppendedReport as AppendedReport
from sanitize.release.saved._saved_release import SavedRelease

__all__ = ["Receipt", "SavedRelease"]
