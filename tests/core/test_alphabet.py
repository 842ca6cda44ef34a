"""Alphabets: one column has the same symbols wherever it came from, and codes lead back to them."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
import traceback
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from alphabet_cases import DAY, NOON
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sanitize._util import declared
from sanitize.core.alphabet import Alphabet, AlphabetForm
from sanitize.core.joint import JointDistribution
from sanitize.errors import ColumnError, InvalidParameter

CONTENTS = {
    "text": ["b", None, "a", "b", "ü"],
    "integers": [3, None, -1, 3, 2**40],
    "floats": [2.5, None, -0.5, 2.5, float("inf")],
    "booleans": [True, None, False, True, True],
    "dates": [DAY, None, dt.date(1999, 1, 1), DAY, DAY],
    "instants": [NOON, None, NOON - dt.timedelta(days=1), NOON, NOON],
}


def sources(name: str, values: list):
    """The same column from every library we read."""
    if name == "integers":
        series = pd.Series(values, dtype="Int64")
    elif name == "booleans":
        series = pd.Series(values, dtype="boolean")
    elif name == "instants":
        series = pd.Series(pd.to_datetime(values)).astype("datetime64[us, UTC]")
    else:
        series = pd.Series(values)
    yield "list", {"x": values}
    yield "NumPy objects", {"x": np.array(values, dtype=object)}
    yield "pandas", pd.DataFrame({"x": series})
    yield "pandas of objects", pd.DataFrame({"x": pd.Series(values, dtype=object)})
    yield "pandas categories", pd.DataFrame({"x": series.astype("category")})
    yield "pandas on Arrow", pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values)))})
    yield "polars", pl.DataFrame({"x": values})
    yield "pyarrow", pa.table({"x": values})
    yield "pyarrow array", {"x": pa.array(values)}
    yield "pyarrow chunks", {"x": pa.chunked_array([pa.array(values[:2]), pa.array(values[2:])])}
    yield "dictionary", {"x": pa.array(values).dictionary_encode()}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_kind_of_table_gives_the_same_alphabet(name):
    values = CONTENTS[name]
    expected = (*sorted({v for v in values if v is not None}), None)
    codes = [expected.index(v) for v in values]
    for kind, table in sources(name, values):
        alphabet = Alphabet.from_table(table, ["x"])
        assert alphabet.symbols == expected, kind
        for other, again in sources(name, values):
            assert alphabet.encode(again).tolist() == codes, (kind, other)


def test_a_polars_categorical_and_enum_are_text_in_ascending_order():
    for dtype in (pl.Categorical, pl.Enum(["z", "b", "a"]), pl.String):
        column = pl.Series("x", ["b", "a", None, "b"], dtype=dtype)
        assert Alphabet.from_table(pl.DataFrame([column]), ["x"]).symbols == ("a", "b", None)


@pytest.mark.parametrize(
    "values",
    [
        [None, float("nan"), 1.5],
        np.array([1.5, np.nan, np.nan]),
        pd.Series([1.5, np.nan, None]),
        pd.Series([1.5, None, pd.NA], dtype="Float64"),
        pd.Series([pd.NA, np.nan, None, pd.NaT, 1.5], dtype=object),
        pl.Series([float("nan"), None, 1.5]),
        pa.array([float("nan"), None, 1.5]),
        pa.array([float("nan"), None, 1.5]).dictionary_encode(),
        pa.array([float("nan"), None, 1.5], pa.float32()),
    ],
)
def test_every_missing_kind_is_one_symbol_and_comes_last(values):
    alphabet = Alphabet.from_table({"x": values}, ["x"])
    assert alphabet.symbols == (1.5, None)
    assert (alphabet.encode({"x": values}) >= 0).all()
    for missing in ([None], [float("nan")], [pd.NA], [pd.NaT], pa.nulls(1), pl.Series([None])):
        assert alphabet.encode({"x": missing}).tolist() == [1]


def test_a_missing_time_is_the_missing_symbol():
    times = pd.Series([pd.Timestamp(2024, 1, 1), pd.NaT])
    assert Alphabet.from_table({"x": times}, ["x"]).symbols == (dt.datetime(2024, 1, 1), None)
    assert Alphabet.from_table({"x": [pd.NaT, None, pd.NA, float("nan")]}, ["x"]).symbols == (None,)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array, lambda v: pa.array(v, pa.float32())])
def test_minus_zero_is_zero(make):
    values = make([-0.0, 0.0, 1.0])
    alphabet = Alphabet.from_table({"x": values}, ["x"])
    assert alphabet.symbols == (0.0, 1.0)
    assert alphabet.encode({"x": values}).tolist() == [0, 0, 1]
    assert not np.signbit(alphabet.symbols[0])


def test_infinities_are_symbols_like_others():
    alphabet = Alphabet.from_table({"x": [np.inf, 1.0, -np.inf, np.nan]}, ["x"])
    assert alphabet.symbols == (-np.inf, 1.0, np.inf, None)


ARROW_COLUMNS = {
    **{str(t): pa.array([3, None, 1, 3], t) for t in (pa.int8(), pa.int64(), pa.uint8(), pa.uint64())},
    "largest uint64": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "float16": pa.array(np.array([1.5, -2.0, 1.5], np.float16)),
    "float32": pa.array([0.1, None, -1.0], pa.float32()),
    "float64": pa.array([0.1, None, -1.0, np.nan, -0.0]),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("-2.00")], pa.decimal128(9, 2)),
    "decimal256": pa.array([Decimal("1.10"), None, Decimal("-2.00")], pa.decimal256(40, 2)),
    "date32": pa.array([DAY, None, dt.date(1900, 1, 1)], pa.date32()),
    "date64": pa.array([DAY, None, dt.date(1900, 1, 1)], pa.date64()),
    "timestamp s": pa.array([0, None, -5], pa.timestamp("s")),
    "timestamp us with zone": pa.array([0, None, -5], pa.timestamp("us", tz="Europe/Berlin")),
    "timestamp ns": pa.array([1, None, 1_700_000_000_123_456_789], pa.timestamp("ns")),
    "time32": pa.array([1, None, 0], pa.time32("ms")),
    "time64": pa.array([1, None, 0], pa.time64("us")),
    "duration": pa.array([1, None, -1], pa.duration("s")),
    "duration ns": pa.array([1, None, -1], pa.duration("ns")),
    "bool": pa.array([True, None, False]),
    "binary": pa.array([b"\xff\x00", None, b""]),
    "large_binary": pa.array([b"\xff\x00", None, b""], pa.large_binary()),
    "binary_view": pa.array([b"\xff\x00", None, b""], pa.binary_view()),
    "fixed_size_binary": pa.array([b"ab", None, b"aa"], pa.binary(2)),
    "string": pa.array(["b", None, "", "ü"]),
    "large_string": pa.array(["b", None, "", "ü"], pa.large_string()),
    "string_view": pa.array(["b", None, "a string beyond twelve bytes"], pa.string_view()),
    "null": pa.nulls(3),
    "dictionary": pa.array(["b", None, "a", "b"]).dictionary_encode(),
    "dictionary of integers": pa.array([5, None, 4, 5]).dictionary_encode(),
    "dictionary with duplicates": pa.DictionaryArray.from_arrays([0, 1, 2, None], ["a", "b", "a"]),
    "dictionary with null entries": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, None]), pa.array(["b", None, "a"])
    ),
    "dictionary with unused values": pa.DictionaryArray.from_arrays([2, 2, 0], ["b", "unused", "a"]),
    "dictionary of zeros": pa.DictionaryArray.from_arrays([0, 1, 2], [0.0, -0.0, float("nan")]),
    "dictionary of large strings": pa.DictionaryArray.from_arrays([1, 0], pa.array(["b", "a"], pa.large_string())),
    "dictionary with narrow indices": pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.uint8()), ["b", "a"]),
    "dictionary of nothing": pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), pa.array([], "str")),
    "chunks": pa.chunked_array([["b", None], [], ["a", "b"]], pa.string()),
    "chunks of dictionaries": pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays([0, 1], ["b", "a"]),
            pa.DictionaryArray.from_arrays([0, 1], ["c", "b"]),
        ]
    ),
    "chunks of dictionaries with duplicates": pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays([0, 1], ["b", "b"]),
            pa.DictionaryArray.from_arrays([0, 1], ["c", "b"]),
        ]
    ),
    "chunks of dictionaries with nulls": pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["b", None])),
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["c", None])),
        ]
    ),
    "no chunks": pa.chunked_array([], pa.string()),
    "no rows": pa.array([], pa.int64()),
    "slice": pa.array(["z", "b", None, "a", "z"]).slice(1, 3),
    "slice of a dictionary": pa.array(["z", "b", None, "a", "z"]).dictionary_encode().slice(1, 3),
    "uuid": pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()),
}


def plain(column) -> list:
    """Rows of a column as Python values, NaN as None and -0.0 as 0.0."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        rows = [v for chunk in chunks for v in _looked_up(chunk)]
    elif pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        rows = column.cast(pa.int64()).to_pylist()
    else:
        rows = column.to_pylist()
    return [None if v != v else (0.0 if v == 0 and isinstance(v, float) else v) for v in rows]


