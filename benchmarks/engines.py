"""The same release in a loop, by Dask, by Spark tasks, and row by row through Spark's JVM, in one run.

    python benchmarks/engines.py [ROWS] [--files N] [--workers N]

Makes a data set of ROWS rows (10 million by default) of dictionary text in several files, releases it with one key in
each of the ways, checks that the files hold the same rows, and prints wall seconds. Sessions are started and warmed
up before the clock. Spark is left out, and said to be, where there is no Java.
"""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.transformers import SubsetMerging

SYMBOLS = {"s": 5, "a": 17, "b": 40}


def make(folder: Path, n_rows: int, n_files: int) -> None:
    """Write the files: S depends on the public columns."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for file in range(n_files):
        n = n_rows * (file + 1) // n_files - n_rows * file // n_files
        s = rng.integers(0, SYMBOLS["s"], n)
        columns = {}
        for name, k in SYMBOLS.items():
            codes = s if name == "s" else (rng.integers(0, k, n) + (rng.random(n) < 0.3) * s) % k
            columns[name] = pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int32)), pa.array([f"value-{name}-{i}" for i in range(k)])
            )
        pq.write_table(pa.table(columns), folder / f"{file:04d}.parquet", row_group_size=1 << 20, store_schema=False)


def sanitizer() -> SubsetMerging:
    return SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="s", public=["a", "b"])


def same_rows(one: Path, other: Path) -> bool:
    """Whether two folders of parts hold the same rows in the same order."""
    first, second = (pa.concat_tables(pq.read_table(part) for part in sorted(p.iterdir())) for p in (one, other))
    return first.equals(second)


def timed(name: str, way: Callable[[Path], Any], folder: Path) -> Path:
    target = folder / name.replace(" ", "-").replace(",", "")
    start = time.perf_counter()
    way(target)
    print(f"{name:28}{time.perf_counter() - start:>8.1f} s", flush=True)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=float, default=1e7)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    key = secrets.token_bytes(32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, small = folder / "source", folder / "small"
        make(source, int(given.rows), given.files)
        make(small, 10_000, given.workers)
        size = sum(file.stat().st_size for file in source.iterdir()) / 2**20
        print(f"{int(given.rows):,} rows in {given.files} files, {size:.0f} MiB; {given.workers} workers", flush=True)
        release(folder, source, small, key, given.workers)


def release(folder: Path, source: Path, small: Path, key: bytes, workers: int) -> None:
    loops = {}
    for rows in ("keep", "shuffle"):
        loops[rows] = timed(
            f"loop, {rows}",
            lambda to, rows=rows: sz.privatize_parquet(source, to, sanitizer(), rows=rows, key=key),
            folder,
        )
    by_dask(folder, source, small, key, workers, loops)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("Spark: not run, there is no Java on this machine")
    else:
        by_spark(folder, source, small, key, workers, loops)


def by_dask(folder: Path, source: Path, small: Path, key: bytes, workers: int, loops: dict[str, Path]) -> None:
    from distributed import Client, LocalCluster

    import sanitize.dask

    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR) as cluster,
        Client(cluster) as client,
    ):
        sanitize.dask.privatize_parquet(small, folder / "warm-dask", sanitizer(), client=client, task_rows=1)
        for rows, alone in loops.items():
            target = timed(
                f"Dask tasks, {rows}",
                lambda to, rows=rows: sanitize.dask.privatize_parquet(
                    source, to, sanitizer(), rows=rows, key=key, client=client
                ),
                folder,
            )
            assert same_rows(alone, target)


def by_spark(folder: Path, source: Path, small: Path, key: bytes, workers: int, loops: dict[str, Path]) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import sanitize.spark

    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    sanitize.spark.privatize_parquet(small, folder / "warm-spark", sanitizer(), spark=spark, task_rows=1)
    for rows, alone in loops.items():
        target = timed(
            f"Spark tasks, {rows}",
            lambda to, rows=rows: sanitize.spark.privatize_parquet(
                source, to, sanitizer(), rows=rows, key=key, spark=spark
            ),
            folder,
        )
        assert same_rows(alone, target)
    fitted = sanitizer()
    sz.privatize_parquet(small, folder / "fit", fitted)

    def through_the_jvm(target: Path) -> None:
        rows = spark.read.parquet(str(source))
        sanitize.spark.transform(rows, fitted, key=key).write.parquet(str(target))

    timed("Spark mapInArrow, fitted", through_the_jvm, folder)
    spark.stop()


if __name__ == "__main__":
    main()
