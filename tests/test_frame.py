"""Frames in, frames out: kinds, dtypes, order, index, and nothing of the source but released values."""

from __future__ import annotations

import base64
import copy
import datetime as dt
import decimal
import gc
import inspect
import json
import math
import pickle
import re
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frame_cases import ESTIMATORS, LOOSE, SECRET, TIGHT, N, cycle

import sanitize as sz
import sanitize.pandas
import sanitize.polars
from sanitize.core.budgets import LiftBudget
from sanitize.errors import BudgetExceeded, ColumnError, InvalidParameter, NothingToProtect, SanitizeError, SourceError
from sanitize.frames import FrameMethods
from sanitize.report import _report as _attached
from sanitize.transformers import SubsetMerging, Watchdog

# Budgets are tight and rows are named on purpose here.
pytestmark = pytest.mark.filterwarnings("ignore::sanitize.errors.ReleaseWarning")

# ---------------------------------------------------------------------------------------------- pandas

DAYS = pd.to_datetime(["2024-01-01", "2024-02-29", "2025-12-31", "2024-02-29"])

PANDAS = {
    "int64": pd.Series(cycle([3, 1, 2, 2])),
    "int8": pd.Series(cycle([3, 1, -2, 2]), dtype="int8"),
    "uint64 beyond a float": pd.Series(cycle([2**64 - 1, 2**63 + 1, 0, 7]), dtype="uint64"),
    "float64": pd.Series(cycle([0.5, 1.5, -2.25, 1.5])),
    "float32": pd.Series(cycle([0.5, 1.1, -2.2, 1.5]), dtype="float32"),
    "float64 with NaN and inf": pd.Series(cycle([0.5, np.nan, math.inf, -math.inf])),
    "bool": pd.Series(cycle([True, False, False])),
    "Int64": pd.Series(cycle([3, None, 2**62 + 1, 2]), dtype="Int64"),
    "UInt8": pd.Series(cycle([3, None, 2]), dtype="UInt8"),
    "Float64": pd.Series(cycle([0.5, None, 2.5]), dtype="Float64"),
    "boolean": pd.Series(cycle([True, None, False]), dtype="boolean"),
    "string": pd.Series(cycle(["a", None, "b", "ü\n"]), dtype="string"),
    "str": pd.Series(cycle(["a", "c", "b", "ü"]), dtype="str"),
    "str with NaN": pd.Series(cycle(["a", np.nan, "b"]), dtype="str"),
    "object text": pd.Series(cycle(["a", None, "b"]), dtype=object),
    "object integers": pd.Series(cycle([1, None, 2**60 + 1]), dtype=object),
    "object booleans": pd.Series(cycle([True, None, False]), dtype=object),
    "object dates": pd.Series(cycle([dt.date(2024, 1, 1), dt.date(2024, 2, 29), None]), dtype=object),
    "object decimals": pd.Series(cycle([decimal.Decimal("1.10"), decimal.Decimal("2.25"), None]), dtype=object),
    "object bytes": pd.Series(cycle([b"\x00\xff", b"", b"a"]), dtype=object),
    "category": pd.Series(pd.Categorical(cycle(["b", "a", None, "c"]), categories=["c", "b", "a"])),
    "category of integers": pd.Series(pd.Categorical(cycle([10, 2, 30]))),
    "ordered category": pd.Series(
        pd.Categorical(cycle(["mid", "low", "high"]), categories=["low", "mid", "high"], ordered=True)
    ),
    "datetime64[ns]": pd.Series(cycle(list(DAYS))).astype("datetime64[ns]"),
    "datetime64[s] with NaT": pd.Series(cycle([*DAYS, pd.NaT])).astype("datetime64[s]"),
    "datetime64[us, tz]": pd.Series(cycle(list(DAYS)))
    .dt.tz_localize("Europe/Berlin")
    .astype("datetime64[us, Europe/Berlin]"),
    "timedelta64[ns]": pd.Series(pd.to_timedelta(cycle([1, 2, 90]), unit="m")),
    "arrow int": pd.Series(cycle([1, None, 2**62 + 1]), dtype=pd.ArrowDtype(pa.int64())),
    "arrow string": pd.Series(cycle(["a", None, "b"]), dtype=pd.ArrowDtype(pa.string())),
    "arrow large_string": pd.Series(cycle(["a", None, "b"]), dtype=pd.ArrowDtype(pa.large_string())),
    "arrow date": pd.Series(cycle([dt.date(2024, 1, 1), dt.date(2024, 2, 29)]), dtype=pd.ArrowDtype(pa.date32())),
    "arrow decimal": pd.Series(
        cycle([decimal.Decimal("1.10"), decimal.Decimal("2.25")]), dtype=pd.ArrowDtype(pa.decimal128(6, 2))
    ),
    "arrow timestamp": pd.Series(cycle(list(DAYS))).astype(pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo"))),
    "arrow bool": pd.Series(cycle([True, None, False]), dtype=pd.ArrowDtype(pa.bool_())),
    "arrow dictionary": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cycle(["b", "a", None])).dictionary_encode())),
}

