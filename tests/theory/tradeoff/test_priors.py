"""Trade-offs with a known prior: local channels, independent records, identifiability; programs as second route."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sanitize.errors import InvalidParameter
from sanitize.theory import tradeoff as td
from sanitize.theory.notions import hamming_neighbours, prior_ratio

mpmath.mp.dps = 50
INF = math.inf
RNG = np.random.default_rng(11)
PRIORS = [
    np.array([0.5, 0.5]),
    np.array([0.9, 0.1]),
    np.array([0.5, 0.3, 0.2]),
    np.array([0.2, 0.6, 0.2]),  # a tie, and not sorted
    np.array([0.4, 0.4, 0.2, 0.0]),  # an impossible letter
    np.array([1.0, 0.0]),
    np.full(5, 0.2),
    RNG.dirichlet(np.ones(5)),
    RNG.dirichlet(np.full(6, 0.3)),
]
SHARES = (1e-6, 0.05, 0.3, 0.6, 0.9, 0.999)


def hamming(m: int) -> np.ndarray:
    return 1 - np.eye(m)


def channel_level(channel: np.ndarray, delta: float = 0.0) -> float:
    """Least ε of event-wise (ε, δ)-LDP, by bisection over ε."""

    def over(epsilon: float) -> float:
        gap = channel[:, None, :] - math.exp(epsilon) * channel[None, :, :]
        return float(np.maximum(gap, 0).sum(axis=2).max())

    low, high = 0.0, 60.0
    if over(0.0) <= delta + 1e-14:
        return 0.0
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) > delta + 1e-14 else (low, middle)
    return high


# --- one record ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("delta", [0.0, 1e-12, 0.15])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.4, 1.5, 5.0])
def test_zb_theorems_9_and_13_are_the_optimum_of_the_linear_program(prior, delta: float, epsilon: float) -> None:
    family = td.PriorDP(prior, delta)
    closed = family.distortion(epsilon)
    assert closed == pytest.approx(td.OptimalDP(prior, hamming(len(prior)), delta).distortion(epsilon), abs=1e-8)
    assert closed == pytest.approx((1 - delta) * td.PriorDP(prior).distortion(epsilon))
    # Up to some level the best guess alone is optimal, and the least level at its distortion is 0.
    if 1e-9 < closed < (1 - delta) * (1 - prior.max()) - 1e-9:
        assert family.privacy(closed) == pytest.approx(epsilon, rel=1e-6, abs=0)


@pytest.mark.parametrize("prior", PRIORS)
def test_zb_theorem_13_the_intervals_of_the_paper(prior) -> None:
    """The k whose interval holds D gives the least of all candidates."""
    p = np.sort(prior)[::-1]
    tail = lambda k: float(p[k:].sum())  # noqa: E731
    for share in SHARES:
        distortion = share * (1 - p[0])
        if distortion == 0:
            continue
        hits = [
            math.log((k - 1) * (1 - distortion) / (distortion - tail(k)))
            for k in range(2, len(p) + 1)
            if tail(k) + (k - 1) * (p[k] if k < len(p) else 0) - 1e-12
            <= distortion
            <= tail(k - 1) + (k - 2) * p[k - 1] + 1e-12
            and distortion > tail(k)
        ]
        assert hits
        assert td.PriorDP(prior).privacy(distortion) == pytest.approx(min(hits), abs=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_optimal_local_channel_has_its_level_and_distortion(prior, delta: float) -> None:
    family = td.PriorDP(prior, delta)
    for share in SHARES:
        distortion = share * (1 - prior.max()) * (1 - delta)
        channel = family.channel(distortion).matrix
        assert channel.sum(axis=1) == pytest.approx(1)
        assert float(prior @ (channel * hamming(len(prior))).sum(axis=1)) == pytest.approx(distortion, abs=1e-12)
        if distortion > 1e-4:
            assert channel_level(channel, delta) == pytest.approx(family.privacy(distortion), abs=1e-8)


@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_zb_lemma_10_nothing_leaks_exactly_from_the_distortion_of_the_best_guess(delta: float) -> None:
    for prior in PRIORS:
        edge, family = (1 - delta) * (1 - prior.max()), td.PriorDP(prior, delta)
        assert family.privacy(edge * (1 + 1e-12)) == 0
        if edge > 0:
            assert family.privacy(edge * 0.999) > 0
            assert family.privacy(0.0) == INF
    assert td.PriorDP([0.5, 0.5], 1.0).privacy(0.0) == 0
    assert td.PriorDP([1.0]).privacy(0.1) == 0
    assert td.PriorDP([0.5, 0.5]).distortion(INF) == 0


@pytest.mark.parametrize("prior", PRIORS)
def test_zb_theorem_14_is_the_optimum_of_the_linear_program(prior) -> None:
    family, program = td.PriorMaximalLeakage(prior), td.OptimalSibson(prior, hamming(len(prior)), INF)
    for share in (0.0, *SHARES, 1.05):
        distortion = min(1.0, share * (1 - prior.max()))
        value = family.privacy(distortion)
        assert value == pytest.approx(program.privacy(distortion + 1e-15), abs=1e-7)
        if 1e-9 < share < 1:
            assert family.distortion(value) == pytest.approx(distortion, abs=1e-9)
        channel = family.channel(distortion).matrix
        assert channel.sum(axis=1) == pytest.approx(1)
        assert math.log(channel.max(axis=0).sum()) == pytest.approx(value, abs=1e-12)
        assert float(prior @ (channel * hamming(len(prior))).sum(axis=1)) <= distortion + 1e-12 or share > 1


def test_zb_lemma_33_no_leakage_iff_the_best_guess_is_good_enough() -> None:
    assert td.PriorMaximalLeakage([0.5, 0.3, 0.2]).privacy(0.5) == 0
    assert td.PriorMaximalLeakage([0.5, 0.3, 0.2]).privacy(0.499) > 0
    assert td.PriorMaximalLeakage([0.5, 0.5]).distortion(INF) == 0
    assert td.PriorMaximalLeakage([0.4, 0.4, 0.2, 0.0]).privacy(0.0) == pytest.approx(math.log(3))


def ordered_sets() -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    sets = [np.sort(rng.dirichlet(np.ones(m), size=3))[:, ::-1] for m in (2, 3, 4, 5)]
    return [*sets, sets[2][:, [2, 0, 3, 1]], np.array([[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]])]


@pytest.mark.parametrize("priors", ordered_sets())
def test_zb_corollary_15_ordered_sets_are_the_optimum_of_the_linear_program(priors) -> None:
    d, family = hamming(priors.shape[1]), td.PriorMaximalLeakage(priors)
    for distortion in (0.02, 0.2, 0.4):
        value = family.privacy(distortion)
        assert value == pytest.approx(td.OptimalSibson(priors, d, INF).privacy(distortion), abs=1e-8)
        channel = family.channel(distortion).matrix
        assert (priors @ (channel * d).sum(axis=1) <= distortion + 1e-12).all()
        assert math.log(channel.max(axis=0).sum()) == pytest.approx(value, abs=1e-12)
        if value > 0:
            assert family.distortion(value) == pytest.approx(distortion, abs=1e-9)


@pytest.mark.parametrize("priors", ordered_sets()[1:3])
def test_zb_proposition_12_one_program_is_the_worst_mixture_of_the_set(priors) -> None:
    """By the minimax theorem the program's value is the largest closed form over the hull of the set."""
    epsilon, delta = 0.8, 0.1
    found = td.OptimalDP(priors, hamming(priors.shape[1]), delta).distortion(epsilon)
    rng = np.random.default_rng(1)
    weights = np.concatenate([np.eye(len(priors)), rng.dirichlet(np.full(len(priors), 0.5), size=4000)])
    values = [td.PriorDP(w @ priors, delta).distortion(epsilon) for w in weights]
    assert max(values) <= found + 1e-9
    assert max(values) == pytest.approx(found, abs=2e-3)


