"""Random responses under a mean over the worst mass: within it as measured, and near the best over all thresholds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import entr

import sanitize as sz
from sanitize.core.budgets import CVaRLiftBudget, PMLEnvelopeBudget
from sanitize.core.budgets._capacity import tail_means, worst_threshold
from sanitize.core.lifts import lift
from sanitize.errors import InvalidBudget
from sanitize.mechanisms import tail_merging, tail_random_response


@pytest.mark.slow
@settings(max_examples=15)
@given(strategies.joints(max_s=3, max_x=6), st.floats(0.0, 1.5), st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0]))
def test_the_release_is_within_the_budget_and_keeps_no_less_than_merging(joint, upper, delta):
    budget = CVaRLiftBudget(upper, delta)
    channel = tail_random_response(joint, budget)
    report = sz.LeakageReport.measure(joint, channel, budget)
    assert report.ok is not report.protects_nothing
    merged = tail_merging(joint, budget)
    assert sz.core.measures.utility(joint, channel) >= sz.core.measures.utility(joint, merged) - 1e-6


@given(strategies.joints(), st.sampled_from([1e-9, 0.05, 0.3, 0.9]))
def test_the_mean_is_least_at_the_threshold(joint, delta):
    """t + E max(l - t, 0)/δ: no t among the lifts, nor between them, has less, and there it is the mean."""
    lifts = lift(joint)
    found, means = worst_threshold(lifts.T, joint.p_x, delta), tail_means(lifts, joint.p_x, delta)
    for row, t, mean in zip(lifts, found, means, strict=True):

        def value(t, row=row):
            return t + joint.p_x @ np.maximum(row - t, 0) / delta

        assert value(t) == pytest.approx(mean, rel=1e-6)
        assert value(t) <= min(value(other) for other in [*row, *(row / 2), row.max() + 1]) + 1e-7


def crossings(sides):
    """Vertices of the simplex cut by planes sides @ v = 0, by solving every square system of facets."""
    n_s, n = sides.shape
    facets = np.concatenate([np.eye(n), sides])
    found = []
    for chosen in itertools.combinations(range(n + n_s), n - 1):
        system = np.concatenate([np.ones((1, n)), facets[list(chosen)]])
        if abs(np.linalg.det(system)) > 1e-12:
            v = np.linalg.solve(system, np.eye(n)[0])
            if v.min() > -1e-12:
                found.append(np.maximum(v, 0))
    return np.array(found)


def kept(joint, budget, thresholds):
    """The most that is kept for given thresholds: a program over all crossings."""
    lifts, b = lift(joint), math.exp(budget.upper)
    points = crossings(joint.pmf / joint.p_s[:, None] / joint.p_x - thresholds[:, None])
    above = np.maximum(points @ (joint.pmf / joint.p_s[:, None] / joint.p_x).T - thresholds, 0)
    found = linprog(
        entr(points).sum(axis=1),
        A_eq=points.T,
        b_eq=joint.p_x,
        A_ub=above.T,
        b_ub=budget.delta * (b - thresholds),
    )
    assert lifts.shape[0] == len(thresholds)
    return float(entr(joint.p_x).sum() - found.fun) if found.success else 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "upper", "delta"), [(0, 0.1, 0.5), (3, 0.1, 0.5), (3, 0.2, 0.1), (4, 0.1, 0.2)])
def test_it_is_near_the_best_over_a_grid_of_thresholds(seed, upper, delta):
    """Two sensitive symbols, five public ones: 15 x 15 thresholds, with vertices from all systems of equations."""
    joint, budget = sz.datasets.make_joint(5, 2, random_state=seed), CVaRLiftBudget(upper, delta)
    grid = np.linspace(0.8, math.exp(upper), 15)
    best = max(kept(joint, budget, np.array(t)) for t in itertools.product(grid, repeat=2))
    ours = sz.core.measures.utility(joint, tail_random_response(joint, budget))
    assert ours >= best - 0.003
    hard = sz.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=upper))
    assert ours >= sz.core.measures.utility(joint, hard) - 1e-6


@pytest.mark.slow
def test_a_mean_leaves_more_than_a_bound_on_every_lift():
    """17 x 5, δ = 0.2: it keeps 0.01 of H(X) more, and 0.02 more than merging."""
    joint, budget = sz.datasets.make_joint(17, 5, random_state=0), CVaRLiftBudget(0.4, 0.2)
    channel = sz.optimal_random_response(joint, budget)
    shares = [
        sz.normalized_utility(joint, one)
        for one in (
            channel,
            sz.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=0.4)),
            tail_merging(joint, budget),
        )
    ]
    assert sz.LeakageReport.measure(joint, channel, budget).ok
    assert shares[0] > shares[1] + 0.01
    assert shares[0] > shares[2] + 0.02


@pytest.mark.parametrize("seed", [0, 3])
def test_all_secrets_together_leave_less_than_each_and_more_than_a_bound_on_every_lift(seed):
    joint, budget = sz.datasets.make_joint(6, 3, random_state=seed), PMLEnvelopeBudget(0.3, 0.2)
    hard = sz.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=0.3))
    each = tail_random_response(joint, CVaRLiftBudget(0.3, 0.2))
    assert budget.excess(joint.push(each)).max() > 0
    for design in (tail_merging, tail_random_response):
        channel = design(joint, budget)
        released = joint.push(channel)
        assert sz.core.lifts.pml_envelope(released, 0.3 + 1e-9) <= 0.2 + 1e-9
        assert sz.LeakageReport.measure(joint, channel, budget).ok
    kept = [sz.normalized_utility(joint, one) for one in (hard, channel, each)]
    assert kept[0] + 0.002 < kept[1] < kept[2]


def _function_of_six():
    matrix = np.zeros((6, 2))
    matrix[np.arange(6), [0, 0, 0, 1, 1, 1]] = [0.05, 0.1, 0.15, 0.2, 0.2, 0.3]
    return sz.JointDistribution.from_matrix(matrix)


@pytest.mark.parametrize("kind", [CVaRLiftBudget, PMLEnvelopeBudget])
@pytest.mark.parametrize(
    "joint",
    [_function_of_six(), sz.datasets.make_joint(10, 8, random_state=0), sz.datasets.make_joint(21, 2, random_state=0)],
    ids=["X a function of S", "too many secrets to list cells", "too many symbols to list cells"],
)
@pytest.mark.parametrize(("share", "delta"), [(0.5, 0.0), (0.3, 0.1)])
def test_no_less_is_kept_than_with_every_lift_within_the_bound(kind, joint, share, delta):
    """Lifts on the bound are within the budget; the search once took thresholds below them and kept half as much."""
    upper = share * float(sz.core.lifts.max_log_lift(joint).max())
    hard = sz.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=upper))
    budget = kind(upper, delta)
    assert budget.excess(joint.push(hard)).max() <= 0
    channel = sz.optimal_random_response(joint, budget)
    assert budget.excess(joint.push(channel)).max() <= 0
    assert sz.core.measures.utility(joint, channel) >= sz.core.measures.utility(joint, hard) - 1e-9


@pytest.mark.parametrize("kind", [CVaRLiftBudget, PMLEnvelopeBudget])
def test_where_no_vertices_are_listed_it_keeps_no_less_than_merging(kind):
    joint, budget = sz.datasets.make_joint(32, 3, random_state=0), kind(0.3, 0.05)
    merged, mixed = tail_merging(joint, budget), tail_random_response(joint, budget, effort=1e4)
    assert max(budget.excess(joint.push(channel)).max() for channel in (merged, mixed)) <= 0
    assert sz.core.measures.utility(joint, mixed) >= sz.core.measures.utility(joint, merged) - 1e-9


def test_margins_kept_and_what_is_refused():
    joint, budget = sz.datasets.make_joint(6, 2, random_state=0), CVaRLiftBudget(0.1, 0.3)
    kept_margin = sz.optimal_random_response(joint, budget, keep_margin=True)
    released = joint.push(kept_margin)
    assert np.abs(released.p_x - joint.p_x).max() < 1e-12
    assert budget.excess(released).max() <= 1e-12
    with pytest.raises(InvalidBudget, match="no confidence, target, known or time_limit"):
        sz.optimal_random_response(joint, budget, confidence=0.95)
    with pytest.raises(InvalidBudget, match="takes a CVaRLiftBudget"):
        tail_random_response(joint, sz.LDPBudget(1.0))
    same = sz.optimal_random_response(joint, CVaRLiftBudget(5.0, 0.3))
    assert np.array_equal(same.matrix, np.eye(6))
