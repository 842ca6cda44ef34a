"""Random responses that keep a target T with T - X - Y, against vertices listed by another hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from optimal_cases import WITHIN, instances, tied_instances, vertices_by_double_description
from scipy.optimize import linprog

import sanitize as sz
from sanitize.core.joint import JointDistribution
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import solve_optimal_random_response
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._response_solver import mixture as _mixture
from sanitize.mechanisms._response_solver.certificate import certify
from sanitize.mechanisms._response_solver.columns import Loss
from sanitize.mechanisms._response_solver.polytope import LiftBounds
from sanitize.mechanisms._response_solver.pricing import Pricer


@pytest.fixture(params=["enumeration", "column generation"])
def route(request, monkeypatch):
    """Each way to the optimum, whatever the size."""
    monkeypatch.setattr(_mixture, "_MOST_LETTERS", -1 if request.param == "column generation" else math.inf)


def targets(cases, seed):
    """Distributions, budgets and P(t|x) of targets: functions of x, noisy ones, and some that rarely say a thing."""
    rng = np.random.default_rng(seed)
    for i, (joint, budget) in enumerate(cases):
        n, n_t = len(joint.p_x), int(rng.integers(2, 5))
        if i % 3 == 0:
            distribution = np.eye(n_t)[:, rng.integers(0, n_t, n)]
        else:
            distribution = rng.dirichlet(np.full(n_t, 0.3 if i % 3 == 1 else 5.0), n).T
        yield joint, budget, distribution


def counted(counts):
    """Distribution of a table of counts."""
    distribution = JointDistribution.from_matrix(counts / counts.sum())
    return JointDistribution(distribution.pmf, distribution.sensitive, distribution.public, n=int(counts.sum()))


def left_open(distribution, v):
    """H(T|y), written out."""
    total = 0.0
    for row in distribution:
        p = sum(float(share) * float(x) for share, x in zip(row, v, strict=True))
        total -= p * math.log(p) if p > 0 else 0.0
    return total


def information(joint, channel, distribution):
    """I(T;Y), written out."""
    matrix = np.asarray(channel.sparse_matrix().todense())
    both = [[float((row * joint.p_x * column).sum()) for column in matrix.T] for row in distribution]
    p_y = [sum(column) for column in zip(*both, strict=True)]
    return sum(p * math.log(p / (sum(row) * p_y[y])) for row in both for y, p in enumerate(row) if p > 0)


def brute_force(joint, budget, distribution):
    """Largest I(T;Y): every vertex, then one linear program."""
    v = vertices_by_double_description(joint, budget)
    v = np.vstack([v / v.sum(axis=1, keepdims=True), joint.p_x])
    cost = [left_open(distribution, one) for one in v]
    mix = linprog(cost, A_eq=v.T / joint.p_x[:, None], b_eq=np.ones(len(joint.p_x)), method="highs-ds")
    assert mix.status == 0
    return left_open(distribution, joint.p_x) - mix.fun


@pytest.mark.slow
@pytest.mark.usefixtures("route")
def test_the_optimum_is_that_of_brute_force_on_every_route():
    for joint, budget, distribution in targets([*instances(24, 40), *tied_instances(12, 41)], 42):
        response = solve_optimal_random_response(joint, budget, gap=1e-9, target=distribution)
        exact = brute_force(joint, budget, distribution)
        assert response.utility == pytest.approx(exact, abs=2e-8), (joint.pmf.tolist(), budget, distribution.tolist())
        assert response.utility == pytest.approx(information(joint, response.channel, distribution), abs=1e-12)
        assert response.bound >= exact - 1e-9
        assert 0 <= response.gap <= 1e-9 + 1e-10
        assert budget.excess(joint.push(response.channel)).max() <= WITHIN


def test_x_itself_as_a_target_changes_nothing():
    for joint, budget in instances(40, 43):
        plain = solve_optimal_random_response(joint, budget, gap=1e-9)
        same = solve_optimal_random_response(joint, budget, gap=1e-9, target=np.eye(len(joint.p_x)))
        assert same.utility == pytest.approx(plain.utility, abs=3e-9)
        assert same.normalized_utility == pytest.approx(plain.normalized_utility, abs=1e-7)


def test_a_target_is_kept_better_than_without_and_one_that_says_nothing_leaves_nothing_to_lose():
    more = 0
    for joint, budget, distribution in targets(instances(40, 44), 45):
        for_target = solve_optimal_random_response(joint, budget, gap=1e-9, target=distribution)
        plain = information(joint, sz.optimal_random_response(joint, budget), distribution)
        assert for_target.utility >= plain - 1e-8
        more += for_target.utility > plain + 1e-3
    assert more > 10
    nothing = solve_optimal_random_response(joint, budget, target=np.full((2, len(joint.p_x)), 0.5))
    assert (nothing.utility, nothing.normalized_utility) == (pytest.approx(0, abs=1e-12), 1.0)


def test_the_certificate_of_a_target_is_a_lower_bound_and_finds_what_is_below():
    rng = np.random.default_rng(46)
    for joint, budget, distribution in targets(instances(30, 47), 48):
        polytope = LiftBounds.outer(sz.lift(joint), budget).polytope(distribution)
        mu, p_x = rng.random(len(joint.p_x)), joint.p_x
        v = vertices_by_double_description(joint, budget)
        lowest = min(left_open(distribution, one) - float(one @ mu) for one in v)
        assert certify(polytope, mu, p_x, lowest - 1e-6, Effort(10**9)).bound == pytest.approx(lowest - 1e-6)
        found = certify(polytope, mu, p_x, lowest + 1e-6, Effort(10**9))
        assert found.bound <= lowest + 1e-9
        assert len(found.points)


@pytest.mark.slow
def test_repaired_prices_of_a_target_bound_the_optimum_at_any_time():
    rng = np.random.default_rng(49)
    for joint, budget, distribution in targets(instances(6, 50), 51):
        polytope = LiftBounds.outer(sz.lift(joint), budget).polytope(distribution)
        optimum = left_open(distribution, joint.p_x) - brute_force(joint, budget, distribution)
        for scale in (0.3, 1.0, 3.0):
            mu = scale * rng.random(len(joint.p_x))
            for n_batches in (0, 3, 30):
                effort = Effort((len(distribution) + 1 + 128 * n_batches) * polytope.work)
                bound = certify(polytope, mu, joint.p_x, 0.0, effort, stop_at_points=False).bound
                assert mu @ joint.p_x + bound <= optimum + 1e-9


def test_the_certificate_alone_leads_to_the_optimum_of_a_target(monkeypatch):
    monkeypatch.setattr(_mixture, "_MOST_LETTERS", -1)
    monkeypatch.setattr(Pricer, "from_random", lambda *_: 0)
    monkeypatch.setattr(Pricer, "from_pool", lambda *_: 0)
    for joint, budget, distribution in targets(instances(10, 52), 53):
        problem = _mixture.Problem(joint, budget, 1e-9, Loss.for_target(distribution, len(joint.p_x)))
        found = _mixture.solve_block(problem, np.arange(len(joint.p_x)), None, Effort(10**9))
        exact = left_open(distribution, joint.p_x) - brute_force(joint, budget, distribution)
        assert found.bound == pytest.approx(exact, abs=1e-8)
        assert found.bound <= exact + 2e-10


def test_blocks_keep_as_much_of_a_target_as_merging_and_one_block_is_the_optimum():
    for joint, budget, distribution in targets(instances(24, 54), 55):
        merged = information(joint, sz.subset_merging(joint, budget), distribution)
        for block_size in (2, 4):
            channel = sz.subset_random_response(joint, budget, block_size=block_size, target=distribution)
            assert information(joint, channel, distribution) >= merged - 1e-6
            assert budget.excess(joint.push(channel)).max() <= WITHIN
        whole = sz.subset_random_response(joint, budget, block_size=len(joint.p_x), target=distribution)
        best = sz.optimal_random_response(joint, budget, target=distribution)
        assert information(joint, whole, distribution) == pytest.approx(
            information(joint, best, distribution), abs=3e-7
        )


@pytest.mark.slow
@pytest.mark.parametrize("respond", [sz.optimal_random_response, sz.subset_random_response])
def test_with_confidence_a_target_is_kept_better_within_the_same_budget(respond):
    rng = np.random.default_rng(56)
    gained = 0.0
    for _ in range(3):
        joint = counted(rng.multinomial(20_000, rng.dirichlet(np.full(16, 2.0))).reshape(2, 8))
        distribution = np.eye(2)[:, rng.permutation([0, 0, 0, 0, 1, 1, 1, 1])]
        budget = sz.LiftBudget(lower=1.0, upper=0.5)
        for_target = respond(joint, budget, confidence=0.95, target=distribution)
        assert sz.core.confidence.worst_case_lift(joint, for_target, 0.95).excess(budget).max() <= WITHIN
        gained += information(joint, for_target, distribution) - information(
            joint, respond(joint, budget, confidence=0.95), distribution
        )
    assert gained > 0.01


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (np.ones(4) / 4, "one column for each of the 4"),
        (np.full((2, 3), 0.5), "one column for each of the 4"),
        (np.full((2, 4), 0.4), "sum to 1"),
        ([[1.5] * 4, [-0.5] * 4], "sum to 1"),
        (np.full((2, 4), np.nan), "sum to 1"),
        ("income", "matrix"),
        ([[0.5] * 4, [0.5] * 3], "matrix"),
    ],
)
def test_what_is_no_distribution_of_a_target_is_refused(target, words):
    joint = JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    for respond in (sz.optimal_random_response, sz.subset_random_response, solve_optimal_random_response):
        with pytest.raises(InvalidParameter, match=words):
            respond(joint, 0.3, target=target)
