"""Every type of a column comes back as it was, by its exact name."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_cases import LOOSE
from sklearn.base import clone

import sanitize as sz
import sanitize.pandas
from sanitize.core.budgets import LiftBudget
from sanitize.engines.parquet import release_file
from sanitize.errors import (
    ColumnError,
)
from sanitize.transformers import GaussianChannel, SubsetMerging

# ----------------------------------------------------------------------------- what the file may hold

N = 60

TYPES = {
    **{
        f"{sign}int{bits}": pa.array([3, None, 2**bits // 2 - 1] * 20, f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "uint64 beyond int64": pa.array([2**64 - 1, 2**63, None] * 20, pa.uint64()),
    "float16": pa.array(np.array([0.5, 1.5, -2.0] * 20, np.float16)),
    "float32": pa.array([0.1, None, math.inf] * 20, pa.float32()),
    "float64": pa.array([0.1, None, -1e300] * 20),
    "bool": pa.array([True, None, False] * 20),
    "string": pa.array(["", None, "ü\n\0"] * 20),
    "large_string": pa.array(["a", None, "b"] * 20, pa.large_string()),
    "string_view": pa.array(["a", None, "b"] * 20, pa.string_view()),
    "binary": pa.array([b"\x00\xff", None, b""] * 20),
    "large_binary": pa.array([b"\x00\xff", None, b""] * 20, pa.large_binary()),
    "binary_view": pa.array([b"\x00\xff", None, b""] * 20, pa.binary_view()),
    "fixed_size_binary": pa.array([b"ab", None, b"\xff\x00"] * 20, pa.binary(2)),
    "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-99999.99")] * 20, pa.decimal128(7, 2)),
    "decimal256": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("9.99")] * 20, pa.decimal256(50, 2)),
    "date": pa.array([dt.date(2024, 2, 29), None, dt.date(1899, 1, 1)] * 20),
    "time": pa.array([dt.time(1, 2, 3, 4), None, dt.time(23)] * 20, pa.time64("us")),
    "time32": pa.array([dt.time(1, 2, 3), None, dt.time(23)] * 20, pa.time32("ms")),
    **{f"timestamp[{u}]": pa.array([1, None, 10**12] * 20, pa.timestamp(u)) for u in ("ms", "us", "ns")},
    "timestamp with zone": pa.array([1, None, 10**12] * 20, pa.timestamp("us", "UTC")),
    "dictionary": pa.array(["a", None, "b"] * 20).dictionary_encode(),
    "dictionary of integers": pa.array([5, None, 7] * 20).dictionary_encode(),
    "dictionary of dates": pa.array([dt.date(2024, 2, 29), None] * 30).dictionary_encode(),
    "uuid": pa.array([uuid.UUID(int=5).bytes, None, uuid.UUID(int=2**127).bytes] * 20, pa.uuid()),
    "null": pa.nulls(N),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_a_column_keeps_its_parquet_type_and_its_values(kind, tmp_path):
    raw = pa.table({"x": TYPES[kind], "s": ["p", "n", "n"] * 20})
    pq.write_table(raw, tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public="x", handle_unknown="error")
    report = release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    assert report.ok
    assert not report.facts.n_unseen
    stored = [pq.ParquetFile(tmp_path / f"{name}.parquet").schema.column(0) for name in ("raw", "out")]
    assert stored[0].physical_type == stored[1].physical_type
    assert str(stored[0].logical_type) == str(stored[1].logical_type)
    assert stored[0].name == stored[1].name == "x"
    plain = pq.read_table(tmp_path / "out.parquet")["x"]
    assert plain.to_pylist() == raw["x"].to_pylist()
    release_file(
        tmp_path / "raw.parquet",
        tmp_path / "merged.parquet",
        SubsetMerging(LiftBudget.symmetric(0.0), sensitive="s", public="x"),
    )
    assert set(pq.read_table(tmp_path / "merged.parquet")["x"].to_pylist()) <= set(raw["x"].to_pylist())


def test_a_zoned_timestamp_keeps_its_instants_and_a_duration_its_count(tmp_path):
    """Parquet itself knows neither zones nor durations; they live in ARROW:schema, which must not be copied."""
    instants = pa.array([1, None, 10**15] * 20, pa.timestamp("us", "Europe/Berlin"))
    spans = pa.array([1, None, 5] * 20, pa.duration("us"))
    pq.write_table(pa.table({"x": instants, "y": spans, "s": ["p", "n", "n"] * 20}), tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public=["x", "y"])
    release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    released = pq.read_table(tmp_path / "out.parquet")
    assert released["x"].cast(pa.int64()).to_pylist() == [1, None, 10**15] * 20
    assert released["y"].to_pylist() == [1, None, 5] * 20


def test_odd_and_nested_names_select_the_exact_column(tmp_path):
    nested = pa.array([{"b": 1}, {"b": 2}] * 30)
    flat = pa.array(["u", "v", "w"] * 20)
    raw = pa.table({"a": nested, "a.b": flat, "s": ["p", "n"] * 30, "a.b.c": ["SECRET"] * 60})
    pq.write_table(raw, tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive="s", public="a.b")
    release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, rows="keep")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"a.b": flat.to_pylist()}


def test_positions_count_all_columns_even_where_names_repeat(tmp_path):
    raw = pa.table(
        [["u", "v"] * 30, ["u", "v"] * 30, ["p", "n", "n"] * 20, ["c", "d", "e"] * 20], names=["x", "x", "s", "y"]
    )
    pq.write_table(raw, tmp_path / "raw.parquet")
    sanitizer = SubsetMerging(LOOSE, sensitive=[2], public=[3])
    release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer)
    assert pq.read_schema(tmp_path / "out.parquet").names == ["y"]
    assert sanitizer.report_.sensitive == ("s",)
    for by_position in ([1], [0]):
        with pytest.raises(ColumnError):
            release_file(
                tmp_path / "raw.parquet", tmp_path / "2", SubsetMerging(LOOSE, sensitive=[2], public=by_position)
            )


# ------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
@pytest.mark.parametrize(
    "sanitizer",
    [
        GaussianChannel(0.3, sensitive="s", public="x", bounds=(0, 100)),
        SubsetMerging(LiftBudget.symmetric(math.inf), sensitive="s", public="x", bins={"x": [0, 50, 1000]}),
    ],
    ids=["noise", "bins"],
)
def test_whole_numbers_beyond_the_type_of_their_column_are_written_with_64_bits(sanitizer, rows, tmp_path):
    n = 600
    source = pa.table({"s": ["p", "q", "q"] * (n // 3), "x": pa.array([0, 3, 90] * (n // 3), pa.uint8())})
    source = source.take(np.random.default_rng(0).permutation(n))  # an order that tells s would not be kept
    pq.write_table(source, tmp_path / "raw.parquet")
    release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", clone(sanitizer), rows=rows)
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.schema.field("x").type == pa.int64()
    assert max(released["x"].to_pylist()) > 100
    sz.verify_file(tmp_path / "out.parquet", tmp_path / "raw.parquet", clone(sanitizer), rows=rows).require()
