"""Lift bounds: attained by two points, never exceeded, and the printed ones that are false shown false."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from sanitize.core import bounds as bd
from sanitize.core import measures as ms
from sanitize.core.budgets import AlphaLiftBudget, LDPBudget, LiftBudget
from sanitize.core.joint import JointDistribution
from sanitize.core.lifts import (
    alpha_lift,
    alpha_lift_inverse,
    alpha_norm,
    chi2_deviation,
    chi2_lift,
    chi2_lift_inverse,
    l1_deviation,
    l1_lift,
    l1_lift_inverse,
    lift,
    max_log_lift,
    min_log_lift,
)
from sanitize.errors import InvalidParameter

mpmath.mp.dps = 60
INF = math.inf
ENDS = (1e-6, 1e-3, 0.2, math.log(2), 1.5, 7.0, 50.0)
PAIRS = [(lower, upper) for lower in ENDS for upper in ENDS]
ORDERS = (1.0, 1 + 1e-9, 1.5, 2.0, 100.0, INF)
LETTERS_3 = (np.full((3, 3), 1.25) - 0.75 * np.eye(3)) / 9  # lift 5/4 twice and 1/2 once in each column
LETTERS_6 = (np.full((6, 6), 0.8) + 1.2 * np.eye(6)) / 36  # lift 2 once and 4/5 elsewhere

FUNCTIONS = {
    "mutual_information": (bd.mutual_information_bound, lambda t, a: t * mpmath.log(t)),
    "total_variation": (bd.total_variation_bound, lambda t, a: abs(t - 1) / 2),
    "chi2": (bd.chi2_bound, lambda t, a: (t - 1) ** 2),
    "l1_lift": (bd.l1_lift_bound, lambda t, a: abs(t - 1)),
    "l1_lift_inverse": (bd.l1_lift_inverse_bound, lambda t, a: abs(1 / t - 1)),
    "chi2_lift_inverse": (bd.chi2_lift_inverse_bound, lambda t, a: (1 / t - 1) ** 2),
}


def two_point(lower: float, upper: float) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    a, b = mpmath.exp(-mpmath.mpf(lower)), mpmath.exp(mpmath.mpf(upper))
    return a, b, (1 - a) / (b - a)


def sibson(joint: JointDistribution, alpha: float) -> float:
    return ms.maximal_leakage(joint) if math.isinf(alpha) else ms.sibson_information(joint, alpha)


def mean_of(f, low, high):
    """E f(l) of the distribution on two lifts with mean 1."""
    p = (1 - low) / (high - low)
    return p * f(high) + (1 - p) * f(low)


@pytest.mark.parametrize("name", ["mutual_information", "total_variation", "chi2", "l1_lift"])
@pytest.mark.parametrize(("lower", "upper"), PAIRS)
def test_tight_bounds_are_the_two_point_distribution_in_high_precision(name: str, lower: float, upper: float) -> None:
    bound, f = FUNCTIONS[name]
    a, b, _ = two_point(lower, upper)
    exact = mean_of(lambda t: f(t, None), a, b)
    assert bound(lower, upper).tight == pytest.approx(float(exact), rel=2e-13, abs=0)


@pytest.mark.parametrize("alpha", ORDERS[:-1])
@pytest.mark.parametrize(("lower", "upper"), PAIRS)
def test_order_alpha_bounds_are_the_two_point_distribution_in_high_precision(alpha, lower, upper) -> None:
    a, b, p = two_point(lower, upper)
    order = mpmath.mpf(alpha)
    mean, inverse = p * b**order + (1 - p) * a**order, p * b**-order + (1 - p) * a**-order
    information = mean_of(lambda t: t * mpmath.log(t), a, b) if alpha == 1 else mpmath.log(mean) / (order - 1)
    assert bd.sibson_bound(lower, upper, alpha).tight == pytest.approx(float(information), rel=1e-12, abs=0)
    assert bd.arimoto_bound(lower, upper, alpha) == bd.sibson_bound(lower, upper, alpha)
    assert bd.alpha_lift_bound(lower, upper, alpha).tight == pytest.approx(float(mean ** (1 / order)), rel=1e-13, abs=0)
    assert bd.alpha_lift_inverse_bound(lower, upper, alpha).tight == pytest.approx(
        float(inverse ** (1 / order)), rel=1e-13
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["l1_lift_inverse", "chi2_lift_inverse"])
@pytest.mark.parametrize(("lower", "upper"), PAIRS)
def test_inverse_bounds_are_the_best_two_point_distribution_in_high_precision(
    name: str, lower: float, upper: float
) -> None:
    bound, f = FUNCTIONS[name]
    a, b, _ = two_point(lower, upper)

    def value(t):
        return mean_of(lambda u: f(u, None), a, t)

    # Golden-section search over the upper lift, unaware of the closed form of the best one. In log(t - 1), where
    # the value rises and then falls.
    low, high = mpmath.log(1 - a) - 3, mpmath.log(b - 1)
    ratio = (mpmath.sqrt(5) - 1) / 2
    low = min(low, high - 1)
    for _ in range(130):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if value(1 + mpmath.exp(left)) < value(1 + mpmath.exp(right)):
            low = left
        else:
            high = right
    best = max(value(1 + mpmath.exp(high)), value(b))
    assert bound(lower, upper).tight == pytest.approx(float(best), rel=1e-12, abs=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize(("lower", "upper"), [(0.1, 0.3), (0.3, 0.1), (0.2, 2.0), (2.0, 0.5), (1.0, 1.0), (4.0, 3.0)])
def test_tight_bounds_are_the_optimum_of_a_linear_program_over_distributions_of_the_lift(name, lower, upper) -> None:
    """Weights on a grid of lifts with total 1 and mean 1: every prior and column is such a point."""
    bound, f = FUNCTIONS[name]
    grid = np.exp(np.linspace(-lower, upper, 3001))
    cost = -np.array([float(f(t, None)) for t in grid.tolist()])
    found = linprog(cost, A_eq=np.stack([np.ones_like(grid), grid]), b_eq=[1, 1], method="highs")
    assert bound(lower, upper).tight == pytest.approx(-found.fun, rel=2e-6, abs=0)
    assert bound(lower, upper).tight >= -found.fun * (1 - 1e-9)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 7.0])
def test_order_alpha_bounds_are_the_optimum_of_a_linear_program(alpha: float) -> None:
    for lower, upper in [(0.1, 0.3), (2.0, 0.5), (1.0, 1.0)]:
        grid = np.exp(np.linspace(-lower, upper, 1001))
        for power, bound in [(alpha, bd.alpha_lift_bound), (-alpha, bd.alpha_lift_inverse_bound)]:
            found = linprog(-(grid**power), A_eq=np.stack([np.ones_like(grid), grid]), b_eq=[1, 1], method="highs")
            assert bound(lower, upper, alpha).tight == pytest.approx((-found.fun) ** (1 / alpha), rel=1e-9, abs=0)


@pytest.mark.parametrize(("size", "high"), [(2, 1), (3, 1), (3, 2), (7, 2), (12, 11)])
@pytest.mark.parametrize("a", [0.0, 0.3, 0.9])
def test_averages_reach_their_bounds_on_cyclic_joints(size: int, high: int, a: float) -> None:
    """S and Y uniform, every column with lift b on ``high`` letters and a on the others."""
    p = high / size
    b = (1 - (1 - p) * a) / p
    pmf = np.array([[b if (s - y) % size < high else a for y in range(size)] for s in range(size)]) / size**2
    joint = JointDistribution.from_matrix(pmf)
    lower, upper = (-math.log(a) if a else INF), math.log(b)
    near = {"rel": 1e-9, "abs": 1e-12}
    assert ms.mutual_information(joint) == pytest.approx(bd.mutual_information_bound(lower, upper).tight, **near)
    assert ms.total_variation(joint) == pytest.approx(bd.total_variation_bound(lower, upper).tight, **near)
    assert ms.chi2_divergence(joint) == pytest.approx(bd.chi2_bound(lower, upper).tight, **near)
    assert ms.ldp_epsilon(joint) == pytest.approx(bd.ldp_bound(lower, upper).tight)
    assert l1_lift(joint) == pytest.approx(bd.l1_lift_bound(lower, upper).tight, **near)
    for alpha in ORDERS:
        assert alpha_lift(joint, alpha) == pytest.approx(bd.alpha_lift_bound(lower, upper, alpha).tight, **near)
        bound = bd.sibson_bound(lower, upper, alpha).tight
        assert sibson(joint, alpha) == pytest.approx(bound, rel=1e-6, abs=0)
        assert ms.arimoto_information(joint, alpha) == pytest.approx(bound, rel=1e-6, abs=0)
        inverse = bd.alpha_lift_inverse_bound(lower, upper, alpha).tight
        assert alpha_lift_inverse(joint, alpha) == pytest.approx(inverse, **near)
    l1, chi2 = bd.l1_lift_inverse_bound(lower, upper).tight, bd.chi2_lift_inverse_bound(lower, upper).tight
    assert (l1_lift_inverse(joint) <= l1 * (1 + 1e-12)).all()
    assert (chi2_lift_inverse(joint) <= chi2 * (1 + 1e-12)).all()


@st.composite
def distributions(draw):
    n_s, n_y = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    cells = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-4, 1)), min_size=n_s * n_y, max_size=n_s * n_y))
    pmf = np.array(cells).reshape(n_s, n_y) + 1e-3 * np.eye(n_s, n_y, k=draw(st.integers(0, 1)))
    pmf[:, pmf.sum(axis=0) == 0] = 1.0
    pmf[pmf.sum(axis=1) == 0] = 1.0
    return JointDistribution.from_matrix(pmf / pmf.sum())


@given(distributions(), st.sampled_from(ORDERS))
def test_zds_prop_1_3_5_no_distribution_exceeds_the_tight_bounds(joint: JointDistribution, alpha: float) -> None:
    """The budget is the one the distribution just meets."""
    lower, upper = max(0.0, -min_log_lift(joint).min()), max(0.0, max_log_lift(joint).max())
    over = 1 + 1e-9
    tiny = 1e-12
    assert ms.mutual_information(joint) <= bd.mutual_information_bound(lower, upper).tight * over + tiny
    assert ms.total_variation(joint) <= bd.total_variation_bound(lower, upper).tight * over + tiny
    assert ms.chi2_divergence(joint) <= bd.chi2_bound(lower, upper).tight * over + tiny
    assert chi2_lift(joint).max() <= bd.chi2_bound(lower, upper).tight * over + tiny
    assert l1_lift(joint).max() <= bd.l1_lift_bound(lower, upper).tight * over + tiny
    assert l1_lift_inverse(joint).max() <= bd.l1_lift_inverse_bound(lower, upper).tight * over + tiny
    assert chi2_lift_inverse(joint).max() <= bd.chi2_lift_inverse_bound(lower, upper).tight * over + tiny
    assert alpha_lift(joint, alpha).max() <= bd.alpha_lift_bound(lower, upper, alpha).tight * over
    assert alpha_lift_inverse(joint, alpha).max() <= bd.alpha_lift_inverse_bound(lower, upper, alpha).tight * over
    assert sibson(joint, alpha) <= bd.sibson_bound(lower, upper, alpha).tight * over + tiny
    assert ms.arimoto_information(joint, alpha) <= bd.arimoto_bound(lower, upper, alpha).tight * over + tiny
    assert ms.ldp_epsilon(joint) <= bd.ldp_bound(lower, upper).tight * over + tiny


def test_no_channel_found_by_ascent_exceeds_the_bound_on_chi2() -> None:
    """SLSQP over joints of (S, Y) of size 3 x 3 within the lift budget: the bound is approached, never passed."""
    lower, upper = math.log(2), math.log(1.25)
    bound = bd.chi2_bound(lower, upper).tight
    rng, best = np.random.default_rng(3), 0.0

    def slack(v):
        pmf = v.reshape(3, 3)
        outer = pmf.sum(axis=1, keepdims=True) * pmf.sum(axis=0)
        return np.concatenate([(pmf - math.exp(-lower) * outer).ravel(), (math.exp(upper) * outer - pmf).ravel()])

    def chi2(v):
        pmf = v.reshape(3, 3)
        return 1 - (pmf**2 / (pmf.sum(axis=1, keepdims=True) * pmf.sum(axis=0))).sum()

    for _ in range(6):
        start = np.full(9, 1 / 9) * (1 + 0.2 * rng.standard_normal(9))
        found = minimize(
            chi2,
            start / start.sum(),
            method="SLSQP",
            bounds=[(1e-6, 1)] * 9,
            options={"maxiter": 300},
            constraints=[{"type": "ineq", "fun": slack}, {"type": "eq", "fun": lambda v: v.sum() - 1}],
        )
        if slack(found.x).min() > -1e-9:
            best = max(best, -found.fun)
    assert best <= bound + 1e-6
    assert best > 0.0625 + 1e-3  # already past the printed bound


@pytest.mark.parametrize(
    ("bound", "measure", "value", "printed"),
    [
        (bd.chi2_bound, ms.chi2_divergence, 1 / 8, 1 / 16),
        (bd.l1_lift_bound, lambda joint: l1_lift(joint).max(), 1 / 3, 1 / 4),
        (bd.total_variation_bound, ms.total_variation, 1 / 6, 1 / 8),
    ],
)
def test_printed_zds_prop_1_2_and_3_are_false_when_a_plus_b_is_below_2(bound, measure, value, printed) -> None:
    joint = JointDistribution.from_matrix(LETTERS_3)
    budget = LiftBudget(lower=math.log(2), upper=math.log(1.25))
    assert (budget.excess(joint) <= 0).all()
    found = bound(budget.lower, budget.upper)
    assert measure(joint) == pytest.approx(value)
    assert (found.tight, found.printed) == (pytest.approx(value), pytest.approx(printed))
    assert found.verdict == "false"


def test_printed_zds_prop_5_is_false_when_the_inverses_sum_to_less_than_2() -> None:
    joint = JointDistribution.from_matrix(LETTERS_6)
    found = bd.l1_lift_inverse_bound(math.log(1.25), math.log(2))
    assert l1_lift_inverse(joint) == pytest.approx(0.2916666666666667)
    assert (found.tight, found.printed, found.verdict) == (pytest.approx(7 / 24), pytest.approx(0.25), "false")
    square = bd.chi2_lift_inverse_bound(math.log(1.25), math.log(2))
    assert chi2_lift_inverse(joint) == pytest.approx(3 / 32)
    assert (square.tight, square.printed, square.verdict) == (pytest.approx(3 / 32), pytest.approx(1 / 16), "false")


@pytest.mark.parametrize(("lower", "upper"), PAIRS)
def test_the_printed_bounds_are_false_exactly_where_said(lower: float, upper: float) -> None:
    a, b, _ = two_point(lower, upper)
    if abs(float(a + b) - 2) > 1e-5:
        for bound in (bd.total_variation_bound, bd.chi2_bound, bd.l1_lift_bound):
            assert (bound(lower, upper).verdict == "false") == (a + b < 2)
    if abs(float(1 / a + 1 / b) - 2) > 1e-5:
        for bound in (bd.l1_lift_inverse_bound, bd.chi2_lift_inverse_bound):
            # With 1/a + 1/b >= 2 at t = b an inner t may still break the print; it never holds below.
            assert bound(lower, upper).verdict == "false" or 1 / a + 1 / b >= 2
    # With a below 1e-21 the print is right to every digit of a double.
    assert bd.mutual_information_bound(lower, upper).verdict == ("tight" if lower == 50 else "loose")
    for alpha in (1.5, 2.0, 100.0):
        assert bd.alpha_lift_bound(lower, upper, alpha).verdict in ("loose", "tight")
        assert bd.sibson_bound(lower, upper, alpha).verdict == "loose"
        assert bd.alpha_lift_inverse_bound(lower, upper, alpha).verdict in ("loose", "tight")
    assert bd.ldp_bound(lower, upper).verdict == "tight"


@pytest.mark.parametrize("lower", [0.0, *ENDS])
@pytest.mark.parametrize("upper", [0.0, *ENDS])
def test_what_the_paper_prints_and_nothing_leaks_where_a_side_is_0(lower: float, upper: float) -> None:
    rise, fall = mpmath.expm1(upper), mpmath.expm1(lower)
    found = {
        bd.mutual_information_bound(lower, upper): (upper, 0),
        bd.total_variation_bound(lower, upper): (rise / 2, 0),
        bd.chi2_bound(lower, upper): (rise**2, 0),
        bd.ldp_bound(lower, upper): (lower + upper, 0),
        bd.l1_lift_bound(lower, upper): (rise, 0),
        bd.l1_lift_inverse_bound(lower, upper): (fall, 0),
        bd.chi2_lift_inverse_bound(lower, upper): (fall**2, 0),
    }
    for alpha in (1.5, 2.0, 100.0):
        found[bd.sibson_bound(lower, upper, alpha)] = (upper * alpha / (alpha - 1), 0)
        found[bd.alpha_lift_bound(lower, upper, alpha)] = (mpmath.exp(upper), 1)
        found[bd.alpha_lift_inverse_bound(lower, upper, alpha)] = (mpmath.exp(lower), 1)
    for bound, (printed, nothing) in found.items():
        assert bound.printed == pytest.approx(float(printed), rel=1e-13, abs=0)
        if min(lower, upper) == 0:
            assert bound.tight == nothing


ALL = (
    *(function for function, _ in FUNCTIONS.values()),
    bd.ldp_bound,
    lambda lower, upper: bd.alpha_lift_bound(lower, upper, 2),
    lambda lower, upper: bd.sibson_bound(lower, upper, 2),
    lambda lower, upper: bd.alpha_lift_inverse_bound(lower, upper, 2),
)


@pytest.mark.parametrize("bound", ALL)
def test_bounds_grow_with_the_budget_and_end_at_no_leakage(bound) -> None:
    for other in (1e-6, 0.4, 3.0, INF):
        values = [bound(lower, other).tight for lower in (0.0, *ENDS, INF)]
        assert all(x <= y * (1 + 1e-12) for x, y in pairwise(values))
        values = [bound(other, upper).tight for upper in (0.0, *ENDS, INF)]
        assert all(x <= y * (1 + 1e-12) for x, y in pairwise(values))
        nothing = bound(0.0, 0.0).tight
        assert bound(0.0, other).tight == bound(other, 0.0).tight == nothing
        assert nothing in (0.0, 1.0)


@pytest.mark.parametrize("a", [0.6, 0.7, 0.9])
def test_the_inverse_chi2_without_an_upper_bound_is_that_of_the_best_two_points(a: float) -> None:
    t = np.linspace(1, 50, 500_001)
    found = bd.chi2_lift_inverse_bound(-math.log(a), math.inf).tight
    assert found == pytest.approx(((1 - a) * (t - 1) * (a + (1 - a) * t) / (a * t) ** 2).max(), rel=1e-8)


def test_infinite_budgets_keep_what_is_finite() -> None:
    assert bd.total_variation_bound(INF, INF).tight == 1.0
    assert bd.total_variation_bound(math.log(2), INF).tight == pytest.approx(0.5)
    assert bd.mutual_information_bound(INF, 1.0).tight == pytest.approx(1.0)
    assert bd.chi2_bound(INF, 1.0).tight == pytest.approx(math.e - 1)
    assert bd.l1_lift_inverse_bound(math.log(4), INF).tight == pytest.approx(3.0)
    assert bd.chi2_lift_inverse_bound(math.log(4), INF).tight == pytest.approx(9.0)
    assert bd.alpha_lift_inverse_bound(INF, 1.0, 2).tight == INF
    assert bd.sibson_bound(2.0, 1.0, INF).tight == 1.0
    assert bd.sibson_bound(INF, 800.0, 1).tight == pytest.approx(800.0)
    assert bd.sibson_bound(INF, 2000.0, 3).tight == pytest.approx(2000.0)
    assert bd.sibson_bound(1.0, 800.0, 1).tight == pytest.approx(800 * (1 - math.exp(-1)) - math.exp(-1))
    assert bd.sibson_bound(1.0, 2000.0, 3).tight == pytest.approx(2000 + math.log(1 - math.exp(-1)) / 2)
    assert bd.sibson_bound(1.0, 800.0, 1.05).tight == pytest.approx(
        float(mpmath.log(_power_mean(1.0, 800.0, 1.05)) / (mpmath.mpf(1.05) - 1)),
        rel=1e-11,
    )


def _power_mean(lower: float, upper: float, alpha: float):
    a, b, p = two_point(lower, upper)
    return p * b ** mpmath.mpf(alpha) + (1 - p) * a ** mpmath.mpf(alpha)


# --- converses -----------------------------------------------------------------------------------------------

SHARES = (1e-6, 0.01, 0.3, 0.5, 0.9)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("top", [1 + 1e-6, 1.5, 3.0, 1e4])
def test_converses_for_the_max_lift_are_attained_by_the_two_letter_distribution(share: float, top: float) -> None:
    """One letter with lift x, the rest with one common lift: its measure as budget gives x back."""
    x = min(top, 1 / share)
    lifts, p_s = np.array([[x], [max((1 - share * x) / (1 - share), 0.0)]]), np.array([share, 1 - share])
    assert bd.max_lift_from_l1(l1_deviation(lifts, p_s)[0], share).tight == pytest.approx(x, rel=1e-9, abs=0)
    assert bd.max_lift_from_chi2(chi2_deviation(lifts, p_s)[0], share).tight == pytest.approx(x, rel=1e-9, abs=0)
    for alpha in (1.5, 2.0, 50.0):
        value = max(1.0, float(alpha_norm(lifts, p_s, alpha)[0]))
        if value - 1 > 1e-10:
            assert bd.max_lift_from_alpha(value, share, alpha).tight == pytest.approx(x, rel=1e-4, abs=0)
        if value - 1 > 1e-3:
            assert bd.max_lift_from_alpha(value, share, alpha).tight == pytest.approx(x, rel=1e-9, abs=0)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("low", [1e-6, 0.2, 0.9])
def test_converses_for_the_min_lift_are_attained_or_approached(share: float, low: float) -> None:
    rest = (1 - share * low) / (1 - share)
    lifts, p_s = np.array([[low], [rest]]), np.array([share, 1 - share])
    for alpha in (1.0, 1.5, 2.0, 50.0):
        value = max(1.0, float(alpha_norm(1 / lifts, p_s, alpha)[0]))
        if value - 1 > 1e-3:
            assert bd.min_lift_from_alpha_inverse(value, share, alpha).tight == pytest.approx(low, rel=1e-9, abs=0)
    crumb = 1e-9 * (1 - share)  # a third letter of vanishing share takes up the rest at a huge lift
    lifts = np.array([[low], [1.0], [1 + share * (1 - low) / crumb]])
    p_s = np.array([share, 1 - share - crumb, crumb])
    assert p_s @ lifts[:, 0] == pytest.approx(1)
    assert bd.min_lift_from_l1_inverse(l1_deviation(1 / lifts, p_s)[0], share).tight == pytest.approx(
        low, rel=1e-2, abs=0
    )
    assert bd.min_lift_from_chi2_inverse(chi2_deviation(1 / lifts, p_s)[0], share).tight == pytest.approx(
        low, rel=1e-2, abs=0
    )


@given(distributions(), st.sampled_from([1.0, 1 + 1e-9, 1.5, 2.0, 100.0, INF]))
def test_zds_prop_4_and_6_hold_tight_and_printed(joint: JointDistribution, alpha: float) -> None:
    lifts, share = lift(joint), float(joint.p_s.min())
    top, low = lifts.max(), lifts.min()
    upper = [
        bd.max_lift_from_l1(l1_lift(joint).max(), share),
        bd.max_lift_from_chi2(chi2_lift(joint).max(), share),
        bd.max_lift_from_alpha(max(1.0, alpha_lift(joint, alpha).max()), share, alpha),
    ]
    lower = [
        bd.min_lift_from_l1_inverse(l1_lift_inverse(joint).max(), share),
        bd.min_lift_from_chi2_inverse(chi2_lift_inverse(joint).max(), share),
        bd.min_lift_from_alpha_inverse(max(1.0, alpha_lift_inverse(joint, alpha).max()), share, alpha),
    ]
    slack = 1e-6 if alpha in (1 + 1e-9,) else 1e-7
    for bound in upper:
        assert top <= bound.tight * (1 + slack) + (1e-3 if alpha == 1 + 1e-9 else 0)
        assert bound.verdict in ("tight", "loose")
    for bound in lower:
        assert low >= bound.tight * (1 - slack) - 1e-12
        assert bound.verdict in ("tight", "loose")


def test_a_single_letter_has_lift_1() -> None:
    at_infinity = bd.min_lift_from_alpha_inverse(1.25, 1, math.inf)
    assert (at_infinity.tight, at_infinity.printed) == (1, 0.8)
    assert bd.max_lift_from_l1(0.5, 1).tight == bd.max_lift_from_chi2(0.5, 1).tight == 1
    assert bd.max_lift_from_alpha(1.5, 1, 2).tight == bd.min_lift_from_alpha_inverse(1.5, 1, 2).tight == 1
    assert bd.min_lift_from_l1_inverse(0.5, 1).tight == bd.min_lift_from_chi2_inverse(0.5, 1).tight == 1
    assert bd.max_lift_from_alpha(1.5, 0.25, INF).tight == 1.5
    assert bd.max_lift_from_alpha(1.5, 0.25, 1).tight == 4
    assert bd.max_lift_from_alpha(3.99, 0.25, 5000.0).tight == pytest.approx(3.99, rel=1e-3, abs=0)
    assert bd.min_lift_from_alpha_inverse(1.5, 0.25, INF).tight == pytest.approx(1 / 1.5)
    assert bd.min_lift_from_alpha_inverse(INF, 0.25, 2).tight == 0


@pytest.mark.parametrize("share", SHARES)
def test_no_lift_exceeds_one_over_the_share(share: float) -> None:
    """P(s|y) <= 1, whatever the budget."""
    for bound in (10 / share, 1e30):
        assert bd.max_lift_from_l1(bound, share).tight == 1 / share
        assert bd.max_lift_from_chi2(bound, share).tight == 1 / share
        assert bd.max_lift_from_alpha(bound, share, 2.0).tight == 1 / share
    # The α-lift of the letter alone is P**(1/α - 1): the cap binds from there on.
    assert bd.max_lift_from_alpha(1.001 * share**-0.5, share, 2.0).tight == 1 / share


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("bound", [1.0, 1.25, 7.0])
def test_converses_as_the_paper_prints_them(share: float, bound: float) -> None:
    assert bd.max_lift_from_l1(bound, share).printed == pytest.approx(1 + bound / share, rel=1e-13)
    assert bd.max_lift_from_chi2(bound, share).printed == pytest.approx(1 + math.sqrt(bound / share), rel=1e-13)
    assert bd.min_lift_from_l1_inverse(bound, share).printed == pytest.approx(share / (bound + share), rel=1e-13)
    root = math.sqrt(share)
    assert bd.min_lift_from_chi2_inverse(bound, share).printed == pytest.approx(root / (math.sqrt(bound) + root))
    for alpha in (1.0, 1.5, 2.0, 50.0):
        assert bd.max_lift_from_alpha(bound, share, alpha).printed == pytest.approx(bound / share ** (1 / alpha))
        assert bd.min_lift_from_alpha_inverse(bound, share, alpha).printed == pytest.approx(
            share ** (1 / alpha) / bound
        )


# --- arguments -----------------------------------------------------------------------------------------------

BAD = (-1.0, -1e-12, math.nan, -INF, "1", None, True)


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("bound", ALL)
def test_bad_bounds_name_the_parameter_and_the_range(bound, value) -> None:
    with pytest.raises(InvalidParameter, match=r"lower must .*from 0 to inf"):
        bound(value, 1.0)
    with pytest.raises(InvalidParameter, match=r"upper must .*from 0 to inf"):
        bound(1.0, value)


@pytest.mark.parametrize("alpha", [0.999, -1.0, math.nan, "2"])
def test_bad_orders_name_the_range(alpha) -> None:
    for call in (
        lambda: bd.sibson_bound(1, 1, alpha),
        lambda: bd.alpha_lift_bound(1, 1, alpha),
        lambda: bd.arimoto_bound(1, 1, alpha),
        lambda: bd.alpha_lift_inverse_bound(1, 1, alpha),
        lambda: bd.max_lift_from_alpha(1.5, 0.5, alpha),
        lambda: bd.min_lift_from_alpha_inverse(1.5, 0.5, alpha),
    ):
        with pytest.raises(InvalidParameter, match=r"alpha must .*from 1 to inf"):
            call()


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, math.nan, None])
@pytest.mark.parametrize(
    "converse",
    [
        bd.max_lift_from_l1,
        bd.max_lift_from_chi2,
        lambda b, p: bd.max_lift_from_alpha(b, p, 2),
        bd.min_lift_from_l1_inverse,
        bd.min_lift_from_chi2_inverse,
        lambda b, p: bd.min_lift_from_alpha_inverse(b, p, 2),
    ],
)
def test_bad_shares_and_measures_are_refused(converse, share) -> None:
    with pytest.raises(InvalidParameter, match=r"share must"):
        converse(1.5, share)
    with pytest.raises(InvalidParameter, match=r"bound must"):
        converse(-0.5, 0.5)
    with pytest.raises(InvalidParameter, match=r"bound must"):
        converse(math.nan, 0.5)


def test_implied_bounds_know_lift_and_ldp_budgets_only() -> None:
    assert bd.implied_bounds(None) == bd.implied_bounds(AlphaLiftBudget(2, lower=1.0, upper=1.0)) == {}
    assert bd.implied_bounds(LDPBudget(0.7)) == {"ldp_sensitive": 0.7, "max_log_lift": 0.7, "min_log_lift": -0.7}
    assert set(bd.implied_bounds(LiftBudget(lower=1.0, upper=INF))) == {"max_log_lift", "min_log_lift", "ldp_sensitive"}
    limits = bd.implied_bounds(LiftBudget(lower=1.5, upper=0.5))
    assert limits["sibson_2"] == limits["arimoto_2"] == bd.sibson_bound(1.5, 0.5, 2).tight
    assert limits["chi2_lift"] == limits["chi2_divergence"] == bd.chi2_bound(1.5, 0.5).tight
    assert limits["l1_lift"] == 2 * limits["total_variation"]


EXTREMES = (0, 5e-324, 1e-300, 1e-16, 1, 700, 710, 745, 1e300, INF)


@pytest.mark.parametrize("bound", ALL)
def test_extreme_budgets_give_numbers(bound) -> None:
    values = np.array([[bound(lower, upper).tight for upper in EXTREMES] for lower in EXTREMES])
    assert (values >= 0).all()


@pytest.mark.parametrize("share", [1e-300, 1e-16, 0.5, 1 - 2**-53, 1])
def test_extreme_converses_give_numbers(share: float) -> None:
    for bound in (1 + 2**-52, 2.0, 1e300, INF):
        for alpha in (1, 1 + 2**-52, 2, 1e6, 1e300, INF):
            assert bd.max_lift_from_alpha(bound, share, alpha).tight >= 1
            assert 0 <= bd.min_lift_from_alpha_inverse(bound, share, alpha).tight <= 1
