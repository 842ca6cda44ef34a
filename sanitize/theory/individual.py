"""Leakage about one record or a group of records, over every prior on the databases.

Rows of a channel are databases in lexicographic order. A prior under which the other records (the rest) depend on x_i
can turn the channel into any channel whose row for x_i is a mean of the rows P(y|x_i, rest). Mutual information is
convex in the channel, so choosing one rest for each letter is enough [WXH Thm 3.1].
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sanitize._util.checks import Codes, Vector, whole_number
from sanitize.core.capacity import Bracketed, best_selection, check_tol
from sanitize.core.channel import channel_matrix
from sanitize.theory.notions import check_databases, global_dp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sanitize.core.channel import Channel

__all__ = ["individual_channel_capacity", "individual_max_information", "mi_dp"]


class IndividualCapacity(Bracketed):
    """Bracket of the leakage about some records, with a prior that attains the lower end.

    Attributes
    ----------
    lower : float
        I(X_I;Y) in nats under ``prior``, where I are the ``records`` (for `mi_dp`, given the other records).
    upper : float
        Upper bound in nats over all priors and all groups of this many records.
    records : tuple of int
        The group I, counted from 0.
    prior : ndarray of shape (n_x,)
        Distribution of the database.
    """

    records: tuple[int, ...]
    prior: NDArray[np.float64]

    def __new__(cls, lower: float, upper: float, records: tuple[int, ...], prior: NDArray[np.float64]) -> Self:
        """Return a bracket of the leakage about some records, with the prior that attains its lower end."""
        capacity = super().__new__(cls, lower, upper)
        capacity.records, capacity.prior = records, prior
        return capacity


def individual_channel_capacity(
    channel: Channel | ArrayLike | Any,
    n_records: int | None = None,
    n_symbols: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    group: int = 1,
    tol: float = 1e-9,
    max_nodes: int = 10_000,
) -> IndividualCapacity:
    """Capacity C_k, the maximum of I(X_I;Y) over groups I of k records and all priors, in nats [WXH Defs. 5, 17].

    C_1 is the ε of information privacy and of perfect Dalenius security [WXH Defs. 4, 6]. By [WXH Thm 3.1], C_k is the
    largest capacity of the channels that take, for each letter of X_I, one row of the databases with this letter. Only
    the set of chosen rows matters, so equal rows are merged, and the best set is found by branch and bound: the
    capacity of all rows still allowed bounds every choice among them, and a choice attains it if different letters can
    supply the rows that carry mass. C_k <= min(k C_1, C_n) [WXH Lemma 4, Thm 6.1; C_n is `channel_capacity`].

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases in lexicographic order.
    n_records, n_symbols : int
        Records n, and symbols m of one record: n_x = m**n.
    sizes : sequence of int
        Number of symbols of each record, instead of ``n_records`` and ``n_symbols``; n_x is their product.
    group : int
        Size k of the group, 1 to n.
    tol : float
        Requested gap in nats, > 0.
    max_nodes : int
        Largest number of channels to examine for each group, >= 1. If it is not enough, the bracket is wider than
        ``tol`` but still valid.

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
    The output says whether x_1 in {0, 1, 2} equals x_2 in {0, 1}, wrongly with probability 0.1 [WXH Example 1]:

    >>> import numpy as np
    >>> equal = [x_1 == x_2 for x_1 in range(3) for x_2 in range(2)]
    >>> channel = np.where(np.array(equal)[:, None], [0.1, 0.9], [0.9, 0.1])
    >>> round(float(individual_channel_capacity(channel, sizes=[3, 2])), 6)   # ln 2 - H(0.1)
    0.368064
    """
    matrix = channel_matrix(channel)
    shape = check_databases(len(matrix), n_records, n_symbols, sizes)
    group = whole_number("group", group, 1, len(shape))
    tol = check_tol(tol)
    max_nodes = whole_number("max_nodes", max_nodes, 1)

    return _largest(matrix, _groups(shape, group), tol, max_nodes)


def individual_max_information(channel: Channel | ArrayLike | Any) -> float:
    """Supremum C_1,∞ of I_∞(X_i;Y) over records i and all priors on the databases, in nats [WXH Defs. 7, 8].

    A prior near a point mass on x' that puts the rest of its mass on x drives I_∞(X_i;Y) to the largest log
    P(y|x)/P(y|x') for any two databases that differ in record i, whatever else they differ in. Any two databases differ
    in some record, so the supremum is the DP level of the whole table as one record, also for groups of records. Over
    product priors only, the supremum is `global_dp` [WXH Thm 2.1], which is smaller.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases, in any order.

    Returns
    -------
    float
        Nats; inf if one database can lead to an output that another cannot.

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sanitize.theory.notions import global_dp
    >>> flip = np.array([[0.75, 0.25], [0.25, 0.75]])   # each of two records on its own
    >>> both = np.kron(flip, flip)
    >>> round(individual_max_information(both), 4), round(global_dp(both, 2, 2), 4)
    (2.1972, 1.0986)
    """
    matrix = channel_matrix(channel)
    return global_dp(matrix, 1, len(matrix))


def mi_dp(
    channel: Channel | ArrayLike | Any,
    n_records: int | None = None,
    n_symbols: int | None = None,
    *,
    sizes: Sequence[int] | None = None,
    tol: float = 1e-9,
) -> IndividualCapacity:
    """Level ε of mutual-information DP, the maximum of I(X_i;Y | X_-i) over records i and all priors, in nats [CY].

    The level equals the largest capacity of P(y|x_i, rest) over i and the other records (the rest), and also the
    supremum of I(X_i;Y) over product priors [CY, Observation]. It is at most `individual_channel_capacity`, for which
    the rest may depend on x_i, and at most `dp_information_bound` of `global_dp`.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        Rows are databases in lexicographic order.
    n_records, n_symbols : int
        Records n, and symbols m of one record: n_x = m**n.
    sizes : sequence of int
        Number of symbols of each record, instead of ``n_records`` and ``n_symbols``; n_x is their product.
    tol : float
        Requested gap in nats, > 0.

    Returns
    -------
    IndividualCapacity
        Its prior is a product distribution that fixes all records but one.

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
    matrix = channel_matrix(channel)
    shape = check_databases(len(matrix), n_records, n_symbols, sizes)
    tol = check_tol(tol)

    # With the rest fixed, every letter has one row to choose from.
    rests = ((records, line[:, None]) for records, databases in _groups(shape, 1) for line in databases.T)
    return _largest(matrix, rests, tol, 1)


def _groups(shape: tuple[int, ...], size: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
    """Yield each group of records with the databases of each of its letters, shape (n_letters, n_rests)."""
    codes = np.arange(math.prod(shape)).reshape(shape)
    for records in combinations(range(len(shape)), size):
        letters = math.prod(shape[record] for record in records)
        yield records, np.moveaxis(codes, records, range(size)).reshape(letters, -1)


def _largest(
    matrix: Vector, groups: Iterable[tuple[tuple[int, ...], Codes]], tol: float, max_nodes: int
) -> IndividualCapacity:
    """Largest capacity over groups of records, with the best choice of a row of ``matrix`` per letter of a group."""
    rows, numbers = np.unique(matrix, axis=0, return_inverse=True)
    codes, best, upper, seen = numbers.ravel(), None, 0.0, set()
    for records, letters in groups:
        offers = [np.unique(codes[letter], return_index=True) for letter in letters]
        # A group whose letters have the same sets of rows as those of an earlier group has the same capacity.
        key = tuple(sorted(tuple(distributions.tolist()) for distributions, _ in offers))
        if key in seen:
            continue
        seen.add(key)
        best = best or IndividualCapacity(0.0, 0.0, records, np.full(len(matrix), 1 / len(matrix)))
        solution = best_selection(rows, [distributions for distributions, _ in offers], tol, max_nodes, best.lower)
        upper = max(upper, solution.upper)
        if solution.lower > best.lower:
            prior = np.zeros(len(matrix))
            chosen = zip(letters, offers, solution.distributions, solution.weights, strict=True)
            for letter, (distributions, first), distribution, weight in chosen:
                prior[letter[first[np.searchsorted(distributions, distribution)]]] += weight
            best = IndividualCapacity(solution.lower, solution.upper, records, prior)
    assert best is not None
    return IndividualCapacity(best.lower, max(upper, best.lower), best.records, best.prior)
