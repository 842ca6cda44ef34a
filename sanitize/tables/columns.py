"""Conversion of columns to Arrow arrays, and of Arrow arrays to distinct values with integer codes.

All tables pass through this module, so that a column has the same symbols whether it came from pandas, polars,
NumPy or a Parquet file. Missing (None, NaN, NA, NaT) is one symbol; -0.0 is 0.0.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize.errors import ColumnError
from sanitize.tables.own_types import convert_to_arrow

ArrowColumn: TypeAlias = "pa.Array | pa.ChunkedArray"

# Codes are positions and never negative. As an index, MISSING takes the last entry of an array, where missing values
# are.
MISSING = -1
# A value that the levels lack is not missing, and must not be taken for it.
UNSEEN = -2
# Times of all units are compared in nanoseconds, the finest unit of Arrow.
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _is_narrow_decimal(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(dtype) and dtype.bit_width < 128)


def is_view(dtype: pa.DataType) -> bool:
    """Return whether a type is text or bytes in Arrow's view layout."""
    return bool(pa.types.is_string_view(dtype) or pa.types.is_binary_view(dtype))


# Types whose distinct values Arrow cannot compute; they are converted first.
_WITHOUT_DICTIONARIES = (pa.types.is_float16, is_view, _is_narrow_decimal)


def as_arrow(values: Any, name: str) -> ArrowColumn:
    """Convert any one-dimensional column to an Arrow array; missing values become nulls."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        # Arrow cannot take rows from views.
        if pa.types.is_run_end_encoded(values.type):
            return pc.run_end_decode(values)
        return values.cast(check_type(values.type, name)) if is_view(values.type) else values
    dtype, array = getattr(values, "dtype", None), None
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        values = values.astype(dtype.newbyteorder("="))
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, ArithmeticError):  # they quote a value
        if str(dtype) == "Object":
            raise TypeError("polars would pass pointers")
        array = convert_to_arrow(values)
        if array is None:
            is_foreign = not type(values).__module__.startswith(("pandas", "numpy")) and hasattr(values, "to_arrow")
            array = values.to_arrow() if is_foreign else pa.array(values, from_pandas=True)
    # A column that Arrow reads as bytes may also contain text.
    is_object = dtype in (None, object)
    if array is None or (pa.types.is_binary(array.type) and is_object and any(isinstance(v, str) for v in values)):
        raise ColumnError.fault(
            name,
            "mixes kinds of values (for example text and numbers) or contains objects; convert it to "
            "one type first, for example with .astype(str)",
        )
    return array


def narrow(column: ArrowColumn) -> ArrowColumn:
    """Convert the indices of a dictionary column to the smallest type; other and damaged columns stay unchanged."""
    if not isinstance(column, pa.DictionaryArray):
        return column
    index_type = pa.from_numpy_dtype(np.min_scalar_type(max(len(column.dictionary) - 1, 0)))
    try:  # truncation must not turn an index past the dictionary into a valid one
        return pa.DictionaryArray.from_arrays(column.indices.cast(index_type), column.dictionary, safe=False)
    except pa.ArrowInvalid:
        return column


def value_type(dtype: pa.DataType) -> pa.DataType:
    """Type of a column's values; for a dictionary, the type of its entries."""
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


def check_type(dtype: pa.DataType, name: str) -> pa.DataType:
    """Return the type that stores a column's distinct values; refuse types without order or equality."""
    types = pa.types
    if isinstance(dtype, pa.BaseExtensionType):
        return check_type(dtype.storage_type, name)
    if types.is_dictionary(dtype) or types.is_run_end_encoded(dtype):
        return check_type(dtype.value_type, name)
    if types.is_large_string(dtype) or types.is_string_view(dtype):
        return pa.string()
    if types.is_large_binary(dtype) or types.is_binary_view(dtype):
        return pa.binary()
    if types.is_float16(dtype):
        return pa.float32()
    if _is_narrow_decimal(dtype):
        return pa.decimal128(dtype.precision, dtype.scale)
    if types.is_nested(dtype) or types.is_interval(dtype) or types.is_union(dtype):
        fault = f"has the type {str(dtype).partition('<')[0]}, which cannot be sanitized"
        raise ColumnError.fault(name, f"{fault}; flatten it into plain columns or leave it out")
    return dtype


