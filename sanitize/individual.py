"""What a release tells about one record or a group of records, over every prior on the databases.

Rows of a channel are databases in lexicographic order. A prior under which the other records depend on x_i turns the
channel into any channel whose row for x_i is a mean of the rows P(y|x_i, rest); because mutual information is convex
in the channel, choosing one rest for each letter is enough [WXH Thm 3.1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._blahut import DenseKernel, solve
from sanitize._kernel import kernel_of
from sanitize._pairwise import log_ratios
from sanitize._selections import best_selection
from sanitize.capacity import check_tol
from sanitize.errors import InvalidParameter
from sanitize.neighbours import databases_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sanitize.channel import Channel


@dataclass(frozen=True, eq=False)
class IndividualCapacity:
    """Bracket of what Y tells about some records, with a prior that attains the lower end.

    ``float(capacity)`` is the upper end, so that a privacy level read from it is never too small.

    Attributes
    ----------
    lower : float
        I(X_I;Y) in nats under ``prior``, I the ``records`` (given the others, for `mi_dp`).
    upper : float
        No prior and no group of records of this size gives more, in nats.
    records : tuple of int
        The group I, counted from 0.
    prior : ndarray of shape (n_x,)
        Law of the database.
    """

    lower: float
    upper: float
    records: tuple[int, ...]
    prior: NDArray[np.float64]

    @property
    def gap(self) -> float:
        """Upper minus lower end, in nats."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.upper


def individual_channel_capacity(
    channel: Channel | ArrayLike | Any,
    n: int | None = None,
    m: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    group: int = 1,
    tol: float = 1e-9,
    max_nodes: int = 10_000,
) -> IndividualCapacity:
    """C_k = max over groups I of k records and all priors of I(X_I;Y), in nats [WXH Defs. 5, 17].

    With k = 1 it is the ε of information privacy and of perfect Dalenius security [WXH Defs. 4, 6]. By
    [WXH Thm 3.1] it is the largest capacity of the channels that take, for each letter of X_I, one of the rows
    the databases with this letter have. Only the set of rows taken matters, so that equal rows are one, and the
    best set is found by branch and bound: the capacity of all rows still allowed bounds every choice among them,
    and is the answer when its input law sits on rows that different letters can supply.
    C_k <= min(k C_1, C_n) [WXH Lemma 4, Thm 6.1; C_n is `channel_capacity`].

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases in lexicographic order.
    n, m : int
        n records over m letters, n_x = m**n.
    sizes : sequence of int
        Instead, the number of letters of each record; n_x is their product.
    group : int
        Size k of the group, 1 to n.
    tol : float
        Wanted gap in nats, > 0.
    max_nodes : int
        Channels to examine for each group at most, >= 1. When they run out the bracket is wider than ``tol`` and
        still holds.

    Returns
    -------
    IndividualCapacity

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.
    InvalidParameter
        If the databases do not fit the channel, or ``group``, ``tol`` or ``max_nodes`` is out of range.

    Examples
    --------
    Whether x_1 in {0, 1, 2} equals x_2 in {0, 1}, told wrongly with probability 0.1 [WXH Example 1]:

    >>> import numpy as np
    >>> equal = [x_1 == x_2 for x_1 in range(3) for x_2 in range(2)]
    >>> channel = np.where(np.array(equal)[:, None], [0.1, 0.9], [0.9, 0.1])
    >>> round(float(individual_channel_capacity(channel, sizes=[3, 2])), 6)   # ln 2 - H(0.1)
    0.368064
    """
    matrix = kernel_of(channel)
    shape = databases_of(len(matrix), n, m, sizes)
    group = _whole(group, "group", len(shape))
    tol = check_tol(tol)
    max_nodes = _whole(max_nodes, "max_nodes", None)
    codes, rows = _distinct(matrix)
    best = IndividualCapacity(0.0, 0.0, tuple(range(group)), np.full(len(matrix), 1 / len(matrix)))
    upper, seen = 0.0, set()
    for records, databases in _groups(shape, group):
        offers = [np.unique(codes[line], return_index=True) for line in databases]
        # A group whose letters offer the same sets of rows as an earlier one's has the same capacity.
        key = tuple(sorted(tuple(laws.tolist()) for laws, _ in offers))
        if key in seen:
            continue
        seen.add(key)
        found = best_selection(rows, [laws for laws, _ in offers], tol, max_nodes, best.lower)
        upper = max(upper, found.upper)
        if found.lower > best.lower:
            prior = np.zeros(len(matrix))
            for line, (laws, first), law, weight in zip(databases, offers, found.laws, found.weights, strict=True):
                prior[line[first[np.searchsorted(laws, law)]]] += weight
            best = IndividualCapacity(found.lower, found.upper, records, prior)
    return IndividualCapacity(best.lower, max(upper, best.lower), best.records, best.prior)


