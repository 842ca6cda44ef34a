"""Reading of released rows for an analysis, with the scores of released symbols that correct for the channel.

The expected score of a released symbol is the share of an input cell, whatever the distribution of X. With K the
channel and h a function of X, a score g with K g = h has E[g(Y) | X] = h(X). So the mean of g over released rows is
unbiased for the mean of h over the original rows of any table, and under the distribution that they were drawn from.
Such a g exists exactly if h is orthogonal to every change v of P_X that leaves P_Y unchanged (v K = 0).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sanitize._util.checks import Vector
from sanitize._util.limits import BLOCK_ROWS
from sanitize.core.alphabet import Alphabet, group_label
from sanitize.core.channel import Channel, Tuples, check_channel
from sanitize.core.confidence import check_confidence
from sanitize.errors import ColumnError, InvalidChannel, InvalidParameter
from sanitize.tables.frame import Table


@dataclass(frozen=True, eq=False)
class Hidden:
    """Columns that went through the channel, among the columns of an analysis.

    Attributes
    ----------
    cells : Alphabet or None
        Combinations of the columns' values; None if the analysis has no such column, so that there is one cell.
    groups : ndarray of int, shape (n_cells,)
        Group of each cell; cells that the channel does not separate are in one group.
    scores : ndarray of shape (n_y, n_groups)
    codes : ndarray of int, shape (n_rows,)
        Released symbol of each row.
    """

    cells: Alphabet | None
    groups: NDArray[np.int32]
    scores: Vector
    codes: NDArray[np.int32]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that went through the channel."""
        return () if self.cells is None else self.cells.columns

    def level(self, column: str) -> tuple[pa.Array, NDArray[np.int32]]:
        """Return the values of one column in order, and the position of each cell's value; missing values come last."""
        assert self.cells is not None
        place = self.columns.index(column)
        return self.cells.levels[place], self.cells.codes[:, place]

    def label(self, group: int) -> str:
        """Name of a group of cells: the name of its only cell, or the names of its first cells in braces."""
        members = np.flatnonzero(self.groups == group)
        return "" if self.cells is None else group_label(self.cells, members, len(members))

    def labels(self) -> list[str]:
        """Name of each group of cells."""
        return list(map(self.label, range(self.scores.shape[1])))

    def require_apart(self, what: str) -> None:
        """Raise an error if the channel merges cells that an analysis must distinguish."""
        if self.scores.shape[1] < len(self.groups):
            group = int(np.flatnonzero(np.bincount(self.groups) > 1)[0])
            raise InvalidParameter(
                f"{what} is not determined by this release: its channel does not separate {self.label(group)} of "
                f"{', '.join(self.columns)}; sanitize.auditing.analyze.table estimates the share of this group"
            )


