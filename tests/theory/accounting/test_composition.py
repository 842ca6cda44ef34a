"""Composition of several answers on one database: levels, groups, parts, joined tables."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from accounting_cases import FLIP, LN2, SEEDS, XOR, full_kernel, information, random_kernel, record_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import xlogy

from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.capacity import amplitude_capacity, channel_capacity
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.mechanisms import gaussian_noise_variance
from sanitize.theory.accounting import (
    MeanTail,
    basic_composition,
    compose,
    conditional_dependence,
    cross_capacity,
    general_composition,
    group_capacity_bound,
    group_privacy,
    independent_release_budget,
    joint_release,
    parallel_composition,
    private_mean_tail,
    sensitive_ldp_composition,
    sequential_budget,
)
from sanitize.theory.individual import individual_channel_capacity
from sanitize.theory.notions import global_dp

# --- two tables ----------------------------------------------------------------------------------------------


def two_tables(p, first, second):
    """Distribution of (x_1^1, x_1^2, y^1, y^2) for two people with bits, and of the pieces of Lemma 6."""
    # axes: x_1^1 x_2^1 x_1^2 x_2^2
    table = p.reshape(2, 2, 2, 2)
    return np.einsum("abcd,abu,cdv->acuv", table, first.reshape(2, 2, -1), second.reshape(2, 2, -1))


def lemma_6(distribution, weight):
    """Right side of (160)-(161), the last term weighed by p(x_1^1, y^1) or as printed by p(x_1^1) p(y^1)."""
    own = information(distribution.sum(axis=(1, 3)))
    cross = sum(
        distribution[a].sum() * information(distribution[a].sum(axis=2) / distribution[a].sum()) for a in (0, 1)
    )
    later = 0.0
    for u in range(distribution.shape[2]):
        chance = distribution[:, :, u].sum()
        if chance == 0:
            continue
        later += chance * information(distribution[:, :, u].sum(axis=1) / chance)
        for a in (0, 1):
            here = distribution[a, :, u].sum()
            if here > 0:
                share = here if weight == "joint" else distribution[a].sum() * chance
                later += share * information(distribution[a, :, u] / here)
    return own + cross + later


@given(SEEDS)
def test_wxh_lemma_6_holds_with_the_joint_weight(seed):
    rng = np.random.default_rng(seed)
    distribution = two_tables(rng.dirichlet(np.full(16, 0.5)), random_kernel(rng, 4, 2), random_kernel(rng, 4, 2))
    assert_allclose(information(distribution.reshape(4, -1)), lemma_6(distribution, "joint"), atol=1e-9)


def test_wxh_lemma_6_is_misprinted():
    """(161) weighs by p(y^1) p(x_1^1). x_1^1 is seen as y^1, and y^2 tells x_1^2 only where x_1^1 = 0."""
    table = np.zeros((2, 2, 2, 2))
    for a, c in itertools.product((0, 1), repeat=2):
        table[a, 0, c, a] = 1 / 4
    first = np.eye(2)[[0, 0, 1, 1]]
    second = np.eye(3)[[0, 2, 1, 2]]  # the partner's record in table 2 copies x_1^1 and hides x_1^2
    distribution = two_tables(table.ravel(), first, second)
    true = information(distribution.reshape(4, -1))
    assert_allclose(true, lemma_6(distribution, "joint"))
    assert abs(lemma_6(distribution, "printed") - true) > 0.1


@pytest.mark.slow
@given(SEEDS)
def test_wxh_lemma_7_an_output_depends_on_its_own_table(seed):
    """p(y^1|x^1,x^2) = p(y^1|x^1) and p(y^1|x^2) = Σ p(y^1|x^1) p(x^1|x^2)."""
    rng = np.random.default_rng(seed)
    first, second, p = full_kernel(rng, 3, 2), full_kernel(rng, 4, 2), rng.dirichlet(np.ones(12)).reshape(3, 4)
    distribution = np.einsum("ab,au,bv->abuv", p, first, second).sum(axis=3)
    assert_allclose(
        distribution / distribution.sum(axis=2, keepdims=True), np.repeat(first[:, None], 4, axis=1), atol=1e-9
    )
    across = distribution.sum(axis=0) / p.sum(axis=0)[:, None]  # P(y^1|x^2)
    assert_allclose(across, (p / p.sum(axis=0)).T @ first, atol=1e-9)
    # So what the first answer tells of the second table is what mixtures of its rows carry, whatever joins them.
    found = general_composition([first, second], [(3,), (4,)])
    assert information(distribution.sum(axis=0)) <= found.cross[0] + 1e-9
    at_once = max(float(channel_capacity(first[list(rows)])) for rows in itertools.combinations(range(3), 2))
    assert_allclose(general_composition([first, second[:2]], [(3,), (2,)]).cross[0], at_once, atol=1e-8)
    assert_allclose(found.own, [float(channel_capacity(first)), float(channel_capacity(second))], atol=1e-8)


@pytest.mark.slow
@settings(max_examples=25)
@given(SEEDS)
def test_wxh_theorem_7_2_and_the_sharper_bound(seed):
    rng = np.random.default_rng(seed)
    sizes_1, sizes_2 = (2, 2), (int(rng.integers(1, 4)), 2)
    first, second = random_kernel(rng, 4, int(rng.integers(1, 4))), random_kernel(rng, math.prod(sizes_2), 2)
    found = general_composition([first, second], [sizes_1, sizes_2])
    assert found.bound <= found.printed + 1e-12
    # Both tables as one: person i holds the pair of records.
    joint = np.einsum("abu,cdv->acbduv", first.reshape(2, 2, -1), second.reshape(*sizes_2, -1))
    joint = joint.reshape(4 * math.prod(sizes_2), -1)
    exact = individual_channel_capacity(joint, sizes=(2 * sizes_2[0], 2 * sizes_2[1]), max_nodes=300)
    assert exact.lower <= found.bound + 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_wxh_theorem_7_2_for_three_tables(seed):
    """Three tables as one, of one person: its capacity is within the bound, of two of them as before."""
    rng = np.random.default_rng(seed)
    kernels, sizes = [random_kernel(rng, n, 2) for n in (2, 3, 2)], [(2,), (3,), (2,)]
    found = general_composition(kernels, sizes)
    joint = np.einsum("au,bv,cw->abcuvw", *kernels).reshape(12, 8)
    assert float(channel_capacity(joint)) <= found.bound + 1e-8
    assert found.bound <= found.printed + 1e-12
    # Two records of six letters together say no more than all six rows of a channel.
    assert found.cross[0] == cross_capacity(kernels[0], 6)
    assert general_composition(kernels[:1], sizes[:1]).cross == (0.0,)


def test_a_third_table_may_join_two_that_tell_nothing():
    """Y^1 is the sum of both records of two people; what it tells of one person needs the other tables' letters."""
    tables = [np.eye(4), np.ones((2, 1)), np.ones((2, 1))]
    found = general_composition(tables, [(2, 2), (2, 1), (2, 1)])
    assert_allclose(found.bound, 2 * LN2, atol=1e-8)
    joint = np.repeat(np.eye(4).reshape(2, 2, 4)[:, None], 4, axis=1).reshape(16, 4)  # two bits of the other tables
    assert_allclose(float(individual_channel_capacity(joint, sizes=(8, 2))), found.bound, atol=1e-8)


