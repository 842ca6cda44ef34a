"""Conversion of ordered columns to numbers and back, and distinct values of any column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize._util.checks import Mask
from sanitize.errors import ColumnError
from sanitize.tables.columns import NANOSECONDS, ArrowColumn, ascending, check_type, hashable_storage, is_number_type


def categories(arrow: ArrowColumn, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
    """Distinct values of a column in ascending order, and the number of rows of each value."""
    values, codes = ascending(arrow, name)
    return values, np.bincount(codes[codes >= 0], minlength=len(values))


def from_ordered(numbers: NDArray[Any], dtype: pa.DataType) -> pa.Array:
    """Convert numbers from `as_ordered` back to values of the column's type."""
    types = pa.types
    if types.is_float16(dtype):
        return pa.array(numbers.astype(np.float16))
    exact_type = None  # dates and times are whole nanoseconds
    if types.is_temporal(dtype):
        is_instant = types.is_timestamp(dtype) or types.is_date(dtype)
        span = pa.duration("ns") if types.is_duration(dtype) else pa.time64("ns")
        exact_type = pa.timestamp("ns", getattr(dtype, "tz", None)) if is_instant else span
    return pa.array(numbers, exact_type).cast(dtype, safe=False)


def decode_dictionary(arrow: ArrowColumn) -> ArrowColumn:
    """Convert a column to one without a dictionary; extensions become their storage type."""
    if isinstance(arrow.type, pa.BaseExtensionType):
        return hashable_storage(arrow)
    return arrow.cast(arrow.type.value_type) if pa.types.is_dictionary(arrow.type) else arrow


def is_ordered(dtype: pa.DataType, name: str) -> bool:
    """Return whether values of a type are numbers, dates or times; nested types are refused."""
    dtype = check_type(dtype, name)
    return is_number_type(dtype) or bool(pa.types.is_temporal(dtype))


def as_ordered(arrow: ArrowColumn, name: str) -> tuple[NDArray[Any], Mask]:
    """Convert values to numbers in the same order, with a mask of missing rows."""
    column, types = decode_dictionary(arrow), pa.types
    dtype = column.type
    if types.is_temporal(dtype):
        # Dates and times become whole nanoseconds, whatever their unit.
        unit = "ms" if types.is_date(dtype) else dtype.unit
        counted = pa.timestamp("ms") if types.is_date(dtype) else pa.int32() if types.is_time32(dtype) else dtype
        try:
            column = pc.multiply_checked(column.cast(counted).cast(pa.int64()), NANOSECONDS[unit])
        except pa.ArrowInvalid:
            words = "has dates beyond the years 1677 to 2262; write them as numbers or text"
            raise ColumnError.fault(name, words) from None
    elif types.is_decimal(dtype) or types.is_floating(dtype):
        numbers = np.asarray(column.cast(pa.float64()))
        return numbers, np.isnan(numbers)
    missing = np.asarray(pc.is_null(column))
    return np.asarray(pc.fill_null(column, 0)), missing
