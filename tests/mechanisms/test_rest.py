"""A search that ends before its columns mix into P_X uses them beside what they leave of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import entr

import sanitize as sz
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._response_solver.column_generation import Search
from sanitize.mechanisms._response_solver.columns import Loss
from sanitize.mechanisms._response_solver.polytope import LiftBounds

BUDGETS = [
    sz.LiftBudget(lower=0.1, upper=0.1),
    sz.LiftBudget(lower=math.inf, upper=0.2),
    sz.LiftBudget(lower=0.3, upper=math.inf),
    sz.LDPBudget(0.3),
]


def skewed(n_s: int, n_x: int) -> sz.JointDistribution:
    """A distribution whose symbols are far apart, with P(x) about 1/rank."""
    rng = np.random.default_rng([n_s, n_x])
    cells = np.exp(rng.normal(0.0, 0.7, (n_s, n_x))) / (1 + rng.permutation(n_x))
    return sz.JointDistribution.from_matrix(cells / cells.sum())


def cut_short(joint: sz.JointDistribution, budget, distribution: np.ndarray | None = None):
    """What a search finds that ends after its first vertices."""
    lifts = joint.pmf / joint.p_s[:, None] / joint.p_x
    bounds = LiftBounds.inner(lifts, budget, joint.p_x)
    effort = Effort(2 * len(joint.p_x) * bounds.polytope(distribution).work)
    return Search(bounds, bounds, joint.p_x, 1e-6, effort, Loss(distribution)).solve([])


def beside(joint: sz.JointDistribution, budget, v: np.ndarray) -> float:
    """At least H(X|Y) of one column and the rest of P_X, the column taken as often as the budget allows."""
    given = joint.pmf / joint.p_x / joint.p_s[:, None]
    low, high = 0.0, float((joint.p_x[v > 0] / v[v > 0]).min())
    for _ in range(60):
        share = (low + high) / 2
        lifts = given @ (joint.p_x - share * v) / (1 - share)
        low, high = (share, high) if budget.lift_excess(lifts[:, None], joint.p_s)[0] < -1e-9 else (low, share)
    return low * float(entr(v).sum()) - float((joint.p_x - low * v) @ np.log(joint.p_x))


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("shape", [(4, 60), (12, 60)])
def test_a_search_cut_short_keeps_what_any_of_its_columns_keeps_beside_a_rest(shape, budget):
    joint = skewed(*shape)
    found = cut_short(joint, budget)
    assert found.status == "effort"
    columns = found.pool.matrix().toarray()
    ways = [beside(joint, budget, columns[:, k]) for k in found.pool.vertices]
    assert found.bound - 1e-9 <= found.mixture.value <= min(ways) + 1e-9
    entropy = float(entr(joint.p_x).sum())
    assert min(ways) < entropy - 0.05
    assert columns[:, found.mixture.chosen] @ found.mixture.weights == pytest.approx(joint.p_x, abs=1e-12)
    lifts = joint.pmf / joint.p_x / joint.p_s[:, None] @ columns[:, found.mixture.chosen]
    assert (budget.lift_excess(lifts, joint.p_s) <= 1e-10).all()


def test_a_target_is_kept_beside_a_rest_too():
    """Which of two halves X lies in: less is lost of it than without any channel."""
    joint = skewed(12, 60)
    distribution = (np.arange(60) % 2 == np.arange(2)[:, None]).astype(float)
    found = cut_short(joint, sz.LiftBudget.symmetric(0.1), distribution)
    assert found.status == "effort"
    assert found.mixture.value < 0.9 * float(entr(distribution @ joint.p_x).sum())


def test_the_mechanism_keeps_something_where_all_symbols_are_one_block():
    joint = skewed(30, 120)
    channel = sz.subset_random_response(joint, 0.1, effort=2e6)
    assert channel.optimality.status == "cut short"
    assert (sz.LiftBudget.symmetric(0.1).excess(joint.push(channel)) <= 0).all()
    assert sz.normalized_utility(joint, channel) > 0.1
