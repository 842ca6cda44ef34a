"""Released columns of each kind of table, in the type of the column that they replace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._tables.columns import in_type


def _parts(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Distinct values and indices of a dictionary array; a plain array has no indices."""
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary, array.indices
    return array, None


def widest(array: pa.Array) -> np.dtype[Any]:
    """Type of 64 bits that holds the whole numbers of a column."""
    return np.dtype(np.uint64 if pa.types.is_unsigned_integer(_parts(array)[0].type) else np.int64)


def pandas_like(array: pa.Array, dtype: Any) -> Any:
    """Pandas column of a dtype; only the distinct values are converted, rows are taken from them."""
    import pandas as pd

    dictionary, indices = _parts(array)
    if isinstance(dtype, pd.ArrowDtype) and _is_view(dtype.pyarrow_dtype) and indices is not None:
        dictionary, indices = dictionary.take(indices), None  # rows cannot be taken from views
    levels = pd.Series(pd.arrays.ArrowExtensionArray(dictionary))
    if isinstance(dtype, pd.CategoricalDtype):
        released = set(dictionary.to_pylist())
        categories = [c for c in dtype.categories.tolist() if c in released]
        if len(categories) < len(released):
            categories = dictionary.to_pylist()
        values: Any = pd.Categorical(dictionary.to_pylist(), categories=categories, ordered=dtype.ordered)
    elif dtype is None:
        values = levels.astype(object).array if pa.types.is_string(dictionary.type) else levels.array
    elif pa.types.is_string(dictionary.type) and pd.api.types.is_bool_dtype(dtype):
        values = levels.astype(object).array  # any text would be True
    else:
        try:
            if isinstance(dtype, pd.ArrowDtype) and pa.types.is_floating(dictionary.type):
                values = pd.arrays.ArrowExtensionArray(in_type(dictionary, dtype.pyarrow_dtype))
            else:
                values = levels.astype(dtype).array
        except (TypeError, ValueError):
            # A numpy integer column cannot hold the interval labels or missing values; objects can.
            values = levels.astype(object).array
    if indices is None:
        return values
    codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
    fill = bool(indices.null_count)
    if isinstance(dtype, np.dtype):
        return pd.api.extensions.take(values.to_numpy(), codes, allow_fill=fill)
    return values.take(codes, allow_fill=fill)


def polars_like(name: str, array: pa.Array, dtype: Any) -> Any:
    """Polars column of a dtype; only the distinct values are converted, rows are gathered from them."""
    import polars as pl

    dictionary, indices = _parts(array)
    levels = pl.Series(name, dictionary)
    if isinstance(dtype, pl.Enum):
        # An Enum lists its categories in the type; only released ones may show.
        released = set(levels.to_list())
        dtype = pl.Enum([c for c in dtype.categories.to_list() if c in released])
    if dtype is not None:
        try:
            levels = levels.cast(dtype)
        except pl.exceptions.PolarsError:
            levels = levels.cast(pl.String)  # labels of a numeric column
    return levels.gather(pl.Series(indices)) if indices is not None else levels


def arrow_like(array: pa.Array, column: pa.ChunkedArray | None) -> pa.Array:
    """Arrow column of the type of the column it replaces."""
    dictionary, indices = _parts(array)
    dtype = None if column is None else column.type
    if column is None or (pa.types.is_string(dictionary.type) and not _holds_text(dtype)):
        return dictionary.take(indices) if indices is not None else dictionary
    if pa.types.is_dictionary(dtype):
        return _arrow_dictionary(array, column)
    # Rows are taken before the cast: views of text cannot be taken from.
    values = dictionary.take(indices) if indices is not None else dictionary
    return in_type(values, dtype.storage_type if isinstance(dtype, pa.ExtensionType) else dtype)


def _arrow_dictionary(array: pa.Array, column: pa.ChunkedArray) -> pa.Array:
    """Dictionary array with a column's index type, and its order of values where that has a meaning."""
    dtype = column.type
    dictionary, indices = _parts(array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode())
    dictionary = dictionary.cast(dtype.value_type)
    if dtype.ordered:
        known = pa.chunked_array([chunk.dictionary for chunk in column.chunks], dtype.value_type).unique()
        place = known.filter(pc.is_in(known, value_set=dictionary))
        dictionary, indices = place, pc.index_in(dictionary, value_set=place).take(indices)
    fits = len(dictionary) <= np.iinfo(dtype.index_type.to_pandas_dtype()).max
    made = pa.DictionaryArray.from_arrays(indices, dictionary, ordered=dtype.ordered)
    return made.cast(dtype) if fits else made


def _is_view(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(dtype) or pa.types.is_binary_view(dtype))


def _holds_text(dtype: pa.DataType) -> bool:
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain))


def array_like(array: pa.Array, dtype: np.dtype[Any]) -> Any:
    """NumPy column of an array's dtype where its values allow it, wider for longer texts, else objects."""
    dictionary, indices = _parts(array)
    values = dictionary.to_numpy(zero_copy_only=False)
    text = {"U": pa.types.is_string, "S": pa.types.is_binary}.get(dtype.kind)
    if text is not None and text(dictionary.type):
        values = np.asarray(dictionary.to_pylist(), dtype.kind)
        values = values.astype(np.result_type(values, dtype))
    elif any(dtype.kind in kinds and values.dtype.kind in kinds for kinds in ("iufb", "m", "M")):
        values = values.astype(dtype)
    elif values.dtype.kind in "iufb":
        values = values.astype(object)
    else:  # NumPy's own times have no zone, and its time spans become numbers
        values = np.fromiter(dictionary.to_pylist(), object, len(dictionary))
    if indices is None:
        return values
    codes = indices.fill_null(-1).to_numpy(zero_copy_only=False)
    if indices.null_count:
        filler: Any = "NaT" if values.dtype.kind in "mM" else None
        filler = np.nan if pa.types.is_floating(dictionary.type) else filler
        values = np.append(values, np.array([filler], object if filler is None else values.dtype))
    return values[codes]
