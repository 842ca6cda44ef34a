"""DP-like notions of a channel against enumeration of events, fractions and 60-digit decimals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sanitize.channel import Channel
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.measures import ldp_epsilon
from sanitize.mechanisms import randomized_response
from sanitize.notions import (
    _notions,
    approximate_dp,
    global_dp,
    hamming_neighbours,
    identifiability,
    prior_ratio,
    renyi_dp,
)

SLACK = 1e-12  # rounding allowed to a theorem
INF = math.inf
ALPHAS = [1e-6, 0.5, 1 - 1e-9, 1.0, 1 + 1e-12, 1 + 1e-9, 1.5, 2.0, 7.0, 100.0, 1e6, INF]
FLIP = np.array([[0.75, 0.25], [0.25, 0.75]])
WEIGHTS = st.one_of(st.just(0), st.integers(1, 4), st.integers(1, 10**6), st.floats(1e-12, 1))


@st.composite
def kernels(draw, n_x=None, max_y=5, positive=False):
    n_x = draw(st.integers(1, 4)) if n_x is None else n_x
    n_y = draw(st.integers(1, max_y))
    cells = np.array(draw(st.lists(WEIGHTS, min_size=n_x * n_y, max_size=n_x * n_y)), float).reshape(n_x, n_y)
    cells[np.arange(n_x), draw(st.lists(st.integers(0, n_y - 1), min_size=n_x, max_size=n_x))] += 1
    cells += float(positive)
    return cells / cells.sum(axis=1, keepdims=True)


@st.composite
def databases(draw, positive=False):
    """Letters of each record, and a channel from such databases."""
    sizes = draw(st.sampled_from([(2,), (4,), (2, 2), (3, 2), (2, 2, 2), (1, 3), (2, 1, 2)]))
    return sizes, draw(kernels(n_x=math.prod(sizes), positive=positive))


def rows_of(matrix):
    """The rows a kernel normalises to, as fractions."""
    return [[Fraction(float(v)) for v in row] for row in matrix / matrix.sum(axis=1, keepdims=True)]


def ordered_pairs(n, neighbours=None):
    pairs = list(combinations(range(n), 2)) if neighbours is None else [tuple(pair) for pair in neighbours]
    return [*pairs, *((b, a) for a, b in pairs)]


def hamming_pairs(sizes):
    letters = list(product(*(range(size) for size in sizes)))
    return [
        (a, b)
        for a, b in combinations(range(len(letters)), 2)
        if sum(u != v for u, v in zip(letters[a], letters[b], strict=True)) == 1
    ]


def log(value):
    with localcontext() as context:
        context.prec = 60
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln() if value else Decimal("-Infinity")


def log_ratio(p, q):
    """Log p/q in fractions; None for 0/0."""
    if p == 0 and q == 0:
        return None
    if q == 0:
        return INF
    return -INF if p == 0 else float(log(p / q))


def events(n_y):
    return [event for k in range(n_y + 1) for event in combinations(range(n_y), k)]


def delta_exact(p, q, epsilon):
    """Largest P(A) - e^ε Q(A), by trying every event."""
    with localcontext() as context:
        context.prec = 60
        factor = Fraction(Decimal(epsilon).exp())
    return float(max(sum(p[y] for y in a) - factor * sum(q[y] for y in a) for a in events(len(p))))


def epsilon_exact(p, q, delta):
    """Least ε >= 0 with P(A) <= e^ε Q(A) + δ, by trying every event."""
    need = 0.0
    for a in events(len(p)):
        excess, mass = sum(p[y] for y in a) - Fraction(delta), sum(q[y] for y in a)
        if excess > Fraction(1, 10**14):  # sums of rounded rows: less is rounding
            need = max(need, INF if mass == 0 else float(log(excess / mass)))
    return need


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


# --- databases ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1,), (5,), (2, 2), (3, 2, 4), (1, 3), (2, 2, 2, 2)])
def test_hamming_neighbours_are_those_of_the_definition(sizes):
    pairs = hamming_neighbours(sizes=sizes)
    assert sorted(map(tuple, pairs.tolist())) == hamming_pairs(sizes)


def test_n_and_m_are_equal_sizes():
    assert_array_equal(hamming_neighbours(3, 2), hamming_neighbours(sizes=[2, 2, 2]))
    assert hamming_neighbours(4, 1).shape == (0, 2)


# --- differential privacy -----------------------------------------------------------------------------------


@given(databases())
def test_global_dp_is_the_largest_log_ratio_of_neighbours(pair):
    sizes, matrix = pair
    rows = rows_of(matrix)
    ratios = [
        log_ratio(p, q)
        for a, b in ordered_pairs(0, hamming_pairs(sizes))
        for p, q in zip(rows[a], rows[b], strict=True)
    ]
    exact = max((r for r in ratios if r is not None), default=0.0)
    assert_allclose(global_dp(matrix, sizes=sizes), max(exact, 0.0), rtol=1e-12, atol=1e-15)
    assert global_dp(matrix, neighbours=hamming_neighbours(sizes=sizes)) == global_dp(matrix, sizes=sizes)


@given(kernels())
def test_one_record_is_local_dp(matrix):
    channel = Channel.from_matrix(matrix)
    assert_allclose(global_dp(channel, 1, len(matrix)), ldp_epsilon(channel), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 50.0])
@pytest.mark.parametrize(("n", "m"), [(1, 2), (1, 17), (2, 3), (3, 2)])
def test_records_randomized_one_by_one_keep_their_level(n, m, epsilon):
    one = np.ones((m, m)) + np.expm1(epsilon) * np.eye(m)
    one /= one.sum(axis=1, keepdims=True)
    whole = np.ones((1, 1))
    for _ in range(n):
        whole = np.kron(whole, one)
    assert_allclose(global_dp(whole, n, m), epsilon, rtol=1e-9)
    assert_allclose(global_dp(whole, 1, m**n), n * epsilon, rtol=1e-9)


def max_information(tensor, laws, record):
    """I_∞(X_record; Y) under a product prior, from P(y | x_1, ..., x_n) as a tensor."""
    for other in reversed(range(len(laws))):
        if other != record:
            tensor = np.tensordot(laws[other], tensor, (0, other))
    return float(np.log(tensor / (laws[record] @ tensor)).max())


@given(databases(positive=True), st.integers(0, 2**32 - 1))
def test_wxh_theorem_2_1_max_information_over_product_priors_is_dp(pair, seed):
    sizes, matrix = pair
    level, tensor = global_dp(matrix, sizes=sizes), matrix.reshape(*sizes, -1)
    rng = np.random.default_rng(seed)
    for _ in range(3):  # no product prior exceeds the level
        laws = [rng.dirichlet(np.ones(size)) for size in sizes]
        assert all(max_information(tensor, laws, record) <= level + SLACK for record in range(len(sizes)))
    best = 0.0
    for database in product(*(range(size) for size in sizes)):  # priors near a point mass come near it
        laws = [np.full(size, 1e-12 / size) for size in sizes]
        for law, letter in zip(laws, database, strict=True):
            law[letter] += 1 - 1e-12
        best = max([best, *(max_information(tensor, laws, record) for record in range(len(sizes)))])
    assert_allclose(best, level, atol=1e-9 + 1e-10 * math.exp(level))


def test_wxh_theorem_2_1_is_a_supremum():
    # Binary symmetric channel: every non-degenerate prior stays strictly below the level.
    level = global_dp(FLIP, 1, 2)
    for p in (0.5, 0.1, 1e-3):
        assert np.log(FLIP / (np.array([p, 1 - p]) @ FLIP)).max() < level - p / 2


# --- (ε, δ)-DP -------------------------------------------------------------------------------------------------


@given(kernels(), st.sampled_from([0.0, 1e-6, 0.1, 1.0, 5.0, 50.0]))
def test_least_delta_is_the_worst_event(matrix, epsilon):
    rows = rows_of(matrix)
    exact = max((delta_exact(rows[a], rows[b], epsilon) for a, b in ordered_pairs(len(rows))), default=0.0)
    assert_allclose(approximate_dp(matrix, epsilon=epsilon), exact, atol=2e-15)


@given(kernels(), st.sampled_from([0.0, 1e-12, 0.05, 0.3, 0.99, 1.0]))
def test_least_epsilon_is_the_worst_event(matrix, delta):
    rows = rows_of(matrix)
    exact = max((epsilon_exact(rows[a], rows[b], delta) for a, b in ordered_pairs(len(rows))), default=0.0)
    found = approximate_dp(matrix, delta=delta)
    if math.isinf(exact) or math.isinf(found):
        assert found == exact or approximate_dp(matrix, epsilon=INF) == pytest.approx(delta, abs=1e-13)
    else:
        assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


@given(databases(), st.sampled_from([0.0, 0.1, 1.0, 5.0]))
def test_delta_and_epsilon_invert_each_other(pair, epsilon):
    sizes, matrix = pair
    pairs = hamming_neighbours(sizes=sizes)
    delta = approximate_dp(matrix, epsilon=epsilon, neighbours=pairs)
    least = approximate_dp(matrix, delta=delta, neighbours=pairs)
    assert approximate_dp(matrix, delta=min(1.0, delta + 1e-12), neighbours=pairs) <= epsilon + 1e-9
    if math.isfinite(least):
        assert_allclose(approximate_dp(matrix, epsilon=least, neighbours=pairs), delta, atol=1e-13)


@given(kernels())
def test_ends_of_the_curve(matrix):
    level = global_dp(matrix, 1, len(matrix))
    assert_allclose(approximate_dp(matrix, delta=0.0), level, rtol=1e-12)
    assert approximate_dp(matrix, delta=1.0) == 0.0
    distances = [np.abs(p - q).sum() / 2 for p in matrix for q in matrix]
    assert_allclose(approximate_dp(matrix, epsilon=0.0), max(distances), atol=1e-14)
    if math.isfinite(level):
        assert approximate_dp(matrix, epsilon=level * (1 + 1e-12)) < 1e-14
        assert approximate_dp(matrix, epsilon=INF) == 0.0


def test_erasure_needs_delta():
    lost = np.array([[0.9, 0.0, 0.1], [0.0, 0.9, 0.1]])
    assert approximate_dp(lost, epsilon=50.0) == pytest.approx(0.9)
    assert approximate_dp(lost, delta=0.9) == 0.0
    assert approximate_dp(lost, delta=0.89) == INF


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 0.01, 0.5])
def test_the_four_point_pair_of_the_tightest_conversion(epsilon, delta):
    # [CY]: (ε, δ)-close exactly; every ε' < ε needs δ' = 1 - (e^ε' + 1)(1 - δ)/(e^ε + 1).
    high, low = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    pair = np.array([[delta, high, low, 0.0], [0.0, low, high, delta]])
    assert_allclose(approximate_dp(pair, epsilon=epsilon), delta, rtol=1e-9, atol=4e-16)
    assert_allclose(approximate_dp(pair, delta=delta), epsilon, rtol=1e-3 if delta == 1e-12 else 1e-9)
    for part in (0.0, 0.3, 0.9):
        weaker = 1 - (math.exp(part * epsilon) + 1) * (1 - delta) / (math.exp(epsilon) + 1)
        assert_allclose(approximate_dp(pair, epsilon=part * epsilon), weaker, atol=1e-14)


def test_zb_definition_3_entrywise_delta_is_vacuous():
    # Reveal x and append one of 1000 tags: every entry differs by 1/1000 at most, every event by everything.
    tags = 1000
    reveal = np.kron(np.eye(2), np.full((1, tags), 1 / tags))
    assert np.max(reveal[0] - reveal[1]) <= 1 / tags
    assert approximate_dp(reveal, epsilon=5.0) == pytest.approx(1.0)


@given(kernels(n_x=3), kernels(n_x=3), st.floats(0, 1), st.sampled_from([0.0, 0.5, 2.0]))
def test_zb_lemma_21_mixtures_are_no_worse_than_the_worse_part(first, second, share, level):
    wide = np.zeros((2, 3, max(first.shape[1], second.shape[1])))
    wide[0, :, : first.shape[1]], wide[1, :, : second.shape[1]] = first, second
    mixed = share * wide[0] + (1 - share) * wide[1]
    for loss in (
        lambda w: approximate_dp(w, epsilon=level),
        lambda w: global_dp(w, 1, 3),
        lambda w: renyi_dp(w, 0.5 + level),
    ):
        assert loss(mixed) <= max(loss(wide[0]), loss(wide[1])) * (1 + 1e-9) + 1e-9


# --- Rényi DP -------------------------------------------------------------------------------------------------


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
    assert_allclose(approximate_dp(matrix, epsilon=epsilon), exact, rtol=1e-9)


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
    law = [Fraction(float(v)) for v in prior]
    joint = [[p * v for v in row] for p, row in zip(law, rows, strict=True)]
    totals = [sum(row[y] for row in joint) for y in range(len(joint[0]))]
    for neighbours in (None, hamming_pairs(sizes)):
        ratios = [
            log_ratio(joint[a][y] / total, joint[b][y] / total)
            for a, b in ordered_pairs(len(law), neighbours)
            for y, total in enumerate(totals)
            if total > 0
        ]
        exact = max((r for r in ratios if r is not None), default=0.0)
        pairs = None if neighbours is None else np.array(neighbours, int).reshape(-1, 2)
        assert_allclose(identifiability(prior, matrix, pairs), max(exact, 0.0), rtol=1e-12, atol=1e-14)
        ratios = [log_ratio(law[a], law[b]) for a, b in ordered_pairs(len(law), neighbours)]
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


# --- doors and hostile arguments --------------------------------------------------------------------------


def test_arrays_channels_and_sanitizers_are_alike():
    channel = randomized_response(4, 1.0)
    for form in (channel, channel.matrix, channel.matrix.tolist(), SimpleNamespace(channel_=channel)):
        assert_allclose(global_dp(form, 2, 2), 1.0)
        assert_allclose(approximate_dp(form, delta=0.0), 1.0)
        assert_allclose(renyi_dp(form, INF), 1.0)
        assert_allclose(identifiability([0.25] * 4, form), 1.0)


def test_pairs_are_taken_in_blocks(monkeypatch):
    matrix = np.random.default_rng(0).dirichlet(np.ones(5), 12)
    pairs = hamming_neighbours(sizes=[3, 4])
    prior = np.random.default_rng(1).dirichlet(np.ones(12))
    whole = [global_dp(matrix, sizes=[3, 4]), renyi_dp(matrix, 2), identifiability(prior, matrix, pairs)]
    monkeypatch.setattr(_notions, "_CELLS", 10)
    assert whole == [global_dp(matrix, sizes=[3, 4]), renyi_dp(matrix, 2), identifiability(prior, matrix, pairs)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n and m together, or by sizes"),
        ({"n": 2}, "n and m together, or by sizes"),
        ({"n": 1, "m": 4, "sizes": [4]}, "n and m together, or by sizes"),
        ({"n": 0, "m": 4}, "n must be a whole number from 1 to 65536, got 0"),
        ({"n": 1, "m": 4.0}, "m must be a whole number >= 1, got 4.0"),
        ({"n": True, "m": 4}, "n must be a whole number from 1 to 65536, got True"),
        ({"n": 10**9, "m": 1}, "n must be a whole number from 1 to 65536, got 1000000000"),
        ({"n": 60, "m": 2}, "from 1 to 1099511627776 databases"),
        ({"sizes": []}, "from 1 to 1099511627776 databases"),
        ({"sizes": [2, -2]}, "every one of sizes must be a whole number >= 1, got -2"),
        ({"n": 2, "m": 3}, r"make 9 databases, but the channel has 4 inputs"),
        ({"n": 2, "m": 2, "neighbours": [[0, 1]]}, "not both"),
        ({"neighbours": [[0, 4]]}, "inputs from 0 to 3, got 0 to 4"),
        ({"neighbours": [[-1, 2]]}, "inputs from 0 to 3, got -1 to 2"),
        ({"neighbours": [0, 1]}, r"integer array \(n_pairs, 2\), got shape \(2,\)"),
        ({"neighbours": [[0.0, 1.0]]}, "integer array"),
    ],
)
def test_databases_must_be_described_once_and_fit(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        global_dp(np.kron(FLIP, FLIP), **arguments)


@pytest.mark.parametrize("levels", [{}, {"epsilon": 1.0, "delta": 0.1}])
def test_exactly_one_level_is_given(levels):
    with pytest.raises(InvalidParameter, match="exactly one of epsilon"):
        approximate_dp(FLIP, **levels)


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, -INF, "one", [1.0, 2.0]])
def test_epsilon_must_not_be_negative(epsilon):
    with pytest.raises(InvalidParameter, match="epsilon must be a number >= 0"):
        approximate_dp(FLIP, epsilon=epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1 + 1e-9, math.nan, INF, "half"])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(InvalidParameter, match="delta must be between 0 and 1"):
        approximate_dp(FLIP, delta=delta)


@pytest.mark.parametrize("alpha", [0, -1, math.nan, -INF, None])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(InvalidParameter, match="alpha must be a number > 0"):
        renyi_dp(FLIP, alpha)


@pytest.mark.parametrize("prior", [[0.5, 0.6], [-0.5, 1.5], [math.nan, 1.0], [[0.5, 0.5]], [], "ab"])
def test_prior_must_be_a_law(prior):
    for call in (lambda: identifiability(prior, FLIP), lambda: prior_ratio(prior)):
        with pytest.raises(InvalidDistribution, match="prior must"):
            call()


def test_prior_must_fit_the_channel():
    with pytest.raises(InvalidParameter, match="prior has 3 entries, expected one for each of 2 inputs"):
        identifiability([0.2, 0.3, 0.5], FLIP)


@pytest.mark.parametrize("matrix", [[[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [1.0], [[]]])
def test_channel_must_be_a_kernel(matrix):
    for call in (
        lambda: global_dp(matrix, 1, 1),
        lambda: approximate_dp(matrix, delta=0.1),
        lambda: renyi_dp(matrix, 2),
        lambda: identifiability([1.0], matrix),
    ):
        with pytest.raises(InvalidChannel, match="channel"):
            call()
