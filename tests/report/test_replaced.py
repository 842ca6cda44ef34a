"""Values that are written as others are counted by column, and said where many rows have them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.cli import main
from sanitize.report import ReleaseFacts, ReplacedValues

RNG = np.random.default_rng(0)
N_ROWS = 4000
LOOSE = sz.LiftBudget(at_most=50, at_least=0)


def town_table(town) -> pd.DataFrame:
    age = RNG.integers(0, 100, N_ROWS)
    return pd.DataFrame({"ill": RNG.choice(["yes", "no"], N_ROWS), "town": town, "age": age})


COMMON = RNG.choice(list("ABC"), N_ROWS)
FEW = np.where(RNG.random(N_ROWS) < 0.05, [f"rare {j % 80}" for j in range(N_ROWS)], COMMON)
RARE_NUMBERS = np.where(RNG.random(N_ROWS) < 0.05, np.arange(N_ROWS) % 90 + 10, np.arange(N_ROWS) % 3)
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RARE_NUMBERS, unit="D")


@pytest.mark.parametrize("town", [FEW, RARE_NUMBERS, DAYS], ids=["texts", "numbers", "dates"])
def test_rare_values_are_counted_and_said(town, tmp_path, monkeypatch, capsys):
    table = town_table(town)
    sanitizer = sz.SubsetMerging(LOOSE, sensitive="ill", public=["town"], random_state=0)
    made = sanitizer.fit_transform(table)
    report, counts = sanitizer.report_, table["town"].value_counts()
    rare = set(counts[counts < 10].index)
    n_rare = int(table["town"].isin(rare).sum())
    assert not set(made["town"]) & rare
    section = next(one for one in report.to_dict()["sections"] if one["name"] == "replaced")
    assert section["rows"] == [["town", n_rare, n_rare, 0, 0]]
    words = "more than 1 % of the rows are written with another value of town"
    for text in (report.to_text(full=False), report.to_text(), report.to_html()):
        assert words in " ".join(text.split())
    # Whether they are more than that is a figure of the table.
    assert words not in " ".join(report.to_json(audience="public").split())
    assert "in rare combinations" not in report.to_html(audience="public")
    again = type(report).from_json(report.to_json())
    assert again.to_json() == report.to_json()
    # On the terminal, of a release and of a plan.
    monkeypatch.chdir(tmp_path)
    table.to_parquet("raw.parquet")
    asked = ["-s", "ill", "-x", "town", "--at-most", "50", "--at-least", "0"]
    for command in (["release", "raw.parquet", "-o", "out.parquet", *asked], ["plan", "raw.parquet", *asked]):
        assert main(command) == 0
        assert words in " ".join(capsys.readouterr().out.split())


def test_values_outside_the_edges_are_counted(tmp_path):
    for edges, share in (([10, 50, 90], 0.2), ([0, 50, 100], 0), ([1, 50, 98], 0.02)):
        settings = {"sensitive": "ill", "public": ["age"], "bins": {"age": edges}}
        report = sz.SubsetMerging(LOOSE, **settings).fit(table := town_table(COMMON)).report_
        [one] = report.facts.replaced
        assert one.clipped == int(((table["age"] < edges[0]) | (table["age"] > edges[-1])).sum())
        assert ("replaced" in [section["name"] for section in report.to_dict()["sections"]]) == (share > 0)
        assert (report.to_dict()["columns"]["replaced"] == ["age"]) == (one.clipped > N_ROWS / 100)


def test_where_every_value_can_be_written_nothing_is_said():
    report = sz.SubsetMerging(LOOSE, sensitive="ill", public=["town"]).fit(town_table(COMMON)).report_
    assert all(one.n_rows == 0 for one in report.facts.replaced)
    assert "replaced" not in [section["name"] for section in report.to_dict()["sections"]]
    assert json.loads(report.to_json())["columns"]["replaced"] == []


def test_a_model_fills_in_what_it_writes_as_other():
    joint = sz.JointDistribution.from_matrix([[0.2, 0.3], [0.3, 0.2]])
    found = tuple(ReplacedValues(f"c{j}", other=40 * j) for j in range(5))
    report = sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.5), facts=ReleaseFacts(replaced=found))
    section = next(one for one in report.to_dict()["sections"] if one["name"] == "replaced")
    assert [row[-1] for row in section["rows"]] == [40 * j for j in range(1, 5)]


FADING = np.array([f"town {j % 200}" for j in range(N_ROWS)])  # twenty rows each: some are written as others
CLASSES = {
    "rare texts": (FEW, {}, "other"),
    "many texts of some rows each": (FADING, {}, "other"),
    "rare categories": (pd.Categorical(FEW), {}, "other"),
    "numbers outside the edges": (RARE_NUMBERS, {"bins": {"town": [0, 2, 50]}}, "clipped"),
    "common texts": (COMMON, {}, None),
}


@pytest.mark.parametrize(("town", "settings", "kind"), CLASSES.values(), ids=CLASSES)
def test_latent_classes_count_what_they_write_as_others(town, settings, kind):
    table = town_table(town)
    sanitizer = sz.LatentClassRelease(LOOSE, sensitive="ill", n_classes=4, random_state=0, **settings)
    made = sanitizer.fit_transform(table)
    [one] = [one for one in sanitizer.report_.facts.replaced if one.column == "town"]
    kept = {column.column: column.share for column in sanitizer.report_.kept}["town"]
    assert (one.n_rows > 0) == (kind is not None)
    if kind == "clipped":
        assert one.clipped == int((table["town"] > 50).sum())
        assert made["town"].max() <= 50
    elif kind == "other":
        written = (made["town"].isna() | ~made["town"].isin(set(table["town"]))).sum()
        assert abs(written - one.other) < 6 * np.sqrt(one.other)  # once in 5e8 by chance
    assert (sanitizer.report_.to_dict()["columns"]["replaced"] == ["town"]) == (one.n_rows > N_ROWS / 100)
    assert kept <= 1 - one.n_rows / N_ROWS
