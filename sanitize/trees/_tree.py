"""A tree over public columns as a frozen value: which cell any row is in, and which block a cell.

What a cell says about each column is told in intervals and sets that people can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sanitize._checks import Mask
from sanitize._files.declared import Declared, require
from sanitize._files.system import in_turn
from sanitize._limits import LOOKUP_ROWS
from sanitize._tables.columns import python_values
from sanitize._tables.ordered import as_ordered
from sanitize.binning import is_numeric
from sanitize.errors import ColumnError
from sanitize.trees._levels import Levels

_MISSING, _OTHER, _ANY = "missing", "any other", "any value"


class Tree(Declared, frozen=True, eq=False, dict=True, tag_field="kind", tag="tree"):
    """Binary tree whose leaves, the cells, are boxes of rows; every row, unseen ones included, is in exactly one.

    S - X - cell - Y is a Markov chain, so what is certified for cells holds for whole rows. A value that was not
    there when the tree was grown goes where its level goes: a number to its place, any other value to the side of
    the rarest ones, and missing is a value like any other.

    Attributes
    ----------
    columns : tuple of Levels
        What is looked at of each column.
    column : ndarray of int, shape (n_nodes,)
        Column that each node is split by; -1 for a cell. Node 0 is the root.
    sides : ndarray of int, shape (n_nodes, 2)
        Nodes to the left and right; -1 for a cell.
    goes_left : tuple of ndarray of bool
        For each node the levels of its column that go left; empty for a cell.
    block : ndarray of int, shape (n_nodes,)
        Block that a node lies in; -1 above all blocks.
    n_rows : ndarray of int, shape (n_nodes,)
        Rows of the table it was grown from.

    Examples
    --------
    >>> import numpy as np
    >>> from sanitize.budgets import LiftBudget
    >>> from sanitize.trees import grow
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.integers(18, 90, 400), "town": rng.choice(["A", "B", "C"], 400)}
    >>> grown = grow(table, rng.integers(0, 2, 400), LiftBudget.symmetric(0.5), min_rows=50, min_cell_rows=20)
    >>> bool((grown.tree.assign(table) == grown.cells).all())
    True
    """

    columns: tuple[Levels, ...]
    column: NDArray[np.int32]
    sides: NDArray[np.int32]
    goes_left: tuple[Mask, ...]
    block: NDArray[np.int32]
    n_rows: NDArray[np.int64]

    def __post_init__(self) -> None:
        n, is_cut = len(self.column), self.column >= 0
        sizes = np.array([levels.n_levels for levels in self.columns])
        require(0 < len(sizes) == len(set(self.names)))
        require(n and self.column.shape == self.block.shape == self.n_rows.shape == (len(self.goes_left),))
        require(self.column.min() >= -1 and self.column.max() < len(sizes))
        # Every node but the root is a side of one before it, in their order.
        inner = np.arange(1, n).reshape(-1, 2)
        require(self.sides.shape == (n, 2) and np.array_equal(self.sides[is_cut], inner))
        require((self.sides[~is_cut] == -1).all() and (self.sides[is_cut, 0] > np.flatnonzero(is_cut)).all())
        levels = np.where(is_cut, sizes[self.column], 0).tolist()
        require(all(left.shape == (size,) for left, size in zip(self.goes_left, levels, strict=True)))
        # Blocks of cells are numbered without gaps.
        blocks = np.unique(self.block[~is_cut])
        require(np.array_equal(blocks, np.arange(len(blocks))) and self.block.min() >= -1 and self.block.max() < n)

    @property
    def names(self) -> tuple[str, ...]:
        """Public columns."""
        return tuple(levels.name for levels in self.columns)

    @property
    def numeric(self) -> frozenset[str]:
        """Columns that were numbers when it was grown."""
        return frozenset(levels.name for levels in self.columns if is_numeric(levels.values.type))

    def keyed(self, key: object) -> Tree:
        """The tree itself: it draws nothing."""
        return self

    def without_rows(self) -> Tree:
        """The same without its counts of rows, which nothing needs after the fit."""
        return self.__replace__(n_rows=np.zeros_like(self.n_rows))

    @cached_property
    def cell_nodes(self) -> NDArray[np.int64]:
        """Node of each cell, in ascending order."""
        return np.flatnonzero(self.column < 0)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.cell_nodes)

    @cached_property
    def blocks(self) -> NDArray[np.int32]:
        """Block of each cell, shape (n_cells,)."""
        return self.block[self.cell_nodes]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.blocks.max()) + 1

    @cached_property
    def members(self) -> sparse.csr_array:
        """Whether each cell lies below each node, shape (n_nodes, n_cells)."""
        parent = np.full(len(self.column), -1)
        is_cut = np.flatnonzero(self.column >= 0)
        parent[self.sides[is_cut]] = is_cut[:, None]
        cells, nodes = np.arange(self.n_cells), self.cell_nodes
        found = []
        while len(cells):
            found.append((nodes, cells))
            above = parent[nodes]
            nodes, cells = above[above >= 0], cells[above >= 0]
        places = tuple(np.concatenate(side) for side in zip(*found, strict=True))
        return sparse.csr_array((np.ones(len(places[0]), bool), places), (len(self.column), self.n_cells))

    @cached_property
    def boxes(self) -> list[dict[int, Mask]]:
        """For each cell the levels that it allows, by column; columns that no split above it looked at are left out."""
        box: list[dict[int, Mask]] = [{} for _ in self.column]
        for node in np.flatnonzero(self.column >= 0).tolist():  # parents come before their sides
            j, left = int(self.column[node]), self.goes_left[node]
            for side, goes in zip(self.sides[node].tolist(), (left, ~left), strict=True):
                box[side] = {**box[node], j: box[node].get(j, True) & goes}
        return [box[node] for node in self.cell_nodes.tolist()]

    @property
    def edges(self) -> dict[str, list[Any]]:
        """Numbers at which ordered columns are split."""
        return {c.name: as_ordered(c.values, c.name)[0][1:].tolist() for c in self.columns if c.is_ordered}

    @cached_property
    def labels(self) -> tuple[dict[str, str], ...]:
        """For each cell its interval or set of values in each column that it says something about."""
        return tuple(
            {self.columns[j].name: label(self.columns[j], kept) for j, kept in sorted(box.items())}
            for box in self.boxes
        )

    def labels_of(self, mixed: Iterable[NDArray[np.integer]]) -> list[dict[str, str]]:
        """For each of some sets of cells, by column, the smallest interval or set of values that holds them all."""
        box = self.boxes
        free = [np.ones(levels.n_levels, bool) for levels in self.columns]
        made = []
        for cells in mixed:
            own = [box[cell] for cell in cells]
            kept = (np.any([cell.get(j, free[j]) for cell in own], axis=0) for j in range(len(free)))
            made.append({c.name: label(c, levels) for c, levels in zip(self.columns, kept, strict=True)})
        return made

    def assign(self, table: Mapping[str, Any], workers: int = 1, first: object = None) -> NDArray[np.int32]:
        """Cell of each row of a table that has the public columns, shape (n_rows,), found by some threads."""
        used, place, offset, following, number = self._table
        if not len(used):
            return np.zeros(len(table[self.names[0]]), np.int32)
        n = len(table[self.columns[used[0]].name])

        def encoded(j: int) -> NDArray[np.uint16]:
            column = self.columns[j]
            found = column.encode(table[column.name])
            if len(found) != n:
                raise ColumnError(f"column {column.name!r} has {len(found)} rows, another one {n}", column.name)
            return found

        levels = list(in_turn(encoded, used.tolist(), workers))

        def descended(start: int) -> NDArray[np.int32]:
            flat = np.concatenate([column[start : start + LOOKUP_ROWS] for column in levels])
            rows = np.arange(len(flat) // len(used))  # of the type of indices, which saves `take` a copy
            begin = place * len(rows)
            node = np.zeros(len(rows), np.intp)
            for _ in range(self.depth):  # a cell leads to itself
                node = following.take(offset.take(node) + flat.take(rows + begin.take(node)))
            return np.asarray(number.take(node))

        return np.concatenate([np.empty(0, np.int32), *in_turn(descended, range(0, n, LOOKUP_ROWS), workers)])

    @cached_property
    def depth(self) -> int:
        """Splits above the deepest cell."""
        return int(self.members.sum(axis=0).max()) - 1

    @cached_property
    def _table(self) -> tuple[NDArray[Any], ...]:
        """Columns that are looked at; of each node its column among them and where its levels begin; the next nodes.

        Cells look at the column with the fewest levels and lead to themselves. Last comes the number of each cell.
        """
        used = np.unique(self.column[self.column >= 0])
        sizes = np.array([self.columns[j].n_levels for j in used], np.int64)
        place = np.full(len(self.column), int(np.argmin(sizes)) if len(used) else 0, np.intp)
        inner = np.flatnonzero(self.column >= 0)
        place[inner] = np.searchsorted(used, self.column[inner])
        n_levels = sizes[place] if len(used) else np.ones(len(place), np.int64)
        offset = np.cumsum(n_levels) - n_levels
        following = np.repeat(np.arange(len(place)), n_levels)
        for node in inner:
            left, right = self.sides[node]
            following[offset[node] : offset[node] + n_levels[node]] = np.where(self.goes_left[node], left, right)
        number = np.full(len(place), -1, np.int32)
        number[self.cell_nodes] = np.arange(self.n_cells)
        return used, place, offset, following, number


def label(levels: Levels, kept: Mask) -> str:
    """An interval such as ``[30, 45)``, or a set such as ``{A, B}``."""
    if kept.all():
        return _ANY
    if not levels.is_ordered:
        names = [str(value) for value in levels.values.to_pylist()] + [_MISSING, _OTHER]
        if kept.sum() > len(kept) / 2 and kept[-1]:
            return "all but {" + ", ".join(n for n, k in zip(names, kept, strict=True) if not k) + "}"
        return "{" + ", ".join(n for n, k in zip(names, kept, strict=True) if k) + "}"
    inside = np.flatnonzero(kept[:-1])
    if not len(inside):
        return _MISSING
    low, high = int(inside[0]), int(inside[-1]) + 1
    ends = levels.values.take(pa.array([low, min(high, len(levels.values) - 1)]))
    lowest, beyond = python_values(ends, levels.name)
    above = f"{lowest} or more" if low else ""
    below = f"less than {beyond}" if high < len(levels.values) else ""
    text = f"[{lowest}, {beyond})" if above and below else above or below or _ANY
    return f"{text} or missing" if kept[-1] else text


def group_label(levels: Levels, kept: Mask, counts: NDArray[np.integer]) -> str:
    """An interval, or of categories the one that has rows, or how many have."""
    if levels.is_ordered:
        return label(levels, kept)
    seen = kept & (counts > 0)
    return label(levels, seen)[1:-1] if seen.sum() == 1 else f"{seen.sum()} others"
