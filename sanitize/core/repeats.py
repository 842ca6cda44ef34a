"""Joint leakage of k releases of one row, each with fresh noise; exact if that is cheap, otherwise simulated."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, softmax, xlogy

from sanitize._util.checks import check_number, whole_number
from sanitize.core.channel import ReducedChannel, check_channel
from sanitize.core.joint import check_distribution, check_fit
from sanitize.core.measures import state_rows

if TYPE_CHECKING:
    from sanitize._util.checks import Vector
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

__all__ = ["repeated_information", "repeats_needed"]

# Up to the first number, all counts of outputs are enumerated. Otherwise counts are drawn: 4,096 draws know the mean to
# about two digits, 256 are the least for any figure, and 200 million products bound the time to some seconds.
_MOST_COUNTS, _MOST_DRAWS, _LEAST_DRAWS, _STEP = 20_000, 4096, 256, 200_000_000
# A trillion releases count as never. The logarithm of 0 is replaced, because counts of 0 times infinity are no numbers.
_NEVER, _IMPOSSIBLE = 1 << 40, -1e12
# Information in nats at or below this is rounding error, of which no number of releases reveals a share.
_NOTHING = 1e-12


def repeated_information(joint: JointDistribution, channel: Channel, n_releases: float) -> float:
    """Information I(S;Y_1...Y_k) of k releases of a row, each with fresh noise, in nats.

    It grows with k towards the information that classes of symbols with equal rows in the channel have about S; no
    number of releases distinguishes symbols of one class. The limit is I(S;X) if no two symbols are merged.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    channel : Channel
        From X to Y.
    n_releases : int, or inf
        k >= 1; inf for the limit.

    Returns
    -------
    float
        Exact for the limit, and if the outputs of k releases, up to order, are few. Otherwise a mean over simulated
        draws, which are the same at every call.

    Raises
    ------
    InvalidParameter
        If n_releases is not a whole number >= 1 or inf, or the channel has too many symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    >>> response = sz.mechanisms.randomized_response(2, 1.0)
    >>> [round(repeated_information(joint, response, k), 4) for k in (1, 2, 10, math.inf)]
    [0.0389, 0.0658, 0.1579, 0.1927]
    """
    check_number("n_releases", n_releases, "be at least 1", lambda k: k >= 1)
    if not math.isinf(n_releases):
        whole_number("n_releases", n_releases, 1, _NEVER)
    return _Repeats.from_channel(joint, channel).information(n_releases)


def repeats_needed(joint: JointDistribution, channel: Channel, share: float = 0.9) -> int | None:
    """Least number of releases with fresh noise that reveal a given share of what infinitely many would reveal.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X).
    channel : Channel
        From X to Y.
    share : float
        Share of the limit of `repeated_information`, between 0 and 1.

    Returns
    -------
    int or None
        None if no number of releases reveals anything, or more than a million million releases would be needed.

    Raises
    ------
    InvalidParameter
        If share is not between 0 and 1, or the channel has too many symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    >>> repeats_needed(joint, sz.mechanisms.randomized_response(2, 1.0))
    15
    """
    check_number("share", share, "lie between 0 and 1", lambda part: 0 < part < 1)
    repeats = _Repeats.from_channel(joint, channel)
    wanted = share * repeats.information(math.inf)
    if wanted <= _NOTHING:
        return None
    most = 1
    while repeats.information(most) < wanted:
        most *= 2
        if most > _NEVER:
            return None
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if repeats.information(middle) >= wanted else (middle, most)
    return most


@dataclass(frozen=True, eq=False)
class _Repeats:
    """Classes of symbols with equal channel rows: P(s, class), shape (n_s, n), and these rows, (n, n_y)."""

    masses: Vector
    rows: Vector

    @classmethod
    def from_channel(cls, joint: JointDistribution, channel: Channel) -> _Repeats:
        check_fit(check_distribution(joint), check_channel(channel))
        reduced = ReducedChannel.from_channel(channel)
        rows, classes = np.unique(state_rows(reduced), axis=0, return_inverse=True)
        of_class = classes.ravel()[reduced.states]
        return cls(np.stack([np.bincount(of_class, row, len(rows)) for row in joint.pmf]), rows)

    def information(self, k: float) -> float:
        """Information I(S;Y_1...Y_k) in nats."""
        if math.isinf(k):
            return self._mean(np.eye(len(self.rows)), self.masses.sum(axis=0))
        n, n_y = self.rows.shape
        logs = np.full(self.rows.shape, _IMPOSSIBLE)
        np.log(self.rows, out=logs, where=self.rows > 0)
        if math.comb(int(k) + n_y - 1, n_y - 1) * n_y <= _MOST_COUNTS:
            bars = np.array(list(itertools.combinations(range(int(k) + n_y - 1), n_y - 1)), np.int64)
            bars = bars.reshape(math.comb(int(k) + n_y - 1, n_y - 1), n_y - 1)
            counts = np.diff(bars, prepend=-1, append=int(k) + n_y - 1) - 1
            orders = gammaln(k + 1) - gammaln(counts + 1).sum(axis=1)
            chances = np.exp(counts @ logs.T + orders[:, None]) * self.masses.sum(axis=0)
            total = chances.sum(axis=1)
            is_possible = total > 0
            return self._mean(chances[is_possible] / total[is_possible, None], total[is_possible])
        n_draws = int(np.clip(_STEP / (n * n_y), _LEAST_DRAWS, _MOST_DRAWS))
        rng, p = np.random.default_rng(0), self.masses.sum(axis=0)
        # Draws of each class in proportion to its probability, up to less than one, leave no chance in the classes.
        at = np.searchsorted(p.cumsum() / p.sum(), (np.arange(n_draws) + 0.5) / n_draws).clip(max=n - 1)
        counts = rng.multinomial(int(k), (self.rows / self.rows.sum(axis=1, keepdims=True))[at])
        return self._mean(softmax(counts @ logs.T + np.log(p), axis=1), np.full(n_draws, 1 / n_draws))

    def _mean(self, posteriors: Vector, weights: Vector) -> float:
        """Mean of KL(P(s|.) || P(s)) over posteriors of classes, in nats."""
        p_s, of_class = self.masses.sum(axis=1), self.masses / self.masses.sum(axis=0)
        lifts = posteriors @ of_class.T / p_s
        return max(0.0, float(weights @ (xlogy(lifts, lifts) @ p_s)))
