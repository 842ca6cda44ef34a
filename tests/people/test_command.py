"""Tables of units by a policy: the same release from Python and from the command line, and what is refused."""

from __future__ import annotations

import pandas as pd
import pytest
import relational_cases
from relational_cases import hospital

import sanitize as sz
from sanitize.cli import main
from sanitize.errors import ColumnError, InvalidParameter, PolicyError
from sanitize.people import Child, UnitRelease

POLICY = f"""{relational_cases.POLICY}drop = ["cost"]
[[table]]
name = "items"
parent = "visits"
key = "visit"
public = ["drug"]
summaries = {{ drug = ["count"] }}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    for name, table in hospital(1200).items():
        table.to_parquet(tmp_path / "raw" / f"{name}.parquet", index=False)
    (tmp_path / "people.toml").write_text(POLICY)
    return tmp_path


def test_a_policy_says_what_python_says():
    policy = sz.Policy.from_toml(POLICY)
    assert policy.root == "patients"
    assert policy.tables == {
        "visits": Child(order="day", id="visit", public=("code",), drop=("cost",)),
        "items": Child(parent="visits", key="visit", public=("drug",), summaries={"drug": ("count",)}),
    }
    units = UnitRelease(policy)
    assert (units.key, units.root, set(units.children)) == ("patient", "patients", {"visits", "items"})


def test_the_command_writes_a_folder_of_what_is_listed(folder, capsys):
    assert main(["release", "raw", "-o", "out", "-p", "people.toml", "--report", "report.html"]) == 0
    said = capsys.readouterr().out
    assert "named by 'patient'" in said
    assert said.endswith("wrote out (1,200 units, 3 tables)\n")
    tables = {path.stem: pd.read_parquet(path) for path in (folder / "out").iterdir()}
    assert {name: list(table.columns) for name, table in tables.items()} == {
        "patients": ["patient", "age"],
        "visits": ["patient", "visit", "day", "code"],
        "items": ["visit", "drug"],
    }
    assert tables["items"]["visit"].isin(tables["visits"]["visit"]).all()
    assert "Whole units" in (folder / "report.html").read_text()


def test_a_dry_run_writes_nothing_and_what_is_there_stays(folder, capsys, monkeypatch):
    assert main(["release", "raw", "-o", "out", "-p", "people.toml", "--dry-run"]) == 0
    assert not (folder / "out").exists()
    (folder / "out").mkdir()
    monkeypatch.delattr(UnitRelease, "fit")  # that takes long
    assert main(["release", "raw", "-o", "out", "-p", "people.toml"]) == 4
    assert main(["release", "raw", "-o", "raw/out", "-p", "people.toml"]) == 4
    assert list((folder / "out").iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == ["out", "people.toml", "raw"]
    assert "lies inside it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "raw"],
        ["audit", "raw"],
        ["verify", "raw", "--source", "raw"],
        ["release", "-", "-o", "out"],
        ["release", "raw", "-o", "out", "--channel", "channel.json"],
    ],
)
def test_what_tables_of_units_do_not_have_is_one_line(folder, capsys, command):
    assert main([*command, "-p", "people.toml"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "units" in said


def test_a_column_that_nobody_has_thought_about_stops_the_run(folder):
    for old, new, words in (
        ('drop = ["sex"]', "", "does not list the column 'sex'"),
        ('drop = ["cost"]', "", "'cost' of table 'visits' is neither public nor dropped"),
        ('"code"', '"code", "words"', "no column 'words'"),
    ):
        with pytest.raises(ColumnError, match=words):
            UnitRelease(sz.Policy.from_toml(POLICY.replace(old, new))).fit("raw")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('root = "patients"', "", "root.*is missing"),
        ('unit = "patient"', "", "columns.unit.*is missing"),
        ("latent-classes", "subset-merging", "must be latent-classes"),
        ("version = 1", 'version = 1\nreceipt = "one"', "receipt.*cannot be used with units"),
        ("version = 1", 'version = 1\nrows = "keep"', 'rows.*must be "shuffle"'),
        ('name = "items"', 'name = "visits"', "a different name for each table"),
        ('["count"]', '["median"]', "summaries"),
    ],
)
def test_a_policy_of_tables_has_all_that_it_needs(old, new, words):
    with pytest.raises(PolicyError, match=words):
        sz.Policy.from_toml(POLICY.replace(old, new, 1))


def test_a_file_is_not_released_by_a_policy_of_tables(folder):
    with pytest.raises(InvalidParameter, match=r"people\.UnitRelease"):
        sz.release_file("raw/patients.parquet", "out.parquet", sz.Policy.read("people.toml"))