def test_zb_theorem_6_source_sets_lie_between_their_priors_and_the_symmetric_channel() -> None:
    priors = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
    for distortion in (0.1, 0.3, 0.45):
        interval = td.DatabaseDP(priors).bounds(distortion)
        found = td.OptimalDP(priors, hamming(3)).privacy(distortion)
        assert interval.lower - 1e-7 <= found <= interval.upper + 1e-7


def test_one_prior_of_a_set_with_a_low_threshold_makes_the_closed_form_that_of_the_set() -> None:
    """h(ε~) is 0.4 of the first and 0.2 of the second."""
    priors = np.array([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1]])
    family = td.DatabaseDP(priors)
    assert family.largest == pytest.approx(0.4)
    for distortion in (0.1, 0.35):
        level = td.UniformDP(1, 3).privacy(distortion)
        assert family.privacy(distortion) == level
        assert family.bounds(distortion) == td.PrivacyInterval(level, level)
        assert td.OptimalDP(priors, hamming(3)).privacy(distortion) == pytest.approx(level, abs=1e-7)


def test_zb_after_definition_2_adding_mixtures_of_the_priors_changes_nothing() -> None:
    priors, d = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]), hamming(3)
    hull = np.concatenate([priors, np.random.default_rng(0).dirichlet([1, 1], size=5) @ priors])
    alone, mixed = td.OptimalDP(priors, d).at_level(0.8), td.OptimalDP(hull, d).at_level(0.8)
    assert alone.distortion == pytest.approx(mixed.distortion, abs=1e-9)
    assert (hull @ (alone.matrix * d).sum(axis=1) <= alone.distortion + 1e-9).all()


