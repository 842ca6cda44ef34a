"""The privacy funnel: what is listed against fractions, what is searched against grids, bounds against everything."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import entr

import sanitize as sz
from sanitize.core.budgets import MaximalLeakageBudget, MutualInformationBudget, TotalVariationBudget
from sanitize.core.measures import maximal_leakage, mutual_information, total_variation, utility
from sanitize.errors import InvalidBudget
from sanitize.mechanisms import solve_optimal_random_response
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._random_response.funnel import Funnel, least_open
from sanitize.mechanisms._response_solver.faces import Price, lowest

MEASURES = {
    MutualInformationBudget: mutual_information,
    TotalVariationBudget: total_variation,
    MaximalLeakageBudget: maximal_leakage,
}
CELLS = [
    [[4, 1, 3], [1, 4, 2]],
    [[3, 1, 2], [2, 2, 2], [1, 5, 2]],
    [[0, 3, 1], [2, 0, 4], [3, 3, 0]],
    [[1, 2, 2], [2, 4, 1], [3, 6, 5]],  # the first two symbols of X tell the same
]


def exact_funnel(cells, kind, limit):
    """Most of I(X;Y) with the mean of what symbols tell at most a fraction, over all bases of all vertices."""
    total = sum(map(sum, cells))
    joint = [[Fraction(cell, total) for cell in row] for row in cells]
    p_s, p_x = [sum(row) for row in joint], [sum(column) for column in zip(*joint, strict=True)]
    lifts = [[cell / p / q for cell, q in zip(row, p_x, strict=True)] for row, p in zip(joint, p_s, strict=True)]
    n = len(p_x)
    if kind is TotalVariationBudget:
        planes = [[entry - 1 for entry in row] for row in lifts]
    else:
        planes = [[a - b for a, b in zip(*pair, strict=True)] for pair in itertools.combinations(lifts, 2)]
    points = {}
    for k in range(1, n + 1):
        for letters, ties in itertools.product(
            itertools.combinations(range(n), k), itertools.combinations(planes, k - 1)
        ):
            shares = oracles.solution(
                [[Fraction(1)] * k, *([tie[x] for x in letters] for tie in ties)], [1] + [0] * (k - 1)
            )
            if shares is not None and min(shares) >= 0:
                r = [Fraction(0)] * n
                for x, share in zip(letters, shares, strict=True):
                    r[x] = share
                of = [sum(a * b for a, b in zip(row, r, strict=True)) for row in lifts]
                apart = sum(p * abs(one - 1) for p, one in zip(p_s, of, strict=True)) / 2
                points[tuple(r)] = max(of) if kind is MaximalLeakageBudget else apart
    kept = {r: sum(float(a) * math.log(a) for a in r if a) for r in points}
    best = -math.inf
    # A basis has n posteriors below the limit, or n + 1 that meet it.
    for size in (n, n + 1):
        for chosen in itertools.combinations(points, size):
            rows = [[r[x] for r in chosen] for x in range(n)] + [[points[r] for r in chosen]] * (size > n)
            weights = oracles.solution(rows, [*p_x, limit][:size])
            if weights is None or min(weights) < 0:
                continue
            if sum(w * points[r] for w, r in zip(weights, chosen, strict=True)) <= limit:
                best = max(best, sum(float(w) * kept[r] for w, r in zip(weights, chosen, strict=True)))
    return best - sum(float(p) * math.log(p) for p in p_x)


@pytest.mark.parametrize("kind", [TotalVariationBudget, MaximalLeakageBudget])
@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)])
def test_listed_posteriors_give_what_enumeration_in_fractions_gives(kind, cells, share):
    joint = sz.JointDistribution.from_matrix(np.array(cells) / np.sum(cells))
    if kind is TotalVariationBudget:
        limit = share * Fraction(total_variation(joint)).limit_denominator(10**6)
        budget = kind(float(limit))
    else:
        limit = 1 + share * Fraction(math.expm1(maximal_leakage(joint))).limit_denominator(10**6)
        budget = kind(math.log(limit))
    made = solve_optimal_random_response(joint, budget)
    assert made.utility == pytest.approx(exact_funnel(cells, kind, limit), abs=1e-9)
    assert made.gap < 1e-9


def on_grid(joint, budget, steps):
    """Most of I(X;Y) by one program over all posteriors on a grid."""
    n = len(joint.p_x)
    cuts = np.array(list(itertools.combinations(range(steps + n - 1), n - 1)))
    points = np.diff(np.pad(cuts, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, steps + n - 1))), axis=1) - 1
    points = np.concatenate([points / steps, joint.p_x[None]])
    told = -joint.p_s @ entr(sz.lift(joint) @ points.T)
    found = linprog(entr(points).sum(axis=1), A_ub=told[None], b_ub=[budget.upper], A_eq=points.T, b_eq=joint.p_x)
    return float(entr(joint.p_x).sum() - found.fun)


@pytest.mark.parametrize(("n", "n_s", "steps", "off"), [(2, 3, 3000, 1e-5), (3, 2, 120, 1e-3), (3, 3, 120, 1e-3)])
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8])
def test_what_is_searched_is_what_a_grid_of_posteriors_gives(n, n_s, steps, off, share):
    joint = sz.datasets.make_joint(n, n_s, random_state=n + n_s)
    budget = MutualInformationBudget(share * mutual_information(joint))
    made, grid = solve_optimal_random_response(joint, budget), on_grid(joint, budget, steps)
    assert made.status == "optimal"
    assert grid - 1e-9 <= made.bound <= grid + off


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7])
def test_the_part_of_x_that_knows_nothing_of_s_is_kept_and_the_rest_nat_for_nat(share):
    """X = (S, Z) with Z independent: I(X;Y) = I(S;Y) + I(Z;Y|S) is at most the limit and H(Z), and both are met."""
    p_s, p_z = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.6])
    joint = sz.JointDistribution.from_matrix(np.kron(np.diag(p_s), p_z))
    limit = share * float(entr(p_s).sum())
    made = solve_optimal_random_response(joint, MutualInformationBudget(limit), gap=1e-6)
    assert made.utility == pytest.approx(limit + entr(p_z).sum(), abs=1e-6)
    assert made.bound >= limit + entr(p_z).sum() - 1e-9


@pytest.mark.parametrize("kind", MEASURES)
def test_more_is_kept_the_looser_the_budget_and_ever_less_for_it(kind):
    joint = sz.datasets.make_joint(5, 3, random_state=4)
    limits = np.linspace(0, 1.25, 6) * (math.expm1 if kind is MaximalLeakageBudget else float)(MEASURES[kind](joint))
    budgets = [kind(math.log1p(limit) if kind is MaximalLeakageBudget else limit) for limit in limits]
    made = [solve_optimal_random_response(joint, budget, gap=1e-6) for budget in budgets]
    kept = np.array([one.utility for one in made])
    assert all(sz.LeakageReport.measure(joint, one.channel, b).ok for one, b in zip(made, budgets, strict=True))
    assert (np.diff(kept) >= -1e-6).all()
    assert (np.diff(kept, 2) <= 2e-6).all()
    assert kept[-1] == pytest.approx(entr(joint.p_x).sum(), abs=1e-12)
    assert made[-1].gap == 0


@pytest.mark.slow
@settings(max_examples=40)
@given(strategies.joints(max_s=3, max_x=4), st.sampled_from([*MEASURES]), st.floats(0.0, 1.2))
def test_the_release_is_within_the_budget_and_its_bound_is_one(joint, kind, share):
    """On awkward distributions: no release of `lift` budgets that is within this one keeps more than the bound."""
    budget = kind(share * MEASURES[kind](joint))
    made = solve_optimal_random_response(joint, budget, gap=1e-4, effort=1e7)
    released = joint.push(made.channel)
    assert budget.excess(released).max() <= 0
    assert utility(joint, made.channel) == pytest.approx(made.utility, abs=1e-12)
    assert made.utility <= made.bound + 1e-12
    for eps in (0.0, 0.1, 0.5, 1.5):
        other = sz.subset_merging(joint, sz.LiftBudget.symmetric(eps))
        if budget.excess(joint.push(other)).max() <= 0:
            assert utility(joint, other) <= made.bound + 1e-9


@pytest.mark.parametrize("kind", MEASURES)
def test_nothing_told_is_the_response_of_lifts_of_1(kind):
    joint = sz.datasets.make_joint(4, 3, random_state=1)
    made = solve_optimal_random_response(joint, kind(0.0))
    none = solve_optimal_random_response(joint, sz.LiftBudget(lower=0, upper=0))
    assert made.utility == pytest.approx(none.utility, abs=1e-9)
    assert 0 < made.utility < solve_optimal_random_response(joint, kind(1e-6), gap=1e-5).utility + 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_no_posterior_is_below_what_is_proved(seed):
    """Of prices that are least inside a face: a target is proved where descents from everywhere stay above it alone."""
    rng = np.random.default_rng(seed)
    joint, rate, budget = (
        sz.datasets.make_joint(5, 3, random_state=seed),
        10.0 * (1 + seed),
        MutualInformationBudget(1.0),
    )
    # Letters alone cost 0.1 to 0.2.
    mu = rate * budget.lift_risk(sz.lift(joint), joint.p_s) - rng.uniform(0.1, 0.2, 5)
    price = Price(budget, sz.lift(joint), joint.p_s, mu, rate)
    faces = np.array([np.eye(5)[list(three)] for three in itertools.combinations(range(5), 3)])
    starts = np.concatenate([rng.dirichlet(np.ones(3), 40) @ face for face in faces])
    found = price.descend(starts)
    values = price.evaluate(found)[0]
    least = float(values.min())
    assert np.count_nonzero(found[values.argmin()]) > 1
    for below in (1e-6, 1e-3, 0.1):
        assert lowest(price, least - below, Effort(10**9))[0] == least - below
        weak, points = lowest(price, least + below, Effort(10**9))
        assert weak <= least
        assert len(points)
        assert price.evaluate(points)[0].max() < least + below


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_what_is_left_open_is_no_less_than_what_is_proved_at_any_effort(share):
    """Half a grid of posteriors is a release: what it leaves open of X is above every bound, and near the last."""
    joint = sz.datasets.make_joint(3, 3, random_state=6)
    budget = MutualInformationBudget(share * mutual_information(joint))
    left_open = float(entr(joint.p_x).sum()) - on_grid(joint, budget, 120)
    proved = []
    for effort in (1e3, 1e5, 1e7):
        funnel = Funnel(joint, budget, 1e-6, Effort(int(effort)))
        funnel.take(np.concatenate([np.eye(3), joint.p_x[None]]))
        funnel.generate()
        proved.append(funnel.least)
    assert max(proved) <= left_open + 1e-9
    assert proved[-1] >= left_open - 1e-3


def test_a_mixture_that_misses_the_limit_is_brought_within():
    class Off(MutualInformationBudget):
        limit = property(lambda self: 1.01 * self.upper)

    joint = sz.datasets.make_joint(4, 3, random_state=2)
    budgets = [kind(0.3 * mutual_information(joint)) for kind in (Off, MutualInformationBudget)]
    off, right = (solve_optimal_random_response(joint, budget, gap=1e-5) for budget in budgets)
    assert budgets[1].excess(joint.push(off.channel)).max() <= 0
    assert right.utility - 0.05 <= off.utility <= right.bound


def test_a_search_that_is_cut_short_says_so_and_its_bound_holds():
    joint = sz.datasets.make_joint(8, 5, random_state=0)
    budget = MutualInformationBudget(0.1 * mutual_information(joint))
    short, whole = (solve_optimal_random_response(joint, budget, gap=1e-4, effort=effort) for effort in (1, None))
    assert (short.status, whole.status) == ("effort", "optimal")
    assert budget.excess(joint.push(short.channel)).max() <= 0
    assert short.utility <= whole.bound <= short.bound + 1e-9
    assert short.released().optimality.gap == short.gap > 1e-4


def test_a_search_that_is_interrupted_gives_what_it_has(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sanitize.mechanisms._random_response.funnel.lowest", stop)
    joint, budget = sz.datasets.make_joint(4, 2, random_state=0), MutualInformationBudget(0.01)
    made = solve_optimal_random_response(joint, budget)
    assert made.status == "interrupted"
    assert budget.excess(joint.push(made.channel)).max() <= 0 < made.utility < made.bound
    with pytest.raises(KeyboardInterrupt):
        sz.optimal_random_response(joint, budget)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(10))
def test_five_secrets_and_eight_symbols_are_closed_to_a_thousandth_and_no_heuristic_keeps_more(
    seed, share, monkeypatch
):
    monkeypatch.syspath_prepend("studies")
    from funnel import alternated, merged, within

    joint = sz.datasets.make_joint(8, 5, random_state=seed)
    limit = share * mutual_information(joint)
    made = solve_optimal_random_response(joint, MutualInformationBudget(limit), gap=1e-5)
    assert made.gap <= 1e-5
    assert max(within(found, limit) for found in (merged(joint), alternated(joint))) <= made.utility + 1e-5


def crossings(joint, kind):
    """All vertices of cells of posteriors of three letters, by every system of planes."""
    lifts = sz.lift(joint)
    planes = lifts - 1 if kind is TotalVariationBudget else lifts[:, None] - lifts
    planes = planes.reshape(-1, lifts.shape[1])
    found = [np.eye(3), joint.p_x[None]]
    for ties in itertools.combinations(np.concatenate([planes, np.eye(3)]), 2):
        system = np.array([np.ones(3), *ties])
        if abs(np.linalg.det(system)) > 1e-12:
            point = np.linalg.solve(system, [1.0, 0.0, 0.0])
            if point.min() > -1e-12:
                found.append(np.maximum(point, 0)[None])
    return np.concatenate(found)


@pytest.mark.parametrize("kind", [TotalVariationBudget, MaximalLeakageBudget])
def test_of_many_secrets_vertices_are_found_one_by_one(kind):
    """Eleven secrets have 2,048 cells, and were refused: against one program over all vertices."""
    joint = sz.datasets.make_joint(3, 11, random_state=0)
    budget = kind(0.3 * MEASURES[kind](joint))
    points = crossings(joint, kind)
    told = budget.lift_risk(sz.lift(joint) @ points.T, joint.p_s)
    every = linprog(entr(points).sum(axis=1), told[None], [budget.limit], points.T, joint.p_x)
    made = solve_optimal_random_response(joint, budget)
    assert made.status == "optimal"
    assert made.utility == pytest.approx(entr(joint.p_x).sum() - every.fun, abs=1e-6)


@pytest.mark.parametrize("kind", [TotalVariationBudget, MaximalLeakageBudget])
@pytest.mark.parametrize("seed", range(4))
def test_vertices_that_are_found_are_worth_those_that_are_listed(kind, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    joint = sz.JointDistribution.from_matrix(rng.dirichlet(np.full(24, 0.4)).reshape(4, 6))
    budget = kind(rng.uniform(0.05, 0.9) * MEASURES[kind](joint))
    listed = solve_optimal_random_response(joint, budget)
    monkeypatch.setattr(Funnel, "list_all", lambda _: False)
    made = solve_optimal_random_response(joint, budget, gap=1e-6)
    assert (listed.status, made.status) == ("optimal", "optimal")
    assert made.gap <= 1e-6 + 1e-10
    assert made.utility == pytest.approx(listed.utility, abs=2e-6)
    short = solve_optimal_random_response(joint, budget, gap=1e-9, effort=1)
    assert short.status == "effort"
    assert short.utility <= listed.utility + 1e-9
    assert listed.utility <= short.bound + 1e-9
    assert budget.excess(joint.push(short.channel)).max() <= 0


@pytest.mark.parametrize("near", [1e-4, 1e-6, 1e-8])
def test_entries_beside_a_function_of_x_are_no_reason_to_refuse(near):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        of_x = rng.integers(4, size=5)
        matrix = near * rng.random((4, 5))
        matrix[of_x, np.arange(5)] += rng.dirichlet(np.ones(5))
        joint = sz.JointDistribution.from_matrix(matrix / matrix.sum())
        budget = TotalVariationBudget(0.3 * total_variation(joint))
        made = solve_optimal_random_response(joint, budget, gap=1e-6)
        assert made.gap <= 1e-5
        assert budget.excess(joint.push(made.channel)).max() <= 0


@pytest.mark.parametrize("kind", MEASURES)
def test_many_secrets_and_symbols_end_with_what_was_found_and_a_gap(kind):
    joint = sz.datasets.make_joint(18, 30, random_state=0)
    budget = kind(0.3 * MEASURES[kind](joint))
    made = solve_optimal_random_response(joint, budget, effort=2e6)
    assert made.status == "effort"
    assert budget.excess(joint.push(made.channel)).max() <= 0
    # A release of X, or of nothing, by a coin is within the budget.
    assert 0.3 * entr(joint.p_x).sum() < made.utility + 0.05
    assert made.utility + made.gap == pytest.approx(made.bound)
    # Before any search two letters at a time say more than H(X).
    assert made.bound < 0.95 * entr(joint.p_x).sum()


@pytest.mark.slow
@given(strategies.joints(max_s=4, max_x=6), st.floats(0.02, 0.9))
@settings(max_examples=20)
@pytest.mark.parametrize("kind", MEASURES)
def test_what_two_letters_say_is_below_what_any_release_leaves_open(kind, joint, share):
    budget = kind(share * MEASURES[kind](joint))
    made = solve_optimal_random_response(joint, budget, gap=1e-3, effort=1e6)
    assert made.utility <= float(entr(joint.p_x).sum()) - least_open(joint, budget) + 1e-9


def test_where_x_is_the_secret_two_letters_say_all():
    """I(X;Y) <= b is all that a budget on I(S;Y) leaves, and the coefficient of T(S;Y) is that of two equal letters."""
    joint = sz.JointDistribution.from_matrix(np.diag([0.2, 0.3, 0.5]))
    whole = float(entr(joint.p_x).sum())
    assert least_open(joint, MutualInformationBudget(0.1)) == pytest.approx(whole - 0.1, abs=1e-9)
    coin = sz.JointDistribution.from_matrix(np.diag([0.5, 0.5]))
    assert least_open(coin, TotalVariationBudget(0)) == pytest.approx(math.log(2))
    assert least_open(coin, MaximalLeakageBudget(0)) == pytest.approx(math.log(2))
    assert least_open(coin, MaximalLeakageBudget(1)) == 0


def test_what_it_cannot_do_is_refused():
    joint = sz.datasets.make_joint(30, 12, random_state=0)
    for more in ({"confidence": 0.95}, {"target": np.eye(30)}):
        with pytest.raises(InvalidBudget, match="takes no confidence, target, side_columns or keep"):
            sz.optimal_random_response(joint, MutualInformationBudget(0.1), **more)
    with pytest.raises(InvalidBudget, match="random response takes a LiftBudget"):
        sz.subset_random_response(joint, MaximalLeakageBudget(0.1))


def test_a_merging_is_the_best_of_those_that_its_search_sees():
    """Every symbol is within the budget; of mergings that are so on average, one keeps more."""
    joint, budget = (
        sz.JointDistribution.from_matrix([[0.02, 0.23, 0.25], [0.0, 0.25, 0.25]]),
        TotalVariationBudget(0.03),
    )
    merged = sz.subset_merging(joint, budget)
    assert merged.optimality.words == "optimal among mergings whose every symbol is within the budget"
    assert merged.n_outputs < 3
    assert budget.excess(joint).max() <= 0


def test_margins_are_kept_and_estimators_take_these_budgets():
    joint, budget = sz.datasets.make_joint(5, 2, random_state=0), MaximalLeakageBudget(0.05)
    released = joint.push(sz.optimal_random_response(joint, budget, keep_margin=True))
    assert np.abs(released.p_x - joint.p_x).max() < 1e-12
    assert budget.excess(released).max() <= 0
    df = sz.datasets.load_titanic()
    made = sz.OptimalRandomResponse(TotalVariationBudget(0.05), sensitive="survived", public=["class", "sex"]).fit(df)
    assert made.report_.ok
    assert made.report_.summary["total_variation"] <= 0.05 + 1e-12
