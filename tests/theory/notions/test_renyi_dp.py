"""Rényi differential privacy and identifiability of a channel, against enumeration."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notions_cases import (
    FLIP,
    INF,
    SLACK,
    WEIGHTS,
    databases,
    delta_exact,
    events,
    hamming_pairs,
    kernels,
    log,
    log_ratio,
    ordered_pairs,
    rows_of,
)
from numpy.testing import assert_allclose

from sanitize.theory.notions import (
    approximate_dp,
    global_dp,
    hamming_neighbours,
    identifiability,
    prior_ratio,
    renyi_dp,
)

ALPHAS = [1e-6, 0.5, 1 - 1e-9, 1.0, 1 + 1e-12, 1 + 1e-9, 1.5, 2.0, 7.0, 100.0, 1e6, INF]


def renyi_exact(p, q, alpha):
    if alpha >= 1 and any(u > 0 and v == 0 for u, v in zip(p, q, strict=True)):
        return INF
    both = [(u, v) for u, v in zip(p, q, strict=True) if u > 0 and v > 0]
    if not both:
        return INF
    if alpha == INF:
        return float(max(log(u / v) for u, v in both))
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**12, -(10**12)
        a = Decimal(alpha)
        if alpha == 1:
            return float(sum(Decimal(u.numerator) / u.denominator * log(u / v) for u, v in both))
        total = sum((a * log(u) + (1 - a) * log(v)).exp() for u, v in both)
        return float(total.ln() / (a - 1))


# --- Rényi DP -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ALPHAS)
@given(matrix=kernels(n_x=2, max_y=4))
def test_renyi_dp_to_the_digits_of_decimals(alpha, matrix):
    rows = rows_of(matrix)
    exact = max(renyi_exact(rows[a], rows[b], alpha) for a, b in ordered_pairs(2))
    if alpha < 1:  # a row that sums to 1 - 1e-16 is off by 1e-16/(1-α)
        tolerance = 1e-15 / (1 - alpha)
    elif alpha == 1 or alpha == INF:
        tolerance = 1e-15
    else:
        tolerance = 1e-15 / (alpha - 1)
    assert_allclose(renyi_dp(matrix, alpha), exact, rtol=1e-9, atol=tolerance + 1e-15)


@pytest.mark.parametrize("alpha", [0.5, 1 - 1e-9, 1.0, 1 + 1e-13, 1 + 1e-9, 2.0, 100.0])
@pytest.mark.parametrize("change", [1e-3, 1e-6, 1e-8])
def test_close_rows_lose_no_digits(alpha, change):
    # D_α of Bernoulli(1/2 ± t) is 2α t'² (1 + O(t'²)) with t' = 2t the relative change: no digit may cancel.
    t = Fraction(round(change * 2**40), 2**40)
    p, q = [Fraction(1, 2) + t, Fraction(1, 2) - t], [Fraction(1, 2) - t, Fraction(1, 2) + t]
    matrix = np.array([[float(v) for v in p], [float(v) for v in q]])
    assert_allclose(renyi_dp(matrix, alpha), renyi_exact(p, q, alpha), rtol=1e-10)


@pytest.mark.parametrize("t", [2.0**-10, 2.0**-30, 2.0**-48])
def test_levels_of_close_rows_lose_no_digits(t):
    matrix = np.array([[0.7 + t, 0.3 - t], [0.7 - t, 0.3 + t]])
    (a, b), (c, d) = rows_of(matrix)
    exact = float(max(log(a / c), log(d / b)))
    assert_allclose(global_dp(matrix, 1, 2), exact, rtol=1e-14)
    assert_allclose(global_dp(matrix, neighbours=[[0, 1]]), exact, rtol=1e-14)
    assert_allclose(approximate_dp(matrix, delta=0.0), exact, rtol=1e-14)


@pytest.mark.parametrize("epsilon", [720.0, 730.0, 736.0, 800.0, 1e6, INF])
def test_levels_whose_exponential_overflows(epsilon):
    matrix = np.array([[0.5, 0.5], [1.0, 1e-320]])
    p, q = rows_of(matrix)
    exact = delta_exact(p, q, min(epsilon, 2000.0))
    assert_allclose(approximate_dp(matrix, eps=epsilon), exact, rtol=1e-9)


@pytest.mark.parametrize("alpha", [50.0, 100.0])
def test_a_rare_output_with_a_large_ratio_at_a_high_order(alpha):
    p, q = Fraction(11, 2**53), Fraction(8, 2**53)
    rows = [[p, 1 - p], [q, 1 - q]]
    matrix = np.array([[float(v) for v in row] for row in rows])
    exact = max(renyi_exact(*rows, alpha), renyi_exact(*reversed(rows), alpha))
    assert_allclose(renyi_dp(matrix, alpha), exact, rtol=1e-10)


@given(kernels())
def test_zb_lemma_20_renyi_dp_grows_with_alpha_up_to_dp(matrix):
    values = [renyi_dp(matrix, alpha) for alpha in ALPHAS]
    assert all(a <= b * (1 + 1e-9) + 1e-6 * (b < 1e-3) + 1e-12 for a, b in pairwise(values))
    assert_allclose(values[-1], global_dp(matrix, 1, len(matrix)), rtol=1e-12)


@given(kernels(n_x=2), st.sampled_from([1.5, 2.0, 10.0]))
def test_zb_lemma_22_probability_preservation(matrix, alpha):
    order = renyi_dp(matrix, alpha)
    for event in events(matrix.shape[1]):
        p, q = matrix[:, list(event)].sum(axis=1)
        assert p <= (math.exp(min(order, 700)) * q) ** ((alpha - 1) / alpha) + 1e-9 or order == INF


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 50.0])
def test_randomized_response_has_the_largest_kl_of_its_level(epsilon):
    matrix = np.array([[math.exp(epsilon), 1.0], [1.0, math.exp(epsilon)]]) / (1 + math.exp(epsilon))
    assert_allclose(renyi_dp(matrix, 1), epsilon * math.tanh(epsilon / 2), rtol=1e-9)  # [CY]


@given(kernels(n_x=2, positive=True))
def test_cy_kl_of_a_dp_channel_is_at_most_that_of_randomized_response(matrix):
    level = global_dp(matrix, 1, 2)
    assert renyi_dp(matrix, 1) <= level * math.tanh(level / 2) + SLACK


def test_disjoint_and_nested_supports():
    assert renyi_dp(np.eye(2), 0.5) == INF
    half = [[1.0, 0.0], [0.5, 0.5]]
    assert renyi_dp(half, 1) == INF
    assert_allclose(renyi_dp(half, 0.5), math.log(2))
    assert renyi_dp([[0.3, 0.7]], 2) == 0.0
    assert renyi_dp(np.full((4, 3), 1 / 3), 1e300) == 0.0


def test_neighbours_decide_what_is_compared():
    both = np.kron(FLIP, FLIP)
    for alpha in (0.5, 1, 2, INF):
        assert_allclose(renyi_dp(both, alpha, hamming_neighbours(2, 2)), renyi_dp(FLIP, alpha), rtol=1e-12)
        assert_allclose(renyi_dp(both, alpha), 2 * renyi_dp(FLIP, alpha), rtol=1e-12)  # products add


# --- identifiability ----------------------------------------------------------------------------------------


@st.composite
def priors_and_databases(draw):
    sizes, matrix = draw(databases())
    weights = np.array(draw(st.lists(WEIGHTS, min_size=len(matrix), max_size=len(matrix))), float)
    weights[draw(st.integers(0, len(matrix) - 1))] += 1
    return weights / weights.sum(), sizes, matrix


@given(priors_and_databases())
def test_identifiability_is_the_largest_ratio_of_posteriors(case):
    prior, sizes, matrix = case
    rows = rows_of(matrix)
    distribution = [Fraction(float(v)) for v in prior]
    joint = [[p * v for v in row] for p, row in zip(distribution, rows, strict=True)]
    totals = [sum(row[y] for row in joint) for y in range(len(joint[0]))]
    for neighbours in (None, hamming_pairs(sizes)):
        ratios = [
            log_ratio(joint[a][y] / total, joint[b][y] / total)
            for a, b in ordered_pairs(len(distribution), neighbours)
            for y, total in enumerate(totals)
            if total > 0
        ]
        exact = max((r for r in ratios if r is not None), default=0.0)
        pairs = None if neighbours is None else np.array(neighbours, int).reshape(-1, 2)
        assert_allclose(identifiability(prior, matrix, pairs), max(exact, 0.0), rtol=1e-12, atol=1e-14)
        ratios = [log_ratio(distribution[a], distribution[b]) for a, b in ordered_pairs(len(distribution), neighbours)]
        exact = max((r for r in ratios if r is not None), default=0.0)
        assert_allclose(prior_ratio(prior, pairs), max(exact, 0.0), rtol=1e-12, atol=1e-14)


@given(priors_and_databases())
def test_wyz_identifiability_and_dp_differ_by_the_prior_ratio_at_most(case):
    prior, sizes, matrix = case
    pairs = hamming_neighbours(sizes=sizes)
    level, ours, ratio = (
        global_dp(matrix, sizes=sizes),
        identifiability(prior, matrix, pairs),
        prior_ratio(prior, pairs),
    )
    if math.isfinite(ratio):
        assert ours <= level + ratio + SLACK
        assert level <= ours + ratio + SLACK
        assert ratio <= ours + SLACK  # [WYZ Lemma 3]: no mechanism identifies less than the prior does


@given(databases())
def test_wyz_a_uniform_prior_makes_identifiability_dp(pair):
    sizes, matrix = pair
    prior = np.full(len(matrix), 1 / len(matrix))
    pairs = hamming_neighbours(sizes=sizes)
    assert prior_ratio(prior, pairs) == 0
    assert_allclose(identifiability(prior, matrix, pairs), global_dp(matrix, sizes=sizes), rtol=1e-12, atol=1e-14)


def test_wyz_posterior_kernel_is_identifiable_at_its_level():
    # E_i of [WYZ (26)]: p(y|x) = p_Y(y) e^(-ε d(x,y)) / (Z p_X(x)) has identifiability ε for any prior it fits.
    epsilon, n, m = 1.2, 2, 3
    letters = np.array(list(product(range(m), repeat=n)))
    distance = (letters[:, None] != letters[None]).sum(axis=2)
    posterior = np.exp(-epsilon * distance) / (1 + (m - 1) * math.exp(-epsilon)) ** n
    p_y = np.random.default_rng(0).dirichlet(np.ones(m**n))
    prior = posterior @ p_y
    channel = posterior * p_y / prior[:, None]
    pairs = hamming_neighbours(n, m)
    assert_allclose(identifiability(prior, channel, pairs), epsilon, rtol=1e-12)
    assert global_dp(channel, n, m) <= epsilon + prior_ratio(prior, pairs) + SLACK


def test_impossible_inputs():
    assert prior_ratio([0.0, 1.0]) == INF
    assert identifiability([0.0, 1.0], FLIP) == INF
    assert prior_ratio([1.0]) == 0.0
    assert prior_ratio([0.0, 0.0, 1.0], [[0, 1]]) == 0.0
    assert identifiability([0.5, 0.5, 0.0], np.eye(3), [[2, 2]]) == 0.0