@pytest.mark.parametrize("level", [0.2, 0.8, 2.0])
def test_zb_lemma_5_1_a_set_has_no_smaller_loss_than_its_members(level: float) -> None:
    """At one level the set has at least the distortion of each member, so at one distortion at least its level."""
    priors, d = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]), hamming(3)
    of_set = td.OptimalDP(priors, d).at_level(level).distortion
    assert of_set >= max(td.PriorDP(prior).distortion(level) for prior in priors) - 1e-9
    assert of_set <= td.OptimalDP(priors, d).at_level(level / 2).distortion + 1e-9


@pytest.mark.parametrize(("m", "n"), [(2, 1), (3, 1), (2, 2), (3, 2)])
def test_zb_lemma_5_2_the_uniform_mechanism_is_valid_from_a_blind_guess_on(m: int, n: int) -> None:
    """All outputs alike: its mean distance is n (m - 1)/m from every table, whatever the prior, and nothing is lost."""
    d = td.hamming_distances(n, m)
    uniform = np.full((m**n, m**n), float(m) ** -n)
    assert (uniform * d).sum(axis=1) == pytest.approx(n * (m - 1) / m)
    assert channel_level(uniform) == pytest.approx(0, abs=1e-9)
    for prior in np.random.default_rng(0).dirichlet(np.ones(m**n), 5):
        assert float(prior @ (uniform * d).sum(axis=1)) == pytest.approx(n * (m - 1) / m)
    assert td.UniformDP(n, m).privacy(n * (m - 1) / m) == 0
    assert td.UniformDP(n, m).privacy(n * (m - 1) / m - 1e-3) > 0


@pytest.mark.parametrize("prior", [PRIORS[2], PRIORS[3], PRIORS[7]])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_zb_colouring_lemmas_describe_the_optimal_local_channels(prior, delta: float) -> None:
    """[ZB Lemmas 11, 26, 27, 34, Prop. 28-32]: black = top of a critical pair, e**ε times its bottom, red, and δ more.

    Every diagonal is black. Rows of released letters are red off the diagonal and come first by probability; the
    other rows are white, within the ratio. No row is all black or all red.
    """
    order, family = np.argsort(-prior, kind="stable"), td.PriorDP(prior, delta)
    for share in (0.2, 0.6, 0.9):
        distortion = share * (1 - prior.max()) * (1 - delta)
        channel = family.channel(distortion).matrix[np.ix_(order, order)]
        epsilon, bottom = family.privacy(distortion), channel.min(axis=0)
        assert float((prior[order] * (1 - np.diag(channel))).sum()) == pytest.approx(distortion)
        assert np.diag(channel) == pytest.approx(math.exp(epsilon) * bottom + delta)
        red = [bool(np.allclose(np.delete(row - bottom, i), 0)) for i, row in enumerate(channel)]
        assert red == sorted(red, reverse=True)
        assert (channel <= math.exp(epsilon) * bottom + delta + 1e-12).all()
        shown = bottom > 0
        assert not (channel[:, shown] == bottom[shown]).all(axis=1).any()
        leaky = td.PriorMaximalLeakage(prior).channel(distortion).matrix
        assert (np.diag(leaky) == leaky.max(axis=0)).all()


