"""Cost of a release beside copies of the same Parquet file and beside other tools, in one run.

    python benchmarks/release.py [--rows ROWS ...] [--repeats N] [--ways WAY ...]

Makes a file of ROWS rows (10 million by default) and 16 columns, 8 of them dictionary text, and prints for each way
of treating it: wall and CPU seconds (medians of the repeats, taken in turns), peak memory of a process of its own,
and the ratio of CPU to the tuned copy of the whole file; then the ratio to the tuned copy of the columns that are
released, beside the goal for it. Releases have one worker unless they say otherwise. Other kinds of columns (missing
values, numbers that are binned, text that is not stored as a dictionary) are in a file of their own. Imports, and all
that a way loads when it is first used, are not counted: each treats a small file before the clock starts. DuckDB takes
part where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanitize.core.budgets import LiftBudget

KINDS = "kinds.parquet"
_FEW_ROWS = 300_000
TEXT_SYMBOLS = (5, 17, 40, 8, 100, 12, 5, 30)


def make(path: Path, n_rows: int) -> None:
    """Write the table: S depends on the text columns, the numbers are noise."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, n_rows, 1_000_000):
        n = min(1_000_000, n_rows - start)
        s = rng.integers(0, TEXT_SYMBOLS[0], n)
        columns = {}
        for j, k in enumerate(TEXT_SYMBOLS):
            codes = s if j == 0 else (rng.integers(0, k, n) + (rng.random(n) < 0.3) * s) % k
            columns[f"t{j}"] = pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int32)), pa.array([f"value-{j}-{i}" for i in range(k)])
            )
        for j in range(8):
            columns[f"n{j}"] = pa.array(rng.integers(0, 10 ** (j + 1), n))
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def make_kinds(path: Path, n_rows: int) -> None:
    """Write S and a column of each of the other kinds; ``plain`` is stored row by row."""
    rng = np.random.default_rng(1)
    writer = None
    for start in range(0, n_rows, 1_000_000):
        n = min(1_000_000, n_rows - start)
        s = rng.integers(0, TEXT_SYMBOLS[0], n)
        codes = (rng.integers(0, 17, n) + (rng.random(n) < 0.3) * s) % 17
        values = pa.array([f"value-{i}" for i in range(17)])
        text = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), values)
        missing = pa.array(codes.astype(np.int32), mask=rng.random(n) < 0.1)
        table = pa.table(
            {
                "s": pa.array(s).cast(pa.string()).dictionary_encode(),
                "nulls": pa.DictionaryArray.from_arrays(missing, values),
                "plain": text.cast(pa.string()),
                "number": pa.array(rng.normal(50 + 3 * s, 15, n)),
            }
        )
        stored = ["s", "nulls", "number"]
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=stored)
        writer.write_table(table)
    writer.close()


def naive_copy(source: Path, target: Path) -> None:
    reader = pq.ParquetFile(source)
    with pq.ParquetWriter(target, reader.schema_arrow) as writer:
        for batch in reader.iter_batches():
            writer.write_batch(batch)


def tuned_copy(source: Path, target: Path) -> None:
    schema = pq.read_schema(source)
    text = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    reader = pq.ParquetFile(source, read_dictionary=text)
    numbers = [name for name in schema.names if name not in text]
    with pq.ParquetWriter(target, reader.schema_arrow, compression="zstd", write_statistics=numbers) as writer:
        for group in range(reader.num_row_groups):
            writer.write_table(reader.read_row_group(group))


def _tuned_copy_of(source: Path, target: Path, names: list[str]) -> None:
    types = {name: pq.read_schema(source).field(name).type for name in names}
    text = [name for name, dtype in types.items() if pa.types.is_dictionary(dtype) or pa.types.is_string(dtype)]
    reader = pq.ParquetFile(source, read_dictionary=text)
    schema = pa.schema([reader.schema_arrow.field(name) for name in names])
    numbers = [name for name in names if name not in text]
    with pq.ParquetWriter(target, schema, compression="zstd", write_statistics=numbers) as writer:
        for group in range(reader.num_row_groups):
            writer.write_table(reader.read_row_group(group, columns=names, use_threads=False))


def tuned_copy_of_the_released_columns(source: Path, target: Path) -> None:
    _tuned_copy_of(source, target, ["t1", "t2"])


def copy_of_released_columns(source: Path, target: Path) -> None:
    reader = pq.ParquetFile(source)
    schema = pa.schema([reader.schema_arrow.field(name) for name in ("t1", "t2")])
    with pq.ParquetWriter(target, schema) as writer:
        for batch in reader.iter_batches(columns=["t1", "t2"]):
            writer.write_batch(batch)


def _release(source: Path | pa.RecordBatchReader, target: Path, rows: str, workers: int = 1) -> None:
    import sanitize as sz
    from sanitize.transformers import SubsetMerging

    sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="t0", public=["t1", "t2"])
    sz.release_file(source, target, sanitizer, rows=rows, force=True, workers=workers)


def release_shuffled(source: Path, target: Path) -> None:
    _release(source, target, "shuffle")


