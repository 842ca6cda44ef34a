"""Random responses within budgets on averages of the lifts, against grids, fractions and programs written otherwise."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.special import entr

import sanitize as sz
import sanitize.pandas
from sanitize.auditing.verify import verify_file
from sanitize.core.budgets import AlphaLiftBudget, AveragedBudget, Chi2LiftBudget, L1LiftBudget, LiftBudget, limits_for
from sanitize.errors import InvalidBudget
from sanitize.mechanisms import optimal_random_response, solve_optimal_random_response
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._random_response import averaged
from sanitize.mechanisms._response_solver.posterior_set import PosteriorSet
from sanitize.transformers import OptimalRandomResponse

FREE = math.inf
BUDGETS = [
    L1LiftBudget(lower=FREE, upper=0.15),
    L1LiftBudget(lower=0.3, upper=0.25),
    Chi2LiftBudget(lower=FREE, upper=0.15),
    Chi2LiftBudget(lower=0.4, upper=0.2),
    AlphaLiftBudget(2, lower=FREE, upper=0.03),
    AlphaLiftBudget(5, lower=0.1, upper=0.1),
    AlphaLiftBudget(100, lower=0.4, upper=FREE),
]
# Of budgets whose sides are both curved two are left to the slow cases: a descent takes longest there.
SLOWER = {BUDGETS[1], BUDGETS[5]}


def some_slow(budgets):
    return [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOWER)) for one in budgets]


by_budget = pytest.mark.parametrize(
    "budget", some_slow(BUDGETS), ids=lambda budget: repr(budget).split("LiftBudget")[0]
)


def best_of_grid(joint, budget, steps):
    """Most of I(X;Y) that posteriors of a grid within the budget give: one linear program, for the releases on it."""
    first, second = np.indices((steps + 1, steps + 1)).reshape(2, -1)
    grid = np.stack([first, second, steps - first - second], axis=1)
    grid = np.concatenate([grid[grid.min(axis=1) >= 0] / steps, joint.p_x[None]])
    lifts = joint.pmf / joint.p_x / joint.p_s[:, None]
    grid = grid[budget.lift_excess(lifts @ grid.T, joint.p_s) <= 0]
    found = linprog(entr(grid).sum(axis=1), A_eq=grid.T, b_eq=joint.p_x, method="highs")
    return entr(joint.p_x).sum() - found.fun


@by_budget
@pytest.mark.parametrize("n_s", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_the_optimum_is_that_of_a_fine_grid(budget, n_s):
    joint = sz.datasets.make_joint(3, n_s, random_state=1)
    made = solve_optimal_random_response(joint, budget, gap=1e-5)
    assert made.status == "optimal"
    assert made.gap <= 1.1e-5
    on_grid = best_of_grid(joint, budget, 100)
    assert made.bound >= on_grid - 1e-9
    assert made.utility <= on_grid + 0.02  # of H, over a step of the grid


@by_budget
def test_it_keeps_what_merging_keeps_and_no_more_than_its_bound(budget):
    joint = sz.datasets.make_joint(5, 3, random_state=3)
    made = solve_optimal_random_response(joint, budget, gap=1e-3)
    assert made.gap <= 1e-3 + 1e-9
    merged = sz.core.measures.utility(joint, sz.subset_merging(joint, budget))
    assert merged - 1e-9 <= made.utility <= made.bound
    assert "optimum" in made.optimality.words or made.status == "optimal"


@pytest.mark.slow
@by_budget
def test_where_faces_are_too_many_it_keeps_what_merging_keeps(budget):
    """Seven secrets: neither are the cuts of the l1-lift listed, nor all faces of seven letters searched."""
    joint = sz.datasets.make_joint(12, 7, random_state=0)
    made = solve_optimal_random_response(joint, budget, gap=1e-3, effort=1e5)
    assert budget.excess(joint.push(made.channel)).max() <= 0
    merged = sz.core.measures.utility(joint, sz.subset_merging(joint, budget))
    assert merged - 1e-9 <= made.utility <= made.bound <= sz.core.measures.entropy(joint.p_x) + 1e-9


def exact_sizes(joint, channel, order, center, side):
    """Norm of l - c, or of 1/l - c, of each released symbol to the power of its order, in fractions."""
    pmf = [[Fraction(float(cell)) for cell in row] for row in joint.pmf]
    matrix = [[Fraction(float(cell)) for cell in row] for row in channel.matrix]
    total = sum(map(sum, pmf))
    p_s = [sum(row) / total for row in pmf]
    for y in range(len(matrix[0])):
        of_y = [sum(cell * row[y] for cell, row in zip(cells, matrix, strict=True)) / total for cells in pmf]
        p_y = sum(of_y)
        lifts = [cell / p_y / p for cell, p in zip(of_y, p_s, strict=True)]
        sides = [lift if side == "upper" else 1 / lift for lift in lifts]
        yield sum(p * abs(one - center) ** order for p, one in zip(p_s, sides, strict=True))


@pytest.mark.parametrize(
    ("budget", "order", "center"),
    [
        (L1LiftBudget(lower=FREE, upper=0.2), 1, 1),
        (Chi2LiftBudget(lower=0.5, upper=0.3), 2, 1),
        (AlphaLiftBudget(3, lower=0.2, upper=0.1), 3, 0),
        (AlphaLiftBudget(100, lower=FREE, upper=0.3), 100, 0),
    ],
)
def test_the_release_is_within_the_budget_in_fractions(budget, order, center):
    joint = sz.datasets.make_joint(5, 3, random_state=5)
    channel = optimal_random_response(joint, budget, gap=1e-3)
    for side in ("upper", "lower"):
        bound = math.exp(getattr(budget, side)) - center
        sizes = [*exact_sizes(joint, channel, order, center, side)] if bound < math.inf else []
        assert all(size <= Fraction(bound * (1 + 1e-12)) ** order for size in sizes)


@pytest.mark.parametrize(
    "budget", [*BUDGETS, L1LiftBudget(lower=0.15, upper=FREE), Chi2LiftBudget(lower=0.15, upper=FREE)], ids=repr
)
def test_tangents_cut_nothing_off_and_what_surely_holds_does(budget):
    rng = np.random.default_rng(0)
    joint = sz.datasets.make_joint(6, 4, random_state=1)
    within = PosteriorSet.from_budget(joint, budget)
    corners = rng.dirichlet(np.full(6, 0.7), (400, 4))
    corners = joint.p_x + rng.random((400, 1, 1)) * (corners - joint.p_x)
    shares = rng.dirichlet(np.ones(4), (400, 50))
    lifts = corners @ within.lifts.T
    mixed = shares @ lifts
    holds = within.contains(mixed.reshape(-1, 4)).reshape(400, 50)
    assert 0 < holds.mean() < 1
    for slope, most in within.tangents(lifts.mean(axis=1), lifts.min(axis=1), lifts.max(axis=1)):
        assert ((mixed @ slope[:, :, None])[:, :, 0] <= most[:, None] + 1e-9)[holds].all()
    surely = within.surely_holds(lifts)
    assert surely.any()
    assert holds[surely].all()
    around = within.tangent_cuts(within.border(corners[:, 0]))
    points = (shares @ corners).reshape(-1, 6)[holds.ravel()]
    assert (points @ around.T >= -1e-9).all()
    if budget.lower == FREE or isinstance(budget, AlphaLiftBudget):  # convex: cuts touch the set
        on_border = within.border(corners[:, 0][~within.contains(lifts[:, 0])])
        touching = np.abs(within.tangent_cuts(on_border) @ on_border.T).min(axis=0)
        assert touching.max() < 1e-6


@pytest.mark.parametrize("budget", some_slow([*BUDGETS[1:], AlphaLiftBudget(2, lower=FREE, upper=0.001)]), ids=repr)
def test_no_posterior_is_below_what_is_proved_and_one_is_found_where_there_is(budget):
    joint, rng = sz.datasets.make_joint(4, 3, random_state=0), np.random.default_rng(1)
    within = PosteriorSet.from_budget(joint, budget)
    grid = rng.dirichlet(np.full(4, 0.5), 60_000)
    grid = np.concatenate([grid, within.border(grid[:10_000])])
    grid = grid[within.contains(grid @ within.lifts.T)]
    for mu in rng.random((2, 4)):
        price = averaged.BoundedPrice(within, averaged.Loss(), mu)
        least = price.evaluate(grid).min()
        proved, below = averaged.lowest(price, least - 0.05, Effort(10**8))
        assert proved == least - 0.05
        assert not len(below)
        _, below = averaged.lowest(price, least + 0.005, Effort(10**8))
        assert len(below)
        assert (price.evaluate(below) < least + 0.005).all()
        assert within.contains(below @ within.lifts.T).all()


def test_faces_of_as_many_letters_as_secrets_are_searched():
    """X is nearly S and the budget is small, so that only posteriors of all three letters are within it."""
    joint = sz.JointDistribution.from_matrix(0.25 * np.eye(3) + 0.25 / 9)
    within = PosteriorSet.from_budget(joint, Chi2LiftBudget(lower=FREE, upper=0.15))
    rng = np.random.default_rng(0)
    grid = within.border(rng.dirichlet(np.ones(3), 20_000))
    grid = grid[within.contains(grid @ within.lifts.T)]
    assert grid.min() > 0.1
    price = averaged.BoundedPrice(within, averaged.Loss(), rng.random(3))
    _, below = averaged.lowest(price, price.evaluate(grid).min() + 0.005, Effort(10**8))
    assert len(below)


def test_a_mixture_of_posteriors_within_an_inverse_is_not_taken_to_be_within():
    """Two posteriors have an ℓ1-lift-inverse of 5.6875, and their mean has 5.7556."""
    joint = sz.JointDistribution.from_matrix(np.diag([0.1, 0.1, 0.8]))
    within = PosteriorSet.from_budget(joint, L1LiftBudget(lower=math.log(6.7), upper=FREE))
    corners = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]) @ within.lifts.T
    assert within.contains(corners).all()
    assert not within.contains(corners.mean(axis=0, keepdims=True)).any()
    assert not within.surely_holds(corners[None]).any()


def test_the_gain_cuts_are_the_l1_lift():
    joint = sz.datasets.make_joint(6, 4, random_state=1)
    within = PosteriorSet.from_budget(joint, L1LiftBudget(lower=FREE, upper=0.2))
    q = np.random.default_rng(0).dirichlet(np.ones(6), 500)
    used = np.abs(q @ within.lifts.T - 1) @ joint.p_s
    np.testing.assert_allclose((q @ within.gain_cuts().T).min(axis=1), (within.high - used) / 2, atol=1e-12)


def test_the_least_mixture_is_that_of_a_linear_program():
    rng = np.random.default_rng(0)
    rest, over = rng.normal(size=(100, 4)), rng.normal(size=(100, 4)) + 0.5
    found = averaged.least_mixture(rest, over)
    for least, cost, row in zip(found, rest, over, strict=True):
        program = linprog(cost, A_ub=row[None], b_ub=[0], A_eq=np.ones((1, 4)), b_eq=[1])
        assert least == pytest.approx(program.fun if program.status == 0 else math.inf)


@pytest.mark.parametrize(
    "budget", [BUDGETS[2], *(pytest.param(budget, marks=pytest.mark.slow) for budget in (BUDGETS[1], BUDGETS[5]))]
)
def test_polytopes_around_the_set_bound_what_the_simplices_prove(budget, monkeypatch):
    joint = sz.datasets.make_joint(4, 3, random_state=2)
    proved = solve_optimal_random_response(joint, budget, gap=1e-3)
    monkeypatch.setattr(averaged, "_FACE", math.inf)
    made = solve_optimal_random_response(joint, budget, gap=1e-3)
    assert made.utility >= proved.utility - 0.01
    assert proved.utility - 1e-9 <= made.bound <= proved.bound + 0.1


LIMITS = {"at_most": {"0": 1.15, "*": 1.6}, "at_least": {"1": 0.85, "*": 0}}


@pytest.mark.parametrize(
    "budget", some_slow([*BUDGETS[:3], *BUDGETS[4:6], AlphaLiftBudget(FREE, lower=0.4, upper=0.4)]), ids=repr
)
def test_limits_by_value_hold_beside_an_average(budget):
    """Equal to a fine grid within both, in which each limit binds; and the release is within both in fractions."""
    joint, limits = sz.datasets.make_joint(3, 3, random_state=1), LiftBudget(**LIMITS)
    both = replace(budget, limits=limits)
    made = solve_optimal_random_response(joint, both, gap=1e-3)
    on_grid = best_of_grid(joint, limits_for(both, joint.sensitive), 100)
    assert made.status == "optimal"
    assert on_grid - 1e-9 <= made.bound <= made.utility + 1.1e-3
    assert made.utility <= on_grid + 0.02
    lifts = sz.lift(joint.push(made.channel))
    assert (lifts[0] <= 1.15 * (1 + 1e-12)).all()
    assert (lifts[1:] <= 1.6 * (1 + 1e-12)).all()
    assert (lifts[1] >= 0.85 * (1 - 1e-12)).all()
    assert budget.excess(joint.push(made.channel)).max() <= 0
    for alone in (budget, limits):
        assert made.utility <= solve_optimal_random_response(joint, alone, gap=1e-3).bound


def test_limits_beside_what_takes_none_are_refused():
    joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    average = L1LiftBudget(lower=FREE, upper=0.1)
    with pytest.raises(InvalidBudget, match="limits must be a LiftBudget"):
        replace(average, limits=average)
    with pytest.raises(InvalidBudget, match="at_most=1 or at_least=1 in limits="):
        optimal_random_response(joint, replace(average, limits=LiftBudget(at_most=1, at_least=0)))


def test_a_search_that_finds_no_columns_has_an_honest_bound(monkeypatch):
    joint, budget = sz.datasets.make_joint(4, 3, random_state=0), Chi2LiftBudget(lower=FREE, upper=0.15)
    best = solve_optimal_random_response(joint, budget, gap=1e-4)
    monkeypatch.setattr(averaged._Search, "_improve", lambda self, q: False)
    for face in (100, math.inf):
        monkeypatch.setattr(averaged, "_FACE", face)
        made = solve_optimal_random_response(joint, budget, gap=1e-4)
        assert made.status != "optimal"
        assert made.utility < best.utility - 0.01
        assert made.bound >= best.utility - 1e-9


def test_with_a_target_most_of_it_is_kept():
    joint, budget = sz.datasets.make_joint(6, 3, random_state=4), Chi2LiftBudget(lower=0.5, upper=0.2)
    target = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1.0]])
    aimed = solve_optimal_random_response(joint, budget, gap=1e-4, target=target)
    blind = optimal_random_response(joint, budget, gap=1e-4)
    loss = averaged.Loss.for_target(target, 6)
    assert aimed.gap <= 1e-4 + 1e-9
    assert aimed.utility >= loss.information(joint, blind) - 1e-4


def test_ends_of_the_scale():
    joint = sz.datasets.make_joint(5, 3, random_state=0)
    whole = solve_optimal_random_response(joint, L1LiftBudget(lower=FREE, upper=FREE))
    assert whole.normalized_utility == pytest.approx(1)
    nothing = solve_optimal_random_response(joint, LiftBudget(lower=0, upper=0))
    for budget in (Chi2LiftBudget(lower=FREE, upper=0), AlphaLiftBudget(3, lower=0, upper=1)):
        sealed = solve_optimal_random_response(joint, budget)
        assert sealed.utility == pytest.approx(nothing.utility, abs=1e-9)
        assert budget.excess(joint.push(sealed.channel)).max() <= 0
    largest = solve_optimal_random_response(joint, AlphaLiftBudget(FREE, lower=0.5, upper=0.3))
    assert largest.utility == pytest.approx(
        solve_optimal_random_response(joint, LiftBudget(lower=0.5, upper=0.3)).utility, abs=1e-6
    )


@pytest.mark.parametrize("budget", [Chi2LiftBudget(lower=0.3, upper=0.3), AlphaLiftBudget(3, lower=0.1, upper=FREE)])
def test_a_symbol_that_hardly_ever_occurs_stops_nothing(budget):
    pmf = np.random.default_rng(0).random((2, 7)) * np.append(1e-301, np.ones(6))
    joint = sz.JointDistribution.from_matrix(pmf / pmf.sum())
    made = solve_optimal_random_response(joint, budget, effort=1e5)
    merged = sz.core.measures.utility(joint, sz.subset_merging(joint, budget))
    assert merged - 1e-9 <= made.utility <= made.bound


def test_a_search_that_is_cut_short_says_so_and_is_within_the_budget():
    joint, budget = sz.datasets.make_joint(9, 4, random_state=0), AlphaLiftBudget(2, lower=FREE, upper=0.02)
    made = solve_optimal_random_response(joint, budget, effort=1)
    assert made.status == "effort"
    assert made.utility <= made.bound
    assert budget.excess(joint.push(made.channel)).max() <= 0
    assert made.optimality.words.startswith("cut short")


@pytest.mark.parametrize("settings", [{"confidence": 0.95}, {"side_columns": ["x"]}])
def test_what_has_no_bound_with_averages_is_refused(settings):
    joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    with pytest.raises(InvalidBudget, match=r"L1LiftBudget takes no confidence, side_columns or keep; give a Lift"):
        optimal_random_response(joint, L1LiftBudget(lower=1, upper=0.1), **settings)


@pytest.mark.parametrize("notion", ["l1", "chi2", "alpha"])
def test_frames_files_and_policies_have_it(notion, tmp_path):
    frame = sz.datasets.load_titanic()
    order = "alpha = 2\n" if notion == "alpha" else ""
    policy = sz.Policy.from_toml(
        'version = 1\n[columns]\nsensitive = ["survived"]\npublic = ["class", "sex"]\ndrop = ["age"]\n'
        f'[budget]\nnotion = "{notion}"\n{order}upper = 0.2\nlower = inf\n'
        '[channel]\nmechanism = "optimal-random-response"\ngap = 1e-3\n'
    )
    made = policy.sanitizer(random_state=0).fit(frame.drop(columns="age", errors="ignore"))
    assert made.report_.ok
    assert made.channel_.optimality.status in ("optimal", "within")
    budget = policy.budget.build()
    merged = sz.transformers.SubsetMerging(budget, sensitive="survived", public=["class", "sex"])
    merged.fit(frame)
    kept = [one.report_.summary["normalized_utility"] for one in (made, merged)]
    assert kept[0] >= kept[1] - 1e-9


# Rows of two secrets, in which both the average and the limits bind.
ROWS = pd.DataFrame(
    [
        (ill, town)
        for ill, of in {"flu": (120, 60, 60), "hiv": (10, 20, 30)}.items()
        for town, n in zip("ABC", of, strict=True)
        for _ in range(n)
    ],
    columns=["ill", "town"],
).sample(frac=1, random_state=0, ignore_index=True)
ROLES = {"sensitive": "ill", "public": "town"}
VALUES = LiftBudget(at_most={"hiv": 1.15, "*": FREE}, at_least=0)
BESIDE = [
    L1LiftBudget(lower=FREE, upper=0.144, limits=VALUES),
    Chi2LiftBudget(lower=FREE, upper=0.16, limits=VALUES),
    AlphaLiftBudget(2, lower=FREE, upper=0.0148, limits=VALUES),
]
beside = pytest.mark.parametrize("budget", BESIDE, ids=lambda budget: type(budget).__name__)


def response(budget):
    return OptimalRandomResponse(budget, **ROLES, gap=1e-5, random_state=1)


def check_limits_through_the_estimator(budget):
    """Equal to a fine grid; each side binds; and the channel that is drawn is within both, in fractions of counts."""
    fitted = response(budget).fit(ROWS)
    joint, channel = sz.JointDistribution.from_frame(ROWS, **ROLES), fitted.channel_
    design, drawn = (sz.optimal_random_response(joint, budget, gap=1e-5, keep_margin=last) for last in (False, True))
    np.testing.assert_allclose(channel.matrix, drawn.matrix, atol=1e-12)  # the design, and a value of each symbol
    kept = sz.normalized_utility(joint, design) * entr(joint.p_x).sum()
    on_grid = best_of_grid(joint, limits_for(budget, joint.sensitive), 120)
    assert on_grid - 1e-5 <= kept <= on_grid + 0.005
    for alone in (replace(budget, limits=None), VALUES):
        assert kept < solve_optimal_random_response(joint, alone, gap=1e-5).utility - 0.01
    counts = [[Fraction(int(n)) for n in row] for row in pd.crosstab(ROWS["ill"], ROWS["town"]).to_numpy()]
    total = sum(map(sum, counts))
    matrix = [[Fraction(p) for p in row] for row in channel.matrix]
    released = [
        [sum(n * row[y] for n, row in zip(of, matrix, strict=True)) for y in range(len(matrix[0]))] for of in counts
    ]
    lifts, room = oracles.lift([[n / total for n in row] for row in released]), 1 + Fraction(1, 10**12)
    assert max(lifts[1]) <= Fraction("1.15") * room
    shares, level = [sum(row) / total for row in counts], Fraction(math.exp(budget.upper))
    for column in zip(*lifts, strict=True):
        apart = [abs(lift - 1) for lift in column]
        if isinstance(budget, L1LiftBudget):
            assert sum(map(operator.mul, shares, apart)) <= (level - 1) * room
        elif isinstance(budget, Chi2LiftBudget):
            assert sum(p * d**2 for p, d in zip(shares, apart, strict=True)) <= (level - 1) ** 2 * room
        else:
            assert sum(p * lift**2 for p, lift in zip(shares, column, strict=True)) <= level**2 * room
    report = fitted.report_
    assert report.ok
    assert "by value" in report.to_text()


@beside
def test_limits_beside_an_average_hold_through_the_estimator(budget):
    check_limits_through_the_estimator(budget)


def without_limits(joint, budget):
    return SOUND.from_budget(joint, replace(budget, limits=None))


def excess_of_the_average(self, lifts, p_s):
    return AVERAGE(replace(self, limits=None), lifts, p_s)


AVERAGE = AveragedBudget.lift_excess


def test_limits_that_a_design_ignores_are_seen_by_the_report_and_where_both_do_by_the_fractions(monkeypatch):
    monkeypatch.setattr(PosteriorSet, "from_budget", without_limits)
    with pytest.raises(sz.errors.BudgetExceeded):
        response(BESIDE[1]).fit(ROWS)
    monkeypatch.setattr(AveragedBudget, "lift_excess", excess_of_the_average)
    with pytest.raises(AssertionError):
        check_limits_through_the_estimator(BESIDE[1])


@pytest.mark.slow
def test_files_frames_and_policies_with_limits_beside_an_average_draw_the_same_rows(tmp_path):
    budget = BESIDE[1]
    policy = sz.Policy.from_toml(
        'version = 1\n[columns]\nsensitive = ["ill"]\npublic = ["town"]\n'
        '[budget]\nnotion = "chi2"\nlower = inf\nupper = 0.16\n'
        'limits = { at_most = { hiv = 1.15, "*" = inf }, at_least = 0 }\n'
        '[channel]\nmechanism = "optimal-random-response"\ngap = 1e-5\n'
    )
    raw, receipt = tmp_path / "raw.parquet", tmp_path / "own" / "receipt"
    ROWS.to_parquet(raw)
    receipt.parent.mkdir()
    drawn, settings = [], {"key": bytes(range(32)), "rows": "keep"}
    for source, maker, more in (
        (raw, response(budget).set_params(random_state=None), {}),
        (raw, policy.sanitizer(), {}),
        (ROWS, policy.sanitizer(), {}),
        # Its key is made for it alone.
        (raw, response(budget).set_params(random_state=None), {"receipt": receipt}),
    ):
        report = sz.release_file(source, tmp_path / f"{len(drawn)}.parquet", maker, **settings, **more)
        assert report.ok
        assert report.budget == budget
        drawn.append(pd.read_parquet(tmp_path / f"{len(drawn)}.parquet")["town"].tolist())
    assert verify_file(tmp_path / "3.parquet", raw, policy.sanitizer(), rows="keep", receipt=receipt).ok
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(set(drawn[0])) > 1
    released = ROWS.sanitize.optimal_random_response(budget, **ROLES, gap=1e-5)
    assert sz.frames.last_report(released).ok
    assert set(released["town"]) == set(drawn[0])
    saved = sz.SavedRelease.from_json(sz.SavedRelease.of(response(budget).fit(ROWS)).to_json())
    assert saved.budget == budget


# --- Planted faults: each of ten is seen by a check above -----------------------------------------------------------

TANGENTS, FRACTIONS, NOTHING_BELOW = (
    test_tangents_cut_nothing_off_and_what_surely_holds_does,
    test_the_release_is_within_the_budget_in_fractions,
    test_no_posterior_is_below_what_is_proved_and_one_is_found_where_there_is,
)
INVERSE = L1LiftBudget(lower=0.15, upper=FREE)


def without_chords(self, at, least, most):
    """Tangents of g/l also where g is negative: they cut posteriors off."""
    return SOUND.tangents(self, at, at, at)


def tighter_tangents(self, at, least, most):
    return [(slope, 0.98 * bound) for slope, bound in SOUND.tangents(self, at, least, most)]


def steeper_slope(self, z):
    return SOUND.slope(self, z) * (1 + 0.1 * (z > 0))


def corners_alone(self, lifts):
    """As if both sides were convex."""
    return np.maximum(*SOUND.sizes(self, lifts)).max(axis=1) < 1


def upper_side_alone(self, lifts):
    above, below = SOUND.sizes(self, lifts)
    return above, 0 * below


def a_looser_budget(joint, budget):
    return SOUND.from_budget(joint, type(budget)(lower=budget.lower, upper=1.05 * budget.upper))


def without_edges(rest, over):
    return np.where(over <= 0, rest, np.inf).min(axis=1)


def half_the_gain(self):
    return SOUND.gain_cuts(self) - self.high / 4


def fewer_letters(price, target, effort):
    """Faces of two letters alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.linalg, "matrix_rank", lambda matrix: 2)
        return LOWEST(price, target, effort)


