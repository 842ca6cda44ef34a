"""Fitted releases that are saved as JSON, without the distribution of the fit, and applied to new rows.

The saved text contains only the information that a new file needs: the channel, the roles of the columns, bins, the
budget and the public figures of the fit. It does not contain the distribution of (S, X), counts or keys. The channel
reveals a part of P_X: a released symbol is written as a public symbol with the frequencies of its group. Latent classes
reveal more: how frequent values are in each class. Anyone who can change the saved text decides what it releases, so
protect it like code.
"""

from __future__ import annotations

from sanitize.release.saved._receipt import Receipt
from sanitize.release.saved._receipt import check_place as check_place
from sanitize.release.saved._receipt import digest_of_source as digest_of_source
from sanitize.release.saved._saved_release import AppendedReport as AppendedReport
from sanitize.release.saved._saved_release import SavedRelease

__all__ = ["Receipt", "SavedRelease"]
