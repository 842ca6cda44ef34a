"""Databases of n records over m letters under the Hamming distance: distances, shells, the symmetric channel."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import whole_number
from sanitize._limits import DENSE_CELLS
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray


def hamming_distances(n_records: int, n_symbols: int) -> NDArray[np.int64]:
    """Number of records in which two databases differ, shape (m**n, m**n); databases in lexicographic order.

    Parameters
    ----------
    n_records, n_symbols : int
        Records n, and symbols m of one record; m**(2 n) <= 2**25.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> hamming_distances(n_records=2, n_symbols=2)
    array([[0, 1, 1, 2],
           [1, 0, 2, 1],
           [1, 2, 0, 1],
           [2, 1, 1, 0]])
    """
    n, m = whole_number("n_records", n_records, 1), whole_number("n_symbols", n_symbols, 2)
    if 2 * n * math.log(m) > math.log(DENSE_CELLS):
        raise InvalidParameter(
            f"n_symbols ** (2 n_records) must be at most 2**25 for a matrix of databases, got {m} ** {2 * n}"
        )
    one = 1 - np.eye(m, dtype=np.int64)
    distances = one
    for _ in range(n - 1):
        size = len(distances) * m
        distances = (distances[:, None, :, None] + one[None, :, None, :]).reshape(size, size)
    return distances


def mean_distance(level: float, n: int, m: int) -> float:
    """h(ε) = n/(1 + e**ε/(m-1)), the mean distance of the symmetric channel [WYZ eq. 32]."""
    scaled = (m - 1) * math.exp(-level)
    return n * scaled / (1 + scaled)


def level_at(distance: float, n: int, m: int) -> float:
    """h^-1(D) = log(n/D - 1) + log(m-1) [WYZ eq. 17], from inf at 0 to 0 at n(m-1)/m and beyond."""
    if distance == 0:
        return math.inf
    if distance * m >= n * (m - 1):
        return 0.0
    return max(0.0, math.log(n - distance) - math.log(distance) + math.log(m - 1))


def symmetric(level: float, n: int, m: int) -> NDArray[np.float64]:
    """Channel p(y|x) = e**(-ε d(x,y))/(1 + (m-1)e**-ε)**n, the mechanism E_d [WYZ eq. 27, Lemma 5]."""
    ratio = math.exp(-level)
    return isotropic(ratio ** np.arange(n + 1) / (1 + (m - 1) * ratio) ** n, n, m)


def isotropic(by_distance: ArrayLike, n: int, m: int) -> NDArray[np.float64]:
    """Channel whose entries are a function of the distance alone; ``by_distance[j]`` at distance j."""
    law: NDArray[np.float64] = np.asarray(by_distance, dtype=np.float64)[hamming_distances(n, m)]
    return law


def shell_sizes(n: int, m: int) -> Iterator[int]:
    """N_j = C(n, j)(m-1)**j databases at distance j = 0..n, exact, each from the one before.

    Whoever stops early has not paid for the rest.
    """
    return accumulate(range(n), lambda size, j: size * (n - j) * (m - 1) // (j + 1), initial=1)
