"""Frames of each kind: polars and Arrow as pandas, with their own types."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frame_cases import ESTIMATORS, LOOSE, SECRET, TIGHT, N, cycle
from levels import level
from sklearn.base import clone

import sanitize as sz
import sanitize.pandas
import sanitize.polars
from sanitize.core.budgets import LiftBudget
from sanitize.errors import ColumnError
from sanitize.transformers import GaussianChannel, SubsetMerging, Watchdog

# Budgets are tight and rows are named on purpose here.
pytestmark = pytest.mark.filterwarnings("ignore::sanitize.errors.ReleaseWarning")

# ---------------------------------------------------------------------------------------------- polars

POLARS = {
    "Int8": pl.Series(cycle([3, None, 2]), dtype=pl.Int8),
    "Int64": pl.Series(cycle([3, None, 2**62 + 1]), dtype=pl.Int64),
    "UInt64": pl.Series(cycle([2**64 - 1, 1, 2]), dtype=pl.UInt64),
    "Float32": pl.Series(cycle([0.5, None, 1.1]), dtype=pl.Float32),
    "Float64": pl.Series(cycle([0.5, math.inf, -1.1]), dtype=pl.Float64),
    "Boolean": pl.Series(cycle([True, None, False]), dtype=pl.Boolean),
    "String": pl.Series(cycle(["a", None, "ü"]), dtype=pl.String),
    "Binary": pl.Series(cycle([b"\x00", None, b"\xff"]), dtype=pl.Binary),
    "Categorical": pl.Series(cycle(["b", None, "a"]), dtype=pl.Categorical),
    "Enum": pl.Series(cycle(["mid", "low", "high"]), dtype=pl.Enum(["low", "mid", "high"])),
    "Date": pl.Series(cycle([dt.date(2024, 1, 1), None, dt.date(2024, 2, 29)]), dtype=pl.Date),
    "Time": pl.Series(cycle([dt.time(1, 2, 3), None, dt.time(4)]), dtype=pl.Time),
    "Datetime": pl.Series(cycle([dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1)]), dtype=pl.Datetime("ms")),
    "Datetime tz": pl.Series(cycle([dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1)])).dt.replace_time_zone(
        "Asia/Tokyo"
    ),
    "Duration": pl.Series(cycle([dt.timedelta(1), None, dt.timedelta(2)]), dtype=pl.Duration("us")),
    "Decimal": pl.Series(cycle([decimal.Decimal("1.10"), decimal.Decimal("2.25")]), dtype=pl.Decimal(6, 2)),
}


@pytest.mark.parametrize("kind", POLARS)
@pytest.mark.parametrize("budget", [LOOSE, TIGHT], ids=["loose", "tight"])
def test_a_polars_column_keeps_its_dtype_values_and_order(kind, budget):
    df = pl.DataFrame({"x": POLARS[kind], "s": SECRET})
    released = sz.frames.release(df, sz.SubsetMerging(budget, sensitive="s", public="x", random_state=0))
    assert isinstance(released, pl.DataFrame)
    if budget is LOOSE:
        assert released.equals(df.select("x"))
        assert released.schema["x"] == df.schema["x"]
    else:
        assert type(released.schema["x"]) is type(df.schema["x"])
        if kind != "Enum":
            assert released.schema["x"] == df.schema["x"]
        assert set(released["x"].to_list()) <= set(df["x"].to_list())


def test_unused_values_of_an_enum_never_survive():
    df = pl.DataFrame(
        {"x": pl.Series(cycle(["b", "a"]), dtype=pl.Enum(["SECRET_1", "b", "a", "SECRET_2"])), "s": SECRET}
    )
    for budget in (LOOSE, TIGHT):
        released = sz.frames.release(df, sz.SubsetMerging(budget, sensitive="s", public="x"))
        assert "SECRET" not in str(released.schema)
        assert set(released.schema["x"].categories) <= {"a", "b"}


def test_other_values_of_a_polars_categorical_do_not_reach_a_written_file(tmp_path):
    whole = pl.DataFrame({"x": pl.Series(["SECRET_1", *cycle(["b", "a"])], dtype=pl.Categorical), "s": ["p", *SECRET]})
    released = sz.frames.release(whole[1:], sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    released.write_parquet(tmp_path / "out.parquet")
    released.write_ipc(tmp_path / "out.arrow")
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes() + (tmp_path / "out.arrow").read_bytes()


@pytest.mark.parametrize("values", [[[1], [2], [3]], [{"a": 1}, {"a": 2}, None]], ids=["List", "Struct"])
def test_nested_polars_columns_are_refused(values):
    df = pl.DataFrame({"x": cycle(values), "s": SECRET})
    with pytest.raises(ColumnError, match=r"column 'x' has the type .* cannot be sanitized"):
        sz.frames.release(df, sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    # A nested column that nobody asked for does no harm.
    released = sz.frames.release(df.with_columns(y=pl.col("s")), sz.SubsetMerging(LOOSE, sensitive="s", public="y"))
    assert released.columns == ["y"]


def test_a_sliced_and_rechunked_polars_frame_is_read_right():
    df = pl.DataFrame({"x": cycle(["a", "b", "c"]), "s": SECRET})
    pieces = pl.concat([df[:7], df[7:20], df[20:]], rechunk=False)
    a = sz.frames.release(df, sz.SubsetMerging(TIGHT, sensitive="s", public="x", random_state=0))
    b = sz.frames.release(pieces, sz.SubsetMerging(TIGHT, sensitive="s", public="x", random_state=0))
    assert a.equals(b)


# --------------------------------------------------------------------------------------------- pyarrow

ARROW = {
    "int16": pa.array(cycle([1, None, 3]), pa.int16()),
    "double": pa.array(cycle([0.5, None, 3.25]), pa.float64()),
    "half": pa.array(np.array(cycle([0.5, 1.5]), np.float16)),
    "bool": pa.array(cycle([True, None, False])),
    "string": pa.array(cycle(["a", None, "ü"])),
    "large_string": pa.array(cycle(["a", None, "b"]), pa.large_string()),
    "string_view": pa.array(cycle(["a", None, "b"]), pa.string_view()),
    "binary": pa.array(cycle([b"\x00", None, b"\xff"])),
    "large_binary": pa.array(cycle([b"\x00", None, b"\xff"]), pa.large_binary()),
    "fixed_size_binary": pa.array(cycle([b"ab", b"cd"]), pa.binary(2)),
    "date32": pa.array(cycle([dt.date(2024, 1, 1), None]), pa.date32()),
    "date64": pa.array(cycle([dt.date(2024, 1, 1), None]), pa.date64()),
    "time": pa.array(cycle([dt.time(1, 2, 3), None]), pa.time64("us")),
    "timestamp": pa.array(cycle([dt.datetime(2024, 1, 1), None]), pa.timestamp("ms", "Asia/Tokyo")),
    "duration": pa.array(cycle([dt.timedelta(1), None]), pa.duration("s")),
    "decimal": pa.array(cycle([decimal.Decimal("1.10"), decimal.Decimal("2.25")]), pa.decimal128(6, 2)),
    "dictionary": pa.array(cycle(["b", None, "a"])).dictionary_encode(),
    "dictionary int8": pa.array(cycle(["b", None, "a"]))
    .dictionary_encode()
    .cast(pa.dictionary(pa.int8(), pa.string())),
    "dictionary of integers": pa.array(cycle([30, None, 2])).dictionary_encode(),
    "dictionary of large_string": pa.array(cycle(["b", "a"]), pa.large_string()).dictionary_encode(),
    "null": pa.nulls(N),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ARROW)
@pytest.mark.parametrize("budget", [LOOSE, TIGHT], ids=["loose", "tight"])
def test_an_arrow_column_keeps_its_type_values_and_order(kind, budget):
    table = pa.table({"x": ARROW[kind], "s": SECRET})
    released = sz.frames.release(table, sz.SubsetMerging(budget, sensitive="s", public="x", random_state=0))
    assert isinstance(released, pa.Table)
    assert released.schema.field("x").type == table.schema.field("x").type
    released.validate(full=True)
    if budget is LOOSE:
        assert released["x"].to_pylist() == table["x"].to_pylist()
    else:
        assert set(released["x"].to_pylist()) <= set(table["x"].to_pylist())


def test_an_ordered_arrow_dictionary_keeps_its_order():
    values = pa.DictionaryArray.from_arrays(pa.array(cycle([2, 0, 1]), pa.int8()), ["low", "mid", "high"], ordered=True)
    table = pa.table({"x": values, "s": SECRET})
    released = sz.frames.release(table, sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    assert released.schema.field("x").type == table.schema.field("x").type
    assert released["x"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]


def test_unused_dictionary_values_and_metadata_of_an_arrow_table_never_survive():
    values = pa.DictionaryArray.from_arrays(pa.array(cycle([2, 0])), ["b", "SECRET_1", "a"])
    field = pa.field("x", values.type, metadata={"note": "SECRET_2"})
    schema = pa.schema([field, pa.field("s", pa.string())], metadata={"origin": "SECRET_3"})
    table = pa.table([values, SECRET], schema=schema)
    released = sz.frames.release(table, sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    assert released.schema.metadata is None
    assert released.schema.field("x").metadata is None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, released.schema) as writer:
        writer.write_table(released)
    assert b"SECRET" not in sink.getvalue().to_pybytes()


def test_chunked_and_sliced_arrow_tables_are_read_right():
    table = pa.table({"x": cycle(["a", "b", None]), "s": SECRET})
    chunked = pa.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7, 40), table.slice(47)])
    a = sz.frames.release(table, sz.SubsetMerging(TIGHT, sensitive="s", public="x", random_state=0))
    b = sz.frames.release(chunked, sz.SubsetMerging(TIGHT, sensitive="s", public="x", random_state=0))
    assert a["x"].to_pylist() == b["x"].to_pylist()


# ------------------------------------------------------------------------------------- one distribution for all


@pytest.mark.slow
@pytest.mark.parametrize("method", ["watchdog", "subset_merging", "randomized_response"])
def test_a_seed_gives_the_same_rows_in_pandas_polars_and_pyarrow(method):
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "town": rng.choice(["A", "B", "C", None], 500),
            "floor": rng.integers(0, 4, 500),
            "age": rng.integers(18, 80, 500),
            "s": rng.choice(["p", "n"], 500),
        }
    )
    settings = {
        "sensitive": "s",
        "public": ["town", "floor", "age"],
        "bins": {"age": [18, 40, 80]},
        "random_state": 5,
    }
    sanitizer = ESTIMATORS[method](level(ESTIMATORS[method], 0.4), **settings)
    a = sz.frames.release(df, sanitizer)
    b = sz.frames.release(pl.from_pandas(df), sanitizer)
    c = sz.frames.release(pa.Table.from_pandas(df, preserve_index=False), sanitizer)
    rows = [tuple(None if pd.isna(v) else v for v in row) for row in a.itertuples(index=False, name=None)]
    assert rows == b.rows()
    assert rows == list(zip(*c.to_pydict().values(), strict=True))
    assert sz.last_report(a).summary == sz.last_report(b).summary == sz.last_report(c).summary


def test_an_object_array_gives_the_same_rows_as_a_frame():
    df = pd.DataFrame({"x": cycle(["a", "b", None]), "s": SECRET})
    released = SubsetMerging(TIGHT, sensitive=[1], public=[0], random_state=3).fit_transform(df)
    array = SubsetMerging(TIGHT, sensitive=[1], public=[0], random_state=3).fit_transform(df.to_numpy(dtype=object))
    assert [None if pd.isna(v) else v for v in released["x"]] == array[:, 0].tolist()


ARRAYS = {
    "text": (np.array(cycle(["a", "bbb"])), "U"),
    "bytes": (np.array(cycle([b"a", b"\xff"])), "S"),
    "bool": (np.array(cycle([True, False])), "b"),
    "times": (np.array(cycle(["2020", "2021", "NaT"]), "M8[s]"), "M"),
    "spans": (np.array(cycle([2**60 + 1, 5, "NaT"]), "m8[ns]"), "m"),
    "half": (np.array(cycle([0.5, 1.5, np.nan]), np.float16), "f"),
    "large": (np.array(cycle([2**64 - 1, 2**63]), np.uint64), "u"),
    "objects: integers": (np.array(cycle([2**53 + 1, None, 2**53]), object), "O"),
    "objects: floats": (np.array(cycle([0.5, np.nan]), object), "O"),
    "objects: zoned times": (
        np.array(cycle([pd.Timestamp("2024-03-31 00:30", tz="Europe/Berlin"), None]), object),
        "O",
    ),
    "objects: spans": (np.array(cycle([pd.Timedelta(1, "s"), None]), object), "O"),
    "objects: decimals": (np.array(cycle([decimal.Decimal("1.10"), None]), object), "O"),
}


def plain(value):
    return None if pd.isna(value) else value


@pytest.mark.parametrize("dtype", [np.int32, np.float64, "M8[s]", "U3"])
def test_arrays_of_the_other_byte_order_are_read(dtype):
    native = np.array(cycle([7, 1, 2])).astype(dtype)[:, None]
    swapped = native.astype(native.dtype.newbyteorder())
    for bins in [None, [0, 4, 9]] if native.dtype.kind in "if" else [None]:
        released = [
            SubsetMerging(TIGHT, bins=bins, random_state=0).fit(rows, sensitive_features=SECRET).transform(rows)
            for rows in (native, swapped)
        ]
        np.testing.assert_array_equal(released[0], released[1])


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_keep_their_values_and_dtype(kind):
    column, dtype = ARRAYS[kind]
    settings = {"sensitive_features": np.array(SECRET)}
    released = (
        SubsetMerging(LiftBudget.symmetric(math.inf), random_state=0)
        .fit(column[:, None], **settings)
        .transform(column[:, None])
    )
    assert released.dtype.kind == dtype
    assert [plain(v) for v in released[:, 0]] == [plain(v) for v in column]
    if dtype != "O":
        assert released.dtype == column.dtype


NARROW = pd.DataFrame({"x": np.array(cycle([0, 3, 90]), np.uint8), "s": SECRET})

NARROW_TABLES = {
    "pandas": (NARROW, "int64"),
    "pandas masked": (NARROW.astype({"x": "UInt8"}), "Int64"),
    "pandas arrow": (NARROW.astype({"x": "uint8[pyarrow]"}), "Int64"),
    "polars": (pl.from_pandas(NARROW), "Int64"),
    "pyarrow": (pa.Table.from_pandas(NARROW, preserve_index=False), "int64"),
    "array": (NARROW[["x"]].to_numpy(), "int64"),
}

BEYOND = {
    "noise": GaussianChannel(0.3, bounds=(0, 100), random_state=0),
    "bins": SubsetMerging(LiftBudget.symmetric(math.inf), bins={0: [0, 50, 1000]}, random_state=0),
}


@pytest.mark.parametrize("kind", NARROW_TABLES)
@pytest.mark.parametrize("source", BEYOND)
@pytest.mark.parametrize("n_rows", [N, 0])
def test_whole_numbers_beyond_the_dtype_of_their_column_get_64_bits(kind, source, n_rows):
    table, dtype = NARROW_TABLES[kind]
    if kind == "array":
        fitted = clone(BEYOND[source]).fit(table, sensitive_features=np.array(SECRET))
        released = fitted.transform(table[:n_rows] if n_rows else table)
        assert str(released.dtype) == dtype
        values = released[:, 0].tolist()
    else:
        fitted = clone(BEYOND[source]).set_params(sensitive="s", public="x").fit(table)
        released = fitted.transform(table[:n_rows])
        assert str(released["x"].type if kind == "pyarrow" else released["x"].dtype) == dtype
        values = released["x"].to_pylist() if kind == "pyarrow" else released["x"].to_list()
    low, high = (-1000, 1000) if source == "noise" else (0, 1000)
    assert all(low <= value <= high for value in values)
    # 90 is in the bin [50, 1000]; cast to 8 bits its values would wrap around into the other one.
    assert not values or max(values) > 255 or source == "noise"
    assert not values or min(values) < 0 or source == "bins"


def test_whole_numbers_that_fit_keep_their_dtype():
    settings = {"sensitive": "s", "public": "x", "random_state": 0}
    for sanitizer in (
        SubsetMerging(LiftBudget.symmetric(0.1), **settings),
        SubsetMerging(LiftBudget.symmetric(0.1), bins={"x": [0, 50, 255]}, **settings),
    ):
        assert sanitizer.fit_transform(NARROW)["x"].dtype == np.uint8


@pytest.mark.parametrize(
    "rows",
    [np.array(["SECRET"] * 9), "SECRET", np.array([[987654321j]] * 9)],
    ids=["1-D", "scalar", "complex"],
)
def test_refused_arrays_are_not_quoted(rows):
    fitted = Watchdog(LiftBudget.symmetric(1.0)).fit(
        np.array(cycle(["a", "b"]))[:, None], sensitive_features=np.array(SECRET)
    )
    # Text at fit is the name of a file.
    for call in (
        (fitted.transform,)
        if isinstance(rows, str)
        else (Watchdog(LiftBudget.symmetric(1.0), sensitive=[0]).fit, fitted.transform)
    ):
        with pytest.raises(ColumnError, match=r"2D array|Complex") as caught:
            call(rows)
        assert "SECRET" not in str(caught.value)
        assert "987654321" not in str(caught.value)