@pytest.mark.parametrize("epsilon", [1e-6, 50.0])
@pytest.mark.parametrize("delta", [0.0, 1e-12])
def test_local_distortions_at_extreme_levels_in_high_precision(epsilon: float, delta: float) -> None:
    prior = [0.5, 0.25, 0.1875, 0.0625]  # exact doubles
    e = mpmath.exp(mpmath.mpf(epsilon))
    exact = min(1 - sum(map(mpmath.mpf, prior[:k])) * e / (e + k - 1) for k in range(1, 5)) * (1 - mpmath.mpf(delta))
    assert td.PriorDP(prior, delta).distortion(epsilon) == pytest.approx(float(exact), rel=1e-6, abs=0)
    if epsilon == 50:
        assert td.PriorDP(prior, delta).privacy(float(exact)) == pytest.approx(50, rel=1e-6)


# --- independent records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priors", "delta"),
    [
        ([[0.5, 0.3, 0.2], [0.9, 0.1]], 0.0),
        ([[0.7, 0.3], [0.6, 0.4], [0.9, 0.1]], 0.0),
        ([[0.7, 0.3], [0.5, 0.5]], 0.1),
    ],
)
@pytest.mark.parametrize("epsilon", [0.3, 1.2])
def test_independent_records_are_the_optimum_of_the_global_linear_program(priors, delta, epsilon) -> None:
    sizes = [len(p) for p in priors]
    joint = np.array([1.0])
    for p in priors:
        joint = np.kron(joint, p)
    codes = np.stack(np.unravel_index(np.arange(len(joint)), sizes), axis=1)
    distances = (codes[:, None] != codes[None]).sum(axis=2)
    pairs = hamming_neighbours(sizes=sizes)
    family = td.RecordsDP(priors, delta)
    closed = family.distortion(epsilon)
    assert closed == pytest.approx(td.OptimalDP(joint, distances, delta, pairs).distortion(epsilon), abs=1e-8)
    guess = (1 - delta) * sum(1 - max(p) for p in priors)
    assert family.privacy(closed) == pytest.approx(epsilon if closed < guess - 1e-9 else 0, abs=1e-9)
    channel = family.channel(closed).matrix
    assert float(joint @ (channel * distances).sum(axis=1)) == pytest.approx(closed)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    gap = channel[both[:, 0]] - math.exp(epsilon + 1e-9) * channel[both[:, 1]]
    assert np.maximum(gap, 0).sum(axis=1).max() <= delta + 1e-9


def test_zb_theorem_18_1_iid_records_cost_what_one_costs_at_d_over_n() -> None:
    prior = [0.5, 0.3, 0.2]
    for n, distortion, delta in ((1, 0.2, 0.0), (2, 0.5, 0.0), (3, 0.3, 0.05), (1000, 77.0, 0.0)):
        family = td.PriorDP(prior, delta, n)
        value = family.privacy(distortion)
        assert value == pytest.approx(td.PriorDP(prior, delta).privacy(distortion / n))
        assert family.distortion(value) == pytest.approx(distortion)
        if n < 10:
            each = td.RecordsDP([prior] * n, delta)
            assert each.privacy(distortion) == pytest.approx(value)
            assert each.channel(distortion).matrix == pytest.approx(family.channel(distortion).matrix, abs=1e-12)
    assert td.RecordsDP([prior] * 2).privacy(0.0) == INF
    assert td.RecordsDP([prior] * 2).privacy(1.0) == 0
    assert td.RecordsDP([prior] * 2).privacy(1e-20) == pytest.approx(math.log(2) * 2 + 20 * math.log(10))


