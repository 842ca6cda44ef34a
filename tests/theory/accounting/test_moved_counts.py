"""(ε, δ) of noisy counts one row of which moves: both sides written out, another library, and a bound of the theory."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from sanitize.core.moved_counts import moved_count_delta, moved_count_sigma
from sanitize.errors import InvalidParameter

CASES = [(0.0, 1.0), (0.5, 0.5), (1.0, 2.0), (1.0, 1.0), (3.0, 0.703125), (0.1, 3.0), (7.0, 0.5)]


def divergence(eps, sigma):
    """Σ over both outputs of max(0, P - e^ε P'), from the two distributions themselves, with 40 digits."""
    with mpmath.workdps(40):
        reach = math.ceil(18 * sigma) + 2
        mass = {z: mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for z in range(-reach, reach + 1)}
        total, factor = mpmath.fsum(mass.values()) ** 2, mpmath.exp(eps)
        told = mpmath.mpf(0)
        for first in range(-reach, reach):
            for second in range(-reach + 1, reach + 1):
                here, there = mass[first] * mass[second], mass[first + 1] * mass[second - 1]
                told += max(0, here - factor * there)
        return told / total


@pytest.mark.parametrize(("eps", "sigma"), CASES)
def test_delta_is_the_divergence_of_the_two_distributions_rounded_up(eps, sigma):
    exact, found = divergence(eps, sigma), moved_count_delta(eps, sigma)
    assert exact <= found <= exact * (1 + 1e-8)


@pytest.mark.parametrize(("eps", "sigma"), [(1.0, 6.0), (0.5, 3.0), (3.0, 1.0)])
def test_another_accountant_is_a_hair_above(eps, sigma):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=1, value_discretization_interval=1e-4)
    theirs = one.compose(one).get_delta_for_epsilon(eps)
    assert moved_count_delta(eps, sigma) <= theirs * (1 + 1e-6)
    assert theirs <= moved_count_delta(eps, sigma) * 1.02


@pytest.mark.parametrize(("eps", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-5)])
def test_the_conversion_from_concentrated_privacy_is_an_upper_bound(eps, delta):
    sigma = moved_count_sigma(eps, delta)
    orders = 1 + np.geomspace(1e-3, 1e4, 4001)
    bound = (orders - 1) * (orders / sigma**2 - eps) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    assert math.log(moved_count_delta(eps, sigma)) <= bound.min() <= math.log(100 * delta)


@pytest.mark.slow
@pytest.mark.parametrize(("eps", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-6), (0.02, 1e-5), (0.008, 1e-6)])
def test_sigma_is_the_least_step_that_is_enough(eps, delta):
    sigma = moved_count_sigma(eps, delta)
    assert (64 * sigma).is_integer()
    assert moved_count_delta(eps, sigma) <= delta < moved_count_delta(eps, sigma - 1 / 64)


def test_sigma_is_enough_where_delta_does_not_fall_steadily():
    assert moved_count_delta(20.0, moved_count_sigma(20.0, 1e-6)) <= 1e-6


@pytest.mark.parametrize(
    ("eps", "delta", "word"),
    [(0.0, 1e-6, "eps"), (1.0, 0.0, "delta"), (math.inf, 1e-6, "eps"), (1e-4, 1e-9, "more than 1000 rows")],
)
def test_what_cannot_be_had_is_refused(eps, delta, word):
    with pytest.raises(InvalidParameter, match=word):
        moved_count_sigma(eps, delta)


def test_noise_out_of_range_is_refused():
    for sigma in (0.0, 1e5, math.nan):
        with pytest.raises(InvalidParameter, match="sigma"):
            moved_count_delta(1.0, sigma)
