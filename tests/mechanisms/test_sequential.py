"""A second column beside a first release: against a program written from the definition, and by measured budgets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sanitize as sz
from sanitize.errors import InvalidBudget, InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.theory.accounting import joint_release
from sanitize.theory.sequential import sequential_response

BUDGETS = [
    sz.LiftBudget.symmetric(0.7),
    sz.LiftBudget(lower=1.0, upper=0.3),
    sz.LiftBudget(lower=math.inf, upper=0.4),
    sz.LDPBudget(0.8),
]


def distribution_of(seed, shape=(2, 3, 3), zeros=False):
    rng = np.random.default_rng(seed)
    distribution = rng.dirichlet(np.ones(math.prod(shape))).reshape(shape)
    if zeros:
        distribution[tuple(rng.integers(0, size) for size in shape)] = 0
    return distribution / distribution.sum()


def mean_gain(distribution, channel, gains):
    kept = [int(y) for y in channel.outputs.symbols]
    return float((distribution.sum(axis=(0, 1))[:, None] * channel.matrix * gains[:, kept]).sum())


def best(distribution, first, budget, gains):
    """The largest mean gain: every bound on (s, y_1, y_2) as it is defined, one row at a time."""
    n_s, _, n_x = distribution.shape
    n_y = gains.shape[1]
    p_s = distribution.sum(axis=(1, 2))
    rows = []
    for y1, y2 in itertools.product(range(first.shape[1]), range(n_y)):
        seen = [sum(distribution[s, a] * first[a, y1] for a in range(len(first))) for s in range(n_s)]
        if isinstance(budget, sz.LDPBudget):
            pairs = [(seen[s] / p_s[s], seen[t] / p_s[t], budget.eps) for s, t in itertools.permutations(range(n_s), 2)]
        else:
            pairs = [(row / p, sum(seen), budget.upper) for row, p in zip(seen, p_s, strict=True)]
            pairs += [(sum(seen), row / p, budget.lower) for row, p in zip(seen, p_s, strict=True)]
        for high, low, level in pairs:
            if math.isfinite(level):
                row = np.zeros((n_x, n_y))
                row[:, y2] = high - math.exp(level) * low
                rows.append(row.ravel())
    totals = np.kron(np.eye(n_x), np.ones(n_y))
    cost = -(distribution.sum(axis=(0, 1))[:, None] * gains).ravel()
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=totals, b_eq=np.ones(n_x))
    return -found.fun


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_channel_is_within_the_budget_and_gains_what_the_definition_allows(budget, seed):
    distribution = distribution_of(seed, zeros=seed == 3 and math.isinf(getattr(budget, "lower", 0)))
    rng = np.random.default_rng(seed)
    first = sz.randomized_response(3, 0.4).matrix
    gains = np.eye(3) if seed % 2 else rng.normal(size=(3, 4))
    channel = sequential_response(distribution, first, budget, gains)
    released = joint_release(distribution, [first, channel.matrix])
    assert budget.excess(released).max() <= 1e-12
    assert mean_gain(distribution, channel, gains) == pytest.approx(best(distribution, first, budget, gains), abs=1e-7)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(BUDGETS))
def test_a_first_release_on_its_bound_leaves_what_does_not_touch_it(seed, budget):
    """Beside an optimal first release, whose lifts stand on their bounds: within the budget, and near the best."""
    distribution = distribution_of(seed, (2, 3, 4))
    first = sz.optimal_random_response(sz.JointDistribution.from_matrix(distribution.sum(axis=2)), budget)
    channel = sequential_response(distribution, first, budget)
    released = joint_release(distribution, [first, channel])
    assert budget.excess(released).max() <= 1e-12
    gained = mean_gain(distribution, channel, np.eye(4))
    assert gained == pytest.approx(best(distribution, first.matrix, budget, np.eye(4)), abs=1e-6)


def test_ties_leave_more_than_a_constant():
    """y_1 uses the budget of s up; of x_2 the second may still tell what is independent of s given y_1."""
    both = np.array([[0.375, 0.125], [0.125, 0.375]])
    distribution = both[:, :, None] * np.array([0.4, 0.3, 0.2, 0.1])
    channel = sequential_response(distribution, np.eye(2), math.log(2))
    assert np.array_equal(channel.matrix, np.eye(4))
    # Of three letters, two that say the opposite of s may be told apart only in a mixture that says nothing.
    tilt = np.array([[0.2, -0.2, 0.0], [-0.2, 0.2, 0.0]])[:, None, :] / 3
    distribution = both[:, :, None] * (1 / 3 + tilt * np.array([1.0, 1.0])[None, :, None])
    channel = sequential_response(distribution, np.eye(2), math.log(2))
    assert mean_gain(distribution, channel, np.eye(3)) == pytest.approx(2 / 3, abs=1e-6)


def test_separate_designs_exceed_a_joint_budget_and_this_one_does_not():
    """Two designs at half the budget each exceed the joint one in most cases; the second given the first in none."""
    joint, over = sz.LiftBudget.symmetric(1.0), 0
    for seed in range(20):
        distribution = distribution_of(seed)
        parts = [sz.JointDistribution.from_matrix(distribution.sum(axis=axis)) for axis in (2, 1)]
        halves = [sz.optimal_random_response(part, 0.5) for part in parts]
        over += joint.excess(joint_release(distribution, halves)).max() > 1e-9
        second = sequential_response(distribution, halves[0], joint)
        assert joint.excess(joint_release(distribution, [halves[0], second])).max() <= 1e-12
    assert over >= 15


def test_no_limit_releases_the_best_and_no_first_release_is_one_of_nothing():
    distribution = distribution_of(1)
    assert np.array_equal(sequential_response(distribution, np.eye(3), math.inf).matrix, np.eye(3))
    alone = sequential_response(distribution, np.ones((3, 1)), sz.LDPBudget(0.5))
    part = sz.JointDistribution.from_matrix(distribution.sum(axis=1))
    assert sz.LDPBudget(0.5).excess(part.push(alone)).max() <= 1e-12


def test_what_does_not_fit_is_refused():
    distribution = distribution_of(0)
    for arguments, error, words in (
        ((distribution, np.eye(3), 0.01), InvalidBudget, "first release exceeds the budget"),
        ((distribution, np.eye(2), 1.0), InvalidChannel, "first takes 2 symbols, its column has 3"),
        ((distribution[0], np.eye(3), 1.0), InvalidDistribution, "axes S, X1, X2"),
        ((distribution * 2, np.eye(3), 1.0), InvalidDistribution, "sum to 1"),
        ((distribution, np.eye(3), sz.L1LiftBudget(lower=1, upper=1)), InvalidBudget, "LiftBudget"),
        ((distribution, np.ones((3, 1)), 1.0, np.eye(2)), InvalidParameter, r"shape \(3, n_y2\)"),
        ((distribution, np.ones((3, 1)), 1.0, [[math.nan]] * 3), InvalidParameter, "finite"),
    ):
        with pytest.raises(error, match=words):
            sequential_response(*arguments)
