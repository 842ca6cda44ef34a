"""What the position of a row tells about S: a file sorted by S gives it away whatever the channel does.

Looked at are the sensitive columns as one, and each released column by itself: by position (blocks of rows, every
period up to 12, and those of binary and decimal blocks), by neighbours at eleven distances, and between both
neighbours; of large tables in runs of rows that are spread evenly. What cannot be tested: an order that follows S by a
rule that is none of these, such as one that needs a secret (rows sorted by a hash of S and a password) or a period that
is not looked at. The default is to shuffle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from sanitize._release.order_blocks import BlockCounts, edges_of_blocks, n_blocks
from sanitize._release.order_evidence import log_evidence
from sanitize._release.order_scales import Scales, keys_of, place_among
from sanitize._release.permutation import log_chances
from sanitize._tables.columns import python_values
from sanitize._tables.combined import combinations_of
from sanitize.alphabet import Alphabet
from sanitize.errors import InvalidParameter, RowOrderLeak
from sanitize.joint import ContingencyTable, JointDistribution
from sanitize.measures import Measure, mutual_information

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn
    from sanitize.budgets import Budget
    from sanitize.report import LeakageReport

RowOrder = Literal["shuffle", "keep"]

POSITION = "(position)"

# The chance of calling an order that is independent of all columns a leak, all tests together.
FALSE_ALARM = 1e-6
# Places of fewer rows are put together before they are held against the budget: chance alone would exceed it.
_LEAST_ROWS = 500


def check_row_order(rows: str) -> None:
    """Refuse what is no order of released rows."""
    if rows not in ("shuffle", "keep"):
        raise InvalidParameter(f"rows must be 'shuffle' or 'keep', got {rows!r}")


@dataclass
class OrderAudit:
    """Counts of S and of each released column by where rows stand, gathered batch by batch.

    Every test is one of independence of two sequences, one of which is in random order when the order of the rows
    tells nothing. Its chance is bounded by Hoeffding's and Chatterjee's inequalities, which hold for any number of
    rows, or taken from the chi-square law of G where every cell expects at least 25 rows.
    """

    n_rows: int
    table: ContingencyTable
    scales: Scales
    released: tuple[Scales, ...] = ()

    @classmethod
    def of(cls, sensitive: Sequence[str], n_rows: int, released: Sequence[str] = (), first: int = 0) -> OrderAudit:
        """Audit of a table with so many rows, from one of them on."""
        columns = tuple(Scales((name,), n_rows, first) for name in released if name not in sensitive)
        blocks = Alphabet.from_table({POSITION: pa.array(np.arange(n_blocks(n_rows)))}, [POSITION])
        table = ContingencyTable.empty(list(sensitive), [POSITION])
        table = replace(table, public=blocks, counts=np.zeros((0, len(blocks)), np.int64))
        return cls(n_rows, table, Scales(tuple(sensitive), n_rows, first), columns)

    def without_rows(self, first: int) -> OrderAudit:
        """Audit of rows of the same table from another one on; its symbols are likely to be those known here."""
        scales, *own = (Scales(known.columns, self.n_rows, first) for known in (self.scales, *self.released))
        return OrderAudit(self.n_rows, self.table.without_rows(), scales, tuple(own))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are looked at."""
        return tuple(name for scales in (self.scales, *self.released) for name in scales.columns)

    def count(self, columns: Mapping[str, ArrowColumn], n: int) -> None:
        """Add the next ``n`` rows, given their columns."""
        if (counts := self.look_at(columns, n)) is not None:
            self.count_blocks(counts)

    def look_at(self, columns: Mapping[str, ArrowColumn], n: int) -> BlockCounts | None:
        """Look at the next ``n`` rows; what is returned is left to `count_blocks`, perhaps with that of others."""
        combined, edges = combinations_of(columns, self.columns), edges_of_blocks(self.n_rows)
        if combined is not None:
            counts = BlockCounts.of(combined, self.scales.seen, edges)
            for scales in (self.scales, *self.released):
                scales.look_at(combined, counts)
            return counts
        blocks = np.repeat(np.arange(len(edges) - 1), np.diff(np.clip(np.array(edges) - self.scales.seen, 0, n)))
        self._count_blocks({name: columns[name] for name in self.scales.columns}, blocks, np.ones(n, np.int64))
        for scales in (self.scales, *self.released):
            scales.count(columns, n)
        return None

    def count_blocks(self, counts: BlockCounts) -> None:
        """Add rows that were looked at."""
        sensitive, place = counts.of_columns(self.scales.columns)
        summed = counts.summed(place, int(place.max(initial=0)) + 1)
        blocks, symbols = np.nonzero(summed)
        rows = pa.array(symbols)
        self._count_blocks(
            {name: column.take(rows) for name, column in sensitive.items()}, blocks, summed[blocks, symbols]
        )
        for scales in (self.scales, *self.released):
            scales.count_blocks(counts)

    def _count_blocks(
        self, columns: Mapping[str, ArrowColumn], blocks: NDArray[np.int64], weights: NDArray[np.int64]
    ) -> None:
        position = pa.DictionaryArray.from_arrays(pa.array(blocks), pa.array(np.arange(n_blocks(self.n_rows))))
        table = self.table.without_rows()
        table.count({**columns, POSITION: position}, weights)
        self.table = self.table.merged(table)  # at once: other threads may ask for its symbols

    def merged(self, other: OrderAudit) -> OrderAudit:
        """Counts of the rows of both."""
        released = tuple(one.merged(two) for one, two in zip(self.released, other.released, strict=True))
        return OrderAudit(self.n_rows, self.table.merged(other.table), self.scales.merged(other.scales), released)

    def add(self, other: OrderAudit) -> None:
        """Take in the counts of other rows."""
        vars(self).update(vars(self.merged(other)))

    def checked(self, report: LeakageReport, budget: Budget, counts: ContingencyTable) -> LeakageReport:
        """The report of a release that keeps this order; one that tells S too well is refused.

        ``counts`` are those of S and X of all rows: where a released column follows the order, the order tells of S
        what the raw column tells.
        """
        information = mutual_information(self.table.to_joint())
        notes = []
        if found := self._telling(self.scales):
            for table in found:
                _refuse_beyond(budget, table.T)
            notes.append("the rows keep their order, which depends on the sensitive columns (within the budget)")
        for scales in self.released:
            if found := self._telling(scales):
                given = _given(counts, scales.columns, scales.known)
                for table in found:
                    _refuse_beyond(budget, table.T, given)
                notes.append(
                    f"the rows keep their order, which depends on column {scales.columns[0]!r}: raw values can be told "
                    "from it"
                )
        told = Measure(
            "position_information", "what row order tells, I(S;block)", "nats", "estimate", None, information
        )
        return replace(report.with_notes(tuple(notes)), measures=(*report.measures, told))

    def _telling(self, scales: Scales) -> list[NDArray[np.int64]]:
        """Tables of a column (places, symbols) that chance does not explain.

        None if the order is random; all that are unlikely by themselves if one is beyond the rate for all together.
        """
        if scales.log_chance()[0] + math.log(1 + len(self.released)) >= math.log(FALSE_ALARM):
            return []
        tables = [table for _, table, _ in scales.tables()]
        unlikely = log_chances(tables) < math.log(FALSE_ALARM)
        return [table for table, is_unlikely in zip(tables, unlikely, strict=True) if is_unlikely]


