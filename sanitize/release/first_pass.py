"""First pass over a table, in files or in memory, which counts the rows and retains only the counts."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from sanitize._util.checks import check_choice
from sanitize._util.limits import KEPT_BYTES
from sanitize._util.progress import advance, begin
from sanitize._util.system import ordered_map
from sanitize.core.binning import as_numbers, is_numeric
from sanitize.errors import ColumnError, InvalidDistribution
from sanitize.release.row_order import OrderAudit
from sanitize.tables.columns import as_arrow, narrow
from sanitize.tables.files.source import BATCH_ROWS
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sanitize.core.joint import ContingencyTable
    from sanitize.release.layout import Columns, Layout
    from sanitize.tables.files.source import Load, Source

    Batch = Mapping[str, pa.Array]

RowOrder = Literal["shuffle", "keep"]


def check_row_order(rows: str) -> None:
    """Refuse an order of released rows other than "shuffle" and "keep"."""
    check_choice("rows", rows, "shuffle", "keep")


def sample_rows(n: int, most: int) -> NDArray[np.int64]:
    """Numbers of all rows, or of ``most`` rows chosen uniformly, whatever their content."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(13).permutation(n)[:most])


@dataclass(frozen=True)
class RowCounts:
    """Counts of the rows read so far.

    Attributes
    ----------
    table : ContingencyTable
        Counts of (S, X).
    order : OrderAudit or None
        Counts of S and released columns by position, if rows keep their order.
    clipped : Counter
        Number of values of each binned column that lie outside its edges.
    """

    table: ContingencyTable
    order: OrderAudit | None = None
    clipped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def from_table(
        cls,
        layout: Layout,
        source: Mapping[str, Any],
        weights: Any = None,
        clusters: Any = None,
        largest: float | None = None,
    ) -> RowCounts:
        """Count a table in memory, whose rows may have weights and belong to clusters of limited total weight."""
        counted = cls(layout.empty_table())
        counted.count(layout.columns(source), weights=weights, clusters=clusters, largest=largest)
        return counted

    def count(
        self, columns: Columns, first: int = 0, weights: Any = None, clusters: Any = None, largest: float | None = None
    ) -> None:
        """Add the rows of a batch, from number ``first`` on."""
        self.table.count(columns, weights, clusters, largest)
        if self.order is not None:
            self.order.count(columns, first)
        self.clipped.update(columns.clipped)

    @property
    def exact(self) -> ContingencyTable:
        """The counts themselves, which have no noise."""
        return self.table

    def empty_copy(self) -> RowCounts:
        """Return an empty counter of the same symbols and columns, for more rows of the same table."""
        return RowCounts(self.table.empty_copy(), None if self.order is None else self.order.empty_copy())

    def merge(self, addend: RowCounts) -> RowCounts:
        """Return a new counter with the sums of the counts of this counter and another."""
        order = None if self.order is None or addend.order is None else self.order.merge(addend.order)
        clipped = self.clipped.copy()
        clipped.update(addend.clipped)
        return RowCounts(self.table.merge(addend.table), order, clipped)


def row_weights(batch: Batch, name: str) -> NDArray[np.float64]:
    """Read the weights of the rows of a batch.

    Raises
    ------
    ColumnError
        If a weight is not a positive number.
    """
    column = as_arrow(batch[name], name)
    weights = as_numbers(column) if is_numeric(column.type) else np.full(len(column), np.nan)
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ColumnError.fault(
            name,
            "must contain the weights of the rows, which are numbers > 0; correct the column, or leave weights out",
        )
    return weights


