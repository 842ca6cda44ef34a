"""Whole tables in a ledger: a cell is what a row tells, beside every other release of the same rows."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import LedgerError, LedgerExceeded
from sanitize.transformers import SubsetMerging, TreeMerging, TreeRandomResponse

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
LOOSE = sz.LiftBudget(lower=float("inf"), upper=9.0)
KEY = bytes(range(32))


def people(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    age = np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round()
    town = rng.choice(["A", "B", None], n, p=[0.5, 0.4, 0.1])
    return pd.DataFrame({"ill": ill, "age": age, "town": town, "smokes": rng.random(n) < np.where(ill, 0.5, 0.2)})


DF = people()


def responses(**settings) -> TreeRandomResponse:
    made = TreeRandomResponse(BUDGET, sensitive="ill", min_rows=300, min_cell_rows=60, **settings)
    return made.fit(DF)


def merged() -> SubsetMerging:
    return SubsetMerging(BUDGET, sensitive="ill", public=["town", "smokes"], output="label").fit(DF)


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


@pytest.mark.parametrize("printed", ["model", "resample", "label"])
def test_a_tree_and_tuples_are_measured_together(tmp_path, printed):
    releases = [responses(output=printed), merged()]
    for i, order in enumerate((releases, releases[::-1])):
        ledger = sz.Ledger(tmp_path / f"{i}.ledger", LOOSE)
        first = ledger.record(DF, order[0])
        assert first.summary["max_log_lift"] == pytest.approx(order[0].report_.summary["max_log_lift"], abs=1e-9)
        both = ledger.record(DF, order[1])
        most, least = lifts_together(order)
        assert both.summary["max_log_lift"] == pytest.approx(most, abs=1e-9)
        assert both.summary["min_log_lift"] == pytest.approx(least, abs=1e-9)
        assert most > max(release.report_.summary["max_log_lift"] for release in releases)


def test_a_second_tree_is_refused_where_both_are_too_much(tmp_path):
    ledger = sz.Ledger(tmp_path / "book.ledger", BUDGET)
    assert ledger.record(DF, responses()).ok
    with pytest.raises(LedgerExceeded, match="left"):
        ledger.record(DF, TreeMerging(BUDGET, sensitive="ill", min_rows=60).fit(DF))
    assert len(sz.Ledger(tmp_path / "book.ledger")) == 1


def test_other_rows_are_noticed_by_their_cells(tmp_path):
    ledger = sz.Ledger(tmp_path / "book.ledger", LOOSE)
    ledger.record(DF, responses())
    with pytest.raises(LedgerError, match="not the rows"):
        ledger.record(people(seed=1), merged())
    # Rows that are in other cells, with the same frequencies of every column of the second release.
    other = DF.assign(age=DF["age"].to_numpy()[::-1])
    with pytest.raises(LedgerError, match="not the rows"):
        ledger.record(other, merged())


def test_files_and_tasks_record_trees(tmp_path):
    dask = pytest.importorskip("sanitize.dask")
    DF.to_parquet(tmp_path / "raw.parquet", index=False)
    book = sz.Ledger(tmp_path / "book.ledger", LOOSE)
    fresh = TreeRandomResponse(BUDGET, sensitive="ill", min_rows=300, min_cell_rows=60)
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "one.parquet", fresh, ledger=book.path)
    dask.release_file(
        tmp_path / "raw.parquet", tmp_path / "two", merged(), ledger=tmp_path / "book.ledger", task_rows=400
    )
    dask.release_file(
        tmp_path / "raw.parquet", tmp_path / "three", TreeMerging(BUDGET, sensitive="ill"), ledger=book, task_rows=400
    )
    assert len(book) == 3
    state = json.loads(book.path.read_text())
    assert [entry["partition"] is None for entry in state["releases"]] == [False, True, False]
    assert not any(base64.b64decode(state["releases"][0]["partition"]["n_rows"]["bytes"]))


@pytest.mark.parametrize(
    "change",
    [
        {"partition": None},
        {"partition": {}},
        {"public": ["town", "age", "smokes"]},
        {"public": ["age"]},
    ],
)
def test_a_damaged_tree_is_refused(tmp_path, change):
    ledger = sz.Ledger(tmp_path / "book.ledger", LOOSE)
    ledger.record(DF, responses())
    state = json.loads(ledger.path.read_text())
    state["releases"][0] |= change
    ledger.path.write_text(json.dumps(state))
    with pytest.raises(LedgerError, match="damaged"):
        len(ledger)
