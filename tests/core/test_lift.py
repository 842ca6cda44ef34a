"""The lift and its per-symbol measures against exact fractions, and the theorems about them."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sanitize as sz
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidParameter

ORDERS = [1.5, 2.0, 3.0, 100.0, np.inf]
NEVER_SMALLER = 1e-9  # rounding allowed to a theorem

ONE_EMPTY_CELL = JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]])


def close(fast, slow):
    assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


@given(strategies.joints())
def test_lifts_equal_the_fractions(joint):
    slow = oracles.lift(oracles.exact(joint.pmf))
    close(sz.lift(joint), np.array(slow, float))
    close(sz.log_lift(joint), [[oracles.log(ratio) for ratio in row] for row in slow])


@given(strategies.joints())
def test_extreme_lifts_equal_the_fractions(joint):
    distribution = oracles.exact(joint.pmf)
    top, bottom = oracles.max_lift(distribution), oracles.min_lift(distribution)
    close(sz.max_lift(joint), np.array(top, float))
    close(sz.min_lift(joint), np.array(bottom, float))
    close(sz.core.lifts.max_log_lift(joint), list(map(oracles.log, top)))
    close(sz.core.lifts.min_log_lift(joint), list(map(oracles.log, bottom)))
    close(sz.core.lifts.ldp_ratio(joint), [float(a / b) if b else np.inf for a, b in zip(top, bottom, strict=True)])


@pytest.mark.slow
@given(strategies.joints())
def test_l1_and_chi2_lifts_equal_the_fractions(joint):
    distribution = oracles.exact(joint.pmf)
    close(sz.l1_lift(joint), oracles.per_symbol(oracles.l1_deviation, distribution))
    close(sz.chi2_lift(joint), oracles.per_symbol(oracles.chi2_deviation, distribution))
    close(sz.l1_lift_inverse(joint), oracles.per_symbol_inverse(oracles.l1_deviation, distribution))
    close(sz.chi2_lift_inverse(joint), oracles.per_symbol_inverse(oracles.chi2_deviation, distribution))


@pytest.mark.slow
@given(strategies.joints(), st.sampled_from(ORDERS))
def test_alpha_lifts_equal_the_decimals(joint, alpha):
    distribution = oracles.exact(joint.pmf)
    close(sz.alpha_lift(joint, alpha), oracles.per_symbol(oracles.alpha_norm, distribution, alpha))
    close(sz.alpha_lift_inverse(joint, alpha), oracles.per_symbol_inverse(oracles.alpha_norm, distribution, alpha))


@given(strategies.joints())
def test_an_empty_cell_has_lift_zero_and_log_lift_minus_infinity_exactly(joint):
    empty = joint.pmf == 0
    beside = empty.any(axis=0)
    assert_array_equal(sz.lift(joint) == 0, empty)
    assert_array_equal(np.isneginf(sz.log_lift(joint)), empty)
    assert_array_equal(np.isneginf(sz.core.lifts.min_log_lift(joint)), beside)
    assert_array_equal(sz.min_lift(joint) == 0, beside)
    for inverse in (
        sz.core.lifts.ldp_ratio(joint),
        sz.l1_lift_inverse(joint),
        sz.chi2_lift_inverse(joint),
        *(sz.alpha_lift_inverse(joint, alpha) for alpha in ORDERS),
    ):
        assert_array_equal(np.isposinf(inverse), beside)
    for finite in (
        sz.core.lifts.max_log_lift(joint),
        sz.l1_lift(joint),
        sz.chi2_lift(joint),
        sz.alpha_lift(joint, 100),
    ):
        assert np.isfinite(finite).all()


def test_the_worked_example_has_its_values():
    close(sz.lift(ONE_EMPTY_CELL), [[4 / 3, 0], [2 / 3, 2]])
    close(sz.l1_lift(ONE_EMPTY_CELL), [1 / 3, 1])
    close(sz.chi2_lift(ONE_EMPTY_CELL), [1 / 9, 1])
    close(sz.alpha_lift(ONE_EMPTY_CELL, 2), [np.sqrt(10) / 3, np.sqrt(2)])
    close(sz.l1_lift_inverse(ONE_EMPTY_CELL), [3 / 8, np.inf])


@given(strategies.joints())
def test_lifts_average_to_one_under_either_margin(joint):
    assert_allclose(joint.p_s @ sz.lift(joint), 1, atol=1e-12)
    assert_allclose(sz.lift(joint) @ joint.p_x, 1, atol=1e-12)


@given(strategies.joints())
def test_max_lift_is_at_least_one_and_min_lift_at_most_one(joint):
    assert (sz.max_lift(joint) >= 1 - NEVER_SMALLER).all()
    assert (sz.min_lift(joint) <= 1 + NEVER_SMALLER).all()


@given(strategies.joints())
def test_alpha_lift_grows_with_alpha_from_one_to_the_max_lift(joint):
    values = np.array([sz.alpha_lift(joint, alpha) for alpha in (1, *ORDERS)])
    assert_allclose(values[0], 1, atol=1e-12)
    assert (np.diff(values, axis=0) >= -NEVER_SMALLER).all()
    assert_allclose(values[-1], sz.max_lift(joint), rtol=1e-12)


@given(strategies.joints())
def test_a_bounded_max_lift_bounds_the_averages(joint):
    top = sz.max_lift(joint)
    assert (sz.l1_lift(joint) <= 2 * (top - 1) + NEVER_SMALLER).all()
    for alpha in ORDERS:
        assert (sz.alpha_lift(joint, alpha) <= top + NEVER_SMALLER).all()


@given(strategies.joints_and_channels())
def test_data_processing_holds_for_the_worst_symbol_of_every_lift_measure(case):
    joint, channel = case
    released = joint.push(channel)
    worst = {
        "max_lift": sz.max_lift,
        "reciprocal of min_lift": lambda distribution: -sz.min_lift(distribution),
        "ldp_ratio": sz.core.lifts.ldp_ratio,
        "l1": sz.l1_lift,
        "chi2": sz.chi2_lift,
        "inverse l1": sz.l1_lift_inverse,
        "inverse chi2": sz.chi2_lift_inverse,
    }
    for alpha in ORDERS:
        worst[f"alpha {alpha}"] = lambda distribution, a=alpha: sz.alpha_lift(distribution, a)
        worst[f"inverse alpha {alpha}"] = lambda distribution, a=alpha: sz.alpha_lift_inverse(distribution, a)
    for name, measure in worst.items():
        before = measure(joint).max()
        assert measure(released).max() <= before + NEVER_SMALLER * (1 + abs(before)), name


def test_independent_columns_have_lift_one_and_no_leakage():
    joint = JointDistribution.from_matrix(np.outer([0.25, 0.75], [0.5, 0.125, 0.375]))
    assert_array_equal(sz.lift(joint), 1)
    assert_array_equal(sz.log_lift(joint), 0)
    for measure in (sz.l1_lift, sz.chi2_lift, sz.l1_lift_inverse, sz.chi2_lift_inverse):
        assert_array_equal(measure(joint), 0)


def test_large_orders_neither_overflow_nor_lose_the_limit():
    skewed = JointDistribution.from_matrix([[1e-9, 1e-12], [0.5, 0.5 - 1e-9 - 1e-12]])
    for alpha in (1e3, 1e6, 1e300):
        assert np.isfinite(sz.alpha_lift(skewed, alpha)).all()
    assert_allclose(sz.alpha_lift(skewed, 1e12), sz.max_lift(skewed), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0, 0.5, -1, float("nan"), -np.inf])
@pytest.mark.parametrize(
    "measure", [sz.alpha_lift, sz.alpha_lift_inverse, sz.sibson_information, sz.arimoto_information]
)
def test_orders_below_one_are_refused(measure, alpha):
    with pytest.raises(InvalidParameter, match="at least 1"):
        measure(ONE_EMPTY_CELL, alpha)


def test_what_is_beyond_doubles_is_infinite_and_warns_of_nothing():
    joint = JointDistribution.from_matrix([[1e-200, 0.5], [0.25, 0.25]])
    assert_array_equal(sz.core.lifts.chi2_lift_inverse(joint), [np.inf, sz.core.lifts.chi2_lift_inverse(joint)[1]])
    assert sz.core.budgets.Chi2LiftBudget(lower=0.3, upper=0.3).excess(joint)[0] == np.inf