def individual_max_information(
    channel: Channel | ArrayLike | Any,
    n: int | None = None,
    m: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    group: int = 1,
) -> float:
    """Supremum over groups I of k records and all priors of I_∞(X_I;Y), in nats [WXH Defs. 7, 8].

    It is the largest log P(y|x)/P(y|x') over y and databases x, x' that differ in the group at least, whatever
    the rest: the prior tends to a point mass on the letter of x', so it is a supremum. Over product priors the
    same supremum has equal rests, and is `global_dp` [WXH Thm 2.1]; over all priors it is larger, since what the
    others hold may follow from x_I.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases in lexicographic order.
    n, m : int
        n records over m letters, n_x = m**n.
    sizes : sequence of int
        Instead, the number of letters of each record; n_x is their product.
    group : int
        Size k of the group, 1 to n.

    Returns
    -------
    float
        Nats; inf where one database can release what another, with other letters in the group, cannot.

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.
    InvalidParameter
        If the databases do not fit the channel, or ``group`` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> flip = np.array([[0.75, 0.25], [0.25, 0.75]])   # each of two records on its own
    >>> round(individual_max_information(np.kron(flip, flip), 2, 2), 4)   # twice the DP level
    2.1972
    """
    matrix = kernel_of(channel)
    shape = databases_of(len(matrix), n, m, sizes)
    group = _whole(group, "group", len(shape))
    worst = 0.0
    for _, databases in _groups(shape, group):
        top = np.array([matrix[line].max(axis=0) for line in databases])
        low = np.array([matrix[line].min(axis=0) for line in databases])
        if len(low) > 1:
            # The smallest entry among the other letters: the second smallest where the letter holds the smallest.
            order = np.sort(low, axis=0)
            owner = low.argmin(axis=0) == np.arange(len(low))[:, None]
            worst = max(worst, float(log_ratios(top, np.where(owner, order[1], order[0])).max()))
    return worst


def mi_dp(
    channel: Channel | ArrayLike | Any,
    n: int | None = None,
    m: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    tol: float = 1e-9,
) -> IndividualCapacity:
    """ε of mutual-information DP: max over records i and all priors of I(X_i;Y | X_-i), in nats [CY].

    It equals the largest capacity of P(y|x_i, rest) over i and the rest, and also the supremum of I(X_i;Y) over
    product priors [CY, Observation]. It is at most `individual_channel_capacity`, where the rest may
    depend on x_i, and at most `dp_information_bound` of `global_dp`.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases in lexicographic order.
    n, m : int
        n records over m letters, n_x = m**n.
    sizes : sequence of int
        Instead, the number of letters of each record; n_x is their product.
    tol : float
        Wanted gap in nats, > 0.

    Returns
    -------
    IndividualCapacity
        Its prior is a product law that fixes all records but one.

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.
    InvalidParameter
        If the databases do not fit the channel, or ``tol`` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> flip = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> parity = np.array([flip[x ^ y] for x in range(2) for y in range(2)])
    >>> round(float(mi_dp(parity, 2, 2)), 6)   # ln 2 - H(0.1)
    0.368064
    """
    matrix = kernel_of(channel)
    shape = databases_of(len(matrix), n, m, sizes)
    tol = check_tol(tol)
    codes, rows = _distinct(matrix)
    best = IndividualCapacity(0.0, 0.0, (0,), np.full(len(matrix), 1 / len(matrix)))
    upper, seen = 0.0, set()
    for records, databases in _groups(shape, 1):
        for column in databases.T:
            laws, first = np.unique(codes[column], return_index=True)
            key = tuple(laws.tolist())
            if key in seen:
                continue
            seen.add(key)
            found = solve(DenseKernel(rows[laws]), tol)
            upper = max(upper, found.upper)
            if found.lower > best.lower:
                prior = np.zeros(len(matrix))
                prior[column[first]] = found.law
                best = IndividualCapacity(found.lower, found.upper, records, prior)
    return IndividualCapacity(best.lower, max(upper, best.lower), best.records, best.prior)


def _groups(shape: tuple[int, ...], size: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
    """Each group of records, with the databases of each of its letters: shape (n_letters, n_rests)."""
    codes = np.arange(math.prod(shape)).reshape(shape)
    for records in combinations(range(len(shape)), size):
        letters = math.prod(shape[record] for record in records)
        yield records, np.moveaxis(codes, records, range(size)).reshape(letters, -1)


def _distinct(matrix: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Number of each row among the distinct rows, and these."""
    rows, codes = np.unique(matrix, axis=0, return_inverse=True)
    return codes.ravel(), rows


def _whole(value: object, name: str, largest: int | None) -> int:
    legal = f"an integer from 1 to {largest}" if largest else "an integer >= 1"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1 or value > (largest or value):
        raise InvalidParameter(f"{name} must be {legal}, got {value!r}")
    return int(value)
