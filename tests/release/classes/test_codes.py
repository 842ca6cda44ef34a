"""Numbers that are codes are written as codes that there are, whatever says that they are codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sanitize as sz

RNG = np.random.default_rng(0)
N = 3000
CODE = RNG.choice(RNG.choice(np.arange(10_000, 99_999), 200, replace=False), N)
DAYS = np.datetime64("2000-01-01") + (CODE % 199).astype("timedelta64[D]")
KINDS = {
    "codes": pd.Categorical(CODE),
    "codes in order": pd.Categorical(CODE, ordered=True),
    "scores": pd.Categorical(CODE / 4),
    "days": pd.Categorical(DAYS),
    "some missing": pd.Categorical(pd.Series(CODE).where(RNG.random(N) < 0.9)),
    "a dictionary of Arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(CODE).dictionary_encode())),
}


AMOUNTS = RNG.choice([0, 594, 914, 1055, 2174, 3103, 4386, 7298, 7688, 15024, 99999], N)
SPARSE = {
    "postcodes": CODE,
    "postcodes that may be missing": pd.array(np.where(CODE % 2, CODE, CODE + 7), "Int64"),
    "a few amounts": AMOUNTS,
    "prices": np.round(AMOUNTS / 100, 2),
    "days of a statement": np.datetime64("1990-01-31") + (CODE % 40 * 91).astype("timedelta64[D]"),
}


@pytest.mark.parametrize("name", SPARSE)
def test_numbers_that_stand_at_a_few_places_stay_there_though_nobody_says_so(name, tmp_path):
    """Of numbers between them none is anybody's; rows whose value few others have are counted."""
    table = pd.DataFrame({"ill": RNG.choice(["yes", "no"], N), "age": RNG.integers(18, 90, N), "x": SPARSE[name]})
    release = sz.LatentClassRelease(sz.LiftBudget(at_most=2, at_least=0.33), sensitive="ill", random_state=0)
    out = release.fit_transform(table)
    assert set(out["x"]) <= set(table["x"])
    assert out["age"].nunique() == 72
    rows = table["x"].value_counts()
    replaced = {entry.column: entry.n_rows for entry in release.report_.facts.replaced}
    assert replaced["x"] >= rows[rows <= 10].sum()
    assert (replaced["x"] > 0.01 * N) == ("another value of x" in " ".join(release.report_.to_text().split()))


@pytest.mark.parametrize("unit", [1, 5, 0.01, 1000])
def test_quantities_are_drawn_between_those_that_there_are(unit):
    amounts = np.round(RNG.lognormal(7, 1, N)) * unit
    table = pd.DataFrame({"ill": RNG.choice(["yes", "no"], N), "pay": amounts})
    release = sz.LatentClassRelease(
        sz.LiftBudget(at_most=2, at_least=0.33), sensitive="ill", random_state=0, person="row"
    )
    assert not release.fit_transform(table)["pay"].isin(amounts).all()


@pytest.mark.parametrize("name", KINDS)
def test_no_code_is_made_up(name):
    table = pd.DataFrame({"ill": RNG.choice(["yes", "no"], N), "age": RNG.integers(18, 90, N), "x": KINDS[name]})
    release = sz.LatentClassRelease(sz.LiftBudget(at_most=2, at_least=0.33), sensitive="ill", random_state=0)
    out = release.fit_transform(table)["x"]
    assert out.dtype.name.split("[")[0] == table["x"].dtype.name.split("[")[0]
    written = out.dropna()
    assert set(written) <= set(table["x"].dropna())
    assert written.nunique() > 100
    assert abs(out.isna().mean() - table["x"].isna().mean()) < 0.05


def test_rare_codes_alone_are_missing_and_counted():
    rare = np.where(RNG.random(N) < 0.9, 1, 1000 + np.arange(N))
    table = pl.DataFrame({"ill": RNG.choice(["yes", "no"], N), "x": rare})
    arrow = table.to_arrow()
    arrow = arrow.set_column(1, "x", arrow["x"].dictionary_encode())
    release = sz.LatentClassRelease(
        sz.LiftBudget(at_most=2, at_least=0.33), sensitive="ill", random_state=0, person="row"
    )
    out = release.fit_transform(arrow)["x"].to_pandas()
    assert set(out.dropna()) == {1}


PLACES = np.arange(600)
MANY = {
    "text": np.char.add("T", PLACES.astype(str)),
    "codes": PLACES * 131 + 10_000,
    "days": np.datetime64("1980-01-01") + (PLACES * 17).astype("timedelta64[D]"),
    "bytes": np.char.add("T", PLACES.astype(str)).astype("S").astype(object),
}


@pytest.mark.parametrize("n_rows", [10, 20, 26])
@pytest.mark.parametrize("name", MANY)
def test_any_number_of_values_is_written_that_many_rows_have(name, n_rows):
    """None of ten rows, each of 26 as often as rows have it, and between them a share."""
    column = np.repeat(MANY[name], n_rows)
    table = pd.DataFrame({"ill": np.tile(["yes", "no"], len(column) // 2), "x": RNG.permutation(column)})
    release = sz.LatentClassRelease(
        sz.LiftBudget(at_most=2, at_least=0.33), sensitive="ill", random_state=0, person="row"
    )
    out = release.fit_transform(table)["x"]
    own = out.isin(MANY[name])
    replaced = sum(entry.n_rows for entry in release.report_.facts.replaced) / len(table)
    if n_rows == 26:
        assert own.all()
        assert out.nunique() == 600
        assert replaced == 0
    elif name in ("text", "bytes"):
        assert own.mean() == pytest.approx(0.625 if n_rows == 20 else 0, abs=0.03)
        assert replaced == pytest.approx(1 - own.mean(), abs=0.03)
