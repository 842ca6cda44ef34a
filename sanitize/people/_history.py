"""Model of the ordered rows of an owner: a value depends on the owner, the previous row, and another column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pyarrow as pa

from sanitize._util.checks import Codes, Mask, Vector
from sanitize.core.profiles import group_levels
from sanitize.release.classes import ClassColumn, draw_edge_shares, draw_listed, information, threshold_counts
from sanitize.tables.columns import as_arrow, ascending, python_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._util.sampling.noise import RandomWords
    from sanitize.tables.columns import ArrowColumn

# Kinds of owners per column: 480 at most, each of 30 units on average and of 20 owners at least, so that a kind
# describes several people. More than 20,000 owners, 12 groups of states and 100,000 rows would take longer and teach
# nothing new.
_KINDS, _UNITS, _LEAST, _OWNERS, _GROUPS, _ROWS = 480, 30, 20, 20_000, 12, 100_000
# Most groups of a column, between 8 and 64, so that a pair of groups has 80 rows on average: with fewer rows, groups
# are fewer, because frequencies of pairs would be noise.
_STATES, _PAIR_ROWS = (8, 64), 80
# Rounds of tilting, each of which draws all rows again. The exponent shortens steps, because all pairs are tilted at
# once and would overshoot together; pairs with a smaller share of rows are left to chance.
_TILTS, _STEP, _LEAST_SHARE = 8, 0.6, 1e-5
# Rows that an owner may have in any state beyond its target. A little more than none, so that a forbidden transition
# does not end a history.
_BESIDE = 0.1
# Largest whole-number weight of a state in a draw: the weights of up to 500 states sum to 31 bits, as `draw_listed`
# needs.
_LARGEST = 1 << 22
# A pair is forbidden if fewer than three units have it although chance would give twenty times as many rows; other
# pairs get a fraction of a row, so that a pair without rows stays possible.
_FEW, _USUAL, _SELDOM = 3, 20, 1e-3
# Replaces a divisor of 0, whose dividend is 0 as well.
_TINY = np.finfo(float).tiny
# Lane of the noise on dependences between columns. It lies above those of the columns, so that no random word is used
# twice.
_TREE_LANE = 1 << 21
# A draw uses the upper 32 of 64 bits, which `draw_listed` expects.
_HALF = np.uint64(32)


# Shares are those that a profile keeps: of each owner's rows that have a value, by column and by the value as text.
Shares: TypeAlias = "Mapping[str, Mapping[str, Vector]]"


@dataclass(frozen=True, eq=False)
class Owners:
    """Owner of each row, and known features of each owner.

    Attributes
    ----------
    of_row : ndarray of int, shape (n_rows,)
        Owner of each row, ascending.
    unit : ndarray of int, shape (n_owners,)
        Unit of each owner, by which people are counted.
    features : ndarray of float, shape (n_owners, n_features)
        Known features of each owner; nan if unknown.
    """

    of_row: Codes
    unit: Codes
    features: NDArray[np.float32]

    def kinds(self, codes: Codes, column: ClassColumn) -> tuple[Any, Codes]:
        """Fit a regression tree that separates owners by a column; return the tree and the leaf of each row's owner."""
        from sklearn.tree import DecisionTreeRegressor

        counts = np.bincount(codes, minlength=column.n_groups)
        group = group_levels(counts, is_ordered=column.is_ordered, most=_GROUPS)
        present, inverse = np.unique(self.of_row, return_inverse=True)
        counts = _counts(inverse, group[codes], (len(present), int(group.max()) + 1))
        learned = slice(None, None, max(1, len(present) // _OWNERS))
        most = max(2, min(_KINDS, len(np.unique(self.unit)) // _UNITS))
        tree = DecisionTreeRegressor(max_leaf_nodes=most, min_samples_leaf=_LEAST, random_state=0)
        tree.fit(self.features[present][learned], (counts / counts.sum(axis=1, keepdims=True))[learned])
        return tree, tree.apply(self.features[present])[inverse]


@dataclass(frozen=True, eq=False)
class _Column:
    """Model of a column: its state depends on the kind of the owner, the previous row, and another column of the row.

    The weights of these three are multiplied. A state is a group of values.
    """

    column: ClassColumn
    parent: int
    kinds: Any
    weights: tuple[Vector, ...]  # weights by kind, by previous state, and by the other column
    aims: tuple[Vector, ...]  # target pairs of the last two, from many units
    pairs: NDArray[np.int64]  # target pairs of previous and current state

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def n_states(self) -> int:
        return self.column.n_groups

    def target_rows(self, kind: Codes, shares: Mapping[str, Vector], numbers: Codes) -> Vector:
        """Return how many rows of each owner should have each state, given the owner's shares of values, or kind."""
        wanted, is_wanted = np.zeros((len(numbers), self.n_states)), np.zeros(self.n_states, bool)
        values = python_values(self.column.values, self.name)
        for place in np.flatnonzero(self.column.places >= 0):
            if (value := str(values[self.column.places[place]])) in shares:
                state = self.column.group_of_outcome[place]
                wanted[:, state] += shares[value]
                is_wanted[state] = True
        by_kind, total = self.weights[0][kind], wanted.sum(axis=1, keepdims=True)
        free_shares = np.where(is_wanted, 0.0, by_kind).sum(axis=1, keepdims=True)
        # Shares are generated one by one, so they need not sum to one.
        whole = np.clip(total, 1 - 2 * free_shares, 1 - free_shares / 2)
        left = ~is_wanted * by_kind * (1 - whole) / np.maximum(free_shares, _TINY)
        scaled = wanted * whole / np.maximum(total, _TINY) + left
        return np.asarray(numbers[:, None] * np.where(total > 0, scaled, by_kind))


@dataclass(frozen=True, eq=False)
class HistoryModel:
    """Model that generates the rows of each owner in order, learned from pairs of states that many units have."""

    columns: tuple[_Column, ...]  # parents precede children

    @classmethod
    def fit(
        cls, table: Mapping[str, Any], owners: Owners, words: RandomWords, before: Mapping[str, Any] | None = None
    ) -> Self:
        """Learn the model from the rows of owners in their order.

        Parameters
        ----------
        table : mapping of name to column
            Rows, grouped by owner and in order.
        owners : Owners
        words : RandomWords
            Random source for the noise on dependences between columns, and for the edges of numbers.
        before : mapping of name to column and ndarray of bool, optional
            Previous row of each row, and mask of rows without one; by default the previous row of the same owner.
        """
        names, units = list(table), _Units(owners.unit[owners.of_row], int(owners.unit.max(initial=-1)) + 1)
        most = int(np.clip(np.sqrt(len(owners.of_row) / _PAIR_ROWS), *_STATES))
        named_shares = zip(names, draw_edge_shares(words, len(names)), strict=True)
        class_columns = [units.groups(as_arrow(table[name], name), name, most, share) for name, share in named_shares]
        codes = [column.encode(table[column.name]).astype(np.intp) for column in class_columns]
        sizes = [column.n_groups for column in class_columns]
        order, parents = _structure(codes, sizes, words, units.n)
        columns = []
        for place, parent in zip(order, parents, strict=True):
            column_codes, n = codes[place], sizes[place]
            if before is None:
                last = _preceding_states(column_codes, owners.of_row, n)
            else:
                values, none = before[names[place]]
                last = np.where(none, n, class_columns[place].encode(values))
            kinds, kind = owners.kinds(column_codes, class_columns[place])
            conditions = [(kind, kinds.tree_.node_count), (last, n + 1)]
            if parent >= 0:
                conditions.append((codes[order[parent]], sizes[order[parent]]))
            soft = [units.pairs(values, column_codes, (size, n)) for values, size in conditions]
            weights = [counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY) for counts in soft]
            margin = np.maximum(_shares(np.bincount(column_codes, minlength=n)), _TINY)
            weights[1:] = [table_weights / margin for table_weights in weights[1:]]
            pairs = _counts(last, column_codes, (n + 1, n))
            columns.append(_Column(class_columns[place], parent, kinds, tuple(weights), tuple(soft[1:]), pairs))
        return cls(tuple(columns))

    def tilt(self, of_row: Codes, features: NDArray[np.float32], shares: Shares, words: RandomWords) -> Self:
        """Return the model with weights adjusted so that generated rows have the same transitions as the table.

        The adjustment is needed because features of generated owners differ a little from those in the table.

        Parameters
        ----------
        of_row : ndarray of int, shape (n_rows,)
            Owner of each row, ascending, for owners that are generated for this purpose only.
        features : ndarray of float, shape (n_owners, n_features)
        shares : Shares
        words : RandomWords
        """
        model = self
        for _ in range(_TILTS):
            states, columns = model.draw_states(of_row, features, shares, words), []
            for number, column in enumerate(model.columns):
                conditions = [_preceding_states(states[number], of_row, column.n_states)]
                if column.parent >= 0:
                    conditions.append(states[column.parent])
                weights = list(column.weights)
                for place, (values, aim) in enumerate(zip(conditions, column.aims, strict=True), 1):
                    counts = _counts(values, states[number], aim.shape)
                    step = (aim / max(aim.sum(), 1) + _LEAST_SHARE) / (counts / max(counts.sum(), 1) + _LEAST_SHARE)
                    weights[place] = weights[place] * step**_STEP
                columns.append(replace(column, weights=tuple(weights)))
            model = replace(model, columns=tuple(columns))
        return model

    def draw_states(self, of_row: Codes, features: NDArray[np.float32], shares: Shares, words: RandomWords) -> Codes:
        """Draw the states of the generated rows of all owners, shape (n_columns, n_rows).

        If the share of an owner's rows with a value is known, this number of rows gets the value: each draw reduces the
        remaining number.

        Parameters
        ----------
        of_row : ndarray of int, shape (n_rows,)
            Owner of each generated row, ascending.
        features : ndarray of float, shape (n_owners, n_features)
        shares : Shares
        words : RandomWords
        """
        states = np.empty((len(self.columns), len(of_row)), np.intp)
        kinds = [column.kinds.apply(features) for column in self.columns] if len(features) else []
        first, length = np.searchsorted(of_row, np.arange(len(features))), np.bincount(of_row, minlength=len(features))
        numbers = [number for number, column in enumerate(self.columns) if column.name in shares]
        wanted = {n: self.columns[n].target_rows(kinds[n], shares[self.columns[n].name], length) for n in numbers}
        longest = np.argsort(-length, kind="stable")
        shorter = -length[longest]
        for step in range(int(length.max(initial=0))):
            active = np.sort(longest[: np.searchsorted(shorter, -step)])
            rows = first[active] + step
            for number, column in enumerate(self.columns):
                before = states[number, rows - 1] if step else np.full(len(rows), column.n_states)
                conditions = [kinds[number][active], before]
                if column.parent >= 0:
                    conditions.append(states[column.parent, rows])
                word, weights = words.words_at(3 * number, rows) >> _HALF, column.weights
                if number in wanted:
                    left = wanted[number][active]
                    weights = (left + _BESIDE * weights[0][conditions[0]], *weights[1:])
                    conditions[0] = np.arange(len(active))
                states[number, rows] = drawn = _draw_rows(weights, conditions, word)
                if number in wanted:
                    wanted[number][active, drawn] = np.maximum(left[np.arange(len(active)), drawn] - 1, 0)
        return states

    def write(self, states: Codes, words: RandomWords) -> dict[str, pa.Array]:
        """Return the columns of generated rows, with values drawn according to the states of the rows."""
        rows, columns = np.arange(states.shape[1]), {}
        for number, column in enumerate(column.column for column in self.columns):
            first_word, more = (words.words_at(3 * number + lane, rows) for lane in (1, 2))
            columns[column.name] = column.write(column.draw_outcomes(states[number], first_word >> _HALF), more)
        return columns

    def transition_distance(self, states: Codes, of_row: Codes) -> float:
        """Largest total variation distance between transitions in generated rows and in the original rows."""
        distances = []
        for codes, column in zip(states, self.columns, strict=True):
            pairs = _counts(_preceding_states(codes, of_row, column.n_states), codes, column.pairs.shape)
            distances.append(np.abs(pairs / max(pairs.sum(), 1) - column.pairs / max(column.pairs.sum(), 1)).sum() / 2)
        return float(max(distances))

    def features(self, table: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return the features of a table's rows as owners of other rows: the code of each column's value."""
        encoded = [column.column.encode(table[column.name]) for column in self.columns]
        return np.stack(encoded, axis=1).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Units:
    """Unit of each row, to find the pairs of states that many units have."""

    of_row: Codes
    n: int

    def groups(self, column: ArrowColumn, name: str, most: int, shares: Vector) -> ClassColumn:
        """Learn groups of a column's values, counting each unit once, so that frequent values belong to many units."""
        values, codes = ascending(column, name)
        places = np.where(codes < 0, len(values), codes)
        once = np.unique(self.of_row * (len(values) + 1) + places) % (len(values) + 1)
        units = np.bincount(once, minlength=len(values) + 1)[:-1]
        return ClassColumn.fit(column, name, values, once, units, most, shares=shares)

    def pairs(self, former: Codes, latter: Codes, shape: tuple[int, int]) -> Vector:
        """Return the number of rows of each pair of states; rows of pairs with few units are spread over all pairs.

        Pairs that do not occur get a small weight, unless chance would give them many rows.
        """
        key, rows = former * shape[1] + latter, _counts(former, latter, shape)
        units = np.bincount(np.unique(key * self.n + self.of_row) // self.n, minlength=rows.size).reshape(shape)
        former_rows, latter_rows = rows.sum(axis=1), rows.sum(axis=0)
        shared = rows * threshold_counts(units) / np.maximum(units, 1)
        margin = _shares(latter_rows)
        left = np.maximum(margin * len(key) - shared.sum(axis=0), 0.0)
        left = left / left.sum() if left.any() else margin
        soft = shared + np.outer(former_rows - shared.sum(axis=1), left) + _SELDOM * margin
        return np.where((units < _FEW) & (np.outer(former_rows, latter_rows) >= _USUAL * max(len(key), 1)), 0.0, soft)


def _preceding_states(codes: Codes, of_row: Codes, n_states: int) -> Codes:
    """State of the previous row of the same owner; an extra state for first rows."""
    return np.where(run_starts(of_row), n_states, np.append(n_states, codes[:-1])[: len(codes)])


def run_starts(of_row: Codes) -> Mask:
    """Mask of the rows that are the first of their owner; the rows of an owner must be adjacent."""
    return np.append(True, of_row[1:] != of_row[:-1])[: len(of_row)]


def _counts(left: Codes, right: Codes, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Number of rows with each pair of states."""
    return np.bincount(left * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape)


def _shares(counts: NDArray[np.int64]) -> Vector:
    """Shares of states, reduced for rare states; not reduced if all states are rare."""
    soft = threshold_counts(counts)
    soft = soft if soft.any() else counts.astype(np.float64)
    return np.asarray(soft / max(soft.sum(), 1))


def _structure(codes: list[Codes], sizes: list[int], words: RandomWords, n_units: int) -> tuple[list[int], list[int]]:
    """Return an order of the columns and, for each column, the place of the column it depends on; -1 if none."""
    shared = np.zeros((len(codes), len(codes)))
    step = max(1, len(codes[0]) // _ROWS)
    for left, right in combinations(range(len(codes)), 2):
        counts = _counts(codes[left][::step], codes[right][::step], (sizes[left], sizes[right]))
        shared[left, right] = information(counts / max(counts.sum(), 1), int(counts.sum()))
    branches = _spanning_tree(shared, words, max(n_units, 1))
    order = [0, *(child for _, child in branches)]
    return order, [-1, *(order.index(parent) for parent, _ in branches)]


def _spanning_tree(shared: Vector, words: RandomWords, n_units: int) -> list[tuple[int, int]]:
    """Find the tree of largest mutual information, as pairs of parent and child, parents first [ChowLiu].

    The information gets noise as large as the effect of one unit, so that no edge reveals a unit.
    """
    n = len(shared)
    drawn = words.words_at(_TREE_LANE, np.arange(n * n)) >> np.uint64(11)
    uniform = drawn.astype(np.float64) * 2.0**-53 + 2.0**-54
    noise = -np.log(-np.log(uniform)).reshape(n, n) * np.log(n_units + 1) / (n_units + 1)
    weight = np.triu(shared + noise, 1)
    weight += weight.T
    edges, reached = [], [0]
    while len(reached) < n:
        unreached = [place for place in range(n) if place not in reached]
        parent, child = np.unravel_index(weight[np.ix_(reached, unreached)].argmax(), (len(reached), len(unreached)))
        edges.append((reached[parent], unreached[child]))
        reached.append(unreached[child])
    return edges


def _draw_rows(weights: Sequence[Vector], conditions: Sequence[Codes], word: NDArray[np.uint64]) -> Codes:
    """Draw a state for each row, in proportion to the product of the given weights."""
    keys = np.zeros(len(word), np.intp)
    for table, values in zip(weights, conditions, strict=True):
        keys = keys * len(table) + values
    _, chosen, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rows = [values[chosen] for values in conditions]
    weight = np.prod([table[row] for table, row in zip(weights, rows, strict=True)], axis=0)
    lost = ~weight.any(axis=1)  # no state is allowed with all conditions
    weight[lost] = weights[-1][rows[-1][lost]]
    weight[~weight.any(axis=1)] = 1.0  # no transition from this state was counted
    weight = np.ceil(weight * (_LARGEST / weight.max(axis=1, keepdims=True))).astype(np.int64)
    width = weight.shape[1]
    first = inverse.ravel() * width
    return draw_listed(np.append(0, np.cumsum(weight)), first, first + width, word) - first
