"""Fixtures that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from parquet_cases import table


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "raw.parquet"
    pq.write_table(table(), path)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    """A data set with telling folder names, and files that are none of it."""
    root = tmp_path / "SECRET_study"
    for i, name in enumerate(["sex=SECRET_male", "sex=SECRET_female", "sex=SECRET_none"]):
        (root / name).mkdir(parents=True)
        pq.write_table(table(100 + 50 * i, seed=i), root / name / f"SECRET_{i}.parquet")
    (root / "_delta_log").mkdir()
    (root / "_delta_log" / "00.parquet").write_bytes(b"not data")
    (root / ".hidden.parquet").write_bytes(b"not data")
    (root / "notes.txt").write_text("SECRET")
    return root
