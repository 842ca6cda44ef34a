"""Robust responses and their gap, against extreme distributions enumerated without any linear program."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import entr

import sanitize as sz
from sanitize.core.confidence import ConfidenceSet
from sanitize.core.joint import ContingencyTable
from sanitize.mechanisms import solve_optimal_random_response
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._random_response.robust_cone import RobustCone, certify_robust, cuts_at
from sanitize.mechanisms._response_solver.polytope import Polytope

BUDGETS = [
    sz.LiftBudget(lower=0.5, upper=0.3),
    sz.LiftBudget(lower=math.inf, upper=0.25),
    sz.LiftBudget(lower=0.4, upper=math.inf),
    sz.LDPBudget(0.6),
]
_DISTRIBUTION = (0.25, 0.15, 0.08, 0.07, 0.2, 0.25)
_FOUR = (0.16, 0.12, 0.12, 0.08, 0.05, 0.15, 0.14, 0.18)  # with four letters the distance binds as well as the boxes


def counted(counts) -> sz.JointDistribution:
    counts = np.asarray(counts)
    distribution = sz.JointDistribution.from_matrix(counts / counts.sum())
    return ContingencyTable(distribution.sensitive, distribution.public, counts, int(counts.sum())).to_joint()


def extreme_distributions(distributions: ConfidenceSet, s: int) -> np.ndarray:
    """Vertices of {lower <= p <= upper, sum p = 1, total variation from the center <= r}: every n - 1 active bounds."""
    center, radius = distributions.center[s], distributions.distance[s]
    n = len(center)
    eye = np.eye(n)
    normals = [*eye, *eye]
    sides = [*distributions.lower[s], *distributions.upper[s]]
    for size in range(1, n):
        for some in itertools.combinations(range(n), size):
            normal = np.isin(np.arange(n), some).astype(float)
            normals.append(normal)
            sides.append(normal @ center + radius)
    found = []
    for active in itertools.combinations(range(len(normals)), n - 1):
        system = np.array([np.ones(n), *(normals[k] for k in active)])
        if abs(np.linalg.det(system)) < 1e-9:
            continue
        p = np.linalg.solve(system, [1.0, *(sides[k] for k in active)])
        inside = (p >= distributions.lower[s] - 1e-12).all() and (p <= distributions.upper[s] + 1e-12).all()
        if inside and np.abs(p - center).sum() / 2 <= radius + 1e-12:
            found.append(p)
    return np.array(found)


def excess_by_enumeration(distributions: ConfidenceSet, budget, p_x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Largest excess of columns v, shape (K, n), over all extreme P(x|s) of two s, and both ends of P_S."""
    told = [extreme_distributions(distributions, s) @ (v / p_x).T for s in range(2)]  # p(y|s) up to P(y)
    high, low = (np.array([f(one, axis=0) for one in told]) for f in (np.max, np.min))
    least = max(distributions.prior_lower[0], 1 - distributions.prior_upper[1])
    most = min(distributions.prior_upper[0], 1 - distributions.prior_lower[1])
    worst = np.full(len(v), -np.inf)
    for first, share in itertools.product((0, 1), (least, most)):
        prior = np.array([share, 1 - share])
        pair = np.stack([high[0], low[1]]) if first == 0 else np.stack([low[0], high[1]])
        with np.errstate(divide="ignore", invalid="ignore"):
            lifts = np.nan_to_num(pair / (prior @ pair), nan=1.0)
        worst = np.maximum(worst, budget.lift_excess(lifts, prior))
    return worst