def _looked_up(chunk: pa.DictionaryArray) -> list:
    dictionary = plain(chunk.dictionary)
    return [None if i is None else dictionary[i] for i in chunk.indices.to_pylist()]


@pytest.mark.parametrize("kind", ARROW_COLUMNS)
def test_codes_lead_back_to_the_values_for_every_arrow_type(kind):
    column = ARROW_COLUMNS[kind]
    alphabet = Alphabet.from_table({"x": column}, ["x"])
    codes = alphabet.encode({"x": column})
    assert codes.dtype == np.int32
    assert sorted(set(codes.tolist())) == list(range(len(alphabet)))
    decoded = alphabet.decode(codes)["x"]
    assert plain(decoded) == plain(column)
    assert_array_equal(alphabet.encode({"x": decoded}), codes)
    assert len(alphabet.symbols) == len(alphabet)


@pytest.mark.parametrize("kind", ARROW_COLUMNS)
def test_alphabets_survive_every_kind_of_copy(kind):
    alphabet = Alphabet.from_table({"x": ARROW_COLUMNS[kind]}, ["x"])
    for back in (
        pickle.loads(pickle.dumps(alphabet)),
        copy.deepcopy(alphabet),
        declared.read(AlphabetForm, declared.to_builtin(alphabet.form())).alphabet(),
    ):
        assert back == alphabet
        assert hash(back) == hash(alphabet)
        assert_array_equal(back.encode({"x": ARROW_COLUMNS[kind]}), alphabet.encode({"x": ARROW_COLUMNS[kind]}))


