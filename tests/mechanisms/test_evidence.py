"""What fresh rows prove: against the product over single rows, at the edge of the bound, and what follows from what."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import exp, inf, log, prod

import numpy as np
import pytest
from scipy import sparse, stats

import sanitize as sz
from sanitize.core.budgets import budget_in_nats
from sanitize.core.confidence import clopper_pearson
from sanitize.mechanisms._certified import evidence
from sanitize.mechanisms._certified.evidence import Evidence
from sanitize.mechanisms._certified.foresight import PowerModel, expected_evidence, rows_needed

ALARM = 1e-9  # of each statistical test, were its seed drawn anew
RUNS = 2_000


def alone(net: sparse.csr_array, design: np.ndarray, fresh: np.ndarray, level: float) -> Evidence:
    """Evidence on one symbol by one test at this level."""
    return Evidence(net, design, fresh, level / (1 - evidence._FOR_MEANS), None)


def certified(net, design, fresh, budget, prior, error) -> np.ndarray:
    """Which symbols counts without noise prove to be within a budget."""
    return Evidence(net, design, fresh, error, None).proves(budget, prior)


def test_what_is_shown_is_the_product_over_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its logarithm, row by row, from the definition of f and e; passing is reaching what is needed."""
    rng = np.random.default_rng(0)
    net = sparse.csr_array(np.array([[1.0, 0.3, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0]]))
    design, fresh = rng.integers(5, 40, (2, 3, 4))
    made = Evidence(net, design, fresh, 0.05, None)
    sizes = np.array([0.4, 0.7])
    monkeypatch.setattr(Evidence, "_tilt", lambda *_: sizes)
    for s, sign, ratio in itertools.product(range(3), (1, -1), (0.6, 1.4)):
        b = ratio * (design[s].sum() + 1) / (design.sum() + 3)
        for y, w in enumerate(net.toarray()):
            mean = w @ design.sum(axis=0) / design.sum()
            box = [made.means[0][y], made.means[1][y]]
            e = max(sign * (mean - m) * (b - ratio * p) for m in box for p in (0.3, 0.36))
            terms = []
            for t, x in itertools.product(range(3), range(4)):
                f = sign * (w[x] * ((t == s) - b) - mean * (ratio * (t == s) - b))
                terms += fresh[t, x] * [1 + sizes[y] * (f - e)]
            total = float(np.log(terms).sum())
            for needed in (total - 1e-9, total + 1e-9):
                made.needed = needed
                assert made.shows(s, sign, ratio, 0.3, 0.36)[y] == (needed < total)


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("secret", [0, 1])
def test_one_test_at_the_edge_fails_as_rarely_as_it_says(secret, known, skewed) -> None:
    """P(s|y) / P(s) on its bound; also where the design rows mislead about P(y) and P(s), and P(s) is bounded only."""
    rng, level = np.random.default_rng(1), 0.02
    w, p_x, given = np.array([1.0, 0.3]), np.array([0.2, 0.8]), np.array([0.2, 0.5])
    distribution = np.stack([given, 1 - given]) * p_x
    p_s, p_y = distribution.sum(axis=1), float(w @ p_x)
    ratio = float(distribution[secret] @ w / p_y / p_s[secret])
    design = np.array([[40, 160], [160, 160]]) if not skewed else np.array([[60, 60], [90, 30]])
    passed = 0
    for _ in range(RUNS):
        fresh = rng.multinomial(800, distribution.ravel()).reshape(2, 2)
        low, high = clopper_pearson(fresh.sum(axis=1), 800, 1e-3)
        box = (p_s[secret], p_s[secret]) if known else (low[secret], high[secret])
        made = alone(sparse.csr_array(w[None, :]), design, fresh, level)
        passed += bool(made.shows(secret, 1 if ratio < 1 else -1, ratio, *box)[0])
    assert passed <= stats.binom.isf(ALARM, RUNS, level + (0 if known else 1e-3))


