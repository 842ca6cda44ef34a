"""Composition, group privacy and joint releases: theorems as properties, misprints with their counterexamples."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import xlogy

import sanitize as sz
from sanitize.accounting import (
    MeanTail,
    balance_function,
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
    sequential_log_lift,
)
from sanitize.alphabet import Alphabet
from sanitize.budgets import LDPBudget, LiftBudget
from sanitize.capacity import channel_capacity
from sanitize.channel import Channel
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.individual import individual_channel_capacity
from sanitize.joint import JointDistribution
from sanitize.mechanisms import randomized_response
from sanitize.notions import approximate_dp, global_dp, renyi_dp
from sanitize.transformers import RandomizedResponse

LN2 = math.log(2)
FLIP = np.array([[0.9, 0.1], [0.1, 0.9]])
BITS = np.indices((2, 2, 2)).reshape(3, 8)
SEEDS = st.integers(0, 2**32 - 1)


def random_kernel(rng, n_x, n_y):
    """Rows of any sparsity."""
    rows = rng.dirichlet(np.full(n_y, rng.choice([0.1, 0.5, 2.0])), n_x)
    rows[rows < 1e-9] = 0
    return rows / rows.sum(axis=1, keepdims=True)


def full_kernel(rng, n_x, n_y):
    rows = rng.dirichlet(np.full(n_y, 2.0), n_x) + 0.02
    return rows / rows.sum(axis=1, keepdims=True)


def information(joint):
    """I of a joint law, shape (n_a, n_b)."""
    return float(
        xlogy(joint, joint).sum() - xlogy(joint.sum(0), joint.sum(0)).sum() - xlogy(joint.sum(1), joint.sum(1)).sum()
    )


def record_law(p, channel, sizes, records):
    """Joint law of some records and Y, shape (letters, n_y)."""
    table = (p[:, None] * channel).reshape(*sizes, -1)
    rest = tuple(i for i in range(len(sizes)) if i not in records)
    return table.sum(axis=rest).reshape(-1, channel.shape[1])


# --- basic composition ---------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 3))
def test_compose_is_the_product_law(seed, n_channels):
    rng = np.random.default_rng(seed)
    kernels = [random_kernel(rng, 3, int(rng.integers(1, 4))) for _ in range(n_channels)]
    exact = [[[Fraction(float(v)) for v in row] for row in kernel] for kernel in kernels]
    expected = [
        [float(math.prod(picked, start=Fraction(1))) for picked in itertools.product(*(kernel[x] for kernel in exact))]
        for x in range(3)
    ]
    assert_allclose(compose(*kernels), expected, rtol=1e-12, atol=0)


def test_compose_takes_channels_and_arrays():
    response = randomized_response(2, 1.0)
    assert_allclose(compose(response, FLIP, Channel.identity(2)).sum(axis=1), 1)
    assert compose(response, FLIP, Channel.identity(2)).shape == (2, 8)


@given(SEEDS)
def test_dp_and_renyi_levels_add(seed):
    rng = np.random.default_rng(seed)
    first, second = full_kernel(rng, 4, 3), full_kernel(rng, 4, 2)
    both = compose(first, second)
    assert global_dp(both, 2, 2) <= basic_composition([global_dp(first, 2, 2), global_dp(second, 2, 2)]).epsilon + 1e-9
    for alpha in (1.0, 1 + 1e-9, 2.0, 100.0, math.inf):
        total = basic_composition([renyi_dp(first, alpha), renyi_dp(second, alpha)]).epsilon
        assert renyi_dp(both, alpha) <= total + 1e-7


@pytest.mark.parametrize("epsilons", [(0.5, 1.0), (1e-6, 2.0), (3.0, 3.0)])
@pytest.mark.parametrize("deltas", [(0.0, 0.0), (1e-12, 0.25), (0.1, 0.2), (1.0, 0.5)])
def test_approximate_dp_composes_to_an_attained_level(epsilons, deltas):
    """Reveal x with probability δ, else randomized response: the extreme (ε, δ)-private pair."""
    kernels = []
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        kernels.append(
            [
                [delta, (1 - delta) * keep, (1 - delta) * (1 - keep), 0],
                [0, (1 - delta) * (1 - keep), (1 - delta) * keep, delta],
            ]
        )
    level = basic_composition(epsilons, deltas)
    assert level.epsilon == sum(epsilons)
    assert level.delta <= sum(deltas) + 1e-15
    assert_allclose(approximate_dp(compose(*kernels), epsilon=level.epsilon), level.delta, rtol=1e-9, atol=1e-14)


def test_no_delta_is_lost():
    assert basic_composition([1.0] * 3, [1e-17] * 3).delta == pytest.approx(3e-17, rel=1e-12)
    assert basic_composition([math.inf, 1.0]).epsilon == math.inf


@settings(max_examples=30)
@given(SEEDS)
def test_wxh_theorem_7_1_individual_capacities_add(seed):
    rng = np.random.default_rng(seed)
    first, second = random_kernel(rng, 4, 2), random_kernel(rng, 4, 3)
    parts = [float(individual_channel_capacity(kernel, sizes=(2, 2))) for kernel in (first, second)]
    both = individual_channel_capacity(compose(first, second), sizes=(2, 2))
    assert both.lower <= basic_composition(parts).epsilon + 1e-9
    whole = [float(channel_capacity(kernel)) for kernel in (first, second)]
    assert channel_capacity(compose(first, second)).lower <= sum(whole) + 1e-9


def test_wxh_theorem_7_1_needs_the_deltas_under_an_entropy_bound():
    """x1+x2 and x1+x2+x3 mod 2 under the uniform law: 0 + 0 becomes ln 2."""
    two, three = np.eye(2)[BITS[:2].sum(axis=0) % 2], np.eye(2)[BITS.sum(axis=0) % 2]
    even = np.full(8, 1 / 8)
    for kernel in (two, three):
        assert max(information(record_law(even, kernel, (2, 2, 2), (i,))) for i in range(3)) < 1e-12
    assert_allclose(information(record_law(even, compose(two, three), (2, 2, 2), (2,))), LN2)
    # Against everyone nothing is wrong: either answer may tell a record already.
    capacities = [float(individual_channel_capacity(kernel, sizes=(2, 2, 2))) for kernel in (two, three)]
    assert_allclose(capacities, LN2)


@given(SEEDS)
def test_wxh_lemma_5_chain_rule_over_outputs(seed):
    """I(X_i;Y) = I(X_i;Y^2) + Σ p(y^2) I of channel 1 under the posterior given y^2."""
    rng = np.random.default_rng(seed)
    first, second, p = random_kernel(rng, 4, 2), random_kernel(rng, 4, 3), rng.dirichlet(np.ones(4))
    total = information(record_law(p, compose(first, second), (2, 2), (0,)))
    split = information(record_law(p, second, (2, 2), (0,)))
    for y, chance in enumerate(p @ second):
        if chance > 0:
            split += chance * information(record_law(p * second[:, y] / chance, first, (2, 2), (0,)))
    assert_allclose(total, split, atol=1e-9)


# --- groups --------------------------------------------------------------------------------------------------


@given(SEEDS)
def test_wxh_lemma_4_chain_rule_over_records(seed):
    rng = np.random.default_rng(seed)
    channel, p = random_kernel(rng, 8, 3), rng.dirichlet(np.ones(8))
    both = information(record_law(p, channel, (2, 2, 2), (0, 1)))
    split = information(record_law(p, channel, (2, 2, 2), (0,)))
    for a in (0, 1):
        given = np.where(BITS[0] == a, p, 0)
        split += given.sum() * information(record_law(given / given.sum(), channel, (2, 2, 2), (1,)))
    assert_allclose(both, split, atol=1e-9)


@settings(max_examples=20)
@given(SEEDS)
def test_wxh_theorem_6_1_group_capacity(seed):
    """C_k <= min(k C_1, C_n)."""
    channel = random_kernel(np.random.default_rng(seed), 8, 3)
    one = float(individual_channel_capacity(channel, sizes=(2, 2, 2)))
    whole = float(channel_capacity(channel))
    for k in (1, 2, 3):
        group = individual_channel_capacity(channel, sizes=(2, 2, 2), group=k)
        assert group.lower <= group_capacity_bound(one, k, whole) + 1e-9


@pytest.mark.parametrize("k", [1, 2, 3])
def test_group_bound_is_attained_by_a_noiseless_release(k):
    """Y = (X_1, ..., X_k): C_k = k C_1."""
    channel = np.eye(2**k)[np.arange(8) >> (3 - k)]
    one = float(individual_channel_capacity(channel, sizes=(2, 2, 2)))
    group = individual_channel_capacity(channel, sizes=(2, 2, 2), group=k)
    assert_allclose([float(group), group_capacity_bound(one, k)], k * LN2, atol=1e-8)


def test_group_bound_by_the_whole_capacity_is_attained():
    """The sum modulo 2 of two bits: C_1 = C_2 = ln 2, not 2 ln 2."""
    channel = np.eye(2)[[0, 1, 1, 0]]
    one, pair = (float(individual_channel_capacity(channel, sizes=(2, 2), group=k)) for k in (1, 2))
    assert_allclose([one, pair, group_capacity_bound(one, 2, float(channel_capacity(channel)))], LN2, atol=1e-8)


@given(SEEDS, st.integers(1, 3), st.sampled_from([0.0, 0.1, 1.0]))
def test_dp_of_a_group(seed, k, epsilon):
    """Pairs that differ in k records are (kε, δ Σ e^jε)-close, and kε-close where δ = 0."""
    channel = full_kernel(np.random.default_rng(seed), 8, 3)
    distance = (BITS[:, :, None] != BITS[:, None]).sum(axis=0)
    near, far = (np.argwhere((distance == d) & np.tri(8, k=-1, dtype=bool)) for d in (1, k))
    level = global_dp(channel, neighbours=near)
    assert global_dp(channel, neighbours=far) <= group_privacy(level, k).epsilon + 1e-9
    delta = approximate_dp(channel, epsilon=epsilon, neighbours=near)
    group = group_privacy(epsilon, k, delta)
    assert approximate_dp(channel, epsilon=group.epsilon, neighbours=far) <= group.delta + 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-6, 1.0, 50.0])
@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-3, 1.0])
def test_group_delta_against_high_precision(epsilon, k, delta):
    with mpmath.workdps(40):
        expected = min(mpmath.mpf(1), delta * mpmath.fsum(mpmath.exp(j * mpmath.mpf(epsilon)) for j in range(k)))
    assert_allclose(group_privacy(epsilon, k, delta).delta, float(expected), rtol=1e-12)
    assert group_privacy(epsilon, k, delta).epsilon == k * epsilon


def test_group_of_an_unbounded_level():
    assert group_privacy(math.inf, 2, 0.1).delta == 1.0
    assert group_privacy(1e6, 3, 1e-300).delta == 1.0
    assert group_privacy(math.inf, 2).delta == 0.0


# --- two tables ----------------------------------------------------------------------------------------------


def two_tables(p, first, second):
    """Law of (x_1^1, x_1^2, y^1, y^2) for two people with bits, and of the pieces of Lemma 6."""
    # axes: x_1^1 x_2^1 x_1^2 x_2^2
    table = p.reshape(2, 2, 2, 2)
    return np.einsum("abcd,abu,cdv->acuv", table, first.reshape(2, 2, -1), second.reshape(2, 2, -1))


def lemma_6(law, weight):
    """Right side of (160)-(161), the last term weighed by p(x_1^1, y^1) or as printed by p(x_1^1) p(y^1)."""
    own = information(law.sum(axis=(1, 3)))
    cross = sum(law[a].sum() * information(law[a].sum(axis=2) / law[a].sum()) for a in (0, 1))
    later = 0.0
    for u in range(law.shape[2]):
        chance = law[:, :, u].sum()
        if chance == 0:
            continue
        later += chance * information(law[:, :, u].sum(axis=1) / chance)
        for a in (0, 1):
            here = law[a, :, u].sum()
            if here > 0:
                share = here if weight == "joint" else law[a].sum() * chance
                later += share * information(law[a, :, u] / here)
    return own + cross + later


@given(SEEDS)
def test_wxh_lemma_6_holds_with_the_joint_weight(seed):
    rng = np.random.default_rng(seed)
    law = two_tables(rng.dirichlet(np.full(16, 0.5)), random_kernel(rng, 4, 2), random_kernel(rng, 4, 2))
    assert_allclose(information(law.reshape(4, -1)), lemma_6(law, "joint"), atol=1e-9)


def test_wxh_lemma_6_is_misprinted():
    """(161) weighs by p(y^1) p(x_1^1). x_1^1 is seen as y^1, and y^2 tells x_1^2 only where x_1^1 = 0."""
    table = np.zeros((2, 2, 2, 2))
    for a, c in itertools.product((0, 1), repeat=2):
        table[a, 0, c, a] = 1 / 4
    first = np.eye(2)[[0, 0, 1, 1]]
    second = np.eye(3)[[0, 2, 1, 2]]  # the partner's record in table 2 copies x_1^1 and hides x_1^2
    law = two_tables(table.ravel(), first, second)
    true = information(law.reshape(4, -1))
    assert_allclose(true, lemma_6(law, "joint"))
    assert abs(lemma_6(law, "printed") - true) > 0.1


@given(SEEDS)
def test_wxh_lemma_7_an_output_depends_on_its_own_table(seed):
    """p(y^1|x^1,x^2) = p(y^1|x^1) and p(y^1|x^2) = Σ p(y^1|x^1) p(x^1|x^2)."""
    rng = np.random.default_rng(seed)
    first, second, p = full_kernel(rng, 3, 2), full_kernel(rng, 4, 2), rng.dirichlet(np.ones(12)).reshape(3, 4)
    law = np.einsum("ab,au,bv->abuv", p, first, second).sum(axis=3)
    assert_allclose(law / law.sum(axis=2, keepdims=True), np.repeat(first[:, None], 4, axis=1), atol=1e-9)
    assert_allclose(law.sum(axis=0) / p.sum(axis=0)[:, None], (p / p.sum(axis=0)).T @ first, atol=1e-9)


@settings(max_examples=25)
@given(SEEDS)
def test_wxh_theorem_7_2_and_the_sharper_bound(seed):
    rng = np.random.default_rng(seed)
    sizes_1, sizes_2 = (2, 2), (int(rng.integers(1, 4)), 2)
    first, second = random_kernel(rng, 4, int(rng.integers(1, 4))), random_kernel(rng, math.prod(sizes_2), 2)
    found = general_composition(first, second, sizes_1, sizes_2)
    assert found.bound <= found.printed + 1e-12
    # Both tables as one: person i holds the pair of records.
    joint = np.einsum("abu,cdv->acbduv", first.reshape(2, 2, -1), second.reshape(*sizes_2, -1))
    joint = joint.reshape(4 * math.prod(sizes_2), -1)
    exact = individual_channel_capacity(joint, sizes=(2 * sizes_2[0], 2 * sizes_2[1]), max_nodes=300)
    assert exact.lower <= found.bound + 1e-8


def test_cross_terms_are_needed():
    """Y^1 = (x_1^1, x_2^1), Y^2 constant, four letters in the other table: ln 2 + 0 becomes ln 4."""
    found = general_composition(np.eye(4), np.ones((4, 1)), (2, 2), (4, 1))
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
    law = two_tables(table.ravel(), first, second)
    pair = information(law.reshape(4, -1))
    assert_allclose([information(law.sum(axis=axis).reshape(2, -1)) for axis in (0, 1)], pair, atol=1e-9)
    assert_allclose(information(record_law(p, compose(first, second), (2, 2), (0,))), pair, atol=1e-9)


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
    found = general_composition(np.eye(3), np.ones((2, 1)), (3,), (2,))
    assert found.cross[1] < found.own[0] - 0.4


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
    leak = information(record_law(equal, np.kron(FLIP, FLIP), (2, 2), (0,)))
    assert leak > parallel_composition([FLIP, FLIP], [(2,), (2,)]).claimed + 0.1


@settings(max_examples=20)
@given(SEEDS)
def test_parallel_bound_and_parallel_dp(seed):
    rng = np.random.default_rng(seed)
    first, second = full_kernel(rng, 4, 2), full_kernel(rng, 2, 3)
    both = np.kron(first, second)
    found = parallel_composition([first, second], [(2, 2), (2,)])
    assert individual_channel_capacity(both, sizes=(2, 2, 2)).lower <= found.bound + 1e-9
    assert_allclose(global_dp(both, 3, 2), max(global_dp(first, 2, 2), global_dp(second, 1, 2)), rtol=1e-9)


# --- several released columns --------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 3))
def test_joint_release_against_loops(seed, d):
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 4, d))
    law = rng.dirichlet(np.full(2 * math.prod(shape), 0.3)).reshape(2, *shape) * 0.9
    law[:, *([0] * d)] += 0.05
    kernels = [random_kernel(rng, size, int(rng.integers(1, 4))) for size in shape]
    released = joint_release(law, kernels)
    outputs = list(itertools.product(*(range(kernel.shape[1]) for kernel in kernels)))
    expected = np.zeros((2, len(outputs)))
    for (s, *x), p in np.ndenumerate(law):
        for k, y in enumerate(outputs):
            expected[s, k] += p * math.prod(kernel[a, b] for kernel, a, b in zip(kernels, x, y, strict=True))
    kept = expected.sum(axis=0) > 0
    assert_allclose(released.pmf, expected[:, kept], atol=1e-12)
    assert released.public.columns == tuple(f"y{j + 1}" for j in range(d))
    symbols = [y[0] if d == 1 else y for y, used in zip(outputs, kept, strict=True) if used]
    assert list(released.public.symbols) == symbols


def test_joint_release_in_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    law = rng.dirichlet(np.ones(2 * 6 * 5)).reshape(2, 6, 5)
    kernels = [random_kernel(rng, 6, 3), random_kernel(rng, 5, 4)]
    whole = joint_release(law, kernels)
    monkeypatch.setattr("sanitize.accounting._joint_release._DENSE_CELLS", 0)
    monkeypatch.setattr("sanitize.accounting._joint_release._BLOCK_CELLS", 30)
    assert_allclose(joint_release(law, kernels).pmf, whole.pmf, atol=1e-15)


FRAME = pd.DataFrame(
    {
        "ill": ["yes", "no", "no", "yes", "no", "no"],
        "town": ["B", "A", "B", None, "A", "C"],
        "age": [30, 20, 30, 20, 30, 20],
    }
)


def test_joint_release_of_a_counted_table():
    """Columns take their symbols in ascending order, missing last; the tensor gives the same."""
    counted = JointDistribution.from_frame(FRAME, sensitive="ill", public=["town", "age"])
    town, age = random_kernel(np.random.default_rng(1), 4, 3), FLIP
    law = np.zeros((2, 4, 2))
    for s, t, a in zip([1, 0, 0, 1, 0, 0], [1, 0, 1, 3, 0, 2], [1, 0, 1, 0, 1, 0], strict=True):
        law[s, t, a] += 1 / 6
    released = joint_release(counted, [town, age])
    assert_allclose(released.pmf, joint_release(law, [town, age]).pmf, atol=1e-12)
    assert released.n == 6
    assert released.sensitive == counted.sensitive


def test_joint_release_matches_channels_by_symbol():
    """A channel that knows its column may list symbols the data do not have, in an order of its own."""
    counted = JointDistribution.from_frame(FRAME, sensitive="ill", public=["town", "age"])
    rows = random_kernel(np.random.default_rng(2), 6, 3)
    known = Alphabet(("town",), ["A", "AA", "B", "C", "D", None])
    by_symbol = joint_release(counted, [Channel.from_matrix(rows, inputs=known), FLIP])
    assert_allclose(by_symbol.pmf, joint_release(counted, [rows[[0, 2, 3, 5]], FLIP]).pmf, atol=1e-12)
    with pytest.raises(InvalidChannel, match="'town'"):
        joint_release(counted, [Channel.from_matrix(rows[:2], inputs=Alphabet(("town",), ["A", "B"])), FLIP])


def test_joint_release_of_fitted_sanitizers():
    """Estimators fitted one a column: what they release together, measured on the table they were fitted on."""
    columns = ["town", "age"]
    fitted = [RandomizedResponse(1.0, public=[name], random_state=1).fit(FRAME) for name in columns]
    counted = JointDistribution.from_frame(FRAME, sensitive="ill", public=columns)
    released = joint_release(counted, fitted)
    matrices = joint_release(counted, [sanitizer.channel_.matrix for sanitizer in fitted])
    assert_allclose(released.pmf, matrices.pmf, atol=1e-15)
    assert sz.ldp_epsilon(released) <= 2.0


@settings(max_examples=20)
@given(SEEDS)
def test_one_column_is_an_ordinary_release(seed):
    rng = np.random.default_rng(seed)
    law, kernel = rng.dirichlet(np.ones(6)).reshape(2, 3), random_kernel(rng, 3, 3)
    plain = JointDistribution.from_matrix(law).release(Channel.from_matrix(kernel))
    assert_allclose(joint_release(law, [kernel]).pmf, plain.pmf, atol=1e-12)


XOR = np.zeros((2, 2, 2))
XOR[[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]] = 0.25


def test_lift_budgets_do_not_add_over_columns():
    """S = X1 xor X2: each column meets budget 0 in the clear, both together have lift 2 and 0."""
    for kernels in ([np.eye(2), np.ones((2, 1))], [np.ones((2, 1)), np.eye(2)]):
        assert LiftBudget(lower=0.0, upper=0.0).excess(joint_release(XOR, kernels)).max() <= 0
    both = joint_release(XOR, [np.eye(2), np.eye(2)])
    assert_allclose(sz.lifts.max_log_lift(both), LN2)
    assert_allclose(sz.lifts.min_log_lift(both), -np.inf)


@pytest.mark.parametrize(("epsilon", "printed"), [(0.5, 0.120), (1.0, 0.434), (2.0, 1.325)])
def test_sum_modulo_2_under_randomized_response(epsilon, printed):
    response = randomized_response(2, epsilon)
    assert sz.ldp_epsilon(joint_release(XOR, [response, np.ones((2, 1))])) < 1e-12
    assert_allclose(sz.ldp_epsilon(joint_release(XOR, [response, response])), printed, atol=5.1e-4)


@settings(max_examples=30)
@given(SEEDS)
def test_x_level_ldp_adds_whatever_the_dependence(seed):
    """Joint LDP of S and both lifts are at most the sum of the columns' own LDP."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(18, 0.3)).reshape(2, 3, 3)
    law = (law + 1e-6) / (law + 1e-6).sum()
    kernels = [full_kernel(rng, 3, 3), full_kernel(rng, 3, 2)]
    total = basic_composition([global_dp(kernel, 1, 3) for kernel in kernels]).epsilon
    released = joint_release(law, kernels)
    assert LDPBudget(total).excess(released).max() <= 1e-9
    assert LiftBudget.symmetric(total).excess(released).max() <= 1e-9


