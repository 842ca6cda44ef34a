"""Damaged, lying, odd and malicious inputs: a correct release or one clear line, and nothing in between."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_cases import (
    BUDGET,
    CASES,
    DAMAGED,
    DISTINCT,
    EXPECTED,
    HOSTILE,
    LIMITED,
    NESTED,
    NOT_PARQUET,
    RELEASED,
    assert_hides,
    check_error,
    limited,
    needs_data,
    on_linux,
    source_column,
    symbols,
)

from sanitize.cli import main
from sanitize.engines.parquet import release_file
from sanitize.errors import SanitizeError
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.description import TableDescription
from sanitize.transformers import RandomizedResponse, SubsetMerging

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

LIMITED_ONE_COLUMN = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
    "from sanitize.errors import SanitizeError\n"
    "from sanitize.engines.parquet import release_file\n"
    "from sanitize.transformers import RandomizedResponse\n"
    "source, target, column = sys.argv[1:]\n"
    "try:\n"
    "    release_file(source, target, RandomizedResponse(1.0, public=[column], min_count=0))\n"
    "except SanitizeError as error:\n"
    "    sys.exit(f'sanitize: {error}')\n"
)


def canaries(path: Path, s: str, x: str) -> list[bytes]:
    """Strings that no output may hold: planted ones, other columns' names, and texts of the sensitive column."""
    found = {b"SECRET"}
    with path.open(encoding="utf-8-sig", newline="", errors="ignore") as stream:
        delimiter = ";" if "semicolon" in path.name else ","
        names = next(csv.reader(stream, delimiter=delimiter)) if path.suffix == ".csv" else pq.read_schema(path).names
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


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_released_or_refused_in_one_line_by_the_function(name, s, x, outcome, tmp_path):
    source, target = HOSTILE / name, tmp_path / "out.parquet"
    sanitizer = SubsetMerging(BUDGET, sensitive=[s], public=[x], min_count=0)
    if outcome == RELEASED:
        assert release_file(source, target, sanitizer).ok
        check_release(target, source, s, x)
        assert os.listdir(tmp_path) == ["out.parquet"]
    else:
        with pytest.raises(SanitizeError) as caught:
            release_file(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_released_or_refused_in_one_line_by_the_command(name, s, x, outcome, tmp_path, capsys):
    source, target = HOSTILE / name, tmp_path / "out.parquet"
    code, out, err = run_main(
        [
            "release",
            str(source),
            "-o",
            str(target),
            "-s",
            s,
            "-x",
            x,
            "--lower",
            "inf",
            "--upper",
            "2",
            "--min-count",
            "0",
        ],
        capsys,
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


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_audited_or_refused_in_one_line(name, s, x, outcome, capsys):
    if outcome != RELEASED and outcome[0] == 1:
        outcome = RELEASED  # a table may be looked at although there is nothing to protect in it
    code, out, err = run_main(["audit", str(HOSTILE / name), "-s", s, "-x", x, "--audience", "public"], capsys)
    assert code == outcome[0], err
    assert len(err.splitlines()) == (0 if outcome == RELEASED else 1)
    assert bool(out) == (outcome == RELEASED)
    assert_hides((out + err).encode(), [b"SECRET"], "the output")


NO_TEXT_FORM = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_released_or_refused_to_csv_as_to_parquet(name, s, x, outcome, tmp_path):
    """Same outcomes; what has no text form and NUL characters are refused with the column's name."""
    source, target = HOSTILE / name, tmp_path / "out.csv"
    sanitizer = SubsetMerging(BUDGET, sensitive=[s], public=[x], min_count=0)
    if outcome == RELEASED and not name.endswith(".csv"):
        dtype = pq.read_schema(source).field(x).type
        if any(test(dtype) for test in NO_TEXT_FORM):
            outcome = (3, "no text form in CSV")
        elif any("\0" in str(value) for value in source_column(source, x)):
            outcome = (3, "has NUL characters")
    if outcome != RELEASED:
        with pytest.raises(SanitizeError) as caught:
            release_file(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []
        return
    assert release_file(source, target, sanitizer).ok
    opened = CsvSource.open(target, description=TableDescription(header=True))
    assert opened.schema.names == [x]
    assert opened.n_rows == len(source_column(source, x))
    assert_hides(target.read_bytes(), canaries(source, s, x), target.name)
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_file_is_released_or_refused_by_workers(name, tmp_path):
    """The first choice of each file through Dask's threads, which read Parquet only."""
    workers = pytest.importorskip("sanitize.engines.dask", reason="Dask is not installed")
    s, x, outcome = EXPECTED[name][0]
    source, target = HOSTILE / name, tmp_path / "out"
    if name.endswith(".csv"):
        outcome = NOT_PARQUET
    sanitizer = SubsetMerging(BUDGET, sensitive=[s], public=[x], min_count=0)
    if outcome == RELEASED:
        assert workers.release_file(source, target, sanitizer).ok
        (part,) = target.iterdir()
        check_release(part, source, s, x)
        assert os.listdir(tmp_path) == ["out"]
    else:
        with pytest.raises(SanitizeError) as caught:
            workers.release_file(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", ONE_COLUMN)
def test_a_hostile_file_of_one_column_is_released_or_refused_in_one_line(name, tmp_path):
    x, outcome = ONE_COLUMN[name]
    source, target = HOSTILE / name, tmp_path / "out.parquet"
    sanitizer = RandomizedResponse(1.0, public=[x], min_count=0)
    if outcome == RELEASED:
        assert release_file(source, target, sanitizer).ok
        check_release(target, source, x, x)
        assert os.listdir(tmp_path) == ["out.parquet"]
    else:
        with pytest.raises(SanitizeError) as caught:
            release_file(source, target, sanitizer)
        check_error(str(caught.value), outcome[1], source)
        assert os.listdir(tmp_path) == []


@pytest.mark.slow
@needs_data
@on_linux
@pytest.mark.parametrize("name", APART)
def test_an_input_that_crashes_other_readers_leaves_the_command_standing(name, tmp_path):
    s, x, outcome = EXPECTED[name][-1]
    done = limited(
        LIMITED,
        [
            "release",
            str(HOSTILE / name),
            "-o",
            "out.parquet",
            "-s",
            s,
            "-x",
            x,
            "--lower",
            "inf",
            "--upper",
            "2",
            "--min-count",
            "0",
        ],
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


@pytest.mark.slow
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