def cast_values(values: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Cast values to another type of their kind; unlike Arrow, also cast doubles near zero to narrow decimals."""
    if _is_narrow_decimal(dtype) and pa.types.is_floating(values.type):
        values = values.cast(check_type(dtype, ""))
    return values.cast(dtype)


def get_column(table: Mapping[str, Any], name: str) -> Any:
    """Return a column of any kind of table; the error for a missing column lists similar names."""
    names = getattr(table, "column_names", None)
    if names is None:
        names = list(table.columns) if hasattr(table, "columns") else list(table.keys())
    if name not in names:
        raise ColumnError.absent([name], names)
    return table[name]


def as_dictionary(column: ArrowColumn, name: str) -> pa.DictionaryArray:
    """Convert a column to one dictionary array, whose dictionary may have repeated, null, NaN and unused values."""
    plain = check_type(column.type, name)
    column = hashable_storage(column)
    if pa.types.is_null(plain):
        return pa.DictionaryArray.from_arrays(pa.nulls(len(column), pa.int32()), pa.array([], pa.null()))
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if isinstance(column, pa.ChunkedArray):
        _check_indices(column, name)
        if any(chunk.dictionary.null_count for chunk in column.chunks):  # Arrow cannot unify them
            column = column.cast(column.type.value_type).dictionary_encode()
        column = column.unify_dictionaries().combine_chunks()
    return column


def mask_values(values: NDArray[Any], missing: NDArray[np.bool_]) -> pa.Array:
    """Return an array with the masked values set to missing, without a copy if the mask is empty."""
    return pa.array(values, mask=missing) if missing.any() else pa.array(values)


def places_in(column: pa.DictionaryArray, name: str) -> NDArray[Any]:
    """Index of each row's value in the dictionary; for a missing value, the length of the dictionary."""
    _check_indices(column, name)
    indices = column.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(column.dictionary))
    return indices.to_numpy(zero_copy_only=False)


def factorize(column: ArrowColumn, name: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """Distinct values of a column, without nulls, and the index of each row's value (MISSING for null).

    The values come in no particular order; text is checked to be valid UTF-8.
    """
    encoded = as_dictionary(column, name)
    _check_indices(encoded, name)
    values, codes, plain = encoded.dictionary, _indices(encoded), check_type(column.type, name)
    if pa.types.is_string(plain):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid:
            raise ColumnError.fault(name, "has text that is not valid UTF-8; decode it first") from None
    if values.type != plain:
        values = values.cast(plain)
    if pa.types.is_floating(plain):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, plain), values)
        values = pc.if_else(pc.equal(values, pa.scalar(0, plain)), pa.scalar(0, plain), values)
    used = np.zeros(len(values) + 1, bool)
    used[codes] = True
    # Dictionaries may have duplicate, null, NaN and unused values, which would count as values of their own.
    used_values = values.filter(pa.array(used[:-1])).dictionary_encode()
    if len(used_values.dictionary) == len(values):
        return values, codes
    renumber = np.full(len(values) + 1, MISSING, np.int32)
    renumber[:-1][used[:-1]] = _indices(used_values)
    return used_values.dictionary, renumber[codes]


def hashable_storage(column: ArrowColumn) -> ArrowColumn:
    """Convert a column to a type that Arrow can deduplicate: extensions to storage types, narrow types to wide ones."""
    if isinstance(column.type, pa.BaseExtensionType):
        return hashable_storage(column.cast(column.type.storage_type))
    if any(is_type(column.type) for is_type in _WITHOUT_DICTIONARIES):
        return column.cast(check_type(column.type, ""))
    return column


def all_below(numbers: NDArray[np.integer[Any]], n: int) -> bool:
    """Return whether all numbers are at least 0 and less than ``n``."""
    # As unsigned integers, negative numbers exceed all others of their type, so one maximum checks both ends.
    least_beyond = min(n, int(np.iinfo(numbers.dtype).max) + 1)
    return not len(numbers) or int(numbers.view(f"u{numbers.dtype.itemsize}").max()) < least_beyond


