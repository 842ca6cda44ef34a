"""Releases by Dask: the same channel and rows as on one machine, whatever happens to the workers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from engine_cases import (
    KEY,
    TASK_ROWS,
    assert_as_alone,
    assert_same,
    interrupted_after,
    left_in,
    make_leaky,
    make_source,
    merging,
    release_alone,
    rows_of,
    with_faults,
)

import sanitize as sz
from sanitize._util.sampling.noise import NoiseKey
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidParameter,
    SourceChanged,
    SourceError,
    TargetError,
    TargetExists,
)

pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'sanitize-tabular[dask]'")

pytest.importorskip("distributed", reason="distributed is not installed")
import dask.dataframe as dd
from dask.callbacks import Callback

import sanitize.engines.dask
from sanitize.engines.dask import _Tasks, release_file, transform


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("adult"))


@pytest.fixture(scope="module")
def alone(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return {rows: release_alone(source, folder / rows, rows) for rows in ("shuffle", "keep")}


# --------------------------------------------------------------------------------------- the same release


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_threads_release_what_one_machine_releases(rows, source, alone, tmp_path):
    sanitizer = merging()
    report = release_file(source, tmp_path / "out", sanitizer, rows=rows, key=KEY, task_rows=TASK_ROWS)
    assert report is sanitizer.report_
    assert_same(tmp_path / "out", sanitizer, alone[rows])
    assert left_in(tmp_path) == ["out"]


@pytest.mark.slow
def test_whole_tables_are_released_as_on_one_machine(tmp_path):
    assert_as_alone(release_file, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_killed_worker_changes_nothing(rows, source, alone, client, tmp_path, monkeypatch):
    last = {"shuffle": "write", "keep": "rewrite"}[rows]
    with_faults(monkeypatch, _Tasks, tmp_path, "kill", {last})
    sanitizer = merging()
    release_file(source, tmp_path / "out", sanitizer, rows=rows, key=KEY, client=client, task_rows=TASK_ROWS)
    assert_same(tmp_path / "out", sanitizer, alone[rows])
    assert left_in(tmp_path) == [f"failed-{last}", "out"]


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_tasks_that_fail_once_change_nothing(rows, source, alone, client, tmp_path, monkeypatch):
    with_faults(monkeypatch, _Tasks, tmp_path, "raise", {"count", "rewrite", "write"})
    sanitizer = merging()
    release_file(source, tmp_path / "out", sanitizer, rows=rows, key=KEY, client=client, task_rows=TASK_ROWS)
    assert_same(tmp_path / "out", sanitizer, alone[rows])
    assert sum(name.startswith("failed-") for name in left_in(tmp_path)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("task_rows", [1, 130, 10**9])
def test_the_size_of_tasks_does_not_matter(task_rows, rows, small, tmp_path, monkeypatch):
    monkeypatch.setattr("sanitize.engines.parquet._second_pass.ROW_GROUP_ROWS", 70)
    monkeypatch.setattr("sanitize.engines.parquet._tasks.ROW_GROUP_ROWS", 70)
    single, many = merging(2.0), merging(2.0)
    sz.release_file(small, tmp_path / "single.parquet", single, rows=rows, key=KEY)
    release_file(small, tmp_path / "out", many, rows=rows, key=KEY, task_rows=task_rows)
    assert many.channel_ == single.channel_
    assert rows_of(tmp_path / "out").equals(rows_of(tmp_path / "single.parquet"))
    parts = {"keep": {1: 9, 130: 5, 10**9: 1}, "shuffle": {1: 8, 130: 7, 10**9: 1}}
    assert len(left_in(tmp_path / "out")) == parts[rows][task_rows]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*seed:sanitize.errors.ReleaseWarning")
def test_a_seed_gives_the_release_of_one_machine_and_the_report_says_so(small, tmp_path):
    single, many = merging(2.0, random_state=3), merging(2.0, random_state=3)
    sz.release_file(small, tmp_path / "single.parquet", single)
    report = release_file(small, tmp_path / "out", many)
    assert report.facts.seeded
    assert rows_of(tmp_path / "out").equals(rows_of(tmp_path / "single.parquet"))


@pytest.mark.slow
def test_two_releases_without_a_key_differ(small, tmp_path):
    for name in ("one", "two"):
        release_file(small, tmp_path / name, merging(2.0), rows="keep")
    assert not rows_of(tmp_path / "one").equals(rows_of(tmp_path / "two"))


# -------------------------------------------------------------------------------------- all or nothing


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_nothing_is_written_when_the_gate_fails(rows, small, tmp_path, monkeypatch):
    make_leaky(monkeypatch)
    with pytest.raises(BudgetExceeded, match="nothing was released"):
        release_file(small, tmp_path / "out", merging(0.05), rows=rows)
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "name"), [("shuffle", "write"), ("keep", "rewrite"), ("keep", "count")])
def test_an_interruption_leaves_nothing_and_a_late_worker_cannot_write(rows, name, small, tmp_path, monkeypatch):
    ran = interrupted_after(monkeypatch, _Tasks, name)
    with pytest.raises(KeyboardInterrupt):
        release_file(small, tmp_path / "out", merging(2.0), rows=rows)
    assert left_in(tmp_path) == ["raw.parquet"]
    ((work, item),) = ran
    if name != "count":
        with pytest.raises(TargetError):
            work(item)
        assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.slow
def test_an_interrupted_replacement_leaves_the_old_target(small, tmp_path, monkeypatch):
    release_file(small, tmp_path / "out", merging(2.0), key=KEY)
    old = rows_of(tmp_path / "out")
    with pytest.raises(TargetExists):
        release_file(small, tmp_path / "out", merging(2.0))
    with monkeypatch.context() as patch:
        interrupted_after(patch, _Tasks, "write")
        with pytest.raises(KeyboardInterrupt):
            release_file(small, tmp_path / "out", merging(2.0), force=True)
    assert rows_of(tmp_path / "out").equals(old)
    assert left_in(tmp_path) == ["out", "raw.parquet"]
    release_file(small, tmp_path / "out", merging(2.0), force=True)
    assert not rows_of(tmp_path / "out").equals(old)


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_source_that_changes_between_the_passes_is_refused(rows, small, tmp_path, monkeypatch):
    run = _Tasks.run

    def meddled(self, work, items, name):
        outcome = run(self, work, items, name)
        if name == "count":
            os.utime(small, ns=(1, 1))
        return outcome

    monkeypatch.setattr(_Tasks, "run", meddled)
    with pytest.raises(SourceChanged):
        release_file(small, tmp_path / "out", merging(2.0), rows=rows)
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.slow
def test_workers_that_write_elsewhere_are_noticed(small, tmp_path, monkeypatch):
    run = _Tasks.run

    def elsewhere(self, work, items, name):
        outcome = run(self, work, items, name)
        if name == "rewrite":
            (work.args[-1] / "part-00000.parquet").unlink()  # the folder
        return outcome

    monkeypatch.setattr(_Tasks, "run", elsewhere)
    with pytest.raises(TargetError, match="1 of 1 parts are not in"):
        release_file(small, tmp_path / "out", merging(2.0), rows="keep")
    assert left_in(tmp_path) == ["raw.parquet"]


def test_errors_of_workers_come_back_as_they_are(small, client, tmp_path, monkeypatch):
    data = bytearray(small.read_bytes())
    data[4:200] = bytes(196)
    small.write_bytes(data)
    with pytest.raises(SourceError, match=r"raw\.parquet is damaged"):
        release_file(small, tmp_path / "out", merging(2.0), client=client, retries=0)
    assert left_in(tmp_path) == ["raw.parquet"]


def test_what_cannot_be_released_is_refused_before_any_task_runs(small, tmp_path, monkeypatch):
    monkeypatch.setattr(_Tasks, "run", None)
    for error, words, settings, given in [
        (InvalidParameter, "rows must be", {}, {"rows": "sort"}),
        (InvalidParameter, "task_rows must be", {}, {"task_rows": 0}),
        (InvalidParameter, "a NumPy RandomState or a NoiseKey", {"random_state": np.random.default_rng(0)}, {}),
        (InvalidParameter, "key must be 32 bytes", {}, {"key": b"short"}),
        (InvalidParameter, "keep_sensitive", {"keep_sensitive": True}, {}),
        (ColumnError, "no column 'nothing'", {"public": ["nothing"], "bins": None}, {}),
    ]:
        with pytest.raises(error, match=words):
            release_file(small, tmp_path / "out", merging(2.0, **settings), **given)
    saved = sz.SavedRelease.of(merging(2.0).fit(pd.read_parquet(small)))
    with pytest.raises(InvalidParameter, match="needs an estimator, got a SavedRelease"):
        release_file(small, tmp_path / "out", saved)
    with pytest.raises(TargetError, match=r"leave out \.parquet"):
        release_file(small, tmp_path / "out.parquet", merging(2.0))
    (tmp_path / "file").touch()
    with pytest.raises(TargetError, match="not a folder"):
        release_file(small, tmp_path / "file", merging(2.0), force=True)
    assert left_in(tmp_path) == ["file", "raw.parquet"]


# --------------------------------------------------------------------------------------------- secrecy


class Names(Callback):
    """Collects the names of the tasks that ran."""

    def __init__(self) -> None:
        super().__init__(pretask=self._note)
        self.names: list[str] = []

    def _note(self, key, dsk, state) -> None:
        self.names.append(str(key))


@pytest.mark.slow
def test_names_of_tasks_are_random_and_not_hashes_of_the_key(small, tmp_path, monkeypatch):
    def hashed(self):
        raise AssertionError("Dask looked at the key")

    monkeypatch.setattr(NoiseKey, "__reduce__", hashed)  # the last way of Dask to hash an object
    seen = []
    for name in ("one", "two"):
        with Names() as names:
            release_file(small, tmp_path / name, merging(2.0), key=KEY)
            transform(dd.from_pandas(pd.read_parquet(small), 2), merging(2.0).fit(pd.read_parquet(small)), key=KEY)[
                ["age"]
            ].compute()
        seen.append({name for name in names.names if "sanitize" in name})
    assert len(seen[0]) == len(seen[1]) == 4
    assert not seen[0] & seen[1]


@pytest.mark.slow
def test_a_failing_task_does_not_log_the_key(small, client, tmp_path, monkeypatch):
    with_faults(monkeypatch, _Tasks, tmp_path, "raise", {"rewrite"})
    with pytest.raises(OSError, match="the network is away"):
        release_file(
            small, tmp_path / "out", merging(2.0), rows="keep", key=KEY, client=client, retries=0, task_rows=130
        )
    logs = str(client.get_worker_logs())
    assert "sanitize-rewrite" in logs
    assert "the network is away" in logs
    assert repr(KEY)[2:-1] not in logs
    assert KEY.hex() not in logs
    assert left_in(tmp_path) == ["failed-rewrite", "raw.parquet"]


# ------------------------------------------------------------------------------------------- the import


@pytest.mark.slow
def test_without_dask_the_error_names_the_extra():
    code = "import sys; sys.modules['dask'] = None; import sanitize, sanitize.engines.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ModuleNotFoundError: sanitize.engines.dask needs Dask: pip install 'sanitize-tabular[dask]'" in done.stderr


def test_importing_the_library_does_not_import_dask():
    code = "import sys, sanitize; print([m for m in ('dask', 'distributed', 'pyspark') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
