"""Certificates from counts with noise: how often they err, from known sources, and that a forgotten noise shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse, stats

import sanitize as sz
from sanitize._util.sampling.count_noise import CountNoise, Gaussian, Geometric, RowNoise, whole
from sanitize.core.profiles import Profiles
from sanitize.mechanisms import certified_random_response
from sanitize.mechanisms._certified import evidence
from sanitize.mechanisms._certified.evidence import noisy_shares, shares_within

N_CELLS, ROWS, LEVEL, N_TABLES = 10_000, 150, 0.05, 30
ALARM = 1e-9  # of each statistical test, were its seed drawn anew
DISTRIBUTIONS = [Gaussian(Fraction(20)), Geometric(Fraction(1, 14))]


def centred(noise: CountNoise, n_cells: int, seed: int) -> np.ndarray:
    """Noise less its mean over the secrets."""
    drawn = noise.draw(sz.NoiseKey.from_seed(seed), n_cells)
    return drawn - drawn.mean(axis=0)


def smaller(noise: CountNoise, part: Fraction) -> CountNoise:
    """Noise whose standard deviation is about so much of this one's."""
    distribution = noise.distribution
    own = (
        Gaussian(part * distribution.sigma)
        if isinstance(distribution, Gaussian)
        else Geometric(distribution.rate / part)
    )
    return CountNoise(own, noise.n_secrets)