def test_zb_theorem_18_2_the_iid_product_is_not_optimal_for_maximal_leakage() -> None:
    prior = np.array([0.6, 0.4])
    joint = np.kron(prior, prior)
    family = td.PriorMaximalLeakage(prior)
    found = td.OptimalSibson(joint, td.hamming_distances(2, 2), INF).privacy(0.4)
    assert found < family.product_bound(0.4, 2) - 0.05
    assert family.product_bound(0.4, 2) == pytest.approx(2 * family.privacy(0.2))
    assert family.product_bound(0.2, 1) == family.privacy(0.2)


# --- identifiability -------------------------------------------------------------------------------------------

DATABASES = [
    (np.array([0.5, 0.3, 0.2]), 1),
    (np.array([0.6, 0.4]), 1),
    (np.array([0.3, 0.25, 0.25, 0.2]), 2),
    (np.kron([0.6, 0.4], [0.7, 0.3]), 2),
    (np.array([0.4, 0.1, 0.1, 0.4]), 2),  # correlated records
    (np.random.default_rng(3).dirichlet(np.full(9, 8.0)), 2),
    (np.random.default_rng(6).dirichlet(np.full(8, 20.0)), 3),
]


def letters(prior: np.ndarray, n: int) -> int:
    return round(len(prior) ** (1 / n))


@pytest.mark.parametrize(("prior", "n"), DATABASES)
def test_wyz_threshold_is_where_the_inverted_kernel_stops_being_a_distribution(prior, n: int) -> None:
    m, threshold = letters(prior, n), td.DatabaseIdentifiability(prior, n).threshold

    def least(epsilon) -> mpmath.mpf:
        e = mpmath.exp(-mpmath.mpf(epsilon))
        kernel = mpmath.matrix((e ** td.hamming_distances(n, m).astype(object)).tolist())
        return min(mpmath.lu_solve(kernel, mpmath.matrix(prior.tolist())))

    assert least(threshold * (1 + 1e-9)) >= 0
    assert least(threshold * (1 - 1e-9)) < 0
    for factor in (1.01, 1.5, 4):
        assert least(threshold * factor) > 0  # the feasible set is an interval
    assert threshold >= prior_ratio(prior, hamming_neighbours(n, m)) - 1e-12
    if n == 1:
        assert threshold == pytest.approx(math.log(1 / prior.min() - m + 1))


def test_threshold_has_its_ends() -> None:
    for n, m in ((1, 2), (1, 7), (2, 3), (3, 2)):
        even, symmetric = td.DatabaseIdentifiability(np.full(m**n, 1 / m**n), n), td.UniformDP(n, m)
        assert even.threshold == pytest.approx(0, abs=1e-12)
        for level in (0.0, 5e-324, 0.5):
            distortion = min(symmetric.distortion(level), even.largest)
            assert even.channel(distortion).matrix == pytest.approx(symmetric.channel(distortion).matrix)
    certain = td.DatabaseIdentifiability([1.0, 0.0])
    assert (certain.threshold, certain.largest, certain.bounds(0.1).upper) == (INF, 0, INF)
    assert (certain.channel(0).matrix == np.eye(2)).all()