def sensitive_columns(sensitive: Any, n_rows: int, default: str) -> dict[str, Any]:
    """Sensitive columns of a frame, series or array, by name; ``default`` names columns without a name."""
    if hasattr(sensitive, "columns") or hasattr(sensitive, "column_names"):
        frame = Table.from_native(sensitive)
        columns = {name: frame[name] for name in frame}
    else:
        name = getattr(sensitive, "name", None)
        is_column = name is not None or isinstance(sensitive, (pa.Array, pa.ChunkedArray))
        array = sensitive if is_column else np.asarray(sensitive)
        if getattr(array, "ndim", 1) == 2:
            columns = {f"{default}_{j}": array[:, j] for j in range(array.shape[1])}
        else:
            columns = {str(name) if name is not None else default: array}
    for name, column in columns.items():
        if len(column) != n_rows:
            raise ColumnError(
                f"sensitive column {name!r} has {len(column)} rows, and the table has {n_rows}; give one value per row",
                name,
            )
    return columns


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """First pass over a table in memory.

    Attributes
    ----------
    head : Table
        The table, including the sensitive columns unless these are passed separately.
    sensitive_features : array-like or frame, optional
        Sensitive columns that are not in the table.
    weights, groups : array-like of shape (n_rows,), optional
        Weight of each row, and the cluster with which it was sampled.
    largest_total : float, optional
        See `Sanitizer.fit`.
    """

    head: Table
    sensitive_features: Any = None
    weights: Any = None
    groups: Any = None
    largest_total: float | None = None

    @cached_property
    def features(self) -> Mapping[str, Any]:
        """Sensitive columns that were passed separately from the table, by name; empty if there are none."""
        if self.sensitive_features is None:
            return {}
        columns = sensitive_columns(self.sensitive_features, self.n_rows, "sensitive_features")
        if shared := sorted(set(columns) & set(self.names)):
            words = "is in X and in sensitive_features; drop it from X or rename it"
            raise ColumnError.fault(shared[0], words)
        return columns

    @cached_property
    def columns(self) -> Mapping[str, Any]:
        """All columns of the table, and sensitive columns passed separately."""
        return {**{name: self.head[name] for name in self.head}, **self.features} if self.features else self.head

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns of the table, without sensitive columns passed separately."""
        return self.head.names

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.head.n_rows

    def naming_absent(self) -> contextlib.AbstractContextManager[None]:
        """Leave errors about missing columns unchanged, as a table in memory needs no other message."""
        return contextlib.nullcontext()

    def sample(self, names: Sequence[str], most: int) -> Mapping[str, Any]:
        """Return all columns, because selecting some saves no work in memory."""
        return self.columns

    def count(self, layout: Layout, order: RowOrder) -> RowCounts:
        """Count all rows; ``order`` has no effect on a table in memory."""
        return RowCounts.from_table(layout, self.columns, self.weights, self.groups, self.largest_total)


@dataclass(frozen=True)
class TableCounter:
    """First pass over a table in files, in this process.

    Attributes
    ----------
    source : Source
    batch_rows : int
        Rows in memory at a time, for each worker.
    workers : int
        Threads that read and count.
    keeps : bool
        Whether rows of Parquet files stay in memory for another reading, as far as there is room.
    """

    source: Source
    batch_rows: int = BATCH_ROWS
    workers: int = field(default=1, kw_only=True)
    keeps: bool = field(default=False, kw_only=True)
    _kept: dict[tuple[Path, int], tuple[int, list[Batch]]] = field(default_factory=dict, repr=False, kw_only=True)

    # A table in files contains its sensitive columns, and the weights of its rows are a column.
    sensitive_features: ClassVar[Any] = None
    features: ClassVar[Mapping[str, Any]] = {}
    weights: ClassVar[Any] = None
    groups: ClassVar[Any] = None
    largest_total: ClassVar[float | None] = None

    @property
    def head(self) -> Table:
        """Empty table with the columns of the files."""
        return Table.from_native(self.empty())

    @property
    def columns(self) -> Mapping[str, Any]:
        """Empty columns, which have the types of the table."""
        return self.head

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns that can be read."""
        return self.source.readable_columns

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.source.n_rows

    def empty(self) -> pa.Table:
        """Empty table with all columns of the files.

        A repeated name keeps its place, so that positions agree with the file; selecting it by name is refused.
        """
        first = {name: j for j, name in reversed(list(enumerate(self.source.schema.names)))}
        fields = [
            field if first[field.name] == j else field.with_name(f"{field.name} (column {j})")
            for j, field in enumerate(self.source.schema)
        ]
        return pa.schema(fields).empty_table()

    def sample(self, names: tuple[str, ...], most: int) -> dict[str, pa.ChunkedArray]:
        """Columns of all rows, or of ``most`` rows chosen uniformly by position, in the order of the table."""
        self.source.check(names)
        n = self.source.n_rows
        if n == 0:
            raise InvalidDistribution("the table has no rows, so there is no distribution to learn")
        chosen = np.zeros(n, bool)
        chosen[sample_rows(n, most)] = True
        parts: dict[str, list[pa.Array]] = {name: [] for name in names}
        groups = list(self.source.column_groups(names))
        begin(n * len(groups))
        for group in groups:
            row = 0
            for file in self.source.files:
                for batch in self.source.batches(file, group, self.batch_rows):
                    size = len(batch[group[0]])
                    mask = pa.array(chosen[row : row + size])
                    for name in group:
                        column = as_arrow(batch[name], name)
                        parts[name].append(column.filter(mask) if n > most else column)
                    row += size
        self.source.check_unchanged()
        return {name: pa.chunked_array(part) for name, part in parts.items()}

    def count(self, layout: Layout, order: RowOrder) -> RowCounts:
        """Count all rows; if rows keep their order, also count them by position."""
        return self.count_files(layout, self.order_audit(layout, order))

    def count_files(self, layout: Layout, order: OrderAudit | None, first: int = 0) -> RowCounts:
        """Count the rows of all files; ``order`` also counts them by position, from number ``first`` on."""
        names, weights = list(dict.fromkeys((*layout.sensitive, *layout.read))), self.source.weights
        read = names if weights is None else [*names, weights]
        self.source.check(read)
        begin(self.source.known_rows)

        def count_load(numbered: tuple[int, Load]) -> RowCounts:
            before, load = numbered
            part_counts = total.empty_copy()
            for batch in load.batches():
                of_rows = None if weights is None else row_weights(batch, weights)
                part_counts.count(layout.columns(batch, first=before), before, of_rows)
                before += len(batch[names[0]])
            return part_counts

        empty = layout.empty_table()
        # Threads read the total, so merges replace it and never change it.
        total = RowCounts(empty if weights is None else empty.with_rows_counted(), order)
        for part_counts in ordered_map(count_load, self.loads(self.source.files, read, first), self.workers):
            total = total.merge(part_counts)
        self.source.check_unchanged()
        return total

    def loads(self, files: Sequence[Path], names: Sequence[str], before: int = 0) -> Iterator[tuple[int, Load]]:
        """Yield the loads of some files, and for each load the number of table rows before it."""
        for file in files:
            for load in self.source.loads(file, names, self.batch_rows):
                if self.keeps and self.source.reads_on_demand:
                    load = replace(load, batches=partial(self._batches, (file, load.first), load, set(names)))
                yield before, load
                before += load.n_rows

    def _batches(self, place: tuple[Path, int], load: Load, names: set[str]) -> Iterator[Batch]:
        """Yield the batches of a load with narrow dictionary indices; batches kept in memory are not read again."""
        _, batches = self._kept.get(place, (0, []))
        if batches and names <= set(batches[0]):
            for batch in batches:
                advance(len(next(iter(batch.values()))))
                yield batch
            return
        batches, size = [], 0
        for stored in load.batches():
            batch = {name: narrow(column) for name, column in stored.items()}
            size += sum(column.nbytes for column in batch.values())
            if size <= KEPT_BYTES:
                batches.append(batch)
            yield batch
        if size + sum(taken for taken, _ in list(self._kept.values())) <= KEPT_BYTES:  # threads may exceed it
            self._kept[place] = size, batches

    def order_audit(self, layout: Layout, order: RowOrder) -> OrderAudit | None:
        """Make an empty test of the order of the rows; None if rows are shuffled."""
        # If the public columns are also the sensitive ones, the release itself is their order.
        if order == "shuffle" or layout.sensitive == layout.public:
            return None
        return OrderAudit.empty(layout.sensitive, self.source.n_rows, layout.public)

    @contextlib.contextmanager
    def naming_absent(self) -> Iterator[None]:
        """Raise errors about missing columns with the message of the file reader."""
        try:
            yield
        except ColumnError as error:
            if error.absent_columns:
                raise self.source.absent(error.absent_columns) from None
            if error.column is None or error.column in self.source.schema.names:
                raise
            raise self.source.absent([error.column]) from None


TableSource: TypeAlias = TableCounter | MemoryTable


@dataclass(frozen=True)
class RememberedPass(TableCounter):
    """First pass that remembers samples and counts, for code that designs many releases of one table."""

    _counted: list[tuple[Layout, RowOrder, RowCounts]] = field(default_factory=list, repr=False)
    _sampled: dict[tuple[tuple[str, ...], int], dict[str, pa.ChunkedArray]] = field(default_factory=dict, repr=False)

    def sample(self, names: tuple[str, ...], most: int) -> dict[str, pa.ChunkedArray]:
        """Return a sample of rows, which is read only at the first request."""
        if (names, most) not in self._sampled:
            self._sampled[names, most] = super().sample(names, most)
        return self._sampled[names, most]

    def count(self, layout: Layout, order: RowOrder) -> RowCounts:
        """Return the earlier counts if the same columns were counted as the same symbols."""
        for earlier_layout, earlier_order, counted in self._counted:
            if earlier_layout == layout and earlier_order == order:
                return counted
        counted = super().count(layout, order)
        self._counted.append((layout, order, counted))
        return counted
