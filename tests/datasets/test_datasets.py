"""Bundled and generated tables: published margins and known distributions."""

from __future__ import annotations

import doctest
import importlib
import itertools
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from sanitize import datasets
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidParameter

# Two-way margins as printed, row by row, symbols in alphabetical order.
MARGINS = {
    "titanic": {
        ("class", "survived"): "122 203  167 118  528 178  673 212",
        ("sex", "survived"): "126 344  1364 367",
        ("age", "survived"): "1438 654  52 57",
        ("class", "sex"): "145 180  106 179  196 510  23 862",
        ("class", "age"): "319 6  261 24  627 79  885 0",
        ("sex", "age"): "425 45  1667 64",
    },
    "berkeley": {
        ("gender", "admitted"): "557 1278  1198 1493",
        ("department", "admitted"): "601 332  370 215  322 596  269 523  147 437  46 668",
        ("department", "gender"): "108 825  25 560  593 325  375 417  393 191  341 373",
    },
    "hair_eye": {
        ("hair", "eye"): "20 68 5 15  94 7 16 10  84 119 29 54  17 26 14 14",
        ("hair", "sex"): "52 56  81 46  143 143  37 34",
        ("eye", "sex"): "114 101  122 98  31 33  46 47",
    },
    "framingham": {
        ("cholesterol", "heart_disease"): "246 8  439 31  307 12  245 41",
        # Agresti prints 408, 555, 224, 142 men (in twice as many classes), of whom 20, 28, 20, 24 fell ill.
        ("blood_pressure", "heart_disease"): "527 28  204 20  388 20  118 24",
        ("cholesterol", "blood_pressure"): "100 43 88 23  220 74 127 49  124 50 119 26  111 57 74 44",
    },
}
# Rows, and cells that are not empty.
SIZES = {"titanic": (2201, 24), "berkeley": (4526, 24), "hair_eye": (592, 32), "framingham": (1329, 31)}


def load(name: str) -> pd.DataFrame:
    return getattr(datasets, f"load_{name}")()


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", MARGINS)
def test_bundled_table_has_the_published_totals_and_two_way_margins(name: str) -> None:
    people, margins = load(name), MARGINS[name]
    assert (len(people), len(people.drop_duplicates())) == SIZES[name]
    assert {frozenset(pair) for pair in margins} == set(map(frozenset, itertools.combinations(people, 2)))
    for (rows, columns), printed in margins.items():
        found = pd.crosstab(people[rows], people[columns]).sort_index().sort_index(axis=1)
        assert found.to_numpy().ravel().tolist() == [int(count) for count in printed.split()]


@pytest.mark.parametrize("name", MARGINS)
def test_bundled_table_is_complete_text_and_the_same_at_every_call(name: str) -> None:
    people = load(name)
    assert all(type(value) is str and value for value in people.to_numpy().ravel())
    assert people.index.equals(pd.RangeIndex(len(people)))
    pd.testing.assert_frame_equal(load(name), people)


@pytest.mark.parametrize("name", MARGINS)
def test_row_order_says_nothing_about_any_column(name: str) -> None:
    """Equal neighbours: as many as in a random order, within 4.5 standard deviations (chance 1e-5)."""
    people = load(name)
    for column in people:
        share = people[column].value_counts(normalize=True).to_numpy()
        p, n = float((share**2).sum()), len(people) - 1
        variance = n * (p * (1 - p) + 2 * float((share**3).sum() - p * p))
        assert abs(people[column].eq(people[column].shift()).sum() - n * p) < 4.5 * variance**0.5


def test_make_joint_is_a_reproducible_distribution_of_the_asked_shape() -> None:
    joint = datasets.make_joint(random_state=7)
    assert joint.pmf.shape == (5, 17)
    np.testing.assert_array_equal(joint.pmf, datasets.make_joint(random_state=np.random.default_rng(7)).pmf)
    assert not np.array_equal(joint.pmf, datasets.make_joint(random_state=8).pmf)
    assert not np.array_equal(datasets.make_joint().pmf, datasets.make_joint().pmf)
    assert datasets.make_joint(n_x=3, n_s=2).pmf.shape == (2, 3)


