"""Distributions that counts allow by exact binomial intervals, and the extremes of p(y|s) and of the lift over them.

Extremes are found by greedy filling, on arrays only. Among distributions with ``lower <= p <= upper, sum p = 1``, the
one with the smallest mean of given values has the lower bounds everywhere and gives the remaining mass to the smallest
values first (a fractional knapsack). Among distributions near a center, it moves as much mass as allowed from the
largest values to the smallest. Every extreme is attained by a distribution.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincc, betaincinv, betaln, exp10, log1p, ndtri

from sanitize._util.arithmetic import log, product
from sanitize._util.checks import Mask, Vector, check_number
from sanitize._util.limits import BLOCK_CELLS
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.budgets import LDPBudget, check_kind, clear_rounding, excess_over, logs
from sanitize.core.joint import ContingencyTable, JointDistribution
from sanitize.errors import InvalidDistribution, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from sanitize.core.budgets import Budget

# Whole counts are recovered from frequencies up to a few rounding errors; weighted counts miss whole numbers by more.
_WHOLE, _RELATIVE = 1e-9, 1e-14
# Range in which Newton's method takes a fifth of the time of SciPy's inverse, which is also wrong at a parameter of
# 1,000.
_FEWEST, _LARGEST_SHARE, _LARGEST_TAIL = 100.0, 0.1, 0.25
# A limit that needs more rows than a billion is out of reach, whatever the exact number.
_MOST_ROWS = 1 << 30
# Counts may turn out to be weighted before or after they are made whole.
_NOT_COUNTS = (
    "confidence needs whole counts of independent rows, but the counts are weighted or smoothed: leave out smoothing, "
    "and give weighted rows as ConfidenceSet.weighted(df, sensitive, public, weights)"
)


def clopper_pearson(counts: ArrayLike, n: ArrayLike, level: float) -> tuple[Vector, Vector]:
    """Return lower and upper ends of exact confidence intervals for binomial probabilities [CP34].

    Each end alone fails with probability at most ``level / 2``. A count of 0 has the lower end 0, which cannot fail,
    but the upper end still uses only half the level: with all of it, intervals would fail too often for probabilities
    that a larger count would rule out from below.

    Parameters
    ----------
    counts, n : array-like
        Successes and trials; without trials the interval is [0, 1].
    level : float
        Probability that either end fails.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 5, 10], 10, 0.05)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.1871, 0.6915]), array([0.3085, 0.8129, 1.    ]))
    """
    k, n = np.broadcast_arrays(np.asarray(counts, np.float64), np.asarray(n, np.float64))
    low, high = np.zeros(k.shape), np.ones(k.shape)
    is_positive, is_partial = k > 0, k < n
    low[is_positive] = _quantile(k[is_positive], (n - k + 1)[is_positive], level / 2, above=False)
    high[is_partial] = _quantile((k + 1)[is_partial], (n - k)[is_partial], level / 2, above=True)
    return low, high


def _quantile(a: Vector, b: Vector, tail: float, *, above: bool) -> Vector:
    """Point of the beta distribution that is exceeded (``above``), or not reached, with probability ``tail``."""
    quantiles, left = np.empty(a.shape), np.ones(a.shape, bool)
    # Doubles have more digits near 0, so a share near 1 is computed from its complement.
    for first, second, is_mirrored in ((a, b, False), (b, a, True)):
        quick = left & (first >= _FEWEST) & (first <= _LARGEST_SHARE * (a + b)) & (tail <= _LARGEST_TAIL)
        if quick.any():
            share, rests = _by_newton(first[quick], second[quick], tail, above=above is not is_mirrored)
            quantiles[quick] = 1 - share if is_mirrored else share
            left[quick] = ~rests
    quantiles[left] = betaincinv(a[left], b[left], 1 - tail if above else tail)
    return quantiles


def _by_newton(a: Vector, b: Vector, tail: float, *, above: bool) -> tuple[Vector, Mask]:
    """Return quantiles by Newton's method on the concave log of the tail, and a mask of those that converged.

    The start is an approximation by the normal distribution [Abramowitz and Stegun 1964, 26.5.22].
    """
    short = 1e-6  # after a step this short, in standard deviations, the error is below the last digit
    sign = -1 if above else 1
    y = -float(ndtri(tail)) * sign
    of_a, of_b, shift = 1 / (2 * a - 1), 1 / (2 * b - 1), (y * y - 3) / 6
    h = 2 / (of_a + of_b)
    odds = exp10(2 / math.log(10) * (y * np.sqrt(h + shift) / h - (of_b - of_a) * (shift + 5 / 6 - 2 / (3 * h))))
    x = a / (a + b * odds)
    log_scale, deviation = betaln(a, b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    # Down to 1e-7 one minus the other tail is accurate enough; SciPy's complement takes eight times as long.
    tail_below = betainc if not above else betaincc if tail < 1e-7 else lambda a, b, x: 1 - betainc(a, b, x)
    step = np.full(a.shape, np.inf)
    for _ in range(3):
        chance = tail_below(a, b, x)
        density = exp10(((a - 1) * log(x) + (b - 1) * log1p(-x) - log_scale) / math.log(10))
        step = sign * log(tail / chance) * chance / density
        x = x + step
        if (np.abs(step) <= short * deviation).all():
            break
    return x, np.abs(step) <= short * deviation


@cache
def rows_to_tell_two(lower: float, upper: float, level: float) -> int:
    """Approximate number of rows that a sensitive value needs before two equally frequent symbols can be released.

    With this many rows, a count two standard deviations from one half still shows that P(y|s) lies between e^-lower / 2
    and e^upper / 2.

    Parameters
    ----------
    lower, upper : float
        Bounds of the budget, in nats.
    level : float
        Error probability of each interval.

    Examples
    --------
    >>> rows_to_tell_two(1.0, 1.0, 0.05 / 18)
    54
    """

    def tell(n: int) -> bool:
        far = np.sqrt(n)
        low, high = clopper_pearson(n / 2 - far, n, level)[0], clopper_pearson(n / 2 + far, n, level)[1]
        return bool(low >= np.exp(-lower) / 2 and (upper >= np.log(2) or high <= np.exp(upper) / 2))

    fewest = 4  # with 4 rows, two deviations from one half are no row and all rows
    return fewest + bisect_left(range(fewest, _MOST_ROWS), x=True, key=tell)


def total_variation_radius(k: int, n: ArrayLike, level: float) -> Vector:
    """Total variation from P that the frequencies of n rows over k symbols exceed with probability <= ``level``.

    The result is the smaller of two bounds that hold for every distribution: a union of Hoeffding bounds over the 2^k -
    2 proper subsets [WOS03], and the mean deviation, at most sqrt((k-1)/n)/2, plus a bounded-differences term [McD89].

    Examples
    --------
    >>> total_variation_radius(17, [200, 2000], 5e-4).round(3)
    array([0.22, 0.07])
    """
    n = np.maximum(np.asarray(n, np.float64), SMALLEST_POSITIVE)
    if k == 1:
        return np.zeros(n.shape)
    subsets = k * math.log(2) + math.log1p(-(2.0 ** (1 - k)))
    union = np.sqrt((subsets - math.log(level)) / (2 * n))
    spread = (np.sqrt(k - 1) + np.sqrt(-2 * math.log(level))) / (2 * np.sqrt(n))
    return np.minimum(np.minimum(union, spread), 1.0)


def check_confidence(confidence: float) -> float:
    """Return the level of confidence; refuse anything but a number strictly between 0 and 1."""
    return check_number("confidence", confidence, "lie between 0 and 1, such as 0.95", lambda level: 0 < level < 1)


def whole_counts(counts: ContingencyTable | JointDistribution) -> tuple[NDArray[np.int64], JointDistribution]:
    """Return the counts (n_s, n_x) of the symbols that occur, and their distribution."""
    if isinstance(counts, ContingencyTable):
        joint = counts.to_joint()
        table = counts.counts
        if not np.issubdtype(table.dtype, np.integer):
            raise InvalidParameter(_NOT_COUNTS)
        cells = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    else:
        joint = counts
        if joint.n is None:
            raise InvalidDistribution(
                "this distribution does not say how many rows it was counted from, so its error is unknown; "
                "count it from a table (JointDistribution.from_frame) or give n, the number of rows"
            )
        cells = joint.pmf * joint.n
    whole = np.rint(cells).astype(np.int64)
    if (np.abs(cells - whole) > _WHOLE + _RELATIVE * np.abs(cells)).any() or whole.sum() != joint.n:
        raise InvalidParameter(_NOT_COUNTS)
    return whole, joint


def least_mean(values: Vector, lower: Vector, upper: Vector) -> Vector:
    """Smallest mean of each column of values, shape (k, m), over distributions between lower and upper, shape (k,)."""
    return np.asarray((values * least_distribution(values, lower, upper)).sum(axis=0))


def most_mean(values: Vector, lower: Vector, upper: Vector) -> Vector:
    """Largest mean of each column of values; see `least_mean`."""
    return -least_mean(-values, lower, upper)


def least_distribution(values: Vector, lower: Vector, upper: Vector) -> Vector:
    """Distributions between lower and upper, shape (k,), with the smallest mean of each column of values (k, m)."""
    width, room = upper - lower, 1 - lower.sum()
    if len(values) == 2:  # with two letters there is nothing to sort
        is_first = np.stack([first := values[0] <= values[1], ~first])
        filled = np.minimum(width, room)[:, None]
        rest = min(width.sum(), room) - filled[::-1]
        return np.where(is_first, lower[:, None] + filled, lower[:, None] + rest)
    order = np.argsort(values, axis=0, kind="stable")
    filled = np.minimum(np.cumsum(width[order], axis=0), room)
    extra = np.empty_like(values)
    np.put_along_axis(extra, order, np.diff(filled, axis=0, prepend=0.0), axis=0)
    return lower[:, None] + extra


def release_bounds(
    center: Vector, up: Vector, down: Vector, distance: Vector, matrix: sparse.csc_array
) -> tuple[Vector, Vector]:
    """Smallest and largest p(y|s) over the distributions P(.|s) near a center, shapes (n_s, n_y).

    The largest p(y|s) results from moving probability from the letters with the smallest P(y|x) to those with the
    largest, until the two meet, a bound is reached, or ``distance`` has been moved.

    Parameters
    ----------
    center, up, down : ndarray of shape (n_s, n_x)
        A distribution of X for each s, and how much each of its entries may grow and shrink.
    distance : ndarray of shape (n_s,)
        Mass that may be moved in all: the total variation from the center.
    matrix : sparse array of shape (n_x, n_y)
        P(y|x). Entries that are not stored are zeros and need no sorting.
    """
    n_s, n_y = len(center), matrix.shape[1]
    low, high = np.zeros((n_s, n_y)), np.zeros((n_s, n_y))
    n_entries = np.diff(matrix.indptr)
    totals = [capacity.sum(axis=1)[:, None, None] for capacity in (up, down)]
    order = np.argsort(n_entries, kind="stable")
    start = 0
    while start < n_y:
        sizes = n_entries[order[start:]] * np.arange(1, n_y - start + 1) * n_s
        columns = order[start : start + max(1, int(np.searchsorted(sizes, BLOCK_CELLS)))]
        start += len(columns)
        place = np.arange(int(n_entries[columns].max()))[:, None]
        stored = place < n_entries[columns]
        entry = np.where(stored, matrix.indptr[columns] + place, 0)
        values = np.where(stored, matrix.data[entry], 0.0)
        by_size = np.argsort(-values, axis=0, kind="stable")
        values = np.take_along_axis(values, by_size, axis=0)
        letters = np.take_along_axis(np.where(stored, matrix.indices[entry], 0), by_size, axis=0)
        mean = (center[:, letters] * values).sum(axis=1)
        parts = []
        for capacity, total in zip((up, down), totals, strict=True):
            stored_there = capacity[:, letters] * (values > 0)  # then the mass of all letters without an entry
            remainder = np.maximum(total - stored_there.sum(axis=1, keepdims=True), 0.0)
            parts.append(np.concatenate([stored_there, remainder], axis=1))
        grow, shrink = parts
        values = np.concatenate([values, np.zeros((1, len(columns)))])
        high[:, columns] = mean + _mean_change(values, grow, shrink, distance)
        low[:, columns] = mean + _mean_change(values[::-1], grow[:, ::-1], shrink[:, ::-1], distance)
    return low, high


def least_near(values: Vector, center: Vector, up: Vector, down: Vector, distance: float) -> float:
    """Smallest mean of values, shape (k,), over the distributions near one center; see `release_bounds`."""
    order = np.argsort(values, kind="stable")
    change = _mean_change(values[order, None], up[None, order, None], down[None, order, None], np.array([distance]))
    return float(product(center, values) + change[0, 0])


def _mean_change(values: Vector, grow: Vector, shrink: Vector, distance: Vector) -> Vector:
    """Change of the mean of values, shape (k, m), for each change of `shift_mass`; shape (n_s, m)."""
    return np.asarray((shift_mass(grow, shrink, distance) * values).sum(axis=1))


def shift_mass(grow: Vector, shrink: Vector, distance: Vector) -> Vector:
    """Change of each distribution, (n_s, k, m), when as much mass as possible moves from the last entries to the first.

    Entries may grow and shrink by ``grow`` and ``shrink``, and distributions move by at most ``distance``, shape
    (n_s,), in total variation.
    """
    growing = np.cumsum(grow, axis=1)
    shrinking = np.cumsum(shrink[:, ::-1], axis=1)
    # At any cut of the order, the entries before it can gain no more mass than the entries after it can lose.
    across = np.minimum(growing[:, :-1], shrinking[:, -2::-1]).max(axis=1, initial=0.0, keepdims=True)
    across = np.minimum(across, distance[:, None, None])
    taken = np.diff(np.minimum(growing, across), axis=1, prepend=0.0)
    return np.asarray(taken - np.diff(np.minimum(shrinking, across), axis=1, prepend=0.0)[:, ::-1])


def lift_bounds(low: Vector, high: Vector, prior_lower: Vector, prior_upper: Vector) -> tuple[Vector, Vector]:
    """Smallest and largest lift p(y|s) / p(y), shapes (n_s, n_y), for p(y|s) in [low, high] and P_S within its bounds.

    p(y) = Σ P(s') p(y|s'). The lift of s grows with p(y|s) and falls with every other p(y|s') whatever P_S is, so it is
    largest where p(y|s) is at its upper bound and all others at their lower bounds; the remaining problem is to
    minimise a mean over P_S.
    """
    least, most = np.ones_like(low), np.ones_like(high)
    if len(low) == 1:
        return least, most
    with np.errstate(divide="ignore", invalid="ignore"):
        for s in range(len(low)):
            values = low.copy()
            values[s] = high[s]
            most[s] = np.where(high[s] > 0, high[s] / least_mean(values, prior_lower, prior_upper), 0.0)
            values = high.copy()
            values[s] = low[s]
            least[s] = np.where(low[s] > 0, low[s] / most_mean(values, prior_lower, prior_upper), 0.0)
    return least, most


def ratio_bounds(low: Vector, high: Vector) -> Vector:
    """Largest p(y|s) / p(y|s') over pairs of different s, shape (n_y,); 1 if there is only one s."""
    if len(low) == 1:
        return np.ones(low.shape[1])
    smallest = np.argmin(low, axis=0)
    ordered = np.partition(low, 1, axis=0)
    rival = np.where(np.arange(len(low))[:, None] == smallest, ordered[1], ordered[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(high > 0, high / rival, 0.0).max(axis=0))


def lift_excess(least: Vector, most: Vector, ratio: Vector, budget: Budget) -> Vector:
    """Excess of symbols over a budget, from bounds of their lifts, (n_s, k), and of the ratio of lifts, (k,)."""
    limits = check_kind(budget, "confidence=")
    if isinstance(limits, LDPBudget):
        return clear_rounding(excess_over(logs(ratio), limits.eps))
    return limits.bounds_excess(least, most)
