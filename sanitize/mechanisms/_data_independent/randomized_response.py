"""k-ary randomized response: keep the symbol or replace it by any other, whatever the law of the data."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np

from sanitize.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidBudget, InvalidParameter

# Up to this many symbols one dense stage is small and draws one word a row; above, two sparse stages.
_DENSE_SYMBOLS = 256
# In nats; beyond this the odds of another symbol are one unit of 2^-62, and e^ε need not be known.
_LOOSEST = 1000


def randomized_response(n: int, epsilon: float) -> Channel:
    """ε-LDP randomized response over n symbols: keep with probability e^ε / (e^ε + n - 1) [WXH §4.1].

    Guarantee
    ---------
    log P(y|x)/P(y|x') <= ε for all x, x', y, exactly: probabilities are rounded to the integers that are
    sampled so that no ratio exceeds e^ε. By data processing S is then ε-LDP too, usually with room to spare.

    Parameters
    ----------
    n : int
        Symbols, at least 1; 2 is Warner's binary response.
    epsilon : float
        Local differential privacy of X in nats, finite and >= 0.

    Returns
    -------
    Channel
        One dense stage up to 256 symbols; above, two sparse stages with O(n) entries.

    Raises
    ------
    InvalidBudget
        If epsilon is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> randomized_response(3, np.log(2)).matrix.round(4)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InvalidParameter(f"n must be a whole number of symbols >= 1, got {n!r}")
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, np.floating, np.integer)):
        raise InvalidBudget(f"epsilon must be a number of nats, got {type(epsilon).__name__}")
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InvalidBudget(f"epsilon must be finite and >= 0, got {epsilon}")
    n, epsilon = int(n), float(epsilon)
    if n == 1:
        return Channel.identity(1)
    return _one_stage(n, epsilon) if n <= _DENSE_SYMBOLS else _two_stages(n, epsilon)


def _one_stage(n: int, epsilon: float) -> Channel:
    """Every other symbol gets w = ceil(2^62 / (e^ε + n - 1)), so keeping has at most e^ε w."""
    with decimal.localcontext(decimal.Context(prec=60)):
        other = math.ceil(Decimal(SCALE) / (Decimal(min(epsilon, _LOOSEST)).exp() + (n - 1)))
    # Uniform: the units left over by rounding cannot be spread evenly, the symbol kept must not gain them.
    keep = SCALE - (n - 1) * other
    if keep < other:
        return Channel(_constant(n))
    weights = np.full((n, n), other, np.int64)
    np.fill_diagonal(weights, keep)
    return Channel((Stage(np.arange(0, n * n + 1, n), np.tile(np.arange(n), n), weights.ravel(), n),))


def _two_stages(n: int, epsilon: float) -> Channel:
    """Keep with probability a, else draw from all n symbols; a/(1-a) <= (e^ε - 1) times the least of the draw."""
    uniform = _uniform(n)
    with decimal.localcontext(decimal.Context(prec=60)):
        odds = (Decimal(min(epsilon, _LOOSEST)).exp() - 1) * int(uniform.min()) / Decimal(SCALE)
        keep = min(math.floor(SCALE * odds / (1 + odds)), SCALE - 1)
    if keep == 0:
        return Channel(_constant(n))
    symbols = np.arange(n)
    first = Stage(
        np.arange(0, 2 * n + 1, 2),
        np.stack([symbols, np.full(n, n)], axis=1).ravel(),
        np.tile([keep, SCALE - keep], n),
        n + 1,
    )
    second = Stage(
        np.append(np.arange(n + 1), 2 * n),
        np.concatenate([symbols, symbols]),
        np.concatenate([np.full(n, SCALE, np.int64), uniform]),
        n,
    )
    return Channel((first, second))


def _uniform(n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Integers that sum to 2^62 and differ by at most one."""
    weights = np.full(n, SCALE // n, np.int64)
    weights[: SCALE % n] += 1
    return weights


def _constant(n: int) -> tuple[Stage, Stage]:
    """Every input draws from the same uniform law: no leakage at all, rounding included."""
    return (
        Stage.deterministic(np.zeros(n, np.int32), 1),
        Stage(np.array([0, n]), np.arange(n, dtype=np.int32), _uniform(n), n),
    )
