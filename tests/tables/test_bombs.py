"""Small files that unfold to much, and hostile tables in memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_cases import (
    BUDGET,
    CHECKSUM,
    CONSTANT,
    EXPECTED,
    HOSTILE,
    LIMITED,
    NESTED,
    NO_ROWS,
    assert_hides,
    check_error,
    limited,
    needs_data,
    on_linux,
    patched,
    symbols,
    varint,
)

import sanitize as sz
from sanitize.engines.parquet import release_file
from sanitize.errors import ColumnError, NothingToProtect, SanitizeError, SourceError
from sanitize.tables.files import footer
from sanitize.tables.files.parquet import ParquetSource
from sanitize.transformers import SubsetMerging

# ---------------------------------------------------------------------------------- bombs made here

BOMB = 129 << 20  # its sizes take five varint bytes, so larger lies fit in their place


@pytest.fixture(scope="module")
def compressible(tmp_path_factory) -> bytes:
    """A file of a few kilobytes with one flat text column, of which one page unpacks to 129 MiB."""
    path = tmp_path_factory.mktemp("bomb") / "honest.parquet"
    table = pa.table({"s": ["p", "n"], "x": pa.array(["y" * BOMB, "z"], pa.string())})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    assert path.stat().st_size < 100_000
    return path.read_bytes()


def release_limited(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    return limited(
        LIMITED,
        [
            "release",
            source,
            "-o",
            "out.parquet",
            "-s",
            "s",
            "-x",
            "x",
            "--lower",
            "inf",
            "--upper",
            "2",
            "--min-count",
            "0",
        ],
        folder,
    )


@pytest.mark.slow
@on_linux
def test_a_small_text_column_that_promises_eight_gibibytes_in_the_footer_is_refused_as_a_bomb(compressible, tmp_path):
    source = tmp_path / "bomb.parquet"
    source.write_bytes(compressible)
    size = pq.read_metadata(source).row_group(0).column(1).total_uncompressed_size
    source.write_bytes(patched(compressible, varint(size), varint(8 << 30), len(compressible) - 2000))
    done = release_limited(tmp_path, source.name)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr
    assert "decompression bomb" in done.stderr
    assert os.listdir(tmp_path) == ["bomb.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["x", "x.y"])
def test_a_bomb_in_a_column_with_a_dot_in_its_name_is_refused(asked, tmp_path):
    """The reader takes ``x.y`` along when ``x`` is asked for."""
    table = pa.table({"s": ["p", "n"], "x": ["a", "b"], "x.y": pa.array(["y" * BOMB, "z"], pa.string())})
    source = tmp_path / "bomb.parquet"
    pq.write_table(table, source, compression="zstd", use_dictionary=False, write_statistics=False)
    content = source.read_bytes()
    size = pq.read_metadata(source).row_group(0).column(2).total_uncompressed_size
    source.write_bytes(patched(content, varint(size), varint(8 << 30), len(content) - 2000))
    with pytest.raises(SourceError, match="decompression bomb"):
        release_file(source, tmp_path / "out.parquet", SubsetMerging(BUDGET, sensitive="s", public=asked, min_count=0))
    assert os.listdir(tmp_path) == ["bomb.parquet"]


@pytest.mark.slow
@on_linux
def test_a_text_page_whose_header_promises_two_gibibytes_is_refused(compressible, tmp_path):
    source = tmp_path / "liar.parquet"
    source.write_bytes(compressible)
    start = pq.read_metadata(source).row_group(0).column(1).data_page_offset
    assert compressible[start : start + 3] == b"\x15\x00\x15"  # a data page, then its unpacked size
    honest = compressible[start + 3 : start + 8]
    source.write_bytes(patched(compressible, honest, varint(2**31 - 1), start))
    done = release_limited(tmp_path, source.name)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr
    assert os.listdir(tmp_path) == ["liar.parquet"]


@pytest.mark.slow
@on_linux
def test_a_long_dictionary_value_used_by_every_row_does_not_multiply(tmp_path):
    source = tmp_path / "repeated.parquet"
    values = pa.array(["y" * (4 << 20), "z"])
    codes = pa.array(np.arange(4000) % 2, pa.int32())
    table = pa.table({"s": ["p", "n", "n", "p"] * 1000, "x": pa.DictionaryArray.from_arrays(codes, values)})
    pq.write_table(table, source, compression="zstd", dictionary_pagesize_limit=16 << 20)
    assert source.stat().st_size < 100_000  # decoded row by row it would be 8 GB
    done = release_limited(tmp_path, source.name)
    assert done.returncode in (0, 3), done.stderr
    assert len(done.stderr.splitlines()) == (done.returncode == 3)
    if done.returncode == 0:
        assert (tmp_path / "out.parquet").stat().st_size < 1 << 20
        assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 4000


# -------------------------------------------------------------------------------------- in memory

READ_BY_PANDAS = sorted(name for name in EXPECTED if name.endswith(".parquet"))


@pytest.mark.slow
@needs_data
@pytest.mark.filterwarnings("ignore:the index of the released frame", "ignore:next to nothing is kept")
@pytest.mark.parametrize("name", READ_BY_PANDAS)
def test_a_hostile_frame_that_pandas_reads_is_released_or_refused_in_one_line(name):
    if name == "apache/large_string_map.brotli.parquet":
        pytest.skip("pandas itself needs 2 GiB for this one")
    try:
        df = pd.read_parquet(HOSTILE / name)
    except Exception as error:
        pytest.skip(f"pandas cannot read it ({type(error).__name__})")
    for s, x, outcome in EXPECTED[name]:
        wanted = "" if outcome == CHECKSUM else outcome[1]  # pandas does not verify checksums
        if not {s, x} <= set(df.columns):  # pandas made an index of it
            wanted = "no column"
        elif not wanted and df[s].map(repr).nunique() == 1:  # of a damaged file pandas reads what we do not
            wanted = CONSTANT[1]
        if wanted:
            with pytest.raises(SanitizeError if wanted in (NO_ROWS[1], CONSTANT[1]) else ColumnError) as caught:
                sz.frames.release(df, sz.SubsetMerging(BUDGET, sensitive=[s], public=[x], min_count=0))
            if outcome == NESTED and "contains objects" in str(caught.value):
                wanted = "contains objects"
            check_error(str(caught.value), wanted, HOSTILE / name)
            continue
        released = sz.frames.release(df, sz.SubsetMerging(BUDGET, sensitive=[s], public=[x], min_count=0))
        assert list(released.columns) == [x]
        assert released.index.equals(df.index)
        assert symbols(released[x].tolist()) <= symbols(df[x].tolist())
        assert type(released[x].dtype) is type(df[x].dtype)
        shown = repr((released.dtypes.tolist(), released.attrs)) + released.to_csv(index=False)
        assert_hides(shown.encode(), [b"SECRET"], "the frame")


CSV_OUTCOMES = {
    "adult_raw_no_header_2000": None,
    "big_ints_floats": ("s", "x"),
    "bom": ("s", "x"),
    "duplicate_headers": ("s", "x"),
    "formula_injection": ("s", "x"),
    "leading_zero_codes": ("s", "zip"),
    "long_line": ("s", "x"),
    "na_is_a_value": ("s", "country"),
    "nul_bytes": ("s", "x"),
    "semicolon_decimal_comma": None,
}


@needs_data
@pytest.mark.parametrize("name", CSV_OUTCOMES)
def test_a_hostile_table_that_pandas_reads_from_text_keeps_its_values(name):
    df = pd.read_csv(HOSTILE / "csv" / f"{name}.csv")
    if CSV_OUTCOMES[name] is None:
        with pytest.raises(ColumnError, match="no columns 's', 'x' in the table"):
            sz.frames.release(df, sz.SubsetMerging(BUDGET, sensitive="s", public="x", min_count=0))
        return
    s, x = CSV_OUTCOMES[name]
    if df[s].nunique(dropna=False) < 2:
        with pytest.raises(NothingToProtect, match=f"{s!r} has one class"):
            sz.frames.release(df, sz.SubsetMerging(BUDGET, sensitive=s, public=x, min_count=0))
        return
    released = sz.frames.release(df, sz.SubsetMerging(BUDGET, sensitive=s, public=x, min_count=0))
    assert len(released) == len(df)
    assert released[x].dtype == df[x].dtype
    assert symbols(released[x].tolist()) <= symbols(df[x].tolist())


@needs_data
def test_a_table_with_a_header_and_no_rows_is_refused():
    df = pd.read_csv(HOSTILE / "csv" / "header_only.csv")
    with pytest.raises(ColumnError, match="no rows"):
        sz.frames.release(df, sz.SubsetMerging(BUDGET, sensitive="s", public="x", min_count=0))


@needs_data
def test_a_dictionary_with_a_null_among_its_values_is_released_from_memory():
    with pa.ipc.open_file(HOSTILE / "dictionary_with_null_value.arrow") as reader:
        table = reader.read_all()
    x = table.column_names[0]
    with_s = table.append_column("s", pa.array(["p", "n"] * (table.num_rows // 2)))
    released = sz.frames.release(with_s, sz.SubsetMerging(BUDGET, sensitive="s", public=x, min_count=0))
    assert released.num_rows == table.num_rows
    assert symbols(released.column(x).to_pylist()) <= symbols(table.column(x).to_pylist())
    assert released.schema.field(x).type == table.schema.field(x).type


# ------------------------------------------------------------------------- what page headers and footers announce


def test_a_page_that_unfolds_to_more_than_the_footer_says_is_refused_before_it_does(tmp_path):
    path = tmp_path / "bomb.parquet"
    plain = {"compression": "brotli", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table({"s": ["p", "n"], "x": [1, 2]}), path, **plain)
    content = path.read_bytes()
    at = pq.read_metadata(path).row_group(0).column(1).data_page_offset
    assert content[at : at + 3] == bytes([0x15, 0, 0x15])  # field 1, a data page; field 2, its size
    assert list(ParquetSource.open(path)._file_batches(path, ["x"], 10, None))
    path.write_bytes(content[: at + 3] + varint(63) + content[at + 4 :])
    with pytest.raises(SourceError, match="is damaged: the pages of a column do not match its footer"):
        list(ParquetSource.open(path)._file_batches(path, ["x"], 10, None))


def test_rows_that_a_file_cannot_hold_are_refused_unless_the_owner_says_so(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"x": np.zeros(1 << 18, np.int8)}), path)
    read = ParquetSource.open(path)
    assert sum(len(batch) for batch in read._file_batches(path, ["x"], 1 << 18, None)) == 1 << 18
    monkeypatch.setattr(footer, "_BOMB_ROWS", 1000)
    monkeypatch.setattr(footer, "_ROWS_A_BYTE", 1)
    with pytest.raises(
        SourceError,
        match=r"declares 262144 rows in \d+ bytes, more than 1000 rows and 1 per byte; .* made the file "
        r".*SANITIZE_TRUSTED=1",
    ):
        list(read._file_batches(path, ["x"], 10, None))
    monkeypatch.setenv("SANITIZE_TRUSTED", "1")
    assert sum(len(batch) for batch in read._file_batches(path, ["x"], 1 << 18, None)) == 1 << 18


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("sanitize.tables.files.parquet._FOOTER_BYTES", r"has a footer of \d+ bytes, more than 20;"),
        ("sanitize.tables.files.footer.MOST_VALUES", r"has a footer of more than 20 values;"),
    ],
)
def test_large_footers_are_refused_unless_the_owner_says_so(limit, words, tmp_path, monkeypatch):
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    monkeypatch.setattr(limit, 20)
    with pytest.raises(SourceError, match=words + r" .* If you made the file yourself, set SANITIZE_TRUSTED=1"):
        ParquetSource.open(path)
    monkeypatch.setenv("SANITIZE_TRUSTED", "1")
    assert ParquetSource.open(path).n_rows == 2


def test_whoever_trusts_a_file_reads_it_without_the_limits_of_arrow(tmp_path, monkeypatch):
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    limits = {"thrift_string_size_limit": 1 << 27, "thrift_container_size_limit": 1}
    monkeypatch.setattr("sanitize.tables.files.parquet._LIMITS", limits)
    with pytest.raises(SourceError):
        ParquetSource.open(path)
    monkeypatch.setenv("SANITIZE_TRUSTED", "1")
    assert ParquetSource.open(path).n_rows == 2


def test_columns_that_are_bombs_together_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    text = pa.array(["a" * (1 << 20), "b"])
    pq.write_table(pa.table({"x": text, "y": text}), path, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(footer, "_BOMB_BYTES", 3 << 19)
    assert list(ParquetSource.open(path)._file_batches(path, ["x"], 10, None))
    words = r"declares \d+ bytes, stored as \d+, more than 1572864 bytes per row group and 1000 times .* refused as a"
    with pytest.raises(SourceError, match=words):
        list(ParquetSource.open(path)._file_batches(path, ["x", "y"], 10, None))
