"""Curves and suggestions: every figure is that of a channel that was measured, and no wish is met by luck."""

from __future__ import annotations

import math
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_mechanisms import paper_subset_merging
from scipy.optimize import brentq

import sanitize as sz
from sanitize._util.formatting import cells
from sanitize.errors import BudgetExceeded, InfeasibleTarget, InvalidBudget, InvalidParameter

PMF = np.array([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
JOINT = sz.JointDistribution.from_matrix(PMF)


def random_distribution(seed: int, n_s: int = 3, n_x: int = 9) -> sz.JointDistribution:
    pmf = np.random.default_rng(seed).dirichlet(np.full(n_s * n_x, 0.8)).reshape(n_s, n_x)
    return sz.JointDistribution.from_matrix(pmf)


def response(joint: sz.JointDistribution, budget: sz.LDPBudget) -> sz.Channel:
    """Randomized response: its utility and its leakage grow with epsilon, without a step."""
    return sz.randomized_response(len(joint.public), budget.eps)


def test_figures_of_a_curve_are_those_of_the_channels():
    budgets = [0, 0.4, sz.LiftBudget(lower=1, upper=0.5), sz.LDPBudget(1.5)]
    joint = random_distribution(1)
    curve = sz.release.choosing.tradeoff_curve(joint, sz.subset_merging, budgets)
    assert [point.budget for point in curve.points] == budgets
    assert len(curve) == 4
    for budget, point in zip(budgets, curve.points, strict=True):
        channel = sz.subset_merging(joint, budget)
        after = joint.push(channel)
        assert point["normalized_utility"] == sz.normalized_utility(joint, channel)
        assert point["mutual_information"] == sz.mutual_information(after)
        assert point["max_log_lift"] == sz.core.lifts.max_log_lift(after).max()
        assert point["min_log_lift"] == sz.core.lifts.min_log_lift(after).min()
        assert point["ldp_sensitive"] == sz.ldp_epsilon(after)
        assert point.n_released == len(after.public)
    frame = curve.to_frame()
    assert frame["budget"].tolist()[:2] == [0, 0.4]
    assert frame["upper"].tolist()[2] == 0.5
    assert frame["eps"].tolist()[3] == 1.5
    assert frame["mutual_information"].tolist() == [point["mutual_information"] for point in curve.points]


def test_a_channel_over_its_budget_is_never_drawn():
    with pytest.raises(BudgetExceeded):
        sz.release.choosing.tradeoff_curve(
            JOINT, lambda joint, _: sz.Channel.identity(4), [sz.LiftBudget.symmetric(0.1)]
        )
    with pytest.raises(InvalidParameter, match="at least one budget"):
        sz.release.choosing.tradeoff_curve(JOINT, sz.watchdog, [])
    with pytest.raises(InvalidBudget):
        sz.release.choosing.tradeoff_curve(JOINT, sz.watchdog, [-1])


def test_curve_is_frozen_and_goes_through_pickle():
    curve = sz.release.choosing.tradeoff_curve(JOINT, sz.watchdog, [0, 1])
    with pytest.raises(AttributeError):
        curve.points = ()
    assert pickle.loads(pickle.dumps(curve)) == curve


@pytest.mark.parametrize("n", [1, 3, 60])
def test_text_of_a_curve_fits_a_terminal_and_marks_the_chosen_point(n):
    curve = sz.release.choosing.tradeoff_curve(JOINT, sz.watchdog, np.linspace(0, 1, n))
    chosen = curve[n // 2]
    rows = curve.to_text(chosen=chosen).splitlines()
    assert max(map(cells, rows)) <= 80
    assert curve.to_text().isascii()
    marked = [row for row in rows if row.startswith("->")]
    assert len(marked) == 1
    assert marked[0].split()[1] == chosen.label
    assert f"{100 * chosen['normalized_utility']:.1f} %" in marked[0]
    assert marked[0].count("#") == round(20 * chosen["normalized_utility"])
    assert len(rows) <= 2 + 21 + 1
    assert ("60 budgets were tried" in rows[-1]) is (n == 60)


@pytest.mark.parametrize("target", [0.1, 0.5, 0.75, 0.8, 0.9])
def test_no_two_rows_of_a_suggestion_read_alike(target):
    found = sz.suggest_budget(JOINT, target_utility=target)
    rows = [row for row in str(found).splitlines()[4:] if not row.endswith("to_frame()")]
    assert len({row[2:] for row in rows}) == len(rows)
    assert sum(row.startswith("->") for row in rows) == 1
    assert (len(rows) < len(found.curve)) is str(found).endswith("budgets were tried: see to_frame()")


def test_labels_are_in_times_where_the_budget_is_a_lift():
    budgets = [
        0.25,
        sz.LiftBudget(lower=1.5, upper=0.5),
        sz.LDPBudget(2),
        sz.LiftBudget(at_most=1.65, at_least=0),
        sz.L1LiftBudget(lower=1.0, upper=0.5),
    ]
    curve = sz.release.choosing.tradeoff_curve(JOINT, sz.watchdog, budgets)
    assert [point.label for point in curve.points] == ["0.25", "0.223-1.65", "2", "0-1.65", "1:0.5"]


@pytest.mark.slow
@settings(max_examples=12)
@given(st.integers(0, 10_000), st.floats(0, 1), st.sampled_from([sz.watchdog, sz.subset_merging]))
def test_suggestion_keeps_the_target_and_no_tighter_budget_tried_does(seed, target, mechanism):
    joint = random_distribution(seed)
    found = sz.suggest_budget(joint, target_utility=target, mechanism=mechanism, n_points=9)
    again = mechanism(joint, found.budget)
    assert again == found.channel
    assert sz.normalized_utility(joint, again) == found.normalized_utility >= target - 1e-12
    assert found.report.ok
    assert (found.budget.excess(joint.push(again)) <= 0).all()
    eps = [point.budget.upper for point in found.curve.points]
    assert eps == sorted(set(eps))
    tighter = [point for point in found.curve.points if point.budget.upper < found.budget.upper]
    assert all(point["normalized_utility"] < target for point in tighter)
    assert math.isfinite(found.budget.upper)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.integers(0, 10_000), st.floats(0, 0.2), st.sampled_from([sz.watchdog, sz.subset_merging]))
def test_suggestion_leaks_at_most_the_limit_and_nothing_tried_is_more_useful(seed, limit, mechanism):
    joint = random_distribution(seed)
    found = sz.suggest_budget(joint, max_leakage=limit, mechanism=mechanism, n_points=9)
    after = joint.push(mechanism(joint, found.budget))
    assert sz.mutual_information(after) == found.leakage <= limit + 1e-12
    for point in found.curve.points:
        if point["mutual_information"] <= limit + 1e-12:
            assert point["normalized_utility"] <= found.normalized_utility
            if point["normalized_utility"] == found.normalized_utility:
                assert point.budget.upper >= found.budget.upper


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.1, 0.5, 0.9])
def test_where_utility_is_continuous_the_answer_is_the_root(target):
    joint = random_distribution(5)
    # A grid that reaches far enough: the critical budgets of the distribution end near 8 nats.
    root = brentq(lambda eps: sz.normalized_utility(joint, response(joint, sz.LDPBudget(eps))) - target, 0, 40)
    found = sz.suggest_budget(joint, target_utility=target, mechanism=response, family=sz.LDPBudget)
    assert found.budget.eps == pytest.approx(root, abs=1e-4)
    assert found.budget.eps >= root - 1e-9
    limit = sz.mutual_information(joint.push(response(joint, sz.LDPBudget(1.0))))
    found = sz.suggest_budget(joint, max_leakage=limit, mechanism=response, family=sz.LDPBudget)
    assert found.budget.eps == pytest.approx(1.0, abs=1e-4)
    assert found.leakage <= limit


