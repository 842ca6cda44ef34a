"""Counts of columns and of pairs of them in classes, and what a report says of these."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.classes._counts import chosen_pairs


@pytest.mark.slow
def test_of_very_many_pairs_some_are_looked_at_and_the_report_says_how_many():
    rng = np.random.default_rng(9)
    both = rng.integers(0, 2, 400)
    columns = {f"c{k}": both ^ (rng.random(400) < 0.2) for k in range(50)}
    df = pd.DataFrame({"s": both ^ (rng.random(400) < 0.3), **columns})
    fitted = sz.LatentClassRelease(1.5, sensitive="s", public=list(df.columns[1:])).fit(df)
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
