"""Hamming distance of databases: distances, shells, the symmetric channel, and least leakage on shells.

The leakage of a symmetric channel is a function of the probability that it puts on each shell of databases at distance
j. The best distribution is uniform on a ball (order inf), or g_j ~ (1 - kj)_+**(1/(α-1)) on the shells (order α).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sanitize._util.checks import Vector, whole_number
from sanitize._util.limits import DENSE_CELLS
from sanitize.errors import InvalidParameter
from sanitize.theory.tradeoff._tradeoff import root_between

Distribution = tuple[float, float, "Vector"]


class Ball:
    """Fractional Hamming ball of a mean distance: uniform in shells 0..k-1, with the remaining mass in shell k.

    With V databases inside shell k, at total distance A, the height is (k - D)/(k V - A).
    """

    def __init__(self, distance: float, n: int, m: int) -> None:
        self.n, self.m, self.distance = n, m, distance
        inside, moment, (numerator, denominator) = 1, 0, distance.as_integer_ratio()
        for shell, size in enumerate(shell_sizes(n, m)):
            more, further = inside + size, moment + shell * size
            # To avoid dividing whole numbers of thousands of digits, stop if the next shell contains the mean or is the
            # last.
            if shell and (shell == n or numerator * more <= denominator * further):
                break
            if shell:
                inside, moment = more, further
        self.shell, self.scale = shell, shell * inside - moment

    @property
    def leakage(self) -> float:
        """Leakage of the ball, the log of m**n times its height."""
        return max(0.0, self.n * math.log(self.m) + math.log(self.shell - self.distance) - math.log(self.scale))

    @property
    def heights(self) -> Vector:
        """Probability of a single database at each distance."""
        height, sizes = (self.shell - self.distance) / self.scale, list(shell_sizes(self.n, self.m))
        heights = np.zeros(self.n + 1)
        heights[: self.shell] = height
        heights[self.shell] = max(0.0, 1 - height * sum(sizes[: self.shell])) / sizes[self.shell]
        return heights


def distance_of_ball(log_height: float, n: int, m: int) -> float:
    """Mean distance of the fractional Hamming ball of a height below 1."""
    inside, moment = 0, 0
    for shell, size in enumerate(shell_sizes(n, m)):
        if shell and (shell == n or log_height + math.log(inside + size) >= 0):
            break
        inside, moment = inside + size, moment + shell * size
    filled = math.exp(log_height + math.log(shell * inside - moment))
    return min(max(0.0, shell - filled), n * (m - 1) / m)


class ShellPath:
    """Path of optimal shell distributions, from no distortion to the uniform distribution, for 1 < α < inf.

    A point is (J, r): shells 0..J carry weight, and 1 - kJ = e**((α-1) r). So 1 - kj = 1 - j(1 - e**((α-1)r))/J has no
    cancellation for j < J, and the last shell has weight e**r however small 1 - kJ is.
    """

    def __init__(self, n: int, m: int, alpha: float) -> None:
        self.n, self.order = n, alpha - 1
        self.log_sizes = np.array([math.log(size) for size in shell_sizes(n, m)])
        self.log_total = n * math.log(m)

    def distribution(self, last: int, r: float) -> Distribution:
        """Return the distortion, the information and log g_j at a point of the path."""
        slope = -math.expm1(self.order * r) / last
        log_g = np.full(self.n + 1, -np.inf)
        log_g[:last] = np.log1p(-slope * np.arange(last)) / self.order
        log_g[last] = r
        log_mass = self.log_sizes + log_g
        log_z = float(logsumexp(log_mass))
        distortion = float(np.exp(log_mass - log_z) @ np.arange(self.n + 1))
        information = self.log_total - log_z + math.log1p(-slope * distortion) / self.order
        return distortion, max(0.0, information), log_g - log_z

    def crossing(self, above: Callable[[Distribution], float]) -> Distribution:
        """Return the point where an increasing function of the distortion crosses 0."""
        # The distortion with shells below J grows with J; J = 1 is no distortion.
        low = 1 + bisect_left(
            range(2, self.n + 1), x=True, key=lambda last: above(self.distribution(last, -math.inf)) >= 0
        )
        # The piece ends at k = 1/(J+1), before r = 0 unless it is the last piece; the root lies within the piece
        # anyway.
        start = -1.0
        while above(self.distribution(low, start)) > 0:
            start *= 2
        if above(self.distribution(low, 0.0)) <= 0:
            return self.distribution(low, 0.0)
        return self.distribution(low, root_between(lambda r: above(self.distribution(low, r)), start, 0.0))


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
        raise InvalidParameter(f"n_symbols ** (2 n_records) must be at most 2**25, got {m} ** {2 * n}")
    distances = np.zeros((m**n, m**n), np.int64)
    for letters in np.indices((m,) * n).reshape(n, -1):
        distances += letters[:, None] != letters
    return distances


def mean_distance(level: float, n: int, m: int) -> float:
    """Mean distance h(ε) = n/(1 + e**ε/(m-1)) of the symmetric channel [WYZ eq. 32]."""
    scaled = (m - 1) * math.exp(-level)
    return n * scaled / (1 + scaled)


def level_at(distance: float, n: int, m: int) -> float:
    """Level h^-1(D) = log(n/D - 1) + log(m-1) [WYZ eq. 17]: inf at 0, falling to 0 at n(m-1)/m."""
    if distance == 0:
        return math.inf
    if distance * m >= n * (m - 1):
        return 0.0
    return max(0.0, math.log(n - distance) - math.log(distance) + math.log(m - 1))


def symmetric(level: float, n: int, m: int) -> Vector:
    """Matrix of the mechanism E_d, p(y|x) = e**(-ε d(x,y))/(1 + (m-1)e**-ε)**n [WYZ eq. 27, Lemma 5]."""
    ratio = math.exp(-level)
    by_distance = np.asarray(ratio ** np.arange(n + 1) / (1 + (m - 1) * ratio) ** n, np.float64)
    return by_distance[hamming_distances(n, m)]


def shell_sizes(n: int, m: int) -> Iterator[int]:
    """Yield the exact numbers N_j = C(n, j)(m-1)**j of databases at distance j = 0..n.

    Each number is computed from the one before, so a caller that stops early saves the rest.
    """
    return accumulate(range(n), lambda size, j: size * (n - j) * (m - 1) // (j + 1), initial=1)
