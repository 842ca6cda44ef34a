"""Rows of Dask data frames, and releases that a ledger books."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from engine_cases import (
    KEY,
    WIDE,
    book_of,
    interrupted_after,
    left_in,
    make_whole,
    merging,
    rows_of,
    two_ledgers,
    whole_tables,
    with_faults,
)

import sanitize as sz
from sanitize._util.sampling.noise import NoiseKey
from sanitize.engines.parquet._engine import partition_words
from sanitize.errors import (
    InvalidParameter,
    LedgerError,
    LedgerExceeded,
    UnknownSymbol,
    UnseenSymbolWarning,
)
from sanitize.transformers import RandomizedResponse

pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'sanitize-tabular[dask]'")

pytest.importorskip("distributed", reason="distributed is not installed")
import dask
import dask.dataframe as dd

import sanitize.engines.dask
from sanitize.engines.dask import _Tasks, release_file, transform


def response(eps: float) -> RandomizedResponse:
    return RandomizedResponse(eps, sensitive="income", public="education")


# ---------------------------------------------------------------------------------------------- ledger


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_the_ledger_gets_the_entry_of_one_machine(rows, small, tmp_path, monkeypatch):
    alone, engine = two_ledgers(tmp_path, small)
    sz.release_file(small, tmp_path / "single.parquet", merging(2.0), rows=rows, key=KEY, ledger=alone)
    report = release_file(small, tmp_path / "out", merging(2.0), rows=rows, key=KEY, ledger=engine, task_rows=130)
    assert report.ok
    assert book_of(engine) == book_of(alone)
    assert len(sz.Ledger(engine)) == 2
    assert rows_of(tmp_path / "out").equals(rows_of(tmp_path / "single.parquet"))
    # Where all together are too many to count, each release is counted by itself: on workers, too.
    monkeypatch.setattr("sanitize.core.joint.JOINT_CELLS", 12)
    (tmp_path / "large").mkdir()
    alone, engine = two_ledgers(tmp_path / "large", small)
    for ledger, made in ((alone, sz.release_file), (engine, release_file)):
        sanitizer = RandomizedResponse(0.5, sensitive="income", public="age")
        sanitizer.set_params(bins={"age": [0, 40, 100]})
        made(small, tmp_path / ledger.stem, sanitizer, ledger=sz.Ledger(ledger))
    assert book_of(engine) == book_of(alone)
    assert book_of(engine)["together"] is None


@pytest.mark.slow
def test_a_killed_worker_is_booked_once(small, client, tmp_path, monkeypatch):
    alone, engine = two_ledgers(tmp_path, small)
    with_faults(monkeypatch, _Tasks, tmp_path, "kill", {"ledger", "rewrite"})
    sanitizer = merging(2.0)
    release_file(small, tmp_path / "out", sanitizer, rows="keep", key=KEY, client=client, task_rows=130, ledger=engine)
    assert {"failed-ledger", "failed-rewrite", "out"} <= set(left_in(tmp_path))
    assert len(sz.Ledger(engine)) == 2
    sz.Ledger(alone).record(small, sanitizer, key=KEY)
    assert book_of(engine) == book_of(alone)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_release_that_the_ledger_refuses_leaves_target_and_ledger_as_they_were(rows, small, tmp_path, monkeypatch):
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=math.inf, upper=0.5))
    release_file(small, tmp_path / "out", response(1.5), key=KEY, ledger=ledger)
    before, book = rows_of(tmp_path / "out"), (tmp_path / "ledger").read_bytes()
    run, ran = _Tasks.run, []

    def noted(self, work, items, name):
        ran.append(name)
        return run(self, work, items, name)

    monkeypatch.setattr(_Tasks, "run", noted)
    for error, words, given in (
        (LedgerExceeded, "1 recorded release", {}),
        (InvalidParameter, "same key or seed", {"key": KEY}),
    ):
        ran.clear()
        with pytest.raises(error, match=words):
            release_file(small, tmp_path / "out", response(1.5), rows=rows, force=True, ledger=ledger, **given)
        assert ran == (["count"] if given else ["count", "ledger"])  # and nothing was drawn
        assert rows_of(tmp_path / "out").equals(before)
        assert (tmp_path / "ledger").read_bytes() == book
    other = pd.read_parquet(small).iloc[1:]
    other.to_parquet(small)
    with pytest.raises(LedgerError, match="not the rows"):
        release_file(small, tmp_path / "other", merging(2.0), rows=rows, ledger=ledger)
    assert left_in(tmp_path) == [".ledger.lock", "ledger", "out", "raw.parquet"]
    assert (tmp_path / "ledger").read_bytes() == book


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "name"), [("shuffle", "write"), ("keep", "rewrite")])
def test_a_release_that_fails_is_not_booked(rows, name, small, tmp_path, monkeypatch):
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    interrupted_after(monkeypatch, _Tasks, name)
    with pytest.raises(KeyboardInterrupt):
        release_file(small, tmp_path / "out", merging(2.0), rows=rows, ledger=ledger)
    assert len(ledger) == 0
    assert left_in(tmp_path) == [".ledger.lock", "ledger", "raw.parquet"]


@pytest.mark.slow
def test_a_release_is_booked_while_it_is_written(small, tmp_path, monkeypatch):
    ledger = sz.Ledger(tmp_path / "ledger", WIDE)
    run, seen = _Tasks.run, []

    def noted(self, work, items, name):
        seen.append((name, len(ledger)))
        return run(self, work, items, name)

    monkeypatch.setattr(_Tasks, "run", noted)
    release_file(small, tmp_path / "out", merging(2.0), ledger=ledger)
    assert seen == [("count", 0), ("ledger", 0), ("write", 1)]


def test_whoever_was_slower_measures_again(small, tmp_path, monkeypatch):
    ledger = sz.Ledger(tmp_path / "ledger", sz.LiftBudget(lower=math.inf, upper=0.5))
    run, ran = _Tasks.run, []

    def overtaken(self, work, items, name):
        outcome = run(self, work, items, name)
        ran.append(name)
        if ran == ["count", "ledger"]:  # somebody else is faster
            sz.release_file(small, tmp_path / "first.parquet", response(1.5), ledger=ledger)
        return outcome

    monkeypatch.setattr(_Tasks, "run", overtaken)
    with pytest.raises(LedgerExceeded):
        release_file(small, tmp_path / "out", response(1.5), ledger=ledger)
    assert ran == ["count", "ledger", "ledger"]
    assert len(ledger) == 1
    assert not (tmp_path / "out").exists()


def test_a_ledger_that_is_not_there_is_refused_before_any_task_runs(small, tmp_path, monkeypatch):
    monkeypatch.setattr(_Tasks, "run", None)
    with pytest.raises(LedgerError, match="no ledger 'none'"):
        release_file(small, tmp_path / "out", merging(2.0), ledger=tmp_path / "none")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------- rows of a data frame


@pytest.fixture
def frame(small):
    made = pd.read_parquet(small)
    made["education"] = made["education"].astype("category")
    made.loc[5:9, "occupation"] = None
    return made


@pytest.mark.slow
def test_rows_of_a_frame_are_those_of_a_local_transform_with_the_same_streams(frame):
    sanitizer = merging(2.0).fit(frame)
    released = transform(dd.from_pandas(frame, npartitions=3), sanitizer, key=KEY)
    assert released.columns.tolist() == ["education", "occupation", "age"]
    for number in range(3):
        part = dd.from_pandas(frame, npartitions=3).partitions[number].compute()
        local = merging(2.0, random_state=partition_words(NoiseKey(KEY), number)).fit(frame).transform(part)
        assert_frames_equal(released.partitions[number].compute(), local)
    assert_frames_equal(released.compute(), released.compute())
    assert {name: str(dtype) for name, dtype in released.dtypes.items()} == {
        name: str(dtype) for name, dtype in released.compute().dtypes.items()
    }


def test_rows_of_a_frame_whose_counts_of_secrets_held_noise_are_those_of_a_local_transform(tmp_path):
    frame = pd.read_parquet(make_whole(tmp_path)).drop(columns="seen")  # Dask makes text of dates
    sanitizer = whole_tables()["noisy"].fit(frame)
    released = transform(dd.from_pandas(frame, npartitions=2), sanitizer, key=KEY)
    again = whole_tables()["noisy"].fit(frame)
    assert again.channel_ == sanitizer.channel_
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 2)):
        again.random_state = partition_words(NoiseKey(KEY), number)
        assert_frames_equal(released.partitions[number].compute(), again.transform(frame.iloc[part]))


def assert_frames_equal(one: pd.DataFrame, other: pd.DataFrame) -> None:
    for name in other:
        assert (
            one[name].astype(object).where(one[name].notna(), None).tolist()
            == other[name].astype(object).where(other[name].notna(), None).tolist()
        )
    assert one.index.tolist() == other.index.tolist()


@pytest.mark.slow
def test_a_frame_computed_twice_or_in_part_shows_the_same_noise(frame, small):
    sanitizer = merging(2.0).fit(frame)
    released = transform(dd.read_parquet(small), sanitizer)
    whole = released.compute()
    assert_frames_equal(released.compute(), whole)
    assert_frames_equal(released[["age"]].compute(), whole[["age"]])
    last = released.partitions[released.npartitions - 1].compute()
    assert_frames_equal(last, whole.tail(len(last)))
    assert not transform(dd.read_parquet(small), sanitizer).compute()["age"].equals(whole["age"])


@pytest.mark.slow
def test_workers_release_the_same_frame(frame, client):
    sanitizer = merging(2.0).fit(frame)
    ddf = dd.from_pandas(frame, npartitions=2)
    with dask.config.set(scheduler="threads"):
        local = transform(ddf, sanitizer, key=KEY).compute()
    (future,) = client.compute([transform(ddf, sanitizer, key=KEY)])
    assert_frames_equal(future.result(), local)


@pytest.mark.slow
def test_unseen_symbols_are_counted_or_refused(frame):
    other = frame.assign(occupation="new")
    ddf = dd.from_pandas(other, npartitions=1)
    with dask.config.set(scheduler="sync"):
        with pytest.warns(UnseenSymbolWarning, match="500 of 500 rows"):
            transform(ddf, merging(2.0).fit(frame)).compute()
        with pytest.raises(UnknownSymbol):
            transform(ddf, merging(2.0, handle_unknown="error").fit(frame)).compute()


@pytest.mark.slow
def test_only_a_fitted_sanitizer_within_its_budget_is_applied(frame):
    ddf = dd.from_pandas(frame, npartitions=1)
    with pytest.raises(InvalidParameter, match="not fitted"):
        transform(ddf, merging())
    with pytest.raises(InvalidParameter, match="keep_sensitive"):
        transform(ddf, merging(2.0, keep_sensitive=True).fit(frame))


@pytest.mark.slow
def test_workers_are_not_sent_the_distribution(frame):
    release = merging(2.0).fit(frame).bare_release()
    assert release.joint.pmf.shape == (1, 1)
    assert release.report.sensitive == ("s",)