def further_chord(self, some, target):
    """Simplices are left a little above the target already."""
    return PRICE.may_hold(self, some, target - 0.2)


class SOUND:
    from_budget, tangents, slope = PosteriorSet.from_budget, PosteriorSet.tangents, PosteriorSet.slope
    sizes, gain_cuts = PosteriorSet.sizes, PosteriorSet.gain_cuts


class PRICE:
    may_hold = averaged.BoundedPrice.may_hold


LOWEST = averaged.lowest
FAULTS = [
    (PosteriorSet, "tangents", without_chords, TANGENTS, (INVERSE,)),
    (PosteriorSet, "tangents", tighter_tangents, TANGENTS, (BUDGETS[2],)),
    (PosteriorSet, "slope", steeper_slope, TANGENTS, (BUDGETS[4],)),
    (
        PosteriorSet,
        "surely_holds",
        corners_alone,
        test_a_mixture_of_posteriors_within_an_inverse_is_not_taken_to_be_within,
        (),
    ),
    (PosteriorSet, "sizes", upper_side_alone, TANGENTS, (BUDGETS[5],)),
    (PosteriorSet, "from_budget", a_looser_budget, FRACTIONS, (Chi2LiftBudget(lower=0.5, upper=0.3), 2, 1)),
    (PosteriorSet, "gain_cuts", half_the_gain, test_the_gain_cuts_are_the_l1_lift, ()),
    (averaged, "least_mixture", without_edges, test_the_least_mixture_is_that_of_a_linear_program, ()),
    (averaged, "lowest", fewer_letters, test_faces_of_as_many_letters_as_secrets_are_searched, ()),
    (averaged.BoundedPrice, "may_hold", further_chord, NOTHING_BELOW, (BUDGETS[2],)),
]


@pytest.mark.parametrize(
    ("owner", "name", "fault", "check", "given"), FAULTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_planted_fault_is_seen(owner, name, fault, check, given, monkeypatch):
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(AssertionError):
        check(*given)
