"""A layout whose public symbols are the cells of a tree: S - X - cell - Y, and everything else stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._release.layout import Columns, Layout, refuse_missing
from sanitize._tables.columns import as_arrow
from sanitize.binning import is_numeric
from sanitize.errors import InvalidParameter
from sanitize.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn


@dataclass(frozen=True)
class TreeLayout(Layout):
    """Layout with one public symbol, the cell of a row, that a tree finds in the columns of the table.

    Every row has a cell, so no symbol is unknown.
    """

    tree: Tree = field(kw_only=True)

    @classmethod
    def of(cls, layout: Layout, tree: Tree) -> TreeLayout:
        """Layout of the same table whose public columns go down the tree."""
        name = "cell"
        while name in layout.sensitive:
            name += "_"
        return cls(layout.sensitive, (name,), layout.bins, layout.missing, tree=tree)

    @property
    def prints_symbols(self) -> bool:
        """Never: cells are printed by what stands for them."""
        return False

    @property
    def read(self) -> tuple[str, ...]:
        """Columns that the tree was grown from."""
        return self.tree.names

    @property
    def numeric(self) -> frozenset[str]:
        """Columns with bins, and those that were numbers when the tree was grown."""
        return super().numeric | {levels.name for levels in self.tree.columns if is_numeric(levels.values.type)}

    def bare(self) -> TreeLayout:
        """The layout itself: it holds no law."""
        return self

    def columns(self, source: Mapping[str, Any], workers: int = 1) -> Columns:
        """Columns of a batch, the cells of its rows among them."""
        return _TreeColumns(self, source, workers)

    def columns_of(self, source: Mapping[str, Any], cells: NDArray[np.int32]) -> Columns:
        """The same of rows whose cells are known."""
        found = _TreeColumns(self, source)
        found.check_missing()
        vars(found)["_cells"] = pa.array(cells)
        return found


def bare_tree(layout: Layout) -> Tree | None:
    """The tree of a layout without its counts of rows, which nothing needs; None if it has none."""
    if not isinstance(layout, TreeLayout):
        return None
    return layout.tree.__replace__(n_rows=np.zeros_like(layout.tree.n_rows))


def through_tree(layout: Layout, tree: Tree | None) -> Layout:
    """Layout of columns through a tree over the public ones, if there is one.

    Raises
    ------
    InvalidParameter
        If it is one over other columns.
    """
    if tree is None:
        return layout
    if tree.names != layout.public or layout.labelled or not set(layout.bins) <= set(layout.sensitive):
        raise InvalidParameter("its tree is over other columns")
    return TreeLayout.of(layout, tree)


class _TreeColumns(Columns):
    """Columns of one batch, and the cell of each row as one more."""

    layout: TreeLayout

    def _column(self, name: str) -> ArrowColumn:
        return self._cells if name in self.layout.public else super()._column(name)

    @cached_property
    def _cells(self) -> pa.Array:
        self.check_missing()
        tree = self.layout.tree
        return pa.array(tree.assign({name: as_arrow(self.source[name], name) for name in tree.names}, self.workers))

    def check_missing(self) -> None:
        """Refuse missing values, where that was asked for."""
        for name in self.layout.tree.names if self.layout.missing == "error" else ():
            refuse_missing(as_arrow(self.source[name], name), name)

    def __iter__(self) -> Iterator[str]:
        yield from self.source
        yield from self.layout.public

    def __len__(self) -> int:
        return len(self.source) + len(self.layout.public)
