"""Levels of ordered columns: many rows on both sides of every edge, and no edge that a few rows decide."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitize.trees import LEAST_ROWS, Levels, as_ordered, edges_of, scale_of

RNG = np.random.default_rng(5)


def starts(values, **settings) -> list:
    return edges_of(scale_of(pa.array(values), "x"), **settings).starts.tolist()


@given(
    st.lists(st.one_of(st.integers(-50, 50), st.integers(-(10**6), 10**6)), min_size=1, max_size=400),
    st.sampled_from([1, 2, 7]),
    st.sampled_from([4, 64]),
)
def test_every_level_has_ten_rows_and_a_value_of_many_rows_has_its_own(values, times, most_bins):
    rows = np.repeat(values, times)
    scale = scale_of(pa.array(rows), "x")
    edges = edges_of(scale, most_values=1000, most_bins=most_bins)
    assert (np.diff(edges.starts) > 0).all()
    level = np.maximum(np.searchsorted(edges.starts, rows, side="right") - 1, 0)
    counts = np.bincount(level, minlength=len(edges.starts))
    if len(rows) >= LEAST_ROWS:
        assert counts.min() >= LEAST_ROWS
    own, n = np.unique(rows, return_counts=True)
    if (heavy := n >= LEAST_ROWS).sum() and n[heavy].sum() >= 0.9 * len(rows):
        assert set(own[heavy]) <= set(edges.starts.tolist())
    assert edges.end >= edges.starts[-1]


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        (RNG.lognormal(10, 1, 5000).round(2), 0),  # cents, and edges are of a crown and more
        (RNG.normal(0, 1, 5000), 2),
        (RNG.integers(0, 10**9, 5000), -4),
        (RNG.exponential(1e-7, 5000), 11),
    ],
)
def test_edges_are_rounder_than_what_single_people_have(values, digits):
    found = starts(values)
    assert 40 < len(found) <= 66
    assert all(edge == round(edge, digits) for edge in found)


def test_an_edge_seldom_moves_when_a_row_comes():
    """A hundred neighbours of one table: of 62 edges few move (and count twice here); of plain quantiles most would."""
    rng = np.random.default_rng(11)
    values = rng.lognormal(10, 0.5, 3000).round(2)
    before = set(starts(values))
    moved = [len(before ^ set(starts(np.append(values, round(rng.lognormal(10, 0.5), 2))))) for _ in range(100)]
    assert np.mean(moved) < 12


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (np.arange(500) * 1000, 1000),
        (np.arange(500) * 15, 1),
        (np.round(np.arange(500) * 0.25, 2), Fraction(1, 100)),
        (np.float32(np.arange(500) * 0.1), Fraction(1, 10)),
        (RNG.normal(size=500), None),
        ([Decimal("1.10")] * 300 + [Decimal("2.25")] * 200, Fraction(1, 100)),
        (np.datetime64("2020-01-01") + np.arange(500), 86_400 * 10**9),
        (np.datetime64("2020-01-01T00:00:00") + 60 * np.arange(500) * 30, 60 * 10**9),
        ([datetime.timedelta(seconds=k) for k in range(500)], 10**9),
        # Nine people with odd values do not tell of them.
        (np.append(np.arange(500) * 1000, np.arange(9) + 7), 1000),
    ],
    ids=str,
)
def test_values_are_multiples_of_what_nearly_all_are(values, unit):
    assert scale_of(pa.array(values), "x").unit == unit


def test_dates_are_cut_at_years_months_and_days():
    dates = np.datetime64("1990-01-01") + RNG.integers(0, 365 * 30, 4000)
    levels = Levels.learn(pa.array(dates), "born")
    found = levels.values.to_pylist()
    assert sum(day.day == 1 for day in found) > 0.9 * len(found)
    assert sum(day.month == 1 for day in found) > 0.1 * len(found)


def test_ends_are_nobodys_extremes():
    values = np.append(RNG.normal(50, 10, 2000), [1e6, -1e6])
    scale = scale_of(pa.array(values), "x")
    edges = edges_of(scale)
    assert 0 < edges.starts[0] < edges.end < 100
    beyond = np.sort(values)
    assert edges.starts[0] > beyond[LEAST_ROWS - 1]
    assert edges.end <= beyond[-LEAST_ROWS]


def test_given_edges_are_kept_and_others_make_room():
    values = RNG.integers(0, 1000, 5000)
    given_edges = [333, 335, 777]
    found = starts(values, given=given_edges)
    assert set(given_edges) <= set(found)
    counts = np.histogram(values, [*found, 1000])[0]
    narrow = [(a, b) for a, b, n in zip(found, found[1:], counts, strict=False) if n < LEAST_ROWS]
    assert all(a in given_edges and b in given_edges for a, b in narrow)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [None, None],
        [1.0] * 3,
        [float("inf")] * 20 + [float("-inf")] * 20 + [0.5] * 20,
        [float("inf"), 1e308, -1e308, float("nan"), *range(50)],
        np.array([0, 2**64 - 1] * 30, np.uint64),
        np.array([-(2**63), 2**63 - 1, 0] * 20, np.int64),
        [5e-324 * k for k in range(60)],
    ],
    ids=str,
)
def test_extremes_have_levels_too(values):
    levels = Levels.learn(pa.array(values), "x")
    codes = levels.encode(pa.array(values))
    assert (codes < levels.n_levels).all()
    numbers = as_ordered(levels.values, "x")[0]
    assert (numbers[1:] > numbers[:-1]).all()
