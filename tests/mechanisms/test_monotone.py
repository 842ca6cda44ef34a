"""A looser budget never keeps less: the best partition exactly, curves and suggestions of any mechanism by design."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from paper_mechanisms import paper_subset_merging

import sanitize as sz
from sanitize.core.joint import JointDistribution

NATS = (0.0, 1e-9, 0.1, 0.5, 1.5, math.inf)
FAMILIES = {
    "symmetric": sz.LiftBudget.symmetric,
    "lower": lambda eps: sz.LiftBudget(lower=eps, upper=0.3),
    "upper": lambda eps: sz.LiftBudget(lower=0.7, upper=eps),
    "ldp": sz.LDPBudget,
}


def distributions(n_x: int) -> dict[str, JointDistribution]:
    """Uniform cells, structural zeros, a sensitive column that X determines, skew, and ties."""
    rng = np.random.default_rng(n_x)
    cells = rng.random((3, n_x)) + 1e-3
    kinds = {
        "uniform": cells,
        "zeros": cells * (rng.random((3, n_x)) > 0.4),
        "determined": cells * (np.arange(3)[:, None] == np.arange(n_x) % 3),
        "skew": cells * 10.0 ** -rng.uniform(0, 5, n_x),
        "ties": rng.integers(1, 4, (3, n_x)).astype(float),
    }
    return {kind: JointDistribution.from_matrix(some / some.sum()) for kind, some in kinds.items() if some.sum(0).all()}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_x", [5, 9, 15])
def test_the_best_partition_keeps_no_less_under_a_looser_budget(family, n_x):
    """A partition within a budget is within every looser one; up to 17 symbols the best of all is found."""
    for kind, joint in distributions(n_x).items():
        nats = NATS if n_x < 15 else (0.1, 0.5, math.inf)
        kept = [sz.core.measures.utility(joint, sz.subset_merging(joint, FAMILIES[family](eps))) for eps in nats]
        assert kept == pytest.approx(np.maximum.accumulate(kept), abs=1e-11), kind


@pytest.mark.parametrize("mechanism", [paper_subset_merging, sz.watchdog])
def test_a_curve_of_a_greedy_mechanism_never_prints_less_for_a_looser_budget(mechanism):
    """Pairs of bounds, of which some are looser on both sides and some on one only."""
    for joint in distributions(9).values():
        bounds = list(itertools.product((0.2, 0.6, 1.5, math.inf), repeat=2))
        budgets = [sz.LiftBudget(lower=lower, upper=upper) for lower, upper in bounds]
        points = sz.release.choosing.tradeoff_curve(joint, mechanism, budgets).points
        for (tight, a), (loose, b) in itertools.permutations(zip(budgets, points, strict=True), 2):
            if tight.lower <= loose.lower and tight.upper <= loose.upper:
                assert b["normalized_utility"] >= a["normalized_utility"] - 1e-11
