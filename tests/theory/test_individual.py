"""Individual and group capacities against every selection of [WXH Thm 3.1] and against priors on the databases."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sanitize.core.capacity import _selections, channel_capacity, dp_information_bound
from sanitize.core.capacity._blahut_arimoto import solve
from sanitize.errors import InvalidChannel, InvalidParameter
from sanitize.theory import individual
from sanitize.theory.individual import individual_channel_capacity, individual_max_information, mi_dp
from sanitize.theory.notions import global_dp

SLACK = 1e-12  # rounding allowed to a theorem
LN2 = math.log(2)
SHAPES = [(2,), (3,), (2, 2), (3, 2), (2, 3), (2, 2, 2), (1, 3), (2, 1, 2)]


def binary_entropy(p):
    return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)


def bsc(flips, p):
    """The bit of each database, told wrongly with probability p."""
    return np.where(np.asarray(flips, bool)[:, None], [p, 1 - p], [1 - p, p])


def databases(sizes):
    return list(product(*(range(size) for size in sizes)))


@st.composite
def channels(draw, shapes=tuple(SHAPES)):
    """Sizes, and a channel from the databases: few distinct rows, or zeros, or anything."""
    sizes = draw(st.sampled_from(shapes))
    n_x, n_y = math.prod(sizes), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.dirichlet(np.full(n_y, draw(st.sampled_from([0.1, 1.0, 5.0]))), n_x)
    kind = draw(st.sampled_from(["any", "few", "deterministic"]))
    if kind == "few":
        rows = rows[rng.integers(0, max(1, n_x // 2), n_x)]
    elif kind == "deterministic":
        rows = np.eye(n_y)[rng.integers(0, n_y, n_x)]
    return sizes, rows


def plain_capacity(matrix):
    """Bracket by Blahut and Arimoto's own iteration."""
    p = np.full(len(matrix), 1 / len(matrix))
    upper = math.inf
    for _ in range(2000):
        q = p @ matrix
        with np.errstate(divide="ignore", invalid="ignore"):
            d = np.where(matrix > 0, matrix * np.log(matrix / q), 0.0).sum(axis=1)
        lower, upper = float(p @ d), min(upper, float(d.max()))
        if upper - lower < 1e-6:
            break
        p = p * np.exp(d)
        p /= p.sum()
    return lower, upper


def selections(matrix, sizes, group=1):
    """The channels of the sets S_I of [WXH (45)]: one rest for each letter of the group, in every way."""
    table = databases(sizes)
    for records in combinations(range(len(sizes)), group):
        letters = sorted({tuple(x[i] for i in records) for x in table})
        rests = [[k for k, x in enumerate(table) if tuple(x[i] for i in records) == letter] for letter in letters]
        yield records, [matrix[list(chosen)] for chosen in product(*rests)]


def brute_force(matrix, sizes, group=1):
    brackets = [plain_capacity(channel) for _, channels in selections(matrix, sizes, group) for channel in channels]
    return max(lower for lower, _ in brackets), max(upper for _, upper in brackets)


def information(matrix, prior, sizes, records):
    """I(X_I; Y) from the joint distribution, entry by entry."""
    letters = {}
    for x, p, row in zip(databases(sizes), prior, matrix, strict=True):
        key = tuple(x[i] for i in records)
        letters[key] = letters.get(key, 0.0) + p * row
    joint = np.array(list(letters.values()))
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    seen = joint > 0
    return float(joint[seen] @ np.log(joint[seen] / independent[seen]))


def conditional_information(matrix, prior, sizes, record):
    """I(X_i; Y | X_-i)."""
    others = tuple(i for i in range(len(sizes)) if i != record)
    everything = tuple(range(len(sizes)))
    return information(matrix, prior, sizes, everything) - (
        information(matrix, prior, sizes, others) if others else 0.0
    )


# --- Theorem 3.1 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1e-6, 0.1, 0.5, 0.9])
def test_wxh_example_1(p):
    matrix = bsc([x_1 == x_2 for x_1, x_2 in databases((3, 2))], p)
    counts = {records: len(channels) for records, channels in selections(matrix, (3, 2))}
    assert counts == {(0,): 8, (1,): 9}
    capacity = individual_channel_capacity(matrix, sizes=(3, 2))
    assert_allclose([capacity.lower, capacity.upper], LN2 - binary_entropy(p), atol=1e-9)


