"""Checks of numbers that users pass; errors name the parameter, its range and the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sanitize._util.tolerances import PROBABILITY_SUM
from sanitize.errors import InvalidDistribution, InvalidParameter, SanitizeError

T = TypeVar("T")

# Short names of array types, because nearly every signature needs one.
Vector = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]

# The largest 64-bit integer: NumPy and Arrow index arrays by it, so that no count of rows or symbols can be larger.
_LARGEST_COUNT = (1 << 63) - 1


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a real number of Python or NumPy; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether the value is an integer of Python or NumPy; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def double(value: float) -> float | None:
    """Return the number as a double; None if it is an integer or fraction too large for a double."""
    try:
        return float(value)
    except OverflowError:
        return None


def doubles(values: object, error: SanitizeError) -> NDArray[np.float64]:
    """Return the values as an array of doubles; refuse other types and ragged rows without quoting a value."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise error from None


def short_repr(value: object) -> str:
    """Value as quoted in an error; huge integers are described, because Python refuses to format them."""
    longest = 60
    if is_whole(value) and abs(int(value)) >= 10**longest:
        return f"a whole number of more than {longest} digits"
    return repr(value)


def check_number(name: str, value: object, legal: str, holds: Callable[[float], bool]) -> float:
    """Return the value as a float if it passes a test; otherwise raise "<name> must <legal>".

    Raises
    ------
    InvalidParameter
        If the value is not a real number, no double can hold it, or it fails the test, as NaN does in every comparison.
    """
    amount = double(value) if is_number(value) else None
    if amount is None or not holds(amount):
        raise InvalidParameter(f"{name} must {legal}, got {short_repr(value)}")
    return amount


def number(name: str, value: object, low: float, high: float) -> float:
    """Return the value as a float within ``[low, high]``; an infinite end belongs to the range.

    Raises
    ------
    InvalidParameter
        If the value is not a real number, is NaN, or lies outside the range.
    """
    return check_number(name, value, f"be a number from {low:g} to {high:g}", lambda amount: low <= amount <= high)


def whole_number(name: str, value: object, low: int, high: int = _LARGEST_COUNT) -> int:
    """Return the value as an int from ``low`` to ``high``, at most the largest 64-bit integer.

    Raises
    ------
    InvalidParameter
        If the value is not a whole number, or is too small or too large.
    """
    if is_whole(value) and low <= int(value) <= high:
        return int(value)
    too_large = is_whole(value) and int(value) > high
    legal = f"from {low} to {high}" if too_large or high < _LARGEST_COUNT else f">= {low}"
    raise InvalidParameter(f"{name} must be a whole number {legal}, got {short_repr(value)}")


def check_choice(name: str, value: object, *legal: str) -> None:
    """Refuse a value that is not one of the listed words.

    Raises
    ------
    InvalidParameter
        If the value is not one of the words.
    """
    if value not in legal:
        *choices, last = map(repr, legal)
        raise InvalidParameter(f"{name} must be {', '.join(choices)} or {last}, got {value!r}")


def as_list(name: str, values: Iterable[T]) -> list[T]:
    """Return iterable values as a list; refuse anything else.

    Raises
    ------
    InvalidParameter
        If the values are not iterable, for example if one number was passed where several are expected.
    """
    try:
        return list(values)
    except TypeError:
        raise InvalidParameter(
            f"{name} must be a list, such as [value] for one value, got {type(values).__name__}"
        ) from None


def or_infinity(function: Callable[[float], float], value: float) -> float:
    """Apply a function to a number; return infinity if the result overflows a double."""
    try:
        return function(value)
    except OverflowError:
        return math.inf


def exp(value: float) -> float:
    """Return e**value, or inf if the result is too large for a double."""
    return or_infinity(math.exp, value)


def expm1(value: float) -> float:
    """Return e**value - 1, or inf if the result is too large for a double."""
    return or_infinity(math.expm1, value)


def non_negative(name: str, value: object) -> float:
    """Return the value as a float if it is a number >= 0, infinity included; otherwise refuse it.

    Raises
    ------
    InvalidParameter
        If the value does not meet this condition.
    """
    return check_number(name, value, "be a number >= 0 (inf is allowed)", lambda amount: amount >= 0)


def positive(name: str, value: object) -> float:
    """Return the value as a float if it is a number > 0, infinity included; otherwise refuse it.

    Raises
    ------
    InvalidParameter
        If the value does not meet this condition.
    """
    return check_number(name, value, "be a number > 0", lambda amount: amount > 0)


def probabilities(prior: ArrayLike, name: str = "prior") -> NDArray[np.float64]:
    """Return the values as a probability vector (n,); refuse entries < 0 or a sum other than 1.

    Raises
    ------
    InvalidDistribution
        If the value does not meet this condition.
    """
    p = doubles(prior, InvalidDistribution(f"{name} must be a vector of probabilities"))
    if p.ndim != 1 or not p.size:
        raise InvalidDistribution(f"{name} must be a vector of probabilities, got shape {p.shape}")
    return check_probabilities(p, name)


def check_probabilities(p: Vector, name: str, advice: str = "") -> Vector:
    """Return the values as probabilities of any array shape; refuse entries < 0 or a sum other than 1.

    Raises
    ------
    InvalidDistribution
        If the value does not meet this condition.
    """
    if not np.isfinite(p).all() or (p < 0).any():
        raise InvalidDistribution(f"{name} must have finite entries >= 0, got some that are negative, infinite or NaN")
    with np.errstate(over="ignore"):
        total = float(p.sum())
    if abs(total - 1) > PROBABILITY_SUM:
        raise InvalidDistribution(f"{name} must sum to 1, got {total:.12g}{advice}")
    return p / total


def nats(name: str, value: object) -> float:
    """Return a level in nats as a float if it is a number >= 0, infinity included; otherwise refuse it.

    Raises
    ------
    InvalidParameter
        If the value does not meet this condition.
    """
    return check_number(name, value, "be a number of nats >= 0 (inf is allowed)", lambda amount: amount >= 0)


def probability(name: str, value: object) -> float:
    """Return a probability as a float if it is a number in [0, 1]; otherwise refuse it.

    Raises
    ------
    InvalidParameter
        If the value does not meet this condition.
    """
    return check_number(name, value, "lie in [0, 1]", lambda amount: 0 <= amount <= 1)
