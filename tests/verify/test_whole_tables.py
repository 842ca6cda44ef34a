"""Verification of whole tables: honest releases pass; copies, exchanges, other budgets, trees and draws do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from verify_cases import assert_caught, failed, proved, release, rewrite

import sanitize as sz
from sanitize.transformers import TreeMerging, TreeRandomResponse
from sanitize.verify import verify_file

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
KINDS = {
    "merging": TreeMerging(BUDGET, sensitive="ill", min_rows=40, output="resample"),
    "merging label": TreeMerging(sz.L1LiftBudget(lower=1.0, upper=1.0), sensitive="ill", min_rows=40, output="label"),
    "response": TreeRandomResponse(BUDGET, sensitive="ill", min_rows=300, min_cell_rows=40, output="resample"),
    "response label": TreeRandomResponse(BUDGET, sensitive="ill", min_rows=300, min_cell_rows=40, output="label"),
    "certified": TreeRandomResponse(BUDGET, sensitive="ill", confidence=0.9, max_cells=12, output="resample"),
}
X = ["age", "town", "smokes", "seen", "income"]


def people(n: int = 4000, seed: int = 0) -> pd.DataFrame:
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
    place = tmp_path_factory.mktemp("trees")
    people().to_parquet(place / "raw.parquet", index=False)
    return place


def given(kind: str, **settings):
    return clone(KINDS[kind]).set_params(public=X, **settings)


def released(folder, kind, rows="shuffle", number=0, **settings):
    return release(folder, given(kind, **settings), rows=rows, number=number)


def verified(folder, kind, rows="shuffle", **settings):
    return verify_file(folder / "out.parquet", folder / "raw.parquet", given(kind, **settings), rows=rows)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_releases_pass(folder, kind, rows):
    released(folder, kind, rows)
    found = verified(folder, kind, rows)
    assert found.ok, found.to_text()
    assert proved(folder / "out.parquet", "raw.parquet", given(kind), rows=rows).ok


def test_honest_csv_and_folders_pass(folder):
    for place in ("parts", "parts-out"):
        (folder / place).mkdir()
    for i in range(3):
        people()[i::3].to_parquet(folder / "parts" / f"{i}.parquet", index=False)
    release(folder, given("response"), source="parts", target="parts-out", number=1)
    assert verify_file(folder / "parts-out", folder / "parts", given("response")).ok
    release(folder, given("merging"), target="out.csv", number=1)
    found = verify_file(folder / "out.csv", folder / "raw.parquet", given("merging"))
    assert found.ok, found.to_text()


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "label" not in kind])
def test_raw_rows_are_caught(folder, kind, rows):
    path = released(folder, kind, rows)
    raw = people()[X]
    raw = raw.sample(frac=1, random_state=1) if rows == "shuffle" else raw
    rewrite(path, pa.Table.from_pandas(raw, preserve_index=False).cast(pq.read_schema(path)))
    found = proved(path, "raw.parquet", given(kind), rows=rows)
    assert_caught(found, "rows", "is not what the key draws")


def test_a_part_of_raw_rows_is_caught(folder):
    path = released(folder, "merging", "keep")
    table, raw = pq.read_table(path).to_pandas(), people()[X]
    table[:2000] = raw[:2000]
    rewrite(path, pa.Table.from_pandas(table, preserve_index=False).cast(pq.read_schema(path)))
    assert_caught(proved(path, "raw.parquet", given("merging"), rows="keep"), "rows")


def test_rows_exchanged_between_blocks_are_caught(folder):
    path = released(folder, "response", "keep")
    fitted = given("response").fit(people()[["ill", *X]])
    blocks = fitted.tree_.blocks[fitted.tree_.assign(people()[X])]
    order = np.arange(len(blocks))
    here, there = np.flatnonzero(blocks == 0)[:3], np.flatnonzero(blocks == blocks.max())[:3]
    order[here], order[there] = there, here
    rewrite(path, pq.read_table(path).take(order))
    assert_caught(verified(folder, "response", "keep"), "possible", "6 rows hold a symbol that their own row")


def test_rows_that_left_their_block_are_caught_in_any_order(folder):
    path = released(folder, "response")
    fitted = given("response").fit(people()[["ill", *X]])
    table = pq.read_table(path)
    blocks = fitted.tree_.blocks[fitted.tree_.assign({name: table[name] for name in X})]
    order = np.arange(len(blocks))
    order[np.flatnonzero(blocks == 0)[0]] = np.flatnonzero(blocks == blocks.max())[0]
    rewrite(path, table.take(order))
    assert_caught(verified(folder, "response"), "possible", "groups of symbols that no row leaves gained or lost rows")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["response", "merging", "response label"])
def test_another_budget_is_caught(folder, kind):
    released(folder, kind, budget=sz.LiftBudget(lower=1.5, upper=1.0))
    found = verified(folder, kind)
    assert not found.ok
    # Rows of a model cannot be told from one another: what a release says of itself gives another budget away.
    assert {"possible", "counts", "summary"} & set(failed(found))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["response", "merging", "response label"])
def test_another_tree_is_caught(folder, kind):
    released(folder, kind, weights={"town": 0, "smokes": 0, "seen": 0, "income": 0})
    found = verified(folder, kind)
    assert {"possible", "counts", "summary"} & set(failed(found)), found.to_text()


def test_a_row_that_is_printed_again_and_again_is_caught(folder):
    path = released(folder, "merging")
    fitted, table = given("merging").fit(people()[["ill", *X]]), pq.read_table(path)
    cells = fitted.tree_.assign({name: table[name] for name in X})
    order = np.arange(len(cells))
    one = np.flatnonzero(cells == cells[0])
    order[one[:30]] = one[0]
    rewrite(path, table.take(order))
    assert_caught(proved(path, "raw.parquet", given("merging")), "rows")


def test_values_that_nobody_had_are_caught(folder):
    path = released(folder, "merging")
    table = pq.read_table(path)
    income = table["income"].to_numpy().copy()
    income[5] += 0.01
    rewrite(path, table.set_column(4, "income", pa.array(income)))
    assert_caught(verified(folder, "merging"), "possible", "1 rows hold a symbol that the channel never prints")


def test_labels_that_name_several_symbols_count_as_one(folder):
    """Two released symbols may have one smallest box; a row then names either."""
    from sanitize.verify._printed import reader_of

    fitted = given("response label").fit(people()[["ill", *X]])
    reader = reader_of(fitted._release)
    table = fitted._release.printer
    printed = fitted._release.decode(np.arange(table.n_cells, dtype=np.int32), sz.NoiseKey.from_seed(0))
    codes = reader.codes(printed)
    texts = list(zip(*(printed[name].to_pylist() for name in X), strict=True))
    assert [texts.index(text) for text in texts] == [list(codes).index(code) for code in codes]
    assert codes[0] == 0
    assert reader.channel.n_outputs == len(set(texts))
