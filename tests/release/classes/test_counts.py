"""Relations between columns, and what a report says of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.core.profiles import (
    Relation,
    _contingency,
    _square_deviation,
    _square_slope,
    choose_pairs,
    pair_relations,
)


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
    relations = pair_relations([str(k) for k in range(len(ours))], codes, weights, is_drawn=is_drawn)
    return {relation.columns: relation.share for relation in relations if relation.is_sure}


OTHERS = {
    "other rows like them": (pair(0.5), 0.86, 1.0),
    "a weaker relation": (pair(0.25), 0.15, 0.4),
    "a relation that is overstated": (pair(0.8), 0.3, 0.5),
    "independent columns with the margins of the table": (pair(0.0), 0.0, 0.05),
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
    assert "No two columns are related, so generated rows have no relation to lose." in told
    assert max(column.share for column in report.kept) < 0.05
    out.unlink()
    with pytest.raises(sz.errors.UselessRelease, match="each column would keep less than 5 %"):
        sz.release_file(raw, out, classes, rows="keep", allow_useless=False, key=bytes(32))
    assert not out.exists()


def test_a_report_says_how_many_relations_generated_rows_keep(tmp_path):
    raw, limit = tmp_path / "raw.parquet", sz.LiftBudget(at_most=4, at_least=0.2)
    classes = sz.LatentClassRelease(limit, sensitive="ill")
    linked(3000, 0.7).to_parquet(raw)
    report = sz.release_file(raw, tmp_path / "out.parquet", classes, key=bytes(32))
    assert report.relations > 0.8
    words = "Keeps 1 of 1 relations between columns within 20 %; 0 further off, 0 lost"
    assert words in " ".join(report.to_text().split())
    assert sz.LeakageReport.from_json(report.to_json()).to_text() == report.to_text()


def relation(names: tuple[str, str], raw: float, released: float, state: str) -> Relation:
    return Relation(names, raw, released, state, is_sure=True)


def test_a_report_names_each_lost_relation_and_none_that_survives():
    """On a page, as text and as JSON of the owner; the public view has none of them."""
    df = linked(300, 0.5)
    report = (
        sz.LatentClassRelease(sz.LiftBudget(at_most=4, at_least=0.2), sensitive="ill", random_state=0).fit(df).report_
    )
    n, states = 14, ["kept", "changed", *["lost"] * 12]
    pairs = [
        relation((f"a{k}", f"b{k}"), 0.5, {"kept": 0.45, "changed": 0.3, "lost": 0.1}[states[k]], states[k])
        for k in range(n)
    ]
    report = replace(report, pairs=tuple(pairs))
    page, warnings = report.to_html(), " ".join(report.to_dict()["warnings"])
    assert "Keeps 1 of 14 relations between columns within 20 %; 1 further off, 12 lost" in " ".join(page.split())
    for k, state in enumerate(states):
        assert (f"a{k} x b{k}" in warnings) == (state == "lost")
        listed = page.partition("<strong>Lost:</strong>")[2].partition("</p>")[0]
        assert (f"<bdi>a{k}</bdi> × <bdi>b{k}</bdi>" in listed) == (state == "lost")
    assert "Standard errors" in page
    assert not any(f"a{k}" in report.to_json(audience="public") for k in range(n))
    assert sz.LeakageReport.from_json(report.to_json()).to_html() == page


@pytest.mark.slow
def test_what_a_report_says_of_relations_is_so_in_the_file(tmp_path):
    """What it calls kept is within 20 %; the key is fixed, and `studies/relations.py` has other tables."""
    sz.datasets.load_survey().sample(4000, random_state=0).to_parquet(tmp_path / "raw.parquet")
    classes = sz.LatentClassRelease(sz.LiftBudget(at_most=2, at_least=0.33), sensitive="depression")
    report = sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", classes, key=bytes(32))
    raw, released = (pd.read_parquet(tmp_path / name) for name in ("raw.parquet", "out.parquet"))
    numbers = [name for name in released if pd.api.types.is_numeric_dtype(released[name])]
    kept = [pair for pair in report.pairs if pair.state == "kept" and set(pair.columns) <= set(numbers)]
    assert len(kept) >= 2
    for pair in kept:
        before, after = (abs(df[list(pair.columns)].corr(method="spearman").iloc[0, 1]) for df in (raw, released))
        assert after == pytest.approx(before, rel=0.25)


@pytest.mark.parametrize(("n_groups", "diagonal"), [(8, 0.12), (8, 0.3), (4, 0.2), (2, 0.6)])
def test_one_file_in_ten_is_further_off_than_the_error_of_a_relation(n_groups, diagonal):
    """Of 2,000 files of 600 rows 10 % on either side; 4 deviations of that share and 1 % of the approximation."""
    p = np.full((n_groups, n_groups), (1 - diagonal) / n_groups**2) + np.eye(n_groups) * diagonal / n_groups
    n, n_free, square = 600, (n_groups - 1) ** 2, (_contingency(p) ** 2).sum()
    files = np.random.default_rng(5).multinomial(n, p.ravel(), size=2000).reshape(-1, n_groups, n_groups)
    off = np.array([(_contingency(file.astype(float)) ** 2).sum() - n_free / n for file in files]) - square
    error = 1.28 * _square_deviation(square, n_free, n, _square_slope(p))
    assert 0.063 <= (off < -error).mean() <= 0.137
    assert 0.063 <= (off > error).mean() <= 0.137
