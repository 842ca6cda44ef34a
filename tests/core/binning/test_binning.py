"""Whole numbers drawn inside intervals, whatever 64 bits can hold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import sanitize as sz
from sanitize.core.binning import Bins
from sanitize.core.budgets import LiftBudget
from sanitize.engines.parquet import release_file
from sanitize.errors import InvalidParameter
from sanitize.transformers import SubsetMerging

SMALLEST, LARGEST, LARGEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1
WORDS = np.array([0, 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)


def drawn(bins: Bins, code: int) -> pa.Array:
    labels = pa.DictionaryArray.from_arrays(pa.array(np.full(len(WORDS), code, np.int32)), bins.labels)
    return bins.draw(labels, WORDS)


ENDS = [0.0, 2.0**53, 2.0**62, 2.0**63, 2.0**64, -(2.0**63), -(2.0**64), 1e300]
EDGES = st.lists(st.one_of(st.floats(-100, 100), st.floats(-1e20, 1e20), st.sampled_from(ENDS)), min_size=2, max_size=5)


@given(EDGES.map(lambda edges: sorted(set(edges))).filter(lambda edges: len(edges) > 1))
@example([0.25, 0.5])
@example([0.0, 2.0**63, 2.0**64])
@example([-1.0, 2.0**63])
@example([0.0, 2.0**64, 2.0**65])
@example([-(2.0**65), -(2.0**64), 2.0**63])
@example([0.0, 2.0**64])
@example([-(2.0**63), 2.0**63])
@example([0.25, 0.5, 3.0])
def test_whole_numbers_are_drawn_exactly(edges):
    if math.ceil(edges[0]) > math.floor(edges[-1]):
        with pytest.raises(InvalidParameter, match="'x' contain no whole number"):
            Bins.from_edges("x", edges, pa.int64())
        return
    bins = Bins.from_edges("x", edges, pa.int64())
    least, largest = bins.whole_range
    assert SMALLEST <= least <= largest <= (LARGEST_UNSIGNED if least >= 0 else LARGEST)
    for code in range(len(edges) - 1):
        # The slow twin, in Python's integers: the whole numbers of the interval that 64 bits hold.
        begin = min(max(math.ceil(edges[code]), least), largest)
        last = math.ceil(edges[code + 1]) - 1 if code < len(edges) - 2 else largest
        size = max(min(last, largest) - begin + 1, 1)
        expected = [begin + math.floor(Fraction(int(word), 2**32) * size) for word in WORDS]
        found = drawn(bins, code)
        assert found.to_pylist() == expected
        assert found.type == (pa.uint64() if largest > LARGEST else pa.int64())


def test_the_double_beside_the_largest_integer_stands_for_it():
    assert Bins.from_edges("x", [5, 7, LARGEST], pa.int64()).whole_range == (5, LARGEST)


def cycle(values: list) -> list:
    return (values * 30)[:30]


HASHES = pd.DataFrame({"x": np.array(cycle([3, 2**63 + 5, LARGEST_UNSIGNED]), np.uint64), "s": cycle(["p", "n", "n"])})
SMALL = HASHES.assign(x=np.array(cycle([3, 100, 90]), np.int8))
KINDS = {
    "pandas": lambda df: df,
    "pandas masked": lambda df: df.astype({"x": "UInt64" if df["x"].dtype == np.uint64 else "Int8"}),
    "polars": pl.from_pandas,
    "pyarrow": lambda df: pa.Table.from_pandas(df, preserve_index=False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("df", "edges"), [(HASHES, [0, 2**63, 2**64]), (SMALL, [0, 50, 2**64])])
def test_unsigned_numbers_of_64_bits_are_drawn_in_their_bins(kind, df, edges):
    sanitizer = SubsetMerging(
        LiftBudget.symmetric(math.inf), sensitive="s", public="x", bins={"x": edges}, random_state=0
    )
    released = sanitizer.fit_transform(KINDS[kind](df))["x"]
    assert str(released.type if kind == "pyarrow" else released.dtype).lower() == "uint64"
    values = released.to_pylist() if kind == "pyarrow" else released.to_list()
    assert [value >= edges[1] for value in values] == [value >= edges[1] for value in df["x"]]
    assert max(values) > LARGEST


@pytest.mark.filterwarnings("ignore:the noise of this file comes from a seed")
def test_unsigned_numbers_of_arrays_and_files(tmp_path):
    settings = {"bins": {"x": [0, 2**63, 2**64]}, "random_state": 0}
    array = HASHES[["x"]].to_numpy()
    bare = SubsetMerging(LiftBudget.symmetric(math.inf), bins={0: [0, 2**63, 2**64]}, random_state=0)
    released = bare.fit(array, sensitive_features=HASHES["s"].to_numpy()).transform(array)
    assert released.dtype == np.uint64
    assert_array_equal(released >= 2**63, array >= 2**63)
    HASHES.to_parquet(tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(sz.LiftBudget(lower=math.inf, upper=math.inf), sensitive="s", public="x", **settings)
    release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    written = pq.read_table(tmp_path / "out.parquet")["x"]
    assert written.type == pa.uint64()
    assert_array_equal(written.to_numpy() >= 2**63, array[:, 0] >= 2**63)