def release_in_order(source: Path, target: Path) -> None:
    _release(source, target, "keep")


def _reader(source: Path) -> pa.RecordBatchReader:
    file = pq.ParquetFile(source)
    columns = ["t0", "t1", "t2"]
    schema = pa.schema([file.schema_arrow.field(name) for name in columns])
    return pa.RecordBatchReader.from_batches(schema, file.iter_batches(columns=columns))


def release_of_a_reader_shuffled(source: Path, target: Path) -> None:
    _release(_reader(source), target, "shuffle")


def release_of_a_reader_in_order(source: Path, target: Path) -> None:
    _release(_reader(source), target, "keep")


def release_shuffled_by_two_workers(source: Path, target: Path) -> None:
    _release(source, target, "shuffle", 2)


def release_in_order_by_two_workers(source: Path, target: Path) -> None:
    _release(source, target, "keep", 2)


def _release_kind(source: Path, target: Path, name: str) -> None:
    import sanitize as sz
    from sanitize.transformers import SubsetMerging

    bins = {name: list(range(-20, 141, 10))} if name == "number" else None
    sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="s", public=[name], bins=bins)
    sz.release_file(source.with_name(KINDS), target, sanitizer, force=True, workers=1)


def tuned_copy_of_nulls(source: Path, target: Path) -> None:
    _tuned_copy_of(source.with_name(KINDS), target, ["nulls"])


def release_of_nulls_shuffled(source: Path, target: Path) -> None:
    _release_kind(source, target, "nulls")


def tuned_copy_of_plain_text(source: Path, target: Path) -> None:
    _tuned_copy_of(source.with_name(KINDS), target, ["plain"])


def release_of_plain_text_shuffled(source: Path, target: Path) -> None:
    _release_kind(source, target, "plain")


def tuned_copy_of_numbers(source: Path, target: Path) -> None:
    _tuned_copy_of(source.with_name(KINDS), target, ["number"])


def release_of_binned_numbers_shuffled(source: Path, target: Path) -> None:
    _release_kind(source, target, "number")


def _release_jointly(source: Path, target: Path, rows: str, keep: list[str]) -> None:
    import sanitize as sz
    from sanitize.transformers import JointRelease, SubsetMerging

    parts = [
        ("one", SubsetMerging(LiftBudget.symmetric(0.4), public=["t1"])),
        ("other", SubsetMerging(LiftBudget.symmetric(0.4), public=["t2"])),
    ]
    sanitizer = JointRelease(parts, sz.LiftBudget(lower=4.0, upper=1.6), sensitive="t0", keep=keep)
    sz.release_file(source, target, sanitizer, rows=rows, force=True, workers=1)


def release_of_two_channels_in_order(source: Path, target: Path) -> None:
    _release_jointly(source, target, "keep", [])


def release_of_two_channels_shuffled(source: Path, target: Path) -> None:
    _release_jointly(source, target, "shuffle", [])


def release_of_two_channels_and_a_kept_column_in_order(source: Path, target: Path) -> None:
    _release_jointly(source, target, "keep", ["t6"])


def release_of_two_channels_and_a_kept_column_shuffled(source: Path, target: Path) -> None:
    _release_jointly(source, target, "shuffle", ["t6"])


