"""The envelope of pointwise maximal leakage: against exact enumeration, a closed form, and all that is made of Y."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sanitize as sz
from sanitize.core.joint import JointDistribution
from sanitize.core.lifts import max_log_lift, pml_envelope
from sanitize.errors import InvalidParameter

RNG = np.random.default_rng(11)
SOLVED = 1e-7  # what the solver may leave, above


def tail(joint, u):
    """P(max-log-lift of Y >= u), symbols on the bound included."""
    return float(joint.p_x[max_log_lift(joint) >= u - 1e-12].sum())


def fractions(joint, least):
    """P(y), and P(s|y) - least P(s), exactly, for rows that some symbol is not below."""
    cells = [[Fraction(cell) for cell in row] for row in joint.pmf.tolist()]
    whole = sum(map(sum, cells))
    p_y = [sum(column) / whole for column in zip(*cells, strict=True)]
    gains = [[cell / whole / p - least * sum(row) / whole for cell, p in zip(row, p_y, strict=True)] for row in cells]
    return p_y, [row for row in gains if max(row) >= 0]


def enumerated(joint, least):
    """The least value of the dual program over all its vertices, in fractions: it is convex and piecewise linear."""
    p_y, gains = fractions(joint, least)
    n = len(gains)
    if not n:
        return Fraction(0)
    unit = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    planes = [(unit[s], Fraction(0)) for s in range(n)]
    for s in range(n):
        for y, gain in enumerate(gains[s]):
            planes.append(([gain * e for e in unit[s]], Fraction(-1)))
            planes += [
                ([gain * a - gains[t][y] * b for a, b in zip(unit[s], unit[t], strict=True)], Fraction(0))
                for t in range(s)
            ]
    best = Fraction(1)  # at prices of zero
    for chosen in combinations(planes, n):
        prices = oracles.solution([row for row, _ in chosen], [value for _, value in chosen])
        if prices is not None and min(prices) >= 0:
            of_y = (max(1 + price * row[y] for price, row in zip(prices, gains, strict=True)) for y in range(len(p_y)))
            best = min(best, sum((p * max(0, v) for p, v in zip(p_y, of_y, strict=True)), Fraction(0)))
    return best


@pytest.mark.parametrize("n_s", [2, 3])
def test_the_envelope_is_the_enumerated_one(n_s):
    for _ in range(12 if n_s == 2 else 4):
        cells = RNG.integers(0, 8, (n_s, 4 if n_s == 2 else 3)).astype(float)
        cells[0] += 1
        cells[:, 0] += 1
        joint = JointDistribution.from_matrix(cells / cells.sum())
        least = Fraction(int(RNG.integers(21, 50)), 20)
        exact = float(enumerated(joint, least))
        assert exact - 1e-12 <= pml_envelope(joint, math.log(least)) <= exact + SOLVED


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=2, max_size=7), st.integers(1, 30)
)
def test_of_two_secrets_each_takes_its_most_telling_symbols(columns, percent):
    """A fractional knapsack for each secret; what both would take has no more than all of the mass."""
    cells = np.array(columns, float).T
    if not cells.any(axis=1).all():
        return
    joint, least = JointDistribution.from_matrix(cells / cells.sum()), Fraction(100 + percent, 100)
    p_y, _ = fractions(joint, least)
    most = Fraction(0)
    for row in cells.astype(int).tolist():
        p_s = Fraction(sum(row), int(cells.sum()))
        order = sorted(range(len(row)), key=lambda y: Fraction(row[y], sum(columns[y])), reverse=True)
        room = Fraction(0)
        for y in order:
            gain = Fraction(row[y], sum(columns[y])) - least * p_s
            taken = p_y[y] if gain >= 0 else min(p_y[y], room / -gain)
            room += gain * taken
            most += taken
    exact = float(min(Fraction(1), most))
    assert exact - 1e-9 <= pml_envelope(joint, math.log(least)) <= exact + SOLVED


@settings(max_examples=settings.default.max_examples // 2)
@given(strategies.joints_and_channels(), st.floats(0.01, 2))
def test_nothing_made_of_y_tells_more_often_than_the_envelope(joint_and_channel, u):
    joint, channel = joint_and_channel
    made = joint.push(channel)
    envelope = pml_envelope(joint, u)
    assert tail(joint, u + 1e-9) <= envelope + 1e-9
    assert tail(made, u + 1e-9) <= envelope + 1e-9
    assert pml_envelope(made, u) <= envelope + SOLVED
    assert pml_envelope(joint, u + 0.1) <= envelope + SOLVED


def test_the_masses_of_two_secrets_add_up():
    joint = JointDistribution.from_matrix([[0.1, 0.0, 0.4], [0.0, 0.1, 0.4]])
    u = math.log(1.9)
    assert sz.core.budgets.CVaRLiftBudget(u, delta=0.112).excess(joint).max() <= 0
    assert tail(joint, u) == pytest.approx(0.2)  # above the δ of each secret by itself
    assert pml_envelope(joint, u) == pytest.approx(2 / 9, abs=SOLVED)


@pytest.mark.parametrize(("p", "eps"), [(0.1, math.log(4)), (0.3, 1.0), (0.02, 2.0)])
def test_of_a_noisy_bit_the_quantile_has_a_closed_form(p, eps):
    """The rarer symbol takes in of the commoner one until e^u is the mean of both: l + (1 - l)/δ."""
    noisy = JointDistribution.from_matrix([[1 - p, 0], [0, p]]).push(sz.randomized_response(2, eps))
    keep, rare = math.exp(eps) / (1 + math.exp(eps)), noisy.p_x[1]
    low, other = (1 - keep) / (1 - rare), keep / (1 - rare)
    for delta in np.linspace(rare + 1e-6, 0.999, 5):
        expected = math.log(low + (1 - low) / delta)
        if expected > math.log(other) + 1e-6:  # else the commoner symbol counts by itself
            assert sz.core.lifts.pml_quantile(noisy, delta) == pytest.approx(expected, abs=2e-8)
    assert sz.core.lifts.pml_quantile(noisy, 0.0) == pytest.approx(math.log(keep / rare), abs=2e-9)


@settings(max_examples=settings.default.max_examples // 5)
@given(strategies.joints(), st.floats(0.0, 0.99))
def test_the_quantile_is_the_inverse_of_the_envelope(joint, delta):
    found = sz.core.lifts.pml_quantile(joint, delta)
    assert pml_envelope(joint, found + 1e-8) <= delta + SOLVED
    assert sz.core.budgets.PMLEnvelopeBudget(found, delta + SOLVED).excess(joint).max() <= 0
    if found > 1e-6:
        assert pml_envelope(joint, found - 1e-6) >= delta - SOLVED


def program(joint, u):
    """The largest mass of q, with all its variables at once."""
    gains = sz.lift(joint) - math.exp(u)
    n_s, n_y = gains.shape
    of_secret = np.zeros((n_s, n_s, n_y))
    of_secret[np.arange(n_s), np.arange(n_s)] = -gains
    rows = np.concatenate([np.tile(np.eye(n_y), n_s), of_secret.reshape(n_s, -1)])
    return -linprog(-np.ones(n_s * n_y), rows, np.append(joint.p_x, np.zeros(n_s))).fun


@pytest.mark.parametrize("share", [0.7, 0.8, 0.9])
def test_few_rows_prove_what_the_whole_program_gives(share):
    """Twelve secrets and 60 symbols: most rows of the dual program are never looked at."""
    cells = np.random.default_rng(2).dirichlet(np.full(720, 0.5)).reshape(12, 60)
    joint = JointDistribution.from_matrix(cells)
    u = share * float(max_log_lift(joint).max())
    assert pml_envelope(joint, u) == pytest.approx(program(joint, u), abs=SOLVED)


def test_of_200_secrets_and_600_symbols_the_envelope_is_found_from_few_rows(monkeypatch):
    """All 120,000 rows at once took minutes."""
    looked_at = []

    def counting(costs, rows, *more, **settings):
        looked_at.append(rows.shape[0])
        return linprog(costs, rows, *more, **settings)

    monkeypatch.setattr("scipy.optimize.linprog", counting)
    cells = np.random.default_rng(0).dirichlet(np.full(120_000, 0.05)).reshape(200, 600)
    joint = JointDistribution.from_matrix(cells)
    u = 0.9 * float(max_log_lift(joint).max())
    assert tail(joint, u) < pml_envelope(joint, u) < 0.2
    assert max(looked_at) < 2_000


def test_ends_of_the_envelope():
    joint = JointDistribution.from_matrix([[0.1, 0.0, 0.4], [0.0, 0.1, 0.4]])
    for u, value in ((-math.inf, 1), (0, 1), (math.log(2), 0.2), (math.log(2) + 1e-9, 0), (1000, 0), (math.inf, 0)):
        assert pml_envelope(joint, u) == pytest.approx(value, abs=SOLVED)
    for u in (math.nan, "1", True):
        with pytest.raises(InvalidParameter, match="u must"):
            pml_envelope(joint, u)


def test_without_a_solution_the_bound_is_none(monkeypatch):
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: type("Failed", (), {"x": None}))
    assert pml_envelope(JointDistribution.from_matrix([[0.5, 0.0], [0.25, 0.25]]), 0.1) == 1
