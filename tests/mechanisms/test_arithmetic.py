"""Sums, inverses and logarithms in an order of their own: right, and the same bits with compiled loops and without."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sanitize.mechanisms._random_response import compiled as _compiled
from sanitize.mechanisms._random_response.arithmetic import entr, inverse, log, product
from sanitize.mechanisms._random_response.least_squares import least_solution
from sanitize.mechanisms._random_response.logarithm import exp, expm1

SHAPES = [
    (1, 1, 1),
    (1, 9, 4),
    (7, 1, 9),
    (30, 8, 12),
    (3, 200, 17),
    (40, 17, 130),
    (2, 5, 300),
    (3, 8, 1),
    (90, 50, 1),
]


@pytest.fixture(params=["loops", "numpy"])
def way(request, monkeypatch):
    """Compiled loops, and the NumPy that stands in for them."""
    if request.param == "numpy":
        monkeypatch.setattr(_compiled, "loops", lambda _: None)
    else:
        pytest.importorskip("numba")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("k", "m", "n"), SHAPES)
def test_a_product_adds_its_terms_in_order(k, m, n):
    rng = np.random.default_rng([k, m, n])
    a, b = rng.normal(size=(k, m)), np.asfortranarray(rng.normal(size=(m, n)))
    a.flags.writeable = b.flags.writeable = False
    expected = np.zeros((k, n))
    for r in range(m):
        expected = expected + a[:, r, None] * b[r]
    assert_array_equal(product(a, b), expected)


@pytest.mark.parametrize("m", [1, 2, 7, 25, 60])
def test_inverses_are_those_of_lapack_and_have_the_same_bits_either_way(m, loops, monkeypatch):
    squares = np.random.default_rng(m).normal(size=(40, m, m))
    squares[:, 0, 0] = 0.0 if m > 1 else 1.0
    fast, is_regular = inverse(squares)
    assert is_regular.all()
    assert_allclose(fast, np.linalg.inv(squares), rtol=1e-6, atol=1e-6)
    monkeypatch.setattr(_compiled, "loops", lambda _: None)
    assert_array_equal(inverse(squares)[0], fast)


@pytest.mark.usefixtures("way")
def test_singular_matrices_are_told_among_regular_ones():
    squares = np.array([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.ones((3, 3)), np.eye(3)[[2, 0, 1]]])
    found, is_regular = inverse(squares)
    assert is_regular.tolist() == [True, False, False, True]
    assert np.isfinite(found).all()
    assert_array_equal(found[3], np.eye(3)[[1, 2, 0]])


def test_logarithms_are_right_to_two_units_and_have_the_same_bits_either_way(loops, monkeypatch):
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.random(500), rng.random(500) * 10.0 ** -rng.integers(0, 300, 500), 1 + rng.normal(size=500) * 1e-9]
    )
    x = np.append(x, [1.0, math.sqrt(0.5), np.nextafter(math.sqrt(0.5), 0), np.nextafter(math.sqrt(0.5), 1), 0.5, 2.0])
    found = log(x)
    with localcontext() as digits:
        digits.prec = 60
        off = [abs(Decimal(value) - Decimal(one).ln()) for value, one in zip(found.tolist(), x.tolist(), strict=True)]
    assert all(error <= 2 * np.spacing(abs(value)) for error, value in zip(off, found.tolist(), strict=True))
    monkeypatch.setattr(_compiled, "loops", lambda _: None)
    assert_array_equal(log(x), found)
    scalar = loops[0].log
    assert [scalar(one) for one in x.tolist()] == found.tolist()


@pytest.mark.usefixtures("way")
def test_entropies_of_nothing_and_of_all_are_0_exactly():
    assert entr(np.array([[0.0, 1.0], [0.5, 1e-320]])).tolist() == [[0.0, 0.0], [0.5 * math.log(2), pytest.approx(0)]]


@pytest.mark.parametrize("nats", [0.0, 1e-30, 1e-9, 0.3, 1.0, 25.0, 700.0, -1e-7, -4.0, -700.0])
def test_exponentials_are_the_doubles_next_to_the_truth(nats):
    for found, expected in ((exp(nats), math.exp(nats)), (expm1(nats), math.expm1(nats))):
        assert abs(found - expected) <= np.spacing(abs(expected))
    assert exp(-math.inf) == 0.0


def test_the_least_solution_is_that_of_the_pseudo_inverse():
    rng = np.random.default_rng(3)
    for shape in ((8, 8), (6, 20), (20, 6)):
        dense = rng.random(shape) * (rng.random(shape) > 0.3)
        dense[:, -1] = dense[:, 0] * (1 + 1e-9)  # columns nearly alike
        target = dense @ rng.random(shape[1])
        found = least_solution(sparse.csc_array(dense), target, 4 * shape[1])
        assert_allclose(found, np.linalg.pinv(dense, rcond=1e-8) @ target, rtol=1e-6, atol=1e-7)
        assert_array_equal(least_solution(sparse.csc_array(dense), np.zeros(shape[0]), 9), 0.0)
