"""Channel capacity against closed forms, Muroga's inverse, cutting planes by LP, and exact recomputation."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from sanitize.core.capacity import _blahut_arimoto as _blahut
from sanitize.core.capacity import channel_capacity, dp_information_bound
from sanitize.core.capacity._blahut_arimoto import ChainKernel, solve
from sanitize.core.channel import Channel
from sanitize.core.channel._matrix import ReducedChannel
from sanitize.core.channel._stage import Stage
from sanitize.core.measures import ldp_epsilon
from sanitize.errors import InvalidChannel, InvalidParameter
from sanitize.mechanisms import randomized_response

SLACK = 1e-12  # rounding allowed to a theorem
LN2 = math.log(2)


def binary_entropy(p):
    return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)


def keep_or_scramble(k, epsilon):
    matrix = np.ones((k, k)) + np.eye(k) * np.expm1(epsilon)
    return matrix / matrix.sum(axis=1, keepdims=True)


def cutting_planes(matrix, steps=400, tol=1e-7):
    """Bracket by linear programs: I(p) <= sum p(x) KL(W_x || q) for every q, equal at q = pW (Kelley 1960)."""
    n = len(matrix)
    p, cuts, best = np.full(n, 1 / n), [], 0.0
    for _ in range(steps):
        q = p @ matrix
        with np.errstate(divide="ignore", invalid="ignore"):
            d = np.where(matrix > 0, matrix * np.log(matrix / q), 0.0).sum(axis=1)
        best = max(best, p @ d)
        cuts.append(np.append(-d, 1.0))
        found = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.array(cuts),
            b_ub=np.zeros(len(cuts)),
            A_eq=[np.append(np.ones(n), 0.0)],
            b_eq=[1.0],
            bounds=[(0, 1)] * n + [(None, None)],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if -found.fun - best < tol:
            return best, -found.fun
        p = (found.x[:n] + p) / 2  # half way: the vertices of the first programs are far off
        p /= p.sum()
    raise AssertionError("cutting planes did not meet")


def exact_divergences(matrix, distribution):
    """KL(W_x || pW) of every row in 50 digits, for the doubles given."""
    rows = [[Fraction(float(v)) for v in row] for row in matrix]
    rows = [[v / sum(row) for v in row] for row in rows]
    p = [Fraction(float(v)) for v in distribution]
    p = [v / sum(p) for v in p]
    q = [sum(a * row[y] for a, row in zip(p, rows, strict=True)) for y in range(len(rows[0]))]
    with localcontext() as context:
        context.prec = 50
        log = {v: (Decimal(v.numerator) / Decimal(v.denominator)).ln() for row in [*rows, q] for v in row if v}
        d = [
            sum(
                (
                    (Decimal(v.numerator) / Decimal(v.denominator)) * (log[v] - log[q[y]])
                    for y, v in enumerate(row)
                    if v
                ),
                Decimal(0),
            )
            for row in rows
        ]
        mean = sum(Decimal(a.numerator) / Decimal(a.denominator) * value for a, value in zip(p, d, strict=True))
        return float(mean), float(max(d))


# --- closed forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.3, 0.5, 0.9, 1.0])
def test_binary_symmetric_channel(p):
    capacity = channel_capacity([[1 - p, p], [p, 1 - p]])
    assert_allclose([capacity.lower, capacity.upper], LN2 - binary_entropy(p), atol=1e-14)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("lost", [0.0, 0.25, 1 - 1e-6, 1.0])
def test_erasure_channel(k, lost):
    matrix = np.hstack([(1 - lost) * np.eye(k), np.full((k, 1), lost)])
    assert_allclose(float(channel_capacity(matrix)), (1 - lost) * math.log(k), atol=1e-9)


@pytest.mark.parametrize("p", [0.0, 1e-6, 0.1, 0.5, 0.9, 1 - 1e-6])
def test_z_channel(p):
    exact = math.log1p((1 - p) * p ** (p / (1 - p)))
    capacity = channel_capacity([[1, 0], [p, 1 - p]], tol=1e-13)
    assert capacity.gap <= 1e-13
    assert_allclose([capacity.lower, capacity.upper], exact, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0, 50.0])
@pytest.mark.parametrize("k", [2, 3, 17])
def test_randomized_response_is_weakly_symmetric(k, epsilon):
    row = keep_or_scramble(k, epsilon)[0]
    exact = math.log(k) + float(row @ np.log(row))
    for channel in (keep_or_scramble(k, epsilon), randomized_response(k, epsilon)):
        assert_allclose(float(channel_capacity(channel)), exact, atol=1e-13)


def test_weakly_symmetric_channel_that_is_not_symmetric():
    # Rows are permutations of each other and columns sum alike; columns are no permutations [WXH Def. 13].
    matrix = np.array([[1 / 3, 1 / 6, 1 / 2], [1 / 3, 1 / 2, 1 / 6]])
    exact = math.log(3) + float(matrix[0] @ np.log(matrix[0]))
    assert_allclose(float(channel_capacity(matrix)), exact, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_noiseless_and_useless_channels(n):
    assert_allclose(float(channel_capacity(np.eye(n))), math.log(n), atol=1e-13)
    assert_allclose(float(channel_capacity(np.full((n, 3), 1 / 3))), 0.0, atol=1e-14)
    assert channel_capacity(Channel.identity(n)).upper == math.log(n)


def test_deterministic_channel_spreads_mass_over_the_inputs_of_an_output():
    channel = Channel.merge([0, 0, 0, 1, 2, 2])
    capacity = channel_capacity(channel)
    assert capacity.lower == capacity.upper == math.log(3)
    assert_allclose(capacity.input_distribution @ channel.matrix, 1 / 3)
    assert_allclose(channel_capacity(channel.matrix).upper, math.log(3), atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_muroga_inverse_of_a_square_channel(seed):
    # A square channel whose capacity distribution is positive has ln C = ln sum_y exp(-sum_x W^-1(y, x) H(W_x)).
    rng = np.random.default_rng(seed)
    matrix = 0.7 * np.eye(5) + 0.3 * rng.dirichlet(np.ones(5), 5)
    entropies = -(matrix * np.log(matrix)).sum(axis=1)
    exact = math.log(np.exp(-np.linalg.solve(matrix, entropies)).sum())
    capacity = channel_capacity(matrix, tol=1e-12)
    assert (capacity.input_distribution > 1e-3).all()
    assert_allclose([capacity.lower, capacity.upper], exact, atol=1e-12)


# --- a second algorithm, and the certificate by itself -----------------------------------------------------


@pytest.mark.parametrize(("n_x", "n_y"), [(2, 6), (3, 3), (6, 2), (5, 4)])
@pytest.mark.parametrize("concentration", [0.2, 1.0, 10.0])
def test_capacity_equals_the_linear_program_of_cutting_planes(n_x, n_y, concentration):
    matrix = np.random.default_rng(n_x).dirichlet(np.full(n_y, concentration), n_x)
    lower, upper = cutting_planes(matrix)
    capacity = channel_capacity(matrix)
    assert lower - 1e-8 <= capacity.lower
    assert capacity.upper <= upper + 1e-8


@given(st.integers(1, 6).flatmap(lambda n: strategies.stages(n)))
def test_both_ends_hold_when_recomputed_exactly(matrix):
    capacity = channel_capacity(matrix)
    mean, largest = exact_divergences(matrix, capacity.input_distribution)
    assert capacity.gap <= 1e-9
    assert_allclose([capacity.lower, capacity.upper], [mean, largest], atol=1e-13)
    assert_allclose(capacity.input_distribution.sum(), 1)


@pytest.mark.slow
@given(strategies.joints_and_channels())
def test_no_prior_exceeds_the_capacity(pair):
    joint, channel = pair
    capacity = channel_capacity(channel)
    matrix = channel.matrix
    assert capacity.gap >= 0
    assert channel_capacity(matrix).gap >= 0
    for p in (joint.p_x, np.full(len(matrix), 1 / len(matrix)), capacity.input_distribution):
        q = p @ matrix
        seen = (p[:, None] * matrix) > 0
        information = float((p[:, None] * matrix)[seen] @ np.log((matrix / np.where(q > 0, q, 1))[seen]))
        assert information <= capacity.upper + SLACK
    assert_allclose(information, capacity.lower, atol=1e-12)


@given(strategies.joints_and_channels())
def test_post_processing_never_raises_the_capacity(pair):
    channel = pair[1]
    coarse = channel.then(Channel.merge(np.arange(channel.n_outputs) // 2))
    assert channel_capacity(coarse).lower <= channel_capacity(channel).upper + SLACK


@settings(max_examples=30)
@given(strategies.joints_and_channels())
def test_array_channel_and_sanitizer_agree(pair):
    channel = pair[1]
    ends = [channel_capacity(c) for c in (channel, channel.matrix, SimpleNamespace(channel_=channel))]
    assert max(c.lower for c in ends) <= min(c.upper for c in ends) + SLACK


@settings(max_examples=30)
@given(strategies.joints_and_channels())
def test_a_chain_that_is_never_multiplied_out_gives_the_same_bracket(pair):
    reduced = ReducedChannel.from_channel(pair[1])
    if reduced.stages:
        chain = solve(ChainKernel(reduced), 1e-9)
        dense = channel_capacity(pair[1])
        assert chain.gap <= 1e-9
        assert chain.lower <= dense.upper + SLACK
        assert dense.lower <= chain.upper + SLACK


@pytest.mark.parametrize("family", ["dense", "peaked", "flat", "typewriter", "triangular", "narrow", "repeated"])
def test_large_channels_reach_the_wanted_gap(family):
    rng = np.random.default_rng(0)
    n = 300
    i = np.arange(n)
    matrix = {
        "dense": lambda: rng.dirichlet(np.ones(n), n),
        "peaked": lambda: rng.dirichlet(np.full(n, 0.1), n),
        "flat": lambda: rng.dirichlet(np.full(n, 10.0), n),
        "typewriter": lambda: (
            np.eye(n) * (a := rng.uniform(0.1, 0.9, n))[:, None] + np.eye(n)[(i + 1) % n] * (1 - a)[:, None]
        ),
        "triangular": lambda: np.tril(rng.random((n, n))) / np.tril(rng.random((n, n))).sum(axis=1, keepdims=True),
        "narrow": lambda: rng.dirichlet(np.full(3, 0.5), n),
        "repeated": lambda: np.repeat(rng.dirichlet(np.ones(7), 3), [100, 199, 1], axis=0),
    }[family]()
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    capacity = channel_capacity(matrix)
    assert capacity.gap <= 1e-9
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.where(matrix > 0, matrix * np.log(matrix / (capacity.input_distribution @ matrix)), 0.0).sum(axis=1)
    assert_allclose([capacity.input_distribution @ d, d.max()], [capacity.lower, capacity.upper], atol=1e-12)


def test_a_sparse_channel_too_large_for_a_matrix():
    capacity = channel_capacity(SimpleNamespace(channel_=randomized_response(100_000, 12.0)))
    keep, other = math.exp(12) / (math.exp(12) + 99_999), 1 / (math.exp(12) + 99_999)
    exact = math.log(100_000) + keep * math.log(keep) + 99_999 * other * math.log(other)
    assert capacity.gap <= 1e-9
    assert_allclose(float(capacity), exact, atol=1e-9)


def uneven_typewriter(n, lowest):
    i = np.arange(n)
    keep = np.random.default_rng(0).uniform(lowest, 0.9, n)
    columns = np.stack([i, (i + 1) % n], axis=1)
    order = np.argsort(columns, axis=1)
    entries = np.take_along_axis(np.stack([keep, 1 - keep], axis=1), order, axis=1)
    columns = np.take_along_axis(columns, order, axis=1)
    return Channel((Stage.from_probabilities(np.arange(0, 2 * n + 1, 2), columns.ravel(), entries.ravel(), n),))


def test_a_long_chain_is_left_to_multiplicative_steps():
    n = 6_000
    capacity = channel_capacity(uneven_typewriter(n, 0.3), tol=1e-5)
    assert capacity.gap <= 1e-5
    assert capacity.iterations > 31
    assert math.log(n) - LN2 <= capacity.upper
    assert capacity.lower <= math.log(n) - binary_entropy(0.9)


@pytest.mark.parametrize("limit", ["_NEWTON_WORK", "_NEWTON_CELLS"])
def test_a_bracket_short_of_the_wanted_gap_holds(limit, monkeypatch):
    channel = uneven_typewriter(200, 0.3)
    exact = channel_capacity(channel, tol=1e-12)
    monkeypatch.setattr(_blahut, limit, 0)
    monkeypatch.setattr(_blahut, "_MORE_TIMES", 1)
    short = channel_capacity(channel, tol=1e-12)
    assert 1e-12 < short.gap < 0.1
    assert short.lower <= exact.lower + SLACK
    assert exact.upper <= short.upper + SLACK


@pytest.mark.parametrize("family", ["dense", "rare outputs", "narrow"])
def test_inputs_missed_by_the_scouts_join_later(family, monkeypatch):
    rng = np.random.default_rng(1)
    n = 40
    matrix = {
        "dense": rng.dirichlet(np.ones(20), n),
        "rare outputs": np.hstack([0.9 * rng.dirichlet(np.full(5, 5.0), n), 0.1 * np.eye(n)]),
        "narrow": rng.dirichlet(np.full(2, 0.5), n),
    }[family]
    exact = channel_capacity(matrix, tol=1e-12)
    for name, value in (("_FEW_INPUTS", 1), ("_SCOUTING_STEPS", 1), ("_NEWCOMERS", 2)):
        monkeypatch.setattr(_blahut, name, value)
    monkeypatch.setattr(_blahut, "_candidates", lambda kernel, bracket: np.arange(2))
    capacity = channel_capacity(matrix, tol=1e-12)
    assert capacity.gap <= 1e-12
    assert_allclose(capacity.lower, exact.lower, atol=1e-12)


def test_equal_rows_with_nothing_to_tell_them_apart():
    # The curvature of equal rows is singular: without a barrier only the ridge makes it solvable.
    system = _blahut._NewtonSystem(np.ones((3, 3)), np.zeros(3))
    step = system.solve(np.array([1.0, 0.0, -1.0]))
    assert np.isfinite(step).all()
    assert_allclose(step.sum(), 0, atol=1e-9 * np.abs(step).max())


def test_far_more_inputs_than_outputs():
    share = np.random.default_rng(0).beta(0.3, 0.3, 5_000)
    capacity = channel_capacity(np.stack([share, 1 - share], axis=1))
    extremes = np.array([share.min(), share.max()])
    assert capacity.gap <= 1e-9
    assert_allclose(capacity.lower, channel_capacity(np.stack([extremes, 1 - extremes], axis=1)).lower, atol=1e-9)


def test_probabilities_that_underflow_in_products_are_kept():
    tiny = [[1 - 1e-300, 1e-300, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]
    capacity = channel_capacity(tiny)
    assert_allclose(float(capacity), math.log(5 / 4), atol=1e-9)
    subnormal = [[1.0, 5e-324], [0.5, 0.5]]
    assert_allclose(float(channel_capacity(subnormal)), math.log(5 / 4), atol=1e-9)


# --- the most an ε-LDP channel can carry ------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 0.1, 0.999999, 1.0, 1.000001, 2.0, 50.0, 700.0, 5000.0])
def test_dp_information_bound_to_the_last_digits(epsilon):
    with localcontext() as context:
        context.prec = 80
        e = Decimal(epsilon)
        z = e / (1 - (-e).exp())
        exact = float(z - 1 - z.ln())
    assert_allclose(dp_information_bound(epsilon), exact, rtol=1e-13)


def test_dp_information_bound_table():
    assert [round(dp_information_bound(e), 4) for e in (1, 2)] == [0.1233, 0.4745]
    assert_allclose(dp_information_bound(1e-3), 1e-6 / 8, rtol=1e-3)
    assert dp_information_bound(0) == 0
    assert dp_information_bound(math.inf) == math.inf


def random_ldp_channel(rng, epsilon):
    n_x, n_y = rng.integers(2, 9, 2)
    # Every output's likelihoods lie within a factor e^ε: extreme patterns or anything between, then normalised
    # by an output that tops all rows up to 1.
    levels = rng.random((n_x, n_y)) if rng.random() < 0.3 else rng.integers(0, 2, (n_x, n_y))
    matrix = np.exp(epsilon * levels) * rng.dirichlet(np.full(n_y, 0.5))
    matrix /= matrix.sum(axis=1).max()
    rest = 1 - matrix.sum(axis=1, keepdims=True)
    fill = max(0.0, (rest.max() - math.exp(epsilon) * rest.min()) / math.expm1(epsilon)) + 1e-12
    matrix = np.hstack([matrix, rest + fill])
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 50.0])
def test_wxh_corollary_1_sharp_no_ldp_channel_exceeds_the_bound(epsilon):
    rng = np.random.default_rng(int(epsilon * 1000))
    for _ in range(40):
        channel = random_ldp_channel(rng, epsilon)
        level = ldp_epsilon(Channel.from_matrix(channel))
        assert level <= epsilon * (1 + 1e-9) + 1e-9
        assert channel_capacity(channel).lower <= dp_information_bound(level) + SLACK
        assert dp_information_bound(level) <= level  # the printed bound is true, and loose


def subset_mechanism(n, size, epsilon):
    matrix = np.array([[math.exp(epsilon) if x in y else 1.0 for y in combinations(range(n), size)] for x in range(n)])
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0])
def test_subset_mechanisms_approach_the_bound(epsilon):
    def carried(share):
        top = 1 + share * math.expm1(epsilon)
        return share * math.exp(epsilon) * epsilon / top - math.log(top)

    for n, size in ((4, 1), (8, 3), (9, 4)):
        matrix = subset_mechanism(n, size, epsilon)
        assert_allclose(float(channel_capacity(matrix)), carried(size / n), atol=1e-9)
    bound = dp_information_bound(epsilon)
    gaps = [bound - max(carried(size / n) for size in range(1, n)) for n in (10, 100, 1000, 10_000)]
    assert all(gap > 0 for gap in gaps)
    assert gaps[-1] < 1e-6 * bound


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_linear_program_over_extreme_ldp_channels_stays_below_the_bound(epsilon):
    # At a fixed prior the best ε-LDP channel is a linear program over columns with entries in {1, e^ε}
    # (Kairouz, Oh, Viswanath 2016): the value rises with the alphabet, towards the bound.
    values = []
    for n in (2, 4, 8):
        patterns = np.array(list(product([1.0, math.exp(epsilon)], repeat=n))).T
        means = patterns.mean(axis=0)
        worth = (patterns * np.log(patterns / means)).mean(axis=0)
        found = linprog(-worth, A_eq=patterns, b_eq=np.ones(n), bounds=(0, None))
        values.append(-found.fun)
    bound = dp_information_bound(epsilon)
    assert_allclose(values[0], LN2 - binary_entropy(1 / (1 + math.exp(epsilon))), atol=1e-9)
    assert values[0] < values[1] + 1e-12
    assert values[1] < values[2] + 1e-12
    assert 0.93 * bound < values[2] < bound


# --- hostile arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [0, -1e-9, math.nan, math.inf, "small", None])
def test_tol_must_be_positive(tol):
    with pytest.raises(InvalidParameter, match="tol must be a finite number > 0"):
        channel_capacity([[1.0]], tol)


@pytest.mark.parametrize(
    "matrix",
    [[], [1.0], [[]], [[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [[math.inf, 0.0]], [[[1.0]]], [["a"]]],
)
def test_channel_must_be_a_kernel(matrix):
    with pytest.raises(InvalidChannel, match="channel"):
        channel_capacity(matrix)


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, -math.inf, "one", None])
def test_dp_information_bound_needs_a_level(epsilon):
    with pytest.raises(InvalidParameter, match="eps must be a number >= 0"):
        dp_information_bound(epsilon)