@pytest.mark.parametrize(("prior", "n"), DATABASES)
@pytest.mark.parametrize("above", [0.0, 0.5, 3.0])
def test_wyz_lemma_4_e_i_is_identifiable_at_epsilon_with_distortion_h(prior, n: int, above: float) -> None:
    m, family = letters(prior, n), td.DatabaseIdentifiability(prior, n)
    epsilon = family.threshold + above
    channel = family.channel(family.distortion(epsilon)).matrix
    assert family.privacy(family.distortion(epsilon)) == pytest.approx(epsilon)
    distances = td.hamming_distances(n, m)
    joint = prior[:, None] * channel
    pairs = np.argwhere(distances == 1)
    shown = joint.sum(axis=0) > 1e-9  # at the threshold some output never occurs
    assert channel.sum(axis=1) == pytest.approx(1)
    assert np.log(joint[pairs[:, 0]][:, shown] / joint[pairs[:, 1]][:, shown]).max() == pytest.approx(epsilon)
    assert float((joint * distances).sum()) == pytest.approx(td.UniformDP(n, m).distortion(epsilon))
    # New: its differential privacy is ε + ε_X, or less when the output that shows it never occurs.
    dp = np.log(channel[pairs[:, 0]][:, shown] / channel[pairs[:, 1]][:, shown]).max()
    most = epsilon + prior_ratio(prior, hamming_neighbours(n, m))
    assert dp <= most + 1e-9
    if above:
        assert dp == pytest.approx(most)


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "n"), DATABASES[:-1])
@pytest.mark.parametrize("share", [0.3, 1.0, 1.3])
def test_wyz_theorem_1_holds_against_the_linear_programs(prior, n: int, share: float) -> None:
    m = letters(prior, n)
    d, pairs = td.hamming_distances(n, m), hamming_neighbours(n, m)
    identifying, dp = td.DatabaseIdentifiability(prior, n), td.DatabaseDP(prior, n)
    distortion = share * identifying.largest
    assert identifying.distortion(identifying.threshold) == dp.distortion(dp.threshold) == dp.largest
    identifiable, private = identifying.bounds(distortion), dp.bounds(distortion)
    found_i = td.OptimalIdentifiability(prior, d, pairs).privacy(distortion)
    found_d = td.OptimalDP(prior, d, neighbours=pairs).privacy(distortion)
    assert identifiable.lower - 1e-7 <= found_i <= identifiable.upper + 1e-7
    assert private.lower - 1e-7 <= found_d <= private.upper + 1e-7
    if share < 1:
        assert identifiable.exact
        assert private.exact  # New: both functions are h^-1 up to h(ε~_X), whatever ε_X is
        level = td.UniformDP(n, m).privacy(distortion)
        assert [found_i, found_d] == pytest.approx([level, level], abs=1e-7)
        assert identifying.privacy(distortion) == dp.privacy(distortion) == level
        assert identifying.distortion(level) == dp.distortion(level) == pytest.approx(distortion)
        assert (dp.channel(distortion).matrix == td.UniformDP(n, m).channel(distortion).matrix).all()


def test_wyz_theorem_1_is_not_tight_beyond_the_threshold() -> None:
    prior, epsilon = np.array([0.5, 0.3, 0.2]), 0.99936
    assert round(td.OptimalIdentifiability(prior, hamming(3)).distortion(epsilon), 5) == 0.45669
    assert round(td.UniformDP(1, 3).distortion(epsilon), 5) == 0.42404
    assert prior_ratio(prior) < epsilon < td.DatabaseIdentifiability(prior).threshold


def test_wyz_lemmas_2_and_3_bound_every_identifiable_channel() -> None:
    rng = np.random.default_rng(9)
    for prior, n in DATABASES:
        m = letters(prior, n)
        d = td.hamming_distances(n, m)
        pairs = np.argwhere(d == 1)
        ratio = prior_ratio(prior, hamming_neighbours(n, m))
        for _ in range(20):
            channel = rng.dirichlet(np.ones(m**n), size=m**n) * 0.5 + 0.5 * np.eye(m**n)
            joint = prior[:, None] * channel
            spent = float((joint * d).sum())
            identifiable = np.log(joint[pairs[:, 0]] / joint[pairs[:, 1]]).max()
            private = np.log(channel[pairs[:, 0]] / channel[pairs[:, 1]]).max()
            assert identifiable >= max(td.UniformDP(n, m).privacy(spent), ratio) - 1e-12
            assert private >= max(td.UniformDP(n, m).privacy(spent) - ratio, 0) - 1e-12


