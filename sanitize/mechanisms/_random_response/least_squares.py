"""The smallest solution of a sparse system of equations, with sums in an order of their own as in `arithmetic`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

_EXACT = 1e-15  # of the target, and of what a step could still gain


def least_solution(matrix: sparse.csc_array, target: NDArray[np.float64], most_steps: int) -> NDArray[np.float64]:
    """The x of the least norm among those that bring ``matrix @ x`` nearest to the target, shape (K,).

    Bidiagonalization of Golub and Kahan with the recurrences of Paige and Saunders (1982), which bears columns that are
    nearly alike. SciPy's takes norms from BLAS, whose last digits depend on the processor.
    """
    across = matrix.T
    u, left = _unit(target)
    v, alpha = _unit(across @ u)
    x, search = np.zeros(matrix.shape[1]), v
    enough, diagonal, size = _EXACT * left, alpha, 0.0
    for _ in range(most_steps):
        if left <= enough or alpha == 0:
            break
        u, beta = _unit(matrix @ v - alpha * u)
        size = math.sqrt(size * size + alpha * alpha + beta * beta)
        v, alpha = _unit(across @ u - beta * v)
        length = math.sqrt(diagonal * diagonal + beta * beta)
        cosine, sine = diagonal / length, beta / length
        theta, diagonal = sine * alpha, -cosine * alpha
        step, left = cosine * left, sine * left
        x = x + step / length * search
        search = v - theta / length * search
        # What the gradient of the rest is beside the rest itself.
        if alpha * abs(cosine) <= _EXACT * size:
            break
    return x


def _unit(vector: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """A vector of length 1 in its direction, and its length."""
    length = math.sqrt(float(np.square(vector).sum()))
    return vector / length if length > 0 else vector, length
