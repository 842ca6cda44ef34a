"""Figures that others rely on are rounded to the side that promises less, and hostile arguments get one line."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from sanitize.core import conversions as cv
from sanitize.errors import InvalidChannel, InvalidDistribution, InvalidParameter
from sanitize.theory import tradeoff as td
from sanitize.theory.notions import approximate_dp, global_dp
from sanitize.theory.tradeoff._tradeoff import least_argument

mpmath.mp.dps = 60
HUGE = 10**400


def test_a_converted_level_is_never_below_the_true_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        level = float(10 ** rng.uniform(-8, 1.8))
        delta = float(rng.choice([0.0, 10 ** rng.uniform(-15, 0), rng.random()]))
        target = float(rng.choice([1 - 10 ** rng.uniform(-15, 0), delta + (1 - delta) * 10 ** rng.uniform(-12, 0)]))
        if not delta < target < 1:
            continue
        grown = (1 - mpmath.mpf(target)) / (1 - mpmath.mpf(delta)) * (mpmath.exp(mpmath.mpf(level)) + 1) - 1
        exact = max(mpmath.mpf(0), mpmath.log(grown)) if grown > 0 else mpmath.mpf(0)
        found = cv.approximate_dp_epsilon(level, delta, target)
        assert exact <= found <= exact + 2e-14 * level


def test_a_converted_level_beside_delta_1_keeps_its_digits() -> None:
    exact = mpmath.log((1 - mpmath.mpf(1 - 1e-12)) / (1 - mpmath.mpf(1e-6)) * (mpmath.exp(60) + 1) - 1)
    assert exact <= cv.approximate_dp_epsilon(60, 1e-6, 1 - 1e-12) <= exact * (1 + 2e-14)


def test_a_converted_delta_is_never_below_the_true_one() -> None:
    rng = np.random.default_rng(2)
    for _ in range(2000):
        level = float(10 ** rng.uniform(-8, 1.8))
        delta, lower = float(rng.choice([0.0, 10 ** rng.uniform(-15, 0)])), level * rng.random()
        exact = 1 - (mpmath.exp(mpmath.mpf(lower)) + 1) * (1 - mpmath.mpf(delta)) / (mpmath.exp(mpmath.mpf(level)) + 1)
        found = cv.approximate_dp_delta(level, delta, lower)
        assert exact <= found or found == 1
        assert found <= exact + 4e-15 * min(abs(exact), 1) + 3e-16


@pytest.mark.parametrize("level", [1e-9, 1e-3, 0.099, 0.1, 0.129, 0.13544046270265528, 1.0, 30.0])
def test_bounds_on_divergence_and_information_are_never_below_the_true_ones(level: float) -> None:
    e = mpmath.mpf(level)
    assert cv.kl_from_dp(level).tight >= e * mpmath.tanh(e / 2) or level == 30.0  # there it is ε itself
    z = e * mpmath.exp(e) / mpmath.expm1(e)
    assert cv.mutual_information_from_dp(level) >= z - 1 - mpmath.log(z)
    pinsker = min(mpmath.sqrt(e / 2), mpmath.sqrt(-mpmath.expm1(-e)))
    assert cv.total_variation_from_kl(level) >= pinsker or cv.total_variation_from_kl(level) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: td.OptimalDP([0.5, 0.5], np.eye(2)).at_level(HUGE),
        lambda: td.OptimalDP([0.5, 0.5], [[HUGE, 0], [0, 1]]),
        lambda: td.OptimalDP([HUGE, 0], np.eye(2)),
        lambda: td.OptimalDP([1e308, 1e308], np.eye(2)),
        lambda: td.OptimalDP([], np.eye(2)),
        lambda: td.OptimalDP(np.zeros((0, 2)), np.eye(2)),
        lambda: td.OptimalDP([0.5, 0.5], np.eye(2), neighbours=[[0, 1], [1]]),
        lambda: td.PriorMaximalLeakage([]),
        lambda: td.PriorMaximalLeakage(np.zeros((0, 2))),
        lambda: td.UniformDP(HUGE, 2),
        lambda: td.UniformSibson(2, HUGE, math.inf),
        lambda: cv.approximate_dp_delta(HUGE, 0.0, 1.0),
        lambda: cv.mutual_information_from_total_variation(0.1, HUGE, 2),
        lambda: approximate_dp([[0.5, 0.5], [0.5, 0.5]], eps=HUGE),
        lambda: approximate_dp([[0.5, 0.5], [0.5, 0.5]], delta=HUGE),
        lambda: global_dp([[1e308, 1e308], [0.5, 0.5]], 1, 2),
        lambda: global_dp([[HUGE, 0], [0, 1]], 1, 2),
    ],
)
def test_hostile_arguments_get_one_short_line(call) -> None:
    with pytest.raises((InvalidParameter, InvalidDistribution, InvalidChannel)) as caught:
        call()
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


def test_distances_at_the_ends_of_doubles_are_taken() -> None:
    d = 1e308 * (1 - np.eye(2))
    found = td.OptimalDP([0.5, 0.5], d).at_level(1.0)
    assert found.distortion / 1e308 == pytest.approx(td.UniformDP(1, 2).distortion(1.0))
    tiny = td.OptimalDP([0.5, 0.5], 1e-300 * (1 - np.eye(2))).at_level(1.0)
    assert tiny.distortion / 1e-300 == pytest.approx(td.UniformDP(1, 2).distortion(1.0))


def test_the_least_level_is_not_below_the_optimum_and_its_channel_has_it() -> None:
    prior, d = [0.5, 0.3, 0.2], 1 - np.eye(3)
    for distortion in (1e-12, 1e-9, 1e-6, 1e-3, 0.2, 0.4999):
        found = td.OptimalDP(prior, d).at_distortion(distortion)
        exact = td.PriorDP(prior).privacy(distortion)
        assert exact - 1e-11 <= found.privacy <= exact + 1e-8
        assert found.distortion <= distortion * (1 + 1e-9)
        assert global_dp(found.matrix, 1, 3) <= found.privacy
        assert math.isfinite(found.privacy)


@pytest.mark.parametrize("jump", [0.3, 2.345, 40.0])
@pytest.mark.parametrize(("before", "after"), [(None, 0.0), (None, 1e-9), (1.0, 0.0), (1.0, 1e-9)])
def test_the_least_level_of_a_design_that_jumps(jump: float, before: float | None, after: float) -> None:
    """Only halving finds a jump, before which there is no channel or a costly one."""
    asked = []

    def design(level: float) -> td.OptimalChannel | None:
        asked.append(level)
        if level < jump and before is None:
            return None
        return td.OptimalChannel(level, before if level < jump else after, np.eye(2))

    found = least_argument(design, lambda one: one.distortion, 0.1)
    assert jump <= found.privacy <= jump * (1 + 1e-8)
    assert len(asked) < 100


def least_distortion_with_events(eps: float, prior: np.ndarray, d: np.ndarray, delta: float) -> float:
    """The linear program with a variable for what each row has beyond e**ε times another, output by output."""
    n_x, n_y = d.shape
    pairs = [(i, j) for i in range(n_x) for j in range(n_x) if i != j]
    n, beyond = n_x * n_y, len(pairs) * n_y
    ratios, events = np.zeros((beyond, n + beyond)), np.zeros((len(pairs), n + beyond))
    for k, (i, j) in enumerate(pairs):
        for y in range(n_y):
            row = k * n_y + y
            ratios[row, [i * n_y + y, j * n_y + y, n + row]] = 1, -math.exp(eps), -1
            events[k, n + row] = 1
    rows = np.hstack([np.kron(np.eye(n_x), np.ones(n_y)), np.zeros((n_x, beyond))])
    limits = np.concatenate([np.zeros(beyond), np.full(len(pairs), delta)])
    cost = np.concatenate([(prior[:, None] * d).ravel(), np.zeros(beyond)])
    return linprog(cost, A_ub=np.vstack([ratios, events]), b_ub=limits, A_eq=rows, b_eq=np.ones(n_x)).fun


@pytest.mark.parametrize(
    ("seed", "eps", "delta", "m"),
    [(0, 0.7, 0.1, 3), (1, 0.7, 0.01, 4), (3, 0.3, 0.05, 4), (3, 1.0, 0.2, 5), (6, 2.0, 0.1, 4), (8, 2.0, 0.02, 5)],
)
def test_with_a_delta_any_distances_are_met_at_the_optimum_of_the_program_of_events(seed, eps, delta, m) -> None:
    """The last four are below what δ of a private channel's mass, given to its likeliest outputs, reaches."""
    rng = np.random.default_rng(seed)
    prior, d = rng.dirichlet(np.ones(m)), rng.random((m, m)) * (1 - np.eye(m))
    found = td.OptimalDP(prior, d, delta).at_level(eps)
    best = least_distortion_with_events(eps, prior, d, delta)
    assert best - 1e-9 <= found.distortion <= best + 1e-6
    assert found.privacy <= eps
    gap = found.matrix[:, None] - math.exp(eps) * found.matrix[None]
    assert np.maximum(gap, 0).sum(axis=2).max() <= delta + 1e-12


def test_information_meets_the_closed_form_where_an_output_is_given_up() -> None:
    prior, d = [0.5, 0.3, 0.2], 1 - np.eye(3)
    for distortion in (0.399999, 0.4):
        found = td.OptimalSibson(prior, d, 1).at_distortion(distortion)
        assert found.privacy == pytest.approx(td.DatabaseMutualInformation(prior).privacy(distortion), abs=1e-9)
        assert found.distortion <= distortion
