"""Short searches for mergings, and few trees of a plan's attacker, for tests that do not ask how good either is."""

from __future__ import annotations

import sys

import pytest

import sanitize.mechanisms  # noqa: F401
from sanitize.mechanisms._merging import local_search
from sanitize.release import before_after
from sanitize.release.adversaries import boosting


@pytest.fixture(autouse=True)
def _short_searches(monkeypatch):
    monkeypatch.setattr(local_search, "_BLURRED_ROUNDS", 3)
    # Its package has a function of the same name.
    monkeypatch.setattr(sys.modules["sanitize.mechanisms._merging.subset_merging"], "_EFFORT", 100_000)
    monkeypatch.setattr(before_after, "boosting", lambda *given: boosting(*given).set_params(max_iter=2))


@pytest.fixture
def all_trees(_short_searches, monkeypatch):
    """Give a plan's attacker all trees again."""
    monkeypatch.setattr(before_after, "boosting", boosting)
