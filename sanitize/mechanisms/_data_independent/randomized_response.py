"""Randomized response, which keeps a symbol or replaces it by any other; calibrated to local DP or a capacity."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache, partial

import numpy as np
from scipy.special import xlogy

from sanitize._util.checks import is_number, nats, short_repr, whole_number
from sanitize._util.limits import LARGEST_LEVEL
from sanitize.core.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidBudget

# Share by which a figure may come out larger in another machine's arithmetic; calibrations stay this far below.
ROUNDING = 1e-13
# Capacities below this count as 0, because the squares in their formula leave the range of doubles.
NOTHING = 1e-290
# Calibrations differ only in this function from a noise level to a figure, such as a capacity.
_Figure = Callable[[float], float]


def randomized_response(n_symbols: int, eps: float) -> Channel:
    """Channel of ε-LDP randomized response on n symbols: keep X with probability e^ε / (e^ε + n - 1) [WXH §4.1].

    Guarantee
    ---------
    log P(y|x)/P(y|x') <= ε for all x, x', y, exactly: probabilities are rounded to the integers that are
    sampled so that no ratio exceeds e^ε. By data processing S is then ε-LDP too, usually with room to spare.

    Parameters
    ----------
    n_symbols : int
        Number n of symbols, at least 1; n = 2 is Warner's binary response.
    eps : float
        Local differential privacy of X in nats, finite and >= 0.

    Returns
    -------
    Channel
        One dense stage up to 256 symbols; above, two sparse stages with O(n) entries.

    Raises
    ------
    InvalidBudget
        If eps is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> randomized_response(3, np.log(2)).matrix.round(4)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    n_symbols = whole_number("n_symbols", n_symbols, 1)
    if not is_number(eps) or not (math.isfinite(eps) and eps >= 0):
        raise InvalidBudget(f"eps must be a finite number of nats >= 0, got {short_repr(eps)}")
    eps = float(eps)
    if n_symbols == 1:
        return Channel.identity(1)
    if n_symbols > 256:  # up to this many symbols, one dense stage is small and takes one random word per row
        return _two_stages(n_symbols, eps)
    # Every other symbol gets w = ceil(2^62 / (e^ε + n - 1)), so keeping has at most e^ε w.
    with decimal.localcontext(decimal.Context(prec=60)):
        other_weight = math.ceil(Decimal(SCALE) / (Decimal(min(eps, LARGEST_LEVEL)).exp() + (n_symbols - 1)))
    # The channel is uniform: units left over by rounding cannot be spread evenly, and the kept symbol must not get
    # them.
    keep = SCALE - (n_symbols - 1) * other_weight
    if keep < other_weight:
        return Channel(uniform_distribution(n_symbols, n_symbols))
    weights = np.full((n_symbols, n_symbols), other_weight, np.int64)
    np.fill_diagonal(weights, keep)
    return Channel((Stage.dense(weights),))


def randomized_response_capacity(n_symbols: int, eps: float) -> float:
    """Capacity log n - H(Z) of n-ary randomized response, with Z distributed as a row, in nats [WXH Cor. 3, 4].

    Every row is a permutation of one distribution and all columns have the same sum, so the uniform input attains the
    bound of [WXH Cor. 4]. For n = 2 this is log 2 - h(p) with flip probability p = 1/(1 + e^ε).

    Parameters
    ----------
    n_symbols : int
        Number of symbols, >= 1.
    eps : float
        Local differential privacy in nats, >= 0; inf keeps every symbol.

    Returns
    -------
    float
        Capacity in nats, between 0 and log n, with a small relative error down to ε = 1e-150.

    Raises
    ------
    InvalidParameter
        If n_symbols or eps is out of range.

    Examples
    --------
    >>> round(randomized_response_capacity(2, 2.0), 6), round(randomized_response_capacity(5, 1.0), 6)
    (0.327813, 0.109215)
    """
    n_symbols = whole_number("n_symbols", n_symbols, 1)
    eps = nats("eps", eps)
    if n_symbols == 1 or eps == 0:
        return 0.0
    if eps > 1:
        return math.log(n_symbols) - _response_entropy(n_symbols, eps)
    # With d the deviation of n P from 1, Σ (1 + d) log(1 + d) - d over n cells has no first-order terms that cancel.
    deviation = -math.expm1(eps) / (math.exp(eps) + n_symbols - 1)
    return (_information(-(n_symbols - 1) * deviation) + (n_symbols - 1) * _information(deviation)) / n_symbols


def calibrate_randomized_response(n_symbols: int, capacity: float) -> float:
    """Return the level ε at which n-ary randomized response has a given capacity log n - H(Z) [WXH Cor. 3, 4].

    **Corrected**: everything is in nats (the paper's interval (0, 1) for n = 2 is in bits), and from a capacity of log
    n on no noise is needed, so ε = inf.

    Parameters
    ----------
    n_symbols : int
        Number of symbols, >= 1. For n = 2 the flip probability is p* = 1/(1 + e^ε).
    capacity : float
        Budget in nats, >= 0.

    Returns
    -------
    float
        Local differential privacy in nats, between 0 and inf, rounded to the private side.

    Raises
    ------
    InvalidParameter
        If n_symbols or capacity is out of range.

    Examples
    --------
    >>> randomized_response(2, calibrate_randomized_response(2, 0.3681)).matrix.round(3)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    n_symbols = whole_number("n_symbols", n_symbols, 1)
    capacity = nats("capacity", capacity)
    entropy_at, capacity_at = partial(_response_entropy, n_symbols), partial(randomized_response_capacity, n_symbols)
    steepest = 1 / 8  # C <= ε²/8 for every ε-LDP channel
    return level_of_capacity(n_symbols, capacity, 1.0, entropy_at, capacity_at, steepest)


def level_of_capacity(
    n_symbols: int, capacity: float, turn: float, entropy_of: _Figure, capacity_of: _Figure, steepest: float
) -> float:
    """Return the noise level at which log n - H(Z) on n symbols equals a capacity; inf if no noise is needed.

    The capacity is at most ``steepest`` times the square of the level. Above the level ``turn``, near log n, the
    remaining entropy is accurate; below it, the capacity is.
    """
    if capacity >= math.log(n_symbols):
        return math.inf
    if capacity < NOTHING:
        return 0.0
    entropy = math.nextafter(math.log(n_symbols), math.inf) - capacity  # in case the logarithm was rounded down

    def log_ratio(log_level: float) -> float:
        level = math.exp(log_level)
        if level >= turn and entropy < capacity:
            return math.log(entropy / entropy_of(level))
        return math.log(capacity_of(level) / capacity)

    # Beyond the upper end H(Z) < 1e-25.
    return math.exp(root(log_ratio, math.log(capacity / steepest) / 2 - 1e-9, math.log(64 + math.log(n_symbols))))


def root(log_ratio: _Figure, low: float, high: float, rounding: float = ROUNDING) -> float:
    """Log of the parameter at which log(figure / budget) = -rounding, moved until the figure is within the budget.

    A root is exact only up to the last digits of the parameter, and a figure that jumps because of rounding or an early
    stop has no root. So the parameter is moved to the private (lower) side until its own figure fits.
    """
    from scipy.optimize import brentq

    log_ratio, step = cache(log_ratio), rounding / 8
    log_level: float = brentq(lambda parameter: log_ratio(parameter) + rounding, low, high, xtol=step, rtol=1e-15)
    while log_ratio(log_level) > -rounding:
        log_level -= step
        step *= 2
    return log_level


def _two_stages(n_symbols: int, eps: float) -> Channel:
    """Return the channel that keeps X with probability a, else draws any symbol; a/(1-a) <= (e^ε - 1) min P(draw)."""
    uniform = even_row(n_symbols)
    with decimal.localcontext(decimal.Context(prec=60)):
        odds = (Decimal(min(eps, LARGEST_LEVEL)).exp() - 1) * int(uniform.min()) / Decimal(SCALE)
        keep = min(math.floor(SCALE * odds / (1 + odds)), SCALE - 1)
    if keep == 0:
        return Channel(uniform_distribution(n_symbols, n_symbols))
    symbols = np.arange(n_symbols)
    indices = np.stack([symbols, np.full(n_symbols, n_symbols)], axis=1).ravel()
    weights = np.tile([keep, SCALE - keep], n_symbols)
    first = Stage(np.arange(0, 2 * n_symbols + 1, 2), indices, weights, n_symbols + 1)
    weights = np.concatenate([np.full(n_symbols, SCALE, np.int64), uniform])
    indptr = np.append(np.arange(n_symbols + 1), 2 * n_symbols)
    return Channel((first, Stage(indptr, np.concatenate([symbols, symbols]), weights, n_symbols)))


def even_row(n_symbols: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return n integers that sum to 2^62 and differ by at most one."""
    weights = np.full(n_symbols, SCALE // n_symbols, np.int64)
    weights[: SCALE % n_symbols] += 1
    return weights


def uniform_distribution(n_symbols: int, n_outputs: int) -> tuple[Stage, Stage]:
    """Return stages that draw from one uniform distribution for every input, so that even rounding reveals nothing."""
    draw = Stage(np.array([0, n_outputs]), np.arange(n_outputs, dtype=np.int32), even_row(n_outputs), n_outputs)
    return Stage.deterministic(np.zeros(n_symbols, np.int32), 1), draw


def _response_entropy(n_symbols: int, eps: float) -> float:
    """Entropy H(Z) of a row in nats, as a sum of positive terms that stays accurate if it is small."""
    odds = (n_symbols - 1) * math.exp(-eps)  # probability of a replacement over that of keeping
    return math.log1p(odds) + (odds * eps / (1 + odds) if odds else 0.0)


def _information(deviation: float) -> float:
    """Return (1 + d) log(1 + d) - d, from its series d^2/2 - d^3/6 + ... for small d."""
    if abs(deviation) > 0.03:
        return float(xlogy(1 + deviation, 1 + deviation)) - deviation
    return sum((-deviation) ** j / (j * (j - 1)) for j in range(2, 14))
