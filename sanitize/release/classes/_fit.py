"""Fits of single columns, and of the dependence of each column on the class and on earlier columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize.release.classes._column import ClassColumn
from sanitize.release.classes._dependence import PRESENT, Rule, column_order, find_rules, look_up_table
from sanitize.release.classes._mixture import indicators
from sanitize.release.classes._refinement import bin_factors
from sanitize.release.classes._repeats import count_people
from sanitize.tables.columns import ascending

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from sanitize._util.checks import Codes, Vector
    from sanitize.tables.columns import ArrowColumn

# Dependences between columns that matter show in this many rows; counting pairs on all rows would take most of a fit.
_RULE_ROWS = 20_000
# Most earlier columns that a column is drawn given, and about how many pairs there are in total in a wide table: each
# pair takes a regression, and further columns add little.
_MOST_GIVEN, _PAIRS_GIVEN = 16, 240
# Columns of the row itself on which each summary of other rows also depends, because summaries share most with one
# another and would leave no place for them.
_OWN_GIVEN = 8


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """Distinct values of a column in ascending order, and each row's position among them; missing comes last."""

    name: str
    column: ArrowColumn
    values: pa.Array
    codes: Codes

    @classmethod
    def from_column(cls, name: str, column: ArrowColumn) -> DistinctValues:
        """Find the distinct values of a column."""
        values, codes = ascending(column, name)
        return cls(name, column, values, np.where(codes < 0, len(values), codes).astype(np.intp))

    def groups(self, column: ClassColumn) -> NDArray[np.int32]:
        """Group of each row in a fitted column."""
        return column.value_groups(self.values)[self.codes]

    def bins(self, column: ClassColumn) -> Codes:
        """Bin of each row in a fitted column; missing values have the last bin."""
        return np.append(column.find_bins(self.values), len(column.groups))[self.codes]

    def outcomes(self, column: ClassColumn) -> Codes:
        """Outcome of each row in a fitted column; missing values have the last outcome."""
        return np.append(column.outcomes(self.values), len(column.places) - 1)[self.codes]


