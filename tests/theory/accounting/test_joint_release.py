"""The joint lift of several released columns, and what they tell together."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pandas as pd
import pytest
from accounting_cases import FLIP, LN2, SEEDS, XOR, full_kernel, random_kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import sanitize as sz
from sanitize.core.alphabet import Alphabet
from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.channel import Channel
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidChannel
from sanitize.mechanisms import randomized_response
from sanitize.theory.accounting import (
    basic_composition,
    conditional_dependence,
    independent_release_budget,
    joint_release,
    sensitive_ldp_composition,
    sequential_budget,
)
from sanitize.theory.notions import global_dp
from sanitize.transformers import RandomizedResponse

# --- several released columns --------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 3))
def test_joint_release_against_loops(seed, d):
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 4, d))
    distribution = rng.dirichlet(np.full(2 * math.prod(shape), 0.3)).reshape(2, *shape) * 0.9
    distribution[:, *([0] * d)] += 0.05
    kernels = [random_kernel(rng, size, int(rng.integers(1, 4))) for size in shape]
    released = joint_release(distribution, kernels)
    outputs = list(itertools.product(*(range(kernel.shape[1]) for kernel in kernels)))
    expected = np.zeros((2, len(outputs)))
    for (s, *x), p in np.ndenumerate(distribution):
        for k, y in enumerate(outputs):
            expected[s, k] += p * math.prod(kernel[a, b] for kernel, a, b in zip(kernels, x, y, strict=True))
    kept = expected.sum(axis=0) > 0
    assert_allclose(released.pmf, expected[:, kept], atol=1e-12)
    assert released.public.columns == tuple(f"y{j + 1}" for j in range(d))
    symbols = [y[0] if d == 1 else y for y, used in zip(outputs, kept, strict=True) if used]
    assert list(released.public.symbols) == symbols


def test_joint_release_in_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    distribution = rng.dirichlet(np.ones(2 * 6 * 5)).reshape(2, 6, 5)
    kernels = [random_kernel(rng, 6, 3), random_kernel(rng, 5, 4)]
    whole = joint_release(distribution, kernels)
    monkeypatch.setattr("sanitize.theory.accounting._joint_release.CHANNEL_CELLS", 0)
    monkeypatch.setattr("sanitize.theory.accounting._joint_release.BLOCK_CELLS", 30)
    assert_allclose(joint_release(distribution, kernels).pmf, whole.pmf, atol=1e-15)


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
    distribution = np.zeros((2, 4, 2))
    for s, t, a in zip([1, 0, 0, 1, 0, 0], [1, 0, 1, 3, 0, 2], [1, 0, 1, 0, 1, 0], strict=True):
        distribution[s, t, a] += 1 / 6
    released = joint_release(counted, [town, age])
    assert_allclose(released.pmf, joint_release(distribution, [town, age]).pmf, atol=1e-12)
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
    fitted = [RandomizedResponse(1.0, public=[name], min_count=0, random_state=1).fit(FRAME) for name in columns]
    counted = JointDistribution.from_frame(FRAME, sensitive="ill", public=columns)
    released = joint_release(counted, fitted)
    matrices = joint_release(counted, [sanitizer.channel_.matrix for sanitizer in fitted])
    assert_allclose(released.pmf, matrices.pmf, atol=1e-15)
    assert sz.ldp_epsilon(released) <= 2.0


@settings(max_examples=20)
@given(SEEDS)
def test_one_column_is_an_ordinary_release(seed):
    rng = np.random.default_rng(seed)
    distribution, kernel = rng.dirichlet(np.ones(6)).reshape(2, 3), random_kernel(rng, 3, 3)
    plain = JointDistribution.from_matrix(distribution).push(Channel.from_matrix(kernel))
    assert_allclose(joint_release(distribution, [kernel]).pmf, plain.pmf, atol=1e-12)


def test_lift_budgets_do_not_add_over_columns():
    """S = X1 xor X2: each column meets budget 0 in the clear, both together have lift 2 and 0."""
    for kernels in ([np.eye(2), np.ones((2, 1))], [np.ones((2, 1)), np.eye(2)]):
        assert LiftBudget(lower=0.0, upper=0.0).excess(joint_release(XOR, kernels)).max() <= 0
    both = joint_release(XOR, [np.eye(2), np.eye(2)])
    assert_allclose(sz.core.lifts.max_log_lift(both), LN2)
    assert_allclose(sz.core.lifts.min_log_lift(both), -np.inf)


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
    distribution = rng.dirichlet(np.full(18, 0.3)).reshape(2, 3, 3)
    distribution = (distribution + 1e-6) / (distribution + 1e-6).sum()
    kernels = [full_kernel(rng, 3, 3), full_kernel(rng, 3, 2)]
    total = basic_composition([global_dp(kernel, 1, 3) for kernel in kernels]).eps
    released = joint_release(distribution, kernels)
    assert LDPBudget(total).excess(released).max() <= 1e-9
    assert LiftBudget.symmetric(total).excess(released).max() <= 1e-9


@settings(max_examples=30)
@given(SEEDS, st.booleans())
def test_s_level_ldp_adds_up_to_the_dependence(seed, independent):
    rng = np.random.default_rng(seed)
    p_s = rng.dirichlet(np.ones(3))
    if independent:
        distribution = np.stack([p * np.outer(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))) for p in p_s])
    else:
        distribution = rng.dirichlet(np.ones(18)).reshape(3, 3, 2)
    gamma = conditional_dependence(distribution)
    assert not independent or gamma < 1e-9
    kernels = [full_kernel(rng, 3, 2), full_kernel(rng, 2, 3)]
    alone = [
        sz.ldp_epsilon(joint_release(distribution, [kernels[0], np.ones((2, 1))])),
        sz.ldp_epsilon(joint_release(distribution, [np.ones((3, 1)), kernels[1]])),
    ]
    assert sz.ldp_epsilon(joint_release(distribution, kernels)) <= sensitive_ldp_composition(alone, gamma) + 1e-9


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_one_dependence_is_not_enough(rho):
    """Columns that lean to S = X1 xor X2: 0 + 0 + γ is too small, 0 + 0 + 2γ is not."""
    sign = np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]])
    distribution = (1 + rho * sign) / 8
    gamma = conditional_dependence(distribution)
    assert_allclose(gamma, -math.log(1 - rho))
    joint = sz.ldp_epsilon(joint_release(distribution, [np.eye(2), np.eye(2)]))
    assert_allclose(joint, math.log((1 + rho) / (1 - rho)))
    assert gamma < joint <= sensitive_ldp_composition([0.0, 0.0], gamma)


def test_dependence_with_zeros():
    assert conditional_dependence([[[0.5, 0.0], [0.0, 0.5]]]) == math.inf
    assert conditional_dependence([[[0.5, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]) == 0.0
    assert conditional_dependence([[0.25, 0.75]]) == 0.0
    with_three = np.full((1, 2, 2, 2), 1 / 8)
    assert conditional_dependence(with_three) == 0.0


def log_lifts(distribution):
    """log P(s, y1, y2) / P(s) P(y1, y2); NaN where a pair cannot occur."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(distribution / distribution.sum(axis=0) / distribution.sum(axis=(1, 2))[:, None, None])


