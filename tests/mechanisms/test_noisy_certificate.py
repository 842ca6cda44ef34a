"""Certificates from counts with noise: how often they err, from known laws, and that a forgotten noise shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats

import sanitize as sz
from sanitize._sampling.discrete_gaussian import discrete_gaussian
from sanitize.mechanisms import certified_random_response
from sanitize.mechanisms._trees.certified import certified
from sanitize.mechanisms._trees.noisy_shares import noisy_shares, noisy_tilt
from sanitize.trees import Profiles

SIGMA = Fraction(20)
N_CELLS, ROWS, LEVEL = 10_000, 150, 0.05
ALARM = 1e-9  # of each statistical test, were its seed drawn anew


def centred(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Noise less its mean over the secrets."""
    noise = discrete_gaussian(sz.NoiseKey.from_seed(seed), SIGMA, int(np.prod(shape))).reshape(shape)
    return noise - noise.mean(axis=0)


def variance(n_secrets: int) -> float:
    return float(SIGMA**2) * (1 - 1 / n_secrets)


def passed_on_the_edge(posterior: list[float], side: str, taken: float, seed: int) -> float:
    """Share of cells whose first secret is on the bound, which should not pass, that pass: two cells a symbol."""
    rng = np.random.default_rng(seed)
    fresh = rng.multinomial(ROWS, posterior, N_CELLS).T + centred((len(posterior), N_CELLS), seed)
    design = rng.multinomial(ROWS // 5, posterior, N_CELLS).T
    weights = np.tile([1.0, 0.5], N_CELLS // 2)
    net = sparse.csr_array((weights, (np.arange(N_CELLS) // 2, np.arange(N_CELLS))))
    low, high = np.zeros(len(posterior)), np.ones(len(posterior))
    (low if side == "lower" else high)[0] = posterior[0]
    return float(certified(net, design, fresh, (low, high), (low, high), LEVEL, taken).mean())


@pytest.mark.parametrize("posterior", [[0.3, 0.7], [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_symbols_on_the_bound_pass_no_more_often_than_the_level(posterior, side):
    share = passed_on_the_edge(posterior, side, variance(len(posterior)), 1)
    n = N_CELLS // 2
    assert share * n <= stats.binom.isf(ALARM, n, LEVEL)


@pytest.mark.parametrize("factor", [0.0, 0.1])
def test_noise_that_is_forgotten_or_too_small_shows(factor):
    share = passed_on_the_edge([0.3, 0.7], "upper", factor * variance(2), 1)
    n = N_CELLS // 2
    assert share * n > stats.binom.isf(ALARM, n, LEVEL)


@pytest.mark.parametrize("share", [0.004, 0.3, 0.97])
def test_bounds_of_shares_fail_no_more_often_than_their_level(share):
    rng, n, runs, level = np.random.default_rng(2), 1000, 2_000, 0.1
    noise = discrete_gaussian(sz.NoiseKey.from_seed(3), SIGMA, runs)
    low, high = noisy_shares(rng.binomial(n, share, runs) + noise, n, float(SIGMA**2), level)
    most = stats.binom.isf(ALARM, runs, level / 2)
    assert (low > share).sum() <= most
    assert (high < share).sum() <= most


def test_bounds_of_shares_without_the_noise_fail():
    rng, n, runs, level = np.random.default_rng(2), 1000, 2_000, 0.1
    noise = discrete_gaussian(sz.NoiseKey.from_seed(3), 2 * SIGMA, runs)
    low, _ = noisy_shares(rng.binomial(n, 0.3, runs) + noise, n, 1e-9, level)
    assert (low > 0.3).sum() > stats.binom.isf(ALARM, runs, level / 2)


def test_the_tilt_is_about_the_best_one():
    """Against a search over λ for each symbol: what shows at the tilt is within 2 % of what is needed."""
    rows, bound, needed = np.array([60.0, 400.0, 5000.0]), 0.3, 12.0
    spread = np.array([40.0, 90.0, 10.0])
    for sign in (1, -1):
        tilt = noisy_tilt(rows, spread, bound, sign, needed)
        grid = sign * np.geomspace(1e-3, 20, 40_001)[:, None]
        mean = bound * np.exp(grid) / (1 + bound * np.expm1(grid))
        shown = rows * (grid * mean - np.log1p(bound * np.expm1(grid))) + grid**2 * spread / 2
        best = grid[np.abs(shown - needed).argmin(axis=0), 0]
        assert np.allclose(tilt, best, rtol=0.02)


def test_channels_from_noisy_counts_are_within_the_budget_of_the_law():
    """Of 150 tables from one law at most 5 % may fail; hardly any does, and something is kept."""
    rng, budget = np.random.default_rng(4), sz.LiftBudget(lower=0.8, upper=0.5)
    given = np.array([[0.20, 0.24, 0.30, 0.34, 0.38, 0.42, 0.30, 0.32]])
    law = np.concatenate([given, 1 - given]) / 8
    members = np.concatenate([np.eye(8, dtype=bool), np.kron(np.eye(4), [1, 1]).astype(bool), np.ones((1, 8), bool)])
    profiles = Profiles(np.eye(8) * 100, np.array([0]), np.array([1.0]))
    failed, outputs = 0, []
    for seed in range(150):
        design, fresh = (rng.multinomial(n, law.ravel()).reshape(2, 8) for n in (1200, 6800))
        noisy = fresh + centred((2, 8), seed)
        joint = sz.JointDistribution.from_matrix(np.maximum(noisy, 0.5) / np.maximum(noisy, 0.5).sum())
        channel = certified_random_response(joint, design, noisy, members, profiles, budget, 0.95, variance(2))
        pushed = law @ channel.matrix
        pushed = pushed[:, pushed.any(axis=0)]
        p_s = law.sum(axis=1)
        failed += bool((budget.excess_of(pushed / p_s[:, None] / pushed.sum(axis=0), p_s) > 0).any())
        outputs.append(pushed.shape[1])
    assert failed <= stats.binom.isf(ALARM, 150, 0.05)
    assert np.mean(outputs) > 2