def test_without_the_error_of_the_box_misleading_design_rows_show() -> None:
    """The fault that e is there for: P(y) and P(s) of the design taken for true."""
    rng, level, w, p_x, given = np.random.default_rng(1), 0.02, np.array([1.0, 0.0]), [0.5, 0.5], np.array([0.2, 0.5])
    distribution = np.stack([given, 1 - given]) * p_x
    ratio = float(distribution[0] @ w / 0.5 / distribution[0].sum())
    design = np.array([[300, 15], [60, 10]])
    passed = {True: 0, False: 0}
    for _ in range(500):
        fresh = rng.multinomial(800, distribution.ravel()).reshape(2, 2)
        for honest in passed:
            made = alone(sparse.csr_array(w[None, :]), design, fresh, level)
            p = float(distribution[0].sum())
            if not honest:
                made.means = (made.mean, made.mean)
                p = float(made.p_s[0])
            passed[honest] += bool(made.shows(0, 1, ratio, p, p)[0])
    assert passed[True] <= stats.binom.isf(ALARM, 500, level) < passed[False]


@pytest.mark.parametrize("share", [0.003, 0.2, 0.9])
def test_bounds_of_means_fail_no_more_often_than_they_say(share) -> None:
    rng, n, level = np.random.default_rng(2), 500, 0.05
    values = rng.random((RUNS, n)) < share
    weights = np.where(rng.random((RUNS, n)) < 0.5, 1.0, 0.5)
    low, high = evidence._means((values * weights).sum(axis=1), n, -log(level))
    for failed in (low > 0.75 * share, high < 0.75 * share):
        assert failed.sum() <= stats.binom.isf(ALARM, RUNS, level)


@pytest.mark.slow
@pytest.mark.parametrize("n_secrets", [2, 3, 5])
def test_what_is_not_tested_follows_from_what_is(n_secrets) -> None:
    """Distributions of S given y at random: where each test's claim is true, the whole budget is kept.

    Every other one has limits of its own for each secret.
    """
    rng = np.random.default_rng(n_secrets)
    fewer = 0
    for turn in range(6_000):
        n = 1 if turn % 2 else n_secrets
        budget = budget_in_nats(rng.choice([0.0, 0.3, 1.0, 3.0, inf], n), rng.choice([0.0, 0.2, 0.7, 1.5, inf], n))
        p_s = rng.dirichlet(np.full(n_secrets, 0.7))
        bounds = np.stack([np.zeros(n_secrets), np.ones(n_secrets)])
        for s, sign, ratio, said_from in evidence._claims(budget, n_secrets):
            fewer += p_s[s] >= said_from
            if p_s[s] < said_from:
                bounds[0 if sign > 0 else 1, s] = min(ratio * p_s[s], 1.0)
        # A point of the simplex on as many of the bounds as it can be.
        posterior = bounds[np.where(rng.random(n_secrets) < 0.5, 0, 1), np.arange(n_secrets)]
        order = rng.permutation(n_secrets)
        for s in order:
            posterior[s] = np.clip(1 - (posterior.sum() - posterior[s]), bounds[0, s], bounds[1, s])
        if abs(posterior.sum() - 1) < 1e-12:
            lifts = posterior / p_s
            assert (lifts <= np.exp(budget.upper) * (1 + 1e-9)).all()
            assert (lifts >= np.exp(np.negative(budget.lower)) * (1 - 1e-9)).all()
    assert fewer > 1000


