"""Released symbols printed as entries of a list: real rows of the drawn cell, or one row of labels a symbol."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._files.declared import Declared, require
from sanitize._files.system import in_turn
from sanitize._sampling.sampler import draw_all
from sanitize._tables.columns import as_arrow, ascending
from sanitize._tables.keys import distinct_rows
from sanitize.channel import Stage
from sanitize.printing._edges import MOST_ROWS, PRINT_LANE, check_starts, check_values, released

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._sampling.noise import RandomWords


class PrintTable(Declared, frozen=True, eq=False, dict=True, tag_field="kind", tag="table"):
    """Rows that each released symbol is printed as, and how often each of them.

    Attributes
    ----------
    values : dict of name to Arrow array
        Values of each printed column, without missing.
    codes : ndarray of int, shape (n_printed, n_columns)
        Place of each value; -1 for missing.
    starts : ndarray of int, shape (n_cells + 1,)
        Where the rows of each symbol begin.
    counts : ndarray of int, shape (n_printed,)
        How often each is printed, in parts.
    """

    values: dict[str, pa.Array]
    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        require(self.values and self.codes.shape == (len(self.counts), len(self.values)) and self.counts.ndim == 1)
        for name, values in self.values.items():
            check_values(values, name)
        require((self.codes >= -1).all() and (self.codes < [len(values) for values in self.values.values()]).all())
        check_starts(self.starts, len(self.counts))
        require((self.counts >= 1).all() and self.counts.sum(dtype=np.float64) <= MOST_ROWS)

    @property
    def names(self) -> tuple[str, ...]:
        """Printed columns."""
        return tuple(self.values)

    @property
    def n_cells(self) -> int:
        """Released symbols that it prints."""
        return len(self.starts) - 1

    @cached_property
    def stage(self) -> Stage:
        """P(printed row | symbol), in integers over 2^62."""
        total = np.add.reduceat(self.counts, self.starts[:-1])
        shares = self.counts / np.repeat(total, np.diff(self.starts))
        return Stage.from_probabilities(self.starts, np.arange(len(self.counts)), shares, len(self.counts))

    def decode(
        self, cells: NDArray[np.integer[Any]], words: RandomWords, start: int = 0, workers: int = 1
    ) -> dict[str, pa.Array]:
        """A printed row for each released symbol; row i of a table draws the same in any batch."""
        stage = self.stage
        step = stage.indices.take if stage.is_deterministic else stage.sampler.drawing(words, PRINT_LANE, start)
        rows = draw_all([step], cells, np.empty(len(cells), np.int32)).astype(np.intp)

        def printed(column: tuple[pa.Array, NDArray[np.int32]]) -> pa.DictionaryArray:
            values, codes = column
            return released(values, codes.take(rows))

        columns = zip(self.values.values(), self.codes.T, strict=True)
        return dict(zip(self.values, in_turn(printed, columns, workers), strict=True))

    @classmethod
    def of_rows(
        cls, table: Mapping[str, Any], names: Sequence[str], cells: NDArray[np.integer[Any]], n_cells: int
    ) -> Self:
        """Table for ``output="resample"``: rows of people of the cell, as they are.

        Parameters
        ----------
        table : mapping of name to column
        names : sequence of str
            Columns that are printed.
        cells : ndarray of int, shape (n,)
            Cell of each row.
        n_cells : int
        """
        values, columns = {}, []
        for name in names:
            values[name], codes = ascending(as_arrow(table[name], name), name)
            columns.append(codes + 1)  # 0 of missing
        rows = np.stack([cells.astype(np.int32), *columns], axis=1)
        distinct, place = distinct_rows(rows, [n_cells, *(len(level) + 1 for level in values.values())])
        starts = np.searchsorted(distinct[:, 0], np.arange(n_cells + 1))
        counts = np.bincount(place, minlength=len(distinct))
        return cls(values, np.asfortranarray(distinct[:, 1:] - 1), starts, counts)  # read by columns

    @classmethod
    def of_labels(cls, texts: Sequence[Mapping[str, str]], names: Sequence[str]) -> Self:
        """Table for ``output="label"``: one row of texts for each released symbol.

        Parameters
        ----------
        texts : list of dict of name to str
            Interval or set of values of each released symbol in each column.
        names : sequence of str
            Columns that are printed.
        """
        values, codes = {}, np.empty((len(texts), len(names)), np.int32, order="F")
        for j, name in enumerate(names):
            distinct, codes[:, j] = np.unique([text[name] for text in texts], return_inverse=True)
            values[name] = pa.array(distinct.tolist(), pa.string())
        return cls(values, codes, np.arange(len(texts) + 1), np.ones(len(texts), np.int64))
