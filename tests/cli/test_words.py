"""What the command says is in the words of its options and of policies, never in Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pandas as pd
import pyarrow.parquet as pq
import pytest
from cli_cases import assert_one_line, table

# Calls, keywords, dicts and constants of Python; `--option` and `key = value` are the command's own.
PYTHON = re.compile(r"\w\(\w+=|\b\w+=[\[{'\"\d]|\bNone\b|\bTrue\b|\bFalse\b|\.\w+\(\)")
POLICY = """
version = 1
{more}
[columns]
sensitive = ["illness"]
public = ["town", "floor"]
{columns}
[budget]
lower = 1.5
upper = 0.5
[channel]
{channel}
"""
REST = 'drop = ["age", "name"]'
CASES = {
    "settings that exclude one another": ("", REST, "confidence = 0.9\nsmoothing = 1.0", "use one of them"),
    "a kept column": ("", 'keep = ["age"]\ndrop = ["name"]', "confidence = 0.9", "leave confidence out"),
    "text with bins of numbers": ("", REST, "bins = { town = [0, 1] }", "cannot be binned"),
    "text with bins of dates": ("", REST, 'bins = { town = "year" }', "no date"),
    "a tree with bins": ("", REST, 'mechanism = "tree-merging"\nbins = { town = [0, 1] }', "cannot be binned"),
    "an order that tells": ('rows = "sorted"', REST, "", "rows must be one of"),
}


@pytest.mark.parametrize("command", ["plan", "release"])
@pytest.mark.parametrize("case", CASES)
def test_an_error_under_a_policy_speaks_policy(command, case, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more, columns, channel, words = CASES[case]
    pq.write_table(table(), "raw.parquet")
    (tmp_path / "policy.toml").write_text(POLICY.format(more=more, columns=columns, channel=channel))
    extra = ["-o", "out.parquet"] if command == "release" else []
    code, _, err = run(command, "raw.parquet", "-p", "policy.toml", *extra)
    assert code in (2, 3)
    assert words in err
    assert not PYTHON.search(err), err


def test_columns_without_a_law_are_named_together(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = table()
    pq.write_table(rows.append_column("id", [list(range(len(rows)))]), "raw.parquet")
    asked = ["raw.parquet", "-s", "illness", "-x", "town", "-x", "name", "-x", "id", "-e", "1"]
    code, out, err = run("release", *asked, "-o", "out.parquet")
    assert (code, out) == (3, "")
    assert "public column 'name', public column 'id'" in err
    assert not PYTHON.search(err), err
    code, out, err = run("plan", *asked)
    assert code == 3
    assert 'drop = ["name"]' in out
    assert "id = { learned = [" in out
    assert "public column 'name', public column 'id'" in err


# ----------------------------------------------------------------------------------------------- what is printed where


def test_a_terminal_that_cannot_spell_a_name_is_told_it_in_escapes(tmp_path):
    pd.DataFrame({"ill": ["y", "n", "n"] * 40, "gehalt €": ["A", "B"] * 60}).to_parquet(tmp_path / "raw.parquet")
    for encoding in ("ascii", "cp1250"):
        done = subprocess.run(
            [sys.executable, "-m", "sanitize", "audit", "raw.parquet", "-s", "ill", "-x", "gehalt €"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        spelt = "gehalt €".encode(encoding, "backslashreplace")
        assert b"released: " + spelt in done.stdout


def test_a_message_is_one_line_of_a_thousand_characters_at_most(tmp_path, run):
    names = {f"{k}" * 100_000: ["A", "B"] * 5 for k in range(2)}
    pd.DataFrame({"ill": ["y", "n"] * 5, **names}).to_parquet(tmp_path / "long.parquet")
    code, _, err = run("audit", tmp_path / "long.parquet", "-s", "ill", "-x", "absent")
    assert code == 3
    assert_one_line(err, "no column 'absent' in the table")
    assert len(err) < 1100


def test_a_drafted_policy_shows_every_character_of_a_name(tmp_path, run):
    names = ["ab\u202ecd", "tab\tbed", "zero\u200bwidth", 'quote"d', "é"]
    pd.DataFrame({name: ["A", "B"] * 50 for name in names}).to_parquet(tmp_path / "raw.parquet")
    code, text, _ = run("init", tmp_path / "raw.parquet")
    assert code == 0
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "é" in text
    assert set(tomllib.loads(text)["columns"]["public"]) == set(names)


def test_a_table_without_rows_is_said_to_have_none(tmp_path, run):
    (tmp_path / "empty.csv").write_text("ill,age\n")
    for mechanism in ("tree-merging", "tree-random-response", "subset-merging"):
        asked = ["-s", "ill", "-x", "age", "--lower", "1", "--upper", "1", "-m", mechanism]
        for command in (["plan"], ["release", "-o", tmp_path / "out.csv"]):
            code, _, err = run(command[0], tmp_path / "empty.csv", *command[1:], *asked)
            assert code == 3
            assert_one_line(err, "the table has no rows")


def test_kinds_of_files_that_are_not_written_are_refused_and_names_like_formulas_told(tmp_path, run):
    pd.DataFrame({"ill": ["y", "n", "n"] * 40, "=cmd|x": ["A", "B"] * 60}).to_parquet(tmp_path / "raw.parquet")
    asked = ["release", tmp_path / "raw.parquet", "-s", "ill", "-x", "=cmd|x", "--lower", "1", "--upper", "1"]
    for name in ("a.xlsx", "a.csv.gz", "a.json"):
        code, _, err = run(*asked, "-o", tmp_path / name)
        assert code == 4
        assert_one_line(err, f"{name} is of a kind that is not written; name a .csv or a .parquet")
    code, out, _ = run(*asked, "-o", tmp_path / "a.csv")
    assert code == 0
    assert "texts or names of '=cmd|x' start with a sign that spreadsheets take for a formula" in " ".join(out.split())
