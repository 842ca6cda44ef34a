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
from sanitize.core.budgets import CVaRLiftBudget, LDPBudget, PMLEnvelopeBudget, budget_words
from sanitize.core.budgets._capacity import tail_means
from sanitize.core.joint import JointDistribution
from sanitize.core.lifts import lift, pml_envelope
from sanitize.errors import InvalidBudget
from sanitize.mechanisms import tail_merging

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


@pytest.mark.slow
@given(strategies.joints(), NATS, DELTAS)
def test_merging_meets_the_budget_and_a_report_says_so(joint, upper, delta):
    budget = CVaRLiftBudget(upper, delta)
    channel = tail_merging(joint, budget)
    report = sz.LeakageReport.measure(joint, channel, budget)
    assert report.ok is not report.protects_nothing
    assert report.excess.max() == budget.excess(joint.push(channel)).max()
    if budget.excess(joint).max() <= 0:
        assert channel.n_outputs == len(joint.public)


@pytest.mark.slow
def test_merging_keeps_more_than_a_bound_on_every_lift():
    distributions = [
        JointDistribution.from_matrix(np.random.default_rng(seed).dirichlet(np.full(36, 0.7)).reshape(3, 12))
        for seed in range(20)
    ]
    budget = CVaRLiftBudget(0.4, 0.2)
    tail = [sz.normalized_utility(distribution, tail_merging(distribution, budget)) for distribution in distributions]
    each = [
        sz.normalized_utility(distribution, sz.watchdog(distribution, sz.LiftBudget(lower=math.inf, upper=0.4)))
        for distribution in distributions
    ]
    assert np.mean(tail) > np.mean(each) + 0.05


def partitions(n):
    """Every partition of n symbols, as labels."""
    if n == 0:
        return [[]]
    return [[*rest, group] for rest in partitions(n - 1) for group in range(max(rest, default=-1) + 2)]


@pytest.mark.slow
def test_merging_keeps_no_less_under_a_looser_budget_and_not_much_less_than_any_partition():
    """Over 12 distributions of five symbols; greedy merges alone kept .764 at 0.2 and nothing at 0.3 of the first."""
    distributions = [np.array([[1, 1, 2, 1], [5, 8, 1, 3]]) / 22]
    distributions += [np.random.default_rng(seed).dirichlet(np.full(10, 0.7)).reshape(2, 5) for seed in range(12)]
    missed = []
    for distribution in map(JointDistribution.from_matrix, distributions):
        kept = []
        for upper in (0.1, 0.2, 0.3, 0.6):
            budget = CVaRLiftBudget(upper, 0.2)
            channel = tail_merging(distribution, budget)
            assert budget.excess(distribution.push(channel)).max() <= 1e-12
            kept.append(sz.normalized_utility(distribution, channel))
        assert kept == sorted(kept)
        merged = [sz.Channel.merge(np.array(labels)) for labels in partitions(len(distribution.public))]
        best = max(
            sz.normalized_utility(distribution, one)
            for one in merged
            if budget.excess(distribution.push(one)).max() <= 0
        )
        missed.append(best - kept[-1])
    assert min(missed) > -1e-9
    assert np.mean(missed) < 0.06


@pytest.mark.filterwarnings("error")
def test_a_letter_that_hardly_ever_occurs_does_not_stop_the_response():
    for seed in range(3):
        pmf = np.random.default_rng(seed).dirichlet(np.ones(8)).reshape(2, 4)
        pmf[:, 0] *= 1e-12 / pmf[:, 0].sum()
        distribution, budget = JointDistribution.from_matrix(pmf / pmf.sum()), CVaRLiftBudget(0.3, 0.1)
        for design in (sz.mechanisms.tail_random_response, sz.optimal_random_response):
            assert sz.normalized_utility(distribution, design(distribution, budget)) > 0.4


def test_mechanisms_of_single_symbols_stay_within_it():
    distribution = JointDistribution.from_matrix([[0.1, 0.05, 0.15, 0.1], [0.01, 0.29, 0.1, 0.2]])
    budget = CVaRLiftBudget(0.3, 0.1)
    assert sz.LeakageReport.measure(distribution, sz.watchdog(distribution, budget), budget).ok


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
    for bad, words in (((-1, 0.1), "upper"), ((1, -0.1), "delta"), ((1, 1.5), "delta must lie between 0 and 1")):
        with pytest.raises(InvalidBudget, match=f"CVaRLiftBudget: .*{words}"):
            CVaRLiftBudget(*bad)
    with pytest.raises(InvalidBudget, match="takes a CVaRLiftBudget"):
        tail_merging(JointDistribution.from_matrix([[0.5, 0.5]]), LDPBudget(1))


def test_it_is_said_in_words():
    assert budget_words(CVaRLiftBudget(0.5, 0.05)).startswith("log of the mean lift over the most telling 0.05")
    assert budget_words(CVaRLiftBudget(math.inf, 0.05)).startswith("no limit")
