"""What the tests split from hostile share: tables, releases and oracles."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import math
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import sanitize as sz

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

# The sensitive column has one value in all rows.
CONSTANT = (1, "NOTHING TO PROTECT")

_41317 = [f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in ("uint", "int")] + ["null", "float32", "string"]

_ALLTYPES = [f"{kind}_col" for kind in ("tinyint", "int", "bigint", "float", "double", "date_string", "string")]

NO_HEADER = (3, "must name the columns")
NO_NAMES = (3, "looks like a row")

# Every file, the (sensitive, public) choices tried on it, and what must come of each.
EXPECTED: dict[str, list[tuple[str, str, tuple[int, str]]]] = {
    "all_null_sensitive.parquet": [("s", "x", CONSTANT), ("x", "s", RELEASED)],
    "all_unique_public.parquet": [("s", "x", DISTINCT), ("x", "s", DISTINCT)],
    "bitflip_in_data.parquet": [("s", "x", DAMAGED), ("x", "s", DAMAGED)],
    "case_colliding_columns.parquet": [("X", "x", RELEASED), ("x", "X", RELEASED)],
    "constant_sensitive.parquet": [("s", "x", CONSTANT), ("x", "s", RELEASED)],
    "dictionary_with_null_value.arrow": [("s", "x", (3, "write it as Parquet first"))],
    "duplicate_columns.parquet": [("s", "x", TWICE), ("x", "s", TWICE), ("s", "made_up", NO_COLUMN)],
    "empty_file.parquet": [("s", "x", NOT_PARQUET)],
    "float_specials.parquet": [("s", "f", RELEASED), ("f", "s", RELEASED)],
    "integers_beyond_float53_with_null.parquet": [("s", c, RELEASED) for c in "iub"] + [("i", "u", RELEASED)],
    "invalid_utf8.parquet": [("s", "x", (3, "not valid UTF-8")), ("x", "s", (3, "not valid UTF-8"))],
    "magic_only.parquet": [("s", "x", NOT_PARQUET)],
    "nested_types.parquet": [("s", "l", NESTED), ("s", "st", NESTED), ("m", "s", NESTED)],
    "null_type_column.parquet": [("s", "x", RELEASED), ("x", "s", CONSTANT)],
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
    "apache/nested_maps.snappy.parquet": [("a", "b", NESTED), ("b", "c", CONSTANT)],
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
    "csv/adult_raw_no_header_2000.csv": [("s", "x", NO_NAMES), (" State-gov", " White", NO_NAMES)],
    "csv/big_ints_floats.csv": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "csv/bom.csv": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "csv/duplicate_headers.csv": [("s", "x", TWICE), ("s", "made_up", NO_HEADER)],
    "csv/formula_injection.csv": [("s", "x", RELEASED)],
    "csv/header_only.csv": [("s", "x", NO_ROWS)],
    "csv/leading_zero_codes.csv": [("s", "zip", RELEASED), ("zip", "s", RELEASED)],
    "csv/long_line.csv": [("s", "x", CONSTANT), ("x", "s", CONSTANT)],
    "csv/na_is_a_value.csv": [("s", "country", RELEASED)],
    "csv/nul_bytes.csv": [("s", "x", (3, "contains NUL bytes"))],
    "csv/ragged.csv": [("s", "x", (3, "has a row of 1 fields, but its header has 2"))],
    "csv/semicolon_decimal_comma.csv": [("s", "x", RELEASED), ("x", "s", RELEASED)],
    "csv/unterminated_quote.csv": [("s", "x", (3, "has an open double quote"))],
    "csv/utf16.csv": [("s", "x", (3, "is UTF-16"))],
}

CASES = [
    pytest.param(name, s, x, outcome, id=f"{name}-{s}-{x[:12]}".encode("unicode_escape").decode())
    for name, choices in EXPECTED.items()
    for s, x, outcome in choices
]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are kept on Linux only")

needs_data = pytest.mark.skipif(not HOSTILE.is_dir(), reason="the hostile files are not on this machine")

LIMITED = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
    "from sanitize.cli import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


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
            delimiter = ";" if "semicolon" in path.name else ","
            return [row[name] or None for row in csv.DictReader(stream, delimiter=delimiter)]
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


def check_error(message: str, wanted: str, path: Path) -> None:
    """One line of a sane length that says the expected thing and quotes no value."""
    assert message.count("\n") == 0
    assert 10 < len(message) < 500
    assert message.isprintable()
    assert wanted in message
    assert "Traceback" not in message
    assert_hides(message.encode(), [b"SECRET"], f"the message about {path.name}")


def limited(script: str, argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python program with 2 GiB of address space and a time-out."""
    return subprocess.run(
        [sys.executable, "-c", script, *argv], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


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
