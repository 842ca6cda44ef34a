"""Whole tables in CSV: columns written as numbers throughout are numbers, all others stay the text they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.engines.parquet import plan_file
from sanitize.errors import ColumnError
from sanitize.release.saved import SavedRelease
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.source import Numbers
from sanitize.transformers import LatentClassRelease, SubsetMerging

BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)
KEY = bytes(range(32))


def people(n: int = 3000) -> pd.DataFrame:
    """A secret, whole numbers with some missing, decimals, codes with a leading zero, and text."""
    rng = np.random.default_rng(8)
    ill = rng.random(n) < 0.3
    age = pd.array(np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round().astype(int), dtype="Int64")
    age[rng.random(n) < 0.02] = pd.NA
    return pd.DataFrame(
        {
            "ill": np.where(ill, "yes", "no"),
            "age": age,
            "weight": rng.normal(70, 12, n).round(1),
            "code": [f"0{code}" for code in rng.integers(10, 99, n)],
            "town": rng.choice(["A", "B", "C"], n),
        }
    )


@pytest.fixture
def both(tmp_path):
    """The same table as CSV and as Parquet."""
    df = people()
    df.to_csv(tmp_path / "raw.csv", index=False)
    df.to_parquet(tmp_path / "raw.parquet", index=False)
    return tmp_path / "raw.csv", tmp_path / "raw.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("public", [None, ["age", "weight", "code", "town"]])
def test_csv_is_released_as_the_same_parquet_is(public, both, tmp_path):
    fits, released = [], []
    for raw in both:
        made = LatentClassRelease(BUDGET, sensitive="ill", public=public)
        sz.release_file(raw, target := tmp_path / f"out{raw.suffix}", made, rows="keep", key=KEY)
        fits.append(made)
        read = pd.read_csv if raw.suffix == ".csv" else pd.read_parquet
        released.append(read(target, **({"dtype": {"code": str}} if raw.suffix == ".csv" else {})))
        assert sz.verify_file(target, raw, made, rows="keep").ok
    assert fits[0].bare_release().classes.numeric == {"age", "weight"}
    np.testing.assert_array_equal(*(made.channel_.matrix for made in fits))
    pd.testing.assert_frame_equal(*released, check_dtype=False)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["0", "-7", "", "123456789012345678"], "int64"),
        (["1", "2.50", "-0.125"], "double"),
        (["-0", "1"], "int64"),
        (["01", "2"], "string"),
        (["1", "NA"], "int64"),
        (["1", ""], "int64"),
        (["", ""], "string"),
        (["NA", "."], "string"),
        (["1", " 2"], "int64"),
        (["+1"], "int64"),
        (["1e3"], "int64"),
        (["1e300", "2"], "double"),
        (["nan", "1"], "int64"),
        (["1234567890123456789"], "string"),
        (["123456789012345678", "0.5"], "double"),
        (["0.1234567890123456"], "double"),
        (['"1"', "2"], "int64"),
        (['""', "2"], "int64"),
        (['"1,234"', '"1,234,567.5"'], "double"),
        (["0x1F"], "string"),
        (["1", "seven"], "string"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_a_column_is_of_numbers_where_every_value_is_written_as_one(values, kind, order, tmp_path):
    lines = [f"{value},a" for value in values[::order]]
    (tmp_path / "in.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    source = CsvSource.open(tmp_path / "in.csv", Numbers(is_inferred=lambda name: name == "x"))
    assert [str(dtype) for dtype in source.schema.types] == [kind, "string"]
    [batch] = source.batches(source.files[0], ["x"])
    assert batch["x"].null_count == sum(value in ("", "NA", "nan", '""') and kind != "string" for value in values) or (
        kind == "string" and batch["x"].null_count == values.count("")
    )


def test_every_file_of_a_folder_counts(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    (tmp_path / "b.csv").write_text("x\n1\n2b\n")
    found = Numbers(is_inferred=lambda _: True)
    assert str(CsvSource.open(tmp_path, found).schema.field("x").type) == "string"
    (tmp_path / "b.csv").write_text("x\n1\n2.5\n")
    assert str(CsvSource.open(tmp_path, found).schema.field("x").type) == "double"


def test_tuples_keep_their_text(both):
    made = SubsetMerging(BUDGET, sensitive="ill", public=["code", "town"])
    report = plan_file(both[0], made)
    assert report.ok
    assert all(symbol[0].startswith("0") for symbol in made.channel_.inputs.symbols)


def test_saved_classes_read_new_csv_by_the_types_of_its_fit(both, tmp_path):
    made = LatentClassRelease(BUDGET, sensitive="ill", random_state=5).fit(both[0])
    SavedRelease.of(made).to_json(tmp_path / "saved.json")
    saved = SavedRelease.from_json(tmp_path / "saved.json")
    df = people().head(50)
    df.loc[3, "weight"] = 80  # and every code could be a number now
    df["code"] = "77"
    df.to_csv(tmp_path / "new.csv", index=False)
    sz.release_file(tmp_path / "new.csv", tmp_path / "out.csv", saved)
    assert len(pd.read_csv(tmp_path / "out.csv")) == 50
    df["age"] = "old"
    df.to_csv(tmp_path / "odd.csv", index=False)
    with pytest.raises(ColumnError, match="'age' must contain only numbers") as caught:
        sz.release_file(tmp_path / "odd.csv", tmp_path / "odd_out.csv", saved)
    assert "old" not in str(caught.value).replace("'age'", "")