MULTI_INDEX = pd.MultiIndex.from_arrays([np.arange(N)[::-1], ["a", "b"] * (N // 2)], names=["k", None])


@pytest.mark.slow
@pytest.mark.parametrize("kind", PANDAS)
@pytest.mark.parametrize("budget", [LOOSE, TIGHT], ids=["loose", "tight"])
def test_a_pandas_column_keeps_its_dtype_values_order_and_index(kind, budget):
    df = pd.DataFrame({"x": PANDAS[kind], "s": SECRET}).set_index(MULTI_INDEX)
    released = sz.frames.release(df, sz.SubsetMerging(budget, sensitive="s", public="x", random_state=0))
    assert isinstance(released, pd.DataFrame)
    assert released["x"].dtype == df["x"].dtype
    assert released.index.identical(df.index)
    if df["x"].dtype == object:  # missing is one symbol; pandas' own filler for objects is NaN
        df, released = df.fillna({"x": "missing"}), released.fillna({"x": "missing"})
    if budget is LOOSE:
        pd.testing.assert_frame_equal(released, df[["x"]])
    else:
        assert set(released["x"].map(repr)) <= set(df["x"].map(repr))


@pytest.mark.parametrize(
    "values",
    [
        *([1, "a", 2.5], [[1], [2], [3]], [{"k": 1}, {"k": 2}, None], [1 + 2j, 3j, 0j], [object(), object(), None]),
        [pd.Interval(0, 1), pd.Period("2024-01"), 2.5],
    ],
    ids=["mixed", "lists", "dicts", "complex", "objects", "spans"],
)
def test_a_pandas_column_without_one_flat_type_is_refused_without_quoting_values(values):
    df = pd.DataFrame({"x": pd.Series(cycle(values), dtype=object), "s": SECRET})
    with pytest.raises(ColumnError, match="column 'x'") as caught:
        sz.frames.release(df, sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    assert "2.5" not in str(caught.value)
    assert caught.value.column == "x"


def test_unused_categories_never_survive():
    column = pd.Categorical(cycle(["a", "b"]), categories=["SECRET_1", "b", "a", "SECRET_2"], ordered=True)
    df = pd.DataFrame({"x": column, "s": SECRET})
    for budget in (LOOSE, TIGHT):
        released = sz.frames.release(df, sz.SubsetMerging(budget, sensitive="s", public="x"))
        assert set(released["x"].cat.categories) <= {"a", "b"}
        assert released["x"].cat.ordered
        assert b"SECRET" not in pickle.dumps(released)
    assert list(released["x"].cat.categories) == [c for c in ["b", "a"] if c in set(released["x"])]


def test_a_fitted_sanitizer_and_its_channel_hold_no_unused_category():
    column = pd.Categorical(cycle(["a", "b"]), categories=["SECRET_1", "b", "a", "SECRET_2"])
    fitted = SubsetMerging(TIGHT, sensitive="s", public="x").fit(pd.DataFrame({"x": column, "s": SECRET}))
    saved = fitted.channel_.to_json()
    levels = [base64.b64decode(v) for part in ("inputs", "outputs") for v in json.loads(saved)[part]["levels"]]
    assert any(b"a" in level for level in levels), "the symbols travel here"
    assert not any(b"SECRET" in level for level in levels)
    state = pickle.dumps(fitted.channel_)
    pieces = [base64.b64decode(run[: len(run) // 4 * 4]) for run in re.findall(rb"[A-Za-z0-9+/]{8,}", state)]
    assert not any(b"SECRET" in piece for piece in [state, *pieces])


def test_a_category_that_was_not_drawn_does_not_survive_either():
    df = pd.DataFrame({"x": pd.Categorical(["rare"] + ["a", "b"] * 30), "s": ["p", *(["p", "n"] * 30)]})
    released = sz.frames.release(df, sz.RandomizedResponse(0.01, sensitive="s", public="x", random_state=0))
    for _ in range(20):
        one = sz.frames.release(df.iloc[:], sz.SubsetMerging(TIGHT, sensitive="s", public="x"))
        assert set(one["x"].cat.categories) == set(one["x"])
    assert set(released["x"].cat.categories) == set(released["x"])


def test_integer_and_odd_column_labels_are_kept():
    df = pd.DataFrame({0: cycle(["a", "b"]), 1: SECRET, ("t", 2): cycle([1, 2, 3])})
    released = sz.frames.release(df, sz.SubsetMerging(LOOSE, sensitive="1", public=["0", "('t', 2)"]))
    assert list(released.columns) == [0, ("t", 2)]
    by_position = sz.frames.release(df, sz.SubsetMerging(LOOSE, sensitive=[1], public=[0, 2]))
    pd.testing.assert_frame_equal(by_position, released)


def test_integer_labels_out_of_order_are_positions_as_everywhere_in_the_library():
    df = pd.DataFrame({1: cycle(["a", "b"]), 0: SECRET})
    released = sz.frames.release(df, sz.SubsetMerging(LOOSE, sensitive=[1], public=[0]))
    assert list(released.columns) == [1]


# ------------------------------------------------------------------------------------------- accessors


def test_a_method_shows_the_parameters_of_its_estimator_and_refuses_others():
    assert {name for name in vars(FrameMethods) if not name.startswith("_")} == {*ESTIMATORS, "audit", "report"}
    for method, estimator in ESTIMATORS.items():
        of_method = inspect.signature(getattr(PANDAS_DF.sanitize, method))
        assert of_method == inspect.signature(estimator)
        assert f"`sanitize.{estimator.__name__}`" in getattr(FrameMethods, method).__doc__
        with pytest.raises(TypeError, match="publik"):
            getattr(PANDAS_DF.sanitize, method)(1.0, publik="x")


PANDAS_DF = pd.DataFrame({"x": cycle(["a", "b", "c"]), "y": cycle([1, 2]), "s": cycle(["p", "n", "p", "p"])})


@pytest.mark.parametrize("make", [lambda df: df, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("method", ["watchdog", "subset_merging", "randomized_response"])
def test_the_accessor_does_what_the_function_and_the_estimator_do(make, method):
    df = make(PANDAS_DF)
    settings = {"sensitive": "s", "public": ["x", "y"], "random_state": 1}
    level = 1.0 if method == "randomized_response" else sz.LiftBudget.symmetric(1.0)
    released = getattr(df.sanitize, method)(level, **settings)
    assert released.equals(sz.frames.release(df, ESTIMATORS[method](level, **settings)))
    assert released.equals(ESTIMATORS[method](level, **settings).fit_transform(df))
    assert type(released) is type(df)
    assert released.sanitize.report.ok
    assert repr(released.sanitize.report) == repr(sz.last_report(released))
    assert df.sanitize.audit("s").summary == sz.audit(df, "s").summary


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda df: df, pl.from_pandas], ids=["pandas", "polars"])
def test_the_other_channels_have_methods_too(make):
    df = make(PANDAS_DF)
    parts = [("x", Watchdog(public="x")), ("y", Watchdog(public="y"))]
    cases = {
        "exponential_channel": ((0.5,), {"public": "x"}),
        "gaussian_channel": ((0.5,), {"public": "y", "bounds": (0, 3)}),
        "joint_release": ((parts, sz.LiftBudget.symmetric(2.0)), {"sensitive": "s"}),
    }
    for method, (given, settings) in cases.items():
        released = getattr(df.sanitize, method)(*given, **settings, random_state=1)
        assert type(released) is type(df)
        sanitizer = ESTIMATORS[method](*given, **settings, random_state=1)
        assert released.equals(sz.frames.release(df, sanitizer))
        assert released.equals(sanitizer.transform(df))
        assert released.sanitize.report.ok


def test_the_accessor_passes_every_setting_on():
    settings = {"bins": {"y": [0, 1.5, 3]}, "random_state": 0, "min_count": 3, "smoothing": 0.5}
    released = PANDAS_DF.sanitize.subset_merging(LOOSE, sensitive="s", public="y", **settings)
    assert released.iloc[:, 0].between(0, 3).all()
    assert any("smoothing" in note for note in sz.last_report(released).facts.warnings)
    with pytest.raises(TypeError, match="unexpected keyword"):
        PANDAS_DF.sanitize.watchdog(sz.LiftBudget.symmetric(1.0), sensitiv="s")


def test_an_audit_measures_the_raw_columns_and_judges_nothing():
    report = sz.audit(PANDAS_DF, sensitive="s", public=["x", "y"])
    table = pd.crosstab(PANDAS_DF["s"], [PANDAS_DF["x"], PANDAS_DF["y"]]).to_numpy() / N
    lifts = table / table.sum(axis=1, keepdims=True) / table.sum(axis=0)
    assert report.summary["max_log_lift"] == pytest.approx(np.log(lifts.max()), abs=1e-12)
    assert report.ok
    assert report.budget is None
    assert sz.audit(PANDAS_DF, "s").public == ("x", "y")


def test_a_frame_function_refuses_a_release_over_budget(monkeypatch):
    from sanitize.core.channel import Channel

    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )
    with pytest.raises(BudgetExceeded):
        PANDAS_DF.sanitize.subset_merging(sz.LiftBudget.symmetric(0.001), sensitive="s", public="y")


# -------------------------------------------------------------------------------------------- reports

three_kinds = pytest.mark.parametrize(
    "make", [lambda df: df, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)


@pytest.mark.parametrize(
    ("make", "copies"),
    [
        (lambda df: df, [lambda f: f.copy(), copy.copy, copy.deepcopy, lambda f: f[:], lambda f: f.head(5)]),
        (pl.from_pandas, [lambda f: f.clone(), lambda f: f[:], lambda f: f.head(5)]),
        (pa.Table.from_pandas, [lambda t: t.slice(0), lambda t: t.select(["x"])]),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_the_report_belongs_to_the_very_frame_and_copies_have_none(make, copies):
    released = sz.frames.release(make(PANDAS_DF), sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    assert sz.last_report(released).ok
    for duplicate in copies:
        with pytest.raises(SanitizeError, match="no report"):
            sz.last_report(duplicate(released))
    assert sz.last_report(released).ok


def test_a_frame_that_was_never_released_has_no_report():
    for frame in (PANDAS_DF, pl.DataFrame(), 3, None):
        with pytest.raises(SanitizeError, match="no report"):
            sz.last_report(frame)
    with pytest.raises(SanitizeError, match="no report"):
        FrameMethods(PANDAS_DF).report  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [lambda df: df, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_a_report_is_freed_with_its_frame(make):
    df = make(PANDAS_DF)
    gc.collect()
    before = len(_attached._KEPT)
    released = [sz.frames.release(df, sz.SubsetMerging(LOOSE, sensitive="s", public="x")) for _ in range(5)]
    assert len(_attached._KEPT) == before + 5
    watched = weakref.ref(sz.last_report(released[0]))
    assert watched() is not None
    del released
    gc.collect()
    assert len(_attached._KEPT) == before
    assert watched() is None


def test_attrs_hold_a_json_summary_without_symbols_or_counts():
    df = pd.DataFrame({"x": cycle(["symbol_a", "symbol_b"]), "s": cycle(["SECRET_P", "SECRET_N", "SECRET_N"])})
    df.attrs["owner"] = "SECRET_OWNER"
    released = sz.frames.release(df, sz.SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.5), sensitive="s", public="x"))
    assert set(released.attrs) == {"sanitize"}
    assert json.loads(released.attrs["sanitize"]) == {
        "sanitize": sz.__version__,
        "format": 1,
        "mechanism": "subset merging",
        "budget": "LiftBudget(lower=1.0, upper=0.5)",
        "within_budget": True,
    }
    assert "owner" in df.attrs
    assert "sanitize" not in df.attrs


def test_attrs_survive_parquet_without_a_report_object(tmp_path):
    released = sz.frames.release(PANDAS_DF, sz.SubsetMerging(LOOSE, sensitive="s", public="x"))
    released.to_parquet(tmp_path / "out.parquet")
    back = pd.read_parquet(tmp_path / "out.parquet")
    assert json.loads(back.attrs["sanitize"])["within_budget"] is True


# ------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[1, 2, 3]] * N, columns=["x", "x", "s"]),
        pd.DataFrame([[1, 2, 3]] * N, columns=[1, "1", "s"]),
        pa.table([SECRET, SECRET, SECRET], names=["x", "x", "s"]),
    ],
    ids=["pandas", "pandas labels that read alike", "pyarrow"],
)
def test_duplicate_column_names_are_refused(table):
    with pytest.raises(ColumnError, match=r"more than one column '[x1]'; rename or drop one"):
        sz.frames.release(table, sz.SubsetMerging(LOOSE, sensitive="s", public="x"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.Series(["a", "b"]), "(?i)series|dataframe|2d array|table"),
        (pl.Series(["a", "b"]), "(?i)series|dataframe|2d array|table"),
        (np.array(["a", "b"], dtype=object), "(?i)2D array|1D array|dimension"),
        (np.zeros((2, 2, 2)), "(?i)dim"),
        ({"x": ["a"], "s": ["p"]}, "(?i)dataframe|2d|array|dict"),
        (None, "(?i)dataframe|2d|array|none"),
    ],
    ids=["pandas series", "polars series", "1-D", "3-D", "dict", "none"],
)
def test_what_is_not_a_table_is_refused_with_a_clear_message(table, message):
    for call in (
        lambda: Watchdog(LiftBudget.symmetric(1.0), sensitive="s", public="x").fit(table),
        lambda: sz.frames.release(table, sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s", public="x")),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()


def test_text_is_the_name_of_a_file_at_fit_and_no_frame():
    sanitizer = Watchdog(LiftBudget.symmetric(1.0), sensitive="s", public="x")
    with pytest.raises(SourceError, match=r"no such file or folder: table\.csv"):
        sanitizer.fit("table.csv")
    with pytest.raises(InvalidParameter, match="release files with release_file"):
        sz.frames.release("table.csv", sanitizer)


@pytest.mark.parametrize(
    "make", [lambda df: df, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_an_empty_frame_cannot_be_fitted_but_can_be_transformed(make):
    empty = make(PANDAS_DF.iloc[:0])
    with pytest.raises(ColumnError, match="no rows"):
        sz.frames.release(empty, sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s", public="x"))
    fitted = SubsetMerging(LOOSE, sensitive="s", public=["x", "y"]).fit(make(PANDAS_DF))
    released = fitted.transform(empty)
    assert type(released) is type(empty)
    assert len(released) == 0
    names = released.column_names if isinstance(released, pa.Table) else list(released.columns)
    assert names == ["x", "y"]


def test_a_frame_without_columns_is_refused():
    with pytest.raises((ColumnError, ValueError)):
        sz.frames.release(pd.DataFrame(index=range(3)), sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="s"))


def test_one_row_has_nothing_to_protect():
    df = pd.DataFrame({"x": ["a"], "s": ["p"]})
    with pytest.raises(NothingToProtect):
        sz.frames.release(df, sz.SubsetMerging(sz.LiftBudget.symmetric(0.0), sensitive="s", public="x", min_count=0))


def test_fitting_on_one_kind_and_transforming_another_gives_the_kind_that_is_transformed():
    fitted = SubsetMerging(TIGHT, sensitive="s", public=["x", "y"], random_state=0).fit(PANDAS_DF)
    table = fitted.transform(pa.Table.from_pandas(PANDAS_DF))
    frame = fitted.transform(pl.from_pandas(PANDAS_DF))
    assert isinstance(table, pa.Table)
    assert isinstance(frame, pl.DataFrame)
    assert list(zip(*table.to_pydict().values(), strict=True)) == frame.rows()
    assert frame.rows() == list(fitted.transform(PANDAS_DF).itertuples(index=False, name=None))


def test_equal_numbers_of_another_type_are_the_same_symbols():
    fitted = SubsetMerging(LOOSE, sensitive="s", public="y", handle_unknown="error", random_state=0).fit(PANDAS_DF)
    as_float = PANDAS_DF.astype({"y": float})
    assert fitted.transform(as_float)["y"].tolist() == PANDAS_DF["y"].tolist()


def test_a_frame_wrapped_by_narwhals_is_taken_as_what_it_wraps():
    from sanitize.tables.frame import Table

    class Wrapped:
        def to_native(self):
            return pl.DataFrame({"x": ["a"]})

    assert (Table.from_native(Wrapped()).kind, Table.from_native(Wrapped()).names) == ("polars", ("x",))
