"""Releases by the command that are stopped at random moments, and races of several to one place.

``python tests/support/crash_moments.py --moments 100 --races 100`` prints the counts; the tests do a few of each.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.cli import main as sanitize_command

CONTEXT = multiprocessing.get_context("forkserver")
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
N_ROWS = 40_000
POLICY = """version = 1
ledger = "book"
[columns]
sensitive = ["s"]
public = ["x"]
drop = ["note"]
[budget]
lower = 2.0
upper = 2.0
"""
# Source, target, and whether a ledger is kept.
WAYS = {"file": ("raw.parquet", "out.parquet"), "folder": ("parts", "out"), "ledger": ("raw.parquet", "out.parquet")}
_HIDDEN = re.compile(r"\.(out|book)[^/]*\.[0-9a-f]{8}\.(tmp|old)|book\.lock|\.book\.lock")


# Interrupted before the command listens or after it has ended, and when its release was there.
OUTSIDE, TOO_LATE = "outside", "too late"


class Fault(AssertionError):
    """Something was lost, is there in part, or has two winners."""


def lay_out(folder: Path) -> None:
    """A table as a file and as a folder of parts, and a policy with a ledger."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, N_ROWS)
    table = pa.table(
        {"s": s, "x": rng.integers(0, 9, N_ROWS), "note": [f"SECRET-note-{i % 99}" for i in range(N_ROWS)]}
    )
    pq.write_table(table, folder / "raw.parquet")
    (folder / "parts").mkdir()
    for part in range(4):
        pq.write_table(table.slice(part * N_ROWS // 4, N_ROWS // 4), folder / "parts" / f"{part}.parquet")
    (folder / "policy.toml").write_text(POLICY)
    sz.Ledger(folder / "book", sz.LiftBudget(lower=20.0, upper=20.0))


def argv_of(way: str, folder: Path, target: str | None = None, *, force: bool = True) -> list[str]:
    """The command."""
    source, usual = WAYS[way]
    asked = ["release", str(folder / source), "-o", str(folder / (target or usual)), *(["--force"] if force else [])]
    return [
        *asked,
        *(
            ["-p", str(folder / "policy.toml")]
            if way == "ledger"
            else ["-s", "s", "-x", "x", "--lower", "2", "--upper", "2"]
        ),
    ]


def work(argv: list[str], told: Any, barrier: Any = None) -> None:
    """The command in a process of its own, saying when it starts and how it ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code, errors = OUTSIDE, io.StringIO()
    with (
        contextlib.suppress(KeyboardInterrupt),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(errors),
    ):
        told.send("ready")
        if barrier is not None:
            barrier.wait()
        code = sanitize_command(argv)
    told.send(code if "had been written by then" not in errors.getvalue() else TOO_LATE)


def started(argv: list[str], barrier: Any = None) -> tuple[Any, Any]:
    """A process and what it tells."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=work, args=(argv, there, barrier))
    process.start()
    there.close()
    if here.recv() != "ready":
        raise Fault("it did not start")
    return process, here


def ended(process: Any, here: Any) -> int | str | None:
    """Exit code of the command; None if it was killed."""
    code = None
    with contextlib.suppress(EOFError):
        code = here.recv()
    process.join()
    return code


def content_of(target: Path) -> bytes | None:
    """All bytes of a file or folder that holds a whole release; None where there is none."""
    if not target.exists():
        return None
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    if sum(pq.read_table(file).num_rows for file in files) != N_ROWS:
        raise Fault("a part of a release")
    content = b"".join(file.read_bytes() for file in files)
    if b"SECRET" in content:
        raise Fault("a raw value")
    return content


def stopped(way: str, name: str, moment: float, folder: Path) -> str:
    """What a release that is stopped at a moment, in seconds, leaves: the old target, a new one, or none yet."""
    target = folder / WAYS[way][1]
    before, entries = content_of(target), len(sz.Ledger(folder / "book"))
    inputs = {path: path.read_bytes() for path in (folder / "raw.parquet", folder / "policy.toml")}
    process, here = started(argv_of(way, folder))
    time.sleep(moment)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, getattr(signal, name))
    code = ended(process, here)
    after = content_of(target)
    if before is not None and after is None:
        raise Fault("the old release is lost")
    if any(path.read_bytes() != content for path, content in inputs.items()):
        raise Fault("an input changed")
    is_new = after is not None and after != before
    if code not in (0, 130, OUTSIDE, TOO_LATE, None) or (code in (0, 130, TOO_LATE) and is_new != (code != 130)):
        raise Fault(f"exit code {code}, new: {is_new}")
    if way == "ledger" and is_new and len(sz.Ledger(folder / "book")) <= entries:
        raise Fault("a release that the ledger does not know of")
    left = {path.name for path in folder.iterdir()} - {"raw.parquet", "parts", "policy.toml", "book", WAYS[way][1]}
    if any(not _HIDDEN.fullmatch(path) for path in left):
        raise Fault(f"left behind: {left}")
    if name != "SIGKILL" and any(path.endswith((".tmp", ".old")) for path in left):
        raise Fault(f"left behind: {left}")
    for path in left:
        hidden = folder / path
        if hidden.is_file() and b"SECRET" in hidden.read_bytes():
            raise Fault("a raw value in what was left")
    return "new" if is_new else "none" if after is None else "old"


def at_random(way: str, names: Sequence[str], seed: int, folder: Path) -> Counter[str]:
    """What releases stopped by some signals at random moments left; then one runs through and clears up."""
    running = started(argv_of(way, folder, "first" + WAYS[way][1]))
    begin = time.monotonic()
    if ended(*running) != 0:
        raise Fault("it does not run through")
    took = time.monotonic() - begin
    first = folder / ("first" + WAYS[way][1])
    if first.is_dir():
        for path in first.iterdir():
            path.unlink()
        first.rmdir()
    else:
        first.unlink()
    moments = np.random.default_rng(seed).random(len(names)) * 1.5 * took
    counts = Counter(stopped(way, name, moment, folder) for name, moment in zip(names, moments, strict=True))
    if ended(*started(argv_of(way, folder))) != 0:
        raise Fault("it does not run through after others were stopped")
    if any(path.name.endswith((".tmp", ".old")) for path in folder.iterdir()):
        raise Fault("what was left is not cleared up")
    return counts


def race(way: str, folder: Path, n: int = 8) -> Counter[Any]:
    """Exit codes of releases that start together: to one target without force, or to their own with one ledger."""
    barrier = CONTEXT.Barrier(n)
    own = [f"out{i}.parquet" if way == "ledger" else WAYS[way][1] for i in range(n)]
    before = len(sz.Ledger(folder / "book"))
    running = []
    for target in own:
        here, there = CONTEXT.Pipe()
        process = CONTEXT.Process(target=work, args=(argv_of(way, folder, target, force=False), there, barrier))
        process.start()
        there.close()
        running.append((process, here))
    for _, here in running:
        here.recv()
    codes = Counter(ended(process, here) for process, here in running)
    there_are = sum(content_of(folder / target) is not None for target in set(own))
    if way == "ledger":
        if codes[0] != there_are or len(sz.Ledger(folder / "book")) != before + codes[0]:
            raise Fault(f"{codes}, {there_are} files")
    elif codes != {0: 1, 4: n - 1} or there_are != 1:
        raise Fault(f"{codes}")
    if any(path.name.endswith((".tmp", ".old")) for path in folder.iterdir()):
        raise Fault("something was left behind")
    return codes


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=100, help="of each signal, over all ways")
    parser.add_argument("--races", type=int, default=30, help="of each way")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    CONTEXT.set_forkserver_preload(PRELOADED)
    for name in SIGNALS:
        for number, way in enumerate(WAYS):
            n = given.moments // len(WAYS) + (number < given.moments % len(WAYS))
            with tempfile.TemporaryDirectory() as folder:
                lay_out(Path(folder))
                print(name, way, dict(at_random(way, [name] * n, given.seed + number, Path(folder))), flush=True)
    for way in WAYS:
        counts: Counter[Any] = Counter()
        for _ in range(given.races):
            with tempfile.TemporaryDirectory() as folder:
                lay_out(Path(folder))
                counts += race(way, Path(folder))
        print("race", way, given.races, dict(counts), flush=True)


PRELOADED = [
    "sanitize.engines.parquet",
    "sanitize.transformers",
    "sanitize.report",
    "sanitize.over_time",
    "sanitize.cli",
]

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import crash_moments  # under its own name, so that other processes find it

    crash_moments.main()
