"""How soon releases with fresh noise tell two symbols apart: by every grid of t, closed forms, and exact errors."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import comb

import sanitize as sz
from sanitize.errors import InvalidParameter
from sanitize.measures import chernoff_information

GRID = np.linspace(0, 1, 20_001)[1:-1]


def by_grid(p, q):
    """-min over a fine grid of t of log sum p^t q^(1-t)."""
    both = (p > 0) & (q > 0)
    if not both.any():
        return math.inf
    p, q = np.log(p[both]), np.log(q[both])
    return float(-np.log(np.exp(np.outer(GRID, p) + np.outer(1 - GRID, q)).sum(axis=1)).min())


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(2, 6))
def test_it_is_the_least_of_all_pairs_on_a_grid(seed, n_x, n_y):
    rng = np.random.default_rng(seed)
    channel = sz.Channel.from_matrix(rng.dirichlet(np.full(n_y, 0.3), n_x))
    rows = np.unique(channel.matrix, axis=0)
    expected = min((by_grid(*pair) for pair in combinations(rows, 2)), default=math.inf)
    assert chernoff_information(channel) == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_the_pair_that_is_nearest_at_one_half_is_not_always_the_hardest():
    """At t = 1/2 the first pair is nearer; its logarithm has its least elsewhere."""
    skewed, usual = np.array([[0.99, 0.01, 0, 0], [0.4, 0.6, 0, 0]]), np.array([[0, 0, 0.86, 0.14], [0, 0, 0.14, 0.86]])
    at_half = [-math.log(np.sqrt(pair[0] * pair[1]).sum()) for pair in (skewed, usual)]
    found = [by_grid(*pair) for pair in (skewed, usual)]
    assert (at_half[0] < at_half[1]) != (found[0] < found[1])
    channel = sz.Channel.from_matrix(np.vstack([skewed, usual]))
    pairs = combinations(channel.matrix, 2)
    assert chernoff_information(channel) == pytest.approx(min(by_grid(*pair) for pair in pairs), rel=1e-6)


@pytest.mark.parametrize("flip", [0.01, 0.1, 0.3, 0.49])
def test_of_a_symmetric_flip_it_is_what_calculus_gives(flip):
    channel = sz.Channel.from_matrix([[1 - flip, flip], [flip, 1 - flip]])
    assert chernoff_information(channel) == pytest.approx(-math.log(4 * flip * (1 - flip)) / 2, rel=1e-9)


@pytest.mark.parametrize("flip", [(0.1, 0.1), (0.02, 0.3), (0.2, 0.45)])
def test_the_chance_of_mistaking_two_symbols_is_below_it_and_has_its_exponent(flip):
    """The best guess of one bit after k releases, by all numbers of ones that they may have."""
    one, two = flip[0], 1 - flip[1]
    exponent = chernoff_information(sz.Channel.from_matrix([[1 - one, one], [1 - two, two]]))
    logs = []
    for k in (1, 5, 25, 100, 400):
        ones = np.arange(k + 1)
        chances = [comb(k, ones) * p**ones * (1 - p) ** (k - ones) for p in (one, two)]
        wrong = np.minimum(*chances).sum() / 2
        assert wrong <= math.exp(-k * exponent) / 2 * (1 + 1e-9)
        logs.append(-math.log(wrong))
    assert (logs[-1] - logs[-2]) / 300 == pytest.approx(exponent, rel=0.1)


def test_symbols_that_no_release_tells_apart_do_not_count():
    rows = [[0.7, 0.3], [0.7, 0.3], [0.2, 0.8]]
    assert chernoff_information(sz.Channel.from_matrix(rows)) == chernoff_information(sz.Channel.from_matrix(rows[1:]))
    assert chernoff_information(sz.Channel.merge([0, 0, 1])) == math.inf
    assert chernoff_information(sz.Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]])) == math.inf


def test_what_follows_tells_less():
    rng = np.random.default_rng(3)
    for _ in range(50):
        first, then = rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(3), 4)
        assert by_grid(*(first @ then)) <= by_grid(*first) + 1e-6
        both = sz.Channel.from_matrix(first @ then)
        assert chernoff_information(both) <= chernoff_information(sz.Channel.from_matrix(first)) + 1e-9


def test_too_many_symbols_are_refused(monkeypatch):
    monkeypatch.setattr("sanitize.measures.CHANNEL_CELLS", 100)
    with pytest.raises(InvalidParameter, match="11 symbols are too many"):
        chernoff_information(sz.randomized_response(11, 1.0))


class TestInALedger:
    def report(self, tmp_path, channel_of):
        table = sz.datasets.load_titanic()
        ledger = sz.Ledger(tmp_path / "rows.ledger", sz.LiftBudget(lower=3, upper=2))
        return ledger.record(table, channel_of.fit(table))

    def test_it_says_after_how_many_more_all_is_told(self, tmp_path):
        eps = 2.0
        response = sz.RandomizedResponse(eps, sensitive="survived", public=["class", "sex"])
        report = self.report(tmp_path, response)
        section = next(part for part in report.sections if part.name == "repeats")
        keep, other = math.exp(eps) / (math.exp(eps) + 7), 1 / (math.exp(eps) + 7)
        exponent = -math.log(2 * math.sqrt(keep * other) + 6 * other)
        n = math.ceil(math.log(10) / exponent)
        assert f"After about {n} more" in section.words
        # The bound that the sentence is made of, by every outcome of n draws of a flip that tells no less.
        assert math.exp(-n * exponent) / 2 <= 0.05 < math.exp(-(n - 1) * exponent) / 2
        assert all(len(line) <= 80 and not line.endswith("…") for line in report.to_text().splitlines())

    def test_without_noise_there_is_nothing_to_average(self, tmp_path):
        budget = sz.LiftBudget(lower=1.0, upper=0.7)
        report = self.report(tmp_path, sz.SubsetMerging(budget, sensitive="survived", public="class"))
        assert all(part.name != "repeats" for part in report.sections)


def test_pairs_of_products_take_as_long_as_their_parts_together():
    """Two releases at once: their exponents at one t add up, so the least is at most the sum."""
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.2, 0.6])
    twice = [np.array([a * b for a, b in product(row, row)]) for row in (p, q)]
    assert by_grid(*twice) == pytest.approx(2 * by_grid(p, q), rel=1e-6)
    assert chernoff_information(sz.Channel.from_matrix(twice)) == pytest.approx(2 * by_grid(p, q), rel=1e-6)