def duckdb_copy(source: Path, target: Path) -> None:
    import duckdb

    duckdb.sql(f"COPY (SELECT * FROM read_parquet('{source}')) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


def pandas_release(source: Path, target: Path) -> None:
    """The same release as one would write it by hand: count, merge the riskiest symbols, print, without checks."""
    import pandas as pd

    frame = pd.read_parquet(source, columns=["t0", "t1", "t2"])
    rng = np.random.default_rng()
    symbols = frame["t1"].astype(str) + "|" + frame["t2"].astype(str)
    counts = pd.crosstab(frame["t0"], symbols)
    joint = counts.to_numpy() / len(frame)
    lift = joint / joint.sum(axis=0) / joint.sum(axis=1, keepdims=True)
    risky = counts.columns[(lift.max(axis=0) > np.exp(0.5)) | (lift.min(axis=0) < np.exp(-1.0))]
    hit = symbols.isin(risky).to_numpy()
    weights = joint.sum(axis=0)[counts.columns.isin(risky)]
    released = symbols.to_numpy(dtype=object, copy=True)
    if len(risky):
        released[hit] = rng.choice(risky.to_numpy(), size=int(hit.sum()), p=weights / weights.sum())
    rng.shuffle(released)
    parts = pd.Series(released).str.split("|", expand=True)
    parts.columns = ["t1", "t2"]
    parts.to_parquet(target)


WAYS = [
    naive_copy,
    tuned_copy,
    copy_of_released_columns,
    tuned_copy_of_the_released_columns,
    release_in_order,
    release_shuffled,
    release_of_a_reader_in_order,
    release_of_a_reader_shuffled,
    release_in_order_by_two_workers,
    release_shuffled_by_two_workers,
    release_of_two_channels_in_order,
    release_of_two_channels_shuffled,
    release_of_two_channels_and_a_kept_column_in_order,
    release_of_two_channels_and_a_kept_column_shuffled,
    tuned_copy_of_nulls,
    release_of_nulls_shuffled,
    tuned_copy_of_plain_text,
    release_of_plain_text_shuffled,
    tuned_copy_of_numbers,
    release_of_binned_numbers_shuffled,
    duckdb_copy,
    pandas_release,
]

# CPU of a release as a multiple of that of the tuned copy of its columns, and the most it should be.
_OWN = "tuned_copy_of_the_released_columns"
GOALS = {
    "release_in_order": (_OWN, 2.5),
    "release_shuffled": (_OWN, 2.0),
    "release_of_a_reader_in_order": ("release_in_order", 1.3),
    "release_of_a_reader_shuffled": ("release_shuffled", 1.3),
    "release_of_nulls_shuffled": ("tuned_copy_of_nulls", None),
    "release_of_plain_text_shuffled": ("tuned_copy_of_plain_text", None),
    "release_of_binned_numbers_shuffled": ("tuned_copy_of_numbers", None),
}
# Wall time of two workers as a share of one's, on two cores.
WALL_GOAL = 0.6
PEAK_GOAL = 400  # MiB at one worker


def measure(way: str, source: Path, target: Path) -> dict[str, float]:
    """Time one way in a process of its own, imports and first use left out."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import release; release.child()"
    run = subprocess.run(
        [sys.executable, "-c", code, way, str(source), str(target)], check=True, capture_output=True, text=True
    )
    return json.loads(run.stdout.splitlines()[-1])  # tools may print progress before it


def _small(source: Path) -> Path:
    """The file of few rows beside a source."""
    return source.parent / "small" / source.name


def child() -> None:
    way, source, target = sys.argv[1:]
    if way.startswith("release"):
        import sanitize.engines.parquet
        import sanitize.transformers  # noqa: F401
    globals()[way](_small(Path(source)), Path(target))
    wall, cpu = time.perf_counter(), time.process_time()
    globals()[way](Path(source), Path(target))
    # Not ru_maxrss, which a child process inherits from its parent.
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [way.__name__ for way in WAYS]
    parser.add_argument("--rows", nargs="+", type=float, default=[1e7])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=names, default=names)
    given = parser.parse_args()
    if "duckdb_copy" in given.ways and importlib.util.find_spec("duckdb") is None:
        print("DuckDB is not installed; left out")
        given.ways.remove("duckdb_copy")
    for n_rows in map(int, given.rows):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "source.parquet"), Path(folder, "target.parquet")
            _small(source).parent.mkdir()
            make(_small(source), _FEW_ROWS)
            make_kinds(_small(source).with_name(KINDS), _FEW_ROWS)
            make(source, n_rows)
            if any("nulls" in way or "plain" in way or "numbers" in way for way in given.ways):
                make_kinds(source.with_name(KINDS), n_rows)
            runs: dict[str, list[dict[str, float]]] = {way: [] for way in given.ways}
            for _ in range(given.repeats):
                for way in given.ways:
                    runs[way].append(measure(way, source, target))
            show(runs, n_rows, source.stat().st_size / 2**20)


def show(runs: dict[str, list[dict[str, float]]], n_rows: int, size: float) -> None:
    """One table for one number of rows."""
    median = {
        way: {key: statistics.median(run[key] for run in found) for key in found[0]} for way, found in runs.items()
    }
    print(f"{n_rows:,} rows, {size:.0f} MiB, medians of {len(next(iter(runs.values())))} runs")
    print(f"{'':52}{'wall s':>8}{'CPU s':>8}{'ns/row':>8}{'peak MiB':>10}{'of tuned copy':>15}")
    base = median.get("tuned_copy", {"cpu": float("nan")})["cpu"]
    for way, found in median.items():
        peak = max(run["peak"] for run in runs[way])
        each = f"{found['cpu'] / n_rows * 1e9:>8.0f}{peak:>10.0f}{found['cpu'] / base:>15.2f}"
        print(f"{way.replace('_', ' '):52}{found['wall']:>8.2f}{found['cpu']:>8.2f}{each}", flush=True)
    for way, (own, goal) in GOALS.items():
        if way in median and own in median:
            least = "" if goal is None else f" (goal: at most {goal})"
            peak = max(run["peak"] for run in runs[way])
            ratio = median[way]["cpu"] / median[own]["cpu"]
            print(f"{way.replace('_', ' ')}: {ratio:.1f} times the CPU of {own.replace('_', ' ')}{least}, ", end="")
            print(f"peak {peak:.0f} MiB (goal: under {PEAK_GOAL})")
    for way in ("release_in_order", "release_shuffled"):
        two = f"{way}_by_two_workers"
        if way in median and two in median:
            share = median[two]["wall"] / median[way]["wall"]
            print(f"{two.replace('_', ' ')}: {share:.2f} of one worker's wall time (goal: at most {WALL_GOAL})")


if __name__ == "__main__":
    main()
