"""Claims that the papers make in their text, outside numbered statements."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from paper_mechanisms import paper_subset_merging

import sanitize as sz
import sanitize.theory.tradeoff as td
from sanitize.core.budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.core.capacity import channel_capacity
from sanitize.core.lifts import alpha_norm, chi2_deviation, inverse, l1_deviation
from sanitize.mechanisms._merging.risks import merging_groups
from sanitize.mechanisms._response_solver.polytope import LiftBounds
from sanitize.mechanisms._response_solver.vertices import list_vertices
from sanitize.theory.individual import individual_max_information
from sanitize.theory.notions import approximate_dp, global_dp

FREE = math.inf
KEPT = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "lift_paper.json"


# --- [ZDS] ---------------------------------------------------------------------------------------------------------


def test_zds_the_risk_of_lip_less_epsilon_is_the_excess():
    """ω = max(log Λ, |log Ψ|) [ZDS §IV-A] is above ε exactly where ε-LIP is broken."""
    joint = sz.datasets.make_joint(9, 4, random_state=0)
    risk = np.maximum(sz.core.lifts.max_log_lift(joint), np.abs(sz.core.lifts.min_log_lift(joint)))
    for eps in (0.2, 0.6, 1.5):
        np.testing.assert_allclose(LiftBudget.symmetric(eps).excess(joint), risk - eps, atol=1e-12)


def vertices(joint, budget, letters=slice(None)):
    """Vertices of the polytope of posteriors over some letters."""
    return list_vertices(LiftBounds.outer(sz.lift(joint)[:, letters], budget).cuts(), 10**6, 10**9)


@pytest.mark.parametrize("budget", [LDPBudget(0.7), LiftBudget.symmetric(0.5)], ids=["LDP", "LIP"])
def test_zds_the_polytope_has_one_dimension_less_than_symbols(budget):
    """The paper says |X|(|X| - 1) for LDP [ZDS §III-A2], which is that of channels; of posteriors it is |X| - 1."""
    joint = sz.datasets.make_joint(6, 3, random_state=1)
    found = vertices(joint, budget)
    assert np.linalg.matrix_rank(found[1:] - found[0], tol=1e-9) == 5


@pytest.mark.parametrize("n", [5, 8, 11])
def test_zds_vertices_are_polynomially_many_in_the_symbols(n):
    """At most Σ C(n, m) C(2|S|, m - 1) over m <= |S|, for the paper's exp(n - 1) [ZDS §V-A]."""
    joint = sz.datasets.make_joint(n, 3, random_state=2)
    found = vertices(joint, LiftBudget.symmetric(0.3))
    assert len(found) <= sum(math.comb(n, m) * math.comb(6, m - 1) for m in (1, 2, 3))


def test_zds_blocks_have_fewer_vertices_than_the_whole():
    """The work of SRR is that of its largest blocks [ZDS §V-A, V-B]: fewer vertices, where the paper counts seconds."""
    joint = sz.datasets.make_joint(12, 4, random_state=3)
    for eps in (1.0, 4.0):
        budget = LiftBudget.from_ldp(eps, 0.65)
        blocks = merging_groups(paper_subset_merging(joint, budget))
        within = sum(len(vertices(joint, budget, block)) for block in blocks if len(block) > 1)
        assert within < len(vertices(joint, budget))


def test_zds_footnote_2_hardly_any_symbol_has_a_log_min_lift_below_minus_6():
    """One in 180 of 17,000 symbols: what the paper calls near zero."""
    bars = json.loads(KEPT.read_text(encoding="utf-8"))["whole"]["figure_1"]["log min-lift"]["symbols"]
    below = np.array(bars)[np.linspace(-12.5, 0, 121)[1:] <= -6].sum()
    assert below / sum(bars) == pytest.approx(0.0056, abs=1e-4)