@pytest.mark.parametrize(("prior", "n"), DATABASES)
@pytest.mark.parametrize("share", [0.3, 0.95])
def test_wyz_theorem_2_e_i_has_the_least_mutual_information(prior, n: int, share: float) -> None:
    m = letters(prior, n)
    family = td.DatabaseMutualInformation(prior, n)
    largest = family.largest
    distortion = share * largest
    closed = family.privacy(distortion)
    found = td.OptimalSibson(prior, td.hamming_distances(n, m), 1, tol=1e-8).privacy(distortion)
    assert closed == pytest.approx(found, abs=2e-8)
    assert family.distortion(closed) == pytest.approx(distortion)
    joint = prior[:, None] * family.channel(distortion).matrix
    out = joint.sum(axis=0)
    information = float((joint * np.log(joint / (prior[:, None] * out))).sum())
    assert information == pytest.approx(closed, abs=1e-10)
    assert family.privacy(largest) < closed
    assert family.distortion(family.privacy(0.0)) == 0
    with pytest.raises(InvalidParameter, match="for the closed form"):
        family.privacy(1.01 * largest)


def test_constant_release_needs_no_privacy_loss() -> None:
    prior = DATABASES[3][0]
    assert td.DatabaseDP(prior, 2).bounds(0.7) == td.PrivacyInterval(0.0, 0.0)
    assert td.DatabaseDP(DATABASES[4][0], 2).bounds(1.0).exact
    assert td.DatabaseDP([1.0, 0.0, 0.0, 0.0], 2).bounds(0.0) == td.PrivacyInterval(0.0, 0.0)
    assert td.DatabaseDP([0.5, 0.0, 0.0, 0.5], 2).bounds(0.0) == td.PrivacyInterval(INF, INF)
    certain = td.DatabaseDP([1.0, 0.0])
    assert certain.bounds(0.0) == td.PrivacyInterval(0.0, 0.0)
    for question in (certain.privacy, certain.channel):
        with pytest.raises(InvalidParameter, match="positive everywhere"):
            question(0.0)
    interval = td.DatabaseDP(prior, 2).bounds(0.65)
    assert interval.lower < interval.upper
    assert not interval.exact


# --- programs --------------------------------------------------------------------------------------------------


def test_programs_take_any_distortion_matrix_and_output_alphabet() -> None:
    prior = np.array([0.5, 0.3, 0.2])
    d = np.array([[0.0, 1.0, 3.0, 0.6], [1.0, 0.0, 1.0, 0.6], [3.0, 1.0, 0.0, 0.6]])
    private, told = td.OptimalDP(prior, d), td.OptimalSibson(prior, d, 1)
    by_ratio = private.at_level(0.7)
    everyone = [[i, j] for i in range(3) for j in range(i)]
    by_pairs = td.OptimalDP(prior, d, neighbours=everyone).at_level(0.7)
    assert by_ratio.distortion == pytest.approx(by_pairs.distortion, abs=1e-9)
    assert by_ratio.matrix.shape == (3, 4)
    assert td.OptimalDP(prior, d, 1.0).distortion(0.7) == pytest.approx(0, abs=1e-12)
    assert private.distortion(0.0) == pytest.approx(float((prior @ d).min()))
    assert told.privacy(0.9) == 0
    assert told.privacy(0.0) == pytest.approx(float(-(prior * np.log(prior)).sum()), abs=1e-6)


def test_blahut_arimoto_meets_the_lagrangian_dual() -> None:
    """Largest over slopes of min_M I + λ(E d - D), each inner problem by a plain alternating loop."""
    prior, d, distortion = np.array([0.6, 0.3, 0.1, 0.0]), 1 - np.eye(4), 0.25

    def dual(slope: float) -> float:
        weights, q = np.exp(-slope * d), np.full(4, 0.25)
        for _ in range(4000):
            q = q * ((prior / (weights @ q)) @ weights)
        norm = weights @ q
        return -float(-prior @ np.log(norm) - slope * distortion - math.log(((prior / norm) @ weights).max()))

    best = -minimize_scalar(dual, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-7}).fun
    found = td.OptimalSibson(prior, d, 1, tol=1e-10).at_distortion(distortion)
    assert found.privacy == pytest.approx(best, abs=1e-6)
    assert found.distortion == pytest.approx(distortion, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "m", "distortion", "alpha"), [(1, 3, 0.3, 2.0), (2, 2, 0.6, 8.0), (2, 3, 0.8, 1.5), (1, 5, 0.5, 1 + 1e-4)]
)
def test_blahut_of_order_alpha_finds_the_closed_forms(n: int, m: int, distortion: float, alpha: float) -> None:
    prior, d = np.full(m**n, float(m) ** -n), td.hamming_distances(n, m)
    program, family = td.OptimalSibson(prior, d, alpha), td.UniformSibson(n, m, alpha)
    found = program.at_distortion(distortion)
    assert found.privacy == pytest.approx(family.privacy(distortion), abs=2e-7)
    assert found.distortion == pytest.approx(distortion, abs=1e-9)
    assert program.channel(distortion).matrix == pytest.approx(found.matrix, abs=1e-15)


