"""Fixtures that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from verify_cases import table


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("verify")
    pq.write_table(table(), place / "raw.parquet")
    pq.write_table(table(seed=1), place / "other.parquet")
    return place
