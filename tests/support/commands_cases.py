"""What the tests split from commands share: tables, releases and oracles."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

POLICY = """
version = 1
[columns]
sensitive = ["illness"]
public = ["town", "floor"]
drop = ["age", "name"]
[budget]
lower = 1.5
upper = 0.5
"""

SETTINGS = ["-s", "illness", "-x", "town", "-x", "floor", "--lower", "1.5", "--upper", "0.5"]


def table(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(0)
    illness = rng.choice(["SECRET_ill", "SECRET_well"], n, p=[0.3, 0.7])
    related = np.where(illness == "SECRET_ill", "Aa", "Bb")
    return pa.table(
        {
            "illness": illness,
            "town": np.where(rng.random(n) < 0.4, related, rng.choice(["Aa", "Bb", "Cc"], n)),
            "floor": rng.integers(0, 3, n),
            "age": rng.integers(18, 80, n),
            "name": [f"SECRET_{i}" for i in range(n)],
        }
    )


def assert_line(err: str, *words: str) -> None:
    """One line that says what and tells no secret."""
    assert err.startswith("sanitize: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for word in (*words, ""):
        assert word in err
    assert "SECRET" not in err
    assert "Traceback" not in err


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


START = ["policy.toml", "raw.parquet"]


def command(*argv, stdin: bytes = b"", cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "sanitize", *argv], cwd=cwd, input=stdin, capture_output=True, check=False
    )


def as_csv() -> bytes:
    sink = io.BytesIO()
    pa.csv.write_csv(table(), sink)
    return sink.getvalue()
