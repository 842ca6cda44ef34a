"""Searches for mergings, and what a plan's attacker learns, are short here."""

from __future__ import annotations

from short_searches import _short_searches, full_effort  # noqa: F401