def test_blahut_of_order_alpha_beats_every_nearby_channel_and_ends_at_both_known_orders() -> None:
    prior, d, distortion = np.array([0.6, 0.3, 0.1, 0.0]), 1 - np.eye(4), 0.2
    found = [td.OptimalSibson(prior, d, a, tol=1e-4).at_distortion(distortion) for a in (1, 3, INF)]
    values, best = [one.privacy for one in found], found[1]
    assert values == sorted(values)
    assert values[0] == pytest.approx(td.OptimalSibson(prior, d, 1).privacy(distortion), abs=2e-4)
    assert values[-1] == pytest.approx(td.PriorMaximalLeakage(prior).privacy(distortion), abs=1e-8)

    def order_3(channel):
        return 1.5 * math.log(((prior @ channel**3) ** (1 / 3)).sum())

    assert order_3(best.matrix) == pytest.approx(best.privacy, abs=1e-9)
    rng = np.random.default_rng(2)
    for _ in range(300):
        mixed = 0.9 * best.matrix + 0.1 * rng.dirichlet(np.full(4, 0.5), size=4)
        spent = float(prior @ (mixed * d).sum(axis=1))
        if spent > distortion:  # pulled back to the distortion by some of the identity
            mixed = mixed + (1 - distortion / spent) * (np.eye(4) - mixed)
        assert order_3(mixed) >= best.privacy - 1e-4
    assert td.OptimalSibson(prior, d, 3).privacy(0.9) == 0


def test_information_of_order_alpha_takes_any_order_and_refuses_bad_numbers() -> None:
    prior, d = np.full(9, 1 / 9), td.hamming_distances(2, 3)
    for alpha in (50, 1000):
        found = td.OptimalSibson(prior, d, alpha).privacy(0.8)
        assert found == pytest.approx(td.UniformSibson(2, 3, alpha).privacy(0.8), abs=1e-8)
    for alpha in (0.5, math.nan):
        with pytest.raises(InvalidParameter, match="alpha must be a number from 1 to inf"):
            td.OptimalSibson(prior, d, alpha)
    with pytest.raises(InvalidParameter, match="tol must be a number from"):
        td.OptimalSibson(prior, d, 2, 0.0)
    with pytest.raises(InvalidParameter, match="distortion must be a number from 0 to inf"):
        td.OptimalSibson(prior, d, 2).at_distortion(-0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "alpha"), [(1, 4, 1), (2, 2, 5), (2, 2, INF)])
def test_a_least_distortion_of_a_program_is_the_inverse_of_its_least_level(n: int, m: int, alpha: float) -> None:
    """A distance of 7 on top of every cell, and units of 100: the search is over what there is to be had."""
    family = td.UniformSibson(n, m, alpha)
    program = td.OptimalSibson(np.full(m**n, float(m) ** -n), 7 + 100 * td.hamming_distances(n, m), alpha)
    for distortion in (0.05 * n, 0.9 * n * (m - 1) / m):
        found = program.at_level(family.privacy(distortion))
        assert found.distortion == pytest.approx(7 + 100 * distortion, rel=1e-6)
        assert found.privacy <= family.privacy(distortion) + 1e-9
    assert program.distortion(0) == pytest.approx(7 + 100 * n * (m - 1) / m, rel=1e-6)
    assert program.distortion(n * math.log(m)) == pytest.approx(7, abs=1e-4)
    assert program.at_distortion(INF).privacy == 0
