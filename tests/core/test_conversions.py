"""Cuff-Yu conversions: held against linear programs, extremal pairs and high precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import norm

from sanitize.core import conversions as cv
from sanitize.errors import InvalidParameter

mpmath.mp.dps = 60
INF = math.inf
LN2 = math.log(2)
EPSILONS = (0.0, 1e-6, 0.1, 1.0, 5.0, 50.0)
DELTAS = (0.0, 1e-12, 1e-3, 0.3, 1.0)


def hockey_stick(p, q, epsilon: float) -> float:
    """Least δ with P(A) <= e**ε Q(A) + δ and the reverse, over all events."""
    p, q = np.asarray(p), np.asarray(q)
    scale = math.exp(epsilon)
    return max(np.maximum(p - scale * q, 0).sum(), np.maximum(q - scale * p, 0).sum())


def kl(p, q) -> float:
    return float(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0))


@st.composite
def pairs_of_distributions(draw):
    size = draw(st.integers(2, 5))
    cells = st.lists(st.floats(1e-3, 1), min_size=size, max_size=size)
    p, q = np.array(draw(cells)), np.array(draw(cells))
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("to_eps", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.4])
def test_cy_tightest_conversion_is_the_optimum_of_a_linear_program(to_eps: float, delta: float) -> None:
    """Pairs (P, Q) on four points: every event an inequality, the largest P(A) - e**ε' Q(A) the objective."""
    epsilon, size = 1.0, 4
    events = [[(mask >> i) & 1 for i in range(size)] for mask in range(1 << size)]
    rows = [[*a, *(-math.exp(epsilon) * np.array(a))] for a in events]
    rows += [[*(-math.exp(epsilon) * np.array(a)), *a] for a in events]
    totals = [[1] * size + [0] * size, [0] * size + [1] * size]
    best = 0.0
    for event in events:
        objective = [*(-np.array(event)), *(math.exp(to_eps) * np.array(event))]
        found = linprog(objective, A_ub=rows, b_ub=[delta] * len(rows), A_eq=totals, b_eq=[1, 1], method="highs")
        best = max(best, -found.fun)
    assert cv.approximate_dp_delta(epsilon, delta, to_eps) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_cy_tightest_conversion_is_reached_by_a_pair_on_four_points(epsilon: float, delta: float) -> None:
    e = math.exp(epsilon)
    p = np.array([delta, (1 - delta) * e / (e + 1), (1 - delta) / (e + 1), 0])
    q = p[::-1]
    assert hockey_stick(p, q, epsilon) == pytest.approx(delta, abs=1e-15)
    for to in (0.0, epsilon / 3, epsilon):
        assert cv.approximate_dp_delta(epsilon, delta, to) == pytest.approx(hockey_stick(p, q, to), rel=1e-9, abs=1e-15)
    assert cv.approximate_dp_delta(epsilon, delta, epsilon + 1) == delta


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS[:-1])
@pytest.mark.parametrize("share", [0.0, 1e-6, 0.5, 0.999])
def test_cy_conversion_matches_the_printed_formula_in_high_precision(epsilon, delta, share) -> None:
    to = share * epsilon
    e, t, d = (mpmath.mpf(v) for v in (epsilon, to, delta))
    exact = 1 - (mpmath.exp(t) + 1) * (1 - d) / (mpmath.exp(e) + 1) if to < epsilon else d
    found = cv.approximate_dp_delta(epsilon, delta, to)
    assert found == pytest.approx(float(exact), rel=1e-13, abs=0)
    if epsilon - to < 30 and 0 < found < 1:
        assert cv.approximate_dp_epsilon(epsilon, delta, found) == pytest.approx(to, rel=1e-6, abs=1e-9)


@given(pairs_of_distributions(), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.05, 0.4]))
def test_cy_conversion_holds_for_all_pairs(pair, epsilon: float, to: float) -> None:
    p, q = pair
    delta = hockey_stick(p, q, epsilon)
    assert hockey_stick(p, q, to) <= cv.approximate_dp_delta(epsilon, delta, to) + 1e-12


def test_the_least_epsilon_has_its_limits() -> None:
    assert cv.approximate_dp_epsilon(1.0, 0.1, 0.05) == INF
    assert cv.approximate_dp_epsilon(1.0, 0.1, 0.1) == 1.0
    assert cv.approximate_dp_epsilon(1.0, 0.1, 1.0) == 0.0
    assert cv.approximate_dp_epsilon(INF, 0.1, 0.5) == INF
    assert cv.approximate_dp_epsilon(0.1, 0.0, 0.9) == 0.0
    assert cv.approximate_dp_delta(INF, 0.0, 3.0) == 1.0


