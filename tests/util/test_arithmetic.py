"""Products, inverses and logarithms of one order of operations are right, whatever the size of their numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sanitize._util.arithmetic import basis_inverses, entr, log, power, product


def test_logarithms_are_right_to_the_last_digits():
    rng = np.random.default_rng(0)
    x = np.concatenate([10 ** rng.uniform(-299, 299, 2000), 1 + rng.normal(0, 1e-7, 2000), [1, 0.5, 2, math.sqrt(0.5)]])
    exact = np.array([math.log(value) for value in x])
    assert (np.abs(log(x) - exact) <= 1e-15 * np.abs(exact)).all()
    assert log(np.array([1.0])) == 0


def test_powers_are_right_to_the_last_digits():
    x = np.concatenate([10 ** np.random.default_rng(0).uniform(-3, 1, 999), [1.0]])
    for order in (0.3, 0.5, 1.0, 1.5, 2.0, 7.0):
        exact = np.array([value**order for value in x])
        assert (np.abs(power(x, order) - exact) <= 1e-15 * (2 + order * np.abs(np.log(x))) * exact).all()
        assert (power(np.array([0.0, 1.0]), order) == [0, 1]).all()


def test_entropies_of_nothing_are_nothing():
    assert (entr(np.array([0.0, -1e-12, 1.0])) == 0).all()
    assert entr(np.array([0.25]))[0] == pytest.approx(0.5 * math.log(2), rel=1e-15)


def test_products_add_up_as_fractions_do():
    rng = np.random.default_rng(1)
    a, b = rng.integers(-99, 99, (3, 4)) / 8, rng.integers(-99, 99, (4, 5)) / 8
    exact = [[float(sum(Fraction(a[i, k]) * Fraction(b[k, j]) for k in range(4))) for j in range(5)] for i in range(3)]
    assert product(a, b).tolist() == exact
    assert product(a[0], b).tolist() == exact[0]
    assert product(a, b[:, 1]).tolist() == [row[1] for row in exact]


@pytest.mark.parametrize(("n_rows", "n_letters"), [(1, 4), (5, 8), (30, 6)])
def test_inverses_of_bases_with_slacks(n_rows, n_letters):
    """Slacks are columns of one entry; two of one row, or a letter twice, leave no inverse."""
    rng = np.random.default_rng(n_rows)
    letters = rng.random((n_rows, n_letters)) * (rng.random((n_rows, n_letters)) < 0.7)
    matrix = np.concatenate([letters, -np.eye(n_rows), np.eye(n_rows)[:1].T], axis=1)
    basis = np.array([rng.permutation(matrix.shape[1])[:n_rows] for _ in range(40)])
    inverses, is_regular = basis_inverses(matrix, basis)
    squares = matrix[:, basis].transpose(1, 0, 2)
    assert (is_regular == (np.linalg.matrix_rank(squares) == n_rows)).all()
    assert is_regular.sum() > 0
    assert not inverses[~is_regular].any()
    for square, inverse in zip(squares[is_regular], inverses[is_regular], strict=True):
        assert np.abs(inverse @ square - np.eye(n_rows)).max() < 1e-13 * np.linalg.cond(square)


def test_a_basis_of_other_equations_has_no_inverse():
    with pytest.raises(np.linalg.LinAlgError):
        basis_inverses(np.eye(3), np.zeros((1, 2), np.intp))
