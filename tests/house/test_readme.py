"""The README: short, its code runs in the order it is read, and its picture is one that a script makes."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pages
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MOST_LINES = 150
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
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"bash": 2, "python": 3, "toml": 1, "sh": 1}
    assert "HOLDS FOR THE SOURCE" in capsys.readouterr().out
    assert {"for_partners.parquet", "for_partners.csv", "plan.html", "report.html", "draft.toml"} <= {
        path.name for path in folder.iterdir()
    }


def test_no_code_of_the_readme_is_without_a_kind():
    """A fence without a word would be run by nobody."""
    fences = re.findall(r"^```(.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(fences[::2])
    assert not any(fences[1::2])


@pytest.mark.slow
def test_the_figures_of_the_readme_are_those_of_its_release(folder):
    text = README.read_text(encoding="utf-8")
    command = re.search(r"sanitize release raw\.parquet .*", text)[0].replace("docs/", f"{ROOT}/docs/")
    said = pages.run_command(command, folder)
    # Classes are drawn anew each time: of five releases the largest was 1.74 each time, the least 0.58 to 0.62.
    most, least = map(float, re.search(r"at most ([\d.]+) and\s+at least ([\d.]+) times", said).groups())
    assert "| | about 1.7 |" in text
    assert "| | about 0.6 |" in text
    assert abs(most - 1.7) < 0.2
    assert abs(least - 0.6) < 0.1
    raw, released = (pd.read_parquet(folder / f"{name}.parquet") for name in ("raw", "released"))
    days = raw.groupby("shifts")["sick_days"].mean()
    assert f"| {days['yes']:.1f} and {days['no']:.1f} | about 7.2 and 5.5 |" in text
    learned = raw["school_years"].corr(raw["income"])
    assert f"| {learned:.2f} | about 0.45 |" in text
    assert abs(released["school_years"].corr(released["income"]) - 0.45) < 0.06
    care = raw.loc[raw["occupation"] == "care", "shifts"] == "yes"
    women = (raw["sex"] == "female").mean()
    assert f"| {100 * women:.0f} %; {100 * care.mean():.0f} % | about 49 %; 60 % |" in text
    # Rows are drawn anew each time: six deviations of the mean of so many rows, at least.
    again = released.groupby("shifts")["sick_days"].mean()
    assert abs(again["yes"] - 7.2) < 0.6
    assert abs(again["no"] - 5.5) < 0.4
    assert abs((released["sex"] == "female").mean() - 0.49) < 0.03
    assert abs((released.loc[released["occupation"] == "care", "shifts"] == "yes").mean() - 0.60) < 0.05


def test_the_policy_of_the_first_release_is_the_one_that_the_readme_shows():
    shown = next(block.text for block in pages.blocks(README) if block.kind == "toml")
    first, second = (tomllib.loads(text) for text in ((ROOT / "docs" / "survey.toml").read_text("utf-8"), shown))
    del first["reason"], second["receipt"]
    assert first == second


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