def test_make_joint_has_uniform_entries_and_the_log_lifts_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    distributions = np.array([datasets.make_joint(random_state=rng).pmf for _ in range(1000)])
    log_lifts = np.log(distributions / (distributions.sum(2, keepdims=True) * distributions.sum(1, keepdims=True)))
    largest, smallest = log_lifts.max(axis=1), log_lifts.min(axis=1)
    # Observed ranges: [0.02, 1.64] and [-12, -0.06]. The extremes of a sample vary, and this one is large.
    assert 0.005 < largest.min() < 0.06
    assert 1.3 < largest.max() < np.log(17)
    assert -15 < smallest.min() < -7
    assert -0.12 < smallest.max() < 0
    # A ratio of two uniform entries is below 1/2, or above 2, with probability 1/4 each; 5 s.d. are 0.05.
    ratios = np.concatenate(
        [distributions[:, 0, 0] / distributions[:, 1, 1], distributions[:, 2, 2] / distributions[:, 3, 3]]
    )
    assert [(ratios < 0.5).mean(), (ratios > 2).mean()] == pytest.approx([0.25, 0.25], abs=0.05)


def test_make_table_follows_its_distribution() -> None:
    """Chi-square over all cells; the seeds are fixed, and a correct sampler fails for 1 pair in 1e6."""
    joint = datasets.make_joint(random_state=3)
    table = datasets.make_table(joint, 100_000, random_state=4)
    counts = np.bincount(table["s"] * 17 + table["x"], minlength=85)
    assert chisquare(counts, 100_000 * joint.pmf.ravel()).pvalue > 1e-6


def test_make_table_never_draws_an_impossible_cell_and_keeps_the_axes() -> None:
    joint = JointDistribution.from_matrix([[0.5, 0.0, 0.1], [0.0, 0.4, 0.0]])
    table = datasets.make_table(joint, 2000, random_state=0)
    assert table.dtypes.astype(str).to_dict() == {"s": "int64", "x": "int64"}
    assert set(table.itertuples(index=False, name=None)) == {(0, 0), (0, 2), (1, 1)}
    pd.testing.assert_frame_equal(table, datasets.make_table(joint, 2000, random_state=0))
    assert datasets.make_table(joint, 0).shape == (0, 2)


def test_generators_refuse_impossible_sizes() -> None:
    for n_x, n_s, named in [(0, 5, "n_x"), (17, -1, "n_s")]:
        with pytest.raises(InvalidParameter, match=f"{named} must be a whole number >= 1"):
            datasets.make_joint(n_x, n_s)
    with pytest.raises(InvalidParameter, match="n_records must be a whole number >= 0, got -1"):
        datasets.make_table(datasets.make_joint(), -1)


def test_every_public_name_has_an_example_that_runs() -> None:
    assert all(">>> " in getattr(datasets, name).__doc__ for name in datasets.__all__)
    for module in ["_bundled", "_survey"]:
        found = doctest.testmod(importlib.import_module(f"sanitize.datasets.{module}"))
        assert (found.attempted > 0, found.failed) == (True, 0)


@pytest.mark.slow
def test_importing_the_package_loads_no_pandas() -> None:
    code = "import sys, sanitize.datasets; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["raw.csv", "raw.CSV", "raw.parquet", "raw"])
def test_the_command_writes_what_the_name_says(name, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["datasets", "titanic", str(tmp_path / name)])
    runpy.run_module("sanitize.datasets", run_name="__main__")
    read = pd.read_csv if name.lower().endswith(".csv") else pd.read_parquet
    assert len(read(tmp_path / name)) == len(datasets.load_titanic())
