"""A tree of columns: the most informative one, and the density of rows by frequencies along it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from sanitize._util.checks import Vector
from sanitize.auditing.attack._compared import RELEASED
from sanitize.auditing.attack._scene import TARGETS, Scene

# Columns that are looked at, and rows that the frequency of a column weighs in those of a pair.
_MOST_COLUMNS, _PRIOR = 40, 2.0

Codes = NDArray[np.int64]


def scene_levels(scene: Scene, cuts: int) -> tuple[Codes, Codes, list[int]]:
    """Few codes of the released rows and of targets, shape (n, n_columns), and how many there are of each column."""
    columns = scene.columns[:_MOST_COLUMNS]
    sides, sizes = zip(*(column.levels(cuts) for column in columns), strict=True)
    released, targets = (
        np.column_stack([side[table] for side in sides]).astype(np.int64) for table in (RELEASED, TARGETS)
    )
    return released, targets, list(sizes)


def most_informative_tree(codes: Codes, sizes: list[int]) -> list[tuple[int, int]]:
    """Parent and child of each edge of the tree of most mutual information [ChowLiu], parents first."""
    weights = np.zeros((len(sizes), len(sizes)))
    for i, j in combinations(range(len(sizes)), 2):
        counts = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j]).reshape(sizes[i], -1)
        share = counts / len(codes)
        seen, independent = share > 0, np.outer(share.sum(axis=1), share.sum(axis=0))
        # Shorter for more information; edges without any have a length too.
        weights[i, j] = 1e3 - (share[seen] @ np.log(share[seen] / independent[seen]))
    tree = minimum_spanning_tree(csr_array(weights))
    order, parents = breadth_first_order(tree, 0, directed=False)
    return [(int(parents[child]), int(child)) for child in order[1:]]


def log_density(learned: Codes, rows: Codes, sizes: list[int], tree: list[tuple[int, int]]) -> Vector:
    """Log of the density of some rows by frequencies of others along a tree, each smoothed by those of its column."""
    root = (np.bincount(learned[:, 0], minlength=sizes[0]) + 1) / (len(learned) + sizes[0])
    total = np.log(root)[rows[:, 0]]
    for parent, child in tree:
        size = sizes[child]
        marginal = (np.bincount(learned[:, child], minlength=size) + 1) / (len(learned) + size)
        pairs = np.bincount(learned[:, parent] * size + learned[:, child], minlength=sizes[parent] * size)
        pairs = pairs.reshape(-1, size)
        conditional = (pairs + _PRIOR * marginal) / (pairs.sum(axis=1, keepdims=True) + _PRIOR)
        total += np.log(conditional)[rows[:, parent], rows[:, child]]
    return total
