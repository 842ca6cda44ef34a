"""Whose row a released row may be, and the three tests made of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import Page, measured

import sanitize as sz
from sanitize.report._crowds import crowds_of
from sanitize.report._three_tests import three_tests


def counted(rows: list[int]) -> sz.JointDistribution:
    """Law of a table with these rows of each public symbol, whatever the secret."""
    sizes = np.array(rows, float)
    joint = sz.JointDistribution.from_matrix(np.stack([sizes, sizes]) / (2 * sizes.sum()))
    return sz.JointDistribution(joint.pmf, joint.sensitive, joint.public, int(sizes.sum()))


def by_enumeration(rows: list[int], matrix: list[list[Fraction]]) -> tuple[Fraction, Fraction, Fraction]:
    """Alone, smallest and mean by Bayes' rule over single rows, in fractions: the slow twin."""
    owners = [x for x, size in enumerate(rows) for _ in range(size)]
    n, alone, right, surest = len(owners), Fraction(0), Fraction(0), Fraction(0)
    for y in range(len(matrix[0])):
        weights = [matrix[x][y] for x in owners]
        total = sum(weights, Fraction(0))
        if not total:
            continue
        best = max(weights) / total
        surest = max(surest, best)
        right += total / n * best
        alone += total / n if sum(weight > 0 for weight in weights) == 1 else 0
    return alone, 1 / surest, 1 / right


SIZES = st.lists(st.integers(1, 6), min_size=2, max_size=5)


@st.composite
def channels(draw: st.DrawFn, n_x: int) -> list[list[Fraction]]:
    n_y = draw(st.integers(1, 4))
    rows = []
    for _ in range(n_x):
        weights = draw(st.lists(st.integers(0, 4), min_size=n_y, max_size=n_y).filter(any))
        rows.append([Fraction(weight, sum(weights)) for weight in weights])
    return rows


@given(st.data(), SIZES)
def test_crowds_are_those_of_bayes_rule_over_single_rows(data, rows):
    matrix = data.draw(channels(len(rows)))
    found = crowds_of(counted(rows), sz.Channel.from_matrix(np.array(matrix, float)))
    identity = [[Fraction(int(x == y)) for y in range(len(rows))] for x in range(len(rows))]
    for crowds, law in zip(found, (identity, matrix), strict=True):
        expected = [float(figure) for figure in by_enumeration(rows, law)]
        assert [crowds.alone, crowds.smallest, crowds.mean] == pytest.approx(expected, rel=1e-6)


@given(st.data(), SIZES)
def test_no_channel_makes_a_crowd_smaller(data, rows):
    before, after = crowds_of(counted(rows), sz.Channel.from_matrix(np.array(data.draw(channels(len(rows))), float)))
    assert after.alone <= before.alone + 1e-9
    assert after.smallest >= before.smallest * (1 - 1e-9)
    assert after.mean >= before.mean * (1 - 1e-9)


def test_raw_columns_have_the_figures_of_k_anonymity():
    df = sz.datasets.load_titanic()
    joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    before, after = crowds_of(joint, sz.Channel.identity(len(joint.public)))
    profile = sz.anonymity.anonymity_profile(df, ["class", "sex"], "survived")
    assert before == after
    assert (before.smallest, before.alone) == (profile.k, profile.unique)
    assert before.mean == pytest.approx(len(df) / profile.n_classes)


def test_merged_symbols_hide_rows_in_their_group_however_they_are_printed():
    df = sz.datasets.load_titanic()
    found = []
    for output in ("label", "resample"):
        sanitizer = sz.Watchdog(0.3, sensitive="survived", public=["class", "sex"], output=output).fit(df)
        found.append(sanitizer.report_.crowds[1])
    assert vars(found[0]) == pytest.approx(vars(found[1]))
    assert found[0].smallest > 23


@pytest.mark.parametrize("law", ["stated", "smoothed", "large"])
def test_what_was_not_counted_is_not_measured_and_says_so(law, monkeypatch):
    joint = counted([3, 4])
    if law == "stated":
        report = measured()
    elif law == "smoothed":
        df = sz.datasets.load_titanic()
        report = sz.SubsetMerging(0.5, sensitive="survived", public="class", smoothing=0.3).fit(df).report_
    else:
        monkeypatch.setattr("sanitize.report._crowds._MOST_CELLS", 1)
        report = sz.LeakageReport.measure(joint, sz.Channel.from_matrix([[0.5, 0.5], [0.4, 0.6]]))
    assert report.crowds is None
    single, link, inference = three_tests(report.to_dict())
    assert "Not measured" in single["gap"]
    assert "Not measured" in link["gap"]
    assert inference["figures"]
    assert report.to_html().count("Not measured: this needs") == 2


def test_page_says_each_test_and_what_it_leaves_open():
    joint = counted([1, 3, 7])
    report = sz.LeakageReport.measure(joint, sz.Channel.merge([0, 0, 1]), sz.LiftBudget.symmetric(9))
    words = " ".join(" ".join(Page(report.to_html()).words).split())
    assert "rows only one person can be behind raw 9.1 %, released 0 %" in words
    assert "smallest group a row hides in (k) raw 1, released 4" in words
    assert "raw 1 in 3.66, released 1 in 5.5" in words  # 11 / 3 and 11 / 2, rounded down
    assert words.count("Not said:") == 3


def test_public_figures_are_two_digits_to_the_safe_side():
    joint = counted([1, *[137] * 9])
    report = sz.LeakageReport.measure(joint, sz.Channel.identity(10))
    exact, public = (report.to_dict(audience=audience)["crowds"]["before"] for audience in ("internal", "public"))
    assert exact["alone"] == pytest.approx(1 / 1234)
    assert public == {"alone": 0.00082, "smallest": 1.0, "mean": 120.0}
    assert sz.LeakageReport.from_json(report.to_json()).to_dict(audience="public")["crowds"]["before"] == public


def test_columns_alone_tell_what_their_own_law_tells():
    df = sz.datasets.load_titanic()
    report = sz.OptimalRandomResponse(0.5, sensitive="survived", public=["class", "sex"]).fit(df).report_
    for column in report.kept:
        law = sz.JointDistribution.from_frame(df, "survived", column.column)
        assert column.before == pytest.approx(sz.lifts.max_log_lift(law).max())
        assert column.after <= min(column.before, 0.5) + 1e-9
    labels = sz.OptimalRandomResponse(0.5, sensitive="survived", public=["class", "sex"], output="label").fit(df)
    assert all(column.after is None for column in labels.report_.kept)


@pytest.mark.parametrize("output", ["label", "resample"])
def test_raw_figures_of_bins_are_called_so(output):
    df = sz.datasets.load_titanic().assign(fare=np.arange(2201))
    settings = {"sensitive": "survived", "public": ["class", "fare"], "bins": {"fare": [0, 1000, 2201]}}
    report = sz.SubsetMerging(0.5, **settings, output=output).fit(df).report_
    assert report.to_dict(audience="public")["columns"]["binned"] == ["fare"]
    words = " ".join(" ".join(Page(report.to_html(audience="public")).words).split())
    assert "raw table, in bins" in words
    assert "Raw figures are of the table with fare in bins" in words
    plain = sz.SubsetMerging(0.5, sensitive="survived", public="class").fit(df).report_
    assert "in bins" not in plain.to_html()
