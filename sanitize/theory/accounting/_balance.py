"""Balance function, the gain of a channel against adversaries with incomplete knowledge [WXH Def. 11]."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Vector, check_number, whole_number
from sanitize._util.tolerances import SAME
from sanitize.core.capacity import DenseKernel, check_tol, solve
from sanitize.core.channel import channel_matrix
from sanitize.theory.accounting._balance_many import Record, lagrange_bound, search
from sanitize.theory.accounting._balance_one import distinct_rows, divergence_from, solve_restricted, widest_input
from sanitize.theory.individual import individual_channel_capacity
from sanitize.theory.notions import check_databases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from sanitize.core.channel import Channel


@dataclass(frozen=True, eq=False)
class BalanceBounds:
    """Base of bounds on a balance function, from capacities over all distributions and over those of entropy >= b."""

    b: float
    capacity_lower: float
    capacity_upper: float
    restricted_lower: float
    restricted_upper: float

    @property
    def lower(self) -> float:
        """Lower bound on the gain, in nats."""
        return max(0.0, self.capacity_lower - self.restricted_upper)

    @property
    def upper(self) -> float:
        """Upper bound on the gain, in nats."""
        return max(0.0, self.capacity_upper - self.restricted_lower)

    @property
    def gap(self) -> float:
        """Width of the interval, upper minus lower bound."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.lower


@dataclass(frozen=True, eq=False)
class Balance(BalanceBounds):
    """Bounds on g(b) = C_1 - C_1^b, in nats. ``float()`` returns the lower bound, which is the safe one to use.

    Attributes
    ----------
    b : float
        Least entropy of the adversary's distribution of the table, in nats.
    capacity_lower, capacity_upper : float
        Bounds on C_1, the capacity over all distributions.
    restricted_lower, restricted_upper : float
        Bounds on C_1^b, the capacity over distributions of entropy at least b.
    free_entropy : float
        Largest entropy b_0 found among distributions that attain C_1; g(b) = 0 for b <= b_0. For one record it is exact
        up to the tolerance; for several records it is a lower bound.
    input : ndarray of shape (n_x,)
        Distribution of the table with entropy >= b that leaks ``restricted_lower``.
    """

    free_entropy: float
    input: Vector


def balance_function(
    channel: Channel | ArrayLike | Any,
    b: float,
    sizes: Sequence[int] | None = None,
    *,
    tol: float = 1e-9,
    starts: int = 16,
) -> Balance:
    """Bound g(b) = C_1 - C_1^b, C_1^b = max I(X_i;Y) over records i and distributions of the table with H(X) >= b.

    By definition a channel is (ε + g(b))-information private against everyone exactly if it is ε-private against
    adversaries who lack at least b nats about the table [WXH Def. 11, Lemma 1, Prop. 3]. The paper does not say how to
    evaluate g. For one record this is a concave program, solved here with a certificate: for any distribution q of Y,
    C^b <= max{Σ p D(W_x || q) : H(p) >= b}, attained by a Gibbs distribution. For several records I(X_i;Y) is not
    concave in the distribution of the table: ``restricted_lower`` comes from a search with many starts and
    ``restricted_upper`` from a Lagrange bound, and the two may differ. In practice g is 0 unless b is within a few nats
    of log|X|.

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        P(y|x). With ``sizes``, row x is the table (x_1, ..., x_n) in C order, the last record fastest.
    b : float
        Entropy in nats, between 0 and log n_x; within 1e-14 of log n_x only the uniform distribution is allowed.
    sizes : sequence of int, optional
        Number of letters of each record, with product n_x. By default the table is one record.
    tol : float
        Requested distance of the bounds, in nats, > 0.
    starts : int
        Random starts of the search for several records, >= 1.

    Returns
    -------
    Balance

    Raises
    ------
    InvalidChannel
        If the channel is not a row-stochastic matrix.
    InvalidParameter
        If b, tol, starts or sizes are outside their range.

    Examples
    --------
    A Z-channel: nothing is gained until the adversary lacks 0.673 of the 0.693 nats.

    >>> import numpy as np
    >>> balance = balance_function([[1.0, 0.0], [0.5, 0.5]], b=np.log(2))
    >>> round(float(balance), 5), balance.gap < 1e-8, round(balance.free_entropy, 3)
    (0.00738, True, 0.673)

    The conjunction of two bits through a binary symmetric channel:

    >>> answers = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    >>> round(balance_function(answers, b=0.9 * np.log(4), sizes=(2, 2)).restricted_upper, 4)
    0.2684
    """
    matrix = channel_matrix(channel)
    tol = check_tol(tol)
    records = check_databases(len(matrix), sizes=(len(matrix),) if sizes is None else sizes)
    starts = whole_number("starts", starts, 1)
    largest = math.log(len(matrix))
    legal = f"lie between 0 and log n_x = {largest:.12g} nats"
    b = check_number("b", b, legal, lambda entropy: 0 <= entropy <= largest + SAME)
    if len(records) > 1:
        return _several_records(matrix, records, b, tol, starts)
    distributions, where, counts = distinct_rows(matrix)
    share = counts / len(matrix)
    open_ = solve(DenseKernel(distributions), min(tol, 1e-12))
    lower, bound, p = solve_restricted(distributions, share, math.log(len(matrix)) - b, tol)
    widest = widest_input(distributions, share, open_.distribution)
    free = math.log(len(matrix)) - divergence_from(widest, share)
    upper = max(lower, min(bound, open_.upper))
    return Balance(b, open_.lower, open_.upper, lower, upper, free, (p / counts)[where])


def _several_records(matrix: Vector, sizes: tuple[int, ...], b: float, tol: float, starts: int) -> Balance:
    distributions, _, counts = distinct_rows(matrix)
    slack = math.log(len(matrix)) - b
    whole = solve_restricted(distributions, counts / len(matrix), slack, tol)[1]
    capacity = individual_channel_capacity(matrix, sizes=sizes, tol=tol)
    upper = free = 0.0
    leaked, distribution = -1.0, np.full(len(matrix), 1 / len(matrix))
    seen: set[bytes] = set()
    for i in range(len(sizes)):
        record = Record.from_channel(matrix, sizes, i)
        part = record.distributions.tobytes() + record.counts.tobytes()
        if part in seen:  # records with the same rows leak equally much
            continue
        seen.add(part)
        masses = search(record, slack, starts, tol)
        leakage = float(record.information(masses))
        if leakage > leaked:
            leaked, distribution = leakage, record.distribution(masses)
        bound = lagrange_bound(record, slack, masses, max(tol, 1e-9))
        upper = max(upper, leakage, min(capacity.upper, whole, bound))
        free = max(free, _free_entropy(record, capacity.lower - tol))
    leaked = max(leaked, 0.0)
    return Balance(b, capacity.lower, capacity.upper, leaked, upper, free, distribution)


def _free_entropy(record: Record, capacity: float) -> float:
    """Largest entropy found among distributions with I(X_i;Y) >= capacity and one group per letter [WXH Thm 3.1]."""
    largest = 0.0
    choices = [np.flatnonzero(count > 0) for count in record.counts]
    letters = np.arange(len(choices))
    for selection in itertools.islice(itertools.product(*choices), 4096):
        distributions, counts = record.distributions[letters, selection], record.counts[letters, selection]
        share = counts / counts.sum()
        reached = solve(DenseKernel(distributions), 1e-11)
        if reached.lower >= capacity:
            widest = widest_input(distributions, share, reached.distribution)
            largest = max(largest, math.log(counts.sum()) - divergence_from(widest, share))
    return largest
