"""Databases of n records over m letters under the Hamming distance: distances, shells, the symmetric channel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._checks import number, whole_number
from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

_DENSE_CELLS = 1 << 25


def records(n_records: int, n_symbols: int) -> tuple[int, int]:
    """Checked sizes: n >= 1 records over m >= 2 letters."""
    return whole_number("n_records", n_records, 1), whole_number("n_symbols", n_symbols, 2)


def hamming_distortion(eps: float, n_records: int, n_symbols: int) -> float:
    """h(ε) = n/(1 + e**ε/(m-1)), the mean distance of the symmetric channel at level ε [WYZ eq. 32].

    The least distortion of ε-DP for a uniform prior, and of ε-identifiability wherever it can be reached.

    Parameters
    ----------
    eps : float
        Privacy level in nats, >= 0; inf gives 0.
    n_records, n_symbols : int
        Records n >= 1, and symbols m >= 2 of one record.

    Returns
    -------
    float
        Expected number of changed records, from 0 to n(m-1)/m.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    >>> hamming_distortion(0.0, n_records=2, n_symbols=4), round(hamming_distortion(1.0, n_records=1, n_symbols=2), 6)
    (1.5, 0.268941)
    """
    n_records, n_symbols = records(n_records, n_symbols)
    scaled = (n_symbols - 1) * math.exp(-number("eps", eps, 0, math.inf))
    return n_records * scaled / (1 + scaled)


def hamming_epsilon(distortion: float, n_records: int, n_symbols: int) -> float:
    """h^-1(D) = log(n/D - 1) + log(m-1), in nats [WYZ eq. 17]; negative above D = n(m-1)/m.

    Parameters
    ----------
    distortion : float
        D, expected number of changed records, from 0 to n.
    n_records, n_symbols : int
        Records n, and symbols m of one record.

    Examples
    --------
    >>> round(hamming_epsilon(0.5, n_records=2, n_symbols=3), 6)
    1.791759
    """
    n_records, n_symbols = records(n_records, n_symbols)
    distortion = number("distortion", distortion, 0, n_records)
    if distortion in (0, n_records):
        return math.inf if distortion == 0 else -math.inf
    return math.log(n_records - distortion) - math.log(distortion) + math.log(n_symbols - 1)


def hamming_distances(n_records: int, n_symbols: int) -> NDArray[np.int64]:
    """Number of records in which two databases differ, shape (m**n, m**n); databases in lexicographic order.

    Parameters
    ----------
    n_records : int
        Records n, >= 1.
    n_symbols : int
        Symbols m of one record, >= 2.

    Returns
    -------
    ndarray of shape (m**n, m**n)
        Whole numbers from 0 to n.

    Raises
    ------
    InvalidParameter
        If the matrix would have more than 2**25 cells.

    Examples
    --------
    >>> hamming_distances(n_records=2, n_symbols=2)
    array([[0, 1, 1, 2],
           [1, 0, 2, 1],
           [1, 2, 0, 1],
           [2, 1, 1, 0]])
    """
    n_records, n_symbols = records(n_records, n_symbols)
    if 2 * n_records * math.log(n_symbols) > math.log(_DENSE_CELLS):
        raise InvalidParameter(
            "n_symbols ** (2 n_records) must be at most 2**25 for a matrix of databases, got "
            f"{n_symbols} ** {2 * n_records}"
        )
    one = 1 - np.eye(n_symbols, dtype=np.int64)
    distances = one
    for _ in range(n_records - 1):
        size = len(distances) * n_symbols
        distances = (distances[:, None, :, None] + one[None, :, None, :]).reshape(size, size)
    return distances


def hamming_mechanism(eps: float, n_records: int, n_symbols: int) -> NDArray[np.float64]:
    """Symmetric channel p(y|x) = e**(-ε d(x,y))/(1 + (m-1)e**-ε)**n, the mechanism E_d [WYZ eq. 27, Lemma 5].

    ε-DP between databases that differ in one record, distortion h(ε) for every prior: n independent k-ary
    randomized responses. `Channel.from_matrix` makes it a channel to release with.

    Parameters
    ----------
    eps : float
        Privacy level in nats, >= 0.
    n_records, n_symbols : int
        Records n, and symbols m of one record; m**(2 n) <= 2**25.

    Returns
    -------
    ndarray of shape (m**n, m**n)

    Examples
    --------
    >>> import numpy as np
    >>> hamming_mechanism(np.log(3), n_records=1, n_symbols=2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    n_records, n_symbols = records(n_records, n_symbols)
    ratio = math.exp(-number("eps", eps, 0, math.inf))
    return isotropic(
        ratio ** np.arange(n_records + 1) / (1 + (n_symbols - 1) * ratio) ** n_records, n_records, n_symbols
    )


def isotropic(by_distance: ArrayLike, n_records: int, n_symbols: int) -> NDArray[np.float64]:
    """Channel whose entries are a function of the distance alone; ``by_distance[j]`` at distance j."""
    law: NDArray[np.float64] = np.asarray(by_distance, dtype=np.float64)[hamming_distances(n_records, n_symbols)]
    return law


def shell_sizes(n_records: int, n_symbols: int) -> list[int]:
    """N_j = C(n, j)(m-1)**j databases at distance j, for j = 0..n; exact integers."""
    return list(shells(n_records, n_symbols))


def shells(n_records: int, n_symbols: int) -> Iterator[int]:
    """The same one after the other, each from the one before: whoever stops early has not paid for the rest."""
    size = 1
    for j in range(n_records + 1):
        yield size
        size = size * (n_records - j) * (n_symbols - 1) // (j + 1)


def distortion_within(distortion: float, n_records: int) -> float:
    """The distortion, checked to lie between 0 and the number of records."""
    return number("distortion", distortion, 0, n_records)
