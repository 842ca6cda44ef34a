"""Certified capacity of Y = X + N(0, 1) under a bound on the amplitude of X, and capacity under a bound on the power.

The best input is discrete with few points (Smith 1971). The known shape of the best inputs gives approximate places for
the points; at amplitudes where a new point appears in the middle, the best input of a nearby amplitude does. Newton's
method on the optimality conditions D(x) = C and D'(x) = 0, with D(x) = KL(N(x, 1) || q), then moves the points to their
exact places. Whatever these steps do, any input distribution p proves I(p) <= C <= max_x D(x).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from sanitize._util.checks import Vector, doubles, number
from sanitize._util.limits import CHANNEL_CELLS
from sanitize.core.capacity._blahut_arimoto import DenseKernel, solve
from sanitize.core.capacity._capacity import check_tol
from sanitize.core.capacity._half_line import (
    TAIL,
    AmplitudeCapacity,
    HalfLine,
    density_at,
    fold_input,
    refine_input,
    starts_from_shape,
)
from sanitize.errors import InvalidParameter

# Step of the quadrature for known points. These may lie 40 apart, and between distant points the zeros of q come nearer
# to the axis than for the best input.
_FINE_STEP = 0.02
# The capacity is about 3 nats here, and Newton's method takes a second; a limit beyond that hardly protects anyone.
LARGEST_AMPLITUDE = 40.0
# Newton's method ignores directions in which the conditions change by less than these shares of the steepest change,
# one share after another: flat directions mislead it until the steep ones have settled.
_BLUNT = (1e-6, 1e-7, None)
# Above the first amplitude, moving points in the middle changes nothing that doubles show, and the second gap is
# enough.
_FAR_ENDS, _WITHIN = 17.0, 1e-8
# Nearby amplitudes, as shares of the given one, whose best inputs are tried if no other start was good enough: Newton's
# method may fail exactly where the best input gets a further point.
_BESIDE = (0.99, 1.01, 0.97, 1.03)
# More values than this differ little from a whole interval, and make the dense matrix of the channel too large.
_MOST_KNOWN = 4096


def amplitude_capacity(amplitude: float, tol: float = 1e-9) -> AmplitudeCapacity:
    """Capacity max I(X; X + Z) over distributions of |X| <= A, with Z standard normal, in nats [Smith].

    For noise of variance N and a query of half-range T, use A = T / sqrt(N). [WXH Cor. 6] prints log(1 + A^2)/2 as an
    equality; **corrected**: that is an upper bound only, attained by an input bounded in power, and the true capacity
    is 97 % of it at A = 1 and 76 % at A = 10.

    Parameters
    ----------
    amplitude : float
        A, between 0 and 40.
    tol : float
        Requested width of the bracket, in nats, > 0. The bracket returned always holds; it may be wider
        than ``tol`` where doubles allow no better (1e-12; 1e-8 for amplitudes above 17).

    Returns
    -------
    AmplitudeCapacity
        Value, upper bound, and the few points of the optimal input. For large amplitudes, moving the points in the
        middle may change nothing that doubles can represent.

    Raises
    ------
    InvalidParameter
        If the amplitude is negative, too large or not a number, or tol is not positive.

    Examples
    --------
    >>> found = amplitude_capacity(2.0)
    >>> round(found.value, 8), found.gap < 1e-9, found.points.round(4).tolist()
    (0.65286881, True, [-2.0, 0.0, 2.0])
    """
    return capacity_near(number("amplitude", amplitude, 0, LARGEST_AMPLITUDE), None, check_tol(tol))


def awgn_capacity(power: float, noise_variance: float = 1.0) -> float:
    """Capacity log(1 + P/N)/2 of Y = X + Z with E X² <= P and Z normal of variance N, in nats [WXH Cor. 6].

    A normal input attains it. An input bounded in amplitude, |X| <= √P, carries less: see `amplitude_capacity`.

    Parameters
    ----------
    power : float
        P, >= 0.
    noise_variance : float
        N, > 0 and finite.

    Returns
    -------
    float
        Nats, >= 0; inf for unbounded power.

    Raises
    ------
    InvalidParameter
        If an argument is out of its range.

    Examples
    --------
    >>> round(awgn_capacity(1.0), 6), round(amplitude_capacity(1.0).value, 6)
    (0.346574, 0.336831)
    """
    p = number("power", power, 0, math.inf)
    n = number("noise_variance", noise_variance, sys.float_info.min, sys.float_info.max)
    return math.log1p(p / n) / 2


def capacity_near(amplitude: float, neighbour: AmplitudeCapacity | None, tol: float = 1e-9) -> AmplitudeCapacity:
    """Return `amplitude_capacity`, starting from the best input of a nearby amplitude if one is given."""
    if amplitude == 0:
        return AmplitudeCapacity(0.0, 0.0, np.zeros(1), np.ones(1))
    line = HalfLine.from_amplitude(amplitude)
    starts = chain(
        () if neighbour is None else _shift_neighbour(line, neighbour), _first_brackets(line), _nearby_brackets(line)
    )
    enough = max(tol, _WITHIN) if amplitude > _FAR_ENDS else tol
    best = next(starts)
    while best.gap > enough and (candidate := next(starts, None)) is not None:
        best = min(best, candidate, key=lambda bracket: bracket.gap)
    return best


def _first_brackets(line: HalfLine) -> Iterator[AmplitudeCapacity]:
    """Yield brackets of the capacity: of the input on the two ends, then of refined guesses of the best input."""
    yield line.certify(np.array([line.amplitude]), np.ones(1))
    for start in starts_from_shape(line.amplitude):
        yield from _settling(line, *start, _BLUNT)


def _shift_neighbour(line: HalfLine, neighbour: AmplitudeCapacity) -> Iterator[AmplitudeCapacity]:
    """Yield brackets of the capacity from the best input of a nearby amplitude, refined by Newton's method."""
    u, w = fold_input(neighbour)
    yield from _settling(line, np.append(u[:-1] * (line.amplitude / u[-1]), line.amplitude), w, _BLUNT[1:])


