"""Balance function against a class of bounded adversaries [WXH Def. 22-24], on a finite table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Vector, as_list
from sanitize.core.channel import channel_matrix
from sanitize.errors import InvalidChannel, InvalidParameter
from sanitize.theory.accounting._balance import Balance, BalanceBounds, balance_function
from sanitize.theory.individual import individual_channel_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from sanitize.core.channel import Channel


@dataclass(frozen=True, eq=False)
class ComputationalBalance(BalanceBounds):
    """Bounds on g_c(b) = C_1c - C_1c^b for a class of adversaries, in nats. ``float()`` returns the lower bound.

    Attributes
    ----------
    b : float
        Least entropy of the adversary's distribution of the table, in nats.
    capacity_lower, capacity_upper : float
        Bounds on C_1c, the largest leakage to a reader of the class over all distributions.
    restricted_lower, restricted_upper : float
        Bounds on C_1c^b, the largest leakage over distributions of entropy at least b.
    balances : tuple of Balance
        Balance of each reader by itself.
    unbounded_lower, unbounded_upper : float
        Bounds on C_1, the largest leakage to an adversary who sees all of Y.
    """

    balances: tuple[Balance, ...]
    unbounded_lower: float
    unbounded_upper: float

    @property
    def tau(self) -> tuple[float, float]:
        """Bounds on τ = C_1 - C_1c, the reduction of leakage due to the limits of the adversary [WXH Prop. 8]."""
        return max(0.0, self.unbounded_lower - self.capacity_upper), max(
            0.0, self.unbounded_upper - self.capacity_lower
        )


def computational_balance_function(
    channel: Channel | ArrayLike | Any,
    b: float,
    readers: Sequence[ArrayLike],
    sizes: Sequence[int] | None = None,
    *,
    tol: float = 1e-9,
    starts: int = 16,
) -> ComputationalBalance:
    """Bound g_c(b) = C_1c - C_1c^b, the gain against bounded adversaries with incomplete knowledge [WXH Def. 24].

    The paper bounds adversaries by asymptotic complexity, which is not defined for a single table. The finite
    counterpart is a class of readers: an adversary sees Y only through a reader, and the effective information
    I_c(X_i;Y) is the most that any reader passes on, the V-information of the predictors that use the reader's output.
    The effective entropy of a distribution is its entropy, as every distribution of X is a constant prediction [WXH
    Def. 22]. Then C_1c^b is the largest C_1^b of a reader's channel, and a channel that is ε-private against the class
    on distributions of entropy at least b is (ε + g_c(b))-private against it on all distributions and (ε + g_c(b) +
    τ)-private against everyone [WXH Prop. 8].

    Parameters
    ----------
    channel : array-like of shape (n_x, n_y), Channel, or estimator with ``channel_``
        P(y|x), as in `balance_function`.
    b : float
        Entropy in nats, between 0 and log n_x.
    readers : sequence of arrays of shape (n_y, n_z)
        Channels from Y to what the adversary sees.
    sizes : sequence of int, optional
        Number of letters of each record; by default the table is one record.
    tol : float
        Requested distance of the bounds for each reader, in nats, > 0.
    starts : int
        Random starts of the search for several records, >= 1.

    Returns
    -------
    ComputationalBalance

    Raises
    ------
    InvalidChannel
        If the channel or a reader is not row-stochastic, or they do not fit.
    InvalidParameter
        If there is no reader, or another argument is out of range.

    Examples
    --------
    One of five letters through 5-ary randomised response with e^ε = 6; the adversary remembers one bit of the answer.

    >>> import itertools
    >>> import numpy as np
    >>> answers = np.full((5, 5), 0.1) + 0.5 * np.eye(5)
    >>> readers = [np.eye(2)[list(bits)] for bits in itertools.product((0, 1), repeat=5)]
    >>> balance = computational_balance_function(answers, b=1.5, readers=readers)
    >>> round(float(balance), 4), [round(bound, 4) for bound in balance.tau]
    (0.0021, [0.2328, 0.2328])
    """
    matrix = channel_matrix(channel)
    n_y = matrix.shape[1]
    matrices = [channel_matrix(reader, f"reader {j + 1}") for j, reader in enumerate(as_list("readers", readers))]
    if not matrices:
        raise InvalidParameter("readers must be a list of at least one channel from Y, got an empty list")
    for j, reader in enumerate(matrices):
        if len(reader) != n_y:
            raise InvalidChannel(
                f"reader {j + 1} must take the {n_y} outputs of the channel, but it takes {len(reader)} outputs"
            )
    seen = [matrix @ reader for reader in matrices]
    balances = tuple(balance_function(balance, b, sizes, tol=tol, starts=starts) for balance in _distinct(seen))
    everyone = individual_channel_capacity(matrix, sizes=(len(matrix),) if sizes is None else sizes, tol=tol)
    return ComputationalBalance(
        float(b),
        max(balance.capacity_lower for balance in balances),
        min(everyone.upper, max(balance.capacity_upper for balance in balances)),
        max(balance.restricted_lower for balance in balances),
        max(balance.restricted_upper for balance in balances),
        balances,
        everyone.lower,
        everyone.upper,
    )


def _distinct(channels: list[Vector]) -> list[Vector]:
    """Drop channels that differ from an earlier one only in the order of their outputs."""
    distinct = {np.unique(matrix, axis=1).tobytes(): matrix for matrix in reversed(channels)}
    return list(distinct.values())[::-1]
