"""Rank-exponential channel, calibrated to a capacity [WXH §4.3]."""

from __future__ import annotations

import decimal
import math
import operator
from decimal import Decimal
from functools import partial
from itertools import accumulate, repeat
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import zeta

from sanitize._util.checks import Codes, doubles, nats, whole_number
from sanitize._util.limits import CHANNEL_CELLS
from sanitize.core.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidParameter
from sanitize.mechanisms._data_independent.randomized_response import level_of_capacity, uniform_distribution

Distance = Literal["line", "circle"]

# Coefficients of x coth x - 1 - log(sinh x / x) in x^2, x^4, ...: 2 (-1)^{j+1} zeta(2j) (1 - 1/2j) / pi^{2j}. They are
# used below 1/2, where fifteen terms leave out less than 1e-25.
_ORDERS = np.arange(1, 16)
_SERIES = 2 * (-1.0) ** (_ORDERS + 1) * zeta(2 * _ORDERS) * (1 - 1 / (2 * _ORDERS)) / math.pi ** (2 * _ORDERS)


def exponential_entropy(k: int, rate: float) -> float:
    """Entropy H(Z) = log((1-e^{-kλ})/(1-e^{-λ})) + λ/(e^λ-1) - kλ/(e^{kλ}-1) of P(j) ∝ e^{-jλ}, j < k [WXH (82)].

    **Corrected**: the formula holds for every λ > 0, not only for λ <= 1, and H(Z) decreases strictly from log k to 0.

    Parameters
    ----------
    k : int
        Number of outputs, >= 1.
    rate : float
        λ = 1/N, >= 0; inf puts all mass on rank 0.

    Returns
    -------
    float
        Nats.

    Raises
    ------
    InvalidParameter
        If k or rate is out of range.

    Examples
    --------
    >>> round(exponential_entropy(5, 1.0), 6), round(exponential_entropy(5, 0.0), 6)
    (0.999973, 1.609438)
    """
    k, rate = whole_number("k", k, 1), nats("rate", rate)
    if k == 1 or rate > 1000:
        return 0.0
    if rate < 0.5:
        return math.log(k) - _deficit(k, rate)
    ratio = math.log1p(-math.exp(-k * rate)) - math.log1p(-math.exp(-rate))
    return ratio + _share(rate) - _share(k * rate)


def calibrate_exponential(k: int, capacity: float) -> float:
    """Return the largest λ with log k - H(Z) <= capacity, the root of [WXH (83)].

    λ is unique because H(Z) decreases strictly. The bound log k - H(Z) on the capacity is attained for
    distances on a line or a circle; for others the channel may have less [WXH Cor. 5, an upper bound].

    Parameters
    ----------
    k : int
        Number of outputs, >= 1.
    capacity : float
        Budget in nats, >= 0; from log k on no noise is needed and λ = inf.

    Returns
    -------
    float
        λ between 0 and inf, rounded to the private side.

    Raises
    ------
    InvalidParameter
        If k or capacity is out of range.

    Examples
    --------
    >>> [round(calibrate_exponential(5, eps), 4) for eps in (0.1, 0.5, 1.0)]
    [0.327, 0.8585, 1.6366]
    """
    k, capacity = whole_number("k", k, 1), nats("capacity", capacity)
    # log k - H(Z) <= λ²(k²-1)/24.
    steepest = max(k * k - 1, 1) / 24
    return level_of_capacity(k, capacity, 0.5, partial(exponential_entropy, k), partial(_deficit, k), steepest)