def test_cross_terms_are_needed():
    """Y^1 = (x_1^1, x_2^1), Y^2 constant, four letters in the other table: ln 2 + 0 becomes ln 4."""
    found = general_composition([np.eye(4), np.ones((4, 1))], [(2, 2), (4, 1)])
    joint = np.repeat(np.eye(4).reshape(2, 2, 4)[:, None], 4, axis=1).reshape(16, 4)  # (x_1^1, x_1^2), x_2^1
    exact = individual_channel_capacity(joint, sizes=(8, 2))
    assert_allclose(sum(found.own), LN2, atol=1e-8)
    assert_allclose([float(exact), found.bound], 2 * LN2, atol=1e-8)
    assert_allclose(found.printed, 3 * LN2, atol=1e-8)


@settings(max_examples=20)
@given(SEEDS)
def test_wxh_proposition_5_equal_tables_are_basic_composition(seed):
    """If X^1 = X^2 then I(X_i;Y) = I(X_i^1;Y) = I(X_i^2;Y)."""
    rng = np.random.default_rng(seed)
    first, second, p = random_kernel(rng, 4, 2), random_kernel(rng, 4, 3), rng.dirichlet(np.ones(4))
    table = np.zeros((2, 2, 2, 2))
    for x, (a, b) in enumerate(itertools.product((0, 1), repeat=2)):
        table[a, b, a, b] = p[x]
    distribution = two_tables(table.ravel(), first, second)
    pair = information(distribution.reshape(4, -1))
    assert_allclose([information(distribution.sum(axis=axis).reshape(2, -1)) for axis in (0, 1)], pair, atol=1e-9)
    assert_allclose(information(record_distribution(p, compose(first, second), (2, 2), (0,))), pair, atol=1e-9)


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 4))
def test_wxh_proposition_6_cross_capacity(seed, letters):
    rng = np.random.default_rng(seed)
    channel = random_kernel(rng, 4, 3)
    expected = max(
        float(channel_capacity(channel[list(rows)]))
        for rows in itertools.combinations_with_replacement(range(4), letters)
    )
    assert_allclose(cross_capacity(channel, letters), expected, atol=1e-8)


