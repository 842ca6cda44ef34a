"""Inverses of bases of linear programs, most of whose columns may be slacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# From so many rows on, most of a basis are slacks, and it is worth the while to set them apart.
_MANY_ROWS = 24


def inverse_of(matrix: NDArray[np.float64], basis: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Inverse basis matrices, shape (K, m, m), and which of them are regular; multipliers of the others bound too.

    Raises
    ------
    LinAlgError
        If the bases are of other equations, as the outer polytope's are where the inner one binds more rows.
    """
    if basis.shape[1] != len(matrix):
        raise np.linalg.LinAlgError("a basis of other equations")
    if len(matrix) >= _MANY_ROWS:
        found = _beside_slacks(matrix, basis)
        if found is not None:
            return found
    return inverse(matrix[:, basis].transpose(1, 0, 2))


def _beside_slacks(
    matrix: NDArray[np.float64], basis: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """The same, where slacks are columns of a single 1 or -1, which leave a small matrix to invert; None if two meet.

    With the rows of the slacks last, a basis is [[A, 0], [B, S]], and its inverse [[A^-1, 0], [-S B A^-1, S]].
    """
    n_rows = len(matrix)
    sums = matrix.sum(axis=0)
    is_slack = (np.count_nonzero(matrix, axis=0) == 1) & (np.abs(sums) == 1)
    row_of = np.where(is_slack, np.abs(matrix).argmax(axis=0), -1)[basis]
    made, regular = np.zeros((*basis.shape, n_rows)), np.ones(len(basis), np.bool_)
    n_dense = (row_of < 0).sum(axis=1)
    for k in np.unique(n_dense).tolist():
        those = np.flatnonzero(n_dense == k)
        rows, here = row_of[those], those[:, None]
        places = np.argsort(rows >= 0, axis=1, kind="stable")
        dense, slack = places[:, :k], places[:, k:]
        taken = np.take_along_axis(rows, slack, 1)
        is_free = np.ones((len(those), n_rows), np.bool_)
        np.put_along_axis(is_free, taken, values=False, axis=1)
        if (is_free.sum(axis=1) != k).any():
            return None
        sign = sums[np.take_along_axis(basis[those], slack, 1)]
        made[here, slack, taken] = sign
        if k:
            free = np.nonzero(is_free)[1].reshape(len(those), k)
            letters = np.take_along_axis(basis[those], dense, 1)[:, None, :]
            small, regular[those] = inverse(matrix[free[:, :, None], letters])
            made[here[:, :, None], dense[:, :, None], free[:, None, :]] = small
            beside = np.einsum("kij,kjl->kil", matrix[taken[:, :, None], letters], small)
            made[here[:, :, None], slack[:, :, None], free[:, None, :]] = -sign[:, :, None] * beside
    return made, regular


def inverse(squares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Inverses of K matrices, shape (K, m, m), and which of these are regular; of the others something finite."""
    made, regular = np.zeros(squares.shape), np.ones(len(squares), np.bool_)
    try:
        made[:] = np.linalg.inv(squares)
    except np.linalg.LinAlgError:
        regular[:] = np.linalg.slogdet(squares)[0] != 0
        made[regular] = np.linalg.inv(squares[regular])
    return made, regular
