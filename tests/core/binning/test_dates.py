"""Dates as intervals and calendar units: each row's own unit by another route, the same in memory, files and saved."""

from __future__ import annotations

import datetime as dt
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sanitize as sz
from sanitize._util.declared import SchemaError, read, to_builtin
from sanitize.core.binning import STEPS, AnyBins, DateBins, as_seconds, by_step
from sanitize.errors import ColumnError, InvalidParameter, PolicyError

DAYS = [dt.date(1, 1, 1), dt.date(1899, 12, 31), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2000, 2, 29), None]
TIMES = [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2009, 9, 30, 23, 59, 59), None]


def named(day: dt.date | None, step: str) -> str | None:
    """Second route: Python's own calendar."""
    if day is None:
        return None
    year = f"{day.year:04d}"
    return {
        "day": f"{year}-{day.month:02d}-{day.day:02d}",
        "month": f"{year}-{day.month:02d}",
        "quarter": f"{year}-Q{(day.month + 2) // 3}",
        "year": year,
        "decade": f"{day.year - day.year % 10:04d}s",
    }[step]


def kinds() -> dict[str, tuple[pa.Array, list]]:
    """Dates of every type that tables have."""
    late = [day for day in DAYS if day is None or day.year > 1700]
    return {
        "date32": (pa.array(DAYS, pa.date32()), DAYS),
        "date64": (pa.array(DAYS, pa.date64()), DAYS),
        "text": (pa.array([None if day is None else day.isoformat() for day in DAYS]), DAYS),
        "seconds": (pa.array(TIMES, pa.timestamp("s")), TIMES),
        "micro": (pa.array(TIMES, pa.timestamp("us")), TIMES),
        "zoned": (pa.array(TIMES, pa.timestamp("us", "UTC")), TIMES),
        "nano": (pa.array(late, pa.date32()).cast(pa.timestamp("ns")), late),
        "dictionary": (pa.array(late, pa.date32()).dictionary_encode(), late),
        "chunked": (pa.chunked_array([pa.array(DAYS[:2]), pa.array(DAYS[2:])]), DAYS),
    }


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", kinds())
def test_a_row_is_in_its_own_calendar_unit(kind, step):
    column, days = kinds()[kind]
    assert by_step(column, step, "born").to_pylist() == [named(day, step) for day in days]


@pytest.mark.parametrize("step", STEPS)
def test_names_of_units_sort_in_the_order_of_time(step):
    days = [dt.date(1, 1, 1) + dt.timedelta(days=317 * i) for i in range(2500)]
    names = by_step(pa.array(days), step, "born").to_pylist()
    assert names == sorted(names)


@pytest.mark.parametrize("kind", kinds())
def test_edges_close_on_the_left_and_the_last_interval_on_both_sides(kind):
    column, days = kinds()[kind]
    edges = [dt.date(1800, 1, 1), "1970-01-01", dt.datetime(2000, 2, 29)]
    found, clipped = DateBins.from_edges("born", edges, column.type).assign(column)
    last = "[1970-01-01, 2000-02-29]"
    want = [None if day is None else "[1800-01-01, 1970-01-01)" if day.year < 1970 else last for day in days]
    assert found.to_pylist() == want
    outside = [day for day in days if day is not None and not 1800 <= day.year <= 2000]
    assert clipped == len(outside)


def test_times_of_day_show_in_the_names_of_intervals_only_where_edges_have_them():
    bins = DateBins.from_edges("at", ["2020-01-01 06:00", "2020-01-01 18:00:30"], pa.timestamp("s"))
    assert bins.labels.to_pylist() == ["[2020-01-01 06:00:00, 2020-01-01 18:00:30]"]


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        ("years", "one of 'day', 'month', 'quarter', 'year', 'decade'"),
        ([], "bins of"),
        (["1990-01-01", "1980-01-01"], "must be dates in ascending order"),
        (["1990-01-01", "soon"], "must be dates in ascending order"),
    ],
)
def test_bins_that_are_none_are_refused(bins, words):
    df = pd.DataFrame({"s": ["a", "b"] * 30, "born": pd.to_datetime(["1985-05-05", "1999-09-09"] * 30)})
    with pytest.raises(InvalidParameter, match=words):
        sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s", public="born", bins={"born": bins}).fit(df)


