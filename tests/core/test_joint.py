"""Counts and distributions: any table, any batches, the same numbers; nothing else gets through."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sanitize.core.alphabet import Alphabet
from sanitize.core.joint import ContingencyTable, JointDistribution
from sanitize.errors import ColumnError, InvalidDistribution, InvalidParameter

SENSITIVE, PUBLIC = ["illness", "rich"], ["town", "age"]


def rows_of(frame: pd.DataFrame) -> list[tuple]:
    """Rows as Python values; NaN as None, -0.0 as 0.0."""

    def clean(value):
        if value is None or value != value:
            return None
        return value + 0.0 if isinstance(value, float) else value

    return [tuple(clean(v) for v in row) for row in frame.itertuples(index=False)]


def cells_of(table: ContingencyTable) -> Counter:
    """The counts as a Counter of rows."""
    return Counter(
        {
            s + x: table.counts[i, j]
            for i, s in enumerate(table.sensitive.symbols)
            for j, x in enumerate(table.public.symbols)
            if table.counts[i, j]
        }
    )


def counted(frame: pd.DataFrame, weights=None) -> ContingencyTable:
    table = ContingencyTable.empty(SENSITIVE, PUBLIC)
    table.count(frame, weights)
    return table


@pytest.mark.slow
@given(strategies.frames())
def test_counts_equal_a_loop_over_rows(frame):
    table = counted(frame)
    assert cells_of(table) == Counter(rows_of(frame))
    assert table.n == len(frame) == table.counts.sum()


@pytest.mark.slow
@given(strategies.frames())
def test_the_distribution_equals_the_relative_frequencies(frame):
    joint = JointDistribution.from_frame(frame, SENSITIVE, PUBLIC)
    frequency = Counter(rows_of(frame))
    for i, s in enumerate(joint.sensitive.symbols):
        for j, x in enumerate(joint.public.symbols):
            assert joint.pmf[i, j] == pytest.approx(Fraction(frequency[s + x], len(frame)), abs=1e-15)
    assert joint.n == len(frame)


@pytest.mark.slow
@given(strategies.frames())
def test_pandas_polars_pyarrow_and_columns_give_the_same_distribution(frame):
    joint = JointDistribution.from_frame(frame, SENSITIVE, PUBLIC)
    columns = {name: list(column) for name, column in zip(frame, zip(*rows_of(frame), strict=True), strict=True)}
    others = [
        pl.DataFrame(columns),
        pa.table(columns),
        columns,
        {name: frame[name].to_numpy(dtype=object) for name in frame},
        frame.set_axis(range(7, 7 + len(frame))),
    ]
    for other in others:
        again = JointDistribution.from_frame(other, SENSITIVE, PUBLIC)
        assert_array_equal(again.pmf, joint.pmf)
        assert again.sensitive.symbols == joint.sensitive.symbols
        assert again.public.symbols == joint.public.symbols


@pytest.mark.slow
@given(strategies.frames(), st.lists(st.integers(0, 40), max_size=4).map(sorted))
def test_counting_in_batches_equals_counting_at_once(frame, cuts):
    edges = [0, *cuts, len(frame)]
    grown, merged = ContingencyTable.empty(SENSITIVE, PUBLIC), ContingencyTable.empty(SENSITIVE, PUBLIC)
    for i, j in pairwise(edges):
        grown.count(frame.iloc[i:j])
        part = ContingencyTable.empty(SENSITIVE, PUBLIC)
        part.count(frame.iloc[i:j])
        merged.add(part)
    whole = counted(frame)
    for table in (grown, merged):
        assert table.n == whole.n
        assert table.sensitive.symbols == whole.sensitive.symbols
        assert table.public.symbols == whole.public.symbols
        assert_array_equal(table.counts, whole.counts)


def test_many_cells_are_counted_as_numpy_counts_them():
    rng = np.random.default_rng(9)
    s, x = rng.integers(0, 300, 50_000), rng.integers(0, 700, 50_000)
    table = ContingencyTable.empty(["s"], ["x"])
    table.count({"s": s, "x": x})
    cells = np.zeros((300, 700), int)
    np.add.at(cells, (s, x), 1)
    assert_array_equal(table.counts, cells)


@pytest.mark.parametrize("later", [pd.Series([1, None]), pd.Series([3, None]), pd.Series([2], dtype="int32")])
def test_batches_of_integers_count_alike_in_every_numeric_type(later):
    table = ContingencyTable.empty(["s"], ["x"])
    table.count({"s": ["a", "a"], "x": pd.Series([1, 2])})
    table.count({"s": ["a"] * len(later), "x": later})
    expected = Counter([1, 2, *(None if v != v else int(v) for v in later)])
    assert Counter(dict(zip(table.public.symbols, table.counts[0], strict=True))) == expected


@pytest.mark.slow
@given(strategies.frames(), strategies.frames())
def test_adding_is_commutative_and_leaves_the_other_table_alone(frame, more):
    a, b, c, d = counted(frame), counted(more), counted(more), counted(frame)
    before = cells_of(b)
    a.add(b)
    c.add(d)
    assert cells_of(a) == cells_of(c) == Counter(rows_of(frame)) + Counter(rows_of(more))
    assert cells_of(b) == before


@pytest.mark.slow
@given(strategies.frames(), st.data())
def test_weights_equal_repeated_rows(frame, data):
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(frame), max_size=len(frame)))
    if not any(times):
        times[0] = 1
    weighted = JointDistribution.from_frame(frame, SENSITIVE, PUBLIC, weights=times)
    repeated = JointDistribution.from_frame(frame.loc[np.repeat(frame.index, times)], SENSITIVE, PUBLIC)
    assert_allclose(weighted.pmf, repeated.pmf, atol=1e-15)
    assert weighted.public.symbols == repeated.public.symbols


def test_weighted_and_plain_batches_mix():
    table = ContingencyTable.empty(["s"], ["x"])
    table.count({"s": ["a", "b"], "x": [1, 1]})
    table.count({"s": ["a", "b"], "x": [1, 2]}, np.array([0.5, 0.25]))
    assert_array_equal(table.counts, [[1.5, 0], [1, 0.25]])
    other = ContingencyTable.empty(["s"], ["x"])
    other.count({"s": ["a"], "x": [2]})
    other.add(table)
    assert_array_equal(other.counts, [[1.5, 1], [1, 0.25]])


@pytest.mark.parametrize("weights", [[1.0], [1.0, 2.0, 3.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [[1.0, 1.0]]])
def test_weights_that_are_not_one_number_a_row_are_refused(weights):
    with pytest.raises((InvalidParameter, ColumnError)):
        JointDistribution.from_frame({"s": ["a", "b"], "x": [1, 2]}, "s", "x", weights=weights)


@pytest.mark.parametrize("x", [["u"], ["u", "v", "w"], []])
def test_columns_of_different_lengths_are_refused(x):
    with pytest.raises((ColumnError, InvalidParameter)):
        JointDistribution.from_frame({"s": ["a", "b"], "x": x}, "s", "x")


def test_columns_of_one_side_with_different_lengths_are_refused():
    with pytest.raises((ColumnError, InvalidParameter)):
        JointDistribution.from_frame({"s": ["a", "b"], "t": ["c"], "x": [1, 2]}, ["s", "t"], "x")


@pytest.mark.parametrize("rows", [0, 2])
def test_tables_without_weight_have_no_distribution(rows):
    table = {"s": ["a", "b"][:rows], "x": [1, 2][:rows]}
    with pytest.raises(InvalidDistribution, match="no rows"):
        JointDistribution.from_frame(table, "s", "x", weights=[0.0] * rows)


def test_smoothing_adds_to_every_cell():
    table = ContingencyTable.empty(["s"], ["x"])
    table.count({"s": ["a", "b", "b"], "x": [1, 1, 2]})
    assert_allclose(table.to_joint(smoothing=1.0).pmf, [[2 / 7, 1 / 7], [2 / 7, 2 / 7]])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidParameter, match="smoothing"):
            table.to_joint(smoothing=bad)


def test_a_column_on_both_sides_or_absent_is_refused():
    frame = pd.DataFrame({"s": ["a"], "x": [1]})
    with pytest.raises(ColumnError, match="both as sensitive and as public"):
        JointDistribution.from_frame(frame, ["s"], ["x", "s"])
    with pytest.raises(ColumnError, match="no column 'z'"):
        JointDistribution.from_frame(frame, "s", "z")


@pytest.mark.parametrize(("sensitive", "public"), [([], ["x"]), (["s"], [])])
def test_each_side_needs_a_column(sensitive, public):
    with pytest.raises((ColumnError, InvalidParameter)):
        JointDistribution.from_frame({"s": ["a"], "x": [1]}, sensitive, public)


@pytest.mark.parametrize(
    ("pmf", "message"),
    [
        ([[0.5, 0.4]], "sum to 1"),
        ([[5, 5]], "sum to 1, got 10"),
        ([[0.5, 0.5 + 1e-8]], "sum to 1"),
        ([[1.5, -0.5], [0.0, 0.0]], "entries >= 0"),
        ([[np.nan, 1.0]], "finite"),
        ([[np.inf, 0.0]], "finite"),
        ([[0.5, 0.5], [0.0, 0.0]], "1 sensitive symbol"),
        ([[0.5, 0.0], [0.5, 0.0]], "1 public symbol"),
        ([0.5, 0.5], "matrix"),
        ([[]], "matrix"),
        ([[[1.0]]], "matrix"),
    ],
)
def test_matrices_that_are_not_distributions_are_refused(pmf, message):
    with pytest.raises(InvalidDistribution, match=message):
        JointDistribution.from_matrix(pmf)


@pytest.mark.parametrize("share", [0.0, 5e-324, 1e-309])
def test_a_symbol_whose_probability_has_no_inverse_is_refused(share):
    """Else lifts, prices and inverses would be infinite."""
    with pytest.raises(InvalidDistribution, match="public symbol"):
        JointDistribution.from_matrix([[share, 0.5], [share, 0.5 - 2 * share]])


def test_alphabets_must_fit_the_matrix():
    with pytest.raises(InvalidDistribution, match="must be a matrix of shape"):
        JointDistribution(np.full((2, 2), 0.25), Alphabet.from_size("s", 2), Alphabet.from_size("x", 3))


@given(strategies.joints())
def test_margins_and_posterior_are_what_they_say(joint):
    assert joint.pmf.sum() == pytest.approx(1, abs=1e-15)
    assert_allclose(joint.p_s, joint.pmf.sum(axis=1))
    assert_allclose(joint.p_x, joint.pmf.sum(axis=0))
    assert_allclose(joint.posterior.sum(axis=0), 1, atol=1e-12)
    assert_allclose(joint.posterior * joint.p_x, joint.pmf, atol=1e-15)


def test_distributions_are_frozen_after_every_kind_of_copy_and_do_not_share_the_callers_array():
    given_pmf = np.array([[0.25, 0.25], [0.25, 0.25]])
    joint = JointDistribution.from_matrix(given_pmf)
    given_pmf[0, 0] = 9
    assert joint.pmf[0, 0] == 0.25
    for distribution in (joint, pickle.loads(pickle.dumps(joint)), copy.deepcopy(joint)):
        with pytest.raises(AttributeError):
            distribution.pmf = given_pmf
        for array in (distribution.pmf, distribution.p_s, distribution.p_x, distribution.posterior):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_a_distribution_never_prints_its_probabilities():
    joint = JointDistribution.from_frame({"s": ["flu", "none"], "x": ["A", "B"]}, "s", "x")
    assert repr(joint) == "JointDistribution(2 sensitive x 2 public symbols, n=2)"
