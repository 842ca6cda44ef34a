"""Entries of a ledger: processes at the same time, releases of files, and what is taken back."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from ledger_cases import KEY, WIDE, respond, table

import sanitize as sz
from sanitize.errors import (
    InvalidParameter,
    LedgerError,
    LedgerExceeded,
    TargetExists,
)
from sanitize.over_time import _ledger
from sanitize.transformers import (
    RandomizedResponse,
)

# --------------------------------------------------------------------------------------------- concurrency

RECORD = """
import pathlib, sys, time
import sanitize as sz
from sanitize.transformers import RandomizedResponse
folder = pathlib.Path(sys.argv[1])
sanitizer = RandomizedResponse(0.5, sensitive="s", public="a")
sz.engines.parquet.plan_file(folder / "raw.parquet", sanitizer)
(folder / f"ready-{sys.argv[2]}").touch()
while not (folder / "go").exists():
    time.sleep(0.001)
try:
    sz.Ledger(folder / "ledger").record(folder / "raw.parquet", sanitizer)
    print("recorded")
except sz.errors.LedgerExceeded:
    print("refused")
"""


@pytest.mark.slow
def test_processes_cannot_both_spend_the_same_remainder(tmp_path):
    single = respond().report_.summary["max_log_lift"]
    table().to_parquet(tmp_path / "raw.parquet")
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=9.0, upper=1.5 * single))
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import sanitize.engines.parquet, sanitize.errors\n{RECORD}",
                tmp_path,
                str(number),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    while len(list(tmp_path.glob("ready-*"))) < len(workers):
        assert all(worker.poll() is None for worker in workers)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    outcomes = sorted(worker.communicate()[0].strip() for worker in workers)
    assert outcomes == ["recorded", "refused"]
    assert len(ledger) == 1


def test_whoever_measured_an_older_book_measures_again(tmp_path, monkeypatch):
    df = table()
    single = respond().report_.summary["max_log_lift"]
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=9.0, upper=1.5 * single))
    together, calls = _ledger.record_entry, []

    def slow(*given):
        made = together(*given)
        calls.append(len(made[0].entries))
        if len(calls) == 1:  # somebody else is faster
            ledger.record(df, respond())
        return made

    monkeypatch.setattr("sanitize.over_time._ledger.record_entry", slow)
    with pytest.raises(LedgerExceeded):
        ledger.record(df, respond())
    assert calls == [1, 1]
    assert len(ledger) == 1


def test_what_is_not_released_after_all_is_taken_back(tmp_path):
    df, target = table(), tmp_path / "out"
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)

    def fail(*, after_writing: bool) -> None:
        with ledger.spending(df, respond(), target=target):
            seen.append(len(ledger))
            if after_writing:
                target.write_text("somebody may have it")
            raise RuntimeError

    seen: list[int] = []
    with pytest.raises(RuntimeError):
        fail(after_writing=False)
    assert seen == [1]  # it is spent first
    assert len(ledger) == 0
    with pytest.raises(RuntimeError):
        fail(after_writing=True)
    assert len(ledger) == 1
    with ledger.spending(df, respond(), target=target) as report:
        assert report.ok
    assert len(ledger) == 2


# --------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("as_folder", [False, True])
def test_file_releases_are_recorded_and_refused_before_anything_is_written(tmp_path, as_folder):
    source = tmp_path / "raw"
    if as_folder:
        source.mkdir()
        table().iloc[:200].to_parquet(source / "1.parquet")
        table().iloc[200:].to_parquet(source / "2.parquet")
    else:
        table().to_parquet(source)
    book = tmp_path / "ledger"
    single = respond().report_.summary["max_log_lift"]
    ledger = sz.Ledger(book, sz.LiftBudget(lower=9.0, upper=1.5 * single))
    fresh = RandomizedResponse(0.5, sensitive="s", public="a")
    report = sz.release_file(source, tmp_path / "first", fresh, ledger=book)
    assert report.ok
    assert len(ledger) == 1
    with pytest.raises(LedgerExceeded):
        sz.release_file(source, tmp_path / "second", fresh, ledger=ledger)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".ledger.lock", "first", "ledger", "raw"]
    with pytest.raises(TargetExists):
        sz.release_file(source, tmp_path / "first", respond(eps=0.01), ledger=ledger)
    assert len(ledger) == 1
    # A frame of the same rows is the same table.
    assert ledger.record(table(), respond(eps=0.01)).ok


def test_a_file_release_that_fails_is_taken_back(tmp_path, monkeypatch):
    table().to_parquet(tmp_path / "raw.parquet")
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)

    def broken(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("sanitize._util.outputs.os.fsync", broken)
    # The same os.fsync writes the ledger, so nothing can be recorded and nothing is released.
    with pytest.raises(LedgerError, match="No space left"):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", respond(), ledger=ledger)
    monkeypatch.undo()
    monkeypatch.setattr("sanitize.engines.parquet._second_pass.ReleaseWriter.close", broken)
    with pytest.raises(sz.errors.TargetError):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", respond(), ledger=ledger)
    assert len(ledger) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".ledger.lock", "ledger", "raw.parquet"]


def test_the_key_of_a_file_release_is_used_once(tmp_path):
    source = tmp_path / "raw.parquet"
    table().to_parquet(source)
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    sz.release_file(source, tmp_path / "one", respond(), key=KEY, ledger=ledger)
    with pytest.raises(InvalidParameter, match="same key"):
        sz.release_file(source, tmp_path / "two", respond(), key=KEY, ledger=ledger)
    assert not (tmp_path / "two").exists()
