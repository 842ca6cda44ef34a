"""How long small jobs take, from a new process to its end, beside what they must load and the goal.

    OMP_NUM_THREADS=1 python benchmarks/start.py [--runs N]

Runs each command once, so that Python has compiled all files as an installation does, and then N times in turn, so that
a busy machine slows all of them alike; prints the least seconds of CPU and of wall time. The table is that of 1,329
persons, as a Parquet file.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sanitize as sz

# Seconds of CPU and of wall time on a quiet machine.
GOAL = 0.8
POLICY = """
version = 1
[columns]
sensitive = ["heart_disease"]
public = ["cholesterol", "blood_pressure"]
[budget]
lower = 1.0
upper = 0.5
"""


def commands(folder: Path) -> dict[str, tuple[list[str], float | None]]:
    """Arguments of Python for each row of the table, and its goal where it has one."""
    table, released = str(folder / "raw.parquet"), str(folder / "released.parquet")
    run = ["-m", "sanitize"]
    columns = ["-s", "heart_disease", "-x", "cholesterol", "-x", "blood_pressure"]
    policy = ["-p", str(folder / "policy.toml")]
    return {
        "what every job loads": (["-c", "import numpy, scipy.special, scipy.sparse, pyarrow.parquet, pandas"], None),
        "scikit-learn's base alone": (["-c", "import sklearn.base"], None),
        "import sanitize": (["-c", "import sanitize"], None),
        "import sanitize.transformers": (["-c", "import sanitize.transformers"], None),
        "sanitize audit": ([*run, "audit", table, *columns], GOAL),
        "sanitize release, settings": (
            [*run, "release", table, "-o", released, "--force", *columns, "--lower", "1", "--upper", "1"],
            GOAL,
        ),
        "sanitize release, policy": ([*run, "release", table, "-o", released, "--force", *policy], GOAL),
        "sanitize verify": ([*run, "verify", released, "--source", table, *policy], None),
        "sanitize plan": ([*run, "plan", table, *policy], None),
    }


def seconds(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """CPU and wall time of one process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, end - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sz.datasets.load_framingham().to_parquet(folder / "raw.parquet", index=False)
        (folder / "policy.toml").write_text(POLICY)
        rows = commands(folder)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        for arguments, _ in rows.values():
            seconds(arguments, environment)
        found: dict[str, list[tuple[float, float]]] = {row: [] for row in rows}
        for _ in range(given.runs):
            for row, (arguments, _) in rows.items():
                found[row].append(seconds(arguments, environment))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; least of {given.runs} runs, s")
    print(f"{'':30}{'CPU':>6}{'wall':>8}{'goal':>8}")
    for row, (_, goal) in rows.items():
        cpu, wall = map(min, zip(*found[row], strict=True))
        print(f"{row:30}{cpu:>6.2f}{wall:>8.2f}" + ("" if goal is None else f"{goal:>8.1f}"))


if __name__ == "__main__":
    main()
