"""Fixtures that the tests of this folder share."""

from __future__ import annotations

import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_cases import table

from sanitize.cli import main


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "raw.parquet"
    pq.write_table(table(), path)
    return path


@pytest.fixture
def run(capsys):
    """Run the command in this process: (exit code, stdout, stderr)."""

    def call(*argv):
        code = main([str(arg) for arg in argv])
        return code, *capsys.readouterr()

    return call


@pytest.fixture(autouse=True)
def _interruptible():
    """Programs that tests start listen to SIGINT, also where a shell has this process, a background job, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
