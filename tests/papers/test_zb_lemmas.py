"""Lemmas of the trade-off paper that concern any channel: merging outputs, and probability preservation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sanitize as sz
from sanitize.core.joint import JointDistribution
from sanitize.theory.notions import approximate_dp, global_dp, renyi_dp

SEEDS = st.integers(0, 2**32 - 1)


def random_case(seed):
    """A prior, a channel with more outputs than inputs, and a map of its outputs to the inputs."""
    rng = np.random.default_rng(seed)
    n_x = int(rng.integers(2, 5))
    n_y = n_x + int(rng.integers(1, 5))
    channel = rng.dirichlet(np.full(n_y, rng.choice([0.5, 3.0])), n_x) + 1e-3
    merge = np.eye(n_x)[rng.integers(0, n_x, n_y)]
    return rng.dirichlet(np.full(n_x, 2.0)), channel / channel.sum(axis=1, keepdims=True), merge


def joint_of(prior, channel):
    distribution = prior[:, None] * channel
    return JointDistribution.from_matrix(distribution[:, distribution.sum(axis=0) > 0])


@given(SEEDS)
def test_zb_lemma_24_outputs_outside_the_input_alphabet_are_not_needed(seed):
    """Reading each output as a letter keeps the distortion of that reading and raises no level."""
    prior, channel, merge = random_case(seed)
    fewer = channel @ merge
    for level in (
        lambda channel: global_dp(channel, 1, len(prior)),
        lambda channel: approximate_dp(channel, eps=0.3),
        lambda channel: approximate_dp(channel, delta=0.05),
        lambda channel: renyi_dp(channel, 1.0),
        lambda channel: renyi_dp(channel, 3.0),
        lambda channel: sz.mutual_information(joint_of(prior, channel)),
        lambda channel: sz.sibson_information(joint_of(prior, channel), 2.5),
        lambda channel: sz.maximal_leakage(joint_of(prior, channel)),
        lambda channel: sz.max_information(joint_of(prior, channel)),
    ):
        assert level(fewer) <= level(channel) + 1e-9


def entrywise_delta(channel, epsilon):
    """Least δ with P(y|x) <= e^ε P(y|x') + δ for every single entry."""
    return float((channel.max(axis=0) - math.exp(epsilon) * channel.min(axis=0)).max())


def test_zb_lemma_24_excepts_the_entrywise_delta():
    """Two tags for each letter halve every entry; reading the letter doubles δ. The δ of events stays 1."""
    channel = np.repeat(np.eye(2), 2, axis=1) / 2
    merge = np.repeat(np.eye(2), 2, axis=0)
    assert entrywise_delta(channel, 1.0) == 0.5
    assert entrywise_delta(channel @ merge, 1.0) == 1.0
    assert approximate_dp(channel, eps=1.0) == approximate_dp(channel @ merge, eps=1.0) == 1.0


@given(SEEDS, st.sampled_from([1.01, 2.0, 10.0, 1e4]))
def test_zb_lemma_23_sibson_information_bounds_events(seed, alpha):
    """P(E) <= (max_y P_X(E_y))^((α-1)/α) exp((α-1)/α I_α) for any set E of pairs."""
    prior, channel, _ = random_case(seed)
    joint = joint_of(prior, channel)
    event = np.random.default_rng(seed + 1).random(joint.pmf.shape) < 0.4
    power = (alpha - 1) / alpha
    alone = (joint.p_s[:, None] * event).sum(axis=0).max()
    bound = alone**power * math.exp(power * sz.sibson_information(joint, alpha))
    assert joint.pmf[event].sum() <= bound + 1e-9


@given(SEEDS, st.sampled_from([1.01, 2.0, 10.0]))
def test_zb_lemma_20_order_of_the_information_measures(seed, alpha):
    """I <= I_α <= maximal leakage <= max-information <= DP level, which no prior moves."""
    prior, channel, _ = random_case(seed)
    joint = joint_of(prior, channel)
    chain = [
        sz.mutual_information(joint),
        sz.sibson_information(joint, alpha),
        sz.maximal_leakage(joint),
        sz.max_information(joint),
        global_dp(channel, 1, len(prior)),
    ]
    for smaller, larger in itertools.pairwise(chain):
        assert smaller <= larger + 1e-9
    assert sz.ldp_epsilon(joint) == pytest.approx(global_dp(channel, 1, len(prior)), rel=1e-9)
    assert sz.maximal_leakage(joint) == pytest.approx(math.log(channel.max(axis=0).sum()), abs=1e-9)


@given(SEEDS, st.floats(0, 1), st.sampled_from([1.5, 4.0]))
def test_zb_lemma_21_what_is_convex_in_the_channel(seed, share, alpha):
    """I and exp of the maximal leakage are convex; Sibson information of order above 1 is quasi-convex."""
    prior, first, _ = random_case(seed)
    second = np.roll(first[::-1], 1, axis=1)
    mixed = share * first + (1 - share) * second

    def values(measure):
        return (measure(joint_of(prior, channel)) for channel in (mixed, first, second))

    for convex in (sz.mutual_information, lambda joint: math.exp(sz.maximal_leakage(joint))):
        middle, one, other = values(convex)
        assert middle <= share * one + (1 - share) * other + 1e-9
    middle, one, other = values(lambda joint: sz.sibson_information(joint, alpha))
    assert middle <= max(one, other) + 1e-9