def check_columns(columns: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names of columns as a tuple; refuse an empty list and repeated names."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter(f"{what} must name at least one column, and no column twice")
    return names


def open_release(
    released: Any, channel: Channel | str | os.PathLike[str], columns: Sequence[str], confidence: float
) -> tuple[Table, Hidden, tuple[str, ...], float]:
    """Return the released rows, the hidden columns, the names of unchanged columns, and the confidence of an analysis.

    Raises
    ------
    ColumnError
        If a column is absent, or holds values that the channel does not release.
    InvalidParameter
        If there are fewer than two rows.
    """
    table = Table.from_native(released)
    if table.n_rows < 2:
        raise InvalidParameter(f"a standard error needs at least 2 released rows, got {table.n_rows}")
    channel = Channel.from_json(channel) if isinstance(channel, (str, os.PathLike)) else check_channel(channel)
    confidence = check_confidence(confidence)
    printed = channel.outputs.columns
    lost = [name for name in printed if name in channel.inputs.columns and name not in table.names]
    if lost:
        raise ColumnError(
            f"the table lacks column {lost[0]!r} of this channel: the column was dropped, or the rows are generated. "
            "No valid standard errors can be computed from generated rows: ask the owner to repeat the analysis on "
            "the raw table, or to release a few columns of the real rows through a channel",
            lost[0],
        )
    hidden = tuple(name for name in columns if name in channel.inputs.columns)
    plain_columns = tuple(name for name in columns if name not in hidden)
    available = [*channel.inputs.columns, *(name for name in table.names if name not in printed)]
    for name in plain_columns:
        if name not in available:
            raise ColumnError.absent([name], available)
    if not hidden:
        nothing = np.zeros(table.n_rows, np.int32)
        return table, Hidden(None, np.zeros(1, np.int32), np.ones((1, 1)), nothing), plain_columns, confidence
    codes = channel.outputs.encode(table)
    strange = int((codes < 0).sum())
    if strange:
        raise ColumnError(
            f"{strange} of {len(codes)} rows have values of {', '.join(printed)} that this channel does not release: "
            "take the channel of this release, and convert numbers that were drawn inside bins back to these bins",
            printed[0],
        )
    tuples, (cells,) = Tuples.from_alphabet(channel.inputs, [hidden])
    scores = solve_scores(channel, tuples.codes[:, 0], len(cells))
    return table, Hidden(cells, *scores, codes), plain_columns, confidence


def row_codes(table: Table, columns: tuple[str, ...]) -> NDArray[np.int32]:
    """Number each row by its combination of values in some columns; all rows get 0 if there are no columns."""
    return Alphabet.from_table(table, columns).encode(table) if columns else np.zeros(table.n_rows, np.int32)


def blocks(n_rows: int) -> Iterator[slice]:
    """Slices of rows that are processed together."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def solve_scores(channel: Channel, cells: NDArray[np.int32], n_cells: int) -> tuple[NDArray[np.int32], Vector]:
    """Return the finest groups of cells that the channel separates, and scores of least variance under a uniform X.

    The mean score of the released rows estimates the share of a group without bias.

    Parameters
    ----------
    channel : Channel
    cells : ndarray of int, shape (n_x,)
        Cell of each input symbol.
    n_cells : int

    Raises
    ------
    InvalidChannel
        If the channel is too large to be decomposed.
    """
    # Decomposing a channel with this many entries takes some seconds and hundreds of megabytes.
    if channel.n_inputs * channel.n_outputs > 1 << 21:
        raise InvalidChannel(
            f"a channel from {channel.n_inputs} to {channel.n_outputs} symbols is too large to correct for; release "
            "fewer columns together, or coarser ones"
        )
    kernel = channel.matrix
    spread = np.sqrt(kernel.mean(axis=0))  # a symbol that no input leads to may have no entry
    spread[spread == 0] = 1.0
    left, singular, right = np.linalg.svd(kernel / spread, full_matrices=True)
    # A direction that the channel shrinks below this share of the largest is lost in the rounding of doubles.
    rank = int((singular > 1e-9 * singular[0]).sum())
    groups = _cell_groups(left[:, rank:], cells, n_cells)
    n_groups = int(groups.max()) + 1
    indicators = (groups[cells][:, None] == np.arange(n_groups)).astype(float)
    solved = right[:rank].T @ ((left[:, :rank].T @ indicators) / singular[:rank, None])
    return groups, solved / spread[:, None]


def _cell_groups(lost: Vector, cells: NDArray[np.int32], n_cells: int) -> NDArray[np.int32]:
    """Return the group of each cell; ``lost`` spans the changes of P_X that leave P_Y unchanged.

    Groups are numbered in the order of their first cells. The projector on these changes, summed within cells, is block
    diagonal. Every change sums to 0 within a block, so the release determines the share of a block, but not that of a
    part of a block.
    """
    nothing = 1e-6  # directions are lost from a share of 1e-9 on, so a basis of them has rounding errors of 1e-7
    summed = np.zeros((n_cells, lost.shape[1]))
    np.add.at(summed, cells, lost)
    if not lost.shape[1] or not (np.abs(summed) > nothing).any():
        return np.arange(n_cells, dtype=np.int32)
    basis, sizes, _ = np.linalg.svd(summed, full_matrices=False)
    basis = basis[:, sizes > nothing * sizes[0]]
    linked = np.abs(basis @ basis.T) > nothing
    _, labels = connected_components(csr_array(linked), directed=False)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)