@pytest.mark.parametrize("epsilon", EPSILONS[1:])
def test_cy_kl_bound_is_attained_by_randomized_response_and_is_the_printed_tightest_form(epsilon: float) -> None:
    e = mpmath.exp(mpmath.mpf(epsilon))
    keep = e / (e + 1)
    exact = (2 * keep - 1) * mpmath.mpf(epsilon)
    printed = mpmath.mpf(epsilon) * (e - 1) * (1 - 1 / e) / ((e - 1) + (1 - 1 / e))
    bound = cv.kl_from_dp(epsilon)
    assert (
        bound.tight == pytest.approx(float(exact), rel=1e-13, abs=0) == pytest.approx(float(printed), rel=1e-13, abs=0)
    )
    assert bound.printed == epsilon
    assert bound.verdict == ("tight" if epsilon == 50 and bound.tight == 50 else "loose")


@given(pairs_of_distributions())
def test_cy_kl_and_pinsker_hold_for_all_pairs(pair) -> None:
    p, q = pair
    epsilon = float(np.abs(np.log(p / q)).max())
    divergence = max(0.0, kl(p, q))
    assert divergence <= cv.kl_from_dp(epsilon).tight * (1 + 1e-12) + 1e-12
    assert np.abs(p - q).sum() / 2 <= cv.total_variation_from_kl(divergence) + 1e-9


def test_the_better_of_pinsker_and_bretagnolle_huber_is_taken() -> None:
    assert cv.total_variation_from_kl(0.02) == pytest.approx(0.1)
    assert cv.total_variation_from_kl(10.0) == pytest.approx(math.sqrt(-math.expm1(-10)))
    assert cv.total_variation_from_kl(INF) == 1
    assert cv.total_variation_from_kl(0) == 0


def capacity(rows: np.ndarray, steps: int = 3000) -> float:
    """Blahut-Arimoto, the plain loop."""
    p = np.full(len(rows), 1 / len(rows))
    for _ in range(steps):
        out = p @ rows
        d = np.array([kl(row, out) for row in rows])
        p = p * np.exp(d)
        p /= p.sum()
    out = p @ rows
    return float(p @ [kl(row, out) for row in rows])


@given(pairs_of_distributions(), pairs_of_distributions())
def test_cy_pairwise_divergence_bounds_information_and_information_bounds_variation(one, two) -> None:
    rows = np.array([*one, *two]) if len(one[0]) == len(two[0]) else np.array(one)
    information = capacity(rows, 200)
    largest = max(kl(a, b) for a in rows for b in rows)
    variation = max(np.abs(a - b).sum() / 2 for a in rows for b in rows)
    epsilon = max(np.abs(np.log(a / b)).max() for a in rows for b in rows)
    assert information <= cv.mutual_information_from_kl(largest) + 1e-12
    assert cv.mutual_information_from_kl(largest) == pytest.approx(largest, rel=1e-12)  # I <= ε, as printed
    assert information <= cv.mutual_information_from_dp(float(epsilon)) + 1e-12
    assert information <= cv.mutual_information_from_total_variation(variation, *rows.shape) + 1e-9
    top = float(np.array([kl(row, rows.mean(axis=0)) for row in rows]).max())  # at least the capacity
    assert variation <= cv.total_variation_from_mutual_information(top).tight + 1e-9


@pytest.mark.parametrize("flip", [1e-9, 0.01, 0.11, 0.4, 0.5 - 1e-4, 0.5 - 1e-7])
def test_cy_information_to_variation_is_attained_by_the_binary_symmetric_channel(flip: float) -> None:
    x = mpmath.mpf(flip)
    information = mpmath.log(2) + x * mpmath.log(x) + (1 - x) * mpmath.log(1 - x)
    bound = cv.total_variation_from_mutual_information(float(information))
    assert bound.tight == pytest.approx(float(1 - 2 * x), rel=1e-9, abs=0)
    assert bound.printed >= bound.tight * (1 - 1e-12)


@pytest.mark.parametrize("information", [1e-300, 1e-12, 1e-6, 0.1, 0.5, 0.69, LN2 - 1e-9])
def test_information_to_variation_solves_its_equation_in_high_precision(information: float) -> None:
    with mpmath.workdps(700):
        t = mpmath.mpf(cv.total_variation_from_mutual_information(information).tight)
        gap = ((1 + t) * mpmath.log1p(t) + (1 - t) * mpmath.log1p(-t)) / 2
    assert float(gap) == pytest.approx(information, rel=1e-12, abs=0)