def test_wxh_remark_that_cross_capacities_are_larger_is_false():
    """Three letters read without noise, but the other table's record has two."""
    found = general_composition([np.eye(3), np.ones((2, 1))], [(3,), (2,)])
    assert found.cross[0] < found.own[0] - 0.4


# --- parts of one table --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "printed"), [(1, 0.3681), (2, 0.5144), (3, 0.5978)])
def test_wxh_proposition_7_excess_is_positive(n, printed):
    """n local binary symmetric channels: C_1 grows with n, though each part alone stays at 0.3681."""
    channel = FLIP
    for _ in range(n - 1):
        channel = np.kron(channel, FLIP)
    exact = individual_channel_capacity(channel, sizes=(2,) * n)
    assert_allclose([exact.lower, exact.upper], printed, atol=5.1e-5)
    parts = parallel_composition([FLIP] * n, [(2,)] * n)
    assert_allclose(parts.claimed, 0.3681, atol=5.1e-5)
    assert exact.lower <= parts.bound + 1e-9
    assert n == 1 or exact.lower > parts.claimed + 0.1


def test_excess_of_many_parts_tends_to_the_whole_record():
    """All records equal: n looks at one bit, whose capacity tends to ln 2."""
    n = 41
    with mpmath.workdps(30):
        seen = [mpmath.binomial(n, j) * mpmath.mpf("0.9") ** j * mpmath.mpf("0.1") ** (n - j) for j in range(n + 1)]
        other = seen[::-1]
        leak = mpmath.fsum(
            (a * mpmath.log(2 * a / (a + b)) + b * mpmath.log(2 * b / (a + b))) / 2
            for a, b in zip(seen, other, strict=True)
        )
    assert LN2 - 1e-6 < leak < LN2


def test_parallel_composition_fails_with_correlated_records():
    """x_2 = x_1: two answers about one bit, though each part answers about its own record."""
    equal = np.array([0.5, 0, 0, 0.5])
    leak = information(record_distribution(equal, np.kron(FLIP, FLIP), (2, 2), (0,)))
    assert leak > parallel_composition([FLIP, FLIP], [(2,), (2,)]).claimed + 0.1


@pytest.mark.slow
@settings(max_examples=20)
@given(SEEDS)
def test_parallel_bound_and_parallel_dp(seed):
    rng = np.random.default_rng(seed)
    first, second = full_kernel(rng, 4, 3), full_kernel(rng, 2, 3)
    both = np.kron(first, second)
    found = parallel_composition([first, second], [(2, 2), (2,)])
    own = [float(individual_channel_capacity(first, sizes=(2, 2))), float(channel_capacity(second))]
    whole = [float(channel_capacity(first)), float(channel_capacity(second))]
    assert_allclose(found.individual, own, atol=1e-8)
    assert_allclose(found.whole, whole, atol=1e-8)
    assert_allclose([found.claimed, found.bound], [max(own), max(own[0] + whole[1], own[1] + whole[0])], atol=1e-8)
    assert individual_channel_capacity(both, sizes=(2, 2, 2)).lower <= found.bound + 1e-9
    assert_allclose(global_dp(both, 3, 2), max(global_dp(first, 2, 2), global_dp(second, 1, 2)), rtol=1e-9)


