"""What the tests split from accounting share: tables, releases and oracles."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from scipy.special import xlogy

LN2 = math.log(2)

FLIP = np.array([[0.9, 0.1], [0.1, 0.9]])

SEEDS = st.integers(0, 2**32 - 1)


def random_kernel(rng, n_x, n_y):
    """Rows of any sparsity."""
    rows = rng.dirichlet(np.full(n_y, rng.choice([0.1, 0.5, 2.0])), n_x)
    rows[rows < 1e-9] = 0
    return rows / rows.sum(axis=1, keepdims=True)


def full_kernel(rng, n_x, n_y):
    rows = rng.dirichlet(np.full(n_y, 2.0), n_x) + 0.02
    return rows / rows.sum(axis=1, keepdims=True)


def information(joint):
    """I of a joint distribution, shape (n_a, n_b)."""
    return float(
        xlogy(joint, joint).sum() - xlogy(joint.sum(0), joint.sum(0)).sum() - xlogy(joint.sum(1), joint.sum(1)).sum()
    )


def record_distribution(p, channel, sizes, records):
    """Joint distribution of some records and Y, shape (letters, n_y)."""
    table = (p[:, None] * channel).reshape(*sizes, -1)
    rest = tuple(i for i in range(len(sizes)) if i not in records)
    return table.sum(axis=rest).reshape(-1, channel.shape[1])


XOR = np.zeros((2, 2, 2))

XOR[[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]] = 0.25
