"""THEOREMS.md is complete and true: every statement has its row, every function imports, every test exists."""

from __future__ import annotations

import csv
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STATUSES = {"as printed", "corrected", "bound only", "false", "proof step"}
COLUMNS = ["Statement", "Function", "Test", "Status", "Note"]

# Numbered statements of each paper. [CY] numbers none.
NUMBERED = {
    "ZDS": {
        "Definition": range(1, 7),
        "Proposition": range(1, 8),
        "Theorem": [1],
        "Algorithm": [1],
        "Figure": range(1, 9),
    },
    "WXH": {
        "Definition": range(1, 25),
        "Proposition": range(1, 9),
        "Lemma": range(1, 8),
        "Corollary": range(1, 7),
        "Theorem": ["2.1", "3.1", "5.1", "6.1", "7.1", "7.2"],
        "Example": [1],
        "Figure": [1, 2],
    },
    "WYZ": {"Definition": range(1, 5), "Theorem": [1, 2], "Lemma": range(1, 6), "Figure": [1, 2, 3]},
    "ZB": {
        "Definition": [1, 2, 3, 4, 19],
        "Lemma": [5, 10, 11, 16, *range(20, 28), 33, 34],
        "Theorem": [6, 7, 9, 13, 14, 17, 18],
        "Proposition": [8, 12, *range(28, 33)],
        "Corollary": [15],
        "Figure": [1, 3, 4],
    },
    "CY": {},
    "PML": {},
}


def tables():
    """Rows of cells under each paper's heading, the header row first."""
    found: dict[str, list[list[str]]] = {}
    key = None
    for line in (ROOT / "THEOREMS.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            key = line[line.index("[") + 1 : line.index("]")]
            found[key] = []
        elif line.startswith("|") and key is not None and not set(line) <= set("|- "):
            found[key].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


TABLES = tables()
ROWS = [(key, *row) for key, rows in TABLES.items() for row in rows[1:]]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("key", NUMBERED)
def test_every_numbered_statement_has_a_row(key):
    statements = [row[0] for row in TABLES[key][1:]]
    assert len(set(statements)) == len(statements)
    for kind, numbers in NUMBERED[key].items():
        for number in numbers:
            name = re.compile(rf"{kind} {re.escape(str(number))}(?![\d.])")
            assert any(name.match(statement) for statement in statements), f"[{key}] {kind} {number}"


def test_every_statement_and_claim_of_the_inventory_has_a_row():
    """Each entry of the inventory names the row it is in, and no row of the five papers stands for none."""
    with (ROOT / "tests" / "papers" / "inventory.csv").open(encoding="utf-8", newline="") as file:
        entries = [*csv.DictReader(file)]
    assert all(value for entry in entries for value in entry.values())
    named = {(entry["paper"], entry["row"]) for entry in entries}
    rows = {(key, row[0].replace(r"\|", "|")) for key, table in TABLES.items() for row in table[1:] if key != "PML"}
    assert named == rows


def test_the_papers_are_the_five():
    assert set(TABLES) == set(NUMBERED)
    assert len(TABLES["CY"]) > 10


@pytest.mark.parametrize("key", NUMBERED)
def test_no_cell_is_empty(key):
    assert TABLES[key][0] == COLUMNS
    for row in TABLES[key]:
        assert len(row) == len(COLUMNS)
        assert all(row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_a_row_names_functions_that_import_and_tests_that_exist(row):
    _, _, functions, tests, status, _ = row
    assert status in STATUSES
    assert quoted(functions)
    assert quoted(tests)
    for path in quoted(functions):
        module, _, name = path.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name)), path
    for node in quoted(tests):
        file, name = node.split("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {re.escape(name)}\(", source, re.MULTILINE), node


def test_a_figure_of_the_lift_paper_names_a_heading_of_its_page():
    named = [(statement, note) for _, statement, *_, note in ROWS if note.startswith("`docs/theory/figures.md`, *")]
    assert len(named) == 8
    for statement, note in named:
        (path,) = quoted(note)
        heading = re.search(r"\*(.+?)\*", note).group(1).replace("\\|", "|")
        assert f"## {heading}\n" in (ROOT / path).read_text(encoding="utf-8"), statement


def test_what_is_false_or_corrected_says_why():
    for key, statement, _, _, status, note in ROWS:
        if status in {"false", "corrected", "proof step"}:
            assert len(note) > 3, f"[{key}] {statement}"
