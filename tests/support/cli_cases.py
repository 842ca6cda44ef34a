"""What the tests split from cli share: tables, releases and oracles."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

USUAL = ["-s", "illness", "-x", "town", "-x", "floor", "--lower", "1.5", "--upper", "0.5"]


def table(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(0)
    illness = rng.choice(["SECRET_ill", "SECRET_well"], n, p=[0.3, 0.7])
    town = np.where(
        rng.random(n) < 0.4, np.where(illness == "SECRET_ill", "Aa", "Bb"), rng.choice(["Aa", "Bb", "Cc"], n)
    )
    return pa.table(
        {
            "illness": illness,
            "town": town,
            "floor": rng.integers(0, 3, n),
            "age": rng.integers(18, 80, n),
            "name": [f"SECRET_{i}" for i in range(n)],
        }
    )


def assert_one_line(err: str, *words: str) -> None:
    assert err.startswith("sanitize: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "SECRET" not in err
    for word in words:
        assert word in err


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))
