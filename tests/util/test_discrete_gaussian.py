"""Draws of the discrete Gaussian against its distribution, and against draws by another route; the keys are fixed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sanitize._util.sampling.count_noise import Bits, Gaussian
from sanitize._util.sampling.noise import NoiseKey

N = 20_000
ALARM = 1e-9  # of a right sampler, for each of the tests here, were its key drawn anew


def distribution(sigma, reach):
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-(z**2) / (2 * float(sigma) ** 2))
    return mass / mass.sum()


def pooled(*rows):
    """Counts in cells of at least 10 expected, the tails in one cell each."""
    enough = np.flatnonzero(rows[0] >= 10)
    low, high = enough[0], enough[-1]
    return [np.concatenate([[r[: low + 1].sum()], r[low + 1 : high], [r[high:].sum()]]) for r in rows]


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [Fraction(1, 4), Fraction(45, 64), Fraction(2), Fraction(383, 64)])
def test_draws_follow_the_distribution(sigma):
    reach = math.ceil(12 * sigma) + 2
    drawn = Gaussian(sigma).draw(NoiseKey.from_seed(5), N)
    expected, seen = pooled(distribution(sigma, reach) * N, np.bincount(drawn + reach, minlength=2 * reach + 1))
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > ALARM


def test_draws_are_like_those_by_inversion():
    sigma, reach = Fraction(191, 64), 40
    others = np.searchsorted(np.cumsum(distribution(sigma, reach)), np.random.default_rng(3).random(N)) - reach
    drawn = Gaussian(sigma).draw(NoiseKey.from_seed(6), N)
    counts = [np.bincount(z + reach, minlength=2 * reach + 1) for z in (others, drawn)]
    assert stats.chi2_contingency(np.array(pooled(*counts))).pvalue > ALARM


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(17, 10), Fraction(5)])
def test_coins_come_up_as_often_as_they_should(gamma):
    bits = Bits(NoiseKey.from_seed(7))
    heads = sum(bits.decays(gamma.numerator, gamma.denominator) for _ in range(N))
    assert stats.binomtest(heads, N, math.exp(-gamma)).pvalue > ALARM


def test_whole_numbers_are_uniform_also_beyond_a_word():
    bits = Bits(NoiseKey.from_seed(8))
    assert stats.chisquare(np.bincount([bits.uniform(5) for _ in range(N)], minlength=5)).pvalue > ALARM
    wide = 3 << 64
    drawn = [bits.uniform(wide) for _ in range(N)]
    assert max(drawn) < wide
    assert stats.chisquare(np.bincount([z >> 64 for z in drawn], minlength=3)).pvalue > ALARM
    assert {bits.uniform(1) for _ in range(10)} == {0}


def test_noise_is_that_of_its_key():
    one, two = (Gaussian(Fraction(6)).draw(NoiseKey.from_seed(seed), 50) for seed in (1, 2))
    assert np.array_equal(one, Gaussian(Fraction(6)).draw(NoiseKey.from_seed(1), 50))
    assert not np.array_equal(one, two)


def test_neighbouring_draws_are_not_alike():
    drawn = Gaussian(Fraction(3)).draw(NoiseKey.from_seed(9), N).astype(float)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 6.2 / math.sqrt(N)  # ALARM of a normal