def _given(counts: ContingencyTable, columns: tuple[str, ...], known: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(s|x) of each symbol of a released column by itself, shape (n_s, n_known)."""
    public, place = counts.public, counts.public.columns.index(columns[0])
    keys = keys_of((*python_values(public.levels[place], columns[0]), None))[public.codes[:, place]]
    table = np.zeros((len(counts.sensitive), len(known)))
    np.add.at(table.T, place_among(known, keys), counts.counts.T)
    return table / np.maximum(table.sum(axis=0), 1)


def _refuse_beyond(budget: Budget, counts: NDArray[np.int64], given: NDArray[np.float64] | None = None) -> None:
    """Refuse an order where places of a table of (symbols, places) are over the budget.

    A place of many rows is judged by its own frequencies; those of few rows as one, and by what all of them say.
    ``given`` are P(s|symbol), where the symbols are not those of S.
    """
    told = counts if given is None else given @ counts
    sizes = counts.sum(axis=0)
    many = sizes >= min(_LEAST_ROWS, sizes.sum() / 8)
    table = np.column_stack([told[:, many], told[:, ~many].sum(axis=1)])
    table = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    joint = JointDistribution.from_matrix(table / table.sum())
    if float(budget.excess(joint).max()) > 0:
        raise RowOrderLeak(mutual_information(joint))
    few = counts[:, ~many]
    few, prior = few[:, few.any(axis=0)], counts.sum(axis=1) / counts.sum()
    known = np.eye(len(prior)) if given is None else given
    if few.size and log_evidence(budget, few, known, prior) > -math.log(FALSE_ALARM):
        raise RowOrderLeak(mutual_information(JointDistribution.from_matrix(told / told.sum())))