def test_zds_figures_2_5_and_6_what_keeps_more_leaks_more():
    """What the text says of leakage: LDP above ALIP, AORR and SRR above merging, and all within their budgets."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))["whole"]
    pairs = [("figure_2", "LDP", f"ALIP, λ={share}") for share in (0.35, 0.5, 0.65)]
    pairs += [(f, "SRR, Algorithm 2", "subset merging, Algorithm 1") for f in ("figure_5", "figure_6")]
    for figure, more, less in pairs:
        for side in ("min-lift", "max-lift"):
            ends = (np.array(kept[figure][name][side]) for name in (more, less))
            assert (np.subtract(*ends) > -1e-3).all(), (figure, more, less, side)
    assert max(max(curve["excess"]) for curve in kept["figure_6"].values()) <= 1e-9


def test_zds_section_3a1_utility_falls_strictly_but_from_one_symbol_to_none():
    joint = sz.datasets.make_joint(6, 3, random_state=0)
    mergings = [sz.Channel.merge([0] * k + list(range(k, 6)), joint.public) for k in range(1, 7)]
    kept = [sz.core.measures.utility(joint, merging) for merging in mergings]
    assert kept[0] == pytest.approx(sz.core.measures.entropy(joint.p_x))
    assert (np.diff(kept) < -1e-3).all()
    assert kept[-1] == pytest.approx(0, abs=1e-12)


def test_zds_section_3a3_the_optimal_response_may_leak_less_than_a_merging():
    """Of the largest lift, and of I(S;Y): within one budget, and on one distribution each."""
    for seed, budget, measure, most, least in (
        (41, LiftBudget(lower=0.15, upper=2.0), lambda joint: sz.core.lifts.max_log_lift(joint).max(), 0.2616, 0.2061),
        (21, LiftBudget.symmetric(0.3), sz.core.measures.mutual_information, 0.01876, 0.01824),
    ):
        joint = sz.datasets.make_joint(5, 3, random_state=seed)
        merged, best = (make(joint, budget) for make in (sz.subset_merging, sz.optimal_random_response))
        assert [measure(joint.push(one)) for one in (merged, best)] == pytest.approx([most, least], abs=1e-4)
        assert sz.core.measures.utility(joint, merged) < sz.core.measures.utility(joint, best)
        assert max(budget.excess(joint.push(one)).max() for one in (merged, best)) <= 0


@pytest.mark.parametrize(
    "budget",
    [
        L1LiftBudget(lower=FREE, upper=0.4),
        Chi2LiftBudget(lower=FREE, upper=0.4),
        AlphaLiftBudget(3, lower=0.3, upper=0.3),
    ],
    ids=["l1", "chi2", "alpha and its inverse"],
)
def test_zds_section_6b_these_constraints_are_convex(budget):
    rng, p_s = np.random.default_rng(0), np.array([0.1, 0.2, 0.3, 0.4])
    lifts = rng.dirichlet(8 * p_s, 2000).T / p_s[:, None]
    within = lifts[:, budget.lift_excess(lifts, p_s) <= 0]
    pairs = rng.integers(within.shape[1], size=(2, 4000))
    share = rng.random(4000)
    mixed = share * within[:, pairs[0]] + (1 - share) * within[:, pairs[1]]
    assert 20 < within.shape[1] < 2000
    assert (budget.lift_excess(mixed, p_s) <= 0).all()


@pytest.mark.parametrize(
    ("measure", "ends", "middle"), [(l1_deviation, 5.6875, 5.7556), (chi2_deviation, 39.2766, 39.321)]
)
def test_zds_section_6b_of_l1_and_chi2_the_inverses_are_not(measure, ends, middle):
    """Two posteriors of S as far from the prior as each other, and their mean, further off."""
    p_s = np.array([0.1, 0.1, 0.8])
    posteriors = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.45, 0.45, 0.1]]).T
    found = measure(inverse(posteriors / p_s[:, None]), p_s)
    assert found == pytest.approx([ends, ends, middle], abs=1e-4)


def test_zds_section_6_small_lift_based_measures_bound_the_min_lift_too():
    """What a secret loses, others gain: Ψ >= 1 - ℓ1/2P, 1 - √(χ²(1-P)/P), and above 0 for a small α-lift [ZDS §VI]."""
    rng = np.random.default_rng(0)
    for p_s in rng.dirichlet(np.full(4, 2.0), 50):
        lifts = rng.dirichlet(4 * p_s, 40).T / p_s[:, None]
        share = p_s[:, None]
        assert (lifts >= 1 - l1_deviation(lifts, p_s) / (2 * share) - 1e-12).all()
        assert (lifts >= 1 - np.sqrt(chi2_deviation(lifts, p_s) * (1 - share) / share) - 1e-12).all()
    p_s, ruled_out = np.array([0.2, 0.8]), np.array([[0.0], [1.25]])  # reached by two secrets
    found = [of(ruled_out, p_s)[0] for of in (l1_deviation, chi2_deviation)] + [alpha_norm(ruled_out, p_s, 2)[0] ** 2]
    assert found == pytest.approx([2 * 0.2, 0.2 / 0.8, 1 / 0.8])


RELAXED = (L1LiftBudget, Chi2LiftBudget, lambda **sides: AlphaLiftBudget(2, **sides))


@pytest.mark.parametrize("budget", RELAXED, ids=["l1", "chi2", "alpha"])
def test_zds_section_6b_averages_are_relaxations_where_both_limits_are_one(budget):
    """At λ = 1/2 what is within ALIP is within them, as e^x + e^-x >= 2; with a looser min-lift it need not be."""
    rng, p_s = np.random.default_rng(0), np.array([0.1, 0.2, 0.3, 0.4])
    for x in (0.1, 0.5, 1.5):
        lifts = np.exp(rng.uniform(-x, x, (4, 3000)))
        lifts /= p_s @ lifts
        within = lifts[:, LiftBudget.symmetric(x).lift_excess(lifts, p_s) <= 0]
        assert within.shape[1] > 100
        assert (budget(lower=x, upper=x).lift_excess(within, p_s) <= 0).all()
    third = np.array([[1.25], [1.25], [0.5]])
    lower, upper = math.log(2), math.log(1.25)
    assert LiftBudget(lower=lower, upper=upper).lift_excess(third, np.full(3, 1 / 3)) <= 1e-12
    is_within = budget(lower=FREE, upper=upper).lift_excess(third, np.full(3, 1 / 3))[0] <= 0
    assert is_within == (budget is RELAXED[2])


def test_zds_section_6b_the_alpha_lift_tends_to_alip_and_keeps_more_the_smaller_alpha_is():
    joint = sz.datasets.make_joint(12, 4, random_state=0)
    exact, bounded = LiftBudget.symmetric(0.4), AlphaLiftBudget(FREE, lower=0.4, upper=0.4)
    np.testing.assert_array_equal(exact.excess(joint) > 0, bounded.excess(joint) > 0)
    excess = [AlphaLiftBudget(alpha, lower=0.4, upper=0.4).excess(joint) for alpha in (2, 10, 100, FREE)]
    assert (np.diff(excess, axis=0) >= -1e-12).all()


def test_zds_section_6b_merging_is_far_from_the_optimum_within_averages():
    joint, budget = sz.datasets.make_joint(7, 3, random_state=0), Chi2LiftBudget(lower=FREE, upper=0.15)
    merged, best = (
        sz.normalized_utility(joint, one)
        for one in (
            sz.mechanisms.best_subset_merging(joint, budget),
            sz.optimal_random_response(joint, budget, gap=1e-2),
        )
    )
    assert merged < best - 0.1


# --- [WXH] ---------------------------------------------------------------------------------------------------------


def test_wxh_section_8_perfect_dalenius_security_of_one_record_is_local_dp_with_max_information():
    rng = np.random.default_rng(0)
    for _ in range(5):
        matrix = rng.dirichlet(np.ones(4), 3)
        assert individual_max_information(matrix) == pytest.approx(global_dp(matrix, sizes=[3]), abs=1e-9)


def test_wxh_section_8_with_mutual_information_it_is_not():
    """A channel of hardly any capacity that rules a record out: no ε of differential privacy."""
    matrix = np.array([[1.0, 0.0], [0.99, 0.01]])
    assert channel_capacity(matrix).upper < 0.005
    assert global_dp(matrix, sizes=[2]) == FREE


def test_wxh_levels_are_in_nats_where_the_paper_mixes_bits():
    """From ε = 1 bit on a binary symmetric channel needs no noise, [WXH §4.1]; in nats that is ln 2."""
    assert sz.mechanisms.calibrate_randomized_response(2, math.log(2)) == FREE
    assert sz.mechanisms.calibrate_randomized_response(2, 0.99 * math.log(2)) < FREE


def test_wxh_a_gaussian_channel_a_dimension_has_the_sum_of_their_capacities():
    values = ([-1.0, 1.0], [0.0, 1.0, 2.0])
    parts = [sz.mechanisms.gaussian_channel(v, 0.2, step=1.0).matrix for v in values]
    whole = channel_capacity(np.kron(*parts))
    assert float(whole) == pytest.approx(sum(float(channel_capacity(part)) for part in parts), abs=1e-6)
    assert whole.upper <= 0.4 + 1e-6


def test_wxh_section_7_answers_that_depend_on_each_other_have_no_sum():
    """A fair bit, and X plus that bit: neither tells anything of X, and both tell all. Left open in the paper."""
    alone, both = np.full((2, 2), 0.5), np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0]])
    np.testing.assert_array_equal(both.reshape(2, 2, 2).sum(axis=1), alone)
    np.testing.assert_array_equal(both.reshape(2, 2, 2).sum(axis=2), alone)
    assert float(channel_capacity(alone)) == pytest.approx(0, abs=1e-9)
    assert float(channel_capacity(both)) == pytest.approx(math.log(2))
    assert float(channel_capacity(sz.theory.accounting.compose(alone, alone))) == pytest.approx(
        0, abs=1e-9
    )  # independent


# --- [WYZ] ---------------------------------------------------------------------------------------------------------


def test_wyz_under_a_uniform_prior_identifiability_is_differential_privacy():
    uniform = np.full(9, 1 / 9)
    for distortion in (0.2, 0.7, 1.2):
        level = td.DatabaseIdentifiability(uniform, n_records=2).privacy(distortion)
        assert level == pytest.approx(td.UniformDP(2, 3).privacy(distortion), abs=1e-9)
    assert sz.theory.notions.prior_ratio(uniform) == pytest.approx(0)


def test_wyz_thresholds_are_finite_exactly_with_full_support():
    """ε_X and ε̃_X; of one record the second is log(1 / min P - m + 1)."""
    prior = np.array([0.5, 0.3, 0.2])
    assert td.DatabaseIdentifiability(prior).threshold == pytest.approx(math.log(1 / 0.2 - 2))
    assert sz.theory.notions.prior_ratio(prior) == pytest.approx(math.log(0.5 / 0.2))
    assert sz.theory.notions.prior_ratio(np.array([0.5, 0.5, 0.0])) == FREE


# --- [ZB] ----------------------------------------------------------------------------------------------------------


def test_zb_section_1_approximate_privacy_is_nearness_to_a_distribution_that_is_private():
    """The least δ is the variation of P from some P' <= e^ε Q; what is above e^ε Q goes where there is room."""
    rng = np.random.default_rng(0)
    for eps in (0.0, 0.3, 1.0):
        p, q = rng.dirichlet(np.ones(6), 2)
        limit = math.exp(eps) * q
        over = np.maximum(p - limit, 0)
        room = np.maximum(limit - p, 0)
        near = np.minimum(p, limit) + over.sum() * room / max(room.sum(), 1e-300)
        assert near.sum() == pytest.approx(1)
        assert (near <= limit + 1e-12).all()
        assert np.abs(near - p).sum() / 2 == pytest.approx(over.sum())
        delta = approximate_dp(np.stack([p, q]), eps=eps)
        assert max(over.sum(), np.maximum(q - math.exp(eps) * p, 0).sum()) == pytest.approx(delta, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 7, FREE])
