"""What symbols that a unit keeps tell together, against sums over every function that it may keep."""

from __future__ import annotations

import importlib
import itertools
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from accounting_cases import SEEDS, random_kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import sanitize as sz
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.theory.accounting import joint_release, permanent_release

FLIP = [[0.75, 0.25], [0.25, 0.75]]


def every_history(n_x: int, length: int) -> np.ndarray:
    return np.indices((n_x,) * length).reshape(length, -1).T


def random_distribution(rng: np.random.Generator, n_histories: int) -> np.ndarray:
    return rng.dirichlet(np.ones(2 * n_histories)).reshape(2, -1)


def by_functions(distribution, histories, kernel):
    """P(s, y_1, ..., y_T) in fractions: every function F of all values, kept or not used, has Π_v P(F(v)|v)."""
    found = Counter()
    n_x, n_y = len(kernel), len(kernel[0])
    for function in itertools.product(range(n_y), repeat=n_x):
        chance = math.prod(kernel[v][y] for v, y in enumerate(function))
        for s, row in enumerate(distribution):
            for p, history in zip(row, histories, strict=True):
                found[s, tuple(function[v] for v in history)] += p * chance
    return found


@pytest.mark.parametrize(("n_x", "n_y", "length"), [(2, 2, 3), (3, 2, 3), (2, 3, 4), (3, 3, 2)])
def test_exact_sums_over_all_functions(n_x, n_y, length):
    """Small fractions, which doubles hold exactly enough to tell which sequences cannot be."""
    rng = np.random.default_rng(n_x + n_y + length)
    histories = every_history(n_x, length)[rng.permutation(n_x**length)[: n_x**length - 1]]
    weights = rng.integers(1, 9, (2, len(histories)))
    distribution = [[Fraction(int(w), int(weights.sum())) for w in row] for row in weights]
    rows = [[0, *rng.integers(1, 9, n_y - 1)] for _ in range(n_x)]
    rows[0] = [int(w) for w in rng.integers(1, 9, n_y)]
    kernel = [[Fraction(int(w), int(sum(row))) for w in row] for row in rows]
    released = permanent_release(np.array(distribution, float), histories, np.array(kernel, float))
    exact = by_functions(distribution, histories.tolist(), kernel)
    assert sum(exact.values()) == 1
    expected = {y for (_, y), p in exact.items() if p}
    assert list(released.public.symbols) == sorted(expected)
    for s in range(2):
        assert_allclose(released.pmf[s], [float(exact[s, y]) for y in released.public.symbols], rtol=1e-12)


@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=30)
def test_values_that_differ_are_answered_as_with_new_noise(seed, n_x, n_y, length):
    """Histories without a value twice: the same as of `joint_release`; and rows of one value add nothing."""
    rng = np.random.default_rng(seed)
    histories = np.array(list(itertools.permutations(range(n_x + length - 1), length)))
    kernel = random_kernel(rng, n_x + length - 1, n_y)
    distribution = random_distribution(rng, len(histories))
    tensor = np.zeros((2, *[n_x + length - 1] * length))
    tensor[:, *histories.T] = distribution
    once = permanent_release(distribution, histories, kernel)
    assert_allclose(once.pmf, joint_release(tensor, [kernel] * length).pmf, atol=1e-14)
    twice = permanent_release(distribution, np.repeat(histories, 2, axis=1), kernel)
    assert_allclose(twice.pmf, once.pmf, atol=1e-14)
    assert_allclose(sz.lift(twice), sz.lift(once), rtol=1e-9)


@given(SEEDS)
@settings(max_examples=30)
def test_kept_symbols_tell_no_more_than_the_history(seed):
    rng = np.random.default_rng(seed)
    histories = every_history(3, 3)
    distribution = random_distribution(rng, len(histories))
    released = permanent_release(distribution, histories, random_kernel(rng, 3, 2))
    given_history = sz.JointDistribution.from_matrix(distribution)
    assert sz.mutual_information(released) <= sz.mutual_information(given_history) + 1e-12
    assert sz.core.lifts.max_log_lift(released).max() <= sz.core.lifts.max_log_lift(given_history).max() + 1e-12
    assert_allclose(released.p_s, distribution.sum(axis=1), rtol=1e-12)


