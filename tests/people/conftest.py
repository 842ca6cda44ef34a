"""Models of histories are tilted to few generated units here; tests that measure histories ask for more."""

from __future__ import annotations

import pytest

from sanitize.people import _release


@pytest.fixture(autouse=True)
def _few_units_to_tilt_to(monkeypatch):
    monkeypatch.setattr(_release, "_TRIED", 300)
