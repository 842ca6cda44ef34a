"""Rows kept apart for the design, and counts of secrets in cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of the rows, on which a tree is grown where the others certify it.
DESIGN_SHARE = 0.2
_SEED = 13  # of the choice of rows, which must not depend on what they hold


def design_rows(n_records: int, share: float = DESIGN_SHARE) -> NDArray[np.bool_]:
    """Rows that a tree is grown on, when all others certify it: a fixed uniform choice by position.

    Parameters
    ----------
    n_records : int
        Rows of the table.
    share : float
        Of the rows, between 0 and 1.

    Returns
    -------
    ndarray of bool, shape (n_records,)

    Examples
    --------
    >>> design_rows(1000).sum(), bool((design_rows(1000) == design_rows(1000)).all())
    (np.int64(200), True)
    """
    if not 0 < share < 1:
        raise InvalidParameter(f"share must lie between 0 and 1, got {share!r}")
    chosen = np.zeros(n_records, bool)
    chosen[np.random.default_rng(_SEED).permutation(n_records)[: round(share * n_records)]] = True
    return chosen


def cell_counts(
    cells: NDArray[np.integer],
    secrets: NDArray[np.integer],
    n_cells: int,
    n_secrets: int,
) -> NDArray[np.int64]:
    """Rows of each secret in each cell, shape (n_secrets, n_cells).

    Parameters
    ----------
    cells, secrets : ndarray of int, shape (n,)
        Cell and sensitive symbol of each row, numbered from 0.
    n_cells, n_secrets : int

    Returns
    -------
    ndarray of int, shape (n_secrets, n_cells)

    Examples
    --------
    >>> cell_counts(np.array([0, 1, 1]), np.array([0, 0, 1]), 2, 2)
    array([[1, 1],
           [0, 1]])
    """
    keys = secrets.astype(np.int64) * n_cells + cells
    return np.bincount(keys, minlength=n_secrets * n_cells).reshape(n_secrets, n_cells)
