"""The mixture of released symbols that loses least information about the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.errors import SanitizeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best_mixture(net: sparse.csr_array, lost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amounts a >= 0 of each symbol with Σ_y a_y w_y(cell) = 1 for all cells that lose the least information.

    Parameters
    ----------
    net : sparse array of shape (k, n_cells)
        w_y(cell), P(y|cell) up to a factor.
    lost : ndarray of shape (k,)
        What a whole unit of each symbol loses.
    """
    from scipy.optimize import linprog

    solved = linprog(lost, A_eq=sparse.csc_array(net.T), b_eq=np.ones(net.shape[1]), method="highs-ds")
    if solved.x is None:
        raise SanitizeError(f"the linear program of the mixture failed: {solved.message}")
    return np.maximum(solved.x, 0.0)
