"""Counts of combinations of columns that add up without a look at their values, batch by batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._tables.combined import with_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize._tables.combined import Combined

# Cells that are kept while rows are read.
_MOST_CELLS = 1 << 20


@dataclass(eq=False)
class CombinationCounts:
    """Rows of some columns by combination.

    Attributes
    ----------
    values : dict of str to DictionaryArray
        Distinct values of each column by position, and missing last.
    counts : ndarray of int64, one axis a column
    """

    values: dict[str, pa.DictionaryArray]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, combined: Combined) -> CombinationCounts:
        """Rows of a batch."""
        return cls(combined.values, combined.counts.reshape(combined.sizes))

    def take(self, other: CombinationCounts) -> bool:
        """Add rows of the same columns; other ones, and more values than can be kept, are refused."""
        if list(self.values) != list(other.values):
            return False
        values, kept, places = {}, [], []
        for name, theirs in other.values.items():
            mine = self.values[name]
            if mine.type != theirs.type:
                return False
            if mine.dictionary.equals(theirs.dictionary):
                values[name], place = mine, np.arange(len(theirs))
            else:
                try:
                    found = pc.index_in(theirs.dictionary, value_set=mine.dictionary)
                except pa.ArrowNotImplementedError:
                    return False
                fresh = theirs.dictionary.filter(found.is_null())
                values[name] = with_missing(pa.concat_arrays([mine.dictionary, fresh]))
                place = np.append(found.fill_null(-1).to_numpy(), len(values[name]) - 1)
                place[place < 0] = np.arange(len(mine) - 1, len(values[name]) - 1)
            places.append(place)
            kept.append([*range(len(mine) - 1), len(values[name]) - 1])
        sizes = tuple(map(len, values.values()))
        if math.prod(sizes) > _MOST_CELLS:
            return False
        counts = np.zeros(sizes, np.int64)
        counts[np.ix_(*kept)] = self.counts
        np.add.at(counts, np.ix_(*places), other.counts)  # a dictionary may hold a value twice
        self.values, self.counts = values, counts
        return True

    def table(self) -> tuple[dict[str, pa.DictionaryArray], NDArray[np.int64]]:
        """Columns of the combinations that occur, and how many rows each has."""
        occurring = np.nonzero(self.counts)
        columns = {
            name: column.take(pa.array(place))
            for (name, column), place in zip(self.values.items(), occurring, strict=True)
        }
        return columns, self.counts[occurring]