def grid(n: int, steps: int) -> np.ndarray:
    cells = [cell for cell in itertools.product(range(steps + 1), repeat=n) if sum(cell) == steps]
    return np.array(cells) / steps


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_two_letters_keep_what_their_two_extreme_columns_keep(budget):
    """H is concave, so the best mixture is of the two ends of the interval of columns, found by halving."""
    rng = np.random.default_rng(0)
    for n in (2_000, 50_000):
        joint = counted(rng.multinomial(n, rng.dirichlet(np.full(4, 4.0))).reshape(2, 2))
        distributions, p = ConfidenceSet.of(joint, 0.9), joint.p_x

        def over(share: float, distributions=distributions, p=p) -> bool:
            return excess_by_enumeration(distributions, budget, p, np.array([[share, 1 - share]]))[0] > 0

        ends = []
        for end in (0.0, 1.0):
            inside, outside = p[0], end
            if not over(end):
                inside = end
            for _ in range(60):
                middle = (inside + outside) / 2
                inside, outside = (inside, middle) if over(middle) else (middle, outside)
            ends.append(inside)
        weight = (ends[1] - p[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 1.0
        loss = sum(w * float(entr([t, 1 - t]).sum()) for w, t in zip((weight, 1 - weight), ends, strict=True))
        found = solve_optimal_random_response(joint, budget, confidence=distributions)
        kept = float(entr(p).sum()) - loss
        assert found.utility == pytest.approx(kept, abs=2e-6)
        assert found.bound >= kept - 1e-9
        assert found.status in ("optimal", "stalled")
        assert found.gap <= 2e-6


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_half_spaces_hold_all_columns_within_the_budget_and_not_the_one_they_are_made_at(budget):
    joint = counted(np.random.default_rng(1).multinomial(3_000, _FOUR).reshape(2, 4))
    distributions = ConfidenceSet.of(joint, 0.9)
    cone = RobustCone(distributions, budget, np.arange(4), joint.p_x)
    columns = grid(4, 16)
    excess = excess_by_enumeration(distributions, budget, joint.p_x, columns)
    assert np.allclose(np.maximum(cone.excess(columns), 0), np.maximum(excess, 0), atol=1e-9)
    over = columns[excess > 1e-6]
    rows = cuts_at(cone, over)
    assert len(rows) == len(over) > 20
    assert ((rows * over).sum(axis=1) > 0).all()
    assert (columns[excess <= 0] @ rows.T <= 1e-12).all()


def test_a_search_of_many_programs_keeps_to_its_effort():
    """Of 16 costs as many as it pays for; of those, columns as good as without a limit."""
    rng = np.random.default_rng(3)
    joint = counted(rng.multinomial(40_000, rng.dirichlet(np.full(32, 4.0))).reshape(2, 16))
    cone = RobustCone(ConfidenceSet.of(joint, 0.9), sz.LiftBudget(lower=0.8, upper=0.5), np.arange(16), joint.p_x)
    costs, free, few = np.eye(16), Effort(10**12), Effort(50_000)
    every, some = cone.minimise(-costs, free), cone.minimise(-costs, few)
    assert 1 < len(some) < len(every) / 2
    assert few.spent <= 1.5 * few.limit < free.spent
    assert all(np.abs(every - column).max(axis=1).min() < 1e-6 for column in some)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_bound_on_reduced_entropies_holds_on_a_grid_and_is_nearly_attained(budget):
    rng = np.random.default_rng(2)
    joint = counted(rng.multinomial(5_000, _DISTRIBUTION).reshape(2, 3))
    distributions = ConfidenceSet.of(joint, 0.9)
    cone = RobustCone(distributions, budget, np.arange(3), joint.p_x)
    columns = grid(3, 120)
    within = columns[excess_by_enumeration(distributions, budget, joint.p_x, columns) <= 0]
    for _ in range(4):
        mu = rng.uniform(0, 1.5, 3)
        least = float((entr(within).sum(axis=1) - within @ mu).min())
        nothing = Polytope.simplex(3, 3)
        # A target that is true is proved, and one that is not is refuted by a column or left open.
        bound, points, *_ = certify_robust(cone, nothing, mu, least - 0.03, Effort(10_000_000))
        assert bound == pytest.approx(least - 0.03, abs=1e-12)
        assert not len(points)
        bound, points, *_ = certify_robust(cone, nothing, mu, least + 0.03, Effort(10_000_000))
        assert bound <= least + 1e-9
        assert len(points)
        assert (excess_by_enumeration(distributions, budget, joint.p_x, points) <= 2e-7).all()
        # Without any effort the first boxes alone bound it.
        assert certify_robust(cone, nothing, mu, least + 0.03, Effort(1))[0] <= least + 1e-9


def test_the_gap_is_honest_at_any_effort_and_the_same_effort_gives_the_same_channel():
    rng = np.random.default_rng(4)
    joint = counted(rng.multinomial(20_000, rng.dirichlet(np.full(16, 3.0))).reshape(2, 8))
    budget = sz.LiftBudget(lower=0.6, upper=0.5)
    distributions = ConfidenceSet.of(joint, 0.95)
    found = [
        solve_optimal_random_response(joint, budget, confidence=distributions, effort=e)
        for e in (1, 300_000, 8_000_000)
    ]
    best = max(one.utility for one in found)
    for one in found:
        assert one.bound >= best - 1e-9
        assert one.gap == pytest.approx(one.bound - one.utility, abs=1e-12)
        assert (distributions.worst_case(one.channel).excess(budget) <= 0).all()
    assert found[0].status == "effort"
    assert found[0].optimality.words.startswith("cut short")
    assert found[-1].gap < min(found[0].gap, 0.01)
    again = solve_optimal_random_response(joint, budget, confidence=distributions, effort=300_000)
    assert again.channel == found[1].channel
    assert sz.optimal_random_response(joint, budget, confidence=distributions, effort=300_000) == found[1].channel


def test_blocks_share_the_effort_of_a_robust_subset_response():
    rng = np.random.default_rng(5)
    joint = counted(rng.multinomial(50_000, rng.dirichlet(np.full(24, 3.0))).reshape(2, 12))
    budget, distributions = sz.LiftBudget.symmetric(0.5), ConfidenceSet.of(joint, 0.95)
    little, more = (
        sz.subset_random_response(joint, budget, block_size=5, confidence=distributions, effort=effort)
        for effort in (1, 3_000_000)
    )
    merged = sz.normalized_utility(joint, sz.subset_merging(joint, budget, confidence=distributions))
    assert merged - 1e-9 <= sz.normalized_utility(joint, little) <= sz.normalized_utility(joint, more) + 1e-9
    assert (distributions.worst_case(more).excess(budget) <= 0).all()
