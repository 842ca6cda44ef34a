"""Trade-off families for a known prior: best local channels of one or several records, ordered source sets [ZB §IV]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sanitize._util.checks import Codes, Vector, as_list, number, probabilities, whole_number
from sanitize._util.limits import DENSE_CELLS
from sanitize.errors import InvalidDistribution, InvalidParameter
from sanitize.theory.tradeoff._tradeoff import Tradeoff, check_priors, smallest_level


@dataclass(frozen=True, eq=False)
class PriorDP(Tradeoff):
    """Trade-off: least level of (ε, δ)-DP at D, i.i.d. records: min_k log((k-1)(1-D')/(D'-T_k)) [ZB Thm 9, 13, 18.1].

    Here D' = D/(n(1-δ)), T_k is the prior probability outside the k likeliest letters, and the minimum is over k >= 2
    with T_k < D'. The value is 0 iff D' >= 1 - P_1 [ZB Lemma 10]. The least distortion is n(1-δ) min_k [1 - F_k
    e**ε/(e**ε + k-1)], F_k = 1 - T_k. No joint mechanism beats the local channels δ I + (1-δ) M: M releases only the k
    likeliest letters, each kept with e**ε/(e**ε + k-1); any other letter draws one of the k at random. For one record
    the entrywise δ of the paper gives the same number.

    Parameters
    ----------
    prior : array-like of shape (m,)
        Distribution of one record, in any order; zeros allowed.
    delta : float
        δ by event, from 0 to 1.
    n_records : int
        Records n >= 1.

    Examples
    --------
    >>> family = PriorDP([0.5, 0.3, 0.2])
    >>> round(family.privacy(0.2), 6), family.privacy(0.5), round(family.distortion(2.079442), 6)
    (2.079442, 0.0, 0.2)
    >>> PriorDP([0.5, 0.45, 0.05]).channel(0.3).matrix.round(4)
    array([[0.7368, 0.2632, 0.    ],
           [0.2632, 0.7368, 0.    ],
           [0.5   , 0.5   , 0.    ]])
    """

    prior: ArrayLike
    delta: float = 0.0
    n_records: int = 1
    _order: Codes = field(init=False, repr=False)
    _tails: Vector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        distribution, n = probabilities(self.prior), whole_number("n_records", self.n_records, 1)
        vars(self).update(prior=distribution, delta=number("delta", self.delta, 0, 1), n_records=n)
        vars(self)["_order"] = likeliest_first(distribution)
        vars(self)["_tails"] = cumulative_tails(distribution[self._order])

    def _privacy(self, distortion: float) -> float:
        distortion /= self.n_records
        if distortion >= (1 - self.delta) * self._tails[1]:
            return 0.0
        least = distortion / (1 - self.delta)
        room = least - self._tails[2:]
        open_ = room > 0
        if not open_.any():
            return math.inf
        k = np.arange(1, len(room) + 1)[open_]
        return max(0.0, float((np.log(k) + math.log1p(-least) - np.log(room[open_])).min()))

    def _losses(self, level: float) -> Vector:
        """Probability that a record changes if the k likeliest letters are kept at level ε, for k = 1..m."""
        ratios = np.arange(len(self._order)) * math.exp(-level)
        # 1 - F/(1 + o) = (T + o)/(1 + o)
        return (self._tails[1:] + ratios) / (1 + ratios)

    def _distortion(self, level: float) -> float:
        return self.n_records * (1 - self.delta) * float(self._losses(level).min())

    def _matrix(self, distortion: float) -> Vector:
        return product_channel([self._local(self._privacy(distortion))] * self.n_records)

    def _local(self, level: float) -> Vector:
        """Return the channel of one record at a level."""
        k, m, ratio = 1 + int(self._losses(level).argmin()), len(self._order), math.exp(-level)
        likeliest, matrix = self._order[:k], np.zeros((m, m))
        matrix[:, likeliest] = 1 / k
        matrix[np.ix_(likeliest, likeliest)] = ratio / (1 + (k - 1) * ratio)
        matrix[likeliest, likeliest] = 1 / (1 + (k - 1) * ratio)
        return self.delta * np.eye(m) + (1 - self.delta) * matrix


@dataclass(frozen=True, eq=False)
class RecordsDP(Tradeoff):
    """Trade-off: least level of (ε, δ)-DP at D for independent records with known priors: root of Σ_i D*_i(ε) = D.

    No joint mechanism is better than one optimal local channel per record, that of `PriorDP`, at a common ε [ZB Lemma
    16.1].

    Parameters
    ----------
    priors : sequence of n array-likes
        Distribution of each record; alphabets may differ.
    delta : float
        δ by event, from 0 to 1.

    Examples
    --------
    >>> family = RecordsDP([[0.5, 0.3, 0.2], [0.5, 0.5]])
    >>> round(family.privacy(0.5), 6), round(family.distortion(1.0), 6), family.channel(0.4).matrix.shape
    (1.475285, 0.684095, (6, 6))
    """

    priors: Sequence[ArrayLike]
    delta: float = 0.0
    _records: list[PriorDP] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vars(self)["_records"] = [PriorDP(prior, self.delta) for prior in as_list("priors", self.priors)]
        if not self._records:
            raise InvalidDistribution("priors must contain the distribution of at least one record, got none")

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self._records)

    def _privacy(self, distortion: float) -> float:
        return smallest_level(lambda level: -self._distortion(level), -distortion)

    def _distortion(self, level: float) -> float:
        return (1 - self._records[0].delta) * float(sum(record._losses(level).min() for record in self._records))

    def _matrix(self, distortion: float) -> Vector:
        level = self._privacy(distortion)
        return product_channel([record._local(level) for record in self._records])


@dataclass(frozen=True, eq=False)
class PriorMaximalLeakage(Tradeoff):
    """Trade-off: least maximal leakage at D for one record: log(k-1 + (1-D-F_{k-1})/P_k) [ZB Thm 14, Cor. 15].

    Here F_{k-1} <= 1-D <= F_k, with F_k the probability of the k likeliest letters; the value is 0 iff D >= 1 - P_1 [ZB
    Lemma 33]. The least distortion at level L is 1 - F_k - (e**L - k)P_{k+1}, k = floor(e**L). The channel keeps the
    k-1 likeliest letters, and the k-th with probability (1-D-F_{k-1})/P_k; all other letters become the likeliest one.
    For several priors, all sorted by one order of the letters, the worst prior decides, and the distortion holds under
    each.

    Parameters
    ----------
    priors : array-like of shape (m,) or (k, m)
        Distribution of the record, or several distributions that are all sorted by one order of the letters (Class II)
        [ZB Def. 1].

    Examples
    --------
    >>> family = PriorMaximalLeakage([0.5, 0.3, 0.2])
    >>> round(family.privacy(0.3), 6), round(family.distortion(0.510826), 6)
    (0.510826, 0.3)
    >>> PriorMaximalLeakage([[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]).channel(0.4).matrix.round(4)
    array([[1.    , 0.    , 0.    ],
           [0.6667, 0.3333, 0.    ],
           [1.    , 0.    , 0.    ]])
    """

    priors: ArrayLike
    _order: Codes = field(init=False, repr=False)
    _tails: list[Vector] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        distributions = check_priors(self.priors)
        # Letters are ranked as in the whole set of priors, even if a single prior has ties.
        order = likeliest_first(distributions.sum(axis=0))
        ranked = distributions[:, order]
        vars(self).update(priors=distributions, _order=order, _tails=list(map(cumulative_tails, ranked)))
        if (np.diff(ranked, axis=1) > 0).any():
            raise InvalidDistribution(
                "one order of the letters must sort all priors from most to least likely (Class II); "
                "without such an order, use one family per prior"
            )

    def product_bound(self, distortion: float, n_records: int) -> float:
        """Leakage of n optimal local channels: n times the local value at D/n [ZB Thm 18.2].

        This is an upper bound on the least leakage of n i.i.d. records, printed as the value for n >= 2; it is exact
        for n = 1.

        Parameters
        ----------
        distortion : float
            D, expected number of changed records.
        n_records : int
            Records n >= 1.

        Examples
        --------
        >>> round(PriorMaximalLeakage([0.5, 0.3, 0.2]).product_bound(0.6, n_records=2), 6)
        1.021651
        """
        n = whole_number("n_records", n_records, 1)
        return n * self._privacy(number("distortion", distortion, 0, n) / n)

    def _privacy(self, distortion: float) -> float:
        return max(math.log(shown - 1 + share) for shown, share in self._letter_counts(distortion))

    def _distortion(self, level: float) -> float:
        if level >= math.log(len(self._order)):
            return 0.0
        letters = math.exp(level)
        k = min(int(letters), len(self._order) - 1)
        return max(float(tails[k] - (letters - k) * (tails[k] - tails[k + 1])) for tails in self._tails)

    def _matrix(self, distortion: float) -> Vector:
        shown, last = max(self._letter_counts(distortion), key=sum)
        shares = np.zeros(len(self._order))
        shares[self._order[: shown - 1]], shares[self._order[shown - 1]] = 1.0, last
        matrix = np.diag(shares)
        matrix[:, self._order[0]] += 1 - shares
        return matrix

    def _letter_counts(self, distortion: float) -> Iterator[tuple[int, float]]:
        """Yield, for each prior, the number of letters released and the kept share of the last one."""
        for tails in self._tails:
            shown = int((tails > distortion).sum())
            if shown < 2:
                yield 1, 1.0
                continue
            letter = tails[shown - 1] - tails[shown]
            share = float((tails[shown - 1] - distortion) / letter)
            while (1 - share) * letter > distortion - tails[shown]:  # the loss must fit into D
                share = math.nextafter(share, 1)
            yield shown, share


def likeliest_first(masses: Vector) -> Codes:
    """Indices of letters from likeliest to least likely, with ties in order of index."""
    return np.argsort(-masses, kind="stable")


def cumulative_tails(ranked: Vector) -> Vector:
    """Tails T_k = Σ_{i>k} P_i for k = 0..m, of a distribution sorted from its likeliest letter."""
    return np.append(np.cumsum(ranked[::-1])[::-1], 0.0)


def product_channel(channels: list[Any]) -> Vector:
    """Channel matrix of all records, each with its own channel, and databases in lexicographic order."""
    size = math.prod(len(channel) for channel in channels)
    if size**2 > DENSE_CELLS:
        raise InvalidParameter(f"the channel of all records must have at most 2**25 cells, got {size} x {size}")
    return np.asarray(reduce(np.kron, channels), np.float64)
