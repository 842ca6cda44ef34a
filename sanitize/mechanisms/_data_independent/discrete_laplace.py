"""Discrete Laplace noise on a range of integers, clamped to the range: ε-DP for changes by one step [CY]."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np

from sanitize._util.checks import nats, whole_number
from sanitize._util.limits import CHANNEL_CELLS, LARGEST_LEVEL
from sanitize.core.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidParameter
from sanitize.mechanisms._data_independent.randomized_response import even_row


def discrete_laplace_channel(n_symbols: int, eps: float, *, sensitivity: int = 1) -> Channel:
    """Channel that adds noise with P(Z = z) ∝ e^{-ε|z|/Δ} to a number from 0 to n - 1 and clamps the sum.

    This is the discrete form of Laplace noise, which [CY] names as the common way to achieve differential privacy. If
    one person changes a count or a sum by at most Δ, releasing it through this channel is ε-DP for the table.

    Guarantee
    ---------
    log P(y|x)/P(y|x') <= ε |x - x'| / Δ for all x, x', y, exactly: probabilities are integers over 2^62, and each is
    raised by the same few units, which flattens every ratio by more than rounding moves it.

    Parameters
    ----------
    n_symbols : int
        Number n of inputs 0, ..., n - 1; at least 1 and at most 4096.
    eps : float
        Level in nats, finite and >= 0; at 0 the release has the same uniform distribution for every input.
    sensitivity : int
        Largest change Δ of the number by one person, >= 1.

    Returns
    -------
    Channel
        One dense stage from the numbers to themselves.

    Raises
    ------
    InvalidParameter
        If an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> discrete_laplace_channel(3, np.log(2)).matrix.round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """
    n_symbols, eps = whole_number("n_symbols", n_symbols, 1), nats("eps", eps)
    sensitivity = whole_number("sensitivity", sensitivity, 1)
    if math.isinf(eps):
        raise InvalidParameter("eps must be finite, got inf; for a channel without noise use Channel.identity(n)")
    if n_symbols * n_symbols > CHANNEL_CELLS:
        most = math.isqrt(CHANNEL_CELLS)
        raise InvalidParameter(f"n_symbols must be at most {most}, got {n_symbols}; bin the numbers")
    with decimal.localcontext(decimal.Context(prec=60)):
        rate = min(Decimal(eps) / sensitivity, Decimal(LARGEST_LEVEL))
        lift = _lift(n_symbols, rate)
        # Equal rows for all inputs reveal nothing, even after rounding.
        even = np.tile(even_row(n_symbols), (n_symbols, 1))
        return Channel((Stage.dense(even if lift is None else _weights(n_symbols, rate, lift)),))


def _lift(n: int, rate: Decimal) -> int | None:
    """Return the number of units c to add to every cell; None if the units would exceed half of a row.

    Cells at distance d hold i_d + c with i_d = e^ε i_{d+1}, rounded up by less than 1; the cell of x itself takes the
    remainder and is rounded down by less than n. So every ratio is at most (i_d + c + 1)/(i_{d+1} + c) or (i_1 + c +
    1)/(i_0 + c - n), which is within e^ε as soon as c (e^ε - 1) >= 1 + n e^ε.
    """
    growth = rate.exp()
    if growth <= 1:
        return None
    lift = math.ceil((1 + n * growth) / (growth - 1))
    return lift if 2 * n * lift < SCALE else None


def _weights(n: int, rate: Decimal, lift: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return integer cells (n, n): at distance d, (1-a)/(1+a) a^d, or a^d/(1+a) for the two ends; a = e^{-rate}."""
    ratio = (-rate).exp()
    unit = (SCALE - n * lift) / (1 + ratio)
    powers = [ratio**d for d in range(n)]
    inner = np.array([math.ceil(unit * (1 - ratio) * power) for power in powers], np.int64)
    ends = np.array([math.ceil(unit * power) for power in powers], np.int64)
    distances = np.abs(np.arange(n)[:, None] - np.arange(n))
    weights: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = inner[distances] + lift
    weights[:, [0, -1]] = ends[distances[:, [0, -1]]] + lift
    np.fill_diagonal(weights, 0)
    np.fill_diagonal(weights, SCALE - weights.sum(axis=1))
    return weights