def test_zb_theorem_6_no_prior_tells_more_by_a_symmetric_channel_than_the_uniform_one(order):
    symmetric, rng = 0.6 * np.eye(4) + 0.1, np.random.default_rng(0)
    said = [
        sz.sibson_information(sz.JointDistribution.from_matrix(prior[:, None] * symmetric), order)
        for prior in (np.full(4, 0.25), *rng.dirichlet(np.ones(4), 40))
    ]
    assert max(said[1:]) <= said[0] + 1e-12


def test_zb_section_4c_divergences_of_neighbours_cost_more_than_informations_at_small_distortion():
    divergences = [td.UniformDP(1, 2), td.UniformDP(1, 2, 0.001), td.UniformRenyiDP(1, 2, 2.0)]
    informations = [td.UniformSibson(1, 2, order) for order in (1, 2, FREE)]
    for distortion in (0.001, 0.01, 0.1):
        costs = [[family.privacy(distortion) for family in one] for one in (divergences, informations)]
        assert min(costs[0]) > math.log(2) > max(costs[1])


def test_zb_maximal_leakage_is_not_always_the_most_relaxed():
    """At D = .47 and δ = .1 approximate DP asks for nothing any more, and maximal leakage does [ZB §IV-C]."""
    prior = np.array([0.5, 0.3, 0.2])
    assert td.PriorDP(prior, 0.1).privacy(0.47) == 0
    assert td.PriorMaximalLeakage(prior).privacy(0.47) > 0.05
    for distortion in (0.1, 0.3):
        assert td.PriorMaximalLeakage(prior).privacy(distortion) < td.PriorDP(prior, 0.1).privacy(distortion)