def test_information_to_variation_has_its_limits() -> None:
    assert cv.binary_entropy_inverse(5e-324) == 0  # smaller than a double can hold
    assert cv.total_variation_from_mutual_information(0).tight == 0
    for information in (LN2, 1.0, INF):
        assert cv.total_variation_from_mutual_information(information).tight == 1
    assert cv.total_variation_from_mutual_information(1e-6).verdict == "loose"


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-12, 1e-3, 0.11, 0.3, 0.49, 0.5])
def test_binary_entropy_and_its_inverse(p: float) -> None:
    x = mpmath.mpf(p)
    exact = -x * mpmath.log(x) - (1 - x) * mpmath.log1p(-x) if p else mpmath.mpf(0)
    assert cv.binary_entropy(p) == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert cv.binary_entropy(1 - p) == pytest.approx(float(exact), rel=1e-9, abs=1e-14)
    found = cv.binary_entropy_inverse(min(float(exact), LN2))
    assert found == pytest.approx(p, rel=1e-12 if p < 0.4 else 1e-7)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.0999, 0.1001, 1.0, 2.0, 50.0])
def test_information_from_dp_matches_its_formula_in_high_precision(epsilon: float) -> None:
    e = mpmath.mpf(epsilon)
    z = e * mpmath.exp(e) / mpmath.expm1(e)
    assert cv.mutual_information_from_dp(epsilon) == pytest.approx(float(z - 1 - mpmath.log(z)), rel=1e-12, abs=0)
    assert cv.mutual_information_from_dp(epsilon) <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_information_from_dp_is_the_supremum_over_subset_mechanisms(epsilon: float) -> None:
    """A share s of many outputs at e**ε, the rest at 1: the best share approaches the bound from below."""

    def information(share: float) -> float:
        high = math.exp(epsilon) / (share * math.exp(epsilon) + 1 - share)
        low = high * math.exp(-epsilon)
        return share * high * math.log(high) + (1 - share) * low * math.log(low)

    best = -minimize_scalar(lambda s: -information(s), bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-12}).fun
    assert cv.mutual_information_from_dp(epsilon) == pytest.approx(best, rel=1e-9, abs=0)
    assert all(information(s) <= best * (1 + 1e-12) for s in np.linspace(0.01, 0.99, 99))


def printed(delta: float, n_x: int, n_y: int) -> float:
    """Mutual information from total variation, as [CY] has it."""
    return 2 * cv.binary_entropy(delta) + 2 * delta * math.log(min(n_y, n_x + 1))


def test_variation_to_information_table_and_printed_bound() -> None:
    for delta in (0.0, 1e-12, 0.05, 0.3, 0.5):
        for n_x, n_y in ((2, 2), (2, 7), (5, 3), (1, 4)):
            sharp = cv.mutual_information_from_total_variation(delta, n_x, n_y)
            k = min(n_x, n_y)
            assert sharp == pytest.approx(
                cv.binary_entropy(delta) + delta * math.log(k - 1) if delta < 1 - 1 / k else math.log(k)
            )
            if k > 1:
                assert sharp <= printed(delta, n_x, n_y) + 1e-12
    # An erasure channel over k letters has pairwise variation δ and capacity δ log k.
    for k in (2, 5, 50):
        assert 0.3 * math.log(k) <= cv.mutual_information_from_total_variation(0.3, k, k + 1)


def test_printed_variation_to_information_is_true_and_loose_by_half() -> None:
    for n_x, n_y in ((2, 2), (2, 7), (6, 3), (50, 50)):
        for delta in np.linspace(1e-6, 1, 50).tolist():
            loose = printed(delta, n_x, n_y)
            assert loose >= 2 * delta * cv.mutual_information_from_total_variation(delta, n_x, n_y)
            assert loose >= cv.mutual_information_from_total_variation(delta, n_x, n_y)
        assert cv.mutual_information_from_total_variation(1.0, n_x, n_y) == math.log(min(n_x, n_y))


BAD_NATS = (-1e-9, math.nan, -INF, "1", None, True)


@pytest.mark.parametrize("value", BAD_NATS)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("eps", lambda v: cv.approximate_dp_delta(v, 0.1, 0.1)),
        ("to_eps", lambda v: cv.approximate_dp_delta(0.1, 0.1, v)),
        ("eps", lambda v: cv.approximate_dp_epsilon(v, 0.1, 0.1)),
        ("eps", cv.kl_from_dp),
        ("eps", cv.mutual_information_from_dp),
        ("divergence", cv.total_variation_from_kl),
        ("divergence", cv.mutual_information_from_kl),
        ("information", cv.total_variation_from_mutual_information),
    ],
)
def test_bad_nats_name_the_parameter_and_the_range(name: str, call, value) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name} must .* 0 to inf, got"):
        call(value)


