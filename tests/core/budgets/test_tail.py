"""A budget on the mean lift over the worst part of a release: against a linear program, and under post-processing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sanitize as sz
from sanitize.core.budgets import CVaRLiftBudget, PMLEnvelopeBudget, budget_words
from sanitize.core.budgets._capacity import tail_means
from sanitize.core.joint import JointDistribution
from sanitize.core.lifts import lift, pml_envelope
from sanitize.errors import InvalidBudget

DELTAS = st.sampled_from([0.0, 1e-9, 0.01, 0.05, 0.2, 0.5, 0.9, 1.0])
NATS = st.floats(0.0, 3.0)


@given(strategies.joints(), DELTAS.filter(bool))
def test_the_mean_is_the_worst_event_of_mass_delta(joint, delta):
    """A program over all randomised events: max P(A|s)/δ with P(A) = δ."""
    found = tail_means(lift(joint), joint.p_x, delta)
    for s, row in enumerate(joint.pmf):
        event = linprog(-row, A_eq=[joint.p_x], b_eq=[delta], bounds=(0, 1)) if delta > 1e-6 else None
        if event is not None and event.success:
            assert found[s] == pytest.approx(-event.fun / joint.p_s[s] / delta, rel=1e-6)
    assert (found <= lift(joint).max(axis=1)).all()
    assert (found >= 1 - 1e-9).all()


@given(strategies.joints(), NATS)
def test_the_ends_are_the_max_lift_and_nothing(joint, upper):
    highest = math.log(lift(joint).max()) - upper
    assert CVaRLiftBudget(upper, 0).excess(joint).max() == pytest.approx(highest, abs=2e-12)
    assert CVaRLiftBudget(upper, 1).excess(joint).max() <= 0


@pytest.mark.slow
@given(strategies.joints_and_channels(), NATS, DELTAS)
def test_post_processing_never_exceeds_what_was_met(case, upper, delta):
    joint, channel = case
    budget = CVaRLiftBudget(upper, delta)
    assert budget.excess(joint.push(channel)).max() <= max(budget.excess(joint).max(), 0.0) + 1e-9


def test_the_mass_of_large_lifts_does_not_survive_post_processing():
    """P(l > 2) = 0.1 for Y; merge its symbol of lift 5 with one of lift 0.5: P(l > 2) = 0.2."""
    released = JointDistribution.from_matrix([[0.05, 0.005, 0.045], [0.05, 0.095, 0.755]])
    bound, delta = 2.0, 0.1

    def mass(distribution: JointDistribution) -> float:
        return max(float(distribution.p_x[row > bound].sum()) for row in lift(distribution))

    merged = released.push(sz.Channel.from_matrix(np.array([[1, 0], [1, 0], [0, 1]]), released.public))
    assert mass(released) <= delta + 1e-12
    assert mass(merged) == pytest.approx(0.2)
    for distribution in (released, merged):  # the mean over the mass tells from the start
        assert CVaRLiftBudget(math.log(bound), delta).excess(distribution).max() > 0


@given(strategies.joints(), NATS, DELTAS)
def test_a_met_budget_bounds_the_mass_of_large_lifts(joint, upper, delta):
    if CVaRLiftBudget(upper, delta).excess(joint).max() <= 0:
        over = lift(joint) > math.exp(upper) * (1 + 1e-9)
        assert (over @ joint.p_x).max() <= delta + 1e-9


def test_mechanisms_of_single_symbols_stay_within_it():
    distribution = JointDistribution.from_matrix([[0.1, 0.05, 0.15, 0.1], [0.01, 0.29, 0.1, 0.2]])
    budget = CVaRLiftBudget(0.3, 0.1)
    assert sz.LeakageReport.measure(distribution, sz.watchdog(distribution, budget), budget).ok


def _function_of_six():
    matrix = np.zeros((6, 2))
    matrix[np.arange(6), [0, 0, 0, 1, 1, 1]] = [0.05, 0.1, 0.15, 0.2, 0.2, 0.3]
    return JointDistribution.from_matrix(matrix)


@pytest.mark.parametrize("kind", [CVaRLiftBudget, PMLEnvelopeBudget])
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize(
    "joint", [_function_of_six(), sz.datasets.make_joint(10, 8, random_state=0)], ids=["X a function of S", "8 x 10"]
)
def test_lifts_on_the_bound_are_within_it(joint, delta, kind):
    """All symbols but one of an optimal response may be on the bound, and rounding puts some a little beyond."""
    upper = 0.5 * float(sz.core.lifts.max_log_lift(joint).max())
    budget = kind(upper, delta)
    for bound in (upper, upper + 1e-13):
        response = sz.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=bound))
        assert budget.excess(joint.push(response)).max() <= 0
    assert budget.excess(joint).max() > 0


def test_it_holds_for_each_secret_by_itself_and_not_for_any_of_them_at_once():
    distribution = JointDistribution.from_matrix([[0.1, 0, 0.4], [0, 0.1, 0.4]])
    budget = CVaRLiftBudget(math.log(1.9), 0.12)
    assert (budget.excess(distribution) <= 0).all()
    beyond = sz.core.lifts.lift(distribution) > 1.9
    assert beyond @ distribution.p_x == pytest.approx([0.1, 0.1])  # of each secret
    assert beyond.any(axis=0) @ distribution.p_x == pytest.approx(0.2)  # of either
    assert "no single sensitive value" in budget_words(budget)
    together = PMLEnvelopeBudget(math.log(1.9), 0.12)
    assert together.excess(distribution) == pytest.approx([2 / 9 - 0.12] * 3, abs=1e-7)
    assert "makes any sensitive value more than 1.9 times as likely" in budget_words(together)


@given(strategies.joints(), NATS, DELTAS)
def test_all_secrets_together_have_the_mass_of_the_envelope(joint, upper, delta):
    """Beside the envelope a little above the bound, and a little below it: what is on the bound is within it."""
    excess = PMLEnvelopeBudget(upper, delta).excess(joint).max()
    assert pml_envelope(joint, upper + 1e-9) - delta - 1e-7 <= excess <= pml_envelope(joint, upper) - delta + 1e-7
    if excess <= 0:
        assert CVaRLiftBudget(upper, delta).excess(joint).max() <= 1e-6  # so is each by itself
    highest = max(0.0, math.log(lift(joint).max()))
    assert PMLEnvelopeBudget(highest, 0).excess(joint).max() <= 0
    assert PMLEnvelopeBudget(upper, 1).excess(joint).max() <= 0


@settings(max_examples=30)
@given(strategies.joints_and_channels(), st.floats(0.01, 2), st.sampled_from([0.05, 0.2, 0.5]))
def test_whatever_is_made_of_a_release_stays_within_the_mass_of_all(case, upper, delta):
    joint, channel = case
    budget = PMLEnvelopeBudget(upper, delta)
    if budget.excess(joint).max() <= 0:
        made = joint.push(channel)
        beyond = lift(made).max(axis=0) > math.exp(upper) * (1 + 1e-9)
        assert made.p_x[beyond].sum() <= delta + 1e-9
        assert budget.excess(made).max() <= 1e-7


def test_bad_budgets_are_refused_by_name():
    for bad, words in (((-1, 0.1), "upper"), ((1, -0.1), "delta"), ((1, 1.5), "delta must be a number from 0 to 1")):
        with pytest.raises(InvalidBudget, match=f"CVaRLiftBudget: .*{words}"):
            CVaRLiftBudget(*bad)
    with pytest.raises(InvalidBudget, match="random response takes a LiftBudget"):
        sz.optimal_random_response(JointDistribution.from_matrix([[0.5, 0.5]]), CVaRLiftBudget(1, 0.1))


def test_it_is_said_in_words():
    assert budget_words(CVaRLiftBudget(0.5, 0.05)).startswith("log of the mean lift over the most revealing 0.05")
    assert budget_words(CVaRLiftBudget(math.inf, 0.05)).startswith("no limit")
