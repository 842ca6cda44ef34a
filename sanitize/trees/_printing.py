"""What must be kept to print a row from a cell: whole rows, or each column by itself, with their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._tables.columns import MISSING, as_arrow, factorize, sort_values
from sanitize._tables.keys import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PrintTable:
    """Distinct printed rows of each cell and how often each was there.

    Attributes
    ----------
    levels : dict of name to Arrow array
        Values of each printed column, without missing.
    codes : ndarray of int, shape (n_printed, n_columns)
        Place of each value among the levels; the last place is missing.
    starts : ndarray of int, shape (n_cells + 1,)
        Where the printed rows of each cell begin.
    counts : ndarray of int, shape (n_printed,)
        Rows of the table that each printed row stands for.
    """

    levels: dict[str, pa.Array]
    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


def whole_rows(table: Mapping[str, Any], names: list[str], cells: NDArray[np.int32], n_cells: int) -> PrintTable:
    """Table for ``release="resample"``: a row is printed as a whole, so that dependence between columns stays."""
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
    return PrintTable(levels, np.ascontiguousarray(distinct[:, 1:]), starts, counts)


def single_columns(
    table: Mapping[str, Any], names: list[str], cells: NDArray[np.int32], n_cells: int
) -> dict[str, PrintTable]:
    """Tables for ``release="independent"``: each column of a cell by itself, so that no printed row is anybody's."""
    return {name: whole_rows(table, [name], cells, n_cells) for name in names}
