"""What the tests split from parquet share: tables, releases and oracles."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
import sanitize.pandas
from sanitize.transformers import SubsetMerging

KEY = bytes(range(32))

BUDGET = sz.LiftBudget(lower=1.5, upper=0.5)

LOOSE = sz.LiftBudget(lower=math.inf, upper=math.inf)


def table(n: int = 300, seed: int = 0) -> pa.Table:
    """Sensitive, public and other columns, missing values, and strings that must not get out."""
    rng = np.random.default_rng(seed)
    s = rng.choice(["SECRET_ill", "SECRET_well"], n, p=[0.3, 0.7])
    x = np.where(rng.random(n) < 0.4, np.where(s == "SECRET_ill", "a", "b"), rng.choice(["a", "b", "c", "d"], n))
    return pa.table(
        {
            "s": s,
            "x": pa.array([None if i % 11 == 0 else v for i, v in enumerate(x)], pa.string()),
            "floor": pa.array(rng.integers(0, 3, n), pa.int16()),
            "age": pa.array(rng.integers(18, 80, n), pa.int32()),
            "SECRET_name": [f"SECRET_{i}" for i in range(n)],
        }
    )


def merging(budget=BUDGET, **settings) -> SubsetMerging:
    return SubsetMerging(budget, **{"sensitive": "s", "public": ["x", "floor"], "min_count": 0, **settings})


def rows_of(path: Path) -> list[tuple]:
    return list(zip(*pq.read_table(path).to_pydict().values(), strict=True))


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))
