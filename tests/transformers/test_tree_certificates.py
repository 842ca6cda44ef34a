"""Certified releases of trees, through the estimators: rarely over the budget where the rows came from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sanitize as sz
from sanitize.mechanisms import blocks_within
from sanitize.transformers import TreeMerging, TreeRandomResponse
from sanitize.trees import cell_counts, grow

P_S = np.array([0.65, 0.35])
GIVEN = 0.5 + 0.3 * (np.random.default_rng(5).random((2, 6)) - 0.5)
EVERY = (np.arange(64)[:, None] >> np.arange(6)) & 1
NAMES = [f"x{j}" for j in range(6)]


def drawn(n: int, seed: int) -> pd.DataFrame:
    """Rows of six columns that are independent given S."""
    rng = np.random.default_rng(seed)
    s = rng.choice(2, n, p=P_S)
    rows = (rng.random((n, 6)) < GIVEN[s]).astype(int)
    return pd.DataFrame({"s": s, **dict(zip(NAMES, rows.T, strict=True))})


@pytest.mark.slow(sampled=False)
@pytest.mark.parametrize("kind", [TreeMerging, TreeRandomResponse])
def test_certified_estimators_hold_under_the_distribution_of_the_rows(kind: type) -> None:
    """At most 5 % may fail; more than the 99.9 % quantile of 60 samples is one chance in 1,000."""
    budget = sz.LiftBudget(lower=0.4, upper=0.4)
    distribution = np.stack(
        [p * np.where(EVERY, given, 1 - given).prod(axis=1) for p, given in zip(P_S, GIVEN, strict=True)]
    )
    every = pd.DataFrame(dict(zip(NAMES, EVERY.T, strict=True)))
    failed, told = 0, []
    for seed in range(60):
        fitted = kind(budget, sensitive="s", confidence=0.95, max_cells=16).fit(drawn(4000, seed))
        cells = fitted.tree_.assign(every)
        pmf = np.stack([np.bincount(cells, row, fitted.tree_.n_cells) for row in distribution]) @ fitted.channel_.matrix
        pmf = pmf[:, pmf.any(axis=0)]
        failed += bool((budget.excess_of(pmf / P_S[:, None] / pmf.sum(axis=0), P_S) > 0).any())
        told.append(fitted.report_.summary["mean_column_utility"])
    assert failed <= stats.binom.ppf(0.999, 60, 0.05)
    assert np.mean(told) > 0.02  # the guarantee is not that of releasing nothing


def test_blocks_that_are_over_the_budget_under_another_distribution_give_way_to_the_node_above() -> None:
    """The partition of nodes within the budget, by a walk of its own from each cell upwards."""
    budget = sz.LiftBudget(lower=0.3, upper=0.2)
    df = drawn(1500, 1)
    grown = grow({name: df[name] for name in NAMES}, df["s"].to_numpy(), budget, min_rows=60, min_cell_rows=60)
    tree = grown.tree
    counts = cell_counts(grown.cells, df["s"].to_numpy(), tree.n_cells, 2)
    first = tree.blocks == 0
    moved = np.minimum(counts[0, first], 8)
    counts[:, first] += np.stack([-moved, moved])  # now more of this block has the second secret
    joint = sz.JointDistribution.from_matrix(counts / counts.sum())
    labels = blocks_within(tree, joint, budget)
    assert len(set(labels)) < tree.n_blocks

    def within(cells: np.ndarray) -> bool:
        own = counts[:, cells].sum(axis=1)
        return bool((budget.excess_of((own / own.sum() / joint.p_s)[:, None], joint.p_s) <= 0).all())

    def parted(node: int) -> bool:
        return tree.block[node] < 0 and all(
            within(tree.members[[side]].toarray()[0]) or parted(side) for side in tree.sides[node]
        )

    for block in set(labels):
        cells = labels == block
        node = next(i for i, members in enumerate(tree.members.toarray()) if (members == cells).all())
        assert within(cells)
        assert not parted(node)
