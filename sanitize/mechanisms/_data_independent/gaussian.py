"""Gaussian channel calibrated to a capacity and rounded to a grid, as a finite channel."""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from sanitize._util.checks import Vector, check_choice, check_number, doubles, nats
from sanitize._util.limits import CHANNEL_CELLS
from sanitize.core.alphabet import Alphabet
from sanitize.core.capacity import LARGEST_AMPLITUDE, amplitude_capacity, capacity_near, known_values_capacity
from sanitize.core.channel import SCALE, Channel, Stage
from sanitize.errors import InvalidParameter
from sanitize.mechanisms._data_independent.randomized_response import NOTHING, root

Method = Literal["exact", "closed_form"]

# A capacity is an integral of up to A²/2 = 800 nats, which may come out larger by this share on another machine. From
# _LARGE on (amplitudes above 12), brackets of capacities are only known to be 1e-8 wide.
_ROUNDING, _LARGE, _WIDE = 1e-12, 1.91, 1e-8


def gaussian_noise_variance(
    half_range: float, capacity: float, method: Method = "exact", *, values: ArrayLike | None = None
) -> float:
    """Least variance N of Gaussian noise Z that keeps the capacity of Y = f + Z, |f| <= T, within a budget.

    ``exact`` solves C(T/√N) = ε with the amplitude-constrained capacity C [Smith]; ``closed_form`` is N = T²/(e^{2ε} -
    1). **Corrected**: [WXH Cor. 6] prints the latter as the capacity itself. That expression is an upper bound on the
    capacity (the input is bounded in amplitude, not in power), so the noise is sufficient, but its variance is more
    than needed: twice as much at ε = 1, three times at ε = 2. T is half the range of f, after centring.

    Parameters
    ----------
    half_range : float
        T, finite and >= 0.
    capacity : float
        ε in nats, >= 0. At 0 no finite noise suffices and N = inf.
    method : {"exact", "closed_form"}
        ``exact`` takes at most 3 nats.
    values : array-like of shape (k,), optional
        Possible values of f, if they are known: even less noise is then enough, and none from log k nats on. Used by
        ``exact`` only.

    Returns
    -------
    float
        Variance N in the squared unit of f, rounded to the private side: the certified upper end of the capacity is
        within the budget.

    Raises
    ------
    InvalidParameter
        If an argument is out of range, or the values do not lie in an interval of length 2T.

    Examples
    --------
    >>> [round(gaussian_noise_variance(1.0, 1.0, method), 6) for method in ("exact", "closed_form")]
    [0.075982, 0.156518]
    >>> round(gaussian_noise_variance(1.0, 1.0, values=[-1, 0, 1]), 6)
    0.068818
    """
    epsilon = nats("capacity", capacity)
    t = check_number("half_range", half_range, "be a finite number >= 0", lambda value: 0 <= value < math.inf)
    check_choice("method", method, "exact", "closed_form")
    levels = None
    if values is not None:
        x = np.unique(_numbers(values))
        levels = x - (x[0] + x[-1]) / 2
        if levels[-1] > t * (1 + 1e-12):
            raise InvalidParameter(
                f"values must lie within half_range = {t:g} of their middle, got a range of width {2 * levels[-1]:g}"
            )
    if t == 0 or math.isinf(epsilon):
        return 0.0
    if epsilon < NOTHING:
        return math.inf
    if method == "closed_form":
        return _variance(t, math.sqrt(math.expm1(2 * epsilon)) if epsilon < 350 else math.exp(350))
    if levels is not None and epsilon >= math.log(len(levels)):
        return 0.0
    amplitude = _interval_amplitude(epsilon) if levels is None else _levels_amplitude(levels / t, epsilon)
    return _variance(t, amplitude)


def gaussian_channel(
    values: ArrayLike, capacity: float, *, step: float, reach: float = 4.0, method: Method = "exact"
) -> Channel:
    """Channel that adds Gaussian noise to a known set of numbers and rounds to a grid: a finite channel.

    Guarantee
    ---------
    max over P_X of I(X;Y) <= capacity. The noise is calibrated for the continuous channel; rounding to the
    grid and folding both tails into the end points only process its output. Probabilities are integers over
    2^62 read off the normal distribution, and every leakage of the release is computed from them.

    Parameters
    ----------
    values : array-like of shape (n,)
        Possible values of X, strictly ascending; n >= 2. With ``exact``, noise is computed for these values if there
        are at most 32; otherwise all numbers between the ends count as possible. T is half of the range.
    capacity : float
        Budget in nats, > 0 (at 0 no finite noise suffices).
    step : float
        Distance between the points of the output grid, > 0. The grid starts at the first value.
    reach : float
        Number of standard deviations by which the grid extends beyond the values, >= 0. Numbers outside are released as
        the end point, which causes a bias near the ends but none in the middle. 0 keeps releases within the range.
    method : {"exact", "closed_form"}
        ``exact`` uses noise of the least variance, for a capacity of at most 3 nats; ``closed_form`` uses a larger one.

    Returns
    -------
    Channel
        Inputs are the values, outputs the points of the grid.

    Raises
    ------
    InvalidParameter
        If an argument is out of range, or the channel would have more than 2^24 entries.

    Examples
    --------
    >>> channel = gaussian_channel([0.0, 1.0, 2.0], 0.5, step=1.0, reach=0)
    >>> channel.outputs.symbols, channel.matrix[1].round(3).tolist()
    ((0.0, 1.0, 2.0), [0.24, 0.52, 0.24])
    """
    x = _numbers(values) + 0.0
    if len(x) < 2 or (np.diff(x) <= 0).any():
        raise InvalidParameter("values must be two or more numbers in strictly ascending order")
    epsilon = nats("capacity", capacity)
    if epsilon < NOTHING:
        raise InvalidParameter(
            f"capacity must be > 0, got {epsilon:g}: no finite noise is enough for a capacity of 0; release nothing"
        )
    step = check_number("step", step, "be a finite number > 0", lambda value: 0 < value < math.inf)
    reach = check_number("reach", reach, "be a finite number >= 0", lambda value: 0 <= value < math.inf)
    # With more known values the whole interval, which is faster to compute, needs barely more noise.
    levels = x if len(x) <= 32 else None
    half_range = float(x[-1] - x[0]) / 2
    if epsilon >= math.log(len(x)) and method == "exact":
        deviation = 0.0
    else:
        deviation = math.sqrt(gaussian_noise_variance(half_range, epsilon, method, values=levels))
    spans = reach * deviation / step, (x[-1] - x[0]) / step - 1e-9
    beyond, between = (math.ceil(min(span, CHANNEL_CELLS)) for span in spans)
    n_points = 2 * beyond + between + 1
    if n_points * len(x) > CHANNEL_CELLS:
        raise InvalidParameter(
            f"the channel would have {len(x)} x {n_points} entries, more than 2^24; take a larger step or a "
            "smaller reach"
        )
    grid = x[0] + step * np.arange(-beyond, n_points - beyond)
    inputs, outputs = Alphabet(("x",), x.tolist()), Alphabet(("y",), (grid + 0.0).tolist())
    if deviation == 0 or n_points == 1:
        nearest = np.abs(x[:, None] - grid).argmin(axis=1)
        return Channel((Stage.deterministic(nearest, n_points),), inputs, outputs)
    weights = _cells((grid[:-1] + step / 2 - x[:, None]) / deviation)
    return Channel((Stage.dense(weights),), inputs, outputs)


