"""Work on row groups by threads: the bytes released for a key, and every figure, are those of one thread."""

from __future__ import annotations

import itertools
import threading
from contextlib import closing

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from parquet_cases import BUDGET, KEY, LOOSE, merging, table

import sanitize.tables.files.parquet as reading_parquet
from sanitize import SavedRelease
from sanitize._util.progress import notify_rows
from sanitize._util.system import ordered_map
from sanitize.core.budgets import LiftBudget
from sanitize.engines.parquet import audit_file, plan_file, release_file
from sanitize.errors import InvalidParameter, SourceError
from sanitize.release import first_pass
from sanitize.tables import keys as combined
from sanitize.transformers import JointRelease, LatentClassRelease, SubsetMerging

N = 6_000


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """A file of many row groups of uneven sizes, each of which is read by itself."""
    monkeypatch.setattr(reading_parquet, "BATCH_ROWS", 1)
    path = tmp_path / "raw.parquet"
    rows = table(N)
    with pq.ParquetWriter(path, rows.schema) as writer:
        for start, end in zip((0, 1, 70, 900, 901, 2500), (1, 70, 900, 901, 2500, N), strict=True):
            writer.write_table(rows.slice(start, end - start))
    return path


def _joint() -> JointRelease:
    parts = [
        ("x", SubsetMerging(LiftBudget.symmetric(0.3), public=["x"])),
        ("floor", SubsetMerging(LiftBudget.symmetric(1.0), public=["floor"])),
    ]
    return JointRelease(parts, LOOSE, sensitive="s", keep=["age"])


SANITIZERS = {
    "text": lambda: merging(),
    "bins": lambda: merging(public=["x", "age"], bins={"age": [18, 30, 50, 80]}),
    "joint": _joint,
    "classes": lambda: LatentClassRelease(BUDGET, sensitive="s", public=["x", "floor", "age"], n_classes=4),
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("name", SANITIZERS)
def test_any_number_of_workers_writes_the_same_bytes_for_one_key(name, rows, raw, tmp_path):
    made, reports = [], []
    for workers, batch_rows in ((1, 1 << 20), (2, 1 << 20), (7, 1 << 20), (3, 50), (None, 333)):
        out = tmp_path / "out.parquet"
        settings = {"rows": rows, "key": KEY, "force": True, "workers": workers, "batch_rows": batch_rows}
        reports.append(release_file(raw, out, SANITIZERS[name](), **settings).to_json())
        made.append(out.read_bytes())
    assert made == made[:1] * 5
    assert reports == reports[:1] * 5


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("name", SANITIZERS)
def test_loads_of_combinations_come_to_the_same_as_rows_one_by_one(name, rows, tmp_path, monkeypatch):
    """Dictionaries differ from load to load, others read while those of one are counted, and not all are kept."""
    monkeypatch.setattr(reading_parquet, "BATCH_ROWS", 1)
    raw, groups = tmp_path / "raw.parquet", [6000, 4200, 9000, 4100, 5000]
    data = table(sum(groups))
    with pq.ParquetWriter(raw, data.schema) as writer:
        for start, size in zip(itertools.accumulate([0, *groups[:-1]]), groups, strict=True):
            writer.write_table(data.slice(start, size))
    made = []
    nothing, some, all_of_it = 0, 40_000, 1 << 26
    for few, workers, room in (
        (1 << 20, 1, nothing),
        (1 << 12, 1, nothing),
        (1 << 12, 1, all_of_it),
        (1 << 12, 2, some),
        (1 << 12, 7, all_of_it),
    ):
        monkeypatch.setattr(combined, "FEW_ROWS", few)
        monkeypatch.setattr(first_pass, "KEPT_BYTES", room)
        out = tmp_path / "out.parquet"
        report = release_file(raw, out, SANITIZERS[name](), rows=rows, key=KEY, force=True, workers=workers)
        made.append((report.to_json(), out.read_bytes()))
    assert made == made[:1] * 5


@pytest.mark.slow
def test_csv_and_new_rows_of_a_saved_release_do_not_depend_on_workers(raw, tmp_path):
    text = tmp_path / "raw.csv"
    pyarrow.csv.write_csv(pq.read_table(raw, columns=["s", "x", "floor"]), text)
    saved = SavedRelease.of(merging().fit(pq.read_table(raw)))
    for source, sanitizer in ((text, merging()), (raw, saved)):
        made = []
        for workers in (1, 2, 7):
            out = tmp_path / "out.parquet"
            release_file(source, out, sanitizer, rows="keep", key=KEY, force=True, workers=workers)
            made.append(out.read_bytes())
        assert made == made[:1] * 3


def test_plans_and_audits_do_not_depend_on_workers(raw):
    plans = [plan_file(raw, merging(LOOSE), rows="keep", workers=workers).to_json() for workers in (1, 2, 7)]
    assert plans == plans[:1] * 3
    audits = [audit_file(raw, ["s"], ["x", "floor"], workers=workers).to_json() for workers in (1, 2, 7)]
    assert audits == audits[:1] * 3


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2"])
def test_what_is_no_number_of_workers_is_refused_before_anything_is_read(workers, tmp_path):
    with pytest.raises(InvalidParameter, match="workers"):
        release_file(tmp_path / "absent.parquet", tmp_path / "out.parquet", merging(), workers=workers)


def test_results_come_in_turn_and_no_more_are_waiting_than_one_beyond_the_workers():
    lock, begun, most = threading.Lock(), [0], [0]

    def work(item: int) -> int:
        with lock:
            begun[0] += 1
        return item * item

    taken = 0
    for place, result in enumerate(ordered_map(work, range(50), 3)):
        assert result == place * place
        taken += 1
        with lock:
            most[0] = max(most[0], begun[0] - taken)
    assert taken == 50
    assert most[0] <= 4


def test_the_first_error_in_turn_is_the_one_that_is_raised():
    def work(item: int) -> int:
        if item in (4, 5):
            raise SourceError(f"item {item}")
        return item

    for workers in (1, 2, 7):
        with pytest.raises(SourceError, match="item 4"):
            list(ordered_map(work, range(30), workers))


def test_results_may_be_left():
    threads = threading.active_count()
    with closing(ordered_map(str, iter(range(10**9)), 2)) as texts:
        assert next(texts) == "0"
    assert threading.active_count() == threads


def test_progress_hears_of_every_row(raw, tmp_path):
    for workers in (1, 3):
        heard: list[int] = []
        with notify_rows(heard.append):
            release_file(raw, tmp_path / "out.parquet", merging(LOOSE), force=True, workers=workers)
        assert sum(heard) == 2 * N


def test_a_random_state_draws_the_same_whatever_the_workers(raw, tmp_path):
    made = []
    for workers in (1, 7):
        sanitizer = merging(random_state=np.random.RandomState(3))
        with pytest.warns(Warning, match="seed"):
            release_file(raw, tmp_path / "out.parquet", sanitizer, force=True, workers=workers)
        made.append((tmp_path / "out.parquet").read_bytes())
    assert made[0] == made[1]
