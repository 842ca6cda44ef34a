"""Max-lift and min-lift bound each other: against all lifts on a grid, a linear program, and released symbols."""

from __future__ import annotations

import math

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import sanitize as sz
from sanitize.core.bounds import max_lift_from_min_lift, min_lift_from_max_lift
from sanitize.core.lifts import max_lift, min_lift
from sanitize.errors import InvalidParameter


@given(st.lists(st.floats(0.02, 1.0), min_size=2, max_size=6), st.floats(1.0, 8.0), st.floats(0.0, 1.0))
def test_conversions_are_the_optimum_over_all_lifts(weights, high, low):
    """Lifts of mean 1 with one bound: the least, or largest, of each secret by a linear program."""
    p_s = np.array(weights) / sum(weights)
    for s, share in enumerate(p_s):
        cost = np.eye(len(p_s))[s]
        least = linprog(cost, A_eq=p_s[None], b_eq=[1.0], bounds=(0, high)).fun
        most = -linprog(-cost, A_eq=p_s[None], b_eq=[1.0], bounds=(low, None)).fun
        assert min_lift_from_max_lift(high, share) == pytest.approx(least, abs=1e-7)
        assert max_lift_from_min_lift(low, share) == pytest.approx(most, rel=1e-7)


@given(strategies.joints())
def test_no_released_symbol_is_beyond_them(joint):
    least = min(joint.p_s.min(), 1.0)
    bound = max(float(max_lift(joint).max()), 1.0)
    assert min_lift(joint).min() >= min_lift_from_max_lift(bound, least) - 1e-9
    assert max_lift(joint).max() <= max_lift_from_min_lift(min(float(min_lift(joint).min()), 1.0), least) * (1 + 1e-9)


def test_where_all_lifts_are_1_a_rare_secret_has_it_exactly():
    for share in (1e-300, 2.3592e-8, 0.1, 1.0):
        assert max_lift_from_min_lift(1.0, share) == min_lift_from_max_lift(1.0, share) == 1


def test_budgets_by_name_are_the_sides_of_a_lift_budget():
    assert sz.LiftBudget.pml(0.4) == sz.LiftBudget(lower=math.inf, upper=0.4)
    assert sz.LiftBudget.pmc(0.4) == sz.LiftBudget(lower=0.4, upper=math.inf)
    for call in (lambda: min_lift_from_max_lift(0.9, 0.5), lambda: max_lift_from_min_lift(0.5, 0.0)):
        with pytest.raises(InvalidParameter, match="must be a number from"):
            call()
