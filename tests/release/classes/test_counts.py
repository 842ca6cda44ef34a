"""Counts of columns and of pairs of them in classes, and what a report says of these."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.core.profiles import choose_pairs, pair_relations


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
    found = choose_pairs(n)
    assert found == everyone if n < 46 else len(found) == 1000
    assert sorted(set(found)) == found
    assert set(found) <= set(everyone)
    assert n < 3 or {column for pair in found for column in pair} == set(range(n))


RNG = np.random.default_rng(0)
N = 10_000


def pair(strength: float, sign: int = 1) -> list[np.ndarray]:
    """Two columns of six groups that agree as often as is said, the other way round for a negative sign."""
    one = RNG.integers(0, 6, N)
    same = one if sign > 0 else 5 - one
    return [one, np.where(RNG.random(N) < strength, same, RNG.integers(0, 6, N))]


def shown(ours, theirs, *, is_drawn=True) -> dict:
    weights = np.ones(len(ours[0])), np.ones(len(theirs[0]))
    codes = list(zip(ours, theirs, strict=True))
    return pair_relations([str(k) for k in range(len(ours))], codes, weights, is_drawn=is_drawn)


OTHERS = {
    "other rows like them": (pair(0.5), 0.98, 1.0),
    "a weaker relation": (pair(0.25), 0.3, 0.9),
    "independent columns with the margins of the table": (pair(0.0), 0.0, 0.03),
    "turned around": (pair(0.5, -1), 0.0, 0.0),
    "one group alone": ([np.zeros(N, int)] * 2, 0.0, 0.03),
}


@pytest.mark.parametrize(("others", "low", "high"), OTHERS.values(), ids=OTHERS)
def test_a_relation_is_kept_as_far_as_other_rows_show_it(others, low, high):
    assert low <= shown(pair(0.5), others)["0", "1"] <= high


def test_columns_that_depend_by_chance_alone_have_nothing_to_lose():
    """Of 435 pairs of 200 rows none: each is five deviations of chance away, by which fewer than one in 1e4 is."""
    assert shown([RNG.integers(0, 8, 200) for _ in range(30)], [RNG.integers(0, 8, N) for _ in range(30)]) == {}


def test_expected_rows_of_few_records_do_not_flatter():
    few = [own[:300] for own in pair(0.5)]
    assert shown(few, few, is_drawn=False)["0", "1"] == pytest.approx(1, abs=0.2)
    assert shown(few, [few[0].repeat(6), np.tile(np.arange(6), 300)], is_drawn=False)["0", "1"] == 0


def linked(n: int, links: float) -> pd.DataFrame:
    """Two columns that agree so often, and a secret that nothing is linked to."""
    one = RNG.integers(0, 6, n)
    other = np.where(RNG.random(n) < links, one, RNG.integers(0, 6, n))
    return pd.DataFrame({"ill": RNG.random(n) < 0.3, "one": one.astype(str), "other": other.astype(str)})


def test_shuffled_generated_rows_are_of_use_by_what_pairs_of_columns_say(tmp_path):
    """A row in place of somebody's that says next to nothing of it is refused; a row in random order is not."""
    raw, out = tmp_path / "raw.parquet", tmp_path / "out.parquet"
    sz.datasets.load_framingham().to_parquet(raw)
    limit = sz.LiftBudget(at_most=2, at_least=0.37)
    classes = sz.LatentClassRelease(limit, sensitive="heart_disease", confidence=0.95)
    report = sz.release_file(raw, out, classes, allow_useless=False, key=bytes(32))
    assert not report.useless
    told = " ".join(report.to_text().split())
    assert "No two columns depend on each other, so generated rows have nothing of that to lose; a row" in told
    assert max(column.share for column in report.kept) < 0.05
    out.unlink()
    with pytest.raises(sz.errors.UselessRelease, match="each column would keep less than 5 %"):
        sz.release_file(raw, out, classes, rows="keep", allow_useless=False, key=bytes(32))
    assert not out.exists()


def test_a_report_says_which_share_generated_rows_show_of_what_pairs_say(tmp_path):
    raw, limit = tmp_path / "raw.parquet", sz.LiftBudget(at_most=4, at_least=0.2)
    classes = sz.LatentClassRelease(limit, sensitive="ill")
    linked(3000, 0.7).to_parquet(raw)
    report = sz.release_file(raw, tmp_path / "out.parquet", classes, key=bytes(32))
    assert report.relations > 0.8
    told = f"Generated rows show {100 * report.relations:.3g} % of what pairs of columns say about each other"
    assert told in " ".join(report.to_text().split())
    assert sz.LeakageReport.from_json(report.to_json()).to_text() == report.to_text()
