"""Numbers from what users pass: a parameter out of its range is named, with the range and the value given."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sanitize.errors import InvalidDistribution, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")
_LARGEST = 1 << 53
_LONGEST = 60

# Rounding that a sum of probabilities may have.
_SUM_TOLERANCE = 1e-9


def number(name: str, value: object, low: float, high: float) -> float:
    """The value as a float within ``[low, high]``; an infinite end of the range is itself legal.

    Raises
    ------
    InvalidParameter
        If it is not a real number, is NaN, or lies outside the range.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(f"{name} must be a number between {low:g} and {high:g}, got {type(value).__name__}")
    try:
        given = float(value)
    except OverflowError:
        raise InvalidParameter(f"{name} must lie between {low:g} and {high:g}, got more than a double holds") from None
    if not low <= given <= high:
        raise InvalidParameter(f"{name} must lie between {low:g} and {high:g}, got {given:.12g}")
    return given


def whole_number(name: str, value: object, low: int) -> int:
    """The value as an int of at least ``low``, and no larger than doubles count.

    Raises
    ------
    InvalidParameter
        If it is not a whole number or is too small.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise InvalidParameter(f"{name} must be a whole number >= {low}, got {_shown(value)}")
    if int(value) > _LARGEST:
        raise InvalidParameter(f"{name} must be a whole number from {low} to 2**53, got {_shown(value)}")
    return int(value)


def _shown(value: object) -> str:
    """The value, or its type where it is longer than a message."""
    if isinstance(value, Integral) and abs(int(value)) > _LARGEST:
        return "one of more than 15 digits"
    text = repr(value)
    return text if len(text) <= _LONGEST else type(value).__name__


def listed(name: str, values: Iterable[T]) -> list[T]:
    """The values as a list.

    Raises
    ------
    InvalidParameter
        If they are no sequence, as when one value was passed where several are expected.
    """
    try:
        return list(values)
    except TypeError:
        raise InvalidParameter(f"{name} must be a list, as [value] for one, got {type(values).__name__}") from None


def exp(value: float) -> float:
    """e**value, inf where a double cannot hold it."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def expm1(value: float) -> float:
    """e**value - 1, inf where a double cannot hold it."""
    try:
        return math.expm1(value)
    except OverflowError:
        return math.inf


def positive(name: str, value: object) -> float:
    """The value as a float above 0, infinity included.

    Raises
    ------
    InvalidParameter
        If it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
        raise InvalidParameter(f"{name} must be a number > 0, got {value!r}")
    return float(value)


def probabilities(prior: ArrayLike, name: str = "prior") -> NDArray[np.float64]:
    """Probability vector (n,), entries >= 0 that sum to 1.

    Raises
    ------
    InvalidDistribution
        If it is not one.
    """
    try:
        p = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidDistribution(f"{name} must be a vector of probabilities") from None
    if p.ndim != 1 or not p.size:
        raise InvalidDistribution(f"{name} must be a vector of probabilities, got shape {p.shape}")
    if not np.isfinite(p).all() or (p < 0).any():
        raise InvalidDistribution(f"{name} must have finite entries >= 0")
    with np.errstate(over="ignore"):
        total = float(p.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise InvalidDistribution(f"{name} must sum to 1, got {total:.12g}")
    return p / p.sum()


def nats(name: str, value: object) -> float:
    """A level in nats: a number >= 0, infinity included.

    Raises
    ------
    InvalidParameter
        If it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise InvalidParameter(f"{name} must be a number of nats >= 0 (inf is allowed), got {value!r}")
    return float(value)


def probability(name: str, value: object) -> float:
    """A probability: a number in [0, 1].

    Raises
    ------
    InvalidParameter
        If it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InvalidParameter(f"{name} must lie in [0, 1], got {value!r}")
    return float(value)