@settings(max_examples=40)
@given(channels())
def test_wxh_theorem_3_1_the_finite_maximum(pair):
    sizes, matrix = pair
    lower, upper = brute_force(matrix, sizes)
    capacity = individual_channel_capacity(matrix, sizes=sizes)
    assert capacity.gap <= 1e-9
    assert capacity.lower <= upper + SLACK
    assert lower <= capacity.upper + SLACK


@pytest.mark.parametrize("concentration", [0.1, 1.0])
@pytest.mark.parametrize(("sizes", "group"), [((2, 2), 2), ((2, 2, 2), 2), ((2, 3), 1), ((3, 3), 1)])
def test_branch_and_bound_agrees_with_the_list(sizes, group, concentration):
    matrix = np.random.default_rng(7).dirichlet(np.full(4, concentration), math.prod(sizes))
    listed = max(channel_capacity(channel).lower for _, some in selections(matrix, sizes, group) for channel in some)
    capacity = individual_channel_capacity(matrix, sizes=sizes, group=group)
    assert capacity.gap <= 1e-9
    assert_allclose(capacity.lower, listed, atol=1e-9)


@given(channels(), st.integers(0, 2**32 - 1))
def test_no_prior_tells_more_of_a_record_and_the_given_one_tells_as_much(pair, seed):
    sizes, matrix = pair
    capacity = individual_channel_capacity(matrix, sizes=sizes)
    assert_allclose(capacity.prior.sum(), 1)
    assert_allclose(information(matrix, capacity.prior, sizes, capacity.records), capacity.lower, atol=1e-12)
    rng = np.random.default_rng(seed)
    for _ in range(10):  # any dependence between the records
        prior = rng.dirichlet(np.full(len(matrix), 0.2))
        for record in range(len(sizes)):
            assert information(matrix, prior, sizes, (record,)) <= capacity.upper + SLACK


@pytest.mark.parametrize("p", [0.1, 0.3])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2)])
def test_wxh_corollary_3_every_boolean_query_that_is_not_constant(sizes, p):
    n = math.prod(sizes)
    for bits in product([0, 1], repeat=n):
        exact = LN2 - binary_entropy(p) if 0 < sum(bits) < n else 0.0
        assert_allclose(float(individual_channel_capacity(bsc(bits, p), sizes=sizes)), exact, atol=1e-9)


@given(channels())
def test_wxh_corollary_4_data_independent_noise(pair):
    # Every row is a rearrangement of the first: C_1 <= ln|Y| - H(Z).
    sizes, matrix = pair
    rng = np.random.default_rng(0)
    noise = matrix[0]
    matrix = np.array([rng.permutation(noise) for _ in matrix])
    entropy = -sum(v * math.log(v) for v in noise if v > 0)
    assert float(individual_channel_capacity(matrix, sizes=sizes)) <= math.log(len(noise)) - entropy + 1e-9


def test_many_databases_with_few_distinct_rows(monkeypatch):
    # A noisy count over 10 people: 1024 databases, 11 rows, and the two extreme counts carry everything.
    counts = np.array([sum(x) for x in databases((2,) * 10)])
    matrix = np.exp(-0.3 * np.abs(counts[:, None] - np.arange(11)))
    matrix /= matrix.sum(axis=1, keepdims=True)
    extremes = matrix[[0, 1023]]
    searches = []
    monkeypatch.setattr(individual, "best_selection", lambda *a: searches.append(a) or _selections.best_selection(*a))
    capacity = individual_channel_capacity(matrix, 10, 2)
    assert len(searches) == 1  # all ten records offer the same rows
    assert capacity.gap <= 1e-9
    assert_allclose(capacity.lower, plain_capacity(extremes)[0], atol=1e-6)


def test_nodes_that_run_out_leave_a_bracket_that_holds():
    matrix = np.random.default_rng(3).dirichlet(np.ones(5), 64)
    whole = individual_channel_capacity(matrix, 6, 2)
    short = individual_channel_capacity(matrix, 6, 2, max_nodes=1)
    assert short.gap > 1e-3 > 1e-9 >= whole.gap
    assert short.lower <= whole.lower + SLACK
    assert whole.upper <= short.upper + SLACK


