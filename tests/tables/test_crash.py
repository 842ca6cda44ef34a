"""Releases that are killed, interrupted, or run out of room: all or nothing, and no trace of raw rows."""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import os
import re
import signal
import sys
import time
from pathlib import Path

import crash_cases
import crash_moments
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._util.outputs import outputs
from sanitize.errors import TargetError, TargetExists
from sanitize.tables.files.open import Target
from sanitize.transformers import SubsetMerging

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork servers and /proc as Linux has them")

N_ROWS = 200_000
SECRETS = [b"SECRET-hush", b"note-SECRET"]
TEMPORARY = re.compile(r"\.(raw|out)[^/]*\.[0-9a-f]{8}\.(tmp|old)")
CONTEXT = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def server():
    """A process that has imported everything, to fork others from."""
    CONTEXT.set_forkserver_preload(crash_moments.PRELOADED)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """The same table as a Parquet file, a CSV file and a folder."""
    folder = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, N_ROWS)
    table = pa.table(
        {
            "s": np.array(["SECRET-hush", "other"])[s],
            "x": np.array([f"symbol-{i}" for i in range(40)])[rng.integers(0, 40, N_ROWS)],
            "y": rng.integers(0, 30, N_ROWS),
            "note": np.array([f"note-SECRET-{i}" for i in range(50)])[rng.integers(0, 50, N_ROWS)],
        }
    )
    pq.write_table(table, folder / "raw.parquet", row_group_size=50_000)
    (folder / "parts").mkdir()
    for part in range(4):
        pq.write_table(table.slice(part * N_ROWS // 4, N_ROWS // 4), folder / "parts" / f"{part}.parquet")
    table.to_pandas().to_csv(folder / "raw.csv", index=False)
    return folder


def rows_in(target: Path) -> int:
    """Rows of a whole release; reading fails on a part of one."""
    if target.is_dir():
        return sum(rows_in(part) for part in target.iterdir())
    content = target.read_bytes()
    assert not any(secret in content for secret in SECRETS)
    if target.suffix == ".csv":
        lines = content.splitlines()
        assert lines[0] == b"x,y"
        assert content.endswith(b"\n")
        return len(lines) - 1
    table = pq.read_table(target)
    assert table.column_names == ["x", "y"]
    return table.num_rows


def check_left(folder: Path, target: Path) -> None:
    """After a kill: the target whole or not there, and nothing that holds a raw row or is open to others."""
    for path in folder.iterdir():
        if path == target:
            assert rows_in(path) == N_ROWS
            continue
        assert TEMPORARY.fullmatch(path.name), path.name
        whole = path.name.endswith(".old") or path.is_dir()
        assert path.stat().st_mode & 0o077 == 0 or whole or rows_in(path) == N_ROWS
        files = path.iterdir() if path.is_dir() else [path]
        for file in files:
            assert not any(secret in file.read_bytes() for secret in SECRETS)


def heard(here) -> str:
    """What the other process says; a crash of it is an error here."""
    assert here.poll(60)
    return here.recv()


def started(*given: object, work=crash_cases.release, **settings: object):
    process = CONTEXT.Process(target=work, args=tuple(map(str, given[:2])) + given[2:], kwargs=settings)
    process.start()
    if work is not crash_cases.release:
        given[-1].close()  # the other process has its own end, and its death is noticed
    return process


WAYS = {
    "parquet": ("raw.parquet", "out.parquet", {}),
    "named files": ("raw.parquet", "out.parquet", {"unnamed": False}),
    "folder": ("parts", "out", {}),
    "csv stream": ("raw.csv-stream", "out.csv", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_release_killed_at_any_moment_leaves_all_or_nothing(way, sources, tmp_path, monkeypatch):
    """Five moments each of the four ways, drawn over the time that the release took before; then it runs through."""
    source, target, settings = sources / WAYS[way][0], tmp_path / "place" / WAYS[way][1], WAYS[way][2]
    target.parent.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "place"))
    begin = time.monotonic()
    process = started(source, tmp_path / WAYS[way][1], **settings)
    process.join()
    took = time.monotonic() - begin
    assert process.exitcode == 0
    rng = np.random.default_rng(sorted(WAYS).index(way))
    for moment in rng.random(5) * took:
        process = started(source, target, **settings)
        process.join(moment)
        process.kill()
        process.join()
        check_left(target.parent, target)
    process = started(source, target, **settings)
    process.join()
    assert process.exitcode == 0
    assert rows_in(target) == N_ROWS
    assert os.listdir(target.parent) == [target.name]


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_what_killed_releases_left_is_taken_away_and_what_runs_is_not(name, tmp_path):
    target = Target(tmp_path / name, as_folder=name == "out")
    stale = [tmp_path / f".{name}.0123abcd.{kind}" for kind in ("tmp", "old")]
    running = tmp_path / f".{name}.4567cdef.tmp"
    others = [tmp_path / f".{name}.tmp", tmp_path / ".other.0123abcd.tmp", tmp_path / f".{name}.0123abcdef.tmp"]
    for path in [*stale, running, *others]:
        if name == "out":
            path.mkdir()
            (path / "part-00000.parquet").touch()
        else:
            path.touch()
    link = tmp_path / f".{name}.89ab0123.tmp"
    link.symlink_to(others[0])
    descriptor = os.open(running, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        target.clear_stale()
    finally:
        os.close(descriptor)
    assert sorted(tmp_path.iterdir()) == sorted([running, link, *others])


def test_a_file_may_have_the_longest_name_that_its_folder_takes(tmp_path):
    """Of 253 bytes, which are 87 characters; a hidden name beside it has a random part in addition."""
    target = tmp_path / ("\u8868" * 83 + ".csv")
    sanitizer = SubsetMerging(sz.LiftBudget.symmetric(1), sensitive="survived", public=["class"])
    target.touch()
    sz.release_file(sz.datasets.load_titanic(), target, sanitizer, force=True)
    assert [*tmp_path.iterdir()] == [target]


def test_a_release_holds_the_lock_of_its_folder_of_parts(tmp_path):
    with outputs() as made, made.folder(tmp_path / "out") as folder:
        Target(tmp_path / "out", as_folder=True).clear_stale()
        (folder / "part").write_bytes(b"x")
    assert os.listdir(tmp_path / "out") == ["part"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target"), [("raw.parquet", "out.parquet"), ("raw.csv", "out.csv"), ("parts", "out")]
)
def test_a_release_without_room_is_one_error_and_leaves_nothing(source, target, sources, tmp_path):
    here, there = CONTEXT.Pipe()
    process = started(sources / source, tmp_path / target, 40_000, there, work=crash_cases.release_in_little_room)
    said = heard(here)
    process.join()
    assert said.startswith("TargetError: ")
    assert said.endswith("cannot be written (File too large); nothing was written")
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_place_that_cannot_hold_files_is_one_error(sources):
    with pytest.raises(TargetError, match="nothing was written"):
        crash_cases.release(str(sources / "raw.parquet"), "/proc/self/out.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.1, 0.25])
def test_control_c_leaves_nothing(moment, sources, tmp_path):
    here, there = CONTEXT.Pipe()
    process = started(sources / "raw.csv", tmp_path / "out.parquet", there, work=crash_cases.interruptible)
    assert heard(here) == "ready"
    time.sleep(moment)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
    said = heard(here)
    process.join()
    assert os.listdir(tmp_path) == (["out.parquet"] if said == "released" else [])


# ---------------------------- the command; more moments, ways and signals by hand: tests/support/crash_moments.py


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "ledger"])
def test_a_command_that_is_killed_loses_nothing_and_leaves_no_part(way, tmp_path):
    """Two moments: what was there stays until the new one is whole, and the ledger knows of all."""
    crash_moments.lay_out(tmp_path)
    crash_moments.at_random(way, ["SIGKILL"] * 2, sorted(crash_moments.WAYS).index(way), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("way", crash_moments.WAYS)
def test_of_eight_releases_to_one_name_one_is_written_and_a_ledger_counts_them_all(way, tmp_path):
    crash_moments.lay_out(tmp_path)
    crash_moments.race(way, tmp_path)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("taken_by", ["folder", "file"])
def test_a_name_that_is_taken_after_the_look_stays_with_whom_it_belongs_to_or_is_replaced(
    taken_by, force, tmp_path, monkeypatch
):
    place = tmp_path / "out"

    def quicker(path):
        if not os.path.lexists(path):
            if taken_by == "folder":
                path.mkdir()
                (path / "theirs").write_text("theirs")
            else:
                path.write_text("theirs")
        return False

    def write():
        with outputs() as made, made.folder(place, replaces=force) as folder:
            (folder / "mine").write_text("mine")
            monkeypatch.setattr(Path, "exists", quicker)

    if not force:
        with pytest.raises(TargetExists, match="exists already"):
            write()
        assert (place / "theirs" if taken_by == "folder" else place).read_text() == "theirs"
    elif taken_by == "folder":
        write()
        assert [path.name for path in place.iterdir()] == ["mine"]
    else:
        with pytest.raises(TargetError, match="Not a directory"):
            write()
        assert place.read_text() == "theirs"
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
