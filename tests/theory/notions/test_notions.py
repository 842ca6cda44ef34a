"""DP-like notions of a channel against enumeration of events, fractions and 60-digit decimals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notions_cases import (
    FLIP,
    INF,
    SLACK,
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
from numpy.testing import assert_allclose, assert_array_equal

from sanitize.core.channel import Channel
from sanitize.core.measures import ldp_epsilon
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.mechanisms import randomized_response
from sanitize.theory.notions import (
    _notions,
    approximate_dp,
    global_dp,
    hamming_neighbours,
    identifiability,
    prior_ratio,
    renyi_dp,
)


def epsilon_exact(p, q, delta):
    """Least ε >= 0 with P(A) <= e^ε Q(A) + δ, by trying every event."""
    need = 0.0
    for a in events(len(p)):
        excess, mass = sum(p[y] for y in a) - Fraction(delta), sum(q[y] for y in a)
        if excess > Fraction(1, 10**14):  # sums of rounded rows: less is rounding
            need = max(need, INF if mass == 0 else float(log(excess / mass)))
    return need


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


def max_information(tensor, distributions, record):
    """I_∞(X_record; Y) under a product prior, from P(y | x_1, ..., x_n) as a tensor."""
    for other in reversed(range(len(distributions))):
        if other != record:
            tensor = np.tensordot(distributions[other], tensor, (0, other))
    return float(np.log(tensor / (distributions[record] @ tensor)).max())


@given(databases(positive=True), st.integers(0, 2**32 - 1))
def test_wxh_theorem_2_1_max_information_over_product_priors_is_dp(pair, seed):
    sizes, matrix = pair
    level, tensor = global_dp(matrix, sizes=sizes), matrix.reshape(*sizes, -1)
    rng = np.random.default_rng(seed)
    for _ in range(3):  # no product prior exceeds the level
        distributions = [rng.dirichlet(np.ones(size)) for size in sizes]
        assert all(max_information(tensor, distributions, record) <= level + SLACK for record in range(len(sizes)))
    best = 0.0
    for database in product(*(range(size) for size in sizes)):  # priors near a point mass come near it
        distributions = [np.full(size, 1e-12 / size) for size in sizes]
        for distribution, letter in zip(distributions, database, strict=True):
            distribution[letter] += 1 - 1e-12
        best = max([best, *(max_information(tensor, distributions, record) for record in range(len(sizes)))])
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
    assert_allclose(approximate_dp(matrix, eps=epsilon), exact, atol=2e-15)


@given(kernels(), st.sampled_from([0.0, 1e-12, 0.05, 0.3, 0.99, 1.0]))
def test_least_epsilon_is_the_worst_event(matrix, delta):
    rows = rows_of(matrix)
    exact = max((epsilon_exact(rows[a], rows[b], delta) for a, b in ordered_pairs(len(rows))), default=0.0)
    found = approximate_dp(matrix, delta=delta)
    if math.isinf(exact) or math.isinf(found):
        assert found == exact or approximate_dp(matrix, eps=INF) == pytest.approx(delta, abs=1e-13)
    else:
        assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


@given(databases(), st.sampled_from([0.0, 0.1, 1.0, 5.0]))
def test_delta_and_epsilon_invert_each_other(pair, epsilon):
    sizes, matrix = pair
    pairs = hamming_neighbours(sizes=sizes)
    delta = approximate_dp(matrix, eps=epsilon, neighbours=pairs)
    least = approximate_dp(matrix, delta=delta, neighbours=pairs)
    assert approximate_dp(matrix, delta=min(1.0, delta + 1e-12), neighbours=pairs) <= epsilon + 1e-9
    if math.isfinite(least):
        assert_allclose(approximate_dp(matrix, eps=least, neighbours=pairs), delta, atol=1e-13)


@given(kernels())
def test_ends_of_the_curve(matrix):
    level = global_dp(matrix, 1, len(matrix))
    assert_allclose(approximate_dp(matrix, delta=0.0), level, rtol=1e-12)
    assert approximate_dp(matrix, delta=1.0) == 0.0
    distances = [np.abs(p - q).sum() / 2 for p in matrix for q in matrix]
    assert_allclose(approximate_dp(matrix, eps=0.0), max(distances), atol=1e-14)
    if math.isfinite(level):
        assert approximate_dp(matrix, eps=level * (1 + 1e-12)) < 1e-14
        assert approximate_dp(matrix, eps=INF) == 0.0


def test_erasure_needs_delta():
    lost = np.array([[0.9, 0.0, 0.1], [0.0, 0.9, 0.1]])
    assert approximate_dp(lost, eps=50.0) == pytest.approx(0.9)
    assert approximate_dp(lost, delta=0.9) == 0.0
    assert approximate_dp(lost, delta=0.89) == INF


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 0.01, 0.5])
def test_the_four_point_pair_of_the_tightest_conversion(epsilon, delta):
    # [CY]: (ε, δ)-close exactly; every ε' < ε needs δ' = 1 - (e^ε' + 1)(1 - δ)/(e^ε + 1).
    high, low = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    pair = np.array([[delta, high, low, 0.0], [0.0, low, high, delta]])
    assert_allclose(approximate_dp(pair, eps=epsilon), delta, rtol=1e-9, atol=4e-16)
    assert_allclose(approximate_dp(pair, delta=delta), epsilon, rtol=1e-3 if delta == 1e-12 else 1e-9)
    for part in (0.0, 0.3, 0.9):
        weaker = 1 - (math.exp(part * epsilon) + 1) * (1 - delta) / (math.exp(epsilon) + 1)
        assert_allclose(approximate_dp(pair, eps=part * epsilon), weaker, atol=1e-14)


def test_zb_definition_3_entrywise_delta_is_vacuous():
    # Reveal x and append one of 1000 tags: every entry differs by 1/1000 at most, every event by everything.
    tags = 1000
    reveal = np.kron(np.eye(2), np.full((1, tags), 1 / tags))
    assert np.max(reveal[0] - reveal[1]) <= 1 / tags
    assert approximate_dp(reveal, eps=5.0) == pytest.approx(1.0)


@pytest.mark.slow
@given(kernels(n_x=3), kernels(n_x=3), st.floats(0, 1), st.sampled_from([0.0, 0.5, 2.0]))
def test_zb_lemma_21_mixtures_are_no_worse_than_the_worse_part(first, second, share, level):
    wide = np.zeros((2, 3, max(first.shape[1], second.shape[1])))
    wide[0, :, : first.shape[1]], wide[1, :, : second.shape[1]] = first, second
    mixed = share * wide[0] + (1 - share) * wide[1]
    for loss in (
        lambda w: approximate_dp(w, eps=level),
        lambda w: global_dp(w, 1, 3),
        lambda w: renyi_dp(w, 0.5 + level),
    ):
        assert loss(mixed) <= max(loss(wide[0]), loss(wide[1])) * (1 + 1e-9) + 1e-9


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
    monkeypatch.setattr(_notions, "BLOCK_CELLS", 10)
    assert whole == [global_dp(matrix, sizes=[3, 4]), renyi_dp(matrix, 2), identifiability(prior, matrix, pairs)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n_records and n_symbols together, or by sizes"),
        ({"n_records": 2}, "n_records and n_symbols together, or by sizes"),
        ({"n_records": 1, "n_symbols": 4, "sizes": [4]}, "n_records and n_symbols together, or by sizes"),
        ({"n_records": 0, "n_symbols": 4}, "n_records must be a whole number from 1 to 65536, got 0"),
        ({"n_records": 1, "n_symbols": 4.0}, "n_symbols must be a whole number >= 1, got 4.0"),
        ({"n_records": True, "n_symbols": 4}, "n_records must be a whole number from 1 to 65536, got True"),
        ({"n_records": 10**9, "n_symbols": 1}, "n_records must be a whole number from 1 to 65536, got 1000000000"),
        ({"n_records": 60, "n_symbols": 2}, "from 1 to 1099511627776 databases"),
        ({"sizes": []}, "from 1 to 1099511627776 databases"),
        ({"sizes": [2, -2]}, "each entry of sizes must be a whole number >= 1, got -2"),
        ({"n_records": 2, "n_symbols": 3}, r"give 9 databases, but the channel has 4 inputs"),
        ({"n_records": 2, "n_symbols": 2, "neighbours": [[0, 1]]}, "not both"),
        ({"neighbours": [[0, 4]]}, "inputs from 0 to 3"),
        ({"neighbours": [[-1, 2]]}, "inputs from 0 to 3"),
        ({"neighbours": [0, 1]}, r"array \(n_pairs, 2\) of inputs from 0 to 3"),
        ({"neighbours": [[0.0, 1.0]]}, r"array \(n_pairs, 2\)"),
    ],
)
def test_databases_must_be_described_once_and_fit(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        global_dp(np.kron(FLIP, FLIP), **arguments)


@pytest.mark.parametrize("levels", [{}, {"eps": 1.0, "delta": 0.1}])
def test_exactly_one_level_is_given(levels):
    with pytest.raises(InvalidParameter, match="exactly one of eps"):
        approximate_dp(FLIP, **levels)


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, -INF, "one", [1.0, 2.0]])
def test_epsilon_must_not_be_negative(epsilon):
    with pytest.raises(InvalidParameter, match="eps must be a number >= 0"):
        approximate_dp(FLIP, eps=epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1 + 1e-9, math.nan, INF, "half"])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(InvalidParameter, match="delta must be a number from 0 to 1"):
        approximate_dp(FLIP, delta=delta)


@pytest.mark.parametrize("alpha", [0, -1, math.nan, -INF, None])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(InvalidParameter, match="alpha must be a number > 0"):
        renyi_dp(FLIP, alpha)


@pytest.mark.parametrize("prior", [[0.5, 0.6], [-0.5, 1.5], [math.nan, 1.0], [[0.5, 0.5]], [], "ab"])
def test_prior_must_be_a_distribution(prior):
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