# --- the law of large numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("tau", [1e-6, 0.5, 10.0])
@pytest.mark.parametrize("balance", [0.0, 0.3])
def test_private_mean_tail_against_high_precision(epsilon, tau, balance):
    with mpmath.workdps(60):
        variance = mpmath.mpf(4) / mpmath.expm1(2 * (mpmath.mpf(epsilon) + mpmath.mpf(balance)))
        limit = mpmath.erfc(mpmath.mpf(tau) / mpmath.sqrt(2 * variance))
        chebyshev = variance / mpmath.mpf(tau) ** 2
    found = private_mean_tail(2.0, epsilon, tau, balance)
    assert_allclose([found.variance, found.chebyshev], [float(variance), float(chebyshev)], rtol=1e-12)
    assert_allclose(found.limit, float(limit), rtol=1e-9, atol=1e-300)
    assert found.limit <= found.chebyshev


def test_wxh_proposition_4_prints_a_bound_as_the_limit():
    """T = 1, ε = 1, τ = 0.5: 0.206, not 0.626; 40,000 private means of 10,000 rows of ±1."""
    found = private_mean_tail(1.0, 1.0, 0.5)
    assert_allclose([found.limit, found.chebyshev], [0.206, 0.626], atol=5.1e-4)
    rng = np.random.default_rng(20)
    n, runs = 10_000, 40_000
    means = 2 * rng.binomial(n, 0.5, runs) / n - 1
    strayed = np.mean(np.abs(means + rng.normal(0, math.sqrt(found.variance), runs)) >= 0.5)
    # 5 standard deviations: a false alarm in 2 million seeds; finite n moves the limit by less than 1e-3.
    tolerance = 5 * math.sqrt(found.limit * (1 - found.limit) / runs) + 1e-3
    assert abs(strayed - found.limit) < tolerance
    assert abs(strayed - found.chebyshev) > 10 * tolerance


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_less_noise_than_the_closed_form_strays_less_and_is_private(epsilon):
    """The capacity of a bounded input is within ε at the least variance, where a mean strays far less often."""
    least = gaussian_noise_variance(2.0, epsilon)
    found, printed = private_mean_tail(2.0, epsilon, 1.0, variance=least), private_mean_tail(2.0, epsilon, 1.0)
    assert found.variance == pytest.approx(least)
    assert found.limit == pytest.approx(math.erfc(1 / math.sqrt(2 * least)), rel=1e-9)
    assert found.limit < printed.limit
    assert amplitude_capacity(2 / math.sqrt(least)).upper <= epsilon + 1e-9
    with pytest.raises(InvalidParameter, match="variance must be"):
        private_mean_tail(2.0, epsilon, 1.0, variance=0.0)


def test_private_mean_tail_of_no_noise():
    assert private_mean_tail(1.0, 1.0, 0.5, math.inf).limit == 0.0
    assert private_mean_tail(1.0, 400.0, 0.5).limit == 0.0


def test_private_mean_tail_beyond_doubles():
    assert private_mean_tail(1e300, 1.0, 0.5) == MeanTail(math.inf, 1.0, math.inf)
    assert private_mean_tail(1e300, 1.0, 1e300).limit == private_mean_tail(1.0, 1.0, 1.0).limit
    assert private_mean_tail(1e-300, 1.0, 1e300) == MeanTail(0.0, 0.0, 0.0)
    assert private_mean_tail(5e-324, 300.0, 5e-324) == MeanTail(0.0, 0.0, 0.0)


# --- bounded adversaries, on exact examples ------------------------------------------------------------------


