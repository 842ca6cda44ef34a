"""Fits of the columns of a table one by one, and of how each leans on its class and on earlier columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize.release.classes._column import ClassColumn
from sanitize.release.classes._dependence import PRESENT, Rule, find_rules, look_up_table, order_of
from sanitize.release.classes._mixture import indicators
from sanitize.release.classes._repeats import count_people
from sanitize.tables.columns import ascending

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.checks import Codes, Vector
    from sanitize.tables.columns import ArrowColumn

# Rows that show how columns lean on one another.
_RULE_ROWS = 20_000
# Earlier columns that a column is drawn given, at most, and about so many pairs in all where there are many columns.
_MOST_GIVEN, _PAIRS_GIVEN = 16, 240
# Columns of the row itself that each summary of other rows is drawn given besides.
_OWN_GIVEN = 8


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """Distinct values of a column in ascending order, and each row's place among them; their number for missing."""

    name: str
    column: ArrowColumn
    values: pa.Array
    codes: Codes

    @classmethod
    def of(cls, name: str, column: ArrowColumn) -> DistinctValues:
        """Distinct values of a column."""
        values, codes = ascending(column, name)
        return cls(name, column, values, np.where(codes < 0, len(values), codes).astype(np.intp))

    def groups(self, column: ClassColumn) -> NDArray[np.int32]:
        """Group of each row."""
        return column.groups_of(self.values)[self.codes]

    def outcomes(self, column: ClassColumn) -> Codes:
        """Outcome of each row, the last for missing."""
        return np.append(column.outcomes(self.values), len(column.places) - 1)[self.codes]


@dataclass(frozen=True, eq=False)
class FittedColumns:
    """Columns of a model, the group of each row in each, and which column determines which."""

    columns: list[ClassColumn]
    codes: NDArray[np.int32]  # shape (n, n_columns)
    shared: Vector  # information of each pair, shape (n_columns, n_columns)
    rules: dict[int, Rule]
    distinct: list[DistinctValues]
    summaries: frozenset[int]  # columns that sum up rows of other tables

    @classmethod
    def of(
        cls,
        arrows: Mapping[str, ArrowColumn],
        weights: Vector,
        most: int,
        edges: Mapping[str, Sequence[Any]],
        above: Mapping[str, Mapping[str, tuple[str, ...]]],
        summaries: Collection[str] = (),
        *,
        shares: Vector,
        rows_are_people: bool = False,
    ) -> FittedColumns:
        """Learn the groups of all columns, with at most about so many groups each; shares of each are of the key."""
        distinct = [DistinctValues.of(name, column) for name, column in arrows.items()]
        counts = [np.bincount(one.codes, minlength=len(one.values) + 1) for one in distinct]
        if not rows_are_people:
            counts = count_people([one.codes for one in distinct], counts)

        def fitted(place: int, *, lists_all: bool) -> ClassColumn:
            one, declared = distinct[place], edges.get(distinct[place].name, ())
            return ClassColumn.fit(
                *(one.column, one.name, one.values, one.codes, counts[place][:-1], most, weights),
                *(declared, above.get(one.name)),
                shares=shares[place],
                lists_all=lists_all,
            )

        columns = [fitted(place, lists_all=False) for place in range(len(distinct))]
        codes = np.stack([one.groups(column) for one, column in zip(distinct, columns, strict=True)], axis=1)
        some = slice(None, None, max(1, -(-len(codes) // _RULE_ROWS)))
        shared = _shared_information(codes[some], [column.n_groups for column in columns])
        sizes = [len(one.values) + 1 for one in distinct]
        sums = frozenset(place for place, name in enumerate(arrows) if name in summaries)
        rules = find_rules([one.codes[some] for one in distinct], sizes, shared, sums)
        ruled = {*rules, *(rule.determiner for rule in rules.values())}
        for place in ruled:
            columns[place] = fitted(place, lists_all=True)
        return cls(columns, codes, shared, rules, distinct, sums)

    def nearest(self, place: int, earlier: Sequence[int]) -> list[int]:
        """Earlier columns that a column is drawn given, those that share most with it.

        Many summaries of the same rows share most with one another; what each reveals of the row's own columns is kept.
        """
        most = max(4, min(_MOST_GIVEN, _PAIRS_GIVEN // len(self.columns)))
        by_share = sorted(earlier, key=lambda one: -self.shared[place, one])
        own = [one for one in by_share if place in self.summaries and one not in self.summaries]
        return [one for one in earlier if one in {*by_share[:most], *own[:_OWN_GIVEN]}]

    @cached_property
    def order(self) -> list[int]:
        """Columns in the order in which they are drawn."""
        return order_of(len(self.columns), self.rules)

    def look_up(self, place: int) -> tuple[int, NDArray[np.int64], NDArray[np.int32], Vector]:
        """Determiner of a column, and the outcomes that it leaves."""
        rule = self.rules[place]
        given, target = self.distinct[rule.determiner], self.distinct[place]
        determiner, column = self.columns[rule.determiner], self.columns[place]
        outcome = np.append(determiner.outcomes(given.values), len(determiner.places) - 1)
        strengths = np.zeros(len(determiner.places))
        is_own = determiner.is_value[outcome]
        strengths[outcome[is_own]] = rule.strengths[is_own]
        if not rule.of_missing:
            return rule.determiner, *look_up_table(outcome[given.codes], target.outcomes(column), strengths)
        missing = (target.codes == len(target.values)).astype(np.intp)
        first, found, shares = look_up_table(outcome[given.codes], missing, strengths)
        names = np.array([PRESENT, len(column.places) - 1, -1], np.int32)  # the last is `FREE`
        return rule.determiner, first, names[found], shares


def _shared_information(codes: NDArray[np.int32], sizes: Sequence[int]) -> Vector:
    """Mutual information of each pair of columns in nats, less what independent ones show by chance."""
    rows, starts = indicators(codes, sizes), np.cumsum([0, *sizes])
    tables = (rows.T.tocsr() @ rows).toarray() / max(len(codes), 1)
    found = np.zeros((len(sizes), len(sizes)))
    for one in range(len(sizes)):
        for another in range(one):
            table = tables[starts[one] : starts[one + 1], starts[another] : starts[another + 1]]
            found[one, another] = found[another, one] = information(table, len(codes))
    return found


def information(table: Vector, n: int) -> float:
    """Mutual information of a table of shares of n rows in nats, less what independent columns show by chance."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    seen = table > 0
    told = float((table[seen] * np.log(table[seen] / np.outer(rows, columns)[seen])).sum())
    return max(told - (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * max(n, 1)), 0.0)
