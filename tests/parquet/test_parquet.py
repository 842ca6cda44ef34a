"""File releases: the law that was reported, all or nothing, and nothing of the source but released values."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import gc
import io
import json
import math
import os
import re
import stat
import subprocess
import sys
import uuid
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sanitize as sz
import sanitize.pandas
from sanitize._files import target as _target
from sanitize.channel import Channel
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidDistribution,
    InvalidParameter,
    RowOrderLeak,
    SourceChanged,
    SourceError,
    TargetError,
    TargetExists,
)
from sanitize.parquet import _parquet_writer as _parquet_target
from sanitize.parquet import _second_pass as _parquet_passes
from sanitize.parquet import audit_parquet, plan_parquet, privatize_parquet
from sanitize.parquet._shuffle import shuffled_blocks
from sanitize.transformers import GaussianChannel, RandomizedResponse, Sanitizer, SubsetMerging, Watchdog

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared tables are not on this machine")

KEY = bytes(range(32))
BUDGET = sz.LiftBudget(lower=1.5, upper=0.5)
LOOSE = sz.LiftBudget(lower=math.inf, upper=math.inf)


def table(n: int = 300, seed: int = 0) -> pa.Table:
    """Sensitive, public and other columns, missing values, and strings that must not get out."""
    rng = np.random.default_rng(seed)
    s = rng.choice(["SECRET_ill", "SECRET_well"], n, p=[0.3, 0.7])
    x = np.where(rng.random(n) < 0.4, np.where(s == "SECRET_ill", "a", "b"), rng.choice(["a", "b", "c", "d"], n))
    return pa.table(
        {
            "s": s,
            "x": pa.array([None if i % 11 == 0 else v for i, v in enumerate(x)], pa.string()),
            "floor": pa.array(rng.integers(0, 3, n), pa.int16()),
            "age": pa.array(rng.integers(18, 80, n), pa.int32()),
            "SECRET_name": [f"SECRET_{i}" for i in range(n)],
        }
    )


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "raw.parquet"
    pq.write_table(table(), path)
    return path


def merging(budget=BUDGET, **settings) -> SubsetMerging:
    return SubsetMerging(budget, **{"sensitive": "s", "public": ["x", "floor"], **settings})


def rows_of(path: Path) -> list[tuple]:
    return list(zip(*pq.read_table(path).to_pydict().values(), strict=True))


def figures(report) -> dict:
    """All figures but the one that only a kept row order has."""
    return {name: value for name, value in report.summary.items() if name != "position_information"}


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture
def leaky(monkeypatch):
    """A mechanism whose channel exceeds every budget that the raw table exceeds."""
    monkeypatch.setattr(
        "sanitize.transformers._merging.subset_merging",
        lambda joint, budget: Channel.identity(len(joint.public), joint.public),
    )


# -------------------------------------------------------------------------------------- Adult, checked


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    """Adult released twice with one key, in order and shuffled, with the sanitizer and its report."""
    if not DATA.is_dir():
        pytest.skip("the shared tables are not on this machine")
    folder = tmp_path_factory.mktemp("adult")
    sanitizer = SubsetMerging(BUDGET, sensitive="income", public=["education", "occupation"])
    report = privatize_parquet(DATA / "adult.parquet", folder / "kept.parquet", sanitizer, rows="keep", key=KEY)
    privatize_parquet(DATA / "adult.parquet", folder / "mixed.parquet", clone(sanitizer), key=KEY)
    raw = pd.read_parquet(DATA / "adult.parquet", columns=["income", "education", "occupation"])
    return folder, sanitizer, report, raw


def designed_law(raw: pd.DataFrame, channel: Channel) -> tuple[np.ndarray, list[tuple]]:
    """Expected counts of (s, y) by pandas and NumPy alone, and the symbols of their columns."""
    x = list(
        raw[["education", "occupation"]]
        .astype(object)
        .where(lambda d: d.notna(), None)
        .itertuples(index=False, name=None)
    )
    place = {symbol: code for code, symbol in enumerate(channel.inputs.symbols)}
    counts = np.zeros((2, len(place)))
    np.add.at(counts, ((raw["income"] == raw["income"].max()).to_numpy().astype(int), [place[v] for v in x]), 1)
    expected = counts @ channel.matrix
    used = expected.sum(axis=0) > 0
    return expected[:, used], [y for y, keep in zip(channel.outputs.symbols, used, strict=True) if keep]


@needs_data
def test_the_designed_leakage_of_adult_recomputed_is_within_budget_and_as_reported(adult):
    _, sanitizer, report, raw = adult
    expected, _ = designed_law(raw, sanitizer.channel_)
    p = expected / expected.sum()
    p_s, p_y = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    lifts = p / p_s / p_y
    assert np.log(lifts).max() <= BUDGET.upper + 1e-9
    assert np.log(lifts).min() >= -BUDGET.lower - 1e-9
    assert report.ok
    figures = report.summary
    assert figures["max_log_lift"] == pytest.approx(np.log(lifts).max(), abs=1e-9)
    assert figures["min_log_lift"] == pytest.approx(np.log(lifts).min(), abs=1e-9)
    assert figures["mutual_information"] == pytest.approx((p * np.log(lifts)).sum(), abs=1e-9)
    assert figures["maximal_leakage"] == pytest.approx(np.log((p / p_s).max(axis=0).sum()), abs=1e-9)
    assert figures["total_variation"] == pytest.approx(abs(p - p_s * p_y).sum() / 2, abs=1e-9)
    assert figures["l1_lift"] == pytest.approx((p_s * abs(lifts - 1)).sum(axis=0).max(), abs=1e-9)
    assert figures["ldp_sensitive"] == pytest.approx(np.log(lifts.max(axis=0) / lifts.min(axis=0)).max(), abs=1e-9)
    x_law = raw.fillna("missing").value_counts(["education", "occupation"], normalize=True).to_numpy()
    (utility,) = [measure for measure in report.measures if measure.name == "utility"]
    assert utility.before == pytest.approx(-(x_law * np.log(x_law)).sum(), abs=1e-9)
    assert report.summary["normalized_utility"] > 0.2, "a release that merges everything shows nothing"


@needs_data
def test_the_drawn_rows_of_adult_leak_what_was_designed_within_sampling_error(adult):
    """Given the source, the count of (s, y) is a sum of independent indicators with mean m, so by Bernstein it
    is off by more than sqrt(2 m t) + t / 3 with probability at most 2 exp(-t). At t = 25 and below 1000 cells
    the test is wrong with probability below 3e-8, and the key is fixed."""
    folder, sanitizer, _, raw = adult
    expected, symbols = designed_law(raw, sanitizer.channel_)
    released = pq.read_table(folder / "kept.parquet").to_pydict()
    drawn = Counter(
        zip(raw["income"] == raw["income"].max(), released["education"], released["occupation"], strict=True)
    )
    counts = np.array([[drawn[(s, *y)] for y in symbols] for s in (False, True)], float)
    assert counts.sum() == len(raw), "some row was released as a symbol that cannot occur"
    assert counts.size < 1000

    def slack(mean):
        return np.sqrt(2 * mean * 25) + 25 / 3

    assert (abs(counts - expected) <= slack(expected)).all()
    # The leakage of the drawn rows, where the bound says something: at least 2000 rows a symbol.
    p_s = counts.sum(axis=1, keepdims=True) / counts.sum()
    large = expected.sum(axis=0) >= 2000
    counts, expected = counts[:, large], expected[:, large]
    log_lift = np.log(counts / p_s / counts.sum(axis=0))
    top = np.log((expected + slack(expected)) / p_s / (expected.sum(axis=0) - slack(expected.sum(axis=0))))
    assert large.sum() > 3
    assert (log_lift <= top).all()
    assert top.max() < BUDGET.upper + 0.5


@needs_data
def test_shuffled_adult_has_the_same_rows_in_an_order_that_tells_nothing(adult):
    """The place of a symbol's rows against the mean and variance of a random order: |z| < 6 for 20 symbols is
    wrong with probability below 1e-7; the key is fixed."""
    folder, *_ = adult
    kept, mixed = rows_of(folder / "kept.parquet"), rows_of(folder / "mixed.parquet")
    assert Counter(kept) == Counter(mixed)
    assert kept != mixed
    n = len(mixed)
    for symbol, k in Counter(mixed).most_common(20):
        places = np.flatnonzero([row == symbol for row in mixed])
        z = (places.mean() - (n - 1) / 2) / math.sqrt((n + 1) * (n - k) / (12 * k))
        assert abs(z) < 6
    match = sum(a == b for a, b in zip(kept, mixed, strict=True))
    by_chance = sum(k * k for k in Counter(mixed).values()) / n
    assert abs(match - by_chance) < 6 * math.sqrt(by_chance)


@needs_data
def test_the_channel_is_bit_equal_in_memory_in_a_pipeline_and_in_a_file(adult):
    folder, from_file, report, raw = adult
    whole = pd.read_parquet(DATA / "adult.parquet")
    for frame in (raw, whole):
        sanitizer = SubsetMerging(
            BUDGET, sensitive="income", public=["education", "occupation"], random_state=sz.NoiseKey(KEY)
        )
        pipeline = make_pipeline(sanitizer)
        released = pipeline.fit_transform(frame)
        assert pipeline[0].channel_ == from_file.channel_
        assert figures(pipeline[0].report_) == figures(report)
    by_method = whole.sanitize.subset_merging(
        BUDGET, sensitive="income", public=["education", "occupation"], random_state=sz.NoiseKey(KEY)
    )
    assert figures(sz.last_report(by_method)) == figures(report)
    kept = pq.read_table(folder / "kept.parquet").to_pydict()
    for frame in (released, by_method):
        for name in ("education", "occupation"):
            assert frame[name].astype(object).where(frame[name].notna(), None).tolist() == kept[name]


# ------------------------------------------------------------------------------ one path, any batches


@pytest.mark.parametrize("estimator", [Watchdog, SubsetMerging, RandomizedResponse])
@pytest.mark.parametrize("release", ["resample", "label"])
@pytest.mark.parametrize("random_state", [lambda: 7, lambda: sz.NoiseKey(KEY)], ids=["seed", "key"])
@pytest.mark.filterwarnings("ignore:.*seed:sanitize.errors.ReleaseWarning")
def test_rows_kept_equal_fit_transform_for_the_same_random_state(estimator, release, random_state, source, tmp_path):
    sanitizer = estimator(
        1.0,
        sensitive="s",
        public=["x", "floor", "age"],
        bins={"age": [18, 40, 80]},
        release=release,
        min_count=4,
        random_state=random_state(),
    )
    report = privatize_parquet(source, tmp_path / "out.parquet", sanitizer, rows="keep")
    in_memory = clone(sanitizer).fit(pq.read_table(source))
    assert in_memory.channel_ == sanitizer.channel_
    assert figures(report) == figures(in_memory.report_)
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == in_memory.transform(pq.read_table(source)).to_pydict()


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_any_batch_size_writes_the_same_bytes_for_one_key(rows, source, tmp_path):
    written = set()
    for batch_rows in (1, 7, 65536):
        sanitizer = merging(public=["x", "floor", "age"], bins={"age": [18, 40, 80]})
        privatize_parquet(
            source, tmp_path / f"{batch_rows}.parquet", sanitizer, rows=rows, key=KEY, batch_rows=batch_rows
        )
        written.add((tmp_path / f"{batch_rows}.parquet").read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_several_row_groups_hold_the_rows_of_one(rows, source, tmp_path, monkeypatch):
    privatize_parquet(source, tmp_path / "one.parquet", merging(), rows=rows, key=KEY)
    monkeypatch.setattr(_parquet_passes, "ROW_GROUP_ROWS", 64)
    outputs = set()
    for batch_rows in (1, 50, 64, 1000):
        path = tmp_path / f"{batch_rows}.parquet"
        privatize_parquet(source, path, merging(), rows=rows, key=KEY, batch_rows=batch_rows)
        meta = pq.read_metadata(path)
        assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [64, 64, 64, 64, 44]
        outputs.add(path.read_bytes())
        one, several = rows_of(tmp_path / "one.parquet"), rows_of(path)
        assert (one == several) if rows == "keep" else (Counter(one) == Counter(several))
    assert len(outputs) == 1


def test_two_runs_without_a_key_differ(source, tmp_path):
    for name in ("a", "b"):
        privatize_parquet(source, tmp_path / f"{name}.parquet", merging(), rows="keep")
    # Of 300 rows at least 100 are drawn among symbols none of which has more than half the mass of its group.
    assert rows_of(tmp_path / "a.parquet") != rows_of(tmp_path / "b.parquet")


def test_source_row_groups_and_encodings_make_no_difference(tmp_path):
    outputs = set()
    for i, settings in enumerate(
        [{}, {"row_group_size": 17}, {"use_dictionary": False}, {"compression": "none", "data_page_version": "2.0"}]
    ):
        pq.write_table(table(), tmp_path / f"raw{i}.parquet", **settings)
        privatize_parquet(tmp_path / f"raw{i}.parquet", tmp_path / f"out{i}.parquet", merging(), key=KEY)
        outputs.add((tmp_path / f"out{i}.parquet").read_bytes())
    assert len(outputs) == 1


@pytest.mark.parametrize("key", [b"short", "text", 3.5, bytearray(32)])
def test_a_key_that_is_not_32_bytes_is_refused(key, source, tmp_path):
    with pytest.raises(InvalidParameter, match=r"32 bytes"):
        privatize_parquet(source, tmp_path / "out.parquet", merging(), key=key)
    assert left_in(tmp_path) == ["raw.parquet"]


@pytest.mark.parametrize(
    ("settings", "message"), [({"rows": "sort"}, "rows must be"), ({"batch_rows": 0}, "batch_rows must be at least 1")]
)
def test_other_arguments_out_of_range_are_refused(settings, message, source, tmp_path):
    with pytest.raises(InvalidParameter, match=message):
        privatize_parquet(source, tmp_path / "out.parquet", merging(), **settings)


# ---------------------------------------------------------------------------------------------- order


@needs_data
def test_a_sorted_column_is_released_in_a_random_order(tmp_path):
    """Over 100 keys, the first row against the released frequencies (chi-square, false alarm 1e-6) and the
    count in the first half against its hypergeometric mean (6 standard errors, 2e-9); the keys are fixed."""
    path = DATA / "hostile" / "row_order_reveals_sensitive.parquet"
    raw = pq.read_table(path)["s"].to_pylist()
    assert raw == sorted(raw), "the file is sorted"
    sanitizer = SubsetMerging(LOOSE, sensitive="x", public="s")
    firsts, halves = Counter(), []
    for i in range(100):
        privatize_parquet(path, tmp_path / "out.parquet", sanitizer, key=bytes([i]) * 32, force=True)
        released = pq.read_table(tmp_path / "out.parquet")["s"].to_pylist()
        assert Counter(released) == Counter(raw)
        firsts[released[0]] += 1
        halves.append(released[:100].count("neg"))
    symbols = sorted(set(raw))
    assert chisquare([firsts[v] for v in symbols], [raw.count(v) / 2 for v in symbols]).pvalue > 1e-6
    k = raw.count("neg")
    variance = k * (200 - k) / (4 * 199)
    assert abs(np.mean(halves) - k / 2) < 6 * math.sqrt(variance / 100)
    assert abs(raw[:100].count("neg") - k / 2) > 6 * math.sqrt(variance), "or the test has no power"


@needs_data
@pytest.mark.parametrize(
    "call", [privatize_parquet, lambda a, b, c, **d: plan_parquet(a, c, **d)], ids=["release", "plan"]
)
def test_an_order_that_gives_the_sensitive_column_away_is_not_kept(call, tmp_path):
    path = DATA / "hostile" / "row_order_reveals_sensitive.parquet"
    with pytest.raises(RowOrderLeak, match="order") as caught:
        call(path, tmp_path / "out.parquet", SubsetMerging(0.5, sensitive="s", public="x"), rows="keep")
    assert "neg" not in str(caught.value)
    assert left_in(tmp_path) == []


def test_an_order_that_tells_less_than_the_budget_is_kept_and_mentioned(tmp_path):
    n = 20000
    drift = np.random.default_rng(0).random(n) < np.linspace(0.4, 0.6, n)
    pq.write_table(pa.table({"s": drift, "x": ["a", "b"] * (n // 2)}), tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(1.0, sensitive="s", public="x")
    report = privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    assert any("keep their order" in note for note in report.facts.warnings)
    blocks = np.array([[b.mean(), 1 - b.mean()] for b in np.array_split(drift, 40)]) / 40
    expected = (blocks * np.log(blocks / blocks.sum(axis=0) / blocks.sum(axis=1, keepdims=True))).sum()
    assert report.summary["position_information"] == pytest.approx(expected, abs=1e-9)
    shuffled = privatize_parquet(tmp_path / "raw.parquet", tmp_path / "2.parquet", clone(sanitizer))
    assert "position_information" not in shuffled.summary


def test_kept_rows_keep_their_order(source, tmp_path):
    privatize_parquet(source, tmp_path / "out.parquet", merging(LOOSE), rows="keep")
    raw = pq.read_table(source, columns=["x", "floor"]).to_pydict()
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == raw


@pytest.mark.parametrize("sizes", [(4,), (2, 2), (1, 1, 1, 1), (3, 1)])
def test_shuffled_blocks_give_exact_counts_in_uniform_order(sizes):
    """All 12 orders of aabc equally often in 6000 draws: chi-square, false alarm 1e-6, seed fixed."""
    generator = np.random.default_rng(1)
    counts = np.array([2, 1, 1, 0])
    seen = Counter()
    for _ in range(6000):
        blocks = list(shuffled_blocks(counts, generator, sizes))
        assert [len(block) for block in blocks] == list(sizes)
        seen[tuple(np.concatenate(blocks).tolist())] += 1
    orders = set(permutations([0, 0, 1, 2]))
    assert set(seen) == orders
    assert chisquare([seen[order] for order in orders]).pvalue > 1e-6


def test_shuffled_blocks_use_up_large_counts_exactly():
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 500, 300)
    n = int(counts.sum())
    sizes = [n // 7] * 7 + [n - 7 * (n // 7)]
    drawn = np.concatenate(list(shuffled_blocks(counts, rng, sizes)))
    np.testing.assert_array_equal(np.bincount(drawn, minlength=300), counts)


def test_shuffled_blocks_use_up_their_counts_beyond_the_range_of_the_sampler_too(monkeypatch):
    monkeypatch.setattr("sanitize.parquet._shuffle._POPULATION", 0)
    counts = np.array([5000, 1, 0, 3, 800])
    drawn = np.concatenate(list(shuffled_blocks(counts, np.random.default_rng(3), [100] * 58 + [4])))
    np.testing.assert_array_equal(np.bincount(drawn, minlength=5), counts)


# -------------------------------------------------------------------------------------------- folders


@pytest.fixture
def folder(tmp_path) -> Path:
    """A data set with telling folder names, and files that are none of it."""
    root = tmp_path / "SECRET_study"
    for i, name in enumerate(["sex=SECRET_male", "sex=SECRET_female", "sex=SECRET_none"]):
        (root / name).mkdir(parents=True)
        pq.write_table(table(100 + 50 * i, seed=i), root / name / f"SECRET_{i}.parquet")
    (root / "_delta_log").mkdir()
    (root / "_delta_log" / "00.parquet").write_bytes(b"not data")
    (root / ".hidden.parquet").write_bytes(b"not data")
    (root / "notes.txt").write_text("SECRET")
    return root


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_folder_is_released_as_a_folder_of_neutrally_named_parts(folder, rows, tmp_path):
    target = tmp_path / "out"
    report = privatize_parquet(folder, target, merging(), rows=rows, key=KEY)
    assert report.n_rows == 450
    assert left_in(target) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    parts = [pq.read_table(target / name) for name in left_in(target)]
    sizes = [part.num_rows for part in parts]
    # The rows of a sensitive folder must not be counted by the size of a part.
    assert sizes == [150, 150, 150] if rows == "shuffle" else sorted(sizes) == [100, 150, 200]
    assert all(part.column_names == ["x", "floor"] for part in parts)
    everything = b"".join((target / name).read_bytes() for name in left_in(target))
    assert b"SECRET" not in everything
    assert left_in(tmp_path) == ["SECRET_study", "out"]


def test_a_folder_may_be_released_as_one_file(folder, tmp_path):
    privatize_parquet(folder, tmp_path / "out.parquet", merging(), key=KEY)
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 450
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    privatize_parquet(folder, tmp_path / "out", merging(), key=KEY)
    parts = [row for name in left_in(tmp_path / "out") for row in rows_of(tmp_path / "out" / name)]
    assert Counter(parts) == Counter(rows_of(tmp_path / "out.parquet"))


def test_a_folder_and_its_files_in_one_have_one_channel(folder, tmp_path):
    pq.write_table(
        pa.concat_tables([pq.read_table(f) for f in sorted(folder.glob("sex=*/*.parquet"))]), tmp_path / "one"
    )
    a, b = merging(), merging()
    plan_parquet(folder, a)
    plan_parquet(tmp_path / "one", b)
    assert a.channel_ == b.channel_
    assert a.report_.summary == b.report_.summary


def test_the_files_of_a_folder_draw_different_noise(tmp_path):
    (tmp_path / "in").mkdir()
    for name in "ab":
        pq.write_table(table(), tmp_path / "in" / f"{name}.parquet")
    privatize_parquet(tmp_path / "in", tmp_path / "out", merging(), rows="keep", key=KEY)
    parts = [rows_of(tmp_path / "out" / name) for name in left_in(tmp_path / "out")]
    assert parts[0] != parts[1], "equal files with equal noise would show which rows are equal"


def test_a_sub_folder_named_like_a_file_is_looked_into(tmp_path):
    inner = tmp_path / "in" / "day.parquet"
    inner.mkdir(parents=True)
    pq.write_table(table(), inner / "part-0.parquet")
    assert audit_parquet(tmp_path / "in", ["s"], ["x"]).n_rows == 300


def test_a_folder_without_parquet_files_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("s,x\n")
    with pytest.raises(SourceError, match=r"holds no \*\.parquet files"):
        privatize_parquet(tmp_path / "in", tmp_path / "out", merging())


def test_files_of_different_columns_or_types_are_refused(tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(table(), tmp_path / "in" / "a.parquet")
    for other in (table().drop_columns("age"), table().set_column(2, "floor", table()["floor"].cast(pa.int64()))):
        pq.write_table(other, tmp_path / "in" / "b.parquet")
        with pytest.raises(SourceError, match=r"b\.parquet has other columns or types than a\.parquet"):
            privatize_parquet(tmp_path / "in", tmp_path / "out", merging())
    assert left_in(tmp_path) == ["in"]


# ------------------------------------------------------------------------------------- all or nothing


@pytest.mark.parametrize("target", ["out.parquet", "out"])
@pytest.mark.parametrize("from_folder", [False, True], ids=["file", "folder"])
def test_nothing_is_written_when_the_gate_fails(leaky, target, from_folder, source, folder, tmp_path):
    before = left_in(tmp_path)
    with pytest.raises(BudgetExceeded, match="nothing was released") as caught:
        privatize_parquet(folder if from_folder else source, tmp_path / target, merging(0.05))
    assert caught.value.excess > 0
    assert "SECRET" not in str(caught.value)
    assert left_in(tmp_path) == before


def test_a_plan_passes_the_same_gate_and_writes_nothing(leaky, source, tmp_path):
    with pytest.raises(BudgetExceeded):
        plan_parquet(source, merging(0.05))
    assert left_in(tmp_path) == ["raw.parquet"]


def test_an_old_target_survives_a_failed_gate(leaky, source, tmp_path):
    (tmp_path / "out.parquet").write_text("old")
    with pytest.raises(BudgetExceeded):
        privatize_parquet(source, tmp_path / "out.parquet", merging(0.05), force=True)
    assert (tmp_path / "out.parquet").read_text() == "old"


def test_an_existing_target_is_left_alone_unless_forced(source, folder, tmp_path):
    target = tmp_path / "out.parquet"
    target.write_text("old")
    with pytest.raises(TargetExists, match="exists already"):
        privatize_parquet(source, target, merging())
    assert target.read_text() == "old"
    privatize_parquet(source, target, merging(), force=True)
    assert pq.read_metadata(target).num_rows == 300
    parts = tmp_path / "out"
    parts.mkdir()
    (parts / "old").write_text("old")
    with pytest.raises(TargetExists, match="exists already"):
        privatize_parquet(folder, parts, merging())
    assert left_in(parts) == ["old"]
    privatize_parquet(folder, parts, merging(), force=True)
    assert left_in(parts) == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert left_in(tmp_path) == ["SECRET_study", "out", "out.parquet", "raw.parquet"]


def test_force_never_replaces_a_folder_by_a_file_or_a_file_by_a_folder(source, folder, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(TargetExists):
        privatize_parquet(source, tmp_path / "out", merging())
    with pytest.raises(TargetError, match="is not a regular file; it is left as it is"):
        privatize_parquet(source, tmp_path / "out", merging(), force=True)
    (tmp_path / "file").write_text("old")
    with pytest.raises(TargetError, match="is not a folder; it is left as it is"):
        privatize_parquet(folder, tmp_path / "file", merging(), force=True)
    assert (tmp_path / "file").read_text() == "old"


def test_the_source_is_never_the_target(source, folder, tmp_path):
    before = source.read_bytes()
    (tmp_path / "link.parquet").symlink_to(source)
    for target in (source, tmp_path / "link.parquet", tmp_path / "x" / ".." / "raw.parquet"):
        with pytest.raises(TargetError, match="is the source or lies inside it"):
            privatize_parquet(source, target, merging(), force=True)
    for target in (folder, folder / "out", folder / "sex=SECRET_male" / "out.parquet"):
        with pytest.raises(TargetError, match="is the source or lies inside it"):
            privatize_parquet(folder, target, merging(), force=True)
    with pytest.raises(TargetError, match="the source lies inside"):
        privatize_parquet(folder / "sex=SECRET_male", folder, merging(), force=True)
    assert source.read_bytes() == before
    assert (tmp_path / "link.parquet").is_symlink()


def test_a_missing_target_folder_is_named_before_the_source_is_counted(source, tmp_path, monkeypatch):
    monkeypatch.setattr(Sanitizer, "prepare", lambda *_, **__: pytest.fail("the source was read first"))
    with pytest.raises(TargetError, match=r"the folder of .* does not exist; make it first"):
        privatize_parquet(source, tmp_path / "no" / "out.parquet", merging())
    with pytest.raises(TargetError, match="make it first"):
        privatize_parquet(source, source / "out.parquet", merging())


def test_a_folder_that_may_not_be_written_to_is_named(source, folder, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(_target, "_anonymous", refuse)
        with pytest.raises(TargetError, match="may not be written to; nothing was released"):
            privatize_parquet(source, tmp_path / "out.parquet", merging())
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(TargetError, match="may not be written to; nothing was released"):
        privatize_parquet(folder, tmp_path / "out", merging())
    assert left_in(tmp_path) == ["SECRET_study", "raw.parquet"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(source, tmp_path):
    (tmp_path / "sealed").mkdir(mode=0o500)
    with pytest.raises(TargetError, match="may not be written to"):
        privatize_parquet(source, tmp_path / "sealed" / "out.parquet", merging())


def test_a_full_disk_leaves_nothing(source, folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_parquet_target.ReleaseWriter, "write", full)
    for start, target in ((source, "out.parquet"), (folder, "out")):
        with pytest.raises(TargetError, match=r"cannot be written \(No space left on device\); nothing was released"):
            privatize_parquet(start, tmp_path / target, merging())
    assert left_in(tmp_path) == ["SECRET_study", "raw.parquet"]


class FullDisk(io.FileIO):
    """A stream that takes a few bytes and no more."""

    room = 0

    def write(self, content) -> int:
        if self.tell() + len(content) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(content)


@pytest.mark.parametrize("free", [0, 4, 30, 200])
def test_a_disk_that_fills_up_is_one_error(free, source, tmp_path, monkeypatch):
    """The abandoned writer must not try again when it is collected: that would be a second message."""
    name = tmp_path / ".out.parquet.tmp"
    monkeypatch.setattr(FullDisk, "room", free)
    monkeypatch.setattr(_target, "_anonymous", lambda _: (FullDisk(name, "w"), name))
    with pytest.raises(TargetError, match=r"No space left on device"):
        privatize_parquet(source, tmp_path / "out.parquet", merging())
    gc.collect()
    assert left_in(tmp_path) == ["raw.parquet"]


def with_and_without_unnamed_files(monkeypatch, unnamed: bool) -> None:
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interrupted_release_leaves_nothing(stop, unnamed, source, folder, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed)
    monkeypatch.setattr(_parquet_passes, "ROW_GROUP_ROWS", 50)
    written = []
    write = _parquet_target.ReleaseWriter.write

    def interrupted(self, columns):
        write(self, columns)
        written.append(1)
        if len(written) % 4 == 0:
            raise stop

    monkeypatch.setattr(_parquet_target.ReleaseWriter, "write", interrupted)
    for start, target in ((source, "out.parquet"), (folder, "out"), (folder, "all.parquet")):
        with pytest.raises(stop):
            privatize_parquet(start, tmp_path / target, merging())
        assert left_in(tmp_path) == ["SECRET_study", "raw.parquet"]


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
def test_an_interrupted_replacement_leaves_the_old_target(unnamed, source, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed)
    (tmp_path / "out.parquet").write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    for name in ("close", "write"):
        with monkeypatch.context() as patch:
            patch.setattr(_parquet_target.ReleaseWriter, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                privatize_parquet(source, tmp_path / "out.parquet", merging(), force=True)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        privatize_parquet(source, tmp_path / "out.parquet", merging(), force=True)
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert left_in(tmp_path) == ["out.parquet", "raw.parquet"]


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_of_the_result_follow_the_umask(mask, unnamed, source, folder, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed)
    old = os.umask(mask)
    try:
        privatize_parquet(source, tmp_path / "out.parquet", merging())
        privatize_parquet(folder, tmp_path / "out", merging())
        assert os.umask(mask) == mask, "the umask of the process was changed"
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out.parquet").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o777 & ~mask
    assert stat.S_IMODE((tmp_path / "out" / "part-00000.parquet").stat().st_mode) == 0o666 & ~mask


def test_the_unfinished_file_is_readable_by_its_owner_only(source, tmp_path, monkeypatch):
    with_and_without_unnamed_files(monkeypatch, unnamed=False)
    modes = []
    write = _parquet_target.ReleaseWriter.write

    def spy(self, columns):
        modes.extend(stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir() if p.name.startswith("."))
        write(self, columns)

    monkeypatch.setattr(_parquet_target.ReleaseWriter, "write", spy)
    privatize_parquet(source, tmp_path / "out.parquet", merging())
    assert modes == [0o600]


# ------------------------------------------------------------------------------------ a moving source


def edit_after_counting(monkeypatch, edit) -> None:
    """Run ``edit`` between the counting and the rewriting pass."""
    prepare = Sanitizer.prepare

    def prepare_and_edit(*args, **settings):
        made = prepare(*args, **settings)
        edit()
        return made

    monkeypatch.setattr(Sanitizer, "prepare", prepare_and_edit)


def rewrite_in_place(path: Path, changed: pa.Table) -> None:
    """Another content under the same inode, size permitting, and with the same time stamps."""
    times = path.stat()
    buffer = pa.BufferOutputStream()
    pq.write_table(changed, buffer)
    with path.open("r+b") as stream:
        stream.write(buffer.getvalue().to_pybytes())
        stream.truncate()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


EDITS = {
    "other rows": lambda path: pq.write_table(table(seed=5), path),
    "fewer rows": lambda path: pq.write_table(table().slice(3), path),
    "new symbol": lambda path: pq.write_table(table().set_column(1, "x", pa.array(["SECRET_new"] * 300)), path),
    "gone": lambda path: path.unlink(),
    "damaged": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "touched": lambda path: os.utime(path, ns=(1, 1)),
    "other rows, same stamps": lambda path: rewrite_in_place(path, table(seed=5)),
    "new symbol, same stamps": lambda path: rewrite_in_place(
        path, table().set_column(1, "x", pa.array(["SECRET_new"] * 300))
    ),
    "another column": lambda path: rewrite_in_place(path, table().drop_columns("x")),
}


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_source_that_changes_between_the_passes_is_noticed_and_nothing_is_left(
    edit, rows, source, tmp_path, monkeypatch
):
    edit_after_counting(monkeypatch, lambda: EDITS[edit](source))
    wanted = SourceError if edit in ("gone", "damaged", "another column") else SourceChanged
    with pytest.raises(wanted) as caught:
        privatize_parquet(source, tmp_path / "out.parquet", merging(), rows=rows)
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert set(left_in(tmp_path)) <= {"raw.parquet"}


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_change_that_the_file_system_does_not_show_is_noticed_by_the_counts(rows, tmp_path, monkeypatch):
    path = tmp_path / "raw.parquet"
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table({"s": ["p", "n"] * 50, "x": ["a", "b", "b", "a"] * 25}), path, **plain)
    before = path.stat()

    def edit():
        content = path.read_bytes()
        pq.write_table(pa.table({"s": ["p", "n"] * 50, "x": ["a", "b", "b", "b"] * 25}), tmp_path / "other", **plain)
        changed = (tmp_path / "other").read_bytes()
        (tmp_path / "other").unlink()
        assert len(changed) == len(content)
        with path.open("r+b") as stream:
            stream.write(changed)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    edit_after_counting(monkeypatch, edit)
    with pytest.raises(SourceChanged, match="changed while it was being read; nothing was released"):
        privatize_parquet(path, tmp_path / "out.parquet", SubsetMerging(LOOSE, sensitive="s", public="x"), rows=rows)
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_folder_that_changes_between_the_passes_is_noticed(folder, tmp_path, monkeypatch):
    last = folder / "sex=SECRET_none" / "SECRET_2.parquet"
    edit_after_counting(monkeypatch, lambda: pq.write_table(table(200, seed=9), last))
    for target in ("out", "out.parquet"):
        with pytest.raises(SourceChanged, match="nothing was released"):
            privatize_parquet(folder, tmp_path / target, merging(), rows="keep")
    assert left_in(tmp_path) == ["SECRET_study"]


def test_the_source_itself_is_never_modified(source, folder, tmp_path):
    def state():
        files = [source, *sorted(folder.rglob("*.parquet"))]
        return [(f.read_bytes(), f.stat().st_mtime_ns, f.stat().st_mode) for f in files]

    before = state()
    privatize_parquet(source, tmp_path / "out.parquet", merging())
    privatize_parquet(folder, tmp_path / "out", merging())
    assert state() == before


# ----------------------------------------------------------------------------- what the file may hold


def pieces(content: bytes):
    """The bytes themselves, and everything in them that can be read as base64."""
    yield content
    for run in re.findall(rb"[A-Za-z0-9+/]{8,}", content):
        for shift in range(4):
            cut = run[shift:]
            yield base64.b64decode(cut[: len(cut) // 4 * 4])


@pytest.fixture
def loaded(tmp_path) -> Path:
    """A source with a canary in every place that a careless copy would carry over."""
    raw = table().to_pandas()
    raw["x"] = pd.Categorical(raw["x"], categories=["a", "SECRET_unused", "b", "c", "d"])
    raw.index = pd.Index([f"SECRET_index_{i}" for i in range(len(raw))], name="SECRET_index")
    raw.attrs["note"] = "SECRET_attrs"
    arrow = pa.Table.from_pandas(raw)
    fields = [field.with_metadata({"comment": "SECRET_field"}) for field in arrow.schema]
    arrow = pa.table(arrow.columns, schema=pa.schema(fields, metadata={**arrow.schema.metadata, b"own": b"SECRET_own"}))
    path = tmp_path / "loaded.parquet"
    pq.write_table(arrow, path)
    content = path.read_bytes()
    for canary in (b"SECRET_unused", b"SECRET_index", b"SECRET_attrs", b"SECRET_own", b"SECRET_ill"):
        assert any(canary in piece for piece in pieces(content)), f"the source does not hold {canary!r}"
    return path


@pytest.mark.parametrize("release", ["resample", "label"])
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_nothing_of_the_source_but_released_values_is_in_the_file(rows, release, loaded, tmp_path):
    target = tmp_path / "out.parquet"
    privatize_parquet(loaded, target, merging(release=release), rows=rows)
    assert not any(b"SECRET" in piece for piece in pieces(target.read_bytes()))
    meta = pq.read_metadata(target)
    assert set(meta.metadata) == {b"sanitize"}
    assert pq.ParquetFile(target).schema_arrow.metadata.keys() == {b"sanitize"}
    assert all(
        field.metadata is None or not any(b"SECRET" in v for v in field.metadata.values())
        for field in pq.read_schema(target)
    )
    assert pd.read_parquet(target).index.equals(pd.RangeIndex(300))


def test_the_footer_tells_the_verdict_in_two_kilobytes_without_symbols_or_counts(source, tmp_path):
    privatize_parquet(source, tmp_path / "out.parquet", merging())
    footer = pq.read_metadata(tmp_path / "out.parquet").metadata[b"sanitize"]
    assert len(footer) <= 2048
    told = json.loads(footer)
    assert told["within_budget"] is True
    assert told["budget"] == repr(BUDGET)
    assert told["rows"] == "shuffle"
    assert set(told) == {
        *("sanitize", "mechanism", "budget", "within_budget", "max_log_lift", "min_log_lift"),
        *("normalized_utility", "rows"),
    }
    assert "300" not in footer.decode()


def test_statistics_are_those_of_released_values(source, tmp_path):
    privatize_parquet(source, tmp_path / "out.parquet", merging(0.01))
    released = pq.read_table(tmp_path / "out.parquet").to_pydict()
    group = pq.read_metadata(tmp_path / "out.parquet").row_group(0)
    for j, name in enumerate(["x", "floor"]):
        values = [v for v in released[name] if v is not None]
        found = group.column(j).statistics
        assert (found.min, found.max, found.null_count) == (min(values), max(values), 300 - len(values))


def test_dictionaries_hold_values_that_were_drawn_only(tmp_path):
    rare = pa.table({"s": ["p", "n"] * 200, "x": ["a", "b", "c", "d"] * 99 + ["a", "b", "c", "SECRET_rare"]})
    pq.write_table(rare, tmp_path / "raw.parquet")
    outcomes = set()
    for i in range(20):
        sanitizer = SubsetMerging(0.0, sensitive="s", public="x")
        privatize_parquet(
            tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, key=bytes([i]) * 32, force=True
        )
        values = pq.read_table(tmp_path / "out.parquet")["x"].to_pylist()
        there = b"SECRET_rare" in (tmp_path / "out.parquet").read_bytes()
        assert there == ("SECRET_rare" in values)
        outcomes.add(there)
    assert outcomes == {True, False}, "the rare value must be drawn under some keys and not under others"


def test_pages_carry_checksums_and_text_is_dictionary_encoded(source, tmp_path):
    privatize_parquet(source, tmp_path / "out.parquet", merging())
    assert pq.ParquetFile(tmp_path / "out.parquet", page_checksum_verification=True).read().num_rows == 300
    column = pq.read_metadata(tmp_path / "out.parquet").row_group(0).column(0)
    assert column.has_dictionary_page
    content = bytearray((tmp_path / "out.parquet").read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 3] ^= 0xFF
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(OSError, match=r".*"):
        pq.ParquetFile(tmp_path / "bad.parquet", page_checksum_verification=True).read()


N = 60
TYPES = {
    **{
        f"{sign}int{bits}": pa.array([3, None, 2**bits // 2 - 1] * 20, f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "uint64 beyond int64": pa.array([2**64 - 1, 2**63, None] * 20, pa.uint64()),
    "float16": pa.array(np.array([0.5, 1.5, -2.0] * 20, np.float16)),
    "float32": pa.array([0.1, None, math.inf] * 20, pa.float32()),
    "float64": pa.array([0.1, None, -1e300] * 20),
    "bool": pa.array([True, None, False] * 20),
    "string": pa.array(["", None, "ü\n\0"] * 20),
    "large_string": pa.array(["a", None, "b"] * 20, pa.large_string()),
    "string_view": pa.array(["a", None, "b"] * 20, pa.string_view()),
    "binary": pa.array([b"\x00\xff", None, b""] * 20),
    "large_binary": pa.array([b"\x00\xff", None, b""] * 20, pa.large_binary()),
    "binary_view": pa.array([b"\x00\xff", None, b""] * 20, pa.binary_view()),
    "fixed_size_binary": pa.array([b"ab", None, b"\xff\x00"] * 20, pa.binary(2)),
    "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-99999.99")] * 20, pa.decimal128(7, 2)),
    "decimal256": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("9.99")] * 20, pa.decimal256(50, 2)),
    "date": pa.array([dt.date(2024, 2, 29), None, dt.date(1899, 1, 1)] * 20),
    "time": pa.array([dt.time(1, 2, 3, 4), None, dt.time(23)] * 20, pa.time64("us")),
    "time32": pa.array([dt.time(1, 2, 3), None, dt.time(23)] * 20, pa.time32("ms")),
    **{f"timestamp[{u}]": pa.array([1, None, 10**12] * 20, pa.timestamp(u)) for u in ("ms", "us", "ns")},
    "timestamp with zone": pa.array([1, None, 10**12] * 20, pa.timestamp("us", "UTC")),
    "dictionary": pa.array(["a", None, "b"] * 20).dictionary_encode(),
    "dictionary of integers": pa.array([5, None, 7] * 20).dictionary_encode(),
    "dictionary of dates": pa.array([dt.date(2024, 2, 29), None] * 30).dictionary_encode(),
    "uuid": pa.array([uuid.UUID(int=5).bytes, None, uuid.UUID(int=2**127).bytes] * 20, pa.uuid()),
    "null": pa.nulls(N),
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_column_keeps_its_parquet_type_and_its_values(kind, tmp_path):
    raw = pa.table({"x": TYPES[kind], "s": ["p", "n", "n"] * 20})
    pq.write_table(raw, tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public="x", handle_unknown="error")
    report = privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    assert report.ok
    assert not report.facts.n_unseen
    stored = [pq.ParquetFile(tmp_path / f"{name}.parquet").schema.column(0) for name in ("raw", "out")]
    assert stored[0].physical_type == stored[1].physical_type
    assert str(stored[0].logical_type) == str(stored[1].logical_type)
    assert stored[0].name == stored[1].name == "x"
    plain = pq.read_table(tmp_path / "out.parquet")["x"]
    assert plain.to_pylist() == raw["x"].to_pylist()
    privatize_parquet(
        tmp_path / "raw.parquet", tmp_path / "merged.parquet", SubsetMerging(0.0, sensitive="s", public="x")
    )
    assert set(pq.read_table(tmp_path / "merged.parquet")["x"].to_pylist()) <= set(raw["x"].to_pylist())


def test_a_zoned_timestamp_keeps_its_instants_and_a_duration_its_count(tmp_path):
    """Parquet itself knows neither zones nor durations; they live in ARROW:schema, which must not be copied."""
    instants = pa.array([1, None, 10**15] * 20, pa.timestamp("us", "Europe/Berlin"))
    spans = pa.array([1, None, 5] * 20, pa.duration("us"))
    pq.write_table(pa.table({"x": instants, "y": spans, "s": ["p", "n", "n"] * 20}), tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public=["x", "y"])
    privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    released = pq.read_table(tmp_path / "out.parquet")
    assert released["x"].cast(pa.int64()).to_pylist() == [1, None, 10**15] * 20
    assert released["y"].to_pylist() == [1, None, 5] * 20


def test_labels_of_a_number_are_text(source, tmp_path):
    sanitizer = merging(LOOSE, public=["age"], bins={"age": [18, 40, 80]}, release="label")
    privatize_parquet(source, tmp_path / "out.parquet", sanitizer)
    assert set(pq.read_table(tmp_path / "out.parquet").column(0).to_pylist()) == {"[18, 40)", "[40, 80]"}


def test_odd_and_nested_names_select_the_exact_column(tmp_path):
    nested = pa.array([{"b": 1}, {"b": 2}] * 30)
    flat = pa.array(["u", "v", "w"] * 20)
    raw = pa.table({"a": nested, "a.b": flat, "s": ["p", "n"] * 30, "a.b.c": ["SECRET"] * 60})
    pq.write_table(raw, tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public="a.b")
    privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"a.b": flat.to_pylist()}


def test_positions_count_all_columns_even_where_names_repeat(tmp_path):
    raw = pa.table(
        [["u", "v"] * 30, ["u", "v"] * 30, ["p", "n", "n"] * 20, ["c", "d", "e"] * 20], names=["x", "x", "s", "y"]
    )
    pq.write_table(raw, tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive=[2], public=[3])
    privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer)
    assert pq.read_schema(tmp_path / "out.parquet").names == ["y"]
    assert sanitizer.report_.sensitive == ("s",)
    for by_position in ([1], [0]):
        with pytest.raises(ColumnError):
            privatize_parquet(
                tmp_path / "raw.parquet", tmp_path / "2", SubsetMerging(LOOSE, sensitive=[2], public=by_position)
            )


# --------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"public": ["x", "flor"]}, ColumnError, "did you mean 'floor'"),
        ({"public": "SECRET_name"}, ColumnError, "different value in most rows"),
        ({"public": ["age"], "bins": {"age": 4}}, InvalidParameter, "declare edges"),
        ({"bins": 3}, InvalidParameter, "declare edges"),
        ({"keep_sensitive": True}, InvalidParameter, "keep_sensitive"),
        ({"public": ["x"], "missing": "error"}, ColumnError, "has missing values"),
    ],
)
def test_what_cannot_be_released_to_a_file_is_refused_before_anything_is_written(
    settings, error, message, source, tmp_path
):
    with pytest.raises(error, match=message):
        privatize_parquet(source, tmp_path / "out.parquet", merging(**settings))
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"no such file or folder: .*nowhere\.parquet"):
        privatize_parquet(tmp_path / "nowhere.parquet", tmp_path / "out.parquet", merging())


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(SourceError, match="not a regular file"):
        privatize_parquet(tmp_path / "pipe.parquet", tmp_path / "out.parquet", merging())


def test_a_table_without_rows_is_refused(tmp_path):
    pq.write_table(table().slice(0, 0), tmp_path / "raw.parquet")
    with pytest.raises(InvalidDistribution, match="no rows"):
        privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", merging())
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_folder_with_an_empty_file_among_others_is_released(tmp_path):
    (tmp_path / "in").mkdir()
    for name, part in (("a", table()), ("b", table().slice(0, 0)), ("c", table().slice(0, 1))):
        pq.write_table(part, tmp_path / "in" / f"{name}.parquet")
    for rows in ("shuffle", "keep"):
        privatize_parquet(tmp_path / "in", tmp_path / rows, merging(), rows=rows)
        parts = [pq.read_table(tmp_path / rows / name) for name in left_in(tmp_path / rows)]
        assert sum(part.num_rows for part in parts) == 301
        assert len({part.schema for part in parts}) == 1, "every part must have one schema"


def test_an_audit_of_a_file_is_the_audit_of_its_frame(source):
    from_file = audit_parquet(source, ["s"], ["x", "floor"], batch_rows=13)
    from_frame = sz.audit(pq.read_table(source), ["s"], ["x", "floor"])
    assert from_file.summary == from_frame.summary
    assert from_file.budget is None


# ------------------------------------------------------------------------------------------- memory

PEAK_BYTES = 400 << 20
MEMORY = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import sanitize as sz
from sanitize.parquet import privatize_parquet
from sanitize.transformers import SubsetMerging
step, source, target, rows = sys.argv[1:]
pa.set_cpu_count(2)  # each thread holds a block: on a machine of many cores they are what is measured
if step == "make":
    rng = np.random.default_rng(0)
    names = pa.array([f"a rather long name of a public symbol, number {i:04d}" for i in range(500)])
    schema = pa.schema([("s", pa.string()), ("x", pa.string()), ("floor", pa.int64()), ("other", pa.string())])
    with pq.ParquetWriter(source, schema) as writer:
        for _ in range(8):
            x = rng.integers(0, 500, 1 << 18)
            s = pa.array(np.where(rng.random(1 << 18) < 0.2 + 0.1 * (x % 7), "ill", "well"))
            columns = [s, names.take(pa.array(x)), pa.array(x % 5), names.take(pa.array(x[::-1]))]
            writer.write_table(pa.table(columns, schema=schema))
else:
    sanitizer = SubsetMerging(sz.LiftBudget(lower=2.0, upper=0.4), sensitive="s", public=["x", "floor"])
    privatize_parquet(source, target, sanitizer, rows=rows)
    assert pq.read_metadata(target).num_rows == 8 << 18
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_two_million_rows_are_released_in_bounded_memory(tmp_path):
    """The table is about 320 MB in memory, of which half is released; the imports alone take about 200 MB."""

    def run(*argv: str) -> str:
        command = [sys.executable, "-c", MEMORY, *argv]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("make", "raw.parquet", "", "")
    for rows in ("shuffle", "keep"):
        assert int(run("release", "raw.parquet", f"{rows}.parquet", rows)) * 1024 < PEAK_BYTES


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
@pytest.mark.parametrize(
    "sanitizer",
    [
        GaussianChannel(0.3, sensitive="s", public="x", bounds=(0, 100)),
        SubsetMerging(math.inf, sensitive="s", public="x", bins={"x": [0, 50, 1000]}),
    ],
    ids=["noise", "bins"],
)
def test_whole_numbers_beyond_the_type_of_their_column_are_written_with_64_bits(sanitizer, rows, tmp_path):
    n = 600
    source = pa.table({"s": ["p", "q", "q"] * (n // 3), "x": pa.array([0, 3, 90] * (n // 3), pa.uint8())})
    source = source.take(np.random.default_rng(0).permutation(n))  # an order that tells s would not be kept
    pq.write_table(source, tmp_path / "raw.parquet")
    privatize_parquet(tmp_path / "raw.parquet", tmp_path / "out.parquet", clone(sanitizer), rows=rows)
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.schema.field("x").type == pa.int64()
    assert max(released["x"].to_pylist()) > 100
    sz.verify_parquet(tmp_path / "out.parquet", tmp_path / "raw.parquet", clone(sanitizer), rows=rows).require()
