"""Latent classes with the table that they were fitted on, and its counts, during the design of a channel."""

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

# Cells that a certified response has where it is of use; a report of too few rows says how many they would take.
FEWEST_CELLS = 8
# Rows that are generated to see what they show of it, rows of it that they are compared with, and groups of
# values by which.
_GENERATED, _COMPARED, _GROUPS = 10_000, 50_000, 8


@dataclass(frozen=True, kw_only=True)
class FittedClasses(CellLayout):
    """Layout of latent classes with the table they were fitted on, during the design of a channel.

    Under differential privacy of whole rows that table is one of a private model; otherwise it is what is released.
    """

    partition: ClassPartition
    source: Mapping[str, Any]  # the table they were fitted on, the sensitive columns in it
    cells: NDArray[np.int32]
    rows: Mapping[str, Any]  # the table that is released
    row_cells: NDArray[np.int32]
    design: Mask | None  # rows of it that design the channel, where the others certify
    is_shuffled: bool = False  # whether generated rows stand in random order, so that none stands for a person
    symbols: Alphabet | None = None  # that the channel is designed for

    @property
    def fitted(self) -> Mask | None:
        """Rows that the classes were fitted on; None for all."""
        return self.design if self.rows is self.source else None

    def columns(self, source: Mapping[str, Any], workers: int = 1, first: int | None = None) -> Columns:
        """Columns of a batch; for the released table itself the classes are known."""
        return (
            self.cell_columns(source, self.row_cells)
            if source is self.rows
            else super().columns(source, workers, first)
        )

    @cached_property
    def _codes(self) -> NDArray[np.int32]:
        """Symbol of each row: its class, combined with kept values if there are any."""
        if not self.keep or self.symbols is None:
            return self.cells
        return self.symbols.encode(self.cell_columns(self.source, self.cells))

    @property
    def _n_symbols(self) -> int:
        return len(self.symbols) if self.keep and self.symbols is not None else self.partition.n_cells

    def bare(self) -> CellLayout:
        """Layout without the table."""
        return CellLayout(*self.roles, partition=self.partition)

    def divide_counts(self, counts: ContingencyTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts of (S, class) of the design rows, and of the other rows."""
        columns, mask = self.columns(self.rows), pa.array(self.design)
        seen = counts.empty_copy()
        seen.count({name: as_arrow(columns[name], name).filter(mask) for name in (*self.sensitive, *self.public)})
        return seen.counts, counts.counts - seen.counts

    @cached_property
    def profiles(self) -> Profiles:
        """Counts of the groups of values of each column in each class, over the rows behind the classes."""
        return self.profiles_of(self.read)

    def profiles_of(self, names: Collection[str]) -> Profiles:
        """Profiles of some columns only."""
        tables = [table.toarray() for name, table in self.column_counts(self.fitted) if name in names]
        starts = np.cumsum([0, *(len(table) for table in tables[:-1])])
        shares = [table.sum(axis=1) / table.sum() for table in tables]
        entropies = np.array([-(p[p > 0] * np.log(p[p > 0])).sum() for p in shares])
        return Profiles(np.concatenate(tables).T.astype(np.float64), starts, 1 / np.maximum(entropies, 1e-9))

    @property
    def members(self) -> Mask:
        """Classes below each node of a dendrogram of classes with similar rows, shape (n_nodes, n_classes)."""
        k = self.partition.n_cells
        masks = list(np.eye(k, dtype=bool))
        if k > 1:
            profiles = self.profiles
            shares = profiles.counts / np.maximum(profiles.rows[:, None], 1)
            for left, right, *_ in linkage(np.sqrt(shares), "ward"):
                masks.append(masks[int(left)] | masks[int(right)])
        return np.array(masks)

    def column_counts(self, rows: Mask | None = None) -> Iterator[tuple[str, sparse.csr_array]]:
        """Name of each column and counts of (X_j, class), X_j in at most 16 groups, shape (n_groups, n_classes)."""
        return column_counts(self.read, self._groups, self._codes, self._n_symbols, rows)

    def count_replaced_values(self, n_rows: int) -> tuple[ReplacedValues, ...]:
        """Number of rows of each column written with another value, or with a number inside the edges."""
        part, entries = n_rows / max(len(self.cells), 1), []
        for column in self.partition.columns:
            if column.name in self.keep:
                continue
            n_other, clipped = column.count_replaced(as_arrow(self.source[column.name], column.name))
            entries.append(ReplacedValues(column.name, other=round(part * n_other), clipped=round(part * clipped)))
        return tuple(entries)

    def pair_relations(self, p_y: Vector, decode: Callable[..., Mapping[str, Any]]) -> tuple[Relation, ...]:
        """Return the strength of each relation in rows generated from a seed; see `pair_relations`.

        They are never released. P(y) is how often each symbol is, and they are what it is written as.
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
        """Number of copies of each row, where rows differ if the group of some column does."""
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
    """Group of each row: about equal parts of an ordered column, otherwise the most frequent values."""
    values, codes = ascending(column, name)
    levels = np.where(codes < 0, len(values), codes)
    counts = np.bincount(levels, minlength=len(values) + 1)
    return group_levels(counts, is_ordered=is_ordered(values.type, name))[levels].astype(np.int64)


def _numbers(column: ArrowColumn) -> tuple[NDArray[Any], Mask]:
    """Numbers in the order of the values, in the column's unit (so dates may have any year), and missing ones."""
    column = decode_dictionary(column)
    is_missing = np.asarray(pc.is_null(column, nan_is_null=True))
    present = to_numbers(column.filter(pa.array(~is_missing)))
    numbers = np.zeros(len(is_missing), present.dtype)
    numbers[~is_missing] = present
    return numbers, is_missing


def _common_groups(raw: ArrowColumn, other: ArrowColumn, name: str) -> tuple[Codes, ...]:
    """Group of each row of a column and of another one, by the values of the first, whatever the classes' groups."""
    if is_ordered(raw.type, name):
        sides = [_numbers(column) for column in (raw, other)]
        known, counts = np.unique(sides[0][0][~sides[0][1]], return_counts=True)
        group = np.append(group_levels(counts, is_ordered=True, most=_GROUPS), 0)  # of no value, where all are missing
        # Missing values are a group of their own, but for a few, by which two columns would determine each other.
        last = group.max() + (sides[0][1].mean() > 0.01)
        codes = [group[np.maximum(np.searchsorted(known, numbers, "right") - 1, 0)] for numbers, _ in sides]
        return tuple(np.where(is_missing, last, code) for code, (_, is_missing) in zip(codes, sides, strict=True))
    values, codes_raw = factorize(raw, name)
    counts = np.bincount(codes_raw[codes_raw >= 0], minlength=len(values))
    group = np.append(group_levels(counts, is_ordered=False, most=_GROUPS), _GROUPS - 1)  # of all others the last
    others, codes_other = factorize(other, name)
    place = np.append(look_up(others, values), -1)[codes_other]
    return group[codes_raw], group[np.where(place < 0, len(values), place)]


def user_edges(bins: Bins, column: Any) -> list[Any]:
    """Declared edges of a public column, as numbers in the order of its values.

    Raises
    ------
    ColumnError
        If they were learned, as classes do themselves, are calendar units of a text, or parts of
        whole numbers.
    """
    if bins.learned:
        raise ColumnError(
            f"bins of {bins.column!r} must be edges or a calendar unit here: latent classes cut this column themselves",
            bins.column,
        )
    if bins.has_one_edge:
        raise ColumnError(
            f"bins of {bins.column!r} need two or more edges here: a column that is generated needs its least and its "
            "largest value, too",
            bins.column,
        )
    if not isinstance(bins, DateBins):
        if bins.whole and any(edge % 1 for edge in bins.edges):
            words = "holds whole numbers, which classes cut at whole numbers: round its edges up"
            raise ColumnError(f"column {bins.column!r} {words}", bins.column)
        return [int(edge) for edge in bins.edges] if bins.whole else list(bins.edges)
    values = as_arrow(column, bins.column)
    if not holds_dates(values.type):
        raise ColumnError(
            f"column {bins.column!r} holds dates as text, as CSV has them, which classes cannot cut: write the table "
            "as Parquet with dates, or declare a hierarchy in place of its bins",
            bins.column,
        )
    seconds = [int(edge) for edge in bins.edges]
    if bins.step is not None:
        found, missing = as_seconds(values, bins.column)
        seconds = bins.starts(found[~missing], LEAST_ROWS)
    dtype = value_type(values.type)
    instants = pa.array(seconds, pa.timestamp("s", getattr(dtype, "tz", None)))
    return to_numbers(instants.cast(dtype, safe=False)).tolist()
