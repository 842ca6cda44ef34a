"""Binning of dates and times into intervals or calendar units, which are released as labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from sanitize._util.checks import Mask, is_number, is_whole
from sanitize._util.declared import require
from sanitize.core.binning._bins import Bins, LearnedEdges
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.columns import value_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.tables.columns import ArrowColumn

# NumPy counts days, months and years, so each calendar unit is a number of these.
_UNITS = {"day": ("D", 1), "month": ("M", 1), "quarter": ("M", 3), "year": ("Y", 1), "decade": ("Y", 10)}
# The finest unit comes first, because errors list them in this order.
Step = Literal["day", "month", "quarter", "year", "decade"]
# Taken from the type, so that both have the same units in the same order.
STEPS: tuple[Step, ...] = get_args(Step)
# Dates are counted in whole seconds, because nanoseconds cannot hold all years of Python's calendar.
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86_400


class DateBins(Bins, frozen=True, tag="dates"):
    """Intervals or calendar units of a column of dates, which are released by name so that no date is made up.

    Parameters
    ----------
    column : str
    edges : tuple of float
        Whole seconds since 1970, ascending, with the meaning of the edges of `Bins`; empty if ``step`` is given.
    learned, whole : bool
        See `Bins`; dates are whole numbers of seconds.
    step : {"day", "month", "quarter", "year", "decade"}, optional
    """

    step: Step | None
    endless: ClassVar[float] = 1e10 * DAY
    prints_labels: ClassVar[bool] = True  # a date drawn inside an interval would look like a real person's

    def __post_init__(self) -> None:
        if self.step is not None:
            require(self.whole and not self.edges and not self.learned, "has no edges of its own", "step")
            return
        super().__post_init__()
        # Doubles count seconds exactly up to 9e15, and no year of a calendar is beyond 1e15 seconds.
        is_whole = self.whole and all(abs(edge) < 1e15 and edge % 1 == 0 for edge in self.edges)
        require(is_whole, "must be whole seconds", "edges")

    @classmethod
    def by_step(cls, column: str, step: str, values: ArrowColumn) -> DateBins:
        """Build bins of one calendar unit each, which need no edges."""
        if step not in STEPS:
            listed = ", ".join(map(repr, STEPS))
            raise InvalidParameter(f"bins of {column!r} must be a list of edges, or one of {listed}, got {step!r}")
        as_seconds(values[:0], column)  # refuses other types
        return cls(column, (), learned=False, whole=True, step=step)

    @classmethod
    def from_edges(cls, column: str, edges: Sequence[Any], dtype: pa.DataType) -> DateBins:
        """Build bins from edges that are dates, times or ISO 8601 text, chosen by somebody or learned from the rows."""
        seconds = date_edges(f"bins of {column!r}", edges)
        as_seconds(pa.array([], value_type(dtype)), column)
        return cls(column, cls.with_ends(seconds), learned=isinstance(edges, LearnedEdges), whole=True, step=None)

    def starts(self, seconds: NDArray[np.int64], least: int) -> list[int]:
        """Return the distinct seconds at which calendar units with at least this many values begin or end."""
        unit, n = _UNITS[str(self.step)]
        units, rows = np.unique(seconds.astype("M8[s]").astype(f"M8[{unit}]").astype(np.int64) // n, return_counts=True)
        ends = np.unique(units[rows >= least, None] + [0, 1]) * n
        return ends.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64).tolist()

    @property
    def order(self) -> pa.Array | None:
        """Names of the intervals in ascending order; None for calendar units, since their names sort by time."""
        return None if self.step is not None else self.labels

    def edge_names(self) -> list[str]:
        with_time = any(edge % DAY for edge in self.edges)
        texts = [str(np.datetime64(int(edge), "s")) for edge in self.edges]
        return [text.replace("T", " ") if with_time else text.partition("T")[0] for text in texts]

    def assign(self, values: ArrowColumn) -> tuple[pa.DictionaryArray, int]:
        """Return the interval or unit of each row, missing for missing dates, and the number of clipped rows."""
        if self.step is not None:
            return by_step(values, self.step, self.column), 0
        return self._find_intervals(*as_seconds(values, self.column))


def date_edges(name: str, edges: Sequence[Any]) -> tuple[float, ...]:
    """Convert ascending edges (dates, times, or text in ISO 8601) to whole seconds since 1970.

    Raises
    ------
    InvalidParameter
        If the values are not ascending dates; the message names ``name``.
    """
    try:
        texts = pa.array([str(edge) for edge in edges], pa.string())
        seconds = texts.cast(pa.timestamp("s")).cast(pa.int64()).to_pylist()
    except pa.ArrowInvalid:
        seconds = []
    if not seconds or any(a >= b for a, b in pairwise(seconds)):
        steps = ", ".join(map(repr, STEPS))
        raise InvalidParameter(f"{name} must be dates in ascending order, such as 1950-01-01, or one of {steps}")
    return tuple(map(float, seconds))


def is_of_dates(spec: Any) -> bool:
    """Return whether declared bins are for dates: a calendar unit, or edges that are not numbers."""
    if isinstance(spec, str):
        return True
    if is_whole(spec) or not isinstance(spec, (Sequence, np.ndarray)):
        return False
    return len(spec) > 0 and not any(is_number(edge) for edge in spec)


def holds_dates(dtype: pa.DataType) -> bool:
    """Return whether a column has the type of dates, with or without a time of day."""
    dtype = value_type(dtype)
    return bool(pa.types.is_date(dtype) or pa.types.is_timestamp(dtype))


def as_seconds(values: ArrowColumn, column: str) -> tuple[NDArray[np.int64], Mask]:
    """Return each row's seconds since 1970 in UTC, rounded down, and a mask of missing rows, which get 0.

    Text, as in CSV files, is read as ISO 8601.

    Raises
    ------
    ColumnError
        If the column does not hold dates.
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            values = values.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # that error would quote the text
            raise _no_dates(column, "contains text that is not a date such as 2001-12-31 (ISO 8601)") from None
    if not holds_dates(values.type):
        raise _no_dates(column, f"has the type {values.type}")
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_date32(values.type):
        return _whole(values.cast(pa.int32())) * DAY, missing
    unit = 10**3 if pa.types.is_date64(values.type) else _PER_SECOND[values.type.unit]
    return _whole(values) // unit, missing


def _whole(values: ArrowColumn) -> NDArray[np.int64]:
    return np.asarray(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _no_dates(column: str, what: str) -> ColumnError:
    return ColumnError.fault(
        column, f"{what}, so it cannot be cut into calendar units or at dates; leave it out of bins"
    )


def by_step(values: ArrowColumn, step: str, column: str) -> pa.DictionaryArray:
    """Name of each row's calendar unit, such as 2001, 2001-Q4, 2001-12 or 2001-12-31; names sort by time.

    A decade is named after its first year, as in 2000s; missing values stay missing.
    """
    seconds, missing = as_seconds(values, column)
    unit, n = _UNITS[step]
    keys = seconds.astype("M8[s]").astype(f"M8[{unit}]").astype(np.int64) // n
    unit_keys, codes = np.unique(keys[~missing], return_inverse=True)
    indices = np.zeros(len(keys), np.int32)
    indices[~missing] = codes
    starts = map(str, (unit_keys * n).astype(f"M8[{unit}]"))
    if step == "quarter":
        names = [f"{start[:-3]}-Q{key % 4 + 1}" for start, key in zip(starts, unit_keys, strict=True)]
    else:
        names = [f"{start}s" if step == "decade" else start for start in starts]
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=missing), pa.array(names, pa.string()))
