"""Discrete Laplace noise: ratios of the very integers, chances in high precision, and the DP of what it releases."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from sanitize.core.channel import SCALE
from sanitize.errors import InvalidParameter
from sanitize.mechanisms import discrete_laplace_channel
from sanitize.theory.notions import global_dp

CASES = [
    (2, 1.0, 1),
    (3, math.log(2), 1),
    (5, 1e-9, 1),
    (6, 1e-17, 1),
    (7, 0.1, 3),
    (9, 3.0, 2),
    (4, 43.0, 1),
    (4, 900.0, 1),
    (60, 1e-6, 1),
]


def integers(channel):
    (stage,) = channel.stages
    return stage.weights.reshape(channel.n_inputs, -1)


@pytest.mark.parametrize(("n", "eps", "sensitivity"), CASES)
def test_no_ratio_of_the_integers_exceeds_the_level(n, eps, sensitivity):
    table = integers(discrete_laplace_channel(n, eps, sensitivity=sensitivity))
    assert (table.sum(axis=1) == SCALE).all()
    with mpmath.workdps(50):
        for x, other in itertools.pairwise(range(n)):
            growth = mpmath.exp(mpmath.mpf(eps) / sensitivity)
            for a, b in zip(table[x].tolist(), table[other].tolist(), strict=True):
                ratio = Fraction(max(a, b), min(a, b))
                assert mpmath.mpf(ratio.numerator) / ratio.denominator <= growth


@pytest.mark.parametrize(("n", "eps"), [(2, 0.7), (5, 0.3), (8, 2.0), (3, 12.0)])
def test_the_distribution_is_clamped_two_sided_geometric_noise(n, eps):
    """Sums of P(Z = z) = (1-a)/(1+a) a**|z| over what falls on each output."""
    with mpmath.workdps(40):
        a = mpmath.exp(-mpmath.mpf(eps))
        expected = [[mpmath.mpf(0)] * n for _ in range(n)]
        for x in range(n):
            for z in range(-400, 401):
                expected[x][min(max(x + z, 0), n - 1)] += (1 - a) / (1 + a) * a ** abs(z)
        expected = np.array(expected, dtype=np.float64)
    assert_allclose(discrete_laplace_channel(n, eps).matrix, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("eps", [0.2, 1.0, 3.0])
def test_cy_laplace_noise_on_a_count_is_eps_dp_of_the_table(eps):
    """[CY], a common technique: the count of three bits is moved by 1, the sum of three letters 0..2 by 2."""
    bits, letters = (2, 2, 2), (3, 3, 3)
    counts = np.indices(bits).sum(axis=0).ravel()
    level = global_dp(discrete_laplace_channel(4, eps).matrix[counts], sizes=bits)
    assert level == pytest.approx(eps, abs=1e-12)
    sums = np.indices(letters).sum(axis=0).ravel()
    enough = discrete_laplace_channel(7, eps, sensitivity=2).matrix[sums]
    assert global_dp(enough, sizes=letters) == pytest.approx(eps, abs=1e-12)
    assert global_dp(discrete_laplace_channel(7, eps).matrix[sums], sizes=letters) == pytest.approx(2 * eps, abs=1e-12)


def test_no_privacy_loss_at_zero_and_a_single_number():
    matrix = discrete_laplace_channel(5, 0.0).matrix
    assert (matrix == matrix[0]).all()
    assert discrete_laplace_channel(1, 1.0).matrix.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_symbols": 0, "eps": 1.0}, "n_symbols"),
        ({"n_symbols": 5000, "eps": 1.0}, "at most 4096"),
        ({"n_symbols": 5, "eps": -1.0}, "eps"),
        ({"n_symbols": 5, "eps": math.inf}, "eps must be finite"),
        ({"n_symbols": 5, "eps": 1.0, "sensitivity": 0}, "sensitivity"),
        ({"n_symbols": 5, "eps": 1.0, "sensitivity": 1.5}, "sensitivity"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        discrete_laplace_channel(**arguments)