@settings(max_examples=30)
@given(SEEDS, st.booleans())
def test_s_level_ldp_adds_up_to_the_dependence(seed, independent):
    rng = np.random.default_rng(seed)
    p_s = rng.dirichlet(np.ones(3))
    if independent:
        law = np.stack([p * np.outer(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))) for p in p_s])
    else:
        law = rng.dirichlet(np.ones(18)).reshape(3, 3, 2)
    gamma = conditional_dependence(law)
    assert not independent or gamma < 1e-9
    kernels = [full_kernel(rng, 3, 2), full_kernel(rng, 2, 3)]
    alone = [
        sz.ldp_epsilon(joint_release(law, [kernels[0], np.ones((2, 1))])),
        sz.ldp_epsilon(joint_release(law, [np.ones((3, 1)), kernels[1]])),
    ]
    assert sz.ldp_epsilon(joint_release(law, kernels)) <= sensitive_ldp_composition(alone, gamma) + 1e-9


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_one_dependence_is_not_enough(rho):
    """Columns that lean to S = X1 xor X2: 0 + 0 + γ is too small, 0 + 0 + 2γ is not."""
    sign = np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]])
    law = (1 + rho * sign) / 8
    gamma = conditional_dependence(law)
    assert_allclose(gamma, -math.log(1 - rho))
    joint = sz.ldp_epsilon(joint_release(law, [np.eye(2), np.eye(2)]))
    assert_allclose(joint, math.log((1 + rho) / (1 - rho)))
    assert gamma < joint <= sensitive_ldp_composition([0.0, 0.0], gamma)


