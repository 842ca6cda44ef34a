"""Which columns are sensitive and which are public, and the columns of a batch as symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from sanitize._checks import one_of
from sanitize._release.survey import TELLING_ROWS, names_rows
from sanitize._tables.columns import as_arrow
from sanitize._tables.combined import Together
from sanitize.binning import DateBins, is_numeric
from sanitize.channel import Channel
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.joint import ContingencyTable
from sanitize.report import LeakageReport, ReleaseFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn
    from sanitize._tables.combined import Combined
    from sanitize.alphabet import Alphabet
    from sanitize.binning import Bins
    from sanitize.trees import Tree


Missing = Literal["category", "error"]


@dataclass
class Columns(Together):
    """Columns of one batch as symbols: numeric ones binned, missing values allowed or refused."""

    layout: Layout
    source: Mapping[str, Any]
    workers: int = 1
    clipped: dict[str, int] = field(default_factory=dict)
    _made: dict[str, ArrowColumn] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> ArrowColumn:
        if name not in self._made:
            self._made[name] = self._column(name)
        return self._made[name]

    @property
    def combined(self) -> Combined | None:
        """Combinations of columns that are symbols as they are."""
        made = bool(self.layout.bins) or self.layout.missing == "error"
        return None if made or not isinstance(self.source, Together) else self.source.combined

    def _column(self, name: str) -> ArrowColumn:
        column = as_arrow(self.source[name], name)
        if self.layout.missing == "error" and name in self.layout.public:
            refuse_missing(column, name)
        if name not in self.layout.bins:
            return column
        labels, clipped = self.layout.bins[name].assign(column)
        self.clipped[name] = clipped
        return labels

    def __iter__(self) -> Any:
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)


def refuse_missing(column: ArrowColumn, name: str) -> None:
    """Refuse a column with missing values, where that was asked for."""
    is_missing = column.null_count > 0
    if not is_missing and pa.types.is_floating(column.type):
        is_missing = bool(np.isnan(np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)).any())
    if is_missing:
        raise ColumnError(
            f"column {name!r} has missing values and missing is 'error'; fill them, or let them be a category", name
        )


@dataclass(frozen=True)
class Layout:
    """Which columns are sensitive and which are public, and how numbers become symbols."""

    sensitive: tuple[str, ...]
    public: tuple[str, ...]
    bins: Mapping[str, Bins] = field(default_factory=dict)
    missing: Missing = "category"
    labelled: frozenset[str] = frozenset()  # columns whose bins are released as labels, where others are drawn

    # Whether public symbols are printed as they are, so that one of few rows is somebody's.
    prints_symbols: ClassVar[bool] = True

    @property
    def numeric(self) -> frozenset[str]:
        """Columns that can be read as numbers alone."""
        return frozenset(name for name, bins in self.bins.items() if not isinstance(bins, DateBins))

    @property
    def binned_public(self) -> tuple[str, ...]:
        """Public columns whose values are counted by interval."""
        return tuple(name for name in self.public if name in self.bins)

    def __post_init__(self) -> None:
        one_of("missing", self.missing, "category", "error")
        both = set(self.sensitive) & set(self.public)
        # The same columns on both sides ask what a release tells about the public columns themselves.
        if both and set(self.sensitive) != set(self.public):
            name = min(both)
            raise ColumnError(f"column {name!r} is listed both as sensitive and as public; choose one", name)
        for kind, names in (("sensitive", self.sensitive), ("public", self.public)):
            if not names:
                raise ColumnError(f"no {kind} column: name at least one")
            if len(set(names)) < len(names):
                raise ColumnError(f"a {kind} column is listed twice")

    @property
    def read(self) -> tuple[str, ...]:
        """Columns of a table that its public symbols are made of."""
        return self.public

    def bare(self) -> Layout:
        """Roles and symbols alone: all that rows need once a channel is designed."""
        return Layout(self.sensitive, self.public, self.bins, self.missing, self.labelled)

    @property
    def orders(self) -> dict[str, pa.Array]:
        """Symbols of the columns whose bins say which there are, in ascending order."""
        return {name: order for name, bins in self.bins.items() if (order := bins.order) is not None}

    def empty_table(self) -> ContingencyTable:
        """Contingency table without rows."""
        return ContingencyTable.empty(self.sensitive, self.public, self.orders)

    def columns(self, source: Mapping[str, Any], workers: int = 1) -> Columns:
        """Columns of a batch, as symbols; made by some threads where that takes long."""
        return Columns(self, source, workers)

    def check_distinct(self, table: ContingencyTable) -> None:
        """Refuse all columns that hold a different value in most rows: no distribution can be learned from them."""
        self.refuse_distinct({"sensitive": table.sensitive, "public": table.public}, int(table.n))

    @staticmethod
    def refuse_distinct(alphabets: Mapping[str, Alphabet], n_rows: int) -> None:
        """The same for the alphabets of some roles."""
        if n_rows < TELLING_ROWS:
            return
        found: dict[str, str] = {}
        amounts = False
        for kind, alphabet in alphabets.items():
            for name, level, codes in zip(alphabet.columns, alphabet.levels, alphabet.codes.T, strict=True):
                if len(np.unique(codes)) > n_rows / 2:
                    found.setdefault(name, kind)
                    amounts |= kind == "public" and not names_rows(level, n_rows)
        if not found:
            return
        listed = ", ".join(f"{kind} column {name!r}" for name, kind in found.items())
        tree = " A tree (tree-random-response) takes amounts as they are." if amounts else ""
        raise ColumnError(
            f"a different value in most rows, so no joint can be learned: {listed}. Give bins to numbers and dates, "
            f"and leave out what names its row.{tree}",
            next(iter(found)) if len(found) == 1 else None,
        )

    def audit(self, table: ContingencyTable) -> LeakageReport:
        """Measure what the public columns tell as they are, without a budget."""
        self.check_distinct(table)
        joint = table.to_joint()
        channel = Channel.identity(len(joint.public), joint.public)
        return LeakageReport.measure(joint, channel, facts=ReleaseFacts(mechanism="audit", binned=self.binned_public))

    def notes(self, clipped: Mapping[str, int]) -> tuple[str, ...]:
        """What the report says about binning."""
        found = [
            f"the bin edges of column {name!r} were learned from the data (quantiles) and are released with it"
            for name, bins in self.bins.items()
            if bins.learned
        ]
        found += [
            f"{n} rows of column {name!r} lay outside the declared edges and were clipped to them"
            for name, n in clipped.items()
            if n
        ]
        return tuple(found)


@dataclass(frozen=True)
class TreeLayout(Layout):
    """Layout with one public symbol, the cell of a row, that a tree finds in the columns of the table.

    Every row has a cell, so no symbol is unknown.
    """

    tree: Tree = field(kw_only=True)

    prints_symbols = False  # cells are printed by what stands for them

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

    @property
    def numeric(self) -> frozenset[str]:
        """Columns with bins, and those that were numbers when the tree was grown."""
        return super().numeric | {levels.name for levels in self.tree.columns if is_numeric(levels.values.type)}

    def bare(self) -> TreeLayout:
        """The layout itself: it holds no distribution."""
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
