"""What the tests split from optimal share: tables, releases and oracles."""

from __future__ import annotations

import math
from itertools import islice, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import entr

import sanitize as sz
from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.joint import JointDistribution

WITHIN = 1e-12


def uniform_distribution(n_x, n_s, rng, zeros=0.0):
    cells = rng.random((n_s, n_x)) * (rng.random((n_s, n_x)) >= zeros)
    cells[rng.integers(n_s), cells.sum(axis=0) == 0] = 0.5
    for s in np.flatnonzero(cells.sum(axis=1) == 0):
        cells[s, rng.integers(n_x)] = 0.5
    return JointDistribution.from_matrix(cells / cells.sum())


def inequalities(joint, budget):
    """Rows (b, a) of b + a·v >= 0, without Σ v = 1."""
    ratio = sz.lift(joint)
    n = ratio.shape[1]
    rows = [np.append(0, row) for row in np.eye(n)]
    if isinstance(budget, LDPBudget):
        rows += [
            np.append(0, math.exp(budget.eps) * ratio[i] - ratio[j]) for i, j in product(range(len(ratio)), repeat=2)
        ]
    else:
        rows += [np.append(-math.exp(-budget.lower), row) for row in ratio]
        if math.isfinite(budget.upper):
            rows += [np.append(math.exp(budget.upper), -row) for row in ratio]
    return np.array(rows)


def vertices_by_double_description(joint, budget):
    cdd = pytest.importorskip("cdd")
    rows = inequalities(joint, budget)
    n = rows.shape[1] - 1
    table = cdd.matrix_from_array(
        np.vstack([np.append(-1.0, np.ones(n)), rows]).tolist(), lin_set={0}, rep_type=cdd.RepType.INEQUALITY
    )
    points = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(table)).array)
    return np.maximum(points[:, 1:], 0)


def brute_force(joint, budget):
    """I(X;Y) of the optimum: all vertices, then one linear program."""
    v = vertices_by_double_description(joint, budget)
    v = np.vstack([v / v.sum(axis=1, keepdims=True), joint.p_x])
    mix = linprog(
        entr(v).sum(axis=1), A_eq=v.T / joint.p_x[:, None], b_eq=np.ones(len(joint.p_x)),
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert mix.status == 0
    return entr(joint.p_x).sum() - mix.fun


def part_of(cases, part):
    """Five cases in a row: a sweep in parts, of which one runs always."""
    return islice(cases, 5 * part, 5 * part + 5)


def instances(n, seed):
    rng = np.random.default_rng(seed)
    for i in range(n):
        n_x, n_s = int(rng.integers(2, 10)), int(rng.integers(2, 6))
        joint = uniform_distribution(n_x, n_s, rng, zeros=rng.choice([0, 0, 0.2, 0.5]))
        eps = float(rng.choice([0.1, 0.3, 0.7, 1.2, 2.5, 4.0]))
        kind = i % 4
        if kind == 0:
            yield joint, LDPBudget(eps)
        elif kind == 1:
            yield joint, LiftBudget(lower=math.inf, upper=eps)
        else:
            yield joint, LiftBudget.from_ldp(eps, float(rng.choice([0.35, 0.5, 0.65])))


def tied_instances(n, seed):
    """Distributions of small whole numbers, budgets that many lifts meet: vertices on more facets than needed."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        n_x, n_s = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        cells = rng.integers(0, 4, (n_s, n_x)).astype(float)
        cells[rng.integers(n_s), cells.sum(axis=0) == 0] = 1
        cells[cells.sum(axis=1) == 0, rng.integers(n_x)] = 1
        joint = JointDistribution.from_matrix(cells / cells.sum())
        exact = np.unique(np.abs(sz.log_lift(joint)[sz.lift(joint) > 0]))
        eps = float(rng.choice(exact[exact > 0.01])) if (exact > 0.01).any() else 0.5
        yield joint, LDPBudget(eps) if i % 3 == 0 else LiftBudget(lower=eps if i % 3 == 1 else math.inf, upper=eps)
