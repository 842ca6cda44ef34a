"""Binning of numeric columns into intervals or grid points, and drawing of values within intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sanitize._util.checks import Mask, Vector, check_number, doubles, whole_number
from sanitize._util.declared import Declared, Finite, require
from sanitize._util.limits import BLOCK_ROWS
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.columns import ArrowColumn, as_arrow, mask_values, value_type
from sanitize.tables.keys import edges_passed

_Drawn: TypeAlias = "Callable[[NDArray[np.integer[Any]], NDArray[np.uint32]], NDArray[Any]]"

# Limits of the two types in which whole numbers are drawn; Arrow has no wider ones.
_SIGNED, _UNSIGNED = np.iinfo(np.int64), np.iinfo(np.uint64)
# Largest number of symbols that a column may be cut into: a million are more than rows could distinguish, and more are
# refused before any memory is allocated.
_MOST_SYMBOLS = 1 << 20


class LearnedEdges(list[Any]):
    """Edges of bins that were learned from the rows; they count as learned even if somebody passes them by hand."""


class Bins(Declared, frozen=True, tag_field="kind", tag="numbers"):
    """Intervals of one numeric column: [e0, e1), [e1, e2), ..., the last one closed; a single edge makes two intervals.

    Parameters
    ----------
    column : str
    edges : tuple of float
        Ascending. Values outside are clipped into the end intervals. A single edge cuts the column in two and clips
        nothing.
    learned : bool
        True if the edges are rounded quantiles of the data and so reveal something about the data.
    whole : bool
        True if the column holds integers; the values drawn inside an interval are then integers too.
    """

    column: str
    edges: tuple[Finite, ...]
    learned: bool
    whole: bool
    # A column that one edge cuts in two needs outer ends, lower and higher than every value, whose distance is a
    # double.
    endless: ClassVar[float] = 1e300

    def __post_init__(self) -> None:
        require(len(self.edges) > 1 and _ascend(self.edges), "must be two numbers or more, ascending", "edges")

    @classmethod
    def from_edges(cls, column: str, edges: Sequence[float], dtype: pa.DataType) -> Bins:
        """Build bins from edges that somebody chose without looking at the rows, or from `LearnedEdges`."""
        error = InvalidParameter(f"bins of {column!r} must be finite numbers in ascending order, such as [18, 30, 65]")
        numbers = doubles(edges, error)
        if numbers.ndim != 1 or len(numbers) < 1 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
            raise error
        _check_numeric(column, dtype)
        is_learned = isinstance(edges, LearnedEdges)
        bins = cls(column, cls.with_ends(numbers.tolist()), learned=is_learned, whole=pa.types.is_integer(dtype))
        if bins.whole and bins.whole_range[0] > bins.whole_range[1]:
            raise InvalidParameter(
                f"bins of {column!r} contain no whole number, but the column has integers; choose wider bins"
            )
        return bins

    @classmethod
    def with_ends(cls, edges: Sequence[float]) -> tuple[float, ...]:
        """Return the edges, with outer ends added to a single edge."""
        return (-cls.endless, *edges, cls.endless) if len(edges) == 1 else tuple(edges)

    @property
    def has_one_edge(self) -> bool:
        """True if a single edge cuts the column in two."""
        return self.edges[:1] == (-self.endless,)

    @property
    def prints_labels(self) -> bool:
        """True if intervals are released by name, False if a value drawn inside the interval is released."""
        return self.has_one_edge

    @property
    def order(self) -> pa.Array | None:
        """Symbols in ascending order; None if the symbols are known only from the rows."""
        return self.labels

    @property
    def labels(self) -> pa.Array:
        """Names of the intervals in ascending order."""
        if self.has_one_edge:
            edge = self.edge_names()[1]
            return pa.array([f"below {edge}", f"{edge} and above"], pa.string())
        names = [f"[{a}, {b})" for a, b in pairwise(self.edge_names())]
        return pa.array([*names[:-1], f"{names[-1][:-1]}]"], pa.string())

    def edge_names(self) -> list[str]:
        """Return the edges as text for labels."""
        return [f"{x:.0f}" if x.is_integer() and abs(x) < 1e15 else repr(x) for x in map(float, self.edges)]

    def assign(self, values: ArrowColumn) -> tuple[pa.DictionaryArray, int]:
        """Return the interval of each row, missing where the value is missing, and the number of clipped rows."""
        _check_numeric(self.column, values.type)
        numbers = as_numbers(values)
        return self._find_intervals(numbers, np.isnan(numbers))

    def _find_intervals(self, numbers: NDArray[Any], missing: Mask) -> tuple[pa.DictionaryArray, int]:
        """Return the interval of each number, compared with edges of the same type, and the number of clipped rows."""
        edges = np.array(self.edges, numbers.dtype)
        is_outside = (numbers < edges[0]) | (numbers > edges[-1])
        codes = edges_passed(edges[1:-1], numbers).astype(np.int32)
        places = pa.DictionaryArray.from_arrays(mask_values(codes, missing), self.labels)
        return places, int(np.count_nonzero(is_outside & ~missing))

    def draw(self, labels: pa.DictionaryArray, words: NDArray[np.uint32]) -> pa.Array:
        """Draw a value uniformly in each row's interval, independently of the row's own value."""
        place = pc.index_in(labels.dictionary, value_set=self.labels).to_numpy(zero_copy_only=False)
        missing = labels.indices.is_null().to_numpy(zero_copy_only=False)
        indices = labels.indices.fill_null(0).to_numpy(zero_copy_only=False)
        codes = place if len(place) else np.zeros(1, np.intp)  # there is no label if all rows are missing
        drawn = self._drawing()
        blocks = [
            drawn(codes.take(indices[start : start + BLOCK_ROWS]), words[start : start + BLOCK_ROWS])
            for start in range(0, max(len(indices), 1), BLOCK_ROWS)
        ]
        return mask_values(np.concatenate(blocks), missing)

    def _drawing(self) -> _Drawn:
        """Return a function that draws numbers uniformly in intervals, from codes of intervals and random words.

        Whole numbers are exactly ⌊word * size / 2**32⌋ above the least whole number of the interval.
        """
        if not self.whole:
            low, width = np.array(self.edges[:-1]), np.diff(self.edges)
            return lambda codes, words: low.take(codes) + words / 2.0**32 * width.take(codes)
        least, largest = self.whole_range
        begins = [min(max(math.ceil(edge), least), largest) for edge in self.edges[:-1]]
        ends = [*(min(math.ceil(edge), largest + 1) for edge in self.edges[1:-1]), largest + 1]
        sizes = [max(end - begin, 1) for begin, end in zip(begins, ends, strict=True)]
        upper, lower = (np.array(half, np.uint64) for half in zip(*(divmod(n, 1 << 32) for n in sizes), strict=True))
        # Sums wrap around, so one type serves both negative numbers and numbers above the signed range.
        begin = np.array([begin % (1 << 64) for begin in begins], np.uint64)

        def draw_block(codes: NDArray[np.integer[Any]], words: NDArray[np.uint32]) -> NDArray[Any]:
            wide = words.astype(np.uint64)
            above = wide * upper.take(codes) + (wide * lower.take(codes) >> np.uint64(32))
            return (begin.take(codes) + above).view(np.uint64 if largest > _SIGNED.max else np.int64)

        return draw_block

    @property
    def whole_range(self) -> tuple[int, int]:
        """Least and largest 64-bit integers within the outer edges.

        Only a range without negative numbers uses unsigned integers. The double 2**63 stands for the largest signed
        integer, which no double holds.
        """
        least, largest = math.ceil(self.edges[0]), math.floor(self.edges[-1])
        most = _SIGNED.max if least < 0 or largest <= _SIGNED.max + 1 else _UNSIGNED.max
        return max(min(least, most), _SIGNED.min), max(min(largest, most), _SIGNED.min)


class Grid(Bins, frozen=True, tag="grid"):
    """Grid of declared points within declared bounds; each value becomes the nearest point after clipping."""

    values: tuple[Finite, ...]
    prints_labels: ClassVar[bool] = True  # labels are the points themselves

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            len(self.values) == len(self.edges) - 1 and _ascend(self.values),
            "must be numbers, one in each bin",
            "values",
        )
        inside = (a <= x <= b for x, (a, b) in zip(self.values, pairwise(self.edges), strict=True))
        require(all(inside), "must be numbers, one in each bin", "values")
        require(not self.learned and not (self.whole and any(x % 1 for x in self.values)))

    @classmethod
    def from_bounds(
        cls, column: str, bounds: Sequence[float], step: float | None, points: int, values: ArrowColumn
    ) -> Grid:
        """Build the grid from the bounds of a column and a step or number of points."""
        try:
            low, high = (float(bound) for bound in bounds)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(f"bounds of {column!r} must be a pair (low, high), got {bounds!r}") from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InvalidParameter(f"bounds of {column!r} must be finite with low < high, got {bounds!r}")
        whole = Bins.from_edges(column, (low, high), values.type).whole  # refuses other types
        if step is None:
            step = (high - low) / (whole_number("points", points, 2) - 1)
            step = math.ceil(step - 1e-9) if whole else step
        legal = "be > 0 and at most high - low"
        step = check_number(f"step of {column!r}", step, legal, lambda value: 0 < value <= high - low)
        if whole and not (low.is_integer() and step.is_integer()):
            raise InvalidParameter(
                f"column {column!r} has integers, so low and step must be whole numbers, got {low} and {step}"
            )
        if (high - low) / step >= _MOST_SYMBOLS:
            raise InvalidParameter(
                f"step of {column!r} must give at most {_MOST_SYMBOLS} points, got {step}; choose a larger step"
            )
        n = math.floor((high - low) / step + 1e-9) + 1
        grid = low + step * np.arange(n) + 0.0
        middles = (grid[:-1] + grid[1:]) / 2
        return cls(column, (low, *middles.tolist(), high), learned=False, whole=whole, values=tuple(grid.tolist()))

    @property
    def labels(self) -> Any:
        """Points of the grid, which are the symbols."""
        return as_arrow(np.array(self.values, dtype=np.int64 if self.whole else np.float64), self.column)

    def assign(self, values: ArrowColumn) -> Any:
        """Return the nearest grid point of each row, and the number of clipped rows."""
        if not np.isfinite(as_numbers(values)).all():
            raise ColumnError.fault(
                self.column, "has missing, NaN or infinite values, which no noise can hide; impute or drop them first"
            )
        return super().assign(values)


def _ascend(numbers: tuple[float, ...]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


def as_numbers(values: ArrowColumn) -> Vector:
    """Convert a numeric Arrow column to float64, NaN where missing."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def is_numeric(dtype: pa.DataType) -> bool:
    """Return whether a column can be binned: integers, floats and decimals, but not booleans or dates."""
    dtype = value_type(dtype)
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype))


def _check_numeric(column: str, dtype: pa.DataType) -> None:
    if not is_numeric(dtype):
        raise ColumnError.fault(
            column,
            f"has the type {dtype}, which is not numeric, so its bins cannot have numbers as edges; leave it out of "
            "bins or, if it contains dates, give 'month', 'year' or a list of dates",
        )
