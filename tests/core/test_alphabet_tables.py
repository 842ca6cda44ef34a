"""Alphabets of tables: tuples, unions, and what matches across types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from alphabet_cases import DAY
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sanitize.core.alphabet import Alphabet
from sanitize.errors import ColumnError

_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(0, 3) | st.none(),
        st.sampled_from([0.0, -0.0, 0.5, None]),
    ),
    max_size=20,
)


def _table(rows) -> dict:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.int64(), pa.float64())
    return {name: pa.array(column, t) for name, column, t in zip("abc", columns, types, strict=True)}


def _ordered(rows) -> list:
    """Distinct rows in ascending order with missing last, and -0.0 as 0.0."""
    clean = {tuple(0.0 if v == 0 and isinstance(v, float) else v for v in row) for row in rows}
    return sorted(clean, key=lambda row: [(v is None, 0 if v is None else v) for v in row])


@given(_ROWS)
def test_tuples_are_sorted_column_by_column(rows):
    alphabet = Alphabet.from_table(_table(rows), ["a", "b", "c"])
    assert list(alphabet.symbols) == _ordered(rows)
    codes = alphabet.encode(_table(rows))
    assert [alphabet.symbols[c] for c in codes] == [
        tuple(0.0 if v == 0 and isinstance(v, float) else v for v in row) for row in rows
    ]


@given(_ROWS, _ROWS)
def test_the_union_is_the_alphabet_of_both_tables(rows, more):
    a = Alphabet.from_table(_table(rows), ["a", "b", "c"])
    b = Alphabet.from_table(_table(more), ["a", "b", "c"])
    both, here, there = a.union(b)
    assert both == Alphabet.from_table(_table(rows + more), ["a", "b", "c"])
    assert [both.symbols[i] for i in here] == list(a.symbols)
    assert [both.symbols[i] for i in there] == list(b.symbols)


@given(_ROWS, _ROWS, _ROWS)
def test_union_is_associative_and_commutative(rows, more, most):
    a, b, c = (Alphabet.from_table(_table(r), ["a", "b", "c"]) for r in (rows, more, most))
    assert a.union(b)[0] == b.union(a)[0]
    assert a.union(b)[0].union(c)[0] == a.union(b.union(c)[0])[0]
    assert a.union(a)[0] == a


def test_a_union_takes_the_type_of_the_part_that_has_values():
    empty, full = (Alphabet.from_table({"x": v}, ["x"]) for v in ([None], ["b", "a"]))
    assert empty.union(full)[0].symbols == full.union(empty)[0].symbols == ("a", "b", None)


@pytest.mark.parametrize("dtype", [pa.int8(), pa.uint64(), pa.float64()])
def test_a_union_with_equal_numbers_of_another_type_adds_nothing(dtype):
    numbers = Alphabet.from_table({"x": pa.array([1, 2, None])}, ["x"])
    both, here, there = numbers.union(Alphabet.from_table({"x": pa.array([2, None], dtype)}, ["x"]))
    assert both == numbers
    assert (here.tolist(), there.tolist()) == ([0, 1, 2], [1, 2])


def test_a_union_over_other_columns_or_kinds_is_refused():
    text, number = Alphabet(("x",), ["a"]), Alphabet(("x",), [1])
    with pytest.raises(ColumnError, match="column 'x' has values of type"):
        text.union(number)
    with pytest.raises(ColumnError):
        text.union(Alphabet(("y",), ["a"]))


@pytest.mark.parametrize(
    ("fitted", "values", "codes"),
    [
        (pa.array([1, 2]), pa.array([1.0, 2.0, 2.5]), [0, 1, -1]),
        (pa.array([1.0, 2.5]), pa.array([1, 2]), [0, -1]),
        (pa.array([1, 2], pa.int8()), pa.array([1, 2, 300], pa.int64()), [0, 1, -1]),
        (pa.array([1, 2], pa.uint64()), pa.array([-1, 2], pa.int64()), [-1, 1]),
        (pa.array([0.5], pa.float32()), pa.array([0.5, 0.1]), [0, -1]),
        (pa.array(["a"]), pa.array(["a", "b"], pa.large_string()), [0, -1]),
        (pa.array(["a"]), pa.array(["a", "b"], pa.string_view()), [0, -1]),
        (pa.array([0, 1], pa.timestamp("s")), pa.array([0, 10**9, 5], pa.timestamp("ns")), [0, 1, -1]),
        (pa.array([Decimal("1.00")]), pa.array([Decimal("1.0"), Decimal("1.001")]), [0, -1]),
    ],
)
def test_equal_values_match_across_types(fitted, values, codes):
    assert Alphabet.from_table({"x": fitted}, ["x"]).encode({"x": values}).tolist() == codes


NOT_EQUAL = {
    "text of numbers": (pa.array([3, 4]), pa.array(["3", "4"])),
    "numbers as text": (pa.array(["3", "4"]), pa.array([3, 4])),
    "numbers as truth": (pa.array([False, True]), pa.array([7, -1])),
    "noon on a date": (pa.array([DAY]), pa.array([dt.datetime(2024, 2, 29, 13)])),
    "double beside float": (pa.array([0.1], pa.float32()), pa.array([0.1])),
    "text of a date": (pa.array(["2024-02-29"]), pa.array([DAY])),
    "text as bytes": (pa.array([b"a"]), pa.array(["a"])),
    "a clock without a zone": (pa.array([0], pa.timestamp("s", tz="UTC")), pa.array([0], pa.timestamp("s"))),
}


@pytest.mark.parametrize("kind", NOT_EQUAL)
def test_values_that_are_not_equal_never_match_across_types(kind):
    fitted, values = NOT_EQUAL[kind]
    alphabet = Alphabet.from_table({"x": fitted}, ["x"])
    try:
        codes = alphabet.encode({"x": values})
    except ColumnError:
        return  # refusing the type is as good
    assert (codes == -1).all()


@pytest.mark.parametrize(("fitted", "values"), [*NOT_EQUAL.values(), (pa.array([3, 4]), pa.array(["4", "z"]))])
def test_the_code_of_a_row_does_not_depend_on_the_rows_beside_it(fitted, values):
    alphabet = Alphabet.from_table({"x": fitted}, ["x"])

    def encode(part):
        try:
            return alphabet.encode({"x": part}).tolist()
        except ColumnError:
            return [-1] * len(part)

    assert encode(values) == [c for i in range(len(values)) for c in encode(values.slice(i, 1))]


@pytest.mark.slow
def test_many_columns_whose_cells_exceed_64_bits_are_counted():
    rng = np.random.default_rng(6)
    n_rows, names = 100_000, [f"c{j}" for j in range(10)]
    table = {name: rng.integers(0, 1_000_000, n_rows) for name in names}
    for name in names:
        table[name][1] = table[name][0]  # one row twice
    alphabet = Alphabet.from_table(table, names)
    assert len(alphabet) == n_rows - 1
    codes = alphabet.encode(table)
    assert codes[0] == codes[1]
    assert len(np.unique(codes)) == n_rows - 1
    for name, column in alphabet.decode(codes).items():
        assert_array_equal(column.cast(pa.int64()).to_numpy(), table[name])
    rows = np.stack([table[name] for name in names], axis=1)[np.argsort(codes)]
    assert_array_equal(rows, rows[np.lexsort(rows.T[::-1])])
    shifted = {name: column + (1 if name == "c9" else 0) for name, column in table.items()}
    assert (alphabet.encode(shifted) == -1).all()
