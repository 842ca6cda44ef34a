"""Short searches for mergings, and few trees of a plan's attacker, for tests that do not ask how good either is."""

from __future__ import annotations

from importlib import import_module

import pytest

from sanitize.mechanisms._merging import local_search
from sanitize.release import before_after
from sanitize.release.adversaries import boosting

subset_merging = import_module("sanitize.mechanisms._merging.subset_merging")  # its package has a function of this name


@pytest.fixture
def full_effort():
    """Leave searches and trees as they are."""


@pytest.fixture(autouse=True)
def _short_searches(request, monkeypatch):
    if "full_effort" in request.fixturenames:
        return
    monkeypatch.setattr(local_search, "_BLURRED_ROUNDS", 3)
    monkeypatch.setattr(subset_merging, "_EFFORT", 100_000)
    monkeypatch.setattr(before_after, "boosting", lambda *given: boosting(*given).set_params(max_iter=2))
