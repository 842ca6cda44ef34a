"""Latent classes with the table to which they were fitted, during the design of a channel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.cluster.hierarchy import linkage

from sanitize._util.sampling.noise import NoiseKey
from sanitize.core.binning import DateBins, as_seconds, holds_dates
from sanitize.core.profiles import Profiles, column_counts, group_levels, pair_relations
from sanitize.errors import ColumnError
from sanitize.release.classes import LEAST_ROWS, ClassPartition, to_numbers
from sanitize.release.layout import CellLayout
from sanitize.report import ReplacedValues
from sanitize.tables.columns import as_arrow, ascending, factorize, look_up, value_type
from sanitize.tables.keys import distinct_rows
from sanitize.tables.ordered import decode_dictionary, is_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray
    from scipy import sparse

    from sanitize._util.checks import Codes, Mask, Vector
    from sanitize.core.alphabet import Alphabet
    from sanitize.core.binning import Bins
    from sanitize.core.joint import ContingencyTable
    from sanitize.core.profiles import Relation
    from sanitize.release.layout import Columns
    from sanitize.tables.columns import ArrowColumn

# With fewer cells, a certified response hardly distinguishes rows, so a report states the rows needed for this number.
FEWEST_CELLS = 8
# Generated rows for measuring relations, rows of the table to compare with, and groups of values in the comparison:
# with them, the figure of a relation is known to about 0.01, and pairs of groups have rows enough.
_GENERATED, _COMPARED, _GROUPS = 10_000, 50_000, 8


@dataclass(frozen=True, kw_only=True)
class FittedClasses(CellLayout):
    """Layout of latent classes with the table on which they were fitted, during the design of a channel.

    Under differential privacy of whole rows, a private model generated this table; otherwise it is the released table.
    """

    partition: ClassPartition
    source: Mapping[str, Any]  # table on which classes were fitted, including the sensitive columns
    cells: NDArray[np.int32]
    rows: Mapping[str, Any]  # table to release
    row_cells: NDArray[np.int32]
    design: Mask | None  # rows of the table that design the channel, if the others certify
    is_shuffled: bool = False  # whether generated rows are in random order, so that no row stands for a person
    symbols: Alphabet | None = None  # classes combined with kept values, if there are any

    @property
    def fitted(self) -> Mask | None:
        """Mask of the rows on which the classes were fitted; None for all."""
        return self.design if self.rows is self.source else None

    def columns(self, source: Mapping[str, Any], workers: int = 1, first: int | None = None) -> Columns:
        """Columns of a batch, with stored classes if the batch is the released table itself."""
        is_own = source is self.rows
        return self.cell_columns(source, self.row_cells) if is_own else super().columns(source, workers, first)

    @cached_property
    def _codes(self) -> NDArray[np.int32]:
        """Number of each row's symbol: its class, combined with kept values if there are any."""
        if self.symbols is None:
            return self.cells
        return self.symbols.encode(self.cell_columns(self.source, self.cells))

    def divide_counts(self, counts: ContingencyTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts of (S, class) of the design rows, and of the other rows."""
        columns, mask = self.columns(self.rows), pa.array(self.design)
        seen = counts.empty_copy()
        seen.count({name: as_arrow(columns[name], name).filter(mask) for name in (*self.sensitive, *self.public)})
        return seen.counts, counts.counts - seen.counts

    @cached_property
    def profiles(self) -> Profiles:
        """For each class, the counts of each column's groups of values, over the rows to which classes were fitted."""
        return self.profiles_of(self.read)

    def profiles_of(self, names: Collection[str]) -> Profiles:
        """Return the profiles of some columns; see `profiles`."""
        tables = [table.toarray() for name, table in self.column_counts(self.fitted) if name in names]
        starts = np.cumsum([0, *(len(table) for table in tables[:-1])])
        shares = [table.sum(axis=1) / table.sum() for table in tables]
        entropies = np.array([-(p[p > 0] * np.log(p[p > 0])).sum() for p in shares])
        return Profiles(np.concatenate(tables).T.astype(np.float64), starts, 1 / np.maximum(entropies, 1e-9))

    @property
    def members(self) -> Mask:
        """Classes below each node of a dendrogram that joins similar classes, as a mask (n_nodes, n_classes)."""
        k = self.partition.n_cells
        masks = list(np.eye(k, dtype=bool))
        if k > 1:
            profiles = self.profiles
            shares = profiles.counts / np.maximum(profiles.rows[:, None], 1)
            for left, right, *_ in linkage(np.sqrt(shares), "ward"):
                masks.append(masks[int(left)] | masks[int(right)])
        return np.array(masks)

    def column_counts(self, rows: Mask | None = None) -> Iterator[tuple[str, sparse.csr_array]]:
        """Yield each column's name and counts of (X_j, class), X_j in up to 16 groups, shape (n_groups, n_classes)."""
        n_symbols = self.partition.n_cells if self.symbols is None else len(self.symbols)
        return column_counts(self.read, self._groups, self._codes, n_symbols, rows)

    def count_replaced_values(self, n_rows: int) -> tuple[ReplacedValues, ...]:
        """Number of rows, per column, that are written with another value or with a number inside the edges."""
        part, entries = n_rows / max(len(self.cells), 1), []
        for column in (column for column in self.partition.columns if column.name not in self.keep):
            n_other, clipped = column.count_replaced(as_arrow(self.source[column.name], column.name))
            entries.append(ReplacedValues(column.name, other=round(part * n_other), clipped=round(part * clipped)))
        return tuple(entries)

    def pair_relations(self, p_y: Vector, decode: Callable[..., Mapping[str, Any]]) -> tuple[Relation, ...]:
        """Return how strong each relation between two columns is in the table and in rows generated from a seed.

        These rows are never released. ``p_y`` has the frequency of each symbol, and ``decode`` generates its rows.
        """
        place = np.linspace(0, 1, _GENERATED, endpoint=False)
        drawn = np.searchsorted(np.cumsum(p_y)[:-1], place, side="right").astype(np.int32)
        generated = decode(drawn, NoiseKey.from_seed(0))
        step = -(-len(self.cells) // _COMPARED)
        raw = {name: self._model_columns[name][::step] for name in self.read}
        codes = [_common_groups(raw[name], as_arrow(generated[name], name), name) for name in self.read]
        weights = np.ones(len(codes[0][0])), np.ones(len(codes[0][1]))
        return pair_relations(self.read, codes, weights, is_drawn=True)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """Number of copies of each row; rows are equal if their groups agree in all columns."""
        rows = np.stack(self._groups, axis=1).astype(np.int32)
        sizes = [int(groups.max()) + 1 for groups in self._groups]
        return np.bincount(distinct_rows(rows, sizes)[1])

    @cached_property
    def _groups(self) -> list[NDArray[np.int64]]:
        return [_row_groups(self._model_columns[name], name) for name in self.read]

    @cached_property
    def _model_columns(self) -> dict[str, ArrowColumn]:
        return self.cell_columns(self.source, self.cells).model_columns(self.read)


def _row_groups(column: ArrowColumn, name: str) -> NDArray[np.int64]:
    """Group of each row: equal parts of an ordered column, or the most frequent values of another column."""
    values, codes = ascending(column, name)
    levels = np.where(codes < 0, len(values), codes)
    counts = np.bincount(levels, minlength=len(values) + 1)
    return group_levels(counts, is_ordered=is_ordered(values.type, name))[levels].astype(np.int64)


def _numbers(column: ArrowColumn) -> tuple[NDArray[Any], Mask]:
    """Values as numbers in the column's unit (so dates may have any year), and the mask of missing values."""
    column = decode_dictionary(column)
    is_missing = np.asarray(pc.is_null(column, nan_is_null=True))
    present = to_numbers(column.filter(pa.array(~is_missing)))
    numbers = np.zeros(len(is_missing), present.dtype)
    numbers[~is_missing] = present
    return numbers, is_missing


def _common_groups(raw: ArrowColumn, other: ArrowColumn, name: str) -> tuple[Codes, ...]:
    """Group of each row in two columns, formed from the values of the first column and not by the class model."""
    if is_ordered(raw.type, name):
        sides = [_numbers(column) for column in (raw, other)]
        known, counts = np.unique(sides[0][0][~sides[0][1]], return_counts=True)
        group = np.append(group_levels(counts, is_ordered=True, most=_GROUPS), 0)  # counts may be empty
        # Missing values are a group, unless they are so few that two columns would determine each other by them.
        last = group.max() + (sides[0][1].mean() > 0.01)
        codes = [group[np.maximum(np.searchsorted(known, numbers, "right") - 1, 0)] for numbers, _ in sides]
        return tuple(np.where(is_missing, last, code) for code, (_, is_missing) in zip(codes, sides, strict=True))
    values, codes_raw = factorize(raw, name)
    counts = np.bincount(codes_raw[codes_raw >= 0], minlength=len(values))
    group = np.append(group_levels(counts, is_ordered=False, most=_GROUPS), _GROUPS - 1)  # the others
    others, codes_other = factorize(other, name)
    place = np.append(look_up(others, values), -1)[codes_other]
    return group[codes_raw], group[np.where(place < 0, len(values), place)]


def user_edges(bins: Bins, column: Any) -> list[Any]:
    """Declared edges of a public column, as numbers on the scale of its values.

    Raises
    ------
    ColumnError
        If the edges were learned, are calendar units of a text column, or divide whole numbers at fractions.
    """
    name, fault = bins.column, ""
    values = as_arrow(column, name)
    if bins.learned:
        fault = "must be edges or a calendar unit; latent classes learn other bins themselves: leave these bins out"
    elif bins.has_one_edge:
        fault = "must have two or more edges, because a generated column needs a smallest and a largest value"
    elif not isinstance(bins, DateBins) and bins.whole and any(edge % 1 for edge in bins.edges):
        fault = "must have whole edges, because the column has whole numbers; round the edges up"
    elif isinstance(bins, DateBins) and not holds_dates(values.type):
        fault = (
            "cannot cut dates that are text, as in CSV files: write the table as Parquet with dates, or declare a "
            "hierarchy in place of the bins"
        )
    if fault:
        raise ColumnError(f"bins of {name!r} {fault}", name)
    if not isinstance(bins, DateBins):
        return [int(edge) for edge in bins.edges] if bins.whole else list(bins.edges)
    seconds = [int(edge) for edge in bins.edges]
    if bins.step is not None:
        found, missing = as_seconds(values, name)
        seconds = bins.starts(found[~missing], LEAST_ROWS)
    dtype = value_type(values.type)
    instants = pa.array(seconds, pa.timestamp("s", getattr(dtype, "tz", None)))
    return to_numbers(instants.cast(dtype, safe=False)).tolist()
