"""What a whole table costs by its number of rows: the design, its memory, the release, and rows applied a second.

    OMP_NUM_THREADS=1 python benchmarks/large_tables.py 1e5 1e6 1e7

A source has 15 public columns and 3 secrets: five columns each of few texts, of whole numbers up to 1,000 and of real
numbers with gaps, all of which depend on the secret a little. It is a Parquet file with row groups of 2^20 rows. Each
size runs in a process of its own, at defaults, with one worker. "Fit": CPU seconds until the gate
(`plan_file`); "release": of the whole of `release_file`; "apply": wall time of `transform` of up to 2^20 rows
that are in memory as an Arrow table, by a fitted sanitizer on every core, in million rows a second, the best of three;
"MiB": the peak of fit and release.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.engines.parquet import plan_file
from sanitize.transformers import LatentClassRelease

GROUP_ROWS = 1 << 20
BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)


def group(n: int, rng: np.random.Generator) -> pa.Table:
    """Rows of the source."""
    s = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    columns: dict[str, pa.Array] = {"s": pa.array(s)}
    for j in range(5):
        values = pa.array([f"value {i}" for i in range(4 + 4 * j)])
        codes = (rng.geometric(0.3, n) + s * (j % 2)) % len(values)
        columns[f"text{j}"] = pa.DictionaryArray.from_arrays(codes.astype(np.int32), values).cast(pa.string())
        columns[f"whole{j}"] = pa.array(np.minimum(rng.poisson(20 * (j + 1) + 2 * s), 1000))
        real = np.round(rng.lognormal(j + 0.1 * s, 1.0), 2)
        columns[f"real{j}"] = pa.array(real, mask=rng.random(n) < 0.02 * j)
    return pa.table(columns)


def write(path: Path, n: int) -> None:
    """The source of a size, from a seed."""
    rng, left = np.random.default_rng(n), n
    first = group(min(GROUP_ROWS, left), rng)
    with pq.ParquetWriter(path, first.schema) as writer:
        while left > 0:
            writer.write_table(first)
            left -= len(first)
            if left > 0:
                first = group(min(GROUP_ROWS, left), rng)


def measured(path: Path) -> list[float]:
    """Seconds of the fit and of the release, million rows applied a second, MiB of the fit and release."""
    sanitizer = LatentClassRelease(BUDGET, sensitive="s")
    began = time.process_time()
    plan_file(path, sanitizer, workers=1)
    fitted = time.process_time()
    sz.release_file(path, path.with_suffix(".out"), sanitizer, workers=1, force=True)
    released = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = next(pq.ParquetFile(path).iter_batches(GROUP_ROWS))
    table = pa.table(rows)
    seconds = []
    for _ in range(3):
        began_applying = time.perf_counter()
        sanitizer.transform(table)
        seconds.append(time.perf_counter() - began_applying)
    return [fitted - began, released - fitted, len(table) / min(seconds) / 1e6, peak]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=float, nargs="*", default=[1e5, 1e6])
    parser.add_argument("--measure", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(*measured(given.measure))
        return
    print("| rows | fit, s | release, s | apply, 10⁶ rows/s | MiB |")
    print("|---" * 5 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for n in map(int, given.rows):
            path = Path(folder, f"{n}.parquet")
            write(path, n)
            command = [sys.executable, __file__, "--measure", str(path)]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            fit, release, rate, peak = map(float, told.split())
            print(f"| {n:,} | {fit:.1f} | {release:.1f} | {rate:.1f} | {peak:.0f} |", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