def _cells(edges: Vector) -> NDArray[np.int64]:
    """Return integer probabilities of the cells between edges (n, k - 1); outer cells are open, rows sum to 2^62."""
    tail = np.rint(ndtr(-np.abs(edges)) * SCALE).astype(np.int64)  # both tails keep their digits
    below = np.where(edges <= 0, tail, SCALE - tail)
    weights = np.diff(below, axis=1, prepend=0, append=SCALE)
    # A normal distribution reaches every cell: cells with mass below 2^-63 get one unit, taken from the largest cell.
    lifted: NDArray[np.int64] = np.maximum(weights, 1)
    largest = weights.argmax(axis=1)
    lifted[np.arange(len(lifted)), largest] -= (lifted - weights).sum(axis=1)
    return lifted


def _variance(half_range: float, amplitude: float) -> float:
    """Variance N = (T/A)², rounded up, so that it stays positive if the square underflows."""
    deviation = half_range / amplitude
    return max(deviation * deviation * (1 + 8 * sys.float_info.epsilon), sys.float_info.min)


def _interval_amplitude(eps: float) -> float:
    """Largest amplitude A with C(A) <= ε, searched between the amplitudes at which bounds of C(A) equal ε.

    The upper bounds are C(A) <= log(1 + A²)/2, by bounded power, and C(A) <= log(1 + A √(2/(πe))), which is close to C
    for large A [McKellips].
    """
    most = 3.0  # C(40) is 3.01 nats
    if eps > most:
        raise InvalidParameter(
            f"method='exact' takes a capacity of at most {most:g} nats, got {eps}; use "
            "method='closed_form', which takes any capacity"
        )
    power, uniform = math.sqrt(math.expm1(2 * eps)), math.sqrt(math.pi * math.e / 2)
    low = max(power, math.expm1(eps) * uniform)
    high = min(LARGEST_AMPLITUDE, power * uniform * (1 + 1e-9))

    last = None

    @cache
    def log_ratio(log_amplitude: float) -> float:
        nonlocal last
        last = capacity_near(math.exp(log_amplitude), last)
        return math.log(last.upper / eps)

    # Once ε is no longer small, the amplitude exceeds its lower bound by less than this.
    near = low + 0.08  # the guess is tested
    if near < high and log_ratio(math.log(near)) > 0:
        high = near
    rounding = _ROUNDING if eps < _LARGE else _WIDE
    return math.exp(root(log_ratio, math.log(low * (1 - 1e-9)), math.log(high), rounding))


def _levels_amplitude(units: Vector, eps: float) -> float:
    """Largest A for which an input on the values A u, |u| <= 1, has a capacity of at most ε < log k."""
    if eps <= amplitude_capacity(1.665).value:  # the best input on the interval uses the two outer values alone
        return _interval_amplitude(eps) / float(units[-1])

    def log_ratio(log_amplitude: float) -> float:
        return math.log(known_values_capacity(math.exp(log_amplitude) * units, 1e-11).upper / eps)

    low = math.log(math.expm1(2 * eps)) / 2 - 1e-6
    high = low + 1
    while log_ratio(high) < -_ROUNDING:
        high += 1
        # Values this many standard deviations apart are never confused, as far as doubles can tell.
        if math.exp(high) * np.diff(units).min() > 40.0:
            return math.exp(high - 1)
    return math.exp(root(log_ratio, low, high, _ROUNDING))


def _numbers(values: ArrayLike) -> Vector:
    """Return the values as a vector of finite numbers; refuse anything else."""
    x = doubles(values, InvalidParameter("values must be numbers"))
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        n_bad = int(np.count_nonzero(~np.isfinite(x)))
        raise InvalidParameter(
            f"values must be a one-dimensional array of finite numbers, got shape {x.shape} and {n_bad} entries "
            "that are infinite or NaN"
        )
    return x
