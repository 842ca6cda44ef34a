"""Public columns as they come, each as whole numbers: levels of a few hundred steps that a tree can split.

Numbers, dates and times are ordered; text, bytes and booleans are categories, the most frequent first. Missing is a
level of its own, the last one of an ordered column. Values that were not there at fit share the level of the rarest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._tables.columns import UNSEEN, ArrowColumn, as_arrow, factorize, look_up, sort_values
from sanitize._tables.intervals import edges_passed
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# More steps than this do not help a split, and histograms of them cost memory at every node.
MOST_LEVELS = 1024


@dataclass(frozen=True, eq=False)
class Levels:
    """From values of one column to levels and back.

    Attributes
    ----------
    name : str
    is_ordered : bool
    values : Arrow array
        Ordered: the least value of each level, ascending. Categories: the value of each level.

    Ordered columns have ``len(values)`` levels, then missing. Categories have ``len(values)`` levels, then missing,
    then all other values.
    """

    name: str
    is_ordered: bool
    values: pa.Array

    @property
    def n_levels(self) -> int:
        """Number of levels, those of missing and other values included."""
        return len(self.values) + (1 if self.is_ordered else 2)

    @property
    def missing(self) -> int:
        """Level of missing values."""
        return len(self.values)

    @classmethod
    def learn(cls, column: Any, name: str) -> tuple[Levels, NDArray[np.uint16], float]:
        """Levels of a column, the level of each row, and the entropy of its values in nats."""
        arrow = as_arrow(column, name)
        if _is_ordered(arrow.type, name):
            return cls._learn_ordered(arrow, name)
        values, codes = factorize(arrow, name)
        values, order = sort_values(values)
        rank = np.empty(len(order) + 1, np.int64)
        rank[order] = np.arange(len(order))
        rank[-1] = len(order)
        ranks = rank[codes]
        counts = np.bincount(ranks, minlength=len(order) + 1)
        by_count = np.argsort(-counts[:-1], kind="stable")[: MOST_LEVELS - 2]
        made = cls(name, is_ordered=False, values=values.take(pa.array(by_count)))
        level = np.full(len(order) + 1, made.n_levels - 1, np.uint16)
        level[by_count] = np.arange(len(by_count))
        level[-1] = made.missing
        return made, level[ranks], entropy(counts)

    @classmethod
    def _learn_ordered(cls, arrow: ArrowColumn, name: str) -> tuple[Levels, NDArray[np.uint16], float]:
        numbers, missing = as_ordered(arrow, name)
        distinct, first, inverse = np.unique(numbers[~missing], return_index=True, return_inverse=True)
        counts = np.bincount(inverse, minlength=len(distinct))
        step = _steps(counts, MOST_LEVELS - 1)
        starts = np.flatnonzero(np.diff(step, prepend=-1))
        rows = np.flatnonzero(~missing)[first[starts]]
        values = plain(arrow).take(pa.array(rows))
        made = cls(name, is_ordered=True, values=_whole(values))
        levels = np.full(len(numbers), made.missing, np.uint16)
        levels[~missing] = step[inverse]
        return made, levels, entropy(np.append(counts, missing.sum()))

    def encode(self, column: Any) -> NDArray[np.uint16]:
        """Level of each row of any column of this name."""
        arrow = as_arrow(column, self.name)
        if self.is_ordered:
            if pa.types.is_null(arrow.type):
                return np.full(len(arrow), self.missing, np.uint16)
            if not _is_ordered(arrow.type, self.name):
                raise ColumnError(
                    f"column {self.name!r} is {arrow.type}, but was {self.values.type} when the tree was grown; "
                    "convert it first",
                    self.name,
                )
            numbers, missing = as_ordered(arrow, self.name)
            starts, _ = as_ordered(self.values, self.name)
            levels = edges_passed(starts[1:], numbers).astype(np.uint16, copy=False)
            levels[missing] = self.missing
            return levels
        values, codes = factorize(arrow, self.name)
        found = np.append(look_up(values, self.values), np.int32(self.missing))
        found[found == UNSEEN] = self.n_levels - 1
        return found.astype(np.uint16)[codes]

    def begins_well(self) -> bool:
        """Whether the values are distinct, and ascending and of an ordered type where the column is ordered."""
        try:
            if _is_ordered(self.values.type, self.name) != self.is_ordered:
                return False
            if not self.is_ordered:
                return len(factorize(self.values, self.name)[0]) == len(self.values)
            numbers, missing = as_ordered(self.values, self.name)
        except ColumnError:
            return False
        return bool((numbers[1:] > numbers[:-1]).all() and not missing.any())

    def coarser(self, cuts: Sequence[int]) -> Levels:
        """Ordered levels that begin at these levels only; the first one stays."""
        kept = [0, *(cut for cut in cuts if cut < len(self.values))] if len(self.values) else []
        return replace(self, values=self.values.take(pa.array(kept, pa.int64())))


def _whole(values: ArrowColumn) -> pa.Array:
    """Values of a table or of files as one array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)


def entropy(counts: NDArray[np.integer[Any]]) -> float:
    """Entropy of frequencies, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum()) + 0.0


def _steps(counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Number, from 0, of the step that each of many ascending values is in; steps hold about equally many rows."""
    if len(counts) <= most:
        return np.arange(len(counts))
    before = np.cumsum(counts) - counts
    step = (2 * before + counts) * most // (2 * counts.sum())
    return np.cumsum(np.diff(step, prepend=step[0]) > 0)


def plain(arrow: ArrowColumn) -> ArrowColumn:
    """Column whose values stand for themselves, without a dictionary."""
    return arrow.cast(arrow.type.value_type) if pa.types.is_dictionary(arrow.type) else arrow


def _is_ordered(dtype: pa.DataType, name: str) -> bool:
    types = pa.types
    if types.is_dictionary(dtype):
        dtype = dtype.value_type
    if types.is_nested(dtype) or types.is_interval(dtype):
        raise ColumnError(f"column {name!r} is nested; flatten it into plain columns or leave it out", name)
    return bool(
        types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_temporal(dtype)
    )


def as_ordered(arrow: ArrowColumn, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers in the order of the values, and which rows are missing."""
    column = plain(arrow)
    types = pa.types
    if types.is_temporal(column.type):
        column = _nanoseconds(column, name)
    elif types.is_decimal(column.type) or types.is_float16(column.type):
        column = column.cast(pa.float64())
    if types.is_floating(column.type):
        numbers = (
            np.asarray(column.to_numpy(zero_copy_only=False)) if isinstance(column, pa.Array) else np.asarray(column)
        )
        numbers = numbers.astype(np.float64, copy=False)
        return numbers, np.isnan(numbers)
    missing = np.asarray(pc.is_null(column))
    whole = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(whole), missing


def _nanoseconds(column: ArrowColumn, name: str) -> ArrowColumn:
    """Dates and times as whole numbers of one unit, whatever theirs is."""
    types = pa.types
    dtype = column.type
    try:
        if types.is_date(dtype):
            column = column.cast(pa.timestamp("ms"))
            return pc.multiply_checked(column.cast(pa.int64()), 1_000_000)
        scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[dtype.unit]
        whole = column.cast(pa.int32()) if types.is_time32(dtype) else column
        return pc.multiply_checked(whole.cast(pa.int64()), scale)
    except pa.ArrowInvalid:
        raise ColumnError(
            f"column {name!r} holds dates beyond the years 1677 to 2262; write them as numbers or text", name
        ) from None