@pytest.mark.parametrize("m", [2, 4])
def test_zb_randomized_response_is_optimal_for_one_record_of_unknown_prior(m):
    """Every notion's optimal channel keeps a letter with 1 - D and else draws another evenly [ZB §IV-C]."""
    symmetric = 0.7 * np.eye(m) + 0.3 / (m - 1) * (1 - np.eye(m))
    families = [td.UniformDP(1, m), td.UniformRenyiDP(1, m, 2.0), *(td.UniformSibson(1, m, a) for a in (1, 2, FREE))]
    for family in families:
        np.testing.assert_allclose(family.channel(0.3).matrix, symmetric, atol=1e-6)


CASES = [
    (prior, delta, share)
    for prior in ((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1))
    for delta in (0.0, 0.1)
    for share in (0.2, 0.6, 0.9)
]
BLACK, RED, WHITE = 1, -1, 0


def colours(prior, delta, share):
    """Colours of the optimal channel: black and red are the ends of pairs with ratio e**ε, but for δ [ZB app. B]."""
    family, distortion = td.PriorDP(prior, delta), share * (1 - prior[0]) * (1 - delta)
    matrix, bound = family.channel(distortion).matrix, math.exp(family.privacy(distortion))
    found = np.full(matrix.shape, WHITE)
    for i, j in np.ndindex(matrix.shape):
        column = matrix[:, j]
        if column.max() > 0:
            is_black = np.isclose(matrix[i, j], bound * column.min() + delta)
            is_red = np.isclose(bound * matrix[i, j] + delta, column.max())
            found[i, j] = BLACK * is_black + RED * is_red
    return found[:, matrix.max(axis=0) > delta + 1e-9], matrix