def v_entropy(joint, predictors):
    """Least expected log-loss of S over a family of maps y -> distribution of S."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return min(float(-np.where(joint > 0, joint * np.log(predictor), 0).sum()) for predictor in predictors)


def posteriors(joint, partition):
    """The best predictor that sees only the block of y."""
    predictor = np.empty_like(joint)
    for block in partition:
        predictor[:, block] = (joint[:, block].sum(axis=1) / joint[:, block].sum())[:, None]
    return predictor


def constants(joint):
    return np.repeat(joint.sum(axis=1, keepdims=True), joint.shape[1], axis=1)


@given(SEEDS)
def test_v_information_with_all_constants_never_exceeds_information(seed):
    """I_V <= I: the class holds the constant P_S, and predictors that see a part of Y."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(8)).reshape(2, 4)
    family = [posteriors(joint, [[0, 1], [2, 3]]), posteriors(joint, [[0, 2], [1, 3]])]
    known = v_entropy(joint, [constants(joint)])
    assert_allclose(known, -xlogy(joint.sum(axis=1), joint.sum(axis=1)).sum(), atol=1e-12)
    gain = known - v_entropy(joint, [constants(joint), *family])
    assert -1e-12 <= gain <= information(joint) + 1e-12


def test_v_information_of_a_sum_modulo_2_is_zero_for_a_reader_of_one_bit():
    """S = y1 xor y2 flipped with probability 0.1: I = 0.3681, of which a reader of one bit has nothing."""
    joint = np.array([FLIP[bit] / 4 for bit in (0, 1, 1, 0)]).T
    one_bit = [posteriors(joint, [[0, 1], [2, 3]]), posteriors(joint, [[0, 2], [1, 3]])]
    assert_allclose(
        v_entropy(joint, [constants(joint)]) - v_entropy(joint, [constants(joint), *one_bit]), 0, atol=1e-12
    )
    assert_allclose(information(joint), 0.3681, atol=5.1e-5)


def test_wxh_step_a_of_185_is_false_without_the_right_constant():
    """Effective information above I: the adversary may only guess evenly before, and sees all after."""
    joint = np.diag([0.9, 0.1])
    uniform = np.full((2, 2), 0.5)
    gain = v_entropy(joint, [uniform]) - v_entropy(joint, [uniform, posteriors(joint, [[0], [1]])])
    assert_allclose(gain, LN2)
    assert gain > information(joint) + 0.3


# --- hostile arguments ---------------------------------------------------------------------------------------

BAD_NATS = [-1e-9, math.nan, -math.inf, "one", None]


@pytest.mark.parametrize("value", BAD_NATS)
def test_levels_out_of_range_are_refused(value):
    with pytest.raises(InvalidParameter, match="eps must be a number of nats >= 0"):
        basic_composition([1.0, value])
    with pytest.raises(InvalidParameter, match="eps must be a number of nats >= 0"):
        group_privacy(value, 2)
    with pytest.raises(InvalidParameter, match="individual must be a number of nats >= 0"):
        group_capacity_bound(value, 2)
    with pytest.raises(InvalidParameter, match="whole must be a number of nats >= 0"):
        group_capacity_bound(1.0, 2, value)
    with pytest.raises(InvalidParameter, match="dependence must be a number of nats >= 0"):
        sensitive_ldp_composition([1.0], value)
    with pytest.raises(InvalidParameter, match="balance must be a number of nats >= 0"):
        private_mean_tail(1.0, 1.0, 1.0, value)


@pytest.mark.parametrize("value", [-1e-12, 1.0000001, math.nan, math.inf, "half"])
def test_probabilities_out_of_range_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"deltas must lie in \[0, 1\]"):
        basic_composition([1.0], [value])
    with pytest.raises(InvalidParameter, match=r"delta must lie in \[0, 1\]"):
        group_privacy(1.0, 2, value)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", math.nan])
def test_counts_out_of_range_are_refused(value):
    with pytest.raises(InvalidParameter, match="k must be a whole number >= 1"):
        group_privacy(1.0, value)
    with pytest.raises(InvalidParameter, match="k must be a whole number >= 1"):
        group_capacity_bound(1.0, value)
    with pytest.raises(InvalidParameter, match="letters must be a whole number >= 1"):
        cross_capacity(FLIP, value)


@pytest.mark.parametrize("name", ["half_range", "eps", "tau"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "far"])
def test_mean_tail_arguments_out_of_range_are_refused(name, value):
    arguments = {"half_range": 1.0, "eps": 1.0, "tau": 1.0} | {name: value}
    legal = f"{name} must be a finite number > 0"
    with pytest.raises(InvalidParameter, match=legal):
        private_mean_tail(**arguments)


