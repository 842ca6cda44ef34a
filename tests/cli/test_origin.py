"""Title, date, names and digest of a release: given, or of the policy, and never of a clock."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess

import pyarrow.parquet as pq
import pytest
from commands_cases import POLICY, SETTINGS, assert_line, table

import sanitize as sz
from sanitize._util.sealed_text import path_digest

HEAD = 'title = "Clinic <b>& Sons</b>"\ndate = 2026-01-31\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(), "raw.parquet")
    (tmp_path / "policy.toml").write_text(HEAD + POLICY)
    return tmp_path


def origin(path):
    return json.loads(path.read_text())["origin"]


def test_the_report_of_a_release_says_what_it_is_of(place, run):
    assert run("release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", "--report", "r.json")[0] == 0
    printed = subprocess.run(["sha256sum", "out.parquet"], capture_output=True, text=True, check=True).stdout
    assert origin(place / "r.json") == {
        "title": "Clinic <b>& Sons</b>",
        "date": "2026-01-31",
        "table": "raw.parquet",
        "policy": "policy.toml",
        "digest": f"sha256:{printed[:64]}",
    }
    page = sz.LeakageReport.from_json((place / "r.json").read_text()).to_html()
    assert "<b>& Sons" not in page
    assert "Clinic &lt;b&gt;&amp; Sons&lt;/b&gt;" in page
    assert printed[:64] in page
    public = sz.LeakageReport.from_json((place / "r.json").read_text()).to_html(audience="public")
    assert printed[:64] in public
    assert "raw.parquet" not in public
    assert "policy.toml" not in public


def test_what_is_given_wins_over_the_policy_and_nothing_is_invented(place, run):
    options = ["--title", "Another", "--date", "2025-12-24", "--report", "r.json"]
    assert run("plan", "raw.parquet", "-p", "policy.toml", *options)[0] == 0
    found = origin(place / "r.json")
    assert (found["title"], found["date"], found["digest"]) == ("Another", "2025-12-24", None)
    assert run("audit", "raw.parquet", "-s", "illness", "-x", "town", "--report", "a.json")[0] == 0
    assert origin(place / "a.json") == {
        "title": None, "date": None, "table": "raw.parquet", "policy": None, "digest": None,
    }  # fmt: skip


def test_the_same_plan_gives_the_same_page(place, run):
    for name in ("one.html", "two.html"):
        assert run("plan", "raw.parquet", "-p", "policy.toml", "--report", name)[0] == 0
    assert (place / "one.html").read_bytes() == (place / "two.html").read_bytes()


@pytest.mark.parametrize("date", ["today", "2026-1-31", "20260131", "2026-02-30", "2026-01-31T00:00", ""])
def test_a_date_is_a_day(date, place, run):
    code, out, err = run("plan", "raw.parquet", *SETTINGS, "--date", date)
    assert (code, out) == (2, "")
    assert_line(err.replace("sanitize plan: ", "sanitize: "), "takes a date such as 2026-01-31")
    with pytest.raises(sz.errors.PolicyError, match="date must be a date"):
        sz.Policy.from_toml(f'date = "{date}"\n{POLICY}')


def test_a_date_of_toml_and_its_text_are_one():
    quoted = sz.Policy.from_toml('date = "2026-01-31"\n' + POLICY)
    assert quoted == sz.Policy.from_toml("date = 2026-01-31\n" + POLICY)
    for wrong in ("2026-01-31T10:00:00", "10:00:00", "20260131", "true"):
        with pytest.raises(sz.errors.PolicyError, match="date must be a date"):
            sz.Policy.from_toml(f"date = {wrong}\n{POLICY}")


def test_digest_of_a_folder_is_that_of_the_list_of_its_files(tmp_path):
    folder = tmp_path / "parts"
    (folder / "a").mkdir(parents=True)
    for name in ("b.txt", "a/c.txt"):
        (folder / name).write_text(name)
    listed = subprocess.run(
        "find . -type f | sed 's,^./,,' | LC_ALL=C sort | xargs sha256sum",
        shell=True, cwd=folder, capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert path_digest(folder) == f"sha256:{hashlib.sha256(listed).hexdigest()}"
    before = path_digest(folder)
    (folder / "b.txt").rename(folder / "d.txt")
    assert path_digest(folder) != before
    with pytest.raises(sz.errors.SourceError, match=re.escape("nowhere cannot be read")):
        path_digest(tmp_path / "nowhere")
