"""Fixtures that the tests of this folder share."""

from __future__ import annotations

import signal
import warnings
from pathlib import Path

import pytest

import sanitize as sz


@pytest.fixture
def titanic(tmp_path) -> Path:
    sz.datasets.load_titanic().to_csv(tmp_path / "raw.csv", index=False)
    return tmp_path / "raw.csv"


@pytest.fixture(autouse=True)
def _restore_process_state(monkeypatch):
    """`main` is a program: it sets the warning hook and the SIGTERM handler of its process."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)
