"""Exact intervals for binomial probabilities, bounds for whole laws, and the whole counts that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincc, betaincinv, betaln, ndtri

from sanitize._checks import required
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.joint import ContingencyTable, JointDistribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]

# Whole counts come back from frequencies up to a few rounding errors.
_WHOLE, _RELATIVE = 1e-9, 1e-14
# Where Newton's steps take a fifth of the time of SciPy's inverse, which is wrong where one is 1,000.
_FEWEST, _LARGEST_SHARE, _LARGEST_TAIL = 100.0, 0.1, 0.25
_STEPS = 3
# From here on the complement of the other tail has digits enough; SciPy's own takes eight times as long.
_COMPLEMENTED = 1e-7
# A step so short, in standard deviations, squares to less than a last digit.
_SHORT = 1e-6
_NOT_COUNTS = (
    "confidence needs whole counts of independent rows, and these are weighted or smoothed: leave out sample_weight "
    "and smoothing, or leave out confidence"
)


def clopper_pearson(counts: ArrayLike, n: ArrayLike, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends of exact intervals for binomial probabilities [CP34].

    Each end alone fails with probability at most ``level / 2``. A count of 0 has the lower end 0, which cannot
    fail; its upper end still takes half the level, because giving it all of it would overdraw the level of
    probabilities that a larger count might have ruled out from below.

    Parameters
    ----------
    counts, n : array-like
        Successes and trials; where there was no trial the interval is [0, 1].
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
    some, rest = k > 0, k < n
    low[some] = _quantile(k[some], (n - k + 1)[some], level / 2, above=False)
    high[rest] = _quantile((k + 1)[rest], (n - k)[rest], level / 2, above=True)
    return low, high


def _quantile(a: Numbers, b: Numbers, tail: float, *, above: bool) -> Numbers:
    """Where the beta law with these parameters has a tail of this chance below, or above."""
    found, left = np.empty(a.shape), np.ones(a.shape, bool)
    # A share near 1 is that of the others near 0.
    for few, many, other in ((a, b, False), (b, a, True)):
        quick = left & (few >= _FEWEST) & (few <= _LARGEST_SHARE * (a + b)) & (tail <= _LARGEST_TAIL)
        if quick.any():
            share, rests = _by_newton(few[quick], many[quick], tail, above=above is not other)
            found[quick] = 1 - share if other else share
            left[quick] = ~rests
    found[left] = betaincinv(a[left], b[left], 1 - tail if above else tail)
    return found


def _by_newton(a: Numbers, b: Numbers, tail: float, *, above: bool) -> tuple[Numbers, NDArray[np.bool_]]:
    """The same by steps on the logarithm of the tail, which is concave, and where they have come to rest.

    They start at an approximation by the normal law [Abramowitz and Stegun 1964, 26.5.22].
    """
    sign = -1 if above else 1
    y = -float(ndtri(tail)) * sign
    of_a, of_b, shift = 1 / (2 * a - 1), 1 / (2 * b - 1), (y * y - 3) / 6
    h = 2 / (of_a + of_b)
    x = a / (a + b * np.exp(2 * (y * np.sqrt(h + shift) / h - (of_b - of_a) * (shift + 5 / 6 - 2 / (3 * h)))))
    log_scale, deviation = betaln(a, b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    step = np.full(a.shape, np.inf)
    for _ in range(_STEPS):
        if above and tail < _COMPLEMENTED:
            chance = betaincc(a, b, x)
        else:
            chance = 1 - betainc(a, b, x) if above else betainc(a, b, x)
        density = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_scale)
        step = sign * np.log(tail / chance) * chance / density
        x = x + step
        if (np.abs(step) <= _SHORT * deviation).all():
            break
    return x, np.abs(step) <= _SHORT * deviation


def total_variation_radius(k: int, n: ArrayLike, level: float) -> NDArray[np.float64]:
    """Total variation within which frequencies of n rows over k symbols are, but for probability ``level``.

    The smaller of two bounds that hold for every law: a union of Hoeffding bounds over the 2^k - 2 proper subsets
    [WOS03], and the mean deviation, at most sqrt((k-1)/n)/2, plus a bounded-differences term [McD89].

    Examples
    --------
    >>> total_variation_radius(17, [200, 2000], 5e-4).round(3)
    array([0.22, 0.07])
    """
    n = np.maximum(np.asarray(n, np.float64), 1e-300)
    if k == 1:
        return np.zeros(n.shape)
    subsets = k * np.log(2) + np.log1p(-(2.0 ** (1 - k)))
    union = np.sqrt((subsets - np.log(level)) / (2 * n))
    spread = (np.sqrt(k - 1) + np.sqrt(-2 * np.log(level))) / (2 * np.sqrt(n))
    return np.minimum(np.minimum(union, spread), 1.0)


def check_confidence(confidence: float) -> float:
    """Level of confidence, checked to lie strictly between 0 and 1."""
    return required("confidence", confidence, "lie between 0 and 1, such as 0.95", lambda level: 0 < level < 1)


def whole_counts(counts: ContingencyTable | JointDistribution) -> tuple[NDArray[np.int64], JointDistribution]:
    """Counts (n_s, n_x) of the symbols that occur, and their law."""
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
                "this law does not say how many rows it was counted from, so nothing is known about its error; "
                "count it from a table (JointDistribution.from_frame) or give n"
            )
        cells = joint.pmf * joint.n
    whole = np.rint(cells).astype(np.int64)
    if (np.abs(cells - whole) > _WHOLE + _RELATIVE * np.abs(cells)).any() or whole.sum() != joint.n:
        raise InvalidParameter(_NOT_COUNTS)
    return whole, joint
