"""Damaged, lying, odd and malicious inputs: a correct release or one clear line, and nothing in between."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import math
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanitize as sz
from sanitize._files.csv import CsvSource
from sanitize.cli import main
from sanitize.errors import ColumnError, SanitizeError, SourceError
from sanitize.parquet import privatize_parquet
from sanitize.transformers import RandomizedResponse, SubsetMerging

csv.field_size_limit(1 << 20)
HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile"
BUDGET = sz.LiftBudget(lower=math.inf, upper=2.0)

RELEASED = (0, "")
NO_COLUMN = (3, "no column 'made_up'")
NESTED = (3, "cannot be sanitized")
DAMAGED = (3, "damaged or not supported")
NOT_PARQUET = (3, "is not a Parquet file")
DISTINCT = (3, "different value in most rows")
CHECKSUM = (3, "fails its checksum")
NO_ROWS = (3, "no rows")
ENCRYPTED = (3, "is encrypted")
TWICE = (3, "columns named 'x'")

_41317 = [f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in ("uint", "int")] + ["null", "float32", "string"]
_ALLTYPES = [f"{kind}_col" for kind in ("tinyint", "int", "bigint", "float", "double", "date_string", "string")]
NO_HEADER = (3, "must name the columns")

# Every file, the (sensitive, public) choices tried on it, and what must come of each.
EXPECTED: dict[str, list[tuple[str, str, tuple[int, str]]]] = {
    "all_null_sensitive.parquet": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "all_unique_public.parquet": [("s", "x", DISTINCT), ("x", "s", DISTINCT)],
    "bitflip_in_data.parquet": [("s", "x", DAMAGED), ("x", "s", DAMAGED)],
    "case_colliding_columns.parquet": [("X", "x", RELEASED), ("x", "X", RELEASED)],
    "constant_sensitive.parquet": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "dictionary_with_null_value.arrow": [("s", "x", NOT_PARQUET)],
    "duplicate_columns.parquet": [("s", "x", TWICE), ("x", "s", TWICE), ("s", "made_up", NO_COLUMN)],
    "empty_file.parquet": [("s", "x", NOT_PARQUET)],
    "float_specials.parquet": [("s", "f", RELEASED), ("f", "s", RELEASED)],
    "integers_beyond_float53_with_null.parquet": [("s", c, RELEASED) for c in "iub"] + [("i", "u", RELEASED)],
    "invalid_utf8.parquet": [("s", "x", (3, "not valid UTF-8")), ("x", "s", (3, "not valid UTF-8"))],
    "magic_only.parquet": [("s", "x", NOT_PARQUET)],
    "nested_types.parquet": [("s", "l", NESTED), ("s", "st", NESTED), ("m", "s", NESTED)],
    "null_type_column.parquet": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "odd_column_names.parquet": [("", " ", RELEASED), (" ", "a.b`\"'\n\t", RELEASED), ("a.b`\"'\n\t", "", RELEASED)],
    "pandas_index_and_attrs.parquet": [("s", "x", RELEASED), ("patient_id", "x", RELEASED)],
    "public_equals_sensitive.parquet": [("s", "x", RELEASED)],
    "row_order_reveals_sensitive.parquet": [("s", "x", RELEASED)],
    "secret_in_metadata.parquet": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "temporal_decimal.parquet": [("s", c, RELEASED) for c in ("t", "tz", "d", "tm", "du", "dec")],
    "ten_k_categories.parquet": [("s", "x", RELEASED)],
    "thousand_row_groups.parquet": [("s", "x", RELEASED)],
    "three_thousand_columns.parquet": [("c0", "c2999", RELEASED), ("c1500", "c7", RELEASED)],
    "truncated_footer.parquet": [("s", "x", (3, "cut off or damaged"))],
    "unicode_control_strings.parquet": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "unused_dictionary_value.parquet": [("s", "dx", RELEASED), ("dx", "s", RELEASED)],
    "very_long_strings.parquet": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "zero_rows.parquet": [("income", "edu", NO_ROWS), ("income", "age", NO_ROWS)],
    "apache/ARROW-GH-41317.parquet": [("boolean", c, RELEASED) for c in _41317]
    + [("boolean", "timestamp_us_no_tz", DAMAGED)],
    "apache/ARROW-GH-41321.parquet": [("boolean", c, DAMAGED if c == "int64" else RELEASED) for c in _41317],
    "apache/ARROW-GH-45185.parquet": [("x", "made_up", NO_COLUMN)],
    "apache/ARROW-GH-47662.parquet": [("flba_field", "made_up", NO_COLUMN)],
    "apache/ARROW-RS-GH-6229-LEVELS.parquet": [("outer", "made_up", NO_COLUMN)],
    "apache/PARQUET-1481.parquet": [("s", "x", DAMAGED)],
    "apache/alltypes_plain.parquet": [("bool_col", c, RELEASED) for c in ["id", *_ALLTYPES, "timestamp_col"]],
    "apache/binary.parquet": [("foo", "made_up", NO_COLUMN)],
    "apache/case-044.parquet": [("id", "var", NESTED), ("var", "id", NESTED)],
    "apache/case-084-INVALID.parquet": [("id", "var", NESTED), ("var", "id", NESTED)],
    "apache/data_index_bloom_encoding_stats.parquet": [("String", "made_up", NO_COLUMN)],
    "apache/datapage_v1-corrupt-checksum.parquet": [("a", "b", CHECKSUM), ("b", "a", CHECKSUM)],
    "apache/datapage_v2.snappy.parquet": [("a", c, RELEASED) for c in "bcd"] + [("a", "e", NESTED)],
    "apache/dict-page-offset-zero.parquet": [("l_partkey", "made_up", NO_COLUMN)],
    "apache/encrypt_columns_and_footer.parquet.encrypted": [("s", "x", ENCRYPTED)],
    "apache/fixed_length_byte_array.parquet": [("flba_field", "made_up", NO_COLUMN)],
    "apache/fixed_length_decimal.parquet": [("value", "made_up", NO_COLUMN)],
    "apache/floating_orders_nan_count.parquet": [
        ("float_ieee754", f"{kind}_{order}", RELEASED)
        for kind in ("double", "float16")
        for order in ("ieee754", "typedef")
    ],
    "apache/geospatial.parquet": [("group", "wkt", DISTINCT), ("group", "geometry", DISTINCT)],
    "apache/incorrect_map_schema.parquet": [("s", "x", DAMAGED)],
    "apache/int32_decimal.parquet": [("value", "made_up", NO_COLUMN)],
    "apache/int64_decimal.parquet": [("value", "made_up", NO_COLUMN)],
    "apache/int96_from_spark.parquet": [("a", "made_up", NO_COLUMN)],
    "apache/large_string_map.brotli.parquet": [("arr", "made_up", NO_COLUMN)],
    "apache/map_no_value.parquet": [("my_map", "my_list", NESTED)],
    "apache/nan_in_stats.parquet": [("x", "made_up", NO_COLUMN)],
    "apache/nested_lists.snappy.parquet": [("a", "b", NESTED), ("b", "a", NESTED)],
    "apache/nested_maps.snappy.parquet": [("a", "b", NESTED), ("b", "c", RELEASED)],
    "apache/null_list.parquet": [("emptylist", "made_up", NO_COLUMN)],
    "apache/nullable.impala.parquet": [("id", "int_array", NESTED), ("id", "nested_struct", NESTED)],
    "apache/old_list_structure.parquet": [("a", "made_up", NO_COLUMN)],
    "apache/overflow_i16_page_cnt.parquet": [("inc", "made_up", NO_COLUMN)],
    "apache/rle-dict-uncompressed-corrupt-checksum.parquet": [
        ("long_field", "binary_field", CHECKSUM),
        ("binary_field", "long_field", CHECKSUM),
    ],
    "apache/rle_boolean_encoding.parquet": [("datatype_boolean", "made_up", NO_COLUMN)],
    "apache/sort_columns.parquet": [("a", "b", RELEASED), ("b", "a", RELEASED)],
    "apache/uniform_encryption.parquet.encrypted": [("s", "x", ENCRYPTED)],
    "csv/adult_raw_no_header_2000.csv": [("s", "x", NO_HEADER), (" State-gov", " White", RELEASED)],
    "csv/big_ints_floats.csv": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "csv/bom.csv": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "csv/duplicate_headers.csv": [("s", "x", TWICE), ("s", "made_up", NO_HEADER)],
    "csv/formula_injection.csv": [("s", "x", RELEASED)],
    "csv/header_only.csv": [("s", "x", NO_ROWS)],
    "csv/leading_zero_codes.csv": [("s", "zip", RELEASED), ("zip", "s", RELEASED)],
    "csv/long_line.csv": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "csv/na_is_a_value.csv": [("s", "country", RELEASED)],
    "csv/nul_bytes.csv": [("s", "x", (3, "holds NUL bytes"))],
    "csv/ragged.csv": [("s", "x", (3, "has a row of 1 fields where its header has 2"))],
    "csv/semicolon_decimal_comma.csv": [("s", "x", NO_HEADER)],
    "csv/unterminated_quote.csv": [("s", "x", (3, "double quote that is not closed"))],
    "csv/utf16.csv": [("s", "x", (3, "is UTF-16"))],
}

# One-column files through a mechanism that needs no sensitive column, so that their data is read too.
ONE_COLUMN = {
    "apache/ARROW-GH-45185.parquet": ("x", NESTED),
    "apache/ARROW-GH-47662.parquet": ("flba_field", DAMAGED),
    "apache/ARROW-RS-GH-6229-LEVELS.parquet": ("outer", NESTED),
    "apache/binary.parquet": ("foo", RELEASED),
    "apache/data_index_bloom_encoding_stats.parquet": ("String", RELEASED),
    "apache/dict-page-offset-zero.parquet": ("l_partkey", RELEASED),
    "apache/fixed_length_byte_array.parquet": ("flba_field", DISTINCT),
    "apache/fixed_length_decimal.parquet": ("value", RELEASED),
    "apache/int32_decimal.parquet": ("value", RELEASED),
    "apache/int64_decimal.parquet": ("value", RELEASED),
    "apache/int96_from_spark.parquet": ("a", RELEASED),
    "apache/large_string_map.brotli.parquet": ("arr", NESTED),
    "apache/nan_in_stats.parquet": ("x", RELEASED),
    "apache/null_list.parquet": ("emptylist", NESTED),
    "apache/old_list_structure.parquet": ("a", NESTED),
    "apache/overflow_i16_page_cnt.parquet": ("inc", RELEASED),
    "apache/rle_boolean_encoding.parquet": ("datatype_boolean", RELEASED),
}

# Inputs that crash, hang or eat memory elsewhere: run apart, with 2 GiB of address space and a time-out.
APART = [
    "bitflip_in_data.parquet",
    "apache/ARROW-GH-41317.parquet",
    "apache/ARROW-GH-41321.parquet",
    "apache/PARQUET-1481.parquet",
    "apache/datapage_v1-corrupt-checksum.parquet",
    "apache/incorrect_map_schema.parquet",
    "apache/large_string_map.brotli.parquet",
]
APART_ONE_COLUMN = [
    "apache/ARROW-GH-45185.parquet",
    "apache/ARROW-GH-47662.parquet",
    "apache/ARROW-RS-GH-6229-LEVELS.parquet",
    "apache/large_string_map.brotli.parquet",
]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are kept on Linux only")
needs_data = pytest.mark.skipif(not HOSTILE.is_dir(), reason="the hostile files are not on this machine")

LIMITED = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
    "from sanitize.cli import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)
LIMITED_ONE_COLUMN = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
    "from sanitize.errors import SanitizeError\n"
    "from sanitize.parquet import privatize_parquet\n"
    "from sanitize.transformers import RandomizedResponse\n"
    "source, target, column = sys.argv[1:]\n"
    "try:\n"
    "    privatize_parquet(source, target, RandomizedResponse(1.0, public=[column]))\n"
    "except SanitizeError as error:\n"
    "    sys.exit(f'sanitize: {error}')\n"
)

CASES = [
    pytest.param(name, s, x, outcome, id=f"{name}-{s}-{x[:12]}".encode("unicode_escape").decode())
    for name, choices in EXPECTED.items()
    for s, x, outcome in choices
]


@pytest.fixture(autouse=True)
def _restore_process_state(monkeypatch):
    """`main` is a program: it sets the warning hook and the SIGTERM handler of its process."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def symbols(values) -> set:
    """Values with missing as None, -0.0 as 0.0, instants in UTC, and durations as Parquet has them: integers."""
    made = set()
    for value in values:
        if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
            made.add(None)
        elif isinstance(value, dt.datetime) and value.tzinfo is not None:
            made.add(value.astimezone(dt.UTC))
        elif isinstance(value, dt.timedelta):
            made.add(value // dt.timedelta(microseconds=1))
        else:
            made.add(value + 0.0 if isinstance(value, float) else value)
    return made


def source_column(path: Path, name: str) -> list:
    """One column of a source, the others left alone because some of them are broken."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return [row[name] or None for row in csv.DictReader(stream)]
    reader = pq.ParquetFile(path)
    found = [i for i, field in enumerate(reader.schema_arrow) if field.name == name]
    assert len(found) == 1
    return reader.read(columns=[name]).column(name).to_pylist()


def decoded_pieces(content: bytes):
    """Everything that looks like base64 in some bytes, decoded at every alignment."""
    for piece in re.findall(rb"[A-Za-z0-9+/]{8,}", content):
        for shift in range(4):
            cut = piece[shift:]
            yield base64.b64decode(cut[: len(cut) // 4 * 4])


def assert_hides(content: bytes, canaries: list[bytes], where: str) -> None:
    for canary in canaries:
        for shape in (canary, canary.decode().encode("utf-16-le"), canary[::-1]):
            assert shape not in content, f"{where} holds a canary"
    for piece in decoded_pieces(content):
        assert not any(canary in piece for canary in canaries), f"{where} holds a canary in base64"


def canaries(path: Path, s: str, x: str) -> list[bytes]:
    """Strings that no output may hold: planted ones, other columns' names, and texts of the sensitive column."""
    found = {b"SECRET"}
    with path.open(encoding="utf-8-sig", newline="", errors="ignore") as stream:
        names = next(csv.reader(stream)) if path.suffix == ".csv" else pq.read_schema(path).names
    public = symbols(source_column(path, x))
    for name in names:
        if name != x and len(name) >= 4 and name not in x:
            found.add(name.encode())
    for value in symbols(source_column(path, s)) - public if s in names else ():
        if isinstance(value, str) and len(value) >= 6 and not any(value in str(other) for other in public):
            found.add(value.encode())
    return sorted(found)


def check_release(target: Path, path: Path, s: str, x: str) -> None:
    """The output reads back whole, and holds nothing but values of the source's public column."""
    raw = source_column(path, x)
    released = pq.read_table(target)
    assert released.column_names == [x]
    assert released.num_rows == len(raw)
    assert symbols(released.column(x).to_pylist()) <= symbols(raw)
    assert released.validate(full=True) is None
    assert_hides(target.read_bytes(), canaries(path, s, x), target.name)
    assert sorted(pq.read_metadata(target).metadata) == [b"sanitize"]


def check_error(message: str, wanted: str, path: Path) -> None:
    """One line of a sane length that says the expected thing and quotes no value."""
    assert message.count("\n") == 0
    assert 10 < len(message) < 500
    assert message.isprintable()
    assert wanted in message
    assert "Traceback" not in message
    assert_hides(message.encode(), [b"SECRET"], f"the message about {path.name}")


def run_main(argv, capsys):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


# ------------------------------------------------------------------------------------------ the table


@needs_data
def test_every_hostile_file_has_an_expected_outcome():
    found = {
        path.relative_to(HOSTILE).as_posix()
        for path in HOSTILE.rglob("*")
        if path.is_file() and path.suffix != ".txt" and path.name != "MANIFEST.csv"
    }
    assert found == set(EXPECTED)


# -------------------------------------------------------------------------------------- file to file


@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_released_or_refused_in_one_line_by_the_function(name, s, x, outcome, tmp_path):
    source, target = HOSTILE / name, tmp_path / "out.parquet"
    sanitizer = SubsetMerging(BUDGET, sensitive=[s], public=[x])
    if outcome == RELEASED:
        assert privatize_parquet(source, target, sanitizer).ok
        check_release(target, source, s, x)
        assert os.listdir(tmp_path) == ["out.parquet"]
    else:
        with pytest.raises(SanitizeError) as caught:
            privatize_parquet(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []


@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_released_or_refused_in_one_line_by_the_command(name, s, x, outcome, tmp_path, capsys):
    source, target = HOSTILE / name, tmp_path / "out.parquet"
    code, out, err = run_main(
        ["release", str(source), "-o", str(target), "-s", s, "-x", x, "--lower", "inf", "--upper", "2"], capsys
    )
    assert code == outcome[0], err
    assert_hides(err.encode(), [b"SECRET"], "stderr")
    assert_hides(out.encode(), [b"SECRET"], "stdout")
    if outcome == RELEASED:
        assert err == ""
        check_release(target, source, s, x)
        assert os.listdir(tmp_path) == ["out.parquet"]
    else:
        assert out == ""
        assert err.startswith("sanitize: ")
        assert err.endswith("\n")
        check_error(err[:-1], outcome[1], source)
        assert os.listdir(tmp_path) == []


@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_audited_or_refused_in_one_line(name, s, x, outcome, capsys):
    code, out, err = run_main(["audit", str(HOSTILE / name), "-s", s, "-x", x, "--audience", "public"], capsys)
    assert code == outcome[0], err
    assert len(err.splitlines()) == (0 if outcome == RELEASED else 1)
    assert bool(out) == (outcome == RELEASED)
    assert_hides((out + err).encode(), [b"SECRET"], "the output")


NO_TEXT_FORM = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)


@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_released_or_refused_to_csv_as_to_parquet(name, s, x, outcome, tmp_path):
    """Same outcomes; what has no text form and NUL characters are refused with the column's name."""
    source, target = HOSTILE / name, tmp_path / "out.csv"
    sanitizer = SubsetMerging(BUDGET, sensitive=[s], public=[x])
    if outcome == RELEASED and not name.endswith(".csv"):
        dtype = pq.read_schema(source).field(x).type
        if any(test(dtype) for test in NO_TEXT_FORM):
            outcome = (3, "no text form in CSV")
        elif any("\0" in str(value) for value in source_column(source, x)):
            outcome = (3, "holds NUL characters")
    if outcome != RELEASED:
        with pytest.raises(SanitizeError) as caught:
            privatize_parquet(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []
        return
    assert privatize_parquet(source, target, sanitizer).ok
    opened = CsvSource.open(target)
    assert opened.schema.names == [x]
    assert opened.n_rows == len(source_column(source, x))
    assert_hides(target.read_bytes(), canaries(source, s, x), target.name)
    assert os.listdir(tmp_path) == ["out.csv"]


@needs_data
@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_file_is_released_or_refused_by_workers(name, tmp_path):
    """The first choice of each file through Dask's threads, which read Parquet only."""
    workers = pytest.importorskip("sanitize.dask", reason="Dask is not installed")
    s, x, outcome = EXPECTED[name][0]
    source, target = HOSTILE / name, tmp_path / "out"
    if name.endswith(".csv"):
        outcome = NOT_PARQUET
    sanitizer = SubsetMerging(BUDGET, sensitive=[s], public=[x])
    if outcome == RELEASED:
        assert workers.privatize_parquet(source, target, sanitizer).ok
        (part,) = target.iterdir()
        check_release(part, source, s, x)
        assert os.listdir(tmp_path) == ["out"]
    else:
        with pytest.raises(SanitizeError) as caught:
            workers.privatize_parquet(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []


@needs_data
@pytest.mark.parametrize("name", ONE_COLUMN)
def test_a_hostile_file_of_one_column_is_released_or_refused_in_one_line(name, tmp_path):
    x, outcome = ONE_COLUMN[name]
    source, target = HOSTILE / name, tmp_path / "out.parquet"
    sanitizer = RandomizedResponse(1.0, public=[x])
    if outcome == RELEASED:
        assert privatize_parquet(source, target, sanitizer).ok
        check_release(target, source, x, x)
        assert os.listdir(tmp_path) == ["out.parquet"]
    else:
        with pytest.raises(SanitizeError) as caught:
            privatize_parquet(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []


def limited(script: str, argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python program with 2 GiB of address space and a time-out."""
    return subprocess.run(
        [sys.executable, "-c", script, *argv], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@needs_data
@on_linux
@pytest.mark.parametrize("name", APART)
def test_an_input_that_crashes_other_readers_leaves_the_command_standing(name, tmp_path):
    s, x, outcome = EXPECTED[name][-1]
    done = limited(
        LIMITED,
        ["release", str(HOSTILE / name), "-o", "out.parquet", "-s", s, "-x", x, "--lower", "inf", "--upper", "2"],
        tmp_path,
    )
    assert done.returncode == outcome[0], done.stderr
    if outcome == RELEASED:
        assert done.stderr == ""
        check_release(tmp_path / "out.parquet", HOSTILE / name, s, x)
    else:
        assert len(done.stderr.splitlines()) == 1
        check_error(done.stderr[:-1], outcome[1], HOSTILE / name)
        assert os.listdir(tmp_path) == []


@needs_data
@on_linux
@pytest.mark.parametrize("name", APART_ONE_COLUMN)
def test_a_bomb_of_one_column_is_refused_within_two_gibibytes(name, tmp_path):
    x, outcome = ONE_COLUMN[name]
    done = limited(LIMITED_ONE_COLUMN, [str(HOSTILE / name), "out.parquet", x], tmp_path)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1
    check_error(done.stderr[:-1], outcome[1], HOSTILE / name)
    assert os.listdir(tmp_path) == []


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


def patched(content: bytes, honest: bytes, lie: bytes, start: int) -> bytes:
    """Bytes with the first occurrence of one number from ``start`` on replaced by another of the same length."""
    place = content.index(honest, start)
    assert len(honest) == len(lie)
    return content[:place] + lie + content[place + len(honest) :]


def varint(value: int) -> bytes:
    """A non-negative number as Thrift's compact protocol writes it: zigzag, seven bits a byte."""
    made, left = bytearray(), value << 1
    while left > 127:
        made.append(left & 127 | 128)
        left >>= 7
    return bytes([*made, left])


def release_limited(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    return limited(
        LIMITED,
        ["release", source, "-o", "out.parquet", "-s", "s", "-x", "x", "--lower", "inf", "--upper", "2"],
        folder,
    )


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
        privatize_parquet(source, tmp_path / "out.parquet", SubsetMerging(BUDGET, sensitive="s", public=asked))
    assert os.listdir(tmp_path) == ["bomb.parquet"]


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


@needs_data
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
        if wanted:
            with pytest.raises(ColumnError if wanted != NO_ROWS[1] else SanitizeError) as caught:
                sz.frame.release(df, sz.SubsetMerging(BUDGET, sensitive=[s], public=[x]))
            if outcome == NESTED and "holds objects" in str(caught.value):
                wanted = "holds objects"
            check_error(str(caught.value), wanted, HOSTILE / name)
            continue
        released = sz.frame.release(df, sz.SubsetMerging(BUDGET, sensitive=[s], public=[x]))
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
        with pytest.raises(ColumnError, match="no column 's' in the table"):
            sz.frame.release(df, sz.SubsetMerging(BUDGET, sensitive="s", public="x"))
        return
    s, x = CSV_OUTCOMES[name]
    released = sz.frame.release(df, sz.SubsetMerging(BUDGET, sensitive=s, public=x))
    assert len(released) == len(df)
    assert released[x].dtype == df[x].dtype
    assert symbols(released[x].tolist()) <= symbols(df[x].tolist())


@needs_data
def test_a_table_with_a_header_and_no_rows_is_refused():
    df = pd.read_csv(HOSTILE / "csv" / "header_only.csv")
    with pytest.raises(ColumnError, match="no rows"):
        sz.frame.release(df, sz.SubsetMerging(BUDGET, sensitive="s", public="x"))


@needs_data
def test_a_dictionary_with_a_null_among_its_values_is_released_from_memory():
    with pa.ipc.open_file(HOSTILE / "dictionary_with_null_value.arrow") as reader:
        table = reader.read_all()
    x = table.column_names[0]
    with_s = table.append_column("s", pa.array(["p", "n"] * (table.num_rows // 2)))
    released = sz.frame.release(with_s, sz.SubsetMerging(BUDGET, sensitive="s", public=x))
    assert released.num_rows == table.num_rows
    assert symbols(released.column(x).to_pylist()) <= symbols(table.column(x).to_pylist())
    assert released.schema.field(x).type == table.schema.field(x).type
