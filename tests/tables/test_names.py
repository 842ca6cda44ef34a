"""Names, numbers and nesting that nobody means: one line from every command, before anything is read or written."""

from __future__ import annotations

import decimal
import os
import resource
import sys
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands_cases import POLICY, SETTINGS, assert_line, left_in, table

import sanitize as sz
from sanitize.cli import main
from sanitize.core.binning import Grid
from sanitize.errors import ColumnError, InvalidParameter, PolicyError
from sanitize.policy import Policy

BUDGET = sz.LiftBudget(lower=2.0, upper=1.0)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(100), "raw.parquet")
    Path("policy.toml").write_text(POLICY)
    os.symlink("ring.parquet", "link.parquet")
    os.symlink("link.parquet", "ring.parquet")
    return tmp_path


USELESS = {"NUL": ("a\0.parquet", "a NUL character"), "long": ("n" * 300 + ".parquet", "too long for a file")}
LOOP = {"loop": ("link.parquet", "leads around in a circle")}
RELEASE = ["release", "raw.parquet", "-o", "out.parquet", *SETTINGS]
COMMANDS = {
    "input": (3, ["release", "{}", "-o", "out.parquet", *SETTINGS]),
    "audit": (3, ["audit", "{}", "-s", "illness", "-x", "town"]),
    "init": (3, ["init", "{}"]),
    "verify": (3, ["verify", "{}", "--source", "raw.parquet", *SETTINGS]),
    "report": (3, ["report", "{}"]),
    "output": (4, ["release", "raw.parquet", "-o", "{}", *SETTINGS]),
    "report of a release": (4, [*RELEASE, "--report", "{}"]),
    "policy to write": (4, ["init", "raw.parquet", "-o", "{}"]),
    "policy": (2, ["release", "raw.parquet", "-o", "out.parquet", "-p", "{}"]),
}


@pytest.mark.parametrize(("name", "words"), (USELESS | LOOP).values(), ids=USELESS | LOOP)
@pytest.mark.parametrize(("code", "argv"), COMMANDS.values(), ids=COMMANDS)
def test_a_name_that_no_file_can_have_is_refused_in_one_line(code, argv, name, words, place, capsys):
    before = left_in(place)
    assert main([word.format(name) for word in argv]) == code
    err = capsys.readouterr().err
    assert_line(err, words)
    assert len(err) < 300
    assert left_in(place) == before


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_a_name_that_is_not_utf8_is_a_name(place, capsys):
    raw, out = os.fsdecode(b"raw\xff.parquet"), os.fsdecode(b"out\xff.parquet")
    os.rename("raw.parquet", raw)
    for end in ("json", "html", "txt"):
        argv = ["release", raw, "-o", out, "--force", *SETTINGS, "--report", os.fsdecode(b"report\xff.") + end]
        assert main(argv) == 0, capsys.readouterr().err
    assert main(["verify", out, "--source", raw, *SETTINGS]) == 0, capsys.readouterr()
    with open(out, "rb") as stream:
        assert pq.read_table(stream).num_rows == 100


DIGITS = "9" * 400
LONGER = "9" * 5000


@pytest.mark.parametrize("digits", [DIGITS, LONGER], ids=["400", "5000"])
@pytest.mark.parametrize("option", ["--lower", "--min-count", "--smoothing", "--bins"])
def test_numbers_of_hundreds_of_digits_are_refused_as_arguments(option, digits, place, capsys):
    value = f"floor=0,{digits}" if option == "--bins" else digits
    assert main([*RELEASE, option, value]) == 2
    err = capsys.readouterr().err
    assert len(err) < 800
    assert err.count("\n") == 1
    assert not Path("out.parquet").exists()


def test_numbers_of_hundreds_of_digits_are_refused_in_policies():
    for digits in (DIGITS, LONGER):
        for key in ("version = 1", "lower = 1.5"):
            with pytest.raises(PolicyError) as caught:
                Policy.from_toml(POLICY.replace(key, f"{key.partition('=')[0]}= {digits}"))
            assert len(str(caught.value)) < 300


DEEP = {
    "arrays": "x = " + "[" * 15_000 + "]" * 15_000,
    "tables": "x = " + "{a = " * 6_000 + "1" + "}" * 6_000,
    "keys": "a." * 15_000 + "b = 1",
    "headers": "[" + "a." * 15_000 + "b]",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_refused_before_it_costs_memory(text):
    """Thirty kilobytes used to take gigabytes or end in a RecursionError."""
    with pytest.raises(PolicyError, match=r"is not a policy: .*more than 20"):
        Policy.from_toml(text + "\n" + POLICY)


def test_dots_in_names_comments_and_numbers_are_no_nesting():
    dotted = '"' + "a." * 40 + '"'
    text = POLICY.replace('"age"', f"{dotted}, '{'b.' * 40}'") + "# " + "." * 60 + "\n"
    assert "a." * 40 in Policy.from_toml(text).drop


def test_grids_beyond_a_million_symbols_are_refused_before_memory_is_taken():
    values = pa.array([1.0, 2.0, 3.0])
    for step in (1e-12, 5e-324):
        with pytest.raises(InvalidParameter, match="step of 'x' must give at most 1048576 points"):
            Grid.from_bounds("x", (0.0, 1e3), step, 100, values)
    with pytest.raises(InvalidParameter, match="must give at most"):
        Grid.from_bounds("x", (0.0, 1.0), None, 10**9, values)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20  # kilobytes


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal32(5, 2)), {"1.50", "-2.25"}),
        (pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal64(12, 2)), {"1.50", "-2.25"}),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 0], pa.int8())), {"1", "0"}),
    ],
    ids=["decimal32", "decimal64", "bool8"],
)
def test_types_that_arrow_cannot_encode_as_dictionaries_are_written_as_csv(column, words, tmp_path):
    raw, out = tmp_path / "raw.parquet", tmp_path / "out.csv"
    rows = pa.array([0, 1, 2] * 50)
    pq.write_table(pa.table({"s": ["p", "n", "n", "p", "p"] * 30, "x": column.take(rows)}), raw)
    sanitizer = sz.SubsetMerging(BUDGET, sensitive="s", public="x")
    sz.release_file(raw, out, sanitizer)
    assert set(out.read_text().split()) <= {"x", "", *words}
    assert sz.verify_file(out, raw, sanitizer).ok


def test_identifiers_have_no_text_form_in_csv(tmp_path):
    raw = tmp_path / "raw.parquet"
    storage = pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes] * 50, pa.binary(16))
    pq.write_table(pa.table({"s": ["p", "n"] * 50, "x": pa.ExtensionArray.from_storage(pa.uuid(), storage)}), raw)
    with pytest.raises(ColumnError, match=r"column 'x' is .*uuid.*no text form in CSV"):
        sz.release_file(raw, tmp_path / "out.csv", sz.SubsetMerging(BUDGET, sensitive="s", public="x"))
    assert left_in(tmp_path) == ["raw.parquet"]