def _nearby_brackets(line: HalfLine) -> Iterator[AmplitudeCapacity]:
    """Yield brackets of the capacity that start from the best inputs found for nearby amplitudes."""
    for share in _BESIDE:
        neighbour = min(
            _first_brackets(HalfLine.from_amplitude(share * line.amplitude)), key=lambda bracket: bracket.gap
        )
        yield from _shift_neighbour(line, neighbour)


def _settling(line: HalfLine, u: Vector, w: Vector, blunts: tuple[float | None, ...]) -> Iterator[AmplitudeCapacity]:
    """Yield a bracket of the capacity after each of several runs of Newton's method, one per value of ``blunts``."""
    for blunt in blunts:
        bracket = refine_input(line, u, w, blunt)
        yield bracket
        u, w = fold_input(bracket)


def known_values_capacity(points: ArrayLike, tol: float = 1e-9) -> AmplitudeCapacity:
    """Capacity max I(X; X + Z) over distributions on k known points, Z standard normal, in nats; at most log k.

    Parameters
    ----------
    points : array-like of shape (k,)
        Possible values of X, in units of the noise's standard deviation; finite and distinct.
    tol : float
        Requested width of the bracket, in nats, > 0.

    Returns
    -------
    AmplitudeCapacity

    Raises
    ------
    InvalidParameter
        If the points are not finite numbers, are too many (4096), or lie so far apart that the output would
        need more than 2^24 cells.

    Examples
    --------
    >>> round(known_values_capacity([-2.0, 2.0]).value, 6)
    0.63272
    """
    x = np.unique(doubles(points, InvalidParameter("points must be numbers")))
    if not 0 < len(x) <= _MOST_KNOWN or not np.isfinite(x).all():
        raise InvalidParameter(
            f"points must be 1 to {_MOST_KNOWN} different finite numbers, got {len(x)} different values"
        )
    tol = check_tol(tol)
    centred = x - (x[0] + x[-1]) / 2
    # Far from every point the density is below 1e-19 and contributes nothing, so no nodes are placed there.
    window = np.arange(-math.ceil(TAIL / _FINE_STEP), math.ceil(TAIL / _FINE_STEP) + 1)
    nodes = np.unique(np.rint(centred / _FINE_STEP)[:, None] + window) * _FINE_STEP
    if len(nodes) * len(x) > CHANNEL_CELLS:
        raise InvalidParameter(
            f"points must be fewer or closer together: {len(x)} points in a range of {x[-1] - x[0]:g} need too much "
            "memory"
        )
    rows = density_at(nodes - centred[:, None]) * _FINE_STEP
    bracket = solve(DenseKernel(rows / rows.sum(axis=1, keepdims=True)), tol)
    return AmplitudeCapacity(bracket.lower, bracket.upper, x, bracket.distribution)
