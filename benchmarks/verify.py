"""Cost of verifying a released file: time and peak memory, by the number of rows.

    python benchmarks/verify.py [--rows ROWS ...] [--repeats N]

Releases the table of benchmarks/release.py, shuffled and in order, and prints for the verification of each by its
receipt: wall and CPU seconds (medians of the repeats), peak memory of a process of its own, and the CPU of the release
that is verified, beside the goals for them. Imports, and all that is loaded when it is first used, are not counted:
each process treats a small file before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from release import _small, make, measure

RELEASES = {"shuffle": "release_shuffled", "keep": "release_in_order"}
FEW_ROWS = 300_000
CPU_GOAL = 1.5  # of the CPU of the release
PEAK_GOAL = 500  # MiB


def measure_verify(rows: str, source: Path, target: Path) -> dict[str, float]:
    """Verify in a process of its own."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import verify; verify.child()"
    run = subprocess.run(
        [sys.executable, "-c", code, rows, str(source), str(target)], check=True, capture_output=True, text=True
    )
    return json.loads(run.stdout)


def child() -> None:
    rows, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    import sanitize as sz
    import sanitize.auditing.verify
    from sanitize.transformers import SubsetMerging

    sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="t0", public=["t1", "t2"])
    few = target.with_name("few.parquet")
    own = {path: _small(source).parent / f"{path.name}.receipt" for path in (few, target)}
    for path, raw in ((few, _small(source)), (target, source)):
        sz.release_file(raw, path, sanitizer, rows=rows, receipt=own[path], force=True)
    sanitize.auditing.verify.verify_file(few, _small(source), sanitizer, rows=rows, receipt=own[few]).require()
    wall, cpu = time.perf_counter(), time.process_time()
    sanitize.auditing.verify.verify_file(target, source, sanitizer, rows=rows, receipt=own[target]).require()
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e6, 1e7])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print(f"goals: {CPU_GOAL} times the CPU of the release, {PEAK_GOAL} MiB")
    print(f"{'rows':>12} {'order':8}{'wall s':>8}{'CPU s':>8}{'peak MiB':>10}{'release CPU s':>15}{'of it':>7}")
    for n_rows in map(int, given.rows):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "source.parquet"), Path(folder, "target.parquet")
            _small(source).parent.mkdir()
            make(_small(source), FEW_ROWS)
            make(source, n_rows)
            for rows, way in RELEASES.items():
                releases, runs = [], []
                for _ in range(given.repeats):
                    releases.append(measure(way, source, target)["cpu"])
                    runs.append(measure_verify(rows, source, target))
                wall, cpu = (statistics.median(run[key] for run in runs) for key in ("wall", "cpu"))
                peak, release = max(run["peak"] for run in runs), statistics.median(releases)
                figures = f"{wall:>8.1f}{cpu:>8.1f}{peak:>10.0f}{release:>15.2f}{cpu / release:>7.1f}"
                print(f"{n_rows:>12,} {rows:8}{figures}", flush=True)


if __name__ == "__main__":
    main()
