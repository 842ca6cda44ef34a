"""Exponential channels by rank [WXH §4.3] and by Hamming distance over records [WYZ §3]."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sanitize.core.capacity import channel_capacity
from sanitize.core.channel import Channel
from sanitize.core.measures import ldp_epsilon
from sanitize.errors import InvalidBudget, InvalidDistribution, InvalidParameter
from sanitize.mechanisms import (
    calibrate_exponential,
    exponential_channel,
    exponential_entropy,
    product_channel,
    randomized_response,
)
from sanitize.theory.hamming import hamming_channel, identifiability_channel
from sanitize.theory.tradeoff import DatabaseIdentifiability

# λ* of log k - H(Z) = ε, to four decimals.
TABLE = {
    (3, 0.1): 0.5696,
    (3, 0.5): 1.5578,
    (3, 1.0): 3.9285,
    (5, 0.1): 0.3270,
    (5, 0.5): 0.8585,
    (5, 1.0): 1.6366,
    (10, 0.1): 0.1607,
    (10, 0.5): 0.4160,
    (10, 1.0): 0.7529,
    (10, 2.0): 2.5275,
    (17, 0.1): 0.0942,
    (17, 0.5): 0.2431,
    (17, 1.0): 0.4359,
    (17, 2.0): 1.2590,
}


def entropy_exact(k, rate):
    """H(Z) of the distribution ∝ e^{-jλ}, term by term in 60 digits."""
    with mp.workdps(60):
        powers = [mp.e ** (-mp.mpf(rate) * j) for j in range(k)]
        total = mp.fsum(powers)
        return -mp.fsum(w / total * mp.log(w / total) for w in powers if w)


# ------------------------------------------------------------------------------------------------ ranks


@pytest.mark.parametrize("k", [2, 3, 5, 17, 300])
@pytest.mark.parametrize("rate", [1e-9, 1e-4, 0.3, 0.499, 0.501, 1.0, 1.0001, 5.0, 50.0])
def test_formula_82_holds_for_every_rate(k, rate):
    """[WXH (82)]; **corrected**: also above λ = 1."""
    exact = entropy_exact(k, rate)
    assert exponential_entropy(k, rate) == pytest.approx(float(exact), rel=1e-13)
    # The deficit log k - H that calibration solves for keeps its own digits.
    from sanitize.mechanisms._data_independent.exponential import _deficit

    with mp.workdps(60):
        assert _deficit(k, rate) == pytest.approx(float(mp.log(k) - exact), rel=1e-11)


def test_the_ends_of_the_entropy():
    assert exponential_entropy(7, 0.0) == pytest.approx(math.log(7), abs=1e-15)
    assert exponential_entropy(7, math.inf) == exponential_entropy(1, 2.0) == 0.0


@given(st.integers(2, 200), st.floats(1e-6, 30), st.floats(1.01, 3))
def test_entropy_decreases_in_the_rate(k, rate, factor):
    assert exponential_entropy(k, factor * rate) < exponential_entropy(k, rate) or rate < 1e-5


@pytest.mark.parametrize(("k", "eps"), TABLE)
def test_the_table_of_calibrated_rates(k, eps):
    assert calibrate_exponential(k, eps) == pytest.approx(TABLE[k, eps], abs=5.1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 17, 4096])
@pytest.mark.parametrize("share", [1e-12, 1e-6, 0.1, 0.49, 0.51, 0.9, 0.9999])
def test_calibration_solves_83_with_equality_on_the_private_side(k, share):
    budget = share * math.log(k)
    rate = calibrate_exponential(k, budget)
    deficit = mp.log(k) - entropy_exact(k, rate)
    with mp.workdps(60):
        deficit = float(mp.log(k) - entropy_exact(k, rate))
    assert deficit <= budget * (1 + 1e-15)
    assert deficit == pytest.approx(budget, rel=1e-11, abs=0)


def test_no_noise_from_log_k_on_and_no_information_at_zero():
    assert calibrate_exponential(4, math.log(4)) == calibrate_exponential(4, math.inf) == math.inf
    assert calibrate_exponential(4, 0.0) == 0.0
    assert (exponential_channel(4, capacity=2.0).matrix == np.eye(4)).all()
    matrix = exponential_channel(5, capacity=0.0).matrix
    assert (matrix == matrix[0]).all()
    # Not even the integers differ from row to row, where 5 does not divide 2^62.
    for capacity in (0.0, 1e-36, 1e-300):
        assert exponential_channel(5, capacity=capacity).stages[0].n_outputs == 1


@pytest.mark.parametrize("k", range(2, 11))
@pytest.mark.parametrize("distance", ["line", "circle"])
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_corollary_5_is_attained_on_lines_and_circles(k, distance, rate):
    capacity = channel_capacity(exponential_channel(k, rate=rate, distance=distance), 1e-12)
    assert capacity.upper == pytest.approx(math.log(k) - exponential_entropy(k, rate), abs=1e-11)


def test_corollary_5_is_strict_for_a_star():
    """[WXH Cor. 5] is an upper bound only: k = 5, λ = ln 2, a star whose centre is near every leaf."""
    star = np.where(np.eye(5, dtype=bool), 0, 2)
    star[0, 1:] = star[1:, 0] = 1
    capacity = channel_capacity(exponential_channel(5, rate=math.log(2), distance=star), 1e-12).upper
    bound = math.log(5) - exponential_entropy(5, math.log(2))
    assert (round(capacity, 5), round(bound, 5)) == (0.35682, 0.36669)


@given(st.integers(1, 8), st.integers(1, 8), st.floats(1e-6, 3), st.integers(0, 2**32 - 1))
def test_corollary_4_bounds_the_sampled_integers_for_any_distance(n, k, budget, seed):
    distance = np.random.default_rng(seed).integers(0, 4, (n, k))
    channel = exponential_channel(n, capacity=budget, distance=distance)
    assert channel_capacity(channel, 1e-11).lower <= min(budget, math.log(k)) + 1e-12
    weights = np.array([np.sort(row) for row in channel.matrix])
    assert (weights == weights[0]).all()  # data-independent: one distribution, permuted [WXH Def. 12]


def test_ranks_follow_the_distance_and_ties_go_left():
    order = exponential_channel(5, rate=1.0).matrix.argsort(axis=1)[:, ::-1]
    assert order[2].tolist() == [2, 1, 3, 0, 4]
    assert order[0].tolist() == [0, 1, 2, 3, 4]
    circle = exponential_channel(5, rate=1.0, distance="circle").matrix
    assert all((np.roll(circle[0], x) == circle[x]).all() for x in range(5))
    assert circle[0].argsort()[::-1].tolist() == [0, 1, 4, 2, 3]
    assert circle.sum(axis=0) == pytest.approx(np.ones(5), abs=1e-15)


def test_a_matrix_of_ranks_is_a_distance():
    ranks = np.array([[0, 1, 2, 3], [3, 1, 0, 2]])
    matrix = exponential_channel(2, rate=math.log(2), distance=ranks).matrix
    assert matrix == pytest.approx(2.0**-ranks / 1.875, abs=1e-15)
    assert exponential_channel(2, rate=math.inf, distance=ranks).matrix.argmax(axis=1).tolist() == [0, 2]


def test_extreme_rates_keep_the_support():
    matrix = exponential_channel(40, rate=50.0).matrix
    assert (matrix > 0).all()
    assert matrix.sum(axis=1) == pytest.approx(np.ones(40))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "exactly one of"),
        ({"capacity": 1.0, "rate": 1.0}, "exactly one of"),
        ({"capacity": -1.0}, "capacity must be"),
        ({"capacity": math.nan}, "capacity must be"),
        ({"capacity": "1"}, "capacity must be"),
        ({"rate": -0.1}, "rate must be"),
        ({"rate": math.nan}, "rate must be"),
        ({"rate": 1.0, "distance": "plane"}, "distance must be"),
        ({"rate": 1.0, "distance": [[10**400]]}, "distance must be"),
        ({"rate": 1.0, "distance": [[1, 2]]}, r"shape \(3, k\)"),
        ({"rate": 1.0, "distance": np.zeros((3, 0))}, r"shape \(3, k\)"),
        ({"rate": 1.0, "distance": -np.eye(3)}, ">= 0"),
        ({"rate": 1.0, "distance": np.full((3, 3), np.nan)}, "finite"),
        ({"rate": 1.0, "distance": [["a"] * 3] * 3}, "numbers"),
    ],
)
def test_hostile_exponential_arguments_are_refused_by_name(settings, words):
    with pytest.raises(InvalidParameter, match=words):
        exponential_channel(3, **settings)


def test_hostile_sizes_are_refused():
    for bad in (0, -1, 2.5, "3", None, True):
        with pytest.raises(InvalidParameter, match="whole number >= 1"):
            exponential_channel(bad, rate=1.0)
        with pytest.raises(InvalidParameter, match="k must be"):
            exponential_entropy(bad, 1.0)
        with pytest.raises(InvalidParameter, match="k must be"):
            calibrate_exponential(bad, 1.0)
    with pytest.raises(InvalidParameter, match="2\\^24"):
        exponential_channel(10_000, rate=1.0)


# ----------------------------------------------------------------------------------------------- records


def databases(n, m):
    return list(itertools.product(range(m), repeat=n))


def distances(n, m):
    rows = databases(n, m)
    return np.array([[sum(a != b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows])


def kernel_exact(n, m, epsilon):
    """T(x, y) of [WYZ (27)], entry by entry."""
    d = distances(n, m)
    return np.exp(-epsilon * d) / (1 + (m - 1) * math.exp(-epsilon)) ** n


def h(n, m, epsilon):
    return n / (1 + math.exp(epsilon) / (m - 1))


RECORDS = [(1, 2), (1, 5), (2, 2), (2, 3), (3, 2), (3, 3), (5, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), RECORDS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.7, 3.0, 50.0])
def test_lemma_5_differential_privacy_and_distance_of_e_d(n, m, epsilon):
    channel = hamming_channel(n, m, epsilon)
    matrix, d = channel.matrix, distances(n, m)
    assert matrix == pytest.approx(kernel_exact(n, m, epsilon), abs=1e-15)
    assert (matrix * d).sum(axis=1) == pytest.approx(np.full(m**n, h(n, m, epsilon)), abs=1e-14)
    # In exact rationals: the product of the integers of the stages, one a record.
    exact = np.array([[Fraction(int(x == y)) for y in range(m**n)] for x in range(m**n)], dtype=object)
    for stage in channel.stages:
        step = np.array([[Fraction(0)] * stage.n_outputs for _ in range(stage.n_inputs)], dtype=object)
        rows = np.repeat(np.arange(stage.n_inputs), np.diff(stage.indptr))
        for row, column, weight in zip(rows, stage.indices, stage.weights, strict=True):
            step[row, column] = Fraction(int(weight), 2**62)
        exact = exact.dot(step)
    with mp.workdps(60):
        power = mp.e ** mp.mpf(epsilon)
        limit = Fraction(int(mp.floor(power * 10**40)), 10**40)
    for x, z in zip(*np.nonzero(d == 1), strict=True):
        assert all(a <= (limit + Fraction(1, 10**40)) * b for a, b in zip(exact[x], exact[z], strict=True))


def test_e_d_is_one_randomized_response_a_record():
    assert hamming_channel(1, 4, 1.3) == randomized_response(4, 1.3)
    assert ldp_epsilon(hamming_channel(3, 2, 0.5)) == pytest.approx(1.5)
    assert hamming_channel(2, 1, 1.0).matrix.tolist() == [[1.0]]
    assert hamming_channel(2, 300, 1.0).n_inputs == 90_000  # its matrix would have 8e9 cells


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_a_product_channel_is_the_kronecker_product(shapes, seed):
    rng = np.random.default_rng(seed)
    channels = []
    for n, k in shapes:
        first, second = rng.dirichlet(np.ones(k + 1), n), rng.dirichlet(np.ones(2), k + 1)
        channels.append(Channel.from_matrix(first).then(Channel.from_matrix(second)))
    expected = np.ones((1, 1))
    for channel in channels:
        expected = np.kron(expected, channel.matrix)
    made = product_channel(channels)
    assert made.matrix == pytest.approx(expected, abs=1e-15)
    whole = channel_capacity(made, 1e-11).upper
    assert whole == pytest.approx(sum(channel_capacity(c, 1e-12).upper for c in channels), abs=1e-9)


PRIORS = [
    (1, [0.5, 0.3, 0.2]),
    (1, [0.6, 0.4]),
    (1, [0.9, 0.1 - 1e-9, 1e-9]),
    (2, [0.4, 0.1, 0.2, 0.3]),
    (2, [0.05, 0.45, 0.45, 0.05]),
    (2, [0.2, 0.1, 0.1, 0.05, 0.15, 0.1, 0.1, 0.1, 0.1]),
    (3, [0.2, 0.1, 0.05, 0.15, 0.1, 0.1, 0.2, 0.1]),
]


def least_by_lp(prior, n):
    """The least ε with a distribution p_Y >= 0, T p_Y = P: bisection on the feasibility of a linear program."""
    m = round(len(prior) ** (1 / n))
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        T = kernel_exact(n, m, middle)
        found = linprog(np.zeros(len(prior)), A_eq=T, b_eq=prior, bounds=(0, None), method="highs")
        low, high = (low, middle) if found.status == 0 else (middle, high)
    return high


@pytest.mark.parametrize(("n", "prior"), PRIORS)
def test_the_threshold_is_where_the_output_distribution_is_non_negative(n, prior):
    prior = np.array(prior)
    m = round(len(prior) ** (1 / n))
    least = DatabaseIdentifiability(prior, n).threshold
    if prior.min() > 1e-6:  # below, the tolerance of the program hides the sign
        assert least == pytest.approx(least_by_lp(prior, n), rel=1e-4)
    # And by inverting the whole matrix in 50 digits.
    with mp.workdps(50):

        def smallest(epsilon):
            e = mp.mpf(epsilon)
            T = mp.matrix(distances(n, m).tolist()).apply(lambda d: mp.e ** (-e * d) / (1 + (m - 1) * mp.e**-e) ** n)
            return min(mp.lu_solve(T, mp.matrix([mp.mpf(p) for p in prior.tolist()])))

        assert smallest(least * (1 + 1e-9)) > -1e-20
        assert smallest(least * (1 - 1e-9)) < 0


def test_the_threshold_of_one_record_in_closed_form():
    for prior in ([0.5, 0.3, 0.2], [0.7, 0.3], [0.25, 0.25, 0.3, 0.2], [1 - 1e-12, 1e-12]):
        closed = math.log(1 / min(prior) - len(prior) + 1)
        assert DatabaseIdentifiability(prior, 1).threshold == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("m", [2, 3])
def test_the_threshold_is_zero_exactly_at_the_uniform_distribution(n, m):
    uniform = np.full(m**n, 1 / m**n)
    assert DatabaseIdentifiability(uniform, n).threshold == 0.0
    assert DatabaseIdentifiability(uniform + 1e-6 * np.resize([1, -1], m**n) * (m == 2), n).threshold > 0 or m == 3
    assert (identifiability_channel(uniform, n, 0.0).matrix == identifiability_channel(uniform, n, 0.0).matrix[0]).all()
    assert identifiability_channel(uniform, n, 1.2).matrix == pytest.approx(kernel_exact(n, m, 1.2), abs=1e-15)


def test_independent_records_have_the_threshold_of_the_worst_one():
    one, other = np.array([0.6, 0.4]), np.array([0.7, 0.3])
    assert DatabaseIdentifiability(np.kron(one, other), 2).threshold == pytest.approx(math.log(1 / 0.3 - 1), rel=1e-9)


@given(st.integers(1, 3), st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_the_feasible_levels_are_an_interval_above_the_largest_prior_ratio(n, m, seed):
    """ε~_X >= ε_X, and all larger ε are feasible (T_r T_s = T_rs), which Lemma 4 needs and does not prove."""
    prior = np.random.default_rng(seed).dirichlet(np.ones(m**n)) * 0.9 + 0.1 / m**n
    prior /= prior.sum()
    least = DatabaseIdentifiability(prior, n).threshold
    d = distances(n, m)
    eps_x = max(math.log(prior[x] / prior[z]) for x, z in zip(*np.nonzero(d == 1), strict=True))
    assert least >= eps_x - 1e-12
    for more in (0.0, 1e-9, 0.1, 1.0, 30.0):
        p_y = np.linalg.solve(kernel_exact(n, m, least + more), prior)
        assert p_y.min() > -1e-9


@pytest.mark.parametrize(("n", "prior"), PRIORS)
@pytest.mark.parametrize("more", [0.0, 0.5, 3.0])
def test_lemma_4_identifiability_and_distance_of_e_i(n, prior, more):
    prior = np.array(prior)
    m = round(len(prior) ** (1 / n))
    epsilon = DatabaseIdentifiability(prior, n).threshold + more
    matrix = identifiability_channel(prior, n, epsilon).matrix
    d = distances(n, m)
    joint = prior[:, None] * matrix
    used = joint.sum(axis=0) > 1e-15
    posterior = joint[:, used] / joint[:, used].sum(axis=0)
    for x, z in zip(*np.nonzero(d == 1), strict=True):
        assert (posterior[x] <= math.exp(epsilon) * posterior[z] * (1 + 1e-9)).all()
    assert (joint * d).sum() == pytest.approx(h(n, m, epsilon), abs=1e-9)


def test_theorem_2_e_i_is_rate_distortion_optimal():
    """I(X;Y) = H(X) - n h_b(D/n) - D log(m-1) at D = h(ε)."""
    for n, prior in PRIORS:
        prior = np.array(prior)
        m = round(len(prior) ** (1 / n))
        epsilon = DatabaseIdentifiability(prior, n).threshold + 0.3
        joint = prior[:, None] * identifiability_channel(prior, n, epsilon).matrix
        outer = prior[:, None] * joint.sum(axis=0)
        information = float((joint[joint > 0] * np.log(joint[joint > 0] / outer[joint > 0])).sum())
        d = h(n, m, epsilon) / n
        entropy = -float((prior * np.log(prior)).sum())
        binary = -d * math.log(d) - (1 - d) * math.log(1 - d)
        assert information == pytest.approx(entropy - n * binary - n * d * math.log(m - 1), abs=1e-9)


def test_e_i_is_differentially_private_at_epsilon_plus_the_prior_ratio():
    for n, prior in PRIORS[3:]:
        prior = np.array(prior)
        m = round(len(prior) ** (1 / n))
        epsilon = DatabaseIdentifiability(prior, n).threshold + 0.2
        matrix = identifiability_channel(prior, n, epsilon).matrix
        d = distances(n, m)
        pairs = list(zip(*np.nonzero(d == 1), strict=True))
        eps_x = max(math.log(prior[x] / prior[z]) for x, z in pairs)
        level = max(float(np.log(matrix[x] / matrix[z]).max()) for x, z in pairs)
        assert level <= epsilon + eps_x + 1e-9


def test_below_the_threshold_the_formula_is_no_channel():
    with pytest.raises(InvalidParameter, match=r"eps must be at least 1\.09861229"):
        identifiability_channel([0.5, 0.3, 0.2], 1, 1.0)
    with pytest.raises(InvalidParameter, match="at least"):
        identifiability_channel([0.5, 0.3, 0.2], 1, 0.0)


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "1", None, True])
def test_hostile_levels_are_refused(bad):
    with pytest.raises((InvalidParameter, InvalidBudget), match="eps"):
        hamming_channel(2, 2, bad)
    with pytest.raises((InvalidParameter, InvalidBudget), match="eps"):
        identifiability_channel([0.5, 0.5], 1, bad)


@pytest.mark.parametrize(
    ("prior", "n", "words"),
    [
        ([0.5, 0.3, 0.2], 2, r"m \*\* 2"),
        ([1.0, 0.0], 1, "positive"),
        ([0.5, 0.6], 1, "sum to 1"),
        ([1.5, -0.5], 1, ">= 0"),
        ([math.nan, 1.0], 1, "finite"),
        ([[0.5, 0.5]], 1, "shape"),
        (np.full(2048, 1 / 2048), 11, "at most 1024"),
    ],
)
def test_hostile_priors_are_refused(prior, n, words):
    with pytest.raises(InvalidDistribution, match=words):
        identifiability_channel(prior, n, 5.0)


def test_hostile_products_are_refused():
    for n, m in ((0, 2), (2, 0), (2.0, 2), (True, 2)):
        with pytest.raises(InvalidParameter, match=r"n_records|n_symbols"):
            hamming_channel(n, m, 1.0)
    with pytest.raises(InvalidParameter, match="at least one"):
        product_channel([])
    with pytest.raises(InvalidParameter, match="2\\^25"):
        product_channel([Channel.identity(100)] * 4)
    with pytest.raises(InvalidParameter, match="2\\^25"):
        hamming_channel(60, 2, 1.0)
