"""Conversion of ordered values to numbers and back, the units of these numbers, and round edges between them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._util.checks import Mask, Vector
from sanitize.tables.columns import ArrowColumn, cast_values, hashable_storage, value_type

# Least number of rows that share a value that may be written: fewer rows could be traced to people.
LEAST_ROWS = 10
# One row changes the square root of the counted rows by 1 / sqrt(_FADE); chance varies that of a count by about 1/2.
_FADE = 8.0
# Beyond this limit, the difference of two numbers may overflow a double.
_LARGEST = 2.0**1022
# Dates are counted in the unit of their type.
_SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# Days, hours, minutes and seconds: times are rounded as people write them, and not to powers of ten of a second.
_SPANS = (86_400, 3_600, 60, 1)
# Powers of ten that numbers may be rounded to, the coarsest first: doubles have some 17 digits.
_DECIMALS = tuple(Fraction(10) ** digits for digits in range(18, -10, -1))
# Stands for no unit: real numbers are drawn as any number between two edges.
REAL = Fraction(0)


def threshold_counts(counts: NDArray[Any], slowness: float = 1) -> Vector:
    """Number of rows that count towards a value: none of 10, all of 24, and a smooth step in between."""
    return np.minimum(counts, np.maximum(counts - LEAST_ROWS, 0.0) ** 2 / (_FADE * slowness))


def remainder_counts(counts: NDArray[Any], slowness: float = 1) -> Vector:
    """Number of rows that `threshold_counts` leaves out, lowered so that one more row adds or removes at most 1."""
    half = _FADE * slowness / 2
    every = LEAST_ROWS + half + (half * (half + 2 * LEAST_ROWS)) ** 0.5  # the number from which on all rows count
    return np.maximum(np.minimum(counts, every - counts), 0)


def storage_type(column: ArrowColumn) -> pa.DataType:
    """Type of the values of a column: the value type of a dictionary, the storage type of an extension."""
    dtype = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
    dtype = value_type(dtype)
    is_numeric = pa.types.is_floating(dtype) or pa.types.is_decimal(dtype)
    return dtype if is_numeric else value_type(hashable_storage(column).type)


def to_numbers(values: pa.Array) -> NDArray[Any]:
    """Convert non-missing values to numbers of the same order; dates and times become counts of their unit."""
    types, dtype = pa.types, values.type
    if types.is_temporal(dtype):
        is_short = types.is_date32(dtype) or types.is_time32(dtype)
        return values.cast(pa.int32() if is_short else pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64)
    if types.is_decimal(dtype) or types.is_float16(dtype):
        values = values.cast(pa.float64())
    numbers = values.to_numpy(zero_copy_only=False)
    return numbers if numbers.dtype == np.uint64 else numbers.astype(float if numbers.dtype.kind == "f" else np.int64)


def from_numbers(numbers: NDArray[Any], dtype: pa.DataType) -> pa.Array:
    """Convert numbers, as `to_numbers` returns them, to values of a type."""
    types = pa.types
    if types.is_float16(dtype):
        return pa.array(numbers.astype(np.float16))
    if types.is_temporal(dtype):
        is_short = types.is_date32(dtype) or types.is_time32(dtype)
        return pa.array(numbers.astype(np.int32 if is_short else np.int64)).cast(dtype)
    if types.is_decimal(dtype):
        wide = pa.decimal128(38, dtype.scale) if dtype.bit_width <= 128 else dtype
        return cast_values(pa.array(numbers).cast(wide, safe=False), dtype)
    return pa.array(numbers).cast(dtype, safe=False)


def candidate_units(dtype: pa.DataType) -> tuple[Fraction, ...]:
    """Units that may divide the values of a type, the largest first."""
    types = pa.types
    if types.is_date32(dtype):
        return (Fraction(1),)
    if types.is_temporal(dtype):
        per_second = 10**3 if types.is_date64(dtype) else _SECONDS[dtype.unit]
        spans = _SPANS[:1] if types.is_date64(dtype) else _SPANS
        parts = (per_second // fine for fine in (10**3, 10**6, 10**9) if per_second >= fine)
        return tuple(map(Fraction, (*(span * per_second for span in spans), *(parts if len(spans) > 1 else ()))))
    if types.is_integer(dtype):
        most = 2 if dtype.bit_width == 8 else 4 if dtype.bit_width == 16 else 9 if dtype.bit_width == 32 else 18
        return tuple(unit for unit in _DECIMALS if 1 <= unit <= 10**most)
    if types.is_decimal(dtype):
        least = Fraction(1, 10 ** max(dtype.scale, 0))
        return tuple(unit for unit in _DECIMALS if unit >= least)
    return _DECIMALS


def coarsest_units(numbers: NDArray[Any], units: tuple[Fraction, ...], *, single: bool) -> NDArray[np.int64]:
    """Index of the largest unit that divides each number; the number of units if none does.

    A number so large that doubles cannot show whether a unit divides it counts as no multiple of this unit.
    """
    places = np.full(len(numbers), len(units))
    for place in reversed(range(len(units))):
        places[_is_multiple(numbers, units[place], 1e-7 if single else 1e-12)] = place
    return places


def _is_multiple(numbers: NDArray[Any], unit: Fraction, tolerance: float) -> Mask:
    if numbers.dtype.kind in "iu":
        return np.asarray(numbers % numbers.dtype.type(int(unit)) == 0)
    multiples = numbers / float(unit) if unit >= 1 else numbers * float(1 / unit)
    nearest, slack = np.rint(multiples), tolerance * np.abs(multiples)
    return np.asarray((np.abs(multiples - nearest) <= slack) & (slack <= 0.01) & (nearest != 0))


def roundest(low: Any, high: Any, units: tuple[Fraction, ...]) -> Any:
    """Number above ``low`` and at most ``high`` that the largest unit divides; ``high`` if no unit divides any."""
    if not low < high:
        return high
    least, most, kind = Fraction(low.item()), Fraction(high.item()), type(high)
    if kind is np.float64:
        digits = len(str(int(max(abs(least), abs(most), Fraction(1)))))
        units = _decimals(digits)
    for unit in units:
        number = most // unit * unit
        if least < number:
            result = kind(float(number)) if kind is np.float64 else kind(int(number))
            return result if low < result <= high else high
    return high


@cache
def _decimals(digits: int) -> tuple[Fraction, ...]:
    """Powers of ten in descending order, starting with the given power."""
    return tuple(Fraction(10) ** power for power in range(digits, digits - 40, -1))


def clip_numbers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Clip numbers to a range in which differences are finite."""
    return np.clip(numbers, -_LARGEST, _LARGEST) if numbers.dtype.kind == "f" else numbers


def next_number(number: Any, unit: Fraction) -> Any:
    """Next multiple of a unit after a number; without a unit, the next double."""
    if unit == REAL:
        return np.nextafter(number, np.inf)
    exact = Fraction(number.item()) // unit * unit + unit
    if isinstance(number, np.float64):
        return np.float64(float(exact))
    return type(number)(min(int(exact), int(np.iinfo(number.dtype).max)))


def multiples(steps: NDArray[Any], unit: Fraction, *, is_real: bool) -> NDArray[Any]:
    """Convert whole multiples of a unit to numbers."""
    if is_real:
        return np.asarray(steps * float(unit) if unit >= 1 else steps / float(1 / unit))
    return np.asarray(steps * steps.dtype.type(int(unit)))


def step_range(low: Any, high: Any, unit: Fraction) -> tuple[int, int]:
    """First multiple of a unit at or above an edge, and the number of multiples before the next edge."""
    first, last = (-(-Fraction(edge.item()) // unit) for edge in (low, high))
    return int(first), int(last - first)