def test_greedy_merging_is_not_monotone_and_the_suggestion_stands_it():
    joint, budgets = None, np.linspace(0, 2, 201)
    for seed in range(50):
        joint = random_distribution(seed)
        utilities = [sz.normalized_utility(joint, paper_subset_merging(joint, eps)) for eps in budgets]
        drops = np.flatnonzero(np.diff(utilities) < -0.02)
        if len(drops):
            break
    assert len(drops), "no distribution here is a counterexample: widen the search"
    peak = int(drops[0])  # a looser budget than this one keeps less
    target = utilities[peak]
    found = sz.suggest_budget(joint, target_utility=target, mechanism=paper_subset_merging, n_points=65)
    assert found.normalized_utility >= target - 1e-12
    printed = [point["normalized_utility"] for point in found.curve.points]
    assert printed == pytest.approx(np.maximum.accumulate(printed), abs=1e-12)
    near = [sz.LiftBudget.symmetric(eps) for eps in budgets[peak : peak + 2]]
    for pair in (near, near[::-1], budgets[peak : peak + 2]):
        points = sz.release.choosing.tradeoff_curve(joint, paper_subset_merging, pair).points
        assert [point["normalized_utility"] for point in points] == pytest.approx([target, target])
    assert found.report.ok
    # A search that trusts monotony would stop at budgets that fail.
    assert utilities[peak + 1] < target


