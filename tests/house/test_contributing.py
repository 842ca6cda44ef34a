"""The map for contributors is that of the house, and every path that a page names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
TASKS = (
    "add a budget",
    "add a mechanism",
    "add a file format",
    "change the HTML report",
    "add a trade-off",
    "add a measure",
    "add a command",
    "change what verify says",
    "add a chart to the report",
    "add a check to verify",
    "add an estimator",
    "add a data set",
)
WRITTEN = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (
        *(ROOT / name for name in ("pyproject.toml", ".ci/run", ".ci/package", "tests/lowest.txt")),
        *ROOT.glob("*.md"),
        *(ROOT / ".github").rglob("*.*"),
        *(path for kind in ("md", "rst") for path in (ROOT / "docs").rglob(f"*.{kind}")),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "studies").glob("*.md"),
    )
    if "generated" not in path.parts
)
# A path from the root: a folder ends in /, a file in one of its kinds; an address holds the same words after a slash.
OURS = re.compile(
    r"(?<![\w/.-])((?:sanitize|tests|docs|benchmarks|studies|notebooks|transformers|datasets|\.ci|\.github)/"
    r"(?:[\w./-]*/(?![\w*])|[\w./-]*\.(?:py|pyi|md|rst|ipynb|json|jinja|bib|toml|txt|yml)\b|(?:run|package)\b|(?![\w.-])))"
)


def floors() -> list[list[str]]:
    """Rooms of each floor, as the test of the import rule has them."""
    source = (ROOT / "tests" / "house" / "test_architecture.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLOORS":
            return [line.split() for line in ast.literal_eval(node.value).split("\n") if line]
    raise AssertionError("tests/house/test_architecture.py has no FLOORS")


def stands(room: str) -> bool:
    return any((ROOT / "sanitize" / name).exists() for name in (f"{room}.py", f"{room}/__init__.py"))


def paths_in(text: str) -> set[str]:
    return {match[1] for match in OURS.finditer(text)}


def test_the_map_names_every_room_once_in_the_order_of_floors():
    named = re.findall(r"^\| (\d+) \| `(\w+)` \| \S.* \|$", PAGE, re.MULTILINE)
    wanted = [(str(n), room) for n, rooms in enumerate(floors(), start=1) for room in rooms if stands(room)]
    assert named == wanted
    assert len(wanted) > 20


def test_every_task_leads_to_a_folder_or_file():
    section = PAGE[PAGE.index("## Where to go") :]
    there = dict(re.findall(r"^\| ([^|]+) \| `([^`]+)` \|", section, re.MULTILINE))
    assert tuple(there) == TASKS
    assert [path for path in there.values() if not (ROOT / path).exists()] == []


def test_the_page_is_short():
    assert len(PAGE.encode()) < 10_000


def test_the_commands_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^```bash\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert "".join(commands) in PAGE


def test_paths_are_found_and_addresses_are_not():
    text = (
        "`tests/a.py::test_b`, [c](sanitize/c/d.json), `docs/`, .ci/run. sanitize/verification, https://x.org/docs/e.md"
    )
    assert paths_in(text) == {"tests/a.py", "sanitize/c/d.json", "docs/", ".ci/run"}


@pytest.mark.parametrize("page", WRITTEN)
def test_every_path_that_is_written_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert sorted(path for path in paths_in(text) if not (ROOT / path).exists()) == []
