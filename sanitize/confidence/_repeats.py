"""Whether rows repeat as independent draws of some distribution can.

Of n independent draws, n itself drawn from a Poisson distribution, each value x is there N times, of a Poisson
distribution with a mean of its own and independently of all others. Whatever the mean is, for k >= 2

* P(N = k - 1) P(N = k + 1) = k / (k + 1) P(N = k)², so a P(N = k - 1) + a' P(N = k + 1) >= u P(N = k) with
  u = 2 √(a a' k / (k + 1)): k - 1 and k + 1 copies are about as frequent as k of them;
* N >= 1 is a multiple of k with probability at most P(N >= 1) / 2. Odd N are likelier than even ones, by
  e^-μ (1 - e^-μ). For k >= 3 a multiple below the mode is no likelier than the next number, one above it no likelier
  than the number before, and one at the mode no likelier than both together, by the first point; no two multiples
  share such a number.

So 1 + u at k, 1 - a at k - 1, 1 - a' at k + 1 and 1 elsewhere has a mean of at most 1, and so has 1 + a at the
multiples of k, 1 - a at other N >= 1 and 1 at 0. By Markov's inequality the product over all values reaches 1/α with
probability at most α; for n itself that is at most e √n α, because n is drawn with probability at least 1 / (e √n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ALARM = 1e-6  # probability that independent rows of any distribution are said to repeat too often
_BETS = 0.95 * 0.5 ** np.arange(10)
REPEATED = (
    "rows repeat exactly, far more often than independent draws do, and confidence= is about independent rows: drop "
    "the copies, or keep one row a person"
)


def repeats_too_often(counts: NDArray[np.int64]) -> bool:
    """Whether rows are there several times as independent draws of no distribution are, but with probability 1e-6.

    A table that holds all its rows twice is found, or one of 3,000 with some 400 of them twice. Copies that look like
    draws, as those of a bootstrap do, cannot be told from draws by anybody.

    Parameters
    ----------
    counts : ndarray of int
        How often each distinct row is there.

    Examples
    --------
    >>> rows = np.random.default_rng(0).integers(0, 1000, 800)
    >>> counts = np.unique(rows, return_counts=True)[1]
    >>> repeats_too_often(counts), repeats_too_often(2 * counts)
    (False, True)
    """
    times, found = np.unique(counts[counts > 0], return_counts=True)
    rows_of = dict(zip(times.tolist(), found.tolist(), strict=True))
    n = max(int(times @ found), 1)
    needed = np.log((_BETS.size**2 + _BETS.size) / _ALARM) + 1 + np.log(n) / 2
    # A whole table may be there up to 32 times.
    for k in np.union1d(times[times > 1], np.arange(2, 33)).tolist():
        before, here, after = (rows_of.get(number, 0) for number in (k - 1, k, k + 1))
        u = 2 * np.sqrt(np.outer(_BETS, _BETS) * k / (k + 1))
        shown = here * np.log1p(u) + before * np.log1p(-_BETS)[:, None] + after * np.log1p(-_BETS)
        multiples = found[times % k == 0].sum()
        together = multiples * np.log1p(_BETS) + (found.sum() - multiples) * np.log1p(-_BETS)
        # 1 / (k (k + 1)) adds up to 1/2.
        if max(float(shown.max()), float(together.max())) >= needed + np.log(k * (k + 1)):
            return True
    return False
