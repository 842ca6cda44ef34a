"""The same release in a loop, by Dask, by Spark tasks, and row by row through Spark's JVM, in turn, beside the goal.

    python benchmarks/engines.py [ROWS] [--files N] [--workers N] [--runs N]

Makes a data set of ROWS rows (10 million by default) of dictionary text in several files, releases it with one key in
each of the ways, checks that the files hold the same rows, and prints the least wall and CPU seconds of all processes,
and both as multiples of the loop. Sessions are started and warmed up before the clock. Beside the ways stands what the
engine itself takes: to run as many tasks that do nothing, and to read and write the released columns as they are, row
by row. Spark is left out, and said to be, where there is no Java.
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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
import sanitize.engines.dask
from sanitize.engines.parquet._tasks import Written
from sanitize.transformers import SubsetMerging

SYMBOLS = {"s": 5, "a": 17, "b": 40}
GOAL = 1.5
ORDERS = ("keep", "shuffle")
# Dask starts its workers with MALLOC_TRIM_THRESHOLD_, and glibc then maps every large array anew.
KEEP_MEMORY = {"distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25}


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


@dataclass(frozen=True)
class Way:
    """One way to release, or what its engine takes by itself, and the loop that it is held against."""

    name: str
    call: Callable[[Path], Any]
    beside: str
    is_release: bool = True


def nothing(_: int) -> Written:
    """What a task that does nothing comes to."""
    return Written(np.zeros(1, np.int64))


def cpu() -> dict[int, float]:
    """CPU seconds of this process and of each that it started and that is still there."""
    here = psutil.Process()
    return {one.pid: sum(one.cpu_times()[:2]) for one in (here, *here.children(recursive=True))}


def seconds(call: Callable[[Path], Any], target: Path) -> tuple[float, float]:
    """Wall and CPU time of a call."""
    before, start = cpu(), time.perf_counter()
    call(target)
    wall = time.perf_counter() - start
    return wall, sum(used - before.get(pid, 0.0) for pid, used in cpu().items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=float, default=1e7)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    key = secrets.token_bytes(32)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        source, small = folder / "source", folder / "small"
        make(source, int(given.rows), given.files)
        make(small, 10_000, given.workers)
        size = sum(file.stat().st_size for file in source.iterdir()) / 2**20
        print(f"{int(given.rows):,} rows in {given.files} files, {size:.0f} MiB; {given.workers} workers", flush=True)
        ways = by_loop(source, key, given.workers)
        ways += by_dask(stack, folder, source, small, key, given.workers)
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            print("Spark: not run, there is no Java on this machine")
        else:
            ways += by_spark(stack, folder, source, small, key, given.workers)
        compare(ways, folder, given.runs)


def compare(ways: list[Way], folder: Path, runs: int) -> None:
    """Run all ways in turn, so that a busy machine slows all of them alike, and print the least of each."""
    found: dict[str, list[tuple[float, float]]] = {way.name: [] for way in ways}
    for run in range(runs):
        for number, way in enumerate(ways):
            target = folder / f"out-{run}-{number}"
            found[way.name].append(seconds(way.call, target))
            if run == 0 and way.is_release and way.name != way.beside:
                assert same_rows(folder / f"out-0-{[one.name for one in ways].index(way.beside)}", target), way.name
            if run or not way.is_release:
                shutil.rmtree(target, ignore_errors=True)
    least = {name: tuple(map(min, zip(*times, strict=True))) for name, times in found.items()}
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; least of {runs} runs; goal {GOAL} times the loop")
    print(f"{'':40}{'wall s':>8}{'CPU s':>8}{'wall':>8}{'CPU':>6}")
    for way in ways:
        (wall, used), (loop_wall, loop_used) = least[way.name], least[way.beside]
        print(f"{way.name:40}{wall:>8.2f}{used:>8.2f}{wall / loop_wall:>7.1f}x{used / loop_used:>5.1f}x", flush=True)


def by_loop(source: Path, key: bytes, workers: int) -> list[Way]:
    def release(to: Path, rows: Any) -> None:
        sz.release_file(source, to, sanitizer(), rows=rows, key=key, workers=workers)

    return [Way(f"loop, {rows}", partial(release, rows=rows), f"loop, {rows}") for rows in ORDERS]


def by_dask(stack: ExitStack, folder: Path, source: Path, small: Path, key: bytes, workers: int) -> list[Way]:
    """Dask as it starts its workers, and with workers that keep freed memory."""
    import dask.dataframe as dd

    def release(to: Path, client: Any, rows: Any) -> None:
        sanitize.engines.dask.release_file(source, to, sanitizer(), rows=rows, key=key, client=client)

    def idle(_: Path, client: Any) -> None:
        engine = sanitize.engines.dask._Tasks(client, 0)
        for name in ("count", "write"):
            engine.run(nothing, range(workers * 2), name)

    def copy(to: Path, client: Any) -> None:
        with client.as_current():
            dd.read_parquet(source, columns=["a", "b"]).to_parquet(to)

    ways = []
    for name, settings in (("Dask", {}), ("Dask, freed memory kept", KEEP_MEMORY)):
        client = stack.enter_context(cluster(workers, settings))
        for rows in ORDERS:
            warm = folder / f"warm-{name}-{rows}"
            sanitize.engines.dask.release_file(small, warm, sanitizer(), client=client, task_rows=1, rows=rows)
            ways.append(Way(f"{name}, {rows}", partial(release, client=client, rows=rows), f"loop, {rows}"))
        if not settings:
            ways.append(Way("Dask, two rounds of empty tasks", partial(idle, client=client), "loop, shuffle", False))
            copy(folder / "warm-copy", client)
            ways.append(Way("Dask, columns read and written", partial(copy, client=client), "loop, keep", False))
    return ways


@contextmanager
def cluster(workers: int, settings: dict[str, Any]) -> Iterator[Any]:
    """Client of a cluster on this machine."""
    from distributed import Client, LocalCluster

    with (
        dask.config.set(settings),
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR) as made,
        Client(made) as client,
    ):
        yield client


def by_spark(stack: ExitStack, folder: Path, source: Path, small: Path, key: bytes, workers: int) -> list[Way]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import sanitize.engines.spark as on_spark

    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    stack.callback(spark.stop)
    spark.sparkContext.setLogLevel("ERROR")

    def release(to: Path, rows: Any) -> None:
        on_spark.release_file(source, to, sanitizer(), rows=rows, key=key, spark=spark)

    def idle(_: Path) -> None:
        engine = on_spark._Tasks(spark)
        for name in ("count", "write"):
            engine.run(nothing, range(workers * 2), name)

    def copy(to: Path) -> None:
        spark.read.parquet(str(source)).select("a", "b").write.parquet(str(to))

    fitted = sanitizer()
    sz.release_file(small, folder / "fit", fitted)

    def through_the_jvm(to: Path) -> None:
        on_spark.transform(spark.read.parquet(str(source)), fitted, key=key).write.parquet(str(to))

    for rows in ORDERS:
        warm = folder / f"warm-spark-{rows}"
        on_spark.release_file(small, warm, sanitizer(), spark=spark, task_rows=1, rows=rows)
    copy(folder / "warm-spark-copy")
    return [
        *(Way(f"Spark tasks, {rows}", partial(release, rows=rows), f"loop, {rows}") for rows in ORDERS),
        Way("Spark, two rounds of empty tasks", idle, "loop, shuffle", False),
        Way("Spark, columns read and written", copy, "loop, keep", False),
        Way("Spark mapInArrow, fitted", through_the_jvm, "loop, keep", False),
    ]


if __name__ == "__main__":
    main()
