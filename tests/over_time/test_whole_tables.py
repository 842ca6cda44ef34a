"""Whole tables in a ledger: a class is what a row tells, beside every other release of the same rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import LedgerError, LedgerExceeded
from sanitize.transformers import LatentClassRelease, SubsetMerging

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
LOOSE = sz.LiftBudget(lower=float("inf"), upper=9.0)


def people(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    age = np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round()
    town = rng.choice(["A", "B", None], n, p=[0.5, 0.4, 0.1])
    return pd.DataFrame({"ill": ill, "age": age, "town": town, "smokes": rng.random(n) < np.where(ill, 0.5, 0.2)})


DF = people()


def classes(seed: int | None = 0) -> LatentClassRelease:
    return LatentClassRelease(BUDGET, sensitive="ill", n_classes=6, random_state=seed)


def merged() -> SubsetMerging:
    return SubsetMerging(BUDGET, sensitive="ill", public=["town", "smokes"])


def lifts_together(releases) -> tuple[float, float]:
    """Largest and smallest log-lift of the released symbols of all together, row by row with dense matrices."""
    drawn = [release._release.channel.matrix[release._release.encode(DF)[0]] for release in releases]
    distribution = np.stack(
        [np.einsum("na,nb->ab", *(d[DF["ill"] == s] for d in drawn)).ravel() for s in (False, True)]
    )
    distribution = distribution[:, distribution.sum(axis=0) > 0] / len(DF)
    with np.errstate(divide="ignore"):
        logs = np.log(distribution / distribution.sum(axis=1, keepdims=True) / distribution.sum(axis=0))
    return float(logs.max()), float(logs.min())


def test_classes_and_tuples_are_measured_together(tmp_path):
    releases = [classes().fit(DF), merged().fit(DF)]
    for i, order in enumerate((releases, releases[::-1])):
        ledger = sz.Ledger(tmp_path / f"{i}.ledger", LOOSE)
        first = ledger.record(DF, order[0])
        assert first.summary["max_log_lift"] == pytest.approx(order[0].report_.summary["max_log_lift"], abs=1e-9)
        both = ledger.record(DF, order[1])
        most, least = lifts_together(order)
        assert both.summary["max_log_lift"] == pytest.approx(most, abs=1e-9)
        assert both.summary["min_log_lift"] == pytest.approx(least, abs=1e-9)
        assert most > max(release.report_.summary["max_log_lift"] for release in releases)


def test_a_second_release_is_refused_where_both_are_too_much(tmp_path):
    ledger = sz.Ledger(tmp_path / "book.ledger", BUDGET)
    assert ledger.record(DF, classes().fit(DF)).ok
    with pytest.raises(LedgerExceeded, match="left"):
        ledger.record(DF, classes(1).fit(DF))
    assert len(sz.Ledger(tmp_path / "book.ledger")) == 1


def test_other_rows_are_noticed_by_their_classes(tmp_path):
    ledger = sz.Ledger(tmp_path / "book.ledger", LOOSE)
    ledger.record(DF, classes().fit(DF))
    with pytest.raises(LedgerError, match="not the rows"):
        ledger.record(people(seed=1), merged().fit(DF))
    # Rows that are in other classes, with the same frequencies of every column of the second release.
    other = DF.assign(age=DF["age"].to_numpy()[::-1])
    with pytest.raises(LedgerError, match="not the rows"):
        ledger.record(other, merged().fit(DF))


def test_files_and_tasks_record_classes(tmp_path):
    dask = pytest.importorskip("sanitize.engines.dask")
    DF.to_parquet(tmp_path / "raw.parquet", index=False)
    book = sz.Ledger(tmp_path / "book.ledger", LOOSE)
    raw = tmp_path / "raw.parquet"
    sz.release_file(raw, tmp_path / "one.parquet", classes(None), ledger=book.path)
    dask.release_file(raw, tmp_path / "two", merged(), ledger=tmp_path / "book.ledger", task_rows=400)
    dask.release_file(raw, tmp_path / "three", classes(None), ledger=book, task_rows=400)
    assert len(book) == 3
    state = json.loads(book.path.read_text())
    assert [entry["partition"] is None for entry in state["releases"]] == [False, True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"partition": None},
        {"partition": {}},
        {"public": ["town", "age", "smokes"]},
        {"public": ["age"]},
    ],
)
def test_damaged_classes_are_refused(tmp_path, change):
    ledger = sz.Ledger(tmp_path / "book.ledger", LOOSE)
    ledger.record(DF, classes().fit(DF))
    state = json.loads(ledger.path.read_text())
    state["releases"][0] |= change
    ledger.path.write_text(json.dumps(state))
    with pytest.raises(LedgerError, match="damaged"):
        len(ledger)
