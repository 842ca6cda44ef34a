"""Balance functions of bounded adversaries: by enumeration of readers and sources, and as thresholds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from accounting_cases import LN2, full_kernel, information, record_distribution
from numpy.testing import assert_allclose
from scipy.special import entr

from sanitize.core.capacity import channel_capacity
from sanitize.errors import InvalidChannel, InvalidParameter
from sanitize.theory.accounting import balance_function, computational_balance_function
from sanitize.theory.individual import individual_channel_capacity

BINARY = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
DISTRIBUTIONS = np.linspace(0, 1, 4001)[1:-1]


def maps(n, k):
    """Every map of n outputs to at most k values, as a channel."""
    return [np.eye(k)[list(labels)] for labels in itertools.product(range(k), repeat=n)]


def told(channel, readers, distributions):
    """The most that a reader learns of one bit, over some distributions of it."""
    p = np.stack([distributions, 1 - distributions], axis=1)
    seen = (channel @ reader for reader in readers)
    return max(float((entr(p @ one).sum(axis=1) - p @ entr(one).sum(axis=1)).max()) for one in seen)


@pytest.mark.parametrize("b", [0.0, 0.5, 0.65, LN2])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_wxh_definition_24_is_the_best_reader_and_the_worst_distribution(b, k):
    """Every map of three outputs to k values, and every distribution of one bit on a grid."""
    found = computational_balance_function(BINARY, b, maps(3, k))
    wide = DISTRIBUTIONS[entr(DISTRIBUTIONS) + entr(1 - DISTRIBUTIONS) >= b - 1e-9]
    capacity, restricted = (told(BINARY, maps(3, k), distributions) for distributions in (DISTRIBUTIONS, wide))
    for low, high, value in (
        (found.capacity_lower, found.capacity_upper, capacity),
        (found.restricted_lower, found.restricted_upper, restricted),
        (found.lower, found.upper, capacity - restricted),
    ):
        assert low <= high <= low + 1e-8
        assert_allclose([low, high], value, atol=2e-6)
    assert_allclose(found.tau, float(channel_capacity(BINARY)) - capacity, atol=2e-6)
    assert float(found) == found.lower


@pytest.mark.parametrize("b", [0.0, 0.5, 0.65, LN2])
def test_wxh_proposition_8_three_levels_name_one_threshold(b):
    """ε against the class on wide distributions, ε + δ_c on all, ε + δ_c + τ against everyone, by enumeration."""
    found = computational_balance_function(BINARY, b, maps(3, 2))
    wide = DISTRIBUTIONS[entr(DISTRIBUTIONS) + entr(1 - DISTRIBUTIONS) >= b - 1e-9]
    here = told(BINARY, maps(3, 2), wide)
    for eps in (here - 1e-4, here + 1e-4):
        private = here <= eps
        assert private == (told(BINARY, maps(3, 2), DISTRIBUTIONS) <= eps + found.lower + 1e-5)
        assert private == (told(BINARY, maps(3, 3), DISTRIBUTIONS) <= eps + found.lower + found.tau[0] + 1e-5)
    assert found.tau[0] > 0.005


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_wxh_definition_22_distributions_of_large_effective_entropy(seed):
    """Effective entropy is the loss of the best constant, which is H: each one found has b, and tells what is said."""
    rng = np.random.default_rng(seed)
    sizes, n_y = (2, 2), 3
    channel = full_kernel(rng, 4, n_y)
    readers = [full_kernel(rng, n_y, 2), maps(n_y, 2)[5]]
    b = 0.9 * math.log(4)
    found = computational_balance_function(channel, b, readers, sizes, starts=2)
    assert len(found.balances) == len(readers)
    reached = 0.0
    for balance, reader in zip(found.balances, readers, strict=True):
        distribution = balance.input
        constants = rng.dirichlet(np.ones(4), 200)
        with np.errstate(divide="ignore"):
            assert (-(np.log(constants) @ distribution) >= b - 1e-9).all()
        assert -distribution[distribution > 0] @ np.log(distribution[distribution > 0]) >= b - 1e-9
        of_reader = max(information(record_distribution(distribution, channel @ reader, sizes, [i])) for i in range(2))
        assert_allclose(of_reader, balance.restricted_lower, atol=1e-7)
        reached = max(reached, of_reader)
        for p in rng.dirichlet(np.full(4, 5.0), 50):
            if -p @ np.log(p) >= b:
                assert max(information(record_distribution(p, channel @ reader, sizes, [i])) for i in range(2)) <= (
                    found.restricted_upper + 1e-9
                )
    assert_allclose(found.restricted_lower, reached, atol=1e-7)
    capacities = [float(individual_channel_capacity(channel @ reader, sizes=sizes)) for reader in readers]
    assert_allclose([found.capacity_lower, found.capacity_upper], max(capacities), atol=1e-8)
    assert found.capacity_upper <= float(individual_channel_capacity(channel, sizes=sizes)) + 1e-8


def test_who_sees_all_of_the_answer_is_nobody_bounded():
    found = computational_balance_function(BINARY, 0.6, [np.eye(3)])
    everyone = balance_function(BINARY, 0.6)
    assert_allclose([found.lower, found.upper], [everyone.lower, everyone.upper], atol=1e-12)
    assert found.tau[0] <= 1e-8
    # A reader of one value learns nothing, so there is nothing to balance.
    blind = computational_balance_function(BINARY, 0.6, maps(3, 1))
    assert blind.capacity_upper == pytest.approx(0, abs=1e-9)
    assert_allclose(blind.tau, float(channel_capacity(BINARY)), atol=1e-8)


def test_readers_that_differ_in_the_order_of_their_outputs_count_once():
    """S(4, 2) = 7 partitions of four outputs into two parts, and the constant reader, among 16 maps."""
    channel = full_kernel(np.random.default_rng(1), 3, 4)
    assert len(computational_balance_function(channel, 0.5, maps(4, 2)).balances) == 8


@pytest.mark.parametrize(
    ("readers", "error", "words"),
    [
        (2, InvalidParameter, "readers must be a list"),
        ([], InvalidParameter, "at least one channel from Y"),
        ([np.eye(2)], InvalidChannel, "reader 1 must take the 3 outputs of the channel"),
        ([np.ones((3, 2))], InvalidChannel, "reader 1"),
    ],
)
def test_what_is_no_class_of_readers_is_refused(readers, error, words):
    with pytest.raises(error, match=words):
        computational_balance_function(BINARY, 0.5, readers)
