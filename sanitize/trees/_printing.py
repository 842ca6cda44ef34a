"""What must be kept to print a row from a cell, and the draw: whole rows, each column by itself, or labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._files.workers import in_turn
from sanitize._sampling.sampler import draw_all
from sanitize._tables.columns import MISSING, as_arrow, factorize, sort_values
from sanitize._tables.keys import distinct_rows
from sanitize.channel import Stage
from sanitize.trees._printer_plain import printer_from_plain, printer_to_plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords

# Lanes of the random source above those of channels and of numbers drawn inside bins.
_PRINT_LANE = 1 << 21


@dataclass(frozen=True, eq=False)
class PrintTable:
    """Distinct printed rows of each cell and how often each was there.

    Attributes
    ----------
    levels : dict of name to Arrow array
        Values of each printed column, without missing.
    codes : ndarray of int, shape (n_printed, n_columns)
        Place of each value among the levels; the last place is missing. Column by column in memory, as they are drawn.
    starts : ndarray of int, shape (n_cells + 1,)
        Where the printed rows of each cell begin.
    counts : ndarray of int, shape (n_printed,)
        Rows of the table that each printed row stands for.
    """

    levels: dict[str, pa.Array]
    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    @cached_property
    def stage(self) -> Stage:
        """P(printed row | cell), in integers over 2^62."""
        total = np.add.reduceat(self.counts, self.starts[:-1])
        shares = self.counts / np.repeat(total, np.diff(self.starts))
        return Stage.from_probabilities(self.starts, np.arange(len(self.counts)), shares, len(self.counts))

    def draw(
        self, cells: NDArray[np.integer], words: RandomWords, lane: int, start: int, workers: int = 1
    ) -> dict[str, pa.Array]:
        """A printed row for each row, from its cell; row i of a table draws the same in any batch."""
        stage = self.stage
        step = stage.indices.take if stage.is_deterministic else stage.sampler.drawing(words, lane, start)
        rows = draw_all([step], cells, np.empty(len(cells), np.int32)).astype(np.intp)

        def released(column: tuple[pa.Array, NDArray[np.int32]]) -> pa.DictionaryArray:
            level, codes = column
            return _released(level, codes.take(rows))

        columns = zip(self.levels.values(), self.codes.T, strict=True)
        return dict(zip(self.levels, in_turn(released, columns, workers), strict=True))

    @property
    def n_cells(self) -> int:
        """Released symbols that it prints."""
        return len(self.starts) - 1


def _released(level: pa.Array, codes: NDArray[np.int32]) -> pa.DictionaryArray:
    """Column of some values, whose dictionary names no others: a file would hold them too."""
    seen = np.zeros(len(level) + 1, bool)
    seen[codes] = True
    place = (np.cumsum(seen) - 1).astype(np.int32).take(codes)
    missing = codes == len(level) if seen[-1] else None
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), level.filter(pa.array(seen[:-1])))


@dataclass(frozen=True, eq=False)
class Printer:
    """Prints released cells, or labels of released symbols, as rows of columns.

    Attributes
    ----------
    tables : tuple of PrintTable
        Each draws its columns by itself.
    """

    tables: tuple[PrintTable, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the printed columns."""
        return tuple(name for table in self.tables for name in table.levels)

    @property
    def levels(self) -> dict[str, pa.Array]:
        """Values that each column may have, missing left out."""
        return {name: level for table in self.tables for name, level in table.levels.items()}

    def decode(
        self, released: NDArray[np.integer], words: RandomWords, start: int = 0, workers: int = 1
    ) -> dict[str, pa.Array]:
        """Printed columns of released codes, drawn from the frequencies of the cell each of them names."""
        printed: dict[str, pa.Array] = {}
        for number, table in enumerate(self.tables):
            printed |= table.draw(released, words, _PRINT_LANE + number, start, workers)
        return printed

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; see `from_dict`. They hold every value that may be printed."""
        return printer_to_plain([(t.levels, t.codes, t.starts, t.counts) for t in self.tables])

    @classmethod
    def from_dict(cls, state: Any) -> Printer:
        """Printer from plain values, checked as untrusted input."""
        return cls(tuple(PrintTable(*fields) for fields in printer_from_plain(state)))


def whole_rows(table: Mapping[str, Any], names: list[str], cells: NDArray[np.int32], n_cells: int) -> PrintTable:
    """Table for ``release="resample"``: a row is printed as a whole, so that dependence between columns stays.

    Parameters
    ----------
    table : mapping of name to column
    names : list of str
        Columns that are printed.
    cells : ndarray of int, shape (n,)
        Cell of each row.
    n_cells : int

    Returns
    -------
    PrintTable
    """
    levels, columns = {}, []
    for name in names:
        values, codes = factorize(as_arrow(table[name], name), name)
        level, order = sort_values(values)
        rank = np.empty(len(order) + 1, np.int32)
        rank[order] = np.arange(len(order))
        rank[MISSING] = len(order)
        levels[name] = level
        columns.append(rank[codes])
    rows = np.stack([cells.astype(np.int32), *columns], axis=1)
    distinct, place = distinct_rows(rows, [n_cells, *(len(level) + 1 for level in levels.values())])
    starts = np.searchsorted(distinct[:, 0], np.arange(n_cells + 1))
    counts = np.bincount(place, minlength=len(distinct))
    return PrintTable(levels, np.asfortranarray(distinct[:, 1:]), starts, counts)


def single_columns(
    table: Mapping[str, Any], names: list[str], cells: NDArray[np.int32], n_cells: int
) -> dict[str, PrintTable]:
    """Tables for ``release="independent"``: each column of a cell by itself, so that no printed row is anybody's.

    Parameters
    ----------
    table : mapping of name to column
    names : list of str
        Columns that are printed.
    cells : ndarray of int, shape (n,)
        Cell of each row.
    n_cells : int

    Returns
    -------
    dict of name to PrintTable
    """
    return {name: whole_rows(table, [name], cells, n_cells) for name in names}


def labels(texts: Sequence[Mapping[str, str]], names: Sequence[str]) -> PrintTable:
    """Table for ``release="label"``: one row of texts for each released symbol.

    Parameters
    ----------
    texts : list of dict of name to str
        Interval or set of values of each released symbol in each column.
    names : list of str
        Columns that are printed.

    Returns
    -------
    PrintTable
    """
    levels, codes = {}, np.empty((len(texts), len(names)), np.int32, order="F")
    for j, name in enumerate(names):
        distinct, codes[:, j] = np.unique([text[name] for text in texts], return_inverse=True)
        levels[name] = pa.array(distinct.tolist(), pa.string())
    return PrintTable(levels, codes, np.arange(len(texts) + 1), np.ones(len(texts), np.int64))
