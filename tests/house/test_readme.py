"""The README: short, its code runs in the order it is read, and its picture is one that a script makes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pages
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MOST_LINES = 110
MOST_BYTES = 120_000  # of a picture


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where the README's first command has been run; what it installs is installed."""
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-m", "sanitize.datasets", "survey", "raw.parquet"], check=True)
    return tmp_path


def test_the_readme_is_one_screen():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.slow
def test_what_the_readme_shows_runs_as_it_is_read(folder, capsys):
    """Python in one session, commands in one folder, files where their first line names them."""
    names: dict[str, object] = {"__name__": "__main__"}
    kinds = []
    for block in pages.blocks(README):
        kinds.append(block.kind)
        if block.kind == "python":
            exec(compile(block.text, f"README.md:{block.line}", "exec"), names)
        elif block.kind == "toml":
            (folder / re.match(r"# (\w+\.toml)\n", block.text)[1]).write_text(block.text, encoding="utf-8")
        elif block.kind == "sh":
            for line in block.text.splitlines():
                said = pages.run_command(f"{line.partition('  #')[0].strip()} && echo done", folder)
                assert said.rstrip().endswith("done"), f"{line}\n{said}"
        else:
            assert block.kind == "bash"  # installs: run as printed by .ci/run
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"bash": 2, "python": 1, "toml": 1, "sh": 1}
    assert "HOLDS FOR THE POPULATION" in capsys.readouterr().out
    assert {"for_partners.csv", "plan.html", "report.html", "draft.toml"} <= {path.name for path in folder.iterdir()}


def test_no_code_of_the_readme_is_without_a_kind():
    """A fence without a word would be run by nobody."""
    fences = re.findall(r"^```(.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(fences[::2])
    assert not any(fences[1::2])


@pytest.mark.slow
def test_the_figures_of_the_generated_table_are_those_of_the_first_command(folder):
    """Rows are drawn anew each time: the room is six deviations of the mean of so many rows, at least."""
    text = README.read_text(encoding="utf-8")
    command = re.search(r"sanitize release raw\.parquet .*--full", text)[0].replace("docs/", f"{ROOT}/docs/")
    pages.run_command(command, folder)
    raw, released = (pd.read_parquet(folder / f"{name}.parquet") for name in ("raw", "released"))
    days = raw.groupby("shifts")["sick_days"].mean()
    assert f"for 7.1 days a year and others for 5.4 (raw table: {days['yes']:.1f} and {days['no']:.1f} days)" in text
    drawn = released.groupby("shifts")["sick_days"].mean()
    assert abs(drawn["yes"] - 7.1) < 0.6
    assert abs(drawn["no"] - 5.4) < 0.4


@pytest.mark.slow
def test_the_table_of_the_readme_is_what_its_script_writes():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "studies" / "head_to_head.py")]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    rows = [
        row.split("|")[2:5]
        for row in README.read_text("utf-8").splitlines()
        if re.match(r"\| .* % \|$|.*\*\* \|$", row)
    ]
    shown = [tuple(float(re.search(r"[\d.]+", cell)[0]) for cell in row) for row in rows]
    found = re.findall(r"at most +([\d.]+), at least +([\d.]+) times +keeps +([\d.]+)%", said)
    assert sorted(shown) == sorted(tuple(map(float, row)) for row in found)
    assert len(shown) == 6


def test_kinds_of_release_and_alternatives_are_named():
    text = README.read_text(encoding="utf-8")
    assert "sanitize is a Python library for" in text
    assert all(words in text for words in ("ifferential privacy", "k-anonymity", "ynthetic data", "sanitize-tabular"))
    assert text.index("## Columns of each row") < text.index("## A generated table")


def test_the_two_commands_of_the_contributing_page_are_the_readmes():
    commands = [block.text.strip() for block in pages.blocks(README) if block.kind == "bash"]
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    assert all(command in page for command in commands)


def test_pictures_are_small_described_and_made_by_the_script():
    folder = ROOT / "docs" / "pictures"
    script = (folder / "make.py").read_text(encoding="utf-8")
    there = {path.name for path in folder.glob("*.png")}
    assert there
    for name in there:
        assert f'"{name.removesuffix(".png")}"' in script
        assert (folder / name).stat().st_size < MOST_BYTES
    shown = re.findall(r"!\[([^\]]*)\]\(docs/pictures/([\w.]+)\)", README.read_text(encoding="utf-8"))
    assert shown
    assert all(words and name in there for words, name in shown)
