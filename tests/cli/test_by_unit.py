"""Releases by unit from the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from commands_cases import assert_line, left_in

from sanitize.over_time import UnitLedger

SETTINGS = ("-s", "ill", "-x", "town", "--lower", "1", "--upper", "0.5", "--unit", "who", "--ledger", "who.units")
POLICY = """
version = 1
ledger = "who.units"
[columns]
sensitive = ["ill"]
public = ["town"]
unit = "who"
[budget]
lower = 1.0
upper = 0.5
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table of each of two months and a policy."""
    rng = np.random.default_rng(5)
    who = np.arange(600)
    ill = rng.random(600) < 0.4
    for month in range(2):
        town = rng.integers(0, 3, 600) + ill
        table = pd.DataFrame({"who": who, "ill": ill, "town": [f"t{t}" for t in town]})
        table.to_parquet(tmp_path / f"{month}.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_months_are_released_through_one_ledger(place, run):
    code, out, err = run("release", "0.parquet", "-o", "0.csv", *SETTINGS)
    assert (code, err) == (0, "")
    assert out.startswith("holds for these units: 1 release of 600 units (column 'who')\nbudget: ")
    code, out, _ = run("release", "1.parquet", "-o", "out.parquet", "-p", "policy.toml", "--json", "--report", "r.json")
    assert code == 0
    assert json.loads(out) == json.loads((place / "r.json").read_text()) == UnitLedger("who.units").report().to_dict()
    assert len(json.loads(out)["releases"]) == 2
    assert pq.read_schema("out.parquet").names == ["town"]
    code, out, err = run("release", "1.parquet", "-o", "-", "-p", "policy.toml")
    assert (code, out.count("\n")) == (0, 601)
    assert err.startswith("holds for these units: 3 releases")


def test_a_confidence_is_that_of_the_units(place, run):
    channel = '[channel]\nmechanism = "subset-merging"\nconfidence = {}\n'
    (place / "sure.toml").write_text(POLICY + channel.format(0.9))
    (place / "surer.toml").write_text(POLICY + channel.format(0.95))
    code, out, err = run("release", "0.parquet", "-o", "0.csv", "-p", "sure.toml")
    assert (code, err) == (0, "")
    assert out.startswith("holds for the population of these units (90 % sure) and for these units: 1 release")
    assert UnitLedger("who.units").confidence == 0.9
    code, _, err = run("release", "1.parquet", "-o", "1.csv", "-p", "surer.toml")
    assert code != 0
    assert_line(err, "has the confidence 0.9, not 0.95")
    assert run("release", "1.parquet", "-o", "1.csv", "-p", "policy.toml")[0] == 0


def test_a_dry_run_leaves_nothing_and_a_refusal_no_ledger(place, run):
    before = left_in(place)
    assert run("release", "0.parquet", "-o", "0.csv", *SETTINGS, "--dry-run")[0] == 0
    assert left_in(place) == before
    code, _, err = run("release", "0.parquet", "-o", "0.csv", *SETTINGS[:-3], "nobody", *SETTINGS[-2:])
    assert code != 0
    assert_line(err, "no column 'nobody'")
    assert not {"who.units", "0.csv"} & set(left_in(place))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--channel", "c.json"), "--channel cannot be used with units"),
        (("--report", "r.html"), "a report on units is text or JSON"),
        (("-x", "who"), "column 'who' is given both with -x and with --unit"),
    ],
)
def test_what_a_release_by_unit_has_not_is_refused(place, run, more, words):
    code, _, err = run("release", "0.parquet", "-o", "0.csv", *SETTINGS, *more)
    assert code == 2
    assert_line(err, words)
    assert not {"who.units", "0.csv"} & set(left_in(place))


def test_units_need_a_ledger_and_are_not_verified(place, run):
    code, _, err = run("release", "0.parquet", "-o", "0.csv", *SETTINGS[:-2])
    assert code == 2
    assert "--unit needs --ledger" in err
    assert run("release", "0.parquet", "-o", "0.parquet.out.parquet", "-p", "policy.toml")[0] == 0
    code, _, err = run("verify", "0.parquet.out.parquet", "--source", "0.parquet", "-p", "policy.toml")
    assert code == 2
    assert_line(err, "verify cannot repeat a release by unit")
    (place / "policy.toml").write_text(POLICY.replace('ledger = "who.units"\n', ""))
    code, _, err = run("release", "0.parquet", "-o", "0.csv", "-p", "policy.toml")
    assert code == 2
    assert_line(err, "columns.unit needs a ledger")


def test_units_have_no_receipt(place, run):
    (place / "policy.toml").write_text(POLICY.replace("version = 1", 'version = 1\nreceipt = "own/receipt"'))
    code, _, err = run("release", "0.parquet", "-o", "0.csv", "-p", "policy.toml")
    assert code == 2
    assert_line(err, "receipt cannot be used with units")
    assert not (place / "own").exists()
