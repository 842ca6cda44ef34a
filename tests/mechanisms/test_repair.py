"""Columns that rounding carried out of their budget come back in, and stay sparse, also above a thousand symbols."""

import math
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import sanitize as sz
from sanitize.core.budgets import LDPBudget, LiftBudget
from sanitize.core.joint import JointDistribution
from sanitize.mechanisms._response_solver import repair as _response_channel
from sanitize.mechanisms._response_solver.repair import response_channel
from sanitize.report import LeakageReport

WITHIN = 1e-12
N_PAIRS = 505


def pairs(over, share_over, n_pairs=N_PAIRS):
    """Distribution of pairs of letters that mirror each other, columns that mix them, and a budget some columns exceed.

    Each pair has two columns with lifts 1.2 and 0.8; those of a share of the pairs are further out by ``over``.
    """
    rng = np.random.default_rng(1)
    mass = np.repeat(rng.random(n_pairs) + 0.1, 2)
    mass /= mass.sum()
    side = np.tile([0.4, -0.4], n_pairs)
    joint = JointDistribution.from_matrix(np.stack([mass * (0.5 + side), mass * (0.5 - side)]))
    is_over = rng.random(n_pairs) < share_over
    t = 0.5 + (0.2 + np.where(is_over, over, 0.0)) / 1.6
    first = 2 * np.arange(n_pairs)
    data = np.stack([t, 1 - t, 1 - t, t], axis=1).ravel()
    indices = np.stack([first, first + 1, first, first + 1], axis=1).ravel()
    columns = sparse.csc_array((data, indices, 2 * np.arange(2 * n_pairs + 1)), shape=(2 * n_pairs, 2 * n_pairs))
    return joint, columns, mass


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [LiftBudget(lower=-math.log(0.8), upper=math.log(1.2)), LDPBudget(math.log(1.5))], ids=str
)
@pytest.mark.parametrize(
    ("share_over", "over"),
    [(0.01, 1e-11), (0.01, 1e-8), (0.3, 1e-8), pytest.param(1.0, 1e-11, marks=pytest.mark.slow(sampled=False))],
)
def test_columns_over_their_budget_are_repaired_and_stay_sparse(budget, share_over, over):
    joint, columns, weights = pairs(over, share_over)
    tracemalloc.start()
    channel = response_channel(joint, budget, columns, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    n = 2 * N_PAIRS
    assert peak < n * n * 8 / 2, "something as large as a dense matrix was made"
    report = LeakageReport.measure(joint, channel, budget)
    assert report.ok
    assert report.excess.max() <= WITHIN
    matrix = channel.sparse_matrix()
    support = np.bincount(matrix.indices, minlength=channel.n_outputs)
    assert matrix.nnz < 8 * n
    assert support.max() <= 20
    assert channel.n_outputs == n, "no symbol had to be merged"
    assert_allclose(np.asarray(matrix.sum(axis=1)).ravel(), 1, atol=1e-12)
    # As sparse as that, and nearly as useful: the columns moved by about what they were over.
    kept = sz.core.measures.utility(joint, channel)
    unhurt = sz.core.measures.utility(joint, response_channel(joint, LiftBudget.symmetric(9), columns, weights))
    assert kept == pytest.approx(unhurt, abs=200 * over)


def test_without_repair_the_columns_would_be_over(monkeypatch):
    joint, columns, weights = pairs(1e-11, 0.3, n_pairs=40)
    budget = LiftBudget(lower=-math.log(0.8), upper=math.log(1.2))
    with monkeypatch.context() as patched:
        patched.setattr(_response_channel, "BUDGET", math.inf)
        assert budget.excess(joint.push(response_channel(joint, budget, columns, weights))).max() > 0
    monkeypatch.setattr(_response_channel, "_LARGEST_SHARE", 1e-14)
    assert response_channel(joint, budget, columns, weights).n_outputs < len(weights), "hopeless symbols are merged"


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [sz.optimal_random_response, sz.subset_random_response])
def test_a_thousand_symbols_beside_a_bound_that_rounding_reaches(mechanism):
    # Lifts of e**-12 are known to 1e-11 in relative terms, which is more than a budget forgives.
    rng = np.random.default_rng(2)
    cells = rng.random((3, 1001)) * (rng.random((3, 1001)) > 0.02)
    joint = JointDistribution.from_matrix(cells / cells.sum())
    budget = LiftBudget(lower=12, upper=0.9)
    channel = mechanism(joint, budget, gap=1e-4, time_limit=3)
    assert budget.excess(joint.push(channel)).max() <= WITHIN
    assert sum(len(stage.indices) for stage in channel.stages) < 10_000
    assert sz.normalized_utility(joint, channel) > 0.9
