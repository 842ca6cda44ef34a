"""Scalar leakages against exact oracles, and the theorems that order them."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import sanitize as sz
from sanitize.core.channel import Channel
from sanitize.core.joint import JointDistribution
from sanitize.core.measures import entropy
from sanitize.errors import InvalidChannel

ORDERS = strategies.ORDERS
SLACK = 1e-9  # rounding allowed to a theorem

MEASURES = {
    "mutual_information": sz.mutual_information,
    "total_variation": sz.total_variation,
    "chi2_divergence": sz.chi2_divergence,
    "maximal_leakage": sz.maximal_leakage,
    "max_information": sz.max_information,
    "ldp_epsilon": sz.ldp_epsilon,
    **{f"sibson {a}": (lambda distribution, a=a: sz.sibson_information(distribution, a)) for a in ORDERS},
    **{f"arimoto {a}": (lambda distribution, a=a: sz.arimoto_information(distribution, a)) for a in ORDERS},
}


def close(fast, slow):
    assert_allclose(fast, slow, rtol=1e-8, atol=1e-11)


@pytest.mark.slow
@given(strategies.joints())
def test_measures_equal_their_oracles(joint):
    distribution = oracles.exact(joint.pmf)
    close(sz.mutual_information(joint), oracles.mutual_information(distribution))
    close(sz.total_variation(joint), float(oracles.total_variation(distribution)))
    close(sz.chi2_divergence(joint), float(oracles.chi2_divergence(distribution)))
    close(sz.maximal_leakage(joint), oracles.maximal_leakage(distribution))
    close(sz.max_information(joint), oracles.max_information(distribution))
    close(sz.ldp_epsilon(joint), oracles.ldp_of_joint(distribution))


SKEWED = JointDistribution.from_matrix([[0.3, 0.1, 0.0], [0.05, 0.15, 0.4]])


@pytest.mark.slow
@given(strategies.joints(), st.sampled_from([*ORDERS, 1.01, 1.4999, 1.5001, 7.0]))
@example(SKEWED, 1.01)
@example(SKEWED, 7.0)
def test_sibson_information_equals_its_oracle(joint, alpha):
    close(sz.sibson_information(joint, alpha), oracles.sibson_information(oracles.exact(joint.pmf), alpha))


@pytest.mark.slow
@given(strategies.joints(), st.sampled_from([*ORDERS, 1.01, 1.4999, 1.5001, 7.0]))
@example(SKEWED, 1.01)
@example(SKEWED, 7.0)
def test_arimoto_information_is_the_drop_in_renyi_entropy(joint, alpha):
    close(sz.arimoto_information(joint, alpha), oracles.arimoto_information(oracles.exact(joint.pmf), alpha))


@pytest.mark.parametrize("alpha", [200.0, 400.0, 1000.0, 1e6])
def test_arimoto_information_of_a_skewed_prior_survives_large_orders(alpha):
    # P(s)**alpha of the rarer letters is below the smallest double: they must not be forgotten for that.
    joint = JointDistribution.from_matrix(np.diag([0.9, 0.09, 0.01]))
    close(sz.arimoto_information(joint, alpha), oracles.arimoto_information(oracles.exact(joint.pmf), alpha))


@pytest.mark.slow
@given(strategies.joints_and_channels())
def test_data_processing_inequality(case):
    joint, channel = case
    released = joint.push(channel)
    for name, measure in MEASURES.items():
        before, after = measure(joint), measure(released)
        assert after <= before + SLACK * (1 + before), name


@given(strategies.joints())
def test_measures_are_non_negative_and_never_nan(joint):
    for name, measure in MEASURES.items():
        value = measure(joint)
        assert isinstance(value, float), name
        assert value >= 0, name


@given(strategies.joints())
def test_sibson_information_does_not_decrease_with_the_order(joint):
    grid = [1, 1 + 1e-12, 1 + 1e-9, 1 + 1e-4, 1.2, 1.5, 1.6, 2, 5, 20, 100, 1e4, np.inf]
    values = [sz.sibson_information(joint, a) for a in grid]
    assert (np.diff(values) >= -SLACK).all()


@given(strategies.joints())
def test_orders_one_and_infinity_are_the_limits(joint):
    mi = sz.mutual_information(joint)
    leakage = sz.maximal_leakage(joint)
    guessing = np.log(joint.pmf.max(axis=0).sum() / joint.p_s.max())
    for measure in (sz.sibson_information, sz.arimoto_information):
        assert measure(joint, 1) == mi
        assert_allclose(measure(joint, 1 + 1e-9), mi, atol=1e-7)
    assert_allclose(sz.sibson_information(joint, np.inf), leakage, atol=1e-12)
    assert_allclose(sz.sibson_information(joint, 1e7), leakage, atol=1e-5)
    assert_allclose(sz.arimoto_information(joint, np.inf), guessing, atol=1e-12)


@given(strategies.joints(), st.sampled_from([1.5, 2.0, 100.0]))
def test_arimoto_equals_sibson_for_a_uniform_prior(joint, alpha):
    uniform = JointDistribution.from_matrix(joint.pmf / joint.p_s[:, None] / len(joint.p_s))
    assert_allclose(
        sz.arimoto_information(uniform, alpha), sz.sibson_information(uniform, alpha), rtol=1e-9, atol=1e-12
    )


@given(strategies.joints())
def test_mutual_information_is_at_most_maximal_leakage_is_at_most_max_information(joint):
    mi, leakage, peak = sz.mutual_information(joint), sz.maximal_leakage(joint), sz.max_information(joint)
    assert mi <= leakage + SLACK
    assert leakage <= peak + SLACK
    assert sz.arimoto_information(joint, np.inf) <= leakage + SLACK


@given(strategies.joints())
def test_pinsker_and_jensen_relate_the_averages(joint):
    mi = sz.mutual_information(joint)
    assert 2 * sz.total_variation(joint) ** 2 <= mi + SLACK
    assert mi <= np.log1p(sz.chi2_divergence(joint)) + SLACK
    assert 2 * sz.total_variation(joint) <= np.sqrt(sz.chi2_divergence(joint)) + SLACK


@given(strategies.joints())
def test_lift_bounds_imply_local_differential_privacy(joint):
    upper, lower = sz.core.lifts.max_log_lift(joint).max(), -sz.core.lifts.min_log_lift(joint).min()
    assert sz.ldp_epsilon(joint) <= lower + upper + SLACK


@given(strategies.joints())
def test_leakage_of_a_release_is_at_most_the_entropy_of_the_prior(joint):
    assert sz.mutual_information(joint) <= entropy(joint.p_s) + SLACK
    assert sz.maximal_leakage(joint) <= np.log(len(joint.p_s)) + SLACK
    assert sz.maximal_leakage(joint) <= np.log(len(joint.p_x)) + SLACK


@pytest.mark.parametrize("alpha", ORDERS)
def test_landmarks_independence_and_identity(alpha):
    independent = JointDistribution.from_matrix(np.outer([0.25, 0.75], [0.5, 0.125, 0.375]))
    known = JointDistribution.from_matrix(np.eye(4) / 4)
    for measure in (sz.sibson_information, sz.arimoto_information):
        assert measure(independent, alpha) == pytest.approx(0, abs=1e-15)
        assert measure(known, alpha) == pytest.approx(np.log(4), rel=1e-9)


ROUNDED = sz.JointDistribution.from_matrix([[1 / 6], [2 / 3], [1 / 6]])  # its one symbol has mass 1 - 1e-16


@pytest.mark.slow
@given(strategies.joints_and_channels())
@example((ROUNDED, Channel.identity(1)))
def test_utility_equals_the_information_of_the_dense_matrix(case):
    joint, channel = case
    p_x = [sum(oracles.column(oracles.exact(joint.pmf), x)) for x in range(len(joint.p_x))]
    slow = oracles.utility(p_x, oracles.channel_matrix(channel))
    assert_allclose(sz.core.measures.utility(joint, channel), slow, rtol=1e-8, atol=1e-9)
    available = oracles.entropy(p_x)
    expected = slow / available if available else 1.0
    assert_allclose(sz.normalized_utility(joint, channel), expected, rtol=1e-7, atol=1e-7)


@given(st.integers(1, 8).flatmap(strategies.channels))
def test_ldp_of_a_channel_equals_its_integers(channel):
    assert_allclose(sz.ldp_epsilon(channel), oracles.ldp_of_channel(oracles.channel_matrix(channel)), atol=1e-9)


@given(strategies.joints())
def test_the_identity_channel_keeps_all_utility_and_one_group_keeps_none(joint):
    n = len(joint.p_x)
    assert sz.normalized_utility(joint, Channel.identity(n)) == 1
    assert sz.core.measures.utility(joint, Channel.identity(n)) == pytest.approx(entropy(joint.p_x), abs=1e-12)
    assert sz.core.measures.utility(joint, Channel.merge(np.zeros(n, int))) == pytest.approx(0, abs=1e-12)
    relabelled = Channel.merge(np.arange(n)[::-1])
    assert sz.normalized_utility(joint, relabelled) == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
@given(strategies.joints_and_channels(), st.data())
def test_post_processing_never_gains_utility_nor_loses_local_privacy(case, data):
    joint, channel = case
    longer = channel.then(data.draw(strategies.channels(channel.n_outputs)))
    assert sz.core.measures.utility(joint, longer) <= sz.core.measures.utility(joint, channel) + SLACK
    assert sz.ldp_epsilon(longer) <= sz.ldp_epsilon(channel) + SLACK


@given(strategies.joints(), st.floats(0.01, 4))
@settings(max_examples=20)
def test_local_privacy_of_x_passes_on_to_s(joint, epsilon):
    released = joint.push(sz.randomized_response(len(joint.p_x), epsilon))
    assert sz.ldp_epsilon(released) <= epsilon + SLACK
    assert sz.max_information(released) <= epsilon + SLACK


def test_a_channel_of_another_alphabet_is_refused():
    joint = JointDistribution.from_matrix([[0.5, 0.5]])
    with pytest.raises(InvalidChannel, match="takes 3 symbols"):
        sz.core.measures.utility(joint, Channel.identity(3))
    with pytest.raises(InvalidChannel, match="takes 3 symbols"):
        joint.push(Channel.identity(3))
