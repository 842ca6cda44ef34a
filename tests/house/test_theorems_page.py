"""THEOREMS.md and its index have every statement; the functions of the index import, and its tests exist."""

from __future__ import annotations

import ast
import csv
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ["Statement", "For all, or there is", "Claim", "Status"]
EXCEPTIONS = ["Statement", "For all, or there is", "In the paper", "What holds", "In numbers", "Status"]

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


def sections():
    """Tables under each heading that names a paper, the header row first; those of the exceptions by themselves."""
    found: dict[tuple[bool, str], list[list[str]]] = {}
    key = None
    for line in (ROOT / "THEOREMS.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"(###?) \[(\w+)\]", line):
            key = (heading[1] == "###", heading[2])
            found[key] = []
        elif line.startswith("|") and key is not None and not set(line) <= set("|- "):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found[key].append([cell.strip().replace(r"\|", "|") for cell in cells])
    return found


SECTIONS = sections()
ROWS = [(is_exception, key, *row) for (is_exception, key), table in SECTIONS.items() for row in table[1:]]
with (ROOT / "docs" / "theory" / "index_of_proofs.csv").open(encoding="utf-8", newline="") as file:
    INDEX = [*csv.DictReader(file)]


def statements(key):
    return [row[2] for row in ROWS if row[1] == key]


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("key", NUMBERED)
def test_every_numbered_statement_has_a_row(key):
    rows = statements(key)
    assert len(set(rows)) == len(rows)
    for kind, numbers in NUMBERED[key].items():
        for number in numbers:
            name = re.compile(rf"{kind} {re.escape(str(number))}(?![\d.])")
            assert any(name.match(statement) for statement in rows), f"[{key}] {kind} {number}"


def test_every_statement_and_claim_of_the_inventory_has_a_row():
    """Each entry of the inventory names the row it is in, and no row of the five papers stands for none."""
    with (ROOT / "tests" / "papers" / "inventory.csv").open(encoding="utf-8", newline="") as file:
        entries = [*csv.DictReader(file)]
    assert all(value for entry in entries for value in entry.values())
    named = {(entry["paper"], entry["row"]) for entry in entries}
    assert named == {(key, statement) for _, key, statement, *_ in ROWS if key != "PML"}


def test_the_index_has_the_statements_of_the_page():
    rows = [(entry["Paper"], entry["Statement"]) for entry in INDEX]
    assert sorted(rows) == sorted((key, statement) for _, key, statement, *_ in ROWS)


def test_the_papers_are_the_five_and_exceptions_come_first():
    assert {key for _, key in SECTIONS} == set(NUMBERED)
    assert [is_exception for is_exception, _ in SECTIONS] == sorted((part[0] for part in SECTIONS), reverse=True)
    assert len(statements("CY")) > 10


@pytest.mark.parametrize("section", SECTIONS, ids=str)
def test_every_row_has_a_quantifier_and_a_claim(section):
    header, *rows = SECTIONS[section]
    assert header == (EXCEPTIONS if section[0] else COLUMNS)
    for row in rows:
        assert len(row) == len(header)
        assert all(len(cell) > 1 for cell in row), row


def test_statuses_are_those_of_the_vocabulary_and_exceptions_are_not_true():
    text = (ROOT / "THEOREMS.md").read_text(encoding="utf-8")
    vocabulary = set(re.findall(r"^\| \*\*([\w ]+)\*\* \|", text, re.MULTILINE))
    assert {row[-1] for row in ROWS} == vocabulary
    for is_exception, key, statement, *_, status in ROWS:
        assert is_exception == (status != "true"), f"[{key}] {statement}"


def test_an_exception_has_its_case_in_numbers():
    for is_exception, key, statement, *_, numbers, _ in ROWS:
        if is_exception and not numbers.startswith("none"):
            assert re.search(r"\d", numbers), f"[{key}] {statement}"


@cache
def always_run(file):
    """Tests of a file of which at least one case, or a few examples, run without ``--slow`` (`tests/conftest.py`)."""
    found = set()
    for function in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef):
            kinds = [*map(ast.unparse, function.decorator_list)]
            slow = [kind for kind in kinds if kind.startswith("pytest.mark.slow")]
            has_cases = any(kind.startswith(("pytest.mark.parametrize", "given")) for kind in kinds)
            if not slow or (has_cases and "pytest.mark.slow(sampled=False)" not in slow):
                found.add(function.name)
    return found


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: f"{entry['Paper']} {entry['Statement']}")
def test_the_index_names_functions_that_import_and_tests_that_always_run(entry):
    assert quoted(entry["Functions"])
    assert quoted(entry["Tests"])
    for path in quoted(entry["Functions"]):
        module, _, name = path.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name)), path
    for node in quoted(entry["Tests"]):
        file, name = node.split("::")
        assert name in always_run(file), node


def test_a_figure_of_the_lift_paper_names_a_heading_of_its_page():
    named = [(row[2], row[-2]) for row in ROWS if row[-2].startswith("`docs/theory/figures.md`, *")]
    assert len(named) == 8
    for statement, claim in named:
        (path,) = quoted(claim)
        heading = re.search(r"\*(.+?)\*", claim).group(1)
        assert f"## {heading}\n" in (ROOT / path).read_text(encoding="utf-8"), statement
