"""Confidence sets cover, their worst case is that of linear programs, and robust designs hold in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.special import betainc, betaincc
from scipy.stats import binom, multinomial
from strategies import stages

import sanitize as sz
from sanitize.core.binning import LearnedEdges
from sanitize.core.budgets import LiftBudget
from sanitize.core.confidence import ConfidenceSet, _boxes
from sanitize.core.confidence._boxes import clopper_pearson, total_variation_radius
from sanitize.core.confidence._intervals import intervals
from sanitize.errors import ColumnError, InvalidBudget, InvalidDistribution, InvalidParameter
from sanitize.mechanisms import best_subset_merging
from sanitize.mechanisms._merging.risks import set_risks
from sanitize.transformers import OptimalRandomResponse, RandomizedResponse, SubsetMerging, Watchdog

BUDGETS = [
    sz.LiftBudget.symmetric(1.0),
    sz.LiftBudget(lower=1.3, upper=0.7),
    sz.LDPBudget(1.5),
    sz.LiftBudget(lower=np.inf, upper=0.5),
]
MECHANISMS = {
    "watchdog": sz.watchdog,
    "subset merging": sz.subset_merging,
    "best subset merging": best_subset_merging,
    "optimal random response": sz.optimal_random_response,
    "subset random response": lambda *given, **options: sz.subset_random_response(*given, block_size=3, **options),
}


def counted(counts) -> sz.JointDistribution:
    """Distribution of a table of counts."""
    counts = np.asarray(counts)
    distribution = sz.JointDistribution.from_matrix(counts / counts.sum())
    return sz.JointDistribution(distribution.pmf, distribution.sensitive, distribution.public, n=int(counts.sum()))


@st.composite
def tables(draw, max_s: int = 4, max_x: int = 6):
    """Counts with zeros and with rare symbols; every symbol occurs."""
    n_s, n_x = draw(st.integers(2, max_s)), draw(st.integers(1, max_x))
    cell = st.one_of(st.just(0), st.integers(1, 3), st.integers(1, 2000))
    counts = np.array(draw(st.lists(cell, min_size=n_s * n_x, max_size=n_s * n_x))).reshape(n_s, n_x)
    counts[counts.sum(axis=1) == 0, draw(st.integers(0, n_x - 1))] = 1
    counts[draw(st.integers(0, n_s - 1)), counts.sum(axis=0) == 0] = 1
    return counts


def conditional(distributions: ConfidenceSet, s: int, values: np.ndarray) -> np.ndarray:
    """Distribution P(.|s) of the set that makes the mean of values smallest, by a linear program of its definition."""
    k = len(values)
    eye = np.eye(k)
    solved = linprog(
        np.append(values / min(1.0, 1e3 * np.abs(values).max()), np.zeros(k)),  # the solver takes 1e-7 for nothing
        A_ub=np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, k)), np.ones((1, k))]]),
        b_ub=np.concatenate([distributions.center[s], -distributions.center[s], [2 * distributions.distance[s]]]),
        A_eq=np.append(np.ones(k), np.zeros(k))[None],
        b_eq=[1.0],
        bounds=[*zip(distributions.lower[s], distributions.upper[s], strict=True), *[(0, None)] * k],
    )
    assert solved.status == 0
    return solved.x[:k]


def priors(distributions: ConfidenceSet, values: np.ndarray) -> np.ndarray:
    """Prior of the set that makes the mean of values smallest, by a linear program."""
    bounds = list(zip(distributions.prior_lower, distributions.prior_upper, strict=True))
    scale = min(1.0, 1e3 * np.abs(values).max())  # the solver takes 1e-7 for nothing
    solved = linprog(values / scale, A_eq=np.ones((1, len(values))), b_eq=[1.0], bounds=bounds)
    assert solved.status == 0
    return solved.x


def corner(distributions: ConfidenceSet, rng: np.random.Generator) -> sz.JointDistribution:
    """An extreme distribution of the set, in a random direction; a mixture of two every other time."""

    def one() -> np.ndarray:
        n_s, n_x = distributions.center.shape
        given = np.array([conditional(distributions, s, rng.normal(size=n_x)) for s in range(n_s)])
        return priors(distributions, rng.normal(size=n_s))[:, None] * np.maximum(given, 0)

    pmf = one()
    if rng.random() < 0.5:
        second = one()
        prior = (pmf.sum(axis=1) + second.sum(axis=1)) / 2
        halves = pmf / pmf.sum(axis=1, keepdims=True) + second / second.sum(axis=1, keepdims=True)
        pmf = prior[:, None] * halves / 2
    pmf = pmf + 1e-300  # a symbol that a distribution rules out stays a symbol
    return sz.JointDistribution(pmf / pmf.sum(), distributions.sensitive, distributions.public)


# ------------------------------------------------------------------------------------------------- the set


@pytest.mark.parametrize("n", [1, 7, 40])
def test_each_end_of_an_interval_fails_with_at_most_half_the_level(n):
    level, k = 0.1, np.arange(n + 1)
    low, high = clopper_pearson(k, n, level)
    assert low[0] == 0
    assert high[-1] == 1
    for p in [*np.linspace(0, 1, 101), *low, *high]:
        weights = binom.pmf(k, n, p)
        assert weights[low > p].sum() <= level / 2 + 1e-12
        assert weights[high < p].sum() <= level / 2 + 1e-12


@pytest.mark.parametrize("n", [20_000, 10**7, 10**10])
@pytest.mark.parametrize("level", [0.4, 0.04, 1e-9])
def test_ends_of_intervals_of_large_counts_have_their_chance(n, level):
    """SciPy's inverse is wrong for 1,000 among a billion rows by any factor, to the unsafe side."""
    k = np.append(np.arange(90, 1100), [1999, n // 11, n // 9])
    low, high = clopper_pearson(k, n, level)
    for end, mirrored in zip((low, high), clopper_pearson(n - k, n, level)[::-1], strict=True):
        assert_allclose(1 - mirrored, end, rtol=1e-6 if n < 10**9 else 1e-3)  # what is left of 1 has few digits
    below, above = betainc(k, n - k + 1, low), betaincc(k + 1, n - k, high)
    for chance in (below, above):
        assert_allclose(chance, level / 2, rtol=1e-4)
    assert (np.diff(low[:-3]) > 0).all()
    assert (np.diff(high[:-3]) > 0).all()


def test_an_empty_cell_keeps_its_exact_one_sided_end():
    low, high = clopper_pearson(0, 50, 0.02)
    assert low == 0
    assert_allclose((1 - high) ** 50, 0.01)  # no row in 50 with probability half the level


@pytest.mark.parametrize(("k", "n"), [(2, 30), (3, 8)])
def test_total_variation_radius_holds_for_every_distribution_tried(k, n):
    level = 0.05
    radius = total_variation_radius(k, n, level)
    grid = np.array(np.meshgrid(*[np.arange(n + 1)] * k)).reshape(k, -1).T
    outcomes = grid[grid.sum(axis=1) == n]
    rng = np.random.default_rng(0)
    for p in [np.full(k, 1 / k), *rng.dirichlet(np.ones(k), 20)]:
        far = np.abs(outcomes / n - p).sum(axis=1) / 2 > radius
        assert multinomial.pmf(outcomes, n, p)[far].sum() <= level


def test_the_set_covers_the_distribution_at_its_confidence():
    """400 tables at 80 %: a set that covered in just 80 % would fail this with probability below 1e-9."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        pmf = rng.dirichlet(np.full(12, 0.7)).reshape(3, 4)
        counts = rng.multinomial(200, pmf.ravel()).reshape(3, 4)
        if not (counts.sum(axis=1) > 0).all():
            continue
        seen = counts.sum(axis=0) > 0
        distribution = sz.JointDistribution.from_matrix(pmf[:, seen] / pmf[:, seen].sum())
        missed += not ConfidenceSet.of(counted(counts[:, seen]), 0.8).contains(distribution)
    assert missed <= binom.ppf(1 - 1e-9, 400, 0.2)
    assert missed > 0  # a set that never misses at 80 % would be useless


def test_the_set_is_no_wider_than_its_parts_say():
    counts = np.array([[30, 0, 70], [20, 80, 100]])
    distributions = ConfidenceSet.of(counted(counts), 0.9)
    level = 0.1 / (2 * 2 + 2 * 3)
    low, high = clopper_pearson(counts, counts.sum(axis=1, keepdims=True), level)
    assert_allclose(distributions.lower, low)
    assert_allclose(distributions.upper, high)
    assert_allclose(distributions.prior_lower, clopper_pearson([100, 200], 300, level)[0])
    assert distributions.n == 300


def test_only_whole_counts_of_rows_are_taken():
    df = pd.DataFrame({"s": ["a", "b", "a", "b"], "x": ["u", "v", "v", "v"]})
    weighted = sz.JointDistribution.from_frame(df, "s", "x", weights=[1.0, 2.0, 0.5, 1.0])
    with pytest.raises(InvalidParameter, match="weighted or smoothed"):
        ConfidenceSet.of(weighted, 0.95)
    table = sz.core.joint.ContingencyTable.empty(["s"], ["x"])
    for _ in range(2):  # of rows that are counted at once the weights are known
        table.count(df, np.ones(4))
    with pytest.raises(InvalidParameter, match="weighted or smoothed"):
        ConfidenceSet.of(table, 0.95)
    with pytest.raises(InvalidDistribution, match="how many rows"):
        ConfidenceSet.of(sz.JointDistribution.from_matrix([[0.5, 0.5]]), 0.95)
    for wrong in (0, 1, -0.5, 95, True, "0.95", float("nan")):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            sz.watchdog(counted([[1, 2], [3, 4]]), 1.0, confidence=wrong)


@given(tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_merging_the_set_is_merging_its_distributions(counts, seed):
    rng = np.random.default_rng(seed)
    distributions = ConfidenceSet.of(counted(counts), 0.9)
    labels = np.unique(rng.integers(0, 3, counts.shape[1]), return_inverse=True)[1]
    merge = sz.Channel.merge(labels, distributions.public)
    merged = distributions.merge(labels, merge.outputs)
    assert merged.contains(corner(distributions, rng).push(merge))
    for a, b in zip(
        merged.released(sz.Channel.identity(len(merge.outputs))), distributions.released(merge), strict=True
    ):
        assert_allclose(a, b, atol=1e-12)


# ----------------------------------------------------------------------------------------------- worst case


@pytest.mark.slow
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_the_worst_case_is_that_of_linear_programs(data):
    counts = data.draw(tables())
    matrix = data.draw(stages(counts.shape[1]))
    channel = sz.Channel.from_matrix(matrix)
    distributions = ConfidenceSet.of(counted(counts), 0.9)
    worst = sz.core.confidence.worst_case_lift(distributions, channel)
    columns = matrix[:, matrix.sum(axis=0) > 0]
    n_s = len(counts)
    for y, m in enumerate(columns.T):
        low = np.array([m @ conditional(distributions, s, m) for s in range(n_s)])
        high = np.array([m @ conditional(distributions, s, -m) for s in range(n_s)])
        assert_allclose(worst.low[:, y], low, atol=3e-7)  # the solver's own tolerance is 1e-7
        assert_allclose(worst.high[:, y], high, atol=3e-7)
        for s in range(n_s):
            values = np.where(np.arange(n_s) == s, high, low)
            mean = values @ priors(distributions, values)
            assert_allclose(worst.most_lift[s, y], high[s] / mean, rtol=1e-6, atol=1e-6 / mean)
            values = np.where(np.arange(n_s) == s, low, high)
            mean = values @ priors(distributions, -values)
            assert_allclose(worst.least_lift[s, y], low[s] / mean, rtol=1e-6, atol=1e-6 / mean)
        if low.min() > 1e-3:
            pairs = [high[s] / low[r] for s in range(n_s) for r in range(n_s) if s != r]
            assert_allclose(worst.ldp_ratio[y], max(pairs), rtol=1e-3)


@pytest.mark.slow
@given(st.data(), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_no_distribution_of_the_set_is_worse_and_intervals_hold_for_all(data, seed):
    counts = data.draw(tables(max_s=3, max_x=5))
    channel = sz.Channel.from_matrix(data.draw(stages(counts.shape[1])))
    distributions = ConfidenceSet.of(counted(counts), 0.9)
    worst = distributions.worst_case(channel)
    known = intervals(worst, channel)
    rng = np.random.default_rng(seed)
    for distribution in [counted(counts), *(corner(distributions, rng) for _ in range(6))]:
        assert distributions.contains(distribution)
        released = distribution.push(channel)
        if len(released.public) < len(worst.released):
            continue  # a distribution under which a symbol cannot occur says nothing of it
        lifts = sz.lift(released)
        assert (lifts <= worst.most_lift * (1 + 1e-6) + 1e-9).all()
        assert (lifts >= worst.least_lift * (1 - 1e-6) - 1e-9).all()
        report = sz.LeakageReport.measure(distribution, channel)
        for name, (low, high) in known.items():
            assert low - 1e-7 <= report.summary[name] <= high + 1e-7, name


def test_large_groups_are_held_by_the_distance_and_not_by_their_letters():
    rng = np.random.default_rng(10)
    distributions = ConfidenceSet.of(counted(rng.integers(5, 25, (2, 20))), 0.95)
    matrix = np.stack([np.arange(20) < 9, np.arange(20) >= 9, rng.random(20)], axis=1)
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    low, high = distributions.released(sz.Channel.from_matrix(matrix))
    for y, m in enumerate(matrix.T):
        for s in range(2):
            assert_allclose(low[s, y], m @ conditional(distributions, s, m), atol=1e-8)
            assert_allclose(high[s, y], m @ conditional(distributions, s, -m), atol=1e-8)
    letters = (distributions.upper - distributions.center)[:, :9].sum(axis=1)
    merge = sz.Channel.merge((np.arange(20) >= 9).astype(int))
    assert_allclose(
        distributions.released(merge)[1][:, 0] - distributions.center[:, :9].sum(axis=1),
        distributions.distance,
        atol=1e-12,
    )
    assert (distributions.distance < letters).all()
    column = np.concatenate(
        [distributions.center, distributions.upper - distributions.center, distributions.center - distributions.lower]
    )[:, :9].sum(axis=1)
    risks = set_risks(counted(distributions.counts), sz.LiftBudget(lower=1, upper=1), distributions)
    assert_allclose(risks._bounds(column[:, None])[1][:, 0], distributions.released(merge)[1][:, 0], atol=1e-12)


def test_a_constant_channel_tells_nothing_under_any_distribution():
    distributions = ConfidenceSet.of(counted([[5, 0, 9], [4, 3, 2]]), 0.99)
    worst = distributions.worst_case(sz.Channel.from_matrix(np.tile([0.3, 0.7], (3, 1))))
    assert_allclose(worst.most_lift, 1, atol=1e-12)
    assert_allclose(worst.least_lift, 1, atol=1e-12)
    assert (worst.excess(sz.LiftBudget(lower=0, upper=0)) <= 0).all()


def test_the_worst_case_shrinks_with_more_rows_to_the_frequencies():
    joint = counted([[30, 20, 50], [10, 60, 30]])
    channel = sz.Channel.identity(3)
    distributions = ConfidenceSet.of(joint, 0.95)
    excess = [distributions.scaled(k).worst_case(channel).max_log_lift.max() for k in (1, 10, 1000, 10**8)]
    assert (np.diff(excess) < 0).all()
    assert_allclose(excess[-1], sz.core.lifts.max_log_lift(joint).max(), atol=1e-3)
    assert (
        sz.core.confidence.worst_case_lift(joint, channel, 0.99).ldp_epsilon
        > distributions.worst_case(channel).ldp_epsilon
    ).all()


def test_batches_of_columns_do_not_change_the_worst_case(monkeypatch):
    rng = np.random.default_rng(2)
    distributions = ConfidenceSet.of(counted(rng.integers(0, 50, (3, 20)) + 1), 0.9)
    rows = np.where(rng.random((20, 20)) < 0.2, rng.random((20, 20)), 0.0) + np.eye(20)
    channel = sz.Channel.from_matrix(rows / rows.sum(axis=1, keepdims=True))
    whole = distributions.released(channel)
    monkeypatch.setattr(_boxes, "BLOCK_CELLS", 1)
    for a, b in zip(whole, distributions.released(channel), strict=True):
        assert_allclose(a, b, atol=1e-14)


# ----------------------------------------------------------------------------------------------- mechanisms


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_robust_design_holds_at_extreme_distributions_and_in_the_exact_audit(name, budget):
    rng = np.random.default_rng(3)
    for n, shape in ((300, (2, 4)), (20_000, (3, 7))):
        counts = rng.multinomial(n, rng.dirichlet(np.ones(np.prod(shape)))).reshape(shape)
        counts[:, counts.sum(axis=0) == 0] = 1
        joint = counted(counts)
        channel = MECHANISMS[name](joint, budget, confidence=0.9)
        distributions = ConfidenceSet.of(joint, 0.9)
        assert (distributions.worst_case(channel).excess(budget) <= 0).all()
        for _ in range(10):
            assert budget.excess(corner(distributions, rng).push(channel)).max() <= 1e-9


def test_a_plain_design_is_caught_by_the_same_check():
    joint = counted(np.random.default_rng(4).integers(1, 400, (3, 7)))
    budget = BUDGETS[0]
    channel = sz.optimal_random_response(joint, budget)
    assert sz.core.confidence.worst_case_lift(joint, channel, 0.9).excess(budget).max() > 0.01


@pytest.mark.parametrize("name", MECHANISMS)
def test_many_rows_bring_back_the_plain_utility(name):
    joint = counted(np.random.default_rng(5).integers(1, 400, (3, 6)) * 10**9)
    budget = sz.LiftBudget(lower=0.6, upper=0.4)
    plain, robust = (MECHANISMS[name](joint, budget, **options) for options in ({}, {"confidence": 0.95}))
    assert sz.normalized_utility(joint, robust) == pytest.approx(sz.normalized_utility(joint, plain), abs=2e-3)


def test_better_mechanisms_keep_more_under_confidence():
    joint = counted(np.random.default_rng(6).multinomial(10**5, np.random.default_rng(7).dirichlet(np.full(60, 3.0)))
                    .reshape(5, 12))  # fmt: skip
    kept = [
        sz.normalized_utility(joint, MECHANISMS[name](joint, sz.LiftBudget(lower=0.6, upper=0.6), confidence=0.95))
        for name in ("watchdog", "subset merging", "best subset merging", "optimal random response")
    ]
    assert np.all(np.diff(kept) >= -1e-9)
    assert kept[-1] > kept[-2] + 0.01


def test_other_budgets_are_refused_with_confidence():
    joint = counted([[5, 3], [2, 6]])
    for mechanism in (sz.watchdog, sz.subset_merging):
        with pytest.raises(InvalidBudget, match="takes a LiftBudget, an LDPBudget or a number"):
            mechanism(joint, sz.Chi2LiftBudget(lower=1.0, upper=1.0), confidence=0.95)
    with pytest.raises(InvalidBudget, match="takes a LiftBudget, an LDPBudget or a number"):
        sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.L1LiftBudget(lower=1, upper=1), confidence=0.95)


@pytest.mark.slow
def test_violations_under_the_true_distribution_are_rare_with_confidence_and_common_without():
    """15 tables of 2,000 rows: a valid 90 % design breaks its budget in more than 7 with probability below 1e-4."""
    rng = np.random.default_rng(8)
    budget = sz.LiftBudget(lower=0.7, upper=0.7)
    broken = np.zeros(2)
    for _ in range(15):
        distribution = sz.JointDistribution.from_matrix(rng.dirichlet(np.full(18, 3.0)).reshape(3, 6))
        joint = counted(rng.multinomial(2000, distribution.pmf.ravel()).reshape(3, 6))
        for k, options in enumerate(({}, {"confidence": 0.9})):
            channel = sz.optimal_random_response(joint, budget, **options)
            broken[k] += budget.excess(distribution.push(channel)).max() > 1e-9
    assert broken[1] <= binom.ppf(1 - 1e-4, 15, 0.1)
    assert broken[0] >= 10


# -------------------------------------------------------------------------------------- estimators, reports


def table(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    illness = rng.choice(["flu", "none"], n, p=[0.3, 0.7])
    shift = np.where(illness == "flu", 2, 0)
    return pd.DataFrame({"illness": illness, "town": [f"t{k}" for k in np.minimum(rng.poisson(2, n) + shift, 7)]})


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Watchdog, SubsetMerging, OptimalRandomResponse])
def test_the_verdict_of_an_estimator_is_about_the_whole_set(estimator):
    df = table(800)
    plain, robust = (
        estimator(LiftBudget.symmetric(0.5), sensitive="illness", confidence=c).fit(df) for c in (None, 0.95)
    )
    assert robust.report_.ok
    assert (plain.report_.confidence, robust.report_.confidence) == (None, 0.95)
    figures = [fitted.report_.summary for fitted in (plain, robust)]
    worst = [max(found["worst_max_log_lift"], -found["worst_min_log_lift"]) for found in figures]
    assert worst[0] > 0.5 >= worst[1] - 1e-9
    assert "THESE ROWS ONLY" in plain.report_.to_text()
    assert "the population of these rows, if it has no other values (95 % sure)" in " ".join(
        robust.report_.to_text().split()
    )
    assert robust.report_.to_dict()["verdict"]["confidence"] == 0.95
    kept = robust.report_.summary
    assert kept["normalized_utility"] <= kept["normalized_utility_100x"] + 0.05
    # The plain channel, judged for the set, fails.
    joint = sz.JointDistribution.from_frame(df, "illness", "town")
    judged = sz.LeakageReport.measure(joint, plain.channel_, sz.LiftBudget.symmetric(0.5), confidence=0.95)
    assert not judged.ok
    with pytest.raises(sz.errors.BudgetExceeded):
        judged.require()


def test_pooling_of_rare_symbols_is_part_of_what_is_covered():
    df = table(600)
    sanitizer = SubsetMerging(LiftBudget.symmetric(0.7), sensitive="illness", min_count=60, confidence=0.9).fit(df)
    distributions = ConfidenceSet.of(sz.JointDistribution.from_frame(df, "illness", "town"), 0.9)
    assert (distributions.worst_case(sanitizer.channel_).excess(sz.LiftBudget.symmetric(0.7)) <= 1e-9).all()


def test_what_confidence_cannot_speak_of_is_refused():
    df = table(500).assign(age=np.arange(500.0) % 70)
    with pytest.raises(InvalidParameter, match="smoothing and confidence"):
        Watchdog(LiftBudget.symmetric(1.0), sensitive="illness", public="town", smoothing=0.5, confidence=0.9).fit(df)
    with pytest.raises(ColumnError, match="declare edges"):
        Watchdog(
            LiftBudget.symmetric(1.0),
            sensitive="illness",
            public="age",
            bins={"age": LearnedEdges([0, 30, 70])},
            confidence=0.9,
        ).fit(df)
    assert (
        Watchdog(
            LiftBudget.symmetric(1.0), sensitive="illness", public="age", bins={"age": [0, 30, 70]}, confidence=0.9
        )
        .fit(df)
        .report_.ok
    )


def test_randomized_response_holds_for_every_distribution():
    report = RandomizedResponse(1.0, sensitive="illness", confidence=0.9).fit(table()).report_
    assert report.ok
    assert report.summary["worst_ldp_sensitive"] <= 1 + 1e-9


def test_held_out_figures_are_estimates_with_intervals():
    df = table(8000)
    sanitizer = SubsetMerging(LiftBudget.symmetric(0.5), sensitive="illness").fit(df[:4000])
    report = sanitizer.measure(df[4000:], confidence=0.9)
    found = {measure.name: measure for measure in report.measures}
    for name in ("max_log_lift", "min_log_lift", "ldp_sensitive", "mutual_information", "total_variation"):
        measure = found[name]
        assert measure.kind == "estimate"
        assert measure.low <= measure.after <= measure.high
    assert found["max_log_lift"].high == found["worst_max_log_lift"].after
    assert "worst case at 90 %" in found["worst_max_log_lift"].label
    assert found["sibson_2"].low is None
    assert report.to_dict()["measures"][0]["low"] == found["max_log_lift"].low


def test_distributions_without_rows_have_no_worst_case_in_their_report():
    report = sz.LeakageReport.measure(
        sz.JointDistribution.from_matrix([[0.2, 0.3], [0.4, 0.1]]), sz.Channel.identity(2)
    )
    assert not any(measure.name.startswith("worst_") for measure in report.measures)


def test_of_a_source_with_values_that_no_row_has_the_intervals_miss():
    """What the pages say does not hold: ten million values, 60 rows, and each value seen is told to be more likely."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"s": rng.integers(0, 2, 60), "x": rng.integers(0, 10**7, 60)})
        distributions = ConfidenceSet.of(sz.JointDistribution.from_frame(rows, "s", "x"), 0.95)
        seen = distributions.counts > 0
        assert (distributions.lower[seen] > 1e-7).all()


@pytest.mark.parametrize("page", ["SECURITY.md", "README.md", "docs/guide/sample.md", "docs/guide/report.md"])
def test_pages_that_promise_for_the_source_say_for_which_values(page):
    words = " ".join((Path(__file__).parents[3] / page).read_text(encoding="utf-8").split())
    assert "confidence" in words
    assert re.search("no other values|values (of the population )?occur in (the|your) rows", words)
    assert "whatever the true distribution" not in words