@settings(max_examples=40)
@given(SEEDS)
def test_budgets_that_hold_given_the_first_release_add(seed):
    """log l(s, y1, y2) = log l(s, y1) + log l(s, y2 | y1), zeros included."""
    rng = np.random.default_rng(seed)
    distribution = rng.dirichlet(np.full(24, 0.2)).reshape(2, 3, 4)
    distribution[distribution < 1e-4] = 0
    distribution[:, 0, 0] += 0.01
    distribution /= distribution.sum()
    before = distribution.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        given_first = np.log(distribution / distribution.sum(axis=0) / (before / before.sum(axis=0)))
    sides = [log_lifts(before), given_first]
    first, second = (LiftBudget(lower=max(0.0, -np.nanmin(side)), upper=max(0.0, np.nanmax(side))) for side in sides)
    both = sequential_budget([first, second])
    flat = JointDistribution.from_matrix(distribution.reshape(2, -1)[:, distribution.sum(axis=0).ravel() > 0])
    assert both.lower == math.inf or both.excess(flat).max() <= 1e-9


# --- two outputs that are independent given S ----------------------------------------------------------------


def joint_of(p_s, lifts):
    """Distribution of (S, Y1, Y2), Y independent given S, first outputs with these lifts and the rest second."""
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
    distribution = joint_of(p_s, [np.array([b, b, a, a]), np.array([b, a, b, a])])
    total = log_lifts(distribution)[:, 0, 0]
    assert_allclose(total[0], found.upper, atol=1e-7)
    distribution = joint_of(np.array([q, 1 - q]), [np.array([b, a]), np.array([b, a])])
    assert_allclose(-log_lifts(distribution)[1, 0, 0], found.lower, rtol=1e-12)


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
