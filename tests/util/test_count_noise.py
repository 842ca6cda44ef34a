"""Noise on counts of secrets: draws against chances, chances against sums, and what it promises by enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sanitize._util.sampling.count_noise import Bits, CountNoise, Gaussian, Geometric
from sanitize._util.sampling.noise import NoiseKey

N = 10_000
ALARM = 1e-9  # of a right sampler, for each of the tests here, were its key drawn anew
RATES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(0.1)]


def pmf(distribution, reach):
    """Of -reach to reach."""
    z = np.arange(-reach, reach + 1)
    size = (
        z**2 / (2 * float(distribution.sigma) ** 2)
        if isinstance(distribution, Gaussian)
        else abs(z) * float(distribution.rate)
    )
    return np.exp(-size) / np.exp(-size).sum()


@pytest.mark.parametrize("rate", RATES)
def test_draws_are_two_sided_geometric(rate):
    drawn, reach = Geometric(rate).draw(NoiseKey.from_seed(5), N), math.ceil(60 / rate)
    expected = pmf(Geometric(rate), reach) * N
    seen = np.bincount(drawn + reach, minlength=2 * reach + 1)
    often = expected >= 10
    tails = [[own[often], [own[~often].sum()]] for own in (seen, expected)]
    assert stats.chisquare(*map(np.concatenate, tails)).pvalue > ALARM


def test_whole_scales_have_one_part():
    """Draws of the Gaussian are made of these, and stay what they were for a key."""
    scaled, whole = Bits(NoiseKey.from_seed(1)), Bits(NoiseKey.from_seed(1))
    assert [scaled.two_sided_geometric(4, 1) for _ in range(50)] == [whole.two_sided_geometric(4) for _ in range(50)]


@pytest.mark.parametrize("n_secrets", [2, 3, 5])
@pytest.mark.parametrize("distribution", [Gaussian(Fraction(3, 2)), *map(Geometric, RATES)])
def test_bounds_of_the_distribution_hold_and_are_those_of_the_sum(distribution, n_secrets):
    """Against sums over independent draws, of which the noise on a count is what the definition says."""
    noise = CountNoise(distribution, n_secrets)
    z = np.arange(-4000, 4001)
    mass = pmf(distribution, 4000)
    shares = [1.0] if noise.once else [1 - 1 / n_secrets] + (n_secrets - 1) * [1 / n_secrets]
    for part in (0.05, 0.5, 0.9):
        t = part * min(noise.reach, 3.0)
        exact = sum(math.log(math.fsum(mass * np.exp(np.minimum(share * t * z, 600)))) for share in shares)
        found = float(noise.log_mgf(np.array(t)))
        assert exact <= found * (1 + 1e-9)
        assert found <= exact * (1.02 if isinstance(distribution, Gaussian) else 1 + 1e-9)
        assert noise.log_mgf(np.array(-t)) == pytest.approx(found)
    square = sum(share**2 for share in shares) * float(mass @ z**2)
    assert noise.variance == pytest.approx(square, rel=1e-3)


@pytest.mark.parametrize("n_secrets", [2, 3, 4])
def test_draws_have_the_shape_and_the_variance_of_the_distribution(n_secrets):
    noise = CountNoise(Geometric(Fraction(1, 2)), n_secrets)
    drawn = noise.draw(NoiseKey.from_seed(n_secrets), N)
    left = drawn - drawn.mean(axis=0)
    assert left.shape == (n_secrets, N)
    assert (drawn.sum(axis=0) == 0).all() == (n_secrets == 2)
    # The fourth moment of the distribution is below 7 squares of its variance.
    assert np.allclose((left**2).mean(axis=1), noise.variance, rtol=6.2 * math.sqrt(6 / N))


@pytest.mark.parametrize("n_secrets", [2, 3])
@pytest.mark.parametrize("eps", [Fraction(1), Fraction(1, 4)])
def test_another_secret_of_one_row_changes_no_probability_by_more_than_stated(eps, n_secrets):
    """By enumeration of all counts that are seen near those of a cell and of its neighbours."""
    noise, counts = CountNoise.geometric(eps, n_secrets), (4, 3, 2)[:n_secrets]

    def log_probability(seen, exact):
        moved = [abs(o - n) for o, n in zip(seen, exact, strict=True)]
        if noise.once:  # the second count is the rows of the cell less the first
            return -float(noise.distribution.rate) * moved[0] if sum(seen) == sum(exact) else -math.inf
        return -float(noise.distribution.rate) * sum(moved)

    worst = -math.inf
    for gives, takes in itertools.permutations(range(n_secrets), 2):
        other = [n + (s == takes) - (s == gives) for s, n in enumerate(counts)]
        for seen in itertools.product(range(-3, 10), repeat=n_secrets):
            here, there = log_probability(seen, counts), log_probability(seen, other)
            assert (here == -math.inf) == (there == -math.inf)
            if here > -math.inf:
                worst = max(worst, here - there)
    assert worst == pytest.approx(float(eps), abs=1e-12)


@pytest.mark.parametrize("eps", [0.1, 1.0, 3.0])
def test_the_promise_is_that_of_another_accountant(eps):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for n_secrets, moved in ((2, 1), (3, 2)):
        rate = float(CountNoise.geometric(Fraction(eps), n_secrets).distribution.rate)
        one = pld.from_discrete_laplace_mechanism(rate, sensitivity=1, value_discretization_interval=1e-4)
        both = one.self_compose(moved)
        assert both.get_delta_for_epsilon(eps + 1e-3) <= 1e-9  # what it loses by rounding up
        assert both.get_delta_for_epsilon(0.9 * eps) > 1e-3
