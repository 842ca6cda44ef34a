"""Conversion of values to Arrow and back, for types that Arrow lacks.

Intervals and UUIDs become text, periods become the day or time of their start, and whole numbers beyond 64 bits become
decimals.
"""

from __future__ import annotations

import decimal
import re
import sys
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Intervals as pandas writes them, round brackets for open ends.
_INTERVAL = re.compile(r"([\[(])(.+), (.+)([\])])")


def convert_to_arrow(values: Any) -> Any:
    """Convert a column of a type that Arrow lacks to an Arrow array; None if not needed or not possible.

    Raises
    ------
    TypeError, ValueError, ArithmeticError, ArrowException
        If the values do not fit one type.
    """
    dtype, pd = getattr(values, "dtype", None), sys.modules.get("pandas")
    if pd is not None and type(values).__module__.startswith("pandas"):
        if isinstance(dtype, pd.CategoricalDtype):
            return _categories_in_arrow(pd.Categorical(values))
        if isinstance(dtype, pd.SparseDtype):
            return pa.array(np.asarray(values), from_pandas=True)
        if isinstance(dtype, (pd.IntervalDtype, pd.PeriodDtype)):
            return _spans_in_arrow(pd.Series(values))
    if str(dtype) in ("Int128", "UInt128"):
        return pa.array([None if value is None else decimal.Decimal(value) for value in values])
    kind = object_kind(values) if dtype in (None, object) else None
    if kind in (uuid.UUID, int):
        convert = str if kind is uuid.UUID else decimal.Decimal
        return pa.array([None if _is_missing(value) else convert(value) for value in values])
    if kind is not None:  # periods or intervals as objects
        pandas: Any = sys.modules["pandas"]
        dtype = _objects_dtype(values) if kind is pandas.Period else object
        return _spans_in_arrow(pandas.Series([None if _is_missing(value) else value for value in values], dtype=dtype))
    return None


def object_kind(values: Any) -> type | None:
    """Return the common class of all non-missing values if Arrow has no type for it, otherwise None."""
    first = next((value for value in values if not _is_missing(value)), None)
    pd = sys.modules.get("pandas")
    spans = () if pd is None else (pd.Period, pd.Interval)
    if isinstance(first, uuid.UUID):
        kind: Any = uuid.UUID
    elif type(first) is int and any(type(v) is int and not -(1 << 63) <= v < 1 << 64 for v in values):
        kind = int
    elif spans and isinstance(first, spans):
        kind = type(first)
    else:
        return None
    return kind if all(_is_missing(value) or type(value) is kind for value in values) else None


def pandas_restorer(column: Any) -> Callable[[pa.Array], Any] | None:
    """Return the function that restores pandas values from Arrow values; None if no conversion is needed."""
    pd, dtype = sys.modules["pandas"], column.dtype
    spans = (pd.IntervalDtype, pd.PeriodDtype)
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(dtype.categories.dtype, spans):
        return lambda values: _category(_spans(values, dtype.categories.dtype), dtype)
    if isinstance(dtype, pd.SparseDtype):
        return lambda values: pd.arrays.SparseArray(pd.Series(values.to_pylist()).astype(dtype.subtype), dtype=dtype)
    if isinstance(dtype, spans):
        return lambda values: _spans(values, dtype)
    kind = object_kind(column) if dtype == np.dtype(object) else None
    if kind in (uuid.UUID, int):
        return lambda values: pd.array([v if v is None else kind(v) for v in values.to_pylist()], dtype=object)
    if kind is not None:
        of_objects = _objects_dtype(column)
        return lambda values: _spans(values, of_objects).astype(object)
    return None


def _objects_dtype(values: Any) -> Any:
    """Pandas dtype of a column of objects that are periods or intervals."""
    return sys.modules["pandas"].array([value for value in values if not _is_missing(value)]).dtype


def _is_missing(value: Any) -> bool:
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None) or bool(np.all(value != value))


def _categories_in_arrow(values: Any) -> Any:
    if str(values.categories.dtype).partition("[")[0] not in ("interval", "period"):
        return None
    codes = pa.array(values.codes, mask=np.asarray(values.codes) < 0)
    levels = _spans_in_arrow(values.categories.to_series())
    return pa.DictionaryArray.from_arrays(codes, levels, ordered=values.ordered)


def _spans_in_arrow(values: Any) -> pa.Array:
    pd = sys.modules["pandas"]
    missing = np.asarray(pd.isna(values))
    if isinstance(values.dtype, pd.PeriodDtype):
        try:
            begun = pa.array(values.dt.to_timestamp(), from_pandas=True).cast(pa.timestamp("us"))
        except pd.errors.OutOfBoundsDatetime:
            return pa.array(values.astype(str), mask=missing)
        days = begun.cast(pa.date32(), safe=False)
        return days if pc.all(pc.equal(days.cast(pa.timestamp("us")), begun), min_count=0).as_py() else begun
    return pa.array([None if gone else str(value) for gone, value in zip(missing, values, strict=True)], pa.string())


def _spans(values: pa.Array, dtype: Any) -> Any:
    """Restore periods from times or texts, or intervals from texts."""
    pd = sys.modules["pandas"]
    if isinstance(dtype, pd.PeriodDtype):
        if pa.types.is_string(values.type):
            return pd.PeriodIndex(values.to_pylist(), freq=dtype.freq).array
        return pd.DatetimeIndex(values.cast(pa.timestamp("us")).to_pandas()).to_period(dtype.freq).array
    intervals = [None if text is None else _interval(text, dtype) for text in values.to_pylist()]
    return pd.arrays.IntervalArray(intervals, dtype=dtype)


def _interval(text: str, dtype: Any) -> Any:
    pd, match = sys.modules["pandas"], _INTERVAL.fullmatch(text)
    if match is None:  # a label that joins several intervals, which is no value of this type
        raise ValueError
    left, right = (pd.Series([side]).astype(dtype.subtype)[0] for side in match.group(2, 3))
    return pd.Interval(left, right, closed=dtype.closed)


def _category(values: Any, dtype: Any) -> Any:
    """Convert values to a categorical with the released categories, in the order of the original categories."""
    pd = sys.modules["pandas"]
    categories = dtype.categories[dtype.categories.isin(values)]
    return pd.Categorical(values, categories=categories, ordered=dtype.ordered)
