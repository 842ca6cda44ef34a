"""Dates and times of any type as seconds, and as the calendar units they lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa

from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn

# Calendar units, the finest first.
Step = Literal["day", "month", "quarter", "year", "decade"]
STEPS: tuple[Step, ...] = get_args(Step)
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400


def holds_dates(dtype: pa.DataType) -> bool:
    """Whether a column holds dates, with or without a time of day."""
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    return bool(pa.types.is_date(dtype) or pa.types.is_timestamp(dtype))


def as_seconds(values: ArrowColumn, column: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Whole seconds since 1970 of each row, rounded down, and which rows are missing (0 there); zoned times in UTC.

    Text is read as ISO 8601, as CSV files have it.

    Raises
    ------
    ColumnError
        If the column holds no dates.
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            values = values.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # which quotes the text
            raise _no_dates(column, "holds text that is no date as in 2001-12-31 (ISO 8601)") from None
    if not holds_dates(values.type):
        raise _no_dates(column, f"is {values.type}")
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_date32(values.type):
        return _whole(values.cast(pa.int32())) * _DAY, missing
    unit = 10**3 if pa.types.is_date64(values.type) else _UNITS[values.type.unit]
    return _whole(values) // unit, missing


def _whole(values: ArrowColumn) -> NDArray[np.int64]:
    return np.asarray(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _no_dates(column: str, what: str) -> ColumnError:
    return ColumnError(
        f"column {column!r} {what}, so it cannot be cut into calendar units or at dates; leave it out of bins", column
    )


def by_step(values: ArrowColumn, step: str, column: str) -> pa.DictionaryArray:
    """The calendar unit of each row by its name, which sorts in the order of time: 2001, 2001-Q4, 2001-12, 2001-12-31.

    A decade is called by its first year, as in 2000s; missing values stay missing.
    """
    seconds, missing = as_seconds(values, column)
    times = seconds.astype("datetime64[s]")
    if step == "day":
        keys = times.astype("datetime64[D]").astype(np.int64)
    elif step in ("month", "quarter"):
        keys = times.astype("datetime64[M]").astype(np.int64) // (3 if step == "quarter" else 1)
    else:
        keys = times.astype("datetime64[Y]").astype(np.int64) + 1970
        keys = keys // (10 if step == "decade" else 1)
    found, codes = np.unique(keys[~missing], return_inverse=True)
    indices = np.zeros(len(keys), np.int32)
    indices[~missing] = codes
    names = pa.array([_name(int(key), step) for key in found], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=missing), names)


def _name(key: int, step: str) -> str:
    if step == "quarter":
        return f"{1970 + key // 4:04d}-Q{key % 4 + 1}"
    if step in ("year", "decade"):
        return f"{key:04d}" if step == "year" else f"{10 * key:04d}s"
    return str(np.datetime64(key, "D" if step == "day" else "M"))


def second_of(text: str) -> int | None:
    """Seconds since 1970 of a date or time in ISO 8601; None where the text is neither."""
    try:
        return int(pa.array([text]).cast(pa.timestamp("s")).cast(pa.int64())[0].as_py())
    except pa.ArrowInvalid:
        return None


def name_of(second: float, *, with_time: bool) -> str:
    """A second as a date, or as a date and a time."""
    text = str(np.datetime64(int(second), "s"))
    return text.replace("T", " ") if with_time else text.partition("T")[0]


DAY = _DAY
