"""The benchmark of sources whose distribution is known: its exact cells, and what it counts, on a few samples."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sanitize.transformers import TreeMerging, TreeRandomResponse

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "simulated_tables.py"


@pytest.fixture(scope="module")
def simulated():
    spec = importlib.util.spec_from_file_location("simulated_tables", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulated_tables"] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    yield module
    del sys.modules["simulated_tables"]


def test_the_distribution_of_cells_is_that_of_many_rows(simulated):
    """Largest of some hundred standard scores; above 5 is one chance in 10,000."""
    source = simulated.Source.of(3, 3)
    tree = TreeRandomResponse(simulated.BUDGET, sensitive="s").fit(source.draw(3000, np.random.default_rng(0))).tree_
    distribution, n = source.cells(tree), 200_000
    assert distribution.sum() == pytest.approx(1, abs=1e-12)
    rows = source.draw(n, np.random.default_rng(1))
    counts = np.zeros(distribution.shape)
    np.add.at(counts, (rows["s"].to_numpy(), tree.assign(rows[list(tree.names)])), 1)
    scores = (counts - n * distribution) / np.sqrt(n * distribution * (1 - distribution))
    assert np.abs(scores[n * distribution > 20]).max() < 5


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("estimator", [TreeMerging, TreeRandomResponse])
def test_with_confidence_few_samples_of_twelve_columns_are_over_the_budget(simulated, estimator):
    """At most 5 % may be; more than the 99.9 % quantile of 12 samples is one chance in 1,000."""
    over = {None: 0, 0.95: 0}
    for sample in range(12):
        n_s = 2 + sample % 4
        source = simulated.Source.of(n_s, sample)
        df = source.draw(2000, np.random.default_rng([7, sample]))
        for confidence in over:
            fitted = estimator(simulated.BUDGET, sensitive="s", confidence=confidence, random_state=0).fit(df)
            over[confidence] += simulated.is_over(source, fitted)[0]
    assert over[0.95] <= stats.binom.ppf(0.999, 12, 0.05)
    assert over[None] >= 4  # the truth can tell a release that is over the budget
