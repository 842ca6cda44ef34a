"""Levels that add up: basic composition and groups."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from accounting_cases import FLIP, LN2, SEEDS, full_kernel, information, random_kernel, record_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sanitize.core.capacity import channel_capacity
from sanitize.core.channel import Channel
from sanitize.mechanisms import randomized_response
from sanitize.theory.accounting import (
    basic_composition,
    compose,
    group_capacity_bound,
    group_privacy,
)
from sanitize.theory.individual import individual_channel_capacity
from sanitize.theory.notions import approximate_dp, global_dp, renyi_dp

BITS = np.indices((2, 2, 2)).reshape(3, 8)

# --- basic composition ---------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 3))
def test_compose_is_the_product_distribution(seed, n_channels):
    rng = np.random.default_rng(seed)
    kernels = [random_kernel(rng, 3, int(rng.integers(1, 4))) for _ in range(n_channels)]
    exact = [[[Fraction(float(v)) for v in row] for row in kernel] for kernel in kernels]
    expected = [
        [float(math.prod(picked, start=Fraction(1))) for picked in itertools.product(*(kernel[x] for kernel in exact))]
        for x in range(3)
    ]
    assert_allclose(compose(*kernels), expected, rtol=1e-12, atol=0)


def test_compose_takes_channels_and_arrays():
    response = randomized_response(2, 1.0)
    assert_allclose(compose(response, FLIP, Channel.identity(2)).sum(axis=1), 1)
    assert compose(response, FLIP, Channel.identity(2)).shape == (2, 8)


@given(SEEDS)
def test_dp_and_renyi_levels_add(seed):
    rng = np.random.default_rng(seed)
    first, second = full_kernel(rng, 4, 3), full_kernel(rng, 4, 2)
    both = compose(first, second)
    assert global_dp(both, 2, 2) <= basic_composition([global_dp(first, 2, 2), global_dp(second, 2, 2)]).eps + 1e-9
    for alpha in (1.0, 1 + 1e-9, 2.0, 100.0, math.inf):
        total = basic_composition([renyi_dp(first, alpha), renyi_dp(second, alpha)]).eps
        assert renyi_dp(both, alpha) <= total + 1e-7


@pytest.mark.parametrize("epsilons", [(0.5, 1.0), (1e-6, 2.0), (3.0, 3.0)])
@pytest.mark.parametrize("deltas", [(0.0, 0.0), (1e-12, 0.25), (0.1, 0.2), (1.0, 0.5)])
def test_approximate_dp_composes_to_an_attained_level(epsilons, deltas):
    """Reveal x with probability δ, else randomized response: the extreme (ε, δ)-private pair."""
    kernels = []
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        kernels.append(
            [
                [delta, (1 - delta) * keep, (1 - delta) * (1 - keep), 0],
                [0, (1 - delta) * (1 - keep), (1 - delta) * keep, delta],
            ]
        )
    level = basic_composition(epsilons, deltas)
    assert level.eps == sum(epsilons)
    assert level.delta <= sum(deltas) + 1e-15
    assert_allclose(approximate_dp(compose(*kernels), eps=level.eps), level.delta, rtol=1e-9, atol=1e-14)


def test_no_delta_is_lost():
    assert basic_composition([1.0] * 3, [1e-17] * 3).delta == pytest.approx(3e-17, rel=1e-12)
    assert basic_composition([math.inf, 1.0]).eps == math.inf


@pytest.mark.slow
@settings(max_examples=30)
@given(SEEDS)
def test_wxh_theorem_7_1_individual_capacities_add(seed):
    rng = np.random.default_rng(seed)
    first, second = random_kernel(rng, 4, 2), random_kernel(rng, 4, 3)
    parts = [float(individual_channel_capacity(kernel, sizes=(2, 2))) for kernel in (first, second)]
    both = individual_channel_capacity(compose(first, second), sizes=(2, 2))
    assert both.lower <= basic_composition(parts).eps + 1e-9
    whole = [float(channel_capacity(kernel)) for kernel in (first, second)]
    assert channel_capacity(compose(first, second)).lower <= sum(whole) + 1e-9


def test_wxh_theorem_7_1_needs_the_deltas_under_an_entropy_bound():
    """x1+x2 and x1+x2+x3 mod 2 under the uniform distribution: 0 + 0 becomes ln 2."""
    two, three = np.eye(2)[BITS[:2].sum(axis=0) % 2], np.eye(2)[BITS.sum(axis=0) % 2]
    even = np.full(8, 1 / 8)
    for kernel in (two, three):
        assert max(information(record_distribution(even, kernel, (2, 2, 2), (i,))) for i in range(3)) < 1e-12
    assert_allclose(information(record_distribution(even, compose(two, three), (2, 2, 2), (2,))), LN2)
    # Against everyone nothing is wrong: either answer may tell a record already.
    capacities = [float(individual_channel_capacity(kernel, sizes=(2, 2, 2))) for kernel in (two, three)]
    assert_allclose(capacities, LN2)


@given(SEEDS)
def test_wxh_lemma_5_chain_rule_over_outputs(seed):
    """I(X_i;Y) = I(X_i;Y^2) + Σ p(y^2) I of channel 1 under the posterior given y^2."""
    rng = np.random.default_rng(seed)
    first, second, p = random_kernel(rng, 4, 2), random_kernel(rng, 4, 3), rng.dirichlet(np.ones(4))
    total = information(record_distribution(p, compose(first, second), (2, 2), (0,)))
    split = information(record_distribution(p, second, (2, 2), (0,)))
    for y, chance in enumerate(p @ second):
        if chance > 0:
            split += chance * information(record_distribution(p * second[:, y] / chance, first, (2, 2), (0,)))
    assert_allclose(total, split, atol=1e-9)


# --- groups --------------------------------------------------------------------------------------------------


@given(SEEDS)
def test_wxh_lemma_4_chain_rule_over_records(seed):
    rng = np.random.default_rng(seed)
    channel, p = random_kernel(rng, 8, 3), rng.dirichlet(np.ones(8))
    both = information(record_distribution(p, channel, (2, 2, 2), (0, 1)))
    split = information(record_distribution(p, channel, (2, 2, 2), (0,)))
    for a in (0, 1):
        given = np.where(BITS[0] == a, p, 0)
        split += given.sum() * information(record_distribution(given / given.sum(), channel, (2, 2, 2), (1,)))
    assert_allclose(both, split, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=20)
@given(SEEDS)
def test_wxh_theorem_6_1_group_capacity(seed):
    """C_k <= min(k C_1, C_n)."""
    channel = random_kernel(np.random.default_rng(seed), 8, 3)
    one = float(individual_channel_capacity(channel, sizes=(2, 2, 2)))
    whole = float(channel_capacity(channel))
    for k in (1, 2, 3):
        group = individual_channel_capacity(channel, sizes=(2, 2, 2), group=k)
        assert group.lower <= group_capacity_bound(one, k, whole) + 1e-9


@pytest.mark.parametrize("k", [1, 2, 3])
def test_group_bound_is_attained_by_a_noiseless_release(k):
    """Y = (X_1, ..., X_k): C_k = k C_1."""
    channel = np.eye(2**k)[np.arange(8) >> (3 - k)]
    one = float(individual_channel_capacity(channel, sizes=(2, 2, 2)))
    group = individual_channel_capacity(channel, sizes=(2, 2, 2), group=k)
    assert_allclose([float(group), group_capacity_bound(one, k)], k * LN2, atol=1e-8)


def test_group_bound_by_the_whole_capacity_is_attained():
    """The sum modulo 2 of two bits: C_1 = C_2 = ln 2, not 2 ln 2."""
    channel = np.eye(2)[[0, 1, 1, 0]]
    one, pair = (float(individual_channel_capacity(channel, sizes=(2, 2), group=k)) for k in (1, 2))
    assert_allclose([one, pair, group_capacity_bound(one, 2, float(channel_capacity(channel)))], LN2, atol=1e-8)


@given(SEEDS, st.integers(1, 3), st.sampled_from([0.0, 0.1, 1.0]))
def test_dp_of_a_group(seed, k, epsilon):
    """Pairs that differ in k records are (kε, δ Σ e^jε)-close, and kε-close where δ = 0."""
    channel = full_kernel(np.random.default_rng(seed), 8, 3)
    distance = (BITS[:, :, None] != BITS[:, None]).sum(axis=0)
    near, far = (np.argwhere((distance == d) & np.tri(8, k=-1, dtype=bool)) for d in (1, k))
    level = global_dp(channel, neighbours=near)
    assert global_dp(channel, neighbours=far) <= group_privacy(level, k).eps + 1e-9
    delta = approximate_dp(channel, eps=epsilon, neighbours=near)
    group = group_privacy(epsilon, k, delta)
    assert approximate_dp(channel, eps=group.eps, neighbours=far) <= group.delta + 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-6, 1.0, 50.0])
@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-3, 1.0])
def test_group_delta_against_high_precision(epsilon, k, delta):
    with mpmath.workdps(40):
        expected = min(mpmath.mpf(1), delta * mpmath.fsum(mpmath.exp(j * mpmath.mpf(epsilon)) for j in range(k)))
    assert_allclose(group_privacy(epsilon, k, delta).delta, float(expected), rtol=1e-12)
    assert group_privacy(epsilon, k, delta).eps == k * epsilon


def test_group_of_an_unbounded_level():
    assert group_privacy(math.inf, 2, 0.1).delta == 1.0
    assert group_privacy(1e6, 3, 1e-300).delta == 1.0
    assert group_privacy(math.inf, 2).delta == 0.0
