"""What the states of a node mean for all below it: messages up the tree for many cells at once, in exact arithmetic.

Chances and messages are whole numbers whose sums of products stay below 2**53, so that doubles hold them exactly and
linear algebra gives the same digits whatever the machine adds up first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LARGEST = 1 << 24  # of a message: whole numbers up to it are exact in single precision


def messages(
    parents: Sequence[int], chances: Sequence[NDArray[np.float64]], evidence: Sequence[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """For each node and cell the weight of each state by its own evidence and all that is below it.

    Parameters
    ----------
    parents : sequence of int
        Of each node, an earlier one; -1 for the first.
    chances : sequence of ndarray, shape (n_kinds, n_parent, n_states)
    evidence : sequence of ndarray, shape (n_cells, n_states)
        Whole numbers up to 2**24.

    Returns
    -------
    list of ndarray of shape (n_kinds, n_cells, n_states), or (1, n_cells, n_states) where kinds do not differ
    """
    found = [rescaled(own[None]) for own in evidence]
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        found[parent] = rescaled(found[parent] * rescaled(found[node] @ chances[node].transpose(0, 2, 1)))
    return found


def rescaled(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers of which the largest of each cell is 2**24; what is above 0 stays so."""
    top = weights.max(axis=(0, 2), keepdims=True)
    return np.ceil(weights * (LARGEST / np.maximum(top, 1.0)))
