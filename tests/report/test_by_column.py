"""What is kept of each column: the chain rule, and the numbers of a channel that is known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import kept_by_column
from report_cases import Page
from scipy import sparse
from strategies import joints

import sanitize as sz
from sanitize.report import _columns as _kept
from sanitize.report import column_distributions, share_beyond_chance


@given(joints())
def test_symbols_that_are_one_column_keep_what_the_release_keeps(joint):
    channel = sz.Channel.merge(np.arange(len(joint.public)) // 2)
    kept = kept_by_column({"x": np.diag(joint.p_x)}, channel)["x"]
    available = sz.core.measures.entropy(joint.p_x)
    assert kept * available == pytest.approx(sz.core.measures.utility(joint, channel), abs=1e-9)


def test_half_of_a_bit_passes_the_erasure_channel():
    distribution = {"x": np.eye(2) / 2}
    erased = sz.Channel.from_matrix([[0.5, 0, 0.5], [0, 0.5, 0.5]])
    assert kept_by_column(distribution, erased)["x"] == pytest.approx(0.5)
    flipped = sz.Channel.from_matrix([[0.9, 0.1], [0.1, 0.9]])
    lost = -(0.9 * math.log2(0.9) + 0.1 * math.log2(0.1))
    assert kept_by_column(distribution, flipped)["x"] == pytest.approx(1 - lost)


@pytest.mark.slow
@given(joints(), st.integers(2, 4))
def test_both_ways_to_the_shares_agree(joint, n_groups):
    """The tuples' own reduced joint, for every report, and those of columns that are given, for trees."""
    places = np.arange(len(joint.public))
    tuples = sz.core.alphabet.Alphabet(("a", "b"), tuple((f"a{i // 2}", f"b{i % 2}") for i in places))
    joint = sz.JointDistribution(joint.pmf, joint.sensitive, tuples)
    k = min(n_groups, len(places))
    noisy = sz.Channel.from_matrix(0.7 * np.eye(k) + 0.3 / k)
    channel = sz.Channel.merge(places % k, tuples).then(noisy)
    report = sz.LeakageReport.measure(joint, channel)
    kept = kept_by_column(column_distributions(joint), channel)
    assert {one.column: one.share for one in report.kept} == pytest.approx(kept, abs=1e-12)


@given(joints(), st.integers(0, 2**32 - 1))
def test_what_is_kept_beyond_chance_is_the_same_for_channels_that_mix_few_symbols_and_many(joint, seed):
    """Sparse distributions through one product of the stages, and dense ones through each stage."""
    rng = np.random.default_rng(seed)
    n_x = len(joint.public)
    counts = rng.integers(0, 5, (3, n_x))
    counts[np.arange(n_x) % 3, np.arange(n_x)] += 20  # each tells of X, so that little of it is chance
    mixing = sz.Channel.from_matrix(0.5 * np.eye(n_x) + 0.5 / n_x)
    channel = mixing.then(mixing) if seed % 2 else mixing
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_kept, "_FEW_ENTRIES", 1000)
        few = share_beyond_chance(counts, channel)
        patched.setattr(_kept, "_FEW_ENTRIES", 0)
        many = share_beyond_chance(sparse.csr_array(counts), channel, _kept.deal_rows(sparse.csr_array(counts)))
    assert few == pytest.approx(many, abs=1e-11)


def test_columns_of_classes_are_those_of_the_raw_table():
    rng = np.random.default_rng(3)
    age = rng.integers(0, 60, 400)
    df = pd.DataFrame({"age": age, "pay": rng.integers(0, 99, 400), "ill": rng.random(400) < 0.2 + age / 120})
    report = (
        sz.LatentClassRelease(sz.LiftBudget.symmetric(0.7), sensitive="ill", public=["age", "pay"], n_classes=4)
        .fit(df)
        .report_
    )
    assert [column.column for column in report.kept] == ["age", "pay"]
    mean = report.summary["mean_column_utility"]
    page = report.to_html()
    assert f"Keeps {100 * mean:.3g} % of the information in each column, on average" in page
    assert "by the classes of the raw rows" not in page


def test_columns_alone_tell_what_their_own_distribution_tells():
    df = sz.datasets.load_titanic()
    report = (
        sz.OptimalRandomResponse(sz.LiftBudget.symmetric(0.5), sensitive="survived", public=["class", "sex"])
        .fit(df)
        .report_
    )
    for column in report.kept:
        distribution = sz.JointDistribution.from_frame(df, "survived", column.column)
        assert column.before == pytest.approx(sz.core.lifts.max_log_lift(distribution).max())
        assert column.after <= min(column.before, 0.5) + 1e-9


def test_raw_figures_of_bins_are_called_so():
    df = sz.datasets.load_titanic().assign(fare=np.arange(2201))
    settings = {"sensitive": "survived", "public": ["class", "fare"], "bins": {"fare": [0, 1000, 2201]}}
    report = sz.SubsetMerging(sz.LiftBudget.symmetric(0.5), **settings).fit(df).report_
    assert report.to_dict()["columns"]["binned"] == ["fare"]
    words = " ".join(" ".join(Page(report.to_html()).words).split())
    assert "Raw figures are of the table with fare in bins" in words
    plain = sz.SubsetMerging(sz.LiftBudget.symmetric(0.5), sensitive="survived", public="class").fit(df).report_
    assert "in bins" not in plain.to_html()


def test_what_is_constant_counts_in_no_mean():
    joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    channel = sz.subset_merging(joint, sz.LiftBudget.symmetric(0.3))
    rows = np.diag([25, 25, 30, 20])
    tables = {"varied": sparse.csr_array(rows), "constant": sparse.csr_array(rows.sum(axis=0, keepdims=True))}
    report = _kept.with_columns(sz.LeakageReport.measure(joint, channel), tables.items(), channel)
    share = share_beyond_chance(tables["varied"], channel)
    assert 0 < share < 1
    assert {column.column: column.share for column in report.kept} == {"varied": share, "constant": 1.0}
    assert report.summary["mean_column_utility"] == share