@dataclass(frozen=True, eq=False)
class FittedColumns:
    """Columns of a model, with the group of each row in each column.

    Also the rules by which some columns determine others.
    """

    columns: list[ClassColumn]
    codes: NDArray[np.int32]  # shape (n, n_columns)
    pairs: Vector  # counts of up to 20,000 rows by groups of two columns
    shared: Vector  # mutual information of each pair of columns, shape (n_columns, n_columns)
    rules: dict[int, Rule]
    distinct: list[DistinctValues]
    weights: Vector
    summaries: frozenset[int]  # columns that summarize rows of other tables
    kept: frozenset[int]  # unchanged columns, on which the others depend
    above: Mapping[str, Mapping[str, tuple[str, ...]]]  # ancestors of text values

    @classmethod
    def fit(
        cls,
        arrows: Mapping[str, ArrowColumn],
        weights: Vector,
        most: int,
        edges: Mapping[str, Sequence[Any]],
        above: Mapping[str, Mapping[str, tuple[str, ...]]],
        summaries: Collection[str] = (),
        kept: Collection[str] = (),
        *,
        shares: Vector,
        rows_are_people: bool = False,
    ) -> FittedColumns:
        """Learn at most about ``most`` groups for each column; the random ``shares`` decide where groups are cut."""
        distinct = [DistinctValues.from_column(name, column) for name, column in arrows.items()]
        counts = [np.bincount(entry.codes, minlength=len(entry.values) + 1) for entry in distinct]
        if not rows_are_people:
            counts = count_people([entry.codes for entry in distinct], counts)

        def fit_column(place: int, *, lists_all: bool) -> ClassColumn:
            entry, declared = distinct[place], edges.get(distinct[place].name, ())
            return ClassColumn.fit(
                *(entry.column, entry.name, entry.values, entry.codes, counts[place][:-1], most, weights),
                *(declared, above.get(entry.name)),
                shares=shares[place],
                lists_all=lists_all,
            )

        columns = [fit_column(place, lists_all=False) for place in range(len(distinct))]
        codes = np.stack([entry.groups(column) for entry, column in zip(distinct, columns, strict=True)], axis=1)
        sample = slice(None, None, max(1, -(-len(codes) // _RULE_ROWS)))
        groups = [column.n_groups for column in columns]
        pairs = count_pairs(indicators(codes[sample], groups))
        shared = _shared_information(pairs, groups, len(codes[sample]))
        sizes = [len(entry.values) + 1 for entry in distinct]
        sums, stay = (
            frozenset(place for place, name in enumerate(arrows) if name in some) for some in (summaries, kept)
        )
        rules = find_rules([entry.codes[sample] for entry in distinct], sizes, shared, sums, stay)
        ruled = {*rules, *(rule.determiner for rule in rules.values())}
        for place in ruled:
            columns[place] = fit_column(place, lists_all=True)
        return cls(columns, codes, pairs, shared, rules, distinct, weights, sums, stay, above)

    def nearest(self, place: int, earlier: Sequence[int]) -> list[int]:
        """Earlier columns with the most information about a column, on which the column depends in the model.

        Summaries of the same rows share most with one another, so each also depends on columns of its own row.
        """
        most = max(4, min(_MOST_GIVEN, _PAIRS_GIVEN // len(self.columns)))
        by_share = sorted(earlier, key=lambda column: -self.shared[place, column])
        plain_columns = [column for column in by_share if place in self.summaries and column not in self.summaries]
        return [column for column in earlier if column in {*by_share[:most], *plain_columns[:_OWN_GIVEN], *self.kept}]

    def nearest_number(self, place: int, earlier: Sequence[int]) -> int | None:
        """Earlier numeric column with the most information about a numeric column; None if there is none."""
        is_number = [column.is_ordered and len(column.groups) > 0 for column in self.columns]
        numbers = [entry for entry in earlier if is_number[entry]]
        if not is_number[place] or not numbers:
            return None
        return max(numbers, key=lambda entry: float(self.shared[place, entry]))

    def refine(self, place: int, nearest: int) -> tuple[Vector, NDArray[np.int64], float]:
        """Share of each outcome of a numeric column given its own group and the bin of an earlier numeric column.

        Also returned are the start of each group and the effective number of parameters.
        """
        own, other = self.columns[place], self.columns[nearest]
        shape = len(other.groups) + 1, len(own.groups) + 1
        both = self.distinct[nearest].bins(other) * shape[1] + self.distinct[place].bins(own)
        pairs = np.bincount(both, self.weights, shape[0] * shape[1]).reshape(shape).astype(float)
        factors = np.ones(pairs.shape)
        factors[:-1, :-1], n_degrees = bin_factors(pairs[:-1, :-1], own.groups)
        shares = (factors[:, own.bins] * own.weights).ravel()
        starts = np.arange(len(pairs))[:, None] * len(own.places) + own.first[:-1]
        return shares, np.append(starts.ravel(), len(shares)), n_degrees

    @cached_property
    def order(self) -> list[int]:
        """Columns in the order in which they are drawn; kept columns, which are not drawn, come first."""
        return sorted(column_order(len(self.columns), self.rules), key=lambda place: place not in self.kept)

    def look_up(self, place: int) -> tuple[int, NDArray[np.int64], NDArray[np.int32], Vector]:
        """Return a column's determiner, and the outcomes that remain possible for each outcome of the determiner.

        The outcomes are lists, one after another: their starts, the outcomes, and the outcomes' shares.
        """
        rule = self.rules[place]
        inputs, target = self.distinct[rule.determiner], self.distinct[place]
        determiner, column = self.columns[rule.determiner], self.columns[place]
        outcomes = determiner.all_outcomes(inputs.values, self.above.get(inputs.name, {}))
        ends = [len(determiner.places) - 1, *[-1] * (len(outcomes) - 1)]  # of missing values
        outcome = np.stack([np.append(*level)[inputs.codes] for level in zip(outcomes, ends, strict=True)])
        of_level, row = np.nonzero(outcome >= 0)
        outcome = outcome[of_level, row]
        missing = (target.codes == len(target.values)).astype(np.intp)
        # Uses all rows: a value with 60 rows may have too few in the sample that found the rule.
        determined = missing if rule.of_missing else target.codes
        strengths = determiner.is_value * rule.strengths(outcome, determined[row], len(determiner.places))
        if not rule.of_missing:
            return rule.determiner, *look_up_table(outcome, target.outcomes(column)[row], strengths)
        first, indices, shares = look_up_table(outcome, missing[row], strengths)
        names = np.array([PRESENT, len(column.places) - 1, -1], np.int32)  # the last is `FREE`
        return rule.determiner, first, names[indices], shares


def count_pairs(rows: csr_array, weights: Vector | None = None) -> Vector:
    """Count the rows of each pair of groups, or add up their weights if weights are given."""
    weighted = rows if weights is None else rows.multiply(weights[:, None]).tocsr()
    return np.asarray((rows.T.tocsr() @ weighted).toarray())


def _shared_information(pairs: Vector, sizes: Sequence[int], n: int) -> Vector:
    """Mutual information of each pair of columns in nats, minus its expectation under independence."""
    table, starts = pairs / max(n, 1), np.cumsum([0, *sizes[:-1]])
    logs = table * np.log(np.maximum(table, 1e-300))
    joint = np.add.reduceat(np.add.reduceat(logs, starts, axis=0), starts, axis=1)
    margins, free = np.diag(joint), np.add.reduceat(np.diag(table) > 0, starts, dtype=float) - 1
    chance = np.outer(free, free) / (2 * max(n, 1))
    result = np.maximum(joint - margins[:, None] - margins - chance, 0.0)
    np.fill_diagonal(result, 0)
    return np.asarray(result)


def information(table: Vector, n: int) -> float:
    """Mutual information, in nats, of a table of shares of n rows, minus its expectation under independence."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    seen = table > 0
    nats = float((table[seen] * np.log(table[seen] / np.outer(rows, columns)[seen])).sum())
    return max(nats - (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * max(n, 1)), 0.0)
