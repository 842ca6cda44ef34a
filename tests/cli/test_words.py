"""What the command says is in the words of its options and of policies, never in Python."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest
from cli_cases import table

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
    assert "id = [" in out
    assert "public column 'name', public column 'id'" in err
