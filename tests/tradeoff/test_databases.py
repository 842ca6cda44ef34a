"""Databases, the symmetric channel, and hostile arguments of every trade-off."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog
from uniform_cases import INF, SIZES, dp_level, mean_distance

from sanitize import tradeoff as td
from sanitize.errors import InvalidDistribution, InvalidParameter

mpmath.mp.dps = 50

# --- databases and the symmetric channel ----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(1, 2), (3, 5), (100, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3, 5.0, 50.0])
def test_wyz_32_and_17_are_inverse_and_match_high_precision(n: int, m: int, epsilon: float) -> None:
    exact = n / (1 + mpmath.exp(mpmath.mpf(epsilon)) / (m - 1))
    distortion = td.hamming_distortion(epsilon, n, m)
    assert distortion == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert td.hamming_epsilon(distortion, n, m) == pytest.approx(epsilon, rel=1e-9, abs=1e-15)
    assert td.hamming_epsilon(0, n, m) == INF
    assert td.hamming_epsilon(n, n, m) == -INF


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_distances_count_differing_records(n: int, m: int) -> None:
    words = list(product(range(m), repeat=n))
    expected = [[sum(a != b for a, b in zip(x, y, strict=True)) for y in words] for x in words]
    assert (td.hamming_distances(n, m) == expected).all()


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 4.0])
def test_wyz_lemma_5_e_d_is_private_at_epsilon_with_distortion_h_for_any_prior(n, m, epsilon) -> None:
    channel = td.hamming_mechanism(epsilon, n, m)
    prior = np.random.default_rng(1).dirichlet(np.ones(m**n))
    assert channel.sum(axis=1) == pytest.approx(1)
    assert dp_level(channel, n, m) == pytest.approx(epsilon, rel=1e-6, abs=0)
    assert mean_distance(prior, channel, n, m) == pytest.approx(td.hamming_distortion(epsilon, n, m))


def test_wyz_lemma_1_last_sum_carries_the_distance_not_its_complement() -> None:
    n, m, e = 2, 3, 0.7
    norm = (1 + (m - 1) * math.exp(-e)) ** n
    right = sum(math.comb(n, j) * (m - 1) ** j * j * math.exp(-j * e) for j in range(n + 1)) / norm
    printed = sum(math.comb(n, j) * (m - 1) ** j * j * math.exp(-(n - j) * e) for j in range(n + 1)) / norm
    assert (round(right, 4), round(printed, 4)) == (0.9966, 2.5137)
    assert td.hamming_distortion(e, n, m) == pytest.approx(right)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 2), (2, 3)])
def test_wyz_lemma_1_the_relaxed_problem_has_value_h(n: int, m: int) -> None:
    """One posterior column x -> p(x|y) decides: its least mean distance under the ratio constraints is h(ε)."""
    epsilon, distances = 0.7, td.hamming_distances(n, m)
    pairs = np.argwhere(distances == 1)
    rows = np.zeros((len(pairs), m**n))
    rows[np.arange(len(pairs)), pairs[:, 0]] = 1
    rows[np.arange(len(pairs)), pairs[:, 1]] = -math.exp(epsilon)
    total = np.ones((1, m**n))
    found = linprog(distances[0], A_ub=rows, b_ub=np.zeros(len(pairs)), A_eq=total, b_eq=[1], method="highs")
    assert found.fun == pytest.approx(td.hamming_distortion(epsilon, n, m), abs=1e-9)


# --- hostile arguments -----------------------------------------------------------------------------------------

RECORD_FUNCTIONS = (
    td.uniform_dp,
    td.uniform_dp_mechanism,
    td.symmetric_mechanism,
    td.uniform_maximal_leakage,
    td.uniform_max_information,
    td.ball_mechanism,
    td.uniform_mutual_information,
    td.hamming_epsilon,
    lambda d, n, m: td.entrywise_dp(d, n, m, 0.1),
    lambda d, n, m: td.uniform_renyi_dp(d, n, m, 2),
    lambda d, n, m: td.uniform_sibson_information(d, n, m, 2),
    lambda d, n, m: td.shell_mechanism(d, n, m, 2),
    lambda d, n, m: td.product_sibson_information(d, n, m, 2),
)

LEVEL_FUNCTIONS = (
    ("eps", td.hamming_distortion),
    ("eps", td.hamming_mechanism),
    ("eps", td.uniform_dp_distortion),
    ("eps", lambda v, n, m: td.uniform_renyi_dp_distortion(v, n, m, 2)),
    ("leakage", td.uniform_maximal_leakage_distortion),
    ("information", td.uniform_mutual_information_distortion),
    ("information", lambda v, n, m: td.uniform_sibson_information_distortion(v, n, m, 2)),
)


def test_the_largest_matrix_of_databases_is_made_and_no_larger_one(monkeypatch) -> None:
    monkeypatch.setattr("sanitize.tradeoff._hamming._DENSE_CELLS", 3**4 + 1)
    assert td.hamming_distances(2, 3).shape == (9, 9)
    for n, m in ((3, 3), (2, 4)):
        with pytest.raises(InvalidParameter, match="for a matrix of databases"):
            td.hamming_distances(n, m)


@pytest.mark.parametrize("function", RECORD_FUNCTIONS)
def test_bad_distortions_and_sizes_are_refused(function) -> None:
    for distortion in (-1e-9, 2.1, math.nan, INF, "1", None):
        with pytest.raises(InvalidParameter, match=r"^distortion must .* between 0 and 2, got"):
            function(distortion, 2, 3)
    for n in (0, -1, 1.5, "1", True):
        with pytest.raises(InvalidParameter, match=r"^n_records must be a whole number >= 1, got"):
            function(0.5, n, 3)
    for m in (1, 0, 2.5, None):
        with pytest.raises(InvalidParameter, match=r"^n_symbols must be a whole number >= 2, got"):
            function(0.5, 2, m)


@pytest.mark.parametrize(("name", "function"), LEVEL_FUNCTIONS)
def test_bad_levels_are_refused(name: str, function) -> None:
    for level in (-1e-9, math.nan, -INF, "1", None, True):
        with pytest.raises(InvalidParameter, match=rf"^{name} must .* between 0 and inf, got"):
            function(level, 2, 3)
    with pytest.raises(InvalidParameter, match=r"^n_symbols must"):
        function(1.0, 2, 1)


def test_bad_orders_deltas_and_shares_are_refused() -> None:
    for alpha in (0.5, -1, math.nan):
        for call in (
            lambda a: td.uniform_renyi_dp(0.1, 1, 2, a),
            lambda a: td.uniform_renyi_dp_distortion(0.1, 1, 2, a),
            lambda a: td.uniform_sibson_information(0.1, 1, 2, a),
            lambda a: td.uniform_sibson_information_distortion(0.1, 1, 2, a),
            lambda a: td.shell_mechanism(0.1, 1, 2, a),
            lambda a: td.product_sibson_information(0.1, 1, 2, a),
        ):
            with pytest.raises(InvalidParameter, match=r"^alpha must lie between 1 and inf"):
                call(alpha)
    for delta in (-0.1, 1.1, math.nan):
        for call in (
            lambda d: td.uniform_dp(0.1, 1, 2, d),
            lambda d: td.uniform_dp_distortion(0.1, 1, 2, d),
            lambda d: td.uniform_dp_mechanism(0.1, 1, 2, d),
            lambda d: td.entrywise_dp(0.1, 1, 2, d),
            lambda d: td.prior_dp(0.1, [0.5, 0.5], d),
            lambda d: td.prior_dp_distortion(0.1, [0.5, 0.5], d),
            lambda d: td.prior_dp_mechanism(0.1, [0.5, 0.5], d),
            lambda d: td.records_dp(0.1, [[0.5, 0.5]], d),
            lambda d: td.records_dp_distortion(0.1, [[0.5, 0.5]], d),
            lambda d: td.optimal_dp_channel(0.1, [0.5, 0.5], np.eye(2), delta=d),
        ):
            with pytest.raises(InvalidParameter, match=r"^delta must lie between 0 and 1"):
                call(delta)
    with pytest.raises(InvalidParameter, match=r"^least_share must lie between 0 and 0\.5"):
        td.max_information_bound(0.1, 2, 0.6)
    with pytest.raises(InvalidParameter, match=r"2\*\*25"):
        td.hamming_distances(30, 2)


PRIOR_FUNCTIONS = (
    lambda p: td.prior_dp(0.1, p),
    lambda p: td.prior_dp_distortion(0.1, p),
    lambda p: td.prior_dp_mechanism(0.1, p),
    lambda p: td.prior_maximal_leakage(0.1, p),
    lambda p: td.prior_maximal_leakage_distortion(0.1, p),
    lambda p: td.prior_maximal_leakage_mechanism(0.1, p),
    lambda p: td.iid_dp(0.1, p, 2),
    lambda p: td.iid_dp_distortion(0.1, p, 2),
    lambda p: td.iid_maximal_leakage_bound(0.1, p, 2),
    lambda p: td.records_dp(0.1, [p]),
    lambda p: td.records_dp_mechanism(0.1, [p]),
    td.identifiability_threshold,
    lambda p: td.identifiability_mechanism(1.0, p),
    lambda p: td.identifiability_tradeoff(0.1, p),
    lambda p: td.dp_tradeoff(0.1, p),
    lambda p: td.prior_mutual_information(0.1, p),
    lambda p: td.optimal_dp_channel(1.0, p, np.eye(2)),
)


@pytest.mark.parametrize("function", PRIOR_FUNCTIONS)
@pytest.mark.parametrize("prior", [[0.5, 0.6], [-0.1, 1.1], [math.nan, 1.0], [INF, 0.0]])
def test_bad_priors_are_refused(function, prior) -> None:
    with pytest.raises(InvalidDistribution, match=r"prior must"):
        function(prior)


def test_bad_sets_lengths_and_programs_are_refused() -> None:
    with pytest.raises(InvalidDistribution, match=r"at least one record"):
        td.records_dp(0.1, [])
    with pytest.raises(InvalidDistribution, match=r"one common order"):
        td.ordered_maximal_leakage(0.1, [[0.7, 0.3], [0.4, 0.6]])
    with pytest.raises(InvalidDistribution, match=r"priors must be a matrix"):
        td.ordered_maximal_leakage(0.1, [[0.7, 0.3], [1.0]])
    with pytest.raises(InvalidDistribution, match="n_records entries"):
        td.identifiability_threshold([0.2, 0.3, 0.5], 2)
    with pytest.raises(InvalidDistribution, match=r"same databases"):
        td.source_set_dp_tradeoff(0.1, [[0.5, 0.5], [0.2, 0.3, 0.5]])
    with pytest.raises(InvalidDistribution, match=r"at least one law"):
        td.source_set_dp_tradeoff(0.1, [])
    with pytest.raises(InvalidParameter, match=r"2\*\*25 cells"):
        td.records_dp_mechanism(0.1, [[0.5, 0.5]] * 13)
    with pytest.raises(InvalidParameter, match=r"eps must be at least 1.09861"):
        td.identifiability_mechanism(1.0, [0.5, 0.3, 0.2])
    with pytest.raises(InvalidParameter, match=r"distortion must lie between 0 and 0.4 for the closed form"):
        td.prior_mutual_information(0.41, [0.5, 0.3, 0.2])
    with pytest.raises(InvalidParameter, match=r"distances must have shape"):
        td.optimal_dp_channel(1.0, [0.5, 0.5], np.eye(3))
    with pytest.raises(InvalidParameter, match=r"finite entries"):
        td.optimal_dp_channel(1.0, [0.5, 0.5], [[0.0, math.nan], [1.0, 0.0]])
    with pytest.raises(InvalidParameter, match=r"arrays of numbers"):
        td.optimal_dp_channel(1.0, [0.5, 0.5], [["a", "b"], ["c", "d"]])
    with pytest.raises(InvalidParameter, match=r"neighbours must"):
        td.optimal_dp_channel(1.0, [0.5, 0.5], np.eye(2), neighbours=[[0, 2]])
    with pytest.raises(InvalidDistribution, match=r"one law"):
        td.optimal_max_information_channel(1.0, [[0.5, 0.5], [0.4, 0.6]], np.eye(2))
    with pytest.raises(InvalidDistribution, match=r"positive entries"):
        td.optimal_identifiability_channel(1.0, [1.0, 0.0], np.eye(2))
    with pytest.raises(InvalidParameter, match=r"no solution"):
        td.optimal_identifiability_channel(0.1, [0.9, 0.1], 1 - np.eye(2))
    with pytest.raises(InvalidParameter, match=r"no solution"):
        td.optimal_maximal_leakage_channel(0.5, [0.5, 0.5], np.ones((2, 2)))
    with pytest.raises(InvalidParameter, match=r"reachable by some level"):
        td.least_level(lambda e: td.optimal_dp_channel(e, [0.5, 0.5], np.ones((2, 2))), 0.5)
    with pytest.raises(InvalidParameter, match=r"distortion must lie between 1 and inf"):
        td.optimal_mutual_information_channel(0.5, [0.5, 0.5], np.ones((2, 2)))
    with pytest.raises(InvalidParameter, match=r"tol must"):
        td.optimal_mutual_information_channel(0.1, [0.5, 0.5], 1 - np.eye(2), 0.0)