def off_diagonal(colour, i):
    return np.delete(colour[i], i) if i < colour.shape[1] else colour[i]


by_case = pytest.mark.parametrize(("prior", "delta", "share"), CASES)


@by_case
def test_zb_lemma_26_a_row_is_of_one_colour_off_the_diagonal(prior, delta, share):
    colour, _ = colours(prior, delta, share)
    assert all(len(set(off_diagonal(colour, i).tolist())) <= 1 for i in range(len(colour)))


@by_case
def test_zb_lemma_27_where_a_diagonal_is_not_black_its_row_is_red(prior, delta, share):
    colour, _ = colours(prior, delta, share)
    for i in range(colour.shape[1]):
        assert colour[i, i] == BLACK or (off_diagonal(colour, i) == RED).all()


@by_case
def test_zb_proposition_28_no_row_is_all_black_or_all_red(prior, delta, share):
    colour, matrix = colours(prior, delta, share)
    for i in range(colour.shape[1]):
        assert len({*colour[i].tolist()}) > 1 or colour[i, 0] == WHITE
    np.testing.assert_allclose(matrix.sum(axis=1), 1)


@by_case
def test_zb_propositions_29_and_30_at_most_the_first_diagonal_is_not_black(prior, delta, share):
    colour, _ = colours(prior, delta, share)
    assert all(colour[i, i] == BLACK for i in range(1, colour.shape[1]))


@by_case
def test_zb_proposition_31_the_first_row_is_red_and_red_rows_come_first(prior, delta, share):
    colour, _ = colours(prior, delta, share)
    red = [bool((off_diagonal(colour, i) == RED).all()) for i in range(len(colour))]
    assert red[0]
    assert red == sorted(red, reverse=True)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("prior", [(0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1)])
def test_zb_proposition_32_for_maximal_leakage_every_diagonal_is_the_top_of_its_column(prior, share):
    matrix = td.PriorMaximalLeakage(prior).channel(share * (1 - prior[0])).matrix
    assert (np.diag(matrix) >= matrix.max(axis=0) - 1e-12).all()
