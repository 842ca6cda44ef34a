"""Symbols worth a test: nodes of the tree and pairs of cells, chosen on the rows of the design alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

# P(y|x') of the second cell of a pair, in parts of that of the first.
_RATIOS = (0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 1.0)
# P(y|x') of the cells of a node around one cell, in parts of that of the cell.
_DILUTIONS = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5, 0.75)
# Times what is asked that dilutions must show: the mildest ones may fail on fresh rows, the strong ones hardly can.
_SURE = (1.0, 1.6, 2.5, 4.0, 8.0)
_NEAR = 0.5  # of the divergence asked of a pair, that it must show on the design rows to be worth a test
_NEEDED = 12.0  # about log(tests / error)


def candidates(
    design: NDArray[np.int64],
    members: NDArray[np.bool_],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    scale: float,
    variance: float = 0.0,
) -> sparse.csr_array:
    """P(y|cell) up to a factor of each symbol to test, shape (k, n_cells), the largest entry 1.

    Nodes are always among them, and each cell with a little of the nodes around it; of the pairs of cells, those that
    are likely to pass.

    Parameters
    ----------
    design : ndarray of int, shape (n_s, n_cells)
    members : ndarray of bool, shape (n_nodes, n_cells)
    bounds : pair of ndarrays of shape (n_s,)
        Where the posteriors must lie, as far as the design rows can tell.
    scale : float
        Fresh rows for each row of the design.
    variance : float
        Of the noise on each count of fresh rows.
    """
    nodes = np.unique(members, axis=0)
    nodes = nodes[~nodes.all(axis=1)].astype(np.float64)
    cells = np.eye(members.shape[1])
    i, j = np.triu_indices(len(cells), 1)
    parts = []
    for ratio in _RATIOS:
        for a, b in ((i, j), (j, i)) if ratio < 1 else ((i, j),):
            counts = design[:, a] + ratio * design[:, b]
            shown = _foreseen(counts, bounds, scale, variance * (1 + ratio**2))
            likely = np.flatnonzero(shown >= _NEAR * _NEEDED)
            ones = np.ones(len(likely))
            place = np.concatenate([np.arange(len(likely))] * 2)
            entries = (np.concatenate([ones, ratio * ones]), (place, np.concatenate([a[likely], b[likely]])))
            parts.append(sparse.csr_array(sparse.coo_array(entries, shape=(len(likely), len(cells)))))
    pairs = sparse.csr_array(sparse.vstack(parts))
    diluted = _diluted(design, members, bounds, scale, variance)
    return sparse.csr_array(sparse.vstack([sparse.csr_array(nodes), pairs, diluted]))


def _diluted(
    design: NDArray[np.int64],
    members: NDArray[np.bool_],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    scale: float,
    variance: float,
) -> sparse.csr_array:
    """Each cell with a little of each node around it, the least that should pass: no cell is left without a symbol.

    A cell that no symbol but the one of all cells covers would force that one on every cell.
    """
    node, cell = np.nonzero(members)
    inside = design @ members.T
    ratios = np.array(_DILUTIONS)[:, None]
    others = members.sum(axis=1)[node] - 1
    shown = np.array(
        [
            _foreseen((1 - r) * design[:, cell] + r * inside[:, node], bounds, scale, variance * (1 + r**2 * others))
            for r in _DILUTIONS
        ]
    )
    chosen = np.array([np.where(shown >= sure * _NEEDED, ratios, np.inf).min(axis=0) for sure in _SURE])
    chosen[1:][chosen[1:] == chosen[:-1]] = np.inf
    step, kept = np.nonzero(np.isfinite(chosen) & (others > 0))
    chosen = chosen[step, kept]
    symbols = members[node[kept]] * chosen[:, None]
    symbols[np.arange(len(kept)), cell[kept]] = 1.0
    return sparse.csr_array(symbols)


def _foreseen(
    counts: NDArray[np.float64],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    scale: float,
    spread: NDArray[np.float64] | float,
) -> NDArray[np.float64]:
    """Least divergence of the posteriors from the bounds, times the rows that will tell; 0 outside the bounds.

    Noise of variance ``spread`` on what they tell makes it smaller, about as the two variances are to each other.
    """
    rows = counts.sum(axis=0)
    found = np.full(len(rows), np.inf)
    for own, low, high in zip(counts, *bounds, strict=True):
        q = np.clip((own + 0.5) / (rows + 1), 1e-9, 1 - 1e-9)
        for bound, inside in ((low, q > low), (high, q < high)):
            if 0 < bound < 1:
                far = q * np.log(q / bound) + (1 - q) * np.log((1 - q) / (1 - bound))
                told = rows * scale * far
                if np.any(spread):
                    own_spread = rows * scale * (q * (1 - q) + bound * (1 - bound)) / 2
                    told *= own_spread / (own_spread + spread)
                found = np.minimum(found, np.where(inside, told, 0.0))
    return found
