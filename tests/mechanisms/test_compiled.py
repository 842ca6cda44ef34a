"""Compiled loops of the optimal response, and the NumPy that they are the twin of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimal_cases import WITHIN, brute_force, instances, tied_instances, uniform_law
from scipy.special import entr

import sanitize as sz
from sanitize.budgets import LDPBudget, LiftBudget
from sanitize.mechanisms._random_response import compiled as _compiled
from sanitize.mechanisms._random_response import mixture as _primal_simplex
from sanitize.mechanisms._random_response.double_description import CLEAR, ON, vertices
from sanitize.mechanisms._random_response.mixture import RULES, best_mixture
from sanitize.mechanisms._random_response.optimal import solve_optimal_random_response
from sanitize.mechanisms._random_response.polytope import LiftBounds
from sanitize.mechanisms._random_response.vertices import Vertices


def cuts_of(joint, budget):
    lifts = sz.lift(joint)
    return np.ascontiguousarray(LiftBounds.outer(lifts, budget).cuts(lifts))


def wide_instances(n, seed):
    """More letters, some of them tied, so that lists are longer than the loops begin with."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        n_x, n_s = int(rng.integers(12, 40)), int(rng.integers(3, 6))
        joint = uniform_law(n_x, n_s, rng, zeros=rng.choice([0, 0.3]))
        yield joint, (LDPBudget(2.5), LiftBudget(lower=math.inf, upper=0.9), LiftBudget.from_ldp(2.5))[i % 3]


def in_order(points):
    """Rows in the order of their rounded entries."""
    return points[np.lexsort(points.round(7).T)]


def test_compiled_vertices_are_those_of_numpy(loops):
    n_none = n_longer = 0
    for joint, budget in [*instances(200, 17), *tied_instances(200, 18), *wide_instances(30, 19)]:
        cuts = cuts_of(joint, budget)
        slow = vertices(cuts, 20_000, 1 << 21)
        points, cost = loops[0].listed(cuts, 20_000, 1 << 21, ON, CLEAR)
        assert (slow is None) == (not len(cost)), "one way gives up where the other does not"
        n_none += slow is None
        if slow is not None:
            n_longer += len(cost) > 256
            assert len(slow) == len(cost)
            assert_array_equal(points.T, slow)  # in the same order, to the last bit
            assert_allclose(cost, entr(points).sum(axis=0), atol=1e-14)
    assert n_none > 2
    assert n_longer > 10


def test_compiled_vertices_stop_where_those_of_numpy_do(loops):
    for joint, budget in [*instances(40, 20), *tied_instances(40, 21)]:
        cuts = cuts_of(joint, budget)
        for most, most_pairs in ((10**6, 3), (10**6, 10), (10**6, 40), (8, 10**9), (16, 10**9), (32, 10**9)):
            cost = loops[0].listed(cuts, most, most_pairs, ON, CLEAR)[1]
            assert (vertices(cuts, most, most_pairs) is None) == (not len(cost))
    for beside, listed in ((0.0, True), (1e-12, False), (1e-6, True)):
        row = np.array([0.25, -0.125, -0.125])
        cuts = np.vstack([row - row[1] - beside, row - row[1] + beside])
        assert (len(loops[0].listed(cuts, 100, 100, ON, CLEAR)[1]) > 0) == listed


def test_the_compiled_mixture_is_that_of_numpy(loops, monkeypatch):
    n_none = 0
    for joint, budget in [*instances(150, 22), *tied_instances(150, 23), *wide_instances(9, 24)]:
        points, cost = loops[0].listed(cuts_of(joint, budget), 20_000, 1 << 21, ON, CLEAR)
        if not len(cost):
            continue
        for change in ({}, {"pivots": 0}, {"price": 1e-3}, {"price": 1e-3, "rise": 1.5}):
            rules = RULES._replace(**change)
            monkeypatch.setattr(_primal_simplex, "RULES", rules)
            slow = best_mixture(points.T, cost, joint.p_x)
            value, mu, chosen, weights = loops[1].mixed(points, cost, joint.p_x.copy(), *rules)
            assert (slow is None) == (not len(chosen)), "one way gives up where the other does not"
            n_none += slow is None
            if slow is not None:
                assert value == pytest.approx(slow.value, abs=1e-12)
                assert_allclose(points[:, chosen] @ weights, joint.p_x, rtol=1e-12)
                assert cost[chosen] @ weights == pytest.approx(value, abs=1e-12)
                assert mu @ joint.p_x == pytest.approx(value, abs=1e-12)
                lowest = (cost - mu @ points).min()
                assert lowest > -1e-12
                assert loops[1].lowest(points, cost, mu) == pytest.approx(lowest, abs=1e-14)
    assert n_none > 20


@pytest.mark.usefixtures("loops")
def test_with_and_without_compiled_loops_a_law_has_one_channel():
    for joint, budget in [*instances(60, 25), *tied_instances(40, 26), *wide_instances(6, 27)]:
        fast = solve_optimal_random_response(joint, budget)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_compiled, "loops", lambda _: None)
            slow = solve_optimal_random_response(joint, budget)
        # The integers that a channel is made of: whoever has no numba verifies what was designed with it.
        for made, again in zip(fast.channel.stages, slow.channel.stages, strict=True):
            assert_array_equal(made.indices, again.indices)
            assert_array_equal(made.weights, again.weights)
        assert (fast.status, fast.n_columns) == (slow.status, slow.n_columns)
        assert budget.excess(joint.release(fast.channel)).max() <= WITHIN


@pytest.mark.usefixtures("loops")
def test_more_cuts_than_a_word_has_bits_are_left_to_numpy():
    joint = uniform_law(9, 10, np.random.default_rng(28))
    for budget, n_breaking in ((LDPBudget(2.0), range(20, 65)), (LDPBudget(0.5), range(65, 91))):
        cuts = cuts_of(joint, budget)
        assert len(cuts) == 90
        assert (cuts.min(axis=1) < 0).sum() in n_breaking
        listed = Vertices.of(cuts)
        assert_allclose(in_order(listed.points.T), in_order(vertices(cuts, 20_000, 1 << 21)), atol=1e-9)
        loss = entr(joint.p_x).sum() - brute_force(joint, budget)
        assert listed.mix(joint.p_x.copy()).value == pytest.approx(loss, abs=1e-8)
