"""Whole tables in files: the rows that memory draws, counts of all rows, and clear words where there is nothing yet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.release.first_pass import TableCounter
from sanitize.tables.files.open import open_source
from sanitize.transformers import LatentClassRelease

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
KEY = bytes(range(32))
KINDS = [
    LatentClassRelease(BUDGET, sensitive="ill", person="row"),
    LatentClassRelease(sz.LiftBudget(lower=1, upper=1), sensitive="ill", person="row", confidence=0.9),
]
X = ["age", "town", "secret_number"]


def people(n: int = 3000, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    age = np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round().astype(int)
    town = rng.choice(["=A", "B", None], n, p=[0.5, 0.4, 0.1])
    return pd.DataFrame({"ill": ill, "age": age, "town": town, "secret_number": rng.integers(0, 10**7, n)})


DF = people()


@pytest.fixture
def raw(tmp_path):
    DF.to_parquet(tmp_path / "raw.parquet", index=False, row_group_size=700)
    return tmp_path / "raw.parquet"


def test_a_file_holds_no_value_that_was_not_released(raw, tmp_path):
    sz.release_file(raw, tmp_path / "out.parquet", KINDS[0])
    released = set(pq.read_table(tmp_path / "out.parquet")["secret_number"].to_pylist())
    content = (tmp_path / "out.parquet").read_bytes()
    hidden = [value for value in DF["secret_number"] if value not in released]
    assert len(hidden) > 500
    # Four bytes match by chance in a file of 1e5 bytes once in 4e4 values: eight do not.
    assert not [value for value in hidden if int(value).to_bytes(8, "little") in content]


def test_classes_from_a_sample_are_counted_on_all_rows(raw, monkeypatch):
    monkeypatch.setattr("sanitize.release.recipes.classes.MOST_SAMPLED", 1500)
    for sanitizer in KINDS:
        with open_source(raw) as table:
            report = sanitizer.prepare(TableCounter(table, 1000), "shuffle").report
        assert report.ok
        assert report.n_rows == len(DF)
        assert [note for note in report.facts.warnings if "uniform sample of 1500 rows" in note]


def test_a_sample_is_uniform_and_keeps_the_order_of_rows(raw):
    with open_source(raw) as table:
        sample = TableCounter(table, 500).sample(("age", "secret_number"), 600)
        everything = TableCounter(table, 500).sample(("age",), 10**6)
    assert everything["age"].to_pylist() == DF["age"].tolist()
    chosen = sample["secret_number"].to_pylist()
    places = DF["secret_number"].isin(chosen).to_numpy().nonzero()[0]
    assert DF["secret_number"][places].tolist() == chosen
    # 600 of 3,000 places: the mean has a standard deviation of about 32; 6 of them fail once in 1e9.
    assert abs(places.mean() - 1500) < 200


def test_texts_like_formulas_are_told_in_csv(raw, tmp_path):
    report = sz.release_file(raw, tmp_path / "out.csv", KINDS[0])
    assert any("'town'" in note and "formula" in note for note in report.facts.warnings)


def test_dask_releases_the_same_columns():
    dd = pytest.importorskip("dask.dataframe")
    from sanitize.engines.dask import transform

    fitted = KINDS[1].fit(DF)
    released = transform(dd.from_pandas(DF, npartitions=3), fitted).compute()
    assert list(released.columns) == X
    assert len(released) == len(DF)