@pytest.mark.parametrize("value", [-1e-9, 1.0 + 1e-9, math.nan, INF, "1", None])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("delta", lambda v: cv.approximate_dp_delta(1, v, 0.1)),
        ("delta", lambda v: cv.approximate_dp_epsilon(1, v, 0.1)),
        ("to_delta", lambda v: cv.approximate_dp_epsilon(1, 0.1, v)),
        ("delta", lambda v: cv.mutual_information_from_total_variation(v, 2, 2)),
        ("probability", cv.binary_entropy),
        ("entropy", cv.binary_entropy_inverse),
    ],
)
def test_bad_probabilities_name_the_parameter_and_the_range(name: str, call, value) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name} must .* from 0 to"):
        call(value)


@pytest.mark.parametrize("size", [0, -1, 2.5, "2", True])
def test_bad_sizes_are_refused(size) -> None:
    with pytest.raises(InvalidParameter, match="n_inputs must be a whole number >= 1"):
        cv.mutual_information_from_total_variation(0.1, size, 2)
    with pytest.raises(InvalidParameter, match="n_outputs must be a whole number >= 1"):
        cv.mutual_information_from_total_variation(0.1, 2, size)


def best_test(null, other, size):
    """Power of the likelihood ratio test between two distributions, by sorting [NP33]."""
    order = np.argsort(null / other)
    taken = np.clip((size - np.append(0, np.cumsum(null[order])[:-1])) / null[order], 0, 1)
    return float(taken @ other[order])


SIZES = (0.0, 1e-4, 0.03, 0.2, 0.5, 0.9, 1.0)


@pytest.mark.parametrize("eps", [0.1, 0.7, 3.0])
def test_geometric_noise_on_a_count_of_two_rows_is_as_telling_as_two_randomized_responses(eps):
    """Counts (1, 0) and (0, 1) with noise P(z) of exp(-eps |z|) each, within so much of all outcomes."""
    z = np.arange(-int(40 / eps), int(40 / eps) + 2)
    one, none = np.exp(-eps * abs(z - 1)), np.exp(-eps * abs(z))
    one, none = one / one.sum(), none / none.sum()
    keep = 1e-30
    null, other = np.outer(one, none).ravel(), np.outer(none, one).ravel()
    seen = np.minimum(null, other) > keep
    for size in SIZES:
        assert cv.power_from_dp([eps, eps], size) == pytest.approx(best_test(null[seen], other[seen], size), abs=1e-9)


def test_power_from_dp_is_at_its_ends_and_falls_when_a_level_is_split():
    assert cv.power_from_dp([], 0.3) == pytest.approx(0.3)
    assert cv.power_from_dp([700.0], 1e-9) == 1
    for size in SIZES[1:-1]:
        powers = [cv.power_from_dp(levels, size) for levels in ([1.0], [0.5] * 2, [0.3, 0.7], [0.1] * 10)]
        assert max(powers[1:]) <= powers[0] + 1e-12
        assert powers[3] <= powers[1] + 1e-12
        assert powers[0] == pytest.approx(min(1, math.e * size, 1 - (1 - size) / math.e))
    with pytest.raises(InvalidParameter):
        cv.power_from_dp([INF], 0.3)


def test_rho_from_dp_is_private_by_the_best_order_and_by_no_larger_rho():
    """δ of ρ is the least over α of exp((α - 1)(αρ - ε)) (1 - 1/α)^α / (α - 1), and just δ of the largest ρ."""
    alpha = 1 + np.geomspace(1e-5, 1e8, 400_000)

    def delta_of(rho: float, eps: float) -> float:
        logs = (alpha - 1) * (alpha * rho - eps) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
        return float(np.exp(logs.min()))

    for eps, delta in ((1.0, 1e-5), (0.05, 1e-9), (8.0, 1e-3), (1e-6, 0.1)):
        rho = cv.rho_from_dp(eps, delta)
        assert delta_of(rho, eps) <= delta * (1 + 1e-6)
        assert delta_of(rho * 1.001, eps) > delta
        # Of Gaussian noise the exact δ is smaller.
        gaussian = norm.cdf(rho**0.5 / 2**0.5 - eps / (2 * rho) ** 0.5) - math.exp(eps) * norm.cdf(
            -(rho**0.5) / 2**0.5 - eps / (2 * rho) ** 0.5
        )
        assert gaussian <= delta
