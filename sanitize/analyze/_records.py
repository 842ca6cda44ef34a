"""Released rows as codes: what went through the channel, by scores, and what was kept, as it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._limits import BLOCK_ROWS
from sanitize._tables.frame import Table
from sanitize.alphabet import Alphabet
from sanitize.analyze._scores import unbiased_scores
from sanitize.channel import Channel, Tuples, check_channel
from sanitize.errors import ColumnError, InvalidParameter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Hidden:
    """The columns of an analysis that went through the channel.

    Attributes
    ----------
    cells : Alphabet or None
        Combinations of their values; None where no such column is asked for, which is one cell.
    groups : ndarray of int, shape (n_cells,)
        Cells that the channel does not tell apart have one group.
    scores : ndarray of shape (n_y, n_groups)
    codes : ndarray of int, shape (n_rows,)
        Released symbol of each row.
    """

    cells: Alphabet | None
    groups: NDArray[np.int32]
    scores: NDArray[np.float64]
    codes: NDArray[np.int32]

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names."""
        return () if self.cells is None else self.cells.columns

    @cached_property
    def symbols(self) -> list[tuple[Any, ...]]:
        """Values of each cell, in the order of the columns."""
        if self.cells is None:
            return [()]
        return [row if isinstance(row, tuple) else (row,) for row in self.cells.symbols]

    def members(self, group: int) -> NDArray[np.intp]:
        """Cells of a group."""
        return np.flatnonzero(self.groups == group)

    def labels(self) -> list[str]:
        """Name of each group: its cell, or some of its cells in braces."""
        return [self._label(self.members(group)) for group in range(self.scores.shape[1])]

    def _label(self, members: NDArray[np.intp]) -> str:
        if self.cells is None:
            return ""
        shown = 3
        name = ", ".join(self.cells.label(int(cell)) for cell in members[:shown])
        if len(members) > shown:
            name += f", +{len(members) - shown} more"
        return name if len(members) == 1 else "{" + name + "}"

    def require_apart(self, what: str) -> None:
        """Refuse what needs cells that the channel merged."""
        if self.scores.shape[1] < len(self.groups):
            group = int(np.flatnonzero(np.bincount(self.groups) > 1)[0])
            raise InvalidParameter(
                f"{what} is not determined by this release: its channel does not tell "
                f"{self._label(self.members(group))} of {', '.join(self.columns)} apart; sanitize.analyze.table gives "
                "what it tells"
            )


def as_channel(channel: Channel | str | os.PathLike[str]) -> Channel:
    """The channel itself, or the one that was kept as a file or a text."""
    if isinstance(channel, str) or hasattr(channel, "__fspath__"):
        return Channel.from_json(channel)
    return check_channel(channel)


def listed_columns(columns: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Names of columns, each once, at least one."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter(f"{what} must name at least one column, each once")
    return names


def released_table(released: Any) -> Table:
    """The released rows as columns; none at all tell nothing."""
    table = Table.of(released)
    if table.n_rows < 2:
        raise InvalidParameter(f"an estimate with an error needs at least 2 released rows, got {table.n_rows}")
    return table


def split(table: Table, channel: Channel, columns: Sequence[str]) -> tuple[Hidden, tuple[str, ...]]:
    """What went through the channel among these columns, and the names of the others, which were kept as they are.

    Raises
    ------
    ColumnError
        If a column is not there, or holds what the channel does not print.
    """
    printed = channel.outputs.columns
    lost = [name for name in printed if name in channel.inputs.columns and name not in table.names]
    if lost:
        raise ColumnError(
            f"the table holds no column {lost[0]!r}, which this channel prints: it does not tell by what rows err that "
            "stand for cells of a tree, or that lost released columns; compare models by sanitize.downstream, or "
            "release the columns by another mechanism",
            lost[0],
        )
    hidden = tuple(name for name in columns if name in channel.inputs.columns)
    kept = tuple(name for name in columns if name not in hidden)
    there = [*channel.inputs.columns, *(name for name in table.names if name not in printed)]
    for name in kept:
        if name not in there:
            raise ColumnError.absent([name], there)
    if not hidden:
        nothing = np.zeros(table.n_rows, np.int32)
        return Hidden(None, np.zeros(1, np.int32), np.ones((1, 1)), nothing), kept
    codes = channel.outputs.encode(table)
    strange = int((codes < 0).sum())
    if strange:
        raise ColumnError(
            f"{strange} of {len(codes)} rows hold values of {', '.join(printed)} that this channel does not print: "
            "take the channel of this release, and cut numbers that were drawn inside bins into the bins it prints",
            printed[0],
        )
    tuples, (cells,) = Tuples.split(channel.inputs, [hidden])
    scores = unbiased_scores(channel, tuples.codes[:, 0], len(cells))
    return Hidden(cells, scores.groups, scores.values, codes), kept


def kept_codes(table: Table, kept: tuple[str, ...]) -> NDArray[np.int32]:
    """Number of each row among the distinct rows of some columns; all are 0 without columns."""
    return Alphabet.from_table(table, kept).encode(table) if kept else np.zeros(table.n_rows, np.int32)


def blocks(n_rows: int) -> Iterator[slice]:
    """Slices of rows that are worked on together."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))
