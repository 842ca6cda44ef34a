"""Verification of whole tables: honest releases pass; copies, other budgets and other draws do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from verify_cases import assert_caught, proved, release, rewrite

import sanitize as sz
from sanitize.auditing.verify import verify_file
from sanitize.transformers import LatentClassRelease

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
KINDS = {
    "plain": LatentClassRelease(BUDGET, sensitive="ill", n_classes=6),
    "certified": LatentClassRelease(BUDGET, sensitive="ill", n_classes=6, confidence=0.9),
}
X = ["age", "town", "smokes", "seen", "income"]


def people(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Columns of every kind; the age and smoking tell of the illness, and incomes are nearly all different."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    town[rng.random(n) < 0.05] = None
    return pd.DataFrame(
        {
            "ill": np.where(ill, "SECRET influenza", "SECRET nothing"),
            "age": np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round().astype(int),
            "town": town,
            "smokes": rng.random(n) < np.where(ill, 0.5, 0.2),
            "seen": np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]"),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "name": [f"SECRET person {i}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("classes")
    people().to_parquet(place / "raw.parquet", index=False)
    return place


def given(kind: str, **settings):
    return clone(KINDS[kind]).set_params(public=X, **settings)


def released(folder, kind, rows="shuffle"):
    return release(folder, given(kind), rows=rows)


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_releases_pass_and_raw_rows_are_caught(folder, kind, rows):
    path = released(folder, kind, rows)
    assert verify_file(path, folder / "raw.parquet", given(kind), rows=rows).ok
    assert proved(path, "raw.parquet", given(kind), rows=rows).ok
    raw = people()[X]
    raw = raw.sample(frac=1, random_state=1) if rows == "shuffle" else raw
    rewrite(path, pa.Table.from_pandas(raw, preserve_index=False).cast(pq.read_schema(path)))
    assert_caught(proved(path, "raw.parquet", given(kind), rows=rows), "rows", "is not what the key draws")


def test_honest_csv_and_folders_pass(folder):
    for place in ("parts", "parts-out"):
        (folder / place).mkdir()
    for i in range(3):
        people()[i::3].to_parquet(folder / "parts" / f"{i}.parquet", index=False)
    release(folder, given("plain"), source="parts", target="parts-out", number=1)
    assert verify_file(folder / "parts-out", folder / "parts", given("plain")).ok
    release(folder, given("plain"), target="out.csv", number=1)
    assert verify_file(folder / "out.csv", folder / "raw.parquet", given("plain")).ok


def test_a_part_of_raw_rows_is_caught(folder):
    path = released(folder, "plain", "keep")
    table, raw = pq.read_table(path).to_pandas(), people()[X]
    table[:1000] = raw[:1000]
    rewrite(path, pa.Table.from_pandas(table, preserve_index=False).cast(pq.read_schema(path)))
    assert_caught(proved(path, "raw.parquet", given("plain"), rows="keep"), "rows")


def test_another_budget_is_caught(folder):
    path = release(folder, given("plain", budget=sz.LiftBudget(lower=1.5, upper=1.0)))
    assert not proved(path, "raw.parquet", given("plain")).ok