def test_decoded_columns_hold_only_released_values():
    alphabet = Alphabet.from_table({"x": ["a", "b", "c", None]}, ["x"])
    column = alphabet.decode(np.array([2, 2, 0]))["x"]
    assert column.dictionary.to_pylist() == ["a", "c"]
    assert column.to_pylist() == ["c", "c", "a"]
    assert alphabet.decode(np.array([3]))["x"].to_pylist() == [None]
    assert alphabet.decode(np.array([], int))["x"].to_pylist() == []


SECRET = "Ms " + "Doe"


@pytest.mark.parametrize(
    "values",
    [
        [SECRET, 1],
        [1, SECRET],
        [SECRET, b"bytes"],
        [SECRET + "\ud800"],
        np.array([SECRET, 2.5], dtype=object),
        pd.Series([SECRET, dt.date(2024, 1, 1)], dtype=object),
        [[SECRET], [SECRET]],
        pa.array([{"name": SECRET}]),
        pl.Series([[SECRET]]),
        pl.Series([{"name": SECRET}]),
        np.array([complex(1, 2)]),
        pd.Series([{SECRET}]),
        pa.array([[(SECRET, 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        [object()],
        pl.Series([object()], dtype=pl.Object),
        np.zeros((2, 2)),
    ],
)
def test_mixed_and_nested_columns_are_refused_by_name_and_without_a_value(values):
    table = {"town of birth": values}
    with pytest.raises(ColumnError, match="'town of birth'") as caught:
        Alphabet.from_table(table, ["town of birth"])
    assert caught.value.column == "town of birth"
    shown = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
    causes = [caught.value.__cause__, *getattr(caught.value.__cause__, "args", ())]
    assert SECRET not in shown + repr(causes)
    assert str(2**70) not in shown


@pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), "view", "dictionary"])
def test_text_that_is_not_utf8_is_refused(dtype):
    if dtype == "view":
        column = pa.array([b"\xff\xfe"], pa.binary_view()).view(pa.string_view())
    else:
        value_type = pa.string() if dtype == "dictionary" else dtype
        binary = pa.large_binary() if value_type == pa.large_string() else pa.binary()
        column = pa.array([b"\xff\xfe", b"a"], binary).view(value_type)
        if dtype == "dictionary":
            column = pa.DictionaryArray.from_arrays([0, 1], column)
    with pytest.raises(ColumnError, match="UTF-8") as caught:
        Alphabet.from_table({"name": column}, ["name"])
    assert caught.value.column == "name"


def test_a_damaged_dictionary_is_refused():
    indices = pa.array([0, 5], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a"]), safe=False)
    with pytest.raises(ColumnError, match="damaged"):
        Alphabet.from_table({"x": column}, ["x"])


def test_unseen_symbols_have_code_minus_one():
    alphabet = Alphabet(("town", "age"), [("A", 1), ("A", 2), ("B", 1)])
    seen = alphabet.encode({"town": ["A", "B", "B", "C", None, "A"], "age": [2, 1, 2, 1, 1, None]})
    assert seen.tolist() == [1, 2, -1, -1, -1, -1]


@given(
    st.lists(st.integers(0, 6) | st.none(), max_size=12),
    st.lists(st.integers(-1, 7) | st.none(), max_size=12),
)
def test_encode_finds_exactly_the_symbols_that_are_there(fitted, rows):
    alphabet = Alphabet.from_table({"x": pa.array(fitted, pa.int64())}, ["x"])
    expected = [*sorted({v for v in fitted if v is not None}), *([None] if None in fitted else [])]
    codes = alphabet.encode({"x": pa.array(rows, pa.int64())}).tolist()
    assert codes == [expected.index(v) if v in expected else -1 for v in rows]


def test_symbols_given_by_hand_are_sorted_and_must_be_distinct():
    assert Alphabet(("x",), ["b", None, "a"]).symbols == ("a", "b", None)
    assert Alphabet("x", [2, 1]).columns == ("x",)
    with pytest.raises(InvalidParameter, match="distinct"):
        Alphabet(("x",), ["a", "a"])
    with pytest.raises(InvalidParameter, match="distinct"):
        Alphabet(("x",), [None, float("nan")])


def test_alphabets_are_frozen():
    alphabet = Alphabet(("x",), ["a"])
    with pytest.raises(AttributeError, match="cannot be changed"):
        alphabet.columns = ("y",)
    with pytest.raises(ValueError, match="read-only"):
        alphabet.codes[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(alphabet)).codes[0] = 1


def test_declared_orders_are_kept_and_grow_without_moving():
    order = pa.array(["low", "mid", "high"])
    alphabet = Alphabet.from_table({"x": ["high", "low", None]}, ["x"], {"x": order})
    assert alphabet.symbols == ("low", "high", None)
    joined, _, _ = alphabet.union(Alphabet.from_table({"x": ["mid"]}, ["x"], {"x": order}))
    assert joined.symbols == ("low", "mid", "high", None)


def test_a_value_outside_its_declared_order_is_refused():
    table, order = {"town": ["A", "B"], "x": ["high", "unheard of"]}, pa.array(["low", "high"])
    with pytest.raises(ColumnError, match="'x'"):
        Alphabet.from_table(table, ["town", "x"], {"x": order})


def test_labels_are_text_in_the_order_given():
    assert Alphabet.from_n_labels("g", 3, lambda: ["z", "a", "z"]).symbols == ("z", "a", "z #2")
    assert Alphabet(("a", "b"), [("x", None)]).label(0) == "x | (missing)"


def test_labels_are_made_when_they_are_first_needed_and_once():
    asked = []

    def labels():
        asked.append(len(asked))
        return ["z", "a", "z"]

    later, now = Alphabet.from_n_labels("g", 3, labels), Alphabet.from_n_labels("g", 3, lambda: ["z", "a", "z"])
    assert len(later) == 3
    assert later.columns == ("g",)
    assert not asked
    assert later == now
    assert later.symbols == now.symbols == ("z", "a", "z #2")
    assert asked == [0]
    for copied in (copy.deepcopy(later), pickle.loads(pickle.dumps(Alphabet.from_n_labels("g", 3, labels)))):
        assert copied == now


def test_absent_columns_are_named_with_the_nearest():
    for table in (
        {"income": [1]},
        pd.DataFrame({"income": [1]}),
        pl.DataFrame({"income": [1]}),
        pa.table({"income": [1]}),
    ):
        with pytest.raises(ColumnError, match=r"no column 'incone'.*'income'") as caught:
            Alphabet.from_table(table, ["incone"])
        assert caught.value.column == "incone"


def test_the_callers_columns_are_not_changed():
    values = np.array([-0.0, np.nan, 1.0])
    frame = pd.DataFrame({"x": values.copy(), "s": ["a", "b", "a"]})
    before = frame.copy(deep=True)
    JointDistribution.from_frame(frame, "s", "x")
    pd.testing.assert_frame_equal(frame, before)
    Alphabet.from_table({"x": values}, ["x"])
    assert np.signbit(values[0])


def test_a_label_has_the_digits_of_its_number():
    df = pd.DataFrame({"s": list("ab") * 40, "x": np.tile([3.1, 0.1, 2.0, np.nan], 20).astype("float32")})
    joint = JointDistribution.from_frame(df, "s", ["x"])
    assert [joint.public.label(x) for x in range(4)] == ["0.1", "2.0", "3.1", "(missing)"]
    wide = JointDistribution.from_frame(df.astype({"x": "float64"}).assign(x=0.1 + 0.2), "s", ["x"])
    assert wide.public.label(0) == str(0.1 + 0.2)
