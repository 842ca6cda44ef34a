"""What a released file holds, and what is refused before anything is written."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_cases import BUDGET, left_in, merging, table

import sanitize as sz
import sanitize.pandas
from sanitize.core.budgets import LiftBudget
from sanitize.engines.parquet import audit_file, release_file
from sanitize.errors import (
    ColumnError,
    InvalidDistribution,
    InvalidParameter,
    SourceError,
)
from sanitize.transformers import SubsetMerging

# ----------------------------------------------------------------------------- what the file may hold


def pieces(content: bytes):
    """The bytes themselves, and everything in them that can be read as base64."""
    yield content
    for run in re.findall(rb"[A-Za-z0-9+/]{8,}", content):
        for shift in range(4):
            cut = run[shift:]
            yield base64.b64decode(cut[: len(cut) // 4 * 4])


@pytest.fixture
def loaded(tmp_path) -> Path:
    """A source with a canary in every place that a careless copy would carry over."""
    raw = table().to_pandas()
    raw["x"] = pd.Categorical(raw["x"], categories=["a", "SECRET_unused", "b", "c", "d"])
    raw.index = pd.Index([f"SECRET_index_{i}" for i in range(len(raw))], name="SECRET_index")
    raw.attrs["note"] = "SECRET_attrs"
    arrow = pa.Table.from_pandas(raw)
    fields = [field.with_metadata({"comment": "SECRET_field"}) for field in arrow.schema]
    arrow = pa.table(arrow.columns, schema=pa.schema(fields, metadata={**arrow.schema.metadata, b"own": b"SECRET_own"}))
    path = tmp_path / "loaded.parquet"
    pq.write_table(arrow, path)
    content = path.read_bytes()
    for canary in (b"SECRET_unused", b"SECRET_index", b"SECRET_attrs", b"SECRET_own", b"SECRET_ill"):
        assert any(canary in piece for piece in pieces(content)), f"the source does not hold {canary!r}"
    return path


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_nothing_of_the_source_but_released_values_is_in_the_file(rows, loaded, tmp_path):
    target = tmp_path / "out.parquet"
    release_file(loaded, target, merging(), rows=rows)
    assert not any(b"SECRET" in piece for piece in pieces(target.read_bytes()))
    meta = pq.read_metadata(target)
    assert set(meta.metadata) == {b"sanitize"}
    assert pq.ParquetFile(target).schema_arrow.metadata.keys() == {b"sanitize"}
    assert all(
        field.metadata is None or not any(b"SECRET" in v for v in field.metadata.values())
        for field in pq.read_schema(target)
    )
    assert pd.read_parquet(target).index.equals(pd.RangeIndex(300))


def test_the_footer_tells_the_verdict_in_two_kilobytes_without_symbols_or_counts(source, tmp_path):
    release_file(source, tmp_path / "out.parquet", merging())
    footer = pq.read_metadata(tmp_path / "out.parquet").metadata[b"sanitize"]
    assert len(footer) <= 2048
    told = json.loads(footer)
    assert told["within_budget"] is True
    assert told["budget"] == repr(BUDGET)
    assert told["rows"] == "shuffle"
    assert set(told) == {"sanitize", "format", "mechanism", "budget", "within_budget", "rows"}
    assert "300" not in footer.decode()


def test_statistics_are_those_of_released_numbers(source, tmp_path):
    release_file(source, tmp_path / "out.parquet", merging(LiftBudget.symmetric(0.01)))
    values = [v for v in pq.read_table(tmp_path / "out.parquet")["floor"].to_pylist() if v is not None]
    group = pq.read_metadata(tmp_path / "out.parquet").row_group(0)
    assert group.column(0).statistics is None
    found = group.column(1).statistics
    assert (found.min, found.max, found.null_count) == (min(values), max(values), 300 - len(values))


def test_dictionaries_hold_values_that_were_drawn_only(tmp_path):
    rare = pa.table({"s": ["p", "n"] * 200, "x": ["a", "b", "c", "d"] * 99 + ["a", "b", "c", "SECRET_rare"]})
    pq.write_table(rare, tmp_path / "raw.parquet")
    outcomes = set()
    for i in range(20):
        sanitizer = SubsetMerging(LiftBudget.symmetric(0.0), sensitive="s", public="x", min_count=0)
        release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", sanitizer, key=bytes([i]) * 32, force=True)
        values = pq.read_table(tmp_path / "out.parquet")["x"].to_pylist()
        there = b"SECRET_rare" in (tmp_path / "out.parquet").read_bytes()
        assert there == ("SECRET_rare" in values)
        outcomes.add(there)
    assert outcomes == {True, False}, "the rare value must be drawn under some keys and not under others"


def test_pages_carry_checksums_and_text_is_dictionary_encoded(source, tmp_path):
    release_file(source, tmp_path / "out.parquet", merging())
    assert pq.ParquetFile(tmp_path / "out.parquet", page_checksum_verification=True).read().num_rows == 300
    column = pq.read_metadata(tmp_path / "out.parquet").row_group(0).column(0)
    assert column.has_dictionary_page
    content = bytearray((tmp_path / "out.parquet").read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 3] ^= 0xFF
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(OSError, match=r".*"):
        pq.ParquetFile(tmp_path / "bad.parquet", page_checksum_verification=True).read()


# --------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"public": ["x", "flor"]}, ColumnError, "did you mean 'floor'"),
        ({"public": "SECRET_name"}, ColumnError, "different value in most rows"),
        ({"public": ["age"], "bins": {"age": 4}}, InvalidParameter, "edges from the rows"),
        ({"bins": [0, 50, 100]}, InvalidParameter, "name the columns"),
        ({"keep_sensitive": True}, InvalidParameter, "keep_sensitive"),
        ({"public": ["x"], "missing": "error"}, ColumnError, "has missing values"),
    ],
)
def test_what_cannot_be_released_to_a_file_is_refused_before_anything_is_written(
    settings, error, message, source, tmp_path
):
    with pytest.raises(error, match=message):
        release_file(source, tmp_path / "out.parquet", merging(**settings))
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"no such file or folder: .*nowhere\.parquet"):
        release_file(tmp_path / "nowhere.parquet", tmp_path / "out.parquet", merging())


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(SourceError, match="not a regular file"):
        release_file(tmp_path / "pipe.parquet", tmp_path / "out.parquet", merging())


def test_a_table_without_rows_is_refused(tmp_path):
    pq.write_table(table().slice(0, 0), tmp_path / "raw.parquet")
    with pytest.raises(InvalidDistribution, match="no rows"):
        release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", merging())
    assert left_in(tmp_path) == ["raw.parquet"]


def test_a_folder_with_an_empty_file_among_others_is_released(tmp_path):
    (tmp_path / "in").mkdir()
    for name, part in (("a", table()), ("b", table().slice(0, 0)), ("c", table().slice(0, 1))):
        pq.write_table(part, tmp_path / "in" / f"{name}.parquet")
    for rows in ("shuffle", "keep"):
        release_file(tmp_path / "in", tmp_path / rows, merging(), rows=rows)
        parts = [pq.read_table(tmp_path / rows / name) for name in left_in(tmp_path / rows)]
        assert sum(part.num_rows for part in parts) == 301
        assert len({part.schema for part in parts}) == 1, "every part must have one schema"


def test_an_audit_of_a_file_is_the_audit_of_its_frame(source):
    from_file = audit_file(source, ["s"], ["x", "floor"], batch_rows=13)
    from_frame = sz.audit(pq.read_table(source), ["s"], ["x", "floor"])
    assert from_file.summary == from_frame.summary
    assert from_file.budget is None
