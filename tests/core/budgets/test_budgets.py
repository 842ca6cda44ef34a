"""Budgets: excess is positive exactly where the definition is broken, and nonsense is refused."""

from __future__ import annotations

import copy
import functools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sanitize.core.bounds import implied_bounds
from sanitize.core.budgets import (
    AlphaLiftBudget,
    Budget,
    Chi2LiftBudget,
    L1LiftBudget,
    LDPBudget,
    LiftBudget,
    MaximalLeakageBudget,
    MutualInformationBudget,
    TotalVariationBudget,
    budget_words,
)
from sanitize.core.joint import JointDistribution
from sanitize.core.lifts import lift
from sanitize.errors import InvalidBudget

TWO_SIDED = [LiftBudget, L1LiftBudget, Chi2LiftBudget, functools.partial(AlphaLiftBudget, 2)]
ONE_EMPTY_CELL = JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", strategies.KINDS)
@given(joint=strategies.joints(), data=st.data())
def test_excess_is_positive_exactly_where_the_definition_is_broken(kind, joint, data):
    budget, _, bounds = data.draw(strategies.budgets(kinds=[kind]))
    distribution = oracles.exact(joint.pmf)
    p_s, _ = oracles.margins(distribution)
    over = np.array(
        [
            oracles.over_budget(kind, oracles.column(oracles.lift(distribution), y), p_s, **bounds)
            for y in range(len(joint.p_x))
        ]
    )
    excess = budget.excess(joint)
    assert excess.shape == joint.p_x.shape
    clear = np.abs(over) > 1e-9  # the doubles of a distribution cannot tell which side of the bound a closer one is
    assert_array_equal(excess[clear] > 0, over[clear] > 0)
    positive = clear & (over > 0)
    assert_allclose(excess[positive], over[positive], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", strategies.KINDS)
@given(joint=strategies.joints(), data=st.data())
def test_risk_equals_the_oracle(kind, joint, data):
    budget, _, bounds = data.draw(strategies.budgets(kinds=[kind]))
    assume(not (np.isinf(bounds.get("lower", 0)) and np.isinf(bounds.get("upper", 0))))
    distribution = oracles.exact(joint.pmf)
    p_s, _ = oracles.margins(distribution)
    slow = [
        oracles.risk(kind, oracles.column(oracles.lift(distribution), y), p_s, **bounds) for y in range(len(joint.p_x))
    ]
    assert_allclose(budget.lift_risk(lift(joint), joint.p_s), slow, rtol=1e-9, atol=1e-12)


@given(strategies.joints())
def test_a_larger_budget_never_has_a_larger_excess(joint):
    for kind in strategies.KINDS:
        make = strategies.KINDS[kind]
        grid = [0.0, 0.1, 1.0, 3.0, np.inf]
        names = ["eps"] if kind == "ldp" else ["lower", "upper"]
        order = {"alpha": 2} if kind == "alpha" else {}
        values = np.array([make(**order, **dict.fromkeys(names, eps)).excess(joint) for eps in grid])
        assert (values[1:] <= values[:-1]).all()
        assert (values[-1] <= 0).all()


@given(strategies.joints(), st.floats(0, 3), st.floats(0, 3))
def test_a_met_lift_budget_implies_the_ldp_budget_of_its_sum(joint, lower, upper):
    met = LiftBudget(lower=lower, upper=upper).excess(joint) <= 0
    assert (LDPBudget(lower + upper + 1e-9).excess(joint)[met] <= 0).all()


@given(strategies.joints(), st.floats(0, 3), st.floats(0, 3), st.sampled_from([1.5, 2, 10, np.inf]))
def test_a_met_lift_budget_implies_the_alpha_lift_budget(joint, lower, upper, alpha):
    met = LiftBudget(lower=lower, upper=upper).excess(joint) <= 0
    assert (AlphaLiftBudget(alpha, lower=lower + 1e-9, upper=upper + 1e-9).excess(joint)[met] <= 0).all()


def test_an_empty_cell_breaks_every_min_lift_bound_and_no_infinite_one():
    for make in TWO_SIDED:
        assert make(lower=50.0, upper=50.0).excess(ONE_EMPTY_CELL)[1] == np.inf
        assert (make(lower=np.inf, upper=50.0).excess(ONE_EMPTY_CELL) <= 0).all()
        assert (make(lower=np.inf, upper=np.inf).excess(ONE_EMPTY_CELL) <= 0).all()
        assert (make(lower=np.inf, upper=0.0).excess(ONE_EMPTY_CELL) > 0).all()
    assert LDPBudget(50.0).excess(ONE_EMPTY_CELL)[1] == np.inf
    assert (LDPBudget(np.inf).excess(ONE_EMPTY_CELL) <= 0).all()


def test_a_budget_met_to_the_last_digit_counts_as_met():
    joint = JointDistribution.from_matrix([[0.2, 0.3], [0.3, 0.2]])
    assert (LiftBudget(lower=-np.log(0.8), upper=np.log(1.2)).excess(joint) <= 0).all()
    assert (LiftBudget(lower=-np.log(0.8), upper=np.log(1.2) - 1e-9).excess(joint) > 0).all()
    assert (LDPBudget(np.log(1.5)).excess(joint) <= 0).all()
    assert (L1LiftBudget(lower=1.0, upper=np.log(1.2)).excess(joint) <= 0).all()


def test_no_leakage_meets_a_budget_of_zero():
    independent = JointDistribution.from_matrix(np.outer([0.3, 0.6, 0.1], [0.7, 0.2, 0.1]))
    for make in TWO_SIDED:
        assert (make(lower=0.0, upper=0.0).excess(independent) <= 0).all()
    assert (LDPBudget(0.0).excess(independent) <= 0).all()


@pytest.mark.parametrize("make", TWO_SIDED)
@pytest.mark.parametrize("nats", [400.0, 1000.0, 1e308])
def test_a_huge_finite_bound_is_never_exceeded_by_finite_lifts(make, nats):
    joint = JointDistribution.from_matrix([[0.2, 0.3], [0.3, 0.2]])
    assert (make(lower=nats, upper=nats).excess(joint) <= 0).all()


def test_shares_of_an_ldp_budget_add_up():
    budget = LiftBudget.from_ldp(2.0, min_share=0.65)
    assert (budget.lower, budget.upper) == (pytest.approx(1.3), pytest.approx(0.7))
    assert LiftBudget.from_ldp(2.0) == LiftBudget.symmetric(1.0)


NONSENSE = [-1, -1e-300, float("nan"), -np.inf, "1", None, True, np.True_, [1.0], 1j]


@pytest.mark.parametrize("bad", NONSENSE)
def test_bounds_that_are_not_numbers_of_nats_are_refused(bad):
    for make in TWO_SIDED:
        with pytest.raises(InvalidBudget):
            make(lower=bad, upper=1.0)
        with pytest.raises(InvalidBudget):
            make(lower=1.0, upper=bad)
    for make in (LDPBudget, LiftBudget.symmetric):
        with pytest.raises(InvalidBudget):
            make(bad)


@pytest.mark.parametrize("bad", NONSENSE)
def test_from_ldp_refuses_what_the_other_budgets_refuse(bad):
    with pytest.raises(InvalidBudget):
        LiftBudget.from_ldp(bad)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_outside_zero_to_one_are_refused(share):
    with pytest.raises(InvalidBudget, match="min_share"):
        LiftBudget.from_ldp(1.0, share)


@pytest.mark.parametrize("alpha", [1, 0.5, 0, -2, float("nan"), "2", True, None])
def test_alpha_lift_orders_must_exceed_one(alpha):
    with pytest.raises(InvalidBudget):
        AlphaLiftBudget(alpha, lower=1.0, upper=1.0)


@pytest.mark.parametrize("kind", [LiftBudget, L1LiftBudget, Chi2LiftBudget])
def test_lower_and_upper_go_by_name_alone_and_lower_stands_first(kind):
    error, words = (
        (InvalidBudget, "at_most=1.65.*upper=0.5") if kind is LiftBudget else (TypeError, "positional argument")
    )
    for nameless in (lambda: kind(1.0, 0.5), lambda: kind(1.0, upper=0.5)):
        with pytest.raises(error, match=words):
            nameless()
    with pytest.raises(TypeError, match="positional argument"):
        AlphaLiftBudget(2, 1.0, 0.5)
    assert repr(kind(upper=0.5, lower=1.0)) == f"{kind.__name__}(lower=1.0, upper=0.5)"
    assert repr(AlphaLiftBudget(2, upper=0.5, lower=1.0)) == "AlphaLiftBudget(alpha=2, lower=1.0, upper=0.5)"


def test_a_lift_budget_in_times_shows_the_numbers_that_were_written():
    budget = LiftBudget(at_most=1.65, at_least=0.37)
    assert repr(budget) == "LiftBudget(at_most=1.65, at_least=0.37)"
    assert (budget.at_most, budget.at_least, budget.bounds) == (1.65, 0.37, {"at_most": 1.65, "at_least": 0.37})
    same = LiftBudget(lower=budget.lower, upper=budget.upper)
    assert budget == same
    assert hash(budget) == hash(same)
    assert same.bounds == {"lower": same.lower, "upper": same.upper}
    assert (same.at_most, same.at_least) == pytest.approx((1.65, 0.37))
    for copied in (pickle.loads(pickle.dumps(budget)), copy.deepcopy(budget)):
        assert repr(copied) == repr(budget)
    assert repr(replace(budget, upper=1.0)) == f"LiftBudget(lower={budget.lower}, upper=1.0)"


@given(strategies.joints(), st.integers(100, 800), st.integers(0, 100))
def test_a_lift_budget_in_times_allows_the_lifts_within_its_numbers(joint, most, least):
    """Against exact fractions, but for lifts that are the number written to nine digits."""
    budget = LiftBudget(at_most=most / 100, at_least=least / 100)
    lifts = oracles.lift(oracles.exact(joint.pmf))
    at_most, at_least = Fraction(most, 100), Fraction(least, 100)
    for y, is_over in enumerate(budget.excess(joint) > 0):
        column = oracles.column(lifts, y)
        is_near = min(abs(one - bound) for one in column for bound in (at_most, at_least)) < 1e-9
        assert is_near or is_over == (max(column) > at_most or min(column) < at_least)


def test_at_least_0_lets_a_value_rule_a_secret_out():
    joint = JointDistribution.from_matrix([[0.0, 0.5], [0.25, 0.25]])
    assert (LiftBudget(at_most=2, at_least=0).excess(joint) <= 0).all()
    assert (LiftBudget(at_most=2, at_least=0.01).excess(joint) > 0).tolist() == [True, False]
    assert LiftBudget(at_most=math.inf, at_least=0) == LiftBudget(lower=math.inf, upper=math.inf)


@pytest.mark.parametrize(
    "bounds",
    [
        {"at_most": 2},
        {"at_least": 0.5},
        {"upper": 1.0},
        {"at_most": 2, "lower": 1.0},
        {"at_most": 2, "at_least": 0.5, "upper": 1.0},
        {"at_most": 0.9, "at_least": 0.5},
        {"at_most": 2, "at_least": 1.1},
        {"at_most": 2, "at_least": -0.1},
        {"at_most": math.nan, "at_least": 0.5},
        {"at_most": "2", "at_least": 0.5},
        {"at_most": True, "at_least": 0.5},
    ],
)
def test_half_a_pair_and_bounds_in_two_units_are_refused(bounds):
    with pytest.raises(InvalidBudget, match="LiftBudget"):
        LiftBudget(**bounds)


def test_a_message_names_the_budget_and_the_parameter():
    with pytest.raises(InvalidBudget, match=r"Chi2LiftBudget: upper must be a number >= 0 .*got -1"):
        Chi2LiftBudget(lower=1.0, upper=-1)


@given(strategies.budgets())
def test_budgets_are_frozen_values(case):
    budget, kind, bounds = case
    assert isinstance(budget, Budget)
    assert budget == strategies.KINDS[kind](**bounds)
    assert hash(budget) == hash(strategies.KINDS[kind](**bounds))
    assert pickle.loads(pickle.dumps(budget)) == budget
    assert eval(repr(budget), {**globals(), "inf": np.inf, "np": np}) == budget
    with pytest.raises(AttributeError):
        setattr(budget, next(iter(bounds)), 3.0)


@pytest.mark.parametrize(
    ("budget", "high", "low"),
    [
        (L1LiftBudget(lower=1.0, upper=0.5), 0.6487, 1.7183),
        (Chi2LiftBudget(lower=1.0, upper=0.5), 0.4208, 2.9525),
        (AlphaLiftBudget(2, lower=1.0, upper=0.5), 1.6487, 2.7183),
        (AlphaLiftBudget(math.inf, lower=1.0, upper=0.5), 1.6487, 2.7183),
    ],
)
def test_zds_section_6b_budgets_as_the_table_has_them(budget, high, low):
    """Two letters, 0.3 and 0.7: the lift of the first grows until the measure, then its inverse, passes the table."""
    p = np.array([0.3, 0.7])
    measures = {
        "L1LiftBudget": lambda x: float(p @ np.abs(x - 1)),
        "Chi2LiftBudget": lambda x: float(p @ (x - 1) ** 2),
        "AlphaLiftBudget": lambda x: float(x.max() if math.isinf(budget.alpha) else (p @ x**2) ** 0.5),
    }
    measure = measures[type(budget).__name__]
    crossed = {True: 0, False: 0}
    for first in np.linspace(0.05, 1 / 0.3 - 0.05, 400):
        lifts = np.array([first, (1 - 0.3 * first) / 0.7])
        over = max(measure(lifts) - high, measure(1 / lifts) - low)
        if abs(over) > 1e-4:  # the table has four decimals
            assert (budget.lift_excess(lifts[:, None], p)[0] > 0) == (over > 0)
            crossed[over > 0] += 1
    assert min(crossed.values()) > 20


MEANS = {
    MutualInformationBudget: oracles.mutual_information,
    TotalVariationBudget: oracles.total_variation,
    MaximalLeakageBudget: oracles.maximal_leakage,
}


@pytest.mark.parametrize("kind", MEANS)
@given(pair=strategies.joints_and_channels(), upper=st.sampled_from([0.0, 0.1, 0.7, math.inf]))
def test_a_budget_on_a_mean_is_what_the_measure_is_and_survives_post_processing(kind, pair, upper):
    joint, channel = pair
    budget, lifts = kind(upper), lift(joint)
    excess = budget.excess(joint)
    assert excess.shape == joint.p_x.shape
    if upper < math.inf:
        # Excess up to 1e-12 counts as none.
        assert_allclose(excess, float(MEANS[kind](oracles.exact(joint.pmf))) - upper, atol=1e-11)
    else:
        assert (excess == -math.inf).all()
    assert budget.excess(joint.push(channel)).max() <= excess[0] + 1e-11
    # A symbol within it may stand in any release, and slopes are those of a convex function.
    assert excess[0] <= budget.lift_excess(lifts, joint.p_s).max() + 1e-11
    linear = lifts.T @ budget.slope(lifts, joint.p_s)
    assert (linear <= budget.lift_risk(lifts, joint.p_s)[:, None] + 1e-11).all()
    assert implied_bounds(budget) == {kind.measure: upper}


def test_budgets_on_a_mean_in_words_and_what_they_refuse():
    words = "total variation of the sensitive columns and the whole release at most 0.1"
    assert budget_words(TotalVariationBudget(0.1)) == words
    with pytest.raises(InvalidBudget, match="MutualInformationBudget: upper must be a number >= 0"):
        MutualInformationBudget(-0.1)
