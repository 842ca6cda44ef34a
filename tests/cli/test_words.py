"""What the command says is in the words of its options and of policies, never in Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
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
    "settings that exclude one another": ("", REST, "confidence = 0.9\nsmoothing = 1.0", "leave one of them out"),
    "a kept column": ("", 'keep = ["age"]\ndrop = ["name"]', "confidence = 0.9", "leave confidence out"),
    "text with bins of numbers": ("", REST, "bins = { town = [0, 1] }", "bins cannot have numbers"),
    "text with bins of dates": ("", REST, 'bins = { town = "year" }', "not a date"),
    "classes with bins": (
        "",
        REST,
        'mechanism = "latent-classes"\nbins = { town = [0, 1] }',
        "bins cannot have numbers",
    ),
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


def test_columns_without_a_distribution_are_named_together(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = table()
    pq.write_table(rows.append_column("id", [list(range(len(rows)))]), "raw.parquet")
    asked = ["raw.parquet", "-s", "illness", "-x", "town", "-x", "name", "-x", "id", "--lower=1", "--upper=1"]
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


@pytest.mark.slow
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


# Controls, formats that turn or hide text, and the ends of lines and paragraphs that no one expects.
HIDDEN = [chr(code) for code in range(sys.maxunicode) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")]


def assert_shown(text: str) -> None:
    assert [character for character in text if character != "\n" and not character.isprintable()] == []


@pytest.mark.parametrize(
    "argv",
    [
        ["{}"],
        ["audit", "{}", "-s", "ill", "-x", "town"],
        ["audit", "raw.parquet", "-s", "ill", "-x", "{}"],
        ["audit", "raw.parquet", "-s", "ill", "-x", "town", "--audience", "{}"],
        ["audit", "raw.parquet", "-s", "ill", "-x", "town", "--{}"],
        ["release", "raw.parquet", "-o", "{}", "-s", "ill", "-x", "town", "--lower", "1", "--upper", "1"],
        [
            "release",
            "raw.parquet",
            "-o",
            "o.parquet",
            "-s",
            "ill",
            "-x",
            "town",
            "--lower",
            "1",
            "--upper",
            "1",
            "--bins",
            "{}=1,2",
        ],
        [
            "release",
            "raw.parquet",
            "-o",
            "o.parquet",
            "-s",
            "ill",
            "-x",
            "town",
            "--lower",
            "1",
            "--upper",
            "1",
            "-m",
            "{}",
        ],
        ["report", "{}"],
    ],
)
@pytest.mark.parametrize("word", ["x" * 100_000, "a\x1b[31m\nb\u202e"], ids=["long", "hidden"])
def test_what_was_typed_comes_back_on_one_short_line_that_shows_it(word, argv, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"ill": ["y", "n"] * 9, "town": ["A", "B"] * 9}).to_parquet("raw.parquet")
    code, out, err = run(*(piece.format(word) for piece in argv))
    assert code in (1, 2, 3, 4)
    assert out == ""
    assert err.count("\n") == 1
    assert len(err) < 1000
    assert_shown(err)


def test_a_drafted_policy_shows_every_character_of_a_name(tmp_path, run):
    names = [f"a{hidden}b" for hidden in HIDDEN] + ['quote"d', "é", "back\\slash"]
    pq.write_table(pa.table({name: ["A", "B"] * 50 for name in names}), tmp_path / "raw.parquet")
    code, text, _ = run("init", tmp_path / "raw.parquet")
    assert code == 0
    assert_shown(text)
    assert "é" in text
    assert set(tomllib.loads(text)["columns"]["public"]) == set(names)


def test_no_line_of_a_drafted_policy_comes_from_the_name_of_a_type(tmp_path, run):
    """A time zone is any text, and would be a line of its own behind the mark of a comment."""
    zone = 'UTC\n]\nkeep = ["id"]\n#\u202e'
    days = pa.array(range(60), pa.timestamp("us", zone))
    other = pa.opaque(pa.string(), "kind", "\n]\ndrop = []\n#").wrap_array(pa.array(["x", "y"] * 30))
    table = pa.table({"id": ["A", "B"] * 30, "day": days, "days": days.dictionary_encode(), "other": other})
    pq.write_table(table, tmp_path / "raw.parquet")
    code, text, err = run("init", tmp_path / "raw.parquet")
    assert code == 0, err
    assert_shown(text)
    columns = tomllib.loads(text)["columns"]
    assert columns["keep"] == columns["sensitive"] == []
    assert set(columns["public"] + columns["drop"]) == set(table.column_names)


@pytest.mark.parametrize("end", ["text", "html"])
def test_proposed_lines_show_every_character_of_a_name(end, tmp_path, run):
    rng, n = np.random.default_rng(0), 400
    hidden = "".join(HIDDEN[::7])
    table = {
        "ill": rng.choice(["y", "n"], n),
        f"number{hidden}": rng.integers(0, 300, n),
        f"day{hidden}": pa.array(rng.integers(0, 90, n), pa.int32()).view(pa.date32()),
        f"town{hidden}": [f"town {k % 99}" for k in range(n)],
        f"name{hidden}": [f"name {k}" for k in range(n)],
    }
    pq.write_table(pa.table(table), tmp_path / "raw.parquet")
    names = [option for name in list(table)[1:4] for option in ("-x", name)]
    asked = ["plan", tmp_path / "raw.parquet", "-s", "ill", "--lower", "1", "--upper", "1", "-m"]
    if end == "html":
        assert run(*asked, "latent-classes", *names, "--html", tmp_path / "plan.html")[0] == 0
        text = (tmp_path / "plan.html").read_text()
        assert "town" in text
    else:
        code, text, _ = run(*asked, "subset-merging", *names, "-x", list(table)[-1])
        assert code == 3
        assert "drop = [" in text
    assert_shown(text)


def test_a_table_without_rows_is_said_to_have_none(tmp_path, run):
    (tmp_path / "empty.csv").write_text("ill,age\n")
    for mechanism in ("latent-classes", "subset-merging"):
        asked = ["-s", "ill", "-x", "age", "--lower", "1", "--upper", "1", "-m", mechanism]
        for command in (["plan"], ["release", "-o", tmp_path / "out.csv"]):
            code, _, err = run(command[0], tmp_path / "empty.csv", *command[1:], *asked)
            assert code == 3
            assert_one_line(err, "the table has no rows")


def test_kinds_of_files_that_are_not_written_are_refused_and_names_like_formulas_told(tmp_path, run):
    pd.DataFrame({"ill": ["y", "n", "n"] * 40, "=cmd|x": ["A", "B"] * 60}).to_parquet(tmp_path / "raw.parquet")
    asked = ["release", tmp_path / "raw.parquet", "-s", "ill", "-x", "=cmd|x", "--lower", "1", "--upper", "1"]
    for name in ("a.xlsx", "a.csv.gz", "a.json", "a.html", "a.txt", "a.CSV.BZ2", "a.parquet.tmp", "a.pkl", "a.v2"):
        code, _, err = run(*asked, "-o", tmp_path / name)
        assert code == 4
        assert_one_line(err, f"{name} has a suffix that cannot be written; name a .csv or .parquet file")
    code, out, _ = run(*asked, "-o", tmp_path / "a.csv", "--full")
    assert code == 0
    assert "texts or names of '=cmd|x' start with a sign that spreadsheets take for a formula" in " ".join(out.split())