def test_the_bracket_covers_every_record(monkeypatch):
    found = iter([(0.1, 0.9, [0, 2]), (0.3, 0.5, [0, 1])])

    def search(*_):
        lower, upper, distributions = next(found)
        return _selections.Selection(lower, upper, np.array(distributions), np.array([0.5, 0.5]))

    monkeypatch.setattr(individual, "best_selection", search)
    capacity = individual_channel_capacity([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], 2, 2)
    assert (capacity.lower, capacity.upper, capacity.records) == (0.3, 0.9, (1,))


def test_search_goes_through_all_choices_when_the_solver_cannot_reach_the_gap(monkeypatch):
    rows = np.random.default_rng(0).dirichlet(np.ones(4), 6)
    offers = [np.array([0, 1, 2]), np.array([2, 3, 4, 5])]
    listed = max(channel_capacity(rows[[a, b]], 1e-13).lower for a in offers[0] for b in offers[1])
    monkeypatch.setattr(_selections, "solve", lambda kernel, _: solve(kernel, 1e-3))
    best = _selections.best_selection(rows, offers, 1e-12, 10_000, 0.0)
    assert listed - 1e-3 <= best.lower <= listed + SLACK
    assert listed - SLACK <= best.upper <= listed + 1e-3
    only = _selections.best_selection(rows, [np.array([0]), np.array([3])], 1e-12, 10_000, 0.0)
    exact = channel_capacity(rows[[0, 3]], 1e-13)
    assert only.lower <= exact.upper <= only.upper + SLACK


# --- groups ------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(channels())
def test_wxh_theorem_6_1_group_privacy(pair):
    sizes, matrix = pair
    n = len(sizes)
    values = [individual_channel_capacity(matrix, sizes=sizes, group=k) for k in range(1, n + 1)]
    whole = channel_capacity(matrix)
    for k, value in enumerate(values, start=1):
        assert value.lower <= min(k * values[0].upper, whole.upper) + SLACK
        assert value.lower >= values[0].lower - 1e-9  # a larger group tells no less
        assert_allclose(information(matrix, value.prior, sizes, value.records), value.lower, atol=1e-12)
    assert_allclose(values[-1].lower, whole.lower, atol=2e-9)


