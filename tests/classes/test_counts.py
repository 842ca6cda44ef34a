"""Counts of columns and of pairs of them in classes, and what a report says of these."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.core.profiles import chosen_pairs, pair_overlaps


@pytest.mark.slow
def test_of_very_many_pairs_some_are_looked_at_and_the_report_says_how_many():
    rng = np.random.default_rng(9)
    both = rng.integers(0, 2, 400)
    columns = {f"c{k}": both ^ (rng.random(400) < 0.2) for k in range(50)}
    df = pd.DataFrame({"s": both ^ (rng.random(400) < 0.3), **columns})
    fitted = sz.LatentClassRelease(sz.LiftBudget.symmetric(1.5), sensitive="s", public=list(df.columns[1:])).fit(df)
    section = next(one for one in fitted.report_.sections if one.name == "kept by pair")
    assert ", of 1000 pairs drawn at random from 1225; the 30 least kept of 1000 pairs." in section.words
    assert len(section.rows) == 30


@pytest.mark.parametrize("n", [1, 2, 45, 46, 200])
def test_pairs_that_are_looked_at_are_all_or_a_thousand_that_differ(n):
    everyone = list(combinations(range(n), 2))
    found = chosen_pairs(n)
    assert found == everyone if n < 46 else len(found) == 1000
    assert sorted(set(found)) == found
    assert set(found) <= set(everyone)
    assert n < 3 or {column for pair in found for column in pair} == set(range(n))


def test_overlaps_of_pairs_are_those_of_the_tables_and_chance_is_taken_off():
    rng = np.random.default_rng(1)
    ours = [rng.integers(0, 3, 4000), rng.integers(0, 4, 4000)]
    theirs = [own[rng.permutation(4000)[:3000]] for own in ours]  # each column as it is, and no link
    ours[1] = (ours[0] + (rng.random(4000) < 0.1)).astype(int)
    weights = np.full(4000, 1 / 4000), np.full(3000, 1 / 3000)
    codes = list(zip(ours, theirs, strict=True))
    [(names, found)] = pair_overlaps(["a", "b"], codes, weights).items()
    tables = [np.histogram2d(*side, bins=[3, 4])[0] / len(side[0]) for side in zip(*codes, strict=True)]
    assert names == ("a", "b")
    assert found == pytest.approx(1 - abs(tables[0] - tables[1]).sum() / 2)
    alike = [(own[::2], own[1::2]) for own in ours]
    halves = np.full(2000, 1 / 2000), np.full(2000, 1 / 2000)
    plain, without = (pair_overlaps(["a", "b"], alike, halves, noise)["a", "b"] for noise in (0.0, 2 / 2000))
    assert plain < without
    assert without > 0.995


def test_shuffled_generated_rows_are_of_use_by_what_they_are_together(tmp_path):
    """A row in place of somebody's that says next to nothing of it is refused; a row in random order is not."""
    raw, out = tmp_path / "raw.parquet", tmp_path / "out.parquet"
    sz.datasets.load_framingham().to_parquet(raw)
    limit = sz.LiftBudget(at_most=2, at_least=0.37)
    classes = sz.LatentClassRelease(limit, sensitive="heart_disease", confidence=0.95)
    report = sz.release_file(raw, out, classes, allow_useless=False, key=bytes(32))
    assert not report.useless
    assert report.summary["mean_pair_overlap"] > 0.95
    assert max(column.share for column in report.kept) < 0.05 < min(column.overlap for column in report.kept)
    out.unlink()
    with pytest.raises(sz.errors.UselessRelease):
        sz.release_file(raw, out, classes, rows="keep", allow_useless=False, key=bytes(32))
    assert not out.exists()
