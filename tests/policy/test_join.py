"""Sensitive values that are joined: by a policy, by an estimator, and as a plan proposes for rare ones."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.core.binning import Joined
from sanitize.errors import InvalidParameter, PolicyError

RNG = np.random.default_rng(0)
N_ROWS = 12_000


@pytest.mark.parametrize(
    ("values", "groups", "symbols"),
    [
        (["A", "B", "C", None], {"other": ["A", "B"]}, ["other", "other", "C", None]),
        ([1, 2, 3, None], {"rest": [1, 3]}, ["rest", "2", "rest", None]),
        ([1.0, 2.5, None], {"rest": [1, 2.5]}, ["rest", "rest", None]),
        ([True, False, None], {"rest": [True]}, ["rest", "false", None]),
        (["A", None, "B"], {"other": ["A", "(missing)"]}, ["other", "other", "B"]),
        (["A", "B", "C"], {"B": ["A"], "D": ["C"]}, ["B", "B", "D"]),
    ],
)
def test_values_stand_under_the_name_of_their_group(values, groups, symbols):
    for column in (pa.array(values), pa.chunked_array([values, values])):
        made, clipped = Joined.from_groups("race", groups).assign(column)
        assert made.to_pylist() == symbols * (len(column) // len(values))
        assert clipped == 0


@pytest.mark.parametrize("groups", [{}, {"other": []}, {"other": "AB"}, {"other": ["A"], "rest": ["A"]}])
def test_what_joins_nothing_is_refused(groups):
    with pytest.raises(InvalidParameter, match="the join of 'race' must list values"):
        Joined.from_groups("race", groups)


def rare_table(kind: str) -> pd.DataFrame:
    """A sensitive column two values of which only a few rows have."""
    values = {"text": ["A", "B", "C", "D"], "number": [1, 2, 3, 4], "code": ["01", "02", "03", "04"]}[kind]
    race = RNG.choice(values, N_ROWS, p=[0.7, 0.298, 0.001, 0.001])
    age = RNG.integers(18, 90, N_ROWS)
    return pd.DataFrame({"race": race, "age": age, "town": RNG.choice(list("KLMN"), N_ROWS), "hours": age // 2 + 7})


POLICY = """version = 1
[columns]
sensitive = ["race"]
public = ["age", "town", "hours"]
[budget]
at_most = 2
at_least = 0.33
[types]
race = "{kind}"
[channel]
mechanism = "{mechanism}"
confidence = 0.95
"""
BINS = "[channel.bins]\nage = [18, 50, 90]\nhours = [16, 30, 52]\n"
CASES = {
    "text": ("text", "category", "subset-merging"),
    "codes": ("code", "code", "subset-merging"),
    "numbers": ("number", "quantity", "subset-merging"),
    "watchdog": ("text", "category", "watchdog"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_line_that_a_plan_proposes_mends_the_release(name, tmp_path, monkeypatch, capsys):
    kind, meaning, mechanism = CASES[name]
    monkeypatch.chdir(tmp_path)
    rare_table(kind).to_csv("raw.csv", index=False)
    text = POLICY.format(kind=meaning, mechanism=mechanism) + BINS
    (tmp_path / "p.toml").write_text(text)
    assert main(["release", "raw.csv", "-p", "p.toml", "-o", "a.csv"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "would keep less than 5 % of its information (a rare sensitive value has too few rows" in said
    assert "join the rare values of the sensitive columns, under [join] in the policy" in said
    assert main(["plan", "raw.csv", "-p", "p.toml"]) == 0
    printed = capsys.readouterr().out
    advice = printed[printed.index("\n[join]\n") :].strip("\n").split("\n\n")[0]
    assert set(tomllib.loads(advice)["join"]["race"]) == {"other"}
    (tmp_path / "p.toml").write_text(f"{text}{advice}\n")
    assert main(["release", "raw.csv", "-p", "p.toml", "-o", "b.csv", "--full"]) == 0
    assert "less than 5 %" not in capsys.readouterr().out
    joined = sz.Policy.read("p.toml")
    report = sz.release_file("raw.csv", "c.csv", joined)
    assert not report.useless


def test_an_estimator_joins_by_its_bins(tmp_path):
    table = rare_table("text")
    settings = {"sensitive": "race", "public": ["town"], "bins": {"race": {"other": ["C", "D"]}}}
    merging = sz.SubsetMerging(sz.LiftBudget(at_most=2, at_least=0.33), **settings).fit(table)
    assert merging.report_.ok
    joint = merging._joint
    assert set(joint.sensitive.symbols) == {"A", "B", "other"}
    saved = sz.SavedRelease.of(merging)
    (tmp_path / "saved.json").write_text(saved.to_json())
    again = sz.SavedRelease.from_json((tmp_path / "saved.json").read_text())
    assert again.to_json() == saved.to_json()
    book = sz.Ledger(tmp_path / "ledger.json", sz.LiftBudget(at_most=4, at_least=0.1))
    table.to_parquet(tmp_path / "raw.parquet")
    again = sz.SubsetMerging(sz.LiftBudget(at_most=2, at_least=0.33), **settings)
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", again, ledger=book)
    assert len(sz.Ledger(tmp_path / "ledger.json", sz.LiftBudget(at_most=4, at_least=0.1))) == 1


@pytest.mark.parametrize(
    ("join", "says"),
    [
        ({"town": {"other": ["K"]}}, "'town' is not a sensitive column"),
        ({"race": {}}, "join.race must be"),
        ({"race": {"other": []}}, r"join\.race\.other must be"),
        ({"race": ["A"]}, "join.race must be"),
    ],
)
def test_a_policy_joins_sensitive_values_alone(join, says):
    values = tomllib.loads(POLICY.format(kind="category", mechanism="subset-merging"))
    with pytest.raises(PolicyError, match=says):
        sz.Policy.from_dict({**values, "join": join})
