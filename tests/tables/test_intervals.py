"""Intervals of many numbers, whichever way they are found."""

from __future__ import annotations

import bisect
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sanitize.tables.keys import _FEW_EDGES, LOOKUP_ROWS, edges_passed

_REAL = [5e-324, -5e-324, 1.0, 1 + 2**-52, 1e300, -1e300, math.inf, -math.inf]
_KINDS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.float64]


@example(np.float64, np.float64, 60, 3, 0)
@example(np.float64, np.float64, 60, 3, 1)
@example(np.float64, np.float64, 60, 3, 2)
@example(np.float64, np.float64, 60, 3, 3)
@example(np.float64, np.float64, 8, 3, 0)
@example(np.int64, np.int8, 8, 3, 0)
@example(np.uint64, np.uint64, 8, 3, 0)
@given(
    st.sampled_from(_KINDS),
    st.sampled_from([np.int8, np.int16, np.int64, np.uint64, np.float64]),
    st.sampled_from([0, 8, 60]),
    st.integers(1, 200_000),
    st.integers(0, 2**32 - 1),
)
def test_edges_passed_are_those_that_a_bisection_finds(kind, other, n_edges, spread, seed):
    """Twin: Python's own bisection of Python's numbers, for few rows, which are searched, and many, looked up."""
    rng = np.random.default_rng(seed)

    def some(dtype: type, n: int) -> np.ndarray:
        if dtype is np.float64:
            return np.concatenate([rng.normal(0, spread, n), rng.lognormal(0, 9, n), _REAL, [rng.choice([0.0, -0.0])]])
        low, high = max(np.iinfo(dtype).min, -spread), min(np.iinfo(dtype).max, spread)
        extremes = [np.iinfo(dtype).min, low, high, np.iinfo(dtype).max]
        return np.append(rng.integers(low, high, n, endpoint=True).astype(dtype), np.array(extremes, dtype))

    edges = np.unique(some(kind, n_edges))[rng.integers(0, 3) :]
    numbers = np.append(some(other, 100), np.array([0.0, -0.0]).astype(other))
    if kind is other:
        numbers = np.append(numbers, edges[:: 1 + seed % 7])
    expected = [bisect.bisect_right(edges.tolist(), number) for number in numbers.tolist()]
    assert edges_passed(edges, numbers).tolist() == expected
    many = np.resize(numbers, 2 * LOOKUP_ROWS + 7)
    assert (edges_passed(edges, many) == np.resize(expected, len(many))).all()


@pytest.mark.parametrize("n_edges", [0, 1, _FEW_EDGES, _FEW_EDGES + 1, 300, 70_000])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_any_number_of_edges_is_passed_as_a_search_finds_them(n_edges, dtype):
    rng = np.random.default_rng(n_edges)
    edges = np.unique(rng.integers(-100_000, 100_000, 3 * n_edges))[:n_edges].astype(dtype)
    numbers = np.append(rng.integers(-110_000, 110_000, 2 * LOOKUP_ROWS), edges).astype(dtype)
    assert len(edges) == n_edges
    assert (edges_passed(edges, numbers) == np.searchsorted(edges, numbers, side="right")).all()
