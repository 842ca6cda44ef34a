"""Rows of an owner printed one after another, each given the owner, the row before and its own other columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pyarrow as pa

from sanitize._checks import Codes, Mask, Vector
from sanitize._tables.columns import ascending, python_values
from sanitize.printing._dependence import information, spanning_tree
from sanitize.printing._edges import drawn_states, faded, high_half, shares
from sanitize.printing._values import PrintedColumn, printed_as
from sanitize.trees import MOST_VALUES, Levels, grouped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sanitize._sampling.noise import RandomWords

# Kinds of owners of a column, units of each, owners that they are learned from, and rows that say which columns go with
# which: more are no better.
_KINDS, _UNITS, _LEAST, _OWNERS, _ROWS = 480, 30, 20, 20_000, 100_000
# Rows that there are of a pair of states in the mean: of fewer rows states are fewer.
_PAIR_ROWS = 20
# Of tilting: rounds, what a step is taken to the power of, and the share from which a pair is worth one.
_TILTS, _STEP, _LEAST_SHARE = 8, 0.6, 1e-5
# Rows of any state that an owner may have beyond those that it shall have.
_BESIDE = 0.1
# Of a product of weights, as whole numbers that states are drawn by.
_LARGEST = 1 << 24
# A pair is forbidden where fewer units have it though chance would give many rows; all others get a share of a row.
_FEW, _USUAL, _SELDOM = 3, 20, 1e-3
_TINY = np.finfo(float).tiny


# Of columns the share of rows of each owner that have a value, by the value as text.
Shares: TypeAlias = "Mapping[str, Mapping[str, Vector]]"


@dataclass(frozen=True, eq=False)
class Owners:
    """Whose rows they are.

    Attributes
    ----------
    of_row : ndarray of int, shape (n_rows,)
        Owner of each row, ascending.
    unit : ndarray of int, shape (n_owners,)
        The unit that an owner belongs to, by which people are counted.
    features : ndarray of float, shape (n_owners, n_features)
        What is known of an owner; nan where nothing is.
    """

    of_row: Codes
    unit: Codes
    features: NDArray[np.float32]

    def kinds(self, codes: Codes, levels: Levels) -> tuple[Any, Codes]:
        """A regression tree by which owners differ most in a column, and the leaf of the owner of each row."""
        from sklearn.tree import DecisionTreeRegressor

        group = grouped(np.bincount(codes, minlength=levels.n_levels), is_ordered=levels.is_ordered, most=12)
        some, inverse = np.unique(self.of_row, return_inverse=True)
        counts = _counts(inverse, group[codes], (len(some), int(group.max()) + 1))
        learned = slice(None, None, max(1, len(some) // _OWNERS))
        most = max(2, min(_KINDS, len(np.unique(self.unit)) // _UNITS))
        tree = DecisionTreeRegressor(max_leaf_nodes=most, min_samples_leaf=_LEAST, random_state=0)
        tree.fit(self.features[some][learned], (counts / counts.sum(axis=1, keepdims=True))[learned])
        return tree, tree.apply(self.features[some])[inverse]


@dataclass(frozen=True, eq=False)
class _Column:
    """One column: how a state follows from the kind of its owner, the row before, and another column of its row.

    Their weights are multiplied.
    """

    levels: Levels
    printed: PrintedColumn
    parent: int
    kinds: Any
    weights: tuple[Vector, ...]  # of the kind, the state before, and the other column
    aims: tuple[Vector, ...]  # pairs that the last two shall have, of many units
    pairs: NDArray[np.int64]  # of the state before and this one

    @property
    def n_states(self) -> int:
        return len(self.printed.first) - 1

    def wanted(self, kind: Codes, shares: Mapping[str, Vector], numbers: Codes) -> Vector:
        """Rows of each owner that shall be in each state; the kind of owner says it of states of other values."""
        told, is_told = np.zeros((len(numbers), self.n_states)), np.zeros(self.n_states, bool)
        state = np.repeat(np.arange(self.n_states), np.diff(self.printed.first))
        values = python_values(self.printed.values, self.printed.name)
        for place in np.flatnonzero(self.printed.places >= 0):
            if (value := str(values[self.printed.places[place]])) in shares:
                told[:, state[place]] += shares[value]
                is_told[state[place]] = True
        by_kind, total = self.weights[0][kind], told.sum(axis=1, keepdims=True)
        others = np.where(is_told, 0.0, by_kind).sum(axis=1, keepdims=True)
        # Shares are printed one by one, and need not sum to what there is.
        whole = np.clip(total, 1 - 2 * others, 1 - others / 2)
        scaled = told * whole / np.maximum(total, _TINY) + ~is_told * by_kind * (1 - whole) / np.maximum(others, _TINY)
        return np.asarray(numbers[:, None] * np.where(total > 0, scaled, by_kind))


@dataclass(frozen=True, eq=False)
class HistoryModel:
    """A chain of rows for each owner, whose pairs of states are those that many units have.

    Attributes
    ----------
    names : tuple of str
    """

    names: tuple[str, ...]
    columns: tuple[_Column, ...]  # parents before children

    @classmethod
    def fit(
        cls, table: Mapping[str, Any], owners: Owners, words: RandomWords, before: Mapping[str, Any] | None = None
    ) -> Self:
        """Learn how the rows of owners follow one another.

        Parameters
        ----------
        table : mapping of name to column
            Rows of one owner stand together, in their order.
        owners : Owners
        words : RandomWords
            For noise on which columns go with which.
        before : mapping of name to column and ndarray of bool, optional
            Of each row the one before it, and where there is none; by default those of an owner follow one another.
        """
        names, units = list(table), _Units(owners.unit[owners.of_row], int(owners.unit.max(initial=-1)) + 1)
        n_rows = len(owners.of_row)
        coarser = int(np.clip(np.ceil(np.log2(MOST_VALUES / np.sqrt(max(n_rows, 1) / _PAIR_ROWS))), 1, 4))
        made = [printed_as(units.once(table[name], name), name, coarser, ()) for name in names]
        codes = [levels.encode(table[name]).astype(np.intp) for (levels, _), name in zip(made, names, strict=True)]
        sizes = [len(printed.first) - 1 for _, printed in made]
        order, parents = _structure(codes, sizes, words, units.n)
        columns = []
        for place, parent in zip(order, parents, strict=True):
            own, n = codes[place], sizes[place]
            if before is None:
                last = _before(own, owners.of_row, n)
            else:
                values, none = before[names[place]]
                last = np.where(none, n, made[place][0].encode(values))
            kinds, kind = owners.kinds(own, made[place][0])
            given = [(kind, kinds.tree_.node_count), (last, n + 1)]
            if parent >= 0:
                given.append((codes[order[parent]], sizes[order[parent]]))
            soft = [units.pairs(values, own, (size, n)) for values, size in given]
            weights = [one / np.maximum(one.sum(axis=1, keepdims=True), _TINY) for one in soft]
            alone = np.maximum(shares(np.bincount(own, minlength=n)), _TINY)
            weights[1:] = [one / alone for one in weights[1:]]
            pairs = _counts(last, own, (n + 1, n))
            columns.append(_Column(*made[place], parent, kinds, tuple(weights), tuple(soft[1:]), pairs))
        return cls(tuple(names[place] for place in order), tuple(columns))

    def tilted(self, of_row: Codes, features: NDArray[np.float32], shares: Shares, words: RandomWords) -> Self:
        """The same with weights under which rows of printed owners follow one another as those of the table do.

        What is known of printed owners is a little other than what is known of those of the table.

        Parameters
        ----------
        of_row : ndarray of int, shape (n_rows,)
            Owner of each row, ascending, of some that are printed and thrown away.
        features : ndarray of float, shape (n_owners, n_features)
        shares : Shares
        words : RandomWords
        """
        model = self
        for _ in range(_TILTS):
            states, columns = model.states(of_row, features, shares, words), []
            for number, column in enumerate(model.columns):
                given = [_before(states[number], of_row, column.n_states)]
                if column.parent >= 0:
                    given.append(states[column.parent])
                weights = list(column.weights)
                for place, (values, aim) in enumerate(zip(given, column.aims, strict=True), 1):
                    found = _counts(values, states[number], aim.shape)
                    step = (aim / max(aim.sum(), 1) + _LEAST_SHARE) / (found / max(found.sum(), 1) + _LEAST_SHARE)
                    weights[place] = weights[place] * step**_STEP
                columns.append(replace(column, weights=tuple(weights)))
            model = replace(model, columns=tuple(columns))
        return model

    def states(self, of_row: Codes, features: NDArray[np.float32], shares: Shares, words: RandomWords) -> Codes:
        """States of printed rows of owners, shape (n_columns, n_rows).

        Where it is known of an owner which share of its rows has a value, so many have it: what is drawn is taken out
        of what there is still to draw.

        Parameters
        ----------
        of_row : ndarray of int, shape (n_rows,)
            Owner of each printed row, ascending.
        features : ndarray of float, shape (n_owners, n_features)
        shares : Shares
        words : RandomWords
        """
        states = np.empty((len(self.columns), len(of_row)), np.intp)
        kinds = [column.kinds.apply(features) for column in self.columns] if len(features) else []
        wanted = {
            number: column.wanted(kinds[number], shares[name], np.bincount(of_row, minlength=len(features)))
            for number, (name, column) in enumerate(zip(self.names, self.columns, strict=True))
            if name in shares
        }
        first = np.searchsorted(of_row, np.arange(len(features)))
        length = np.diff(np.append(first, len(of_row)))
        longest = np.argsort(-length, kind="stable")
        shorter = -length[longest]
        for step in range(int(length.max(initial=0))):
            active = np.sort(longest[: np.searchsorted(shorter, -step)])
            rows = first[active] + step
            for number, column in enumerate(self.columns):
                before = states[number, rows - 1] if step else np.full(len(rows), column.n_states)
                given = [kinds[number][active], before]
                if column.parent >= 0:
                    given.append(states[column.parent, rows])
                word, weights = high_half(words.words_at(3 * number, rows)), column.weights
                if number in wanted:
                    left = wanted[number][active]
                    weights = (left + _BESIDE * weights[0][given[0]], *weights[1:])
                    given[0] = np.arange(len(active))
                states[number, rows] = drawn = _drawn(weights, given, word)
                if number in wanted:
                    wanted[number][active, drawn] = np.maximum(left[np.arange(len(active)), drawn] - 1, 0)
        return states

    def printed(self, states: Codes, words: RandomWords) -> dict[str, pa.Array]:
        """Rows in these states, as columns."""
        rows, made = np.arange(states.shape[1]), {}
        for number, (name, column) in enumerate(zip(self.names, self.columns, strict=True)):
            one, more = (words.words_at(3 * number + lane, rows) for lane in (1, 2))
            made[name] = column.printed.draw(states[number], high_half(one), more)
        return made

    def moved(self, states: Codes, of_row: Codes) -> float:
        """Total variation of what follows what in printed rows from that of the rows it was learned from, at most."""
        found = []
        for own, column in zip(states, self.columns, strict=True):
            pairs = _counts(_before(own, of_row, column.n_states), own, column.pairs.shape)
            found.append(np.abs(pairs / max(pairs.sum(), 1) - column.pairs / max(column.pairs.sum(), 1)).sum() / 2)
        return float(max(found))

    def features(self, table: Mapping[str, Any]) -> NDArray[np.float32]:
        """What is known of rows for those that they own."""
        encoded = [c.levels.encode(table[name]) for name, c in zip(self.names, self.columns, strict=True)]
        return np.stack(encoded, axis=1).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Units:
    """The unit of each row, by which pairs of states are told that many have."""

    of_row: Codes
    n: int

    def once(self, column: Any, name: str) -> Any:
        """A column in which each unit has a value once, so that what many rows have is what many units have."""
        values, codes = ascending(column, name)
        _, rows = np.unique(self.of_row * (len(values) + 1) + codes + 1, return_index=True)
        return column.take(pa.array(rows))

    def pairs(self, one: Codes, another: Codes, shape: tuple[int, int]) -> Vector:
        """Rows of each pair of states, up to 10 units those of any other state beside the first.

        What is not beside one another yet may be, but seldom, unless chance would give many rows.
        """
        key, rows = one * shape[1] + another, _counts(one, another, shape)
        units = np.bincount(np.unique(key * self.n + self.of_row) // self.n, minlength=rows.size).reshape(shape)
        of_one, of_another = rows.sum(axis=1), rows.sum(axis=0)
        kept = rows * faded(units) / np.maximum(units, 1)
        soft = kept + np.outer(of_one - kept.sum(axis=1) + _SELDOM, shares(of_another))
        return np.where((units < _FEW) & (np.outer(of_one, of_another) >= _USUAL * max(len(key), 1)), 0.0, soft)


def _before(codes: Codes, of_row: Codes, n_states: int) -> Codes:
    """State of the row before of the same owner; one more state where there is none."""
    return np.where(begins(of_row), n_states, np.append(n_states, codes[:-1])[: len(codes)])


def begins(of_row: Codes) -> Mask:
    """Which rows are the first of their owner, where those of each stand together."""
    return np.append(True, of_row[1:] != of_row[:-1])[: len(of_row)]


def _counts(one: Codes, another: Codes, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Rows of each pair of states."""
    return np.bincount(one * shape[1] + another, minlength=shape[0] * shape[1]).reshape(shape)


