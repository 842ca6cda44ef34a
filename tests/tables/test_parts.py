"""Parquet as others write it: encodings of text, and folders whose parts differ."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize.errors import ColumnError, SourceError
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.open import open_source
from sanitize.tables.files.parquet import ParquetSource

TABLE = pa.table({"s": ["p", "n", None] * 200, "x": [f"town {j % 7}" for j in range(600)], "n": list(range(600))})
ENCODINGS = {
    "DELTA_BYTE_ARRAY": {"s": "DELTA_BYTE_ARRAY", "x": "DELTA_BYTE_ARRAY"},
    "DELTA_LENGTH_BYTE_ARRAY": {"s": "DELTA_LENGTH_BYTE_ARRAY", "x": "DELTA_LENGTH_BYTE_ARRAY"},
    "one of each": {"s": "DELTA_BYTE_ARRAY", "x": "PLAIN", "n": "DELTA_BINARY_PACKED"},
    "BYTE_STREAM_SPLIT": {"s": "PLAIN", "x": "DELTA_LENGTH_BYTE_ARRAY", "n": "BYTE_STREAM_SPLIT"},
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_every_encoding_of_text_is_read(name, kind, tmp_path):
    table = TABLE.set_column(1, "x", TABLE["x"].cast(kind))
    settings = {"use_dictionary": False, "column_encoding": ENCODINGS[name]}
    pq.write_table(table, tmp_path / "raw.parquet", row_group_size=250, **settings)
    with open_source(tmp_path / "raw.parquet") as source:
        batches = [load for part in source.loads(source.files[0], ["x", "s"]) for load in part.batches()]
    for column in ("x", "s"):
        assert all(pa.types.is_dictionary(batch[column].type) for batch in batches)
        assert [value for batch in batches for value in batch[column].to_pylist()] == table[column].to_pylist()


def test_a_row_group_of_another_encoding_is_read_too(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(TABLE, tmp_path / "b.parquet", use_dictionary=False, column_encoding=ENCODINGS["DELTA_BYTE_ARRAY"])
    merging = sz.SubsetMerging(sz.LiftBudget(at_most=9, at_least=0), sensitive="s", public=["x"])
    assert sz.release_file(tmp_path, tmp_path.parent / "out", merging).n_rows == 1200


PARTS = {
    "widths": ([1, 2], pa.int8(), pa.int64()),
    "whole and decimal": ([1, 2], pa.int64(), pa.float64()),
    "text": (["a", "b"], pa.string(), pa.large_string()),
    "dictionaries": (["a", "b"], pa.dictionary(pa.int8(), pa.string()), pa.string()),
    "decimals": ([decimal.Decimal("1.5"), decimal.Decimal(2)], pa.decimal128(5, 1), pa.decimal128(9, 3)),
    "moments": ([datetime.datetime(2024, 1, 2)] * 2, pa.timestamp("ms"), pa.timestamp("us")),
    "nothing": ([None, None], pa.null(), pa.int64()),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("turned", [False, True])
def test_parts_that_differ_harmlessly_are_one_table(name, turned, tmp_path):
    values, *types = PARTS[name]
    for file, dtype in zip("ab", types[::-1] if turned else types, strict=True):
        columns = {"s": pa.array(["p", "n"]), "x": pa.array(values, dtype)}
        pq.write_table(pa.table(dict(sorted(columns.items(), reverse=file == "b"))), tmp_path / f"{file}.parquet")
    source = ParquetSource.open(tmp_path)
    read = [batch for file in source.files for batch in source.batches(file, ["x", "s"])]
    assert [value for batch in read for value in batch["x"].to_pylist()] == values * 2
    assert len({getattr(batch["x"].type, "value_type", batch["x"].type) for batch in read}) == 1


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ({"x": ["a"]}, {"y": ["a"]}, r"b\.parquet has no column 'x', compared with a\.parquet"),
        ({"x": ["a"]}, {"x": ["a"], "y": [1]}, r"b\.parquet has an additional column 'y', compared with a\.parquet"),
        ({"x": ["a"]}, {"x": [1]}, r"column 'x' is string in a\.parquet and int64 in b\.parquet"),
        ({"x": [1]}, {"x": [datetime.date(2024, 1, 1)]}, r"'x' is int64 in a\.parquet and date32\[day\] in b\.parquet"),
        ({"x": ["a"]}, {"x": [b"a"]}, r"'x' is string in a\.parquet and binary in b\.parquet"),
        ({"x": [True]}, {"x": [1]}, r"'x' is bool in a\.parquet and int64 in b\.parquet"),
    ],
)
def test_parts_that_differ_are_named(first, second, says, tmp_path):
    for file, columns in (("a", first), ("b", second)):
        pq.write_table(pa.table(columns), tmp_path / f"{file}.parquet")
    with pytest.raises(SourceError, match=says):
        ParquetSource.open(tmp_path)


TEXT_PARTS = {
    "columns in another order": "x,n,s\nb,2,n\n",
    "another line end": "s,x,n\r\nn,b,2\r\n",
    "quotes": '"s","x","n"\n"n","b","2"\n',
    "a decimal": "n,s,x\n2.0,n,b\n",
}


@pytest.mark.parametrize("name", TEXT_PARTS)
def test_parts_of_text_that_differ_harmlessly_are_one_table(name, tmp_path):
    (tmp_path / "a.csv").write_text("s,x,n\np,a,1\n")
    (tmp_path / "b.csv").write_text(TEXT_PARTS[name], newline="")
    source = CsvSource.open(tmp_path, description=sz.TableDescription(types={"n": "quantity"}))
    read = [batch for file in source.files for batch in source.batches(file, ["n", "x", "s"])]
    columns = {key: [value for batch in read for value in batch[key].to_pylist()] for key in ("s", "x", "n")}
    assert columns == {"s": ["p", "n"], "x": ["a", "b"], "n": [1, 2]}


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ("s,y\nn,b\n", r"b\.csv has no column 'x', compared with a\.csv"),
        ("s,x,y\nn,b,1\n", r"b\.csv has an additional column 'y', compared with a\.csv"),
        ("s,x,x\nn,b,1\n", r"b\.csv has an additional column 'x'"),
        ("s\nn\n", r"b\.csv has no column 'x'"),
    ],
)
def test_parts_of_text_that_differ_are_named(second, says, tmp_path):
    (tmp_path / "a.csv").write_text("s,x\np,a\n")
    (tmp_path / "b.csv").write_text(second)
    with pytest.raises(SourceError, match=says):
        CsvSource.open(tmp_path)


@pytest.mark.parametrize("dtype", [pa.int64(), pa.float64(), pa.decimal128(9, 2), pa.int8()])
def test_a_number_in_parquet_may_be_a_code(dtype, tmp_path):
    pq.write_table(pa.table({"s": ["p", "n"], "zip": pa.array([12, 13], dtype)}), tmp_path / "raw.parquet")
    with open_source(tmp_path / "raw.parquet") as plain:
        source = plain.with_types({"zip": "code", "s": "category"})
        [batch] = source.batches(source.files[0], ["zip"])
    assert batch["zip"].type == source.schema.field("zip").type == pa.dictionary(pa.int32(), dtype)
    for kind in ("quantity", "date", "%d.%m.%Y"):
        with pytest.raises(ColumnError, match="column 's' is stored as string, not as the type"):
            plain.with_types({"s": kind})
    with pytest.raises(ColumnError, match="'town'"):
        plain.with_types({"town": "code"})