@given(channels(), st.integers(0, 2**32 - 1))
def test_wxh_lemma_4_chain_rule(pair, seed):
    # I(X_1, X_2; Y) = I(X_1; Y) + sum over x_1 of p(x_1) I(X_2; Y) under the prior given x_1.
    sizes, matrix = pair
    prior = np.random.default_rng(seed).dirichlet(np.ones(len(matrix)))
    first = np.array([x[0] for x in databases(sizes)])
    both = tuple(range(len(sizes)))
    total = information(matrix, prior, sizes, (0,))
    for letter in range(sizes[0]):
        given_letter = np.where(first == letter, prior, 0.0)
        share = given_letter.sum()
        total += share * information(matrix, given_letter / share, sizes, both)
    assert_allclose(total, information(matrix, prior, sizes, both), atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_group_bound_is_attained_without_noise(k):
    # Y = (X_1, ..., X_k): C_k = k C_1 [WXH Thm 6.1].
    matrix = np.repeat(np.eye(2**k), 2 ** (3 - k), axis=0)
    assert_allclose(float(individual_channel_capacity(matrix, 3, 2)), LN2, atol=1e-9)
    assert_allclose(float(individual_channel_capacity(matrix, 3, 2, group=k)), k * LN2, atol=1e-9)


@given(channels())
def test_wxh_proposition_1_post_processing(pair):
    sizes, matrix = pair
    merged = np.stack([matrix[:, ::2].sum(axis=1), matrix[:, 1::2].sum(axis=1)], axis=1)
    for measure in (individual_channel_capacity, mi_dp):
        assert measure(merged, sizes=sizes).lower <= measure(matrix, sizes=sizes).upper + SLACK
    assert individual_max_information(merged) <= individual_max_information(matrix) + SLACK


# --- mutual-information DP ---------------------------------------------------------------------------------


@pytest.mark.slow
@given(channels())
def test_mi_dp_is_the_largest_capacity_with_the_rest_fixed(pair):
    sizes, matrix = pair
    table = databases(sizes)
    brackets = []
    for record in range(len(sizes)):
        for rest in {(*x[:record], *x[record + 1 :]) for x in table}:
            fixed = [k for k, x in enumerate(table) if (*x[:record], *x[record + 1 :]) == rest]
            brackets.append(plain_capacity(matrix[fixed]))
    level = mi_dp(matrix, sizes=sizes)
    assert 0 <= level.gap <= 1e-9
    assert level.lower <= max(upper for _, upper in brackets) + SLACK
    assert max(lower for lower, _ in brackets) <= level.upper + SLACK
    assert_allclose(information(matrix, level.prior, sizes, level.records), level.lower, atol=1e-12)


@given(channels(), st.integers(0, 2**32 - 1))
def test_cy_observation_any_prior_given_the_rest_or_product_priors(pair, seed):
    sizes, matrix = pair
    level = mi_dp(matrix, sizes=sizes)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        dependent = rng.dirichlet(np.full(len(matrix), 0.2))
        independent = np.ones(1)
        for size in sizes:
            independent = np.kron(independent, rng.dirichlet(np.full(size, 0.5)))
        for record in range(len(sizes)):
            assert conditional_information(matrix, dependent, sizes, record) <= level.upper + SLACK
            assert information(matrix, independent, sizes, (record,)) <= level.upper + SLACK


@given(channels())
def test_cy_mi_dp_lies_below_individual_capacity_and_the_dp_bound(pair):
    sizes, matrix = pair
    level = mi_dp(matrix, sizes=sizes)
    assert level.lower <= individual_channel_capacity(matrix, sizes=sizes).upper + SLACK
    assert level.lower <= dp_information_bound(global_dp(matrix, sizes=sizes)) + SLACK


def test_cy_dependent_records_tell_more_than_mi_dp_allows():
    # I(X_1; Y) <= I(X_1; Y | X_2) fails when X_2 follows X_1.
    counts = np.array([sum(x) for x in databases((2, 2))])
    matrix = np.exp(-np.abs(counts[:, None] - np.arange(3)))
    matrix /= matrix.sum(axis=1, keepdims=True)
    alike = np.array([0.5, 0.0, 0.0, 0.5])
    assert conditional_information(matrix, alike, (2, 2), 0) == pytest.approx(0.0)
    assert information(matrix, alike, (2, 2), (0,)) > float(mi_dp(matrix, 2, 2)) + 0.05
    assert individual_channel_capacity(matrix, 2, 2).lower == pytest.approx(information(matrix, alike, (2, 2), (0,)))


@pytest.mark.slow
@given(channels(), st.integers(0, 2**32 - 1))
def test_cy_subadditivity_of_independent_answers(pair, seed):
    sizes, first = pair
    second = np.random.default_rng(seed).dirichlet(np.ones(3), len(first))
    both = np.einsum("xy,xz->xyz", first, second).reshape(len(first), -1)
    for measure in (mi_dp, individual_channel_capacity):
        total = measure(first, sizes=sizes).upper + measure(second, sizes=sizes).upper
        assert measure(both, sizes=sizes).lower <= total + 1e-12
    total = global_dp(first, sizes=sizes) + global_dp(second, sizes=sizes)
    assert global_dp(both, sizes=sizes) <= total * (1 + 1e-12) + SLACK


@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 50.0])
def test_one_record_makes_all_three_the_same(m, epsilon):
    channel = (np.ones((m, m)) + np.expm1(epsilon) * np.eye(m)) / (m + math.expm1(epsilon))
    capacity = channel_capacity(channel)
    assert_allclose(float(mi_dp(channel, 1, m)), float(capacity), atol=1e-12)
    assert_allclose(float(individual_channel_capacity(channel, 1, m)), float(capacity), atol=1e-12)
    assert_allclose(individual_max_information(channel), epsilon, rtol=1e-9)


# --- max-information -----------------------------------------------------------------------------------------


