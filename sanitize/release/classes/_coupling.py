"""Choice of the class written for a released symbol: the row's own class as often as class frequencies allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron, vstack

from sanitize.release.classes._integers import apportion


def couple_classes(joint: NDArray[Any]) -> NDArray[np.int64]:
    """Return the chance that each class is written for each symbol, as whole numbers that sum to `UNIT`.

    Over all symbols, each class is written as often as rows have it. Under this constraint a row is written from its
    own class as often as possible; drawing from the classes behind the symbol would keep fewer rows in their class.

    Parameters
    ----------
    joint : ndarray, shape (n_symbols, n_classes)
        Number, or total weight, of rows by released symbol and class; no symbol has 0.

    Returns
    -------
    ndarray of int, shape (n_symbols, n_classes)

    Examples
    --------
    >>> couple_classes(np.array([[3, 1], [1, 3]])) / 2**16
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
    solution = linprog(-conditional.ravel(), A_eq=margins.tocsr()[:-1], b_eq=wanted[:-1], method="highs")
    moved = shares if solution.x is None else np.maximum(solution.x, 0).reshape(joint.shape)
    weights = np.rint(moved / moved.sum(axis=1, keepdims=True) * (1 << 40)).astype(np.int64)
    return np.diff(apportion(weights), axis=1, prepend=0)