def test_dependence_with_zeros():
    assert conditional_dependence([[[0.5, 0.0], [0.0, 0.5]]]) == math.inf
    assert conditional_dependence([[[0.5, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]) == 0.0
    assert conditional_dependence([[0.25, 0.75]]) == 0.0
    with_three = np.full((1, 2, 2, 2), 1 / 8)
    assert conditional_dependence(with_three) == 0.0


@settings(max_examples=40)
@given(SEEDS)
def test_sequential_composition_of_log_lifts(seed):
    """log l(s, y1, y2) = log l(s, y1) + log l(s, y2 | y1), zeros included, and conditional budgets add."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(24, 0.2)).reshape(2, 3, 4)
    law[law < 1e-4] = 0
    law[:, 0, 0] += 0.01
    law /= law.sum()
    split = sequential_log_lift(law)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.log(law / law.sum(axis=0) / law.sum(axis=(1, 2))[:, None, None])
    assert not np.isnan(split.total).any()
    assert (split.occurs == (law.sum(axis=0) > 0)).all()
    assert_allclose(split.total[:, split.occurs], joint[:, split.occurs], atol=1e-9)
    seen = split.occurs.any(axis=1)
    first = LiftBudget(lower=-split.first[:, seen].min(), upper=split.first[:, seen].max())
    live = split.second[:, split.occurs]
    second = LiftBudget(lower=max(0.0, -live.min()), upper=max(0.0, live.max()))
    both = sequential_budget([first, second])
    flat = JointDistribution.from_matrix(law.reshape(2, -1)[:, law.sum(axis=0).ravel() > 0])
    assert both.lower == math.inf or both.excess(flat).max() <= 1e-9


# --- two outputs that are independent given S ----------------------------------------------------------------


def joint_of(p_s, lifts):
    """Law of (S, Y1, Y2), Y independent given S, first outputs with these lifts and the rest of the mass second."""
    tables = []
    for lift in lifts:
        chance = min(0.5, 0.5 / lift.max())
        tables.append(np.column_stack([chance * lift, 1 - chance * lift]))
    return np.einsum("s,sa,sb->sab", p_s, *tables)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1.0, 2.0, 5.0, 50.0])
def test_supremum_of_two_independent_lip_outputs(epsilon):
    """The printed form of theory, in high precision; more than 2ε, less than 3ε."""
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon)
        upper = 2 * e + mpmath.log((mpmath.exp(e) + 1) / (2 + (mpmath.exp(e) - 1) * mpmath.exp(-2 * e)))
        lower = 2 * e + mpmath.log(mpmath.exp(e) - 1 + mpmath.exp(-e))
    found = independent_release_budget(LiftBudget.symmetric(epsilon), LiftBudget.symmetric(epsilon))
    assert_allclose([found.upper, found.lower], [float(upper), float(lower)], rtol=1e-12)
    assert 2 * epsilon < found.upper < 3 * epsilon
    assert 2 * epsilon < found.lower <= 3 * epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_supremum_of_two_independent_lip_outputs_is_attained(epsilon):
    """Lifts e^ε on disjoint letters and on a rare one (upper); on the same letter (lower)."""
    a, b = math.exp(-epsilon), math.exp(epsilon)
    found = independent_release_budget(LiftBudget.symmetric(epsilon), LiftBudget.symmetric(epsilon))
    rare, q = 1e-9, (1 - a) / (b - a)
    p_s = np.array([rare, q - rare, q - rare, 1 - 2 * q + rare])
    law = joint_of(p_s, [np.array([b, b, a, a]), np.array([b, a, b, a])])
    total = sequential_log_lift(law).total[:, 0, 0]
    assert_allclose(total[0], found.upper, atol=1e-7)
    law = joint_of(np.array([q, 1 - q]), [np.array([b, a]), np.array([b, a])])
    assert_allclose(-sequential_log_lift(law).total[1, 0, 0], found.lower, rtol=1e-12)


@given(SEEDS)
def test_independent_release_budget_is_never_exceeded(seed):
    """Random pairs of budgets and lifts, extreme ones and others, against the formula."""
    rng = np.random.default_rng(seed)
    lows, highs = rng.choice([0.05, 0.5, 1.0, 3.0], 2), rng.choice([0.02, 0.5, 1.0, 3.0], 2)
    budgets = [LiftBudget(lower=low, upper=high) for low, high in zip(lows, highs, strict=True)]
    found = independent_release_budget(*budgets)
    p_s = rng.dirichlet(np.full(4, rng.choice([0.1, 1.0])))
    lifts = []
    for low, high in zip(lows, highs, strict=True):
        v = rng.uniform(np.exp(-low), np.exp(high), 4) if rng.random() < 0.3 else rng.choice(np.exp([-low, high]), 4)
        # Scale the part above or below 1 until the mean is 1; the range stays.
        above, below = p_s @ np.maximum(v - 1, 0), p_s @ np.maximum(1 - v, 0)
        if min(above, below) == 0:
            v = np.ones(4)
        else:
            part = min(above, below)
            v = 1 + np.maximum(v - 1, 0) * part / above - np.maximum(1 - v, 0) * part / below
        lifts.append(v)
    product = lifts[0] * lifts[1] / (p_s @ (lifts[0] * lifts[1]))
    assert np.log(product).max() <= found.upper + 1e-9
    assert -np.log(product).min() <= found.lower + 1e-9
    assert found == independent_release_budget(*budgets[::-1])


def test_independent_release_budget_without_bounds():
    free = LiftBudget(lower=math.inf, upper=1.0)
    one = LiftBudget(lower=1.0, upper=1.0)
    assert independent_release_budget(one, LiftBudget(lower=0.0, upper=2.0)) == one
    nothing = LiftBudget(lower=0.0, upper=0.0)
    assert independent_release_budget(nothing, LiftBudget(lower=0.0, upper=5.0)) == nothing
    assert independent_release_budget(free, one).lower == math.inf
    assert math.isfinite(independent_release_budget(free, one).upper)
    assert independent_release_budget(free, free).upper == math.inf  # the supports may be disjoint
    assert independent_release_budget(LiftBudget(lower=1.0, upper=math.inf), one).upper == math.inf
    assert math.isfinite(independent_release_budget(LiftBudget(lower=1.0, upper=math.inf), one).lower)
    assert_allclose(
        independent_release_budget(LiftBudget(lower=1.0, upper=800.0), one).upper,
        801 - math.log(2 * math.exp(-1) - math.exp(-2)),
    )


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
    """Least expected log-loss of S over a family of maps y -> law of S."""
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


@pytest.mark.parametrize("b", [0.0, 0.5, 0.65, LN2])
def test_wxh_proposition_8_is_an_identity_of_differences(b):
    """ε, ε + δ_c and ε + δ_c + τ name one threshold, with C^b and C^0 measured for the same adversary.

    Bounded adversary: sees Y through a fixed coarsening. τ = C_1 - C_1c, δ_c = C_1c - C_1c^b.
    """
    channel = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    coarse = channel @ np.array([[1, 0], [0, 1], [0, 1]])
    everyone = float(channel_capacity(channel))
    bounded = balance_function(coarse, b)
    tau = everyone - bounded.capacity_upper
    delta_c = bounded.capacity_upper - bounded.restricted_upper
    assert tau > 0
    for epsilon in (0.0, 0.05, 0.2, 0.5):
        private = bounded.restricted_upper <= epsilon
        assert private == (bounded.capacity_upper <= epsilon + delta_c + 1e-15)
        assert private == (everyone <= epsilon + delta_c + tau + 1e-15)


# --- hostile arguments ---------------------------------------------------------------------------------------

BAD_NATS = [-1e-9, math.nan, -math.inf, "one", None]


@pytest.mark.parametrize("value", BAD_NATS)
def test_levels_out_of_range_are_refused(value):
    with pytest.raises(InvalidParameter, match="epsilons must be a number of nats >= 0"):
        basic_composition([1.0, value])
    with pytest.raises(InvalidParameter, match="epsilon must be a number of nats >= 0"):
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


@pytest.mark.parametrize("name", ["half_range", "epsilon", "tau"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "far"])
def test_mean_tail_arguments_out_of_range_are_refused(name, value):
    arguments = {"half_range": 1.0, "epsilon": 1.0, "tau": 1.0} | {name: value}
    legal = "must be finite" if value == math.inf else f"{name} must be a number > 0"
    with pytest.raises(InvalidParameter, match=legal):
        private_mean_tail(**arguments)


@pytest.mark.parametrize("matrix", [[[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [0.5, 0.5], [["a"]]])
def test_what_is_no_channel_is_refused(matrix):
    good = np.array([[1.0]])
    with pytest.raises(InvalidChannel, match="channel 2"):
        compose(good, matrix)
    with pytest.raises(InvalidChannel, match="first"):
        general_composition(matrix, good, (1,), (1,))
    with pytest.raises(InvalidChannel, match="second"):
        general_composition(good, matrix, (1,), (1,))
    with pytest.raises(InvalidChannel, match="channel 1"):
        parallel_composition([matrix], [(1,)])
    with pytest.raises(InvalidChannel):
        cross_capacity(matrix, 1)
    with pytest.raises(InvalidChannel, match="channel 1"):
        joint_release([[1.0]], [matrix])


def test_channels_that_do_not_fit_are_refused():
    with pytest.raises(InvalidChannel, match="at least one"):
        compose()
    with pytest.raises(InvalidChannel, match="3 inputs, the first has 2"):
        compose(FLIP, np.eye(3))
    with pytest.raises(InvalidChannel, match="too large"):
        compose(*[np.full((2, 1000), 1e-3)] * 3)
    with pytest.raises(InvalidParameter, match="one entry a channel"):
        basic_composition([], [])
    with pytest.raises(InvalidParameter, match="one entry a channel"):
        basic_composition([1.0], [0.0, 0.0])
    with pytest.raises(InvalidParameter, match="same people"):
        general_composition(np.eye(4), np.eye(4), (2, 2), (4,))
    with pytest.raises(InvalidParameter, match="one entry a part"):
        parallel_composition([FLIP], [])
    with pytest.raises(InvalidParameter, match="databases"):
        parallel_composition([FLIP], [(3,)])
    with pytest.raises(InvalidParameter, match="tol"):
        cross_capacity(FLIP, 1, tol=-1.0)
    with pytest.raises(InvalidParameter, match="one channel a column"):
        joint_release(XOR, [FLIP])
    with pytest.raises(InvalidChannel, match="takes 3 symbols, its column has 2"):
        joint_release(XOR, [FLIP, np.eye(3)])
    with pytest.raises(InvalidParameter, match="more than"):
        joint_release(XOR, [np.full((2, 2000), 1 / 2000)] * 2)


@pytest.mark.parametrize("law", [[[0.5, 0.6]], [[-0.1, 1.1]], [[math.nan, 1.0]], [1.0], [["a"]], np.zeros((0, 2))])
@pytest.mark.parametrize(
    "measure", [sequential_log_lift, conditional_dependence, lambda law: joint_release(law, [FLIP])]
)
def test_what_is_no_law_is_refused(law, measure):
    with pytest.raises(InvalidDistribution, match="law must"):
        measure(law)


def test_laws_of_the_wrong_kind_are_refused():
    with pytest.raises(InvalidDistribution, match="axes S, Y1, Y2"):
        sequential_log_lift([[0.5, 0.5]])
    with pytest.raises(InvalidDistribution, match="probability 0"):
        sequential_log_lift([[[1.0]], [[0.0]]])
    with pytest.raises(InvalidDistribution, match="probability 0"):
        joint_release([[0.5, 0.5], [0.0, 0.0]], [FLIP])


@pytest.mark.parametrize("budgets", [[], [1.0], [LDPBudget(1.0)], [LiftBudget(lower=1.0, upper=1.0), None]])
def test_what_is_no_lift_budget_is_refused(budgets):
    with pytest.raises(InvalidParameter, match="LiftBudget"):
        sequential_budget(budgets)
    with pytest.raises(InvalidParameter, match="LiftBudget"):
        independent_release_budget(*[*budgets, 1.0, 1.0][:2])