def test_symbols_pass_whose_lifts_are_far_inside_and_no_others() -> None:
    fresh = np.array([[100, 300, 280], [200, 600, 520]])
    design = fresh // 4
    net = sparse.csr_array(np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    prior = clopper_pearson(fresh.sum(axis=1), fresh.sum(), 1e-3)
    for nats, expected in ((0.8, [True, True, True]), (0.25, [True, True, False]), (0.01, [False, False, False])):
        budget = sz.LiftBudget.symmetric(nats)
        np.testing.assert_array_equal(certified(net, design, fresh, budget, prior, 0.05), expected)
    # Bounds of P(s) that say nothing leave all claims to be tested, and prove no more than narrow ones.
    budget, anywhere = sz.LiftBudget(lower=3.0, upper=0.5), (np.zeros(2), np.ones(2))
    wide, narrow = (certified(net, design, fresh, budget, known, 0.05) for known in (anywhere, prior))
    assert np.all(wide <= narrow)
    assert narrow.all()


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("s", range(4))
def test_a_symbol_that_tells_of_one_secret_only_does_not_pass(s, side) -> None:
    """By each claim alone: two secrets are told by a lift of 1.5 or 0.5, the others not at all; budgets of one side."""
    posterior = np.full((4, 2), 0.25)
    posterior[s] += side * np.array([0.125, -0.125])
    posterior[(s + 1) % 4] -= side * np.array([0.125, -0.125])
    fresh = np.rint(20_000 * posterior).astype(int)
    prior = clopper_pearson(fresh.sum(axis=1), fresh.sum(), 1e-3)
    for budget, expected in (
        (sz.LiftBudget(lower=inf, upper=log(1.4)), False),
        (sz.LiftBudget(lower=-log(0.6), upper=inf), False),
        (sz.LiftBudget(lower=-log(0.4), upper=log(1.6)), True),
    ):
        assert (certified(sparse.csr_array(np.eye(2)), fresh // 4, fresh, budget, prior, 0.05) == expected).all()


@pytest.mark.parametrize("n_rare", [1, 5, 40])
def test_a_symbol_of_a_third_of_the_rows_makes_nothing_four_times_as_likely(n_rare) -> None:
    """Whatever a rare value shows of it, which no rows certify: all that have it lie in one symbol."""
    fresh = np.array([[n_rare, 0, 0], [2000, 2000, 2000]])
    design, prior = fresh // 2, clopper_pearson(fresh.sum(axis=1), fresh.sum(), 1e-3)
    for at_most in (2.5, 4):
        budget = sz.LiftBudget(at_most=at_most, at_least=0)
        passed = certified(sparse.csr_array(np.eye(3)), design, fresh, budget, prior, 0.05)
        assert passed[0] == (at_most == 4)
    assert passed.all()


def test_a_symbol_of_fewer_rows_than_that_passes_as_rarely_as_is_said() -> None:
    """A value that makes a symbol certain, whose lift 1 / P(y) is over the limit by a hair."""
    rng, n, runs, error = np.random.default_rng(5), 4000, 400, 0.1
    share = 0.2499  # of the rows in the first symbol, and none of the rare value outside
    distribution = np.array([[0.01, 0.0], [share - 0.01, 1 - share]])
    failed = 0
    for _ in range(runs):
        design, fresh = (rng.multinomial(size, distribution.ravel()).reshape(2, 2) for size in (n // 4, n))
        prior = clopper_pearson(fresh.sum(axis=1), n, error / 100)
        net, budget = sparse.csr_array(np.eye(2)[:1]), sz.LiftBudget(at_most=4, at_least=0)
        failed += certified(net, design, fresh, budget, prior, error).any()
    assert failed <= stats.binom.isf(ALARM, runs, error / 5)


def test_a_bound_that_nothing_can_exceed_needs_no_rows() -> None:
    """P(s) of 0.56 and few rows: a lift of e is out of reach, so a looser budget passes what a tighter one does."""
    fresh = np.array([[150, 60, 24], [200, 70, 30]])
    design = np.array([[30, 20, 4], [40, 16, 8]])
    prior = clopper_pearson(fresh.sum(axis=1), fresh.sum(), 1e-3)
    net = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    passed = [
        certified(net, design, fresh, sz.LiftBudget(lower=lower, upper=upper), prior, 0.05)
        for lower, upper in ((1.0, 0.5), (1.0, 1.0), (1.5, 1.0), (1.5, inf))
    ]
    assert all(np.all(looser >= tighter) for tighter, looser in itertools.pairwise(passed))
    assert passed[1].all()


def test_what_is_foreseen_is_about_what_fresh_rows_show() -> None:
    """Counts of 16 times the design: what a symbol needs so that it passes is what was foreseen of it."""
    design = np.array([[30, 120], [120, 380]])
    budget = sz.LiftBudget(lower=1.0, upper=0.5)
    foresight = PowerModel.from_counts(design, 16.0 * design.sum(), budget, 0.95)
    told = float(expected_evidence(foresight, design[:, :1].astype(float), np.ones(1))[0])
    prior = tuple(2 * [design.sum(axis=1) / design.sum()])
    made = alone(sparse.csr_array([[1.0, 0.0]]), design, 16 * design, 0.05)
    for part, expected in ((0.8, True), (1.25, False)):
        made.needed = part * told
        shown = [
            made.shows(s, sign, exp(bound), prior[0][s], prior[1][s])[0]
            for s, (sign, bound) in itertools.product(range(2), ((1, -1.0), (-1, 0.5)))
            if exp(bound) * prior[0][s] < 1
        ]
        assert all(shown) == expected


def test_rows_needed_grow_as_a_budget_shrinks_and_as_a_secret_is_rarer() -> None:
    budgets = [sz.LiftBudget(lower=2 * nats, upper=nats) for nats in (0.2, 0.5, 1.0)]
    rows = [rows_needed(budget, np.array([0.8, 0.2]), 8, 0.95).max() for budget in budgets]
    assert rows == sorted(rows, reverse=True)
    assert rows_needed(budgets[0], np.array([0.98, 0.02]), 8, 0.95).max() > rows[0]
    assert rows_needed(budgets[0], np.array([0.8, 0.2]), 8, 0.999).max() > rows[0]
    rare = rows_needed(budgets[0], np.array([0.98, 0.02, 0.0]), 8, 0.95)
    assert rare[1] > rare[0] > rare[2] == 1
    # Nothing is tested where there is one secret, or where a bound asks for nothing.
    assert rows_needed(budgets[0], np.ones(1), 8, 0.95) == 1
    assert rows_needed(sz.LiftBudget(lower=inf, upper=inf), np.array([0.8, 0.2]), 8, 0.95).tolist() == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, "symbols", "claims"])
def test_symbols_at_the_edge_pass_together_as_rarely_as_is_said_whatever_claims_they_make(fault, monkeypatch) -> None:
    """Each of 40 cells is over the budget by a hair for both secrets; without one bound over the cells they show.

    So they do if a symbol may pass by one claim. That the level is not shared among claims is what this is about.
    """
    rng, error, n, k, runs = np.random.default_rng(4), 0.1, 6000, 40, 600
    p_s = np.array([0.3, 0.7])
    posterior = np.where(np.arange(k) % 2 == 0, 1.4 * p_s[0], 0.6 * p_s[0])
    distribution = np.stack([posterior, 1 - posterior]) / k
    lifts = distribution * k / p_s[:, None]
    budget = sz.LiftBudget(lower=-log(0.6) - 1e-9, upper=log(1.4) - 1e-9)
    assert (budget.lift_excess(lifts, p_s) > 0).all()
    if fault == "symbols":
        monkeypatch.setattr(evidence, "evidence_threshold", lambda _, error: -log(error))
    if fault == "claims":
        shows = Evidence.shows
        monkeypatch.setattr(Evidence, "shows", lambda *given: given[2] > 0 or shows(*given))
    failed = 0
    for _ in range(runs):
        design, fresh = (rng.multinomial(size, distribution.ravel()).reshape(2, k) for size in (n // 4, n))
        prior = clopper_pearson(fresh.sum(axis=1), n, error / 100)
        failed += certified(sparse.csr_array(np.eye(k)), design, fresh, budget, prior, error).any()
    most = stats.binom.isf(ALARM, runs, 1.02 * error)
    assert failed <= most if fault is None else failed > most, failed


def test_a_product_of_fractions_has_a_mean_of_at_most_one() -> None:
    """The step that all rests on, in exact fractions over a distribution on the bound: E (1 + λ (f - e)) <= 1."""
    distribution = {
        (0, 0): Fraction(1, 10),
        (0, 1): Fraction(3, 10),
        (1, 0): Fraction(2, 10),
        (1, 1): Fraction(4, 10),
    }  # (s, x)
    w = [Fraction(1), Fraction(1, 3)]
    p, m = Fraction(4, 10), sum(mass * w[x] for (_, x), mass in distribution.items())
    ratio = sum(distribution[0, x] * w[x] for x in (0, 1)) / (p * m)
    for mean, b, sign in itertools.product((m, m * 2, m / 3), (ratio * p, Fraction(1, 2)), (1, -1)):
        e = sign * (mean - m) * (b - ratio * p)
        expected = sum(
            mass * (1 + Fraction(1, 5) * (sign * (w[x] * ((s == 0) - b) - mean * (ratio * (s == 0) - b)) - e))
            for (s, x), mass in distribution.items()
        )
        assert expected == 1  # and less than 1 beyond the bound, where the claim is false by more
    assert prod([expected] * 3) <= 1