def test_a_wish_that_cannot_be_met_names_the_nearest_budget():
    joint = sz.JointDistribution.from_matrix([[0.3, 0.0, 0.2], [0.1, 0.3, 0.1]])  # an empty cell
    with pytest.raises(InfeasibleTarget, match=r"keep 0.99 .* nearest, LiftBudget\(.*, keeps 0\.\d+") as caught:
        sz.suggest_budget(joint, target_utility=0.99)
    nearest = caught.value.nearest
    channel = sz.subset_merging(joint, nearest.budget)
    assert sz.normalized_utility(joint, channel) == nearest.normalized_utility < 0.99
    assert all(p["normalized_utility"] <= nearest.normalized_utility for p in nearest.curve.points)
    assert isinstance(caught.value, InvalidParameter)
    assert pickle.loads(pickle.dumps(caught.value)).nearest.leakage == nearest.leakage
    # Without a bound on the min-lift it can be met.
    free = sz.suggest_budget(joint, target_utility=0.99, family=lambda eps: sz.LiftBudget(lower=math.inf, upper=eps))
    assert free.normalized_utility >= 0.99

    def loose(eps: float) -> sz.LiftBudget:
        return sz.LiftBudget(lower=9 + eps, upper=9 + eps)

    with pytest.raises(InfeasibleTarget, match=r"leak at most 0.001; the nearest, .*, leaks 0.09637"):
        sz.suggest_budget(JOINT, max_leakage=0.001, mechanism=lambda joint, _: sz.Channel.identity(4), family=loose)


def test_any_measure_and_any_family_can_be_asked_for():
    def worst(joint: sz.JointDistribution) -> float:
        return float(sz.core.lifts.max_log_lift(joint).max())

    joint = random_distribution(3)
    found = sz.suggest_budget(joint, max_leakage=0.5, measure=worst)
    assert worst(joint.push(found.channel)) == found.leakage <= 0.5
    split = partial(sz.LiftBudget.from_ldp, min_share=0.65)
    found = sz.suggest_budget(joint, target_utility=0.6, mechanism=sz.watchdog, family=split)
    assert found.budget.lower == pytest.approx(0.65 / 0.35 * found.budget.upper)
    table = sz.datasets.load_titanic()
    distribution = sz.JointDistribution.from_frame(table, sensitive="survived", public=["class", "sex"])
    assert sz.suggest_budget(distribution, target_utility=0.5).report.ok


def test_a_distribution_that_tells_nothing_needs_no_budget():
    joint = sz.JointDistribution.from_matrix(np.full((2, 4), 0.125))
    found = sz.suggest_budget(joint, target_utility=1.0)
    assert found.budget.upper < 1e-12
    assert found.normalized_utility == pytest.approx(1.0)


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"target_utility": 0.5, "max_leakage": 0.5},
        {"target_utility": 1.1},
        {"target_utility": -0.1},
        {"target_utility": float("nan")},
        {"target_utility": "much"},
        {"target_utility": True},
        {"max_leakage": -1},
        {"max_leakage": float("nan")},
        {"target_utility": 0.5, "n_points": 2},
        {"target_utility": 0.5, "n_points": 9.5},
    ],
)
def test_wishes_outside_their_range_are_refused(wish: dict[str, Any]):
    with pytest.raises(InvalidParameter):
        sz.suggest_budget(JOINT, **wish)


def test_suggestion_prints_its_budget_and_its_curve():
    text = str(sz.suggest_budget(JOINT, target_utility=0.9))
    assert text.startswith("LiftBudget(lower=0.91")
    assert "->" in text
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_of_budgets_that_keep_the_same_the_tightest_is_suggested():
    joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    least = sz.watchdog(joint, sz.LiftBudget.symmetric(0.0))
    found = sz.release.choosing.suggest_budget(joint, max_leakage=0.1, mechanism=lambda *_: least)
    assert found.budget == sz.LiftBudget.symmetric(0.0)
    assert found.curve.points.index(found.point) == 0
