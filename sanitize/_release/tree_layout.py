"""A layout whose public symbols are the cells of a tree: S - X - cell - Y, and everything else stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sanitize._release.layout import Columns, Layout, refuse_missing
from sanitize._tables.columns import as_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sanitize._tables.columns import ArrowColumn
    from sanitize.trees import Tree


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
    def read(self) -> tuple[str, ...]:
        """Columns that the tree was grown from."""
        return self.tree.names

    def bare(self) -> TreeLayout:
        """The layout itself: it holds no law."""
        return self

    def columns(self, source: Mapping[str, Any]) -> Columns:
        """Columns of a batch, the cells of its rows among them."""
        return _TreeColumns(self, source)


class _TreeColumns(Columns):
    """Columns of one batch, and the cell of each row as one more."""

    layout: TreeLayout

    def __getitem__(self, name: str) -> ArrowColumn:
        return self._cells if name in self.layout.public else super().__getitem__(name)

    @cached_property
    def _cells(self) -> pa.Array:
        tree = self.layout.tree
        columns = {name: as_arrow(self.source[name], name) for name in tree.names}
        if self.layout.missing == "error":
            for name, values in columns.items():
                refuse_missing(values, name)
        return pa.array(tree.assign(columns))

    def __iter__(self) -> Iterator[str]:
        yield from self.source
        yield from self.layout.public

    def __len__(self) -> int:
        return len(self.source) + len(self.layout.public)
