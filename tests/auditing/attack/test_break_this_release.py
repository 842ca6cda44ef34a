"""The public files to break, and the score of an attack on fresh ones."""

from __future__ import annotations

import runpy
from pathlib import Path

import pandas as pd
import pytest

import sanitize as sz

ROOT = Path(__file__).resolve().parents[3]
FILES = {path.stem: path for path in (ROOT / "docs" / "_static" / "break").glob("*.csv")}
MINE = """
import sanitize as sz

class Mine(sz.auditing.attack.Attack):
    title, question = "Mine", "Is it any good?"

    def score(self, scene):
        return scene.rng(self.title).random(scene.n[1])
"""


@pytest.fixture
def script():
    return runpy.run_path(str(ROOT / "studies" / "break_this_release.py"))


def test_the_files_hold_released_columns_and_no_secret(script):
    survey = sz.datasets.load_survey()
    assert set(FILES) == set(script["RELEASES"])
    for name, path in FILES.items():
        released = pd.read_csv(path)
        wanted = script["RELEASES"][name][0] or list(survey.columns.drop("depression"))
        assert (list(released.columns), len(released)) == (wanted, script["N"])
    # What the page links and states is what the script makes.
    page = (ROOT / "docs" / "guide" / "break_this_release.md").read_text(encoding="utf-8")
    assert all(f"_static/break/{name}.csv" in page for name in FILES)
    assert f"{script['N']:,} people" in page
    assert (script["LIMIT"].at_most, script["LIMIT"].at_least) == pytest.approx((2, 0.33))


@pytest.mark.filterwarnings("ignore:next to nothing is kept")  # which people are drawn is chance
def test_an_attack_of_a_file_is_scored_on_fresh_releases(script, tmp_path, capsys, monkeypatch):
    """Each release is of people of its own, so that no second release of the same rows warns."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.setitem(script["score"].__globals__, "N", 400)
    monkeypatch.setitem(script["RELEASES"], "certified", script["RELEASES"]["combinations"])
    script["score"](tmp_path / "mine.py", 1)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("draw 1, ")]) == 3
    assert len([line for line in lines if line.startswith("  Mine (membership): ")]) == 3
    # Keys are fresh. Each of the three is refuted for nothing once in twenty at most, so all three once in 8,000 runs.
    assert sum("promised refuted" in line for line in lines) < 3