@pytest.mark.parametrize("matrix", [[[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [0.5, 0.5], [["a"]]])
def test_what_is_no_channel_is_refused(matrix):
    good = np.array([[1.0]])
    with pytest.raises(InvalidChannel, match="channel 2"):
        compose(good, matrix)
    with pytest.raises(InvalidChannel, match="channel 1"):
        general_composition([matrix, good], [(1,), (1,)])
    with pytest.raises(InvalidChannel, match="channel 2"):
        general_composition([good, matrix], [(1,), (1,)])
    with pytest.raises(InvalidChannel, match="channel 1"):
        parallel_composition([matrix], [(1,)])
    with pytest.raises(InvalidChannel):
        cross_capacity(matrix, 1)
    with pytest.raises(InvalidChannel, match="channel 1"):
        joint_release([[1.0]], [matrix])


def test_the_largest_product_is_made_and_no_larger_one(monkeypatch):
    monkeypatch.setattr("sanitize.theory.accounting._composition.DENSE_CELLS", 18)
    three = np.full((2, 3), 1 / 3)
    assert compose(three, three).shape == (2, 9)
    with pytest.raises(InvalidChannel, match="too large"):
        compose(three, three, np.eye(2))


def test_channels_that_do_not_fit_are_refused():
    with pytest.raises(InvalidChannel, match="at least one"):
        compose()
    with pytest.raises(InvalidChannel, match="got 2 for channel 1 and 3 for channel 2"):
        compose(FLIP, np.eye(3))
    with pytest.raises(InvalidChannel, match="too large"):
        compose(*[np.full((2, 1000), 1e-3)] * 3)
    with pytest.raises(InvalidParameter, match="one entry per channel"):
        basic_composition([], [])
    with pytest.raises(InvalidParameter, match="one entry per channel"):
        basic_composition([1.0], [0.0, 0.0])
    with pytest.raises(InvalidParameter, match="same people"):
        general_composition([np.eye(4), np.eye(4)], [(2, 2), (4,)])
    with pytest.raises(InvalidParameter, match="one entry per channel"):
        general_composition([np.eye(4)], [(2, 2), (4,)])
    with pytest.raises(InvalidParameter, match="one entry per channel"):
        parallel_composition([FLIP], [])
    with pytest.raises(InvalidParameter, match="databases"):
        parallel_composition([FLIP], [(3,)])
    with pytest.raises(InvalidParameter, match="tol"):
        cross_capacity(FLIP, 1, tol=-1.0)
    with pytest.raises(InvalidParameter, match="one channel per column"):
        joint_release(XOR, [FLIP])
    with pytest.raises(InvalidChannel, match="must take the 2 symbols of its column, but it takes 3"):
        joint_release(XOR, [FLIP, np.eye(3)])
    with pytest.raises(InvalidParameter, match="exceed the limit"):
        joint_release(XOR, [np.full((2, 2000), 1 / 2000)] * 2)


@pytest.mark.parametrize(
    "distribution", [[[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [1.0], [["a"]], np.zeros((0, 2))]
)
@pytest.mark.parametrize("measure", [conditional_dependence, lambda distribution: joint_release(distribution, [FLIP])])
def test_what_is_no_distribution_is_refused(distribution, measure):
    with pytest.raises(InvalidDistribution, match="distribution must"):
        measure(distribution)


def test_distributions_of_the_wrong_kind_are_refused():
    with pytest.raises(InvalidDistribution, match="probability 0"):
        joint_release([[0.5, 0.5], [0.0, 0.0]], [FLIP])


@pytest.mark.parametrize("budgets", [[], [1.0], [LDPBudget(1.0)], [LiftBudget(lower=1.0, upper=1.0), None]])
def test_what_is_no_lift_budget_is_refused(budgets):
    with pytest.raises(InvalidParameter, match="LiftBudget"):
        sequential_budget(budgets)
    with pytest.raises(InvalidParameter, match="LiftBudget"):
        independent_release_budget(*[*budgets, 1.0, 1.0][:2])