def _structure(codes: list[Codes], sizes: list[int], words: RandomWords, n_units: int) -> tuple[list[int], list[int]]:
    """Columns in their order, and of each the place of the one that it is drawn given; -1 for the first."""
    told = np.zeros((len(codes), len(codes)))
    step = max(1, len(codes[0]) // _ROWS)
    for one in range(len(codes)):
        for another in range(one + 1, len(codes)):
            counts = _counts(codes[one][::step], codes[another][::step], (sizes[one], sizes[another]))
            told[one, another] = information(counts, (np.arange(sizes[one]), np.arange(sizes[another])))
    branches = spanning_tree(told, words, max(n_units, 1))
    order = [0, *(child for _, child in branches)]
    return order, [-1, *(order.index(parent) for parent, _ in branches)]


def _drawn(weights: Sequence[Vector], given: Sequence[Codes], word: NDArray[np.uint64]) -> Codes:
    """A state of each row, by the product of the weights that it is given."""
    keys = np.zeros(len(word), np.intp)
    for table, values in zip(weights, given, strict=True):
        keys = keys * len(table) + values
    _, chosen, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rows = [values[chosen] for values in given]
    weight = np.prod([table[row] for table, row in zip(weights, rows, strict=True)], axis=0)
    lost = ~weight.any(axis=1)  # no state may be beside all of them
    weight[lost] = weights[-1][rows[-1][lost]]
    weight = np.ceil(weight * (_LARGEST / weight.max(axis=1, keepdims=True))).astype(np.int64)
    return drawn_states(weight, inverse.ravel(), word)
