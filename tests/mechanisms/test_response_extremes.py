"""Random responses at the edges: budgets near 0, no bound on the min-lift, tiny probabilities, little effort."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sanitize as sz
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import solve_optimal_random_response
from sanitize.mechanisms._response_solver.mixture import RandomResponse, looser, tighter

NATS = (0.0, 1e-7, 0.3, 50.0, math.inf)
FAMILIES = {
    "symmetric": sz.LiftBudget.symmetric,
    "lower": lambda eps: sz.LiftBudget(lower=eps, upper=0.3),
    "ldp": sz.LDPBudget,
}
GAP = 1e-7
EFFORT = 2e6  # a fraction of a second a design


def kinds(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Thirteen kinds of cells."""
    n_x, n_s = int(rng.integers(3, 8)), int(rng.integers(2, 5))
    cells = rng.random((n_s, n_x)) + 1e-3
    line = np.outer(rng.random(n_s) + 0.1, rng.random(n_x) + 0.1)
    return {
        "uniform": cells,
        "zeros": cells * (rng.random((n_s, n_x)) > 0.3),
        "determined": cells * (np.arange(n_s)[:, None] == rng.integers(0, n_s, n_x)),
        "skew": cells * 10.0 ** -rng.uniform(0, 4, n_x),
        "tiny symbols": cells * np.where(rng.random(n_x) < 0.4, 1e-12, 1.0),
        "tiny cells": np.where(rng.random((n_s, n_x)) < 0.3, 1e-12, cells),
        "equal symbols": np.concatenate([cells, cells], axis=1),
        "equal secrets": np.concatenate([cells, cells]),
        "independent": line,
        "nearly independent": line * (1 + 1e-9 * cells),
        "counts": rng.integers(0, 4, (n_s, n_x)).astype(float),
        "rare secret": cells * np.where(np.arange(n_s) == 0, 1e-9, 1.0)[:, None],
        "wide": rng.random((3, 14)),
    }


def probabilities(cells: np.ndarray) -> JointDistribution:
    cells = cells[:, cells.sum(axis=0) > 0]
    cells = cells[cells.sum(axis=1) > 0]
    return JointDistribution.from_matrix(cells / cells.sum())


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds(np.random.default_rng(0)))
def test_a_looser_budget_keeps_at_least_as_much(kind):
    """[ZDS §III-A2] Every channel within a budget is within all looser ones; optima are found to the gap."""
    joint = probabilities(kinds(np.random.default_rng([7, len(kind)]))[kind])
    for name, family in FAMILIES.items():
        found = [solve_optimal_random_response(joint, family(eps), gap=GAP, effort=EFFORT) for eps in NATS]
        kept = np.array([response.utility for response in found])
        proved = np.array([response.status == "optimal" for response in found])
        assert (kept >= np.maximum.accumulate(kept) - 3 * GAP)[proved].all(), (name, kept)
        assert proved.sum() >= 2
        # No bound is below what a tighter budget is known to keep.
        assert all(a.utility <= b.bound + 1e-9 for i, a in enumerate(found) for b in found[i:])
        for eps, response in zip(NATS, found, strict=True):
            assert family(eps).excess(joint.push(response.channel)).max() <= 0


@pytest.mark.parametrize("eps", [1e-7, 1e-9, 0.0])
def test_a_budget_near_zero_is_an_equality(eps):
    """Cholesterol and blood pressure given heart disease: what the null space keeps is kept at every small budget."""
    df = sz.datasets.load_framingham()
    joint = JointDistribution.from_frame(df, sensitive=["heart_disease"], public=["cholesterol", "blood_pressure"])
    response = solve_optimal_random_response(joint, eps)
    assert response.normalized_utility == pytest.approx(0.8144, abs=1e-4)
    assert response.gap < 1e-5
    assert sz.LiftBudget.symmetric(eps).excess(joint.push(response.channel)).max() <= 0


def test_tiny_symbols_do_not_make_a_response_keep_nothing():
    cells = np.random.default_rng(0).random((3, 8))
    cells[:, [1, 4, 6]] *= 1e-12
    joint = probabilities(cells)
    nothing = solve_optimal_random_response(joint, 0.0)
    for eps in (1e-6, 1e-4):
        response = solve_optimal_random_response(joint, eps, effort=EFFORT)
        assert response.utility >= nothing.utility - 3 * GAP
        assert response.gap < 0.5


@pytest.mark.slow
def test_little_effort_ends_early_and_says_so():
    joint = probabilities(np.random.default_rng(3).random((3, 70)))
    full, some, little = (solve_optimal_random_response(joint, 0.4, effort=e) for e in (None, 1e6, 1))
    assert full.status == "optimal"
    assert full.optimality.words == "optimal"
    for early in (some, little):
        assert early.status == "effort"
        assert early.optimality.words.startswith("cut short, within ")
        assert early.utility <= full.utility + GAP
        assert early.bound >= full.utility - 1e-12
    assert little.utility <= some.utility
    merged = sz.core.measures.utility(joint, sz.subset_merging(joint, 0.4))
    assert little.utility >= merged - 1e-9


@pytest.mark.slow
def test_the_same_effort_gives_the_same_channel():
    joint = probabilities(np.random.default_rng(4).random((3, 70)))
    for mechanism in (sz.optimal_random_response, sz.subset_random_response):
        first, second = (mechanism(joint, 0.3, effort=1e6).to_json() for _ in range(2))
        assert first == second


def test_words_of_a_gap_are_rounded_up():
    channel = sz.Channel.identity(2)
    for gap in (0.12345, 3.4e-6, 0.9999):
        words = RandomResponse(channel, 0.0, 0.0, gap, gap, 1, "stalled").optimality.words
        assert gap <= float(words.split()[1]) <= 1.02 * gap


@pytest.mark.parametrize(
    "budget",
    [
        sz.LiftBudget(lower=0.5, upper=0.2),
        sz.LiftBudget(lower=math.inf, upper=0.2),
        sz.LiftBudget(lower=0, upper=1),
        sz.LDPBudget(math.inf),
    ],
)
def test_nearby_budgets_are_ordered(budget):
    distribution = probabilities(np.random.default_rng(5).random((3, 6)))
    excess = budget.excess(distribution)
    assert all((other.excess(distribution) >= excess - 1e-12).all() for other in tighter(budget))
    assert all((other.excess(distribution) <= excess + 1e-12).all() for other in looser(budget))


@pytest.mark.parametrize("mechanism", [sz.optimal_random_response, sz.subset_random_response])
@pytest.mark.parametrize("value", [0, -1, math.nan, "1", True])
def test_effort_must_be_a_number_of_units(mechanism, value):
    with pytest.raises(InvalidParameter, match="effort must be a number of units of work >= 1, got"):
        mechanism(probabilities(np.random.default_rng(6).random((2, 5))), 0.1, effort=value)