@given(channels())
def test_max_information_is_the_largest_log_ratio_over_any_rests(pair):
    sizes, matrix = pair
    table = databases(sizes)
    for group in range(1, len(sizes) + 1):
        exact = 0.0
        for records in combinations(range(len(sizes)), group):
            for (a, row), (b, other) in product(zip(table, matrix, strict=True), repeat=2):
                if any(a[i] != b[i] for i in records):
                    with np.errstate(divide="ignore"):
                        ratios = np.log(row[row > 0]) - np.log(other[row > 0])
                    exact = max(exact, ratios.max())
        assert_allclose(individual_max_information(matrix), exact, rtol=1e-9, atol=1e-12)


@given(channels(), st.integers(0, 2**32 - 1))
def test_wxh_definition_8_no_prior_has_more_max_information(pair, seed):
    sizes, matrix = pair
    level = individual_max_information(matrix)
    assert global_dp(matrix, sizes=sizes) <= level + SLACK
    rng = np.random.default_rng(seed)
    for _ in range(5):
        prior = rng.dirichlet(np.full(len(matrix), 0.3))
        joint = np.zeros((sizes[0], matrix.shape[1]))
        np.add.at(joint, [x[0] for x in databases(sizes)], prior[:, None] * matrix)
        joint = joint[joint.sum(axis=1) > 0]
        p_y = joint.sum(axis=0)
        lifts = joint[:, p_y > 0] / (joint.sum(axis=1, keepdims=True) * p_y[p_y > 0])
        assert np.log(lifts.max()) <= level + SLACK


def test_a_dependent_prior_comes_near_the_max_information():
    both = np.kron([[0.75, 0.25], [0.25, 0.75]], [[0.75, 0.25], [0.25, 0.75]])
    prior = np.array([1e-9, 0, 0, 1 - 1e-9])  # the second record copies the first
    lift = both[0] / (prior @ both)
    assert_allclose(np.log(lift.max()), individual_max_information(both), atol=1e-7)
    assert_allclose(individual_max_information(both), 2 * global_dp(both, 2, 2))


# --- hostile arguments ---------------------------------------------------------------------------------------

FLIPS = np.kron([[0.75, 0.25], [0.25, 0.75]], [[0.75, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize("group", [0, 3, -1, 1.5, True, "all"])
def test_group_must_fit_the_records(group):
    with pytest.raises(InvalidParameter, match="group must be a whole number from 1 to 2"):
        individual_channel_capacity(FLIPS, 2, 2, group=group)


@pytest.mark.parametrize("tol", [0, -1, math.nan, math.inf])
def test_tol_must_be_positive(tol):
    for measure in (individual_channel_capacity, mi_dp):
        with pytest.raises(InvalidParameter, match="tol must be a finite number > 0"):
            measure(FLIPS, 2, 2, tol=tol)


@pytest.mark.parametrize("max_nodes", [0, -5, 2.5, None])
def test_max_nodes_must_be_positive(max_nodes):
    with pytest.raises(InvalidParameter, match="max_nodes must be a whole number >= 1"):
        individual_channel_capacity(FLIPS, 2, 2, max_nodes=max_nodes)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"n_records": 2},
        {"n_records": 2, "n_symbols": 3},
        {"sizes": [2, 3]},
        {"n_records": 2, "n_symbols": 2, "sizes": [4]},
    ],
)
def test_databases_must_fit(arguments):
    for measure in (individual_channel_capacity, mi_dp):
        with pytest.raises(InvalidParameter):
            measure(FLIPS, **arguments)


@pytest.mark.parametrize("matrix", [[[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [1.0]])
def test_channel_must_be_a_kernel(matrix):
    for measure in (individual_channel_capacity, mi_dp):
        with pytest.raises(InvalidChannel, match="channel"):
            measure(matrix, 1, 1)
    with pytest.raises(InvalidChannel, match="channel"):
        individual_max_information(matrix)


def test_a_channel_that_tells_nothing():
    nothing = np.full((4, 3), 1 / 3)
    for result in (individual_channel_capacity(nothing, 2, 2), mi_dp(nothing, 2, 2)):
        assert_allclose([result.lower, result.upper], 0.0, atol=1e-14)
        assert_allclose(result.prior.sum(), 1)
    assert individual_max_information(nothing) == 0.0
    assert_array_equal(individual_channel_capacity(np.eye(1), 1, 1).prior, [1.0])
