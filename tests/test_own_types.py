"""Types of pandas, polars and Arrow that come back as they went in."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sanitize as sz

N_ROWS = 900
RNG = np.random.default_rng(0)
K = RNG.integers(0, 4, N_ROWS)
AGES, DAYS = RNG.integers(18, 90, N_ROWS), pd.Timestamp("2026-01-01") + pd.to_timedelta(K * 31, unit="D")
FAR = pd.PeriodIndex([f"{1200 + int(k)}-01" for k in K], freq="M")
COLUMNS = {
    "cut": pd.cut(AGES, [0, 40, 65, 90]),
    "cut of whole numbers, left": pd.cut(AGES, [0, 40, 65, 91], right=False),
    "qcut": pd.qcut(RNG.normal(size=N_ROWS), 4),
    "intervals": pd.Series(pd.arrays.IntervalArray.from_tuples([(int(k), int(k) + 1) for k in K])),
    "intervals of dates": pd.cut(pd.Series(DAYS), pd.date_range("2025-12-31", periods=4, freq="60D")),
    "intervals as objects": pd.Series(pd.cut(AGES, [0, 40, 65, 90]).astype(object)),
    "months": pd.Series(pd.PeriodIndex(DAYS, freq="M")),
    "quarters": pd.Series(pd.PeriodIndex(DAYS, freq="Q")),
    "hours": pd.Series(pd.PeriodIndex(DAYS + pd.to_timedelta(K, unit="h"), freq="h")),
    "periods in categories": pd.Series(pd.PeriodIndex(DAYS, freq="M")).astype("category"),
    "periods of the middle ages": pd.Series(FAR),
    "UUIDs": pd.Series([uuid.UUID(int=int(k)) for k in K]),
    "sparse": pd.Series(pd.arrays.SparseArray(K, fill_value=0)),
    "sparse doubles": pd.Series(pd.arrays.SparseArray(K / 4)),
    "2 ** 70": pd.Series([2**70 + int(k) for k in K], dtype=object),
    "both signs of 2 ** 200": pd.Series([(-1) ** int(k) * 2**200 for k in K], dtype=object),
}
MERGING = {"sensitive": "ill", "min_count": 0}
BUDGET = sz.LiftBudget(at_most=50, at_least=0)


def released(table, **settings):
    return sz.SubsetMerging(BUDGET, **MERGING, public=["x"], random_state=0, **settings).fit_transform(table)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("has_missing", [False, True])
def test_a_column_of_pandas_comes_back_in_its_own_type(name, has_missing):
    column = pd.Series(COLUMNS[name])
    if has_missing and "sparse" not in name:
        column = column.where(RNG.random(N_ROWS) > 0.2)
    table = pd.DataFrame({"ill": RNG.choice(["yes", "no"], N_ROWS), "x": column})
    made = released(table)["x"]
    assert getattr(made.dtype, "categories", made).dtype == getattr(column.dtype, "categories", column).dtype
    assert set(made.dropna()) <= set(column.dropna())
    assert made.nunique() > 1
    assert made.isna().any() == column.isna().any()


@pytest.mark.parametrize("name", COLUMNS)
def test_generated_rows_have_a_column_of_pandas_in_its_own_type(name):
    column, town = pd.Series(COLUMNS[name]), RNG.choice(["a", "b"], N_ROWS)
    table = pd.DataFrame({"ill": RNG.choice(["yes", "no"], N_ROWS), "town": town, "x": column})
    made = sz.LatentClassRelease(BUDGET, sensitive="ill", random_state=0, n_classes=2).fit_transform(table)["x"]
    assert getattr(made.dtype, "categories", made).dtype == getattr(column.dtype, "categories", column).dtype
    assert set(made) <= set(column)
    assert made.nunique() > 1


@pytest.mark.parametrize("dtype", ["int64", "float64", "datetime64[ns]", "boolean"])
def test_a_category_prints_each_value_once(dtype):
    values = pd.Series(K).astype("bool" if dtype == "boolean" else "int64").astype(dtype)
    for ordered in (False, True):
        table = pd.DataFrame({"ill": RNG.choice(["yes", "no"], N_ROWS), "x": values}).astype(
            {"x": pd.CategoricalDtype(sorted(values.unique()), ordered=ordered)}
        )
        made = released(table)["x"]
        assert isinstance(made.dtype, pd.CategoricalDtype)
        assert made.cat.ordered == ordered
        assert set(made) <= set(values)


def test_two_codes_that_print_one_value_are_one_category():
    from sanitize.tables.frame import pandas_like

    doubled = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([5, 5, 6]))
    made = pandas_like(doubled, pd.CategoricalDtype([1, 2, 3]))
    assert list(made) == [5, 5, 6]
    assert list(made.categories) == [5, 6]


@pytest.mark.parametrize("dtype", [pl.Int128, pl.Decimal(30, 2), pl.Time, pl.Duration("ms"), pl.Date, pl.Categorical])
def test_a_column_of_polars_comes_back_in_its_own_type(dtype):
    values = pl.Series("x", K.astype(str)) if dtype == pl.Categorical else pl.Series("x", K)
    table = pl.DataFrame({"ill": RNG.choice(["yes", "no"], N_ROWS), "x": values.cast(dtype)})
    made = released(table)["x"]
    assert made.dtype == table["x"].dtype
    assert set(made.to_list()) <= set(table["x"].to_list())


ENCODED = pc.run_end_encode(pa.array(np.sort(K)))


@pytest.mark.parametrize(
    "column",
    [ENCODED, ENCODED.cast(pa.run_end_encoded(pa.int32(), pa.int64())), pa.array(K).cast(pa.decimal256(50, 1))],
    ids=lambda column: str(column.type),
)
def test_a_column_of_arrow_comes_back_in_its_own_type(column):
    made = released(pa.table({"ill": RNG.choice(["yes", "no"], N_ROWS), "x": column}))["x"]
    assert made.type == column.type
    assert set(made.to_pylist()) <= set(column.to_pylist())


@pytest.mark.parametrize("values", [[1, "a"], [uuid.UUID(int=1), "a"], [2**70, 0.5], [2**300, 1], [object(), 1]])
def test_a_column_of_several_kinds_is_refused(values):
    table = pd.DataFrame({"ill": ["yes", "no"] * 50, "x": pd.Series(values * 50, dtype=object)})
    with pytest.raises(sz.errors.ColumnError, match="column 'x' mixes kinds of values"):
        released(table)


@pytest.mark.parametrize("labels", [[("a", "ill"), ("a", "x")], [("a", "ill"), ("b", "x")], [(1, 2), (1, 3)]])
def test_columns_of_several_levels_keep_them(labels):
    table = pd.DataFrame({labels[0]: RNG.choice(["yes", "no"], N_ROWS), labels[1]: K})
    made = sz.SubsetMerging(BUDGET, sensitive=str(labels[0]), public=[str(labels[1])], min_count=0).fit_transform(table)
    assert list(made.columns) == [labels[1]]
