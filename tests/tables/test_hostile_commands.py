"""Damaged, lying, odd and malicious inputs through every other command: plan, init, verify as source and as release."""

from __future__ import annotations

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_cases import (
    CASES,
    CONSTANT,
    EXPECTED,
    HOSTILE,
    RELEASED,
    assert_hides,
    check_error,
    needs_data,
    source_column,
    symbols,
)

from sanitize.cli import main

BUDGET = ["--lower", "inf", "--upper", "2", "--min-count", "0"]
pytestmark = needs_data


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """A command in an empty folder: its exit code, what it printed, and its errors."""
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        code = main(list(map(str, argv)))
        return code, *capsys.readouterr()

    return call


def secrets(path, s, x):
    """What nothing may print: planted words, and texts of the sensitive column that are no names or public values."""
    public = {*symbols(source_column(path, x)), s, x}
    own = symbols(source_column(path, s)) - public
    texts = [value for value in own if isinstance(value, str) and len(value) >= 6]
    return [b"SECRET", *(text.encode() for text in texts if not any(text in str(other) for other in public))]


def assert_one_line(err, words, path):
    assert err.startswith("sanitize: ")
    assert err.count("\n") == 1
    check_error(err[:-1], words, path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "s", "x", "outcome"), CASES)
def test_a_hostile_file_is_planned_and_its_release_verified_or_refused_in_one_line(name, s, x, outcome, run):
    source, asked = HOSTILE / name, ["-s", s, "-x", x, *BUDGET]
    code, out, err = run("plan", source, *asked, "--audience", "public")
    assert code == outcome[0], err
    if outcome == CONSTANT:  # the plan says it at its head
        assert_hides(out.encode(), secrets(source, s, x), "the plan")
        assert CONSTANT[1] in out
        return
    if outcome != RELEASED:
        assert out == ""
        assert_one_line(err, outcome[1], source)
        assert os.listdir() == []
        pq.write_table(pa.table({x: pa.array([1, 2])}), "some.parquet")
        code, out, err = run("verify", "some.parquet", "--source", source, *asked)
        assert (code, out) == (outcome[0], "")
        assert_one_line(err, outcome[1], source)
        assert os.listdir() == ["some.parquet"]
        return
    assert err == ""
    hidden = secrets(source, s, x)
    assert_hides(out.encode(), hidden, "the plan")
    code, out, err = run("release", source, "-o", "out.parquet", *asked, "--audience", "public")
    assert (code, err) == (0, "")
    assert_hides(out.encode(), hidden, "the report")
    code, out, err = run("verify", "out.parquet", "--source", source, *asked)
    assert (code, err) == (0, ""), out
    assert_hides(out.encode(), hidden, "the verification")
    assert os.listdir() == ["out.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_file_is_no_release_of_another_table(name, run):
    """As what was released: each check says no, or one line why it cannot be read."""
    source = pa.table({"s": ["p", "q"] * 50, "x": ["a", "b", "c", "d"] * 25})
    pq.write_table(source, "raw.parquet")
    path = shutil.copy(HOSTILE / name, f"released{''.join((HOSTILE / name).suffixes)}")
    code, out, err = run("verify", path, "--source", "raw.parquet", "-s", "s", "-x", "x", *BUDGET)
    assert code in (1, 3)
    assert len(err.splitlines()) == 1
    assert_hides((out + err).encode(), [b"SECRET"], "the verification")
    assert ("FAIL" in out) == (code == 1)
    assert sorted(os.listdir()) == sorted(["raw.parquet", path])


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_policy_for_a_hostile_file_is_written_or_refused_in_one_line(name, run):
    code, out, err = run("init", HOSTILE / name, "-o", "policy.toml")
    assert code in (0, 3)
    assert out == ""
    assert len(err.splitlines()) == (code != 0)
    assert os.listdir() == (["policy.toml"] if code == 0 else [])
    if code == 0:
        with open("policy.toml", "rb") as file:
            assert_hides(file.read(), [b"SECRET"], "the policy")
