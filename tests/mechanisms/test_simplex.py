"""The parts that a false certificate could come from: batched linear programs, and bounds from any prices."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import sanitize as sz
from sanitize._util.arithmetic import basis_inverses
from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.joint import JointDistribution
from sanitize.mechanisms._effort import Effort
from sanitize.mechanisms._random_response.optimal import solve_optimal_random_response
from sanitize.mechanisms._response_solver.column_generation import Search
from sanitize.mechanisms._response_solver.columns import Loss
from sanitize.mechanisms._response_solver.dual_simplex import LinearBatch, solve_batch
from sanitize.mechanisms._response_solver.polytope import LiftBounds, Polytope

BUDGETS = [
    LiftBudget.symmetric(0), LiftBudget.symmetric(1e-3),
    LiftBudget(lower=0.3, upper=0.6), LiftBudget(lower=math.inf, upper=0.2),
    LDPBudget(0), LDPBudget(0.1), LDPBudget(2),
]  # fmt: skip


def half_spaces(rows):
    """Letters v >= 0 of sum 1 with rows @ v <= 0, up to rounding."""
    k, n = rows.shape
    return Polytope.simplex(n, n).add_rows(rows, np.minimum(rows.min(axis=1), 0.0) - 1e-12, np.full(k, 1e-12))


def distributions_with_ties(n):
    """Distributions with empty cells and letters that look alike."""
    rng = np.random.default_rng(1)
    for _ in range(n):
        cells = rng.random((3, 7)) * (rng.random((3, 7)) > 0.3)
        cells[rng.integers(3), cells.sum(axis=0) == 0] = 0.5
        cells[:, 1] = cells[:, 0] / 2
        cells[cells.sum(axis=1) == 0, 2] = 0.5
        yield JointDistribution.from_matrix(cells / cells.sum())


def boxes(rng, k, n):
    """Boxes as branch and bound makes them: some whole, some fixed, some that meet Σ v = 1 exactly or not at all."""
    low, high = np.zeros((k, n)), np.ones((k, n))
    for row in range(k):
        letters = rng.permutation(n)
        kind = row % 4
        if kind == 1:
            high[row] = 0.5
        elif kind == 2:
            low[row, letters[0]] = high[row, letters[0]] = 0.5
            high[row, letters[1:]] = 0.5 * (rng.random(n - 1) > 0.4)
        elif kind == 3:
            high[row] = rng.choice([0.0, 0.25, 0.5], n)
    return low, high


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_batched_programs_agree_with_highs_ties_and_fixed_letters_included(budget):
    rng = np.random.default_rng(4)
    for joint in distributions_with_ties(6):
        polytope = LiftBounds.outer(sz.lift(joint), budget).polytope()
        k, n = 30, polytope.n
        lower, upper = np.tile(polytope.lower, (k, 1)), np.tile(polytope.upper, (k, 1))
        lower[:, :n], upper[:, :n] = boxes(rng, k, n)
        cost = np.zeros_like(lower)
        cost[:, :n] = np.round(rng.normal(size=(k, n)), 1)  # ties in the costs too
        programs = LinearBatch(polytope.matrix, polytope.rhs, lower, upper, cost)
        solved = solve_batch(programs, polytope.slack_basis(k))
        for row in range(k):
            bounds = np.stack([lower[row], upper[row]], axis=1)
            exact = linprog(cost[row], A_eq=polytope.matrix, b_eq=polytope.rhs, bounds=bounds)
            if exact.status == 2:
                # A bound may still be finite where HiGHS sees infeasibility: weaker, never wrong.
                continue
            assert exact.status == 0
            assert solved.bound[row] == pytest.approx(exact.fun, abs=1e-6)
            point = solved.point[row]
            assert np.abs(polytope.matrix @ point - polytope.rhs).max() < 1e-9
            assert (point >= lower[row] - 1e-9).all()
            assert (point <= upper[row] + 1e-9).all()


@pytest.mark.parametrize("claimed", [0.0, 5e-5, 1e-3])
def test_bounds_hold_when_the_mixture_claims_to_be_worse_than_the_optimum(claimed):
    rng = np.random.default_rng(3)
    for budget in (LiftBudget.symmetric(0.4), LDPBudget(1.0)):
        cells = rng.random((3, 8))
        joint = JointDistribution.from_matrix(cells / cells.sum())
        bounds = LiftBounds.outer(sz.lift(joint), budget)
        best = Search(bounds, bounds, joint.p_x, 1e-9, Effort(10**9), Loss()).solve([])
        search = Search(bounds, bounds, joint.p_x, 1e-9, Effort(10**9), Loss())
        search.mixture = replace(best.mixture, value=best.mixture.value + claimed)
        search._certify(search.mixture)
        assert search.bound <= best.mixture.value + 1e-10


def test_one_letter_one_sensitive_symbol_and_safe_distributions_are_released_as_they_are():
    for pmf in ([[0.4], [0.6]], [[0.2, 0.3, 0.5]], np.full((3, 4), 1 / 12)):
        joint = JointDistribution.from_matrix(pmf)
        response = solve_optimal_random_response(joint, 0.5)
        assert response.normalized_utility == pytest.approx(1)
        assert response.gap == pytest.approx(0, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(5, 30), (40, 8), (30, 30)])
def test_a_basis_of_many_slacks_has_the_inverse_that_elimination_finds(n, k):
    """Bases of any number of slacks in any order, among them those of no slack but one, and of slacks alone but one."""
    rng = np.random.default_rng(n)
    matrix = half_spaces(rng.normal(size=(k, n))).matrix
    bases = []
    for letters in [1, 1, min(n, k + 1), *rng.integers(1, min(n, k) + 1, 20)]:
        slacks = rng.choice(k, k + 1 - letters, replace=False)
        bases.append(rng.permutation(np.append(rng.choice(n, letters, replace=False), n + slacks)))
    basis = np.array(bases)
    for sign in (1, -1):
        signed = matrix * np.append(np.ones(n), np.full(k, sign))
        inverses, is_regular = basis_inverses(signed, basis)
        assert is_regular.all()
        for one, found in zip(basis, inverses, strict=True):
            assert found == pytest.approx(np.linalg.inv(signed[:, one]), rel=1e-7, abs=1e-7)


def test_a_singular_basis_is_told_and_its_multipliers_still_bound():
    """Two slacks of one row, and one letter twice, which rounding may hide: any multipliers give a bound."""
    rng = np.random.default_rng(0)
    cuts = half_spaces(rng.normal(size=(40, 6)))
    regular = np.append(0, np.arange(6, 46))
    twice, alike = np.append([0, 6, 6], np.arange(7, 45)), np.append([0, 0], np.arange(6, 45))
    for basis, may_hide in ((twice, False), (alike, True)):
        inverses, is_regular = basis_inverses(cuts.matrix, np.array([basis, regular]))
        assert is_regular[1]
        assert may_hide or not is_regular[0]
        assert np.isfinite(inverses).all()
        cost = np.append(rng.random(6), np.zeros(40))[None]
        programs = LinearBatch(cuts.matrix, cuts.rhs, cuts.lower[None], cuts.upper[None], cost)
        best = solve_batch(programs, regular[None]).bound[0]
        assert solve_batch(programs, basis[None]).bound[0] <= best + 1e-9


@pytest.mark.parametrize("n_rows", [3, 40])
def test_a_basis_of_other_equations_is_refused_however_many_there_are(n_rows):
    matrix = half_spaces(np.random.default_rng(0).normal(size=(n_rows, 6))).matrix
    with pytest.raises(np.linalg.LinAlgError, match="basis must choose"):
        basis_inverses(matrix, np.arange(n_rows)[None])
