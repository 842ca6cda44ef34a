"""Where `plan --html` may write, who may have it, and that a plan releases nothing."""

from __future__ import annotations

import stat

import pytest
from cli_cases import assert_one_line, left_in

ASKED = ["-s", "illness", "-x", "town", "--lower", "0.5", "--upper", "0.5"]


def test_a_plan_is_a_page_that_only_its_owner_reads(source, tmp_path, run):
    page = tmp_path / "plan.html"
    code, out, err = run("plan", source, *ASKED, "--html", page)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split(" | ")[0] in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert left_in(tmp_path) == ["plan.html", "raw.parquet"]
    assert "SECRET" not in out
    code, _, err = run("plan", source, *ASKED, "--html", page)
    assert code == 4
    assert_one_line(err, "plan.html exists already", "--force")
    assert run("plan", source, *ASKED, "--html", page, "--force")[0] == 0


@pytest.mark.parametrize(
    ("name", "more", "code", "words"),
    [
        ("raw.parquet", [], 4, "would replace the input"),
        ("no folder/plan.html", [], 4, "name a file in a folder that exists"),
        ("plan.html", ["--audience", "public"], 2, "--html cannot be used with --audience public"),
    ],
)
def test_a_page_has_no_place_there(source, tmp_path, run, name, more, code, words):
    got, out, err = run("plan", source, *ASKED, "--html", tmp_path / name, *more)
    assert (got, out) == (code, "")
    assert_one_line(err, words)
    assert left_in(tmp_path) == ["raw.parquet"]


def test_what_cannot_be_designed_has_no_page(source, tmp_path, run):
    code, out, err = run(
        "plan", source, "-s", "illness", "-x", "name", "--lower=1", "--upper=1", "--html", tmp_path / "plan.html"
    )
    assert code == 3
    assert 'drop = ["name"]' in out
    assert_one_line(err, "different value in most rows")
    assert left_in(tmp_path) == ["raw.parquet"]
