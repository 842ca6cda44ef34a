"""All vertices of Π by double description: the simplex of posteriors is cut by one lift bound at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sanitize._limits import BLOCK_CELLS

# A vertex is on a cut below the first and clear of it above the second; in between, rounding would decide.
ON, CLEAR = 1e-13, 1e-10


def vertices(cuts: NDArray[np.float64], most: int, most_pairs: int) -> NDArray[np.float64] | None:
    """Vertices of {v >= 0: Σ v = 1, cuts @ v >= 0}, shape (K, n), each once [ZDS §III-A2].

    A cut keeps the vertices on its good side and adds a point on every edge it crosses. Two vertices share an
    edge when no third one lies on all the facets that both lie on; where every vertex is on n - 1 facets only,
    sharing n - 2 of them is enough. A vertex mixes at most |S| letters, so that for fixed |S| their number is
    polynomial in |X|; the paper calls it exponential.

    Parameters
    ----------
    cuts : ndarray of shape (k, n)
    most, most_pairs : int
        Vertices to hold, and pairs of vertices to compare for one cut, before giving up.

    Returns
    -------
    ndarray or None
        None where there are too many, or where a vertex is so close to a cut that rounding would decide.
    """
    n = cuts.shape[1]
    left = np.flatnonzero(cuts.min(axis=1) < 0)
    cuts = cuts[left] / np.abs(cuts[left]).max(axis=1, keepdims=True)
    k = len(cuts)
    # A row is a vertex, then its value under each cut.
    rows = np.concatenate([np.eye(n), cuts.T], axis=1)
    on_facet = np.zeros((n, n + k), np.float32)
    on_facet[:, :n] = 1 - np.eye(n)
    is_simple = True
    for _ in range(k):
        n_below = (rows[:, n:] < -ON).sum(axis=0)
        i = int(n_below.argmax())  # the cut that removes most keeps the lists short
        if not n_below[i]:
            break
        value = rows[:, n + i]
        distance = np.abs(value)
        on = distance < ON
        if ((distance < CLEAR) & ~on).any():
            return None
        on_facet[on, n + i] = 1
        above, below = np.flatnonzero(value >= ON), np.flatnonzero(value <= -ON)
        if len(above) * len(below) > most_pairs:
            return None
        q, p = np.nonzero(on_facet[below] @ on_facet[above].T > n - 2.5)
        if len(rows) - len(below) + len(p) > most:
            return None
        p, q = above[p], below[q]
        shared = on_facet[p] * on_facet[q]
        if on.any() or not is_simple:
            is_simple = False
            is_edge = _on_all_of(shared, on_facet) == 2
            p, q, shared = p[is_edge], q[is_edge], shared[is_edge]
        at = (value[p] / (value[p] - value[q]))[:, None]
        new = (1 - at) * rows[p] + at * rows[q]
        new[:, n + i], shared[:, n + i] = 0.0, 1
        kept = value > -ON
        rows, on_facet = np.concatenate([rows[kept], new]), np.concatenate([on_facet[kept], shared])
    return rows[:, :n]


def _on_all_of(shared: NDArray[np.float32], on_facet: NDArray[np.float32]) -> NDArray[np.intp]:
    """How many vertices lie on all the facets of each row, a block of rows at a time."""
    block = max(1, BLOCK_CELLS // len(on_facet))
    counts = [
        (rows @ on_facet.T > rows.sum(axis=1, keepdims=True) - 0.5).sum(axis=1)
        for rows in (shared[first : first + block] for first in range(0, len(shared), block))
    ]
    return np.concatenate(counts) if counts else np.empty(0, np.intp)