def exponential_channel(
    n_symbols: int, *, capacity: float | None = None, rate: float | None = None, distance: Distance | ArrayLike = "line"
) -> Channel:
    """Channel P(y|x) ∝ exp(-λ rank), with the rank of y by its distance from x [WXH Def. 15].

    Guarantee
    ---------
    max over P_X of I(X;Y) <= log k - H(Z) <= capacity [WXH Cor. 4, 5], for the integers that are sampled: all
    ranks but the first are rounded up, which makes the distribution flatter and its entropy larger.

    Parameters
    ----------
    n_symbols : int
        Number of input symbols, >= 1.
    capacity : float, optional
        Budget in nats; λ is calibrated to it. Give this or ``rate``.
    rate : float, optional
        λ itself, >= 0; with inf the nearest output is always released.
    distance : {"line", "circle"} or array-like of shape (n, k)
        |x - y| on a line or around a circle, or a matrix of distances (ranks are distances too). Ties go to the lower
        index; on a circle they go to the right neighbour, which keeps the channel symmetric.

    Returns
    -------
    Channel
        From n to k outputs (k = n for a line or a circle).

    Raises
    ------
    InvalidParameter
        If both or neither of capacity and rate are given, or an argument is out of range.

    Examples
    --------
    >>> exponential_channel(3, rate=np.log(2), distance="circle").matrix.round(4)
    array([[0.5714, 0.2857, 0.1429],
           [0.1429, 0.5714, 0.2857],
           [0.2857, 0.1429, 0.5714]])
    """
    n_symbols = whole_number("n_symbols", n_symbols, 1)
    ranks = _ranks(n_symbols, distance)
    k = ranks.shape[1]
    if (capacity is None) == (rate is None):
        given = "neither" if rate is None else "both"
        raise InvalidParameter(f"give exactly one of capacity and rate, got {given}")
    if rate is None:
        rate = calibrate_exponential(k, capacity)  # type: ignore[arg-type]
    rate = nats("rate", rate)
    if math.isinf(rate) or k == 1:
        return Channel((Stage.deterministic(ranks.argmin(axis=1), k),))
    # Rounding must not raise a ratio of probabilities: all but the largest are rounded up, and it takes the remainder.
    with decimal.localcontext(decimal.Context(prec=60)):
        powers = list(accumulate(repeat((-Decimal(rate)).exp(), k - 1), operator.mul, initial=Decimal(1)))
        unit = SCALE / sum(powers, Decimal(0))
        tail_weights = [max(1, math.ceil(unit * power)) for power in powers[1:]]
    ladder = np.array([max(0, SCALE - sum(tail_weights)), *tail_weights], np.int64)
    if ladder[0] <= ladder[1]:  # flat up to rounding: one distribution for all inputs, which reveals nothing
        return Channel(uniform_distribution(n_symbols, k))
    return Channel((Stage.dense(ladder[ranks]),))


def _ranks(n_symbols: int, distance: Distance | ArrayLike) -> Codes:
    """Rank of each output by its distance from each input, shape (n, k); every row is a permutation."""
    distances, k = None, n_symbols
    if not isinstance(distance, str) or distance not in ("line", "circle"):
        error = InvalidParameter(
            f"distance must be 'line', 'circle' or a matrix of finite numbers >= 0 of shape ({n_symbols}, k)"
        )
        distances = doubles(distance, error)
        if distances.ndim != 2 or len(distances) != n_symbols or not distances.size:
            raise error
        if not np.isfinite(distances).all() or (distances < 0).any():
            raise error
        k = distances.shape[1]
    if n_symbols * k > CHANNEL_CELLS:
        raise InvalidParameter(
            f"an exponential channel from {n_symbols} to {k} symbols would be a matrix of more than 2^24 cells; "
            "merge or bin symbols first"
        )
    if distances is None:
        ahead = np.arange(n_symbols) - np.arange(n_symbols)[:, None]
        if distance == "circle":
            ahead %= n_symbols
            return np.where(2 * ahead <= n_symbols, np.maximum(2 * ahead - 1, 0), 2 * (n_symbols - ahead))
        distances = np.abs(ahead)
    return np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1, kind="stable")


def _deficit(k: int, rate: float) -> float:
    """Return F(kλ/2) - F(λ/2) = log k - H(Z), F(x) = x coth x - 1 - log(sinh x / x), accurate to the last digits."""
    return _growth(k * rate / 2) - _growth(rate / 2)


def _growth(x: float) -> float:
    """Return the function F of `_deficit` at x, from its series x²/6 - x⁴/60 + ... for small x."""
    if x < 0.5:
        return float(_SERIES @ (x * x) ** _ORDERS)
    return _share(2 * x) - 1 + math.log(2 * x) - math.log1p(-math.exp(-2 * x))


def _share(x: float) -> float:
    """Return x / (e^x - 1); 0 if e^x overflows."""
    return x / math.expm1(x) if x < 700 else 0.0
