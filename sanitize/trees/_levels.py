"""Public columns as they come, each as whole numbers: levels of some hundred steps that a tree can split.

Numbers, dates and times are ordered; text, bytes and booleans are categories, the most frequent first. Missing is a
level of its own, the last one of an ordered column. No level, and no edge between two, is that of a few rows: rare
categories and values that were not there at fit share one level, and edges lie between many rows (`_edges`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._checks import Codes
from sanitize._files.declared import Declared, require
from sanitize._tables.columns import UNSEEN, ArrowColumn, as_arrow, factorize, look_up
from sanitize._tables.keys import edges_passed
from sanitize._tables.ordered import as_ordered, categories, is_ordered, plain, restored
from sanitize.errors import ColumnError
from sanitize.trees._edges import LEAST_ROWS, Kind, Scale, edges_of

# Categories beyond these are pooled: histograms of more cost memory at every node.
MOST_CATEGORIES = 254


class Levels(Declared, frozen=True, eq=False):
    """From values of one column to levels and back.

    Attributes
    ----------
    name : str
    is_ordered : bool
    values : Arrow array
        Ordered: the least value of each level, ascending. Categories: the value of each level.
    pooled : Arrow array, optional
        Values of a hierarchy that share the level of an ancestor.
    pool : ndarray of int
        Which level.

    Ordered columns have ``len(values)`` levels, then missing. Categories have ``len(values)`` levels, then missing,
    then all other values.
    """

    name: str
    is_ordered: bool
    values: pa.Array
    pooled: pa.Array | None = None
    pool: Codes = np.empty(0, np.intp)

    def __post_init__(self) -> None:
        pooled = self.values[:0] if self.pooled is None else self.pooled
        require(not self.values.null_count and not pooled.null_count and pooled.type == self.values.type)
        require(self.pool.shape == (len(pooled),) and not (self.is_ordered and len(pooled)))
        require(((self.pool >= 0) & (self.pool < len(self.values))).all())
        try:
            fits = is_ordered(self.values.type, self.name) == self.is_ordered
            if fits and self.is_ordered:
                numbers, missing = as_ordered(self.values, self.name)
                fits = bool((numbers[1:] > numbers[:-1]).all()) and not missing.any()
            elif fits:
                fits = len(factorize(self.values, self.name)[0]) == len(self.values)
        except ColumnError:
            fits = False
        require(fits, "must be distinct, and ascending where they are ordered", "values")

    @property
    def n_levels(self) -> int:
        """Number of levels, those of missing and other values included."""
        return len(self.values) + (1 if self.is_ordered else 2)

    @property
    def missing(self) -> int:
        """Level of missing values."""
        return len(self.values)

    @classmethod
    def learn(
        cls, column: Any, name: str, edges: Sequence[Any] = (), above: Mapping[str, tuple[str, ...]] | None = None
    ) -> Levels:
        """Levels of a column.

        Parameters
        ----------
        column : column
        name : str
        edges : sequence of numbers
            Of an ordered column, in place of learned ones.
        above : mapping of value to names, optional
            Ancestors of categories, the nearest first: rare ones share the level of the first that many rows have.
        """
        arrow = as_arrow(column, name)
        if is_ordered(arrow.type, name):
            dtype = plain(arrow).type
            if len(edges):
                return cls(name, is_ordered=True, values=restored(np.array(edges[:-1]), dtype))
            scale = scale_of(arrow, name)
            starts = edges_of(scale).starts if len(scale.values) else scale.values
            return cls(name, is_ordered=True, values=restored(starts, dtype))
        return cls.of_categories(*categories(arrow, name), name, above=above)

    @classmethod
    def of_categories(
        cls,
        values: pa.Array,
        counts: NDArray[np.int64],
        name: str,
        most: int = MOST_CATEGORIES,
        above: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Levels:
        """Levels of categories that so many rows have, at most so many; see `learn`."""
        kept = values.take(pa.array(frequent(counts, most)))
        if above is None or not pa.types.is_string(values.type):
            return cls(name, is_ordered=False, values=kept)
        own = {value: level for level, value in enumerate(kept.to_pylist())}
        rows = {v: n for v, n in zip(values.to_pylist(), counts.tolist(), strict=True) if v not in own}
        pool: dict[str, str] = {}
        for height in range(len(next(iter(above.values())))):
            size: dict[str, int] = {}
            for value, names in above.items():
                if value not in own and value not in pool:
                    size[names[height]] = size.get(names[height], 0) + rows.get(value, 0)
            shared = {group for group, n in size.items() if n >= LEAST_ROWS}
            pool |= {
                v: names[height] for v, names in above.items() if v not in {*own, *pool} and names[height] in shared
            }
        level = own | {group: len(own) + k for k, group in enumerate(sorted({*pool.values()} - {*own}))}
        return cls(
            name,
            is_ordered=False,
            values=pa.array(level, values.type),
            pooled=pa.array(pool, values.type),
            pool=np.array([level[group] for group in pool.values()], np.intp),
        )

    def encode(self, column: Any) -> NDArray[np.uint16]:
        """Level of each row of any column of this name."""
        arrow = as_arrow(column, self.name)
        if self.is_ordered:
            if pa.types.is_null(arrow.type):
                return np.full(len(arrow), self.missing, np.uint16)
            if not is_ordered(arrow.type, self.name):
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
        found = look_up(values, self.values)
        if self.pooled is not None:
            place = look_up(values, self.pooled)
            shared = np.append(self.pool, [UNSEEN, UNSEEN])[place]
            found = np.where(found == UNSEEN, shared, found)
        found = np.append(found, self.missing)
        found[found == UNSEEN] = self.n_levels - 1
        return found.astype(np.uint16)[codes]

    def coarser(self, cuts: Sequence[int]) -> Levels:
        """Ordered levels that begin at these levels only; the first one stays."""
        kept = [0, *(cut for cut in cuts if cut < len(self.values))] if len(self.values) else []
        return self.__replace__(values=self.values.take(pa.array(kept, pa.int64())))


def frequent(counts: NDArray[np.int64], most: int = MOST_CATEGORIES) -> Codes:
    """Places of the categories that are levels of their own, the most frequent first."""
    by_count = np.argsort(-counts, kind="stable")[:most]
    return by_count[counts[by_count] >= LEAST_ROWS]


def scale_of(arrow: ArrowColumn, name: str) -> Scale:
    """Distinct values of an ordered column and the rows of each."""
    numbers, missing = as_ordered(arrow, name)
    values, counts = np.unique(numbers[~missing] if missing.any() else numbers, return_counts=True)
    dtype = plain(arrow).type
    kind: Kind = "number"
    if pa.types.is_temporal(dtype):
        kind = "instant" if pa.types.is_timestamp(dtype) or pa.types.is_date(dtype) else "span"
    return Scale.of(values, counts, kind, single=pa.types.is_float32(dtype) or pa.types.is_float16(dtype))


def steps(column: Levels, counts: NDArray[np.integer[Any]], most: int) -> Codes:
    """Which of so many steps of one width each level of an ordered column is in; a hundredth of the rows is beyond."""
    numbers, _ = as_ordered(column.values, column.name)
    low, high = numbers[np.searchsorted(np.cumsum(counts), np.array([0.01, 0.99]) * counts.sum())]
    return np.searchsorted(np.linspace(low, high, most + 1)[1:-1], numbers, side="right")


def entropy(counts: NDArray[np.integer[Any]]) -> float:
    """Entropy of frequencies, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum()) + 0.0
