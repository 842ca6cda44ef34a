"""Randomized response calibrated to a capacity, against 60-digit arithmetic and the capacity of the matrix."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitize.core.capacity import channel_capacity
from sanitize.core.channel import Channel
from sanitize.core.measures import ldp_epsilon
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import calibrate_randomized_response, randomized_response, randomized_response_capacity
from sanitize.mechanisms._data_independent.randomized_response import ROUNDING, root

SIZES = [2, 3, 5, 17, 1000]
EPSILONS = [1e-100, 1e-12, 1e-6, 1e-3, 0.02, 0.5, 1.0, 1.0000001, 2.0, 10.0, 50.0]


def capacity_exact(n, epsilon):
    """log n - H(Z), term by term in 250 digits."""
    with mp.workdps(250):
        keep = mp.e ** mp.mpf(epsilon)
        distribution = [keep / (keep + n - 1), *([1 / (keep + n - 1)] * (n - 1))]
        return float(mp.log(n) + mp.fsum(p * mp.log(p) for p in distribution))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_capacity_formula_keeps_its_digits(n, epsilon):
    assert randomized_response_capacity(n, epsilon) == pytest.approx(capacity_exact(n, epsilon), rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [2, 3, 5, 17])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 3.0, 20.0])
def test_corollary_4_the_uniform_distribution_attains_the_bound(n, epsilon):
    """[WXH Cor. 4] with equality: randomized response is weakly symmetric."""
    matrix = np.full((n, n), 1 / (math.exp(epsilon) + n - 1))
    np.fill_diagonal(matrix, math.exp(epsilon) / (math.exp(epsilon) + n - 1))
    assert channel_capacity(matrix, 1e-12).upper == pytest.approx(randomized_response_capacity(n, epsilon), abs=1e-11)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [1e-12, 1e-6, 0.01, 0.3, 0.499, 0.501, 0.9, 0.999999])
def test_calibration_inverts_the_capacity_on_the_private_side(n, share):
    budget = share * math.log(n)
    found = randomized_response_capacity(n, calibrate_randomized_response(n, budget))
    assert found <= budget
    assert found == pytest.approx(budget, rel=1e-11, abs=0)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-13, 1e-9])
@pytest.mark.parametrize("target", [-400.0, -3.0, 0.7])
def test_a_calibrated_parameter_is_checked_where_the_figure_jumps(noise, target):
    """As under other arithmetic: the root of a figure that wavers by more than the root's own digits."""

    def off(parameter):
        return 2 * (parameter - target) + noise * math.cos(1e15 * parameter)

    found = root(off, target - 1, target + 2)
    assert off(found) <= -ROUNDING
    assert off(found) >= -1e-12 - 4 * noise - 1e-14 * abs(target)


def test_the_last_digits_below_log_n_are_met():
    for n in (2, 100):
        for left in (1e-9, 1e-12, 1e-14):
            epsilon = calibrate_randomized_response(n, math.log(n) - left)
            with mp.workdps(60):
                odds = (n - 1) * mp.e ** (-mp.mpf(epsilon))
                entropy = mp.log(1 + odds) + odds * epsilon / (1 + odds)
                assert float(entropy) == pytest.approx(math.log(n) - (math.log(n) - left), rel=1e-6)


def test_corollary_3_the_flip_probability_solves_the_binary_entropy():
    """[WXH Cor. 3] h(p*) = log 2 - ε in nats."""
    for budget in (1e-6, 0.1, 0.3681, 0.5, 0.69):
        p = mp.mpf(1) / (1 + mp.e ** mp.mpf(calibrate_randomized_response(2, budget)))
        entropy = -p * mp.log(p) - (1 - p) * mp.log(1 - p)
        assert float(entropy) == pytest.approx(math.log(2) - budget, abs=1e-12)


def test_from_log_n_on_nothing_is_flipped():
    """**Corrected**: [WXH Cor. 3] covers (0, 1) bits only; from log n nats on no noise is needed."""
    for n in (2, 5):
        for budget in (math.log(n), 1.7, math.inf):
            assert calibrate_randomized_response(n, budget) == math.inf
    assert calibrate_randomized_response(1, 0.0) == math.inf
    assert calibrate_randomized_response(2, 0.0) == 0.0


def test_a_budget_in_bits_read_as_nats_would_be_too_loose():
    """[WXH §4.1] takes ε in (0, 1): half a bit is not half a nat."""
    half_a_bit = 0.5 * math.log(2)
    assert calibrate_randomized_response(2, half_a_bit) < calibrate_randomized_response(2, 0.5)


@given(st.integers(2, 300), st.floats(0, 1, exclude_min=True))
def test_the_sampled_integers_are_within_the_budget(n, share):
    budget = share * math.log(n)
    epsilon = calibrate_randomized_response(n, budget)
    channel = Channel.identity(n) if math.isinf(epsilon) else randomized_response(n, epsilon)
    capacity = channel_capacity(channel, 1e-11)
    assert capacity.lower <= budget + 1e-13
    assert capacity.upper <= budget + 2e-11
    assert capacity.upper == pytest.approx(budget, abs=1e-9)
    if math.isfinite(epsilon):
        assert ldp_epsilon(channel) <= epsilon * (1 + 1e-12) + 1e-15


@given(st.integers(2, 50), st.floats(1e-6, 30), st.floats(1.001, 2))
def test_capacity_grows_with_epsilon(n, epsilon, factor):
    assert randomized_response_capacity(n, epsilon) < randomized_response_capacity(n, factor * epsilon) <= math.log(n)


@pytest.mark.parametrize("bad", [-1e-9, math.nan, -math.inf, "1", None, True])
def test_hostile_capacities_are_refused(bad):
    with pytest.raises(InvalidParameter, match="capacity must be a number of nats >= 0"):
        calibrate_randomized_response(3, bad)


@pytest.mark.parametrize("bad", [0, -1, 2.0, "2", None, True, math.nan])
def test_hostile_sizes_are_refused(bad):
    for function in (calibrate_randomized_response, randomized_response_capacity):
        with pytest.raises(InvalidParameter, match="n_symbols must be a whole number >= 1"):
            function(bad, 0.5)


@pytest.mark.parametrize("bad", [-1, math.nan, "1", None])
def test_hostile_epsilons_are_refused(bad):
    with pytest.raises(InvalidParameter, match="eps must be a number of nats >= 0"):
        randomized_response_capacity(2, bad)