def test_a_value_that_stays_costs_its_budget_once_and_new_noise_exceeds_it():
    budget = sz.LiftBudget.symmetric(0.3)
    joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    channel = sz.optimal_random_response(joint, budget)
    stays = np.repeat([[0], [1]], 12, axis=1)
    assert budget.excess(permanent_release(joint.pmf, stays, channel)).max() <= 1e-12
    tensor = np.zeros((2, 2, 2))
    tensor[:, [0, 1], [0, 1]] = joint.pmf
    assert budget.excess(joint_release(tensor, [channel] * 2)).max() > 0.1


def test_that_a_value_changes_is_told_for_certain():
    """No level of the channel bounds what changes tell: here they are the secret."""
    distribution = [[0.25, 0.25, 0.0, 0.0], [0.0, 0.0, 0.25, 0.25]]
    channel = sz.randomized_response(2, 0.01)
    released = permanent_release(distribution, [[0, 0], [1, 1], [0, 1], [1, 0]], channel)
    assert sz.core.lifts.max_log_lift(released).max() == pytest.approx(math.log(2))


def test_blocks_of_histories_add_up(monkeypatch):
    rng = np.random.default_rng(3)
    histories, kernel = every_history(3, 4), random_kernel(rng, 3, 3)
    distribution = random_distribution(rng, len(histories))
    whole = permanent_release(distribution, histories, kernel)
    monkeypatch.setattr("sanitize.theory.accounting._permanent_release._BLOCK_PAIRS", 100)
    assert_allclose(permanent_release(distribution, histories, kernel).pmf, whole.pmf, atol=1e-15)


def test_the_benchmark_of_months_tells_what_sums_over_histories_tell(monkeypatch):
    """Its forward sums for symbols drawn anew, and its enumeration of kept ones, for every sequence that can be."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[3] / "studies")
    units = importlib.import_module("units")
    month, step = units.P_S[:, None] * units.P_X, units.changes(units.P_X, 0.3)
    kernel = np.array([[0.8, 0.1, 0.1], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]])
    distribution = np.einsum("sx,sxy,syz->sxyz", month, step, step)
    sequences = every_history(3, 3)
    anew = joint_release(distribution, [kernel] * 3)
    found = dict(zip(anew.public.symbols, anew.pmf.T, strict=True))
    kept = by_functions(distribution.reshape(2, -1), sequences.tolist(), kernel.tolist())
    for of, told in (
        (units.lifts_anew, lambda y: found[y]),
        (units.lifts_kept, lambda y: np.array([float(kept[s, y]) for s in range(2)])),
    ):
        possible = [y for y in map(tuple, sequences.tolist()) if y in found and told(y).any()]
        expected = [np.log(told(y) / told(y).sum() / units.P_S) for y in possible]
        assert_allclose(of(month, step, kernel, np.array(possible).T).T, expected, atol=1e-9)
        assert len(possible) > 20


@pytest.mark.parametrize(
    ("distribution", "histories", "channel", "error", "words"),
    [
        ([0.5, 0.5], [[0], [1]], FLIP, InvalidDistribution, "axes S"),
        ([[[0.5, 0.5]]], [[0], [1]], FLIP, InvalidDistribution, "axes S, history"),
        ([[0.5, 0.6]], [[0], [1]], FLIP, InvalidDistribution, "sum to 1"),
        ([[0.5, 0.5]], [[0], [1]], [[0.5, 0.6], [0.5, 0.5]], InvalidChannel, "channel"),
        ([[0.5, 0.5]], [0, 1], FLIP, InvalidParameter, "histories must be whole numbers"),
        ([[0.5, 0.5]], [[0.0], [1.0]], FLIP, InvalidParameter, "histories must be whole numbers"),
        ([[0.5, 0.5]], [[0], [1], [0]], FLIP, InvalidParameter, r"shape \(2, T\)"),
        ([[0.5, 0.5]], [[0], [2]], FLIP, InvalidParameter, "codes of the 2 symbols"),
        ([[0.5, 0.5]], [[0], [-1]], FLIP, InvalidParameter, "codes of the 2 symbols"),
        ([[0.5, 0.5]], [[0], [0]], FLIP, InvalidParameter, "different from each other"),
        ([[0.5, 0.5]], [[0] * 21, [1] * 21], FLIP, InvalidParameter, "exceed the limit of 1048576"),
    ],
)
def test_what_is_refused(distribution, histories, channel, error, words):
    with pytest.raises(error, match=words):
        permanent_release(distribution, histories, channel)
