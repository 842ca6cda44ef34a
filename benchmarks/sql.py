"""The same rows drawn by three databases and by Python, beside a copy of the same columns in another order.

    python benchmarks/sql.py [ROWS] [--dialects duckdb sqlite postgres] [--runs N]

Makes a table of ROWS rows (a million by default) with numbers, text and booleans, fits one channel, loads the table
into each database, and releases it there into a table of its own, with two threads. Prints the least seconds of the
release, of the copy of the released columns ordered by a hash of the ids, and of `sanitize.engines.sql.release`, and
whether the rows of the database are Python's, one by one. A database that is not there is said to be left out.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import sanitize as sz
from sanitize.engines.sql import Database, release

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
import databases

PUBLIC = ["town ; --", "children", "age"]
HASHES = {
    "duckdb": "SHA256(CAST(id AS TEXT))",
    "sqlite": "SANITIZE_WORD(CAST(id AS TEXT), 0)",
    "postgres": "MD5(CAST(id AS TEXT))",
}


def least(runs: int, function: Callable[[], object]) -> float:
    """Least wall seconds of some runs."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=float, default=1e6)
    parser.add_argument("--dialects", nargs="+", choices=HASHES, default=[*HASHES])
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    df = databases.people(int(asked.rows), np.random.default_rng(0)).sample(frac=1, random_state=0)
    sanitizer = sz.SubsetMerging(
        sz.LiftBudget.symmetric(1.0), sensitive="ill", public=PUBLIC, bins={"age": [18, 30, 45.5, 65.1, 90]}
    )
    sanitizer.fit(df)
    key = secrets.token_bytes(32)
    start = time.perf_counter()
    expected = databases.plain(release(df, sanitizer, key=key, row_id="id"))
    print(f"{len(df):,} rows; Python {time.perf_counter() - start:.2f} s")
    for dialect in asked.dialects:
        why = databases.absent() if dialect == "postgres" else None
        if why is not None:
            print(f"{dialect}: left out, {why}")
            continue
        with databases.postgres() if dialect == "postgres" else nullcontext() as connection:  # noqa: SIM117
            with databases.loaded(dialect, df, "people", connection) as run:
                if dialect == "duckdb":
                    run("SET threads = 2")
                statement = Database(dialect, "people", row_id="id").release(sanitizer)
                shown = ", ".join('"' + name + '"' for name in PUBLIC)
                copy = f"SELECT {shown} FROM people ORDER BY {HASHES[dialect]}"

                def into(select: str, age: str, *values: str, run: Callable[..., object] = run) -> None:
                    run("DROP TABLE IF EXISTS kept")
                    run(f"CREATE TABLE kept (town TEXT, children BIGINT, age {age})")
                    run(f"INSERT INTO kept {select}", *values)

                released = least(asked.runs, lambda: into(statement, "TEXT", key.hex()))  # noqa: B023
                copied = least(asked.runs, lambda: into(copy, "DOUBLE PRECISION"))  # noqa: B023
                same = databases.plain(run(statement, key.hex())) == expected
                print(f"{dialect}: release {released:.2f} s, copy {copied:.2f} s; rows are Python's: {same}")


if __name__ == "__main__":
    main()
