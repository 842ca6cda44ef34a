"""k-ary randomized response: keep the symbol or replace it by any other, whatever the law of the data."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np

from sanitize._checks import is_number, whole_number
from sanitize.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidBudget

# Up to this many symbols one dense stage is small and draws one word a row; above, two sparse stages.
_DENSE_SYMBOLS = 256
# In nats; beyond this the odds of another symbol are one unit of 2^-62, and e^ε need not be known.
_LOOSEST = 1000


def randomized_response(n_symbols: int, eps: float) -> Channel:
    """ε-LDP randomized response over n symbols: keep with probability e^ε / (e^ε + n - 1) [WXH §4.1].

    Guarantee
    ---------
    log P(y|x)/P(y|x') <= ε for all x, x', y, exactly: probabilities are rounded to the integers that are
    sampled so that no ratio exceeds e^ε. By data processing S is then ε-LDP too, usually with room to spare.

    Parameters
    ----------
    n_symbols : int
        Symbols, at least 1; 2 is Warner's binary response.
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
    if not is_number(eps):
        raise InvalidBudget(f"eps must be a number of nats, got {type(eps).__name__}")
    if not (math.isfinite(eps) and eps >= 0):
        raise InvalidBudget(f"eps must be finite and >= 0, got {eps}")
    eps = float(eps)
    if n_symbols == 1:
        return Channel.identity(1)
    return _one_stage(n_symbols, eps) if n_symbols <= _DENSE_SYMBOLS else _two_stages(n_symbols, eps)


def _one_stage(n_symbols: int, eps: float) -> Channel:
    """Every other symbol gets w = ceil(2^62 / (e^ε + n - 1)), so keeping has at most e^ε w."""
    with decimal.localcontext(decimal.Context(prec=60)):
        other = math.ceil(Decimal(SCALE) / (Decimal(min(eps, _LOOSEST)).exp() + (n_symbols - 1)))
    # Uniform: the units left over by rounding cannot be spread evenly, the symbol kept must not gain them.
    keep = SCALE - (n_symbols - 1) * other
    if keep < other:
        return Channel(_constant(n_symbols))
    weights = np.full((n_symbols, n_symbols), other, np.int64)
    np.fill_diagonal(weights, keep)
    return Channel(
        (
            Stage(
                np.arange(0, n_symbols * n_symbols + 1, n_symbols),
                np.tile(np.arange(n_symbols), n_symbols),
                weights.ravel(),
                n_symbols,
            ),
        )
    )


def _two_stages(n_symbols: int, eps: float) -> Channel:
    """Keep with probability a, else draw from all n symbols; a/(1-a) <= (e^ε - 1) times the least of the draw."""
    uniform = _uniform(n_symbols)
    with decimal.localcontext(decimal.Context(prec=60)):
        odds = (Decimal(min(eps, _LOOSEST)).exp() - 1) * int(uniform.min()) / Decimal(SCALE)
        keep = min(math.floor(SCALE * odds / (1 + odds)), SCALE - 1)
    if keep == 0:
        return Channel(_constant(n_symbols))
    symbols = np.arange(n_symbols)
    first = Stage(
        np.arange(0, 2 * n_symbols + 1, 2),
        np.stack([symbols, np.full(n_symbols, n_symbols)], axis=1).ravel(),
        np.tile([keep, SCALE - keep], n_symbols),
        n_symbols + 1,
    )
    second = Stage(
        np.append(np.arange(n_symbols + 1), 2 * n_symbols),
        np.concatenate([symbols, symbols]),
        np.concatenate([np.full(n_symbols, SCALE, np.int64), uniform]),
        n_symbols,
    )
    return Channel((first, second))


def _uniform(n_symbols: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Integers that sum to 2^62 and differ by at most one."""
    weights = np.full(n_symbols, SCALE // n_symbols, np.int64)
    weights[: SCALE % n_symbols] += 1
    return weights


def _constant(n_symbols: int) -> tuple[Stage, Stage]:
    """Every input draws from the same uniform law: no leakage at all, rounding included."""
    return (
        Stage.deterministic(np.zeros(n_symbols, np.int32), 1),
        Stage(np.array([0, n_symbols]), np.arange(n_symbols, dtype=np.int32), _uniform(n_symbols), n_symbols),
    )