def _check_indices(column: ArrowColumn, name: str) -> None:
    """Refuse indices outside the dictionary, with which Arrow would read outside its memory."""
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        indices = chunk.indices.drop_null() if chunk.indices.null_count else chunk.indices
        if not all_below(indices.to_numpy(), len(chunk.dictionary)):
            raise ColumnError.fault(name, "is damaged: some rows have a code without a category; rebuild the column")


def _indices(chunk: pa.DictionaryArray) -> NDArray[np.int32]:
    return chunk.indices.cast(pa.int32()).fill_null(MISSING).to_numpy(zero_copy_only=False)


def ascending(column: ArrowColumn, name: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """Distinct values of a column in ascending order, and each row's index among them; MISSING for null."""
    values, codes = factorize(column, name)
    values, order = sort_values(values)
    return values, np.append(np.argsort(order), MISSING).astype(np.int32)[codes]


def sort_values(values: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Sort values in ascending order; return them with their original positions."""
    order = pc.array_sort_indices(values)
    return values.take(order), order.to_numpy().astype(np.int64)


def look_up(values: pa.Array, levels: pa.Array) -> NDArray[np.int32]:
    """Index of each value in ``levels``; UNSEEN if the value is absent.

    Equal values match across types of one kind: 3 matches 3.0, but never "3".
    """
    if not len(values):
        return np.empty(0, np.int32)
    if values.type == levels.type:
        indices = pc.index_in(values, value_set=levels).fill_null(UNSEEN)
        return indices.to_numpy(zero_copy_only=False).astype(np.int32)
    if _kind(values.type) != _kind(levels.type):
        return np.full(len(values), UNSEEN, np.int32)
    code_by_value = {value: code for code, value in enumerate(comparable(levels))}
    return np.array([code_by_value.get(value, UNSEEN) for value in comparable(values)], np.int32)


def python_values(values: pa.Array, name: str) -> list[Any]:
    """Convert a column to Python values; refuse values that Python cannot represent."""
    try:
        result: list[Any] = values.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError, LookupError):
        raise ColumnError.fault(
            name,
            "has dates or times that Python cannot represent (a year beyond 9999 or an unknown time "
            "zone); bin or convert them first",
        ) from None
    return result


def is_number_type(dtype: pa.DataType) -> bool:
    """Return whether values of a type are numbers."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype))


def _kind(dtype: pa.DataType) -> str:
    """Kind of a type; only values of the same kind can be equal."""
    types = pa.types
    if is_number_type(dtype):
        return "number"
    if types.is_binary(dtype) or types.is_fixed_size_binary(dtype):
        return "bytes"
    if types.is_timestamp(dtype):
        return "instant" if dtype.tz is not None else "timestamp"
    kinds = (name for name in ("boolean", "string", "date", "time", "duration") if getattr(types, f"is_{name}")(dtype))
    return next(kinds, str(dtype))


def comparable(values: pa.Array) -> list[Any]:
    """Convert values of one kind to Python values that are equal, and hash equally, if the values are equal."""
    types = pa.types
    if types.is_date(values.type):
        return values.cast(pa.date64()).cast(pa.int64()).to_pylist()
    if types.is_temporal(values.type):
        whole = values.cast(pa.int32()) if types.is_time32(values.type) else values
        return [number * NANOSECONDS[values.type.unit] for number in whole.cast(pa.int64()).to_pylist()]
    return values.to_pylist()


def concat_values(values: pa.Array, fresh: pa.Array, name: str) -> pa.Array:
    """Append new values to a column, in a type that represents both exactly."""
    if not len(fresh):
        return values
    if values.type == fresh.type or not len(values):
        return pa.concat_arrays([values, fresh]) if len(values) else fresh
    if _kind(values.type) == _kind(fresh.type):
        for dtype in (values.type, fresh.type, pa.float64()):
            try:
                joined = pa.concat_arrays([values.cast(dtype), fresh.cast(dtype)])
            except pa.ArrowException:
                continue
            if comparable(joined) == [*comparable(values), *comparable(fresh)]:
                return joined
    raise ColumnError.fault(name, f"has values of type {values.type} and of type {fresh.type}; convert all to one type")
