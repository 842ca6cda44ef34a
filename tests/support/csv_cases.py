"""What the tests split from csv share: tables, releases and oracles."""

from __future__ import annotations

from pathlib import Path

import sanitize as sz
from sanitize.transformers import SubsetMerging

LOOSE = sz.LiftBudget(lower=float("inf"), upper=3.0)

KEY = bytes(range(32))


def merging(**settings) -> SubsetMerging:
    return SubsetMerging(LOOSE, **{"sensitive": "s", "public": ["x"], "min_count": 0, **settings})


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def sailors(**settings) -> SubsetMerging:
    return SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"], **settings)
