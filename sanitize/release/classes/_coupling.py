"""Choice of the class written for a released symbol: as similar to the row's own as class frequencies allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron, vstack

from sanitize._util.arithmetic import product
from sanitize.release.classes._integers import apportion


def couple_classes(joint: NDArray[Any], similarity: NDArray[Any]) -> NDArray[np.int64]:
    """Return the chance that each class is written for each symbol, as whole numbers that sum to `UNIT`.

    Over all symbols, each class is written as often as rows have it. Under this constraint the mean similarity of a
    row's class to the written class is as large as possible; drawing from the classes behind the symbol would keep
    less.

    Parameters
    ----------
    joint : ndarray, shape (n_symbols, n_classes)
        Number, or total weight, of rows by released symbol and class; no symbol has 0.
    similarity : ndarray, shape (n_classes, n_classes)
        Similarity of each class (row) to each class that may be written for it (column).

    Returns
    -------
    ndarray of int, shape (n_symbols, n_classes)

    Examples
    --------
    >>> couple_classes(np.array([[3, 1], [1, 3]]), np.eye(2)) / 2**16
    array([[1., 0.],
           [0., 1.]])
    """
    n_symbols, n_classes = joint.shape
    shares = joint / joint.sum()
    conditional = shares / shares.sum(axis=1, keepdims=True)
    margins = vstack(
        [
            kron(eye_array(n_symbols), np.ones((1, n_classes))),
            kron(np.ones((1, n_symbols)), eye_array(n_classes)),
        ]
    )
    wanted = np.concatenate([shares.sum(axis=1), shares.sum(axis=0)])
    # One equation follows from the others up to rounding, so it is left out.
    solution = linprog(
        -product(conditional, similarity).ravel(), A_eq=margins.tocsr()[:-1], b_eq=wanted[:-1], method="highs"
    )
    moved = shares if solution.x is None else np.maximum(solution.x, 0).reshape(joint.shape)
    # The program may write nothing for a symbol so rare that its share is below the program's tolerance.
    moved = np.where(moved.sum(axis=1, keepdims=True) > shares.sum(axis=1, keepdims=True) / 2, moved, shares)
    weights = np.rint(moved / moved.sum(axis=1, keepdims=True) * (1 << 40)).astype(np.int64)
    return np.diff(apportion(weights), axis=1, prepend=0)