@pytest.mark.parametrize("column", [["SECRET", "x"] * 30, [1, 2] * 30])
@pytest.mark.parametrize("bins", ["year", ["1990-01-01", "1999-01-01"]])
def test_a_column_without_dates_is_refused_and_not_quoted(column, bins):
    df = pd.DataFrame({"s": ["a", "b"] * 30, "born": column})
    with pytest.raises(ColumnError, match="column 'born'") as caught:
        sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s", public="born", bins={"born": bins}).fit(df)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "bins",
    [
        DateBins("a", (), learned=False, whole=True, step="year"),
        DateBins("a", (0.0, 86400.0, 1e9), learned=True, whole=True, step=None),
    ],
)
def test_bins_of_dates_are_the_same_from_plain_values(bins):
    assert read(AnyBins, to_builtin(bins)) == bins
    for wrong in (
        {"step": "never"},
        {"edges": [1, 0]},
        {"edges": ["0"]},
        {"edges": [0.5, 1]},
        {"column": 1},
        {"x": 1},
    ):
        with pytest.raises(SchemaError):
            read(AnyBins, to_builtin(bins) | wrong)


POLICY = """
version = 1
[columns]
sensitive = ["ill"]
public = ["born", "town"]
[budget]
lower = 1
upper = 0.7
[channel]
confidence = 0.9
effort = 60000
[channel.bins]
born = {}
"""


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(2000) < 0.3
    days = rng.integers(0, 25_000, 2000) - np.where(ill, 4000, 0)
    born = np.datetime64("1940-01-01") + days.astype("timedelta64[D]")
    return pd.DataFrame({"ill": np.where(ill, "y", "n"), "born": born, "town": rng.choice(["a", "b"], 2000)})


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    "bins", ['"decade"', "[1920-01-01, 1950-01-01, 1980-01-01, 2010-01-01]", '["1920-01-01", "2010-01-01"]']
)
def test_a_policy_bins_dates_and_its_release_is_verified(people, tmp_path, suffix, bins):
    source, target = tmp_path / f"raw.{suffix}", tmp_path / f"out.{suffix}"
    people.to_parquet(source) if suffix == "parquet" else people.to_csv(source, index=False)
    policy = sz.Policy.from_toml(POLICY.format(bins))
    report = sz.release_file(source, target, policy.sanitizer())
    assert report.state == "source"
    assert sz.verify_file(target, source, policy).ok
    released = pd.read_parquet(target) if suffix == "parquet" else pd.read_csv(target)
    memory = policy.sanitizer().fit(people)
    assert set(released["born"]) <= set(memory._joint.public.levels[0].to_pylist())
    assert memory.report_.summary == pytest.approx(report.summary, nan_ok=True)


def test_a_saved_release_and_a_ledger_know_dates(people, tmp_path):
    sanitizer = sz.SubsetMerging(
        sz.LiftBudget.symmetric(1.0), sensitive="ill", public=["born", "town"], bins={"born": "decade"}
    ).fit(people)
    saved = sz.SavedRelease.from_json(sz.SavedRelease.of(sanitizer).to_json())
    people.to_parquet(tmp_path / "raw.parquet")
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "new.parquet", saved)
    decades = set(sanitizer._joint.public.levels[0].to_pylist())
    assert set(pd.read_parquet(tmp_path / "new.parquet")["born"]) <= decades
    ledger = sz.Ledger(tmp_path / "book.ledger", sz.LiftBudget.symmetric(3.0))
    for number in range(2):
        for_files = sz.SubsetMerging(
            sz.LiftBudget.symmetric(0.7), sensitive="ill", public=["born", "town"], bins={"born": "decade"}
        )
        sz.release_file(tmp_path / "raw.parquet", tmp_path / f"{number}.parquet", for_files, ledger=ledger)
    again = sz.SubsetMerging(
        sz.LiftBudget.symmetric(0.7), sensitive="ill", public=["born", "town"], bins={"born": "decade"}
    ).fit(people)
    three = ledger.check(people, again)
    assert three.ok
    # Merging draws nothing, so the third release tells what the first two have told.
    assert three.summary["mutual_information"] == pytest.approx(again.report_.summary["mutual_information"], abs=1e-9)


@pytest.mark.parametrize("bins", ['"eon"', "[]", "[1990-01-01, 5]", "[1990-01-01, 1980-01-01]", '["x", "y"]'])
def test_a_policy_refuses_bins_that_are_none(bins):
    assert tomllib.loads(POLICY.format(bins))
    with pytest.raises(PolicyError, match=r"channel\.bins\.born"):
        sz.Policy.from_toml(POLICY.format(bins))


def test_seconds_are_rounded_down_before_1970():
    seconds, missing = as_seconds(pa.array(TIMES, pa.timestamp("us")), "at")
    assert seconds[0] == -1
    assert missing.tolist() == [False, False, True]
