"""Pointwise maximal leakage is the max-lift alone: optimal channels known in closed form, for S = X.

Grosse, Saeidian, Oechtering, "Extremal mechanisms for pointwise maximal leakage", IEEE Trans. Inf. Forensics Security,
2024: the channels below are optimal for every sub-convex utility, mutual information among them.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sanitize as sz
from sanitize.core.measures import mutual_information, utility


def itself(p: np.ndarray) -> sz.JointDistribution:
    """S = X with the distribution p."""
    return sz.JointDistribution.from_matrix(np.diag(p))


def information(p: np.ndarray, rows: np.ndarray) -> float:
    return mutual_information(sz.JointDistribution.from_matrix(p[:, None] * rows))


@pytest.mark.parametrize("p", [(0.5, 0.5), (0.6, 0.4), (0.9, 0.1), (0.4, 0.35, 0.25), (0.3, 0.3, 0.2, 0.2)])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_high_privacy_every_output_speaks_against_its_symbol(p, share) -> None:
    """ε < log 1/(1 - p_min): p(y_j|x_i) = e^ε p_j for i ≠ j, and 1 - e^ε (1 - p_j) for i = j."""
    p = np.array(p)
    eps = share * -math.log1p(-p.min())
    rows = np.where(np.eye(len(p), dtype=bool), 1 - math.exp(eps) * (1 - p), math.exp(eps) * p)
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    budget = sz.LiftBudget(lower=math.inf, upper=eps)
    channel = sz.mechanisms.optimal_random_response(itself(p), budget)
    assert utility(itself(p), channel) == pytest.approx(information(p, rows), rel=1e-5, abs=1e-7)
    assert budget.excess(itself(p).push(channel)).max() <= 0


@pytest.mark.parametrize("likely", [0.55, 0.7, 0.9])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_binary_low_privacy_is_a_z_channel(likely, share) -> None:
    """From log 1/p_max on only the rare symbol needs hiding: its output is drawn with e^-ε in all."""
    rare, eps = 1 - likely, -math.log(likely) + share * math.log(likely / (1 - likely))
    joint = itself(np.array([likely, rare]))
    told = [[1 - (math.exp(-eps) - rare) / likely, (math.exp(-eps) - rare) / likely], [0.0, 1.0]]
    channel = sz.mechanisms.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=eps))
    expected = information(np.array([likely, rare]), np.array(told))
    assert utility(joint, channel) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_no_privacy_is_needed_above_the_rarest_symbol() -> None:
    joint = itself(np.array([0.5, 0.3, 0.2]))
    channel = sz.mechanisms.optimal_random_response(joint, sz.LiftBudget(lower=math.inf, upper=math.log(5)))
    assert sz.normalized_utility(joint, channel) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_the_min_lift_is_left_free(seed) -> None:
    """A bound on the min-lift, however wide, can only take from what is kept."""
    distribution = sz.JointDistribution.from_matrix(np.random.default_rng(seed).dirichlet(np.ones(18)).reshape(3, 6))
    kept = [
        utility(
            distribution, sz.mechanisms.optimal_random_response(distribution, sz.LiftBudget(lower=lower, upper=0.4))
        )
        for lower in (0.2, 0.6, 2.0, math.inf)
    ]
    assert all(a <= b + 1e-6 for a, b in itertools.pairwise(kept))
    assert kept[-1] > kept[0] + 1e-3
