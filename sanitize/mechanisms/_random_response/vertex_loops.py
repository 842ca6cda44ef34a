"""Vertices of Π in compiled loops: what `_double_description` does.

The steps are those of the NumPy function, and so are the tolerances, which the caller hands over: a law that one
way gives up, the other does too. A facet is a bit, of one word for letters and of another for cuts, and the values
of all cuts travel with a vertex, so that no product is taken twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sanitize.mechanisms._random_response.arithmetic_loops import log

# Letters, and cuts, that have a bit in a word.
MOST = 64
_ROWS = 256
_NONE, _ONE = np.uint64(0), np.uint64(1)
_BY_2, _BY_4, _BY_8 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)


@njit("int64(uint64)", cache=True, nogil=True)
def _count(bits: np.uint64) -> np.int64:
    """Bits that are set."""
    bits -= (bits >> _ONE) & _BY_2
    bits = (bits & _BY_4) + ((bits >> np.uint64(2)) & _BY_4)
    bits = (bits + (bits >> np.uint64(4))) & _BY_8
    return np.int64((bits * _BYTES) >> np.uint64(56))


@njit("int64(uint64, uint64, uint64[:, ::1], int64, int64[::1])", cache=True, nogil=True)
def _one_apart(letters: np.uint64, met: np.uint64, others: NDArray[np.uint64], n: int, found: NDArray[np.int64]) -> int:
    """Which of n others are on all but one of these facets: the neighbours, where all are on as many facets."""
    n_found = 0
    for a in range(n):
        x, c = letters & ~others[a, 0], met & ~others[a, 1]
        if x & (x - _ONE) == _NONE and c & (c - _ONE) == _NONE and (x == _NONE) != (c == _NONE):
            found[n_found] = a
            n_found += 1
    return n_found


@njit("int64(uint64, uint64, uint64[:, ::1], int64, int64, int64[::1])", cache=True, nogil=True)
def _sharing(
    letters: np.uint64, met: np.uint64, others: NDArray[np.uint64], n: int, least: int, found: NDArray[np.int64]
) -> int:
    """Which of n others are on at least so many of these facets."""
    n_found = 0
    for a in range(n):
        if _count(letters & others[a, 0]) + _count(met & others[a, 1]) >= least:
            found[n_found] = a
            n_found += 1
    return n_found


@njit("int64(uint64, uint64, uint64[:, ::1], int64[::1], int64, uint64[:, ::1], int64)", cache=True, nogil=True)
def _neighbours(
    letters: np.uint64,
    met: np.uint64,
    others: NDArray[np.uint64],
    found: NDArray[np.int64],
    n_found: int,
    facets: NDArray[np.uint64],
    size: int,
) -> int:
    """Those found that share an edge: no third vertex is on all the facets that both are on."""
    n_kept = 0
    for i in range(n_found):
        a = found[i]
        x, c = letters & others[a, 0], met & others[a, 1]
        n_on_all, j = 0, 0
        while j < size and n_on_all <= 2:
            if facets[j, 0] & x == x and facets[j, 1] & c == c:
                n_on_all += 1
            j += 1
        if n_on_all == 2:
            found[n_kept] = a
            n_kept += 1
    return n_kept


@njit(
    "Tuple((float64[:, ::1], float64[::1]))(float64[:, ::1], int64, int64, float64, float64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def listed(
    cuts: NDArray[np.float64], most: int, most_pairs: int, on: float, clear: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Vertices of {v >= 0: Σ v = 1, cuts @ v >= 0} as columns, shape (n, K), and their entropies in nats.

    There are no columns where `_double_description.vertices` gives up. At most 64 letters, and as many cuts.
    """
    n, k = cuts.shape[1], 0
    nothing = np.empty((n, 0)), np.empty(0)
    breaking = np.empty(cuts.shape)
    for i in range(len(cuts)):
        lowest, largest = 0.0, 0.0
        for x in range(n):
            lowest, largest = min(lowest, cuts[i, x]), max(largest, abs(cuts[i, x]))
        if lowest < 0:
            for x in range(n):
                breaking[k, x] = cuts[i, x] / largest
            k += 1

    # A row is a vertex, then its value under each cut.
    size, room = n, max(_ROWS, n)
    rows, facets = np.empty((room, n + k)), np.empty((room, 2), np.uint64)
    n_below = np.zeros(k, np.int64)
    for j in range(n):
        facets[j, 0], facets[j, 1] = _NONE, _NONE
        for x in range(n):
            rows[j, x] = 1.0 if x == j else 0.0
            if x != j:
                facets[j, 0] |= _ONE << np.uint64(x)
        for c in range(k):
            rows[j, n + c] = breaking[c, j]
            n_below[c] += breaking[c, j] < -on

    is_simple = True
    for _ in range(k):
        cut = 0
        for c in range(k):
            if n_below[c] > n_below[cut]:
                cut = c  # the cut that removes most keeps the lists short
        if n_below[cut] == 0:
            break
        bit, column = _ONE << np.uint64(cut), n + cut
        above, below, found = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
        others = np.empty((size, 2), np.uint64)
        n_above, n_gone = 0, 0
        for j in range(size):
            value = rows[j, column]
            if value >= on:
                above[n_above] = j
                others[n_above, 0], others[n_above, 1] = facets[j, 0], facets[j, 1]
                n_above += 1
            elif value <= -on:
                below[n_gone] = j
                n_gone += 1
            else:
                facets[j, 1] |= bit
                is_simple = False
            if on <= abs(value) < clear:
                return nothing
        if n_above * n_gone > most_pairs:
            return nothing

        total, n_pairs = size, 0
        for b in range(n_gone):
            q = below[b]
            if is_simple:
                n_found = _one_apart(facets[q, 0], facets[q, 1], others, n_above, found)
            else:
                n_found = _sharing(facets[q, 0], facets[q, 1], others, n_above, n - 2, found)
            n_pairs += n_found
            if size - n_gone + n_pairs > most:
                return nothing
            if not is_simple:
                n_found = _neighbours(facets[q, 0], facets[q, 1], others, found, n_found, facets, size)
            while total + n_found > room:
                room *= 2
                wider, more = np.empty((room, n + k)), np.empty((room, 2), np.uint64)
                for j in range(total):
                    more[j, 0], more[j, 1] = facets[j, 0], facets[j, 1]
                    for x in range(n + k):
                        wider[j, x] = rows[j, x]
                rows, facets = wider, more
            for i in range(n_found):
                p = above[found[i]]
                at = rows[p, column] / (rows[p, column] - rows[q, column])
                for x in range(n + k):
                    rows[total, x] = (1 - at) * rows[p, x] + at * rows[q, x]
                rows[total, column] = 0.0
                for c in range(k):
                    n_below[c] += rows[total, n + c] < -on
                facets[total, 0] = facets[p, 0] & facets[q, 0]
                facets[total, 1] = facets[p, 1] & facets[q, 1] | bit
                total += 1
        for b in range(n_gone - 1, -1, -1):
            # The last vertex takes the place of one that is gone.
            gone = below[b]
            for c in range(k):
                n_below[c] -= rows[gone, n + c] < -on
            total -= 1
            for x in range(n + k):
                rows[gone, x] = rows[total, x]
            facets[gone, 0], facets[gone, 1] = facets[total, 0], facets[total, 1]
        size = total

    points, cost = np.empty((n, size)), np.empty(size)
    for j in range(size):
        entropy = 0.0
        for x in range(n):
            share = rows[j, x]
            points[x, j] = share
            if share > 0:
                entropy -= share * log(share)
        cost[j] = entropy
    return points, cost
