"""Numbers from what users pass: a parameter out of its range is named, with the range and the value given."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeVar

from sanitize.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def number(name: str, value: object, low: float, high: float) -> float:
    """The value as a float within ``[low, high]``; an infinite end of the range is itself legal.

    Raises
    ------
    InvalidParameter
        If it is not a real number, is NaN, or lies outside the range.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(f"{name} must be a number between {low:g} and {high:g}, got {type(value).__name__}")
    given = float(value)
    if not low <= given <= high:
        raise InvalidParameter(f"{name} must lie between {low:g} and {high:g}, got {given:.12g}")
    return given


def whole_number(name: str, value: object, low: int) -> int:
    """The value as an int of at least ``low``.

    Raises
    ------
    InvalidParameter
        If it is not a whole number or is too small.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise InvalidParameter(f"{name} must be a whole number >= {low}, got {value!r}")
    return int(value)


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