def passed_on_the_edge(
    posterior: list[float], side: str, noise: CountNoise, taken: CountNoise | None, seed: int
) -> float:
    """Share of symbols on the bound that pass: two cells each, in which the first secret is as frequent as in all."""
    rng = np.random.default_rng(seed)
    fresh = rng.multinomial(ROWS, posterior, N_CELLS).T + centred(noise, N_CELLS, seed)
    design = rng.multinomial(ROWS // 5, posterior, N_CELLS).T
    weights = np.tile([1.0, 0.5], N_CELLS // 2)
    net = sparse.csr_array((weights, (np.arange(N_CELLS) // 2, np.arange(N_CELLS))))
    p_s = np.array(posterior)
    # So that each single test is one at the level.
    error = LEVEL * len(weights) / 2 / (1 - evidence._FOR_MEANS)
    of_symbols = evidence.Evidence(net, design, fresh, error, taken)
    return float(of_symbols.shows(0, 1 if side == "lower" else -1, 1.0, p_s[0], p_s[0]).mean())


def under(distribution: np.ndarray, channel: sz.Channel, budget: sz.LiftBudget) -> tuple[bool, int]:
    """Whether a channel is over the budget where the rows came from, and how many symbols it releases."""
    pushed = distribution @ channel.matrix
    pushed = pushed[:, pushed.any(axis=0)]
    p_s = distribution.sum(axis=1)
    excess = budget.lift_excess(pushed / p_s[:, None] / pushed.sum(axis=0), p_s)
    return bool((excess > 0).any()), pushed.shape[1]


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("posterior", [[0.3, 0.7], [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_symbols_on_the_bound_pass_no_more_often_than_the_level(posterior, side, distribution):
    noise = CountNoise(distribution, len(posterior))
    share = passed_on_the_edge(posterior, side, noise, noise, 1)
    n = N_CELLS // 2
    assert share * n <= stats.binom.isf(ALARM, n, LEVEL)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("part", [None, Fraction(1, 3)])
def test_noise_that_is_forgotten_or_too_small_shows(part, distribution):
    noise = CountNoise(distribution, 2)
    share = passed_on_the_edge([0.3, 0.7], "upper", noise, part and smaller(noise, part), 1)
    n = N_CELLS // 2
    assert share * n > stats.binom.isf(ALARM, n, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("share", [0.004, 0.3, 0.97])
def test_bounds_of_shares_fail_no_more_often_than_their_level(share, distribution):
    rng, n, runs, level = np.random.default_rng(2), 1000, 2_000, 0.1
    noise = CountNoise(distribution, 3)
    told = sum(centred(noise, runs, seed)[0] for seed in (3, 4, 5))
    low, high = shares_within(rng.binomial(n, share, runs) + told, n, noise, 3, level)
    most = stats.binom.isf(ALARM, runs, level / 2)
    assert (low > share).sum() <= most
    assert (high < share).sum() <= most


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_bounds_of_shares_without_most_of_the_noise_fail(distribution):
    rng, n, runs, level = np.random.default_rng(2), 1000, 2_000, 0.1
    noise = CountNoise(distribution, 2)
    told = sum(centred(noise, runs, seed)[0] for seed in range(3, 9))
    low, _ = shares_within(rng.binomial(n, 0.3, runs) + told, n, noise, 0.01, level)
    assert (low > 0.3).sum() > stats.binom.isf(ALARM, runs, level / 2)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_channels_from_noisy_counts_are_within_the_budget_of_the_distribution(distribution):
    """Of 30 tables from one distribution at most 5 % may fail; hardly any does, and something is kept."""
    noise = CountNoise(distribution, 2)
    rng, budget = np.random.default_rng(4), sz.LiftBudget(lower=0.8, upper=0.5)
    given = np.array([[0.20, 0.24, 0.30, 0.34, 0.38, 0.42, 0.30, 0.32]])
    distribution = np.concatenate([given, 1 - given]) / 8
    members = np.concatenate([np.eye(8, dtype=bool), np.kron(np.eye(4), [1, 1]).astype(bool), np.ones((1, 8), bool)])
    profiles = Profiles(np.eye(8) * 100, np.array([0]), np.array([1.0]))
    failed, outputs = 0, []
    for seed in range(N_TABLES):
        design, fresh = (rng.multinomial(n, distribution.ravel()).reshape(2, 8) for n in (1200, 6800))
        noisy = fresh + centred(noise, 8, seed)
        joint = sz.JointDistribution.from_matrix(np.maximum(noisy, 0.5) / np.maximum(noisy, 0.5).sum())
        channel = certified_random_response(joint, design, noisy, members, profiles, budget, 0.95, noise)
        is_over, n_outputs = under(distribution, channel, budget)
        failed += is_over
        outputs.append(n_outputs)
    assert failed <= stats.binom.isf(ALARM, N_TABLES, 0.05)
    assert np.mean(outputs) > 2


# Two cells that a symbol has and two that it has not, which all have the same distribution of S: it is on the bound 1.
OF_CELLS = np.array([0.2, 0.15, 0.35, 0.3])
NET = sparse.csr_array(np.array([[1.0, 0.5, 0.0, 0.0]]))


def counts_of_rows(distribution: np.ndarray, n: int, noise: Geometric, runs: int, seed: int = 6) -> np.ndarray:
    """Counts of n rows with noise of its own on each, shape (runs, n_s, n_cells)."""
    rng = np.random.default_rng(seed)
    drawn = noise.draw(sz.NoiseKey.from_seed(seed), runs * distribution.size).reshape(runs, *distribution.shape)
    return rng.multinomial(n, distribution.ravel(), runs).reshape(drawn.shape) + drawn


def passed_with_hidden_rows(p_s: list[float], side: str, rate: Fraction, taken: Fraction) -> tuple[int, int]:
    """How often a symbol on the bound passes, and how often it was tried, where rows of cells are not known."""
    runs, n = 300, 2000
    distribution = np.outer(p_s, OF_CELLS)
    design = np.rint(distribution * 1000).astype(np.int64)
    error = LEVEL / (1 - evidence._FOR_MEANS)
    passed = 0
    for told in counts_of_rows(distribution, n, Geometric(rate), runs):
        of_symbols = evidence.Evidence(NET, design, told, error, RowNoise(taken, n))
        passed += int(of_symbols.shows(0, 1 if side == "lower" else -1, 1.0, p_s[0], p_s[0])[0])
    return passed, runs


@pytest.mark.slow
@pytest.mark.parametrize("p_s", [[0.3, 0.7], [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_symbols_on_the_bound_pass_no_more_often_where_rows_of_cells_are_hidden(p_s, side):
    passed, runs = passed_with_hidden_rows(p_s, side, Fraction(1, 8), Fraction(1, 8))
    assert passed <= stats.binom.isf(ALARM, runs, LEVEL)


@pytest.mark.slow
def test_noise_on_rows_that_is_forgotten_shows():
    passed, runs = passed_with_hidden_rows([0.2, 0.3, 0.5], "lower", Fraction(1, 40), Fraction(2))
    assert passed > stats.binom.isf(ALARM, runs, LEVEL)


@pytest.mark.parametrize("taken", [1, 0])
def test_bounds_of_means_of_symbols_take_in_the_noise_of_all_counts(taken):
    """They fail no more often than their level, and without the noise they do."""
    runs, n, level, noise = 2000, 1000, 0.1, Geometric(Fraction(1, 14))
    distribution, weights = np.outer([0.2, 0.3, 0.5], OF_CELLS), NET.toarray()[0]
    told = counts_of_rows(distribution, n, noise, runs).sum(axis=1) @ weights
    tilt = np.geomspace(1e-6, 0.99 * noise.reach, 512)
    spent = taken * 3 * noise.log_mgf(tilt[:, None] * weights).sum(axis=1, keepdims=True)
    low, high = noisy_shares(told, n, tilt, spent, level)
    mean, most = float(OF_CELLS @ weights), stats.binom.isf(ALARM, runs, level / 2)
    failed = (low > mean).sum(), (high < mean).sum()
    assert (max(failed) <= most) == bool(taken)


def test_the_noise_of_a_symbol_is_that_of_all_its_counts_tilt_by_tilt():
    noise, distribution = RowNoise(Fraction(1, 8), 2000), np.outer([0.2, 0.3, 0.5], OF_CELLS)
    told, design = counts_of_rows(distribution, 2000, Geometric(Fraction(1, 8)), 1)[0], np.rint(1000 * distribution)
    found = evidence.Evidence(NET, design.astype(np.int64), told, LEVEL, noise).means
    tilt = np.geomspace(1e-6, evidence._WITHIN * noise.reach, 512)
    taken = np.array([[3 * sum(noise.log_mgf(np.array([1.0, 0.5]) * size))] for size in tilt])
    sums = told.sum(axis=0)[:2] @ [1.0, 0.5]
    np.testing.assert_allclose(found, noisy_shares(sums, 2000, tilt, taken, LEVEL * evidence._FOR_MEANS), rtol=1e-12)


@pytest.mark.slow
def test_channels_of_hidden_rows_are_within_the_budget_of_the_distribution():
    """Of 30 tables from one distribution at most 5 % may fail; hardly any does, and something is kept."""
    budget, n, rate = sz.LiftBudget(lower=0.8, upper=0.5), 20_000, Fraction(1, 2)
    given = np.array([[0.20, 0.24, 0.30, 0.34, 0.38, 0.42, 0.30, 0.32]])
    distribution = np.concatenate([given, 1 - given]) / 8
    members = np.concatenate([np.eye(8, dtype=bool), np.kron(np.eye(4), [1, 1]).astype(bool), np.ones((1, 8), bool)])
    profiles = Profiles(np.eye(8) * 100, np.array([0]), np.array([1.0]))
    failed, outputs, noise = 0, [], RowNoise(rate, n)
    tables = zip(
        counts_of_rows(distribution, 5000, noise, N_TABLES),
        counts_of_rows(distribution, n, noise, N_TABLES, 7),
        strict=True,
    )
    for design, told in tables:
        first, fresh = whole(design, 5000), whole(told, n)
        joint = sz.JointDistribution.from_matrix((first + fresh) / (first + fresh).sum())
        channel = certified_random_response(joint, first, told, members, profiles, budget, 0.95, noise)
        is_over, n_outputs = under(distribution, channel, budget)
        failed += is_over
        outputs.append(n_outputs)
    assert failed <= stats.binom.isf(ALARM, N_TABLES, 0.05)
    assert np.mean(outputs) > 2
