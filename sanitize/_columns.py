"""Columns as Arrow arrays, and Arrow arrays as distinct values plus integer codes.

Every table the library meets ends here, so that a column has the same symbols whether it came from pandas,
polars, NumPy or a Parquet file. Missing (None, NaN, NA, NaT) is one symbol; -0.0 is 0.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ArrowColumn: TypeAlias = "pa.Array | pa.ChunkedArray"

MISSING = -1
UNSEEN = -2


def as_arrow(values: Any, name: str) -> ArrowColumn:
    """Any one-dimensional column as an Arrow array; missing values become nulls."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        if hasattr(values, "dtype") and type(values).__module__.partition(".")[0] in {"pandas", "numpy"}:
            return pa.array(values, from_pandas=True)
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "to_arrow"):
            return values.to_arrow()
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        # The cause quotes a value of the column, so it is not chained into the message.
        raise ColumnError(
            f"column {name!r} mixes kinds of values (for example text and numbers) or holds objects; "
            "convert it to one type first, for example with .astype(str)",
            name,
        ) from (None if isinstance(error, pa.ArrowException) else error)


def _plain_type(dtype: pa.DataType, name: str) -> pa.DataType:
    """Type that a column's distinct values are kept in, or an error for what has no order or equality."""
    types = pa.types
    if isinstance(dtype, pa.ExtensionType):
        dtype = dtype.storage_type
    if types.is_dictionary(dtype):
        return _plain_type(dtype.value_type, name)
    if types.is_large_string(dtype) or types.is_string_view(dtype):
        return pa.string()
    if types.is_large_binary(dtype) or types.is_binary_view(dtype):
        return pa.binary()
    if types.is_float16(dtype):
        return pa.float32()
    if types.is_nested(dtype) or types.is_interval(dtype) or types.is_union(dtype):
        raise ColumnError(
            f"column {name!r} has the type {str(dtype).partition('<')[0]}, which cannot be sanitized; flatten it "
            "into plain columns or leave it out",
            name,
        )
    return dtype


def check_type(dtype: pa.DataType, name: str) -> None:
    """Refuse nested and interval types before any of their data is read."""
    _plain_type(dtype, name)


def factorize(column: ArrowColumn, name: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """Distinct values of a column, without nulls, and each row's index among them (MISSING for null).

    The values come in no particular order; text is checked to be valid UTF-8.
    """
    plain = _plain_type(column.type, name)
    if isinstance(column.type, pa.ExtensionType):
        column = (
            pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
            if isinstance(column, pa.ChunkedArray)
            else column.storage
        )
    if pa.types.is_null(plain):
        return pa.array([], pa.null()), np.full(len(column), MISSING, np.int32)
    if pa.types.is_float16(column.type) or pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        column = column.cast(plain)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if isinstance(column, pa.ChunkedArray):
        chunks = column.unify_dictionaries().chunks
        if not chunks:
            return pa.array([], plain), np.empty(0, np.int32)
        values = chunks[0].dictionary
        codes = np.concatenate([_indices(chunk) for chunk in chunks])
    else:
        values = column.dictionary
        codes = _indices(column)
    return _clean(values, codes, plain, name)


def _indices(chunk: pa.DictionaryArray) -> NDArray[np.int32]:
    indices = chunk.indices
    if indices.null_count:
        indices = indices.fill_null(0) if len(chunk.dictionary) else indices.cast(pa.int64()).fill_null(0)
        codes = indices.to_numpy(zero_copy_only=False).astype(np.int32)
        codes[chunk.indices.is_null().to_numpy(zero_copy_only=False)] = MISSING
        return codes
    return indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)


def _clean(
    values: pa.Array, codes: NDArray[np.int32], plain: pa.DataType, name: str
) -> tuple[pa.Array, NDArray[np.int32]]:
    """Merge duplicate, null and NaN dictionary values and keep only those that some row uses."""
    if len(codes) and codes.max(initial=MISSING) >= len(values):
        raise ColumnError(f"column {name!r} is damaged: a dictionary index points past its dictionary", name)
    if pa.types.is_string(plain):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid:
            raise ColumnError(
                f"column {name!r} holds text that is not valid UTF-8; decode it to Unicode first", name
            ) from None
    if values.type != plain:
        values = values.cast(plain)
    if pa.types.is_floating(plain):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, plain), values)
        values = pc.if_else(pc.equal(values, pa.scalar(0, plain)), pa.scalar(0, plain), values)
    used = np.zeros(len(values) + 1, bool)
    used[codes] = True
    used = used[:-1]
    if (
        used.all()
        and not values.null_count
        and (distinct := values.dictionary_encode())
        and len(distinct.dictionary) == len(values)
    ):
        return values, codes
    kept = values.filter(pa.array(used)).dictionary_encode()
    renumber = np.full(len(values) + 1, MISSING, np.int32)
    renumber[:-1][used] = _indices(kept)
    return kept.dictionary, renumber[codes]


def sort_values(values: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Values in ascending order, and the positions they came from."""
    order = pc.array_sort_indices(values)
    return values.take(order), order.to_numpy().astype(np.int64)


def look_up(values: pa.Array, levels: pa.Array) -> NDArray[np.int32]:
    """Index of each value in ``levels``; UNSEEN where it is not there. Equal numbers match across types."""
    if values.type != levels.type and len(values):
        try:
            values = values.cast(levels.type)
        except pa.ArrowException:
            # Some values have no counterpart in the other type (2.5 among integers): compare one by one.
            known = {value: code for code, value in enumerate(levels.to_pylist())}
            return np.array([known.get(value, UNSEEN) for value in values.to_pylist()], np.int32)
    if not len(values):
        return np.empty(0, np.int32)
    if pa.types.is_null(levels.type):
        return np.full(len(values), UNSEEN, np.int32)
    return pc.index_in(values, value_set=levels).fill_null(UNSEEN).to_numpy(zero_copy_only=False).astype(np.int32)


def concat_values(a: pa.Array, b: pa.Array, name: str) -> pa.Array:
    """Values of two alphabets of one column in one array; a null-typed side takes the other's type."""
    if a.type == b.type:
        return pa.concat_arrays([a, b])
    if pa.types.is_null(a.type):
        return b
    if pa.types.is_null(b.type):
        return a
    raise ColumnError(f"column {name!r} is {a.type} in one part of the table and {b.type} in another", name)
